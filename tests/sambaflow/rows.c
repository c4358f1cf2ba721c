// One test for each row of SambaFlow's programming model, each of which proves the meaning.
// run: threads
//     rows          runs them, and looks whether ROWS.md has the table
//     rows table    prints the table
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_LOSS_IMPLEMENTATION
#define SAMBA_MULTIGRAPH_IMPLEMENTATION
#define SAMBA_SCHEDULE_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_DOT_GRAPH_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/dot_graph.h"
#include "tools/include/samba/driver.h"
#include "tools/include/samba/loss.h"
#include "tools/include/samba/multigraph.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/torch_names.h"
#include "tools/include/samba/schedule.h"
#include "tests/lib/test.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { B = 6, F = 5, C = 3 };

// Two layers over (B,F) -> (B,C); the loss is the mean cross entropy.
typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *out, *loss;
} net;

static net traced(float rate)
{
    net n = { samba_open(NULL), NULL, NULL, NULL, NULL };
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    n.label = samba_randint(n.s, "label", C, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "fc1", 7));
    if (rate > 0) h = samba_dropout(h, "drop", rate);
    n.out = samba_linear(h, "fc2", C);
    n.loss = samba_cross_entropy(n.out, n.label);
    return n;
}

static samba_program sgd(samba_tensor *loss, samba_tensor *out)
{
    samba_program p = { .loss = loss, .outputs = { out } };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f };
    return p;
}

static net trained(float rate)
{
    net n = traced(rate);
    samba_program p = sgd(n.loss, n.out);
    CHECK(samba_compile(n.s, &p));
    return n;
}

static bool says(samba_session *s, const char *text)
{
    bool found = strstr(samba_error(s), text) != NULL;
    if (!found) printf("\"%s\" is not in: %s\n", text, samba_error(s));
    samba_clear_error(s);
    return found;
}

// The values of a tensor of at most 64 elements.
typedef struct values {
    float at[64];
} values;

static values copied(samba_tensor *t)
{
    values v = { { 0 } };
    CHECK(t && samba_copy_out(t, v.at, samba_bytes(t)));
    return v;
}

static values named(samba_session *s, const char *name)
{
    return copied(samba_tensor_by_name(s, name));
}

static bool same(values a, values b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

// ---- Tensors ----

static void row_names(void)
{
    net n = traced(0);
    CHECK(!strcmp(n.x->name, "x") && n.x->batch_dim == 0 && n.x->dtype == SAMBA_F32);
    CHECK(!samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(2)) && says(n.s, "x"));
    CHECK(samba_set_batch_dim(n.x, -1)->batch_dim == -1);
    CHECK(samba_close(n.s) == 0);
    samba_session *s = samba_open(NULL); // t1 + t2, t.reshape(-1, 5)
    samba_set_tracing(s, false);
    samba_tensor *a = samba_ones(s, "a", SAMBA_F32, SAMBA_SHAPE(10)), *b = samba_add(a, a);
    CHECK(samba_read(b)[9] == 2);
    samba_tensor *c = samba_reshape(b, SAMBA_SHAPE(-1, 5));
    CHECK(c && c->shape.ndim == 2 && c->shape.dim[0] == 2 && c->shape.dim[1] == 5);
    CHECK(samba_close(s) == 0);
}

static void row_sn_grad(void)
{
    net n = trained(0);
    CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD));
    samba_tensor *w = samba_tensor_by_name(n.s, "fc2__bias"), *g = samba_sn_grad(w);
    CHECK(g && !strcmp(g->name, "fc2__bias__grad") && samba_read(g)[0] != 0);
    float sum = samba_read(g)[0] + samba_read(g)[1] + samba_read(g)[2];
    CHECK(fabsf(sum) < 1e-6f); // softmax minus one-hot sums to 0
    CHECK(!samba_sn_grad(n.x) && says(n.s, "no gradient"));
    CHECK(samba_close(n.s) == 0);
}

static void row_cpu_rdu(void)
{
    net n = trained(0);
    samba_tensor *w = samba_tensor_by_name(n.s, "fc2__bias");
    float *host = (float *)samba_cpu(w), before = host[0];
    CHECK(!samba_is_stale(w));
    CHECK(samba_run(n.s, 0));
    CHECK(samba_is_stale(w) && host[0] == before && samba_read(w)[0] != before);
    CHECK(samba_cpu(w) == host && host[0] == samba_read(w)[0] && !samba_is_stale(w));
    host[0] = 3;
    CHECK(samba_rdu(w) && samba_read(w)[0] == 3 && !samba_is_stale(w));
    CHECK(samba_close(n.s) == 0);
}

static void row_from_data(void)
{
    samba_session *s = samba_open(NULL);
    float data[4] = { 1, 2, 3, 4 };
    samba_tensor *a = samba_from_data(s, "a", SAMBA_F32, SAMBA_SHAPE(4), data);
    samba_tensor *b = samba_from_data_copy(s, "b", SAMBA_F32, SAMBA_SHAPE(4), data);
    data[0] = 9;
    CHECK(samba_read(a)[0] == 9 && samba_read(b)[0] == 1);
    CHECK(samba_close(s) == 0);
}

// Inputs that are built anew for each run (get_runtime_inputs): the same tensors with other data.
// While tracing, and for what is no input, a name that is taken stays an error.
static void row_feed_again(void)
{
    const samba_shape shape = SAMBA_SHAPE(2, 3);
    for (int loaded = 0; loaded < 2; loaded++) {
        samba_session *s = samba_open(NULL);
        float first[6] = { 1 }, kept = 0;
        if (!loaded) {
            samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, shape, first),
                         *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2));
            CHECK(!samba_from_data(s, "x", SAMBA_F32, shape, first) && says(s, "x is used twice"));
            samba_tensor *y = samba_add(
                samba_scale(x, 2),
                samba_lookup(ids, samba_param(s, "w", SAMBA_SHAPE(4, 3), (samba_init){ 0 })));
            CHECK(samba_compile(s,
                                &(samba_program){ .pef = "build/rows_again.pef",
                                                  .outputs = { y },
                                                  .inference = true }));
            CHECK(samba_save(s, "build/rows_again.pef"));
        } else
            CHECK(samba_load(s, "build/rows_again.pef", NULL));
        samba_tensor *x = samba_tensor_by_name(s, "x"), *y = samba_tensor_by_name(s, "add_3"),
                     *in[2];
        if (!y) {
            samba_clear_error(s);
            y = samba_tensor_by_name(s, "add_2");
        }
        samba_session_run_desc d = { .inputs = in, .n_inputs = 2, .outputs = &y, .n_outputs = 1 };
        for (int step = 1; step < 12; step++) {
            float data[6] = { (float)step, 0, 0, 0, 0, 0.5f }, want = (float)step;
            int32_t id[2] = { step % 4, 0 };
            in[0] = step % 3 == 1 ? samba_from_data(s, "x", SAMBA_F32, shape, data)
                : step % 3 == 2   ? samba_from_data_copy(s, "x", SAMBA_F32, shape, data)
                                  : samba_rand(s, "x", shape);
            in[1] = samba_from_data(s, "ids", SAMBA_I32, SAMBA_SHAPE(2), id);
            CHECK(in[0] == x && in[1] && in[1]->data == (void *)id
                  && (step % 3 == 1) == (x->data == (void *)data));
            if (step % 3 == 0) want = ((float *)x->data)[0];
            if (step > 1) CHECK(samba_run(s, 0) && samba_read(y)[0] == 2 * kept); // not sent yet
            CHECK(samba_session_run(s, &d) && ((float *)y->data)[0] == 2 * want
                  && data[0] == (float)step && data[5] == 0.5f);
            kept = want;
        }
        CHECK(first[0] == 1 && samba_input(s, "x", SAMBA_F32, shape) == x);
        float *host = (float *)samba_cpu(x);
        host[0] = 7; // its own host copy again, either way
        CHECK(samba_from_data(s, "x", SAMBA_F32, shape, host) == x
              && samba_from_data_copy(s, "x", SAMBA_F32, shape, host) == x);
        d.n_inputs = 1;
        CHECK(samba_session_run(s, &d) && ((float *)y->data)[0] == 14);
        CHECK(!samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 3), first)
              && says(s, "x is f32 (3,3) here, but f32 (2,3) in the loaded program"));
        CHECK(!samba_zeros(s, "x", SAMBA_I32, shape)
              && says(s, "x is i32 (2,3) here, but f32 (2,3)"));
        CHECK(!samba_from_data(s, "w", SAMBA_F32, SAMBA_SHAPE(4, 3), first)
              && says(s, "w is used twice"));
        CHECK(samba_update_tensor(s, "x", NULL) && samba_ones(s, "x", SAMBA_F32, shape) == x
              && samba_tensor_by_name(s, "x") == x);
        CHECK(samba_session_run(s, &d) && ((float *)y->data)[0] == 2 && samba_close(s) == 0);
    }
}

static void row_random(void)
{
    values first[3], again[3];
    for (int i = 0; i < 2; i++) {
        samba_session *s = samba_open(NULL);
        values *v = i ? again : first;
        v[0] = copied(samba_randn(s, "n", SAMBA_SHAPE(8, 8)));
        v[1] = copied(samba_rand(s, "u", SAMBA_SHAPE(8, 8)));
        samba_tensor *k = samba_randint(s, "i", 10, SAMBA_SHAPE(8, 8));
        v[2] = copied(k);
        for (int j = 0; j < 64; j++)
            CHECK(v[1].at[j] >= 0 && v[1].at[j] < 1);
        for (int j = 0; j < 64; j++)
            CHECK(samba_read_i32(k)[j] >= 0 && samba_read_i32(k)[j] < 10);
        CHECK(samba_close(s) == 0);
    }
    for (int j = 0; j < 3; j++)
        CHECK(same(first[j], again[j]));
}

static void row_must_match(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    CHECK(!samba_add(x, samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(2, 4))) && says(s, "(2,4)"));
    samba_tensor *y = samba_linear(x, "fc", 2);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(!samba_run(s, 0) && says(s, "never given a value"));
    CHECK(!samba_session_run(s, NULL) && says(s, "input x f32 (2,3)"));
    float wide[8] = { 0 };
    CHECK(!samba_write_bytes(x, wide, sizeof wide)
          && says(s, "x): it is f32 (2,3) and takes 24 bytes; 32 were given"));
    CHECK(!samba_write_bytes(x, NULL, 24) && says(s, "data is NULL") && !samba_run(s, 0)
          && says(s, "never given"));
    CHECK(samba_write_bytes(x, wide, 24) && samba_run(s, 0));
    CHECK(!samba_copy_out(x, wide, sizeof wide) && says(s, "32 bytes were offered, 24 are needed"));
    CHECK(samba_close(s) == 0);
}

// The shape and the type in the PEF and those of the program that loads it, both named.
static void row_must_match_the_pef(void)
{
    for (int i = 0; i < 3; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x
            = samba_input(s, "x", i == 1 ? SAMBA_BF16 : SAMBA_F32, SAMBA_SHAPE(i == 2 ? 3 : 2, 4));
        samba_tensor *y = samba_cast(samba_scale(x, 2), SAMBA_BF16);
        if (i == 0)
            CHECK(samba_compile(s,
                                &(samba_program){ .pef = "build/rows_match.pef",
                                                  .outputs = { y },
                                                  .inference = true }));
        if (i > 0)
            CHECK(!samba_load(s, "build/rows_match.pef", NULL)
                  && strstr(samba_error(s), "x f32 (2,4)"));
        if (i > 0) CHECK(says(s, i == 1 ? "x bf16 (2,4)" : "x f32 (3,4)"));
        samba_close(s);
    }
}

// Keyword arguments: what is not named is NULL, and the order of the names says nothing.
typedef struct attention_inputs {
    samba_tensor *ids, *mask, *position;
} attention_inputs;

static samba_tensor *attend(const attention_inputs *in)
{
    samba_tensor *x = samba_embedding(in->ids, "tokens", 11, 4);
    if (in->position) x = samba_add(x, samba_embedding(in->position, "places", 3, 4));
    return samba_scaled_dot_product_attention(x, x, x, in->mask, NULL);
}

static void row_dict_inputs(void)
{
    const int32_t ids[6] = { 1, 2, 3, 4, 5, 6 }, position[6] = { 0, 1, 2, 0, 1, 2 };

    const struct {
        const char *key;
        const void *data;
    } dict[2] = { { "ids", ids }, { "position", position } };

    const samba_feed feeds[2]
        = { { .name = "position", .data = position, .bytes = sizeof position, .dtype = SAMBA_I32 },
            { .name = "ids", .data = ids, .bytes = sizeof ids, .dtype = SAMBA_I32 } };
    values got[4];
    for (int i = 0; i < 4; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *last = i ? samba_input(s, "position", SAMBA_I32, SAMBA_SHAPE(2, 3)) : NULL;
        samba_tensor *first = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2, 3));
        if (!i) last = samba_input(s, "position", SAMBA_I32, SAMBA_SHAPE(2, 3));
        samba_tensor *y = attend(i ? &(attention_inputs){ .position = last, .ids = first }
                                   : &(attention_inputs){ .ids = first, .position = last });
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
        for (int k = 0; k < 2 && i < 2; k++)
            CHECK(samba_update_tensor(s, dict[i ^ k].key, dict[i ^ k].data));
        samba_tensor *sent[3]
            = { samba_tensor_by_name(s, "position"), NULL, samba_tensor_by_name(s, "ids") };
        CHECK(sent[0] == last && sent[2] == first);
        for (int k = 0; k < 2 && i == 2; k++)
            memcpy(samba_cpu(sent[2 * !k]), dict[k].data, sizeof ids);
        CHECK(samba_session_run(s,
                                &(samba_session_run_desc){ .inputs = sent,
                                                           .n_inputs = i == 2 ? 3 : 0,
                                                           .feeds = feeds,
                                                           .n_feeds = i == 3 ? 2 : 0 }));
        got[i] = copied(y);
        CHECK(!samba_update_tensor(s, "positions", ids) && says(s, "nearest name is position"));
        CHECK(samba_close(s) == 0);
    }
    CHECK(same(got[0], got[1]) && same(got[0], got[2]) && same(got[0], got[3])
          && got[0].at[0] != 0);
}

// Data of a run with a size and a type, for a tensor or a name. What does not fit is refused before
// anything is sent, and what fits of the same list is not sent either.
static void row_feeds(void)
{
    net n = trained(0), other = trained(0);
    const float x[B * F] = { 1, 2 }, bias[C] = { 3, 4, 5 };
    const int32_t label[B] = { 1, 2 };
    samba_feed f[3]
        = { { .tensor = n.x, .data = x, .bytes = sizeof x },
            { .name = "label", .data = label, .bytes = sizeof label, .dtype = SAMBA_I32 },
            { .name = "fc2__bias", .data = bias, .bytes = sizeof bias } };
    const char *fwd = "fwd";
    samba_session_run_desc d
        = { .feeds = f, .n_feeds = 3, .section_types = &fwd, .n_section_types = 1 };
    const samba_feed wrong[]
        = { { .name = "label", .data = label, .bytes = sizeof label },
            { .name = "label", .data = label, .bytes = 20, .dtype = SAMBA_I32 },
            { .name = "lable", .data = label, .bytes = sizeof label },
            { .data = label, .bytes = sizeof label },
            { .tensor = other.label, .data = label, .bytes = sizeof label, .dtype = SAMBA_I32 },
            { .tensor = n.label,
              .name = "x",
              .data = label,
              .bytes = sizeof label,
              .dtype = SAMBA_I32 },
            { .tensor = n.out, .data = x, .bytes = B * C * 4 },
            { .name = "label", .bytes = 24 },
            { .name = "tanh_1", .data = x, .bytes = B * 7 * 4 } };
    static const char *const why[] = { "feed 1 has data of type f32 for label, which is i32",
                                       "feed 1 has 20 bytes for label i32 (6), which takes 24",
                                       "nearest name is label",
                                       "feed 1 has neither a tensor nor a name",
                                       "label belongs to another session",
                                       "tensor label and the name x",
                                       "fc2 is computed by the program",
                                       "24 bytes for label",
                                       "tanh_1 f32 (6,7)" };
    const samba_feed right = f[1];
    values before = copied(n.x);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f[1] = wrong[i];
        CHECK(!samba_session_run(n.s, &d) && says(n.s, why[i]) && same(copied(n.x), before));
    }
    f[1] = right;
    CHECK(samba_session_run(n.s, &d) && samba_read(n.x)[1] == 2 && samba_read_i32(n.label)[1] == 2);
    CHECK(named(n.s, "fc2__bias").at[2] == 5);
    CHECK(samba_write(other.x, x) && samba_write(other.label, label)
          && samba_update_tensor(other.s, "fc2__bias", bias));
    CHECK(samba_run(other.s, SAMBA_FWD) && same(copied(n.out), copied(other.out)));
    ((float *)samba_cpu(n.x))[1] = 9; // without data: the host copy, where it is newer
    d.feeds = &(samba_feed){ .name = "x" };
    d.n_feeds = 1;
    CHECK(samba_session_run(n.s, &d) && samba_read(n.x)[1] == 9);
    CHECK(samba_write(n.x, x) && samba_session_run(n.s, &d) && samba_read(n.x)[1] == 2);
    CHECK(samba_update_tensor(n.s, "x", NULL) && !samba_session_run(n.s, &d)
          && says(n.s, "tensor x is unknown"));
    d.feeds = NULL;
    CHECK(!samba_session_run(n.s, &d) && says(n.s, "a list that has a count is NULL"));
    CHECK(samba_close(n.s) == 0 && samba_close(other.s) == 0);
}

// Every type of storage, given as bytes and computed in f32.
static void row_dtypes(void)
{
    static const float f32[4] = { 0, 1, -2, 100 };
    static const uint16_t bf16[4] = { 0, 0x3F80, 0xC000, 0x42C8 },
                          f16[4] = { 0, 0x3C00, 0xC000, 0x5640 };
    static const int32_t i32[4] = { 0, 1, -2, 100000 };
    static const int16_t i16[4] = { 0, 1, -2, 30000 };
    static const int8_t i8[4] = { 0, 1, -2, 100 };
    static const uint8_t u8[4] = { 0, 1, 200, 255 }, truth[4] = { 0, 1, 1, 0 };
    static const int64_t i64[4] = { 0, 1, -2, (int64_t)1 << 40 };
    static const uint16_t u16[4] = { 0, 1, 50256, 65535 };
    static const uint32_t u32[4] = { 0, 1, 100000, (uint32_t)1 << 31 };

    static const struct {
        samba_dtype dtype;
        size_t size;
        const void *data;
        float want[4];
    } cases[SAMBA_N_DTYPES] = { { SAMBA_F32, 4, f32, { 0, 1, -2, 100 } },
                                { SAMBA_BF16, 2, bf16, { 0, 1, -2, 100 } },
                                { SAMBA_F16, 2, f16, { 0, 1, -2, 100 } },
                                { SAMBA_I32, 4, i32, { 0, 1, -2, 100000 } },
                                { SAMBA_I16, 2, i16, { 0, 1, -2, 30000 } },
                                { SAMBA_I8, 1, i8, { 0, 1, -2, 100 } },
                                { SAMBA_U8, 1, u8, { 0, 1, 200, 255 } },
                                { SAMBA_BOOL, 1, truth, { 0, 1, 1, 0 } },
                                { SAMBA_I64, 8, i64, { 0, 1, -2, 1099511627776.0f } },
                                { SAMBA_U16, 2, u16, { 0, 1, 50256, 65535 } },
                                { SAMBA_U32, 4, u32, { 0, 1, 100000, 2147483648.0f } } };

    for (int i = 0; i < SAMBA_N_DTYPES; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_input(s, "x", cases[i].dtype, SAMBA_SHAPE(4));
        samba_tensor *z = samba_cast(x, SAMBA_F32), *y = samba_shift(z, 1),
                     *back = samba_cast(samba_neg(samba_neg(z)), cases[i].dtype);
        uint8_t bytes[32] = { 0 };
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y, back }, .inference = true }));
        CHECK(samba_dtype_size(x->dtype) == cases[i].size && samba_bytes(x) == 4 * cases[i].size);
        CHECK(samba_write(x, cases[i].data) && samba_run(s, 0));
        for (int k = 0; k < 4; k++)
            CHECK(samba_read(y)[k] == cases[i].want[k] + 1);
        CHECK(samba_copy_out(back, bytes, 4 * cases[i].size)
              && !memcmp(bytes, cases[i].data, 4 * cases[i].size));
        CHECK(samba_close(s) == 0);
    }
}

