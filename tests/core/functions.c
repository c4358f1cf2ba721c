// Functions and layers made of ops, where PyTorch's values (ops) and quotients (gradcheck) do not
// reach: noise, states that are passed on, lengths, batches in parts, what is not finite, and
// misuse.
//     cc -O2 -I. tests/core/functions.c -lm -pthread -o functions && ./functions
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <string.h>

static samba_session *eager(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 2 });
    samba_set_tracing(s, false);
    return s;
}

static bool said(samba_session *s, const char *what)
{
    bool found = strstr(samba_error(s), what) != NULL;
    if (!found) printf("    %s\n", samba_error(s));
    samba_clear_error(s);
    return found;
}

static bool same(samba_tensor *a, samba_tensor *b)
{
    return a && b && samba_bytes(a) == samba_bytes(b)
        && !memcmp(samba_read(a), samba_read(b), samba_bytes(a));
}

// ---- A row of padding ---------------------------------------------------------------------------

// What stands in the row is read, and only the others learn, a NaN that flows there or not.
static void test_padding(void)
{
    const float table[6] = { 1, 2, 3, 4, 5, 6 };
    const float dy[8] = { NAN, 10, 1, 2, 3, 4, INFINITY, 20 };
    const int32_t at[4] = { 1, 0, 2, 1 };
    for (int32_t padding = -2; padding <= 1; padding += 3) {
        samba_session *s = eager();
        samba_tensor *w = samba_from_data_copy(s, "w", SAMBA_F32, SAMBA_SHAPE(3, 2), table);
        samba_tensor *ids = samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(2, 2), at);
        samba_tensor *r = samba_from_data_copy(s, "r", SAMBA_F32, SAMBA_SHAPE(2, 2, 2), dy);
        samba_tensor *y = samba_lookup_padded(ids, w, padding);
        samba_tensor *loss = samba_sum(samba_mul(y, r), SAMBA_ALL_AXES, false);
        const float *v = samba_read(y), *dw = samba_read(samba_grad(loss, w));
        CHECK(v[0] == 3 && v[1] == 4 && v[2] == 1 && v[5] == 6 && v[7] == 4);
        CHECK(dw[0] == 1 && dw[1] == 2 && dw[2] == 0 && dw[3] == 0 && dw[4] == 3 && dw[5] == 4);
        CHECK(!samba_lookup_padded(ids, w, 3) && said(s, "row 3 of padding is not one of 3"));
        CHECK(!samba_lookup_padded(ids, w, -4) && said(s, "row -4 of padding"));
        CHECK(!samba_lookup_padded(NULL, w, 0) && !samba_lookup_padded(ids, NULL, 0));
        samba_clear_error(s);
        CHECK(samba_close(s) == 0);
    }
    test_end("padding");
}

// ---- Noise --------------------------------------------------------------------------------------

enum { MANY = 20000 };

static void test_distributions(void)
{
    for (int normal = 0; normal < 2; normal++) {
        samba_session *s = eager();
        samba_tensor *like = samba_full(s, SAMBA_SHAPE(MANY), NAN); // only its shape is read
        samba_tensor *y = normal ? samba_randn_like(like, "n") : samba_rand_like(like, "n");
        const float *v = samba_read(y);
        double sum = 0, square = 0, least = 1e9, most = -1e9;
        for (int i = 0; i < MANY; i++) {
            sum += (double)v[i];
            square += (double)v[i] * (double)v[i];
            least = fmin(least, (double)v[i]);
            most = fmax(most, (double)v[i]);
        }
        double mean = sum / MANY, variance = square / MANY - mean * mean;
        CHECK(fabs(mean - (normal ? 0 : 0.5)) < 0.03);
        CHECK(fabs(variance - (normal ? 1 : 1.0 / 12)) < 0.03);
        CHECK(normal ? least < -3 && most > 3 && most < 7 : least >= 0 && most < 1);
        CHECK(samba_close(s) == 0);
    }
    test_end("distributions");
}

// The rows of a batch in parts are those of the whole batch; each run that trains draws anew, one
// that does not draws again what was drawn last; another seed draws other numbers.
static void noise_program(samba_session *s, int rows, int parts, float *y)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, 5));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1), (samba_init){ .value = 1 });
    samba_tensor *z = samba_add(samba_mul(x, w), samba_randn_like(x, "z"));
    samba_name(z, "noisy");
    samba_tensor *loss = samba_mean(samba_mul(z, z), SAMBA_ALL_AXES, false);
    samba_program p = { .outputs = { z, loss },
                        .loss_indices = { 1 },
                        .n_loss_indices = 1,
                        .microbatches = parts,
                        .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p) && samba_zero_inputs(s));
    CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_copy_out(z, y, 6 * 5 * sizeof *y));
}

