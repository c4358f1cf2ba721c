// Programs with packed weights: the bits of plain programs over the same, rounded, weights.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 41, MANY_ROWS = 130 };

static const samba_weights kinds[]
    = { SAMBA_WEIGHTS_F32, SAMBA_WEIGHTS_BF16, SAMBA_WEIGHTS_INT8, SAMBA_WEIGHTS_INT4 };

typedef struct model {
    samba_session *s;
    samba_tensor *ids, *y, *table, *w, *b;
} model;

// An embedding whose rows go through a layer, and through the embedding again.
static model traced(int32_t rows, int32_t n, int32_t k, bool portable, int32_t threads)
{
    model m = { .s = samba_open(&(samba_desc){ .portable = portable, .threads = threads }) };
    m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_tensor *h = samba_linear(samba_embedding(m.ids, "table", n, k), "layer", k);
    m.table = samba_tensor_by_name(m.s, "table__weight");
    m.w = samba_tensor_by_name(m.s, "layer__weight");
    m.b = samba_tensor_by_name(m.s, "layer__bias");
    m.y = samba_affine(samba_tanh(h), m.table, NULL);
    return m;
}

static void run(model *m, int32_t rows, int32_t n, float *y)
{
    int32_t ids[MANY_ROWS];
    for (int32_t i = 0; i < rows; i++)
        ids[i] = (7 * i + n - 1) % n;
    CHECK(samba_write(m->ids, ids) && samba_run(m->s, 0));
    CHECK(samba_copy_out(m->y, y, 4 * (size_t)(rows * n)));
}

static float bf16(float x) // round to nearest, ties to even
{
    uint32_t u;
    memcpy(&u, &x, 4);
    u = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &u, 4);
    return x;
}

// What a weight is after packing: the format's definition, written down once more.
static void round_weights(float *w, int32_t n, int32_t k, samba_weights as)
{
    if (as >= SAMBA_WEIGHTS_INT8 && k % 32) as = SAMBA_WEIGHTS_BF16;
    for (int32_t i = 0; as == SAMBA_WEIGHTS_BF16 && i < n * k; i++)
        w[i] = bf16(w[i]);
    for (int32_t g = 0; as >= SAMBA_WEIGHTS_INT8 && g < n * k; g += 32) {
        float *x = w + g, most = 0, worst = 0, range = as == SAMBA_WEIGHTS_INT8 ? 127.0f : 8.0f;
        for (int i = 0; i < 32; i++)
            if (fabsf(x[i]) > fabsf(most)) most = x[i];
        float d = bf16(as == SAMBA_WEIGHTS_INT8 ? fabsf(most) / 127.0f : most / -8.0f);
        for (int i = 0; i < 32; i++) {
            float q = roundf(d != 0 ? x[i] / d : 0), top = as == SAMBA_WEIGHTS_INT8 ? 127.0f : 7.0f;
            float low = as == SAMBA_WEIGHTS_INT8 ? -127.0f : -8.0f;
            q = q > top ? top : q < low ? low : q;
            float rounded = q * d;
            worst = fmaxf(worst, fabsf(rounded - x[i]));
            x[i] = rounded;
        }
        CHECK(worst <= 1.06f * fabsf(most) / range); // half a step; a whole one at int4's +8
    }
}

static void set_rounded(model *m, samba_tensor *w, samba_weights as)
{
    float *values = (float *)malloc(samba_bytes(w));
    CHECK(samba_copy_out(w, values, samba_bytes(w)));
    round_weights(values, w->shape.dim[0], w->shape.dim[1], as);
    CHECK(samba_write(w, values));
    (void)m;
    free(values);
}

