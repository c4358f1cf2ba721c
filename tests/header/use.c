// A small, silent program in C and C++; its exit code says what went wrong. USE_IMPLEMENTS: it
// implements samba.h. USE_OTHER_FILE: it has a second file.
#ifdef USE_IMPLEMENTS
#define SAMBA_IMPLEMENTATION
#endif
#include "../../samba.h"

#if defined(SAMBA_RUNTIME_ONLY)

int main(void)
{
    static const uint64_t no_pef[8] = { 1 };
    char why[100] = "";
    if (samba_runtime_bytes(no_pef, sizeof no_pef, why, sizeof why) != 0) return 2;
    return why[0] ? 0 : 3;
}

#else

#ifdef __cplusplus
extern "C"
#endif
    int
    other_file(void);

// f = x y + tanh(x) at x = 0, y = 2: df/dx = y + 1.
int main(void)
{
    static samba_program program; // all zero, in C and C++
    samba_session *s = samba_open(NULL);
    samba_init init = { SAMBA_INIT_CONSTANT, 0, 0 };
    samba_tensor *x = samba_param(s, "x", SAMBA_SCALAR, init);
    init.value = 2;
    samba_tensor *y = samba_param(s, "y", SAMBA_SCALAR, init);
    samba_tensor *xy = samba_mul(x, y);
    samba_tensor *f = samba_add(xy, samba_tanh(x));
    program.inference = true;
    program.outputs[0] = f;
    program.outputs[1] = samba_grad(f, x);
    if (!samba_compile(s, &program) || !samba_run(s, SAMBA_FWD)) return 4;
    const float dx = samba_read(program.outputs[1])[0];
    if (!(dx >= 3.0f && dx <= 3.0f)) return 5;
    if (samba_close(s) != 0) return 6;
#ifdef USE_OTHER_FILE
    if (other_file() != 0) return 7;
#endif
    return 0;
}

#endif
