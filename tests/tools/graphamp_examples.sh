#!/bin/sh
# tests/tools/graphamp_examples.sh: each example that takes --graphamp-preset trains or infers under
# mp1 and under mp4: about as well as in f32, and not to the same bits. A few thousand images of
# Fashion-MNIST, and texts that are made here.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/test/graphamp_examples log=build/test/graphamp_examples/log
rm -rf $out && mkdir -p $out/images || exit 1
. tests/lib/test.sh
data=${DATA:-/usr/share/datasets/fashion-mnist}
samba=$(sh tests/lib/samba_object.sh "${CC:-cc}" ${CFLAGS:--O2}) || exit 1

build() {           # build NAME LIBRARY...: an example, as $out/NAME
    name=$1
    shift
    ${CC:-cc} -O0 -D_GNU_SOURCE -DSAMBA__IMPLEMENTED -include stdio.h -include stdlib.h \
        -include string.h -I. -o $out/"$name" examples/"$name".c "$samba" "$@" -lm -pthread
}
has_header() { echo "#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1; }
names_presets() {   # names_presets COMMAND...: is mp2 refused, and are all three named?
    for name in mp0 mp1 mp4; do
        fails_with 2 $name "$@" --graphamp-preset mp2 || return
    done
}
last_number() { sed -n "s/.*$2[^0-9]*\\([0-9.]*\\).*/\\1/p" "$1" | tail -n 1; }
# within MOST A B: do two numbers differ by no more? They must be there.
within() { echo "$2 and $3"; echo "$1 $2 $3" | awk '{ d = $2 - $3
    exit !(NF == 3 && d <= $1 && -d <= $1) }'; }
differ() { [ -s "$1" ] && [ -s "$2" ] && ! cmp "$1" "$2"; }

# ---- Images: the first ones of the data set -----------------------------------------------------
first_of() {        # first_of NAME HEAD SIZE COUNT: an IDX file of COUNT items
    {
        printf '\000\000\010\00'"$([ "$2" = 16 ] && echo 3 || echo 1)"
        printf "\\000\\000\\$(printf %03o $(($4 / 256)))\\$(printf %03o $(($4 % 256)))"
        zcat "$data/$1.gz" | tail -c +9 | head -c $(($2 - 8 + $3 * $4))
    } >$out/images/"$1"
}
images() {
    first_of train-images-idx3-ubyte 16 784 6400
    first_of train-labels-idx1-ubyte 8 1 6400
    first_of t10k-images-idx3-ubyte 16 784 1000
    first_of t10k-labels-idx1-ubyte 8 1 1000
}

res_ffn() {         # res_ffn PRESET: compiles, trains, and tests in another process
    here=$out/res_ffn_$1 run="$out/02_res_ffn" files="--data $out/images --checkpoint"
    how="--graphamp-preset $1 --output-folder $out"
    $run compile $how --pef-name res_ffn_"$1" &&
        $run run -p $here/res_ffn_"$1".pef $how --epochs 2 $files $here.ckpt >$here.text &&
        $run compile --inference $how --pef-name res_ffn_i"$1" &&
        $run test --inference -p ${here%mp*}i"$1"/res_ffn_i"$1".pef $how $files $here.ckpt \
            >$here.again && tail -n 1 $here.text | cmp - $here.again
}
lenet() {
    $out/03_lenet --data $out/images --epochs 2 --graphamp-preset "$1" >$out/lenet_"$1".text
}
tutorials() {
    run="$out/09_tutorials" how="--model lenet --graphamp-preset $1 --output-folder $out"
    $run compile $how --pef-name lenet9_"$1" &&
        $run run -p $out/lenet9_"$1"/lenet9_"$1".pef $how --data $out/images --num-epochs 2 \
            --checkpoint $out/tutorial_"$1".ckpt >$out/tutorial_"$1".text
}

vision() {
    for name in 02_res_ffn 03_lenet 09_tutorials 08_data_parallel; do
        check "$name is built" build $name -lz
    done
    check '02 names the presets' names_presets $out/02_res_ffn compile
    check '03 names the presets' names_presets $out/03_lenet
    check '08 names the presets' names_presets $out/08_data_parallel
    check '09 names the presets' names_presets $out/09_tutorials compile
    if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
        skip 'training on images' "Fashion-MNIST in $data: tools/dev/install.sh run"
        return
    fi
    check 'images are there' images
    for preset in mp0 mp1 mp4; do
        check "02 trains and tests under $preset" res_ffn $preset
        check "03 trains under $preset" lenet $preset
        check "09 trains under $preset" tutorials $preset
        [ $preset = mp0 ] && continue
        for net in res_ffn lenet; do
            check "$net learns under $preset" within 3 \
                "$(last_number $out/${net}_mp0.text 'accuracy ')" \
                "$(last_number $out/${net}_$preset.text 'accuracy ')"
        done
        check "02 computes otherwise under $preset" \
            differ $out/res_ffn_mp0.ckpt $out/res_ffn_$preset.ckpt
        check "03 computes otherwise under $preset" \
            sh -c "! cmp $out/lenet_mp0.text $out/lenet_$preset.text"
        check "09 computes otherwise under $preset" \
            differ $out/tutorial_mp0.ckpt $out/tutorial_$preset.ckpt
    done
    check '02 loads no PEF of another preset' fails_with 1 'another graph' $out/02_res_ffn run \
        -p $out/res_ffn_mp1/res_ffn_mp1.pef --data $out/images
    # It wants all 60,000 images, and says so behind the flags.
    check '08 takes a preset' fails_with 1 dataset-fashion-mnist $out/08_data_parallel \
        --graphamp-preset mp1 --data $out/nowhere
}

# ---- Text ---------------------------------------------------------------------------------------
gpt_text() {        # gpt_text PRESET
    how="--graphamp-preset $1 --vocab-size 320 --width 32 --layers 2 --heads 2 --length 32 -b 8"
    how="$how --output-folder $out --folder $out/gpt_$1" run=$out/05_gpt_text
    $run compile ${how%--folder*} --pef-name gpt_"$1" &&
        $run run -p $out/gpt_"$1"/gpt_"$1".pef $how --steps 60 --sample-every 30 \
            --text tests/sambaflow/ROWS.md >$out/gpt_"$1".text &&
        $run test -p $out/gpt_"$1"/gpt_"$1".pef $how --prompt samba
}
lines() {
    awk 'BEGIN { for (i = 0; i < 200; i++)
        printf "{\"prompt\": \"a %s film %d\\n\", \"completion\": \"%s\"}\n",
            i % 2 ? "fine" : "dull", i % 7, i % 2 ? "good" : "bad" }' >$out/lines.jsonl
    head -n 4 $out/lines.jsonl >$out/prompts.jsonl
    cat >$out/config.json <<END
{ "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 32, "n_positions": 32,
  "vocab_size": 320, "activation_function": "gelu_new", "bos_token_id": 319, "eos_token_id": 319 }
END
    make -s build/samba && tools/samba train-tokenizer --vocab_size 320 \
        --output_path $out/vocabulary $out/lines.jsonl &&
        tools/samba prepare-data --pipeline --input_path $out/lines.jsonl --output_path $out/rows \
            --pretrained_tokenizer $out/vocabulary --max_seq_length 32 \
            --input_packing_config single::drop --shuffle on_RAM --num_training_splits 2 \
            --overwrite_output_path
}
gpt2_trains() {     # gpt2_trains PRESET
    how="--graphamp-preset $1 --config_name $out/config.json -b 8 --dropout 0"
    run=$out/06_gpt2_train
    $run compile $how --output-folder $out --pef-name tune_"$1" &&
        $run run -p $out/tune_"$1"/tune_"$1".pef $how --data_dir $out/rows \
            --checkpoint_name $out/tune_"$1".ckpt --learning_rate 5e-3 --steps 200 \
            >$out/tune_"$1".text
}
gpt2_generates() {  # gpt2_generates PRESET WEIGHTS: with what was trained under the same preset
    how="--graphamp-preset $1 --inference --config_name $out/config.json -b 2"
    run=$out/07_gpt2_generate
    $run compile $how --output-folder $out --pef-name write_"$1" &&
        $run run -p $out/write_"$1"/write_"$1".pef $how --tokenizer_name $out/vocabulary \
            --checkpoint_name $out/tune_"$1".ckpt --data_dir $out/prompts.jsonl --weights "$2" \
            --max_tokens_to_generate 4 >$out/write_"$1"_"$2".text &&
        knows_films $out/write_"$1"_"$2".text
}
knows_films() {     # knows_films FILE: does it say what the lines say of dull films and fine ones?
    awk '/^a / { film = $2 } /^ (good|bad)/ { right += ($1 ~ /^good/) == (film == "fine"); n++ }
        END { print right, "of", n; exit !(n == 4 && right == 4) }' "$1"
}

