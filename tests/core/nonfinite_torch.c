// NaN, infinities and -0 in functions that came after the first ops: tests/golden/nonfinite.txt has
// what PyTorch makes of them. Where samba.h differs on purpose, the table below says so.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

enum { MOST = 16, MOST_TENSORS = 4, LINE = 4096 };

typedef struct tensor {
    int n;
    float v[MOST];
} tensor;

typedef struct line_case {
    char name[32];
    tensor in[MOST_TENSORS], out[MOST_TENSORS], gradient;
    int n_in, n_out;
} line_case;

// ---- The functions ------------------------------------------------------------------------------

typedef samba_tensor *function(samba_tensor **in, samba_tensor **second);

#define MAP(name) \
    static samba_tensor *f_##name(samba_tensor **in, samba_tensor **second) \
    { \
        (void)second; \
        return samba_##name(in[0]); \
    }
#define CALL(name, call) \
    static samba_tensor *f_##name(samba_tensor **in, samba_tensor **second) \
    { \
        (void)second; \
        return call; \
    }
#define ROW_OF(x) samba_unsqueeze(x, 0)
MAP(sin)
MAP(cos)
MAP(erf)
MAP(log1p)
MAP(expm1)
MAP(floor)
MAP(ceil)
MAP(round)
MAP(sign)
MAP(reciprocal)
CALL(clamp, samba_clamp(in[0], -1, 2))
CALL(logsumexp, samba_logsumexp(in[0], SAMBA_AXES(0), false))
CALL(cumsum, samba_cumsum(in[0], 0))
CALL(prod, samba_prod(in[0], 0, false))
CALL(var, samba_var(in[0], SAMBA_AXES(0), 1, false))
CALL(std, samba_std(in[0], SAMBA_AXES(0), 1, false))
CALL(min, samba_min(in[0], SAMBA_AXES(0), false))
CALL(argmin, samba_cast(samba_argmin(in[0], 0, false), SAMBA_F32))
CALL(sort, samba_sort(in[0], 0, false, second))
CALL(sort_down, samba_sort(in[0], 0, true, second))
CALL(topk, samba_topk(in[0], 3, 0, true, NULL))
CALL(topk_least, samba_topk(in[0], 3, 0, false, NULL))
CALL(l1, samba_l1(in[0], in[1], SAMBA_REDUCE_MEAN))
CALL(smooth_l1, samba_smooth_l1(in[0], in[1], 1, SAMBA_REDUCE_MEAN))
CALL(huber, samba_huber(in[0], in[1], 1, SAMBA_REDUCE_MEAN))
CALL(bce, samba_bce_with_logits(in[0], in[1], NULL, SAMBA_REDUCE_MEAN))
CALL(kl_div, samba_kl_div(in[0], in[1], false, SAMBA_REDUCE_MEAN))

static samba_tensor *f_cosine_embedding(samba_tensor **in, samba_tensor **second)
{
    samba_tensor *a = ROW_OF(in[0]), *b = ROW_OF(in[1]);
    (void)second;
    return samba_cosine_embedding(a, b, samba_full(a->session, SAMBA_SHAPE(1), 1), 0,
                                  SAMBA_REDUCE_MEAN);
}

static samba_tensor *f_triplet_margin(samba_tensor **in, samba_tensor **second)
{
    samba_tensor *a = ROW_OF(in[0]), *p = ROW_OF(in[1]), *n = ROW_OF(in[2]);
    (void)second;
    return samba_triplet_margin(a, p, n, 1, SAMBA_REDUCE_MEAN);
}

static samba_tensor *f_cross_entropy_weighted(samba_tensor **in, samba_tensor **second)
{
    const int32_t class_one = 1;
    samba_session *s = in[0]->session;
    samba_tensor *x = ROW_OF(in[0]);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_I32, SAMBA_SHAPE(1), &class_one);
    (void)second;
    return samba_cross_entropy_weighted(x, t, in[1], NULL, false);
}

#define F(name) \
    { \
#name, f_##name \
    }

static const struct {
    const char *name;
    function *call;
} functions[] = { F(sin),
                  F(cos),
                  F(erf),
                  F(log1p),
                  F(expm1),
                  F(floor),
                  F(ceil),
                  F(round),
                  F(sign),
                  F(reciprocal),
                  F(clamp),
                  F(logsumexp),
                  F(cumsum),
                  F(prod),
                  F(var),
                  F(std),
                  F(min),
                  F(argmin),
                  F(sort),
                  F(sort_down),
                  F(topk),
                  F(topk_least),
                  F(l1),
                  F(smooth_l1),
                  F(huber),
                  F(bce),
                  F(kl_div),
                  F(cosine_embedding),
                  F(triplet_margin),
                  F(cross_entropy_weighted) };

static function *function_called(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return functions[i].call;
    return NULL;
}

// ---- The file -----------------------------------------------------------------------------------

// The tensors from *at on, up to "->" or the end of the line; how many.
static int read_tensors(char **at, tensor *list)
{
    int n = 0;
    while (n < MOST_TENSORS) {
        char *end;
        long count = strtol(*at, &end, 10);
        if (end == *at || count < 0 || count > MOST) break;
        list[n].n = (int)count;
        for (int i = 0; i < list[n].n; i++)
            list[n].v[i] = strtof(end, &end);
        *at = end;
        n++;
    }
    return n;
}

