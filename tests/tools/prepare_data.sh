#!/bin/sh
# tests/tools/prepare_data.sh: tools/samba prepare-data, decode-data and check-data as programs:
# the gold files of SambaNova (if SAMBA_SHARED, or ../shared, has them), small inputs made here,
# broken ones, and shuffles. A build with AddressSanitizer and UBSan does it. Ends with "N passed,
# N failed".
cd "$(dirname "$0")/../.." || exit 1
shared=${SAMBA_SHARED:-../shared}
gold=$shared/data/generative_data_prep
out=build/test/prepare
rm -rf $out
mkdir -p $out || exit 1
log=$out/log
. tests/lib/test.sh
says() { text=$1; shift; fails_with 0 "$text" "$@"; }
prints() {          # prints FILE command...: exactly what the file holds
    file=$1
    shift
    "$@" >$log.said && diff "$file" $log.said
}
absent() { ! [ -e "$1" ]; }

# ---- Building -----------------------------------------------------------------------------------
check 'tools/samba builds itself, from another folder' \
    sh -c 'here=$PWD; cd / && "$here/tools/samba" --help'
check 'tools/samba finds itself behind a link' \
    sh -c "ln -sf '$PWD/tools/samba' $out/link && $out/link --help"
sanitize='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'
compiler=cc flags=-O1
for c in clang gcc; do
    have $c && echo 'int main(void) { return 0; }' | $c $sanitize -x c - -o $out/try 2>/dev/null &&
        $out/try && compiler=$c && flags=$sanitize && break
done
[ "$flags" = "$sanitize" ] || \
    skip 'prepare-data under sanitizers' 'a compiler that has them: clang and its libclang-rt-dev'
check 'builds with sanitizers' \
    make -s B=$out/bin CC=$compiler CFLAGS="$flags -Wall -Wextra" $out/bin/samba
samba=$out/bin/samba
[ -x $samba ] || finish

# A program that makes a tokenizer of bytes and <|endoftext|> (256), and shows rows.
cat >$out/helper.c <<'END'
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "tools/include/samba/hdf5_rows.h"
static char why[1024];
static int bytes(const char *folder)            // GPT-2's names of the bytes, in its order
{
    char path[1024];
    snprintf(path, sizeof path, "%s/vocab.json", folder);
    FILE *f = fopen(path, "w");
    int id = 0, other = 256;
    for (int late = 0; f && late < 2; late++)
        for (int c = 0; c < 256; c++) {
            int own = (c > 32 && c < 127) || (c > 160 && c != 173);
            if (own == late) continue;
            fprintf(f, "%s\"\\u%04x\": %d", id ? ", " : "{", own ? c : other++, id);
            id++;
        }
    if (f) fprintf(f, ", \"<|endoftext|>\": 256}\n");
    int bad = !f || fclose(f);
    snprintf(path, sizeof path, "%s/merges.txt", folder);
    f = fopen(path, "w");
    if (f) fprintf(f, "#version: 0.2\n");
    return bad || !f || fclose(f);
}
static int rows(const char *path, int what)     // 0: id/type[/category], else one table, raw
{
    samba_rows *r = samba_rows_open(path, SAMBA_ROWS_READ, 0, false, why, sizeof why);
    if (!r) return puts(why), 1;
    int n = samba_rows_length(r), cats = samba_rows_has_categories(r);
    int32_t *t[3];
    for (int i = 0; i < 3; i++) t[i] = calloc((size_t)n + 1, 4);
    for (int64_t i = 0; i < samba_rows_count(r); i++) {
        if (!samba_rows_read(r, i, 1, t[0], t[1], cats ? t[2] : NULL, why, sizeof why))
            return puts(why), 1;
        if (what) fwrite(t[what - 1], 4, (size_t)n, stdout);
        for (int k = 0; k < n && !what; k++) {
            printf("%s%d/%d", k ? " " : "", t[0][k], t[1][k]);
            if (cats) printf("/%d", t[2][k]);
        }
        if (!what) puts("");
    }
    for (int i = 0; i < 3; i++) free(t[i]);
    samba_rows_abandon(r);
    return 0;
}
static int32_t *table(const char *path, int64_t *n)     // ids, then types
{
    samba_rows *r = samba_rows_open(path, SAMBA_ROWS_READ, 0, false, why, sizeof why);
    if (!r) return NULL;
    *n = samba_rows_count(r) * samba_rows_length(r);
    int32_t *t = malloc(2 * (size_t)*n * 4 + 1);
    if (!samba_rows_read(r, 0, samba_rows_count(r), t, t + *n, NULL, why, sizeof why)) *n = -1;
    samba_rows_abandon(r);
    return t;
}
static int same(const char *a, const char *b)
{
    int64_t n = 0, m = 0;
    int32_t *x = table(a, &n), *y = table(b, &m);
    int differ = !x || !y || n != m || n < 0 || memcmp(x, y, 2 * (size_t)n * 4);
    if (differ) printf("%s is not %s: %s\n", a, b, why);
    free(x);
    free(y);
    return differ;
}
int main(int argc, char **argv)
{
    if (argc == 4) return same(argv[2], argv[3]);
    if (argc == 3 && !strcmp(argv[1], "bytes")) return bytes(argv[2]);
    return argc == 3 ? rows(argv[2], argv[1][0] - '0') : 2;
}
END
helper=$out/helper
check 'a program of helpers' sh -c "$compiler $flags -I. -o $helper $out/helper.c \
    $(tools/dev/hdf5.sh) -lm"
mkdir $out/bytes
check 'a tokenizer of bytes' $helper bytes $out/bytes

# ---- Small inputs: a is 64, b is 65, space 220, newline 198, EOS and padding 256 ----------------
one=$out/one.hdf5
prepare() { $samba prepare-data --output_path $one --overwrite_output_path --max_seq_length 8 \
    --pretrained_tokenizer $out/bytes --silent "$@"; }
