#!/bin/sh
# tests/run.sh [MODE]: runs the tests; the last line is "N passed, N failed".
#   quick   (or nothing) the C tests, the header tests, lint, the examples: about twelve minutes
#   heavy   what quick leaves out: sanitizers, the whole matrix of header tests, complete trainings
#   full    both
#   asan, tsan, c, header, lint, examples: that part alone
#   hidden  what can be skipped, with all hidden that a bare Debian with gcc lacks: each must say so
#   brief   what a change of samba.h breaks first: warnings, 20 C tests without SIMD, lint; a minute
#   one NAME  the C test and the script of that name, such as plan: what they print, and their end
# CC, CFLAGS and JOBS (programs at a time) are respected.
#
# tests/core has the tests of samba.h, tests/tools those of what stands in tools, tests/sambaflow
# those of SambaFlow's rows and tutorials. Each *.c there is a program that ends with "N passed, N
# failed"; so does each *.sh, and these are heavy, but for those with a line "# run: quick". The
# scripts of tests/device build the C files there, for microcontrollers; those of tests/lessons, the
# lessons. All are run from the root of the repository, and include by paths from there (-I.):
# tests/lib is what they share. A line
# "// run: WORDS" among the first ten of a C file may say: -lz and the like (flags to build with),
# needs:HEADER (skipped where that is missing), threads (under TSan, too), slow (not in quick), onnx
# (reads the code that protoc-c makes).
cd "$(dirname "$0")/.." || exit 1
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}
export CC CFLAGS JOBS
mode=${1:-quick}
out=build/test
data=${DATA:-/usr/share/datasets/fashion-mnist}
strict="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef \
-Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Werror"
. tests/lib/test.sh
SAMBA_INSTALL=no                        # make's ready-test did, if it was to be
export SAMBA_INSTALL

