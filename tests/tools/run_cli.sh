#!/bin/sh
# tests/tools/run_cli.sh: tools/samba run. What it makes of inputs is what numpy makes of them in
# double (of NUMPY, a Python that has it, or in a virtual environment below SAMBA_JUDGES); what it
# refuses it refuses with the reason and the remedy.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/run_cli log=build/run_cli.log
. tests/lib/test.sh
rm -rf $out && mkdir -p $out || exit 1
CC=${CC:-cc}
MALLOC_PERTURB_=165         # glibc: memory is never zero by chance
export MALLOC_PERTURB_

build() {
    build_with_samba -o $out/nets tests/lib/run_nets.c &&
        build_with_samba -o $out/tool tools/cli/run.c tools/cli/run/*.c tools/cli/util/*.c
}
check 'the tool and the nets are built' build
[ $failed = 0 ] || finish
check 'the nets are written' $out/nets $out
tool=$PWD/$out/tool
cd $out || exit 1
log=log

# says CODE TEXT word...: of tools/samba run.
says() { code=$1 text=$2; shift 2; fails_with "$code" "$text" "$tool" run "$@"; }
echo '[[1, 0, -1], [0.5, 0, 0], [0, 0, 0], [2, 2, 2]]' >x.json
echo '[[1, 0, -1]]' >row.json

# ---- What there is ------------------------------------------------------------------------------
check 'help' says 0 'usage: tools/samba run' --help
check 'without a model' says 2 'usage:'
check 'inputs are listed' \
    says 0 'x                    f32   (4,3)  a row is one example' several.ckpt
check 'so are outputs' says 0 'class                i32   (4)' several.ckpt
check 'with an example' says 0 'run mlp.ckpt --input x=x.npy --output y.npy' mlp.ckpt
check 'a training says what it is' says 0 'a training, run as a test' training.ckpt

# ---- What is printed ----------------------------------------------------------------------------
check 'outputs are printed' says 0 'y f32 (4,2)' mlp.ckpt --input x.json
echo '[0]' >zero.json
check 'a state that begins with the file' says 0 '[[1, 0, -1]]' \
    state.ckpt --input x=row.json --input at=zero.json
check 'and goes on is not for rows' says 2 'depends on the other rows of the batch, or on runs' \
    state.ckpt --input x=x.json --input at=zero.json
echo '[[-Infinity, Infinity, NaN], [true, false, -0.5]]' >odd.json
check 'what Python writes is read' says 0 \
    '[[-Infinity, Infinity, NaN], [1, 0, -0.5]]' f16.ckpt --input odd.json
same_bits() {
    "$tool" run mlp.ckpt --input x.json --json --threads 1 >one &&
        "$tool" run mlp.ckpt --input x.json --json >all && cmp one all
}
check 'threads make no difference' same_bits
same_files() {
    for i in one two; do
        "$tool" run several.ckpt --input x=x.json --input ids=ids.json --output $i.npz || return 1
    done
    cmp one.npz two.npz
}
echo '[1, 2, 3, 4]' >ids.json
check 'a .npz file is the same whenever it is written' same_files
long() {
    { printf '['; yes '[1, 2, 3],' | head -n 600; echo '[1, 2, 3]]'; } >long.json
    says 0 'y f32 (601,2)' mlp.ckpt --input long.json && [ "$(wc -c <"$log.said")" -lt 400 ] &&
        "$tool" run mlp.ckpt --input long.json --json | grep -c ']' | grep -qx 1
}
check 'long outputs are cut, but not in JSON' long
fast() {
    says 0 'GFLOP/s ' mlp.ckpt --benchmark 20 --input x.json &&
        says 0 'runs    20' mlp.ckpt --benchmark 20 &&
        says 0 '"flops": 220,' mlp.pef --benchmark --json
}
check 'runs are timed, of a PEF without values, too' fast

# ---- Words --------------------------------------------------------------------------------------
check 'an unknown flag' says 2 'there is no flag --imput' mlp.ckpt --imput x.json
check 'an unknown input' says 2 'has no input ide; did you mean ids? It has ids, x' \
    several.ckpt --input ide=x.json
check 'an unknown output' says 2 'has no output clas; did you mean class?' \
    several.ckpt --input x.json --output clas=a.npy
check 'an ending that says nothing' says 2 'ends with .npy, .npz, .json' mlp.ckpt --input x=x.txt
check 'of an output, too' says 2 'has to end with .npy' mlp.ckpt --input x.json --output y=y.txt
check 'which input?' says 2 'for which of the 2 inputs?' several.ckpt --input x.json
check 'one is missing' says 2 'input ids is not given: --input ids=FILE.npy' \
    several.ckpt --input x=x.json
check 'one is given twice' says 2 'input x is given twice' mlp.ckpt --input x.json --input x.json
check 'many outputs for one file' says 2 'write NAME=y.npy, or a .npz file' \
    several.ckpt --input x=x.json --input ids=ids.json --output y.npy
check 'one of a whole batch' says 2 'output mean has no rows' \
    several.ckpt --input x=row.json --input ids=zero.json
check 'two models' says 2 'one model at a time' mlp.ckpt mixed.ckpt
check 'no threads' says 2 '--threads: give a number from 1 to 64' mlp.ckpt --threads 0
check 'more runs than there is time for' says 2 '--benchmark: give a number' \
    mlp.ckpt --benchmark 99999999999
check 'a benchmark writes nothing' says 2 'leave one out' mlp.ckpt --benchmark --output y.npy

# ---- Models -------------------------------------------------------------------------------------
check 'no such model' says 2 'none.ckpt: there is no such file' none.ckpt
check 'a folder' says 2 'this is a folder' .
check 'no model' says 2 'x.json' x.json
check 'a PEF without values' says 2 'give its checkpoint by --weights FILE.ckpt' \
    mlp.pef --input x.json
check 'values of another model' says 2 'nothing was changed' \
    mlp.pef --input x.json --weights training.pef

# ---- Files --------------------------------------------------------------------------------------
bad_json() { printf '%s' "$2" >bad.json; says 2 "bad.json: line $1" mlp.ckpt --input x=bad.json; }
check 'nothing' bad_json '1, before "": a number, or a list' ''
check 'no number' bad_json '1, before "two]]": a number' '[[1, two]]'
check 'half a number' bad_json '1, before "1e+]]": this is no number' '[[1e+]]'
check 'a number too large' bad_json '1, before "1e999]]": this number is larger' '[[1e999]]'
check 'lists of different length' bad_json \
    '2, before "]": this list is of another length' '[[1, 2, 3],
[1, 2]]'
check 'numbers beside lists' bad_json '1, before "]": lists are nested unevenly' '[[1], 2]'
check 'lists beside numbers' bad_json '1, before "3]]": lists are nested unevenly' '[1, [3]]'
check 'too many lists' bad_json '1, before' '[[[[[[[[[[[[1]]]]]]]]]]]]'
check 'no end' bad_json '1, before "": a list goes on' '[[1, 2, 3]'
check 'two values' bad_json '1, before "[2]": nothing may stand' '[1][2]'
check 'no name' bad_json '1, before "}": a name in quotes' '{}'
check 'no value' bad_json '1, before "}": behind a name' '{"x"}'
shape() { echo "$1" >bad.json; says 2 "$2" mlp.ckpt --input x=bad.json; }
check 'another shape' shape '[[1, 2]]' 'its shape is (1,2); input x wants (4,3), or another number'
check 'too many dimensions' shape '[[[1, 2, 3]]]' 'its shape is (1,1,3)'
check 'rows of rows' shape '[[[1, 2, 3], [1, 2, 3], [1, 2, 3]]]' 'its shape is (1,3,3)'
check 'a number that is no f32' shape '[[1e39, 2, 3]]' 'element 0 is 1e+39, which is no f32'
printf 'bytes' >x.raw
check 'half a row' says 2 'it has 5 bytes; a row of the input takes 12, all of it 48' \
    mlp.ckpt --input x.raw
: >x.raw
check 'no row' says 2 'it has 0 bytes' mlp.ckpt --input x.raw
printf 'no array' >x.npy
check 'no .npy' says 2 'x.npy: it is no .npy file' mlp.ckpt --input x.npy
cp x.npy x.npz
check 'no .npz' says 2 'x.npz: it is no .npz file' mlp.ckpt --input x.npz
check 'no such file' says 2 'none.npy' mlp.ckpt --input none.npy
check 'no such folder' says 2 'none/y.npy' mlp.ckpt --input x.json --output none/y.npy
stays() {
    echo kept >y.npy
    ! "$tool" run mixed.ckpt --input row.json --output y.npy && [ "$(cat y.npy)" = kept ]
}
check 'a run that fails writes nothing' stays
visible() {
    name=$(printf 'a\033[2J.json')
    says 2 'a\x1B[2J.json' mlp.ckpt --input "x=$name"
}
check 'names do not steer the terminal' visible
cd ../..
log=$out/log

# ---- An imported model, which has ops of the importer ----
importer() {
    make -s build/samba-onnx build/onnx/onnx.pb-c.c &&
        build_with_samba -DSAMBA_RUN_ONNX -Ibuild/onnx -o $out/onnx_tool tools/cli/run.c \
            tools/cli/run/*.c tools/cli/util/*.c build/onnx/onnx.pb-c.c -lprotobuf-c
}
imported() { build/samba-onnx import-onnx tests/golden/onnx_train_tied.onnx $out/tied.pef; }
if [ -n "$(tools/dev/install.sh look onnx)" ]; then
    skip 'tools/samba run of an imported model' 'the importer: tools/dev/install.sh onnx'
else
    check 'the tool is built with the importer' importer
    check 'a model is imported' imported
    check 'and runs' fails_with 0 'runs/s' $out/onnx_tool run $out/tied.pef.ckpt --benchmark 2
    check 'a tool without the importer says what it takes' fails_with 2 'install.sh onnx' \
        $tool run $out/tied.pef.ckpt
fi

# ---- Beside numpy -------------------------------------------------------------------------------
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/safetensors   # which has numpy
judge=${NUMPY:-$judges/bin/python}
if ! $judge -c 'import numpy' >/dev/null 2>&1; then
    python3 -m venv "$judges" >$log 2>&1 &&
        $judge -m pip -q install safetensors numpy >>$log 2>&1 ||
        { skip "tools/samba run beside numpy, $(tail -n 1 $log)" 'numpy from PyPI'; judge=''; }
fi
[ -z "$judge" ] ||
    check 'numpy makes the same in double' $judge tests/lib/run_judge.py $out/tool $out
finish
