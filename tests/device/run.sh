#!/bin/sh
# tests/device/run.sh [all | TARGET...]: nets infer and train on emulated microcontrollers, without
# an operating system, to the bits of the host; and how much RAM, stack, code and how many
# instructions they take. Without arguments: two targets and the small nets (make test); all: every
# target and net (make device). A host program (host.c) makes the nets, and export-c writes them as
# C; samba.c, device.c, api.c and a board of examples/devices/board are linked, and run in QEMU.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device log=build/device/log
mkdir -p $out
. tests/lib/test.sh
. tests/lib/targets.sh
CC=${CC:-cc}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}

all_targets='m3-gcc m3-clang m4f-gcc m4f-clang m33-gcc m33-clang m7-gcc m0-gcc rv32imc-gcc
rv32imc-clang rv32imafc-gcc rv32imafc-clang'
quick_targets='m3-gcc rv32imc-gcc'
quick_nets='tiny_sgd mlp mlp_int8 mlp_spatial conv_int8 conv_sgd mlp_mp1 conv_mp4'
all_nets="$quick_nets mlp_mp4 conv_mp1 mlp_sgd mlp_adamw lenet wide_spatial"

# Bytes that opening or running a net may take below main: what samba.h promises.
stack_limit=$(sed -n 's/^#define SAMBA_DEVICE_STACK //p' samba.h)
ram_slack=15            # bytes of the promised RAM that may stay unused: alignment, at both ends
known_misses=""                          # TARGET:NET that does not fit the RAM of its board yet

# ---- Targets: processor and compiler, RAM, nets --------------------------------------------------
headers_of() {      # headers_of COMPILER...: the folder of its C library's headers, for clang
    echo '#include <string.h>' | "$@" -M -x c - | tr ' ' '\n' |
        sed -n 's|/string\.h$||p' | head -n 1
}
target() {          # target PROCESSOR-COMPILER
    processor "${1%-*}" || { echo "there is no target $1; there are: $all_targets"; return 1; }
    flash=4M ram=256K nets=$all_nets config=''
    [ "$mode" != quick ] || nets=$quick_nets
    case $1 in m0-*) flash=256K ram=16K nets=tiny_sgd config='--trust --no-texts' ;; esac
}
missing_for() {     # what a target lacks, nothing if it can be tried
    have $tools-gcc || { echo $tools-gcc; return; }
    have "${emulator%% *}" || { echo "${emulator%% *}"; return; }
    case $1 in *-clang) have clang || { echo clang; return; } ;; esac
    [ -n "$(headers_of $cross 2>/dev/null)" ] || echo "a C library for $tools-gcc"
}

# ---- One target: build and run; what came of it stands in its folder -----------------------------
build_and_run() {   # build_and_run TARGET
    target "$1" || return
    dir=$out/$1
    mkdir -p $dir
    cc=$cross
    case $1 in *-clang) cc="clang $clang -isystem $(headers_of $cross)" ;; esac
    flags="-std=c99 -Os -ffunction-sections -fdata-sections -I. -I$board_folder -I$out -I$dir \
-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual \
-Wdouble-promotion -Werror"
    for net in $nets; do echo "#include \"${net}_pef.h\""; done >$dir/nets.h
    echo "#define NETS(X)$(printf ' X(%s)' $nets)" >>$dir/nets.h
    flags="$flags -DCONFIG_H=\"config.h\" -DNETS_H=\"nets.h\""
    $out/host device-config $config -o $dir/config.h $(printf "$out/%s.ckpt " $nets) &&
        $cc $flags -c -o $dir/samba.o tests/device/samba.c &&
        $cc $flags -c -o $dir/device.o tests/device/device.c &&
        $cc $flags -c -o $dir/api.o tests/device/api.c &&
        $cc $flags -c -o $dir/board.o $board.c || return
    # Without libm: samba.h has all of mathematics itself.
    link_board $flash $ram $stack_size $specs -Wl,-z,noexecstack -o $dir/device.elf \
        $dir/device.o $dir/api.o $dir/board.o $dir/samba.o || return
    # A nanosecond of the emulated clock for each instruction, and nothing but the program's lines.
    emulate 900 $dir/device.elf -icount shift=0 >$dir/said 2>&1
    echo "exit code $?" >>$dir/said
}
stack_size=$((stack_limit + 1024))      # main and its own functions stand above what is measured
if [ "$1" = job ]; then
    mode=$2
    rm -rf ${out:?}/"$3"
    build_and_run "$3" >$out/"$3".log 2>&1
    exit
fi