# ---- One job: run.sh job N runs line N of the list, "name|command", prints one line about it ----
job() {
    line=$(sed -n "$1p" $out/jobs)
    name=${line%%|*} log=$out/job$1.log start=$(date +%s) limit='' why=''
    have timeout && limit='timeout -k 10 1500'
    $limit sh -c "${line#*|}" >"$log" 2>&1 </dev/null
    code=$?
    times >$out/job$1.times             # its second line is that of what has ended: 0m1.23s 0m0.45s
    spent=$(sed -n '2s/[ms]/ /gp' $out/job$1.times | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
    last=$(grep -v '^ *$' "$log" | tail -n 1 | grep -xE '[0-9]+ passed, [0-9]+ failed')
    p=${last%% passed*} f=${last##*, } f=${f%% failed*}
    if [ -z "$last" ]; then
        p=0 f=1 why=" (exit code $code, no closing line)"
    elif [ $code != 0 ] && [ "$f" = 0 ]; then
        f=1 why=" (exit code $code)"
    elif [ "$p$f" = 00 ] && ! grep -q '^skipped: ' "$log"; then
        f=1 why=' (nothing was tested, and no line says why)'
    elif grep '^skipped' "$log" | grep -qvE '^skipped: .*; it takes .'; then
        f=1 why=' (a skip does not say what it takes)'
    fi
    echo "$p $f $spent $name" >$out/job$1.result
    [ "${show:-}" != all ] || cat "$log"
    grep '^skipped' "$log" | sed "s|^|$name: |"
    if [ "$f" != 0 ] && [ "${show:-}" != all ]; then
        [ "$(wc -l <"$log")" -le 100 ] || grep '^FAILED' "$log"
        tail -n 100 "$log"
    fi | sed 's/^/    /'
    printf '%-44s %5d passed, %d failed %4d s, %5.1f of processors%s\n' "$name" "$p" "$f" \
        $(($(date +%s) - start)) "$spent" "$why"
}

# ---- How a C file takes samba.h ----
# Tests are linked with a samba.h that is compiled once (tests/lib/samba_object.sh). One that looks
# inside includes a samba.h without bodies; one that uses the public API alone, the declarations.
# Those that set something for a samba.h of their own compile that.
sets_its_own() {
    ! grep -qx '#define SAMBA_IMPLEMENTATION' "$1" ||
        sed '/#include ".*samba\.h"/q' "$1" | grep '^#define' |
        grep -qvE 'IMPLEMENTATION$|SAMBA_[A-Z0-9]*_(MALLOC|REALLOC|FREE)|_(GNU|POSIX_C)_SOURCE'
}
parts='desc|errors|arenas|trace|modes|hooks|program'    # of a session, which tests may look at
public() {
    grep -qx '#define SAMBA_IMPLEMENTATION' "$1" &&
        ! grep -qiE "samba__|SAMBA_(SMALL|LOCAL_BYTES)|->($parts)\." "$1"
}

# ---- One example, with one compiler: strict warnings, then what it must do ----
accuracy_above() {  # accuracy_above PERCENT FILE: by its last line "test accuracy 88.50 % (...)"
    tail -n 1 "$2"
    tail -n 1 "$2" |
        awk -v least="$1" '/^test accuracy/ { good = $3 + 0 >= least } END { exit !good }'
}

res_ffn() {         # res_ffn PROGRAM quick|heavy
    program=$1 here=$1.d epochs=1 least=80
    [ "$2" = quick ] || epochs=5 least=87.5
    train="$program run -p $here/t/t.pef --epochs $epochs --checkpoint $here/c --data"
    check 'refuses nonsense' fails_with 2 usage $program nonsense
    check 'helps on stdout' sh -c "$program --help 2>/dev/null | grep -q '^usage:'"
    check 'helps on stdout alone' sh -c "! $program run --help 2>&1 >/dev/null | grep -q ."
    check 'helping is no failure' $program compile -h
    check 'refuses nonsense behind run' fails_with 2 nonsense $program run --nonsense
    check 'helps' fails_with 0 usage $program run --help
    check 'refuses to compile with what run is told' fails_with 2 'give it to run' \
        $program compile --epochs 3
    check 'compiles' $program compile --output-folder $here --pef-name t
    check 'wants a PEF' fails_with 1 pef $program run
    check 'compiles for parts of a batch, and tells of -p' fails_with 0 'says what to run' \
        $program compile -b=64 -mb=4 --inference -p app.pef --output-folder $here --pef-name parts
    check 'knows the parts of its PEF' fails_with 1 '-b 64 -mb 4; the command line says' \
        $program test --inference -p $here/parts/parts.pef
    check 'measures' fails_with 0 samples/s \
        $program measure-performance -p $here/t/t.pef -b 64 -n 3
    check 'measures sections' fails_with 0 'limits: products' \
        $program measure-sections -p $here/t/t.pef -n 3
    check 'says where to get the data' fails_with 1 dataset-fashion-mnist $train $here/nowhere
    check 'says which batch size the PEF has' fails_with 1 64 $train "$data" -b 32
    if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
        skip 'training' "Fashion-MNIST in $data: tools/dev/install.sh run"
        return
    fi
    mkdir -p $here/damaged
    cp "$data"/*.gz $here/damaged
    head -c 1000000 "$data/t10k-images-idx3-ubyte.gz" >$here/damaged/t10k-images-idx3-ubyte.gz
    check 'notices damaged data' fails_with 1 damaged $train $here/damaged
    rm -r $here/damaged
    check 'trains' to_file $here/trained $train "$data"
    check "reaches $least %" accuracy_above $least $here/trained
    check 'compiles for inference' $program compile --inference --output-folder $here --pef-name i
    check 'tests in a new process' to_file $here/reloaded \
        $program test --inference -p $here/i/i.pef --checkpoint $here/c --data "$data"
    tail -n 1 $here/trained >$here/last
    check 'gives the same accuracy there' cmp $here/last $here/reloaded
    [ "$2" = quick ] && return
    # A second training, interrupted and resumed, must end with the same bytes.
    cp $here/c $here/first
    $train "$data" >$here/stopped &
    until grep -q 'epoch 1' $here/stopped || ! kill -0 $!; do sleep 1; done
    kill -INT $!
    wait $!
    check 'stops at Ctrl-C' grep -q -- --resume $here/stopped
    check 'resumes' $train "$data" --resume
    check 'ends with the same checkpoint' cmp $here/first $here/c
}

gpt_text() {        # gpt_text PROGRAM: learns from a text of this repository, writes, goes on
    program=$1 here=$1.d learned=tests/sambaflow/ROWS.md
    size='--vocab-size 320 --width 32 --layers 2 --heads 2 --length 32 -b 8'
    run="$program run -p $here/t/t.pef $size --folder $here/f --steps 60 --sample-every 30"
    check 'compiles' $program compile $size --output-folder $here --pef-name t
    for flag in text=x folder=x prompt=x steps=2 sample-every=1 tokens=4 temperature=0 top-k=2 \
        resume; do
        check "compile takes no --${flag%=*}" fails_with 2 "--${flag%=*} says how to run" \
            $program compile $size --output-folder $here --pef-name none --$flag
    done
    check 'wants a text' fails_with 1 '--text FILE' $run
    check 'names a missing text' fails_with 1 nowhere.txt $run --text nowhere.txt
    check 'wants a prompt before it trains' fails_with 1 'the prompt has 0 tokens' \
        $run --text $learned --prompt=
    check 'wants texts of tokens' fails_with 2 '--tokens (length' \
        $run --text $learned --tokens 0
    check 'trains and writes' to_file $here/trained $run --text $learned
    check 'learns' awk '/^step/ { last = $4; if (!first) first = last }
        END { exit !(last + 0.05 < first) }' $here/trained
    check 'writes with what it learned' to_file $here/first \
        $program test -p $here/t/t.pef $size --folder $here/f --prompt samba
    check 'goes on from there' $run --text $learned --resume --steps 70
    check 'knows its PEF' fails_with 1 'another graph' $program test -p $here/t/t.pef \
        --folder $here/f ${size#--vocab-size 320}
}

tutorials() {       # tutorials PROGRAM: what SambaFlow's small tutorials do
    program=$1 here=$1.d
    mkdir -p $here
    check 'names the models' fails_with 1 'logreg and lenet' $program compile --model transformer
    for model in logreg lenet; do
        check "compiles $model" $program compile --model $model --pef-name $model \
            --output-folder $here
    done
    for flag in data=x checkpoint=x predictions=x num-epochs=2; do
        check "compile takes no --${flag%=*}" fails_with 2 "--${flag%=*} says how to run" \
            $program compile --pef-name none --output-folder $here --$flag
    done
    if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
        skip 'training' "Fashion-MNIST in $data: tools/dev/install.sh run"
        return
    fi
    run="$program run --data $data --checkpoint $here/c"
    check 'trains logistic regression' to_file $here/logreg.text $run -p $here/logreg/logreg.pef
    check 'says its steps' grep -q 'Epoch .1/1., Step .60000/60000., Loss: 0' $here/logreg.text
    check 'trains LeNet' to_file $here/lenet.text $run --model lenet -p $here/lenet/lenet.pef \
        --predictions $here/labels
    check 'reaches 78 %' grep -qE 'Test Accuracy: (7[89]|8)' $here/lenet.text
    check 'writes 10,000 labels' [ "$(wc -c <$here/labels)" = 10008 ]
    check 'tests again' to_file $here/again $program test --model lenet --data $data \
        --checkpoint $here/c -p $here/lenet/lenet.pef
    check 'with the same result' [ "$(tail -n 1 $here/lenet.text)" = "$(tail -n 1 $here/again)" ]
}

data_parallel() {   # data_parallel PROGRAM: replicas, in every mode the same
    program=$1 here=$1.d
    mkdir -p $here
    train="$program --epochs 1 --data $data --checkpoint $here/c"
    check 'refuses nonsense' fails_with 2 usage $program nonsense
    check 'names the modes' fails_with 1 'normal, inorder and optimal' $program --mode fast
    check 'splits evenly' fails_with 1 'among 3 replicas' $program --replicas 3
    check 'says where to get the data' fails_with 1 dataset-fashion-mnist $program --data $here
    if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
        skip 'training' "Fashion-MNIST in $data: tools/dev/install.sh run"
        return
    fi
    check 'trains' to_file $program.text $train --replicas 2
    check 'reaches 84 %' accuracy_above 84 $program.text
    mv $here/c $here/normal
    check 'trains optimal' $train --replicas 2 --mode optimal --reduce-on-rdu
    check 'to the same checkpoint' cmp $here/normal $here/c
}

gpt2_trains() {     # gpt2_trains PROGRAM: twenty steps of a tiny net, with the flags' defaults
    here=$1.d
    mkdir -p $here
    tools=$here/bin/samba
    awk 'BEGIN { for (i = 0; i < 200; i++)
        printf "{\"prompt\": \"a %s film %d\\n\", \"completion\": \"%s\"}\n",
            i % 2 ? "fine" : "dull", i % 7, i % 2 ? "good" : "bad" }' >$here/lines.jsonl
    cat >$here/config.json <<END
{ "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 32, "n_positions": 32,
  "vocab_size": 320, "activation_function": "gelu_new", "bos_token_id": 319, "eos_token_id": 319 }
END
    model="--config_name $here/config.json -b 8"
    check 'the tools are built' make -s B=$here/bin $tools
    check 'learns a vocabulary' $tools train-tokenizer --vocab_size 320 \
        --output_path $here/vocabulary $here/lines.jsonl
    check 'prepares data' $tools prepare-data --pipeline --input_path $here/lines.jsonl \
        --output_path $here/data --pretrained_tokenizer $here/vocabulary --max_seq_length 32 \
        --input_packing_config single::drop --shuffle on_RAM \
        --num_training_splits 2 --overwrite_output_path
    check 'compiles a tiny net' $1 compile $model --output-folder $here --pef-name tiny
    check 'trains it' fails_with 0 'Finished training' $1 run -p $here/tiny/tiny.pef $model \
        --data_dir $here/data --checkpoint_name $here/tiny.ckpt --learning_rate 3e-3 --steps 20
}

gpt2() {            # gpt2 PROGRAM: that of 06 trains, that of 07 infers
    tiny='--config_name tests/golden/gpt2_tiny/config.json --max_seq_length 4 --output-folder'
    check 'refuses nonsense' fails_with 2 usage $1 nonsense
    case $1 in
    */06_*)
        check 'compiles' $1 compile $tiny $1.d --pef-name t
        check 'compiles adapters' $1 compile $tiny $1.d --pef-name lora --lora_rank 2
        case $1 in *-gcc) gpt2_trains $1 ;; esac ;;
    *) check 'compiles' $1 compile --inference $tiny $1.d --pef-name t ;;
    esac
}

