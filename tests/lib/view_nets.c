// view_nets FOLDER: what tests/tools/view.sh looks at. Writes checkpoints of many nets, inputs for
// them as .npy, and what a run makes of these, as text; proves the map of memory of each net; and
// writes a replay file. Linked with samba.h's functions and tools/cli/view.
#include "samba.h"
#include "samba/replay.h"
#include "tests/lib/device_nets.h"
#include "tests/lib/view_run.h"
#include "tools/cli/view/memory.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

// ---- More nets ----------------------------------------------------------------------------------

static void hostile(samba_session *s, samba_program *p)
{
    samba_tensor *x
        = samba_input(s, "</script><script>alert(1)</script>", SAMBA_F32, SAMBA_SHAPE(2, 8));
    samba_tensor *h = samba_relu(samba_linear(x, "a\"quote\\and <!-- & 'more'", 8));
    h = samba_relu(
        samba_linear(h, "caf\xc3\xa9 \xe6\xbc\xa2\xf0\x9f\x98\x80 and bytes \xff\xc3", 8));
    device_net_infers(p, samba_linear(h, "]]>{}'`${x}", 3));
}

static void masked(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3, 7, 8));
    samba_tensor *mask = samba_input(s, "mask", SAMBA_BOOL, SAMBA_SHAPE(2, 1, 1, 7));
    samba_tensor *q = samba_input(s, "q", SAMBA_F32, x->shape);
    device_net_infers(p, samba_scaled_dot_product_attention(q, samba_tanh(x), x, mask, NULL));
}

static void halves(samba_session *s, samba_program *p)
{
    samba_set_graphamp(s, SAMBA_MP1);
    device_mlp_sgd(s, p);
}

static void ops_apart(samba_session *s, samba_program *p)
{
    device_mlp_adamw(s, p);
    p->level = SAMBA_O0;
}

static void small_sections(samba_session *s, samba_program *p)
{
    device_conv_train(s, p);
    p->level = SAMBA_O1;
    p->sram_bytes = 4096;
}

static void recomputed(samba_session *s, samba_program *p)
{
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 16));
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i);
        h = samba_tanh(samba_linear(h, name, 16));
    }
    device_net_trains(s, p, h, SAMBA_SGD);
    p->memory = 70000;
}

static void int4(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 64));
    device_net_infers(p, samba_linear(samba_gelu(samba_linear(x, "fc1", 64)), "fc2", 32));
    p->weights = SAMBA_WEIGHTS_INT4;
}

static void words(samba_session *s, samba_program *p)
{
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2, 5));
    samba_tensor *label = samba_input(s, "next", SAMBA_I32, SAMBA_SHAPE(2, 5));
    samba_tensor *logits
        = samba_linear(samba_rmsnorm(samba_embedding(ids, "table", 11, 8), "n"), "head", 11);
    p->loss = samba_name(samba_cross_entropy(logits, label), "loss");
    p->outputs[0] = samba_name(logits, "logits");
    p->optim.kind = SAMBA_ADAM;
}

static void chain(samba_session *s, samba_program *p)
{
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 16));
    for (int i = 0; i < 300; i++)
        h = i % 2 ? samba_sigmoid(h) : samba_scale(h, 1.5f);
    device_net_infers(p, h);
}

// A layer of GPT: what one product makes is cut in three, the table of words is tied to the logits,
// and attention drops weights; in microbatches.
static void tied(samba_session *s, samba_program *p)
{
    const samba_attention_opts causal = { .causal = true };
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2, 6)), *part[3];
    samba_tensor *next = samba_input(s, "next", SAMBA_I32, SAMBA_SHAPE(2, 6));
    samba_tensor *x = samba_embedding(ids, "wte", 13, 16);
    samba_split(samba_linear(samba_layernorm(x, "h__0__ln_1"), "h__0__attn__qkv", 48), 16, 2, part,
                3);
    for (int i = 0; i < 3; i++)
        part[i] = samba_permute(samba_reshape(part[i], SAMBA_SHAPE(2, 6, 4, 4)),
                                SAMBA_SHAPE(0, 2, 1, 3));
    samba_tensor *y = samba_attention_dropout(part, NULL, &causal, "h__0__attn__drop", 0.2f);
    y = samba_reshape(samba_permute(y, SAMBA_SHAPE(0, 2, 1, 3)), SAMBA_SHAPE(2, 6, 16));
    x = samba_add(x, samba_linear(y, "h__0__attn__proj", 16));
    y = samba_gelu(samba_linear(samba_layernorm(x, "h__0__ln_2"), "h__0__mlp__up", 32));
    x = samba_layernorm(samba_add(x, samba_linear(y, "h__0__mlp__down", 16)), "ln_f");
    samba_tensor *table = samba_param(s, "wte__weight", SAMBA_SHAPE(13, 16), (samba_init){ 0 });
    p->outputs[0] = samba_name(samba_affine(x, table, NULL), "logits");
    p->loss = samba_name(samba_cross_entropy(p->outputs[0], next), "loss");
    p->optim.kind = SAMBA_ADAMW;
    p->microbatches = 2;
    p->max_grad_norm = 1;
}

