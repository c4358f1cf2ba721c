// Several graphs in one PEF, a cache they share, frozen parameters and LoRA.
// run: threads
#define SAMBA_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/lora.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <string.h>

enum { B = 2, H = 2, D = 8, C = H * D, CHUNK = 4, KEYS = 12, VOCAB = 13 };

// ---- One attention layer, with and without a cache ----

typedef struct net {
    samba_tensor *ids, *position, *row, *key, *logits;
} net;

static samba_tensor *heads(samba_tensor *x, int T) // (B,T,C) -> (B,H,T,D)
{
    return samba_permute(samba_reshape(x, SAMBA_SHAPE(B, T, H, D)), SAMBA_AXES(0, 2, 1, 3));
}

static samba_tensor *project(samba_tensor *x, const char *name, int T)
{
    return heads(samba_linear(x, name, C), T);
}

static samba_tensor *head(samba_tensor *attended, int T)
{
    samba_tensor *x = samba_permute(attended, SAMBA_AXES(0, 2, 1, 3));
    return samba_linear(samba_reshape(x, SAMBA_SHAPE(B, T, C)), "head", VOCAB);
}

static samba_tensor *full(samba_session *s, int T, samba_tensor **ids)
{
    *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *x = samba_embedding(*ids, "embed", VOCAB, C);
    samba_tensor *q = project(x, "q", T), *k = project(x, "k", T), *v = project(x, "v", T);
    samba_attention_opts causal = { .causal = true };
    return head(samba_scaled_dot_product_attention(q, k, v, NULL, &causal), T);
}

static net cached(samba_session *s, const char *graph, int T)
{
    net n;
    char name[64];
    samba_begin_graph(s, graph);
    snprintf(name, sizeof name, "%s__ids", graph);
    n.ids = samba_input(s, name, SAMBA_I32, SAMBA_SHAPE(B, T));
    snprintf(name, sizeof name, "%s__position", graph);
    n.position = samba_input(s, name, SAMBA_I32, SAMBA_SHAPE(B, T));
    snprintf(name, sizeof name, "%s__row", graph);
    n.row = samba_input(s, name, SAMBA_I32, SAMBA_SHAPE(B, T));
    n.key = samba_tensor_by_name(s, "key");
    samba_tensor *x = samba_embedding(n.ids, "embed", VOCAB, C);
    samba_tensor *q = project(x, "q", T), *k = project(x, "k", T), *v = project(x, "v", T);
    samba_tensor *keys = samba_buffer(s, "cache__k", SAMBA_SHAPE(B, H, KEYS, D), 0);
    samba_tensor *values = samba_buffer(s, "cache__v", SAMBA_SHAPE(B, H, KEYS, D), 0);
    keys = samba_write_rows(keys, k, n.row);
    values = samba_write_rows(values, v, n.row);
    samba_tensor *mask = samba_le(n.key, samba_reshape(n.position, SAMBA_SHAPE(B, 1, T, 1)));
    n.logits = head(samba_scaled_dot_product_attention(q, keys, values, mask, NULL), T);
    return n;
}

static void key_numbers(samba_session *s)
{
    int32_t number[KEYS];
    for (int i = 0; i < KEYS; i++)
        number[i] = i;
    samba_from_data_copy(s, "key", SAMBA_I32, SAMBA_SHAPE(KEYS), number);
}

static void run_cached(samba_session *s, const net *n, const char *graph, int T, int at,
                       int32_t (*text)[KEYS])
{
    int32_t ids[B * CHUNK], position[B * CHUNK], row[B * CHUNK];
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            bool real = at + t < KEYS;
            ids[b * T + t] = real ? text[b][at + t] : 0;
            position[b * T + t] = real ? at + t : 0;
            row[b * T + t] = real ? at + t : -1;
        }
    }
    samba_write(n->ids, ids);
    samba_write(n->position, position);
    samba_write(n->row, row);
    CHECK(samba_run_graph(s, graph, SAMBA_FWD));
}