// 50256 as 16 bits is a label, -100 is none: the bits of what i32 gives.
static void row_labels_of_16_bits(void)
{
    enum { VOCAB = 50257 };

    const int32_t wide[3] = { 50256, -100, 3 };
    const int16_t narrow[3] = { (int16_t)(50256 - 65536), -100, 3 };
    float loss[2], at_end[2];
    for (int i = 0; i < 2; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *label = samba_input(s, "label", i ? SAMBA_I16 : SAMBA_I32, SAMBA_SHAPE(3));
        samba_tensor *w
            = samba_param(s, "w", SAMBA_SHAPE(3, VOCAB), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
        samba_program p
            = sgd(samba_cross_entropy(w, i ? samba_labels_from_i16(label) : label), NULL);
        CHECK(samba_compile(s, &p) && samba_write(label, i ? (const void *)narrow : wide)
              && samba_run(s, 0));
        loss[i] = samba_read(p.loss)[0];
        at_end[i] = samba_read(samba_sn_grad(w))[50256];
        CHECK(samba_read(samba_sn_grad(w))[VOCAB + 5] == 0); // the row of -100
        CHECK(samba_close(s) == 0);
    }
    CHECK(loss[0] == loss[1] && at_end[0] == at_end[1] && at_end[0] < -0.4f);
}

// int16 ids and labels are taken as they are; what is out of range ends the run.
static void row_ids_of_16_bits(void)
{
    const int32_t ids[3] = { 4, 0, 2 }, labels[3] = { 1, -100, 3 };
    const int16_t small_ids[3] = { 4, 0, 2 }, small_labels[3] = { 1, -100, 3 },
                  bad[3] = { 1, -2, 3 };
    float got[2][4], grad[2][20];
    for (int i = 0; i < 2; i++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_dtype type = i ? SAMBA_I16 : SAMBA_I32;
        samba_tensor *id = samba_input(s, "id", type, SAMBA_SHAPE(3));
        samba_tensor *label = samba_input(s, "label", type, SAMBA_SHAPE(3));
        samba_tensor *x = samba_embedding(id, "words", 5, 4), *logp = samba_log_softmax(x, -1);
        samba_tensor *column = samba_reshape(id, SAMBA_SHAPE(3, 1));
        samba_tensor *picked = samba_gather(samba_cat((samba_tensor *[]){ x, x }, 2, 1), 1, column);
        samba_tensor *loss = samba_add(samba_cross_entropy(x, label), samba_nll(logp, label, NULL));
        samba_program p = sgd(samba_add(loss, samba_mean(picked, SAMBA_ALL_AXES, false)), NULL);
        p.outputs[0] = x;
        CHECK(!strcmp(x->name, "words") && samba_compile(s, &p));
        CHECK(samba_write(id, i ? (const void *)small_ids : ids)
              && samba_write(label, i ? (const void *)small_labels : labels) && samba_run(s, 0));
        got[i][0] = samba_read(p.loss)[0];
        memcpy(grad[i], samba_read(samba_sn_grad(samba_tensor_by_name(s, "words__weight"))), 80);
        if (i)
            CHECK(samba_write(label, bad) && !samba_run(s, 0)
                  && samba_error_code(s) == SAMBA_ERANGE);
        samba_close(s);
    }
    CHECK(got[0][0] == got[1][0] && !memcmp(grad[0], grad[1], 80));
}

// PyTorch's and ONNX's int64, token files' uint16 and uint32: ids, labels and indices as they are,
// in the PEF, too. A number that does not fit ends the run, and is not wrapped into one that does.
static void row_ids_of_other_types(void)
{
    static const samba_dtype types[4] = { SAMBA_I32, SAMBA_I64, SAMBA_U16, SAMBA_U32 };
    static const int32_t ids[8] = { 4, 0, 2, 1, 3, 3, 0, 4 };
    int64_t i64[8], i64_labels[6] = { 1, -100, 3, 0, 2, 2 };
    uint16_t u16[8];
    uint32_t u32[8];
    int32_t labels[6];
    float got[4], grad[4][20];
    for (int k = 0; k < 8; k++) {
        i64[k] = ids[k];
        u16[k] = (uint16_t)ids[k];
        u32[k] = (uint32_t)ids[k];
    }
    for (int k = 0; k < 6; k++)
        labels[k] = (int32_t)i64_labels[k];
    const void *data[4] = { ids, i64, u16, u32 };
    for (int i = 0; i < 4; i++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        char loss_name[64] = "";
        for (int loaded = 0; loaded < 2; loaded++) {
            if (loaded) {
                CHECK(samba_close(s) == 0);
                s = samba_open(&(samba_desc){ .quiet = true });
                CHECK(samba_load(s, "build/rows_ids.pef", NULL));
            }
            samba_tensor *row
                = samba_input(s, "row", types[i], SAMBA_SHAPE(2, 4)); // ids and, one later, labels
            samba_tensor *label
                = samba_input(s, "label", i == 1 ? SAMBA_I64 : SAMBA_I32, SAMBA_SHAPE(2, 3));
            samba_program p = { .loss = NULL };
            if (!loaded) {
                samba_tensor *id = samba_slice(row, 1, 0, 3, 1),
                             *next = samba_slice(row, 1, 1, 4, 1);
                samba_tensor *x = samba_embedding(id, "words", 5, 5);
                samba_tensor *flat = samba_reshape(x, SAMBA_SHAPE(6, 5)),
                             *column = samba_reshape(next, SAMBA_SHAPE(6, 1));
                samba_tensor *sum = samba_add(samba_cross_entropy(x, next),
                                              samba_nll(samba_log_softmax(x, -1), label, NULL));
                p = sgd(samba_add(sum,
                                  samba_mean(samba_gather(flat, 1, column), SAMBA_ALL_AXES, false)),
                        samba_cat((samba_tensor *[]){ id, next }, 2, 1));
                p.pef = "build/rows_ids.pef";
                CHECK(samba_compile(s, &p) && samba_save(s, p.pef));
            }
            CHECK(row->dtype == types[i]
                  && samba_write_bytes(row, data[i], 8 * samba_dtype_size(types[i])));
            CHECK(samba_write_bytes(label, i == 1 ? (const void *)i64_labels : labels,
                                    samba_bytes(label))
                  && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
            if (loaded) CHECK(samba_read(samba_tensor_by_name(s, loss_name))[0] == got[i]);
            if (loaded) continue;
            got[i] = samba_read(p.loss)[0];
            snprintf(loss_name, sizeof loss_name, "%s", p.loss->name);
            memcpy(grad[i], samba_read(samba_sn_grad(samba_tensor_by_name(s, "words__weight"))),
                   80);
            uint8_t moved[96];
            const uint8_t *from = (const uint8_t *)data[i];
            size_t one = samba_dtype_size(types[i]);
            CHECK(samba_copy_out(p.outputs[0], moved, 12 * one) && !memcmp(moved, from, 3 * one)
                  && !memcmp(moved + 3 * one, from + one, 3 * one));
        }
        samba_tensor *row = samba_tensor_by_name(s, "row");
        i64[1] = ((int64_t)1 << 32) + 1;
        u32[1] = 0x80000001u;
        u16[1] = 65535;
        if (i)
            CHECK(samba_write(row, data[i]) && !samba_run(s, 0)
                  && samba_error_code(s) == SAMBA_ERANGE);
        if (i == 1)
            CHECK(strstr(samba_error(s),
                         " 4294967297 at [0,1], which is out of range -2147483648 ... 2147483647"));
        if (i == 2) CHECK(strstr(samba_error(s), " 65535 at [0,1], which is out of range 0 ... 4"));
        if (i == 3)
            CHECK(strstr(samba_error(s),
                         " 2147483649 at [0,1], which is out of range -2147483648 ... 2147483647"));
        i64[1] = u32[1] = u16[1] = 0;
        samba_close(s);
        CHECK(got[i] == got[0] && !memcmp(grad[i], grad[0], 80));
    }
}

// In parts of a batch, too: each loss by the labels that count, which only the host's type hides.
static void row_int64_labels_in_parts(void)
{
    const int64_t labels[8] = { 1, -100, -100, 2, 0, 1, 2, 0 };
    int32_t narrow[8];
    float loss[4], grad[4][9];
    for (int k = 0; k < 8; k++)
        narrow[k] = (int32_t)labels[k];
    for (int i = 0; i < 4; i++) {
        bool wide = i % 2;
        int32_t parts = i < 2 ? 1 : 4;
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8 / parts, 3));
        samba_tensor *label
            = samba_input(s, "label", wide ? SAMBA_I64 : SAMBA_I32, SAMBA_SHAPE(8 / parts));
        samba_tensor *w
            = samba_param(s, "w", SAMBA_SHAPE(3, 3), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
        samba_program p = sgd(i < 2 ? samba_cross_entropy(samba_affine(x, w, NULL), label)
                                    : samba_linear_cross_entropy(x, w, label, 0, NULL),
                              NULL);
        p.microbatches = parts;
        float data[24];
        for (int k = 0; k < 24; k++)
            data[k] = (float)(k * k % 7) / 4;
        CHECK(samba_compile(s, &p) && samba_write_bytes(x, data, sizeof data));
        CHECK(samba_write_bytes(label, wide ? (const void *)labels : narrow, wide ? 64 : 32)
              && samba_run(s, 0));
        loss[i] = samba_read(p.loss)[0];
        memcpy(grad[i], samba_read(samba_sn_grad(w)), 36);
        CHECK(samba_close(s) == 0);
    }
    CHECK(loss[0] == loss[1] && loss[2] == loss[3] && fabsf(loss[0] - loss[2]) < 1e-6f);
    CHECK(!memcmp(grad[0], grad[1], 36) && !memcmp(grad[2], grad[3], 36)
          && fabsf(grad[0][4] - grad[2][4]) < 1e-6f);
}

// Between integers nothing is rounded and nothing wraps; nothing but ids, moves and casts takes
// them.
static void row_exact_casts(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_set_tracing(s, false);
    int64_t big[4] = { 16777217, -16777217, INT32_MAX, INT32_MIN };
    uint32_t high[2] = { UINT32_MAX, 0 };
    int32_t small[2] = { 65536, 5 };
    float odd[6] = { 3e9f, -7.9f, 1e30f, -1e30f, NAN, 70000 };
    int64_t wide[6];
    uint32_t words[6];
    uint16_t shorts[6];
    samba_tensor *a = samba_from_data(s, "a", SAMBA_I64, SAMBA_SHAPE(4), big),
                 *b = samba_cast(a, SAMBA_I32);
    for (int k = 0; k < 4; k++)
        CHECK(samba_read_i32(b)[k] == (int32_t)big[k]);
    CHECK(samba_copy_out(samba_cast(b, SAMBA_I64), wide, 32) && !memcmp(wide, big, 32));
    samba_tensor *u = samba_from_data(s, "u", SAMBA_U32, SAMBA_SHAPE(2), high);
    CHECK(samba_copy_out(samba_cast(u, SAMBA_I64), wide, 16) && wide[0] == 4294967295
          && wide[1] == 0);
    CHECK(samba_read(samba_cast(u, SAMBA_F32))[0] == 4294967296.0f
          && samba_read(samba_cast(a, SAMBA_F32))[0] == 16777216.0f);
    samba_tensor *f = samba_from_data(s, "f", SAMBA_F32, SAMBA_SHAPE(6),
                                      odd); // as to other integers: truncated, saturated
    CHECK(samba_copy_out(samba_cast(f, SAMBA_I64), wide, 48) && wide[0] == 3000000000
          && wide[1] == -7);
    CHECK(wide[2] == INT64_MAX && wide[3] == INT64_MIN && wide[4] == 0);
    CHECK(samba_copy_out(samba_cast(f, SAMBA_U32), words, 24) && words[0] == 3000000000u
          && words[1] == 0 && words[2] == UINT32_MAX && words[4] == 0);
    CHECK(samba_copy_out(samba_cast(f, SAMBA_U16), shorts, 12) && shorts[5] == 65535
          && shorts[3] == 0);
    samba_tensor *c = samba_from_data(s, "c", SAMBA_I32, SAMBA_SHAPE(2), small);
    CHECK(!samba_cast(c, SAMBA_U16)
          && says(s, "c holds 65536 at [0], which is out of range 0 ... 65535"));
    CHECK(!samba_cast(samba_from_data(s, "d", SAMBA_I32, SAMBA_SHAPE(1), (int32_t[]){ -1 }),
                      SAMBA_U32)
          && says(s, "holds -1 at [0]"));
    CHECK(!samba_cast(u, SAMBA_I32) && says(s, "u holds 4294967295 at [0]"));
    CHECK(!samba_add(a, a) && says(s, "add") && !samba_eq(u, u) && says(s, "input 0 is u32")
          && !samba_scale(a, 2) && says(s, "samba_cast"));
    CHECK(!samba_sum(a, SAMBA_ALL_AXES, false)
          && says(s, "input 0 is i64, with which nothing is computed; use samba_cast"));
    CHECK(!samba_argmax(a, 0, false) && says(s, "i64") && !samba_softmax(u, 0) && says(s, "u32"));
    CHECK(!samba_call_function(s, "torch.add", (samba_tensor *[]){ a, b }, 2, NULL, 0)
          && says(s, "i64"));
    CHECK(samba_close(s) == 0);
    s = samba_open(&(samba_desc){ .quiet = true }); // no loss, no parameter
    samba_tensor *y = samba_cast(samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ 0 }), SAMBA_I64);
    CHECK(!samba_compile(s, &(samba_program){ .loss = y, .optim = { .kind = SAMBA_SGD } })
          && says(s, "is i64 and cannot be a loss"));
    CHECK(samba_set_param_dtype(s, SAMBA_U16) == SAMBA_F32
          && says(s, "parameters are f32, bf16 or f16, not u16"));
    samba_close(s);
}

// Ids that a program wants as i32 are fed to it in the type in which they come.
static void row_feeds_of_other_integers(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(3)),
                 *small = samba_input(s, "small", SAMBA_I16, SAMBA_SHAPE(1));
    samba_tensor *y = samba_embedding(id, "words", 5, 1), *z = samba_cast(small, SAMBA_F32);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y, z }, .inference = true }));
    int64_t wide[3] = { 4, 0, 2 }, one = -7;
    const uint16_t tokens[3] = { 1, 1, 3 };
    samba_feed f[2] = { { .tensor = id, .data = wide, .bytes = sizeof wide, .dtype = SAMBA_I64 },
                        { .name = "small", .data = &one, .bytes = 8, .dtype = SAMBA_I64 } };
    samba_session_run_desc d = { .feeds = f, .n_feeds = 2 };
    CHECK(samba_session_run(s, &d) && samba_read_i32(id)[0] == 4 && samba_read_i32(id)[2] == 2
          && samba_read(z)[0] == -7);
    float *w = (float *)samba_cpu(samba_tensor_by_name(s, "words__weight"));
    CHECK(samba_read(y)[0] == w[4] && samba_read(y)[2] == w[2]);
    wide[2] = ((int64_t)1 << 32) + 2; // would wrap to 2
    CHECK(
        !samba_session_run(s, &d)
        && says(
            s,
            "feed 0 has 4294967298 as element 2 for id i32 (3), which holds -2147483648 ... 2147483647"));
    wide[2] = 1;
    one = 40000;
    CHECK(!samba_session_run(s, &d) && says(s, "feed 1 has 40000 as element 0 for small i16 (1)")
          && samba_read_i32(id)[2] == 2);
    d.n_feeds = 1;
    f[0].bytes = 12;
    CHECK(!samba_session_run(s, &d)
          && says(s, "feed 0 has 12 bytes for id i32 (3), which takes 24"));
    f[0] = (samba_feed){ .tensor = id, .data = tokens, .bytes = sizeof tokens, .dtype = SAMBA_U16 };
    CHECK(samba_session_run(s, &d) && samba_read(y)[2] == w[3]
          && samba_copy_out(id, (int32_t[3]){ 0 }, 12) && samba_read_i32(id)[1] == 1);
    f[0].dtype = SAMBA_BF16;
    CHECK(!samba_session_run(s, &d)
          && says(s, "feed 0 has data of type bf16 for id, which is i32"));
    samba_close(s);
}

static void row_rounding(void)
{
    samba_session *s = samba_open(NULL);
    float x[4] = { 1.00390625f, 1.01171875f, NAN, 3.0e38f }; // halfway down, halfway up
    const uint32_t low_nan = 0x7F800001u;                    // all its bits are low ones
    memcpy(&x[2], &low_nan, 4);
    samba_set_tracing(s, false);
    samba_tensor *t = samba_from_data(s, "t", SAMBA_F32, SAMBA_SHAPE(4), x);
    const float *y = samba_read(samba_cast(samba_cast(t, SAMBA_BF16), SAMBA_F32));
    CHECK(y[0] == 1.0f && y[1] == 1.015625f && y[2] != y[2] && y[3] > 2.9e38f);
    CHECK(samba_close(s) == 0);
}

// ---- Tracing ----

// The same C function builds the graph when tracing, and computes when not: with the same bits.
static void row_override(void)
{
    values got[2];
    for (int eager = 0; eager < 2; eager++) {
        samba_session *s = samba_open(NULL);
        samba_set_tracing(s, !eager);
        CHECK(samba_tracing(s) == !eager);
        samba_tensor *y
            = samba_softmax(samba_linear(samba_randn(s, "x", SAMBA_SHAPE(B, F)), "fc", C), -1);
        if (!eager)
            CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true })
                  && samba_run(s, 0));
        got[eager] = copied(y);
        CHECK(samba_close(s) == 0);
    }
    CHECK(same(got[0], got[1]));
}

// Symbolic while tracing, and values at once when not, of lazy parameters, too.
static void row_static_functional(void)
{
    samba_session *s = samba_open(NULL);
    CHECK(samba_tracing(s) && samba_use_lazy_param(s));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(4), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
    samba_tensor *y = samba_scale(w, 2);
    CHECK(!w->data && samba_read(y)[0] == 0 && says(s, "it has no value"));
    CHECK(samba_set_tracing(s, false) && !samba_tracing(s));
    samba_tensor *now = samba_scale(w, 2);
    CHECK(samba_read(now)[3] == 2 * samba_read(w)[3] && samba_read(w)[3] != 0);
    CHECK(samba_close(s) == 0);
}

// np.add of ones and zeros is ones, and a tensor.
static void row_names_of_ops(void)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *in[2] = { samba_ones(s, "a", SAMBA_F32, SAMBA_SHAPE(2, 4)),
                            samba_zeros(s, "b", SAMBA_F32, SAMBA_SHAPE(2, 4)) };
    const char *names[3] = { "add", "np.add", "torch.add" };
    for (int k = 0; k < 3; k++) {
        samba_tensor *y = samba_call_function(s, names[k], in, 2, NULL, 0);
        CHECK(y && y->shape.ndim == 2);
        for (int i = 0; i < 8; i++)
            CHECK(samba_read(y)[i] == 1);
    }
    CHECK(!samba_call_function(s, "np.fft", in, 1, NULL, 0) && says(s, "np.fft"));

    static const struct {
        const char *name;
        float want;
    } two[]
        = { { "np.multiply", 0 },      { "np.subtract", 1 },      { "torch.true_divide", INFINITY },
            { "np.divide", INFINITY }, { "np.power", 1 },         { "np.equal", 0 },
            { "np.not_equal", 1 },     { "np.less", 0 },          { "np.less_equal", 0 },
            { "np.greater", 1 },       { "np.greater_equal", 1 }, { "np.minimum", 0 },
            { "np.maximum", 1 } };

    for (size_t k = 0; k < sizeof two / sizeof *two; k++) {
        float got[8];
        CHECK(samba_copy_out_f32(samba_call_function(s, two[k].name, in, 2, NULL, 0), got, 8)
              && got[7] == two[k].want);
    }
    CHECK(samba_read(samba_call_function(s, "np.negative", in, 1, NULL, 0))[0] == -1
          && samba_read(samba_call_function(s, "np.absolute", in, 1, NULL, 0))[0] == 1);
    CHECK(!samba_call_function(s, "np.multiplie", in, 2, NULL, 0)
          && says(s, "nearest name is multiply"));
    CHECK(samba_close(s) == 0);
}

// A loop that generates calls the model by a pointer, and does not know which one answers: the
// host, or a session that runs on the device in its place.
typedef struct caller {
    void (*call)(struct caller *c, const int32_t *ids, float *logits);
    samba_session *s;
    samba_tensor *ids, *logits;
} caller;

enum { WORDS = 11, LENGTH = 8 };

static samba_tensor *bigram(samba_tensor *ids)
{
    return samba_linear(samba_tanh(samba_embedding(ids, "embed", WORDS, 16)), "head", WORDS);
}

static void call_host(caller *c, const int32_t *ids, float *logits)
{
    CHECK(samba_write(c->ids, ids)
          && samba_copy_out(bigram(c->ids), logits, WORDS * LENGTH * sizeof *logits));
}

static void call_device(caller *c, const int32_t *ids, float *logits)
{
    CHECK(samba_write(c->ids, ids) && samba_run(c->s, SAMBA_FWD)
          && samba_copy_out(c->logits, logits, WORDS * LENGTH * sizeof *logits));
}

static void generate(caller *c, int32_t *ids)
{
    float logits[LENGTH][WORDS];
    for (int n = 1; n < LENGTH; n++) {
        c->call(c, ids, logits[0]);
        for (int32_t k = 0; k < WORDS; k++)
            if (logits[n - 1][k] > logits[n - 1][ids[n]]) ids[n] = k;
    }
}

static void row_call_swap(void)
{
    int32_t ids[2][LENGTH] = { { 3 }, { 3 } };
    for (int device = 0; device < 2; device++) {
        caller c = { device ? call_device : call_host, samba_open(NULL), NULL, NULL };
        samba_set_tracing(c.s, device);
        c.ids = samba_zeros(c.s, "ids", SAMBA_I32, SAMBA_SHAPE(LENGTH));
        if (device) c.logits = bigram(c.ids);
        if (device)
            CHECK(
                samba_compile(c.s, &(samba_program){ .outputs = { c.logits }, .inference = true }));
        generate(&c, ids[device]);
        CHECK(samba_close(c.s) == 0);
    }
    CHECK(!memcmp(ids[0], ids[1], sizeof *ids) && ids[0][1] + ids[0][2] + ids[0][7] > 0);
}

