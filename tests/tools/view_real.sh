#!/bin/sh
# tests/tools/view_real.sh [all]: the pages that tools/samba view writes of real nets, in a browser:
# ResFFN and LeNet of the examples, trained, with images of Fashion-MNIST; GPT-2 small, 124,439,808
# random parameters, to be trained; a graph of 10,000 nodes. What each page holds is what samba_read
# gives of the same run; the browser shows it, as tests/tools/view_page.py asks: first paint in
# 1.5 s, search in 100 ms, 20 clicks, no error, no request, no broken rule of axe-core. Pictures of
# all views: build/view_real/*.png. Ten minutes, 5 GB of memory, 1.5 GB of disk.
# all: what cannot be tried is a failure. Without it, it is skipped, and a line says so.
cd "$(dirname "$0")/../.." || exit 1
out=build/view_real log=build/view_real/log
data=${DATA:-/usr/share/datasets/fashion-mnist}
rm -rf $out && mkdir -p $out
. tests/lib/test.sh
missing() { if [ "$1" = all ]; then check "$2 (it takes $3)" false; else skip "$2" "$3"; fi; }
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
lacking=''
for program in "$browser" python3; do have "$program" || lacking="$lacking $program"; done
echo '#include <cjson/cJSON.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 || lacking="$lacking cJSON"
[ -e "$data/train-images-idx3-ubyte.gz" ] || lacking="$lacking Fashion-MNIST"
if [ -n "$lacking" ]; then
    missing "${1:-}" 'the pages of real nets' "${lacking# }: tools/dev/install.sh view"
    finish
fi
axe=$(tests/lib/axe.sh install 2>$log) || {
    axe=-
    missing "${1:-}" 'the rules of accessibility' "axe-core. $(tail -n 1 $log)"
}

# ---- The nets, and what a run of each gives ----
res_ffn() {
    make -s build/02_res_ffn &&
        build/02_res_ffn compile --output-folder $out --pef-name ResFFN &&
        build/02_res_ffn run -p $out/ResFFN/ResFFN.pef --epochs 1 --checkpoint $out/ResFFN.ckpt \
            --data "$data" &&
        cp $out/ResFFN/ResFFN.pef.map $out          # beside the checkpoint: the rewrites
}
nets() {
    ${CC:-cc} ${CFLAGS:--O2} -I. -Itools/include -o $out/nets tests/lib/view_real.c -lcjson -lm \
        -pthread -lz && $out/nets $out "$data"
}
page() {            # page NET: its inputs are lines of NET.inputs
    net=$1
    set -- view $out/"$net".ckpt -o $out/"$net".html --runs 3 --steps 2
    while IFS= read -r word; do set -- "$@" "$word"; done <$out/"$net".inputs
    tools/samba "$@" && python3 tests/lib/view_page.py $out/"$net".html $out/"$net".expected
}
check 'ResFFN is trained' res_ffn
check 'LeNet is trained, GPT-2 and a graph of 10,000 nodes are made' nets
for net in ResFFN LeNet GPT-2-small graph-of-10000; do
    check "the page of $net holds what samba_read gives" page $net
done
rm -f $out/*.ckpt
[ $failed = 0 ] || finish

# ---- The pages ----
for net in ResFFN LeNet GPT-2-small graph-of-10000; do
    check "the page of $net in a browser" python3 tests/tools/view_page.py "$browser" "$axe" \
        --shots $out $out/$net.html
    grep " nodes, " $log
done
finish