llama() {           # llama PROGRAM: merges PEFT's adapter of a golden; others say what is missing
    model='--model tests/golden/llama_gqa --length 16'
    mkdir -p $1.d
    check 'refuses nonsense' fails_with 2 usage $1 nonsense
    check 'asks for a model' fails_with 1 'say --model' $1 run
    check 'asks for a tokenizer' fails_with 1 'without tokenizer.json' $1 run $model --prompt a
    check 'merges an adapter' $1 run $model --adapter tests/golden/llama_gqa/adapter --save $1.d
    check 'into a folder' test -s $1.d/model.safetensors
    check 'that can be read' fails_with 1 'without tokenizer.json' $1 run --model $1.d \
        --length 16 --prompt a
}

device_example() {  # device_example NAME PROGRAM quick|heavy: a device's program on the host
    program=$PWD/$2 here=$2.d
    mkdir -p $here
    case $1-$3 in
    gesture-*)
        check 'lives' to_file $here/said sh -c "cd $here && $program"
        check 'goes on with what it had saved' awk '
            /recognizes/ { right[++n] = $2 }
            END { exit !(n == 4 && right[1] < 80 && right[2] == right[3] && right[4] > 100) }' \
            $here/said
        check 'has the same bits as ever' grep -qx 'hash of what it knows: 3940248548' \
            $here/said ;;
    int8-*)
        check 'refuses nonsense' fails_with 2 usage $program nonsense
        [ "$3" = quick ] && return
        check 'keeps LeNet within half a point' to_file $here/said \
            sh -c "cd $here && $program lenet 1 $data"
        check 'says what int8 costs' awk '/^all in f32/ { all = $4 } /^as kept/ { kept = $3 }
            END { exit !(all > 80 && kept > all - 0.5) }' $here/said ;;
    tiny_nets-*) ;;                     # tests/device/tiny_nets.sh runs it
    *) check 'runs' $program ;;
    esac
}

