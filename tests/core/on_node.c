// samba_on_node: the values that each node reads and makes, while temporaries share memory, ops are
// fused, overwrite their inputs, and steps follow gradients; and the same bits as without it.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdlib.h>
#include <string.h>

enum { B = 6, F = 24, H = 40, MOST = 4096 };

// A copy of what a symbol held when it was last seen.
typedef struct copy {
    void *data;
    size_t size;
    bool made;
} copy;

typedef struct watcher {
    samba_pef pef;
    copy *held;   // of each symbol
    int32_t open; // the node that has begun; -1: none
    int32_t n_begun, n_wrong, n_relu, n_views, last_microbatch;
    const void *view_of;
} watcher;

static size_t size_of(const samba_spec *spec)
{
    return (size_t)samba_count(&spec->shape) * samba_dtype_size(spec->dtype);
}

static void hold(copy *c, const void *data, size_t size, bool made)
{
    free(c->data);
    c->data = malloc(size + 1);
    c->size = size;
    c->made = made;
    if (c->data) memcpy(c->data, data, size);
}

// What is read is what was made: by the node that the file says, or what was there before.
static void see_inputs(watcher *w, const samba_pef_node *n, const samba_args *a)
{
    for (int32_t k = 0; k < a->n_in; k++) {
        if (n->in[k] < 0) {
            w->n_wrong += a->in[k] != NULL;
            continue;
        }
        copy *c = &w->held[n->in[k]];
        size_t size = size_of(&a->in_spec[k]);
        samba_pef_symbol s = samba_pef_symbol_at(&w->pef, n->in[k]);
        bool temporary = s.role == SAMBA_ROLE_TEMPORARY;
        if (temporary && !c->made) w->n_wrong++;
        if (temporary && c->made)
            w->n_wrong += c->size != size || memcmp(c->data, a->in[k], size) != 0;
        hold(c, a->in[k], size, c->made);
    }
}

static void see_outputs(watcher *w, const samba_pef_node *n, const samba_args *a)
{
    for (int32_t o = 0; o < a->n_out; o++)
        if (n->out[o] >= 0) hold(&w->held[n->out[o]], a->out[o], size_of(&a->out_spec[o]), true);
    bool relu = strcmp(n->op, "relu") == 0;
    const float *x = relu ? w->held[n->in[0]].data : NULL;
    for (int64_t i = 0; relu && i < samba_count(&a->out_spec[0].shape); i++)
        w->n_wrong += a->out[0][i] != (x[i] > 0 ? x[i] : 0);
    w->n_relu += relu;
    w->n_views
        += strcmp(n->op, "reshape") == 0 && (const void *)a->out[0] == (const void *)a->in[0];
}

static void watch(int32_t i, const char *name, const samba_op *op, const samba_args *a, bool begins,
                  void *user)
{
    watcher *w = user;
    samba_pef_node n = samba_pef_node_at(&w->pef, i);
    w->n_wrong += strcmp(n.name, name) != 0 || strcmp(n.op, op->name) != 0;
    w->n_wrong += n.n_in != a->n_in || n.n_out != a->n_out;
    w->n_wrong += begins ? w->open != -1 : w->open != i;
    w->open = begins ? i : -1;
    w->last_microbatch = a->microbatch;
    w->n_begun += begins;
    if (begins)
        see_inputs(w, &n, a);
    else
        see_outputs(w, &n, a);
}

// A net with all of it: products with epilogues, chains, views, in-place sums, dropout.
static samba_session *traced(samba_program *p)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_relu(samba_scale(samba_linear(x, "fc1", H), 1.5f));
    h = samba_add(h, samba_tanh(samba_dropout(samba_linear(h, "fc2", H), "drop", 0.25f)));
    h = samba_reshape(samba_reshape(samba_sigmoid(h), SAMBA_SHAPE(B, 4, H / 4)),
                      SAMBA_SHAPE(B * 4, H / 4));
    h = samba_reshape(samba_relu(samba_layernorm(h, "norm")), SAMBA_SHAPE(B, H));
    memset(p, 0, sizeof *p);
    p->outputs[0] = samba_name(samba_linear(h, "fc3", 5), "logits");
    p->loss = samba_name(samba_cross_entropy(p->outputs[0], label), "loss");
    p->optim.kind = SAMBA_ADAMW;
    p->max_grad_norm = 0.5f;
    return s;
}

