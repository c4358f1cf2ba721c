#!/bin/sh
# tests/lessons/lessons.sh [NAME]: each lesson, or the one of this name, such as 07_losses, prints
# what its text says: the lines after `// >`, in their order, and no others, within 10 seconds; its
# picture is well-formed, with words for who cannot see it. It leaves room to its text: room.awk
# says how much. To save time samba.h is compiled once, not in each lesson.
# COMPILERS="gcc clang" OPTIONS="-O0 -O2" tests/lessons/lessons.sh: all four, with equal pictures.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/lessons log=build/lessons/log pictures_are_new=
mkdir -p $out
. tests/lib/test.sh

has_room() {
    dense=$(awk -f tests/lessons/room.awk "$1") || return 1
    [ -z "$dense" ] || { echo "$dense"; return 1; }
}

# What stands between cc and && in the line that says how a lesson is built.
line_of() {
    line=$(sed -n '1,5s|^//  *cc \(.*\) && ./lesson$|\1|p' "$1")
    [ -n "$line" ] || { echo "$1 has no line // cc ... && ./lesson" >&2; return 1; }
    echo "$line"
}
compile_samba() {   # compile_samba COMPILER OPTION OBJECT
    object=$(sh tests/lib/samba_object.sh "$1" "$2" -DSAMBA_NO_SIMD) && cp "$object" "$3"
}
compile() {         # compile LESSON COMPILER OPTION PROGRAM OBJECT: its line, with these
    line=$(line_of "$1") || return 1
    $2 $(echo "$line" | sed "s|-O1|$3|; s|-o lesson|-o $4|; s|\.c |.c $5 |") \
        -DSAMBA__IMPLEMENTED -Wall -Wextra -Werror
}

# Seconds of the processor: a busy machine makes no lesson slow. Those of another processor run in
# its emulator, which takes its time.
run() {
    case $1 in
    *aarch64*) timeout 100 $qemu "$@" ;;
    *) (ulimit -t 10 && exec timeout 100 "$@") ;;
    esac
}
text_is_printed() { # text_is_printed LESSON PROGRAM
    sed -n 's|^ *// > ||p' "$1" >"$2.text"
    [ -s "$2.text" ] || { echo "$1 quotes no line of what it prints"; return 1; }
    run "./$2" "$2.svg" >"$2.printed" || return 1
    sed 's/ *$//' "$2.printed" | diff "$2.text" -
}
picture_is_right() { # picture_is_right NAME PICTURE: and as that of the first compiler
    for part in '<title id="t">..*</title>' '<desc id="d">..*</desc>' '</svg>'; do
        grep -q "$part" "$2" || { echo "$2 has no $part"; return 1; }
    done
    if grep -nE '"[^"]*(nan|inf)' "$2"; then return 1; fi
    if have python3; then
        python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$2" || return 1
    fi
    [ -e "$out/$1.svg" ] || cp "$2" "$out/$1.svg"
    cmp "$out/$1.svg" "$2"
}

lessons=$(ls examples/lessons/*.c)
if [ -n "${1:-}" ]; then
    lessons=examples/lessons/$1.c
    [ -e "$lessons" ] || { echo "no lesson is called $1: examples/lessons has them"; exit 1; }
fi
[ -z "${HIDDEN:-}" ] || lessons=$(echo "$lessons" | head -n 4)      # three with a picture
for compiler in ${COMPILERS:-${CC:-cc}}; do
    have "$compiler" || \
        { skip "lessons with $compiler" "$compiler: tools/dev/install.sh full"; continue; }
    static=''
    case $compiler in
    aarch64-*)
        static=-static
        qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static)
        [ -n "$qemu" ] || \
            { skip "lessons with $compiler" 'qemu-aarch64: tools/dev/install.sh full'; continue; }
        ;;
    esac
    for option in ${OPTIONS:--O1}; do
        samba=$out/samba-$compiler$option.o
        check "samba.h, $compiler $option: compiles" compile_samba "$compiler" "$option" "$samba"
        for lesson in $lessons; do
            name=$(basename "$lesson" .c)
            program=$out/$name-$compiler$option
            by="$name, $compiler $option"
            [ -n "$pictures_are_new" ] || rm -f "$out/$name.svg"
            check "$name has room for its text" has_room "$lesson"
            check "$by: compiles" compile "$lesson" "$compiler $static" "$option" "$program" \
                "$samba"
            check "$by: prints its text" text_is_printed "$lesson" "$program"
            if grep -q 'picture\.h' "$lesson"; then
                check "$by: draws its picture" picture_is_right "$name" "$program.svg"
            fi
        done
        pictures_are_new=1
    done
done
finish
