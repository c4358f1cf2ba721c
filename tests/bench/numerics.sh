#!/bin/sh
# tests/bench/numerics.sh PROGRAM FASHION TEXT: trains LeNet, ResNet8 and a small GPT-2 in f32
# (mp0), mp1 and mp4, with three seeds, and the nets of images in PyTorch, in f32 and with autocast,
# where it is installed (PYTHON names one that has it). Prints a table of what comes out, and of
# curves. What was run stays in build/numerics, and is not run again. An hour on two cores.
cd "$(dirname "$0")/../.." || exit 1
program=$1 fashion=$2 text=$3 out=$PWD/build/numerics
mkdir -p "$out" || exit 1
cores=$(nproc 2>/dev/null || echo 2)
if [ -z "${PYTHON:-}" ]; then
    for python in python3 /usr/bin/python3; do
        $python -c 'import torch, numpy' 2>/dev/null && PYTHON=$python && break
    done
fi
[ -n "${PYTHON:-}" ] || echo 'skipped: PyTorch beside it; it takes PYTHON, one that has torch'

one() {             # one MODEL MODE SEED COMMAND...: unless it is there
    file=$out/$1_$2_$3.txt
    shift 3
    [ -s "$file" ] && return
    echo "$*" >&2
    "$@" >"$file.new" && mv "$file.new" "$file" || echo "failed: $*"
}
for seed in 1 2 3; do
    for preset in mp0 mp1 mp4; do
        for net in lenet resnet8; do
            one $net $preset $seed "$program" $net $preset $seed "$fashion"
        done
        one gpt2 $preset $seed "$program" gpt2 $preset $seed "$text"
    done
    [ -n "${PYTHON:-}" ] || continue
    for net in lenet resnet8; do
        for mode in f32 autocast; do
            one $net torch-$mode $seed "$PYTHON" -B tests/bench/numerics.py "$cores" $net $mode \
                $seed "$fashion"
        done
    done
done
sh tests/bench/numerics_table.sh "$out"/*.txt
