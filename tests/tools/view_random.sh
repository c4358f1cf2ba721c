#!/bin/sh
# tests/tools/view_random.sh [FIRST LAST]: pages of random programs (0 ... 399) are proved: values,
# gradients, and that every byte of memory has an owner.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_random log=build/view_random/log
mkdir -p $out
. tests/lib/test.sh
have python3 || skip_all 'no python3'
CC=${CC:-cc}
check 'the programs compile' $CC -std=gnu99 -O1 -DSAMBA_NO_SIMD -I. -o $out/random \
    tests/device/export_random.c -lm -pthread
check 'the tool is built' make -s build/samba-view
[ $failed = 0 ] || finish
judge() {       # one word, and why
    $out/random "$1" $out/r.ckpt $out/r_steps.h >$out/said 2>&1
    [ $? != 3 ] || { echo unfit; return; }      # samba.h itself refuses it
    if ! build/samba-view view $out/r.ckpt --runs 0 -o $out/r.html >$out/said 2>&1; then
        echo "refused: program $1: $(cat $out/said)"
    elif python3 tests/lib/view_page.py $out/r.html >$out/said 2>&1; then echo proved
    else echo "wrong: program $1: $(tail -n 1 $out/said)"
    fi
}
seed=${1:-0}
while [ "$seed" -le "${2:-399}" ]; do
    judge "$seed"
    seed=$((seed + 1))
done >$out/verdicts
grep -v -e '^proved' -e '^unfit' $out/verdicts
echo "$(grep -c '^proved' $out/verdicts) pages are proved"
check 'no page is wrong' [ "$(grep -c '^wrong' $out/verdicts)" = 0 ]
# What is left over are programs that end, such as at an index that is out of range.
check 'few are refused' [ "$(grep -c '^refused' $out/verdicts)" -le 20 ]
check 'most are proved' [ "$(grep -c '^proved' $out/verdicts)" -gt 4 ]
finish
