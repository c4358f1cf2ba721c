// Every op of the table against its reference in tests/lib/reference.h, on several shapes, with the
// portable kernels and with those of this processor. An op that has no trial here fails.
//     cc -O2 -I. tests/core/reference.c -lm -pthread -o reference && ./reference [OP]
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/reference.h"
#include <stdlib.h>

// ---- One call of an op: inputs, attributes, outputs; all memory goes with the session ----

enum { ROUNDS = 6, MOST_BLOCKS = 640 };

// Of sums of up to some thousand f32, against double: 16 roundings in a row at their end and as
// many before, of 2^-24 each. Sums of terms of both signs get an absolute bound of the terms' size,
// too.
#define SUM_ERROR 2e-6
#define EXACT 0.0

typedef struct call {
    samba_session *s;
    const char *op;
    int round; // 0 ... ROUNDS - 1: which shapes
    samba_tensor *in[SAMBA_MAX_IN], *out[SAMBA_MAX_OUT];
    int32_t attr[SAMBA_MAX_ATTR], n_in, n_attr, n_out;
    void *block[MOST_BLOCKS];
    int n_blocks;
} call;

static uint64_t n_drawn;

static uint32_t draw(uint32_t n) // 0 ... n - 1
{
    uint32_t word[4];
    ref_philox(2026, n_drawn++, 0, word);
    return word[0] % n;
}

static void *room(call *c, int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    CHECK(p && c->n_blocks < MOST_BLOCKS);
    if (!p) exit(1);
    c->block[c->n_blocks++] = p;
    return p;
}

static double *doubles(call *c, int64_t n)
{
    return (double *)room(c, n, sizeof(double));
}

// A value that stands in place of one number of a trial: in which of its arrays, and where in that.
typedef enum place { FIRST, MIDDLE, LAST, N_PLACES } place;

static struct {
    bool on;
    int array, n_arrays; // n_arrays: how many the trial has asked for
    place where;
    float value;
    uint64_t hash; // of all that was read; one NaN is like another
} planted;

static int64_t planted_at(int64_t n)
{
    return planted.where == FIRST ? 0 : planted.where == LAST ? n - 1 : n / 2;
}

// Numbers between low and high, of 24 bits.
static float *numbers(call *c, int64_t n, double low, double high)
{
    float *x = (float *)room(c, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(low + (high - low) * ldexp(draw(1u << 24), -24));
    if (planted.on && planted.n_arrays == planted.array) x[planted_at(n)] = planted.value;
    planted.n_arrays++;
    return x;
}

static float number(call *c, float value) // one that the table of values below may replace
{
    return *numbers(c, 1, (double)value, (double)value);
}

static int32_t *indices(call *c, int64_t n, int32_t most)
{
    int32_t *x = (int32_t *)room(c, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)draw((uint32_t)most);
    return x;
}

static void give(call *c, samba_dtype type, samba_shape shape, const void *data)
{
    char name[32];
    snprintf(name, sizeof name, "x%d_%d", (int)c->n_in, c->n_blocks);
    c->in[c->n_in++] = data ? samba_from_data_copy(c->s, name, type, shape, data) : NULL;
}

static void give_f32(call *c, samba_shape shape, const float *data)
{
    give(c, SAMBA_F32, shape, data);
}

static void give_i32(call *c, samba_shape shape, const int32_t *data)
{
    give(c, SAMBA_I32, shape, data);
}

static void give_float(call *c, float value)
{
    give_f32(c, samba_scalar_shape(), &value);
}

static void give_int(call *c, int32_t value)
{
    give_i32(c, samba_scalar_shape(), &value);
}

static void attribute(call *c, int32_t value)
{
    c->attr[c->n_attr++] = value;
}

// All outputs of a call, as bytes behind each other; NULL: it is refused.
static uint8_t *outputs_of(call *c, samba_tensor *const *in, size_t *size)
{
    samba_tensor *out[SAMBA_MAX_OUT];
    int32_t n = samba_apply_all(c->s, c->op, in, c->n_in, c->attr, c->n_attr, out, SAMBA_MAX_OUT);
    uint8_t *bytes = NULL;
    *size = 0;
    for (int32_t o = 0; o < n; o++)
        *size += samba_bytes(out[o]);
    if (n > 0) bytes = (uint8_t *)room(c, (int64_t)*size, 1);

    uint8_t *at = bytes;
    for (int32_t o = 0; o < n; o++) {
        CHECK(samba_copy_out(out[o], at, samba_bytes(out[o])));
        at += samba_bytes(out[o]);
    }
    samba_clear_error(c->s);
    return bytes;
}

// One tensor as two of the inputs means what a tensor and a copy of it mean. Not for ops that write
// to an input: a second call would read what the first one wrote.
static void give_one_twice(call *c)
{
    if (samba__updates(samba__find_op(0, c->op, NULL, 0))) return;
    for (int32_t i = 0; i < c->n_in; i++)
        for (int32_t k = 0; k < c->n_in; k++) {
            samba_tensor *x = c->in[i], *y = c->in[k], *in[SAMBA_MAX_IN];
            if (i == k || !x || !y || x->dtype != y->dtype) continue;
            if (memcmp(&x->shape, &y->shape, sizeof x->shape) != 0) continue;

            size_t size, same_size;
            memcpy(in, c->in, sizeof in);
            in[k] = x;
            uint8_t *got = outputs_of(c, in, &size);
            if (!got) continue;

            void *copy = room(c, (int64_t)samba_bytes(x), 1);
            char name[40];
            snprintf(name, sizeof name, "copy_%d_%d_%d", (int)i, (int)k, c->n_blocks);
            CHECK(samba_copy_out(x, copy, samba_bytes(x)));
            in[k] = samba_from_data_copy(c->s, name, x->dtype, x->shape, copy);
            uint8_t *want = outputs_of(c, in, &same_size);
            CHECK(want && size == same_size && memcmp(got, want, size) == 0);
            if (test_bad)
                printf("    %s with one tensor as inputs %d and %d\n", c->op, (int)i, (int)k);
        }
}

static void run(call *c)
{
    if (!planted.on) give_one_twice(c);
    c->n_out
        = samba_apply_all(c->s, c->op, c->in, c->n_in, c->attr, c->n_attr, c->out, SAMBA_MAX_OUT);
    CHECK(c->n_out > 0);
    if (!samba_ok(c->s)) printf("    %s\n", samba_error(c->s));
}

// Is an element as it should be although an odd value is among the inputs? What is not finite by
// the definition is not: it may not turn into a number. What is finite is so within rounding,
// beside the largest of the output; values of 1e30 and more may overflow on the way, which is seen.
static bool holds(double got, double want, double rtol, double largest)
{
    if (want - want != 0) return got - got != 0;
    if (got - got != 0) return isfinite(planted.value) && fabs((double)planted.value) > 1e19;
    return fabs(got - want) <= (rtol + 1e-5) * fabs(want) + 1e-5 * largest;
}

static double largest_of(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite((float)x[i]) && fabs(x[i]) > most) most = fabs(x[i]);
    return most;
}

static bool may_be_nan(const call *c, float got);

// Output o is want (n), but for rtol of each element and atol. EXACT: it is want, rounded to f32
// once.
static void expect(call *c, int o, const double *want, int64_t n, double rtol, double atol)
{
    float *got = (float *)room(c, n, sizeof *got);
    bool whole = o < c->n_out && samba_count(&c->out[o]->shape) == n
        && samba_copy_out_f32(c->out[o], got, n);
    CHECK(whole);
    double largest = planted.on ? largest_of(want, n) : 0;
    for (int64_t i = 0; whole && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &got[i], sizeof bits);
        planted.hash = (planted.hash ^ (got[i] == got[i] ? bits : 0x7fc00000u)) * 0x100000001B3ull;
    }
    for (int64_t i = 0; whole && i < n; i++) {
        double g = (double)got[i], w = (double)(float)want[i], limit = rtol * fabs(w) + atol;
        if (g == w || (isnan(g) && isnan(w)) || fabs(g - w) <= limit) continue;
        if (planted.on && (holds(g, w, rtol, largest) || may_be_nan(c, got[i]))) continue;
        printf("%s, round %d: element %d of %d of output %d is %.9g, not %.9g\n", c->op, c->round,
               (int)i, (int)n, o, g, w);
        test_bad++;
        return;
    }
}

// A shape that makes blocks, and what is left, of every vector width: 1, 3 x 7, 33 ...
static samba_shape some_shape(const call *c)
{
    const samba_shape shapes[ROUNDS]
        = { SAMBA_SHAPE(1),   SAMBA_SHAPE(3, 7),     SAMBA_SHAPE(2, 33, 5),
            SAMBA_SHAPE(130), SAMBA_SHAPE(4, 1, 64), SAMBA_SHAPE(700) };
    return shapes[c->round];
}

static int pick(const call *c, int a, int b, int d, int e, int f, int g)
{
    const int value[ROUNDS] = { a, b, d, e, f, g };
    return value[c->round];
}

// ---- Attributes in pairs: each level of each attribute of an op with each of every other one ----

enum { MOST_ATTRIBUTES = 16, MOST_LEVELS = 6, CANDIDATES = 40 };

typedef struct attribute_level {
    const char *name;
    int value, n_levels;
} attribute_level;

static struct {
    bool on;
    int n, choice[MOST_ATTRIBUTES]; // n: how many attributes the trial has asked for
    attribute_level of[MOST_ATTRIBUTES];
    bool met[MOST_ATTRIBUTES][MOST_ATTRIBUTES][MOST_LEVELS][MOST_LEVELS];
} pairs;

// The attribute of this name: as the round has it, or one of the levels.
static int level(const char *name, int plain, int n_levels, const int *levels)
{
    if (!pairs.on) return plain;
    int k = pairs.n++;
    CHECK(k < MOST_ATTRIBUTES && n_levels <= MOST_LEVELS);
    pairs.of[k] = (attribute_level){ name, levels[pairs.choice[k]], n_levels };
    return pairs.of[k].value;
}

static int of_three(const char *name, int plain, int a, int b, int c)
{
    const int levels[3] = { a, b, c };
    return level(name, plain, 3, levels);
}

static bool either(const char *name, bool plain)
{
    const int levels[2] = { false, true };
    return level(name, plain, 2, levels);
}

// How many pairs of the choices are new; notes them if `meet`.
static int new_pairs(const int *choice, bool meet)
{
    int n = 0;
    for (int i = 0; i < pairs.n; i++)
        for (int j = i + 1; j < pairs.n; j++) {
            bool *met = &pairs.met[i][j][choice[i]][choice[j]];
            n += !*met;
            if (meet) *met = true;
        }
    return n;
}

// Puts the first pair that has not met into choice. False: all have.
static bool unmet_pair(int *choice)
{
    for (int i = 0; i < pairs.n; i++)
        for (int j = i + 1; j < pairs.n; j++)
            for (int k = 0; k < pairs.of[i].n_levels * pairs.of[j].n_levels; k++) {
                int a = k / pairs.of[j].n_levels, b = k % pairs.of[j].n_levels;
                if (pairs.met[i][j][a][b]) continue;
                choice[i] = a;
                choice[j] = b;
                return true;
            }
    return false;
}

// The next case: of some random ones, all with a pair that is new, that with the most new pairs.
static bool next_choice(void)
{
    int most = 0, n = pairs.n;
    for (int turn = 0; turn < CANDIDATES; turn++) {
        int choice[MOST_ATTRIBUTES];
        for (int i = 0; i < n; i++)
            choice[i] = (int)draw((uint32_t)pairs.of[i].n_levels);
        if (!unmet_pair(choice)) return false;
        int met = new_pairs(choice, false);
        if (met <= most) continue;
        most = met;
        memcpy(pairs.choice, choice, sizeof choice);
    }
    return most > 0;
}

static void print_attributes(void)
{
    for (int i = 0; i < pairs.n; i++)
        printf("%s%s %d", i ? ", " : "    with ", pairs.of[i].name, pairs.of[i].value);
    printf("\n");
}

// ---- Elementwise ops ----

// The last input is stretched along the first axis in odd rounds; some elements are equal, some 0.
static void try_elementwise(call *c, const ref_map *op)
{
    bool positive = op->kind == REF_POSITIVE;
    const samba_op *row = samba__find_op(0, op->name, NULL, 0);
    bool with_attribute = row && *row->attributes;
    samba_shape shape[3] = { some_shape(c), some_shape(c), some_shape(c) };
    samba_shape y = shape[0], *last = &shape[op->inputs - 1];
    float *x[3] = { NULL, NULL, NULL };
    double p = with_attribute ? 0.25 : 0, *want = doubles(c, samba_count(&y));
    if (op->inputs > 1 && c->round % 2) last->dim[0] = 1;
    for (int i = 0; i < op->inputs; i++) {
        int64_t n = samba_count(&shape[i]);
        x[i] = numbers(c, n, positive ? 0.01 : -4, 4);
        for (int64_t e = 0; i > 0 && !positive && e < n; e += 3)
            x[i][e] = e % 2 ? 0.0f : 1.0f;
        for (int64_t e = 0; !positive && e < n; e += 5)
            x[i][e] = 1.0f;
        give_f32(c, shape[i], x[i]);
    }
    if (with_attribute) attribute(c, samba_float_attr((float)p));
    run(c);
    for (int64_t e = 0; e < samba_count(&y); e++) {
        double v[3] = { 0, 0, 0 };
        for (int i = 0; i < op->inputs; i++)
            v[i] = (double)x[i][ref_broadcast_at(&shape[i], &y, e)];
        want[e] = op->f(v[0], v[1], v[2], p);
    }
    bool exact = op->error <= 0.5;
    double rtol = exact ? EXACT : op->error * ldexp(1, -23);
    // A slope near its zero is as good as its largest term, at most 4 |a|.
    expect(c, 0, want, samba_count(&y), rtol, op->kind == REF_SLOPE ? 1e-6 : exact ? EXACT : 1e-37);
}

