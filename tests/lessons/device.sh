#!/bin/sh
# tests/lessons/device.sh: lesson 21 prints the same as a firmware: its checkpoint becomes an array,
# the lesson is compiled for a Cortex-M3 with what the net needs of samba.h, and QEMU runs it.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
SAMBA=$PWD out=$PWD/build/lesson21 log=$PWD/build/lesson21.log
. tests/lib/test.sh
. tests/lib/targets.sh
if ! have arm-none-eabi-gcc || ! have qemu-system-arm; then
    skip_all 'the lesson on a board' 'a board in QEMU: tools/dev/install.sh device'
fi
rm -rf "$out" && mkdir -p "$out" || exit 1
CC=${CC:-cc}
lesson=examples/lessons/21_device.c
processor m3
cross="$cross -std=c99 -Os -ffunction-sections -fdata-sections -Wall -Wextra -Werror -I$out \
-I$SAMBA -I$board_folder"

here() {            # on this machine, which also trains the net and keeps its checkpoint
    build_with_samba -o "$out/lesson" $lesson &&
        (cd "$out" && ./lesson '' lesson21.ckpt >here)
}
# The tools are built as fast as the lesson is.
arrays() {
    [ -e build/samba-device ] || export MAKEFLAGS='CFLAGS=-O1\ -DSAMBA_NO_SIMD'
    (cd "$out" && "$SAMBA/tools/samba" export-c lesson21.ckpt &&
        "$SAMBA/tools/samba" device-config lesson21.ckpt -o config.h)
}
firmware() {
    printf '#include "config.h"\n#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' >"$out/samba.c"
    $cross -c -o "$out/samba.o" "$out/samba.c" &&
        $cross -DLESSON_DEVICE -c -o "$out/lesson.o" $lesson &&
        $cross -c -o "$out/board.o" $board.c &&
        link_board 64K 16K 3K -o "$out/lesson.elf" "$out/lesson.o" "$out/samba.o" "$out/board.o"
}
there() {
    emulate 60 "$out/lesson.elf" >"$out/there" 2>&1 &&
        diff "$out/here" "$out/there"
}
check 'the lesson runs here' here
check 'its checkpoint becomes an array' arrays
check 'it becomes a firmware of 64 KiB of flash and 16 KiB of RAM' firmware
check 'the firmware prints the same' there
cat "$out/there" 2>/dev/null
finish
