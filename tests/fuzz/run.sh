#!/bin/sh
# tests/fuzz/run.sh TARGET [SECONDS [RUNS]]: mutates inputs of one target, for SECONDS (60), or RUNS
# of them; says how many. TARGET may be
#   all      each target, 20 seconds each, JOBS at a time; the last line is "N passed, N failed".
#            Mutations begin with the seed 1, unless SEED is given; those of one target with another
#   headers  1,048,576 (or RUNS) headers of a PEF, mutated: little memory, 50 ms for each
#   again    what was found (tests/corpus) and the seeds, once, without a sanitizer; same last line
#   linear   how the time of each reader grows with inputs of 1, 2, 4, 8 MB; same last line
# With clang's libFuzzer inputs are led to new code. Where it is missing, driver.c mutates blindly
# under gcc's sanitizers, or under none. README.md here says more.
cd "$(dirname "$0")/../.." || exit 1
targets='pef load safetensors tokenizer json onnx config idx hdf5 replay npy cli'
what=${1:-} seconds=${2:-} runs=${3:-}
case " $targets all headers again linear " in *" $what "*) ;; *)
    echo "usage: make fuzz T=TARGET [SECONDS=60 | RUNS=N], of $targets;"
    echo '       or T=all, headers, again, linear'
    exit 2 ;;
esac
seed=${SEED:-$(date +%s)}
[ "$what" != all ] || seed=${SEED:-1}
export SEED=$seed                       # all runs this script once for each target
checks='-fsanitize=address,undefined -fno-sanitize-recover=all'
log=build/fuzz/log-$what                # each target its own: several run at a time
mkdir -p build/fuzz || exit 1
. tests/lib/test.sh

# ---- With what, and how: out, compile, link, driver ----
links() {           # links COMPILER FLAG...: does it link an empty program?
    echo 'int main(void) { return 0; }' | "$@" -x c - -o build/fuzz/linked 2>/dev/null
}
choose() {
    if [ "$what" = again ]; then        # each input once: to compile takes longer
        out=build/fuzz/again compile="${CC:-cc} -O0" link=${CC:-cc} driver=driver.o
    elif [ "$what" = linear ]; then
        out=build/fuzz/plain compile="${CC:-cc} -O1" link=${CC:-cc} driver=driver.o
    elif echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return !p && n; }' |
        clang -fsanitize=fuzzer,address,undefined -x c - -o build/fuzz/linked 2>/dev/null; then
        out=build/fuzz/guided driver=''
        compile="clang -O1 -g1 -DSAMBA_ASSERTS -fsanitize=fuzzer-no-link $checks -mllvm \
-asan-instrumentation-with-call-threshold=300"
        link="clang -fsanitize=fuzzer $checks"
    else
        out=build/fuzz/blind driver=driver.o
        links gcc $checks || checks=''
        compile="gcc -O1 -g1 -DSAMBA_ASSERTS $checks" link="gcc $checks"
        echo "clang has no libFuzzer here: inputs are mutated blindly${checks:+, under sanitizers}"
    fi
}

# What a target needs is not there: prints that.
missing() {         # missing TARGET
    headers='' wants=''
    case $1 in
    onnx) lacks onnx ;;
    cli) echo "$(lacks tools) $(lacks onnx)" | xargs ;;
    safetensors | config) headers=cjson/cJSON.h wants='cJSON' ;;
    tokenizer) headers='cjson/cJSON.h utf8proc.h' wants='cJSON and utf8proc' ;;
    idx) headers=zlib.h wants='zlib' ;;
    hdf5) headers=hdf5.h wants=libhdf5 ;;
    esac
    for header in $headers; do
        flags=''
        [ $header != hdf5.h ] || flags=$(tools/dev/hdf5.sh)
        echo "#include <$header>" | ${CC:-cc} $flags -E -x c - >/dev/null 2>&1 ||
            { echo "$wants"; return; }
    done
}