rows() {            # rows 'what' 'expected rows' input-name flags...: the input is in $out/NAME
    title=$1 expected=$2 name=$3
    shift 3
    check "$title: runs" prepare --input_path "$out/$name" "$@"
    printf '%s' "$expected" >$out/expected
    check "$title: rows" prints $out/expected $helper 0 $one
}
pad() { i=$1; while [ $i -gt 0 ]; do printf ' 256/2'; i=$((i - 1)); done; }
printf '{"prompt": "a ", "completion": "  b"}\n' >$out/a.jsonl
rows 'a pair' "64/0 220/1 65/1 256/3$(pad 4)
" a.jsonl
rows 'spaces as they are' "64/0 220/0 220/1 220/1 65/1 256/3$(pad 2)
" a.jsonl --disable_space_separator
rows 'prefix and postfix' "65/0 64/0 64/0 220/1 65/1 256/3$(pad 2)
" a.jsonl --prompt_prefix=b --prompt_postfix a
printf 'a\r\n\nb\rab' >$out/a.txt
rows 'text with every line end, and without the last' \
    "64/1 198/1 256/3 198/1 256/3 65/1 198/1 256/3
64/1 65/1 256/3$(pad 5)
" a.txt
printf '\377\n' >$out/bad.txt
rows 'bytes that are not UTF-8' "171/1 123/1 121/1 198/1 256/3$(pad 3)
" bad.txt
printf '[{"completion": "a"}, {"prompt": "b"}, {"completion": ""}]\n{"completion": "b"}' \
    >$out/missing.jsonl
rm $one
check 'a pair without completion stops' fails_with 1 \
    'missing.jsonl line 1: the key "completion" is missing' prepare --input_path $out/missing.jsonl
check 'and quotes the line' grep -qF '    [{"completion": "a"}, {"prompt": "b"}' $log.said
check 'and leaves no file' absent $one
check 'nor a part of it' sh -c "! ls -d ${one%/*}/samba-* 2>/dev/null"
rows 'skipping it' "220/1 65/1 256/3$(pad 5)
" missing.jsonl --ignore_input_format_error
check 'collects the line' sh -c \
    "head -n 1 $out/missing.jsonl | cmp - $out/json_load_failed_lines.log"
printf '[{"prompt":"a","completion":"b"},{"prompt":"b","completion":"a"}]\n' >$out/two.jsonl
p=single::drop
rows 'two pairs, one article' '64/0 220/1 65/1 256/1 65/0 220/1 64/1 256/3
' two.jsonl --input_packing_config $p
rows 'two articles' "64/0 220/1 65/1 256/1$(pad 4)
65/0 220/1 64/1 256/3$(pad 4)
" two.jsonl --input_packing_config $p --packing_boundary prompt_completion_pair
rows 'two separators' '64/0 220/1 65/1 256/3 65/0 220/1 64/1 256/3
' two.jsonl --input_packing_config $p --attention_boundary=prompt_completion_pair
rows 'both boundaries' "64/0 220/1 65/1 256/3$(pad 4)
65/0 220/1 64/1 256/3$(pad 4)
" two.jsonl --input_packing_config $p --attention_boundary prompt_completion_pair \
    --packing_boundary prompt_completion_pair
printf '{"completion":"a"}\n{"completion":"aaaaaaaaa"}\n{"completion":"b"}\n' >$out/long.jsonl
short="220/1 64/1 256/3$(pad 5)
"
end="220/1 65/1 256/3$(pad 5)
"
rows 'single::drop' "$short$end" long.jsonl --input_packing_config single::drop
rows 'single::truncate_left' "${short}64/1 64/1 64/1 64/1 64/1 64/1 64/1 256/3
$end" long.jsonl --input_packing_config single::truncate_left
rows 'single::truncate_right' "${short}220/1 64/1 64/1 64/1 64/1 64/1 64/1 64/1
$end" long.jsonl --input_packing_config single::truncate_right
rows 'greedy::drop' "$short$end" long.jsonl --input_packing_config greedy::drop
rows 'greedy::truncate_right' "${short}220/1 64/1 64/1 64/1 64/1 64/1 64/1 64/1
$end" long.jsonl --input_packing_config greedy::truncate_right
rows 'full' "220/1 64/1 256/3 220/1 64/1 64/1 64/1 64/1
64/1 64/1 64/1 64/1 64/1 256/3 220/1 65/1
256/3$(pad 7)
" long.jsonl --keep_prompt_only_sequences
rows 'the last row of it has nothing to learn from' \
    "220/1 64/1 256/3 220/1 64/1 64/1 64/1 64/1
64/1 64/1 64/1 64/1 64/1 256/3 220/1 65/1
" long.jsonl
printf '{"prompt":"a","completion":""}\n{"prompt":"b","completion":null}\n' >$out/prompts.jsonl
rows 'prompts alone' '' prompts.jsonl
rows 'prompts alone, kept' "64/0 256/3 65/0 256/3$(pad 4)
" prompts.jsonl --keep_prompt_only_sequences
printf '{"q":"a","r":"b","category":"x"}\n[{"r":"a","category":"caf\\u00e9"},{"r":"b"}]\n' \
    >$out/categories.jsonl
printf '["x", "caf\303\251"]' >$out/categories.json
rows 'categories' '64/0/0 220/1/0 65/1/0 256/3/0 220/1/1 64/1/1 256/1/1 220/1/-1
65/1/-1 256/3/-1 256/2/-1 256/2/-1 256/2/-1 256/2/-1 256/2/-1 256/2/-1
' categories.jsonl --prompt_keyword q --completion_keyword r \
    --categories_path $out/categories.json
printf '{"completion":"x","completion":"a\\u0000\\ud83d\\ude00"}\n{"completion":"b","n":NaN}\n' \
    >$out/odd.jsonl