# As its line 2 says, in one piece: so in the heavy list. Else samba.h, which tests/header/run.sh
# compiles with all optimization and warnings, is looked at once more, and linked.
built() {           # built FILE PROGRAM quick|heavy COMPILER FLAG...
    file=$1 program=$2 how=$3
    shift 3
    libraries=$(sed -n '2,3s/.*\.c \(-[^&]*\).*/\1/p' $file)
    if [ "$how" = heavy ] || ! public $file || sets_its_own $file; then
        "$@" $strict -D_GNU_SOURCE -o $program $file $libraries
        return
    fi
    object=$(sh tests/lib/samba_object.sh "$@") || return
    "$@" $strict -D_GNU_SOURCE -fsyntax-only $file &&
        "$@" $strict -D_GNU_SOURCE -DSAMBA__IMPLEMENTED -include stdio.h -include stdlib.h \
            -include string.h -o $program $file $object $libraries
}

example() {         # example NAME COMPILER quick|heavy
    log=$out/$(echo "$1" | tr / _)-$2.check
    program=$out/$1-$2
    optimize=-O2
    [ "$2" = clang ] && [ "$3" = quick ] && optimize=-O0
    case $1-$2-$3 in
    devices/tiny_nets-*-quick) optimize=-O0 ;;                          # it is not run
    devices/gesture-*-quick | devices/int8-gcc-quick) optimize='-O1 -DSAMBA_NO_SIMD' ;;
    esac
    mkdir -p "${program%/*}"
    check "builds with $2 without a warning" built examples/$1.c $program "$3" $2 $optimize
    if [ $failed = 0 ]; then
        case $1-$2-$3 in
        02_*-clang-quick | 03_*-clang-quick | 05_*-clang-quick) ;;
        05_*) gpt_text $program ;;
        08_*-clang-quick | 09_*-clang-quick) ;;
        08_*) data_parallel $program ;;
        09_*) tutorials $program ;;
        06_* | 07_*) gpt2 $program ;;
        10_*) llama $program ;;
        devices/*) device_example "${1#devices/}" $program "$3" ;;
        02_*) res_ffn $program "$3" ;;
        03_*-heavy)
            check 'trains' to_file $program.text $program --data "$data"
            check 'reaches 90.5 %' accuracy_above 90.5 $program.text ;;
        03_*)
            check 'trains' to_file $program.text $program --data "$data" --epochs 1
            check 'reaches 84 %' accuracy_above 84 $program.text ;;
        *) check 'runs' $program ;;
        esac
    fi
    finish
}

# ---- A test of make_*.py in tests/golden: does PyTorch still say what the files say? ----
# One that ends with 77 has said in a line "skipped: ...; it takes ..." what it lacks.
golden() {
    "$PYTHON" "$1" --check
    case $? in
    0) echo "1 passed, 0 failed" ;;
    77) echo "0 passed, 0 failed" ;;
    *)
        echo "0 passed, 1 failed"
        exit 1
        ;;
    esac
}

case $mode in
job) job "$2"; exit ;;
example) example "$2" "$3" "$4"; exit ;;
linked) echo "#line 1 \"$2\"" && sed 's/^#define SAMBA_IMPLEMENTATION$//' "$2"; exit ;;
golden) golden "$2"; exit ;;
quick | heavy | full | asan | tsan | c | header | lint | examples | hidden | brief | one) ;;
*) sed -n 's/^# \{0,1\}//; 2,9p' "$0"; exit 2 ;;
esac

# ---- The list of jobs ----
mkdir -p $out || exit 1
if [ "$mode" = hidden ]; then
    if hidden=$(sh tests/lib/bare_path.sh "$PWD/build/bare_path"); then
        PATH=$hidden PYTHON=none HIDDEN=yes     # HIDDEN: what other lists run need not be all here
        export PATH HIDDEN
    else
        skip 'tests on a bare machine' 'dpkg-query and apt-cache, of Debian and its kin'
        finish
    fi
fi
rm -f $out/jobs $out/*.result $out/job*.log
: >$out/jobs
add() { printf '%s|%s\n' "$1" "$2" >>$out/jobs; }
wants() { for m in "$@"; do [ "$mode" = "$m" ] && return; done; false; }
# A python that has torch, for tests that ask PyTorch.
if [ -z "${PYTHON:-}" ]; then
    for python in python3 /usr/bin/python3; do
        $python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' \
            2>/dev/null && PYTHON=$python && break
    done
fi
export PYTHON

all_tests_of() {
    ls tests/core/*."$1" tests/tools/*."$1" tests/sambaflow/*."$1"
    [ "$1" != sh ] || ls tests/device/*.sh tests/lessons/*.sh
}
tests_of() { all_tests_of "$1" | grep "/${only:-[^/]*}\.$1\$"; }
if [ "$mode" = one ]; then
    only=${2:-} also='' show=all
    export show
    if [ -z "$only" ] || [ -z "$(tests_of c; tests_of sh)" ]; then
        [ -z "$only" ] ||
            also=$({ all_tests_of c; all_tests_of sh; } | grep -F "$only" | tr '\n' ' ')
        echo "no test is called '$only'; usage: make test-one NAME=plan${also:+; there are $also}"
        exit 1
    fi
fi
quick_script() { sed -n 1,10p "$1" | grep -qx '# run: quick'; }
# It may skip something itself, or hands over to a script that does.
may_skip() { grep -qE 'skip|^exec ' "$1"; }
# These test for minutes even without what they may skip, or skip for want of gcc alone.
takes_long() {
    case $1 in
    */called_names.sh) ;;
    */same_bits.sh | */gpt2_124m.sh | */exercises_outside.sh | */prepare_data.sh) ;;
    */tokenizer.sh | */tokenizer_families.sh | */tiny_nets.sh) ;;
    *) false ;;
    esac
}
words() { sed -n '1,10s|^// run: *||p' "$1"; }
# What these test is not how numbers are computed: without SIMD, and without optimization, their
# samba.h compiles in a fifth of the time, under AddressSanitizer in a tenth. With the processor's
# fma, if there is one, it is fast enough.
own_flags=-DSAMBA_NO_SIMD
grep -qsw fma /proc/cpuinfo && own_flags="$own_flags -mfma"
own_flags_of() {    # own_flags_of NAME: of a test with a samba.h of its own
    case $1 in
    pef) echo "$own_flags" ;;               # at -O0 it would run for minutes
    *) echo "-O0 $own_flags" ;;
    esac
}
common_object() {   # common_object COMPILER FLAGS: samba.h, compiled once
    object=$(sh tests/lib/samba_object.sh $1 $2) || exit 1
}
# Tests of an area each that take a second or two.
brief_tests='accumulate attention borders compiler errors generate gradcheck graphs hyperparams \
    ledger microbatches mistakes on_node ops quantize rarely_meant report runtime user_ops vanish'
