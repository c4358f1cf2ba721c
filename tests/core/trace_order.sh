#!/bin/sh
# gcc and clang trace the gradients of all ops, and the gradients of these, in the same order.
# run: quick
set -e
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cat >"$out/trace.c" <<'END'
// Writes what is traced for the gradients, and their gradients, of all ops of one or two inputs.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdlib.h>

static void put(const char *text, void *user) { fputs(text, (FILE *)user); }

// The op of this number on inputs with two rows and three columns. False: it wants others.
static bool trace(FILE *to, int32_t i, int32_t n_in)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    const samba_op *op = samba_op_at(s, i);
    samba_tensor *in[2];
    in[0] = samba_randn(s, "a", SAMBA_SHAPE(2, 3));
    in[1] = samba_randn(s, "b", SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_apply(s, op->name, in, n_in, NULL, 0);
    bool fine = y != NULL;
    for (int k = 0; fine && k < n_in; k++) {
        samba_tensor *dx = samba_grad(y, in[k]);
        for (int j = 0; dx && j < n_in; j++) {
            if (!samba_grad(dx, in[j])) samba_clear_error(s);
        }
        if (!dx) samba_clear_error(s);
    }
    if (fine) samba_print_graph(s, put, to);
    samba_close(s);
    return fine;
}

int main(int argc, char **argv)
{
    FILE *to = argc > 1 ? fopen(argv[1], "w") : NULL;
    int traced = 0;
    if (!to) return printf("usage: trace FILE\n"), 2;
    for (int32_t i = 0; samba_op_at(NULL, i); i++) {
        for (int32_t n_in = 1; n_in <= 2; n_in++) traced += trace(to, i, n_in);
    }
    printf("%d calls are traced\n", traced);
    return fclose(to) != 0 || traced < 30;
}
END
for compiler in gcc clang; do
    case $compiler in gcc) fast='-O1 -DSAMBA_NO_SIMD' ;; *) fast=-O0 ;; esac   # as other tests do
    if ! command -v $compiler >/dev/null; then
        echo "skipped: one order of tracing; it takes gcc and clang: tools/dev/install.sh test"
        echo "0 passed, 0 failed"
        exit 0
    fi
    samba=$(sh tests/lib/samba_object.sh $compiler $fast)
    $compiler -O0 -DSAMBA__IMPLEMENTED -include stdio.h -I. -o "$out/$compiler" "$out/trace.c" \
        "$samba" -lm -pthread
    "$out/$compiler" "$out/$compiler.txt"
done
if cmp "$out/gcc.txt" "$out/clang.txt"; then echo "1 passed, 0 failed"; exit 0; fi
diff "$out/gcc.txt" "$out/clang.txt" | head -20
echo "0 passed, 1 failed"
exit 1
