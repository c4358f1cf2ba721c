#!/bin/sh
# The bits of attention on a small device, whose blocks have fewer rows: attention_bf16.c once more,
# with SAMBA_SMALL.
cd "$(dirname "$0")/../.."
. tests/lib/test.sh
out=build/test/attention_small
mkdir -p $out
log=$out/log

check 'attention_bf16.c compiles with SAMBA_SMALL' \
    ${CC:-cc} -O1 -DSAMBA_SMALL -DSAMBA_NO_SIMD -I. -o $out/attention_bf16 \
    tests/core/attention_bf16.c -lm -pthread
check 'attention_bf16.c has the same bits there' $out/attention_bf16
finish