static bool read_case(FILE *f, line_case *c)
{
    static char line[LINE];
    memset(c, 0, sizeof *c);
    if (!fgets(line, sizeof line, f) || sscanf(line, "%31s", c->name) != 1) return false;
    char *at = line + strlen(c->name);
    c->n_in = read_tensors(&at, c->in);
    at = strstr(at, "->");
    if (!at) return false;
    at += 2;
    c->n_out = read_tensors(&at, c->out);

    int next = fgetc(f);
    if (next != 'd') return ungetc(next, f) == next || next == EOF;
    if (!fgets(line, sizeof line, f)) return false;
    at = line;
    return read_tensors(&at, &c->gradient) == 1;
}

// ---- Comparing ----------------------------------------------------------------------------------

// Zeros have a sign in values, but not in gradients, which are sums.
static bool alike(float got, float want, bool signs)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return want == got;
    if (signs && want == 0 && got == 0) return signbit(want) == signbit(got);
    return fabsf(got - want) <= 1e-6f + 2e-5f * fabsf(want);
}

// What differs on purpose, and how many numbers of the file do. OURS_IS_NAN: a NaN or an infinity
// is carried on, so that it is seen, where PyTorch hides it or has an infinity. THEIRS_IS_NAN: the
// number here is that of the definition, of which PyTorch's way to compute it makes 0 times
// infinity or the difference of two.
typedef enum { OURS_IS_NAN, THEIRS_IS_NAN, OURS_IS_ONE } way;

static struct {
    const char *name, *what, *why;
    way how;
    int n, seen;
} differs[] = {
    { "sign", "output", "torch.sign(NaN) is 0", OURS_IS_NAN, 1, 0 },
    { "clamp", "gradient", "through clamp a NaN passes, and so does what flows back", OURS_IS_ONE,
      1, 0 },
    { "prod", "gradient", "the product of the others is a number", THEIRS_IS_NAN, 18, 0 },
    { "var", "gradient", "the mean is infinite: what flows through it is NaN", OURS_IS_NAN, 26, 0 },
    { "std", "gradient", "as var", OURS_IS_NAN, 0, 0 },
    { "l1", "gradient", "the sign of NaN", OURS_IS_NAN, 8, 0 },
    { "bce", "output", "the limit for -inf is inf", THEIRS_IS_NAN, 4, 0 },
    { "kl_div", "output", "y (log y - x) is one product", THEIRS_IS_NAN, 3, 0 },
};

enum { N_DIFFERS = sizeof differs / sizeof *differs };

static bool is_meant(const line_case *c, const char *what, float got, float want)
{
    for (int i = 0; i < N_DIFFERS; i++) {
        way how = differs[i].how;
        bool fits = how == OURS_IS_NAN ? isnan(got) && !isnan(want)
            : how == THEIRS_IS_NAN     ? !isnan(got) && isnan(want)
                                       : got == 1 && want == 0;
        if (strcmp(differs[i].name, c->name) || strcmp(differs[i].what, what) || !fits) continue;
        differs[i].seen++;
        return true;
    }
    return false;
}

static int n_different;

static void compare(const line_case *c, const char *what, samba_tensor *t, const tensor *want,
                    bool signs)
{
    float got[MOST];
    bool there
        = t && samba_count(&t->shape) == want->n && samba_copy_out_f32(t, got, (size_t)want->n);
    CHECK(there);
    if (!there) printf("    %s has no %s\n", c->name, what);
    for (int i = 0; there && i < want->n; i++) {
        if (alike(got[i], want->v[i], signs)) continue;
        if (is_meant(c, what, got[i], want->v[i])) continue;
        n_different++;
        printf("    %s, %s %d: %g, PyTorch has %g; inputs", c->name, what, i, (double)got[i],
               (double)want->v[i]);
        for (int k = 0; k < c->in[0].n; k++)
            printf(" %g", (double)c->in[0].v[k]);
        printf("\n");
    }
}

static void try_case(const line_case *c)
{
    char name[8];
    samba_tensor *in[MOST_TENSORS], *second = NULL;
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_set_tracing(s, false);
    for (int i = 0; i < c->n_in; i++) {
        snprintf(name, sizeof name, "in%d", i);
        in[i] = samba_from_data_copy(s, name, SAMBA_F32, SAMBA_SHAPE(c->in[i].n), c->in[i].v);
    }

    function *call = function_called(c->name);
    CHECK(call != NULL);
    samba_tensor *y = call ? call(in, &second) : NULL;
    bool is_map = c->out[0].n == c->in[0].n && c->n_in == 1 && strcmp(c->name, "cumsum");
    compare(c, "output", y, &c->out[0], is_map);
    if (c->n_out > 1) compare(c, "index", samba_cast(second, SAMBA_F32), &c->out[1], false);
    if (c->gradient.n) {
        samba_tensor *sum = samba_sum(y, SAMBA_ALL_AXES, false);
        compare(c, "gradient", samba_grad(sum, in[0]), &c->gradient, false);
    }
    CHECK(samba_close(s) == 0);
}

static void test_as_torch(void)
{
    line_case c;
    int n = 0;
    FILE *f = fopen(GOLDEN_DIR "/nonfinite.txt", "r");
    CHECK(f != NULL);
    for (; f && read_case(f, &c); n++)
        try_case(&c);
    printf("%d cases, %d numbers differ\n", n, n_different);
    CHECK(n > 300 && n_different == 0);
    for (int i = 0; i < N_DIFFERS; i++) {
        if (differs[i].seen != differs[i].n)
            printf("    %s, %s: %d numbers differ, not %d\n", differs[i].name, differs[i].what,
                   differs[i].seen, differs[i].n);
        CHECK(differs[i].seen == differs[i].n);
    }
    if (f) fclose(f);
}

int main(void)
{
    RUN(test_as_torch);
    return test_summary();
}