static void test_noise_of_batches(void)
{
    float whole[30], parts[30], again[30], later[30], other[30];
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    noise_program(s, 6, 1, whole);
    CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
    samba_tensor *z = samba_tensor_by_name(s, "noisy");
    CHECK(samba_copy_out(z, later, sizeof later) && memcmp(whole, later, sizeof later));
    CHECK(samba_eval(s) && samba_copy_out(z, again, sizeof again));
    CHECK(!memcmp(again, later, sizeof again));
    CHECK(samba_set(s, "z__seed", 7) && samba_eval(s) && samba_copy_out(z, other, sizeof other));
    CHECK(memcmp(other, later, sizeof other));
    CHECK(samba_close(s) == 0);

    for (int n = 2; n <= 3; n++) {
        s = samba_open(&(samba_desc){ .quiet = true });
        noise_program(s, 6 / n, n, parts);
        CHECK(!memcmp(whole, parts, sizeof whole)); // 10 or 15 numbers a part: amid a block
        CHECK(samba_close(s) == 0);
    }
    test_end("noise of batches");
}

// ---- Recurrent layers ---------------------------------------------------------------------------

typedef samba_tensor *(*recurrent_fn)(samba_tensor *x, const char *name, int32_t hidden,
                                      const samba_recurrent_opts *opts,
                                      samba_recurrent_state *last);

static const recurrent_fn kinds[3] = { samba_lstm, samba_gru, samba_rnn };

// Two halves, of which the second goes on from the state of the first, are the whole, to the bit.
static void test_states_go_on(void)
{
    for (int k = 0; k < 3; k++) {
        samba_session *s = eager();
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 8, 3));
        samba_recurrent_state half, end, all;
        samba_recurrent_opts opts = { .layers = 2 };
        samba_tensor *whole = kinds[k](x, "r", 4, &opts, &all);
        samba_tensor *first = kinds[k](samba_slice(x, 1, 0, 5, 1), "r", 4, &opts, &half);
        opts.first = half;
        samba_tensor *second = kinds[k](samba_slice(x, 1, 5, 8, 1), "r", 4, &opts, &end);
        CHECK(same(samba_cat((samba_tensor *[]){ first, second }, 2, 1), whole));
        CHECK(same(end.h, all.h) && (k > 0 || same(end.c, all.c)));
        CHECK(samba_close(s) == 0);
    }
    test_end("states go on");
}

// What stands behind the end of a text does not count, not even a NaN; a text without words keeps
// its first state; other texts are not touched.
static void test_lengths(void)
{
    for (int k = 0; k < 3; k++) {
        samba_session *s = eager();
        float words[3 * 4 * 2], more[3 * 4 * 2];
        for (int i = 0; i < 24; i++)
            words[i] = more[i] = 0.1f * (float)(i % 7) - 0.2f;
        for (int i = 0; i < 24; i++)
            if ((i / 8 == 0 && i / 2 % 4 > 1) || i / 8 == 1) more[i] = i % 2 ? NAN : INFINITY;
        samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 4, 2), words);
        samba_tensor *y = samba_from_data_copy(s, "y", SAMBA_F32, SAMBA_SHAPE(3, 4, 2), more);
        samba_recurrent_state a, b;
        samba_recurrent_opts opts = { .bidirectional = true };
        opts.lengths
            = samba_from_data_copy(s, "n", SAMBA_I32, SAMBA_SHAPE(3), (int32_t[]){ 2, 0, 4 });
        opts.first.h = samba_full(s, SAMBA_SHAPE(2, 3, 3), 0.25f);
        samba_tensor *p = kinds[k](x, "r", 3, &opts, &a), *q = kinds[k](y, "r", 3, &opts, &b);
        CHECK(same(p, q) && same(a.h, b.h));
        const float *h = samba_read(a.h), *out = samba_read(p);
        CHECK(h[3] == 0.25f && h[9 + 3] == 0.25f); // of text 1, in both directions
        for (int i = 0; i < 24; i++)
            CHECK(out[24 + i] == 0 && (i < 12 || out[i] == 0));
        CHECK(samba_close(s) == 0);
    }
    test_end("lengths");
}