rows 'the last of equal keys, NUL, NaN, a surrogate pair' \
    "220/1 64/1 188/1 172/1 253/1 246/1 222/1 256/3
$end" odd.jsonl --input_packing_config single::drop
printf '{"completion":"<|endoftext|>a<|endoftext|>"}\n' >$out/eos.jsonl
rows 'EOS in the text' "220/1 256/1 64/1 256/3$(pad 4)
" eos.jsonl
mkdir $out/folder
printf '{"completion":"a"}' >$out/folder/1.jsonl
printf '{"completion":"b"}\n' >$out/folder/2.jsonl
echo no >$out/folder/note.txt
rows 'a folder' "220/1 64/1 256/3 220/1 65/1 256/3$(pad 2)
" folder
rows 'a special token' '64/0 220/1 65/1 256/3 257/2 257/2 257/2 257/2
' a.jsonl --special_tokens_dict "{'pad_token': '<pad>'}"
check 'an input path by its old name' prepare --input_file_path $out/a.jsonl
check 'a log elsewhere' sh -c "$samba prepare-data --input_path $out/a.jsonl --output_path \
    $out/new/folder/a.hdf5 --pretrained_tokenizer $out/bytes --log_file_path $out/logs/my.log &&
    grep -q 'Padding Tokens' $out/logs/my.log"
awk 'BEGIN { printf "{\"completion\":\""; for (i = 0; i < 1000000; i++) printf "ab "
             print "\"}" }' >$out/huge.jsonl
check 'a line of 3 MB' prepare --input_path $out/huge.jsonl --max_seq_length 100000
check 'all of it' sh -c "$helper 1 $one | wc -c | grep -qx 12400000"
if have script; then
    check 'a bar with the time that is left' says ETA script -qec "$samba prepare-data \
        --input_path $out/huge.jsonl --output_path $one --overwrite_output_path \
        --pretrained_tokenizer $out/bytes" /dev/null
else skip 'the progress bar' 'script: apt-get install bsdutils'; fi

# ---- Broken inputs and wrong words: each has its sentence ---------------------------------------
bad() {             # bad 'line of JSON' 'what it says'
    printf '%s\n' "$1" >$out/bad.jsonl
    check "refuses $1" fails_with 1 "bad.jsonl line 1: $2" prepare --input_path $out/bad.jsonl
}
check 'refuses an empty line' fails_with 1 'blank.jsonl line 2: the line is empty' \
    sh -c "printf '{\"completion\":\"a\"}\n\n' >$out/blank.jsonl; $samba prepare-data --input_path \
    $out/blank.jsonl --output_path $out/b.hdf5 --pretrained_tokenizer $out/bytes"
bad '{"completion":"a"' 'expected , or } (column 18)'
bad '{"completion":"a"} x' 'something follows the value'
bad "{'completion':'a'}" 'expected a key in double quotes (column 2)'
bad '{"completion":"a",}' 'expected a key'
bad '{"completion":01}' 'expected , or }'
bad '{"completion":"a' 'the text that begins here never ends (column 15)'
bad '{"completion":"\x"}' 'there is no such \ escape'
bad '{"completion":"\u12"}' '\u needs four hexadecimal digits'
bad '{"completion":"\ud800"}' 'the text of "completion" has a lone surrogate'
bad "$(printf '{"completion":"a\tb"}')" 'a control character within a text'
bad '{"completion":5}' 'the value of "completion" is a number, not a text'
bad '{"completion":"a","prompt":["b"]}' 'the value of "prompt" is a list, not a text'
bad '{"Completion":"a"}' 'the key "completion" is missing'
bad '"completion"' 'expected an object'
bad '[["completion"]]' 'expected an object'
bad "$(printf '\357\273\277{"completion":"a"}')" 'the file begins with a byte order mark'
flags_fail() {      # flags_fail CODE 'what it says' flags...: of prepare, with a good input
    code=$1 text=$2
    shift 2
    check "refuses $*" fails_with "$code" "$text" prepare --input_path $out/a.jsonl "$@"
}
flags_fail 2 'there is no flag --nonsense' --nonsense
flags_fail 2 '"nonsense" is no flag' nonsense
flags_fail 2 '--prompt_prefix needs a value' --prompt_prefix
flags_fail 2 '--silent takes no value' --silent=yes
flags_fail 2 'expected a whole number' --max_seq_length 1e3
flags_fail 2 'expected 1 to' --max_seq_length 0
flags_fail 2 'is no packing' --input_packing_config full::drop
flags_fail 2 'expected jsonl or prompt_completion_pair' --packing_boundary line
flags_fail 2 'needs --pipeline' --dev_ratio 0.1
flags_fail 2 'expected a share' --pipeline --dev_ratio 1
flags_fail 2 'expected on_RAM, large_file or False' --pipeline --shuffle yes
flags_fail 1 'has no chat_template.jinja' --apply_chat_template
flags_fail 2 'are the same; give one' --input_file_path $out/a.jsonl
flags_fail 1 'no JSON object' --special_tokens_dict '{pad'
flags_fail 1 'there is no key "pad"' --special_tokens_dict '{"pad": "x"}'
flags_fail 1 'must name a .json file' --categories_path $out/a.jsonl
flags_fail 1 'expected a JSON list' --categories_path $out/bytes/vocab.json
flags_fail 1 'does not end with .hdf5' --output_path $out/x.h5
flags_fail 1 'cannot be read' --input_path $out/none.jsonl
flags_fail 1 'not a jsonl or txt file' --input_path $out/helper.c
flags_fail 1 'no .jsonl and no .txt' --input_path $out/bin
flags_fail 1 'Names of the Hugging Face hub are not looked up' --pretrained_tokenizer gpt2
flags_fail 1 'folder without tokenizer.json' --pretrained_tokenizer $out/folder
: >$out/empty.jsonl
flags_fail 1 'is empty' --input_path $out/empty.jsonl
check 'an unknown category stops, whatever is ignored' fails_with 1 \
    'line 1: the category "x" is not in the list' sh -c "echo '[]' >$out/none.json; \
    $samba prepare-data --input_path $out/categories.jsonl --output_path $out/c.hdf5 \
    --completion_keyword r --categories_path $out/none.json --ignore_input_format_error \
    --pretrained_tokenizer $out/bytes"