// All operators that SambaNova's tables and programs name.
typedef struct printed {
    char text[1 << 15];
    size_t n;
} printed;

static void to_text(const char *more, void *user)
{
    printed *p = (printed *)user;
    size_t n = strlen(more);
    if (p->n + n >= sizeof p->text) return;
    memcpy(p->text + p->n, more, n + 1);
    p->n += n;
}

// All operators that SambaNova's table and SambaFlow's own code name, and what stands for each
// here: an op of the table, a function of samba.h or a name that samba_apply composes (checked
// below), or nothing, and why.
typedef enum counterpart { AN_OP, A_CALL, BY_NAME, MISSING } counterpart;

static const struct {
    const char *torch;
    counterpart kind;
    const char *here;
} operators[]
    = { { "add", AN_OP, "add" },
        { "addmm", BY_NAME, "torch.addmm" },
        { "bitwise_not", BY_NAME, "torch.bitwise_not" },
        { "bmm", BY_NAME, "torch.bmm" },
        { "cat", AN_OP, "cat" },
        { "cross_entropy", AN_OP, "cross_entropy" },
        { "cumsum", BY_NAME, "torch.cumsum" },
        { "div", AN_OP, "div" },
        { "dropout", AN_OP, "dropout" },
        { "expand", AN_OP, "expand" },
        { "flatten", BY_NAME, "torch.flatten" },
        { "gelu", AN_OP, "gelu" },
        { "index_select", BY_NAME, "torch.index_select" },
        { "linear", BY_NAME, "F.linear" },
        { "logical_or", BY_NAME, "torch.logical_or" },
        { "masked_fill", BY_NAME, "Tensor.masked_fill" },
        { "matmul", AN_OP, "matmul" },
        { "conv2d", AN_OP, "convolution" },
        { "conv_transpose2d", A_CALL, "samba_convolution_backward_input" },
        { "max_pool2d", AN_OP, "max_pool2d" },
        { "layer_norm", AN_OP, "layer_norm" },
        { "embedding", AN_OP, "lookup" },
        { "relu", AN_OP, "relu" },
        { "sigmoid", AN_OP, "sigmoid" },
        { "tanh", AN_OP, "tanh" },
        { "silu", AN_OP, "silu" },
        { "softmax", AN_OP, "softmax" },
        { "pow", AN_OP, "pow" },
        { "mean", AN_OP, "mean" },
        { "sum", AN_OP, "sum" },
        { "rsqrt", AN_OP, "rsqrt" },
        { "mul", AN_OP, "mul" },
        { "neg", AN_OP, "neg" },
        { "sub", AN_OP, "sub" },
        { "rsub", BY_NAME, "torch.rsub" },
        { "abs", AN_OP, "abs" },
        { "argmax", AN_OP, "argmax" },
        { "view", BY_NAME, "Tensor.view" },
        { "reshape", AN_OP, "reshape" },
        { "transpose", BY_NAME, "torch.transpose" },
        { "permute", AN_OP, "permute" },
        { "unsqueeze", BY_NAME, "torch.unsqueeze" },
        { "split", BY_NAME, "Tensor.split" },
        { "slicing", AN_OP, "slice" },
        { "to", AN_OP, "cast" },
        { "triu fill", A_CALL, "samba_attention_opts.causal" },
        { "scaled_dot_product_attention", AN_OP, "scaled_dot_product_attention" },
        { "gather", AN_OP, "gather" },
        { "rms norm", AN_OP, "rms_norm" },
        { "scatter", MISSING, "scatter_add adds, write_rows overwrites whole rows" },
        { "topk", BY_NAME, "torch.topk" },
        { "fft", MISSING, "numbers here are real" },
        { "group-by", MISSING, "argsort, lookup and gather reorder" },
        { "sn_zipmapreduce, sn_select, sn_imm, sn_iteridx, sn_multinomial, sn_gather, sn_scatter",
          MISSING, "words of the chip itself" } };

static void expect(samba_tensor *y, const float *want, int n)
{
    bool fine = y && samba_count(&y->shape) == n;
    float got[64];
    CHECK(fine);
    if (!fine || !samba_copy_out_f32(y, got, n)) return;
    for (int i = 0; i < n; i++)
        CHECK(fabsf(got[i] - want[i]) < 1e-6f);
}

// The composed ones, computed at once, against numbers by hand; and as parts of a traced graph with
// gradients.
static void check_composed(void)
{
    samba_session *s = samba_open(NULL);
    float data[6] = { 1, -2, 3, 0, 5, -6 }, other[6] = { 1, 0, 0, 2, 0, 1 };
    int32_t pick[2] = { 2, 0 };
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), data),
                 *y = samba_from_data(s, "y", SAMBA_F32, SAMBA_SHAPE(2, 3), other);
    samba_tensor *w = samba_from_data(s, "w", SAMBA_F32, SAMBA_SHAPE(3, 2), other),
                 *b = samba_from_data(s, "b", SAMBA_F32, SAMBA_SHAPE(2), data);
    samba_tensor *i = samba_from_data(s, "i", SAMBA_I32, SAMBA_SHAPE(2), pick), *two[2] = { x, y },
                 *parts[4] = { NULL };
    samba_tensor *mm[3] = { b, x, w }, *lin[3] = { x, y, b }, *sel[2] = { x, i },
                 *a3[2]
        = { samba_reshape(x, SAMBA_SHAPE(1, 2, 3)), samba_reshape(w, SAMBA_SHAPE(1, 3, 2)) };
    const int32_t minus = -1, shape[2] = { 3, -1 }, cut[2] = { 2, -1 }, axes[2] = { 0, -1 },
                  nine = samba_float_attr(9.0f);
    expect(samba_call_function(s, "torch.addmm", mm, 3, NULL, 0),
           (float[]){ 1 + 1 + 0, -2 + 0 - 4 + 3, 1 + 0 + 0, -2 + 0 + 10 - 6 }, 4);
    expect(samba_call_function(s, "F.linear", lin, 3, NULL, 0),
           (float[]){ 1 + 1, 2 + 3 - 2, 0 + 1, -6 - 2 }, 4);
    expect(samba_call_function(s, "F.linear", lin, 2, NULL, 0), (float[]){ 1, 5, 0, -6 }, 4);
    expect(samba_call_function(s, "torch.bmm", a3, 2, NULL, 0), (float[]){ 1, -1, 0, 4 }, 4);
    expect(samba_call_function(s, "torch.rsub", two, 2, NULL, 0), (float[]){ 0, 2, -3, 2, -5, 7 },
           6);
    expect(samba_call_function(s, "torch.logical_or", two, 2, NULL, 0),
           (float[]){ 1, 1, 1, 1, 1, 1 }, 6);
    expect(samba_call_function(s, "torch.logical_and", two, 2, NULL, 0),
           (float[]){ 1, 0, 0, 0, 0, 1 }, 6);
    expect(samba_call_function(s, "torch.bitwise_not", &y, 1, NULL, 0),
           (float[]){ 0, 1, 1, 0, 1, 0 }, 6);
    CHECK(samba_call_function(s, "torch.logical_or", two, 2, NULL, 0)->dtype == SAMBA_BOOL);
    samba_tensor *fill[2] = { x, samba_cast(y, SAMBA_BOOL) };
    expect(samba_call_function(s, "Tensor.masked_fill", fill, 2, &nine, 1),
           (float[]){ 9, -2, 3, 9, 5, 9 }, 6);
    expect(samba_call_function(s, "torch.index_select", sel, 2, (int32_t[]){ 1 }, 1),
           (float[]){ 3, 1, -6, 0 }, 4);
    expect(samba_call_function(s, "torch.index_select", sel, 2, &minus, 1),
           (float[]){ 3, 1, -6, 0 }, 4);
    CHECK(!samba_call_function(s, "torch.index_select", sel, 2, (int32_t[]){ 0 }, 1)
          && says(s, "holds 2 at [0,0], which is out of range 0 ... 1"));
    expect(samba_call_function(s, "Tensor.view", &x, 1, shape, 2), data, 6);
    expect(samba_call_function(s, "Tensor.split", &x, 1, cut, 2), (float[]){ 1, -2, 0, 5 }, 4);
    CHECK(samba_call_function_all(s, "Tensor.split", &x, 1, cut, 2, parts, 4) == 2);
    expect(parts[1], (float[]){ 3, -6 }, 2);
    CHECK(
        samba_apply_all(s, "layer_norm", &x, 1, (int32_t[]){ samba_float_attr(1e-5f) }, 1, NULL, 0)
        >= 1);
    CHECK(!samba_call_function(s, "Tensor.split", &x, 1, (int32_t[]){ 2, 5 }, 2)
          && says(s, "axis 5"));
    CHECK(!samba_call_function(s, "Tensor.split", &x, 1, (int32_t[]){ 0, 1 }, 2) && !samba_ok(s));
    samba_clear_error(s);
    CHECK(!samba_call_function(s, "torch.bmm", two, 1, NULL, 0) && says(s, "it takes 2 inputs"));
    CHECK(!samba_call_function(s, "F.softmax", &x, 1, axes, 2) && says(s, "up to 1 arguments"));
    static const char *const with_arguments[]
        = { "F.softmax",          "F.log_softmax",     "torch.argmax", "np.transpose",
            "torch.squeeze",      "torch.unsqueeze",   "torch.split",  "torch.gather",
            "torch.index_select", "Tensor.masked_fill" };
    for (size_t k = 0; k < sizeof with_arguments / sizeof *with_arguments; k++) {
        int n_in = k < 7 ? 1 : 2;
        CHECK(!samba_call_function(s, with_arguments[k], k < 9 ? sel : fill, n_in, NULL, 0)
              && says(s, "0 arguments are given"));
    }
    const float *p = samba_read(samba_call_function(s, "F.softmax", &x, 1, &minus, 1));
    CHECK(fabsf(p[0] + p[1] + p[2] - 1) < 1e-6f && p[2] > p[0] && p[0] > p[1]);
    expect(samba_call_function(s, "torch.sum", &x, 1, &minus, 1), (float[]){ 2, -1 }, 2);
    expect(samba_call_function(s, "np.sum", &x, 1, NULL, 0), (float[]){ 1 }, 1);
    expect(samba_call_function(s, "torch.transpose", &x, 1, (int32_t[]){ 0, -1 }, 2),
           (float[]){ 1, 0, -2, 5, 3, -6 }, 6);
    expect(samba_call_function(s, "np.concatenate", two, 2, NULL, 0),
           (float[]){ 1, -2, 3, 0, 5, -6, 1, 0, 0, 2, 0, 1 }, 12);
    expect(samba_grad(samba_sum(samba_call_function(s, "Tensor.masked_fill", fill, 2, &nine, 1),
                                SAMBA_ALL_AXES, false),
                      x),
           (float[]){ 0, 1, 1, 0, 1, 0 }, 6);
    CHECK(samba_close(s) == 0);
}

static void row_ops(void)
{
    static printed ops;
    samba_print_ops(to_text, &ops);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        char line[60];
        const char *here = operators[i].here, *dot = strrchr(here, '.');
        snprintf(line, sizeof line, "\n%s\t", here);
        bool first = !strncmp(ops.text, line + 1, strlen(line) - 1);
        if (operators[i].kind == AN_OP && !strstr(ops.text, line) && !first)
            test_fail(operators[i].torch, "no such op", 0);
        if (operators[i].kind == BY_NAME && (!dot || !samba_torch_names__find(dot + 1)))
            test_fail(operators[i].torch, "no such name", 0);
        if (operators[i].kind == MISSING)
            CHECK(strlen(here) > 10 && !samba_torch_names__find(operators[i].torch)
                  && !strstr(ops.text, line));
    }
    check_composed();
}

// Ops are nodes and tensors are edges; with dummies nothing is computed.
typedef struct graph_seen {
    samba_tensor *made[8];
    int32_t n_made, n_edges, n_leaves;
} graph_seen;

static void same_kernel(const samba_args *a)
{
    int64_t row = samba_count(&a->out_spec[0].shape);
    memcpy(a->out[0], a->in[0], (size_t)row * 4);
}

// Attributes are printed as what they are: in the graph, its picture and the log.
static void print_attributes(void)
{
    static printed text[2];
    static const samba_op own = { .name = "own",
                                  .wire = 0x8123,
                                  .signature = "*->*",
                                  .kernel = same_kernel,
                                  .attributes = "rate:f mode:x on:b" };
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 4)), *h = samba_layernorm(x, "ln"), *in[1];
    h = samba_cast(samba_cast(samba_leaky_relu(h, 0.25f), SAMBA_BF16), SAMBA_F32);
    h = samba_slice(h, 1, 1, 4, 2);
    const int32_t attr[4] = { samba_float_attr(-0.5f), 0x1F, 1, -7 };
    CHECK(samba_register_op(s, &own));
    in[0] = h;
    h = samba_apply(s, "own", in, 1, attr, 4);
    samba_program p = sgd(samba_mean(h, SAMBA_AXES(0, 1), false), NULL);
    p.inference = true;
    p.level = SAMBA_O0;
    p.pef = "build/rows_attributes.pef";
    CHECK(samba_compile(s, &p));
    samba_print_graph(s, to_text, &text[0]);
    samba_dot_graph(s, to_text, &text[1]);
    const char *const want[] = { "[eps=1e-05]",
                                 "[slope=0.25]",
                                 "[type=bf16]",
                                 "[begin,end,step=0 2 1 1 4 2]",
                                 "[rate=-0.5 mode=0x1f on=yes -7]",
                                 "[axes=(0,1) keepdim=no]" };
    char log[4096] = { 0 };
    FILE *f = fopen("build/rows_attributes.pef.log", "r");
    CHECK(f && fread(log, 1, sizeof log - 1, f) > 0);
    if (f) fclose(f);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK(strstr(text[0].text, want[i]) && strstr(text[1].text, want[i])
              && strstr(log, want[i]));
    CHECK(samba_close(s) == 0);
}

static samba_tensor *on_op(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                           samba_tensor *y, void *user)
{
    graph_seen *g = (graph_seen *)user;
    CHECK(op->name && g->n_made < 8);
    for (int32_t i = 0; i < n_in; i++) {
        bool made = false;
        for (int32_t k = 0; k < g->n_made; k++)
            made = made || g->made[k] == in[i];
        g->n_edges += made;
        g->n_leaves += !made;
    }
    if (g->n_made < 8) g->made[g->n_made++] = y;
    return y;
}

static void row_tracing(void)
{
    static printed text;
    graph_seen g = { { NULL }, 0, 0, 0 };
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    CHECK(samba_on_trace(s, on_op, &g));
    samba_tensor *h = samba_linear(x, "fc", 4), *y = samba_add(samba_tanh(h), h);
    CHECK(g.n_made == 3 && g.n_edges == 3 && g.n_leaves == 3
          && g.made[2] == y); // h, h, tanh; x, weight, bias
    samba_print_graph(s, to_text, &text);
    CHECK(!strncmp(
        text.text,
        "fc = affine(x f32 (2,3), fc__weight f32 (4,3), fc__bias f32 (4)) -> f32 (2,4)\n", 76));
    CHECK(strstr(text.text, "\ntanh_1 = tanh(fc ")
          && strstr(text.text, "= add(tanh_1 f32 (2,4), fc f32 (2,4))"));
    CHECK(samba_read(y)[0] == 0 && says(s, "it has no value"));
    CHECK(samba_close(s) == 0);
    print_attributes();
}

// A forward pass may be called again: its modules are those of their names, not new ones. It
// returns one tensor or several; all it sees is an input of this session; and it is one piece.
static samba_tensor *forward(samba_tensor *x, samba_tensor **hidden)
{
    samba_set_sharing(x->session, true);
    *hidden = samba_relu(samba_linear(x, "in", 4));
    return samba_linear(*hidden, "out", 2);
}

static void row_module_rules(void)
{
    samba_session *s = samba_open(NULL), *other = samba_open(NULL);
    const char *names[8];
    samba_tensor *hidden[2], *x = samba_randn(s, "x", SAMBA_SHAPE(3, 5)),
                             *foreign = samba_randn(other, "mask", SAMBA_SHAPE(3, 5));
    samba_tensor *y = forward(x, &hidden[0]), *again = forward(x, &hidden[1]);
    CHECK(!samba_mul(x, foreign) && says(s, "session"));
    samba_clear_error(other);
    CHECK(
        samba_compile(s, &(samba_program){ .outputs = { y, hidden[0], again }, .inference = true })
        && samba_run(s, 0));
    CHECK(samba_weight_names(s, names, 8) == 4);
    CHECK(!memcmp(samba_read(y), samba_read(again), samba_bytes(y))
          && samba_read(hidden[0])[0] >= 0);
    CHECK(s->program.rt->pef.n_sections == 1);
    CHECK(samba_read(hidden[1]) && (samba_ok(s) || says(s, "list it in program.outputs")));
    CHECK(samba_close(s) == 0 && samba_close(other) == 0);
}

// The deck's two small programs: F.relu and split(10, dim=1) of (10,20); a convolution of 3 x 3.
static void row_samples(void)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(10, 20)), *part[4] = { NULL };
    samba_tensor *y = samba_call_function(s, "F.relu", &x, 1, NULL, 0);
    CHECK(samba_split(y, 10, 1, part, 4) == 2);
    for (int i = 0; i < 200; i++) {
        float got = samba_read(part[i % 20 / 10])[i / 20 * 10 + i % 10], from = samba_read(x)[i];
        CHECK(got == (from > 0 ? from : 0));
    }
    CHECK(part[0]->shape.dim[0] == 10 && part[0]->shape.dim[1] == 10);
    samba_set_tracing(s, true);
    samba_conv_opts padded = { .padding = { 1, 1 } };
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(100, 3, 64, 64));
    samba_tensor *conv = samba_conv2d(image, "conv", 64, 3, &padded);
    CHECK(conv && conv->shape.dim[0] == 100 && conv->shape.dim[1] == 64 && conv->shape.dim[2] == 64
          && conv->shape.dim[3] == 64);
    CHECK(samba_tensor_by_name(s, "conv__weight")->shape.dim[1] == 3
          && samba_tensor_by_name(s, "conv__bias"));
    CHECK(samba_compile(
        s, &(samba_program){ .outputs = { conv }, .inference = true, .compile_only = true }));
    CHECK(samba_close(s) == 0);
}

static void row_control_flow(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(3)), *y = x;
    for (int i = 0; i < 4; i++)
        y = samba_scale(y, 2);                  // unrolled
    if (x->shape.dim[0] > 5) y = samba_tanh(y); // not taken: not there
    static printed text;
    samba_print_graph(s, to_text, &text);
    CHECK(!strstr(text.text, "tanh"));
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(samba_run(s, 0) && samba_read(y)[1] == 16 * samba_read(x)[1]);
    CHECK(samba_close(s) == 0);
}

static void row_graph_equality(void)
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    p.pef = "build/rows.pef";
    CHECK(samba_compile(n.s, &p) && samba_close(n.s) == 0);
    n = traced(0);
    p = sgd(n.loss, n.out);
    CHECK(samba_load(n.s, "build/rows.pef", &p) && samba_run(n.s, 0) && samba_close(n.s) == 0);
    n = traced(0.5f);
    p = sgd(n.loss, n.out);
    CHECK(!samba_load(n.s, "build/rows.pef", &p) && says(n.s, "First difference"));
    samba_close(n.s);
    for (int i = 0; i < 3; i++) { // an optimizer, its parameters, an attribute
        n = traced(0);
        p = sgd(n.loss, n.out);
        samba_tensor *some[1] = { samba_tensor_by_name(n.s, "fc2__bias") };
        if (i == 0) p.optim.kind = SAMBA_ADAMW;
        if (i == 1) {
            p.optim.params = some;
            p.optim.n_params = 1;
        }
        if (i == 2)
            p.loss = samba_cross_entropy_with(n.out, n.label,
                                              &(samba_loss_opts){ .label_smoothing = 0.1f });
        CHECK(!samba_load(n.s, "build/rows.pef", &p) && strstr(samba_error(n.s), "the PEF has"));
        CHECK(i < 2
              || strstr(samba_error(n.s), "[reduction=0 ignore_index=-100 label_smoothing=0.1]"));
        CHECK(says(n.s, "this program has"));
        samba_close(n.s);
    }
    static const char *const told[2][2] = { // floats that print alike are told as their bits
                                            { "[factor=0.1]", "[factor=0.2]" },
                                            { "[1036831949]", "[1036831950]" }
    };
    const float factor[3] = { 0.1f, 0.2f, nextafterf(0.1f, 1.0f) };
    for (int i = 0; i < 3; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
        p = (samba_program){ .outputs = { samba_scale(x, factor[i]) },
                             .inference = true,
                             .compile_only = true,
                             .pef = "build/rows_scale.pef" };
        if (i == 0)
            CHECK(samba_compile(s, &p));
        else
            CHECK(!samba_load(s, p.pef, &p) && strstr(samba_error(s), told[i - 1][0])
                  && strstr(samba_error(s), told[i - 1][1]));
        samba_close(s);
    }
    remove("build/rows_scale.pef");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void row_parameter_names(void)
{
    static const char *const want[4] = { "fc1__bias", "fc1__weight", "fc2__bias", "fc2__weight" };
    for (int again = 0; again < 2; again++) { // the same in each process
        net n = trained(0);
        const char *names[8];
        char grad[40];
        CHECK(samba_weight_names(n.s, names, 8) == 4);
        qsort(names, 4, sizeof *names, by_text);
        for (int i = 0; i < 4; i++) {
            CHECK(!strcmp(names[i], want[i]));
            snprintf(grad, sizeof grad, "%s__grad", want[i]);
            CHECK(samba_tensor_by_name(n.s, grad)
                  == samba_sn_grad(samba_tensor_by_name(n.s, want[i])));
        }
        CHECK(samba_close(n.s) == 0);
    }
}