// The text, three ways: whole; in chunks; a chunk and then single tokens. All bits are equal.
static void compare(samba_session *whole, samba_session *parts, const net *prefill,
                    const net *decode, samba_tensor *ids, samba_tensor *logits)
{
    int32_t text[B][KEYS];
    for (int b = 0; b < B; b++)
        for (int t = 0; t < KEYS; t++)
            text[b][t] = (5 * b + 7 * t + t * t) % VOCAB;
    samba_write(ids, text);
    CHECK(samba_run(whole, SAMBA_FWD));
    const float *want = samba_read(logits);
    for (int at = 0; at < KEYS; at += CHUNK) {
        run_cached(parts, prefill, "prefill", CHUNK, at, text);
        const float *got = samba_read(prefill->logits);
        for (int b = 0; b < B; b++)
            CHECK(!memcmp(got + b * CHUNK * VOCAB, want + (b * KEYS + at) * VOCAB,
                          CHUNK * VOCAB * sizeof *got));
    }
    run_cached(parts, prefill, "prefill", CHUNK, 0, text);
    for (int at = CHUNK; at < KEYS; at++) {
        run_cached(parts, decode, "decode", 1, at, text);
        const float *got = samba_read(decode->logits);
        for (int b = 0; b < B; b++)
            CHECK(!memcmp(got + b * VOCAB, want + (b * KEYS + at) * VOCAB, VOCAB * sizeof *got));
    }
}

static void test_cache(void)
{
    samba_session *whole = samba_open(NULL), *parts = samba_open(&(samba_desc){ .threads = 2 });
    samba_tensor *ids, *logits = full(whole, KEYS, &ids);
    CHECK(samba_compile(whole, &(samba_program){ .outputs = { logits }, .inference = true }));
    key_numbers(parts);
    net prefill = cached(parts, "prefill", CHUNK), decode = cached(parts, "decode", 1);
    samba_program p = { .pef = "build/graphs.pef",
                        .inference = true,
                        .outputs = { prefill.logits, decode.logits } };
    CHECK(samba_compile(parts, &p));
    compare(whole, parts, &prefill, &decode, ids, logits);
    CHECK(samba_save(parts, "build/graphs.ckpt"));

    samba_session *again = samba_open(NULL); // a new process loads what this one compiled
    key_numbers(again);
    prefill = cached(again, "prefill", CHUNK);
    decode = cached(again, "decode", 1);
    p.outputs[0] = prefill.logits;
    p.outputs[1] = decode.logits;
    CHECK(samba_load(again, "build/graphs.pef", &p));
    CHECK(samba_restore(again, "build/graphs.ckpt"));
    compare(whole, again, &prefill, &decode, ids, logits);

    samba_session *other = samba_open(NULL); // graphs in another order are another program
    key_numbers(other);
    cached(other, "decode", 1);
    cached(other, "prefill", CHUNK);
    CHECK(!samba_load(other, "build/graphs.pef", NULL));
    CHECK(strstr(samba_error(other), "decode: ") && strstr(samba_error(other), "prefill: "));
    CHECK(samba_close(whole) == 0 && samba_close(parts) == 0 && samba_close(again) == 0);
    samba_close(other);
}

