#!/bin/sh
# tests/sambaflow/movie_reviews.sh: a small GPT learns from scratch to tell good movie reviews from
# bad ones, all the way from text to generated answers: tokenizer, HDF5 files, training,
# generation. Beside it a logistic regression on bags of words, with words for tokens, which is
# hard to beat: 9,600 sentences are few for a net that must learn what a sentence is. SEED=N takes
# another split into training and held-out reviews. Minutes; "N passed, N failed" ends. Data:
# rt-polarity.pos and .neg (Pang and Lee, 2005), in SAMBA_SHARED or ../shared.
cd "$(dirname "$0")/../.." || exit 1
reviews=${SAMBA_SHARED:-../shared}/data/movie-reviews
seed=${SEED:-1}
out=build/test/movie
log=$out/log
. tests/lib/test.sh
accuracy() { sed -n 's/^Final eval accuracy: //p' "$1"; }
at_least() {        # at_least A B: A >= B, both decimal numbers
    echo "$1 $2" | awk '{ exit !(NF == 2 && $1 ~ /^[01][.][0-9]+$/ && $1 + 0 >= $2 + 0) }'
}

[ -e "$reviews/rt-polarity.pos" ] || \
    skip_all 'the reviews' "$reviews/rt-polarity.pos, of the sentence polarity dataset 1.0"
for header in hdf5.h cjson/cJSON.h utf8proc.h; do
    echo "#include <$header>" | ${CC:-cc} $(tools/dev/hdf5.sh) -E -x c - >/dev/null 2>&1 ||
        skip_all 'the reviews' "<$header>: tools/dev/install.sh test"
done
rm -rf $out
mkdir -p $out || exit 1

# ---- The programs ----
hdf5=$(tools/dev/hdf5.sh)
build() {           # build NAME SOURCE LIBRARIES...
    name=$1 source=$2
    shift 2
    check "$source compiles" ${CC:-cc} ${CFLAGS:--O2} -I. -o $out/$name $source "$@" -lm -pthread
}
build train examples/06_gpt2_train.c $hdf5 -lcjson
build generate examples/07_gpt2_generate.c -lcjson -lutf8proc
build bag_of_words tests/sambaflow/movie/bag_of_words.c $hdf5

# ---- The data: one line is {"prompt": "REVIEW\n", "completion": "positive"} ----
to_json() {         # to_json LABEL FILE
    sed 's/[[:space:]]*$//; s/\\/\\\\/g; s/"/\\"/g
         s/.*/{"prompt": "&\\n", "completion": "'"$1"'"}/' "$2"
}
to_text() {         # and back: what a vocabulary is learned from
    sed 's/^{"prompt": "//; s/\\n", "completion": "/\n /; s/"}$//; s/\\\(["\\]\)/\1/g'
}
prepare() {         # prepare TOKENIZER OUTPUT TOKENS: the split depends on the seed alone
    tools/samba prepare-data --pipeline --input_path $out/reviews.jsonl --output_path $2 \
        --pretrained_tokenizer $1 --max_seq_length $3 --input_packing_config single::truncate_left \
        --shuffle on_RAM --seed $seed --num_training_splits 9 --num_dev_splits 1 \
        --num_test_splits 0 --keep_split_jsonls
}
vocabulary() {      # vocabulary SIZE FOLDER TEXT
    tools/samba train-tokenizer --vocab_size $1 --output_path $2 $3
}
{
    to_json positive "$reviews/rt-polarity.pos"
    to_json negative "$reviews/rt-polarity.neg"
} >$out/reviews.jsonl
check 'bytes are a vocabulary' vocabulary 257 $out/bytes $out/reviews.jsonl
check 'reviews are split' prepare $out/bytes $out/split 64
cat $out/split/splits/train*.jsonl | to_text >$out/train.txt
check 'the GPT gets a vocabulary' vocabulary 8192 $out/bpe $out/train.txt
check 'and the bag of words a larger one' vocabulary 20000 $out/words $out/train.txt
check 'rows for the GPT' prepare $out/bpe $out/data 64
check 'rows for the bag of words' prepare $out/words $out/words_data 64
check 'of the same split' diff -r $out/data/splits $out/words_data/splits

# ---- Training ----
# Embeddings begin small, so a token speaks as loud as it was often seen; positions are larger, or
# the norms would make all tokens as loud. Two reviews of one kind are read as one, half of their
# words left out, others in each epoch. The label counts, hardly the end that always follows it.
# The rate does not fall: the weights go around a good place, and their mean is nearer to it; it is
# taken from the third epoch of ten on, before that the net does not tell the labels apart.
cat >$out/config.json <<'END'
{ "model_type": "gpt2", "vocab_size": 8192, "n_positions": 64, "n_embd": 64, "n_layer": 1,
  "n_head": 2, "activation_function": "gelu_new", "bos_token_id": 8191, "eos_token_id": 8191,
  "wte_initializer_range": 0.002, "wpe_initializer_range": 0.1 }
END
model="--config_name $out/config.json --max_seq_length 64"
rates="--learning_rate 1e-3 --adam_epsilon 3e-5 --weight_decay 0.3 --end_loss_weight 0.01"
noise="--dropout 0.3 --prompt_dropout 0.5 --join_prompts 2"
flags="$model -b 41 --completion_length 2 $rates $noise --average_from 468"
check 'compiles' $out/train compile $flags --output-folder $out --pef-name gpt
check 'the bag of words is trained' to_file $out/bag.txt $out/bag_of_words $out/words_data 20000
check 'the GPT is trained' to_file $out/gpt.txt $out/train run -p $out/gpt/gpt.pef $flags \
    --data_dir $out/data --steps 2340 --subsample_eval 1 --checkpoint_name $out/gpt.ckpt
bag=$(accuracy $out/bag.txt) gpt=$(accuracy $out/gpt.txt)
echo "seed $seed: Final eval accuracy: $gpt (GPT), $bag (logistic regression on bags of words)"
check "the bag of words reaches 0.72: $bag" at_least "$bag" 0.72
if [ "$seed" = 1 ]; then check "the GPT is at least as good: $gpt" at_least "$gpt" "$bag"
else check "the GPT reaches 0.74: $gpt" at_least "$gpt" 0.74; fi    # README.md: not on every split

# ---- Answers to held-out reviews ----
head -n 5 $out/data/splits/dev*.jsonl >$out/held_out.jsonl
check 'compiles for inference' $out/generate compile --inference $model --output-folder $out \
    --pef-name infer
check 'generates' to_file $out/answers.txt $out/generate run --inference $model \
    -p $out/infer/infer.pef --tokenizer_name $out/bpe --checkpoint_name $out/gpt.ckpt \
    --data_dir $out/held_out.jsonl
# The review, a line with the answer and the end, a line of 20 dashes: only the answer is free.
{
    echo "Loading Checkpoint from disk at $out/gpt.ckpt"
    to_text <$out/held_out.jsonl | awk 'NR % 2 { if (NR > 1) print "--------------------"
                                                 print; print " LABEL<|endoftext|>" }'
} >$out/form.txt
sed "s/^ \(positive\|negative\)<|endoftext|>\$/ LABEL<|endoftext|>/" \
    $out/answers.txt >$out/masked.txt
check 'answers have the form of the tutorial' diff $out/form.txt $out/masked.txt
cat $out/answers.txt
finish