static double trained(int rows, int parts)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(rows, 4, 3));
    samba_tensor *n = samba_input(s, "n", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_recurrent_opts opts = { .bidirectional = true, .lengths = n };
    samba_tensor *y = samba_gru(x, "r", 5, &opts, NULL);
    samba_program p = { .loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false),
                        .microbatches = parts,
                        .optim = { .kind = SAMBA_SGD, .lr = 0.5f } };
    float data[4 * 4 * 3];
    for (int i = 0; i < 48; i++)
        data[i] = 0.3f * (float)(i % 5) - 0.5f;
    CHECK(samba_compile(s, &p) && samba_write(x, data)
          && samba_write(n, (int32_t[]){ 4, 1, 3, 2 }));
    for (int i = 0; i < 3; i++)
        CHECK(samba_run(s, 0));
    double loss = (double)samba_read(p.loss)[0];
    CHECK(samba_close(s) == 0);
    return loss;
}

static void test_parts_of_texts(void)
{
    double whole = trained(4, 1);
    CHECK(whole > 0 && fabs(trained(2, 2) - whole) < 1e-6 * whole);
    CHECK(fabs(trained(1, 4) - whole) < 1e-6 * whole);
    test_end("parts of texts");
}

// ---- Misuse: what, where, and the shapes --------------------------------------------------------

static void test_misuse(void)
{
    samba_session *s = eager();
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3, 4)), *flat = samba_flatten(x, 0);
    samba_recurrent_opts opts = { .lengths = samba_cast(flat, SAMBA_I32) };
    samba_recurrent_state last = { x, x };
    CHECK(!samba_lstm(flat, "r", 4, NULL, &last) && !last.h && !last.c
          && said(s, "must be (N,T,k)"));
    CHECK(!samba_gru(x, "r", 4, &opts, NULL) && said(s, "must be (2)"));
    opts = (samba_recurrent_opts){ .first = { x, NULL } };
    CHECK(!samba_rnn(x, "r", 4, &opts, NULL) && said(s, "must be (1,2,4)"));
    CHECK(!samba_rnn(x, NULL, 4, NULL, NULL) && said(s, "needs a name"));
    CHECK(!samba_rnn(x, "r", 0, NULL, NULL) && said(s, "at least 1"));
    CHECK(!samba_lstm(NULL, "r", 4, NULL, NULL) && samba_ok(s));

    CHECK(!samba_topk(flat, 0, 0, true, NULL) && said(s, "k is 0"));
    CHECK(!samba_topk(flat, 25, 0, true, NULL) && said(s, "25 of 24"));
    CHECK(!samba_cumsum(flat, 1) && said(s, "axis 1 is out of range"));
    CHECK(!samba_prod(flat, -2, false) && said(s, "out of range"));
    CHECK(!samba_index_select(x, 0, x) && said(s, "a list is needed"));
    CHECK(!samba_randn_like(x, "") && said(s, "needs a name"));
    CHECK(!samba_arange(s, 0, 0, 1) && said(s, "make it 1 or more"));
    CHECK(!samba_group_normalize(x, 2, NULL, NULL, 0) && said(s, "a multiple of groups 2"));
    CHECK(!samba_conv_transpose(x, x, NULL, NULL) && said(s, "samba_conv_transpose"));
    CHECK(!samba_interpolate(flat, 2, 2, SAMBA_NEAREST, false) && said(s, "cannot be made (2,2)"));
    CHECK(!samba_rotary(flat, NULL, 1e4f, false) && said(s, "(*,T,D) with D even"));
    CHECK(!samba_attention_heads(x, x, x, NULL) && said(s, "H a multiple of G"));
    CHECK(!samba_huber(x, x, 0, SAMBA_REDUCE_MEAN) && said(s, "delta 0"));
    CHECK(!samba_smooth_l1(x, x, -1, SAMBA_REDUCE_MEAN) && said(s, "beta -1"));
    CHECK(!samba_l1(x, x, (samba_reduction)7) && said(s, "reduction 7"));
    CHECK(!samba_ctc(x, x, flat, flat, 0, false) && said(s, "a blank below C"));
    CHECK(samba_close(s) == 0);
    test_end("misuse");
}

int main(void)
{
    test_padding();
    test_distributions();
    test_noise_of_batches();
    test_states_go_on();
    test_lengths();
    test_parts_of_texts();
    test_misuse();
    return test_summary();
}