static void test_mistakes(void)
{
    samba_session *s = samba_open(NULL);
    key_numbers(s);
    CHECK(!samba_begin_graph(s, "") && said(s, "a name is needed"));
    net prefill = cached(s, "prefill", CHUNK), decode = cached(s, "decode", 1);
    CHECK(!samba_relu(prefill.logits)
          && said(s,
                  "is computed in graph prefill, but this is graph "
                  "decode"));
    samba_program p = { .inference = true, .outputs = { prefill.logits, decode.logits } };
    CHECK(samba_compile(s, &p));
    CHECK(!samba_run(s, SAMBA_FWD) && said(s, "call samba_run_graph with one of: prefill decode"));
    CHECK(!samba_run_graph(s, "train", SAMBA_FWD) && said(s, "there is no graph train"));
    CHECK(!samba_run_graph(s, "decode", SAMBA_OPT) && said(s, "no section of type OPT"));
    CHECK(!samba_run_graph(s, "decode", SAMBA_FWD) && said(s, "input decode__ids"));
    int32_t zero[B] = { 0 }, far[B] = { 0, KEYS };
    samba_write(decode.ids, zero);
    samba_write(decode.position, zero);
    samba_write(decode.row, far);
    CHECK(!samba_run_graph(s, "decode", SAMBA_FWD) && said(s, "decode__row holds 12"));
    samba_write(decode.row, zero);
    CHECK(samba_run_with(s, &(samba_run_desc){ .graph = "decode" })); // prefill needs no inputs
    CHECK(!samba_run_with(s, &(samba_run_desc){ .n_section_ids = 0 }) && said(s, "several graphs"));
    samba_close(s);

    s = samba_open(NULL);
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(2, 5, 3), 0);
    samba_tensor *x = samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2, 3));
    samba_tensor *wide = samba_zeros(s, "wide", SAMBA_F32, SAMBA_SHAPE(2, 2, 4));
    samba_tensor *row = samba_zeros(s, "row", SAMBA_I32, SAMBA_SHAPE(2));
    samba_tensor *rows = samba_zeros(s, "rows", SAMBA_I32, SAMBA_SHAPE(3, 2));
    CHECK(!samba_write_rows(cache, wide, row) && said(s, "do not go into a buffer"));
    CHECK(!samba_write_rows(cache, x, rows) && said(s, "which row each of the 2"));
    CHECK(!samba_write_rows(cache, x, x) && said(s, "which row"));
    samba_begin_graph(s, "a");
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2, 2, 3), (samba_init){ 0 });
    samba_tensor *first = samba_mse(w, x, SAMBA_REDUCE_MEAN);
    samba_begin_graph(s, "b");
    samba_tensor *second = samba_mse(w, x, SAMBA_REDUCE_SUM);
    samba_program two = { .outputs = { first, second } };
    CHECK(!samba_compile(s, &two) && said(s, "of different graphs"));
    samba_program micro = { .loss = first, .microbatches = 2 };
    CHECK(!samba_compile(s, &micro) && said(s, "microbatches are for"));
    samba_close(s);
}

// An output of the first of two graphs that is an input, once it is simplified.
static void test_copied_input(void)
{
    samba_session *s = samba_open(NULL), *again = samba_open(NULL);
    samba_begin_graph(s, "train");
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(8), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
    samba_tensor *same = samba_mul(samba_full(s, SAMBA_SHAPE(8), 1.0f), x);
    samba_tensor *loss = samba_sum(samba_mul(w, x), SAMBA_ALL_AXES, false);
    samba_begin_graph(s, "eval");
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(8));
    samba_tensor *out = samba_sum(samba_mul(w, y), SAMBA_ALL_AXES, false);
    samba_program p = { .pef = "build/copied.pef", .loss = loss, .outputs = { same, out } };
    CHECK(samba_compile(s, &p));
    CHECK(samba_load(again, "build/copied.pef", NULL));
    float values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    samba_write(x, values);
    CHECK(samba_run_graph(s, "train", SAMBA_FWD));
    CHECK(!memcmp(samba_read(same), values, sizeof values));
    CHECK(samba_close(s) == 0 && samba_close(again) == 0);
}

// A training graph and an evaluation graph share their weights.
static void test_training(void)
{
    samba_session *s = samba_open(NULL);
    samba_begin_graph(s, "train");
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(8, 4));
    samba_tensor *y = samba_randn(s, "y", SAMBA_SHAPE(8, 2));
    samba_tensor *loss = samba_mse(samba_linear(x, "fc", 2), y, SAMBA_REDUCE_MEAN);
    samba_begin_graph(s, "eval");
    samba_tensor *one = samba_input(s, "one", SAMBA_F32, SAMBA_SHAPE(1, 4));
    samba_tensor *out = samba_linear(one, "fc", 2);
    samba_program p = { .loss = loss, .outputs = { out } };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f };
    CHECK(samba_compile(s, &p));
    float sample[4] = { 1, -2, 3, 0.5f }, before[2];
    samba_write(one, sample);
    CHECK(samba_run_graph(s, "eval", SAMBA_FWD));
    memcpy(before, samba_read(out), sizeof before);
    CHECK(samba_run_graph(s, "train", 0));
    float first = samba_read(loss)[0];
    for (int i = 0; i < 20; i++)
        CHECK(samba_run_graph(s, "train", 0));
    CHECK(samba_read(loss)[0] < first);
    CHECK(samba_run_graph(s, "eval", SAMBA_FWD));
    const float *w = samba_read(samba_tensor_by_name(s, "fc__weight")), *got = samba_read(out);
    const float *b = samba_read(samba_tensor_by_name(s, "fc__bias"));
    CHECK(memcmp(got, before, sizeof before) != 0);
    for (int i = 0; i < 2; i++) {
        float want = b[i];
        for (int k = 0; k < 4; k++)
            want += w[4 * i + k] * sample[k];
        CHECK_CLOSE(&got[i], &want, 1, 1e-6, 1e-6);
    }
    CHECK(samba_close(s) == 0);
}

