#!/bin/sh
# The bits of attention and of convolution in bf16 on a small device, whose blocks have fewer rows:
# attention_bf16.c and convolution_bf16.c once more, with SAMBA_SMALL.
# run: quick
cd "$(dirname "$0")/../.."
. tests/lib/test.sh
out=build/test/small_bits
mkdir -p $out
log=$out/log

names='attention_bf16 convolution_bf16'
[ -z "${HIDDEN:-}" ] || names=attention_bf16
for name in $names; do
    check "$name.c compiles with SAMBA_SMALL" \
        ${CC:-cc} -O1 -DSAMBA_SMALL -DSAMBA_NO_SIMD -I. -o $out/$name tests/core/$name.c \
        -lm -pthread
    check "$name.c has the same bits there" $out/$name
done
finish