# Calls each_target COMMAND... with the name of each target that can be built.
each_target() {
    for target in $targets; do
        wants=$(missing $target)
        if [ -n "$wants" ]; then skip "the fuzzer of $target" "$wants"; continue; fi
        check "$target builds" build $target
        "$@" $target
    done
}
fuzz_all() {        # every target that can be built, JOBS at a time
    each_target remember
    command='sh tests/fuzz/run.sh "$3" "$1" "$2" >build/fuzz/said-"$3" 2>&1 ||
        touch build/fuzz/bad-"$3"'
    echo "$built" | xargs -n 1 -P "${JOBS:-$(nproc 2>/dev/null || echo 1)}" \
        sh -c "$command" fuzz_all "${seconds:-20}" "$runs"
    for target in $built; do
        cat build/fuzz/said-"$target"
        if [ -e build/fuzz/bad-"$target" ]; then failed=$((failed + 1))
        else passed=$((passed + 1)); fi
    done
}
built=''
remember() {
    built="$built $1"
    rm -f build/fuzz/bad-"$1"
}
replay_each() { check "$1: seeds and findings" again "$1"; }
time_each() {
    check "$1: time is linear" $out/"$1" linear
    grep MB $log
}

build() {           # build TARGET
    case $1 in onnx | cli) make -s build/onnx/onnx.pb-c.c || return 1 ;; esac
    [ "$1" != cli ] || make -s build/view_page.h || return 1
    make -s -f tests/fuzz/fuzz.mk OUT=$out COMPILE="$compile" PLAIN="${compile%% *} -O2" \
        LINK="$link" DRIVER=$driver $out/"$1"
}

# ---- Folders: seeds and what was learned (build/fuzz/TARGET), findings (tests/corpus/TARGET) ----
FUZZ_SCRATCH=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 1
export FUZZ_SCRATCH
trap 'rm -rf "$FUZZ_SCRATCH"' EXIT
trap 'exit 1' INT TERM
# A child that finds something ends at once; messages of the code under test are not of interest.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

prepare() {         # prepare TARGET: folders are set up, seeds written
    seeds=build/fuzz/seeds/$1 learned=build/fuzz/learned/$1 found=tests/corpus/$1
    rm -rf "$seeds"
    mkdir -p "$seeds" "$learned" build/fuzz/findings
    [ -d "$found" ] || found=''
    $out/"$1" seeds "$seeds"
}

fuzz() {            # fuzz TARGET SECONDS RUNS: prints the number of inputs, and findings
    prepare "$1" >$log 2>&1 || { cat $log; return 1; }
    dict=build/fuzz/$1.dict
    $out/"$1" dict >"$dict"
    [ -s "$dict" ] && dict=-dict=$dict || dict=''
    start=$(date +%s)
    $out/"$1" $dict -seed="$seed" -max_total_time="$2" -runs="$3" -timeout=60 \
        -rss_limit_mb=3000 -max_len="$($out/"$1" most)" -print_final_stats=1 -detect_leaks=1 \
        -artifact_prefix=build/fuzz/findings/"$1"- "$learned" "$seeds" $found >$log 2>&1
    code=$?
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' $log)
    if [ $code = 0 ]; then
        echo "$1: ${n:-0} inputs in $(($(date +%s) - start)) s, nothing found"
        return 0
    fi
    grep -E 'FINDING|ERROR|runtime error|^    #[0-9] |SUMMARY|Test unit written' $log | head -n 30
    echo "$1: ${n:-no count of} inputs, a finding: build/fuzz/findings/$1-*"
    return 1
}

again() {           # again TARGET
    prepare "$1" || return 1
    $out/"$1" -runs=0 "$seeds" $found
}

choose
case $what in
all)
    fuzz_all
    finish ;;
again)
    each_target replay_each
    finish ;;
linear)
    each_target time_each
    finish ;;
headers) build pef && $out/pef headers "${runs:-1048576}" ;;
*)
    [ -z "$runs" ] || seconds=0
    build "$what" && fuzz "$what" "${seconds:-60}" "${runs:--1}" ;;
esac
