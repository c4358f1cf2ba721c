#!/bin/sh
# tests/tools/onnx_export.sh: every example's model as an ONNX model, and models of PyTorch as
# graphs of samba.h, as its old exporter writes them and as today's does (weights in a file of
# their own). Judges: the importer of this repository; PyTorch's outputs; onnx.checker and
# onnxruntime, Python packages that are put into a virtual environment below SAMBA_JUDGES
# (~/.cache/samba-judges). PyTorch is that of PYTHON, or of python3; today's needs onnxscript, too.
cd "$(dirname "$0")/../.." || exit 1
out=build/onnx_export log=build/onnx_export/log
mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc} CFLAGS=${CFLAGS:--O2}

lacking=$(lacks onnx)
[ -z "$lacking" ] || skip_all 'export to ONNX' "$lacking: tools/dev/install.sh onnx"
for header in cjson/cJSON.h utf8proc.h zlib.h; do
    echo "#include <$header>" | $CC -E -x c - >/dev/null 2>&1 ||
        skip_all 'export to ONNX' "<$header>: tools/dev/install.sh test"
done
check 'the code for onnx.proto is made' make -s build/onnx/onnx.pb-c.c
[ $failed = 0 ] || finish

judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/onnx
judge=$judges/bin/python
if ! $judge -c 'import onnx, onnxruntime' >/dev/null 2>&1; then
    python3 -m venv "$judges" >$log 2>&1 &&
        $judge -m pip -q install onnx onnxruntime numpy >>$log 2>&1 ||
        { skip "judges of exports, $(tail -n 1 $log)" 'onnxruntime from PyPI'; judge=''; }
fi
hdf5=$(tools/dev/hdf5.sh)

# build EXAMPLE: what it compiles is exported instead, by a file in front of it.
build() {
    check "$1 builds" $CC $CFLAGS -I. -Ibuild/onnx \
        -include tests/tools/onnx/example.h -o $out/"$1" \
        examples/"$1".c $out/pb.o -lprotobuf-c -lcjson -lutf8proc -lz $hdf5 -lm -pthread
}
# exported CASE GRAPH command...: the model, its inputs and samba.h's outputs are in $out/CASE.
exported() {
    case=$1 ONNX_GRAPH=$2 ONNX_CASE=$out/$1
    export ONNX_GRAPH ONNX_CASE
    shift 2
    rm -rf "$ONNX_CASE"
    check "$case is exported" fails_with 0 exported "$@"
    check "$case is imported, with the same outputs" fails_with 0 "pass $case" \
        env ONNX_DATA=$out $out/onnx "$case"
    [ -z "$judge" ] || check "$case: onnx.checker accepts it and onnxruntime agrees" \
        fails_with 0 "$case: agrees" $judge tests/tools/onnx/judge.py "$out/$case"
}

check 'the messages of onnx.proto compile' \
    $CC $CFLAGS -c -o $out/pb.o build/onnx/onnx.pb-c.c
check 'the importer builds' $CC $CFLAGS -I. -Ibuild/onnx -o $out/onnx tests/tools/onnx.c $out/pb.o \
    -lprotobuf-c -lm -pthread
for example in 01_autograd 02_res_ffn 03_lenet 04_custom_op 05_gpt_text; do build $example; done
for example in 06_gpt2_train 07_gpt2_generate; do build $example; done

cat >$out/config.json <<'END'
{ "model_type": "gpt2", "vocab_size": 211, "n_positions": 32, "n_embd": 32, "n_layer": 2,
  "n_head": 4, "layer_norm_epsilon": 1e-5, "bos_token_id": 210, "eos_token_id": 210 }
END
small='compile --vocab-size 320 --width 32 --layers 2 --heads 2 --length 32 -b 8'
gpt2="compile --config_name $out/config.json -b 2"
exported autograd '' $out/01_autograd
exported res_ffn '' $out/02_res_ffn compile
exported res_ffn_inference '' $out/02_res_ffn compile --inference
exported lenet '' $out/03_lenet --data nowhere
for graph in train prefill decode; do exported text_$graph $graph $out/05_gpt_text $small; done
exported gpt2_train '' $out/06_gpt2_train $gpt2 --max_seq_length 16
exported gpt2_bf16 '' $out/06_gpt2_train $gpt2 --max_seq_length 16 --bf16
exported gpt2_lora '' $out/06_gpt2_train $gpt2 --max_seq_length 16 --lora_rank 4
for graph in prefill decode; do
    exported gpt2_$graph $graph $out/07_gpt2_generate $gpt2 --inference --max_seq_length 32 \
        --chunk 8
done
ONNX_GRAPH='' ONNX_CASE=$out/custom
export ONNX_GRAPH ONNX_CASE
check 'an op of the user is refused, by its number' fails_with 1 32768 $out/04_custom_op
ONNX_GRAPH=nowhere ONNX_CASE=$out/nowhere
check 'a graph that is not there is named' fails_with 1 nowhere $out/02_res_ffn compile

# ---- The other way: models that PyTorch exports ----
torch=''
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -z "$torch" ] && [ -n "$python" ] && $python -c 'import torch' >/dev/null 2>&1 &&
        torch=$python
done
if [ -n "$torch" ]; then
    check 'PyTorch exports its models' \
        to_file $out/torch $torch tests/tools/onnx/torch_models.py $out
    for case in $(grep '^torch_' $out/torch); do
        check "$case is imported, with the same outputs" fails_with 0 "pass $case" \
            env ONNX_DATA=$out $out/onnx "$case"
    done
    check 'these were several' [ "$(grep -c '^torch_' $out/torch)" -ge 4 ]
else skip 'models that PyTorch exports' 'PyTorch: apt-get install python3-torch'; fi

# ---- The command line ----
model=$out/res_ffn_inference/model.onnx
check 'tools/samba imports a model' fails_with 0 'input image: float (' \
    tools/samba import-onnx $model $out/again.pef
check 'and exports the checkpoint' fails_with 0 written \
    tools/samba export-onnx $out/again.pef.ckpt $out/again.onnx
check 'a PEF without values is refused' fails_with 1 'export a checkpoint' \
    tools/samba export-onnx $out/again.pef $out/again.onnx
check 'a file that is no PEF is refused' fails_with 1 PEF \
    tools/samba export-onnx $model $out/again.onnx
check 'a file that is no model is refused' fails_with 1 'not a ModelProto' \
    tools/samba import-onnx README.md $out/x.pef
check 'nonsense is refused' fails_with 2 usage tools/samba import-onnx
check 'the ops are listed' fails_with 0 'LSTM 7' tools/samba onnx-ops
finish
