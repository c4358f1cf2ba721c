#!/bin/sh
# tests/faults/run.sh [quick|all] [PLAY ...]: builds what tests/faults/faults.py disturbs, and runs
# it: system calls that fail, kills, memory and disks that are full, power cuts. Ends with "N
# passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
out=build/faults
mkdir -p $out || exit 1
log=$out/log
. tests/lib/test.sh
[ "$(uname -s)" = Linux ] || skip_all 'faults of the system' Linux
have strace || skip_all 'faults of the system' 'strace: apt-get install strace'
have python3 || skip_all 'faults of the system' 'python3: apt-get install python3'
strace -o $out/trace true 2>/dev/null ||
    skip_all 'faults of the system' 'a machine on which one process may trace another (ptrace)'
echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -o $out/try -lcjson -lz 2>$log ||
    skip_all 'faults of the system' 'cJSON and zlib: tools/dev/install.sh test'
grep -q __libc_start_main $out/try ||
    skip_all 'faults of the system' 'a C library as glibc: where main begins must be found'

checks='-g -O1 -DSAMBA_NO_SIMD -DSAMBA_ASSERTS -Wall -Wextra -Werror'
check 'the program that loads before others is built' \
    ${CC:-cc} -O1 -Wall -Wextra -Werror -shared -fPIC -o $out/preload.so tests/faults/preload.c -ldl
check 'the scenarios are built' \
    ${CC:-cc} $checks -I. -o $out/scenarios tests/faults/scenarios.c -lcjson -lz -lm -pthread
[ $failed = 0 ] || finish
if [ "${1:-all}" = all ]; then
    check 'the tools are built' make -s B=$out CFLAGS='-O1 -DSAMBA_NO_SIMD' \
        $out/samba $out/samba-device $out/samba-run $out/samba-view $out/samba-text
    check 'a model with a tokenizer can be made' \
        ${CC:-cc} $checks -I. -o $out/text-folder tests/lib/make_text_folder.c -lcjson
    lacking=$(lacks onnx)
    if [ -z "$lacking" ]; then
        check 'tools/samba for ONNX is built' \
            make -s B=$out CFLAGS='-O1 -DSAMBA_NO_SIMD' $out/samba-onnx
    else
        rm -f $out/samba-onnx
        skip 'faults of import-onnx and export-onnx' "$lacking: tools/dev/install.sh onnx"
    fi
    [ $failed = 0 ] || finish
fi
exec python3 tests/faults/faults.py "$@"
