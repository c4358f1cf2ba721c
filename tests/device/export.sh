#!/bin/sh
# tests/device/export.sh [all]: C that export-c writes computes what the executor does, bit for bit:
# forward and training, with gcc and clang, with and without optimization, with and without an
# instruction for multiply-adds; and on an emulated Cortex-M3, where that is installed. Without
# arguments some nets and compilers only.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/device_export log=build/device_export/log
mkdir -p $out
. tests/lib/test.sh
. tests/lib/targets.sh
CC=${CC:-cc}
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual
-Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Werror'

nets='mlp curves odd mlp_momentum regression images_adamw strides_sgd gated_sgd'
nets="$nets transformer moves_sgd mlp_f16 odd_coarse odd_int8 codes lstm_adamw gru functions"
nets="$nets noise_sgd mlp_amsgrad mlp_centered mlp_adagrad mlp_lion"
all_nets="$nets lenet autoencoder resnet8 ds_cnn ds_cnn_coarse mlp_sgd mlp_clipped mlp_adamw
mlp_rmsprop lenet_sgd transformer_adamw moves lstm gru_sgd rnn mlp_int8 lenet_int8
resnet8_int8"
hosts="$CC -O2|$CC -O0|clang -O2"
[ -z "${HIDDEN:-}" ] || nets=mlp
processors='m3'
on_boards='mlp odd odd_int8 codes images_adamw transformer moves_sgd lstm_adamw gru functions'
if [ "${1:-}" = all ]; then
    nets=$all_nets on_boards=$all_nets
    processors='m3 m4f'
    hosts="$hosts|$CC -Os|clang -O0|g++ -x c++ -std=c++11 -O2"
    case $(uname -m) in x86_64) hosts="$hosts|$CC -O2 -mfma|$CC -O3 -march=native" ;; esac
fi

# ---- On this machine ----
prepared() {        # makes a net, its hash in the executor, and its C
    case $1 in *_coarse) flags=--float16-weights ;; *) flags='' ;; esac
    ./$out/nets make "$1" $out/$1.ckpt && to_file $out/$1.hash $out/nets drive $out/$1.ckpt $1 \
        $out/$1_steps.h && build/samba-device export-c $flags $out/$1.ckpt -o $out/$1 &&
        $CC -std=c99 -O1 -I. -I$out -DNET_STEPS="\"$1_steps.h\"" -c -o $out/$1_run.o \
            tests/device/export_run.c
}
same_here() {       # same_here NET COMPILER...
    net=$1
    shift
    std=-std=c99 more=$warnings
    case $* in *c++*) std='' more="-Wall -Wextra -Werror" ;; esac
    "$@" $std $more -I. -I$out -c -o $out/$net.o $out/$net.c &&
        $CC -o $out/$net $out/${net}_run.o $out/$net.o &&
        fails_with 0 "$(cat $out/$net.hash)" $out/$net
}
# ---- On an emulated microcontroller ----
same_on() {         # same_on NET BOARD
    processor "$2"
    cross="$cross -std=gnu99 -Os -ffunction-sections -fdata-sections"
    $cross $warnings -I. -I$out -c -o $out/$1.$2.o $out/$1.c &&
        link_board 4M 4M 8K -I. -I$out -DBOARD -DNET_STEPS="\"${1}_steps.h\"" $specs \
            -o $out/$1.$2.elf tests/device/export_run.c $out/$1.$2.o $board.c &&
        fails_with 0 "$(cat $out/$1.hash) " emulate 300 $out/$1.$2.elf -icount shift=0 &&
        cp $log.said $out/$1.$2.said
}
code_of() {         # bytes of code and constants but the weights
    arm-none-eabi-nm -S "$1" | awk -v net="$2_" '
        function hex(s,  i, v) {
            for (i = 1; i <= length(s); i++)
                v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1
            return v
        }
        NF == 4 && ($3 ~ /[tT]/ || ($3 ~ /[rR]/ && index($4, net) != 1)) { n += hex($2) }
        END { print n + 0 }'
}
small() { code=$(code_of $out/$1.m3.o $1); echo "$code bytes"; [ "$code" -le "$2" ]; }

check 'the nets compile' build_with_samba -o $out/nets tests/device/export_nets.c
# Less optimized, it is there in a third of the time; it writes the same.
check 'the tool is built' make -s CFLAGS='-O1 -DSAMBA_NO_SIMD' build/samba-device
for net in $nets; do
    check "$net is exported" prepared $net
    echo "$hosts" | tr '|' '\n' >$out/hosts
    while read -r host; do
        have "${host%% *}" || continue
        check "$net with $host: the bits of the executor" same_here $net $host
    done <$out/hosts
done

# What cannot be written is said, and an old file does not stay.
cp $out/mlp.c $out/unknown.c
sed -i '1s/mlp/unknown/' $out/unknown.c
check 'a net with another op' $out/nets make unknown $out/unknown.ckpt
check 'is refused by the name of the op' fails_with 0 'cannot write op cast' \
    build/samba-device export-c $out/unknown.ckpt -o $out/unknown
check 'with a header for the executor' test -s $out/unknown_pef.h
check 'and without C' test ! -e $out/unknown.c
check 'inexact C says so' build/samba-device export-c --inexact $out/mlp.ckpt -o $out/inexact
check 'at its top' sh -c "head -n 4 $out/inexact.c | grep -q INEXACT"
check 'it compiles' $CC -std=c99 $warnings -c -o $out/inexact.o $out/inexact.c
check 'a net that trains' $out/nets make mlp_sgd $out/trains.ckpt
check 'has no weights that are halves' fails_with 0 'is not a constant half' \
    build/samba-device export-c --float16-weights $out/trains.ckpt -o $out/trains
echo 'int mine;' >$out/mine.c
check 'a file of somebody else stays' fails_with 0 'so it stays' \
    build/samba-device export-c $out/mlp.ckpt -o $out/mine
rm $out/mine.c

if have arm-none-eabi-gcc && have qemu-system-arm; then
    for net in $on_boards; do
        for on in $processors; do check "$net on $on: the same bits" same_on $net $on; done
    done
    check 'code of the MLP is at most 1 KiB' small mlp 1024
    [ "${1:-}" != all ] || check 'code of LeNet is at most 4 KiB' small lenet 4096
else
    skip 'exported C on a board' 'a board in QEMU: tools/dev/install.sh device'
fi
finish
