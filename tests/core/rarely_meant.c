// What is allowed but rarely meant gets one warning; what is meant, none. And names that a user may
// have beside the optimizer's.
//     cc -O2 -I. tests/core/rarely_meant.c -lm -pthread -o rarely_meant && ./rarely_meant
#define SAMBA_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/torch_names.h"
#include "tests/lib/optimizers.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"

static char warned[4000];
static int n_warned;

static void keep_warnings(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level != SAMBA_LOG_WARNING) return;
    n_warned++;
    strncat(warned, text, sizeof warned - strlen(warned) - 1);
}

static samba_session *listener(void)
{
    warned[0] = 0;
    n_warned = 0;
    return samba_open(&(samba_desc){ .log = keep_warnings, .threads = 1 });
}

// A softmax that the loss takes again, or whose logarithm it needs.
static void test_softmax_before_a_loss(void)
{
    for (int way = 0; way < 6; way++) {
        samba_session *s = listener();
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 3)),
                     *label = samba_randint(s, "label", 3, SAMBA_SHAPE(4));
        samba_tensor *logits = samba_linear(x, "fc", 3), *p = samba_softmax(logits, 1);
        if (way == 0) samba_cross_entropy(p, label);
        if (way == 1) samba_nll(p, label, NULL);
        if (way == 2) samba_cross_entropy(samba_reshape(p, SAMBA_SHAPE(4, 3)), label);
        if (way == 3) samba_cross_entropy(logits, label);
        if (way == 4) samba_nll(samba_log_softmax(logits, 1), label, NULL);
        if (way == 5) samba_nll(samba_log(p), label, NULL);
        CHECK(samba_ok(s) && n_warned == (way < 3)
              && (strstr(warned, "is a softmax") != NULL) == (way < 3));
        if (way == 0) samba_cross_entropy(p, label);
        CHECK(n_warned == (way < 3) && samba_close(s) == 0); // once
    }
}

// Images with the colours last; not small maps of many channels, single columns, or kernels of one.
static void test_channels_last(void)
{
    static const struct {
        int32_t dim[4], kernel;
        bool warns;
    } cases[] = { { { 2, 28, 28, 3 }, 3, true },  { { 2, 28, 28, 1 }, 3, true },
                  { { 2, 32, 20, 3 }, 2, true },  { { 2, 3, 28, 28 }, 3, false },
                  { { 2, 64, 3, 3 }, 3, false },  { { 2, 64, 20, 1 }, 1, false },
                  { { 2, 1, 28, 28 }, 3, false }, { { 2, 28, 28, 8 }, 3, false } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samba_session *s = listener();
        const int32_t *dim = cases[i].dim;
        const samba_conv_opts same = { { 0, 0 }, { 1, 1 }, { 0, 0 }, 0 };
        samba_tensor *x
            = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(dim[0], dim[1], dim[2], dim[3]));
        CHECK(samba_conv2d(x, "conv", 4, cases[i].kernel, &same));
        CHECK((strstr(warned, "looks like images (N,H,W,C)") != NULL) == cases[i].warns);
        CHECK(n_warned == cases[i].warns && samba_close(s) == 0);
    }
}

