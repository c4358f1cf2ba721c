#!/bin/sh
# tests/tools/view_page.sh: the page of the glass box in a browser. Small programs with known values
# and pages that the tool writes of small nets: no error, no request, first paint, search, values,
# keys, the peak of memory, contrast, and the rules of axe-core, where tests/lib/axe.sh finds it.
# The pages of real nets are those of view_real.sh.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_page log=build/view_page/log
rm -rf $out && mkdir -p $out
. tests/lib/test.sh
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
for program in "$browser" python3; do
    have "$program" || \
        skip_all 'pages in a browser' "${program:-chromium}: tools/dev/install.sh view"
done
axe=$(tests/lib/axe.sh 2>$log) || {
    axe=-
    skip 'the rules of accessibility' "axe-core. $(cat $log)"
}

# Pages of the tool: nets of the tests of the data side.
CC=${CC:-cc}
real() {
    make -s build/view_page.h || return 1
    flags='-O1 -DSAMBA_NO_SIMD -I. -Itools/include'
    $CC $flags -c -o $out/samba.o tools/cli/view/fused.c || return 1
    parts=$(ls tools/cli/view/*.c tools/cli/util/*.c | grep -v fused.c)
    $CC $flags -o $out/tool tools/cli/view.c $parts $out/samba.o -lm -pthread &&
        $CC $flags -o $out/nets tests/lib/view_nets.c $parts $out/samba.o -lm -pthread &&
        $out/nets $out && for net in mlp_sgd conv_train transformer folded; do
            $out/tool view $out/$net.ckpt -o $out/tool_$net.html --runs 1 --steps 2 || return 1
        done
}
check 'pages of the tool' real
check 'the page in a browser' python3 tests/tools/view_page.py "$browser" "$axe" \
    res_ffn transformer large hostile $out/tool_mlp_sgd.html $out/tool_conv_train.html \
    $out/tool_transformer.html $out/tool_folded.html
cat $log
finish