static void compare(int32_t rows, int32_t n, int32_t k, samba_weights as)
{
    static float want[ROWS * 400], got[ROWS * 400];
    const samba_program plain = { .inference = true };
    samba_program packed = plain, p = plain;
    packed.weights = as;
    model m = traced(rows, n, k, false, 1);
    p.outputs[0] = m.y;
    CHECK(samba_compile(m.s, &p));
    set_rounded(&m, m.table, as);
    set_rounded(&m, m.w, as);
    run(&m, rows, n, want);
    CHECK(samba_close(m.s) == 0);
    for (int variant = 0; variant < 3; variant++) { // AVX-512 or the like, AVX2, portable
        m = traced(rows, n, k, variant == 2, 1 + variant);
        packed.outputs[0] = m.y;
        CHECK(samba_compile(m.s, &packed));
        if (variant == 1 && m.s->program.rt && m.s->program.rt->isa) m.s->program.rt->isa = 1;
        run(&m, rows, n, got);
        CHECK(!memcmp(got, want, 4 * (size_t)(rows * n)));
        CHECK(samba_save(m.s, "weights_test.pef") && samba_close(m.s) == 0);
    }
    samba_session *s = samba_open(NULL); // and from the file alone
    CHECK(samba_load(s, "weights_test.pef", NULL));
    m = (model){ .s = s, .ids = samba_tensor_by_name(s, "ids"), .y = NULL };
    for (int32_t i = 0; samba_ok(s) && i < samba__n_tensors(s); i++)
        if (s->trace.tensors[i]->role == SAMBA__OUTPUT) m.y = s->trace.tensors[i];
    memset(got, 0, sizeof got);
    run(&m, rows, n, got);
    CHECK(!memcmp(got, want, 4 * (size_t)(rows * n)));
    CHECK(samba_close(s) == 0);
    remove("weights_test.pef");
}

static void test_same_bits(void)
{
    static const int32_t rows[] = { 1, 3, 4, 7, ROWS }, n[] = { 5, 33, 64, 397 };
    static const int32_t k[] = { 32, 50, 96, 320 };
    for (int as = 0; as < 4; as++)
        for (int r = 0; r < 5; r++)
            for (int i = 0; i < 4; i++) {
                compare(rows[r], n[i], k[(r + i) % 4], kinds[as]);
                if (test_bad) {
                    printf("    %d rows, %d x %d, kind %d\n", rows[r], n[i], k[(r + i) % 4], as);
                    return;
                }
            }
    for (int as = 0; as < 4; as++)
        compare(MANY_ROWS, 70, 800, kinds[as]); // panels are kept
}

// The values packed are those at the time of compiling, so that others are refused unless they are
// for the next compilation; which packs the new ones.
static void test_packs_anew(void)
{
    static float first[ROWS * 64], second[ROWS * 64], w[64 * 64];
    model m = traced(3, 64, 64, false, 1);
    samba_program p = { .inference = true, .outputs = { m.y }, .weights = SAMBA_WEIGHTS_INT8 };
    CHECK(samba_compile(m.s, &p));
    run(&m, 3, 64, first);
    for (int i = 0; i < 64 * 64; i++)
        w[i] = (float)(i % 11) / 11;
    CHECK(!samba_write(m.w, w) && strstr(samba_error(m.s), "made of the value it had when"));
    samba_clear_error(m.s); // the loaded program would not see it; the next one does
    CHECK(samba_set_tracing(m.s, true) && samba_write(m.w, w));
    run(&m, 3, 64, second);
    CHECK(!memcmp(first, second, 3 * 64 * 4));
    CHECK(samba_compile(m.s, &p));
    run(&m, 3, 64, second);
    CHECK(memcmp(first, second, 3 * 64 * 4) != 0);
    CHECK(samba_close(m.s) == 0);
}

// A weight of zeros has scale zero; ids are checked as in a plain lookup.
static void test_odd_weights(void)
{
    static float y[64], w[64 * 64];
    model m = traced(1, 64, 64, false, 1);
    samba_program p = { .inference = true, .outputs = { m.y }, .weights = SAMBA_WEIGHTS_INT4 };
    CHECK(samba_write(m.w, w) && samba_compile(m.s, &p));
    run(&m, 1, 64, y);
    for (int i = 0; i < 64; i++)
        CHECK(y[i] == y[i]);
    int32_t bad = 64;
    CHECK(samba_write(m.ids, &bad) && !samba_run(m.s, 0));
    CHECK(samba_error_code(m.s) == SAMBA_ERANGE);
    samba_clear_error(m.s);
    CHECK(samba_close(m.s) == 0);
}

static void test_refused(void)
{
    for (int i = 0; i < 3; i++) {
        model m = traced(1, 64, 64, false, 1);
        samba_program p
            = { .outputs = { m.y }, .weights = i ? SAMBA_WEIGHTS_INT8 : (samba_weights)5 };
        p.inference = i == 0;
        p.optim.kind = i == 2 ? SAMBA_SGD : SAMBA_NO_OPTIM;
        CHECK(!samba_compile(m.s, &p));
        CHECK(samba_error_code(m.s) == (i ? SAMBA_EARG : SAMBA_ERANGE));
        samba_clear_error(m.s);
        CHECK(samba_close(m.s) == 0);
    }
}

int main(void)
{
    RUN(test_same_bits);
    RUN(test_packs_anew);
    RUN(test_odd_weights);
    RUN(test_refused);
    return test_summary();
}
