#!/bin/sh
# tests/tools/text_cli.sh: tools/samba generate and chat. Texts and conversations are those of
# transformers (of a Python that has it, PYTHON, or in a virtual environment below SAMBA_JUDGES);
# what is refused is refused with the reason and the remedy.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/text_cli log=build/text_cli.log
. tests/lib/test.sh
rm -rf $out && mkdir -p $out || exit 1
CC=${CC:-cc}
MALLOC_PERTURB_=165         # glibc: memory is never zero by chance
export MALLOC_PERTURB_
for header in cjson/cJSON.h utf8proc.h; do
    echo "#include <$header>" | $CC -E -x c - >/dev/null 2>&1 ||
        skip_all 'tools/samba generate and chat' "<$header>: tools/dev/install.sh test"
done

build() {
    $CC -std=gnu99 -O0 -I. -o $out/folder tests/lib/make_text_folder.c -lcjson &&
        build_with_samba -o $out/tool tools/cli/text.c tools/cli/text/*.c tools/cli/run/*.c \
            tools/cli/util/*.c -lcjson -lutf8proc
}
nets() { build_with_samba -o $out/nets tests/lib/run_nets.c && $out/nets $out; }
check 'the tool is built' build
check 'nets are there' nets
[ $failed = 0 ] || finish
models='llama_mha llama_gqa llama_shards llama_mistral llama_qwen2 llama_qwen3 llama_smollm
    gpt2_tiny'
for model in $models; do
    check "$model gets a tokenizer" $out/folder tests/golden/$model $out/$model
done
tool=$PWD/$out/tool
cd $out || exit 1
log=log

# says CODE TEXT word...: of tools/samba.
says() { code=$1 text=$2; shift 2; fails_with "$code" "$text" "$tool" "$@"; }
prints() {          # prints TEXT word...: that alone, on stdout
    text=$1
    shift
    "$tool" "$@" >printed 2>"$log.said" && [ "$(cat printed)" = "$text" ] && return
    cat printed "$log.said"
    false
}

# ---- Texts --------------------------------------------------------------------------------------
hello='generate llama_mha --prompt abcHello --max-tokens 12'
check 'a text goes on' prints abcHelloyIOfIhrfbDDD $hello
check 'and says how fast' says 0 '8 tokens of the prompt, 12 new ones' $hello
check 'whatever is read at once' prints abcHelloyIOfIhrfbDDD $hello --chunk 3
check 'with weights of 8 bits' prints abcHelloyIOfIhrfbDDD $hello --weights int8
check 'with a cache of half the size' prints abcHelloyIOfIhrfbDDD $hello --cache bf16
check 'of a quarter' prints abcHelloyIOfIhrfbDDD $hello --cache int8
check 'with an adapter' says 0 'abc' generate llama_gqa --prompt abc --max-tokens 3 \
    --adapter ../../tests/golden/llama_gqa/adapter
check 'on packed weights' says 0 'abc' generate llama_gqa --prompt abc --max-tokens 3 \
    --adapter ../../tests/golden/llama_gqa/adapter --weights bf16
from_input() { printf 'abcHello\n' | prints abcHelloyIOfIhrfbDDD generate llama_mha --prompt - \
    --max-tokens 12; }
check 'from standard input' from_input
drawn() {
    for seed in 1 2 3; do
        "$tool" $hello --temperature 1.5 --top-k 20 --top-p 0.9 --min-p 0.01 --seed $seed \
            --repetition-penalty 1.1 >drawn.$seed 2>/dev/null || return 1
        "$tool" $hello --temperature 1.5 --top-k 20 --top-p 0.9 --min-p 0.01 --seed $seed \
            --repetition-penalty 1.1 2>/dev/null | cmp - drawn.$seed || return 1
    done
    ! cmp -s drawn.1 drawn.2 || ! cmp -s drawn.1 drawn.3
}
check 'what is drawn depends on the seed alone' drawn
saved() {
    "$tool" generate llama_shards --prompt abc --weights int4 --cache int8 --length 20 \
        --save s.pef >one 2>/dev/null &&
        "$tool" generate s.pef --folder llama_shards --prompt abc >two 2>/dev/null && cmp one two
}
check 'a program that was saved writes the same' saved

prompt_cache() {
    long='generate llama_qwen3 --prompt abcdefghijklmnop --max-tokens 9 --prompt-cache p.cache'
    "$tool" $long >one 2>/dev/null && [ -s p.cache ] && "$tool" $long >two 2>/dev/null &&
        cmp one two && says 1 'p.cache: it was made by another model' generate llama_mha \
        --prompt abcdefghijklmnop --prompt-cache p.cache
}
check 'a prompt is read from a file' prompt_cache

# ---- Chats --------------------------------------------------------------------------------------
chats() {           # chats TEXT word...: lines of stdin are messages
    text=$1
    shift
    printf 'abc\n\nHi\n' | prints "$text" chat "$@"
}
check 'a conversation' chats "$(printf '<pad>z<pad><pad><pad>\nOj<pad>j<pad>')" llama_mha \
    --max-tokens 5
check 'without a message' prints '' chat llama_mha </dev/null
system() {
    printf 'abc\n' | "$tool" chat llama_mha --system be --max-tokens 9 >one 2>/dev/null &&
        printf 'abc\n' | "$tool" chat llama_mha --max-tokens 9 >two 2>/dev/null && ! cmp -s one two
}
check 'the system is heard' system
full() {
    printf 'abc\nabc\nabc\n' | says 1 'the text has' chat llama_mha --length 24 --max-tokens 9
}
check 'a conversation that is too long is told' full

# ---- Texts as inputs of other models ------------------------------------------------------------
run='run tokens.ckpt --tokenizer llama_mha --json'
says_ids() {        # says_ids IDS word...: of the net that gives its ids back
    ids=$1
    shift
    "$tool" $run "$@" >printed 2>"$log.said" && tr -d ' \n' <printed | grep -qF "$ids" && return
    cat printed "$log.said"
    false
}
check 'a text is a row of tokens' says_ids '[[6,7,8,6,7]]' --input ids=text:abcab
check 'whatever stands in it' says_ids '[[1,6,4,0,7]]' --input 'ids=text:<s>a<|user|>=b'
check 'the only input needs no name' says_ids '[[6,7,8,6,7]]' --input text:abcab
check 'short ones are filled' says_ids '[[6,2,2,2,2]]' --input ids=text:a --pad 2
printf 'abc\n\nabcab\n' >texts
check 'lines are rows' says_ids '[[6,7,8,0,0],[0,0,0,0,0],[6,7,8,6,7]]' \
    --input ids=text:@texts --pad 0
check 'a short text is refused' says 2 'text 1 has 1 tokens; a row of the input takes 5: --pad ID' \
    $run --input ids=text:a
check 'a long one' says 2 'text 1 has 6 tokens; a row of the input takes 5' \
    $run --input ids=text:abcabc --pad 0
check 'without a tokenizer' says 2 'say --tokenizer FOLDER' run tokens.ckpt --input ids=text:abcab
check 'of another kind' says 2 'tokenizer.json' \
    run tokens.ckpt --tokenizer . --input ids=text:abcab
check 'no such lines' says 2 'none: ' $run --input ids=text:@none
check 'no such pad' says 2 '--pad: give a number' $run --input ids=text:a --pad x

# ---- What is refused ----------------------------------------------------------------------------
check 'help' says 0 'usage: tools/samba generate' generate --help
check 'of chat' says 0 'Ctrl-D ends' chat --help
check 'no model' says 2 'which model?' generate
check 'two models' says 2 'one model at a time' generate llama_mha llama_gqa
check 'no prompt' says 1 'say --prompt TEXT' generate llama_mha
check 'no such folder' says 1 'none: there is no such folder' generate none --prompt a
check 'no configuration' says 1 './config.json: there is no such file' generate . --prompt a
check 'no tokenizer' says 1 'tokenizer.json' generate ../../tests/golden/llama_mha --prompt a
check 'an unknown flag' says 2 'there is no flag --topk' generate llama_mha --topk 3
check 'a flag of the other command' says 2 'there is no flag --prompt' chat llama_mha --prompt a
check 'no value' says 2 '--top-k: give a value' generate llama_mha --top-k
for bad in '--top-p 2' '--top-k -1' '--top-k 1.5' '--temperature x' '--max-tokens 0' '--seed -1' \
    '--min-p 1e9' '--repetition-penalty nan'; do
    check "$bad" says 2 "${bad%% *} is ${bad#* }; give a" generate llama_mha $bad
done
check 'weights of no kind' says 1 '--weights is int3; it is f32' \
    generate llama_mha --prompt a --weights int3
check 'a cache of no kind' says 1 '--cache is int4; it is f32' \
    generate llama_mha --prompt a --cache int4
check 'a program without its folder' says 1 'needs --folder' generate s.pef --prompt a
check 'of another folder' says 1 's.pef was not made of llama_gqa' \
    generate s.pef --folder llama_gqa --prompt a
check 'compiled already' says 1 'was compiled before' \
    generate s.pef --folder llama_shards --prompt a --weights int8
check 'too long a prompt' says 1 'the prompt has 65 tokens; this model takes 1 ... 63' \
    generate llama_mha --prompt "$(printf '%065d' 0 | tr 0 a)"
mkdir -p plain && cp llama_mha/* plain && echo '{}' >plain/tokenizer_config.json
check 'a folder without a chat template' says 1 'has no chat template' chat plain
echo '{ "model_type": "llama", "hidden_size": 8 }' >plain/config.json
check 'a missing key is named' says 1 'intermediate_size is missing' generate plain --prompt a
cp llama_mha/config.json plain && rm plain/model.safetensors
check 'missing weights are named' says 1 'model.safetensors' generate plain --prompt a
cd ../..
log=$out/log

# ---- Beside transformers ------------------------------------------------------------------------
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/transformers
has_transformers() { "$1" -c 'import torch, transformers' >/dev/null 2>&1; }
judge=''
for python in ${PYTHON:-} "$judges/bin/python" python3; do
    [ -n "$judge" ] || ! has_transformers "$python" || judge=$python
done
if [ -n "$judge" ]; then
    folders=''
    for model in $models; do folders="$folders $out/$model"; done
    check 'transformers writes and says the same' $judge tests/lib/text_judge.py $tool $folders
else
    skip 'tools/samba generate and chat beside transformers' \
        'a PYTHON with torch and transformers 5, from PyPI'
fi
finish