// Made again, a parameter is the same one; tied ones have one name and one gradient, the sum; two
// of one name are an error.
static void row_tied_parameters(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2, 2), (samba_init){ .value = 1 });
    CHECK(samba_param(s, "w", SAMBA_SHAPE(2, 2), (samba_init){ .value = 1 }) == w);
    CHECK(!samba_param(s, "w", SAMBA_SHAPE(2, 3), (samba_init){ .value = 1 }) && says(s, "w"));
    CHECK(!samba_buffer(s, "w", SAMBA_SHAPE(2, 2), 0) && says(s, "w"));
    samba_tensor *tied = samba_affine(samba_affine(x, w, NULL), w, NULL); // x w^T w^T
    samba_program p = sgd(samba_sum(tied, SAMBA_ALL_AXES, false), NULL);
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_weight_names(s, NULL, 0) == 1);
    CHECK(samba_read(samba_sn_grad(w))[0] == 4); // 2 as the first layer, 2 as the second
    CHECK(samba_close(s) == 0);
}

// ---- Compiling ----

static void row_optimizers(void)
{
    net n = traced(0);
    samba_tensor *w[2]
        = { samba_tensor_by_name(n.s, "fc1__weight"), samba_tensor_by_name(n.s, "fc2__weight") };
    samba_optim two[2] = { { .kind = SAMBA_ADAMW,
                             .lr = 0.5f,
                             .params = &w[0],
                             .n_params = 1,
                             .argin_region_name = "a__" },
                           { .kind = SAMBA_SGD,
                             .lr = 0.25f,
                             .params = &w[1],
                             .n_params = 1,
                             .argin_region_name = "b__" } };
    samba_program p = { .loss = n.loss, .optims = two, .n_optims = 2 };
    CHECK(samba_compile(n.s, &p));
    CHECK(samba_get(n.s, "a__lr") == 0.5 && samba_get(n.s, "b__lr") == 0.25);
    CHECK(samba_set(n.s, "lr", 0.125) && samba_get(n.s, "a__lr") == 0.125
          && samba_get(n.s, "b__lr") == 0.125);
    for (int i = 0; i < 2; i++) { // in the order they are given in
        const samba_value rates[2] = { { i ? "lr" : "a__lr", 0.75 }, { i ? "a__lr" : "lr", 0.5 } };
        CHECK(samba_session_run(
            n.s, &(samba_session_run_desc){ .hyperparams = rates, .n_hyperparams = 2 }));
        CHECK(samba_get(n.s, "a__lr") == 0.5 && samba_get(n.s, "b__lr") == (i ? 0.75 : 0.5));
    }
    two[1].params = &w[0];
    CHECK(!samba_compile(n.s, &p) && says(n.s, "is listed by optimizers"));
    p.n_optims = 0; // None: gradients and no step
    CHECK(samba_compile(n.s, &p) && samba_section_types(n.s) == (SAMBA_FWD | SAMBA_BCKWD));
    samba_close(n.s);
}

// Two steps on the gradient g: what the formulas of [api] give. Then the defaults.
static void row_optimizer_rules(void)
{
    const double g = 0.5, lr = 0.25, wd = 0.125, mu = 0.75;
    for (int adam = 0; adam < 2; adam++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1), (samba_init){ .value = 2 });
        samba_program p = { .loss = samba_sum(samba_scale(w, (float)g), SAMBA_ALL_AXES, false) };
        p.optim = (samba_optim){ .kind = adam ? SAMBA_ADAMW : SAMBA_SGD,
                                 .lr = (float)lr,
                                 .weight_decay = (float)wd };
        if (!adam) p.optim.momentum = (float)mu;
        CHECK(samba_compile(s, &p));
        double x = 2, v = 0;
        for (int step = 0; step < 2; step++) {
            v = step ? mu * v + (g + wd * x) : g + wd * x; // the first v is g
            if (adam)
                x -= lr * wd * x + lr * g / (g + 1e-8); // decoupled; m/sqrt(v) is 1
            else
                x -= lr * v;
            CHECK(samba_run(s, 0) && fabs((double)samba_read(w)[0] - x) < 1e-6);
        }
        p.optim = (samba_optim){ .kind = adam ? SAMBA_ADAMW : SAMBA_SGD };
        CHECK(samba_compile(s, &p) && samba_get(s, "lr") == (double)1e-3f
              && samba_get(s, "weight_decay") == 0);
        if (!adam) CHECK(samba_get(s, "momentum") == 0);
        if (adam)
            CHECK(samba_get(s, "beta1") == (double)0.9f && samba_get(s, "beta2") == (double)0.997f
                  && samba_get(s, "eps") == (double)1e-8f);
        CHECK(!(samba_section_types(s) & SAMBA_GRADNORM));
        CHECK(samba_close(s) == 0);
    }
}

// With index 1 only output 1 drives gradients; without indices all outputs do.
static void row_loss_indices(void)
{
    float with[2];
    for (int all = 0; all < 2; all++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *a = samba_param(s, "a", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
        samba_tensor *one = samba_sum(samba_scale(a, 3), SAMBA_ALL_AXES, false),
                     *two = samba_sum(a, SAMBA_ALL_AXES, false);
        samba_program p
            = { .outputs = { one, two }, .loss_indices = { 1 }, .n_loss_indices = !all };
        p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 1 };
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        with[all] = samba_read(samba_sn_grad(a))[0];
        CHECK(samba_close(s) == 0);
    }
    CHECK(with[0] == 1 && with[1] == 4);
    net n = traced(0);
    samba_program p = { .outputs = { n.loss, samba_argmax(n.out, 1, false) },
                        .loss_indices = { 2 },
                        .n_loss_indices = 1 };
    CHECK(!samba_compile(n.s, &p) && says(n.s, "loss index 2 is out of range"));
    p.loss_indices[0] = -1;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "out of range; there are 2 outputs"));
    p.loss_indices[0] = 1;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "i32 and cannot be a loss"));
    p.n_loss_indices = 0;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "cannot be a loss"));
    samba_close(n.s);
}

static void row_inference(void)
{
    net n = traced(0);
    CHECK(samba_compile(n.s, &(samba_program){ .outputs = { n.out }, .inference = true }));
    CHECK(samba_section_types(n.s) == SAMBA_FWD);
    CHECK(!samba_run(n.s, SAMBA_BCKWD) && says(n.s, "no section of type BCKWD"));
    CHECK(!samba_sn_grad(samba_tensor_by_name(n.s, "fc1__weight")) && says(n.s, "no gradient"));
    CHECK(samba_run(n.s, 0));
    net whole = trained(0); // a PEF for training infers, too, and is larger
    CHECK(samba_run(whole.s, SAMBA_FWD) && same(copied(whole.out), copied(n.out)));
    CHECK(samba_device_bytes(whole.s) > samba_device_bytes(n.s));
    CHECK(2 * n.s->program.rt->pef.n_nodes < whole.s->program.rt->pef.n_nodes
          && 2 * n.s->program.rt->pef.n_symbols < whole.s->program.rt->pef.n_symbols);
    CHECK(samba_close(n.s) == 0 && samba_close(whole.s) == 0);
}

static void row_mapping(void)
{
    values got[2];
    for (int spatial = 0; spatial < 2; spatial++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.mapping = (samba_mapping)(7 + spatial);
        CHECK(!samba_compile(n.s, &p)
              && says(n.s, spatial ? "mapping is 8; it must be 0 ... 1" : "mapping is 7"));
        p.mapping = SAMBA_MAPPING_SECTION;
        p.sram_bytes = -5;
        CHECK(!samba_compile(n.s, &p) && says(n.s, "sram_bytes is -5; it must be at least 0"));
        p.sram_bytes = 0;
        p.level = (samba_opt_level)9;
        CHECK(!samba_compile(n.s, &p) && says(n.s, "level is 9; it must be 0 ... 3"));
        p.level = SAMBA_O_DEFAULT;
        p.mapping = spatial ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
        CHECK(samba_compile(n.s, &p) && samba_run(n.s, 0));
        got[spatial] = named(n.s, "fc1__weight");
        samba_tensor *w = samba_tensor_by_name(n.s, "fc1__weight");
        const unsigned types[3] = { SAMBA_FWD | SAMBA_BCKWD, SAMBA_BCKWD, SAMBA_OPT };
        CHECK(samba_section_types(n.s) == (SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        CHECK((samba_sn_grad(w) != NULL) == !spatial && (!spatial || says(n.s, "mapping section")));
        for (int i = 0; i < 3; i++) {
            if (spatial) CHECK(!samba_runtime_run(n.s->program.rt, types[i]));
            CHECK(samba_run(n.s, types[i]) == !spatial
                  && (!spatial || says(n.s, "BCKWD_OPT are one")));
        }
        if (spatial) CHECK(same(got[1], named(n.s, "fc1__weight"))); // nothing was stepped by half
        CHECK(samba_run(n.s, SAMBA_FWD) && samba_run(n.s, SAMBA_BCKWD | SAMBA_OPT));
        p.sram_bytes = 64;
        if (spatial) CHECK(!samba_compile(n.s, &p) && says(n.s, "bytes are needed"));
        samba_close(n.s);
    }
    CHECK(same(got[0], got[1]));
}

// What is counted where is refused above a limit, and the largest tensor named.
static void row_mem_type(void)
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    CHECK(samba_compile(n.s, &p));
    int64_t arena = (int64_t)n.s->program.rt->pef.region[SAMBA__REGION_ARENA];
    p.mem_limit[SAMBA_MEM_HBM] = arena;
    CHECK(samba_compile(n.s, &p));
    p.mem_limit[SAMBA_MEM_HBM] = arena - 1;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "mem_limit of HBM"));
    p.mem_limit[SAMBA_MEM_HBM] = 0;
    p.mem_limit[SAMBA_MEM_DDR] = 64;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "the largest there is fc1__weight"));
    p.mem_limit[SAMBA_MEM_DDR] = 0;
    p.mem_limit[SAMBA_MEM_HOST] = 448; // x 120, label, out, loss
    CHECK(samba_compile(n.s, &p));
    samba_tensor_by_name(n.s, "fc1__weight")->mem_type = SAMBA_MEM_HOST;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "mem_limit of HOST"));
    samba_tensor_by_name(n.s, "fc1__weight")->mem_type = (samba_mem)9;
    CHECK(!samba_compile(n.s, &p) && samba_error_code(n.s) == SAMBA_ERANGE);
    CHECK(says(n.s, "fc1__weight.mem_type is 9"));
    samba_close(n.s);

    // what lies between ops has no memory of its own; an output has, and a loss over microbatches
    for (int microbatches = 0; microbatches < 4; microbatches += 2) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 3)),
                     *h = samba_tanh(samba_linear(x, "fc", 2));
        p = sgd(samba_mean(h, SAMBA_ALL_AXES, false), NULL);
        p.pef = "build/rows_memory.pef";
        p.microbatches = microbatches;
        h->mem_type = SAMBA_MEM_DDR;
        CHECK(!samba_compile(s, &p) && samba_error_code(s) == SAMBA_ERANGE
              && says(s, "tanh_1.mem_type is 1"));
        h->mem_type = SAMBA_MEM_HBM; // where it is anyway
        p.loss->mem_type = SAMBA_MEM_DDR;
        x->mem_type = SAMBA_MEM_HBM;
        CHECK(samba_compile(s, &p));
        samba_session *later = samba_open(NULL); // the file alone knows it, too
        CHECK(samba_load(later, p.pef, NULL));
        CHECK(samba_tensor_by_name(later, "x")->mem_type == SAMBA_MEM_HBM);
        const char *loss = microbatches ? "mean_2__mean" : "mean_2";
        CHECK(samba_tensor_by_name(later, loss)->mem_type == SAMBA_MEM_DDR);
        CHECK(samba_close(later) == 0 && samba_close(s) == 0);
    }
}

// Outputs and their gradients by SambaFlow's names: op__outputs__0, op__outputs__0__grad.
static void row_output_names(void)
{
    net n = traced(0);
    samba_tensor *rows = samba_mul(n.out, n.out);
    samba_program p
        = { .outputs = { rows, n.out }, .n_loss_indices = 1, .optim = { .kind = SAMBA_SGD } };
    char name[80];
    CHECK(samba_compile(n.s, &p) && samba_run(n.s, 0));
    snprintf(name, sizeof name, "%s__outputs__0", n.out->name);
    CHECK(samba_tensor_by_name(n.s, name) == n.out);
    snprintf(name, sizeof name, "%s__outputs__0__grad", rows->name);
    CHECK(samba_tensor_by_name(n.s, name) == samba_sn_grad(rows)
          && samba_read(samba_sn_grad(rows))[0] == 1);
    snprintf(name, sizeof name, "%s__outputs__0__grad", n.out->name);
    CHECK(!samba_tensor_by_name(n.s, name)
          && says(n.s, "unknown")); // no loss: no gradient that is kept
    CHECK(!samba_tensor_by_name(n.s, "fc1__outputs__1") && says(n.s, "unknown"));
    CHECK(samba_close(n.s) == 0);
}

static void row_legacy_names(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3, 4, 4));
    CHECK(!strcmp(samba_conv2d(x, "conv", 3, 3, NULL)->name, "conv"));
    CHECK(samba_use_legacy_names(s, true));
    CHECK(!strncmp(samba_conv2d(x, "other", 3, 3, NULL)->name, "convolution_", 12));
    CHECK(samba_tensor_by_name(s, "other__weight") != NULL);
    CHECK(!samba_batchnorm(x, "bn") && says(s, "legacy names must be off"));
    samba_tensor *mean = samba_buffer(s, "mean", SAMBA_SHAPE(3), 0),
                 *var = samba_buffer(s, "var", SAMBA_SHAPE(3), 1);
    samba_tensor *in[5] = { x, NULL, NULL, mean, var };
    const int32_t attr[2] = { samba_float_attr(0.1f), samba_float_attr(1e-5f) };
    CHECK(!samba_batch_normalize(x, NULL, NULL, mean, var, 0.1f, 1e-5f)
          && says(s, "legacy names must be off"));
    CHECK(!samba_apply(s, "batch_norm", in, 5, attr, 2) && says(s, "legacy names must be off"));
    CHECK(samba_use_legacy_names(s, false) && samba_batchnorm(x, "bn"));
    CHECK(!samba_use_legacy_names(s, true) && says(s, "there is bn")); // in the other order, too
    CHECK(!strcmp(samba_conv2d(x, "third", 3, 3, NULL)->name, "third")
          && samba_use_legacy_names(s, false));
    CHECK(samba_close(s) == 0);
}

// An op on the host splits the forward pass: what is before, itself, what is after.
static int host_calls;

static void host_kernel(const samba_args *a)
{
    host_calls++;
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = 2 * a->in[0][i];
}

static void row_host_op(void)
{
    static const samba_op twice = { .name = "twice",
                                    .wire = 0x8001,
                                    .flags = SAMBA_OP_HOST,
                                    .signature = "*->*",
                                    .kernel = host_kernel };
    samba_session *s = samba_open(NULL);
    CHECK(samba_register_op(s, &twice));
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4)), *h = samba_tanh(x);
    h = samba_apply(s, "twice", &h, 1, NULL, 0);
    samba_tensor *y = samba_shift(h, 1);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(s->program.rt->pef.n_sections == 3 && samba_run(s, 0) && host_calls == 1);
    CHECK(fabsf(samba_read(y)[1] - (2 * tanhf(samba_read(x)[1]) + 1)) < 1e-6f);
    CHECK(samba_close(s) == 0);
}

static void row_levels(void)
{
    values got[3];
    int32_t sections[3];
    for (int i = 0; i < 3; i++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.level = (samba_opt_level)(SAMBA_O0 + i);
        p.sram_bytes = 512;
        CHECK(samba_compile(n.s, &p) && samba_run(n.s, 0));
        sections[i] = (int32_t)n.s->program.rt->pef.n_sections;
        got[i] = named(n.s, "fc1__weight");
        CHECK(samba_close(n.s) == 0);
    }
    CHECK(same(got[0], got[1]) && same(got[1], got[2]));
    CHECK(sections[0] > sections[1] && sections[1] > sections[2] && sections[2] == 3);
}

// Gradients of two microbatches add up to that of the batch.
static void row_microbatches(void)
{
    values grad[2];
    for (int m = 1; m <= 2; m++) {
        samba_session *s = samba_open(NULL);
        float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4 / m, 2));
        samba_tensor *y = samba_linear(in, "fc", 1),
                     *loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
        samba_program p = sgd(loss, NULL);
        p.microbatches = m;
        CHECK(samba_compile(s, &p) && samba_write(in, x));
        CHECK(((samba_section_types(s) & SAMBA_ZEROGRAD) != 0) == (m == 2));
        CHECK(samba_run(s, 0));
        grad[m - 1] = named(s, "fc__weight__grad");
        CHECK(samba_close(s) == 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK(fabsf(grad[0].at[i] - grad[1].at[i]) < 1e-5f);
}

// ---- Running ----

