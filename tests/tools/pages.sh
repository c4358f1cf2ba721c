#!/bin/sh
# tests/tools/pages.sh: reports of report.h and the pictures of README in a browser, at 1280 and
# 390 pixels, light and dark: nothing scrolls sideways, is cut off, pale or too small, and keys
# reach all.
# Pages of the glass box, of the reference and of the net that learns are asked the same by
# view_page.sh, reference.sh and tests/device/web.sh.
cd "$(dirname "$0")/../.." || exit 1
out=build/pages log=build/pages/log
rm -rf $out && mkdir -p $out
. tests/lib/test.sh
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
for program in "$browser" python3; do
    have "$program" || \
        skip_all 'reports and pictures' "${program:-chromium}: tools/dev/install.sh view"
done

reports() {
    build_with_samba $inside -Itools/include -o $out/reports tests/lib/report_pages.c &&
        $out/reports $out
}
bench() {           # rows of all kinds, as `make bench` has them
    bench_row='{"area": "%s", "what": "%s", "unit": "%s", "samba": %s, "share": %s, '
    bench_row="$bench_row"'"peer": "%s", "ratio": %s}\n'
    {
        printf "$bench_row" gemm '1024 x 1024 x 1024' GFLOP/s 61.2 0.91 OpenBLAS 1.02
        printf "$bench_row" gemm 'a row whose name is rather long' GFLOP/s 40.1 0.6 MKL 0.4
        printf "$bench_row" start 'to the first step' ms 3.8 0 PyTorch 237
    } >$out/bench.json
    tools/dev/chart_bench.sh $out/bench.json >$out/bench.svg
}
check 'reports are written' reports
check 'a chart of make bench' bench
check 'they can be read and used' python3 tests/tools/pages.py "$browser" \
    $out/full/report.html $out/ended/report.html $out/bench.svg tools/docs/pictures/*.svg
cat $log
finish
