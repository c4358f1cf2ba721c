#!/bin/sh
# tests/tools/front_page.sh: README.md says what is so. Its program compiles and prints what stands
# there, and so does the one with the mistake; tools/docs/HOW_IT_WORKS.md quotes the log of that
# program, and names chapters that samba.h has; every relative link of every page leads somewhere.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/front_page log=$PWD/build/front_page.log
rm -rf "$out" && mkdir -p "$out" || exit 1
. tests/lib/test.sh
CC=${CC:-cc}
how=tools/docs/HOW_IT_WORKS.md picture=tools/docs/pictures/how_it_works.svg

block() {           # block KIND PAGE: what stands in its blocks of this kind
    awk -v kind="$1" '/^```/ { inside = !inside && $0 == "```" kind; next } inside' "$2"
}

# ---- The program ----
block c README.md >"$out/xor.c"
awk '/^\$ cc .*xor\.c/ { inside = 1; next } /^```/ { inside = 0 } inside' README.md >"$out/promised"
# One samba.h for both programs: the same bits, and quick to compile.
printf '#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' >"$out/samba.c"
build() {           # build NAME
    grep -v '^#define SAMBA_IMPLEMENTATION' "$out/$1.c" >"$out/$1_alone.c"
    $CC -std=c99 -O1 -Wall -Wextra -Werror -I. -o "$out/$1" "$out/$1_alone.c" "$out/samba.o" -lm \
        -pthread
}
runs() { (cd "$out" && ./"$1" >"$1.said" 2>"$1.errors"); }
check 'samba.h compiles' $CC -std=c99 -O1 -DSAMBA_NO_SIMD -I. -c -o "$out/samba.o" "$out/samba.c"
check 'the program says where the implementation is' grep -q '^#define SAMBA_IMPLEMENTATION' \
    "$out/xor.c"
check 'the program compiles without a warning' build xor
check 'it runs' runs xor
check 'README shows what it prints' [ "$(wc -l <"$out/promised")" -gt 4 ]
check 'it prints that, to the digit' diff "$out/promised" "$out/xor.said"
check 'and nothing else' [ ! -s "$out/xor.errors" ]
check 'it writes the files that README names' [ -s "$out/xor.pef" -a -s "$out/xor.ckpt" ]

# ---- With the mistake that README makes ----
sed '/"y", /s/SHAPE(4, 1)/SHAPE(3, 1)/' "$out/xor.c" >"$out/wrong.c"
one_line() { tr '\n' ' ' <"$1" | sed 's/ *$//'; }
sed -n '/^samba: SAMBA_ESHAPE/,/^```/p' README.md | grep -v '^```' >"$out/promised_error"
check 'with 3 rows it compiles' build wrong
fails() { ! runs wrong; }
check 'and fails' fails
check 'with the words of README' \
    [ "$(one_line "$out/promised_error")" = "$(one_line "$out/wrong.errors")" ]

# ---- How it works ----
quoted() {          # lines of the log, of which the page may leave out the end and wide blanks
    tr -s ' ' <"$out/xor.pef.log" >"$out/log"
    block log $how | while IFS= read -r line; do
        grep -qF -- "$line" "$out/log" || echo "not in the log: $line"
    done >"$out/strange"
    cat "$out/strange"
    [ "$(block log $how | wc -l)" -gt 5 ] && ! [ -s "$out/strange" ]
}
chapters() {
    grep -oE '\[[a-z][a-z-]+\]([^(]|$)' "$1" | grep -oE '\[[a-z-]+\]' | sort -u |
        while read -r tag; do
            grep -qF "==== $tag ====" samba.h || echo "$1: samba.h has no chapter $tag"
        done >"$out/strange"
    cat "$out/strange"
    ! [ -s "$out/strange" ]
}
same_chapters() {   # the page explains each chapter that the picture names
    grep -oE '\[[a-z][a-z-]+\]' $picture | sort -u | while read -r tag; do
        grep -qF "$tag" $how || echo "not in $how: $tag"
    done >"$out/strange"
    cat "$out/strange"
    ! [ -s "$out/strange" ]
}
bytes=$(wc -c <"$out/xor.pef" | tr -d ' ')
check "$how quotes the log of the program" quoted
check "$how names chapters of samba.h" chapters $how
check "$picture does, too" chapters $picture
check "$how has all that the picture names" same_chapters
check "$how knows the size of the PEF" grep -q "\`xor.pef\` has $bytes bytes" $how

# ---- Links ----
pages=$(find . -name '*.md' ! -path './build/*' ! -path './.git/*' ! -path './out/*' | sort)
links() {           # of all pages, those that lead nowhere
    for page in $pages; do
        awk '/^```/ { inside = !inside; next } !inside' "$page" |
            grep -oE '\]\([^)]*\)|src="[^"]*"' |
            sed 's/^](//; s/^src="//; s/[")]$//; s/ .*//; s/#.*//' |
            grep -vE '^$|^[a-z]+:' | while read -r link; do
                [ -e "$(dirname "$page")/$link" ] || echo "$page: $link is not there"
            done
    done >"$out/strange"
    cat "$out/strange"
    ! [ -s "$out/strange" ]
}
reached() {
    for page in $pages; do
        [ "$page" = ./README.md ] || grep -qF "(${page#./})" README.md || echo "no link to $page"
    done >"$out/strange"
    cat "$out/strange"
    ! [ -s "$out/strange" ]
}
check 'every relative link leads somewhere' links
check 'README links to every page' reached
finish
