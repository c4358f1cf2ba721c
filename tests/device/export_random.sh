#!/bin/sh
# tests/device/export_random.sh [FIRST LAST | all]: random programs as C of export-c compute what
# the executor does, bit for bit, for 4 runs; or are refused by the name of what is missing.
# Without arguments a few programs.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_random log=build/device_random/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc}
first=0 last=11
case ${1:-} in
all) last=399 ;;
[0-9]*) first=$1 last=${2:-$1} ;;
esac

# Each prints one word, what became of program $1; and why.
written() {         # as C, by the tool
    rm -f $out/r.c
    build/samba-device export-c $out/r.ckpt -o $out/r >$out/said 2>&1
    [ -e $out/r.c ]
}
compiled() {
    warnings='-Wall -Wextra -Wconversion -Wshadow -Werror'
    $CC -std=c99 -O1 $warnings -I. -I$out -c -o $out/r.o $out/r.c &&
        $CC -std=c99 -O0 -I. -I$out -DNET_STEPS='"r_steps.h"' -o $out/r tests/device/export_run.c \
            $out/r.o
}
judge() {
    $out/random "$1" $out/r.ckpt $out/r_steps.h >$out/hash 2>$out/said
    case $? in
    0) ;;
    3) echo unfit; return ;;            # samba.h itself refuses it
    *) echo "fails: program $1 in the executor: $(tail -n 1 $out/said)"; return ;;
    esac
    if ! written; then
        missing=$(sed -n 's/.*cannot write \(op [a-z0-9_]*\).*/\1/p; s/.*\(is not finite\).*/\1/p' \
            $out/said | head -n 1)
        [ -n "$missing" ] || echo "fails: the refusal of program $1 names nothing: $(cat $out/said)"
        [ -z "$missing" ] || echo "refused: $missing"
    elif ! compiled >$out/cc 2>&1; then echo "fails: program $1: $(grep -m 1 error $out/cc)"
    elif [ "$(timeout 60 $out/r)" = "$(cat $out/hash)" ]; then echo same
    else echo "differs: program $1"
    fi
}
count() { grep -c "^$1" $out/verdicts; }

check 'the programs compile' build_with_samba $inside -o $out/random tests/device/export_random.c
check 'the tool is built' make -s CFLAGS='-O1 -DSAMBA_NO_SIMD' build/samba-device
seed=$first
while [ "$seed" -le "$last" ]; do
    judge "$seed"
    seed=$((seed + 1))
done >$out/verdicts
echo "of $((last - first + 1)) programs $(count same) are the same as C, $(count differs) differ," \
    "$(count fails) fail, $(count refused) are refused, and $(count unfit) are none"
grep '^refused' $out/verdicts | sort | uniq -c
none() { ! grep "^$1" $out/verdicts; }
most() { [ "$(count same)" -ge $(((last - first + 1) / 2)) ]; }
check 'no program differs' none differs
check 'none fails' none fails
check 'most can be written' most
finish
