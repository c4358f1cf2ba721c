#!/bin/sh
# tests/device/size.sh: how much flash the device half takes on a Cortex-M3, for four sets of ops:
# .text and .rodata of all that a firmware that opens, fills and runs a program links of samba.h,
# without what the compiler's own runtime and the C library bring. The limits are what was measured,
# with 1 % for other versions of the compiler than gcc 12.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_size log=build/device_size/log
mkdir -p $out
. tests/lib/test.sh
. tests/lib/targets.sh
processor m3
have arm-none-eabi-gcc || \
    skip_all 'sizes on a Cortex-M3' 'arm-none-eabi-gcc: tools/dev/install.sh device'

cat >$out/firmware.c <<'END_OF_C'
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include "samba.h"

extern const uint64_t model[];
extern const size_t model_size;
int main(void);

int main(void)
{
    static union { uint64_t align; uint8_t bytes[16384]; } memory;
    samba_runtime *rt = samba_runtime_open(model, model_size, &memory, sizeof memory, NULL, 0);
    float *x = (float *)samba_runtime_data(rt, "x"), *y = (float *)samba_runtime_data(rt, "y");
    while (x && y && samba_runtime_run(rt, 0))
        x[0] = y[0];
    return 1;
}
END_OF_C

# compile NAME FLAG...: build/device_size/NAME.o without what nothing refers to.
compile() {
    object=$out/$1
    shift
    $cross -Os -std=c99 -Wall -Wextra -Wconversion -Werror \
        -ffunction-sections -fdata-sections -I. "$@" -c -o $object.all.o $out/firmware.c &&
        arm-none-eabi-ld -r --gc-sections -e main -o $object.o $object.all.o
}
bytes_of() {
    arm-none-eabi-size -A $out/$1.o | awk '/^\.(text|rodata)/ { n += $2 } END { print n }'
}
# fits NAME LIMIT: it is not larger than the limit, nor so much smaller that the limit is stale.
fits() {
    size=$(bytes_of $1)
    echo "$1 has $size bytes, of $2"
    [ $((size * 100)) -le $(($2 * 101)) ] && [ $((size * 100)) -ge $(($2 * 92)) ]
}
# Of others an object wants memory functions and the compiler's runtime alone.
wants_little() {
    arm-none-eabi-nm -u $out/$1.o | awk '
        { print $2 }
        $2 !~ /^(model|model_size|mem(cpy|set|cmp|move)|__aeabi_.*)$/ { more = 1 }
        END { exit more || NR < 3 }'
}
# NAME LIMIT LIMIT-WITH-PROOF OP...: with the options of device-config --trust --no-texts, and with
# those of device-config alone.
set_of_ops() {
    name=$1 limit=$2 proved=$3
    shift 3
    ops=-DSAMBA_SELECT_OPS
    for op in "$@"; do ops="$ops -DSAMBA_USE_$op"; done
    ops="$ops -DSAMBA_SELECT_TYPES -DSAMBA_USE_I32"
    check "$name compiles" compile $name $ops -DSAMBA_NO_TEXTS -DSAMBA_TRUSTED_PEF=1u
    check "$name fits" fits $name $limit
    echo "$name: $(bytes_of $name) bytes, of $limit"
    check "$name wants memory functions alone" wants_little $name
    [ "$proved" = - ] && return
    check "$name with its proof compiles" compile $name-proved $ops
    check "$name with its proof and texts fits" fits $name-proved $proved
    echo "$name with its proof and texts: $(bytes_of $name-proved) bytes, of $proved"
}

dense='affine relu softmax'
learning='affine relu matmul cross_entropy cross_entropy_backward relu_backward sum softmax count'
images='convolution max_pool2d reshape'
set_of_ops dense 10396 25300 $dense
set_of_ops images 14444 - $dense $images
set_of_ops dense-sgd 15814 - $learning sgd
set_of_ops images-adamw 24146 - $learning sgd adamw $images convolution_backward_weight \
    convolution_backward_input max_pool2d_backward
finish
