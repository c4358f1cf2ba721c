// The second file of a program: declarations only, or all of it again under SAMBA_STATIC.
#ifdef SAMBA_STATIC
#define SAMBA_IMPLEMENTATION
#endif
#include "../../samba.h"

#ifdef __cplusplus
extern "C"
#endif
    int
    other_file(void);

int other_file(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(2, 4));
    if (samba_add(x, y) || samba_error_code(s) != SAMBA_ESHAPE) return 1;
    samba_clear_error(s);
    return samba_close(s);
}