: >$out/there.hdf5
check 'keeps what is there' fails_with 1 'there.hdf5 exists' $samba prepare-data \
    --input_path $out/a.jsonl --output_path $out/there.hdf5 --pretrained_tokenizer $out/bytes
check 'no input at all' fails_with 2 '--input_path is missing' $samba prepare-data
check 'an unknown command' fails_with 2 'there is no command "nonsense"' $samba nonsense
check 'no command' fails_with 2 'usage' $samba

# ---- What the tokenizer's other files say -------------------------------------------------------
tokenizer_with() {  # tokenizer_with FILE TEXT...: $out/said is the tokenizer of bytes with these
    rm -rf $out/said && cp -r $out/bytes $out/said
    while [ $# -gt 0 ]; do
        printf '%s' "$2" >"$out/said/$1"
        shift 2
    done
}
refused() {         # refused 'what it says' FILE TEXT...
    text=$1
    shift
    tokenizer_with "$@"
    check "refuses $1 $2" fails_with 1 "$text" prepare --input_path $out/a.jsonl \
        --pretrained_tokenizer $out/said
}
t=tokenizer_config.json
m=special_tokens_map.json
refused "$t: tokenizer_class is Qwen2Tokenizer" $t '{"tokenizer_class": "Qwen2Tokenizer"}'
refused "$t: tokenizer_class is RobertaTokenizer" $t '{"tokenizer_class": "RobertaTokenizer"}'
refused 'config.json: model_type is llama, whose tokenizer is not' config.json \
    '{"model_type": "llama"}'
refused "$t: add_prefix_space is true" $t '{"add_prefix_space": true}'
refused "$t: split_special_tokens is true" $t '{"split_special_tokens": true}'
refused "$m: pad_token is <x>, but <y> in $t" $m '{"pad_token": "<x>"}' $t '{"pad_token": "<y>"}'
refused "$t: add_bos_token is true, but there is no bos_token" $t \
    '{"add_bos_token": true, "bos_token": null}'
refused 'no eos_token is named' $t '{"eos_token": null}'
refused 'added_tokens_decoder: "300" is no id from 0 to 257' $t \
    '{"added_tokens_decoder": {"300": {"content": "<x>"}}}'
check 'refuses a tokenizer.json by another name' fails_with 1 'or a tokenizer.json in one' \
    prepare --input_path $out/a.jsonl --pretrained_tokenizer $out/bytes/vocab.json
said() {            # said 'what' 'rows' INPUT FILE TEXT...
    title=$1 expected=$2 name=$3
    shift 3
    tokenizer_with "$@"
    rows "$title" "$expected" "$name" --pretrained_tokenizer $out/said
}
printf '{"prompt": "a<x>", "completion": "<y>"}\n' >$out/x.jsonl
said 'a pad_token that the vocabulary lacks gets the next id' \
    '64/0 220/1 65/1 256/3 257/2 257/2 257/2 257/2
' a.jsonl $t '{"tokenizer_class": "GPT2Tokenizer", "pad_token": "<pad>"}'
said 'added_tokens_decoder' '64/0 257/0 220/1 258/1 256/3 256/2 256/2 256/2
' x.jsonl $t '{"added_tokens_decoder": {"257": {"content": "<x>"}, "258": {"content": "<y>"}}}'
said 'added_tokens.json' '64/0 257/0 220/1 258/3 256/2 256/2 256/2 256/2
' x.jsonl $m '{"mask_token": "<x>", "eos_token": "<y>", "pad_token": "<|endoftext|>"}' \
    added_tokens.json '{"<x>": 257, "<y>": 258}'
said 'special tokens in every form' '64/0 257/0 220/1 258/1 256/3 257/2 257/2 257/2
' x.jsonl $t '{"pad_token": "<x>", "extra_special_tokens": ["<y>"], "added_tokens_decoder":
    {"257": {"content": "<x>"}, "258": {"content": "<y>"}}}'
check 'a dict over the files: runs' $samba prepare-data --pipeline --input_path $out/x.jsonl \
    --output_path $out/dict --max_seq_length 8 --pretrained_tokenizer $out/said --silent \
    --num_training_splits 1 --special_tokens_dict "{'pad_token': '<new>'}"
check 'the tokenizer that it leaves says the same' sh -c "
    $samba prepare-data --pipeline --input_path $out/x.jsonl --output_path $out/dict2 \
    --max_seq_length 8 --pretrained_tokenizer $out/dict/tokenizer --silent \
    --num_training_splits 1 && cmp $out/dict/train_1_of_1.hdf5 $out/dict2/train_1_of_1.hdf5 &&
    $helper 0 $out/dict/train_1_of_1.hdf5 |
        grep -qx '64/0 257/0 220/1 258/1 256/3 259/2 259/2 259/2'"
check 'and so does one that no file describes' sh -c "
    cp -r $out/bytes $out/bare && sed 's/}/, \"<x>\": 257, \"<y>\": 258}/' $out/bytes/vocab.json \
        >$out/bare/vocab.json &&
    $samba prepare-data --pipeline --input_path $out/x.jsonl --output_path $out/bare1 \
    --max_seq_length 8 --pretrained_tokenizer $out/bare --silent --num_training_splits 1 &&
    $samba prepare-data --pipeline --input_path $out/x.jsonl --output_path $out/bare2 \
    --max_seq_length 8 --pretrained_tokenizer $out/bare1/tokenizer --silent \
    --num_training_splits 1 && cmp $out/bare1/train_1_of_1.hdf5 $out/bare2/train_1_of_1.hdf5 &&
    $helper 0 $out/bare1/train_1_of_1.hdf5 | grep -q '^64/0 257/0 220/1 258/1 256/3 '"

# ---- Pipelines ----------------------------------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 200; i++)
    printf "{\"prompt\": \"p%d\", \"completion\": \"c%d\"}\n", i, i }' >$out/many.jsonl
