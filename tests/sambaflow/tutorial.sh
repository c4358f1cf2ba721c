#!/bin/sh
# tests/sambaflow/tutorial.sh: the tutorial from end to end, on reviews written here: vocabulary,
# data, training, evaluation, checkpoint, generation; training stopped by SIGKILL at random moments
# and resumed; adapters. KILLS=n: how many. The last line is "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2}
here=build/test/tutorial
kills=${KILLS:-20}
rm -rf $here
mkdir -p $here || exit 1
log=$here/log
. tests/lib/test.sh

hdf5=$(tools/dev/hdf5.sh)
for header in cjson/cJSON.h utf8proc.h; do
    echo "#include <$header>" | $CC -E -x c - >/dev/null 2>&1 ||
        skip_all 'the tutorial' "<$header>: tools/dev/install.sh test"
done
$CC $CFLAGS -o $here/train examples/06_gpt2_train.c $hdf5 -lcjson -lm -pthread 2>$here/log ||
    skip_all "the tutorial, $(tail -n 1 $here/log)" 'libhdf5: tools/dev/install.sh test'
check 'builds the generator' $CC $CFLAGS -o $here/generate examples/07_gpt2_generate.c -lcjson \
    -lutf8proc -lm -pthread
check 'builds the tools' make -s build/samba

# ---- 300 reviews that a small net can learn: good words or bad words decide ----
awk 'BEGIN {
    srand(7)
    split("lovely bright moving funny superb", good); split("dull grim lifeless stale clumsy", bad)
    split("film story plot cast scene ending", noun)
    for (i = 0; i < 300; i++) {
        yes = rand() < 0.5
        printf "{\"prompt\": \"the %s is %s and the %s %s\\n\", \"completion\": \"%s\"}\n",
            noun[1 + int(6 * rand())], (yes ? good[1 + int(5 * rand())] : bad[1 + int(5 * rand())]),
            noun[1 + int(6 * rand())], (yes ? good[1 + int(5 * rand())] : bad[1 + int(5 * rand())]),
            (yes ? "positive" : "negative")
    }
}' >$here/reviews.jsonl
check 'learns a vocabulary' tools/samba train-tokenizer --vocab_size 384 \
    --output_path $here/vocabulary $here/reviews.jsonl
check 'prepares the data' tools/samba prepare-data --pipeline --input_path $here/reviews.jsonl \
    --output_path $here/data --pretrained_tokenizer $here/vocabulary --max_seq_length 32 \
    --input_packing_config single::drop --shuffle on_RAM --seed 3 --dev_ratio 0.2 \
    --num_training_splits 4
cat >$here/config.json <<END
{ "model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 32,
  "vocab_size": 384, "activation_function": "gelu_new", "bos_token_id": 383, "eos_token_id": 383 }
END

# ---- Training, evaluation, generation ----
model="--config_name $here/config.json -b 8"
run="$here/train run -p $here/t/t.pef $model --data_dir $here/data --learning_rate 3e-3
     --subsample_eval 1"
check 'compiles' $here/train compile $model --output-folder $here --pef-name t
check 'wants a model' fails_with 1 'Must provide --model_name_or_path or --config_name' \
    $here/train compile --output-folder $here --pef-name none
check 'wants data' fails_with 1 data_dir $here/train run -p $here/t/t.pef $model
check 'names a missing folder' fails_with 1 nowhere $run --data_dir $here/nowhere
check 'checks the batch' fails_with 1 'compiled with -b 8 -mb 8; the command line says -b 4' \
    $run -b 4
check 'trains' sh -c "$(echo $run) --steps 150 --checkpoint_name $here/whole.ckpt \
    --min_eval_acc 0.9 >$here/said"
check 'prints as the tutorial does' grep '^Final eval accuracy: [01]\.[0-9]*$' $here/said
check 'fails below the least accuracy' fails_with 1 'is less than the expected accuracy' \
    $run --steps 2 --checkpoint_name $here/short.ckpt --min_eval_acc 0.999

cat >$here/prompts.jsonl <<END
{"prompt": "the film is superb and the ending lovely\n"}
{"prompt": "the cast is grim and the plot stale\n"}
{"prompt": "the plot is bright and the cast funny\n"}
END
guess="$here/generate run --inference -p $here/g/g.pef --config_name $here/config.json -b 2
       --tokenizer_name $here/vocabulary --checkpoint_name $here/whole.ckpt"
check 'compiles for inference' $here/generate compile --inference -b 2 \
    --config_name $here/config.json --output-folder $here --pef-name g
check 'generates' $guess --data_dir $here/prompts.jsonl
cat >$here/expected <<END
Loading Checkpoint from disk at $here/whole.ckpt
the film is superb and the ending lovely
 positive<|endoftext|>
--------------------
the cast is grim and the plot stale
 negative<|endoftext|>
--------------------
the plot is bright and the cast funny
 positive<|endoftext|>
END
check 'gives the right answers in the printed form' sh -c "
    $(echo $guess) --data_dir $here/prompts.jsonl 2>$here/rate | diff - $here/expected"
for kind in f32 bf16 int8; do
    check "gives them with weights in $kind" sh -c "
        $(echo $guess) --weights $kind --data_dir $here/prompts.jsonl 2>&1 |
        grep -v tokens/s | diff - $here/expected"
done
check 'refuses weights it does not know' sh -c "
    ! $(echo $guess) --weights int3 --data_dir $here/prompts.jsonl"
