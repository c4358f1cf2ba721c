#!/bin/sh
# tests/tools/reference.sh: the examples of the reference say what is so; with python3 and pandoc,
# make docs finds one for each public function of samba.h, and a formula for each op; what its
# search answers is there; with a browser, the page is looked at.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/reference log=$PWD/build/reference/log
mkdir -p $out
. tests/lib/test.sh

compiler=${CC:-cc}
compile() { $compiler -O1 -Wall -Wextra -Werror "$@" -lm -pthread; }

# In a folder of its own: examples write files, and remove them.
is_so() {
    rm -rf "$out/work" && mkdir "$out/work" && (cd $out/work && "../$1" >../said) || return
    cat $out/said
    [ -z "$(ls $out/work)" ] || { echo "files are left: $(ls $out/work)"; return 1; }
}

page_has() { grep -qF "$1" $out/index.html; }
page_has_no() { for text in "$@"; do ! page_has "$text" || return; done; }
refuses_missing_example() {         # a public function that no example shows is named
    sed 's|^// samba_neg, |// |' examples/reference/ops.c >$out/tree/examples/reference/ops.c
    (cd $out/tree && fails_with 1 'no example in examples/reference: samba_neg' \
        python3 tools/docs/docs.py ../ops.txt ../broken.html)
}

refuses_unknown_name() {            # a synonym that names what is not there
    sed 's|samba_set_tracing|samba_set_tracings|' tools/docs/synonyms.txt \
        >$out/tree/tools/docs/synonyms.txt
    (cd $out/tree && fails_with 1 'there is no samba_set_tracings' \
        python3 tools/docs/docs.py ../ops.txt ../broken.html)
}

check 'samba.h compiles' compile -DSAMBA_NO_SIMD -DSAMBA_DEFAULT_SESSION \
    -c tests/header/impl.c -o $out/samba.o
for file in examples/reference/*.c; do
    name=$(basename "$file" .c)
    check "$name compiles" compile -DSAMBA_ELSEWHERE -DSAMBA_NO_SIMD "$file" $out/samba.o \
        -o "$out/$name"
    check "$name: what it says is so" is_so "$name"
done

if have python3 && have pandoc; then
    check 'the op table is printed' compile -DSAMBA_ELSEWHERE -I. tools/docs/ops.c $out/samba.o \
        -o $out/ops_table
    check 'and read' to_file $out/ops.txt $out/ops_table
    check 'make docs: an example of every function' \
        python3 tools/docs/docs.py $out/ops.txt $out/index.html
    check 'the page has formulas' page_has '<math'
    check 'and asks for nothing from elsewhere' page_has_no 'src="' 'href="http' 'url('
    check 'its lists are lists, its search has answers' \
        python3 tests/tools/reference_page.py $out/index.html
    for browser in chromium chromium-browser google-chrome; do have $browser && break; done
    if have $browser; then
        check 'and in a browser: found, seen, nothing cut off' \
            python3 tests/tools/reference_page.py $out/index.html $browser
    else
        skip 'the page in a browser' "chromium: tools/dev/install.sh view"
    fi
    mkdir -p $out/tree
    cp -r samba.h Makefile examples tests tools $out/tree
    check 'a function without an example is found' refuses_missing_example
    cp examples/reference/ops.c $out/tree/examples/reference/ops.c
    check 'a synonym that names nothing is found' refuses_unknown_name
else
    skip 'make docs' 'python3 and pandoc: tools/dev/install.sh docs'
fi
finish