LC_ALL=C sort $out/many.jsonl >$out/many.sorted
pipeline() {        # pipeline FOLDER flags...
    folder=$1
    shift
    $samba prepare-data --pipeline --input_path $out/many.jsonl --output_path "$folder" \
        --pretrained_tokenizer $out/bytes --max_seq_length 16 --silent "$@"
}
for how in on_RAM large_file; do
    s="--shuffle $how --shuffle_memory 500 --keep_split_jsonls --num_training_splits 4 \
--dev_ratio .2 --test_ratio .2"
    check "$how" pipeline $out/$how $s --seed 7 --num_workers 1
    check "$how: no line is lost" sh -c "cat $out/$how/splits/* $out/$how/test_files/* |
        LC_ALL=C sort | cmp - $out/many.sorted"
    check "$how, three processes" pipeline $out/$how.3 $s --seed 7 --num_workers 3
    check "$how: the same bytes" sh -c "cd $out; for f in $how/*.hdf5 $how/splits/* \
        $how/test_files/* $how/metadata.yaml; do cmp \$f $how.3/\${f#*/} || exit 1; done"
    check "$how, another seed" pipeline $out/$how.8 $s --seed 8
    check "$how: another order" sh -c "! cmp $out/$how/splits/train_1_of_4.jsonl \
        $out/$how.8/splits/train_1_of_4.jsonl"
    check "$how: is whole" says 'is whole, and fits' $samba check-data $out/$how \
        --max_seq_length 16 --batch_size 2 --number_of_workers 4 --vocab_size 257 --eval
done
rounds="--num_training_splits 4 --num_dev_splits 2 --num_test_splits 1"
check 'in turn' pipeline $out/turn $rounds
check 'removes the splits' absent $out/turn/splits
check 'leaves test as text' sh -c "awk 'NR % 7 == 5' $out/many.jsonl |
    cmp - $out/turn/test_files/test_1_of_1.jsonl"
cat >$out/metadata.yaml <<'END'
dev_articles: 57
dev_completion_tokens: 298
dev_input_tokens: 509
dev_output_tokens: 512
dev_padding_tokens: 3
dev_prompt_tokens: 211
dev_sequences: 32
dev_tokens_dropped_from_all_prompt: 0
dev_tokens_dropped_from_packing: 0
max_batch_size_dev: 16
max_batch_size_train: 16
END
check 'metadata.yaml' sh -c "head -n 11 $out/turn/metadata.yaml | sed '/^dev_[a-r]/d' >$out/a;
    sed '/^dev_[a-r]/d' $out/metadata.yaml | cmp - $out/a"
check 'the keys of metadata.yaml are sorted' sh -c "cut -d: -f1 $out/turn/metadata.yaml |
    LC_ALL=C sort -c"
check 'writes where something is' pipeline $out/turn $rounds
check 'logs.log is recorded with its size' sh -c "
    size=\$(wc -c <$out/turn/logs.log) && tr '}' '\n' <$out/turn/sha256/files_metadata.json |
    grep -q 'logs.log.*\"size\": '\$size,"
check 'a second run with fewer files would leave some of the first' fails_with 1 \
    'is of an earlier run and would not be replaced' \
    pipeline $out/turn --num_training_splits 3 --num_dev_splits 2 --num_test_splits 1
check 'and has changed nothing' says 'is whole' $samba check-data $out/turn
check 'check-data notices a file that is not counted' fails_with 1 \
    'train_5_of_8.hdf5: metadata.yaml does not count this file' \
    sh -c "cp -r $out/turn $out/stray; cp $out/turn/train_1_of_4.hdf5 $out/stray/train_5_of_8.hdf5
           $samba check-data $out/stray"
check 'check-data notices a changed byte' fails_with 1 'train_2_of_4.hdf5: its bytes have changed' \
    sh -c "cp -r $out/turn $out/changed; printf x >>$out/changed/train_2_of_4.hdf5;
           $samba check-data $out/changed"
check 'and a file too many' fails_with 1 'more: this file was not there' \
    sh -c ": >$out/changed/more; $samba check-data $out/changed"
check 'and one too few' fails_with 1 'dev_1_of_2.hdf5: this file is missing' \
    sh -c "rm $out/changed/dev_1_of_2.hdf5; $samba check-data $out/changed"
check 'a touched file is whole' says 'is whole' \
    sh -c "touch $out/turn/metadata.yaml; $samba check-data $out/turn"
misfit() {
    text=$1
    shift
    check "check-data $*" fails_with 1 "$text" $samba check-data $out/turn "$@"
}
misfit 'max_seq_length specified during training (8) must match' --max_seq_length 8
misfit 'exceeds the maximum allowed batch size' --batch_size 1000
misfit 'number of workers (5) is greater' --number_of_workers 5
misfit 'equal to or greater than dataset vocab size (257)' --vocab_size 256
misfit 'Model type of model during runtime' --model_type bert
check 'check-data without eval files' fails_with 1 'there are no evaluation files' sh -c \
    "$samba prepare-data --pipeline --input_path $out/many.jsonl --output_path $out/nodev --silent \
    --pretrained_tokenizer $out/bytes --num_training_splits 2 --max_seq_length 16 &&
    $samba check-data $out/nodev --eval"
check 'a tokenizer of an earlier run, from the very folder' sh -c "
    $samba prepare-data --pipeline --input_path $out/many.jsonl --output_path $out/nodev --silent \
    --pretrained_tokenizer $out/nodev/tokenizer --num_training_splits 2 --max_seq_length 16 &&
    cmp $out/bytes/vocab.json $out/nodev/tokenizer/vocab.json"
