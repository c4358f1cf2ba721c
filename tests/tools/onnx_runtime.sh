#!/bin/sh
# tests/tools/onnx_runtime.sh: models of the ops that onnxruntime's optimizer and quantizers write
# (com.microsoft), and of what scikit-learn's converter writes (ai.onnx.ml), through the importer:
# the outputs are onnxruntime's, and the estimators' own. These packages come from PyPI, in a
# virtual environment below SAMBA_JUDGES (~/.cache/samba-judges).
cd "$(dirname "$0")/../.." || exit 1
out=build/onnx_runtime log=build/onnx_runtime/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc} CFLAGS=${CFLAGS:--O2}

lacking=$(lacks onnx)
[ -z "$lacking" ] || skip_all 'ops of onnxruntime' "$lacking: tools/dev/install.sh onnx"
check 'the code for onnx.proto is made' make -s build/onnx/onnx.pb-c.c
[ $failed = 0 ] || finish
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/onnxruntime
judge=$judges/bin/python
if ! $judge -c 'import onnx, onnxruntime, sklearn, skl2onnx' >/dev/null 2>&1; then
    python3 -m venv "$judges" >$log 2>&1 &&
        $judge -m pip -q install onnx onnxruntime scikit-learn skl2onnx >>$log 2>&1 ||
        skip_all "ops of onnxruntime, $(tail -n 1 $log)" 'onnxruntime and skl2onnx from PyPI'
fi
rm -rf $out/data
check 'onnxruntime computes its cases' to_file $out/list.1 \
    $judge tests/tools/onnx/runtime_cases.py $out/data
check "scikit-learn's estimators are converted" to_file $out/list.2 \
    $judge tests/tools/onnx/sklearn_cases.py $out/data
cat $out/list.1 $out/list.2 >$out/list
check 'the importer builds' $CC $CFLAGS -I. -Ibuild/onnx -o $out/onnx tests/tools/onnx.c \
    build/onnx/onnx.pb-c.c -lprotobuf-c -lm -pthread
check 'every case passes' fails_with 0 ' 0 failed' \
    env ONNX_DATA=$out/data ONNX_LIST=$out/list $out/onnx
finish