// Equal calls, of which the compiler makes one: the gradient of each is a part of that one's. And
// what is read once more, in parts, at their even places, and as an output.
static void read_often(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 12)), *part[2];
    samba_tensor *a = samba_linear(x, "a", 12), *once = samba_tanh(a), *twice = samba_tanh(a);
    samba_tensor *b
        = samba_add(samba_linear(once, "b", 12), samba_mul(samba_linear(twice, "c", 12), twice));
    samba_split(b, 6, 1, part, 2);
    samba_tensor *all[3] = { samba_mul(part[0], part[1]), samba_slice(b, 1, 0, 12, 2), part[1] };
    p->outputs[0] = samba_name(samba_cat(all, 3, 1), "parts");
    samba_tensor *y = samba_sigmoid(samba_scale(p->outputs[0], 1.0f));
    device_net_trains(s, p, samba_linear(samba_add(y, p->outputs[0]), "head", 5), SAMBA_SGD);
    p->outputs[1] = samba_name(b, "b_made");
}

static void whole(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_U32, SAMBA_SHAPE(2, 5));
    device_net_infers(p, samba_cast(x, SAMBA_I64));
}

// The same values, of a graph that is wired otherwise, and an output of another name.
static void straight(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8));
    samba_tensor *a = samba_tanh(x), *b = samba_sigmoid(x);
    device_net_infers(p, samba_relu(samba_add(a, b)));
}

static void crossed(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8));
    samba_tensor *a = samba_tanh(x), *b = samba_sigmoid(x);
    device_net_infers(p, samba_relu(samba_add(b, a)));
}

static void renamed(samba_session *s, samba_program *p)
{
    straight(s, p);
    samba_name(p->outputs[0], "z");
}

// Parameters in halves, of either kind.
static void f16_weights(samba_session *s, samba_program *p)
{
    samba_set_param_dtype(s, SAMBA_F16);
    device_mlp_infer(s, p);
}

static void bf16_weights(samba_session *s, samba_program *p)
{
    samba_set_param_dtype(s, SAMBA_BF16);
    device_mlp_adamw(s, p);
}

// Training for int8.
static void qat(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_fake_quantize(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8)), "qx");
    samba_tensor *w = samba_param(s, "fc__weight", SAMBA_SHAPE(8, 8),
                                  (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.4f });
    samba_tensor *h = samba_affine(x, samba_fake_quantize_weight(w, 0), NULL);
    h = samba_fake_quantize(samba_relu(h), "qh");
    device_net_trains(s, p, samba_linear(h, "head", 3), SAMBA_SGD);
}

// Equal calls whose parts of the gradient are equal as well, and become one.
static void equal_parts(samba_session *s, samba_program *p)
{
    samba_tensor *a = samba_linear(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8)), "a", 8);
    samba_tensor *sum = samba_add(samba_tanh(a), samba_tanh(a));
    device_net_trains(s, p, samba_linear(sum, "head", 5), SAMBA_SGD);
}

static bool is_trunk(const samba_tensor *w, void *user)
{
    (void)user;
    return strncmp(w->name, "trunk", 5) == 0;
}

