#!/bin/sh
# tests/device/tiny_nets.sh [all]: the four nets of MLPerf Tiny (examples/devices/tiny_nets.c) have
# the published counts, and training a part of a net takes less than training all of it. On an
# emulated Cortex-M4F, DS-CNN trains all of its layers within 256 kB of RAM. all: every net and
# update there, and the table with RAM, flash and instructions: `make tiny-nets`.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/tiny_nets log=build/tiny_nets/log
mkdir -p $out
. tests/lib/test.sh
. tests/lib/targets.sh
CC=${CC:-cc}
steps=0
[ "$1" = all ] && steps=${STEPS:-100}

# ---- On the host ---------------------------------------------------------------------------------
runs() { (cd $out && ./tiny_nets $steps >said) && cat $out/said; }
counts() {          # counts NET PARAMETERS WITH-NORM MULTIPLY-ADDS
    grep -qx "$1  *parameters $2, $3 as published; multiply-adds $4" $out/said
}
value() { awk -v net="$1" -v row="$2" -v at="$3" '$1 == net && $2 == row { print $at }' $out/said; }
less() { echo "$1 < $2"; [ "$1" -gt 0 ] && [ "$1" -lt "$2" ]; }
ram=5 work=4        # columns of the table
check 'compiles' $CC -std=gnu99 -O1 -DSAMBA_NO_SIMD -Wall -Wextra -Werror -o $out/tiny_nets \
    examples/devices/tiny_nets.c -lm -pthread -lz
check 'runs' runs
[ $failed = 0 ] || finish
check 'DS-CNN is the published one' counts dscnn 22604 24908 2656768
check 'ResNet8 is the published one' counts resnet8 77706 78666 12501632
check 'MobileNet is the published one' counts mobilenet 210850 221794 7489664
check 'the autoencoder is the published one' counts autoencoder 265864 269992 264192
for net in dscnn resnet8 mobilenet autoencoder; do
    full=$(value $net full $ram)
    for update in last bias sparse; do
        check "$net: $update takes less memory than full" less "$(value $net $update $ram)" "$full"
        check "$net: $update is less work than full" \
            less "$(value $net $update $work)" "$(value $net full $work)"
    done
    check "$net: sparse takes less memory than last" \
        less "$(value $net sparse $ram)" "$(value $net last $ram)"
    check "$net: tight takes no more memory than full" \
        less "$(value $net tight $ram)" $((full + 1))
done
# Nothing is kept for frozen layers: three layers of DS-CNN need four of its tensors (32,000
# bytes each) beside what inference needs, and the parameters that learn, with one gradient.
most=$(($(value dscnn none $ram) + 4 * 32000))
check 'frozen layers of DS-CNN keep nothing' less "$(value dscnn last $ram)" $most
if [ "$1" = all ]; then
    learned() { awk '/of stand-ins/ { n += $3 > 60 && $6 > 60 } END { exit n != 4 }' $out/said; }
    check 'they learn their stand-ins, and are as good in int8' learned
fi

# ---- On an emulated Cortex-M4F -------------------------------------------------------------------
if ! have arm-none-eabi-gcc || ! have qemu-system-arm; then
    skip_all 'the nets on a Cortex-M4F' 'a board in QEMU: tools/dev/install.sh device'
fi
processor m4f
cross="$cross -std=c99 -Os -ffunction-sections -fdata-sections -I. -I$board_folder"
printf '#define SAMBA_RUNTIME_ONLY\n#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' \
    >$out/samba.c
part() { $cross -Wall -Wextra -Werror -c -o $out/"$(basename "$1" .c)".o "$1"; }
for part in $out/samba.c $board.c tests/device/tiny_step.c; do
    check "$part compiles" part $part
done
build() {           # build NET_UPDATE
    printf '.section .rodata\n.balign 64\n.global pef, pef_end\npef: .incbin "%s"\npef_end:\n' \
        "$out/$1.ckpt" | $cross -c -x assembler -o $out/pef.o - &&
        link_board 4M 4M 12K -o $out/"$1".elf $out/tiny_step.o $out/board_arm.o $out/samba.o \
            $out/pef.o
}
run() {             # run NET_UPDATE
    build "$1" || return
    emulate 600 $out/"$1".elf -icount shift=0 2>&1
}
figure() { sed -n "s/.*\\b$2=\\([0-9]*\\).*/\\1/p" $out/"$1".figures; }
rows=dscnn_tight
if [ "$1" = all ]; then
    rows=$(for net in dscnn resnet8 mobilenet autoencoder; do
        for update in none int8 full tight last bias sparse; do echo ${net}_$update; done
    done)
    echo 'Cortex-M4F (emulated), batch 1, SGD in place; RAM with tables and scratch, without stack'
    printf '%-22s %10s %9s %14s %6s\n' 'net, what learns' RAM flash instructions stack
fi
for row in $rows; do
    check "$row runs" to_file $out/$row.figures run $row
    [ "${row#*_}" = int8 ] ||
        check "$row: takes what the host says" \
            [ "$(figure $row needs)" = "$(value "${row%_*}" "${row#*_}" $ram)" ]
    [ "$1" != all ] || printf '%-22s %10s %9s %14s %6s\n' "$row" "$(figure $row needs)" \
        "$(wc -c <$out/$row.ckpt)" "$(figure $row step)" "$(figure $row stack)"
done
tight=$(($(figure dscnn_tight needs) + $(figure dscnn_tight stack)))
check 'DS-CNN trains all of its layers within 256 kB, with its stack' less $tight 256000
finish
