#!/bin/sh
# tests/device/readme.sh: what examples/devices/README.md says, followed to the letter in an empty
# folder: all blocks of commands, but the line that installs and the block for hardware.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
SAMBA=$PWD out=$PWD/build/readme log=$PWD/build/readme.log
export SAMBA
. tests/lib/test.sh
if ! have arm-none-eabi-gcc || ! have qemu-system-arm; then
    skip_all 'the firmware of the README' 'a board in QEMU: tools/dev/install.sh device'
fi
rm -rf "$out" && mkdir -p "$out" || exit 1
page=examples/devices/README.md
block() {           # block KIND: of all blocks of this kind
    awk -v kind="$1" '/^```/ { inside = $0 == "```" kind; next } inside' $page
}
block c >"$out/main.c"
{
    echo 'set -e'
    block sh | grep -v -e '^export SAMBA=' -e 'tools/dev/install.sh'
} >"$out/commands.sh"
# The tool is built as fast as the example is: the same bits.
[ -e build/samba-device ] || export MAKEFLAGS='CFLAGS=-O1\ -DSAMBA_NO_SIMD'
follow() {
    (cd "$out" && sh ./commands.sh) >"$out/said" 2>&1
    code=$?
    cat "$out/said"
    return $code
}
losses_fall() {
    awk '/^loss/ { if (!n++) first = $2; last = $2 }
        END { print n, first, last; exit !(n == 5 && first > 1 && last < 0.1) }' "$out/said"
}
# The lines of the example, which come once from the host and once from the device.
same_life() {
    sed -n '/^power on, as/,/^hash/p' "$out/said" >"$out/lives"
    lines=$(($(wc -l <"$out/lives") / 2))
    head -n $lines "$out/lives" >"$out/host" && tail -n +$((lines + 1)) "$out/lives" >"$out/device"
    [ $lines -gt 10 ] && diff "$out/host" "$out/device"
}
check 'the page has commands' [ "$(wc -l <"$out/commands.sh")" -gt 20 ]
check 'the page has a program' [ "$(wc -l <"$out/main.c")" -gt 20 ]
check 'all of its commands work' follow
[ $failed = 0 ] || finish
check 'the firmware learns' losses_fall
check 'gesture.c does on the device what it does on the host' same_life
finish