// Two losses of one trunk, and an optimizer for it alone, which clips.
static void two_losses(samba_session *s, samba_program *p)
{
    static samba_optim optims[2];
    samba_tensor *h
        = samba_tanh(samba_linear(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8)), "trunk", 8));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(4));
    samba_tensor *target = samba_input(s, "target", SAMBA_F32, SAMBA_SHAPE(4, 2));
    p->outputs[0] = samba_name(samba_cross_entropy(samba_linear(h, "sort", 3), label), "sorted");
    p->outputs[1]
        = samba_name(samba_mse(samba_linear(h, "guess", 2), target, SAMBA_REDUCE_MEAN), "near");
    p->outputs[2] = samba_name(h, "hidden");
    p->loss_indices[1] = 1;
    p->n_loss_indices = 2;
    optims[0] = (samba_optim){ .kind = SAMBA_ADAMW, .select = is_trunk, .max_grad_norm = 0.1f };
    optims[1] = (samba_optim){ .kind = SAMBA_SGD, .momentum = 0.9f };
    p->optims = optims;
    p->n_optims = 2;
}

// What the compiler leaves out or joins: gradients of means and sums, which are stretched; a
// permutation that a product reads through, and two that undo each other; factors of 1; what is
// negated twice; three equal calls.
static void folded(samba_session *s, samba_program *p)
{
    samba_tensor *a = samba_linear(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 6)), "a", 6);
    samba_tensor *t = samba_tanh(a), *turned = samba_permute(t, SAMBA_SHAPE(1, 0));
    samba_tensor *b = samba_matmul(turned, samba_linear(t, "b", 5));
    samba_tensor *back = samba_permute(samba_sigmoid(turned), SAMBA_SHAPE(1, 0));
    samba_tensor *same
        = samba_neg(samba_neg(samba_scale(samba_permute(turned, SAMBA_SHAPE(1, 0)), 1)));
    samba_tensor *thrice = samba_mul(samba_exp(same), samba_add(samba_exp(t), samba_exp(same)));
    samba_tensor *rows = samba_mean(samba_mul(back, back), SAMBA_SHAPE(1), false);
    samba_tensor *columns = samba_sum(samba_sigmoid(samba_mul(thrice, t)), SAMBA_SHAPE(0), true);
    samba_tensor *c
        = samba_mean(samba_mul(samba_linear(columns, "c", 4), rows), SAMBA_ALL_AXES, false);
    p->loss = samba_name(samba_add(c, samba_mean(samba_mul(b, b), SAMBA_ALL_AXES, false)), "loss");
    p->optim.kind = SAMBA_SGD;
}

// What is of no graph, and a named graph behind it.
static void unnamed(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 6));
    p->outputs[0] = samba_name(samba_tanh(samba_linear(x, "a", 5)), "first");
    samba_begin_graph(s, "second");
    samba_tensor *z = samba_input(s, "z", SAMBA_F32, SAMBA_SHAPE(4, 6));
    p->outputs[1] = samba_name(samba_sigmoid(samba_linear(z, "b", 5)), "last");
    p->inference = true;
}

static const device_net more_nets[] = {
    { "unnamed", unnamed, false },
    { "folded", folded, false },
    { "tied", tied, false },
    { "read_often", read_often, false },
    { "two_losses", two_losses, false },
    { "whole", whole, false },
    { "straight", straight, false },
    { "crossed", crossed, false },
    { "renamed", renamed, false },
    { "f16_weights", f16_weights, false },
    { "equal_parts", equal_parts, false },
    { "bf16_weights", bf16_weights, false },
    { "qat", qat, false },
    { "hostile", hostile, false },
    { "masked", masked, false },
    { "halves", halves, false },
    { "ops_apart", ops_apart, false },
    { "small_sections", small_sections, false },
    { "recomputed", recomputed, false },
    { "int4", int4, false },
    { "words", words, false },
    { "chain", chain, false },
};

enum { MORE_NETS = sizeof more_nets / sizeof *more_nets };

// ---- Memory -------------------------------------------------------------------------------------

// Every byte has one owner at every node, and at the peak their sum is what samba.h promises.
static bool prove_memory(const char *name)
{
    model m;
    memory_map map;
    fault why = { "" };
    const model_options how = { 1, 0, NULL, NULL };
    memset(&map, 0, sizeof map);
    bool fine = open_model(&m, in_folder(name, ".ckpt"), &how, &why) && map_memory(&map, &m, &why);
    bool promised = fine && map.promised == samba_device_bytes(m.session);
    for (int32_t i = 0; fine && i < m.pef.n_nodes; i++)
        fine = check_memory_map(&map, i, &why);
    if (fine && map.n_spans > 1) { // a byte less, and it does not hold
        map.spans[map.n_spans / 2].bytes--;
        bool all = true;
        for (int32_t i = 0; all && i < m.pef.n_nodes; i++)
            all = check_memory_map(&map, i, &why);
        bool at_peak = map.spans[map.n_spans / 2].from <= map.peak
            && map.peak <= map.spans[map.n_spans / 2].to;
        if (at_peak && all) fine = fail(&why, "a byte without an owner is not noticed");
        if (!all) why.text[0] = 0;
    }
    printf("%s: %d nodes, %" PRIu64 " bytes %s %s\n", name, m.pef.n_nodes, map.promised,
           fine && promised ? "have owners" : "DO NOT ADD UP", why.text);
    free_memory_map(&map);
    close_model(&m);
    return fine && promised;
}

