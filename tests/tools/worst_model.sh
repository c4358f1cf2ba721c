#!/bin/sh
# tests/tools/worst_model.sh: a model with the worst names there are goes through every command of
# tools/samba, which are built with sanitizers, in a folder full of files of other people.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/worst_model
. tests/lib/test.sh
have python3 || skip_all 'the worst model' 'python3: apt-get install python3'
rm -rf "$out" && mkdir -p "$out/files" || exit 1
CC=${CC:-cc}
asan='-g -fsanitize=address,undefined -fno-sanitize-recover=all'
flags="-O1 -DSAMBA_NO_SIMD -I. -Itools/include"
make -s build/view_page.h || exit 1

# samba.h itself, which other tests run with sanitizers, is that of other scripts, without: it would
# take most of the time.
implementation=tools/cli/view/fused.c
sed 's/^#define SAMBA_IMPLEMENTATION$//' tools/cli/device.c >"$out/device.c"
link() {            # link PROGRAM SOURCE ...: with sanitizers
    program=$1
    shift
    $CC $asan $flags -O0 -Itools/cli -o "$out/$program" \
        $(ls "$@" | grep -vxF $implementation) tools/cli/util/*.c $libraries -lm -pthread
}
libraries="$out/fused.o $(sh tests/lib/samba_object.sh $CC -O1 -DSAMBA_NO_SIMD)
-Wl,--allow-multiple-definition"
build() {
    build_with_samba $inside -Itools/include -c -o "$out/fused.o" $implementation &&
        link samba-device "$out/device.c" tools/cli/device/*.c &&
        build_with_samba -o "$out/model" tests/lib/worst_model.c &&
        "$out/model" "$out/files" && link samba-view tools/cli/view.c tools/cli/view/*.c
}
data() {
    libraries="$(tools/dev/hdf5.sh) -lcjson -lutf8proc"
    link samba tools/cli/samba.c tools/cli/data/*.c
}
data >"$out/log1" 2>&1 &
pid=$!
build >"$out/log2" 2>&1
code=$?
if ! wait $pid || [ $code != 0 ]; then
    cat "$out/log1" "$out/log2"
    echo "0 passed, 1 failed"
    exit 1
fi
ASAN_OPTIONS=detect_leaks=0 exec python3 tests/tools/worst_model.py "$out/files" "$out" "$CC"