check 'absurd sizes in the hashes are no sizes' sh -c "
    sed 's/\"size\": *[0-9]*/\"size\": 1e300/' $out/nodev/sha256/files_metadata.json >$out/sizes &&
    cp $out/sizes $out/nodev/sha256/files_metadata.json && $samba check-data $out/nodev"
check 'too many splits' fails_with 1 'The number of total splits exceeds the number of
        lines in the input path jsonl file. Please reduce the number
        of splits, or increase the number of lines in the dataset.' \
    pipeline $out/much --num_training_splits 201
check 'as many splits as lines' pipeline $out/each --num_training_splits 200
check 'counts and ratios' fails_with 1 'leave --dev_ratio out' \
    pipeline $out/x $rounds --dev_ratio .1
check 'one count alone' fails_with 1 'belong together' pipeline $out/x --num_dev_splits 1
check 'ratios of all' fails_with 1 'must be below 1' pipeline $out/x --dev_ratio .5 --test_ratio .5
check 'will not delete its own input' fails_with 1 'would delete' \
    pipeline $out --overwrite_output_path
check 'the output is a file' fails_with 1 'this is a file' pipeline $out/many.jsonl
mkdir -p $out/full/inner $out/full/my_cache
: >$out/full/old.hdf5
check 'overwrites' pipeline $out/full --num_training_splits 3 --overwrite_output_path
check 'deletes what was there' absent $out/full/old.hdf5
check 'but caches' [ -d $out/full/my_cache ]
printf '{"bad"\n{"completion":"x","category":"x"}\n{"completion":"y"}\n[]\n' >$out/few.jsonl
few() { folder=$1; shift; $samba prepare-data --pipeline --input_path $out/few.jsonl --output_path \
    "$folder" --pretrained_tokenizer $out/bytes --max_seq_length 4 --silent \
    --num_training_splits 4 "$@"; }
check 'a bad line stops before anything is made' fails_with 1 'few.jsonl line 1: expected :' \
    few $out/few
check 'nothing was made' absent $out/few
check 'files without rows are balanced' few $out/few --ignore_input_format_error \
    --categories_path $out/categories.json
check 'to one row each, or none' sh -c "[ \$($helper 0 $out/few/train_1_of_4.hdf5 | wc -l) = 1 ] &&
    [ \$($helper 0 $out/few/train_4_of_4.hdf5 | wc -l) = 0 ]"
check 'with their categories' sh -c "$helper 0 $out/few/train_2_of_4.hdf5 |
    grep -qx '220/1/0 87/1/0 256/3/0 256/2/-1'"
check 'the bad line is kept' sh -c "head -n 1 $out/few.jsonl |
    cmp - $out/few/json_load_failed_lines.log"
check 'category_to_id.json' grep -qx '{"x": 0, "caf\\u00e9": 1}' $out/few/category_to_id.json
check 'check-data of it' says 'is whole' $samba check-data $out/few
printf '{"completion":"\033[31mred\302\205"\n{"completion":"y"}\n' >$out/red.jsonl
check 'a bad line cannot colour the terminal' fails_with 1 '\x1B[31mred\xC2\x85' \
    prepare --input_path $out/red.jsonl
check 'one bad line is no bad lines' says '1 bad line was skipped; ' $samba prepare-data \
    --input_path $out/red.jsonl --output_path $one --overwrite_output_path \
    --pretrained_tokenizer $out/bytes --ignore_input_format_error
check 'test files keep their bad lines, and that is said' says 'a bad line stays in test_files' \
    sh -c "$samba prepare-data --pipeline --input_path $out/few.jsonl --output_path $out/kept \
    --pretrained_tokenizer $out/bytes --num_training_splits 1 --num_dev_splits 1 \
    --num_test_splits 1 --ignore_input_format_error --max_seq_length 4"
check 'a damaged tokenizer, in three processes' fails_with 1 'vocab.json' sh -c \
    "cp -r $out/bytes $out/broken; head -c 1000 $out/bytes/vocab.json >$out/broken/vocab.json;
     $samba prepare-data --pipeline --num_workers 3 --input_path $out/many.jsonl --output_path \
     $out/x --pretrained_tokenizer $out/broken"
if [ "$(id -u)" != 0 ]; then
    check 'a folder that cannot be written' fails_with 1 'Permission denied' sh -c \
        "mkdir $out/locked; chmod 500 $out/locked; $samba prepare-data --input_path $out/a.jsonl \
        --output_path $out/locked/a.hdf5 --pretrained_tokenizer $out/bytes"
fi
check 'a device is not replaced' fails_with 1 'no regular file' sh -c \
    "ln -sf /dev/null $out/null.hdf5; $samba prepare-data --input_path $out/a.jsonl \
    --output_path $out/null.hdf5 --overwrite_output_path --pretrained_tokenizer $out/bytes"

check 'a disk that fills up' fails_with 1 'is the disk full?' sh -c \
    "trap '' XFSZ; ulimit -f 8; $samba prepare-data --input_path $out/huge.jsonl --silent \
    --output_path $out/fills.hdf5 --overwrite_output_path --pretrained_tokenizer $out/bytes"
check 'leaves no part of it' sh -c "! ls -d $out/samba-* 2>/dev/null"

# ---- Signals, and output that goes nowhere ------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 400000; i++) printf "{\"completion\": \"%d %d\"}\n", i, i * i }' \
    >$out/slow.jsonl
