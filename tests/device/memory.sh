#!/bin/sh
# tests/device/memory.sh: the RAM that the host promises for a PEF is what the device half asks for
# where pointers have 4 bytes: built for a 32-bit processor of this machine, aligned as on ARM and
# RISC-V, and for those where their compilers are installed (sizes are checked when it compiles).
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_memory log=build/device_memory/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc}

# Writes all nets, compiled and saved, and prints what the host promises for each file.
cat >$out/host.c <<'END'
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/device_nets.h"

static int promise(const char *path, const samba_runtime_desc *desc)
{
    static union { uint64_t align; uint8_t bytes[1 << 20]; } file;
    samba_device_memory m;
    char why[400] = "";
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
    if (f) fclose(f);
    if (!samba_measure_device(file.bytes, size, desc, &m, why, sizeof why)) {
        printf("%s: %s\n", path, why);
        return 1;
    }
    printf("%s %lu\n", path, (unsigned long)m.bytes);
    return m.bytes != m.tables + m.scratch + m.state + m.arena + m.io;
}

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 0; i < DEVICE_NETS && argc == 2; i++) {
        char pef[200], saved[200];
        samba_program p = { .pef = pef };
        snprintf(pef, sizeof pef, "%s/%s.pef", argv[1], device_nets[i].name);
        snprintf(saved, sizeof saved, "%s/%s.ckpt", argv[1], device_nets[i].name);
        samba_session *s = samba_open(NULL);
        if (!device_net_compile(s, i, &p) || !samba_save(s, saved)) bad = 1;
        samba_close(s);
        const samba_runtime_desc *desc = strcmp(device_nets[i].name, "own_op") ? NULL : &device_own;
        if (promise(pef, desc) || promise(saved, desc)) bad = 1;
    }
    return bad;
}
END

# Prints what samba_runtime_bytes says of each file, opens it, and runs it in so much memory.
cat >$out/device.c <<'END'
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdio.h>

static union { uint64_t align; uint8_t bytes[1 << 20]; } file, memory;

static void cube(const samba_args *a)
{
    const float *x = a->in[0];
    for (int64_t i = a->begin; i < a->end; i++) a->out[0][i] = x[i] * x[i] * x[i];
}

static const samba_op op = { .name = "cube", .wire = 0x8003, .signature = "*->*", .kernel = cube };
static const samba_op *const ops[] = { &op };
static const samba_runtime_desc own = { .ops = ops, .n_ops = 1 };

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char why[400] = "";
        FILE *f = fopen(argv[i], "rb");
        size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
        if (f) fclose(f);
        size_t needed = samba_runtime_bytes_with(file.bytes, size, &own, why, sizeof why);
        printf("%s %lu\n", argv[i], (unsigned long)needed);
        samba_runtime *rt = samba_runtime_open_with(file.bytes, size, memory.bytes, needed, &own,
                                                    why, sizeof why);
        if (!rt || !samba_runtime_run(rt, 0)) {
            printf("%s: %s\n", argv[i], rt ? "the run failed" : why);
            return 1;
        }
        if (samba_runtime_open_with(file.bytes, size, memory.bytes, needed - 1, &own, NULL, 0))
            return 2;
    }
    return 0;
}
END

check 'the nets compile' $CC -std=gnu99 -O1 -DSAMBA_NO_SIMD -I. -o $out/host $out/host.c \
    -lm -pthread
check 'the host promises memory for all of them' to_file $out/promised $out/host $out
narrow="-m32 -malign-double -msse2 -mfpmath=sse"
echo 'int main(void) { return sizeof(void *) != 4; }' >$out/narrow.c
if $CC $narrow -o $out/narrow $out/narrow.c 2>/dev/null && $out/narrow; then
    check 'the device half compiles for 32 bits' $CC -std=gnu99 -O1 $narrow -I. \
        -o $out/device $out/device.c -lm
    check 'it runs all of them in what it asks for' to_file $out/asked $out/device $out/*.ckpt
    # shellcheck disable=SC2013
    grep ckpt $out/promised | sort >$out/promised_ckpt
    sort $out/asked >$out/asked_sorted
    check 'that is what the host promised, to the byte' diff $out/promised_ckpt $out/asked_sorted
    sed 's/[.]ckpt / /' $out/promised_ckpt >$out/with_values
    grep pef $out/promised | sed 's/[.]pef / /' | sort >$out/without_values
    check 'a PEF without values is promised the same' diff $out/with_values $out/without_values
fi
for cc in "arm-none-eabi-gcc -mcpu=cortex-m3" \
        "riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 --specs=picolibc.specs"; do
    if have ${cc%% *}; then
        # shellcheck disable=SC2086
        check "${cc%% *}: the sizes that the host counts with" $cc -std=c99 -O0 -I. \
            -DSAMBA_RUNTIME_ONLY -c tests/header/impl.c -o $out/sizes.o
    fi
done
finish
