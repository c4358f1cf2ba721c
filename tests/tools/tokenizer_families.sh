#!/bin/sh
# tests/tools/tokenizer_families.sh [all | FAMILY ...]: tools/include/samba/tokenizer.h against
# Hugging Face's tokenizers and sentencepiece, from PyPI, in a virtual environment in
# ${SAMBA_JUDGES:-$HOME/.cache/samba-judges}: each family is trained by them, and encodes N texts
# and characters of Unicode; without an argument some families, 2000 texts and a ninth of the
# characters, which takes two minutes; with all every family, a million texts and every character.
cd "$(dirname "$0")/../.." || exit 1
here=build/test/tokenizer-families
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/families
mkdir -p $here || exit 1
log=$here/log
. tests/lib/test.sh

texts=${N:-2000}
[ $# -gt 0 ] || set -- llama3 qwen2 deepseek3 holes_fused llama2 albert bert_uncased sp_t5 sp_llama
[ "$1" != all ] || { texts=${N:-1000000}; shift; }
for header in cjson/cJSON.h utf8proc.h; do
    echo "#include <$header>" | ${CC:-cc} -E -x c - >/dev/null 2>&1 && continue
    skip_all 'families of tokenizers' "<$header>: tools/dev/install.sh test"
done
printf '%s\n' '#define SAMBA_TOKENIZER_IMPLEMENTATION' \
    '#include "tools/include/samba/tokenizer.h"' >$here/t.c
check 'builds a library' ${CC:-cc} -O2 -I. -shared -fPIC -o $here/tokenizer.so $here/t.c \
    -lcjson -lutf8proc

has_judges() { "$judges/bin/python" -c 'import tokenizers, sentencepiece' >/dev/null 2>&1; }
if ! has_judges; then
    rm -rf "$judges"
    python3 -m venv "$judges" >$here/log 2>&1 &&
        "$judges/bin/python" -m pip install -q --disable-pip-version-check \
            'tokenizers==0.23.*' 'sentencepiece==0.2.*' protobuf >>$here/log 2>&1
fi
has_judges || skip_all "families of tokenizers, $(tail -n 1 $here/log)" \
    'tokenizers and sentencepiece from PyPI'
"$judges/bin/python" tests/tools/tokenizer_families.py $here/tokenizer.so $here/trained "$texts" \
    "$@" >$here/out 2>$here/err
last=$(tail -n 1 $here/out | grep -xE '[0-9]+ passed, [0-9]+ failed')
sed '$d' $here/out
if [ -z "$last" ]; then
    tail -n 20 $here/err
    failed=$((failed + 1))
else
    p=${last%% passed*} f=${last##*, } f=${f%% failed*}
    passed=$((passed + p)) failed=$((failed + f))
fi
finish
