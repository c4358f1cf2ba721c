#!/bin/sh
# tests/lessons/lessons.sh: each lesson compiles with its one line and prints what its text says:
# the lines after `// >`, in their order, and no others. A lesson has 120 lines at most.
# COMPILERS="gcc clang" OPTIONS="-O0 -O2" tests/lessons/lessons.sh
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/lessons log=build/lessons/log
mkdir -p $out
. tests/lib/test.sh

is_short() { [ "$(wc -l <"$1")" -le 120 ]; }

# Its line, with another compiler and option, and a program of its own.
compile() {         # compile LESSON COMPILER OPTION PROGRAM
    line=$(sed -n '1,5s|^//  *cc \(.*\) && ./lesson$|\1|p' "$1")
    [ -n "$line" ] || { echo "$1 has no line // cc ... && ./lesson"; return 1; }
    $2 $(echo "$line" | sed "s|-O1|$3|; s|-o lesson|-o $4|")
}

text_is_printed() { # text_is_printed LESSON PROGRAM
    sed -n 's|^ *// > ||p' "$1" >"$2.text"
    [ -s "$2.text" ] || { echo "$1 quotes no line of what it prints"; return 1; }
    "./$2" >"$2.printed" && diff "$2.text" "$2.printed"
}

for lesson in examples/lessons/*.c; do
    name=$(basename "$lesson" .c)
    check "$name has 120 lines at most" is_short "$lesson"
    for compiler in ${COMPILERS:-${CC:-cc}}; do
        have "$compiler" || continue
        for option in ${OPTIONS:--O1}; do
            program=$out/$name-$compiler$option
            by="$name, $compiler $option"
            check "$by: compiles" compile "$lesson" "$compiler" "$option" "$program"
            check "$by: prints its text" text_is_printed "$lesson" "$program"
        done
    done
done
finish