// Names of hyperparameters and of the optimizer's counts are free for the user's tensors.
static void test_names_of_hyperparameters(void)
{
    static const char *const names[]
        = { "lr",    "eps",           "step",        "momentum", "weight_decay", "beta1",
            "beta2", "max_grad_norm", "clip_factor", "p",        "alpha",        "lr_decay" };
    float want[SAMBA__N_OPTIMIZERS] = { 0 };
    for (int taken = 0; taken < 2; taken++) {
        for (int row = 0; row < SAMBA__N_OPTIMIZERS; row++) {
            samba_session *s = listener();
            samba_tensor *sum = NULL;
            for (int i = 0; i < 12; i++) {
                char name[32];
                snprintf(name, sizeof name, "%s%s", taken ? "" : "x_", names[i]);
                samba_tensor *x = samba_ones(s, name, SAMBA_F32, SAMBA_SHAPE(2, 3));
                sum = sum ? samba_add(sum, x) : x;
            }
            samba_tensor *y = samba_linear(samba_mul(sum, sum), "fc", 1);
            samba_program p
                = { .loss = samba_mean(y, SAMBA_ALL_AXES, false), .max_grad_norm = 0.5f };
            p.optim = optimizer_of_row(row);
            p.optim.lr = 0.25f;
            if (optimizer_may_have_momentum(row)) p.optim.momentum = 0.5f;
            CHECK(samba_compile(s, &p) && samba_get(s, "lr") == 0.25 && samba_run(s, 0));
            CHECK(samba_set(s, "lr", 0.125) && samba_get(s, "lr") == 0.125 && samba_run(s, 0));
            CHECK(samba_get(s, "weight_decay") == 0 && samba_get(s, "max_grad_norm") == 0.5);
            if (taken)
                CHECK(samba_read(samba_tensor_by_name(s, "lr"))[0] == 1
                      && samba_read(samba_tensor_by_name(s, "step"))[5] == 1);
            CHECK(samba_compile(s, &p) && samba_get(s, "lr") == 0.25 && samba_run(s, 0));
            float w = samba_read(samba_tensor_by_name(s, "fc__weight"))[0];
            if (!taken) want[row] = w;
            CHECK(w == want[row]);
            CHECK(samba_close(s) == 0);
        }
    }
}

// ---- A layer that is called a second time -------------------------------------------------------
enum { N_LAYERS = 11 };

// Calls layer number `kind` on x (2,4); the result has the same shape.
static samba_tensor *call_layer(int kind, samba_tensor *x, const char *name)
{
    samba_session *s = x->session;
    samba_tensor *qkv[3] = { x, x, x }, *y;
    switch (kind) {
    case 0:
        return samba_linear(x, name, 4);
    case 1:
        return samba_linear_no_bias(x, name, 4);
    case 2:
        return samba_layernorm(x, name);
    case 3:
        return samba_rmsnorm(x, name);
    case 4:
        return samba_batchnorm(x, name);
    case 5:
        return samba_embedding(samba_tensor_by_name(s, "ids"), name, 5, 4);
    case 6:
        return samba_dropout(x, name, 0.25f);
    case 7:
        return samba_attention_dropout(qkv, NULL, NULL, name, 0.25f);
    case 8:
        return samba_fake_quantize(x, name);
    case 9:
        y = samba_conv1d(samba_reshape(x, SAMBA_SHAPE(2, 4, 1)), name, 4, 1, NULL);
        break;
    default:
        y = samba_conv2d(samba_reshape(x, SAMBA_SHAPE(2, 4, 1, 1)), name, 4, 1, NULL);
    }
    return samba_reshape(y, SAMBA_SHAPE(2, 4));
}

static samba_tensor *inputs_of_layers(samba_session *s)
{
    samba_randint(s, "ids", 5, SAMBA_SHAPE(2));
    return samba_randn(s, "x", SAMBA_SHAPE(2, 4));
}

// One warning for a name, however often it is called; none for another name, or if it is announced.
static void test_layers_called_again(void)
{
    for (int kind = 0; kind < N_LAYERS; kind++) {
        const char *shared = kind == 6 || kind == 7 ? "draw the same mask"
            : kind == 8                             ? "one range"
                                                    : "the same parameters";
        samba_session *s = listener();
        samba_tensor *x = call_layer(kind, call_layer(kind, inputs_of_layers(s), "once"), "again");
        CHECK(n_warned == 0);
        x = call_layer(kind, samba_tanh(x), "again");
        CHECK(n_warned == 1 && strstr(warned, "in layer again: it is called a second time")
              && strstr(warned, shared));
        x = call_layer(kind, x, "again");
        CHECK(n_warned == 1 && !samba_set_sharing(s, true));
        x = call_layer(kind, x, "once");
        CHECK(n_warned == 1 && samba_set_sharing(s, false) && samba_ok(s));
        x = call_layer(kind, x, "once");
        CHECK(n_warned == 2 && strstr(warned, "in layer once: ") && samba_ok(s)
              && samba_close(s) == 0);
    }
}

