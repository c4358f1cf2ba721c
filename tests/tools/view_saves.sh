#!/bin/sh
# tests/tools/view_saves.sh: what the page of the glass box saves (SVG, CSV, JSON), what it shows of
# two models, and a walk through all of it by keys, in a browser.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_saves log=build/view_saves/log
rm -rf $out && mkdir -p $out/saved
. tests/lib/test.sh
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
for program in "$browser" python3; do
    have "$program" || skip_all 'saving while a page is made' "$program: apt-get install $program"
done

CC=${CC:-cc}
pages() {
    make -s build/view_page.h || return 1
    flags='-O1 -DSAMBA_NO_SIMD -I. -Itools/include'
    $CC $flags -c -o $out/samba.o tools/cli/view/fused.c || return 1
    parts=$(ls tools/cli/view/*.c tools/cli/util/*.c | grep -v fused.c)
    $CC $flags -o $out/tool tools/cli/view.c $parts $out/samba.o -lm -pthread &&
        $CC $flags -o $out/nets tests/lib/view_nets.c $parts $out/samba.o -lm -pthread &&
        $out/nets $out || return 1
    view="$out/tool view --runs 1 --steps 2"
    $view $out/mlp_sgd.ckpt -o $out/one.html || return 1
    $view $out/mlp_adamw.ckpt -o $out/other.html || return 1
    $view $out/transformer.ckpt -o $out/attends.html || return 1
    $view --diff $out/mlp_sgd.ckpt $out/mlp_adamw.ckpt -o $out/both.html
    [ $? = 1 ]      # they differ
}
check 'pages of the tool' pages
check 'files, two models, keys' python3 tests/tools/view_saves.py "$browser" $out/saved \
    $out/one.html $out/both.html $out/other.html $out/attends.html
cat $log
finish
