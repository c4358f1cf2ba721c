#!/bin/sh
# tests/tools/view_page.sh: the page of the glass box in a browser. Small programs with known values
# and pages that the tool writes of real nets: no error, no request, first paint, search, values,
# keys, the peak of memory; with AXE=axe.min.js (axe-core-python of PyPI ships one) its rules.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_page log=build/view_page/log
rm -rf $out && mkdir -p $out
. tests/lib/test.sh
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
for program in "$browser" python3; do
    have "$program" || skip_all "$program is not installed"
done
if [ -z "${AXE:-}" ]; then
    AXE=$(python3 -c 'import axe_core_python, os
print(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js"))' 2>/dev/null)
fi
[ -f "$AXE" ] || { echo "AXE names no axe.min.js: its rules are left out"; AXE=-; }

# Pages of the tool: nets of the tests of the data side.
CC=${CC:-cc}
real() {
    make -s build/view_page.h || return 1
    flags='-O1 -DSAMBA_NO_SIMD -I. -Itools/include'
    $CC $flags -c -o $out/samba.o tools/cli/view/fused.c || return 1
    parts=$(ls tools/cli/view/*.c tools/cli/util/*.c | grep -v fused.c)
    $CC $flags -o $out/tool tools/cli/view.c $parts $out/samba.o -lm -pthread &&
        $CC $flags -o $out/nets tests/lib/view_nets.c $parts $out/samba.o -lm -pthread &&
        $out/nets $out && for net in mlp_sgd conv_train transformer; do
            $out/tool view $out/$net.ckpt -o $out/tool_$net.html --runs 1 --steps 2 || return 1
        done
}
check 'pages of the tool' real
check 'the page in a browser' python3 tests/tools/view_page.py "$browser" "$AXE" \
    res_ffn transformer large hostile $out/tool_mlp_sgd.html $out/tool_conv_train.html \
    $out/tool_transformer.html
cat $log
finish
