#!/bin/sh
# tests/tools/onnx_opsets.sh: the cases of today's onnx (op set 28) through the importer, which
# Debian's libonnx-testdata (op set 17) lacks: each passes, as tests/golden/onnx_cases_28.txt says,
# or is refused by name. They come from the Python package onnx, in a virtual environment below
# SAMBA_JUDGES (~/.cache/samba-judges).
cd "$(dirname "$0")/../.." || exit 1
out=build/onnx_opsets log=build/onnx_opsets/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc} CFLAGS=${CFLAGS:--O2}

lacking=$(lacks onnx)
[ -z "$lacking" ] || skip_all 'op sets of ONNX' "$lacking: tools/dev/install.sh onnx"
check 'the code for onnx.proto is made' make -s build/onnx/onnx.pb-c.c
[ $failed = 0 ] || finish
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/onnx
judge=$judges/bin/python
if ! $judge -c 'import onnx' >/dev/null 2>&1; then
    python3 -m venv "$judges" >$log 2>&1 &&
        $judge -m pip -q install onnx numpy >>$log 2>&1 ||
        skip_all "op sets of ONNX, $(tail -n 1 $log)" 'onnx from PyPI'
fi
check 'the cases are written' fails_with 0 'op set' $judge tests/tools/onnx/cases.py $out/data
check 'the importer builds' $CC $CFLAGS -I. -Ibuild/onnx -o $out/onnx tests/tools/onnx.c \
    build/onnx/onnx.pb-c.c -lprotobuf-c -lm -pthread
check 'every case passes, as the list says, or is refused by name' fails_with 0 ' 0 failed' \
    env ONNX_DATA=$out/data ONNX_LIST=tests/golden/onnx_cases_28.txt $out/onnx
finish
