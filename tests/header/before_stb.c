// A file that uses stb_ds itself and includes samba.h's declarations after it.
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
#include "../../samba.h"

int other_file(void);

int other_file(void)
{
    int *list = NULL;
    arrput(list, 3);
    int good = arrlen(list) == 1 && samba_dtype_size(SAMBA_F32) == 4;
    arrfree(list);
    return good ? 0 : 1;
}
