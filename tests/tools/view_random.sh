#!/bin/sh
# tests/tools/view_random.sh [FIRST LAST]: pages of random programs (0 ... 399) are proved: values,
# gradients, and that every byte of memory has an owner. Gradients are those of the page's data, by
# central differences, too: where the loss of a program has such kinks that those of its parameters
# do not fit either, they say nothing.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_random log=build/view_random/log
mkdir -p $out
. tests/lib/test.sh
have python3 || skip_all 'the glass box of random nets' 'python3: apt-get install python3'
CC=${CC:-cc}
check 'the programs compile' $CC -std=gnu99 -O1 -DSAMBA_NO_SIMD -I. -o $out/random \
    tests/device/export_random.c -lm -pthread
check 'the tool is built' make -s build/samba-view
judge_gradients() {
    $CC -O1 -DSAMBA_NO_SIMD -I. -Itools/include -c -o $out/samba.o tools/cli/view/fused.c &&
        $CC -O1 -DSAMBA_NO_SIMD -I. -Itools/include -o $out/grads tests/lib/view_grads.c \
            $(ls tools/cli/view/*.c tools/cli/util/*.c | grep -v fused.c) $out/samba.o -lm -pthread
}
check 'the judge of gradients is built' judge_gradients
[ $failed = 0 ] || finish
judge() {       # one word, and why
    $out/random "$1" $out/r.ckpt $out/r_steps.h >$out/said 2>&1
    [ $? != 3 ] || { echo unfit; return; }      # samba.h itself refuses it
    if ! build/samba-view view $out/r.ckpt --runs 0 -o $out/r.html >$out/said 2>&1; then
        echo "refused: program $1: $(cat $out/said)"
    elif python3 tests/lib/view_page.py $out/r.html >$out/said 2>&1; then
        echo proved
        $out/grads $out/r.ckpt >$out/differences
        grep -q '__grad is not the gradient' $out/differences || cat $out/differences
    else echo "wrong: program $1: $(tail -n 1 $out/said)"
    fi
}
seed=${1:-0}
while [ "$seed" -le "${2:-399}" ]; do
    judge "$seed"
    seed=$((seed + 1))
done >$out/verdicts
grep -v -e '^proved' -e '^unfit' -e 'r.ckpt: ' $out/verdicts
echo "$(grep -c '^proved' $out/verdicts) pages are proved"
check 'no page is wrong' [ "$(grep -c '^wrong' $out/verdicts)" = 0 ]
# What is left over are programs that end, such as at an index that is out of range.
check 'few are refused' [ "$(grep -c '^refused' $out/verdicts)" -le 20 ]
check 'most are proved' [ "$(grep -c '^proved' $out/verdicts)" -gt 4 ]
# A few are those of a maximum of equal values and the like.
set -- $(awk '/gradients are proved/ { n += $2; bad += $10 } END { print n + 0, bad + 0 }' \
    $out/verdicts)
echo "$1 gradients are proved, $2 are not"
check 'gradients are what central differences say' [ $(($2 * 200)) -le "$1" ]
check 'and there are some' [ "$1" -gt 20 ]
finish