printf '[{"prompt": "the film is dull and the cast dull\\n"}]' >$here/one.json
check 'reads .json' $guess --data_dir $here/one.json
mkdir -p $here/folder/inner
cp $here/prompts.jsonl $here/folder/inner
check 'reads folders' $guess --data_dir $here/folder
mkdir -p $here/nothing
check 'names a folder without prompts' fails_with 1 'no prompt in' \
    $guess --data_dir $here/nothing
check 'samples' $guess --data_dir $here/prompts.jsonl --temperature 1 --top_k 5 --top_p 0.9 --stream
printf '{"promt": "x"}\n' >$here/wrong.jsonl
check 'names the line without a prompt' fails_with 1 "wrong.jsonl:1:" \
    $guess --data_dir $here/wrong.jsonl
printf '{"prompt": 5\n' >$here/broken.jsonl
check 'names the line that is no JSON' fails_with 1 "not JSON" $guess --data_dir $here/broken.jsonl
check 'names a missing checkpoint' fails_with 1 nowhere.ckpt $guess --checkpoint_name nowhere.ckpt \
    --data_dir $here/prompts.jsonl

# ---- Averages of the weights, prompts that lose tokens and are joined ----
vary="--average_from 60 --prompt_dropout 0.2 --join_prompts 2"
check 'compiles with averages' $here/train compile $model $vary --output-folder $here --pef-name v
varied="$here/train run -p $here/v/v.pef $model --data_dir $here/data --learning_rate 3e-3
        --subsample_eval 1"
mkdir -p $here/last $here/mean $here/two
check 'trains without averages' $run --steps 20 --checkpoint_name $here/a.ckpt \
    --save_model $here/last
check 'the mean of one step is its weights' sh -c "$(echo $varied) --steps 20 --average_from 19 \
    --checkpoint_name $here/a.ckpt --save_model $here/mean &&
    cmp $here/last/model.safetensors $here/mean/model.safetensors"
check 'that of two is not' sh -c "$(echo $varied) --steps 20 --average_from 18 \
    --checkpoint_name $here/a.ckpt --save_model $here/two &&
    ! cmp -s $here/last/model.safetensors $here/two/model.safetensors"
check 'learns from joined prompts' $varied --join_prompts 2 --average_from 150 --steps 200 \
    --checkpoint_name $here/a.ckpt --min_eval_acc 0.9
alone="--completion_length 2 --end_loss_weight 0"
check 'compiles for the label alone' $here/train compile $model $alone --output-folder $here \
    --pef-name e
check 'learns from it' $run -p $here/e/e.pef $alone --steps 150 --checkpoint_name $here/a.ckpt \
    --min_eval_acc 0.9
check 'with the end it is longer' fails_with 1 'say a larger --completion_length' \
    $run -p $here/e/e.pef --completion_length 2
check 'rejects a negative weight' fails_with 2 'end_loss_weight' $run --end_loss_weight -1
check 'an average is compiled in' fails_with 1 'another graph' $run --average_from 1
check 'joins at least one prompt' fails_with 2 'join_prompts' $run --join_prompts 0
check 'does not average adapters' fails_with 1 'adapters' $run --lora_rank 4 --average_from 1

# ---- SIGKILL at any moment: the resumed run ends with the same file ----
long="$varied $vary --steps 120 --save_every 7 --resume --dropout 0.1"
check 'trains without a pause' $long --checkpoint_name $here/calm.ckpt
killed=0 n=0
rm -f $here/shot.ckpt
while [ $killed -lt $kills ] && [ $n -lt 400 ]; do
    n=$((n + 1))
    $long --checkpoint_name $here/shot.ckpt >$here/log 2>&1 &
    shot=$!
    sleep "$(awk -v seed=$n 'BEGIN { srand(seed); printf "%.3f", 0.02 + rand() * 0.25 }')"
    kill -9 $shot 2>/dev/null && killed=$((killed + 1))
    if wait $shot 2>/dev/null; then rm -f $here/shot.ckpt; fi      # it had ended: once more
done
check "was killed $kills times" test $killed -ge $kills
check 'ends all the same' $long --checkpoint_name $here/shot.ckpt
check 'with the same bytes' cmp $here/calm.ckpt $here/shot.ckpt

# ---- Adapters: trained alone on a model of Hugging Face files, saved, loaded, merged ----
mkdir -p $here/base $here/merged
check 'writes Hugging Face files' $run --steps 20 --checkpoint_name $here/b.ckpt \
    --save_model $here/base
lora="--model_name_or_path $here/base --lora_rank 4 --lora_alpha 8 --lora_targets c_attn"
check 'compiles with adapters' $here/train compile -b 8 $lora --dropout 0 --output-folder $here \
    --pef-name l
check 'trains adapters' $here/train run -b 8 $lora --dropout 0 -p $here/l/l.pef --steps 150 \
    --data_dir $here/data --learning_rate 1e-2 --checkpoint_name $here/l.ckpt --subsample_eval 1 \
    --lora_name $here/lora.safetensors --save_model $here/merged
check 'compiles the merged model' $here/generate compile --inference --config_name \
    $here/merged/config.json --output-folder $here --pef-name m
check 'compiles the base with adapters' $here/generate compile --inference --output-folder $here \
    --pef-name a $lora --lora_name $here/lora.safetensors
words="--tokenizer_name $here/vocabulary --data_dir $here/prompts.jsonl"
check 'generates with the merged model' sh -c "$here/generate run --inference -p $here/m/m.pef \
    --model_name_or_path $here/merged $words >$here/by-merged"
check 'generates with base and adapters' sh -c "$here/generate run --inference -p $here/a/a.pef \
    $lora --lora_name $here/lora.safetensors $words >$here/by-adapters"
check 'says the same with both' cmp $here/by-merged $here/by-adapters
finish