// The device API runs a graph of the same file.
static void test_device(void)
{
    static unsigned char file[1 << 16], memory[1 << 22];
    char why[400];
    size_t size = read_into("build/graphs.ckpt", file, sizeof file);
    samba_runtime *rt = samba_runtime_open(file, size, memory, sizeof memory, why, sizeof why);
    if (!rt) printf("%s\n", why);
    CHECK(rt && samba_runtime_run_graph(rt, "decode", SAMBA_FWD));
    CHECK(rt && !samba_runtime_run_graph(rt, "nothing", SAMBA_FWD));
}

// ---- LoRA ----

static samba_tensor *two_layers(samba_tensor *x)
{
    return samba_linear(samba_tanh(samba_linear(x, "block__up", 8)), "block__down", 3);
}

static void test_lora(void)
{
    samba_session *base = samba_open(NULL), *s = samba_open(NULL);
    samba_tensor *x = samba_randn(base, "x", SAMBA_SHAPE(16, 5));
    samba_tensor *plain = two_layers(x);
    CHECK(samba_compile(base, &(samba_program){ .outputs = { plain }, .inference = true }));
    CHECK(samba_run(base, SAMBA_FWD));

    samba_lora lora = { .rank = 2, .alpha = 4, .targets = { "down" } };
    CHECK(samba_add_lora(s, &lora));
    x = samba_randn(s, "x", SAMBA_SHAPE(16, 5));
    samba_tensor *y = samba_randn(s, "y", SAMBA_SHAPE(16, 3)), *out = two_layers(x);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_program p = { .loss = loss, .outputs = { out } };
    p.optim = (samba_optim){ .kind = SAMBA_ADAMW, .lr = 0.05f };
    CHECK(samba_compile(s, &p));
    CHECK(samba_run(s, SAMBA_FWD)); // B is 0: nothing has changed yet
    CHECK_CLOSE(samba_read(out), samba_read(plain), 48, 0, 0);
    float first = samba_read(loss)[0], up[40], down[24], trained[48];
    memcpy(up, samba_read(samba_tensor_by_name(s, "block__up__weight")), sizeof up);
    memcpy(down, samba_read(samba_tensor_by_name(s, "block__down__weight")), sizeof down);
    for (int i = 0; i < 50; i++)
        CHECK(samba_run(s, 0));
    CHECK(samba_run(s, SAMBA_FWD));
    CHECK(samba_read(loss)[0] < 0.8f * first);
    memcpy(trained, samba_read(out), sizeof trained);
    CHECK(!memcmp(up, samba_read(samba_tensor_by_name(s, "block__up__weight")), sizeof up));
    CHECK(!memcmp(down, samba_read(samba_tensor_by_name(s, "block__down__weight")), sizeof down));
    CHECK(!samba_tensor_by_name(s, "block__up__lora_A__weight")); // not a target
    samba_clear_error(s);

    CHECK(samba_merge_lora(s, &lora));
    CHECK(memcmp(down, samba_read(samba_tensor_by_name(s, "block__down__weight")), sizeof down));
    CHECK(samba_run(s, SAMBA_FWD));
    CHECK_CLOSE(samba_read(out), trained, 48, 1e-5, 1e-5);
    const float *b = samba_read(samba_tensor_by_name(s, "block__down__lora_B__weight"));
    for (int i = 0; i < 6; i++)
        CHECK(b[i] == 0.0f);
    CHECK(samba_close(base) == 0 && samba_close(s) == 0);

    s = samba_open(NULL);
    CHECK(!samba_add_lora(s, NULL) && said(s, "names of layers"));
    CHECK(!samba_add_lora(s, &(samba_lora){ .rank = -1, .targets = { "x" } }) && said(s, "a rank"));
    samba_close(s);
}

