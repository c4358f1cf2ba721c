#!/bin/sh
# tests/core/same_bits.sh: trains small nets, in f32 and in bf16, with many compilers, optimization
# levels and instruction sets, each with 1 ... 8 threads, with and without SIMD, and on other
# platforms: Windows (under wine), 32 bits, AArch64, RISC-V, a big-endian one (under qemu), as far
# as they are installed. All must give the same bits. Prints the first value that differs, if one
# does. The last line is "N passed, N failed"; about five minutes. JOBS is respected: compilers at a
# time.
cd "$(dirname "$0")/../.." || exit 1
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
out=build/same_bits
source=tests/core/same_bits.c
have() { command -v "$1" >/dev/null 2>&1; }
program() { echo $out/$1/same_bits; }

# ---- One build: same_bits.sh build N is line N of the list, "compiler flags|runner|options" ----
if [ "$1" = build ]; then
    line=$(sed -n "$2p" $out/builds)
    how=${line%%|*} runner=$(echo "$line" | cut -d '|' -f 2) options=${line##*|}
    mkdir -p $out/$2
    $how -I$out -I. $source -o "$(program $2)" -lm -pthread >$out/$2/log 2>&1 &&
        $runner "$(program $2)" $options >$out/$2/output 2>&1
    code=$?
    grep -E '^[a-z0-9_]+ [0-9a-f]{16}$' $out/$2/output >$out/$2/hashes 2>/dev/null
    [ $code = 0 ] || echo $code >$out/$2/failed
    exit 0
fi

rm -rf $out
mkdir -p $out && cp samba.h $out || exit 1        # all see the same header
add() { echo "$1|$2|$3" >>$out/builds; }
skip() { echo "skipped: $1; it takes $2"; }           # as in tests/lib/test.sh

# Where a compiler may fuse a*b + c, it does so by default in gcc (not under -std=c99), within an
# expression in clang, and everywhere under -ffp-contract=fast.
for compiler in gcc clang; do
    have $compiler ||
        { skip "bits of $compiler" "$compiler: tools/dev/install.sh test"; continue; }
    add "$compiler -O0"
    add "$compiler -O2"
    add "$compiler -O3"
    if echo 'int main(void) { return 0; }' |
        $compiler -march=native -x c - -o $out/native 2>/dev/null && $out/native; then
        add "$compiler -O3 -march=native -ffp-contract=fast"
    else skip "bits of $compiler -march=native" 'a compiler that knows it'; fi
    add "$compiler -O2 -DSAMBA_NO_SIMD"
    add "$compiler -O1 -std=c99"
done
if have g++; then add "g++ -O1 -std=c++11 -x c++"
else skip 'bits of g++' 'g++: tools/dev/install.sh test'; fi

# ---- Other platforms: of each, how to compile for it, what runs its programs, and a name ----
: >$out/platforms
platform() {        # platform NAME RUNNER COMPILER FLAGS...
    name=$1 runner=$2 compiler=$3
    shift 2
    have "$compiler" || { skip "bits of $name" "$compiler: tools/dev/install.sh full"; return; }
    [ -z "$runner" ] || have "$runner" ||
        { skip "bits of $name" "$runner: tools/dev/install.sh full"; return; }
    mkdir -p $out/"$name"
    program="$out/$name/hello"
    printf '#include <errno.h>\n#include <pthread.h>\nint main(void) { return errno; }\n' |
        "$@" -x c - -o "$program" -pthread >$out/"$name"/log 2>&1 &&
        $runner "$program" >>$out/"$name"/log 2>&1 ||
        { skip "bits of $name" "the C library for $compiler: tools/dev/install.sh full"; return; }
    echo "$name|$*|$runner" >>$out/platforms
}
emulator() { have "$1-static" && echo "$1-static" || echo "$1"; }
# Wine keeps its registry in build/, and lines end as they do on Windows.
cat >$out/wine.sh <<'EOF'
#!/bin/sh
program=$1
shift
export WINEPREFIX="$PWD/build/wine" WINEDEBUG=-all
wine "$program.exe" "$@" >"$program.txt"
code=$?
tr -d '\r' <"$program.txt"
exit $code
EOF
chmod +x $out/wine.sh
windows=$out/wine.sh
have wine || windows=wine
platform aarch64 "$(emulator qemu-aarch64)" aarch64-linux-gnu-gcc -static
platform big-endian "$(emulator qemu-s390x)" s390x-linux-gnu-gcc -static
platform riscv64 "$(emulator qemu-riscv64)" riscv64-linux-gnu-gcc -static
# Headers of one architecture are in a folder of their own; -m32 does not look there.
for compiler in gcc clang; do
    platform "32 bits, $compiler" '' $compiler -m32 -msse2 -mfpmath=sse \
        -isystem "/usr/include/$(gcc -print-multiarch 2>/dev/null)"
done
platform Windows "$windows" x86_64-w64-mingw32-gcc -static -idirafter /usr/include

while IFS='|' read -r name how runner; do
    add "$how -O2" "$runner" --quick
    case $name in aarch64 | Windows) add "$how -O1 -DSAMBA_NO_SIMD" "$runner" --quick ;; esac