c_tests() {         # c_tests TITLE COMPILER FLAGS RUNNER all|quick|brief|slow|threads SUFFIX
    for file in $(tests_of c); do
        name=$(basename "$file" .c) flags='' slow='' threads='' needs='' onnx=''
        case $name in *thread* | same_bits) threads=yes ;; esac
        for word in $(words "$file"); do
            case $word in
            -*) flags="$flags $word" ;;
            needs:*) echo "#include <${word#needs:}>" | $2 -E -x c - >/dev/null 2>&1 ||
                needs=${word#needs:} ;;
            threads) threads=yes ;;
            slow) slow=yes ;;
            onnx)
                onnx=yes
                flags="$flags -Ibuild/onnx build/onnx/onnx.pb-c.c" ;;
            *) echo "$file: run: does not know $word"; exit 1 ;;
            esac
        done
        [ "$5" = threads ] && [ -z "$threads" ] && continue
        [ "$5" = quick ] && [ -n "$slow" ] && continue
        if [ "$5" = brief ]; then case " $brief_tests " in *" $name "*) ;; *) continue ;; esac; fi
        [ "$5" = slow ] && [ -z "$slow" ] && continue
        [ -z "$onnx" ] || needs=${needs:-$(lacks onnx)}
        [ -z "$needs" ] || { skip "$file" "$needs: tools/dev/install.sh test"; continue; }
        [ -z "$onnx" ] || make -s build/onnx/onnx.pb-c.c || exit 1
        if sets_its_own "$file"; then
            build="$2 $3 $(own_flags_of "$name") -I. -o $out/$name$6 $file"
        elif public "$file"; then
            common_object "$2" "$3"
            build="sh tests/run.sh linked $file | \
$2 $3 -Werror=implicit-function-declaration -I. -o $out/$name$6 -x c - -x none $object"
        else
            # Functions that macros define may be there twice: those of the test are taken.
            common_object "$2" "$3"
            flags_here=$3
            [ "$6" = .asan ] && flags_here="$3 -O0 -DSAMBA_SIMD"    # SIMD as in the other file
            build="$2 $flags_here -Ibuild/inside/hollow -I. -o $out/$name$6 $file $object \
-Wl,--allow-multiple-definition"
        fi
        add "$name$1" "$build -lm -pthread $flags && $4 $out/$name$6"
    done
}
sanitizer() {       # sanitizer FLAG: prints a compiler with which a program under it runs, and how
    for compiler in clang gcc; do
        have $compiler || continue
        echo 'int main(void) { return 0; }' |
            $compiler -fsanitize="$1" -x c - -o $out/sanitized 2>/dev/null || continue
        for how in '' 'setarch -R'; do      # ThreadSanitizer may not like where programs are loaded
            $how $out/sanitized >/dev/null 2>&1 && { echo "$compiler $how"; return; }
        done
    done
    false
}