// ---- Looking at the ops that are traced ----

static samba_tensor *doubled_tanh(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                                  samba_tensor *y, void *user)
{
    ++*(int *)user;
    CHECK(n_in == 1 && in[0] && y);
    return strcmp(op->name, "tanh") ? y : samba_scale(y, 2);
}

static void test_on_trace(void)
{
    int shown = 0;
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(3));
    CHECK(samba_on_trace(s, doubled_tanh, &shown));
    samba_tensor *twice = samba_neg(samba_tanh(x));
    CHECK(shown == 3); // tanh, the scale made of it, neg
    CHECK(samba_on_trace(s, NULL, NULL));
    samba_tensor *once = samba_tanh(x);
    CHECK(shown == 3);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { once, twice }, .inference = true }));
    CHECK(samba_run(s, 0));
    CHECK_CLOSE((float[]){ -2 * samba_read(once)[0] }, samba_read(twice), 1, 0, 0);
    CHECK(!samba_on_trace(NULL, NULL, NULL) && !samba_set_frozen(NULL, true));
    CHECK(samba_close(s) == 0);
}

static void test_frozen(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 3));
    samba_tensor *y = samba_linear(samba_linear(x, "a", 3), "b", 1);
    samba_tensor *loss = samba_sum(y, SAMBA_ALL_AXES, false);
    CHECK(!samba_set_requires_grad(x, false) && said(s, "x is no parameter"));
    samba_tensor *w = samba_tensor_by_name(s, "a__weight");
    CHECK(samba_set_requires_grad(w, false));
    samba_program p = { .loss = loss };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f, .params = &w, .n_params = 1 };
    CHECK(!samba_compile(s, &p) && said(s, "a__weight, which is no parameter to train"));
    p.optim.params = NULL;
    p.optim.n_params = 0;
    CHECK(samba_compile(s, &p));
    float before[9];
    memcpy(before, samba_read(w), sizeof before);
    CHECK(samba_run(s, 0));
    CHECK(!memcmp(before, samba_read(w), sizeof before));
    CHECK(samba_sn_grad(samba_tensor_by_name(s, "b__weight")) != NULL);
    CHECK(!samba_sn_grad(w) && said(s, "no gradient"));
    CHECK(samba_close(s) == 0);
}

// A loss may be a parameter, which is of no graph: its gradient, 1, is computed beside the other
// losses, or, alone, before the graphs.
static void test_parameter_as_loss(void)
{
    for (int alone = 0; alone < 2; alone++) {
        samba_session *s = samba_open(NULL);
        const float ones[4] = { 1, 1, 1, 1 };
        samba_init one = { SAMBA_INIT_CONSTANT, 1, 0 };
        CHECK(samba_begin_graph(s, "first"));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1), one);
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4));
        samba_tensor *y = samba_sum(samba_mul(samba_tanh(x), w), SAMBA_ALL_AXES, false);
        CHECK(samba_begin_graph(s, "second"));
        samba_tensor *z = samba_sum(samba_exp(x), SAMBA_ALL_AXES, false);

        samba_program p = { .outputs = { w, z, y }, .loss_indices = { 0, 2 } };
        p.n_loss_indices = alone ? 1 : 2;
        p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.25f };
        CHECK(samba_compile(s, &p));
        CHECK(samba_write(x, ones));
        CHECK(samba_run_graph(s, "second", SAMBA_FWD));
        CHECK_CLOSE(samba_read(z), (float[]){ 4 * 2.718281828f }, 1, 1e-6, 0);
        CHECK(samba_run_graph(s, alone ? "" : "first", 0));
        float grad = alone ? 1 : 1 + 4 * 0.761594156f;
        CHECK_CLOSE(samba_read(w), (float[]){ 1 - 0.25f * grad }, 1, 1e-6, 0);
        CHECK(samba_close(s) == 0);
    }
}