done <$out/platforms

# No sum may have a product in it that a compiler is free to fuse: then as many fused instructions
# are made with -ffp-contract=off as with fast. A net meets such a sum only by chance. The functions
# left out have exact products (fill; tile_floats; byte_conv_of; copy_size, where it is not
# refused) or no influence on results (clocks, counts of operations).
no_matter='samba__fill_.*|samba__tile_floats|samba__byte_conv_of|samba__copy_size'
no_matter="^($no_matter|samba__.*_work|samba_seconds)[:.]"
fused() {           # fused FLAG: "function count" for each function, as gcc makes it
    echo '#define SAMBA_IMPLEMENTATION
        #include "samba.h"' |
        gcc -O2 -fno-tree-vectorize -mavx2 -mfma -ffp-contract="$1" -I$out -S -x c - -o - |
        awk '/^[A-Za-z_].*:/ { name = $1 }
             /\tvfn?m(add|sub)/ { count[name]++ }
             END { for (name in count) print name, count[name] }' | grep -vE "$no_matter" | sort
}
passed=0 failed=0
start=$(date +%s)
if have gcc && echo 'int x;' | gcc -mavx2 -mfma -S -x c - -o /dev/null 2>/dev/null; then
    fused off >$out/explicit &
    fused fast >$out/fused
    wait
    if [ -s $out/explicit ] && cmp -s $out/explicit $out/fused; then passed=$((passed + 1))
    else
        echo 'FAILED no product can be fused into a sum; fused instructions by function:'
        diff $out/explicit $out/fused | sed 's/^/    /'
        failed=$((failed + 1))
    fi
else skip 'what gcc fuses' 'a gcc that makes code with fma'; fi

# On each platform: samba__fma against the processor's, or, without one, ours against each other;
# and the same bits in whatever mode the caller's thread computes, which is set by instructions of
# each processor. And a net has few sizes of products; tests/core/gemm.c and bf16.c have all, with
# NEON and without.
other() {           # other NAME COMMAND RUNNER TEST
    program="$out/$1/$4"
    if $2 -O1 -I$out -I. tests/core/"$4".c -o "$program" -lm -pthread >"$program.log" 2>&1 &&
        $3 "$program" >>"$program.log" 2>&1 </dev/null; then passed=$((passed + 1))
    else
        echo "FAILED tests/core/$4.c: $1"
        tail -n 20 "$program.log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}
while IFS='|' read -r name how runner; do
    for test in fma float_mode; do other "$name" "$how -DSAMBA_NO_SIMD" "$runner" $test; done
    [ "$name" = aarch64 ] || continue
    for test in gemm bf16 attention_bf16 convolution_bf16; do
        other "$name" "$how" "$runner" $test
    done
done <$out/platforms

n=$(wc -l <$out/builds)
seq "$n" | xargs -n 1 -P "$jobs" sh tests/core/same_bits.sh build

# ---- Every build against the first that has hashes ----
verbose() {         # verbose N: every step of build N
    $(sed -n "$1p" $out/builds | cut -d '|' -f 2) "$(program $1)" --threads 1 --verbose
}
first=''
for i in $(seq "$n"); do
    name=$(sed -n "${i}s/|.*//p" $out/builds)
    [ -n "$first" ] || ! [ -s $out/$i/hashes ] || first=$i
    if [ -e $out/$i/failed ]; then
        echo "FAILED $name"
        tail -n 20 $out/$i/log $out/$i/output 2>/dev/null | sed 's/^/    /'
        failed=$((failed + 1))
    elif ! [ -s $out/$i/hashes ] || ! cmp -s $out/$first/hashes $out/$i/hashes; then
        echo "FAILED $name: other bits than $(sed -n "${first}s/|.*//p" $out/builds)"
        verbose "$first" >$out/expected
        verbose "$i" >$out/got
        diff $out/expected $out/got | head -n 8 | sed 's/^/    /'
        failed=$((failed + 1))
    else passed=$((passed + 1)); fi
done
[ -z "$first" ] || cat $out/"$first"/hashes
echo "$n builds in $(($(date +%s) - start)) s"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 1 ]