if wants quick full header; then add 'header' 'sh tests/header/run.sh quick'; fi
if wants heavy; then add 'header, whole matrix' 'sh tests/header/run.sh full'; fi
for file in $(tests_of sh); do          # other drivers of tests, with a closing line of their own
    quick_script $file && continue
    if wants heavy full one; then add "$file" "sh $file"; fi
done
if wants heavy full; then add 'device, all targets' 'sh tests/device/run.sh all'; fi
if wants heavy full; then add 'exported C, all nets' 'sh tests/device/export.sh all'; fi
if wants heavy full; then add 'exported C, random' 'sh tests/device/export_random.sh all'; fi
if wants heavy full; then add 'fuzz, 20 s each' 'sh tests/fuzz/run.sh all 20'; fi
if wants heavy full; then add 'faults, all' 'sh tests/faults/run.sh all'; fi
n_alone=$(wc -l <$out/jobs)         # these use all processors themselves
if wants brief; then
    printf '#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' >$out/brief.c
    add 'no warning as C99' "$CC $strict -fsyntax-only -I. $out/brief.c && echo 1 passed, 0 failed"
    c_tests '' "$CC" '-O1 -DSAMBA_NO_SIMD' '' brief .brief
fi
wants quick full brief lint && add lint 'sh tools/dev/lint.sh'
for file in $(tests_of sh); do
    wants hidden && quick_script "$file" && may_skip "$file" && ! takes_long "$file" &&
        add "$file, bare" "sh $file"