static void feed(samba_session *s, int32_t parts)
{
    static float x[MOST];
    static int32_t label[MOST];
    for (int32_t i = 0; i < parts * B * F; i++)
        x[i] = (float)(i * 7 % 23) / 16 - 0.6f;
    for (int32_t i = 0; i < parts * B; i++)
        label[i] = i % 5;
    CHECK(samba_write(samba_tensor_by_name(s, "x"), x));
    CHECK(samba_write(samba_tensor_by_name(s, "label"), label));
}

static uint64_t bits_of(samba_session *s, uint64_t h)
{
    const char *names[64];
    int32_t n = samba_weight_names(s, names, 64);
    n += samba_output_names(s, names + n, 64 - n);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        h = samba__hash(samba_read(t), samba_bytes(t), h);
    }
    return h;
}

// Three steps, the second of which is watched. The bits of all that is left.
static uint64_t train(int32_t parts, samba_mapping mapping, bool watched)
{
    samba_program p;
    samba_session *s = traced(&p);
    p.microbatches = parts;
    p.mapping = mapping;
    p.pef = "build/on_node.pef";
    CHECK(samba_compile(s, &p));
    feed(s, parts);
    watcher w;
    size_t size = 0;
    char *bytes = read_whole("build/on_node.pef", &size);
    memset(&w, 0, sizeof w);
    w.open = -1;
    CHECK(samba_pef_open(&w.pef, bytes, size, NULL, 0));
    w.held = calloc((size_t)w.pef.n_symbols, sizeof *w.held);
    uint64_t h = 0;
    for (int32_t step = 0; step < 3; step++) {
        samba_on_node(s, watched && step == 1 ? watch : NULL, &w);
        CHECK(samba_run(s, 0));
        h = bits_of(s, h);
    }
    if (watched) {
        CHECK(w.n_wrong == 0 && w.open == -1 && w.n_relu == 2 * (parts ? parts : 1)
              && w.n_views > 0);
        CHECK(w.n_begun >= w.pef.n_nodes);
        CHECK((parts > 1) == (w.n_begun > w.pef.n_nodes));
    } else
        CHECK(w.n_begun == 0);
    for (int32_t i = 0; i < w.pef.n_symbols; i++)
        free(w.held[i].data);
    free(w.held);
    free(bytes);
    CHECK(samba_close(s) == 0);
    return h;
}

static void test_same_bits(void)
{
    for (int32_t parts = 0; parts <= 3; parts += 3)
        for (int mapping = 0; mapping < 2; mapping++) {
            uint64_t h = train(parts, (samba_mapping)mapping, false);
            CHECK(train(parts, (samba_mapping)mapping, true) == h);
        }
}

static void stop(int32_t i, const char *name, const samba_op *op, const samba_args *a, bool begins,
                 void *user)
{
    int32_t *last = user;
    (void)name;
    (void)op;
    (void)a;
    if (!begins) *last = i;
}

// check_finite finds the same op, and the node that made it is told of before the run ends.
static void test_check_finite(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .check_finite = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4));
    samba_program p
        = { .inference = true, .outputs = { samba_relu(samba_log(samba_shift(x, 1.0f))) } };
    CHECK(samba_compile(s, &p));
    float values[16] = { 0 };
    int32_t last = -1;
    values[5] = -3.0f;
    CHECK(samba_write(x, values));
    samba_on_node(s, stop, &last);
    CHECK(!samba_run(s, 0));
    samba_culprit q;
    CHECK(samba_nonfinite(s, &q) && strcmp(q.op, "log") == 0 && q.element == 5 && last == 1);
    samba_clear_error(s);
    samba_close(s);
}

int main(void)
{
    RUN(test_same_bits);
    RUN(test_check_finite);
    return test_summary();
}