static void row_run_all(void)
{
    net a = trained(0), b = trained(0);
    CHECK(samba_run(a.s, 0) && samba_run(b.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

static void row_inputs(void)
{
    net n = trained(0);
    float *x = (float *)samba_cpu(n.x);
    CHECK(samba_run(n.s, SAMBA_FWD));
    float before = samba_read(n.loss)[0];
    x[0] += 1; // not on the device yet
    CHECK(samba_run(n.s, SAMBA_FWD) && samba_read(n.loss)[0] == before);
    samba_tensor *inputs[3] = { NULL, n.x, NULL }; // None keeps its place
    CHECK(samba_session_run(n.s, &(samba_session_run_desc){ .inputs = inputs, .n_inputs = 3 }));
    CHECK(samba_read(n.loss)[0] != before);
    CHECK(samba_close(n.s) == 0);
}

// y = x; what a run with x in its list makes of it.
typedef struct echo {
    samba_session *s;
    samba_tensor *x, *y;
} echo;

static echo echo_of(float *borrowed)
{
    echo e = { samba_open(NULL), NULL, NULL };
    samba_shape shape = SAMBA_SHAPE(2);
    e.x = borrowed ? samba_from_data(e.s, "x", SAMBA_F32, shape, borrowed)
                   : samba_ones(e.s, "x", SAMBA_F32, shape);
    e.y = samba_scale(e.x, 1);
    CHECK(samba_compile(e.s, &(samba_program){ .outputs = { e.y }, .inference = true }));
    return e;
}

static float listed(echo e)
{
    CHECK(samba_session_run(e.s, &(samba_session_run_desc){ .inputs = &e.x, .n_inputs = 1 }));
    return samba_read(e.y)[1];
}

// The newer of the two copies counts: an edit of the host's, or what was written to the device.
static void row_newer_copy(void)
{
    const float five[2] = { 5, 5 }, six[2] = { 6, 6 };
    echo e = echo_of(NULL);
    CHECK(listed(e) == 1);
    CHECK(samba_write(e.x, five) && listed(e) == 5 && listed(e) == 5); // not the dummy again
    float *host = (float *)e.x->data;
    host[1] = 7;
    CHECK(listed(e) == 7); // edited after the write
    host[1] = 8;
    CHECK(samba_write(e.x, six) && listed(e) == 6); // edited before it
    host[1] = 9;
    CHECK(samba_run(e.s, 0) && listed(e) == 9); // runs do not write inputs
    host[1] = 10;
    CHECK(samba_cpu(e.x) == host && host[1] == 9 && listed(e) == 9); // fetched over the edit
    CHECK(samba_write(e.x, six) && samba_rdu(e.x)
          && listed(e) == 9); // asked for: sent, whatever is newer
    CHECK(samba_close(e.s) == 0);

    float buffer[2] = { 0, 0 }; // one buffer, filled anew each step
    e = echo_of(buffer);
    for (int step = 1; step < 5; step++) {
        buffer[1] = (float)step;
        CHECK(listed(e) == (float)step);
        CHECK(samba_write(e.x, six) && listed(e) == 6);
    }
    CHECK(samba_write(e.x, buffer) && listed(e) == 4 && samba_close(e.s) == 0);

    samba_session *s = samba_open(NULL); // without a host copy
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2)), *h = samba_tanh(x),
                 *y = samba_scale(h, 2);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    samba_session_run_desc d = { .inputs = &x, .n_inputs = 1 };
    CHECK(!samba_session_run(s, &d) && says(s, "never given a value"));
    CHECK(samba_write(x, five) && samba_session_run(s, &d));
    d.inputs = &h;
    CHECK(!samba_session_run(s, &d) && says(s, "does not use it"));
    d.inputs = &y;
    CHECK(!samba_session_run(s, &d) && says(s, "scale_2 is computed"));
    CHECK(samba_close(s) == 0);
}

// A weight that was edited before it was restored is older than what was restored.
static void row_newer_weight(void)
{
    net n = trained(0);
    samba_tensor *w = samba_tensor_by_name(n.s, "fc2__bias");
    CHECK(samba_save(n.s, "build/rows_newer.ckpt"));
    float kept = samba_read(w)[0], *host = (float *)samba_cpu(w);
    host[0] = 7;
    CHECK(samba_restore(n.s, "build/rows_newer.ckpt") && samba_to_rdu(n.s)
          && samba_read(w)[0] == kept);
    host[0] = 8;
    CHECK(samba_run(n.s, 0) && samba_to_rdu(n.s) && samba_read(w)[0] == 8);
    CHECK(samba_close(n.s) == 0);
}

static void row_outputs(void)
{
    net n = trained(0);
    samba_session_run_desc d = { .outputs = &n.out, .n_outputs = 1 };
    CHECK(samba_session_run(n.s, &d) && !samba_is_stale(n.out) && samba_is_stale(n.loss));
    values before = copied(n.out);
    CHECK(samba_run(n.s, SAMBA_OPT) && samba_is_stale(n.out));
    CHECK(same(copied(n.out), before)); // FWD did not run: what it was
    samba_tensor *both[2] = { n.loss, n.out };
    const char *opt = "opt";
    d = (samba_session_run_desc){
        .section_types = &opt, .n_section_types = 1, .outputs = both, .n_outputs = 2
    };
    CHECK(samba_session_run(n.s, &d) && !samba_is_stale(n.loss)
          && !memcmp(n.out->data, before.at, B * C * 4));
    CHECK(samba_run(n.s, SAMBA_FWD) && !same(copied(n.out), before));
    net other = trained(0); // what cannot be fetched is named before anything runs
    samba_tensor *const wrong[4]
        = { samba_tensor_by_name(n.s, "tanh_1"), NULL, other.out, other.label };
    static const char *const why[4]
        = { "output 1, tanh_1 f32 (6,7), is not kept", "output 1 is NULL",
            "fc2, belongs to another session", "label, belongs to another session" };
    before = named(n.s, "fc1__weight");
    for (int i = 0; i < 4; i++) {
        both[1] = wrong[i];
        CHECK(!samba_session_run(n.s, &(samba_session_run_desc){ .outputs = both, .n_outputs = 2 })
              && !samba_ok(n.s));
        CHECK(says(n.s, why[i]) && same(named(n.s, "fc1__weight"), before));
    }
    CHECK(!samba_cpu(wrong[0]) && says(n.s, "tanh_1"));
    CHECK(samba_close(other.s) == 0 && samba_close(n.s) == 0);
}

// run(input_tensors, output_tensors, hyperparam_dict, section_types ...), as its signature has it:
// the session has the model, so it is no argument. All in one call, and one after another.
static void row_signature(void)
{
    net a = trained(0), b = trained(0);
    float x[B * F];
    for (int i = 0; i < B * F; i++)
        x[i] = (float)i * 0.125f;
    memcpy(samba_cpu(a.x), x, sizeof x);
    const samba_value lr = { "lr", 0.5 };
    const char *types[3] = { "FWD", "BCKWD", "OPT" };
    samba_tensor *outputs[2] = { a.out, a.loss };
    samba_session_run_desc d = { .inputs = &a.x,
                                 .n_inputs = 1,
                                 .outputs = outputs,
                                 .n_outputs = 2,
                                 .hyperparams = &lr,
                                 .n_hyperparams = 1 };
    d.section_types = types;
    d.n_section_types = 3;
    CHECK(samba_session_run(a.s, &d));
    CHECK(samba_write(b.x, x) && samba_set(b.s, "lr", 0.5)
          && samba_run(b.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(!memcmp(a.out->data, samba_read(b.out), sizeof(float) * B * C)
          && *(float *)a.loss->data == samba_read(b.loss)[0]);
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    d.inputs = &b.x;
    CHECK(!samba_session_run(a.s, &d) && says(a.s, "x belongs to another session"));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

static void row_hyperparams(void)
{
    net n = trained(0);
    samba_value lr = { "lr", 0 }, wrong = { "learning_rate", 1 };
    values before = named(n.s, "fc1__weight");
    CHECK(samba_get(n.s, "lr") == (double)0.1f);
    CHECK(samba_session_run(n.s,
                            &(samba_session_run_desc){ .hyperparams = &lr, .n_hyperparams = 1 }));
    CHECK(samba_run(n.s, 0) && samba_get(n.s, "lr") == 0); // persists
    CHECK(same(named(n.s, "fc1__weight"), before));
    CHECK(!samba_session_run(n.s,
                             &(samba_session_run_desc){ .hyperparams = &wrong, .n_hyperparams = 1 })
          && says(n.s, "nearest name"));
    CHECK(samba_close(n.s) == 0);
}

static void row_section_types(void)
{
    net a = trained(0), b = trained(0);
    const char *types[3] = { "fwd", "BCKWD", "Opt" }, *backward[2] = { "OPT", "fwd" },
               *wrong = "update";
    CHECK(samba_session_run(
              a.s, &(samba_session_run_desc){ .section_types = types, .n_section_types = 3 })
          && samba_run(b.s, 0));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    CHECK(samba_session_run(
        a.s, &(samba_session_run_desc){ .section_types = backward, .n_section_types = 2 }));
    CHECK(samba_run(b.s, SAMBA_OPT) && samba_run(b.s, SAMBA_FWD));
    CHECK(samba_read(a.loss)[0] == samba_read(b.loss)[0]);
    CHECK(!samba_session_run(
              a.s, &(samba_session_run_desc){ .section_types = &wrong, .n_section_types = 1 })
          && says(a.s, "the types are ZEROGRAD FWD BCKWD REDUCE GRADNORM OPT, in any case"));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

static void row_gradnorm(void)
{
    for (int clips = 0; clips < 2; clips++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.optim.max_grad_norm = clips ? 1e-3f : 0;
        CHECK(samba_compile(n.s, &p));
        CHECK(((samba_section_types(n.s) & SAMBA_GRADNORM) != 0) == clips);
        if (!clips)
            CHECK(!samba_run(n.s, SAMBA_GRADNORM)
                  && says(n.s, "no section of type GRADNORM (16); it has FWD BCKWD OPT"));
        CHECK(!samba_run(n.s, SAMBA_REDUCE) && says(n.s, "REDUCE"));
        values before = named(n.s, "fc2__bias");
        CHECK(samba_run(n.s, 0));
        values after = named(n.s, "fc2__bias");
        if (clips) CHECK(fabsf(after.at[0] - before.at[0]) <= 1e-4f);
        CHECK(samba_close(n.s) == 0);
    }
}

static net by_ops(void) // each op is a section
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    p.level = SAMBA_O0;
    CHECK(samba_compile(n.s, &p));
    return n;
}

static void row_section_ids(void)
{
    net a = by_ops(), b = by_ops();
    int32_t ids[64], n = (int32_t)a.s->program.rt->pef.n_sections, far = n;
    for (int32_t i = 0; i < n; i++)
        ids[i] = i;
    CHECK(
        samba_session_run(a.s, &(samba_session_run_desc){ .section_ids = ids, .n_section_ids = n })
        && samba_run(b.s, 0));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    int32_t turned[64], n_turned = 0; // the steps first, then the forward pass
    samba_section q;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; samba_describe_section(a.s, i, &q); i++)
            if (!strcmp(q.type, pass ? "FWD" : "OPT")) turned[n_turned++] = i;
    CHECK(samba_session_run(
        a.s, &(samba_session_run_desc){ .section_ids = turned, .n_section_ids = n_turned }));
    CHECK(samba_run(b.s, SAMBA_OPT) && samba_run(b.s, SAMBA_FWD)
          && same(copied(a.out), copied(b.out)));
    CHECK(!samba_session_run(a.s,
                             &(samba_session_run_desc){ .section_ids = &far, .n_section_ids = 1 })
          && says(a.s, "out of range"));
    const char *type = "fwd";
    samba_session_run_desc both
        = { .section_ids = ids, .n_section_ids = 1, .section_types = &type, .n_section_types = 1 };
    values before = named(a.s, "fc1__weight"), out = copied(a.out);
    CHECK(!samba_session_run(a.s, &both) && says(a.s, "exclude each other"));
    both.section_ids = &far;
    both.n_section_types = 0;
    both.until_call_id = 1;
    CHECK(!samba_session_run(a.s, &both) && says(a.s, "nothing was run"));
    CHECK(same(named(a.s, "fc1__weight"), before) && same(copied(a.out), out));
    int32_t only = 0; // one section, and nothing else
    CHECK(samba_session_run(a.s,
                            &(samba_session_run_desc){ .section_ids = &only, .n_section_ids = 1 }));
    CHECK(same(named(a.s, "fc1__weight"), before) && same(copied(a.out), out));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

// The optimizer's sections of two parameters are independent, a layer and the next one are not.
static void row_section_groups(void)
{
    net a = by_ops(), b = by_ops();
    int32_t n = (int32_t)a.s->program.rt->pef.n_sections;
    int32_t group[4] = { SAMBA_GROUP_BEGIN, n - 2, n - 1, SAMBA_GROUP_END },
            plain[2] = { n - 2, n - 1 };
    CHECK(samba_run(a.s, SAMBA_FWD | SAMBA_BCKWD) && samba_run(b.s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_session_run(a.s,
                            &(samba_session_run_desc){ .section_ids = group, .n_section_ids = 4 }));
    CHECK(samba_session_run(b.s,
                            &(samba_session_run_desc){ .section_ids = plain, .n_section_ids = 2 }));
    CHECK(same(named(a.s, "fc2__weight"), named(b.s, "fc2__weight")));
    group[1] = 0;
    group[2] = 1;
    CHECK(!samba_session_run(a.s,
                             &(samba_session_run_desc){ .section_ids = group, .n_section_ids = 4 })
          && says(a.s, "depend on each other"));
    CHECK(!samba_session_run(a.s,
                             &(samba_session_run_desc){ .section_ids = group, .n_section_ids = 3 })
          && samba_error_code(a.s) != SAMBA_OK);
    samba_clear_error(a.s);
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

// run(until = k), run(from = k) is run().
static void row_call_ids(void)
{
    net b = by_ops();
    int32_t n = (int32_t)b.s->program.rt->pef.n_sections;
    CHECK(samba_run(b.s, 0));
    for (int32_t k = 1; k < n; k += 3) {
        net a = by_ops();
        CHECK(samba_session_run(a.s, &(samba_session_run_desc){ .until_call_id = k })
              && samba_session_run(a.s, &(samba_session_run_desc){ .from_call_id = k }));
        CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
        CHECK(samba_close(a.s) == 0);
    }
    CHECK(!samba_session_run(b.s, &(samba_session_run_desc){ .from_call_id = n })
          && says(b.s, "out of range"));
    CHECK(!samba_session_run(b.s, &(samba_session_run_desc){ .until_call_id = n + 1 })
          && says(b.s, "out of range"));
    CHECK(!samba_session_run(b.s, &(samba_session_run_desc){ .from_call_id = -1 })
          && says(b.s, "out of range"));
    CHECK(samba_close(b.s) == 0);
}

// The loss on the host: the model's output and its gradient cross over. The same step as in one go.
static void row_grad_of_outputs(void)
{
    net whole = trained(0), part = traced(0);
    samba_program p = sgd(NULL, part.out);
    CHECK(samba_compile(part.s, &p));
    for (int step = 0; step < 5; step++) {
        CHECK(samba_run(whole.s, 0) && samba_run(part.s, SAMBA_FWD));
        float dout[B * C];
        for (int i = 0; i < B; i++) { // (softmax - one-hot) / B
            const float *z = samba_read(part.out) + i * C;
            float sum = expf(z[0]) + expf(z[1]) + expf(z[2]);
            for (int k = 0; k < C; k++)
                dout[i * C + k]
                    = (expf(z[k]) / sum - (float)(samba_read_i32(part.label)[i] == k)) / B;
        }
        samba_output_grad grad = { part.out, dout };
        const char *types[2] = { "bckwd", "opt" };
        samba_session_run_desc d = { .section_types = types,
                                     .n_section_types = 2,
                                     .grad_of_outputs = &grad,
                                     .n_grad_of_outputs = 1 };
        CHECK(samba_session_run(part.s, &d));
    }
    values a = named(whole.s, "fc1__weight"), b = named(part.s, "fc1__weight");
    CHECK_CLOSE(b.at, a.at, 35, 1e-5, 1e-6);
    CHECK(samba_close(whole.s) == 0 && samba_close(part.s) == 0);
}

// The same with samba's own ops on the host, computed at once and differentiated.
static void row_host_autograd(void)
{
    net whole = trained(0), part = traced(0);
    samba_program p = sgd(NULL, part.out);
    CHECK(samba_compile(part.s, &p));
    samba_session *host = samba_open(NULL);
    samba_set_tracing(host, false);
    samba_tensor *label
        = samba_from_data(host, "label", SAMBA_I32, SAMBA_SHAPE(B), samba_cpu(part.label));
    CHECK(samba_run(whole.s, 0) && samba_run(part.s, SAMBA_FWD));
    samba_tensor *z = samba_from_data(host, "z", SAMBA_F32, SAMBA_SHAPE(B, C), samba_cpu(part.out));
    samba_tensor *loss = samba_cross_entropy(z, label);
    CHECK(fabsf(samba_read(loss)[0] - samba_read(whole.loss)[0]) < 1e-6f);
    CHECK(samba_write(samba_sn_grad(part.out), samba_read(samba_grad(loss, z))));
    CHECK(samba_run(part.s, SAMBA_BCKWD | SAMBA_OPT));
    CHECK(same(named(whole.s, "fc1__weight"), named(part.s, "fc1__weight")));
    CHECK(samba_close(whole.s) == 0 && samba_close(part.s) == 0 && samba_close(host) == 0);
}

// Ones on a vector are the gradient of its sum; assigned ones persist; rows cut a smaller batch.
static void row_init_output_grads(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
    samba_tensor *outs[2] = { samba_scale(w, 10), samba_neg(w) };
    samba_program both = { .outputs = { outs[0], outs[1] } };
    const float half[3] = { 0.5f, 0.5f, 0.5f };
    CHECK(samba_compile(s, &both)
          && samba_init_output_grads(s, &(samba_output_grad){ outs[0], half }, 1, 0));
    CHECK(samba_run(s, 0)
          && samba_read(samba_sn_grad(w))[2] == 10 * 0.5f - 1); // the other one: ones
    CHECK(samba_close(s) == 0);
    values grad[4];
    float two[B * C];
    for (int i = 0; i < B * C; i++)
        two[i] = 2;
    net n = traced(0);
    samba_program p = sgd(NULL, n.out);
    CHECK(samba_compile(n.s, &p));
    samba_output_grad custom = { n.out, two };
    for (int i = 0; i < 4; i++) {
        if (i == 1) CHECK(samba_init_output_grads(n.s, &custom, 1, 0));
        if (i == 3) CHECK(samba_init_output_grads(n.s, NULL, 0, 2));
        CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD)); // i = 2: as assigned before
        grad[i] = named(n.s, "fc2__bias__grad");
    }
    CHECK(grad[0].at[0] == B && grad[1].at[0] == 2 * B && grad[2].at[0] == 2 * B
          && grad[3].at[0] == 2);
    samba_session_run_desc given = { .grad_of_outputs = &custom, .n_grad_of_outputs = 1 };
    CHECK(samba_session_run(n.s, &given) && named(n.s, "fc2__bias__grad").at[0] == 2 * B);
    CHECK(samba_run(n.s, 0) && named(n.s, "fc2__bias__grad").at[0] == 2 * B); // the last one given
    CHECK(samba_init_output_grads(n.s, NULL, 0, 0) && samba_run(n.s, 0)
          && named(n.s, "fc2__bias__grad").at[0] == B);
    custom.output = n.x;
    CHECK(!samba_init_output_grads(n.s, &custom, 1, 0) && says(n.s, "no gradient"));
    custom.output = NULL;
    CHECK(!samba_init_output_grads(n.s, &custom, 1, 0));
    samba_clear_error(n.s);
    samba_close(n.s);
}

// A net of which the batch's last rows may be missing: by labels of -100, or by gradients of 0.
typedef struct ragged {
    samba_session *s;
    samba_tensor *x, *label, *loss;
} ragged;

static ragged ragged_net(int32_t batch, bool vector)
{
    ragged r = { samba_open(NULL), NULL, NULL, NULL };
    r.x = samba_input(r.s, "x", SAMBA_F32, SAMBA_SHAPE(batch, F));
    r.label = samba_input(r.s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    samba_tensor *out
        = samba_linear(samba_layernorm(samba_tanh(samba_linear(r.x, "fc1", 7)), "norm"), "fc2", C);
    r.loss = samba_cross_entropy_with(
        out, r.label,
        &(samba_loss_opts){ .reduction = vector ? SAMBA_REDUCE_NONE : SAMBA_REDUCE_MEAN });
    samba_program p = sgd(r.loss, NULL);
    CHECK(samba_compile(r.s, &p));
    return r;
}

// The last, smaller batch has the loss and makes the step that it has and makes alone.
static void row_variable_batch(void)
{
    enum { ROWS = 4 };

    float x[B * F];
    int32_t label[B], cut[B];
    for (int i = 0; i < B * F; i++)
        x[i] = sinf((float)i);
    for (int i = 0; i < B; i++) {
        label[i] = i % C;
        cut[i] = i < ROWS ? label[i] : -100;
    }
    for (int vector = 0; vector < 2; vector++) {
        ragged whole = ragged_net(B, vector), alone = ragged_net(ROWS, vector);
        CHECK(samba_write(whole.x, x) && samba_write(whole.label, vector ? label : cut));
        CHECK(samba_write(alone.x, x) && samba_write(alone.label, label));
        if (vector) CHECK(samba_init_output_grads(whole.s, NULL, 0, ROWS));
        CHECK(samba_run(whole.s, 0) && samba_run(alone.s, 0));
        CHECK_CLOSE(samba_read(whole.loss), samba_read(alone.loss), (vector ? ROWS : 1), 1e-6,
                    1e-7);
        static const char *const names[4]
            = { "fc1__weight", "fc2__bias", "norm__weight", "fc1__weight__grad" };
        for (int i = 0; i < 4; i++) {
            values a = named(whole.s, names[i]), b = named(alone.s, names[i]);
            CHECK_CLOSE(a.at, b.at, 64, 1e-5, 1e-7);
        }
        if (vector) { // and the next one is whole again
            CHECK(samba_init_output_grads(whole.s, NULL, 0, 0)
                  && samba_run(whole.s, SAMBA_FWD | SAMBA_BCKWD));
            CHECK(named(whole.s, "fc2__bias__grad").at[0]
                  != named(alone.s, "fc2__bias__grad").at[0]);
        }
        CHECK(samba_close(whole.s) == 0 && samba_close(alone.s) == 0);
    }
}

// The mask of the backward pass is that of the forward pass.
static void row_dropout_mask(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(64), (samba_init){ .value = 1 });
    samba_tensor *y = samba_dropout(w, "drop", 0.5f);
    samba_program p = sgd(samba_sum(y, SAMBA_ALL_AXES, false), y);
    values seen[3];
    CHECK(samba_compile(s, &p) && samba_set(s, "lr", 0));
    for (int i = 0; i < 3; i++) {
        if (i == 2) CHECK(samba_reset_random_generator(s));
        CHECK(samba_run(s, 0));
        seen[i] = copied(y);
        CHECK(same(seen[i], named(s, "w__grad"))); // 0 or 1 / (1 - p), both
    }
    CHECK(!same(seen[0], seen[1]) && same(seen[0], seen[2]));
    CHECK(samba_close(s) == 0);
}

static void row_train_flag(void)
{
    net n = trained(0.5f);
    CHECK(samba_run(n.s, SAMBA_FWD));
    float noisy = samba_read(n.loss)[0];
    samba_value p = { "p", 0.25 };
    samba_session_run_desc eval = { .eval = true, .hyperparams = &p, .n_hyperparams = 1 };
    const char *fwd = "fwd";
    eval.section_types = &fwd;
    eval.n_section_types = 1;
    CHECK(samba_session_run(n.s, &eval));
    float quiet = samba_read(n.loss)[0];
    CHECK(samba_session_run(n.s, &eval) && samba_read(n.loss)[0] == quiet && quiet != noisy);
    CHECK(samba_get(n.s, "p") == 0.25); // stored, and used again in training
    CHECK(samba_run(n.s, SAMBA_FWD) && samba_read(n.loss)[0] != quiet);
    CHECK(samba_close(n.s) == 0);
}

// Said before compiling or loading it holds, too; an inference program has no other way.
static void row_train_kept(void)
{
    for (int how = 0; how < 4; how++) { // compile, again, load, and an inference program
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(64)),
                     *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
        samba_tensor *y = samba_dropout(x, "drop", 0.5f);
        samba_program p = sgd(samba_sum(samba_mul(y, w), SAMBA_ALL_AXES, false), y);
        p.pef = "build/rows_train.pef";
        p.inference = how == 3;
        if (how == 1) CHECK(samba_compile(s, &p));
        CHECK(samba_set_train(s, how == 3)
              && (how == 2 ? samba_load(s, p.pef, &p) : samba_compile(s, &p)));
        CHECK(samba_run(s, SAMBA_FWD) && samba_read(p.loss)[0] == 64);
        CHECK(samba_set_train(s, true) && samba_run(s, SAMBA_FWD)
              && (samba_read(p.loss)[0] != 64) == (how < 3));
        CHECK(samba_close(s) == 0);
    }
}

// train = False is about dropout; batch norm goes on as before, and goes by its running values, and
// leaves them alone, where that is asked for, eagerly, too.
static void row_running_stats(void)
{
    for (int eager = 0; eager < 2; eager++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 1)), *y = NULL;
        if (eager)
            CHECK(samba_set_tracing(s, false));
        else
            y = samba_batchnorm(x, "bn");
        samba_program p = { .outputs = { y } };
        if (!eager) p.loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
        CHECK(eager || samba_compile(s, &p));
        float mean = 0, last;
        for (int i = 0; i < 5; i++) { // 3 and 4: by the running values
            if (eager) CHECK(samba_use_running_stats(s, i >= 3));
            if (eager) y = samba_batchnorm(x, "bn");
            if (eager)
                CHECK(i % 2 == 0 || samba_set_train(s, false));
            else
                CHECK(samba_session_run(
                    s, &(samba_session_run_desc){ .eval = i % 2 != 0, .running_stats = i >= 3 }));
            float *v = (float *)samba_cpu(y), sum = v[0] + v[1] + v[2] + v[3];
            CHECK((fabsf(sum) < 1e-5f) == (i < 3));
            last = samba_read(samba_tensor_by_name(s, "bn__running_mean"))[0];
            CHECK((last != mean) == (i < 3));
            mean = last;
        }
        CHECK(samba_close(s) == 0);
    }
}

static void row_order_of_calls(void)
{
    samba_session *s = samba_open(NULL);
    CHECK(!samba_run(s, 0) && says(s, "samba_compile or samba_load first"));
    CHECK(samba_close(s) == 0);
}

// ---- Queries and transfers ----

static void row_argin_names(void)
{
    net n = trained(0.5f);
    const char *all[16], *rate[4], *seed[4];
    int32_t count = samba_argin_names(n.s, all, 16);
    CHECK(samba_dropout_rate_names(n.s, rate, 4) == 1 && !strcmp(rate[0], "drop__p"));
    CHECK(samba_dropout_seed_names(n.s, seed, 4) == 1 && !strcmp(seed[0], "drop__seed"));
    CHECK(count > 2 && samba_argin_names(n.s, NULL, 0) == count);
    for (int32_t i = 0; i < count; i++)
        CHECK(samba_get(n.s, all[i]) >= 0 && samba_ok(n.s));
    CHECK(samba_close(n.s) == 0);
}

static void row_section_types_of(void)
{
    net n = trained(0);
    CHECK(samba_section_types(n.s) == (SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(samba_close(n.s) == 0);
}

static void row_by_name(void)
{
    net n = trained(0);
    CHECK(samba_tensor_by_name(n.s, "fc1__weight") && samba_run(n.s, 0));
    CHECK(named(n.s, "fc1__weight__grad").at[0] != 0);     // gradients,
    CHECK(named(n.s, "fc1__weight__momentum").at[0] != 0); // optimizer state
    CHECK(!samba_tensor_by_name(n.s, "fc1__wieght") && says(n.s, "nearest name is fc1__weight"));
    CHECK(samba_is_stale(samba_tensor_by_name(n.s, "fc2__bias"))); // found, not fetched
    CHECK(!samba_copy_out(samba_tensor_by_name(n.s, "tanh_1"), &n, sizeof n)
          && says(n.s, "tanh_1"));
    CHECK(samba_close(n.s) == 0);
}

static void row_update_tensor(void)
{
    net n = trained(0);
    float zero[B * F] = { 0 };
    CHECK(samba_update_tensor(n.s, "x", zero) && samba_read(n.x)[3] == 0);
    CHECK(samba_update_tensor(n.s, "x", NULL));
    CHECK(!samba_tensor_by_name(n.s, "x") && says(n.s, "unknown"));
    CHECK(samba_run(n.s, 0)); // the program still has it
    CHECK(samba_close(n.s) == 0);
}

static void row_to_cpu(void)
{
    net n = trained(0);
    CHECK(samba_run(n.s, 0) && samba_to_cpu(n.s));
    samba_tensor *w = samba_tensor_by_name(n.s, "fc1__weight");
    float *host = (float *)w->data, kept = host[0];
    CHECK(kept == samba_read(w)[0]);
    CHECK(samba_run(n.s, 0) && samba_read(w)[0] != kept && host[0] == kept);
    float now = samba_read(w)[0];
    samba_tensor *v = samba_tensor_by_name(n.s, "fc1__weight__momentum");
    CHECK(samba_to_rdu(n.s)
          && samba_read(w)[0] == now); // the device is newer, and nothing was edited
    values moved = copied(v);
    host[0] = 0.5f;
    CHECK(samba_to_rdu(n.s) && samba_read(w)[0] == 0.5f
          && same(copied(v), moved)); // what was edited, alone
    CHECK(samba_to_cpu(n.s) && samba_run(n.s, 0) && samba_rdu(w)
          && samba_read(w)[0] == 0.5f); // back, as asked for
    kept = host[0];
    CHECK(v->data && samba_is_stale(v) && samba_to_cpu(n.s)
          && w->data == host); // in place; the optimizer's, too
    values own = copied(w);    // not in place: memory of one's own
    host[0] = 7;
    CHECK(own.at[0] == kept && samba_read(w)[0] == kept);
    CHECK(samba_close(n.s) == 0);
}

// Without optimizers: parameters and buffers are carried, and what optimizers have is left alone.
static void row_without_optims(void)
{
    net n = trained(0.5f);
    CHECK(samba_run(n.s, 0) && samba_model_to_cpu(n.s));
    samba_tensor *w = samba_tensor_by_name(n.s, "fc1__weight"),
                 *v = samba_tensor_by_name(n.s, "fc1__weight__momentum");
    CHECK(w->data && !samba_is_stale(w) && !v->data && !samba_tensor_by_name(n.s, "step")->data);
    CHECK(samba_to_cpu(n.s) && v->data);
    ((float *)v->data)[0] = 9;
    ((float *)w->data)[0] = 8;
    CHECK(samba_model_to_rdu(n.s) && samba_read(w)[0] == 8 && samba_read(v)[0] != 9);
    CHECK(samba_to_rdu(n.s) && samba_read(v)[0] == 9);
    CHECK(samba_close(n.s) == 0);
}

// Values that were given while tracing are on the device when the program is; others are sent.
static void row_to_device(void)
{
    samba_session *s = samba_open(NULL);
    float mine[2] = { 1, 2 };
    samba_tensor *a = samba_from_data(s, "a", SAMBA_F32, SAMBA_SHAPE(2), mine),
                 *b = samba_input(s, "b", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_add(a, b);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    mine[0] = 5;
    CHECK(samba_read(a)[0] == 1 && !samba_run(s, 0) && says(s, "input b"));
    CHECK(samba_write(b, mine) && samba_run(s, 0) && samba_read(y)[0] == 6);
    CHECK(samba_rdu(a) && samba_run(s, 0) && samba_read(y)[0] == 10);
    CHECK(samba_close(s) == 0);
}

// transfer_device = False: nothing is sent but what the program asks for, and nothing is lost by
// it.
static void row_withheld(void)
{
    float want = 0;
    for (int how = 0; how < 6;
         how++) { // as always; to_device; one by one; restored; an edit; compiled again
        samba_session *s = samba_open(NULL);
        float mine[2] = { 1, 2 };
        samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(2), mine),
                     *h = samba_linear(samba_reshape(x, SAMBA_SHAPE(1, 2)), "fc", 2);
        samba_program p = sgd(samba_sum(samba_mul(h, h), SAMBA_ALL_AXES, false), NULL);
        CHECK(samba_set_transfer(s, how == 0) && samba_compile(s, &p));
        samba_tensor *w = samba_tensor_by_name(s, "fc__weight"),
                     *b = samba_tensor_by_name(s, "fc__bias");
        if (how > 0) {
            CHECK(!samba_run(s, 0) && says(s, "was not sent to the device"));
            CHECK(!samba_save(s, "build/rows_none.ckpt") && says(s, "was not sent"));
            CHECK(samba_read(x)[1] == 2
                  && (how == 2 || samba_read(w)[0] != 0)); // what it has on the host
        }
        mine[1] = 3;
        if (how == 0) CHECK(samba_rdu(x) && samba_save(s, "build/rows_sent.ckpt"));
        if (how == 1) CHECK(samba_to_device(s) && samba_to_device(s) && !w->data);
        if (how == 2)
            CHECK(samba_rdu(x) && samba_rdu(w) && !samba_run(s, 0)
                  && says(s, "fc__bias f32 (2) was not sent") && samba_rdu(b));
        if (how == 3)
            CHECK(samba_restore(s, "build/rows_sent.ckpt") && !samba_run(s, 0)
                  && says(s, "x f32 (2) was not sent"));
        if (how == 4) ((float *)samba_cpu(b))[1] = 7;
        if (how == 4)
            CHECK(samba_rdu(b) && samba_read(b)[1] == 7
                  && samba_restore(s, "build/rows_sent.ckpt"));
        if (how == 5) CHECK(samba_set_transfer(s, true) && samba_compile(s, &p));
        const samba_feed feed
            = { .name = "x" }; // what a list sends may have been withheld until now
        CHECK(samba_session_run(s,
                                how % 2
                                    ? &(samba_session_run_desc){ .inputs = &x, .n_inputs = 1 }
                                    : &(samba_session_run_desc){ .feeds = &feed, .n_feeds = 1 }));
        if (how == 0) want = samba_read(p.loss)[0];
        CHECK(samba_read(p.loss)[0] == want && want != 0 && samba_close(s) == 0);
    }
}

static void row_sync_buffers(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 2, 3, 3));
    samba_tensor *loss = samba_mean(samba_batchnorm(x, "bn"), SAMBA_ALL_AXES, false);
    samba_program p = sgd(loss, NULL);
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_sync_buffers_to_cpu(s));
    samba_tensor *mean = samba_tensor_by_name(s, "bn__running_mean"),
                 *w = samba_tensor_by_name(s, "bn__weight");
    CHECK(!samba_is_stale(mean) && samba_is_stale(w) && !w->data);
    ((float *)mean->data)[0] = 5;
    CHECK(samba_sync_buffers_to_rdu(s) && samba_read(mean)[0] == 5);
    CHECK(samba_close(s) == 0);
}