# ---- What is asked of a target -------------------------------------------------------------------
value() { sed -n "s/^$2 .*\\b$3=\\([0-9a-f]*\\).*/\\1/p" "$1"; }        # value FILE NET KEY
at_most() { [ -n "$1" ] && echo "$3: $1 of at most $2" && [ "$1" -le "$2" ]; }
same() { echo "$1"; echo "$2"; [ -n "$1" ] && [ "$1" = "$2" ]; }
# Functions of memory by any name, and what the compiler's own runtime has.
stranger_symbols() {
    $tools-nm -u "$1" | awk '{ print $NF }' |
        grep -vxE '(__aeabi_)?mem(cpy|set|move|cmp|clr)[48]?' |
        grep -vxE '__aeabi_(u?[dfil]2[dfil]|[df]2u?[il]z|ul2[df])|__gnu_thumb1_case_[a-z]+' |
        grep -vxE '__aeabi_([df](r?sub|add|mul|div|cmp(eq|ge|gt|le|lt|un))|u?[il]div(mod)?)' |
        grep -vxE '__aeabi_(lmul|u?lcmp|llsl|llsr|lasr)|__(ashl|ashr|lshr)di3|__clz[sd]i2' |
        grep -vxE '__((add|sub|mul|div)[sd]f3|(eq|ne|ge|gt|le|lt|unord)[sd]f2|u?(div|mod)[sd]i3)' |
        grep -vxE '__(mul[sd]i3|extendsfdf2|truncdfsf2|fix(uns)?[sd]f[sd]i|float(un)?[sd]i[sd]f)'
}
bytes_of() {        # bytes_of FILE NAME...: of sections .NAME and .NAME.anything
    $tools-size -A "$1" | awk '
        BEGIN { for (i = 2; i < ARGC; i++) wanted[ARGV[i]] = 1; ARGC = 1 }
        { split($1, part, "."); name = part[2] }
        $1 ~ /^\.data\.rel\.ro/ { name = "rodata" }       # constants that hold addresses
        name in wanted { n += $2 }
        END { print n + 0 }' "$@"
}
misses() {          # does a net not fit, as is known?
    free=$(value "$2" "$3" free)
    case " $known_misses " in *" $1:$3 "*) ;; *) return 1 ;; esac
    [ -n "$free" ] || { echo "$1: $3 fits now: take it out of known_misses"; return 1; }
    echo "known miss: $1: $3 needs $(value "$2" "$3" promised) bytes; beside a stack of" \
        "$stack_size, $free are free of $ram"
}
check_net() {       # check_net TARGET NET
    said=$out/$1/said
    for what in outputs weights; do
        check "$1, $2: $what as on the host" \
            same "$(value $out/expected "$2" $what)" "$(value $said "$2" $what)"
    done
    promised=$(value $said "$2" promised) painted=$(value $said "$2" painted)
    check "$1, $2: promises what samba_measure_device says on the host" \
        same "$(value $out/expected "$2" promised)" "$promised"
    check "$1, $2: the last byte written is the last of its tensors" \
        same "$(value $said "$2" last)" "$painted"
    check "$1, $2: promises the RAM it uses" at_most $((promised - painted)) $ram_slack unused
    for what in open run; do
        check "$1, $2: stack to $what" at_most "$(value $said "$2" stack_$what)" $stack_limit stack
    done
    printf '%-15s %-10s %12s %9s %7s %7s %9s  %.8s\n' "$1" "$2" "$(value $said "$2" step)" \
        "$(value $said "$2" open)" "$promised" "$(value $said "$2" stack_run)" \
        "$(value $said "$2" stack_open)" "$(value $said "$2" weights)" >>$out/table
}
api_holds() { cat "$1"; grep -qx 'api passed=[0-9]* failed=00' "$1" && ! grep -q ^FAILED "$1"; }
silent() { "$@" >"$log.said" 2>&1; cat "$log.said"; ! [ -s "$log.said" ]; }
check_target() {    # check_target TARGET
    target "$1"
    dir=$out/$1
    check "$1: compiles without warnings and links" silent cat $out/"$1".log
    [ -e $dir/device.elf ] || return
    check "$1: needs functions of memory alone" silent stranger_symbols $dir/samba.o
    check "$1: has no variables" same 0 "$(bytes_of $dir/samba.o data sdata bss sbss)"
    check "$1: ends" grep -q 'exit code 0' $dir/said
    case " $known_misses " in *" $1:"*) ;; *)
        check "$1: the functions of the runtime" api_holds $dir/said ;;
    esac
    for net in $nets; do misses "$1" $dir/said $net || check_net "$1" $net; done
    echo "$1: samba.h has .text $(bytes_of $dir/samba.o text)," \
        ".rodata $(bytes_of $dir/samba.o rodata srodata)" >>$out/sizes
}

# ---- All of them ---------------------------------------------------------------------------------
mode=all targets=$*
case ${1:-quick} in
quick) mode=quick targets=$quick_targets ;;
all) targets=$all_targets ;;
esac
ready=''
for name in $targets; do
    target "$name" || exit 2
    missing=$(missing_for "$name")
    if [ -z "$missing" ]; then ready="$ready $name"
    else skip "$name" "$missing: tools/dev/install.sh device"; fi
done
[ -n "$ready" ] || finish

make_nets() {
    build_with_samba -Dmain=tools_main -c -o $out/tools.o tools/cli/device.c &&
        build_with_samba -o $out/host tests/device/host.c $out/tools.o tools/cli/device/*.c \
            tools/cli/util/*.c && $out/host $out >$out/expected
}
check 'the nets are made' make_nets
[ $failed = 0 ] || finish
rm -f $out/table $out/sizes
echo $ready | tr ' ' '\n' | xargs -n 1 -P "$JOBS" sh tests/device/run.sh job $mode
for name in $ready; do check_target "$name"; done
echo 'target          net          instr/step      open     RAM   stack  to open  weights'
cat $out/table $out/sizes 2>/dev/null
finish
