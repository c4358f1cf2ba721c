#!/bin/sh
# tests/header/run.sh [quick|full|update]: samba.h as a header, compiled in every promised way.
# update writes symbols.txt, the list of exported functions, anew. Ends with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
mode=${1:-quick}
jobs=${JOBS:-2}
here=tests/header
out=build/header
mkdir -p $out || exit 1

# ---- One case: run.sh case N runs line N of the list, "name|command" ----
if [ "$mode" = case ]; then
    line=$(sed -n "$2p" $out/cases)
    log=$out/case$2.log
    if (eval "${line#*|}") >"$log" 2>&1; then echo passed >$out/case$2.result
    else
        echo failed >$out/case$2.result
        { printf 'FAILED %s\n    %s\n' "${line%%|*}" "${line#*|}"; head -n 20 "$log"; } >&2
    fi
    exit 0
fi
rm -f $out/*.result $out/*.log $out/cases

# Without -fno-pic, tables of constants with addresses in them would count as variables.
gcc_o="gcc -std=c99 -fno-pic -c $here/impl.c"
exported="nm -g --defined-only $out/symbols.o | sed 's/.* //' | sort"
if [ "$mode" = update ]; then
    eval "$gcc_o -o $out/symbols.o && $exported" >$here/symbols.txt
    echo "$(wc -l <$here/symbols.txt) symbols in $here/symbols.txt"
    exit
fi

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual \
-Wdouble-promotion -Werror"
c_warnings="$warnings -Wstrict-prototypes -Wmissing-prototypes"
cpp_warnings="$warnings -Wmissing-declarations"
link="-lm -pthread"

add() { printf '%s|%s\n' "$1" "$(printf %s "$2" | tr -s '\n ' '  ')" >>$out/cases; }
have() { command -v "$1" >/dev/null 2>&1; }
skip() { echo "skipped: $1; it takes $2"; }           # as in tests/lib/test.sh

# All promised pairs of compiler and standard, as "compiler -std=... -x language warnings".
dialects=''
for compiler in gcc clang; do
    have $compiler || { skip "$compiler" "$compiler: tools/dev/install.sh test"; continue; }
    for std in c99 c11 c17; do
        dialects="$dialects$compiler -std=$std -x c $c_warnings
"
    done
done
for compiler in g++ clang++; do
    have $compiler || { skip "$compiler" "$compiler: tools/dev/install.sh test"; continue; }
    for std in c++11 c++17; do
        dialects="$dialects$compiler -std=$std -x c++ $cpp_warnings
"
    done
done
# each FILTER BODY: runs BODY for each pair that matches, with $cc, $short and a number $n.
each() {
    n=0
    while read -r cc; do
        n=$((n + 1))
        short=${cc%% -x*}
        case $short in $1) eval "$2" ;; esac
    done <<EOF
${dialects%?}
EOF
}
m32=''
for compiler in gcc clang; do
    # Debian keeps the headers that depend on the architecture in a folder of their own.
    flags="-m32 -msse2 -mfpmath=sse -isystem /usr/include/$(gcc -print-multiarch 2>/dev/null)"
    if have $compiler && echo 'int main(void) { return 0; }' |
        $compiler $flags -x c - -include pthread.h -include errno.h -o $out/m32 2>/dev/null
    then m32="$m32 $compiler"
    else skip "32-bit programs of $compiler" "gcc-multilib: tools/dev/install.sh test"; fi
done

# ---- 1. Declarations alone, included three times ----
each '*' 'add "declarations, $short" "$cc $here/decl.c -o $out/decl$n && $out/decl$n"'

# ---- 2. The implementation, its macro defined twice (3b) ----
if [ "$mode" = full ]; then
    each '*' 'add "implementation, $short -O0" "$cc -O0 -c $here/impl.c -o $out/impl0-$n.o"
              add "implementation, $short -O2" "$cc -O2 -c $here/impl.c -o $out/impl2-$n.o"'
else
    each '*' 'add "implementation, $short, checked" "$cc -fsyntax-only $here/impl.c"'
    each '*c99' 'add "implementation, $short -O2" "$cc -O2 -c $here/impl.c -o $out/impl2-$n.o"'
    each '*++11' 'add "implementation, $short -O0" "$cc -O0 -c $here/impl.c -o $out/impl0-$n.o"'
fi
for compiler in $m32; do
    add "32 bits, $compiler" "$compiler $flags -std=c99 $c_warnings -DUSE_IMPLEMENTS $here/use.c
        -o $out/m32-$compiler $link && $out/m32-$compiler"
    add "32 bits, $compiler, device" "$compiler $flags -std=c99 $c_warnings -DSAMBA_RUNTIME_ONLY
        -ffreestanding -O2 -c $here/impl.c -o $out/m32-$compiler.o"
    add "32 bits, $compiler, x87: refused" "! $compiler $flags -mno-sse -mfpmath=387 -fsyntax-only
        $here/impl.c 2>$out/x87-$compiler && grep -q 'msse2 -mfpmath=sse' $out/x87-$compiler &&
        $compiler $flags -mno-sse -mfpmath=387 -DSAMBA_ALLOW_EXCESS_PRECISION -fsyntax-only
        $here/impl.c"
done
# A device has memory functions, a bit of libm, and what its compiler brings along.
# Kernels for AVX2 have an instruction for fmaf; portable ones beside them call it.
device_needs='memcmp|memcpy|memmove|memset|sqrtf|floorf'
compiler_brings='__cpu_model|__cpu_indicator_init'
each '*c99' 'add "device, freestanding, $short: needs memory and libm functions only" "
    $cc -O2 -fno-pic -ffreestanding -DSAMBA_RUNTIME_ONLY -c $here/impl.c -o $out/device$n.o &&
    ! nm -u $out/device$n.o | grep -vwE \"$device_needs|fmaf|$compiler_brings\""
    add "device, freestanding, without SIMD, $short" "
    $cc -O2 -fno-pic -ffreestanding -DSAMBA_RUNTIME_ONLY -DSAMBA_NO_SIMD -c $here/impl.c
    -o $out/scalar$n.o && ! nm -u $out/scalar$n.o | grep -vwE \"$device_needs\""'
each '*++11' 'add "device, freestanding, $short" "
    $cc -O0 -ffreestanding -DSAMBA_RUNTIME_ONLY -c $here/impl.c -o $out/device$n.o"'

# ---- 3. Two files, one implements; C and C++ in one program ----
# Without SIMD where kernels do not matter: gcc then compiles five times faster.
gcc="gcc -std=c99 -x c $c_warnings -DSAMBA_NO_SIMD"
gpp="g++ -std=c++11 -x c++ $cpp_warnings -DSAMBA_NO_SIMD"
both="-DUSE_IMPLEMENTS -DUSE_OTHER_FILE"
object() { echo "$1 -c $here/$2.c -o $out/$3.o"; }      # object COMPILER SOURCE OBJECT
program() {         # program OBJECT OBJECT [FLAG]: links with g++, which knows both, and runs
    echo "g++ $out/$1.o $out/$2.o $link ${3:-} -o $out/$1-$2 && $out/$1-$2"
}
if have g++; then
    # The implementation is compiled once; what follows links it with other second files.
    eval "$(object "$gcc $both" use main)" >$out/main.log 2>&1
    add 'two files, one implements' "cat $out/main.log &&
        $(object "$gcc" other other_c) && $(program main other_c)"
    add 'two files, C implements, C++ uses' \
        "$(object "$gpp" other other_cpp) && $(program main other_cpp)"
    add 'two files, C++ implements, C uses' "$(object "$gpp $both" use main_cpp) &&
        $(object "$gcc" other other_c2) && $(program main_cpp other_c2)"

    if printf '#include <%s>\n' cjson/cJSON.h utf8proc.h zlib.h | gcc -E -x c - >/dev/null 2>&1
    then add 'companion headers, C implements, C++ uses' \
        "$(object "$gcc -D_GNU_SOURCE -DIMPLEMENT" tools tools_c) &&
        $(object "$gpp" tools tools_cpp) && $(program tools_c tools_cpp '-lcjson -lutf8proc -lz')"
    else skip 'companions' 'cJSON, utf8proc and zlib: tools/dev/install.sh test'; fi

    # ---- 4. SAMBA_STATIC in both files ----
    add 'SAMBA_STATIC in two files' "$(object "$gcc -DSAMBA_STATIC $both" use static_a) &&
        ! nm -g --defined-only $out/static_a.o | grep samba &&
        $(object "$gcc -DSAMBA_STATIC" other static_b) && $(program static_a static_b)"
    add 'SAMBA_STATIC in two files, C++' "$(object "$gpp -DSAMBA_STATIC $both" use static_c) &&
        $(object "$gpp -DSAMBA_STATIC" other static_d) && $(program static_c static_d)"

    # ---- 5. Programs with an stb_ds of their own ----
    add 'stb_ds implemented in another file' \
        "$(object "gcc -w" own_stb own_stb) && $(program main own_stb)"
    add 'stb_ds included before the declarations' \
        "$(object "gcc -w" before_stb before_stb) && $(program main before_stb)"
    if echo 'int main(void) { return 0; }' | gcc -x c - -lstb -o $out/lstb 2>/dev/null; then
        add 'linked with -lstb' \
            "$(object "gcc -w -DOWN_STB_LINKED" own_stb own_lstb) && $(program main own_lstb -lstb)"
    else skip 'stb linked from its library' 'libstb: apt-get install libstb-dev'; fi
fi

# ---- 6 and 8. Symbols and variables ----
# stbds_hash_seed belongs to stb_ds; samba__maps_locked lets one thread at a time near it.
eval "$gcc_o -o $out/symbols.o" >$out/symbols.log 2>&1
add 'exported symbols are those of symbols.txt' \
    "cat $out/symbols.log && $exported | diff $here/symbols.txt -"
add 'symbols.txt: all begin with samba_' "! grep -v '^samba_[a-z0-9]' $here/symbols.txt"
add 'no variables but the thread-local guard and the count of forks' \
    "$gcc_o -DSAMBA_NO_SIMD -o $out/variables.o &&
    ! nm $out/variables.o | grep -i ' [bdcsg] ' |
        grep -vwE 'samba__(current_guard|maps_locked|forks|forks_are_counted)|stbds_hash_seed'"
add 'device: no variables' "$gcc_o -DSAMBA_RUNTIME_ONLY -o $out/variables_device.o &&
    ! nm $out/variables_device.o | grep -i ' [bdcsg] '"

# ---- 7. Options x languages. What an option switches off must not be linked. ----
stdio='(v?[fs]?n?printf|f?puts|fopen|fread|fwrite|fclose|rename|open|stdout|stderr)$'
some='*gcc*c99 clang++*11'
[ "$mode" = full ] && some='*c99 *++11'
for option in SAMBA_DEFAULT SAMBA_NO_THREADS SAMBA_NO_STDIO SAMBA_NO_SIMD SAMBA_ASSERTS \
    SAMBA_RUNTIME_ONLY 'SAMBA_NO_THREADS -DSAMBA_NO_STDIO -DSAMBA_NO_SIMD'; do
    case $option in
    SAMBA_NO_THREADS*) absent='pthread_' ;;
    SAMBA_NO_STDIO) absent=$stdio ;;
    SAMBA_RUNTIME_ONLY) absent="(pthread_|malloc|calloc|realloc|free|$stdio)" ;;
    *) absent=nothing ;;
    esac
    name=$(echo "$option" | tr -d ' ')
    set -f
    for pattern in $some; do
        each "$pattern" 'add "-D$option, $short" "
            $cc -D$option -DUSE_IMPLEMENTS -c $here/use.c -o $out/$name-$n.o &&
            ! nm -u $out/$name-$n.o | grep -E \" $absent\" &&
            ${cc%% *} $out/$name-$n.o -o $out/$name-$n $link && $out/$name-$n"'
    done
    set +f
done

# ---- 9. samba.h includes itself: under any name, from any folder ----
mkdir -p "$out/some folder"
cp samba.h "$out/some folder/samba.h"
cp samba.h "$out/some folder/renamed.h"
self='#define SAMBA_IMPLEMENTATION\n#include'
printf "$self \"samba.h\"\n" >$out/plain.c
printf "$self <samba.h>\n" >$out/self_angle.c
printf "$self \"some folder/samba.h\"\n" >$out/self_folder.c
printf '#define SAMBA_SELF "renamed.h"\n%b "some folder/renamed.h"\n' "$self" >$out/self_renamed.c
# What the preprocessor makes of it is the same whatever its name is: with kernels for every
# instruction set, as at -O1.
expands="gcc -std=c99 -O1 -E -P"
$expands -I. $out/plain.c -o $out/impl.i
same="cmp - $PWD/$out/impl.i"
add 'included as <samba.h> from another folder' "top=\$PWD && cd $out/'some folder' &&
    $expands -I\$top \$top/$out/self_angle.c | $same"
add 'included as "some folder/samba.h" from another folder' "top=\$PWD && cd / &&
    $expands \$top/$out/self_folder.c | $same"
add 'included by another name, with SAMBA_SELF' "cd / && $expands $PWD/$out/self_renamed.c | $same"
add '-O0 has portable kernels only, with SAMBA_SIMD all' "
    ! nm $out/symbols.o | grep -q multiply_panel_avx &&
    gcc -std=c99 -DSAMBA_SIMD -E $here/impl.c >$out/simd.i &&
    case \$(uname -m) in x86_64) grep -q 'multiply_panel_avx512(' $out/simd.i ;; esac"

# ---- Run them all ----
n_cases=$(wc -l <$out/cases)
awk '{ print NR }' $out/cases | xargs -P "$jobs" -n 1 sh $here/run.sh case
passed=$(cat $out/*.result 2>/dev/null | grep -c passed)
echo "$passed passed, $((n_cases - passed)) failed"
[ "$passed" = "$n_cases" ]
