#!/bin/sh
# Products in bf16 by a matrix unit: the tests of bf16.c, attention_bf16.c and convolution_bf16.c
# with the unit's twin, so that packing, edges and loops are tested on any machine. Where AMX is
# there, those tests run it without this one.
# run: quick
cd "$(dirname "$0")/../.."
. tests/lib/test.sh
out=build/test/tiles
mkdir -p $out
log=$out/log
flags='-O1 -DSAMBA_TILE_TWIN'
grep -qsw fma /proc/cpuinfo && flags="$flags -mfma"

names='bf16 attention_bf16 convolution_bf16'
[ -z "${HIDDEN:-}" ] || names=attention_bf16
for name in $names; do
    check "$name.c compiles with the twin" \
        ${CC:-cc} $flags -I. -o $out/$name tests/core/$name.c -lm -pthread
    check "$name.c has the same bits by tiles" $out/$name
done
finish
