// The random programs of tests/core/random.c for tests/device/export_random.sh, with f32, i32 and
// bool alone and without microbatches, as devices have them.
//     export_random SEED FILE STEPS    compiles program SEED, saves it and drives it (export_drive.h)
//                                      as net r; 3: samba.h refuses it
#define main random_main
#include "tests/core/random.c"
#undef main
#include "tests/device/export_drive.h"

// What has another type becomes a float.
static void keep_plain_types(description *d)
{
    d->graphamp = d->param_dtype = d->weights = 0;
    d->rows *= d->microbatches;
    d->microbatches = 1;
    for (int i = 0; i < d->n; i++) {
        bool typed = d->r[i].op == OP_input || d->r[i].op == OP_cast;
        int type = d->r[i].a[0];
        if (typed && type != SAMBA_I32 && type != SAMBA_BOOL) d->r[i].a[0] = SAMBA_F32;
    }
}

static bool compile_and_save(uint32_t seed, const char *path)
{
    static description d;
    static net n;
    way plain = { { 0 } };
    plain.at[AXIS_whole] = 1;
    generate(&d, seed);
    keep_plain_types(&d);
    building = &d;
    trace(&n, &plain, build_description, d.rows, 1);
    bool fine = compile_way(&n, &plain, path) && samba_save(n.s, path);
    return samba_close(n.s) == 0 && fine;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    if (!compile_and_save((uint32_t)strtoul(argv[1], NULL, 10), argv[2])) return 3;
    return drive(argv[2], "r", argv[3]);
}