// What is meant without being announced: what computes at once, the next trace, another graph.
static void test_layers_called_again_elsewhere(void)
{
    for (int kind = 0; kind < N_LAYERS; kind++) {
        samba_session *s = listener();
        samba_tensor *x = inputs_of_layers(s), *y = call_layer(kind, x, "layer");
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
        for (int turn = 0; turn < 3; turn++)
            CHECK(call_layer(kind, x, "layer"));
        CHECK(n_warned == 0 && samba_set_tracing(s, true) && samba_begin_graph(s, "first"));
        CHECK(call_layer(kind, x, "layer") && samba_begin_graph(s, "second")
              && call_layer(kind, x, "layer"));
        CHECK(n_warned == 0 && call_layer(kind, x, "layer") && n_warned == 1
              && samba_close(s) == 0);
    }
}

// Tied embeddings: the lookup's rows are the weights of the last product, by layer or by parameter.
static void test_tied_embeddings(void)
{
    samba_session *s = listener();
    samba_tensor *x
        = samba_embedding(samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2)), "words", 5, 4);
    samba_tensor *logits = samba_linear_no_bias(x, "words", 5);
    samba_tensor *w = samba_param(s, "words__weight", SAMBA_SHAPE(5, 4), (samba_init){ 0 });
    CHECK(w == samba_tensor_by_name(s, "words__weight")
          && samba_matmul(x, samba_transpose(w, 0, 1)));
    CHECK(logits && samba_parameters(s, NULL, 0) == 1 && n_warned == 0 && samba_close(s) == 0);
}

// Layers of dropout with one name have one rate: another p is refused, traced or at once.
static void test_dropout_with_another_rate(void)
{
    for (int way = 0; way < 4; way++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_set_tracing(s, way % 2);
        samba_tensor *x = inputs_of_layers(s), *qkv[3] = { x, x, x };
        CHECK(samba_dropout(x, "drop", 0.25f) && samba_dropout(x, "drop", 0.25f));
        samba_tensor *y = way < 2 ? samba_dropout(x, "drop", 0.5f)
                                  : samba_attention_dropout(qkv, NULL, NULL, "drop", 0.5f);
        CHECK(!y && said(s, "a layer drop with p = 0.25, and this one has p = 0.5"));
        CHECK(samba_dropout(x, "other", 0.5f) && samba_close(s) == 0);
    }
}

// The name of an op that is not here: the reason, or a near name, but no misleading one.
static void test_names_of_torch(void)
{
    static const struct {
        const char *name, *says;
    } cases[] = { { "torch.scatter", "samba_write_rows" },
                  { "torch.fft.fft", "numbers here are real" },
                  { "F.dropout", "samba_dropout" },
                  { "torch.nn.LSTM", "samba_lstm" },
                  { "torch.gru", "samba_gru" },
                  { "torch.rnn_relu", "samba_rnn with samba_recurrent_opts.relu" },
                  { "transformers.apply_rotary_pos_emb", "samba_rotary" },
                  { "torch.sofmax", "the nearest name is softmax" } };

    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_set_tracing(s, false);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 1, 3, 3)),
                 *w = samba_ones(s, "w", SAMBA_F32, SAMBA_SHAPE(1, 1, 2, 2));
    samba_tensor *b = samba_ones(s, "b", SAMBA_F32, SAMBA_SHAPE(1)), *in[3] = { x, w, b };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(!samba_call_function(s, cases[i].name, &x, 1, NULL, 0) && said(s, cases[i].says));
    CHECK(!samba_apply(s, "topk", &x, 1, NULL, 0) && !strstr(samba_error(s), "nearest")
          && said(s, "torch_names.h"));
    CHECK(!samba_call_function(s, "torch.quux", &x, 1, NULL, 0)
          && !strstr(samba_error(s), "nearest"));
    samba_clear_error(s);
    samba_tensor *y = samba_call_function(s, "F.conv2d", in, 3, NULL, 0);
    CHECK(y && y->shape.dim[3] == 2 && samba_read(y)[0] == 5);
    y = samba_call_function(s, "F.conv2d", in, 2, (int32_t[]){ 2, 1 }, 2);
    CHECK(y && y->shape.dim[3] == 2 && samba_read(y)[0] == 1 && samba_read(y)[3] == 4);
    y = samba_call_function(s, "F.conv_transpose2d", in, 3, NULL, 0);
    CHECK(y && y->shape.dim[2] == 4 && y->shape.dim[3] == 4 && samba_read(y)[0] == 2
          && samba_read(y)[5] == 5);
    y = samba_call_function(s, "F.conv_transpose2d", in, 2, (int32_t[]){ 2, 0, 1 }, 3);
    CHECK(y && y->shape.dim[3] == 7 && samba_read(y)[0] == 1 && samba_read(y)[6] == 0);
    const int32_t limits[2] = { samba_float_attr(0.25f), samba_float_attr(0.5f) };
    y = samba_call_function(s, "torch.clamp", &x, 1, limits, 2);
    CHECK(y && samba_read(y)[4] == 0.5f && samba_close(s) == 0);
}