started() {         # started SIGNAL FOLDER: the pipeline in the background, told to end; its code
    $samba prepare-data --pipeline --input_path $out/slow.jsonl --output_path "$2" \
        --pretrained_tokenizer $out/bytes --num_training_splits 4 --num_workers 4 --silent \
        >$out/ended 2>&1 &
    pid=$!
    i=0
    until ls -d "$2"/samba-*.dir >/dev/null 2>&1 || [ $i = 600 ]; do sleep .1; i=$((i + 1)); done
    kill -"$1" $pid
    wait $pid 2>/dev/null
}
running() { ps -ef 2>/dev/null | grep -v grep | grep -q -e "--output_path $1 "; }
ended() {
    i=0
    while running "$1" && [ $i -lt 50 ]; do sleep .1; i=$((i + 1)); done
    ! running "$1"
}
started TERM $out/told
code=$?
check 'kill: the code of the signal' [ $code = 143 ]
check 'kill: says so' grep -q 'stopped by signal 15' $out/ended
check 'kill: and that the folder is not whole' grep -q 'told is not whole' $out/ended
check 'kill: no part is left' sh -c "! ls -d $out/told/samba-* $out/told/splits 2>/dev/null"
check 'kill: no process is left' ended $out/told
started KILL $out/dead
check 'kill -9: no process is left, either' ended $out/dead
check 'kill -9: check-data sees that it is not whole' fails_with 1 'files_metadata.json' \
    $samba check-data $out/dead
check 'and a new run replaces it' pipeline $out/dead --num_training_splits 4 \
    --overwrite_output_path
if [ -w /dev/full ]; then
    nowhere() { check "$1 > /dev/full" fails_with 1 'not all of the output could be written' \
        sh -c "$samba $2 >/dev/full"; }
    nowhere help help
    nowhere 'prepare-data --help' 'prepare-data --help'
    nowhere 'prepare-data' "prepare-data --input_path $out/a.jsonl --output_path $one \
        --overwrite_output_path --pretrained_tokenizer $out/bytes"
    nowhere 'decode-data' "decode-data $one --pretrained_tokenizer $out/bytes"
    nowhere 'check-data' "check-data $out/turn"
    nowhere 'train-tokenizer' "train-tokenizer --vocab_size 300 --output_path $out/t $out/a.txt"
fi
for command in prepare-data decode-data check-data train-tokenizer; do
    check "$command --help is on stdout" sh -c "$samba $command --help 2>/dev/null | grep -q usage"
done
if [ "$(id -u)" != 0 ]; then
    check 'a folder that cannot be made' fails_with 1 'Permission denied' sh -c "
        $samba prepare-data --input_path $out/a.jsonl --output_path $out/locked/b/a.hdf5 \
        --pretrained_tokenizer $out/bytes"
fi

