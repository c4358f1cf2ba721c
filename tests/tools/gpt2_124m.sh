#!/bin/sh
# GPT-2 with 124,439,808 random weights against PyTorch: logits of 64 and of 1024 positions, ten
# steps of training, and what samba saves read back by transformers. 4 GB of memory, 2 GB of disk.
# Two minutes, after PyTorch's part, which is done once and kept in build/gpt2_124m: ten minutes or
# more with Debian's reference BLAS, fewer with libopenblas0.
# Judge: transformers 4.38 beside the system's PyTorch, in a virtual environment below SAMBA_JUDGES
# (~/.cache/samba-judges); without it PyTorch alone, and the last part is skipped.
cd "$(dirname "$0")/../.." || exit 1
skip() { echo "skipped: $1; it takes $2"; }           # as in tests/lib/test.sh
skip_all() { skip "$@"; echo '0 passed, 0 failed'; exit 0; }
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/gpt2
here=build/gpt2_124m
mkdir -p $here || exit 1
passed=0 failed=0
check() {           # check 'what holds' command...
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED $what"; fi
}

echo '#include <cjson/cJSON.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 ||
    skip_all 'GPT-2 with 124 M weights' '<cjson/cJSON.h>: tools/dev/install.sh test'
torch=''
for python in ${PYTHON:-} python3 /usr/bin/python3; do
    $python -c 'import torch' 2>/dev/null && torch=$python && break
done
[ -n "$torch" ] || skip_all 'GPT-2 with 124 M weights' 'PyTorch: apt-get install python3-torch'
has_transformers() { "$1" -c 'import torch, transformers' 2>/dev/null; }
if ! has_transformers "$judges/bin/python"; then
    $torch -m venv --system-site-packages "$judges" >$here/log 2>&1 &&
        "$judges/bin/python" -m pip -q install transformers==4.38.2 >>$here/log 2>&1
fi
python=$torch
has_transformers "$judges/bin/python" && python=$judges/bin/python

${CC:-cc} ${CFLAGS:--O2} -I. -o $here/gpt2 tests/tools/gpt2.c -lcjson -lm -pthread || exit 1
stamp=$(cksum <tests/golden/make_gpt2.py)
if [ "$(cat $here/stamp 2>/dev/null)" != "$stamp" ]; then
    check 'PyTorch computes the golden' $python tests/golden/make_gpt2.py --124m $here
    [ $failed != 0 ] || echo "$stamp" >$here/stamp
fi
check 'samba has the same logits and losses' $here/gpt2 $here
if [ "$python" = "$torch" ]; then
    skip 'reading what samba saved' 'transformers from PyPI, which cannot be installed'
else
    check 'transformers reads what samba saved' $python tests/golden/make_gpt2.py --judge $here
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
