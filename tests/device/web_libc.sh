#!/bin/sh
# tests/device/web_libc.sh: the small C library of the web page has all that samba.h calls. It takes
# seconds; web.sh tries the page itself, in a browser.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_web_libc log=build/device_web_libc/log
mkdir -p $out
. tests/lib/test.sh
have clang || skip_all 'the C library of the page' 'clang: tools/dev/install.sh web'
web=examples/devices/web
check 'samba.h calls nothing else' $web/build.sh check
echo 'int check(void); int check(void) { return strange(); }' >$out/strange.c
check 'a function that is not there is noticed' fails_with 1 strange \
    env SOURCE="$PWD/$out/strange.c" $web/build.sh check
finish
