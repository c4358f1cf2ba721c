#!/bin/sh
# tests/device/memory.sh: the RAM that the host promises for a PEF is what the device half asks for
# where pointers have 4 bytes: built for a 32-bit processor of this machine, aligned as on ARM and
# RISC-V, and for those where their compilers are installed (sizes are checked when it compiles).
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_memory log=build/device_memory/log
mkdir -p $out
. tests/lib/test.sh
. tests/lib/targets.sh
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

check 'the nets compile' build_with_samba -o $out/host $out/host.c
check 'the host promises memory for all of them' to_file $out/promised $out/host $out
narrow="-m32 -malign-double -msse2 -mfpmath=sse"
echo 'int main(void) { return sizeof(void *) != 4; }' >$out/narrow.c
if $CC $narrow -o $out/narrow $out/narrow.c 2>/dev/null && $out/narrow; then
    check 'the device half compiles for 32 bits' $CC -std=gnu99 -O0 $narrow -I. \
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

# ---- tools/samba device-report ------------------------------------------------------------------
tool=$out/samba-device
report() { $tool device-report "$@"; }
adds_up() {         # the parts of RAM, of flash, and of the arena at its peak
    report "$out/$1.ckpt" >$log.report || return 1
    awk 'function sum_is(total, what) {
            if (sum != total) { print what, sum, total; bad = 1 }
            sum = 0
        }
        / RAM: / { ram = $1; next }
        /tables of the runtime/ { sum += $1; sum_is(ram, "RAM"); next }
        / flash, / { flash = $1; next }
        / trace: / { sum += $1; sum_is(flash, "flash"); next }
        /the arena$/ { sum_is($1, "arena"); peaks++; next }
        /stack at most|multiply-adds|^sections/ { next }
        /^ *[0-9]+ /  { if (!peaks) sum += $1 }
        END { exit bad || peaks != 1 || !ram || !flash }' $log.report
}
check 'the tool compiles' build_with_samba -o $tool tools/cli/device.c tools/cli/device/*.c \
    tools/cli/util/*.c
for net in mlp_infer mlp_adamw lenet transformer microbatches graphs spatial in_products int8; do
    check "$net: the parts add up" adds_up $net
    ram=$(awk -v file=$out/$net.ckpt '$1 == file { print $2 }' $out/promised)
    check "$net: its RAM is the promised one" fails_with 0 " $ram  RAM" report $out/$net.ckpt
    check "$net fits into it" report $out/$net.ckpt --memory "$ram"
    check "$net does not fit into a byte less" fails_with 1 "1 more than --memory $((ram - 1))" \
        report $out/$net.ckpt --memory $((ram - 1))
done
flash=$(wc -c <$out/lenet.ckpt)
check 'flash is the size of the file' fails_with 0 " $((flash))  flash" report $out/lenet.ckpt
check 'of a file without values, what it will be' fails_with 0 " $((flash))  flash" \
    report $out/lenet.pef
check 'the tensors at the peak are named' fails_with 0 '  cross_entropy_backward_' \
    report $out/mlp_sgd.ckpt
check 'so is what is largest there' fails_with 0 '        2560  relu_1  float 16x40' \
    report $out/mlp_sgd.ckpt
# conv1: 28 x 28 x 6 x 25; conv2: 10 x 10 x 16 x 6 x 25; 400 x 120, 120 x 84, 84 x 10
check 'LeNet has its multiply-adds' fails_with 0 " 416520  multiply-adds" report $out/lenet.ckpt
# 16 rows of 24 x 40, 40 x 40, 40 x 5, forward and for weights; of the last two for values, too
check 'products that step are counted as products' fails_with 0 " 117120  multiply-adds" \
    report $out/in_products.ckpt
check 'int8 is counted, too' fails_with 0 " 52992  multiply-adds" report $out/int8.ckpt
check 'parts of a batch are counted' fails_with 0 " 87840  multiply-adds" \
    report $out/microbatches.ckpt
check 'ops of a program are refused' fails_with 1 'cube_1' report $out/own_op.ckpt
head -c 5000 $out/lenet.ckpt >$out/cut.bin
check 'a damaged file is refused' fails_with 1 'cut or extended' report $out/cut.bin
check 'so is one that is not there' fails_with 1 'nothing.ckpt' report $out/nothing.ckpt
check 'a limit is a number' fails_with 2 'such as 65536 or 64k' \
    report $out/lenet.ckpt --memory 64q
check 'units of a limit' fails_with 1 'more than --memory 24576' \
    report $out/lenet.ckpt --memory 24k
check 'a flag that is not there' fails_with 2 'no flag --ram' report --ram
check 'no file' fails_with 2 'which file' report

for name in m3 rv32imc; do
    processor $name
    if have ${cross%% *}; then
        # shellcheck disable=SC2086
        check "${cross%% *}: the sizes that the host counts with" $cross -std=c99 -O0 -I. \
            -DSAMBA_RUNTIME_ONLY -c tests/header/impl.c -o $out/sizes.o
    fi
done
finish
