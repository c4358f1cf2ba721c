#!/bin/sh
# tests/core/pef_version.sh: what [pef-read] promises of a version to come. A samba.h that has one
# field more at the end of each record, and the numbers raised, reads the files of today's, and
# makes of them just what it writes itself; it refuses those of the version before.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/pef_version log=build/pef_version/log
mkdir -p $out/next
. tests/lib/test.sh
CC=${CC:-cc}

cat >$out/program.c <<'END'
#define SAMBA_IMPLEMENTATION
#include "samba.h"

// program write PEF CHECKPOINT: trains a little. program read CHECKPOINT COPY: loads and saves.
int main(int argc, char **argv)
{
    samba_session *s = samba_open(NULL);
    samba_program p = { .pef = argv[2], .optim = { .kind = SAMBA_ADAMW, .lr = 0.1f } };
    char why[300] = "";
    if (argc > 3 && !strcmp(argv[1], "write")) {
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 6));
        samba_tensor *h = samba_dropout(samba_linear(x, "a", 5), "drop", 0.5f);
        p.outputs[0] = samba_linear(samba_tanh(h), "b", 3);
        p.loss = samba_sum(p.outputs[0], SAMBA_ALL_AXES, false);
        samba_compile(s, &p);
        samba_run(s, 0);
        samba_save(s, argv[3]);
    } else if (argc > 3) {
        static union { uint64_t align; uint8_t bytes[1 << 20]; } file;
        FILE *f = fopen(argv[2], "rb");
        size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
        if (f) fclose(f);
        if (!samba_runtime_bytes(file.bytes, size, why, sizeof why)) printf("device: %s\n", why);
        samba_load(s, argv[2], NULL);
        samba_save(s, argv[3]);
    }
    return samba_close(s) || why[0];
}
END

# A version has its number in two places, and a field in one: here in each kind of record.
next_version() {
    awk '/^#define SAMBA__PEF_VERSION / { sub($3, $3 + 1 "u") }
         /^#define SAMBA__PEF_OLDEST / { sub($3, $3 + 1 "u") }
         /^#define SAMBA__(HEADER|SYMBOL|NODE|SECTION)_FIELDS/ { table = 1 }
         table && !/\\$/ {
             print $0 " \\"
             print "    X(32, added, 3)"
             table = 0
             next
         }
         { print }' samba.h >$out/next/samba.h
}
next_version
build() { $CC -O0 -DSAMBA_NO_SIMD -std=c99 -Wall -Wextra "$@" $out/program.c -lm -pthread; }
check "today's builds" build -I. -o $out/today
check 'the next one builds' build -I$out/next -o $out/later
check 'another header' fails_with 1 '' cmp samba.h $out/next/samba.h

check "today's writes" $out/today write $out/today.pef $out/today.ckpt
check 'the next one writes' $out/later write $out/later.pef $out/later.ckpt
check 'its records are longer' test "$(wc -c <$out/later.pef)" -gt "$(wc -c <$out/today.pef)"
check 'it reads the version before' $out/later read $out/today.ckpt $out/copy.ckpt
check 'and makes its own of it' cmp $out/later.ckpt $out/copy.ckpt
check 'it reads its own' $out/later read $out/later.ckpt $out/again.ckpt
check 'and copies it' cmp $out/later.ckpt $out/again.ckpt
check "today's refuses it" fails_with 1 'compile it again' $out/today read $out/later.ckpt $out/no

# Of today's file one of the version before, which the next one no longer knows.
cp $out/today.ckpt $out/old.ckpt
printf '\001' | dd of=$out/old.ckpt bs=1 seek=8 conv=notrunc 2>$log
check 'the next one refuses what is older' \
    fails_with 1 'reads versions 2 and 3' $out/later read $out/old.ckpt $out/no
finish
