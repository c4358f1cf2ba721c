#!/bin/sh
# tests/device/web.sh: the page of examples/devices/web in a browser. It learns from drawings; it
# trains on Fashion-MNIST to 85 %, and its checkpoint is that of examples/02_res_ffn.c on the host,
# byte for byte. The products of WebAssembly round as those of the host. Takes some minutes.
cd "$(dirname "$0")/../.." || exit 1
out=build/device_web log=build/device_web/log
rm -rf $out && mkdir -p $out
. tests/lib/test.sh
CC=${CC:-cc}
data=${DATA:-/usr/share/datasets/fashion-mnist}
for browser in chromium chromium-browser google-chrome; do have $browser && break; done
for program in "$browser" clang wasm-ld python3; do
    have "$program" || \
        skip_all 'the page in a browser' "${program:-chromium}: tools/dev/install.sh full"
done
page="python3 tests/lib/web_page.py"
web=examples/devices/web

# Vectors of WebAssembly make a b + c rounded once out of doubles. Four kinds of numbers: any bits,
# of one size, integers with products that end in the middle of two floats, and tiny ones, all
# against the sums in integers. Returns how many of 4,000,000 differ.
cat >$out/fma.c <<'END'
#define SAMBA_IMPLEMENTATION
#include "samba.h"
static uint32_t state = 1;
static uint32_t word(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}
static float number(int kind)
{
    uint32_t bits = word();
    if (kind == 1) bits = (bits & 0x80ffffffu) | 0x3f000000u;
    if (kind == 2) return (float)((int)(bits >> 20) - 2048);
    if (kind == 3) bits = (bits & 0x81ffffffu) | 0x1f000000u;
    return samba__bits_float(bits);
}
__attribute__((export_name("check"))) int check(void)
{
    int differ = 0;
    for (int i = 0; i < 500000; i++) {
        int kind = i % 4;
        float x[8], y[8], z[8], got[8];
        for (int j = 0; j < 8; j++) {
            x[j] = number(kind);
            y[j] = number(kind);
            z[j] = number(kind);
            if (kind == 2) z[j] *= 33554432.0f;
            if (kind == 3 && j % 2) z[j] *= 5e-20f;
            if (j == 3 && i % 8 == 0) x[j] = z[j] = 0;
        }
        samba__vec_wasm sum = samba__vec_fma_wasm(samba__vec_load_wasm(x), samba__vec_load_wasm(y),
                                                  samba__vec_load_wasm(z));
        samba__vec_store_wasm(got, sum);
        for (int j = 0; j < 8; j++) {
            float want = samba__fma_integer(x[j], y[j], z[j]);
            bool both_nan = want != want && got[j] != got[j];
            differ += !both_nan && samba__float_bits(want) != samba__float_bits(got[j]);
        }
    }
    return differ;
}
END
check 'the page is built' $web/build.sh $out/page/index.html
check 'a test of sums is built' env SOURCE="$PWD/$out/fma.c" $web/build.sh $out/fma.wasm
check 'vectors of WebAssembly round sums of products once' to_file $out/differ \
    $page call "$browser" $out/page/index.html $out/fma.wasm
check 'all of them' [ "$(cat $out/differ)" = 0 ]
check 'it learns from drawings, on a narrow screen, without a server' \
    $page draw "$browser" $out/page/index.html

if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
    skip_all 'the page with real images' "Fashion-MNIST in $data: tools/dev/install.sh run"
fi
ffn="--data $data --checkpoint $out/host.ckpt"
check 'the host trains' $CC -O2 -o $out/res_ffn examples/02_res_ffn.c -lm -pthread -lz
check 'compiles' $out/res_ffn compile --output-folder $out --pef-name t
check 'trains' to_file $out/host $out/res_ffn run --epochs 1 -p $out/t/t.pef $ffn
accuracy=$(sed -n 's/^test accuracy \([0-9.]* %\).*/\1/p' $out/host)
ln -s "$data"/*-ubyte* $out/page/
check 'the page trains' to_file $out/trained $page train "$browser" $out/page $out
cat $out/trained
check 'to 85 %' awk '/^test accuracy/ { good = $3 >= 85 } END { exit !good }' $out/trained
check 'to the accuracy of the host' grep -qx "test accuracy $accuracy" $out/trained
check 'to the same checkpoint' cmp $out/host.ckpt $out/res_ffn.ckpt
hash=$(sha256sum $out/host.ckpt | cut -d ' ' -f 1)
check 'whose hash it shows' grep -qx "sha256 $hash" $out/trained
check 'the page opens the checkpoint of the host' to_file $out/opened \
    $page open "$browser" $out/page $out/host.ckpt
check 'and none that is none' grep -q '^refused: .*PEF' $out/opened
check 'it has that accuracy' grep -qx "test accuracy $accuracy" $out/opened
check 'and that hash' grep -qx "sha256 $hash" $out/opened
finish