done
for file in $(tests_of sh); do
    if wants quick full one && quick_script "$file"; then add "$file" "sh $file"; fi
done
wants quick && c_tests '' "$CC" "$CFLAGS" '' quick ''
wants full c one && c_tests '' "$CC" "$CFLAGS" '' all ''
wants heavy && c_tests '' "$CC" "$CFLAGS" '' slow ''
if wants heavy full asan; then
    if found=$(sanitizer address,undefined); then
        # Checks of large functions are calls: kernels compile three times as fast. clang's -Os does
        # not unroll them eightfold besides: another quarter. Lines are all that reports need: -g1.
        case $found in clang*) calls='-Os -mllvm -' ;; *) calls='-O1 --param ' ;; esac
        c_tests ', ASan and UBSan' "${found%% *}" "-g1 -DSAMBA_ASSERTS \
-fsanitize=address,undefined -fno-sanitize-recover=all \
${calls}asan-instrumentation-with-call-threshold=300" "${found#* }" \
            all .asan
    else skip 'the C tests under ASan and UBSan' 'clang with libclang-rt-dev, or gcc'; fi
fi
if wants heavy full tsan; then
    if found=$(sanitizer thread); then
        c_tests ', TSan' "${found%% *}" '-O1 -g1 -DSAMBA_ASSERTS -fsanitize=thread' "${found#* }" \
            threads .tsan
    else skip 'the tests with threads under TSan' 'clang with libclang-rt-dev, or gcc'; fi