// Whether the program was compiled here, or loaded with or without its graph: buffers are what
// samba_buffer made. An optimizer's step and momentum are none, nor is dropout's counter.
static void row_buffers(void)
{
    static const char *const others[3] = { "step", "fc__weight__momentum", "forward_runs" };
    for (int how = 0; how < 3; how++) {
        samba_session *s = samba_open(NULL);
        samba_program p = { 0 };
        if (how < 2) {
            samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2));
            samba_tensor *h
                = samba_dropout(samba_batchnorm(samba_linear(x, "fc", 2), "bn"), "drop", 0.5f);
            p = sgd(samba_mean(h, SAMBA_ALL_AXES, false), NULL);
        }
        p.pef = "build/rows_buffers.pef";
        CHECK(how == 0 ? samba_compile(s, &p) : samba_load(s, p.pef, how == 1 ? &p : NULL));
        if (how == 2) CHECK(samba_zero_inputs(s));
        CHECK(samba_run(s, 0) && samba_sync_buffers_to_cpu(s));
        samba_tensor *mean = samba_tensor_by_name(s, "bn__running_mean");
        CHECK(mean->data && !samba_is_stale(mean));
        for (int i = 0; i < 3; i++)
            CHECK(!samba_tensor_by_name(s, others[i])->data);
        CHECK(samba_to_cpu(s));
        for (int i = 0; i < 3; i++)
            CHECK(samba_run(s, 0));
        ((float *)mean->data)[0] = 5;
        CHECK(samba_sync_buffers_to_rdu(s) && samba_to_rdu(s) && samba_read(mean)[0] == 5);
        CHECK(samba_read_i32(samba_tensor_by_name(s, "step"))[0] == 4);
        CHECK(samba_read_i32(samba_tensor_by_name(s, "forward_runs"))[0] == 4);
        CHECK(samba_close(s) == 0);
    }
}

// The last load wins. What a parameter lacks is named, and then nothing is changed; what the
// program has not is left in the file, where its names can be read.
static void keep_warning(samba_log_level level, const char *text, void *user)
{
    if (level == SAMBA_LOG_WARNING) snprintf((char *)user, 600, "%s", text);
}

static void row_load_state(void)
{
    net n = trained(0);
    values first = named(n.s, "fc1__weight");
    CHECK(samba_save(n.s, "build/rows_a.ckpt") && samba_run(n.s, 0)
          && samba_save(n.s, "build/rows_b.ckpt"));
    values second = named(n.s, "fc1__weight");
    CHECK(samba_run(n.s, 0) && samba_restore(n.s, "build/rows_b.ckpt")
          && same(named(n.s, "fc1__weight"), second));
    CHECK(samba_restore(n.s, "build/rows_a.ckpt") && same(named(n.s, "fc1__weight"), first)
          && !same(first, second));
    for (int i = 0; i < 3; i++) { // a missing one, one of another shape, one too many
        samba_session *s = samba_open(NULL);
        samba_tensor *y = samba_linear(samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F)), "fc1",
                                       i == 1 ? 8 : 7);
        if (i == 0) y = samba_linear(y, "fc9", 2);
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
        float before = samba_read(samba_tensor_by_name(s, "fc1__weight"))[0];
        CHECK(samba_restore(s, "build/rows_b.ckpt") == (i == 2));
        if (i == 0)
            CHECK(says(
                s,
                "has no value for the parameters fc9__weight, fc9__bias; it has parameters that the program has not: fc2__weight"));
        if (i == 1) CHECK(says(s, "which is f32 (8"));
        CHECK((samba_read(samba_tensor_by_name(s, "fc1__weight"))[0] == before) == (i < 2));
        if (i == 2) CHECK(samba_read(samba_tensor_by_name(s, "fc1__weight"))[0] == second.at[0]);
        CHECK(samba_close(s) == 0);
    }
    for (int i = 0; i < 5; i++) { // torch's strict; all names, and what differs beside them
        static char warning[600];
        warning[0] = 0;
        samba_session *s = samba_open(&(samba_desc){ .log = keep_warning, .user = warning });
        samba_tensor *y = samba_linear(samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F)), "fc1",
                                       i == 4 ? 8 : 7);
        for (int k = 0; k < (i == 3 ? 12 : i != 1); k++) {
            char name[8];
            snprintf(name, sizeof name, "in%d", k);
            y = samba_linear_no_bias(y, name, 4);
        }
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
        samba_restored r = { -1, -1 };
        const samba_restore_opts opts = { .partial = i != 3, .exact = i == 1 };
        CHECK(samba_restore_with(s, "build/rows_b.ckpt", &opts, &r) == (i == 0 || i == 2));
        CHECK(r.n_missing == (i == 1 ? 0 : i == 3 ? 12 : 1) && r.n_unexpected == 2);
        if (i == 0)
            CHECK(strstr(warning, "parameters that the program has not: fc2__")
                  && strstr(warning, "fc2__bias"));
        if (i == 1) CHECK(says(s, "has parameters that the program has not: fc2__"));
        if (i == 3) CHECK(says(s, "in0__weight, in1__weight, in") && r.n_missing == 12);
        if (i == 4)
            CHECK(says(
                s, "f32 (7,5) for fc1__weight, which is f32 (8,5) here, f32 (7) for fc1__bias"));
        samba_tensor *w = samba_tensor_by_name(s, "fc1__weight");
        CHECK((samba_read(w)[0] == second.at[0]) == (i == 0 || i == 2) && samba_close(s) == 0);
    }
    samba_session *part
        = samba_open(NULL); // what a partial restore leaves without a value is not run
    samba_tensor *y = samba_linear(
        samba_linear(samba_zeros(part, "x", SAMBA_F32, SAMBA_SHAPE(B, F)), "fc1", 7), "fc9", 2);
    CHECK(samba_compile(
              part,
              &(samba_program){ .pef = "build/rows_part.pef", .outputs = { y }, .inference = true })
          && samba_close(part) == 0);
    part = samba_open(NULL);
    samba_restored r;
    CHECK(samba_load(part, "build/rows_part.pef", NULL)
          && samba_restore_with(part, "build/rows_b.ckpt", &(samba_restore_opts){ .partial = true },
                                &r));
    CHECK(r.n_missing == 2 && r.n_unexpected == 2
          && samba_write(samba_tensor_by_name(part, "x"), first.at));
    CHECK(!samba_run(part, 0) && says(part, "fc9__"));
    for (int i = 0; i < 2; i++)
        CHECK(samba_write(samba_tensor_by_name(part, i ? "fc9__bias" : "fc9__weight"), first.at));
    CHECK(samba_run(part, 0) && samba_close(part) == 0);
    samba_session *file = samba_open(NULL);
    CHECK(samba_load(file, "build/rows_b.ckpt", NULL) && samba_weight_names(file, NULL, 0) == 4);
    CHECK(same(named(file, "fc1__weight"), second) && samba_close(file) == 0
          && samba_close(n.s) == 0);
}

// ---- Several graphs ----

static samba_tensor *evaluation(samba_session *s, const char *graph)
{
    CHECK(samba_begin_graph(s, graph));
    return samba_scale(samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 }), 10);
}

// A training and an evaluation graph share weights.
static void row_multigraph(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *eval = evaluation(s, "eval");
    CHECK(samba_begin_graph(s, "train"));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    samba_tensor *loss = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
    samba_program p = sgd(loss, eval);
    p.pef = "build/rows_graphs.pef";
    CHECK(samba_compile(s, &p));
    CHECK(samba_run_graph(s, "eval", 0) && samba_read(eval)[0] == 10);
    CHECK(samba_run_graph(s, "train", 0) && samba_run_graph(s, "eval", 0));
    CHECK(fabsf(samba_read(eval)[0] - 8) < 1e-5f); // w = 1 - 0.1 * 2
    CHECK(!samba_run(s, 0) && says(s, "eval train"));
    CHECK(!samba_run_graph(s, "test", 0) && says(s, "no graph"));
    CHECK(samba_save(s, "build/rows_graphs.ckpt") && samba_close(s) == 0);

    s = samba_open(NULL); // the runtime alone
    CHECK(samba_load(s, "build/rows_graphs.pef", NULL));
    CHECK(!samba_run_graph(s, "eval", 0) && says(s, "parameter w f32 (2) has no value"));
    CHECK(samba_restore(s, "build/rows_graphs.ckpt") && samba_run_graph(s, "eval", 0));
    CHECK(samba_close(s) == 0);
}

// A collection of graphs: order, names, overwriting; each is traced once.
static bool scaled(samba_session *s, samba_program *p, void *user)
{
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    return samba_add_output(p, samba_scale(w, *(const float *)user));
}

static bool squared(samba_session *s, samba_program *p, void *user)
{
    (void)user;
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    p->loss = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
    return p->loss != NULL;
}

static void row_add_graph(void)
{
    static float two = 2, three = 3;
    samba_session *s = samba_open(NULL);
    samba_graphs graphs = { .n = 0 };
    samba_graph a = { "A", scaled, &two }, b = { "B", squared, NULL },
                a3 = { "A", scaled, &three, "eval__" };
    CHECK(!samba_compile_multigraph(s, &graphs, NULL) && says(s, "no graph was added"));
    CHECK(samba_add_graph(s, &graphs, &a, false) && samba_add_graph(s, &graphs, &b, false));
    CHECK(!samba_add_graph(s, &graphs, &a3, false) && says(s, "there is a graph A already")
          && graphs.n == 2);
    CHECK(samba_add_graph(s, &graphs, &a3, true) && graphs.n == 2); // with a prefix for its ops
    CHECK(!strcmp(graphs.list[0].name, "B")
          && !strcmp(graphs.list[1].name, "A")); // A went to the end
    samba_program p = sgd(NULL, NULL);
    CHECK(samba_trace_multigraph(s, &graphs, &p) && p.loss && p.outputs[0] && !p.outputs[1]);
    CHECK(!samba_trace_multigraph(s, &graphs, &p) && says(s, "traces a graph once"));
    CHECK(!samba_add_graph(s, &graphs, &a, true) && says(s, "traced already"));
    CHECK(!strncmp(p.outputs[0]->name, "eval__scale_", 12) && !strncmp(p.loss->name, "sum_", 4));
    CHECK(samba_compile(s, &p) && samba_tensor_by_name(s, "w")
          && samba_tensor_by_name(s, "w__grad"));
    samba_section q;
    CHECK(samba_describe_section(s, 0, &q) && !strcmp(q.graph, "B"));
    CHECK(samba_run_graph(s, "A", 0) && samba_read(p.outputs[0])[1] == 3); // the new A
    CHECK(samba_run_graph(s, "B", 0) && samba_run_graph(s, "A", 0));
    CHECK(fabsf(samba_read(p.outputs[0])[1] - 2.4f) < 1e-6f); // 3 (1 - 0.1 * 2)
    CHECK(samba_session_run(s, &(samba_session_run_desc){ .graph = "A" })
          && !samba_session_run(s, NULL) && says(s, "one of: B A"));
    CHECK(samba_close(s) == 0);
}