static void expect(samba_tensor *y, const float *want, int n)
{
    CHECK(y && samba_bytes(y) == (size_t)n * sizeof *want);
    for (int i = 0; y && i < n; i++)
        CHECK(fabsf(samba_read(y)[i] - want[i]) < 1e-4f);
}

// What PyTorch 2.15 gives for the same calls.
static void test_losses_of_torch(void)
{
    const float va[6] = { 1, 2, 4, -1, 0.5f, 3 }, vb[6] = { 2, 1, 0, 1, 1, 1 };
    const float vc[6] = { 0, 1, 1, -2, 0, 3 }, vy[2] = { 1, -1 };
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_set_tracing(s, false);
    samba_tensor *a = samba_from_data_copy(s, "a", SAMBA_F32, SAMBA_SHAPE(2, 3), va),
                 *b = samba_from_data_copy(s, "b", SAMBA_F32, SAMBA_SHAPE(2, 3), vb),
                 *c = samba_from_data_copy(s, "c", SAMBA_F32, SAMBA_SHAPE(2, 3), vc),
                 *y = samba_from_data_copy(s, "y", SAMBA_F32, SAMBA_SHAPE(2), vy);
    samba_tensor *alike[3] = { a, b, y }, *three[3] = { a, b, c };

    const int32_t row[2] = { 1, 1 }, all[1] = { 0 }, quarter = samba_float_attr(0.25f),
                  half = samba_float_attr(0.5f);
    expect(samba_call_function(s, "torch.var", &a, 1, row, 2), (float[]){ 2.3333f, 4.0833f }, 2);
    expect(samba_call_function(s, "np.std", &a, 1, all, 1), (float[]){ 1.6436f }, 1);
    CHECK(!samba_call_function(s, "torch.var", &a, 1, NULL, 0) && said(s, "1 up to 9 arguments"));
    expect(samba_call_function(s, "F.cosine_embedding_loss", alike, 3, NULL, 0),
           (float[]){ 0.5302f }, 1);
    expect(samba_call_function(s, "F.cosine_embedding_loss", alike, 3, &quarter, 1),
           (float[]){ 0.4052f }, 1);
    expect(samba_call_function(s, "F.triplet_margin_loss", three, 3, NULL, 0), (float[]){ 2.3401f },
           1);
    expect(samba_call_function(s, "F.triplet_margin_loss", three, 3, &half, 1),
           (float[]){ 1.8401f }, 1);

    const int32_t length = 5, size[4] = { 3, 2, 1, 1 };
    samba_tensor *line = samba_unsqueeze(a, 0), *image = samba_unsqueeze(line, 0);
    expect(samba_call_function(s, "F.interpolate", &line, 1, &length, 1),
           (float[]){ 1, 1, 2, 2, 4, -1, -1, 0.5f, 0.5f, 3 }, 10);
    expect(samba_call_function(s, "F.interpolate", &image, 1, size, 4),
           (float[]){ 1, 4, 0, 3.5f, -1, 3 }, 6);

    const int32_t targets[4] = { 1, 2, 2, 1 }, ones[4] = { 1, 1, 1, 1 };
    const int32_t steps[2] = { 4, 3 }, letters[2] = { 2, 1 }, none[2] = { 1, 0 },
                  blank[2] = { 2, 1 };
    samba_tensor *number = samba_reshape(samba_arange(s, 24, 0, 1), SAMBA_SHAPE(4, 2, 3));
    samba_tensor *in[4] = { samba_log_softmax(samba_sin(number), -1),
                            samba_from_data_copy(s, "t", SAMBA_I32, SAMBA_SHAPE(2, 2), targets),
                            samba_from_data_copy(s, "n", SAMBA_I32, SAMBA_SHAPE(2), steps),
                            samba_from_data_copy(s, "m", SAMBA_I32, SAMBA_SHAPE(2), letters) };
    expect(samba_call_function(s, "F.ctc_loss", in, 4, NULL, 0), (float[]){ 1.1380f }, 1);
    in[1] = samba_from_data_copy(s, "t1", SAMBA_I32, SAMBA_SHAPE(2, 2), ones);
    in[3] = samba_from_data_copy(s, "m1", SAMBA_I32, SAMBA_SHAPE(2), none);
    expect(samba_call_function(s, "F.ctc_loss", in, 4, blank, 2), (float[]){ 3.3457f }, 1);

    const int32_t ids[2] = { 1, 0 };
    samba_tensor *table[2] = { samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(2), ids), a };
    samba_tensor *words = samba_call_function(s, "F.embedding", table, 2, &ids[1], 1);
    expect(words, (float[]){ -1, 0.5f, 3, 1, 2, 4 }, 6);
    expect(samba_grad(samba_sum(words, SAMBA_ALL_AXES, false), a), (float[]){ 0, 0, 0, 1, 1, 1 },
           6);
    expect(samba_call_function(s, "F.embedding", table, 2, NULL, 0),
           (float[]){ -1, 0.5f, 3, 1, 2, 4 }, 6);
    CHECK(samba_close(s) == 0);
}