fi
for how in quick heavy; do
    wants $how full || { [ $how = quick ] && wants examples; } || continue
    for compiler in gcc clang; do
        have $compiler || \
            { skip "examples with $compiler" "$compiler: tools/dev/install.sh test"; continue; }
        for file in examples/*.c examples/devices/*.c; do
            name=${file#examples/} name=${name%.c}
            add "$name, $compiler, $how" "sh tests/run.sh example $name $compiler $how"
        done
    done
done
if wants heavy full; then
    for file in tests/golden/make_*.py; do
        [ -e "$file" ] || continue
        if [ -n "${PYTHON:-}" ]; then add "$file" "sh tests/run.sh golden $file"
        else skip "$file" 'PyTorch: apt-get install python3-torch'; fi
    done
fi

# ---- Run them, and add up ----
start=$(date +%s)
n_jobs=$(wc -l <$out/jobs)
awk -v n="$n_alone" 'NR <= n { print NR }' $out/jobs | xargs -r -n 1 sh tests/run.sh job
awk -v n="$n_alone" 'NR > n { print NR }' $out/jobs | xargs -r -n 1 -P "$JOBS" sh tests/run.sh job
n_results=$(ls $out | grep -c '\.result$')
cat $out/*.result 2>/dev/null | awk -v what="$n_jobs programs in $(($(date +%s) - start)) s" '
    { spent += $3 }
    END { printf "%s, %d s of processors\n", what, spent }'
cat $out/*.result 2>/dev/null |
    awk -v lost=$((n_jobs - n_results)) '{ p += $1; f += $2 }
        END { f += lost; printf "%d passed, %d failed\n", p, f; exit f || !p }'