// Optimizers are given for the graph that trains; for another one, or in two places, they are
// refused.
static bool two_squares(samba_session *s, samba_program *p, void *user)
{
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    (void)user;
    return squared(s, p, NULL)
        && (p->loss = samba_add(p->loss, samba_sum(samba_mul(v, v), SAMBA_ALL_AXES, false)));
}

static bool is_v(const samba_tensor *w, void *user)
{
    (void)user;
    return !strcmp(w->name, "v");
}

static void row_graph_optims(void)
{
    static float two = 2;
    const samba_optim optims[2]
        = { { .kind = SAMBA_SGD, .lr = 0.25f },
            { .kind = SAMBA_SGD, .lr = 0.125f, .select = is_v, .argin_region_name = "v_" } };
    const samba_graph train
        = { .name = "train", .trace = two_squares, .optims = optims, .n_optims = 2 },
        eval = { "eval", scaled, &two };
    for (int order = 0; order < 2; order++) {
        samba_session *s = samba_open(NULL);
        samba_graphs graphs = { .n = 0 };
        CHECK(samba_add_graph(s, &graphs, order ? &train : &eval, false)
              && samba_add_graph(s, &graphs, order ? &eval : &train, false));
        CHECK(samba_compile_multigraph(s, &graphs, NULL));
        CHECK(samba_run_graph(s, "train", SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        CHECK(samba_read(samba_tensor_by_name(s, "w"))[0] == 0.5f
              && samba_read(samba_tensor_by_name(s, "v"))[0] == 0.75f);
        CHECK(samba_run_graph(s, "eval", 0) && samba_close(s) == 0);
    }
    static const char *const error[5]
        = { "graph eval is given optimizers, but its function sets no loss",
            "but program has some, too", "has n_optims 0 and a list of", "graph again sets a loss",
            "has n_optims 1 and no list of" };
    for (int bad = 0; bad < 5; bad++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_graphs graphs = { .n = 0 };
        samba_graph e = eval, t = train, again = { .name = "again", .trace = squared };
        samba_program p = { .optim = { .kind = bad == 1 ? SAMBA_SGD : SAMBA_NO_OPTIM } };
        if (bad == 0) {
            e.optims = optims;
            e.n_optims = 1;
        }
        if (bad == 2) t.n_optims = 0;
        if (bad == 4) e.n_optims = 1;
        bool fine
            = samba_add_graph(s, &graphs, &t, false) && samba_add_graph(s, &graphs, &e, false);
        if (bad == 3) fine = fine && samba_add_graph(s, &graphs, &again, false);
        CHECK(!(fine && samba_compile_multigraph(s, &graphs, &p)) && says(s, error[bad]));
        samba_close(s);
    }
    samba_session *s = samba_open(NULL); // optimizers mean nothing where nothing trains
    samba_graphs graphs = { .n = 0 };
    samba_graph e = eval;
    e.optims = optims;
    e.n_optims = 1;
    CHECK(samba_add_graph(s, &graphs, &e, false)
          && samba_compile_multigraph(s, &graphs, &(samba_program){ .inference = true }));
    CHECK(samba_run(s, 0) && samba_close(s) == 0);
}

// A graph is traced once, whatever becomes of the others.
static void row_graph_once(void)
{
    static float two = 2, three = 3;
    samba_session *s = samba_open(NULL);
    samba_graphs graphs = { .n = 0 };
    const samba_graph a = { "A", scaled, &two }, b = { "B", squared, NULL },
                      c = { "C", scaled, &three };
    samba_program p = sgd(NULL, NULL);
    CHECK(samba_add_graph(s, &graphs, &a, false) && samba_add_graph(s, &graphs, &b, false));
    CHECK(!samba_trace_one_graph(s, &graphs, "C", &p) && says(s, "no graph C was added"));
    CHECK(samba_trace_one_graph(s, &graphs, "A", &p) && p.outputs[0] && !p.loss);
    CHECK(!samba_trace_one_graph(s, &graphs, "A", &p) && says(s, "graph A was traced already"));
    CHECK(!samba_add_graph(s, &graphs, &a, true) && says(s, "graph A was traced already"));
    CHECK(samba_add_graph(s, &graphs, &b, true)
          && samba_add_graph(s, &graphs, &c, false)); // these were not
    CHECK(samba_trace_multigraph(s, &graphs, &p) && p.loss && p.outputs[1] && !p.outputs[2]);
    CHECK(!samba_trace_multigraph(s, &graphs, &p) && says(s, "traces a graph once"));
    CHECK(!samba_trace_one_graph(s, &graphs, "C", &p) && says(s, "graph C was traced already"));
    CHECK(samba_compile(s, &p) && samba_run_graph(s, "A", 0) && samba_run_graph(s, "C", 0)
          && samba_run_graph(s, "B", 0));
    CHECK(samba_read(p.outputs[0])[0] == 2 && samba_read(p.outputs[1])[0] == 3
          && samba_close(s) == 0);
}

// ---- Sessions, the command line, the loop ----

// A session has its own tensors, program and hyperparameters; a new one has none of the old one's.
static void row_sessions(void)
{
    net a = traced(0), b = trained(0);
    samba_program p = sgd(a.loss, a.out);
    p.pef = "build/rows_session.pef";
    p.name = "inner";
    CHECK(samba_compile(a.s, &p) && samba_set(a.s, "lr", 0.75)
          && samba_get(b.s, "lr") == (double)0.1f);
    CHECK(!samba_add(a.x, b.x) && says(a.s, "session"));
    samba_clear_error(b.s);
    CHECK(samba_close(a.s) == 0);
    samba_session *s = samba_open(NULL); // reset(pef_path)
    CHECK(!samba_tensor_by_name(s, "x") && says(s, "unknown"));
    CHECK(samba_load(s, "build/rows_session.pef", NULL)); // not "inner": that is no file's name
    CHECK(samba_get(s, "lr") == (double)0.1f && samba_tensor_by_name(s, "x")->shape.dim[0] == B);
    CHECK(samba_zero_inputs(s) && samba_run(s, 0) && samba_close(s) == 0 && samba_close(b.s) == 0);
}

static bool parsed(samba_app_args *args, char *line) // words of a line, with one blank between them
{
    char *argv[24] = { NULL };
    int argc = 0;
    for (char *p = strtok(line, " "); p && argc < 23; p = strtok(NULL, " "))
        argv[argc++] = p;
    return samba_parse_app_args(argc, argv, args, NULL, 0);
}

static void row_setup(void)
{
    char deck[] = "app compile -b=64 -mb=4 --inference -p app.pef",
         same_deck[] = "app run -b 64 -mb 4 --inference --pef=app.pef";
    char *lines[2] = { deck, same_deck };
    for (int i = 0; i < 2; i++) {
        samba_app_args a = { 0 };
        CHECK(parsed(&a, lines[i]) && !strcmp(a.command, i ? "run" : "compile"));
        CHECK(a.batch_size == 64 && a.microbatch_size == 4 && a.inference
              && !strcmp(a.pef, "app.pef"));
        CHECK(samba_app_rows(&a) == 4 && samba_app_parts(&a) == 16);
    }
    char line[]
        = "app run --seed 7 --colour red --threads 2 --quick --shape=3 -ws 2 --data-parallel --reduce-on-rdu --graphamp-preset mp1";
    static const char *const extra[4] = { "--colour", "red", "--quick", "--shape=3" };
    samba_app_args a = { .allow_extra = true };
    CHECK(parsed(&a, line) && a.n_extra == 4 && a.world_size == 2 && a.data_parallel
          && a.reduce_on_rdu);
    for (int i = 0; i < a.n_extra && i < 4; i++)
        CHECK(!strcmp(a.extra[i], extra[i]));
    samba_desc d = samba_app_desc(&a);
    CHECK(d.seed == 7 && d.threads == 2 && d.graphamp == SAMBA_MP1);
    char unknown[] = "app run --colour red", word[] = "app run red",
         steps[] = "app compile -b 12 --grad-accumulation-steps 3";
    char both[] = "app compile -b 12 -mb 6 --grad-accumulation-steps 3",
         uneven[] = "app run -b 12 --grad-accumulation-steps 5";
    a = (samba_app_args){ 0 };
    CHECK(!parsed(&a, unknown));
    a.allow_extra = true;
    CHECK(!parsed(&a, word));
    CHECK(parsed(&a, steps) && a.grad_accumulation_steps == 3 && samba_app_rows(&a) == 4
          && samba_app_parts(&a) == 3);
    CHECK(!parsed(&a, both) && !parsed(&a, uneven));
    d = samba_app_desc(&(samba_app_args){ 0 });
    samba_session *s = samba_open(&d);
    CHECK(d.seed == 0 && d.threads == 0 && samba_close(s) == 0);
}

// What fn(s) prints.
static const char *said(bool (*fn)(samba_session *s), samba_session *s)
{
    static char text[4096];
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    bool fine = freopen("build/rows_said", "w", stdout) && fn(s);
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    CHECK(fine);
    FILE *f = fopen("build/rows_said", "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
    if (f) fclose(f);
    return text;
}

static bool compile_named(samba_session *s)
{
    const samba_app_args args
        = { .command = "compile", .output_folder = "build", .pef_name = "rows_driver" };
    return samba_app_driver(s, &args, s->desc.user);
}

// compile's deprecated parameters, and what does their work: the command line decides on inference,
// init_output_grads = False: a loss has no gradient until it is given one, whichever way.
static void row_no_output_grads(void)
{
    for (int how = 0; how < 8; how++) {
        bool vector = how % 2, loaded = how >= 6;
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 }),
                     *y = samba_scale(w, 10);
        samba_program p = sgd(vector ? y : samba_sum(y, SAMBA_ALL_AXES, false), NULL);
        p.optim.momentum = 0;
        if (loaded) {
            CHECK(samba_compile(s, &p) && samba_save(s, "build/rows_grads.pef")
                  && samba_close(s) == 0);
            s = samba_open(&(samba_desc){ .quiet = true });
        }
        CHECK(samba_set_output_grads(s, false));
        CHECK(loaded ? samba_load(s, "build/rows_grads.pef", NULL) : samba_compile(s, &p));
        w = samba_tensor_by_name(s, "w");
        samba_tensor *loss
            = loaded ? samba_tensor_by_name(s, vector ? "scale_1" : "sum_2") : p.loss,
            *g = samba_sn_grad(loss);
        CHECK(loss && g && samba_run(s, SAMBA_FWD)); // which reads no gradient
        CHECK(!samba_run(s, 0)
              && says(s, "the gradient of a loss, was not given a value (samba_set_output_grads)")
              && samba_read(w)[0] == 1);
        CHECK(!samba_session_run(s, &(samba_session_run_desc){ .inputs = &g, .n_inputs = 1 })
              && says(s, "was not given a value"));
        (void)samba_read(g);
        CHECK(says(s, "in samba_read") && !samba_cpu(g) && says(s, "in samba_cpu")
              && samba_to_device(s) && !samba_run(s, 0) && says(s, "not given"));
        const float two[3] = { 2, 2, 2 };
        const samba_output_grad grad = { loss, two, vector ? 12 : 4 };
        if (how < 2)
            CHECK(samba_session_run(
                s, &(samba_session_run_desc){ .grad_of_outputs = &grad, .n_grad_of_outputs = 1 }));
        else if (how < 4)
            CHECK(samba_init_output_grads(s, &grad, 1, 0) && samba_run(s, 0));
        else
            CHECK(samba_write(g, two) && samba_run(s, 0));
        CHECK(samba_read(w)[2] == 1 - 0.1f * 20 && samba_read(g)[0] == 2);
        CHECK(samba_run(s, 0) && samba_read(samba_sn_grad(w))[1] == 20); // it stays
        if (!loaded) {
            CHECK(samba_compile(s, &p) && !samba_run(s, 0)
                  && says(s, "not given")); // compiled again: not given again
            CHECK(samba_init_output_grads(s, NULL, 0, 0) && samba_run(s, 0)
                  && samba_read(samba_sn_grad(w))[0] == 10);
            CHECK(samba_compile(s, &p) && samba_set_output_grads(s, true) && samba_compile(s, &p));
            CHECK(samba_run(s, 0) && samba_read(samba_sn_grad(w))[0] == 10); // and ones, as always
        }
        CHECK(samba_close(s) == 0);
    }
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ 0 });
    samba_program p = sgd(w, NULL);
    CHECK(samba_set_output_grads(s, false) && !samba_compile(s, &p)
          && says(s, "w is a parameter and a loss"));
    samba_close(s);
}

// init_output_grads is a call of its own, a hook of the tracer transforms the graph.
static samba_tensor *no_relu(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                             samba_tensor *y, void *user)
{
    (void)n_in;
    (void)user;
    return !strcmp(op->name, "relu") ? in[0] : y;
}

static void row_deprecated(void)
{
    samba_program p = { 0 };
    samba_session *s = samba_open(NULL);
    CHECK(samba_on_trace(s, no_relu, NULL));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = -1 }),
                 *y = samba_relu(w);
    CHECK(samba_on_trace(s, NULL, NULL));
    p.outputs[0] = samba_scale(y, 2);
    p.optim.kind = SAMBA_SGD;
    const samba_app_args args = {
        .command = "compile", .output_folder = "build", .pef_name = "rows_driver", .inference = true
    };
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(samba_read(p.outputs[0])[0] == -2
          && samba_read(samba_sn_grad(w))[0] == 2); // no relu; ones
    const float five[3] = { 5, 5, 5 };
    CHECK(samba_init_output_grads(s, &(samba_output_grad){ p.outputs[0], five }, 1, 0)
          && samba_run(s, 0));
    CHECK(samba_read(samba_sn_grad(w))[0] == 10);
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    CHECK(freopen("build/rows_said", "w", stdout) != NULL);
    bool fine = samba_app_driver(s, &args, &p);
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    CHECK(fine && samba_load(s, "build/rows_driver/rows_driver.pef", NULL)
          && samba_section_types(s) == SAMBA_FWD);
    CHECK(samba_close(s) == 0);
}

// A rate computed for each step is passed as a hyperparameter.
static void row_schedule(void)
{
    samba_schedule r = { .name = "cosine_schedule_with_warmup",
                         .learning_rate = 0.5,
                         .warmup_steps = 4,
                         .max_steps = 12 };
    CHECK(samba_schedule_at(&r, 0) == 0.125 && samba_schedule_at(&r, 3) == 0.5
          && samba_schedule_at(&r, 4) == 0.5);
    CHECK(fabs(samba_schedule_at(&r, 8) - 0.25) < 1e-12
          && fabs(samba_schedule_at(&r, 6) - 0.25 * (1 + sqrt(0.5))) < 1e-12);
    CHECK(fabs(samba_schedule_at(&r, 12)) < 1e-12 && fabs(samba_schedule_at(&r, 1000)) < 1e-12);
    r.name = "polynomial_decay_schedule_with_warmup";
    r.end_learning_rate = 0.1;
    CHECK(samba_schedule_at(&r, 1) == 0.25 && fabs(samba_schedule_at(&r, 8) - 0.3) < 1e-12
          && samba_schedule_at(&r, 12) == 0.1);
    r.power = 2;
    CHECK(fabs(samba_schedule_at(&r, 8) - 0.2) < 1e-12);
    r.name = "fixed_lr";
    CHECK(samba_schedule_at(&r, 2) == 0.375 && samba_schedule_at(&r, 11) == 0.5
          && samba_schedule_known(NULL));
    samba_session *s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1), (samba_init){ 0 });
    samba_program p
        = { .loss = samba_sum(w, SAMBA_ALL_AXES, false), .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p));
    double sum = 0;
    for (int32_t step = 0; step < 12; step++) {
        samba_value lr = { "lr", samba_schedule_at(&r, step) };
        CHECK(samba_session_run(
            s, &(samba_session_run_desc){ .hyperparams = &lr, .n_hyperparams = 1 }));
        sum += lr.value;
    }
    CHECK(fabs((double)samba_read(w)[0] + sum) < 1e-5);
    r.name = "cosine";
    CHECK(!samba_schedule_known(r.name) && !samba_set(s, "lr", samba_schedule_at(&r, 9))
          && says(s, "NaN"));
    CHECK(samba_close(s) == 0);
}

// compile says what is against the advice: an op on the host that cuts the graph, a parameter that
// nobody trains. The profiler says that a loop fetches more often than it runs.
static void row_advice(void)
{
    static const samba_op twice = { .name = "twice",
                                    .wire = 0x8001,
                                    .flags = SAMBA_OP_HOST,
                                    .signature = "*->*",
                                    .kernel = host_kernel };
    for (int bad = 0; bad < 2; bad++) {
        samba_program p = { .outputs = { NULL } };
        samba_session *s = samba_open(&(samba_desc){ .user = &p });
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 3)), *h = samba_linear(x, "fc1", 4);
        CHECK(samba_register_op(s, &twice));
        samba_tensor *free = samba_tensor_by_name(s, "fc1__bias"),
                     *trained_one = samba_tensor_by_name(s, "fc1__weight");
        if (bad) {
            p.outputs[0] = samba_shift(samba_apply(s, "twice", &h, 1, NULL, 0), 1);
            p.inference = true;
        } else {
            p.loss = samba_mean(h, SAMBA_ALL_AXES, false);
            p.optim = (samba_optim){ .kind = SAMBA_SGD };
        }
        const char *text = said(compile_named, s);
        CHECK(strstr(text, bad ? "ops of your own" : "a run needs")
              && (strstr(text, "[warning samba]") != NULL) == bad);
        CHECK(!bad || strstr(text, "twice_1 is a section of its own (call 1) and cuts the graph"));
        if (!bad) {
            p.optim.params = &trained_one;
            p.optim.n_params = 1;
            text = said(compile_named, s);
            CHECK(strstr(text, "no optimizer has the parameter fc1__bias")
                  && !strstr(text, "fc1__weight"));
            CHECK(!strstr(text, "gets no gradient"));
            for (int way = 0; way < 3;
                 way++) { // of two, the loss needs one; at o0 and with spatial, too
                if (!way)
                    samba_set_requires_grad(
                        samba_param(s, "still", SAMBA_SHAPE(2), (samba_init){ 0 }), false);
                if (!way) samba_param(s, "idle", SAMBA_SHAPE(2), (samba_init){ 0 });
                p.level = way == 1 ? SAMBA_O0 : SAMBA_O3;
                p.mapping = way == 2 ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
                text = said(compile_named, s);
                CHECK(strstr(text, "the parameter idle gets no gradient")
                      && strstr(text, "gets no gradient") == strstr(strstr(text, "idle"), "gets"));
                CHECK(!strstr(text, "still") && !strstr(text, "fc1__weight gets"));
            }
            p.level = SAMBA_O3;
            p.mapping = SAMBA_MAPPING_SECTION;
            float before = samba_read(free)[0];
            CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_read(free)[0] == before);
        }
        CHECK(samba_close(s) == 0);
    }
    for (int often = 0; often < 2; often++) {
        static printed text;
        net n = trained(0);
        samba_tensor *both[2] = { n.loss, n.out };
        samba_profiler *p = samba_profiler_open(n.s, 0);
        samba_start_profile(p);
        for (int i = 0; i < 10; i++) {
            CHECK(samba_session_run(
                n.s, &(samba_session_run_desc){ .outputs = both, .n_outputs = often ? 0 : 2 }));
            if (often) CHECK(samba_cpu(n.loss) && samba_cpu(n.out));
        }
        CHECK(samba_to_cpu(n.s)); // once, at the end, is fine
        text.n = 0;
        samba_print_profile(p, to_text, &text);
        CHECK((strstr(text.text, "advice: 10 of 10 runs are followed by several copies") != NULL)
              == often);
        samba_profiler_close(p);
        CHECK(samba_close(n.s) == 0);
    }
}

// ---- The table ----

static void row_module_paths(void);

// What SambaFlow calls it, what samba.h does, and its test: here, or the file that has it.
typedef struct row {
    const char *id, *sambaflow, *samba;
    void (*test)(void);
    const char *elsewhere;
} row;