static void try_full(call *c)
{
    samba_shape shape = some_shape(c);
    int64_t n = samba_count(&shape);
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = 1.25;
    attribute(c, samba_float_attr(1.25f));
    for (int32_t i = 0; i < shape.ndim; i++)
        attribute(c, shape.dim[i]);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_arange(call *c)
{
    int n = pick(c, 1, 7, 33, 300, 1031, 2);
    float start = 0.25f * (float)c->round - 1, step = c->round == 4 ? -3.0f : 0.37f;
    double *want = doubles(c, n);
    for (int i = 0; i < n; i++)
        want[i] = fma((double)i, (double)step, (double)start); // rounded once
    attribute(c, samba_float_attr(start));
    attribute(c, samba_float_attr(step));
    attribute(c, n);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_cast(call *c)
{
    const samba_dtype types[ROUNDS]
        = { SAMBA_BF16, SAMBA_F16, SAMBA_I32, SAMBA_I16, SAMBA_BOOL, SAMBA_U8 };
    int64_t n = 500;
    float *x = numbers(c, n, -2, 2);
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++) {
        if (e % 7) x[e] = (float)ldexp((double)x[e], (int)(e % 40) - 20);
        if (e % 11 == 0) x[e] = 0.0f;
        want[e] = ref_cast((double)x[e], types[c->round]);
    }
    give_f32(c, SAMBA_SHAPE((int32_t)n), x);
    attribute(c, (int32_t)types[c->round]);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_dropout(call *c)
{
    const uint64_t key = 0x0123456789ABCDEFull;
    samba_shape shape = some_shape(c);
    int64_t n = samba_count(&shape);
    float *x = numbers(c, n, -2, 2), rate = 0.1f * (float)c->round;
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = (double)x[e] * ref_keep(key, 77, 5, rate, e);
    samba_set_train(c->s, true);
    give_f32(c, shape, x);
    give_float(c, rate);
    give_int(c, 77);
    give_int(c, 5);
    attribute(c, (int32_t)(key >> 32));
    attribute(c, (int32_t)(uint32_t)key);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

// Uniform numbers are words of the generator; normal ones come in pairs of a radius and an angle.
static void try_noise(call *c)
{
    const uint64_t key = 0xFEDCBA9876543210ull;
    samba_shape shape = some_shape(c);
    int64_t n = samba_count(&shape);
    bool normal = c->round % 2;
    float *like = numbers(c, n, -2, 2);
    double *want = doubles(c, n);
    like[0] = NAN; // it is not read
    for (int64_t e = 0; e < n; e++) {
        uint32_t word[4];
        ref_philox(key + 77 * 0x9E3779B185EBCA87ull, (uint64_t)e / 4, 5, word);
        uint32_t first = word[e % 4 / 2 * 2], second = word[e % 4 / 2 * 2 + 1];
        double radius = sqrt(-2 * log(ldexp((first >> 9) + 0.5, -23)));
        double angle = 2 * 3.14159265358979323846 * ldexp(second >> 8, -24);
        want[e] = ldexp(word[e % 4] >> 8, -24);
        if (normal) want[e] = radius * (e % 2 ? sin(angle) : cos(angle));
    }
    give_f32(c, shape, like);
    give_int(c, 77);
    give_int(c, 5);
    attribute(c, (int32_t)(key >> 32));
    attribute(c, (int32_t)(uint32_t)key);
    attribute(c, normal);
    run(c);
    expect(c, 0, want, n, normal ? 1e-6 : EXACT, normal ? 1e-6 : EXACT);
}

// At a training run only, if the attribute says so.
static void try_count(call *c)
{
    bool train = c->round % 2, only = c->round > 2;
    double want = train || !only ? 42 : 41;
    samba_set_train(c->s, train);
    give_int(c, 41);
    attribute(c, only);
    run(c);
    expect(c, 0, &want, 1, EXACT, EXACT);
}

static void try_zero(call *c)
{
    samba_shape shape = some_shape(c);
    give_f32(c, shape, numbers(c, samba_count(&shape), -2, 2));
    run(c);
    expect(c, 0, doubles(c, samba_count(&shape)), samba_count(&shape), EXACT, EXACT);
}

// x + y, or y alone with the first microbatch if the attribute says so.
static void try_accumulate(call *c)
{
    samba_shape shape = some_shape(c);
    int64_t n = samba_count(&shape);
    float *x = numbers(c, n, -2, 2), *y = numbers(c, n, -2, 2);
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = c->round % 2 ? (double)y[e] : (double)x[e] + (double)y[e];
    give_f32(c, shape, x);
    give_f32(c, shape, y);
    attribute(c, c->round % 2);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

// ---- Reductions ----

// Some axes of a tensor that is cut into pieces in one way or another.
static void try_reduction(call *c,
                          void (*reference)(double *y, int64_t n_out, const float *x,
                                            const samba_shape *shape, int32_t mask),
                          bool exact)
{
    const samba_shape shapes[ROUNDS]
        = { SAMBA_SHAPE(7),       SAMBA_SHAPE(20000),    SAMBA_SHAPE(5, 70),
            SAMBA_SHAPE(1100, 3), SAMBA_SHAPE(3, 40, 5), SAMBA_SHAPE(4, 3, 100) };
    samba_shape x = shapes[c->round], y = samba_scalar_shape();
    int32_t mask = pick(c, 1, 1, 2, 1, 5, 3);
    int64_t n = samba_count(&x);
    float *data = numbers(c, n, -1, 1);
    for (int32_t i = 0; i < x.ndim; i++)
        if (!(mask >> i & 1)) y.dim[y.ndim++] = x.dim[i];
    int64_t n_out = samba_count(&y);
    double *want = doubles(c, n_out);
    reference(want, n_out, data, &x, mask);
    give_f32(c, x, data);
    attribute(c, mask);
    attribute(c, false);
    run(c);
    expect(c, 0, want, n_out, exact ? EXACT : SUM_ERROR,
           exact ? EXACT : SUM_ERROR * (double)(n / n_out) / 16);
}

static void try_sum(call *c)
{
    try_reduction(c, ref_sum, false);
}

static void try_mean(call *c)
{
    try_reduction(c, ref_mean, false);
}

static void try_max(call *c)
{
    try_reduction(c, ref_max_of, true);
}

static void try_square_sum(call *c)
{
    try_reduction(c, ref_square_sum, false);
}

static void try_argmax(call *c)
{
    int outer = 3, n = pick(c, 1, 4, 33, 64, 100, 7), inner = pick(c, 1, 1, 5, 1, 2, 40);
    float *x = numbers(c, outer * n * inner, -1, 1);
    double *want = doubles(c, outer * inner);
    for (int i = 0; i < outer * n * inner; i += 3)
        x[i] = 0.5f; // ties
    if (c->round == 3) x[17] = NAN;
    for (int i = 0; i < outer * inner; i++)
        want[i] = (double)ref_argmax(x + i / inner * n * inner + i % inner, n, inner);
    give_f32(c, SAMBA_SHAPE(outer, n, inner), x);
    attribute(c, 1);
    attribute(c, false);
    run(c);
    expect(c, 0, want, outer * inner, EXACT, EXACT);
}

// Round 2 sorts what is not finite; there and elsewhere many numbers are equal.
static void try_argsort(call *c)
{
    int rows = 3, n = pick(c, 1, 4, 33, 64, 257, 7), count = pick(c, 1, 4, 5, 64, 100, 3);
    bool descending = c->round % 2;
    float *x = numbers(c, rows * n, -1, 1);
    double *want = doubles(c, rows * count);
    for (int i = 0; i < rows * n; i += 3)
        x[i] = 0.5f; // ties
    for (int i = 0; i < rows * n && c->round == 2; i += 4)
        x[i] = i % 3 ? NAN : i % 2 ? INFINITY : -INFINITY;
    for (int r = 0; r < rows; r++)
        ref_argsort(want + r * count, x + r * n, n, count, descending);
    give_f32(c, SAMBA_SHAPE(rows, n), x);
    attribute(c, count);
    attribute(c, descending);
    run(c);
    expect(c, 0, want, rows * count, EXACT, EXACT);
}

// ---- Products ----

// A batch of two a's with as many b's, or with one for both.
static void product(call *c, bool accumulate)
{
    int M = pick(c, 1, 3, 17, 64, 5, 70), N = pick(c, 1, 5, 33, 16, 100, 70),
        K = pick(c, 1, 4, 20, 300, 64, 70);
    bool ta = c->round % 2, tb = c->round / 2 % 2, one = c->round % 3 == 0;
    float *a = numbers(c, 2 * M * K, -1, 1), *b = numbers(c, 2 * K * N, -1, 1),
          *sum = numbers(c, 2 * M * N, -1, 1);
    double *want = doubles(c, 2 * M * N);
    for (int i = 0; i < 2 * M * N; i++)
        want[i] = (double)sum[i];
    for (int i = 0; i < 2; i++)
        ref_matmul(want + i * M * N, a + i * M * K, ta, b + (one ? 0 : i * K * N), tb, M, N, K,
                   accumulate);
    give_f32(c, ta ? SAMBA_SHAPE(2, K, M) : SAMBA_SHAPE(2, M, K), a);
    samba_shape many = tb ? SAMBA_SHAPE(2, N, K) : SAMBA_SHAPE(2, K, N);
    give_f32(c, one ? SAMBA_SHAPE(many.dim[1], many.dim[2]) : many, b);
    if (accumulate) give_f32(c, SAMBA_SHAPE(2, M, N), sum);
    attribute(c, ta);
    attribute(c, tb);
    run(c);
    expect(c, 0, want, 2 * M * N, EXACT, EXACT);
}

static void try_matmul(call *c)
{
    product(c, false);
}

static void try_matmul_accumulate(call *c)
{
    product(c, true);
}

static void try_affine(call *c)
{
    int T = pick(c, 1, 3, 17, 64, 5, 70), C = pick(c, 1, 5, 33, 300, 64, 70),
        N = pick(c, 1, 7, 20, 48, 100, 70);
    float *x = numbers(c, T * C, -1, 1), *w = numbers(c, N * C, -1, 1);
    float *b = c->round % 2 ? numbers(c, N, -1, 1) : NULL;
    double *want = doubles(c, T * N);
    ref_affine(want, x, w, b, T, C, N);
    give_f32(c, SAMBA_SHAPE(T, C), x);
    give_f32(c, SAMBA_SHAPE(N, C), w);
    give_f32(c, SAMBA_SHAPE(N), b);
    run(c);
    expect(c, 0, want, T * N, EXACT, EXACT);
}

// Packed weights (N,K) in f32, bytes or half bytes, as inputs; and in w what they stand for.
static void give_packed(call *c, float *w, int N, int K)
{
    const samba_dtype types[3] = { SAMBA_F32, SAMBA_I8, SAMBA_U8 };
    samba_dtype type = types[c->round % 3];
    int panels = (N + 31) / 32, steps = type == SAMBA_U8 ? K / 2 : K;
    uint16_t *scale = (uint16_t *)room(c, panels * K, sizeof *scale);
    uint8_t *packed = (uint8_t *)numbers(c, panels * K * 32, -1, 1);
    for (int i = 0; i < panels * K; i++)
        scale[i] = (uint16_t)(0x3C00 + draw(128)); // about 1/100
    if (type != SAMBA_F32)
        for (int i = 0; i < panels * steps * 32; i++)
            packed[i] = (uint8_t)draw(256);
    ref_unpack(w, packed, type, type == SAMBA_F32 ? NULL : scale, N, K);
    give(c, type, SAMBA_SHAPE(panels, steps, 32), packed);
    give(c, SAMBA_BF16, SAMBA_SHAPE(panels, K / 32, 32), type == SAMBA_F32 ? NULL : scale);
}

static void try_affine_packed(call *c)
{
    int T = pick(c, 1, 3, 17, 64, 5, 2), K = pick(c, 32, 64, 32, 96, 320, 64),
        N = pick(c, 1, 40, 32, 48, 100, 70);
    float *x = numbers(c, T * K, -1, 1), *w = numbers(c, N * K, 0, 0), *b = numbers(c, N, -1, 1);
    double *want = doubles(c, T * N);
    give_f32(c, SAMBA_SHAPE(T, K), x);
    give_packed(c, w, N, K);
    ref_affine(want, x, w, b, T, K, N);
    give_f32(c, SAMBA_SHAPE(N), b);
    attribute(c, N);
    run(c);
    expect(c, 0, want, T * N, EXACT, EXACT);
}

// ---- Ops that move values: exact ----

static samba_shape a_box(const call *c) // four axes
{
    return SAMBA_SHAPE(pick(c, 1, 2, 3, 1, 4, 2), pick(c, 1, 3, 1, 5, 2, 7),
                       pick(c, 2, 4, 5, 1, 3, 4), pick(c, 1, 5, 3, 40, 33, 8));
}

static void try_reshape(call *c)
{
    samba_shape x = a_box(c);
    int64_t n = samba_count(&x);
    float *data = numbers(c, n, -1, 1);
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = (double)data[e];
    give_f32(c, x, data);
    attribute(c, x.dim[0] * x.dim[1]);
    attribute(c, x.dim[2] * x.dim[3]);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_permute(call *c)
{
    const int32_t axes[ROUNDS][4] = { { 3, 2, 1, 0 }, { 0, 2, 1, 3 }, { 1, 0, 3, 2 },
                                      { 2, 3, 0, 1 }, { 0, 1, 3, 2 }, { 3, 0, 1, 2 } };
    samba_shape x = a_box(c);
    int64_t n = samba_count(&x);
    float *data = numbers(c, n, -1, 1);
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = (double)data[ref_permuted_at(&x, axes[c->round], e)];
    give_f32(c, x, data);
    for (int i = 0; i < 4; i++)
        attribute(c, axes[c->round][i]);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_slice(call *c)
{
    samba_shape x = a_box(c);
    float *data = numbers(c, samba_count(&x), -1, 1);
    int64_t n = 1;
    give_f32(c, x, data);
    for (int32_t i = 0; i < 4; i++) {
        int32_t begin = x.dim[i] / 4, end = x.dim[i] - x.dim[i] / 5, step = 1 + (c->round + i) % 3;
        attribute(c, begin);
        attribute(c, end);
        attribute(c, step);
        n *= (end - begin - 1) / step + 1;
    }
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++)
        want[e] = (double)data[ref_sliced_at(&x, c->attr, e)];
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_pad(call *c)
{
    samba_shape x = a_box(c);
    float *data = numbers(c, samba_count(&x), -1, 1);
    int64_t n = 1;
    give_f32(c, x, data);
    for (int32_t i = 0; i < 4; i++) {
        int32_t before = (c->round + i) % 3, after = i % 2, between = (c->round + i) % 2;
        attribute(c, before);
        attribute(c, after);
        attribute(c, between);
        n *= before + after + (x.dim[i] - 1) * (between + 1) + 1;
    }
    attribute(c, samba_float_attr(-0.75f));
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++) {
        int64_t from = ref_padded_at(&x, c->attr, e);
        want[e] = from < 0 ? -0.75 : (double)data[from];
    }
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

// Two tensors whose axis 1 differs.
static void try_cat(call *c)
{
    samba_shape a = a_box(c), b = a;
    b.dim[1] = a.dim[1] + 2;
    float *x = numbers(c, samba_count(&a), -1, 1), *y = numbers(c, samba_count(&b), -1, 1);
    int64_t n = samba_count(&a) + samba_count(&b), of_a = samba_count(&a) / a.dim[0],
            row = n / a.dim[0];
    double *want = doubles(c, n);
    for (int64_t e = 0; e < n; e++) {
        int64_t at = e % row;
        want[e]
            = (double)(at < of_a ? x[e / row * of_a + at] : y[e / row * (row - of_a) + at - of_a]);
    }
    give_f32(c, a, x);
    give_f32(c, b, y);
    attribute(c, 1);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_expand(call *c)
{
    samba_shape y = a_box(c), x = y;
    x.dim[c->round % 4] = 1;
    x.dim[(c->round + 2) % 4] = 1;
    float *data = numbers(c, samba_count(&x), -1, 1);
    double *want = doubles(c, samba_count(&y));
    for (int64_t e = 0; e < samba_count(&y); e++)
        want[e] = (double)data[ref_broadcast_at(&x, &y, e)];
    give_f32(c, x, data);
    for (int i = 0; i < 4; i++)
        attribute(c, y.dim[i]);
    run(c);
    expect(c, 0, want, samba_count(&y), EXACT, EXACT);
}

// Forward y = x[index], backward dx += dy at the index, in order.
static void gathering(call *c, bool backward)
{
    const int rounds[ROUNDS] = { 0, 1, 2, 3, 4, 5 }, axes[4] = { 0, 1, 2, 3 };
    c->round = level("box", c->round, ROUNDS, rounds);
    samba_shape x = a_box(c), y = x;
    int32_t axis = level("axis", c->round % 4, 4, axes);
    y.dim[axis] = x.dim[axis] + 1;
    int64_t n = samba_count(&x), m = samba_count(&y);
    int32_t *index = indices(c, m, x.dim[axis]);
    float *data = numbers(c, backward ? m : n, -1, 1);
    double *want = doubles(c, backward ? n : m);
    for (int64_t e = 0; e < m; e++) {
        int64_t at = ref_gathered_at(&x, &y, axis, index, e);
        if (backward)
            want[at] = (double)((float)want[at] + data[e]);
        else
            want[e] = (double)data[at];
    }
    give_f32(c, backward ? y : x, data);
    give_i32(c, y, index);
    attribute(c, axis);
    for (int32_t i = 0; backward && i < 4; i++)
        attribute(c, x.dim[i]);
    run(c);
    expect(c, 0, want, backward ? n : m, EXACT, EXACT);
}

static void try_gather(call *c)
{
    gathering(c, false);
}

static void try_gather_backward(call *c)
{
    gathering(c, true);
}

// Row t of x (B,T,D) goes to row[t] of the cache (B,S,D), -1 nowhere.
static void try_write_rows(call *c)
{
    int B = pick(c, 1, 2, 3, 1, 4, 2), S = 9, T = pick(c, 1, 3, 4, 9, 2, 1),
        D = pick(c, 1, 4, 33, 5, 8, 64);
    float *cache = numbers(c, B * S * D, -1, 1), *x = numbers(c, B * T * D, -1, 1);
    int32_t *row = indices(c, T, S);
    double *want = doubles(c, B * S * D);
    if (T > 1) row[1] = -1;
    for (int i = 0; i < B * S * D; i++)
        want[i] = (double)cache[i];
    for (int i = 0; i < B * T * D; i++) { // a later row overwrites an earlier one
        int b = i / D / T, t = i / D % T;
        if (row[t] >= 0) want[(b * S + row[t]) * D + i % D] = (double)x[i];
    }
    give_f32(c, SAMBA_SHAPE(B, S, D), cache);
    give_f32(c, SAMBA_SHAPE(B, T, D), x);
    give_i32(c, SAMBA_SHAPE(T), row);
    run(c);
    expect(c, 0, want, B * S * D, EXACT, EXACT);
}

static void try_lookup(call *c)
{
    int T = pick(c, 1, 5, 100, 64, 7, 3), V = pick(c, 1, 9, 20, 300, 70, 4),
        C = pick(c, 1, 7, 64, 33, 130, 16);
    int32_t *id = indices(c, T, V);
    float *w = numbers(c, V * C, -1, 1);
    double *want = doubles(c, T * C);
    ref_lookup(want, id, w, T, C);
    give_i32(c, SAMBA_SHAPE(T), id);
    give_f32(c, SAMBA_SHAPE(V, C), w);
    run(c);
    expect(c, 0, want, T * C, EXACT, EXACT);
}

static void try_lookup_packed(call *c)
{
    int T = pick(c, 1, 5, 100, 64, 7, 3), V = pick(c, 1, 9, 20, 300, 70, 4),
        C = pick(c, 32, 64, 32, 96, 320, 64);
    int32_t *id = indices(c, T, V);
    float *w = numbers(c, V * C, 0, 0);
    double *want = doubles(c, T * C);
    give_i32(c, SAMBA_SHAPE(T), id);
    give_packed(c, w, V, C);
    ref_lookup(want, id, w, T, C);
    attribute(c, V);
    attribute(c, C);
    run(c);
    expect(c, 0, want, T * C, EXACT, EXACT);
}

static void lookup_gradient(call *c, bool accumulate)
{
    int T = pick(c, 1, 5, 100, 64, 7, 300), V = pick(c, 1, 9, 20, 300, 70, 4),
        C = pick(c, 1, 7, 64, 33, 130, 16);
    int32_t *id = indices(c, T, V);
    float *dy = numbers(c, T * C, -1, 1), *sum = numbers(c, V * C, -1, 1);
    double *want = doubles(c, V * C);
    for (int i = 0; accumulate && i < V * C; i++)
        want[i] = (double)sum[i];
    ref_lookup_backward(want, id, dy, V, T, C);
    give_f32(c, SAMBA_SHAPE(T, C), dy);
    give_i32(c, SAMBA_SHAPE(T), id);
    if (accumulate) give_f32(c, SAMBA_SHAPE(V, C), sum);
    attribute(c, V);
    run(c);
    expect(c, 0, want, V * C, EXACT, EXACT);
}

static void try_lookup_backward(call *c)
{
    lookup_gradient(c, false);
}

static void try_lookup_accumulate(call *c)
{
    lookup_gradient(c, true);
}

// ---- Convolution and pooling ----

static ref_conv a_conv(const call *c)
{
    const ref_conv geometry[ROUNDS] = {
        { 1, 1, 3, 3, 1, 1, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 } },
        { 2, 3, 9, 11, 5, 3, 3, 1, { 1, 1 }, { 1, 1 }, { 1, 1 } },
        { 3, 4, 12, 10, 6, 3, 2, 2, { 2, 1 }, { 1, 0 }, { 1, 2 } },
        { 1, 8, 20, 21, 8, 5, 5, 8, { 2, 2 }, { 2, 2 }, { 1, 1 } },
        { 9, 3, 16, 16, 16, 4, 4, 1, { 4, 4 }, { 0, 0 }, { 1, 1 } },
        { 2, 40, 7, 30, 20, 3, 3, 1, { 1, 3 }, { 2, 3 }, { 2, 3 } },
    };
    ref_conv g = geometry[c->round];
    if (!pairs.on) return g;
    g.N = of_three("images", 1, 1, 2, 9);
    g.groups = of_three("groups", 1, 1, 2, 6); // of 6 channels: the last is depthwise
    g.C = 6;
    g.O = 6 * of_three("filters of a channel", 1, 1, 2, 4);
    g.KH = of_three("kernel down", 1, 1, 2, 3);
    g.KW = of_three("kernel across", 1, 1, 3, 4);
    g.stride[0] = of_three("stride down", 1, 1, 2, 3);
    g.stride[1] = of_three("stride across", 1, 1, 2, 3);
    g.padding[0] = of_three("padding down", 0, 0, 1, 2);
    g.padding[1] = of_three("padding across", 0, 0, 1, 3);
    g.dilation[0] = of_three("dilation down", 1, 1, 2, 3);
    g.dilation[1] = of_three("dilation across", 1, 1, 2, 3);
    g.H = of_three("rows", 9, 1, 7, 10); // 1: one dimension, if the kernel fits
    g.W = of_three("columns", 11, 10, 11, 37);
    while (g.H + 2 * g.padding[0] <= g.dilation[0] * (g.KH - 1))
        g.H++;
    return g;
}

static void conv_attributes(call *c, const ref_conv *g)
{
    for (int i = 0; i < 2; i++)
        attribute(c, g->stride[i]);
    for (int i = 0; i < 2; i++)
        attribute(c, g->padding[i]);
    for (int i = 0; i < 2; i++)
        attribute(c, g->dilation[i]);
    attribute(c, g->groups);
}

static samba_shape conv_x(const ref_conv *g)
{
    return SAMBA_SHAPE(g->N, g->C, g->H, g->W);
}

static samba_shape conv_w(const ref_conv *g)
{
    return SAMBA_SHAPE(g->O, g->C / g->groups, g->KH, g->KW);
}

static samba_shape conv_y(const ref_conv *g)
{
    return SAMBA_SHAPE(g->N, g->O, ref_conv_side(g, 0), ref_conv_side(g, 1));
}

// The bias comes last, with a rounding of its own.
static void try_convolution(call *c)
{
    ref_conv g = a_conv(c);
    samba_shape xs = conv_x(&g), ws = conv_w(&g), ys = conv_y(&g);
    int64_t n = samba_count(&ys), plane = n / g.N / g.O;
    float *x = numbers(c, samba_count(&xs), -1, 1), *w = numbers(c, samba_count(&ws), -1, 1);
    float *b = c->round % 2 ? numbers(c, g.O, -1, 1) : NULL;
    ref_conv_operands p = { doubles(c, n), x, w, NULL };
    ref_conv_each(&g, ref_conv_y, &p);
    for (int64_t i = 0; b && i < n; i++)
        p.sum[i] = (double)((float)p.sum[i] + b[i / plane % g.O]);
    give_f32(c, xs, x);
    give_f32(c, ws, w);
    give_f32(c, SAMBA_SHAPE(g.O), b);
    conv_attributes(c, &g);
    run(c);
    expect(c, 0, p.sum, n, EXACT, EXACT);
}

static void try_convolution_backward_input(call *c)
{
    ref_conv g = a_conv(c);
    samba_shape xs = conv_x(&g), ws = conv_w(&g), ys = conv_y(&g);
    float *dy = numbers(c, samba_count(&ys), -1, 1), *w = numbers(c, samba_count(&ws), -1, 1);
    ref_conv_operands p = { doubles(c, samba_count(&xs)), NULL, w, dy };
    ref_conv_each(&g, ref_conv_dx, &p);
    give_f32(c, ys, dy);
    give_f32(c, ws, w);
    conv_attributes(c, &g);
    attribute(c, g.H);
    attribute(c, g.W);
    run(c);
    expect(c, 0, p.sum, samba_count(&xs), SUM_ERROR, SUM_ERROR * 4);
}

static void try_convolution_backward_weight(call *c)
{
    ref_conv g = a_conv(c);
    samba_shape xs = conv_x(&g), ws = conv_w(&g), ys = conv_y(&g);
    float *x = numbers(c, samba_count(&xs), -1, 1), *dy = numbers(c, samba_count(&ys), -1, 1);
    ref_conv_operands p = { doubles(c, samba_count(&ws)), x, NULL, dy };
    ref_conv_each(&g, ref_conv_dw, &p);
    give_f32(c, xs, x);
    give_f32(c, ys, dy);
    conv_attributes(c, &g);
    attribute(c, g.KH);
    attribute(c, g.KW);
    run(c);
    expect(c, 0, p.sum, samba_count(&ws), SUM_ERROR, SUM_ERROR * 10);
}

// Windows that overlap, that do not, that reach into padding; squares of 2; adaptive ones in rounds
// 4, 5.
static ref_pool a_pool(call *c, bool adapts)
{
    const ref_pool pools[ROUNDS] = {
        { 2, 4, 6, 0, 0, { 2, 2 }, { 2, 2 }, { 0, 0 }, false, false },
        { 3, 9, 11, 0, 0, { 3, 3 }, { 2, 2 }, { 1, 1 }, false, false },
        { 1, 5, 70, 0, 0, { 3, 2 }, { 1, 1 }, { 0, 1 }, false, true },
        { 2, 8, 200, 0, 0, { 2, 5 }, { 3, 2 }, { 1, 2 }, false, true },
        { 3, 7, 10, 3, 4, { 7, 3 }, { 7, 2 }, { 0, 0 }, true, false },
        { 2, 6, 6, 1, 1, { 1, 1 }, { 1, 1 }, { 0, 0 }, true, false },
    };
    ref_pool g = pools[c->round];
    if (!adapts) g.adaptive = false;
    if (pairs.on) {
        const char *const names[2][3] = { { "kernel down", "stride down", "padding down" },
                                          { "kernel across", "stride across", "padding across" } };
        for (int i = 0; i < 2; i++) {
            g.kernel[i] = of_three(names[i][0], 2, 1, 2, 5);
            g.stride[i] = of_three(names[i][1], 1, 1, 2, 3);
            g.padding[i] = of_three(names[i][2], 0, 0, 1, 2);
            if (g.padding[i] > g.kernel[i] / 2) g.padding[i] = g.kernel[i] / 2;
        }
        g.H = of_three("rows", 9, 6, 9, 10);
        g.W = of_three("columns", 11, 5, 12, 70);
        g.ceil_mode = either("ceil_mode", false);
        g.exclude_padding = either("exclude_padding", false);
    }
    if (!g.adaptive) {
        g.OH = ref_pool_side(&g, 0, g.H);
        g.OW = ref_pool_side(&g, 1, g.W);
    }
    return g;
}

static void pool_attributes(call *c, const ref_pool *g, bool avg)
{
    if (g->adaptive) {
        attribute(c, g->OH);
        attribute(c, g->OW);
        return;
    }
    for (int i = 0; i < 2; i++)
        attribute(c, g->kernel[i]);
    for (int i = 0; i < 2; i++)
        attribute(c, g->stride[i]);
    for (int i = 0; i < 2; i++)
        attribute(c, g->padding[i]);
    attribute(c, g->ceil_mode);
    if (avg) attribute(c, g->exclude_padding);
}

static void try_max_pool2d(call *c)
{
    ref_pool g = a_pool(c, false);
    float *x = numbers(c, g.P * g.H * g.W, -1, 1);
    if (c->round == 1) x[40] = NAN;
    double *want = doubles(c, g.P * g.OH * g.OW);
    ref_max_pool(&g, x, want, NULL, NULL);
    give_f32(c, SAMBA_SHAPE(g.P, g.H, g.W), x);
    pool_attributes(c, &g, false);
    run(c);
    expect(c, 0, want, g.P * g.OH * g.OW, EXACT, EXACT);
}

static void try_max_pool2d_backward(call *c)
{
    ref_pool g = a_pool(c, false);
    float *x = numbers(c, g.P * g.H * g.W, -1, 1), *dy = numbers(c, g.P * g.OH * g.OW, -1, 1);
    for (int i = 0; i < g.P * g.H * g.W; i += 3)
        x[i] = 0.75f; // ties
    double *want = doubles(c, g.P * g.H * g.W);
    ref_max_pool(&g, x, NULL, dy, want);
    give_f32(c, SAMBA_SHAPE(g.P, g.H, g.W), x);
    give_f32(c, SAMBA_SHAPE(g.P, g.OH, g.OW), dy);
    pool_attributes(c, &g, false);
    run(c);
    expect(c, 0, want, g.P * g.H * g.W, SUM_ERROR, SUM_ERROR);
}

static void try_avg_pool2d(call *c)
{
    ref_pool g = a_pool(c, true);
    float *x = numbers(c, g.P * g.H * g.W, -1, 1);
    double *want = doubles(c, g.P * g.OH * g.OW);
    ref_avg_pool(&g, x, want, NULL, NULL);
    give_f32(c, SAMBA_SHAPE(g.P, g.H, g.W), x);
    pool_attributes(c, &g, true);
    run(c);
    expect(c, 0, want, g.P * g.OH * g.OW, SUM_ERROR, SUM_ERROR);
}

static void try_avg_pool2d_backward(call *c)
{
    ref_pool g = a_pool(c, true);
    float *dy = numbers(c, g.P * g.OH * g.OW, -1, 1);
    double *want = doubles(c, g.P * g.H * g.W);
    ref_avg_pool(&g, NULL, NULL, dy, want);
    give_f32(c, SAMBA_SHAPE(g.P, g.OH, g.OW), dy);
    pool_attributes(c, &g, true);
    attribute(c, g.H);
    attribute(c, g.W);
    run(c);
    expect(c, 0, want, g.P * g.H * g.W, SUM_ERROR, SUM_ERROR);
}

// ---- Norms ----

// Inputs around 3: means that are not subtracted first would show.
static void norm(call *c, bool centered)
{
    int T = of_three("rows", pick(c, 1, 3, 40, 5, 33, 2), 1, 3, 70);
    int C = of_three("columns", pick(c, 1, 7, 33, 64, 130, 700), 7, 64, 130);
    bool weighs = either("a weight", c->round % 2), shifts = either("a bias", c->round % 3);
    float *x = numbers(c, T * C, 1, 5), *w = weighs ? numbers(c, C, -1, 1) : NULL;
    float *b = centered && shifts ? numbers(c, C, -1, 1) : NULL;
    double *want = doubles(c, T * C);
    ref_norm(want, x, w, b, T, C, 1e-5, centered);
    give_f32(c, SAMBA_SHAPE(T, C), x);
    give_f32(c, SAMBA_SHAPE(C), w);
    if (centered) give_f32(c, SAMBA_SHAPE(C), b);
    attribute(c, samba_float_attr(1e-5f));
    run(c);
    expect(c, 0, want, T * C, SUM_ERROR * 2, SUM_ERROR * 2);
}

static void norm_backward(call *c, bool centered)
{
    int T = of_three("rows", pick(c, 2, 3, 40, 5, 70, 2), 1, 3, 70);
    int C = of_three("columns", pick(c, 3, 7, 33, 64, 130, 700), 7, 64, 130);
    bool weighs = either("a weight", c->round % 2);
    float *dy = numbers(c, T * C, -1, 1), *x = numbers(c, T * C, 1, 5);
    float *w = weighs ? numbers(c, C, -1, 1) : NULL;
    double *dx = doubles(c, T * C), *dw = doubles(c, C), *db = doubles(c, C);
    ref_norm_backward(dx, dw, db, dy, x, w, T, C, 1e-5, centered);
    give_f32(c, SAMBA_SHAPE(T, C), dy);
    give_f32(c, SAMBA_SHAPE(T, C), x);
    give_f32(c, SAMBA_SHAPE(C), w);
    attribute(c, samba_float_attr(1e-5f));
    attribute(c, true);
    run(c);
    expect(c, 0, dx, T * C, SUM_ERROR * 10, SUM_ERROR * 10);
    expect(c, 1, dw, C, SUM_ERROR * 10, SUM_ERROR * 10);
    if (centered) expect(c, 2, db, C, SUM_ERROR, SUM_ERROR * 10);
}

static void try_layer_norm(call *c)
{
    norm(c, true);
}

static void try_rms_norm(call *c)
{
    norm(c, false);
}

static void try_layer_norm_backward(call *c)
{
    norm_backward(c, true);
}

static void try_rms_norm_backward(call *c)
{
    norm_backward(c, false);
}

static void try_batch_norm(call *c)
{
    int N = pick(c, 2, 3, 4, 9, 2, 5), C = pick(c, 1, 3, 5, 2, 7, 4),
        L = pick(c, 2, 7, 33, 64, 100, 1);
    float *x = numbers(c, N * C * L, 1, 5), *w = numbers(c, C, -1, 1), *b = numbers(c, C, -1, 1);
    float *mean = numbers(c, C, -1, 1), *var = numbers(c, C, 0.5, 2);
    double *y = doubles(c, N * C * L), *new_mean = doubles(c, C), *new_var = doubles(c, C);
    for (int i = 0; i < C; i++) {
        new_mean[i] = (double)mean[i];
        new_var[i] = (double)var[i];
    }
    ref_batch_norm(y, new_mean, new_var, x, w, b, N, C, L, 0.1, 1e-5);
    give_f32(c, SAMBA_SHAPE(N, C, L), x);
    give_f32(c, SAMBA_SHAPE(C), w);
    give_f32(c, SAMBA_SHAPE(C), b);
    give_f32(c, SAMBA_SHAPE(C), mean);
    give_f32(c, SAMBA_SHAPE(C), var);
    attribute(c, samba_float_attr(0.1f));
    attribute(c, samba_float_attr(1e-5f));
    run(c);
    expect(c, 0, y, N * C * L, SUM_ERROR * 2, SUM_ERROR * 2);
    expect(c, 1, new_mean, C, SUM_ERROR, SUM_ERROR);
    expect(c, 2, new_var, C, SUM_ERROR, SUM_ERROR);
}

static void try_batch_norm_backward(call *c)
{
    int N = pick(c, 3, 3, 4, 9, 2, 5), C = pick(c, 1, 3, 5, 2, 7, 4),
        L = pick(c, 2, 7, 33, 64, 100, 1);
    float *dy = numbers(c, N * C * L, -1, 1), *x = numbers(c, N * C * L, 1, 5),
          *w = numbers(c, C, -1, 1);
    double *dx = doubles(c, N * C * L), *dw = doubles(c, C), *db = doubles(c, C);
    ref_batch_norm_backward(dx, dw, db, dy, x, w, N, C, L, 1e-5);
    give_f32(c, SAMBA_SHAPE(N, C, L), dy);
    give_f32(c, SAMBA_SHAPE(N, C, L), x);
    give_f32(c, SAMBA_SHAPE(C), w);
    give_f32(c, SAMBA_SHAPE(C),
             numbers(c, C, -1, 1)); // running values, which training does not read
    give_f32(c, SAMBA_SHAPE(C), numbers(c, C, 0.5, 2));
    attribute(c, samba_float_attr(1e-5f));
    run(c);
    expect(c, 0, dx, N * C * L, SUM_ERROR * 10, SUM_ERROR * 10);
    expect(c, 1, dw, C, SUM_ERROR * 10, SUM_ERROR * 10);
    expect(c, 2, db, C, SUM_ERROR, SUM_ERROR * 10);
}

// ---- Softmax and losses ----

static void softmax(call *c, bool logs)
{
    int T = pick(c, 1, 3, 40, 5, 33, 2), C = pick(c, 1, 7, 33, 64, 300, 1500);
    float *x = numbers(c, T * C, -20, 20);
    double *want = doubles(c, T * C);
    if (c->round == 1) x[2] = -INFINITY;
    ref_softmax_rows(want, x, T, C, logs);
    give_f32(c, SAMBA_SHAPE(T, C), x);
    attribute(c, 1);
    run(c);
    // x - max, down to -40, is rounded before the exponential: a relative error of 40 / 2^24.
    expect(c, 0, want, T * C, SUM_ERROR * 2, logs ? SUM_ERROR * 2 : 1e-37);
}

static void softmax_backward(call *c, bool logs)
{
    int T = pick(c, 1, 3, 40, 5, 33, 2), C = pick(c, 1, 7, 33, 64, 300, 1500);
    float *dy = numbers(c, T * C, -1, 1), *y = numbers(c, T * C, logs ? -8 : 0, logs ? 0 : 0.1);
    double *want = doubles(c, T * C);
    ref_softmax_backward(want, dy, y, T, C, logs);
    give_f32(c, SAMBA_SHAPE(T, C), dy);
    give_f32(c, SAMBA_SHAPE(T, C), y);
    attribute(c, 1);
    run(c);
    expect(c, 0, want, T * C, SUM_ERROR, SUM_ERROR * 10);
}

static void try_softmax(call *c)
{
    softmax(c, false);
}

static void try_log_softmax(call *c)
{
    softmax(c, true);
}

static void try_softmax_backward(call *c)
{
    softmax_backward(c, false);
}

static void try_log_softmax_backward(call *c)
{
    softmax_backward(c, true);
}

// Labels (T) of rows of C; every third is to be ignored, but for the first rounds. The attributes.
typedef struct loss_case {
    int T, C;
    int32_t ignore, *label;
    samba_reduction reduction;
    double smoothing;
} loss_case;

static loss_case a_loss(call *c, bool logits)
{
    loss_case l;
    l.T = of_three("rows", pick(c, 1, 5, 40, 5, 33, 7), 1, 5, 40);
    l.C = of_three("classes", pick(c, 3, 7, 33, 64, 300, 1500), 3, 33, 300);
    bool ignores = either("a label to ignore", c->round > 1);
    l.ignore = ignores ? 2 : -100;
    l.label = indices(c, l.T, l.C);
    if (l.T == 1) l.label[0] = 0; // not to be ignored
    for (int t = 1; t < l.T; t += 3)
        l.label[t] = ignores ? 2 : 0;
    l.reduction = (samba_reduction)of_three("reduction", c->round % 3, 0, 1, 2);
    l.smoothing = logits && either("label_smoothing", c->round % 2) ? 0.25 : 0;
    attribute(c, (int32_t)l.reduction);
    attribute(c, l.ignore);
    return l;
}

// Of logits x, or of x = log(p).
static void loss(call *c, bool logits)
{
    loss_case l = a_loss(c, logits);
    float *x = numbers(c, l.T * l.C, -5, 5);
    double *logp = doubles(c, l.T * l.C), *row = doubles(c, l.T), *want = doubles(c, l.T);
    for (int i = 0; i < l.T * l.C; i++)
        logp[i] = (double)x[i];
    if (logits) ref_softmax_rows(logp, x, l.T, l.C, true);
    ref_losses(row, logp, l.label, l.T, l.C, l.ignore, l.smoothing);
    ref_reduce_losses(want, row, l.label, l.T, l.ignore, l.reduction);
    give_f32(c, SAMBA_SHAPE(l.T, l.C), x);
    give_i32(c, SAMBA_SHAPE(l.T), l.label);
    if (logits) attribute(c, samba_float_attr((float)l.smoothing));
    run(c);
    expect(c, 0, want, l.reduction == SAMBA_REDUCE_NONE ? l.T : 1, SUM_ERROR, SUM_ERROR * 4);
}

static void loss_backward(call *c, bool logits)
{
    loss_case l = a_loss(c, logits);
    bool none = l.reduction == SAMBA_REDUCE_NONE;
    float *x = numbers(c, l.T * l.C, -5, 5), *dloss = numbers(c, none ? l.T : 1, 0.5, 2);
    double *p = doubles(c, l.T * l.C), *of_row = doubles(c, l.T), *want = doubles(c, l.T * l.C);
    for (int t = 0; t < l.T; t++)
        of_row[t]
            = (double)dloss[none ? t : 0] * ref_loss_share(l.label, l.T, l.ignore, l.reduction);
    ref_softmax_rows(p, x, l.T, l.C, false);
    ref_losses_backward(want, of_row, logits ? p : NULL, l.label, l.T, l.C, l.ignore, l.smoothing);
    give_f32(c, none ? SAMBA_SHAPE(l.T) : samba_scalar_shape(), dloss);
    if (logits) give_f32(c, SAMBA_SHAPE(l.T, l.C), x);
    give_i32(c, SAMBA_SHAPE(l.T), l.label);
    attribute(c, logits ? samba_float_attr((float)l.smoothing) : l.C);
    run(c);
    expect(c, 0, want, l.T * l.C, SUM_ERROR, 4e-7);
}

static void try_cross_entropy(call *c)
{
    loss(c, true);
}

static void try_nll(call *c)
{
    loss(c, false);
}

static void try_cross_entropy_backward(call *c)
{
    loss_backward(c, true);
}

static void try_nll_backward(call *c)
{
    loss_backward(c, false);
}

// ---- Attention: two heads; with a mask in odd rounds, causal in some, with dropout in the last
// two --

typedef struct heads {
    ref_attention a; // of both heads: pointers to the first
    double *p, *lse, *y;
} heads;

static const uint64_t attention_key = 0x0123456789ABCDEFull;

static heads some_heads(call *c)
{
    heads h;
    memset(&h, 0, sizeof h);
    ref_attention *a = &h.a;
    a->T = of_three("queries", pick(c, 1, 5, 70, 200, 64, 33), 1, 64, 197);
    a->S = of_three("keys", pick(c, 1, 9, 70, 200, 130, 40), 9, 64, 130);
    a->D = of_three("size of keys", pick(c, 1, 4, 16, 8, 33, 8), 1, 8, 33);
    a->E = of_three("size of values", pick(c, 1, 3, 16, 8, 17, 8), 1, 8, 17);
    a->causal = either("causal", c->round == 2 || c->round == 3 || c->round == 5);
    bool masks = either("a mask", c->round % 2), drops = either("dropout", c->round >= 4);
    a->scale = (double)0.375f;
    a->q = numbers(c, 2 * a->T * a->D, -2, 2);
    a->k = numbers(c, 2 * a->S * a->D, -2, 2);
    a->v = numbers(c, 2 * a->S * a->E, -2, 2);
    if (masks) a->mask = numbers(c, a->T * a->S, -3, 3); // of both heads
    if (drops) {
        double *keep = doubles(c, 2 * a->T * a->S);
        for (int64_t i = 0; i < 2 * a->T * a->S; i++)
            keep[i] = ref_keep(attention_key, 77, 5, 0.25f, i);
        a->keep = keep;
    }
    h.p = doubles(c, 2 * a->T * a->S);
    h.lse = doubles(c, 2 * a->T);
    h.y = doubles(c, 2 * a->T * a->E);
    return h;
}

static ref_attention head_of(const heads *h, int i)
{
    ref_attention a = h->a;
    a.q += i * a.T * a.D;
    a.k += i * a.S * a.D;
    a.v += i * a.S * a.E;
    if (a.keep) a.keep += i * a.T * a.S;
    return a;
}

static void compute_heads(heads *h)
{
    for (int i = 0; i < 2; i++) {
        ref_attention a = head_of(h, i);
        ref_attention_p(&a, h->p + i * a.T * a.S, h->lse + i * a.T);
        ref_attention_y(&a, h->p + i * a.T * a.S, h->y + i * a.T * a.E);
    }
}

static void give_qkv(call *c, const ref_attention *a)
{
    give_f32(c, SAMBA_SHAPE(2, a->T, a->D), a->q);
    give_f32(c, SAMBA_SHAPE(2, a->S, a->D), a->k);
    give_f32(c, SAMBA_SHAPE(2, a->S, a->E), a->v);
}

static void give_dropout(call *c, const ref_attention *a)
{
    attribute(c, a->causal);
    attribute(c, samba_float_attr((float)a->scale));
    attribute(c, (int32_t)(attention_key >> 32));
    attribute(c, (int32_t)(uint32_t)attention_key);
    if (!a->keep) return;
    samba_set_train(c->s, true);
    give_float(c, 0.25f);
    give_int(c, 77);
    give_int(c, 5);
}

static void try_scaled_dot_product_attention(call *c)
{
    heads h = some_heads(c);
    const ref_attention *a = &h.a;
    compute_heads(&h);
    give_qkv(c, a);
    give_f32(c, SAMBA_SHAPE(a->T, a->S), a->mask);
    give_dropout(c, a);
    run(c);
    expect(c, 0, h.y, 2 * a->T * a->E, SUM_ERROR * 4, SUM_ERROR * 4);
    expect(c, 1, h.lse, 2 * a->T, SUM_ERROR, SUM_ERROR * 2);
}

static float *as_floats(call *c, const double *x, int64_t n)
{
    float *y = (float *)room(c, n, sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)x[i];
    return y;
}

static void try_scaled_dot_product_attention_backward(call *c)
{
    heads h = some_heads(c);
    const ref_attention *all = &h.a;
    int T = all->T, S = all->S, D = all->D, E = all->E;
    float *dy = numbers(c, 2 * T * E, -1, 1), *dlse = NULL;
    if (either("a gradient of lse", c->round % 3)) dlse = numbers(c, 2 * T, -1, 1);
    double *dq = doubles(c, 2 * T * D), *dk = doubles(c, 2 * S * D), *dv = doubles(c, 2 * S * E);
    compute_heads(&h);
    for (int i = 0; i < 2; i++) {
        ref_attention a = head_of(&h, i);
        ref_attention_backward(&a, h.p + i * T * S, dy + i * T * E, dlse ? dlse + i * T : NULL,
                               dq + i * T * D, dk + i * S * D, dv + i * S * E);
    }
    give_f32(c, SAMBA_SHAPE(2, T, E), dy);
    give_qkv(c, all);
    give_f32(c, SAMBA_SHAPE(2, T, E), as_floats(c, h.y, 2 * T * E));
    give_f32(c, SAMBA_SHAPE(2, T), as_floats(c, h.lse, 2 * T));
    give_f32(c, SAMBA_SHAPE(T, S), all->mask);
    give_f32(c, SAMBA_SHAPE(2, T), dlse);
    give_dropout(c, all);
    run(c);
    expect(c, 0, dq, 2 * T * D, SUM_ERROR * 10, SUM_ERROR * 10);
    expect(c, 1, dk, 2 * S * D, SUM_ERROR * 10, SUM_ERROR * 10);
    expect(c, 2, dv, 2 * S * E, SUM_ERROR * 10, SUM_ERROR * 10);
}

// ---- Optimizers ----

static double *as_doubles(call *c, const float *x, int64_t n)
{
    double *y = doubles(c, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

// Without momentum in round 1, without clipping in round 2.
static void try_sgd(call *c)
{
    int n = pick(c, 1, 7, 33, 130, 700, 64);
    ref_sgd o = { 1 + c->round,  (double)0.125f, (double)0.5f,     (double)0.75f,
                  (double)0.25f, 0.25,           c->round % 2 == 0 };
    float *w = numbers(c, n, -1, 1), *g = numbers(c, n, -1, 1),
          *v = c->round == 1 ? NULL : numbers(c, n, -1, 1);
    if (o.nesterov) o.dampening = 0;
    if (c->round == 2) o.clip = 1;
    double *new_w = as_doubles(c, w, n), *new_v = v ? as_doubles(c, v, n) : NULL;
    ref_sgd_step(&o, new_w, new_v, g, n);
    give_f32(c, SAMBA_SHAPE(n), w);
    give_f32(c, SAMBA_SHAPE(n), g);
    give_f32(c, SAMBA_SHAPE(n), v);
    give_int(c, o.step);
    give_float(c, (float)o.lr);
    give_float(c, (float)o.decay);
    give_float(c, (float)o.momentum);
    if (c->round != 2) give_float(c, (float)o.clip);
    attribute(c, samba_float_attr((float)o.dampening));
    attribute(c, o.nesterov);
    run(c);
    expect(c, 0, new_w, n, 3e-7, 3e-7);
    if (v) expect(c, 1, new_v, n, 3e-7, 3e-7);
}

// What comes of a product and a step of SGD without momentum, one after the other.
static void try_matmul_sgd(call *c)
{
    int M = pick(c, 1, 3, 17, 100, 5, 200), N = pick(c, 1, 5, 33, 16, 700, 70),
        K = pick(c, 1, 4, 20, 300, 1, 70);
    bool ta = c->round % 2, tb = c->round / 2 % 2;
    float *w = numbers(c, M * N, -1, 1), *a = numbers(c, M * K, -1, 1),
          *b = numbers(c, K * N, -1, 1);
    double *want = doubles(c, M * N);
    ref_matmul(want, a, ta, b, tb, M, N, K, false);
    for (int i = 0; i < M * N; i++) {
        float g = fmaf(0.5f, w[i], (float)want[i]);
        want[i] = (double)fmaf(-0.125f, g, w[i]);
    }
    give_f32(c, SAMBA_SHAPE(M, N), w);
    give_f32(c, ta ? SAMBA_SHAPE(K, M) : SAMBA_SHAPE(M, K), a);
    give_f32(c, tb ? SAMBA_SHAPE(N, K) : SAMBA_SHAPE(K, N), b);
    give_float(c, 0.125f);
    give_float(c, 0.5f);
    give_float(c, 0);
    attribute(c, ta);
    attribute(c, tb);
    run(c);
    expect(c, 0, want, M * N, EXACT, EXACT);
}

// With `most`, the largest v so far, it is amsgrad.
static void try_adam(call *c, bool amsgrad)
{
    int n = pick(c, 1, 7, 33, 130, 700, 64);
    ref_adamw o = { 1 + c->round * c->round, (double)0.01f, (double)0.125f, (double)0.9f,
                    (double)0.999f,          (double)1e-8f, (double)0.25f,  c->round % 2 == 0 };
    float *w = numbers(c, n, -1, 1), *g = numbers(c, n, -1, 1);
    float *m = numbers(c, n, -0.1, 0.1), *v = numbers(c, n, 0.01, 0.1);
    float *most = amsgrad ? numbers(c, n, 0.01, 0.1) : NULL;
    double *new_w = as_doubles(c, w, n), *new_m = as_doubles(c, m, n), *new_v = as_doubles(c, v, n);
    double *new_most = amsgrad ? as_doubles(c, most, n) : NULL;
    if (amsgrad)
        ref_amsgrad_step(&o, new_w, new_m, new_v, new_most, g, n);
    else
        ref_adamw_step(&o, new_w, new_m, new_v, g, n);

    give_f32(c, SAMBA_SHAPE(n), w);
    give_f32(c, SAMBA_SHAPE(n), g);
    give_f32(c, SAMBA_SHAPE(n), m);
    give_f32(c, SAMBA_SHAPE(n), v);
    if (amsgrad) give_f32(c, SAMBA_SHAPE(n), most);
    give_int(c, o.step);
    give_float(c, (float)o.lr);
    give_float(c, (float)o.decay);
    give_float(c, (float)o.b1);
    give_float(c, (float)o.b2);
    give_float(c, (float)o.eps);
    give_float(c, (float)o.clip);
    attribute(c, o.decoupled);
    run(c);
    expect(c, 0, new_w, n, 1e-6, 1e-6);
    expect(c, 1, new_m, n, 3e-7, 3e-8);
    expect(c, 2, new_v, n, 3e-7, 3e-8);
    if (amsgrad) expect(c, 3, new_most, n, 3e-7, 3e-8);
}

static void try_adamw(call *c)
{
    try_adam(c, false);
}

static void try_amsgrad(call *c)
{
    try_adam(c, true);
}

// Without momentum in round 1, without clipping in round 2.
static void try_mean_square(call *c, bool centered)
{
    int n = pick(c, 1, 7, 33, 130, 700, 64);
    ref_rmsprop o = { (double)0.01f, (double)0.125f, (double)0.875f,
                      (double)1e-3f, (double)0.75f,  (double)0.25f };
    float *w = numbers(c, n, -1, 1), *g = numbers(c, n, -1, 1), *v = numbers(c, n, 0.02, 0.1);
    float *mean = centered ? numbers(c, n, -0.1, 0.1) : NULL;
    float *buffer = c->round == 1 ? NULL : numbers(c, n, -1, 1);
    if (c->round == 2) o.clip = 1;

    double *new_w = as_doubles(c, w, n), *new_v = as_doubles(c, v, n);
    double *new_mean = centered ? as_doubles(c, mean, n) : NULL;
    double *new_buffer = buffer ? as_doubles(c, buffer, n) : NULL;
    ref_rmsprop_step(&o, new_w, new_v, new_mean, new_buffer, g, n);

    give_f32(c, SAMBA_SHAPE(n), w);
    give_f32(c, SAMBA_SHAPE(n), g);
    give_f32(c, SAMBA_SHAPE(n), v);
    if (centered) give_f32(c, SAMBA_SHAPE(n), mean);
    give_f32(c, SAMBA_SHAPE(n), buffer);
    give_int(c, 1 + c->round);
    give_float(c, (float)o.lr);
    give_float(c, (float)o.decay);
    give_float(c, (float)o.alpha);
    give_float(c, (float)o.eps);
    give_float(c, (float)o.momentum);
    if (c->round != 2) give_float(c, (float)o.clip);
    run(c);

    expect(c, 0, new_w, n, 1e-6, 1e-6);
    expect(c, 1, new_v, n, 3e-7, 3e-8);
    if (centered) expect(c, 2, new_mean, n, 3e-7, 3e-7);
    if (buffer) expect(c, centered ? 3 : 2, new_buffer, n, 1e-5, 1e-5);
}

static void try_rmsprop(call *c)
{
    try_mean_square(c, false);
}

static void try_rmsprop_centered(call *c)
{
    try_mean_square(c, true);
}

static void try_adagrad(call *c)
{
    int n = pick(c, 1, 7, 33, 130, 700, 64);
    ref_adagrad o = { 1 + 3 * c->round, (double)0.125f, (double)0.25f,
                      (double)0.02f,    (double)1e-3f,  (double)0.5f };
    float *w = numbers(c, n, -1, 1), *g = numbers(c, n, -1, 1), *sum = numbers(c, n, 0.01, 1);
    if (c->round == 2) o.clip = 1;
    double *new_w = as_doubles(c, w, n), *new_sum = as_doubles(c, sum, n);
    ref_adagrad_step(&o, new_w, new_sum, g, n);
    give_f32(c, SAMBA_SHAPE(n), w);
    give_f32(c, SAMBA_SHAPE(n), g);
    give_f32(c, SAMBA_SHAPE(n), sum);
    give_int(c, o.step);
    give_float(c, (float)o.lr);
    give_float(c, (float)o.decay);
    give_float(c, (float)o.lr_decay);
    give_float(c, (float)o.eps);
    if (c->round != 2) give_float(c, (float)o.clip);
    run(c);
    expect(c, 0, new_w, n, 5e-7, 5e-7);
    expect(c, 1, new_sum, n, 3e-7, 3e-8);
}

static void try_lion(call *c)
{
    int n = pick(c, 1, 7, 33, 130, 700, 64);
    ref_lion o = { (double)0.125f, (double)0.25f, (double)0.875f, (double)0.75f, (double)0.5f };
    float *w = numbers(c, n, -1, 1), *g = numbers(c, n, -1, 1), *m = numbers(c, n, -1, 1);
    if (c->round == 2) o.clip = 1;
    double *new_w = as_doubles(c, w, n), *new_m = as_doubles(c, m, n);
    ref_lion_step(&o, new_w, new_m, g, n);
    give_f32(c, SAMBA_SHAPE(n), w);
    give_f32(c, SAMBA_SHAPE(n), g);
    give_f32(c, SAMBA_SHAPE(n), m);
    give_int(c, 1 + c->round);
    give_float(c, (float)o.lr);
    give_float(c, (float)o.decay);
    give_float(c, (float)o.b1);
    give_float(c, (float)o.b2);
    if (c->round != 2) give_float(c, (float)o.clip);
    run(c);
    expect(c, 0, new_w, n, 3e-7, 3e-7);
    expect(c, 1, new_m, n, 3e-7, 3e-8);
}

static void try_clip_factor(call *c)
{
    float square_sum = number(c, (float)pick(c, 0, 1, 2, 9, 100, 4)), most = 2;
    double want = ref_clip_factor((double)square_sum, (double)most);
    give_float(c, square_sum);
    give_float(c, most);
    run(c);
    expect(c, 0, &want, 1, 3e-7, EXACT);
}

// ---- int8 ----

static int8_t *bytes(call *c, int64_t n)
{
    int8_t *x = (int8_t *)room(c, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int8_t)draw(256);
    return x;
}

// zero, least and most of y; relu in odd rounds
static const int32_t *a_target(call *c)
{
    int32_t *to = indices(c, 3, 256);
    to[0] -= 128;
    to[1] = c->round % 2 ? to[0] : -128;
    to[2] = c->round == 2 ? 100 : 127;
    if (to[1] > to[2]) to[1] = to[2];
    return to;
}

static void target_attributes(call *c, const int32_t *to)
{
    for (int i = 0; i < 3; i++)
        attribute(c, to[i]);
}

// Of sums of K products: y is spread over its 256 steps. One channel has the largest factor.
static int32_t *a_table(call *c, int channels, int K)
{
    int32_t *table = (int32_t *)room(c, 3 * channels, sizeof *table);
    double factor = 127 / (sqrt(K) * 74 * 74);
    for (int i = 0; i < channels; i++) {
        int shift = 30 - (int)floor(log2(factor));
        table[3 * i] = (int32_t)draw(20000) - 10000;
        table[3 * i + 1] = (int32_t)(factor * ldexp(0.5 + 0.49 * draw(1000) / 1000, shift));
        table[3 * i + 2] = shift;
    }
    table[1] = INT32_MAX;
    table[2] = c->round % 2 ? 0 : 62;
    return table;
}

static float *a_range(call *c)
{
    float *range = numbers(c, 3, 0, 0);
    if (c->round % 3 == 0) return range; // the first batch
    range[0] = c->round % 3 == 1 ? -0.25f : 0;
    range[1] = 0.75f;
    range[2] = 7;
    return range;
}

static void try_observe(call *c)
{
    int n = pick(c, 1, 7, 4096, 4097, 9000, 33);
    float *x = numbers(c, n, -0.5, 1), *range = a_range(c), momentum = c->round % 2 ? 0.125f : 0;
    if (c->round == 2) x[n - 1] = NAN;
    double *want = doubles(c, 3);
    give_f32(c, SAMBA_SHAPE(n), x);
    give_f32(c, SAMBA_SHAPE(3), range);
    attribute(c, samba_float_attr(momentum));
    run(c);
    ref_observe(range, x, n, (double)momentum);
    for (int i = 0; i < 3; i++)
        want[i] = (double)range[i];
    expect(c, 0, want, 3, 1e-7, EXACT);
}

// Round 4 has zeros alone, which have no range.
static void try_fake_quantize(call *c)
{
    int n = pick(c, 1, 7, 4096, 4097, 9000, 33), zero;
    float *x = numbers(c, n, c->round == 4 ? 0 : -0.5, c->round == 4 ? 0 : 1), *range = a_range(c),
          scale;
    double *want = doubles(c, n), *after = doubles(c, 3);
    give_f32(c, SAMBA_SHAPE(n), x);
    give_f32(c, SAMBA_SHAPE(3), range);
    attribute(c, samba_float_attr(0));
    bool stays = c->round == 1 || c->round == 5;
    samba_use_running_stats(c->s, stays);
    run(c);
    if (!stays) ref_observe(range, x, n, 0);
    ref_grid(range[0], range[1], &scale, &zero);
    for (int i = 0; i < n; i++)
        want[i] = ref_on_grid(x[i], scale, zero);
    for (int i = 0; i < 3; i++)
        after[i] = (double)range[i];
    expect(c, 0, want, n, EXACT, EXACT);
    expect(c, 1, after, 3, EXACT, EXACT);
}

static void try_fake_quantize_backward(call *c)
{
    int n = pick(c, 1, 7, 4096, 4097, 9000, 33), zero;
    float *x = numbers(c, n, -2, 2), *dy = numbers(c, n, -1, 1), range[3] = { -1, 0.5f, 1 }, scale;
    double *want = doubles(c, n);
    ref_grid(range[0], range[1], &scale, &zero);
    x[0] = range[1]; // an end of the range is in it
    for (int i = 0; i < n; i++) {
        double q = (double)(x[i] / scale) + zero;
        want[i] = q >= -128.5 && q <= 127.5 ? (double)dy[i] : 0;
        if (isnan(x[i])) want[i] = NAN;
    }
    give_f32(c, SAMBA_SHAPE(n), dy);
    give_f32(c, SAMBA_SHAPE(n), x);
    give_f32(c, SAMBA_SHAPE(3), range);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_fake_quantize_weight(call *c)
{
    int A = pick(c, 1, 1, 3, 2, 1, 4), M = pick(c, 1, 5, 3, 16, 40, 2),
        K = pick(c, 1, 9, 1, 33, 7, 5);
    float *w = numbers(c, A * M * K, -1, 1);
    double *want = doubles(c, A * M * K);
    if (c->round == 1) memset(w, 0, sizeof *w * (size_t)K); // a channel of zeros
    for (int i = 0; i < A * M * K; i++) {
        float most = 0;
        for (int k = 0; k < A * M * K; k++)
            if (k / K % M == i / K % M) most = (float)ref_max((double)most, fabs((double)w[k]));
        float scale = most < 1.5e-36f ? 1 : most / 127;
        want[i] = ref_on_grid(w[i], scale, 0);
    }
    give_f32(c, SAMBA_SHAPE(A, M, K), w);
    attribute(c, 1);
    run(c);
    expect(c, 0, want, A * M * K, EXACT, EXACT);
}

static void try_quantize(call *c)
{
    int n = pick(c, 8, 7, 4096, 4097, 9000, 33), zero = pick(c, 0, -128, 127, 5, -40, 100);
    float *x = numbers(c, n, -1, 1), scale = (float)ldexp(1, -pick(c, 2, 6, 7, 8, 7, 9)) * 0.9f;
    double *want = doubles(c, n);
    const float special[6] = { INFINITY, -INFINITY, 1e38f, -1e-40f, 2.5f * scale, -0.5f * scale };
    for (int i = 0; i < 6; i++)
        x[i] = special[i];
    for (int i = 0; i < n; i++)
        want[i] = ref_quantize(x[i], scale, zero);
    give_f32(c, SAMBA_SHAPE(n), x);
    attribute(c, samba_float_attr(scale));
    attribute(c, zero);
    run(c);
    CHECK(c->n_out && c->out[0]->dtype == SAMBA_I8);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_dequantize(call *c)
{
    int n = pick(c, 1, 7, 4096, 4097, 9000, 33), zero = pick(c, 0, -128, 127, 5, -40, 100);
    int8_t *x = bytes(c, n);
    double *want = doubles(c, n);
    for (int i = 0; i < n; i++)
        want[i] = ref_dequantize(x[i], 0.3f, zero);
    give(c, SAMBA_I8, SAMBA_SHAPE(n), x);
    attribute(c, samba_float_attr(0.3f));
    attribute(c, zero);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

// Factors and shifts at both of their ends, and between.
static void try_sum_int8(call *c, int inputs)
{
    int n = pick(c, 1, 7, 4096, 4097, 9000, 33), shift = pick(c, 21, 20, 30, 0, 22, 14);
    int8_t *x[2] = { bytes(c, n), bytes(c, n) };
    int32_t zero[2] = { pick(c, 0, -128, 127, 5, 127, -128), pick(c, 3, 100, 127, -5, 127, 0) };
    int32_t factor[2] = { pick(c, 1 << 21, 1 << 20, 1 << 21, 1, 1 << 21, 20000),
                          pick(c, 12345, 1 << 21, 1 << 21, 0, 1 << 21, 999) };
    const int32_t *to = a_target(c);
    double *want = doubles(c, n);
    for (int i = 0; i < n; i++) {
        const int8_t in[2] = { x[0][i], x[1][i] };
        want[i] = ref_sum_int8(in, zero, factor, inputs, shift, to);
    }
    for (int i = 0; i < inputs; i++)
        give(c, SAMBA_I8, SAMBA_SHAPE(n), x[i]);
    for (int i = 0; i < inputs; i++)
        attribute(c, zero[i]);
    for (int i = 0; i < inputs; i++)
        attribute(c, factor[i]);
    attribute(c, shift);
    target_attributes(c, to);
    run(c);
    expect(c, 0, want, n, EXACT, EXACT);
}

static void try_requantize(call *c)
{
    try_sum_int8(c, 1);
}

static void try_add_int8(call *c)
{
    try_sum_int8(c, 2);
}

// Round 5: as many products of the largest size as an int32 has room for.
static void try_affine_int8(call *c)
{
    int T = pick(c, 1, 3, 17, 64, 5, 2), K = pick(c, 1, 5, 33, 300, 64, 32768),
        N = pick(c, 1, 7, 32, 48, 100, 3);
    int8_t *x = bytes(c, T * K), *w = bytes(c, N * K);
    if (c->round == 5) memset(x, -128, (size_t)(T * K));
    if (c->round == 5) memset(w, -128, (size_t)(N * K));
    const int32_t *to = a_target(c), *table = a_table(c, N, K);
    double *want = doubles(c, T * N);
    ref_affine_int8(want, x, w, table, to, T, K, N);
    give(c, SAMBA_I8, SAMBA_SHAPE(T, K), x);
    give(c, SAMBA_I8, SAMBA_SHAPE(N, K), w);
    give_i32(c, SAMBA_SHAPE(N, 3), table);
    target_attributes(c, to);
    run(c);
    expect(c, 0, want, T * N, EXACT, EXACT);
}

static void convolution_int8(call *c, ref_conv g)
{
    c->n_in = c->n_attr = 0;
    samba_shape xs = conv_x(&g), ws = conv_w(&g), ys = conv_y(&g);
    ref_conv_int8 p = { bytes(c, samba_count(&xs)), bytes(c, samba_count(&ws)), NULL,
                        pick(c, 0, -128, 127, 5, -40, 100) };
    p.sum = (int64_t *)room(c, samba_count(&ys), sizeof *p.sum);
    const int32_t *to = a_target(c), *table = a_table(c, g.O, g.C / g.groups * g.KH * g.KW);
    double *want = doubles(c, samba_count(&ys));
    ref_convolution_int8(want, &g, &p, table, to);
    give(c, SAMBA_I8, xs, p.x);
    give(c, SAMBA_I8, ws, p.w);
    give_i32(c, SAMBA_SHAPE(g.O, 3), table);
    conv_attributes(c, &g);
    attribute(c, p.zero_x);
    target_attributes(c, to);
    run(c);
    expect(c, 0, want, samba_count(&ys), EXACT, EXACT);
}

// Rows of 1 ... 70 outputs, few channels or many, all that may lie beside x.
static ref_conv any_conv(void)
{
    int groups = 1 + (int)draw(3);
    ref_conv g = { .N = 1 + (int)draw(2),
                   .C = groups * (1 + (int)draw(3)),
                   .O = groups * (1 + (int)draw(11)),
                   .H = 5 + (int)draw(5),
                   .W = 5 + (int)draw(66),
                   .KH = 1 + (int)draw(4),
                   .KW = 1 + (int)draw(5),
                   .groups = groups };
    for (int i = 0; i < 2; i++) {
        g.stride[i] = 1 + (int)draw(3);
        g.dilation[i] = draw(4) ? 1 : 2;
        g.padding[i] = (int)draw(i ? 2 * (unsigned)g.KW : 4);
    }
    while (g.H + 2 * g.padding[0] <= g.dilation[0] * (g.KH - 1))
        g.H++;
    while (g.W + 2 * g.padding[1] <= g.dilation[1] * (g.KW - 1))
        g.W++;
    return g;
}

static void try_convolution_int8(call *c)
{
    ref_conv g = a_conv(c);
    if (c->round == 4) g.C = 80; // more terms than are copied at a time
    convolution_int8(c, g);
    for (int i = 0; i < 30 && !test_bad; i++) {
        g = any_conv();
        convolution_int8(c, g);
        if (test_bad)
            printf(
                "    x (%d,%d,%d,%d), w (%d,%d,%d), groups %d, stride %d,%d, padding %d,%d, dilation %d,%d\n",
                g.N, g.C, g.H, g.W, g.O, g.KH, g.KW, g.groups, g.stride[0], g.stride[1],
                g.padding[0], g.padding[1], g.dilation[0], g.dilation[1]);
    }
}

static void pool_int8(call *c, bool max)
{
    ref_pool g = a_pool(c, false);
    int zero = pick(c, 0, -128, 127, 5, -40, 100);
    int8_t *x = bytes(c, g.P * g.H * g.W);
    double *want = doubles(c, g.P * g.OH * g.OW);
    ref_pool_int8(want, &g, x, max, zero);
    give(c, SAMBA_I8, SAMBA_SHAPE(g.P, g.H, g.W), x);
    pool_attributes(c, &g, !max);
    if (!max) attribute(c, zero);
    run(c);
    expect(c, 0, want, g.P * g.OH * g.OW, EXACT, EXACT);
}

static void try_max_pool2d_int8(call *c)
{
    pool_int8(c, true);
}

static void try_avg_pool2d_int8(call *c)
{
    pool_int8(c, false);
}

// Numbers of i8 or u8, as input of the op, and as they are; or the largest one everywhere.
static int32_t *integers(call *c, samba_shape shape, bool with_sign, bool same)
{
    int64_t n = samba_count(&shape);
    int8_t *bits = bytes(c, n);
    int32_t *x = (int32_t *)room(c, n, sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        if (same) bits[i] = with_sign ? -128 : -1;
        x[i] = with_sign ? bits[i] : (uint8_t)bits[i];
    }
    give(c, with_sign ? SAMBA_I8 : SAMBA_U8, shape, bits);
    return x;
}

// The zeros of `each` rows or columns; one for all, or none.
static int32_t *integer_zeros(call *c, int each, bool with_sign, int given)
{
    int32_t *zero = (int32_t *)room(c, each, sizeof *zero);
    if (given == 0) {
        give(c, SAMBA_F32, SAMBA_SCALAR, NULL);
        return zero;
    }
    int32_t *drawn = integers(c, SAMBA_SHAPE(given), with_sign, false);
    for (int i = 0; i < each; i++)
        zero[i] = drawn[given == 1 ? 0 : i];
    return zero;
}

// All pairs of types, zeros of all kinds, edges of every tile, the largest sum that fits.
static void try_matmul_integer(call *c)
{
    const int rows[] = { 1, 2, 3, 4, 7, 11, 24, 193 };
    for (int i = 0; i < 12 && !test_bad; i++) {
        int T = rows[draw(8)], K = 1 + (int)draw(800), N = 1 + (int)draw(140);
        bool x_sign = i & 1, w_sign = i & 2, largest = c->round == 5 && i < 4;
        int kind_x = i / 4 % 3, kind_w = (i + c->round) % 3; // no zero, one, or many
        if (largest) {
            T = 2;
            K = 32768;
            N = 17;
        }
        c->n_in = c->n_attr = 0;
        int32_t *x = integers(c, SAMBA_SHAPE(T, K), x_sign, largest);
        int32_t *w = integers(c, SAMBA_SHAPE(K, N), w_sign, largest);
        int32_t *zero_x = integer_zeros(c, T, x_sign, kind_x == 2 ? T : kind_x);
        int32_t *zero_w = integer_zeros(c, N, w_sign, kind_w == 2 ? N : kind_w);
        double *want = doubles(c, T * N);
        ref_matmul_integer(want, x, w, zero_x, zero_w, T, K, N);
        run(c);
        expect(c, 0, want, T * N, EXACT, EXACT);
    }
}

// Scales of about 1 / k products, offsets, and a zero of y: of all kinds. Gives them.
static ref_end an_end(call *c, int channels, int k)
{
    ref_end e = { NULL, NULL, false, 0, 0 };
    int kind = (int)draw(4); // i32, f32, i8, u8
    float *scale = (float *)room(c, channels, sizeof *scale);
    float *offset = (float *)room(c, channels, sizeof *offset);
    bool one = draw(2), with_offset = draw(3) > 0;
    if (kind == 0) return e;

    for (int i = 0; i < channels; i++) {
        scale[i] = one && i ? scale[0] : (1.0f + (float)draw(100)) / (float)(60 * k + 40);
        offset[i] = with_offset ? (float)draw(1000) / 20.0f - 25.0f : 0.0f;
    }
    e.scale = scale;
    e.offset = offset;
    give_f32(c, one ? SAMBA_SCALAR : SAMBA_SHAPE(channels), scale);
    give(c, SAMBA_F32, SAMBA_SHAPE(channels), with_offset ? offset : NULL);
    if (kind == 1) return e;

    e.bytes = true;
    e.least = kind == 2 ? -128 : 0;
    e.zero = *integers(c, SAMBA_SCALAR, kind == 2, false);
    return e;
}

// Panels of 64 columns, of four steps side by side; beyond the last ones is 0.
static void give_packed_bytes(call *c, const int32_t *w, int K, int N)
{
    int panels = (N + 63) / 64, fours = (K + 3) / 4;
    int8_t *packed = (int8_t *)room(c, panels * fours * 256, 1);
    memset(packed, 0, (size_t)(panels * fours) * 256);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            packed[((n / 64 * fours + k / 4) * 64 + n % 64) * 4 + k % 4] = (int8_t)w[k * N + n];
    give(c, SAMBA_I8, SAMBA_SHAPE(panels, fours, 64, 4), packed);
}

static void try_affine_integer(call *c)
{
    const int rows[] = { 1, 2, 3, 4, 7, 11, 24, 193 };
    for (int i = 0; i < 12 && !test_bad; i++) {
        int T = rows[draw(8)], K = 1 + (int)draw(800), N = 1 + (int)draw(140),
            kind_w = (int)draw(3);
        c->n_in = c->n_attr = 0;
        int32_t *x = integers(c, SAMBA_SHAPE(T, K), i & 1, draw(8) == 0);
        int32_t *w = integers(c, SAMBA_SHAPE(K, N), true, draw(8) == 0);
        c->n_in--;
        give_packed_bytes(c, w, K, N);
        int32_t *zero_x = integer_zeros(c, T, i & 1, (int)draw(2));
        int32_t *zero_w = integer_zeros(c, N, true, kind_w == 2 ? N : kind_w);
        double *want = doubles(c, T * N);
        ref_matmul_integer(want, x, w, zero_x, zero_w, T, K, N);
        ref_end end = an_end(c, N, K);
        for (int k = 0; k < T * N; k++)
            want[k] = ref_byte_end(&end, (int64_t)want[k], k % N);
        attribute(c, N);
        run(c);
        expect(c, 0, want, T * N, EXACT, EXACT);
    }
}

static void convolution_integer(call *c, ref_conv g)
{
    c->n_in = c->n_attr = 0;
    samba_shape xs = conv_x(&g), ws = conv_w(&g), ys = conv_y(&g);
    bool x_sign = draw(2), w_sign = draw(2);
    int kind_w = (int)draw(3), area = ref_conv_side(&g, 0) * ref_conv_side(&g, 1);
    ref_conv_integer p = { NULL, NULL, NULL, NULL, 0, g.C / g.groups * g.KH * g.KW };
    p.x = integers(c, xs, x_sign, false);
    p.w = integers(c, ws, w_sign, false);
    p.zero_x = *integer_zeros(c, 1, x_sign, (int)draw(2));
    p.zero_w = integer_zeros(c, g.O, w_sign, kind_w == 2 ? g.O : kind_w);
    p.sum = (int64_t *)room(c, samba_count(&ys), sizeof *p.sum);
    memset(p.sum, 0, (size_t)samba_count(&ys) * sizeof *p.sum);
    ref_conv_each(&g, ref_conv_integer_term, &p);

    ref_end end = an_end(c, g.O, p.k);
    double *want = doubles(c, samba_count(&ys));
    for (int i = 0; i < samba_count(&ys); i++)
        want[i] = ref_byte_end(&end, p.sum[i], i / area % g.O);
    conv_attributes(c, &g);
    run(c);
    expect(c, 0, want, samba_count(&ys), EXACT, EXACT);
}

static void try_convolution_integer(call *c)
{
    ref_conv g = a_conv(c);
    if (c->round == 4) g.C = 80; // more terms than are packed at a time
    convolution_integer(c, g);
    for (int i = 0; i < 20 && !test_bad; i++) {
        g = any_conv();
        if (i % 4 == 0) g.C = g.O = g.groups = 1 + (int)draw(9); // depthwise
        if (i % 4 == 1) {                                        // read in place
            g.KH = g.KW = g.stride[0] = g.stride[1] = 1;
            g.padding[0] = g.padding[1] = 0;
        }
        if (i == 2) g.O = 200 * g.groups; // more than a block of rows
        convolution_integer(c, g);
        if (test_bad)
            printf(
                "    x (%d,%d,%d,%d), w (%d,%d,%d), groups %d, stride %d,%d, padding %d,%d, dilation %d,%d\n",
                g.N, g.C, g.H, g.W, g.O, g.KH, g.KW, g.groups, g.stride[0], g.stride[1],
                g.padding[0], g.padding[1], g.dilation[0], g.dilation[1]);
    }
}

// Numbers on the grid, between its points, and beyond its ends; in halves, which are rounded to
// even.
static void try_quantize_bytes(call *c)
{
    for (int with_sign = 0; with_sign < 2 && !test_bad; with_sign++) {
        c->n_in = 0;
        int n = 1 + (int)draw(9000), least = with_sign ? -128 : 0;
        float *x = numbers(c, n, -90, 90), scale = with_sign ? 0.25f : 0.3f;
        for (int i = 0; i < n && with_sign; i++)
            if (draw(2)) x[i] = (float)((int)draw(700) - 350) * 0.125f;
        give_f32(c, SAMBA_SHAPE(n), x);
        give_float(c, scale);
        int32_t zero = *integers(c, SAMBA_SCALAR, with_sign, false);
        double *want = doubles(c, n);
        for (int i = 0; i < n; i++)
            want[i] = ref_code(x[i], scale, zero, least);
        run(c);
        expect(c, 0, want, n, EXACT, EXACT);
    }
}

static void try_dequantize_bytes(call *c)
{
    for (int i = 0; i < 4 && !test_bad; i++) {
        c->n_in = 0;
        int n = 1 + (int)draw(5000);
        int32_t *x = integers(c, SAMBA_SHAPE(n), i & 1, false);
        give_float(c, 0.037f);
        int32_t zero = *integer_zeros(c, 1, i & 1, i / 2);
        double *want = doubles(c, n);
        for (int k = 0; k < n; k++)
            want[k] = (float)(x[k] - zero) * 0.037f;
        run(c);
        expect(c, 0, want, n, EXACT, EXACT);
    }
}

// Ranges with 0 inside, at an end, and beyond both; zeros alone.
static void try_quantize_dynamic(call *c)
{
    const float ends[4][2] = { { -3, 5 }, { 0, 2 }, { 2, 7 }, { -9, -1 } };
    for (int i = 0; i < 5 && !test_bad; i++) {
        c->n_in = 0;
        int n = 1 + (int)draw(9000);
        float *x = numbers(c, n, ends[i % 4][0], ends[i % 4][1]), least = 0, most = 0;
        for (int k = 0; k < n; k++) {
            if (i == 4) x[k] = 0;
            least = fminf(least, x[k]);
            most = fmaxf(most, x[k]);
        }
        float scale = fmaxf(most - least, 1e-35f) / 255.0f;
        double *want = doubles(c, n), want_scale = scale;
        double zero = ref_code(-least, scale, 0, 0);
        for (int k = 0; k < n; k++)
            want[k] = ref_code(x[k], scale, (int)zero, 0);
        give_f32(c, SAMBA_SHAPE(n), x);
        run(c);
        expect(c, 0, want, n, EXACT, EXACT);
        expect(c, 1, &want_scale, 1, EXACT, EXACT);
        expect(c, 2, &zero, 1, EXACT, EXACT);
    }
}

// ---- All ops ----

#define TRIALS(X) \
    X(full) \
    X(arange) \
    X(cast) \
    X(dropout) \
    X(noise) \
    X(count) \
    X(zero) \
    X(accumulate) \
    X(write_rows) \
    X(sum) \
    X(mean) \
    X(max) \
    X(argmax) \
    X(argsort) \
    X(square_sum) \
    X(matmul) \
    X(affine) \
    X(affine_packed) \
    X(matmul_accumulate) \
    X(reshape) \
    X(permute) \
    X(slice) \
    X(pad) \
    X(cat) \
    X(expand) \
    X(gather) \
    X(gather_backward) \
    X(sgd) \
    X(adamw) \
    X(amsgrad) \
    X(rmsprop) \
    X(rmsprop_centered) \
    X(adagrad) \
    X(lion) \
    X(clip_factor) \
    X(matmul_sgd) \
    X(convolution) \
    X(convolution_backward_input) \
    X(convolution_backward_weight) \
    X(max_pool2d) \
    X(max_pool2d_backward) \
    X(avg_pool2d) \
    X(avg_pool2d_backward) \
    X(batch_norm) \
    X(batch_norm_backward) \
    X(softmax) \
    X(softmax_backward) \
    X(log_softmax) \
    X(log_softmax_backward) \
    X(layer_norm) \
    X(layer_norm_backward) \
    X(rms_norm) \
    X(rms_norm_backward) \
    X(cross_entropy) \
    X(cross_entropy_backward) \
    X(nll) \
    X(nll_backward) \
    X(lookup) \
    X(lookup_packed) \
    X(lookup_backward) \
    X(lookup_accumulate) \
    X(scaled_dot_product_attention) \
    X(scaled_dot_product_attention_backward) \
    X(observe) \
    X(fake_quantize) \
    X(fake_quantize_backward) \
    X(fake_quantize_weight) \
    X(quantize) \
    X(dequantize) \
    X(requantize) \
    X(add_int8) \
    X(affine_int8) \
    X(convolution_int8) \
    X(affine_integer) \
    X(convolution_integer) \
    X(quantize_bytes) \
    X(dequantize_bytes) \
    X(quantize_dynamic) \
    X(max_pool2d_int8) \
    X(avg_pool2d_int8) \
    X(matmul_integer)

typedef struct trial {
    const char *name;
    void (*run)(call *c);
} trial;

#define TRIAL(name) { #name, try_##name },
static const trial trials[] = { TRIALS(TRIAL) };

enum { N_TRIALS = sizeof trials / sizeof *trials };

// ---- Values that are not finite, and extreme ones: in each array of each op, at three places ----

enum { N_ODD_VALUES = 9 };

static float odd_value(int i)
{
    const float value[N_ODD_VALUES]
        = { NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 3e38f, -3e38f, 1e-40f, -0.0f };
    return value[i];
}

// What differs from the definition on purpose; samba.h says so where it is computed. Such a number
// is NaN:
//   adamw, amsgrad, rmsprop, rmsprop_centered, adagrad
//                    of a state of infinity, which would stop the weight for good; of a weight that
//                    is NaN or infinite, also in its state
//   convolution      of an infinite weight times the zeros beside x
//   attention        of keys that a mask hides in blocks that others see: 0 times NaN
static bool may_be_nan(const call *c, float got)
{
    const char *const ops[] = { "adamw",   "amsgrad",     "rmsprop",
                                "adagrad", "convolution", "scaled_dot_product_attention" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strncmp(c->op, ops[i], strlen(ops[i]))) return got - got != 0;
    return false;
}

static const trial *find_trial(const char *name)
{
    for (int i = 0; i < N_TRIALS; i++)
        if (!strcmp(trials[i].name, name)) return &trials[i];
    return NULL;
}

static void try_op(const char *name, int round, bool portable)
{
    const ref_map *plain = ref_map_of(name);
    const trial *own = find_trial(name);
    samba_desc desc;
    call c;
    memset(&desc, 0, sizeof desc);
    memset(&c, 0, sizeof c);
    desc.portable = portable;
    desc.threads = 1 + round % 3;
    c.s = samba_open(&desc);
    c.op = name;
    c.round = round;
    CHECK(c.s);
    samba_set_tracing(c.s, false);
    if (plain)
        try_elementwise(&c, plain);
    else if (own)
        own->run(&c);
    samba_close(c.s);
    for (int i = 0; i < c.n_blocks; i++)
        free(c.block[i]);
}

static void plant(const char *name, int round, bool portable)
{
    int bad = test_bad;
    n_drawn = 0; // the same numbers for all kernels
    planted.n_arrays = 0;
    planted.hash = 0;
    try_op(name, round, portable);
    if (bad == test_bad) return;
    const char *const places[N_PLACES] = { "first", "in the middle", "last" };
    printf("    with %g %s in array %d of its numbers, with the %s kernels\n",
           (double)planted.value, places[planted.where], planted.array,
           portable ? "portable" : "fast");
}

// No byte stands for such a value: see quantize.c, byte_codes.c.
static bool ends_run(const char *name, float value)
{
    if (!strcmp(name, "quantize_dynamic")) return !isfinite(value);
    return (!strcmp(name, "quantize") || !strcmp(name, "quantize_bytes")) && isnan(value);
}

// Rows with a rest for every width of vectors; with the kernels of this processor and the portable
// ones, which have the same bits.
static void plant_everywhere(const char *name)
{
    planted.on = true;
    for (int round = 1; round <= 2; round++) {
        int n_arrays = 1;
        for (planted.array = 0; planted.array < n_arrays; planted.array++)
            for (int k = 0; k < N_ODD_VALUES * N_PLACES && !test_bad; k++) {
                // Sanitizers look at values, and at places: each of both, not all pairs.
                if (TEST_SANITIZED && k % N_PLACES != k / N_PLACES % N_PLACES) continue;
                planted.value = odd_value(k / N_PLACES);
                planted.where = (place)(k % N_PLACES);
                if (ends_run(name, planted.value)) continue;
                plant(name, round, false);
                n_arrays = planted.n_arrays;
                uint64_t fast = planted.hash;
                if (round == 1) plant(name, round, true);
                if (fast == planted.hash) continue;
                printf(
                    "%s has other bits with the portable kernels, round %d, %g at %d of array %d\n",
                    name, round, (double)planted.value, (int)planted.where, planted.array);
                test_bad++;
            }
    }
    planted.on = false;
}

// An op whose trial asks for attributes: all pairs, with the kernels of this processor. A failure
// tells them.
static void pair_attributes(const char *name)
{
    memset(&pairs, 0, sizeof pairs);
    pairs.on = true;
    do {
        pairs.n = 0;
        try_op(name, 1, false);
        new_pairs(pairs.choice, true);
        if (test_bad) print_attributes();
    } while (!test_bad && next_choice());
    pairs.on = false;
}

int main(int argc, char **argv)
{
    int judged = 0;
    for (int i = 0; i < SAMBA__N_OPS; i++) {
        const char *name = samba__op_table[i].name;
        if (argc > 1 && strcmp(argv[1], name)) continue;
        test_bad = 0;
        judged++;
        if (!ref_map_of(name) && !find_trial(name)) {
            printf("%s has no reference: write one in reference.h, and its trial here\n", name);
            test_bad++;
        }
        for (int round = 0; round < 2 * ROUNDS && !test_bad; round++) {
            try_op(name, round % ROUNDS, round >= ROUNDS);
            if (test_bad)
                printf("    with the %s kernels\n", round >= ROUNDS ? "portable" : "fast");
        }
        if (!test_bad) pair_attributes(name);
        if (!test_bad) plant_everywhere(name);
        test_end(name);
    }

    if (!judged) {
        printf("no op is called %s in samba__op_table\n0 passed, 1 failed\n", argv[1]);
        return 1;
    }
    return test_summary();
}