// ---- All of it ----------------------------------------------------------------------------------

static bool make_net(const device_net *n, int i)
{
    samba_program p;
    samba_session *s = samba_open(NULL);
    memset(&p, 0, sizeof p);
    p.pef = in_folder(n->name, ".pef");
    bool fine = i >= 0 ? device_net_compile(s, i, &p) : (n->trace(s, &p), samba_compile(s, &p));
    fine = fine && samba_save(s, in_folder(n->name, ".ckpt"));
    if (!fine) printf("%s: %s\n", n->name, samba_error(s));
    samba_close(s);
    bool graphs = strcmp(n->name, "graphs") == 0 // several: none is run as a whole
        || strcmp(n->name, "unnamed") == 0;
    int32_t parts = p.microbatches > 1 ? p.microbatches : 1;
    if (fine && !graphs) fine = write_run(n->name, parts, 1, fill_pattern);
    return fine && prove_memory(n->name);
}

// The logarithm of a negative number, in the third step.
static bool make_replay(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 8));
    samba_tensor *h = samba_add(samba_tanh(samba_linear(x, "fc", 8)), samba_log(x));
    samba_program p = { .loss = samba_name(samba_mean(h, SAMBA_ALL_AXES, false), "loss"),
                        .optim = { .kind = SAMBA_ADAMW } };
    samba_compile(s, &p);
    samba_replay *r = samba_replay_open(s, in_folder("nan", ".replay"));
    float value[32];
    bool fine = true;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 32; i++)
            value[i] = step == 2 && i == 13 ? -1.0f : 1.0f;
        samba_write(x, value);
        fine = samba_replay_run(r, 0);
    }
    samba_replay_close(r);
    samba_close(s);
    return !fine;
}

// Numbers that are no ids.
static void write_fractions(void)
{
    static const float value[10] = { 0, 1, 1.5f };
    samba_shape shape = { 2, { 2, 5 } };
    write_npy(in_folder("fraction", ".npy"), "<f4", &shape, value, sizeof value);
}

// A query of attention, of which one row is no number.
static void write_nan(void)
{
    float value[2 * 3 * 7 * 8] = { 0.5f, 1 };
    samba_shape shape = { 4, { 2, 3, 7, 8 } };
    value[20] = NAN;
    write_npy(in_folder("nan_query", ".npy"), "<f4", &shape, value, sizeof value);
}

// Integers that a float would round, up to 31 and to 32 bits; and a number that a float cannot
// have.
static void write_large(void)
{
    int32_t whole[10] = { 16777217, 2147483647 };
    double far[64] = { 1, -1e300 };
    samba_shape shape = { 2, { 2, 5 } }, wide = { 2, { 4, 16 } };
    write_npy(in_folder("31_bits", ".npy"), "<u4", &shape, whole, sizeof whole);
    whole[2] = -1;
    write_npy(in_folder("32_bits", ".npy"), "<u4", &shape, whole, sizeof whole);
    write_npy(in_folder("far", ".npy"), "<f8", &wide, far, sizeof far);
}

int main(int argc, char **argv)
{
    bool fine = argc == 2;
    folder = fine ? argv[1] : ".";
    for (int i = 0; fine && i < DEVICE_NETS; i++) {
        bool own = strcmp(device_nets[i].name, "own_op") == 0; // tools do not know its op
        if (!own) fine = make_net(&device_nets[i], i);
    }
    for (int i = 0; fine && i < (int)MORE_NETS; i++)
        fine = make_net(&more_nets[i], -1);
    write_fractions();
    write_large();
    write_nan();
    fine = fine && make_replay();
    return fine ? 0 : 1;
}