static const row rows[] = {
    { "T1 T2", "SambaTensor: sn_name, batch_dim, dtype",
      "samba_tensor: name, batch_dim, dtype; samba_set_batch_dim", row_names, NULL },
    { "T2", "t.sn_grad, read or assigned", "samba_sn_grad(t), samba_write", row_sn_grad, NULL },
    { "T3", "t.cpu(), t.rdu(), stale copies", "samba_cpu, samba_rdu, samba_is_stale", row_cpu_rdu,
      NULL },
    { "T6 T7", "samba.from_torch_tensor, to_torch",
      "samba_from_data (borrows), samba_from_data_copy, samba_read", row_from_data, NULL },
    { "T1", "the inputs of the next run, made anew",
      "samba_from_data and its kin of a known name, after tracing", row_feed_again, NULL },
    { "T8", "samba.randn, rand, randint, zeros, ones",
      "samba_randn, samba_rand, samba_randint, samba_zeros, samba_ones", row_random, NULL },
    { "T9", "dummy tensors must match at run",
      "samba_write_bytes, samba_feed: size and type are checked before anything is sent",
      row_must_match, NULL },
    { "T9 TR6", "and those of the PEF", "samba_load names both sides", row_must_match_the_pef,
      NULL },
    { "T11", "inputs as a dict",
      "a struct with designated initializers; samba_session_run_desc.feeds by name, samba_update_tensor(s, key, data), samba_session_run_desc.inputs in any order",
      row_dict_inputs, NULL },
    { "T9 T11 R2", "data of a run, checked", "samba_feed: a tensor or a name, data, bytes, dtype",
      row_feeds, NULL },
    { "T12", "dtypes",
      "samba_dtype: f32, bf16, f16, i32, i16, i8, u8, bool; computed in f32. i64, u16, u32: stored, moved, cast",
      row_dtypes, NULL },
    { "T12", "ids and labels as int16",
      "taken as they are: samba_cross_entropy, samba_nll, samba_lookup, samba_gather",
      row_ids_of_16_bits, NULL },
    { "T12", "and as int64, uint16, uint32", "the same; an id that does not fit ends the run",
      row_ids_of_other_types, NULL },
    { "T12 R20", "int64 labels of microbatches", "the same: -100 is no label",
      row_int64_labels_in_parts, NULL },
    { "T12", "casts between integers, arithmetic on them",
      "exact, or an error; arithmetic is refused and says samba_cast", row_exact_casts, NULL },
    { "T12 T9", "int64 data of an i32 input", "samba_feed converts integers, if they fit",
      row_feeds_of_other_integers, NULL },
    { "T12", "labels as int16", "above 32767: samba_labels_from_i16 (samba/loss.h)",
      row_labels_of_16_bits, NULL },
    { "T13", "f32 to bf16, nearest_even or truncation",
      "samba_cast(t, SAMBA_BF16); samba_lazy_opts.rounding", row_rounding, NULL },
    { "O1 TR2", "torch function override, session.tracing",
      "ops record or compute: samba_tracing, samba_set_tracing", row_override, NULL },
    { "TR3", "use_static_functional", "samba_tracing", row_static_functional, NULL },
    { "TR1", "tracing: operations are nodes, tensors edges",
      "calls of ops are recorded; samba_print_graph, samba_on_trace; samba/dot_graph.h",
      row_tracing, NULL },
    { "TR5", "rules for modules and forward",
      "a name is a module, so forward may make them; one or several outputs; inputs are of the session",
      row_module_rules, NULL },
    { "O2", "np.add, torch.add, F.relu by name",
      "samba_call_function(s, \"np.add\", ...) (samba/torch_names.h)", row_names_of_ops, NULL },
    { "O4 R10", "loss on the host with autograd", "eager ops in a second session, samba_grad",
      row_host_autograd, NULL },
    { "O3", "the model's call swapped for a run on the chip",
      "a pointer to a function: samba_generator_model (samba/generate.h), samba_replica_fn",
      row_call_swap, NULL },
    { "TR4", "loops unroll, branches are those taken", "the same", row_control_flow, NULL },
    { "TR6 U1", "utils.trace_graph(model, inputs, optim, pef=...)",
      "trace again, then samba_load(s, pef, &program)", row_graph_equality, NULL },
    { "TR8 M1", "from_torch_model_: names such as gemm1__weight", "layers name their parameters",
      row_parameter_names, NULL },
    { "TR8", "op__outputs__0, op__outputs__0__grad",
      "samba_tensor_by_name; the scheme is in [manual], samba_name gives others", row_output_names,
      NULL },
    { "M1", "shared parameters, from_torch_model_ again",
      "the same name and shape is the same parameter; another shape an error", row_tied_parameters,
      NULL },
    { "M3", "SGD, AdamW: rules and defaults", "samba_optim: zero is SambaFlow's default",
      row_optimizer_rules, NULL },
    { "M3 M4 C6", "samba.optim.SGD, AdamW; several; region names",
      "samba_optim in samba_program: optim or optims", row_optimizers, NULL },
    { "C4 C7", "session.compile(..., loss_indices)",
      "samba_compile, samba_program: loss, outputs, loss_indices", row_loss_indices, NULL },
    { "C8", "compile --inference", "samba_program.inference", row_inference, NULL },
    { "U4", "mapping: section, spatial", "samba_program.mapping, sram_bytes", row_mapping, NULL },
    { "T4 C9", "mem_type, io_host_memory: DDR, HBM, HOST",
      "samba_tensor.mem_type, samba_program.mem_limit; inputs and outputs are HOST", row_mem_type,
      NULL },
    { "TR7", "use_legacy_names", "samba_use_legacy_names", row_legacy_names, NULL },
    { "A1", "o0, o1, o3", "samba_program.level", row_levels, NULL },
    { "A4 R6", "--microbatch-size, ZEROGRAD", "samba_program.microbatches", row_microbatches,
      NULL },
    { "R1 R7", "session.run(): the whole schedule",
      "samba_run(s, 0), samba_run(s, SAMBA_FWD \\| SAMBA_BCKWD \\| SAMBA_OPT)", row_run_all, NULL },
    { "R2 T10", "run(input_tensors), None",
      "samba_session_run_desc.inputs (samba/sambaflow.h); samba_write", row_inputs, NULL },
    { "R2 L2 T3", "the host's or the device's copy",
      "a list sends the newer of the two, samba_rdu always", row_newer_copy, NULL },
    { "X4 M9", "edited weights", "samba_to_rdu sends what was edited since", row_newer_weight,
      NULL },
    { "R19", "the order of run's arguments",
      "fields of samba_session_run_desc; the session has the model", row_signature, NULL },
    { "R3", "run(output_tensors)", "samba_session_run_desc.outputs; samba_read", row_outputs,
      NULL },
    { "R4", "run(hyperparam_dict)", "samba_session_run_desc.hyperparams; samba_set, samba_get",
      row_hyperparams, NULL },
    { "R5", "run(section_types)",
      "samba_session_run_desc.section_types, any case, any order; samba_run_desc.types; gradients of several runs add up with samba_program.accumulate or microbatches",
      row_section_types, NULL },
    { "R6", "GRADNORM, max_grad_norm",
      "samba_program.max_grad_norm, samba_optim.max_grad_norm, SAMBA_GRADNORM", row_gradnorm,
      NULL },
    { "R8 R9", "run(section_ids)", "samba_session_run_desc.section_ids; samba_run_desc.section_ids",
      row_section_ids, NULL },
    { "R8", "section_ids, nested", "SAMBA_GROUP_BEGIN ... SAMBA_GROUP_END (samba/sambaflow.h)",
      row_section_groups, NULL },
    { "R10", "run(grad_of_outputs)", "samba_session_run_desc.grad_of_outputs", row_grad_of_outputs,
      NULL },
    { "R11 R12", "run_until_call_id (exclusive), run_from_call_id (inclusive)",
      "samba_session_run_desc: until_call_id, from_call_id", row_call_ids, NULL },
    { "R16", "run(train=False)", "samba_session_run_desc.eval, samba_set_train: dropout",
      row_train_flag, NULL },
    { "R16", "train=False from the start", "samba_set_train before samba_compile or samba_load",
      row_train_kept, NULL },
    { "", "model.eval(): batch norm, too",
      "samba_eval, samba_session_run_desc.running_stats, samba_use_running_stats; an inference program",
      row_running_stats, NULL },
    { "R18", "trace_graph before run", "an error says what is missing", row_order_of_calls, NULL },
    { "U2", "utils.init_output_grads",
      "samba_init_output_grads (samba/sambaflow.h), or samba_write to the gradient",
      row_init_output_grads, NULL },
    { "U1", "trace_graph(init_output_grads=False)",
      "samba_set_output_grads(s, false) before compile or load: no gradient until one is given",
      row_no_output_grads, NULL },
    { "R20 U2", "a last, smaller batch: is_variable_batch_size",
      "labels of -100 (samba_dataset.is_label fills them in), or samba_init_output_grads(..., rows)",
      row_variable_batch, NULL },
    { "Q1 Q2 Q3", "get_argin_names, get_dropout_rate_argin_names, get_dropout_seed_argin_names",
      "samba_argin_names, samba_dropout_rate_names, samba_dropout_seed_names", row_argin_names,
      NULL },
    { "Q3", "dropout seeds: one mask in both passes",
      "the same seed and count of runs draw the same", row_dropout_mask, NULL },
    { "Q4 Q5", "get_section_types, get_weight_names", "samba_section_types, samba_weight_names",
      row_section_types_of, NULL },
    { "Q6 Q7 Q8", "get_samba_tensor_by_name, get_tensors, get_tensors_by_name",
      "samba_tensor_by_name, samba_read, samba_copy_out", row_by_name, NULL },
    { "Q9", "update_tensor(name, tensor or None)", "samba_update_tensor (samba/sambaflow.h)",
      row_update_tensor, NULL },
    { "X2 X3 X4", "to_cpu, to_cpu_, to_rdu",
      "samba_to_cpu (in place), samba_to_rdu (samba/sambaflow.h), samba_copy_out (your memory)",
      row_to_cpu, NULL },
    { "X2 X3 X4", "optims=None", "samba_model_to_cpu, samba_model_to_rdu", row_without_optims,
      NULL },
    { "X1 U1", "values given while tracing",
      "compile and load send them; samba_input has nothing, until samba_write", row_to_device,
      NULL },
    { "X1 U1 C14", "to_device, transfer_device=False",
      "samba_to_device, samba_set_transfer(s, false) before compile or load", row_withheld, NULL },
    { "X5 M2", "sync_buffers_to_cpu, sync_buffers_to_rdu",
      "samba_sync_buffers_to_cpu, samba_sync_buffers_to_rdu", row_sync_buffers, NULL },
    { "X5", "buffers: no optimizer's state", "the PEF knows them, compiled or loaded", row_buffers,
      NULL },
    { "C13 C14 C15 R17", "compile_multigraph, init_multigraph_runtime, run(graph_name)",
      "samba_begin_graph, samba_compile, samba_load, samba_run_graph", row_multigraph, NULL },
    { "C12 C13 U3", "add_graph(overwrite), trace_multigraph(trace_prefix)",
      "samba_add_graph, samba_trace_multigraph, samba_compile_multigraph, trace_prefix (samba/multigraph.h, which says why one graph trains)",
      row_add_graph, NULL },
    { "U3", "trace_multigraph(graph, optimizers)",
      "samba_graph.optims, n_optims: of the graph that trains; refused for another",
      row_graph_optims, NULL },
    { "U3", "trace_multigraph: once per graph",
      "samba_trace_one_graph: a graph's second time is an error, others stay open", row_graph_once,
      NULL },
    { "", "nn.Linear, LayerNorm, Conv2d, BatchNorm, Embedding, Dropout",
      "samba_linear, samba_layernorm, samba_conv2d, samba_batchnorm, samba_embedding, samba_dropout",
      NULL, "tests/core/ops.c" },
    { "TR9", "torch operators",
      "samba_print_ops lists them; samba/torch_names.h calls one by its name in torch or NumPy, samba_apply by ours",
      row_ops, NULL },
    { "C1", "samba.session, the global object", "samba_default(), with SAMBA_DEFAULT_SESSION", NULL,
      "tests/core/default_session.c" },
    { "C1 C2 C10", "SambaSession(pef_path), reset",
      "samba_open, samba_load, samba_close; any number of sessions", row_sessions, NULL },
    { "C3 A1 A5", "setup(args), extra keys allowed",
      "samba_parse_app_args, samba_app_desc; samba_app_args.allow_extra, extra (samba/driver.h)",
      row_setup, NULL },
    { "C5",
      "deprecated: inference, init_output_grads, graph_names, graph_transform_hook, common_app_driver",
      "--inference, samba_init_output_grads, samba_begin_graph, samba_on_trace, samba_app_driver",
      row_deprecated, NULL },
    { "C11", "disable_graphamp, --graphamp-preset mp0, mp1, mp4",
      "samba_set_graphamp, samba_desc.graphamp; bf16 between ops and in products, f32 parameters",
      NULL, "tests/core/graphamp.c" },
    { "C10", "PEF name and place", "samba_program.pef; --pef-name, --output-folder", NULL,
      "tests/core/api.c" },
    { "M9", "load_state_dict: missing and unexpected names, strict",
      "samba_restore names them all, also where it refuses; samba_restore_with: partial, exact; kinds: parameters, buffers, optimizer state, hyperparameters",
      row_load_state, NULL },
    { "M9", "torch.save, and going on", "samba_save, samba_restore; samba/safetensors.h", NULL,
      "tests/core/resume.c" },
    { "O5", "ops the device has not",
      "samba_register_op; with SAMBA_OP_HOST in a section of their own", row_host_op, NULL },
    { "A7", "a learning rate schedule: --lr_schedule",
      "samba_schedule_at (samba/schedule.h), samba_set(s, \"lr\", ...)", row_schedule, NULL },
    { "A10 M4", "best practice: one graph, few syncs, all parameters trained",
      "warnings of the driver's compile; advice of samba_print_profile", row_advice, NULL },
    { "A1 A2 A3 A4 U6", "parse_app_args (add_common_args, add_run_args), common_app_driver",
      "samba_parse_app_args (flags, samba_app_args.run_flags), samba_app_driver (samba/driver.h)",
      NULL, "tests/core/api.c" },
    { "P1 P2 P3", "start_samba_profile, end_samba_profile, samba_profile, profiler",
      "samba_profiler_open, samba_start_profile, samba_end_profile, SAMBA_PROFILE(p, file) { } (samba/profiler.h)",
      NULL, "tests/tools/profiler.c" },
    { "P4", "SAMBA_SESSION_RUN_FWD_BCKWD_OPT, SAMBA_SET_PEF, PyRT_RUN ...",
      "the same names; samba_on_event; samba_profile_stats, samba_profile_latencies", NULL,
      "tests/tools/profiler.c" },
    { "P4", "PyRT_SET_PINNED_INPUT_TENSORS", "samba_loader_opts.on_event = samba_add_event", NULL,
      "tests/tools/loader.c" },
    { "P4", "PyRT_GET_TENSORS_GATHER, PyRT_SET_TENSORS_BROADCAST",
      "samba_parallel_desc.on_event = samba_add_event", NULL, "tests/tools/parallel.c" },
    { "P5", "start_runtime_profile, end_runtime_profile, ENABLE_RUNTIME_PERF",
      "samba_start_runtime_profile, samba_end_runtime_profile", NULL, "tests/tools/profiler.c" },
    { "A4",
      "flags without a meaning on a CPU (--arch, --num-tiles ...); SAMBA_SEED, SN_NUM_THREADS, OMP_NUM_THREADS",
      "accepted with a line that says so; read by samba_parse_app_args", NULL, "tests/core/api.c" },
    { "U5", "utils.get_file_dir", "samba_file_dir (samba/driver.h)", NULL, "tests/core/api.c" },
    { "U7", "samba.session, samba.optim, samba.utils.utils, samba.utils.common, samba.sambaloader",
      "no modules: samba_ and the name, by this table", row_module_paths, NULL },
    { "P6 P7", "measure_performance(run_graph_only), measure_sections",
      "the driver's commands of these names, --run-graph-only, --num-sections, --trace; samba_measure_performance, samba_measure_performance_with (inference, run_graph_only), samba_measure_sections, samba_sum_by_op (samba/driver.h)",
      NULL, "tests/tools/profiler.c" },
    { "D1 D2", "generative_data_prep: data_prep.py, pipeline.py, decode_hdf5.py",
      "tools/samba prepare-data, prepare-data --pipeline, decode-data", NULL,
      "tests/tools/prepare_data.sh" },
    { "G1 G3 G4 G5", "tutorial_train.py, gpt2_patch_helper, AutoConfig",
      "examples/06_gpt2_train.c; gpt2_logits, gpt2_config_read, gpt2_patch (samba/gpt2.h)", NULL,
      "tests/sambaflow/tutorial.sh" },
    { "G2 G6 G7 G8 G9", "tutorial_generative_inference.py, get_runtime_inputs, model.generate",
      "examples/07_gpt2_generate.c; samba_generate (samba/generate.h): a cache, not padded rows with a mask",
      NULL, "tests/tools/gpt2_generate.c" },
    { "G10", "AutoTokenizer, from_pretrained",
      "samba_tokenizer_open (samba/tokenizer.h), gpt2_load_folder", NULL,
      "tests/tools/tokenizer.c" },
    { "G11", "sentiment of movie reviews by generation", "examples/06_gpt2_train.c and 07", NULL,
      "tests/sambaflow/movie_reviews.sh" },
    { "M5 M6 M7 TR3",
      "enable_lazy_param(seed, init_threads, inverse_transform_sampling, fp32_to_bf16_rounding), disable_lazy_param, use_lazy_param",
      "samba_enable_lazy_param, samba_disable_lazy_param, samba_use_lazy_param", NULL,
      "tests/core/lazy.c" },
    { "M8", "reset_random_generator", "samba_reset_random_generator", NULL, "tests/core/lazy.c" },
    { "R13 R14 R15", "run(data_parallel, reduce_on_rdu, data_parallel_mode), REDUCE",
      "samba_parallel_open, samba_parallel_run (samba/parallel.h); MPI with SAMBA_MPI; --data-parallel, -ws, --reduce-on-rdu",
      NULL, "tests/tools/parallel.c" },
    { "E1 E2", "use_abexit, atexit_register",
      "samba_use_abexit, samba_atexit_register (samba/parallel.h)", NULL,
      "tests/tools/parallel.c" },
    { "L1 L2", "SambaLoader(torch_loader, names)",
      "samba_loader_open, samba_loader_next, samba_loader_rewind (samba/loader.h)", NULL,
      "tests/tools/loader.c" },
    { "L3 N1", "enable_pinned_memory, disable_pinned_memory, use_pinned_memory",
      "samba_enable_pinned_memory, samba_disable_, samba_use_pinned_memory (samba/loader.h), before or after a loader is opened; for the process",
      NULL, "tests/tools/loader.c" },
    { "T5", "t.fast_access",
      "samba_set_fast_access (samba/loader.h); a loader's tensors do not need it", NULL,
      "tests/tools/loader.c" },
    { "U1", "trace_graph of an ONNX ModelProto",
      "samba/onnx_import.h; tools/samba import-onnx, export-onnx", NULL, "tests/tools/onnx.c" },
    { "A6 A8 A9", "hello_world/logreg.py, lenet.py", "examples/09_tutorials.c", NULL,
      "tests/run.sh" },
    { "TR10", "ResFFNLogReg", "examples/02_res_ffn.c", NULL, "tests/run.sh" },
    { "TR10", "the deck's Conv2d, F.relu and split(10, dim=1)",
      "samba_conv2d, samba_call_function(s, \"F.relu\", ...), samba_split", row_samples, NULL },
    { "", "PEFT's LoRA", "samba_lora (samba/lora.h)", NULL, "tests/core/graphs.c" },
};

// What the seeds import has a line, whatever module it is in.
static void row_module_paths(void)
{
    static const char *const names[]
        = { "common_app_driver", "trace_graph",     "init_output_grads", "SambaLoader", "SGD",
            "SambaSession",      "trace_multigraph" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        bool found = false;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            found = found || strstr(rows[i].sambaflow, names[k]);
        if (!found) test_fail(names[k], "no line of the table has it", 0);
    }
}

// Every row of the fact sheet of SambaFlow: a letter, and how many there are of it.
static void test_all_rows(void)
{
    static const struct {
        const char *letter;
        int n;
    } all[] = { { "T", 13 }, { "O", 5 },  { "TR", 10 }, { "M", 9 }, { "C", 15 }, { "R", 20 },
                { "Q", 9 },  { "X", 5 },  { "N", 1 },   { "E", 2 }, { "P", 7 },  { "U", 7 },
                { "L", 3 },  { "A", 10 }, { "D", 2 },   { "G", 11 } };

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (int n = 1; n <= all[k].n; n++) {
            char id[8];
            bool found = false;
            size_t length = (size_t)snprintf(id, sizeof id, "%s%d", all[k].letter, n);
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (const char *p = rows[i].id; (p = strstr(p, id)) != NULL; p++)
                    found = found
                        || ((p == rows[i].id || p[-1] == ' ')
                            && !isdigit((unsigned char)p[length]));
            if (!found) test_fail(id, "in no line of the table", 0);
        }
    }
}

// The line of the table, without its end.
static void line_of(const row *r, char *text, size_t size)
{
    snprintf(text, size, "| %s | %s | %s | %s |", r->id, r->sambaflow, r->samba,
             r->test ? "tests/sambaflow/rows.c" : r->elsewhere);
}

static void test_table_is_written_down(void)
{
    static const char path[] = "tests/sambaflow/ROWS.md";
    static char text[1 << 17];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    if (!f) return;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[600];
        line_of(&rows[i], line, sizeof line);
        if (!strstr(text, line)) test_fail(line, path, 0);
        f = rows[i].test ? NULL : fopen(rows[i].elsewhere, "rb");
        if (!rows[i].test && !f) test_fail(rows[i].elsewhere, "no such file", 0);
        if (f) fclose(f);
    }
}

int main(int argc, char **argv)
{
    bool prints = argc > 1 && !strcmp(argv[1], "table");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[600];
        line_of(&rows[i], line, sizeof line);
        if (prints)
            puts(line);
        else if (rows[i].test) {
            test_bad = 0;
            rows[i].test();
            test_end(rows[i].id);
        }
    }
    if (prints) return 0;
    RUN(test_all_rows);
    RUN(test_table_is_written_down);
    return test_summary();
}