// The mode that BCKWD needs is that of FWD of its own graph: another graph may run in between in
// any.
static void test_modes_of_graphs(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 8));
    samba_begin_graph(s, "train");
    samba_tensor *h = samba_dropout(samba_linear(x, "fc", 8), "drop", 0.5f);
    samba_tensor *loss = samba_mean(h, SAMBA_ALL_AXES, false); // whose gradient reads no h
    samba_begin_graph(s, "use");
    samba_tensor *y = samba_tanh(samba_linear(x, "fc", 8));
    samba_program p = { .loss = loss, .outputs = { y }, .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p));
    samba_write(x, (float[16]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 });

    samba_set_train(s, true);
    CHECK(samba_run_graph(s, "train", SAMBA_FWD));
    samba_set_train(s, false);
    CHECK(samba_run_graph(s, "use", SAMBA_FWD));
    CHECK(!samba_run_graph(s, "train", SAMBA_BCKWD) && said(s, "another mode"));
    samba_set_train(s, true);
    CHECK(samba_run_graph(s, "train", SAMBA_BCKWD)); // FWD has run, in this mode

    // FWD of another graph in this mode does not stand for that of the graph which trains.
    samba_set_train(s, false);
    CHECK(samba_run_graph(s, "train", SAMBA_FWD));
    samba_set_train(s, true);
    CHECK(samba_run_graph(s, "use", SAMBA_FWD));
    CHECK(!samba_run_graph(s, "train", SAMBA_BCKWD) && said(s, "another mode"));
    CHECK(samba_close(s) == 0);
}

// Each of many graphs is found by its name, in any order, and no other one runs with it.
static void test_many_graphs(void)
{
    enum { MANY = 20, STRIDE = 7 }; // without a common divisor

    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1)), *y[MANY];
    samba_program p = { .inference = true };
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "graph%d", i);
        if (i > 0) samba_begin_graph(s, name); // the first one has no name
        y[i] = p.outputs[i] = samba_scale(x, (float)i + 1);
    }
    CHECK(samba_compile(s, &p));
    samba_write(x, &(float){ 2 });

    for (int k = 0, i = 0; k < MANY; k++, i = (i + STRIDE) % MANY) {
        snprintf(name, sizeof name, i > 0 ? "graph%d" : "", i);
        CHECK(samba_run_graph(s, name, SAMBA_FWD));
        CHECK(samba_read(y[i])[0] == 2.0f * ((float)i + 1));
    }

    CHECK(!samba_run_graph(s, "graph", SAMBA_FWD) && said(s, "\"\" (unnamed) graph1 graph2"));
    CHECK(!samba_run_graph(s, "graph20", SAMBA_FWD) && said(s, "there is no graph graph20"));
    CHECK(samba_run_with(s,
                         &(samba_run_desc){ .section_ids = (int32_t[]){ 3 },
                                            .n_section_ids = 1,
                                            .graph = "graph3" }));
    CHECK(!samba_run_with(s,
                          &(samba_run_desc){ .section_ids = (int32_t[]){ 4 },
                                             .n_section_ids = 1,
                                             .graph = "graph3" }));
    CHECK(said(s, "section 4 is not of graph graph3"));

    // Another program has other graphs.
    samba_set_tracing(s, true);
    samba_begin_graph(s, "alone");
    samba_tensor *z = samba_scale(x, 100);
    CHECK(samba_compile(s, &(samba_program){ .inference = true, .outputs = { z } }));
    CHECK(!samba_run_graph(s, "graph3", SAMBA_FWD) && said(s, "there is no graph graph3"));
    samba_write(x, &(float){ 2 });
    CHECK(samba_run_graph(s, "alone", SAMBA_FWD) && samba_read(z)[0] == 200.0f);
    CHECK(samba_close(s) == 0);
}

int main(void)
{
    RUN(test_cache);
    RUN(test_mistakes);
    RUN(test_copied_input);
    RUN(test_training);
    RUN(test_device);
    RUN(test_lora);
    RUN(test_on_trace);
    RUN(test_frozen);
    RUN(test_parameter_as_loss);
    RUN(test_modes_of_graphs);
    RUN(test_many_graphs);
    return test_summary();
}