text() {
    check '05 is built' build 05_gpt_text -lcjson -lutf8proc
    check '05 names the presets' names_presets $out/05_gpt_text compile
    check '06 is built' build 06_gpt2_train $(tools/dev/hdf5.sh) -lcjson
    check '06 names the presets' names_presets $out/06_gpt2_train compile
    check '07 is built' build 07_gpt2_generate -lcjson -lutf8proc
    check '07 names the presets' names_presets $out/07_gpt2_generate compile
    check 'texts are there' lines
    for preset in mp0 mp1 mp4; do
        check "05 trains and writes under $preset" gpt_text $preset
        check "06 trains under $preset" gpt2_trains $preset
        for weights in plain f32 bf16 int8; do
            check "07 writes under $preset, weights $weights" gpt2_generates $preset $weights
        done
        check "07 writes the same with weights packed in f32 under $preset" \
            cmp $out/write_${preset}_plain.text $out/write_${preset}_f32.text
        [ $preset = mp0 ] && continue
        check "05 learns under $preset" within 0.1 \
            "$(last_number $out/gpt_mp0.text 'loss ')" \
            "$(last_number $out/gpt_$preset.text 'loss ')"
        check "06 computes otherwise under $preset" \
            differ $out/tune_mp0.ckpt $out/tune_$preset.ckpt
    done
}

if has_header zlib.h; then vision
else skip 'examples of images' '<zlib.h>: tools/dev/install.sh test'; fi
needs=''
for header in cjson/cJSON.h utf8proc.h; do has_header $header || needs="$needs <$header>"; done
[ -n "$(tools/dev/hdf5.sh 2>/dev/null)" ] || needs="$needs <hdf5.h>"
if [ -z "$needs" ]; then text
else skip 'examples of text' "${needs# }: tools/dev/install.sh test"; fi
finish