# ---- Chat templates ------------------------------------------------------------------------------
cp -r $out/bytes $out/chat
cat >$out/chat/chat_template.jinja <<'END'
{%- for m in messages %}{{ '<' ~ m.role ~ '>' ~ m.content ~ '\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}
END
cat >$out/chat.jsonl <<'END'
{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
[{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]
END
check 'applies a chat template' $samba prepare-data --silent --input_path $out/chat.jsonl \
    --output_path $out/chat.hdf5 --pretrained_tokenizer $out/chat --max_seq_length 80 \
    --apply_chat_template --input_packing_config single::drop
$samba decode-data $out/chat.hdf5 --pretrained_tokenizer $out/chat --keep_spaces 2>&1 |
    grep -A 1 -e '^----[PC]' -e '^<' | grep -v '^--$' >$out/chat.txt
cat >$out/chat.expected <<'END'
----PROMPT-----
<user>a
<assistant>
----COMPLETION-----
b
----PROMPT-----
<user>c
<assistant>
----COMPLETION-----
d
END
check 'answers are completions, the rest is prompts' cmp $out/chat.txt $out/chat.expected

# ---- decode-data --------------------------------------------------------------------------------
prepare --input_path $out/two.jsonl --attention_boundary prompt_completion_pair >/dev/null 2>&1
cat >$out/expected <<'END'
================================================================================
Number of Sequences: 1
Sequence length: 8
================================================================================
SEQUENCE 1
================================================================================
----PROMPT-----
a
----COMPLETION-----
 b<|endoftext|>
------------------------------ATTENTION SEPARATOR------------------------------
----PROMPT-----
b
----COMPLETION-----
 a<|endoftext|>
------------------------------ATTENTION SEPARATOR------------------------------


================================================================================
END
check 'decode-data' prints $out/expected $samba decode-data $one --pretrained_tokenizer $out/bytes
check 'decode-data to a file' sh -c "$samba decode-data --hdf5_file_path $one \
    --pretrained_tokenizer=$out/bytes --output_decoded_file_path $out/decoded &&
    cmp $out/decoded $out/expected"
check 'decode-data with the tokenizer beside' says 'Padding tokens' \
    $samba decode-data $out/few/train_1_of_4.hdf5
printf '{"prompt":"\342\202\254","completion":" a . it '"'"'s"}\n' >$out/cut.jsonl
prepare --input_path $out/cut.jsonl --max_seq_length 2 --input_packing_config full \
    --keep_prompt_only_sequences >/dev/null 2>&1
check 'decode-data: a character that is cut is U+FFFD' sh -c "
    $samba decode-data $one --pretrained_tokenizer $out/bytes |
        sed -n 8p | grep -qx \"\$(printf '\357\277\275')\""
prepare --input_path $out/cut.jsonl --max_seq_length 16 >/dev/null 2>&1
check 'decode-data cleans up spaces, as the original' says " a. it's<" $samba decode-data $one \
    --pretrained_tokenizer $out/bytes
check 'unless told otherwise' says " a . it 's<" $samba decode-data $one --keep_spaces \
    --pretrained_tokenizer $out/bytes
tokenizer_with $t '{"clean_up_tokenization_spaces": false}'
check 'or by the tokenizer' says " a . it 's<" $samba decode-data $one \
    --pretrained_tokenizer $out/said
check 'decode-data of something else' fails_with 1 'this is no HDF5 file' \
    $samba decode-data $out/helper.c --pretrained_tokenizer $out/bytes
check 'decode-data of nothing' fails_with 2 'which HDF5 file' $samba decode-data
printf 'garbage' | dd of=$one bs=1 seek=2100 conv=notrunc 2>/dev/null
check 'decode-data of damage does not crash' sh -c \
    "$samba decode-data $one --pretrained_tokenizer $out/bytes; [ \$? -le 1 ]"

# ---- The gold files -----------------------------------------------------------------------------
if ! [ -e "$gold/pretraining" ]; then
    skip_all 'the gold files of generative_data_prep' "its tests/examples in $gold"
fi
same() { $helper same "$1" "$2"; }
is_gold() {         # is_gold CASE IDS TYPES flags...: the beginnings of the SHA-256 of both tables
    name=$1 ids=$2 types=$3
    shift 3
    check "$name: runs" $samba prepare-data --input_path "$gold/$name/example_${name}_data.jsonl" \
        --output_path $out/$name.hdf5 --pretrained_tokenizer "$shared/data/gpt2" --silent \
        --max_seq_length 1024 --keep_prompt_only_sequences "$@"
    check "$name: the same rows" same $out/$name.hdf5 "$gold/$name/data_prepped_$name.hdf5"
    check "$name: ids" sh -c "$helper 1 $out/$name.hdf5 | sha256sum | grep -q ^$ids"
    check "$name: types" sh -c "$helper 2 $out/$name.hdf5 | sha256sum | grep -q ^$types"
}
is_gold data_prep_test 1d5caa12e077347b 2da82d64979aa87d
is_gold pretraining 7d6e62807bb66b5a 8ee26708a7391703
is_gold generative_tuning 5b8dd157f2f5617c 06232d11912e6a67 --input_packing_config single::drop
is_gold dialogue 27df8ccc61962f0a 2dae4e7e9b68646b --input_packing_config single::truncate_right
same_folder() {     # same_folder OURS GOLD: as many files, the same rows
    [ "$(ls "$1"/*.hdf5 | wc -l)" = "$(ls "$2"/*.hdf5 | wc -l)" ] || return
    for h in "$2"/*.hdf5; do same "$1/${h##*/}" "$h" || return; done
}
gold_pipeline() {   # gold_pipeline CASE flags...
    name=$1
    shift
    check "pipeline $name: runs" $samba prepare-data --pipeline --silent --keep_split_jsonls \
        --input_path "$gold/$name/example_${name}_data.jsonl" --output_path $out/p_$name \
        --pretrained_tokenizer "$shared/data/gpt2" --max_seq_length 1024 \
        --keep_prompt_only_sequences "$@"
    check "pipeline $name: rows" same_folder $out/p_$name "$gold/$name/pipelined_$name"
    check "pipeline $name: splits" diff -r $out/p_$name/splits "$gold/$name/pipelined_$name/splits"
}
n32="--num_training_splits 32 --num_dev_splits 0 --num_test_splits 0"
gold_pipeline pretraining $n32
gold_pipeline generative_tuning $n32 --input_packing_config single::drop
gold_pipeline dialogue $n32 --input_packing_config single::truncate_right
gold_pipeline pipeline_test --dev_ratio .2 --test_ratio .1 --do_not_balance_hdf5
check 'pipeline pipeline_test: test files' diff -r $out/p_pipeline_test/test_files \
    "$gold/pipeline_test/pipelined_pipeline_test/test_files"
check '128 splits of 100 lines' fails_with 1 'of splits, or increase the number of lines' \
    $samba prepare-data --pipeline --num_training_splits 128 --output_path $out/128 \
    --input_path "$gold/generative_tuning/example_generative_tuning_data.jsonl" \
    --pretrained_tokenizer "$shared/data/gpt2"
check 'four splits' $samba prepare-data --pipeline --output_path $out/four --max_seq_length 1024 \
    --input_path "$gold/pretraining/example_pretraining_data.jsonl" --num_training_splits 4 \
    --pretrained_tokenizer "$shared/data/gpt2" --silent
check 'four splits: metadata' sh -c "grep -c -x -e 'max_batch_size_train: 13' \
    -e 'train_articles: 100' -e 'train_completion_tokens: 53020' -e 'train_sequences: 54' \
    -e 'train_input_tokens: 53020' -e 'train_output_tokens: 55296' \
    -e 'train_padding_tokens: 2276' -e 'train_prompt_tokens: 0' -e 'vocab_size: 50257' \
    $out/four/metadata.yaml | grep -qx 9"

# ---- h5py as judge of our files -----------------------------------------------------------------
cat >$out/judge.py <<'END'
import glob, h5py, os, sys
out, gold = sys.argv[1:]
def tables(path):
    with h5py.File(path) as f:
        return {k: (f[k][:].tolist(), f[k].dtype.str, f[k].chunks, f[k].maxshape,
                    f[k].compression, f[k].compression_opts, f[k].shuffle) for k in f}
pairs = [(f"{out}/{c}.hdf5", f"{gold}/{c}/data_prepped_{c}.hdf5")
         for c in ("data_prep_test", "pretraining", "generative_tuning", "dialogue")]
for c in ("pretraining", "generative_tuning", "dialogue", "pipeline_test"):
    pairs += [(f"{out}/p_{c}/{os.path.basename(g)}", g)
              for g in glob.glob(f"{gold}/{c}/pipelined_{c}/*.hdf5")]
for ours, theirs in pairs:
    assert tables(ours) == tables(theirs), ours
    assert open(ours, "rb").read(9)[8] == 0, "superblock of " + ours
assert len(pairs) == 4 + 3 * 32 + 41, len(pairs)
END
judge=''
for python in python3 /usr/bin/python3; do
    $python -c 'import h5py' 2>/dev/null && judge=$python && break
done
if [ -n "$judge" ]; then check 'h5py: every table, type, chunk and filter as in the gold files' \
    "$judge" $out/judge.py $out "$gold"
else skip 'HDF5 files as h5py sees them' 'h5py: apt-get install python3-h5py'; fi
finish