// A handle whose name was taken out of the session works on, in lists as well.
static void test_handle_without_a_name(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(2)), *y = samba_scale(x, 2);
    samba_tensor *frozen = samba_param(s, "still", SAMBA_SHAPE(2), (samba_init){ 0 });
    samba_set_requires_grad(frozen, false);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ 0 });
    samba_tensor *z = samba_add(samba_add(y, frozen), w);
    samba_program p = { .loss = samba_sum(z, SAMBA_ALL_AXES, false),
                        .outputs = { y },
                        .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p) && samba_forget_name(x));
    const float data[2] = { 3, 4 };
    samba_feed feed = { .tensor = x, .data = data, .bytes = 8 };
    CHECK(samba_run_with(s, &(samba_run_desc){ .feeds = &feed, .n_feeds = 1 })
          && samba_read(y)[1] == 8);
    feed.tensor = NULL;
    feed.name = "x";
    CHECK(!samba_run_with(s, &(samba_run_desc){ .feeds = &feed, .n_feeds = 1 }) && said(s, "x"));
    CHECK(!samba_sn_grad(frozen) && said(s, "still is frozen"));
    CHECK(!samba_sn_grad(y) && said(s, "of its losses, and it is neither") && samba_close(s) == 0);
}

int main(void)
{
    RUN(test_softmax_before_a_loss);
    RUN(test_channels_last);
    RUN(test_names_of_hyperparameters);
    RUN(test_layers_called_again);
    RUN(test_layers_called_again_elsewhere);
    RUN(test_tied_embeddings);
    RUN(test_dropout_with_another_rate);
    RUN(test_names_of_torch);
    RUN(test_losses_of_torch);
    RUN(test_handle_without_a_name);
    return test_summary();
}
