// gpt2.h: logits and trainings against PyTorch (tests/golden/make_gpt2.py), and every wrong file.
//     cc -O2 -I. tests/tools/gpt2.c -lcjson -lm -pthread -o gpt2 && ./gpt2
//     ./gpt2 DIR         the golden in DIR, of any size; saves DIR/saved and DIR/ours.safetensors
// run: -lcjson needs:cjson/cJSON.h
#include "tests/lib/counting.h"
#define SAMBA_GPT2_MALLOC counting_malloc
#define SAMBA_GPT2_FREE counting_free
#define SAMBA_SAFETENSORS_MALLOC counting_malloc
#define SAMBA_SAFETENSORS_FREE counting_free
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/gpt2.h"
#include "tests/lib/test.h"
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

static char folder[128], path[256], why[600];

static const char *in_folder(const char *dir, const char *name)
{
    static char text[4][300];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof text[turn], "%s/%s", dir, name);
    return text[turn];
}

static samba_safetensors *open_file(const char *file)
{
    return samba_safetensors_open(&file, 1, why, sizeof why);
}

static void close_clean(samba_session *s)
{
    if (!samba_ok(s)) printf("%s\n", samba_error(s));
    CHECK(samba_close(s) == 0);
}

// ---- Goldens ------------------------------------------------------------------------------------

typedef struct golden {
    gpt2_config c;
    samba_safetensors *weights, *values;
} golden;

static bool open_golden(golden *g, const char *dir)
{
    memset(g, 0, sizeof *g);
    bool fine = gpt2_config_read(in_folder(dir, "config.json"), &g->c, why, sizeof why);
    if (fine) g->weights = open_file(in_folder(dir, "model.safetensors"));
    if (g->weights) g->values = open_file(in_folder(dir, "golden.safetensors"));
    if (!g->values) printf("%s\n", why);
    CHECK(g->values != NULL);
    return g->values != NULL;
}

static void close_golden(golden *g)
{
    samba_safetensors_close(g->weights);
    samba_safetensors_close(g->values);
}

// The values of a tensor, to be freed.
static float *take(const golden *g, const char *name, const samba_safetensors_tensor **t)
{
    *t = samba_safetensors_find(g->values, name);
    float *x = *t ? (float *)malloc((size_t)(*t)->count * sizeof *x + 1) : NULL;
    CHECK(x && samba_safetensors_read_f32(g->values, *t, 0, (*t)->count, x, why, sizeof why));
    return x;
}

// The largest deviation of n logits; any NaN is infinitely far.
static double distance(const float *a, const float *b, uint64_t n)
{
    double most = 0;
    for (uint64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = d == d ? d : INFINITY;
    }
    return most;
}

// Writes n whole numbers that a golden holds as f32.
static void write_ids(samba_tensor *t, const float *x, size_t n)
{
    int32_t *ids = (int32_t *)malloc(n * sizeof *ids);
    CHECK(ids != NULL);
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = (int32_t)x[i];
    if (ids) samba_write(t, ids);
    free(ids);
}

typedef struct model {
    samba_session *s;
    samba_tensor *ids, *target, *logits, *loss;
} model;

static samba_dtype param_dtype; // of the models traced now

static model trace(const gpt2_config *c, int32_t batch, int32_t length)
{
    model m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    samba_set_param_dtype(m.s, param_dtype);
    m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE(batch, length));
    m.logits = gpt2_logits(c, m.ids, NULL);
    return m;
}

static bool compile_inference(const model *m, const char *pef)
{
    samba_program p = { .pef = pef, .outputs = { m->logits }, .inference = true };
    return samba_compile(m->s, &p);
}

// Logits number i of the golden with the weights of file.
static void check_logits(const golden *g, const samba_safetensors *file, int i, const char *want,
                         double limit)
{
    char name[32];
    const samba_safetensors_tensor *t_ids, *t_logits;
    snprintf(name, sizeof name, "ids_%d", i);
    float *ids = take(g, name, &t_ids), *logits = take(g, want, &t_logits);
    gpt2_config c = g->c;
    c.initializer_range = 0; // the values are overwritten
    if (!ids || !logits) return;
    model m = trace(&c, (int32_t)t_ids->dim[0], (int32_t)t_ids->dim[1]);
    if (i == 0) CHECK(gpt2_load(m.s, &g->c, file, why, sizeof why)); // before compiling
    compile_inference(&m, NULL);
    if (i == 1) CHECK(gpt2_load(m.s, &g->c, file, why, sizeof why)); // or after
    write_ids(m.ids, ids, (size_t)t_ids->count);
    double start = samba_seconds();
    samba_run(m.s, SAMBA_FWD);
    double seconds = samba_seconds() - start;
    double far = samba_ok(m.s) ? distance(samba_read(m.logits), logits, t_logits->count) : INFINITY;
    printf("%s, B%d T%d: %.1e from PyTorch, %.3f s\n", want, (int)t_ids->dim[0], (int)t_ids->dim[1],
           far, seconds);
    CHECK(far <= limit);
    close_clean(m.s);
    free(ids);
    free(logits);
}

// Saves the model, and the logits it gives for ids_0, where the judge looks for them.
static void save_trained(const golden *g, const model *m, const char *dir)
{
    const samba_safetensors_tensor *t;
    samba_safetensors_entry e;
    float *ids = take(g, "ids_0", &t);
    mkdir(in_folder(dir, "saved"), 0777);
    CHECK(gpt2_save(m->s, &g->c, in_folder(dir, "saved"), SAMBA_SAFETENSORS_F32, why, sizeof why));
    if (ids) write_ids(m->ids, ids, (size_t)t->count);
    samba_run(m->s, SAMBA_FWD);
    memset(&e, 0, sizeof e);
    e.name = "logits_after";
    e.ndim = 3;
    for (int i = 0; i < 3; i++)
        e.dim[i] = m->logits->shape.dim[i];
    const float *logits = samba_read(m->logits);
    CHECK(samba_ok(m->s)
          && samba_safetensors_save(in_folder(dir, "ours.safetensors"), &e, &logits, 1, why,
                                    sizeof why));
    free(ids);
}

static void write_batch(const model *m, const float *tokens)
{
    const int32_t b = m->ids->shape.dim[0], t = m->ids->shape.dim[1];
    float *x = (float *)malloc((size_t)(2 * b * t) * sizeof *x);
    CHECK(x != NULL);
    for (int32_t i = 0; x && i < b * t; i++) {
        x[i] = tokens[i / t * (t + 1) + i % t];
        x[b * t + i] = tokens[i / t * (t + 1) + i % t + 1];
    }
    if (x) {
        write_ids(m->ids, x, (size_t)(b * t));
        write_ids(m->target, x + b * t, (size_t)(b * t));
    }
    free(x);
}

static samba_optim adamw(void)
{
    samba_optim o = { .kind = SAMBA_ADAMW,
                      .lr = 1e-3f,
                      .beta1 = 0.9f,
                      .beta2 = 0.997f,
                      .eps = 1e-8f,
                      .weight_decay = 0.1f,
                      .max_grad_norm = 1.0f };
    return o;
}

// The trained model, to be closed.
static model train(const golden *g, const char *dir, double limit)
{
    const samba_safetensors_tensor *t, *t_losses;
    samba_optim base = adamw(), optims[3];
    float *tokens = take(g, "tokens", &t), *losses = take(g, "losses", &t_losses);
    samba_tensor **params = (samba_tensor **)malloc((size_t)gpt2_n_params(&g->c) * sizeof *params);
    const int32_t steps = (int32_t)t->dim[0], b = (int32_t)t->dim[1], n = (int32_t)t->dim[2];
    model m = trace(&g->c, b, n - 1);
    m.target = samba_input(m.s, "target", SAMBA_I32, SAMBA_SHAPE(b, n - 1));
    m.loss = samba_cross_entropy(m.logits, m.target);
    CHECK(gpt2_load(m.s, &g->c, g->weights, why, sizeof why));
    CHECK(gpt2_optims(m.s, &g->c, &base, params, optims, why, sizeof why));
    double start = samba_seconds(), worst = 0;
    samba_compile(m.s,
                  &(samba_program){
                      .loss = m.loss, .outputs = { m.logits }, .optims = optims, .n_optims = 3 });
    double compiled = samba_seconds() - start;
    start = samba_seconds();
    for (int32_t i = 0; i < steps && samba_ok(m.s); i++) {
        write_batch(&m, tokens + (size_t)(i * b * n));
        samba_run(m.s, 0);
        double got = (double)samba_read(m.loss)[0], far = fabs(got / (double)losses[i] - 1);
        if (!(far <= worst)) worst = far;
    }
    double per_step = (samba_seconds() - start) / steps;
    printf("%s, B%d T%d: losses %.1e from PyTorch (relative); compiled in %.3f s, %.3f s a step, "
           "%.1f MB of device\n",
           dir, (int)b, (int)n - 1, worst, compiled, per_step,
           (double)samba_device_bytes(m.s) / 1e6);
    CHECK(worst <= limit);
    free(tokens);
    free(losses);
    free(params);
    return m;
}

// limit: of logits, and of losses. after: of the logits of the trained model, which is further from
// PyTorch's: AdamW makes steps of equal size from gradients near 0, whose sign is that of rounding.
static void check_golden(const char *from, const char *to, double limit, double after)
{
    golden g;
    if (!open_golden(&g, from)) return;
    check_logits(&g, g.weights, 0, "logits_0", limit);
    check_logits(&g, g.weights, 1, "logits_1", limit);
    model m = train(&g, from, limit);
    save_trained(&g, &m, to);
    close_clean(m.s);
    // What was saved has the logits of what was trained: ours exactly.
    samba_safetensors *saved = open_file(in_folder(to, "saved/model.safetensors"));
    CHECK(saved != NULL);
    check_logits(&g, saved, 0, "logits_after", after);
    samba_safetensors *ours = open_file(in_folder(to, "ours.safetensors"));
    samba_safetensors *theirs = g.values;
    g.values = ours;
    const samba_safetensors_tensor *t;
    float *logits = take(&g, "logits_after", &t);
    g.values = theirs;
    float *ids = take(&g, "ids_0", &t);
    gpt2_config again;
    CHECK(gpt2_config_read(in_folder(to, "saved/config.json"), &again, why, sizeof why));
    CHECK(again.n_layer == g.c.n_layer && again.tie_word_embeddings == g.c.tie_word_embeddings);
    again.initializer_range = 0;
    model n = trace(&again, (int32_t)t->dim[0], (int32_t)t->dim[1]);
    CHECK(gpt2_load(n.s, &again, saved, why, sizeof why));
    compile_inference(&n, NULL);
    if (ids) write_ids(n.ids, ids, (size_t)t->count);
    samba_run(n.s, SAMBA_FWD);
    CHECK(logits && !memcmp(samba_read(n.logits), logits, samba_bytes(n.logits)));
    close_clean(n.s);
    free(ids);
    free(logits);
    samba_safetensors_close(saved);
    samba_safetensors_close(ours);
    close_golden(&g);
}

static void remove_saved(void)
{
    remove(in_folder(folder, "saved/config.json"));
    remove(in_folder(folder, "saved/model.safetensors"));
    rmdir(in_folder(folder, "saved"));
    remove(in_folder(folder, "ours.safetensors"));
}

static void test_two_layers_like_pytorch(void)
{
    check_golden(GOLDEN_DIR "/gpt2_tiny", folder, 1e-5, 2e-5);
    remove_saved();
}

static void test_an_unusual_model_like_pytorch(void)
{
    check_golden(GOLDEN_DIR "/gpt2_odd", folder, 1e-5, 2e-5);
    remove_saved();
}

// Matrices in bf16: losses close to those of f32; a file in bf16 holds all of what was trained.
static void test_matrices_in_bf16(void)
{
    golden g;
    if (!open_golden(&g, GOLDEN_DIR "/gpt2_tiny")) return;
    param_dtype = SAMBA_BF16;
    model m = train(&g, GOLDEN_DIR "/gpt2_tiny", 0.01), n;
    mkdir(in_folder(folder, "saved"), 0777);
    CHECK(
        gpt2_save(m.s, &g.c, in_folder(folder, "saved"), SAMBA_SAFETENSORS_BF16, why, sizeof why));
    samba_safetensors *saved = open_file(in_folder(folder, "saved/model.safetensors"));
    n = trace(&g.c, 1, 4);
    CHECK(gpt2_load(n.s, &g.c, saved, why, sizeof why));
    gpt2_param p;
    for (int32_t i = 0; gpt2_param_at(&g.c, i, &p); i++) {
        samba_tensor *a = samba_tensor_by_name(m.s, p.samba_name),
                     *b = samba_tensor_by_name(n.s, p.samba_name);
        CHECK(a->dtype == (p.ndim == 2 ? SAMBA_BF16 : SAMBA_F32) && b->dtype == a->dtype);
        void *x = malloc(samba_bytes(a)), *y = malloc(samba_bytes(b));
        CHECK(samba_copy_out(a, x, samba_bytes(a)) && samba_copy_out(b, y, samba_bytes(b)));
        if (a->dtype == SAMBA_BF16) CHECK(!memcmp(x, y, samba_bytes(a)));
        free(x);
        free(y);
    }
    param_dtype = SAMBA_F32;
    samba_safetensors_close(saved);
    close_clean(m.s);
    close_clean(n.s);
    close_golden(&g);
    remove_saved();
}

// ---- A small model ------------------------------------------------------------------------------

static gpt2_config small_config(void)
{
    gpt2_config c = gpt2_config_default();
    c.n_layer = 2;
    c.n_head = 2;
    c.n_embd = 8;
    c.n_positions = 6;
    c.vocab_size = 11;
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0;
    return c;
}

enum { B = 2, T = 5, N_LOGITS = B * T * 11 };

static const int32_t some_ids[B * T] = { 3, 1, 4, 1, 5, 9, 2, 6, 10, 0 };

static void run_small(const model *m, float *logits)
{
    samba_write(m->ids, some_ids);
    samba_run(m->s, SAMBA_FWD);
    samba_copy_out(m->logits, logits, N_LOGITS * sizeof *logits);
}

// The logits of some_ids with positions that are an input.
static void logits_at(const gpt2_config *c, samba_dtype type, samba_shape shape, const void *at,
                      float *logits)
{
    model m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *positions = samba_input(m.s, "positions", type, shape);
    m.logits = gpt2_logits(c, m.ids, positions);
    compile_inference(&m, NULL);
    samba_write(positions, at);
    run_small(&m, logits);
    close_clean(m.s);
}

static void test_positions(void)
{
    const gpt2_config c = small_config();
    const int32_t at[2 * T] = { 0, 1, 2, 3, 4, 0, 1, 2, 3, 4 };
    float want[N_LOGITS], got[N_LOGITS];
    model m = trace(&c, B, T);
    compile_inference(&m, NULL);
    run_small(&m, want);
    close_clean(m.s);
    for (int rows = 1; rows <= 2; rows++) { // (T), then (B,T)
        samba_shape shape = rows == 1 ? SAMBA_SHAPE(T) : SAMBA_SHAPE(B, T);
        logits_at(&c, SAMBA_I32, shape, at, got);
        CHECK(!memcmp(got, want, sizeof got));
    }
}

// As SambaFlow's tutorial gives them: int16, and rows that are padded on the right.
static void test_short_positions_and_padding(void)
{
    const gpt2_config c = small_config();
    const int16_t at[T] = { 0, 1, 2, 3, 4 };
    float want[N_LOGITS], got[N_LOGITS];
    int32_t padded[B * T];
    model m = trace(&c, B, T);
    compile_inference(&m, NULL);
    run_small(&m, want);
    for (int i = 0; i < B * T; i++)
        padded[i] = i % T < 3 ? some_ids[i] : 0;
    samba_write(m.ids, padded);
    samba_run(m.s, SAMBA_FWD);
    samba_copy_out(m.logits, got, sizeof got);
    const size_t row = N_LOGITS / B, kept = row / T * 3;
    for (size_t b = 0; b < B; b++)
        CHECK(!memcmp(got + b * row, want + b * row, kept * sizeof *got));
    CHECK(memcmp(got + kept, want + kept, sizeof *got * (row - kept)) != 0);
    close_clean(m.s);
    logits_at(&c, SAMBA_I16, SAMBA_SHAPE(T), at, got);
    CHECK(!memcmp(got, want, sizeof got));
}

// The patch makes GELU exact, and nothing else.
static void test_patch(void)
{
    gpt2_config c = small_config(), relu = c, exact = c;
    float want[N_LOGITS], got[N_LOGITS];
    relu.activation_function = GPT2_RELU;
    gpt2_patch(&relu);
    CHECK(relu.activation_function == GPT2_RELU);
    c.activation_function = GPT2_GELU_TANH;
    exact.activation_function = GPT2_GELU;
    gpt2_patch(&c);
    CHECK(c.activation_function == GPT2_GELU);
    gpt2_patch(NULL);
    model m = trace(&c, B, T);
    compile_inference(&m, NULL);
    run_small(&m, want);
    close_clean(m.s);
    m = trace(&exact, B, T);
    compile_inference(&m, NULL);
    run_small(&m, got);
    CHECK(!memcmp(got, want, sizeof got));
    close_clean(m.s);
}

static void test_weights_go_into_a_loaded_pef(void)
{
    golden g;
    char output[64];
    const char *pef = in_folder(folder, "tiny.pef");
    if (!open_golden(&g, GOLDEN_DIR "/gpt2_tiny")) return;
    const samba_safetensors_tensor *t;
    float *want = take(&g, "logits_1", &t), *ids = take(&g, "ids_1", &t);
    model m = trace(&g.c, (int32_t)t->dim[0], (int32_t)t->dim[1]);
    compile_inference(&m, pef);
    snprintf(output, sizeof output, "%s", m.logits->name);
    close_clean(m.s);
    for (int traced = 0; traced <= 1; traced++) { // tensors by name; or the traced graph again
        m = (model){ samba_open(NULL), NULL, NULL, NULL, NULL };
        if (traced) {
            samba_close(m.s);
            m = trace(&g.c, (int32_t)t->dim[0], (int32_t)t->dim[1]);
            samba_program p = { .outputs = { m.logits }, .inference = true };
            samba_load(m.s, pef, &p);
        } else {
            samba_load(m.s, pef, NULL);
            m.ids = samba_tensor_by_name(m.s, "ids");
        }
        CHECK(gpt2_load(m.s, &g.c, g.weights, why, sizeof why));
        if (ids) write_ids(m.ids, ids, (size_t)t->count);
        samba_run(m.s, SAMBA_FWD);
        samba_tensor *logits = samba_tensor_by_name(m.s, output);
        CHECK(want && logits && samba_bytes(logits) / 4 == 24 * 97);
        if (want && logits) CHECK_CLOSE(samba_read(logits), want, 24 * 97, 0, 1e-5);
        close_clean(m.s);
    }
    free(want);
    free(ids);
    close_golden(&g);
    remove(pef);
    remove(in_folder(folder, "tiny.pef.log"));
    remove(in_folder(folder, "tiny.pef.map"));
}

// Dropout layers exist when a rate is above 0; p drives them all; evaluation is without them.
static void test_dropout(void)
{
    gpt2_config c = small_config();
    float want[N_LOGITS], got[N_LOGITS], again[N_LOGITS];
    const char *names[64];
    model m = trace(&c, B, T);
    compile_inference(&m, NULL);
    run_small(&m, want);
    close_clean(m.s);

    c.attn_pdrop = 0.3;
    c.embd_pdrop = 0.1;
    c.resid_pdrop = 0.2;
    m = trace(&c, B, T);
    m.target = samba_input(m.s, "target", SAMBA_I32, SAMBA_SHAPE(B, T));
    m.loss = samba_cross_entropy(m.logits, m.target);
    samba_compile(m.s,
                  &(samba_program){
                      .loss = m.loss, .outputs = { m.logits }, .optim = { .kind = SAMBA_ADAMW } });
    samba_write(m.target, some_ids);
    int32_t n = samba_argin_names(m.s, names, 64), n_p = 0;
    for (int32_t i = 0; i < n && i < 64; i++) {
        size_t length = strlen(names[i]);
        n_p += length > 3 && !strcmp(names[i] + length - 3, "__p");
    }
    CHECK(n_p == 1 + 3 * c.n_layer);
    CHECK(samba_get(m.s, "transformer__h__1__attn__attn_dropout__p") == (double)0.3f);
    CHECK(samba_get(m.s, "transformer__drop__p") == (double)0.1f);
    CHECK(samba_get(m.s, "transformer__h__0__mlp__dropout__p") == (double)0.2f);
    samba_write(m.ids, some_ids);
    samba_run_with(m.s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
    samba_copy_out(m.logits, got, sizeof got);
    CHECK_CLOSE(got, want, N_LOGITS, 0, 2e-6); // attention in parts: not the same bits
    samba_set_train(m.s, true);
    run_small(&m, got);
    run_small(&m, again);
    CHECK(distance(got, want, N_LOGITS) > 1e-2 && distance(got, again, N_LOGITS) > 1e-2);
    samba_set(m.s, "p", 0);
    run_small(&m, got);
    CHECK_CLOSE(got, want, N_LOGITS, 0, 2e-6);
    samba_run(m.s, 0);
    CHECK(isfinite(samba_read(m.loss)[0]));
    close_clean(m.s);
}

static int n_attended;

static samba_tensor *attend_nothing(const gpt2_config *c, int32_t layer, samba_tensor *q,
                                    samba_tensor *k, samba_tensor *v, void *user)
{
    n_attended += c->n_head == 2 && layer == 1 && user == &n_attended && q && k;
    return samba_scale(v, 0.0f);
}

static void test_a_block_with_another_attention(void)
{
    const gpt2_config c = small_config();
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(B, T, 8));
    samba_tensor *y = gpt2_block(&c, 1, x, attend_nothing, &n_attended);
    CHECK(n_attended == 1 && y && y->shape.dim[2] == 8);
    CHECK(samba_tensor_by_name(s, "transformer__h__1__mlp__c_fc__weight") != NULL);
    samba_set_tracing(s, false); // at once: each row sees itself alone
    samba_tensor *one = gpt2_block(&c, 1, samba_slice(x, 1, 2, 3, 1), attend_nothing, NULL);
    samba_tensor *all = gpt2_block(&c, 1, x, attend_nothing, NULL);
    CHECK_CLOSE(samba_read(one), samba_read(all) + 2 * 8, 8, 0, 0);
    CHECK(samba_ok(s));
    gpt2_block(&c, 2, x, NULL, NULL);
    CHECK(strstr(samba_error(s), "layer 2 of 2") != NULL);
    samba_clear_error(s);
    CHECK(!gpt2_block(&c, 0, NULL, NULL, NULL));
    samba_close(s);
}

static void test_errors_of_tracing(void)
{
    gpt2_config c = small_config();
    samba_session *s = samba_open(NULL);
    CHECK(!gpt2_logits(&c, samba_input(s, "long", SAMBA_I32, SAMBA_SHAPE(B, 7)), NULL));
    CHECK(strstr(samba_error(s), "6 positions of the model") != NULL);
    samba_clear_error(s);
    CHECK(!gpt2_logits(&c, samba_input(s, "flat", SAMBA_I32, SAMBA_SHAPE(5)), NULL));
    CHECK(strstr(samba_error(s), "must have 2 dimensions") != NULL);
    samba_clear_error(s);
    CHECK(!gpt2_logits(&c, samba_input(s, "real", SAMBA_F32, SAMBA_SHAPE(B, T)), NULL));
    CHECK(samba_error_code(s) == SAMBA_EDTYPE);
    samba_clear_error(s);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    c.n_head = 3;
    CHECK(!gpt2_logits(&c, ids, NULL) && strstr(samba_error(s), "3 heads"));
    samba_clear_error(s);
    CHECK(!gpt2_logits(NULL, ids, NULL) && strstr(samba_error(s), "NULL"));
    CHECK(!gpt2_logits(&c, NULL, NULL));
    samba_close(s);
}

// ---- Parameters ---------------------------------------------------------------------------------

static void test_names(void)
{
    gpt2_config c = gpt2_config_default();
    gpt2_param p;
    char name[GPT2_MAX_NAME];
    int64_t count = 0;
    int32_t i = 0;
    for (; gpt2_param_at(&c, i, &p); i++) {
        CHECK(gpt2_param_find(&c, p.name) == i);
        CHECK(gpt2_param_find(&c, p.name + strlen("transformer.")) == i);
        CHECK(gpt2_file_name(p.samba_name, name, sizeof name) && !strcmp(name, p.name));
        CHECK(gpt2_samba_name(p.name, name, sizeof name) && !strcmp(name, p.samba_name));
        count += (int64_t)p.dim[0] * (p.ndim == 2 ? p.dim[1] : 1);
    }
    CHECK(i == gpt2_n_params(&c) && i == 148 && count == 124439808);
    gpt2_param_at(&c, 4, &p);
    CHECK(!strcmp(p.samba_name, "transformer__h__0__attn__c_attn__weight"));
    CHECK(p.transposed && p.dim[0] == 768 && p.dim[1] == 2304 && p.group == GPT2_OTHER);
    const char *const none[] = { "",
                                 "h",
                                 "h.",
                                 "h.0",
                                 "h.0.",
                                 "h.00.ln_1.bias",
                                 "h.12.ln_1.bias",
                                 "h.-1.ln_1.bias",
                                 "h.99999999999.ln_1.bias",
                                 "h.0.ln_1.bias.",
                                 "h.0.ln_1",
                                 "lm_head.weight",
                                 "transformer.",
                                 "transformer.transformer.wte.weight",
                                 "wte",
                                 "ln_f.weights",
                                 "h.0ln_1.bias" };
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        CHECK(gpt2_param_find(&c, none[k]) == -1);
    }
    c.tie_word_embeddings = false;
    CHECK(gpt2_n_params(&c) == 149 && gpt2_param_find(&c, "lm_head.weight") == 148);
    CHECK(gpt2_param_find(&c, "transformer.lm_head.weight") == -1);
    CHECK(!gpt2_samba_name("a.b", name, 4) && gpt2_samba_name("a.b", name, 5));
    CHECK(!gpt2_param_at(&c, -1, &p) && !gpt2_param_at(&c, 149, &p) && !gpt2_param_at(NULL, 0, &p));
    CHECK(gpt2_n_params(NULL) == 0 && gpt2_param_find(NULL, "a") == -1);
}

// Standard deviation and mean of a parameter.
static void moments(samba_session *s, const char *name, double *mean, double *deviation)
{
    samba_tensor *t = samba_tensor_by_name(s, name);
    const float *x = samba_read(t);
    double sum = 0, square = 0, n = t ? (double)samba_count(&t->shape) : 1;
    for (int64_t i = 0; t && i < samba_count(&t->shape); i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    *mean = sum / n;
    *deviation = sqrt(square / n - *mean * *mean);
}

static void test_initial_values(void)
{
    const struct {
        const char *name;
        double mean, deviation;
    } want[] = {
        { "transformer__wte__weight", 0, 0.02 },
        { "transformer__wpe__weight", 0, 0.02 },
        { "transformer__h__1__attn__c_attn__weight", 0, 0.02 },
        { "transformer__h__1__attn__c_proj__weight", 0, 0.02 / sqrt(2.0 * 2) },
        { "transformer__h__0__mlp__c_fc__weight", 0, 0.02 },
        { "transformer__h__0__mlp__c_proj__weight", 0, 0.02 / sqrt(2.0 * 2) },
        { "lm_head__weight", 0, 0.02 },
        { "transformer__h__0__attn__c_attn__bias", 0, 0 },
        { "transformer__ln_f__bias", 0, 0 },
        { "transformer__ln_f__weight", 1, 0 },
        { "transformer__h__1__ln_2__weight", 1, 0 },
    };

    gpt2_config c = small_config();
    c.n_embd = 64;
    c.n_positions = 200;
    c.vocab_size = 300;
    c.tie_word_embeddings = false;
    model m = trace(&c, B, T);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double mean, deviation;
        moments(m.s, want[i].name, &mean, &deviation);
        CHECK(fabs(mean - want[i].mean) < 0.02 * (want[i].deviation > 0 ? 0.05 : 1e-9));
        CHECK(fabs(deviation - want[i].deviation) <= 0.05 * want[i].deviation);
    }
    close_clean(m.s);
    c.initializer_range = 0;
    m = trace(&c, B, T);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double mean, deviation;
        moments(m.s, want[i].name, &mean, &deviation);
        CHECK(mean == want[i].mean && deviation <= 0);
    }
    close_clean(m.s);
}

static void test_groups(void)
{
    const gpt2_config c = small_config();
    samba_tensor *params[64];
    samba_optim base = adamw(), o[3];
    model m = trace(&c, B, T);
    CHECK(gpt2_optims(m.s, &c, &base, params, o, why, sizeof why));
    CHECK(o[0].n_params == 2 && o[1].n_params == 4 * 2 && o[2].n_params == 8 * 2 + 2);
    CHECK(o[0].weight_decay == 0.1f && o[1].weight_decay == 0.1f && o[2].weight_decay == 0.0f);
    CHECK(o[2].lr == 1e-3f && o[2].max_grad_norm == 1.0f && o[1].params == params + 2);
    for (int32_t i = 0; i < o[2].n_params; i++)
        CHECK(o[2].params[i]->shape.ndim == 1);
    CHECK(!gpt2_optims(m.s, &c, NULL, params, o, why, sizeof why) && strstr(why, "NULL"));
    close_clean(m.s);
    samba_session *s = samba_open(NULL);
    CHECK(!gpt2_optims(s, &c, &base, params, o, why, sizeof why));
    CHECK(strstr(why, "transformer__wte__weight") && strstr(why, "Trace gpt2_logits"));
    samba_close(s);
}

// ---- Configurations -----------------------------------------------------------------------------

#define SIZES "\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"n_positions\":6"
#define MODEL "{" SIZES ",\"vocab_size\":11"

static const struct {
    const char *text, *reason;
} configs[] = {
    { MODEL "}", NULL },
    { MODEL ",\"n_ctx\":6,\"n_inner\":null,\"model_type\":\"gpt2\",\"x\":[{}]}", NULL },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"n_ctx\":6,\"vocab_size\":11}", NULL },
    { MODEL ",\"activation_function\":\"gelu\",\"eos_token_id\":null,\"attn_pdrop\":0}", NULL },
    { "", "must start with {" },
    { "[]", "must start with {" },
    { "{", "must be a string" },
    { MODEL ",}", "must be a string" },
    { MODEL ",\"n_layer\":2}", "stands twice" },
    { "{}", "n_layer is missing" },
    { "{\"n_layer\":2}", "n_head is missing" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":8}", "vocab_size is missing" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"vocab_size\":9}", "n_positions is missing" },
    { "{\"n_layer\":null,\"n_head\":2}", "n_layer is missing" },
    { "{\"n_layer\":\"2\"}", "n_layer must be a whole number" },
    { "{\"n_layer\":2.5}", "n_layer must be a whole number" },
    { "{\"n_layer\":true}", "n_layer must be a whole number" },
    { "{\"n_layer\":[2]}", "n_layer must be a whole number" },
    { "{\"n_layer\":1e300}", "out of all range" },
    { "{\"n_layer\":-2}", "out of all range" },
    { "{\"n_layer\":0,\"n_head\":2,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":9}",
      "n_layer is 0" },
    { "{\"n_layer\":9999,\"n_head\":2,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":9}",
      "n_layer is 9999" },
    { "{\"n_layer\":2,\"n_head\":3,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":9}",
      "3 heads (n_head) cannot share" },
    { "{\"n_layer\":2,\"n_head\":9,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":9}",
      "n_head is 9" },
    { "{\"n_layer\":2,\"n_head\":0,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":9}",
      "n_head is 0" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":65536,\"n_positions\":6,\"vocab_size\":9}",
      "262144 x 65536" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":131072,\"n_positions\":6,\"vocab_size\":9}",
      "n_embd is 131072" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":1024,\"n_positions\":6,\"vocab_size\":16777216}",
      "16777216 x 1024" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"n_positions\":6,\"vocab_size\":16777217}",
      "vocab_size is 16777217" },
    { "{\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"n_positions\":0,\"vocab_size\":9}",
      "n_positions is 0" },
    { MODEL ",\"n_inner\":0}", "n_inner must be" },
    { MODEL ",\"n_inner\":-1}", "n_inner must be" },
    { MODEL ",\"n_inner\":9999999}", "n_inner is 9999999" },
    { MODEL ",\"model_type\":\"llama\"}", "model_type is \"llama\"" },
    { MODEL ",\"model_type\":2}", "model_type must be a string" },
    { MODEL ",\"activation_function\":\"mish\"}", "known are gelu_new" },
    { MODEL ",\"activation_function\":1}", "must be a string" },
    { MODEL ",\"layer_norm_epsilon\":0}", "layer_norm_epsilon is 0" },
    { MODEL ",\"layer_norm_epsilon\":\"1e-5\"}", "must be a number" },
    { MODEL ",\"layer_norm_epsilon\":1e999}", "layer_norm_epsilon is inf" },
    { MODEL ",\"initializer_range\":-0.1}", "initializer_range is -0.1" },
    { MODEL ",\"attn_pdrop\":1}", "attn_pdrop is 1" },
    { MODEL ",\"embd_pdrop\":-0.1}", "embd_pdrop is -0.1" },
    { MODEL ",\"resid_pdrop\":\"no\"}", "resid_pdrop must be a number" },
    { MODEL ",\"scale_attn_weights\":1}", "must be true or false" },
    { MODEL ",\"tie_word_embeddings\":\"false\"}", "must be true or false" },
    { MODEL ",\"add_cross_attention\":true}", "no encoder" },
    { MODEL ",\"eos_token_id\":[1]}", "eos_token_id must be a whole number" },
};

static void test_configs(void)
{
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        gpt2_config c;
        const char *text = configs[i].text, *reason = configs[i].reason;
        test_bad = 0;
        bool fine = gpt2_config_parse(text, strlen(text), &c, why, sizeof why);
        if (fine != !reason || (reason && !strstr(why, reason))) printf("%s\n", why);
        CHECK(fine == !reason && (!reason || strstr(why, reason)));
        if (fine) CHECK(c.n_layer == 2 && c.n_positions == 6 && c.vocab_size == 11);
        test_end(text);
    }
}

static void test_config_files(void)
{
    gpt2_config c = small_config(), d;
    c.n_inner = 20;
    c.layer_norm_epsilon = 3e-6;
    c.attn_pdrop = 0.3;
    c.initializer_range = 0.017;
    c.activation_function = GPT2_SILU;
    c.tie_word_embeddings = false;
    c.bos_token_id = -1;
    CHECK(gpt2_config_write(path, &c, why, sizeof why));
    CHECK(gpt2_config_read(path, &d, why, sizeof why));
    CHECK(d.n_inner == 20 && d.layer_norm_epsilon == 3e-6 && d.attn_pdrop == 0.3);
    CHECK(d.initializer_range == 0.017 && d.activation_function == GPT2_SILU);
    CHECK(!d.tie_word_embeddings && d.scale_attn_weights && d.n_embd == 8);
    CHECK(d.eos_token_id == 50256);
    d = gpt2_config_default();
    CHECK(gpt2_config_write(path, &d, why, sizeof why));
    CHECK(gpt2_config_read(path, &c, why, sizeof why) && c.n_inner == 0 && c.n_head == 12);
    remove(path);
    CHECK(!gpt2_config_read(path, &c, why, sizeof why) && strstr(why, path));
    CHECK(!gpt2_config_read(NULL, &c, why, sizeof why) && !gpt2_config_read(path, NULL, NULL, 0));
    CHECK(!gpt2_config_parse(NULL, 0, &c, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!gpt2_config_check(NULL, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!gpt2_config_write(NULL, &c, why, sizeof why) && strstr(why, "NULL"));
    c.resid_pdrop = NAN;
    CHECK(!gpt2_config_write(path, &c, why, sizeof why) && strstr(why, "resid_pdrop"));
    c.resid_pdrop = 0;
    c.activation_function = (gpt2_activation)77;
    CHECK(!gpt2_config_check(&c, why, sizeof why) && strstr(why, "activation_function"));
}

// ---- Files of weights ---------------------------------------------------------------------------

// What to do wrong, or differently, when a file of weights is written.
typedef struct twist {
    const char *skip;        // this parameter is left out
    const char *rename, *to; // this one is called to
    const char *shape;
    int64_t d0, d1;     // this one has another shape
    const char *extra;  // one more, of the shape of wte
    float extra_by;     // added to what wte has
    bool no_prefix;     // "transformer." is left out
    const char *reason; // NULL: it must load
} twist;

static float value_of(int32_t param, int64_t i)
{
    return (float)(param * 1000 + i) / 1024.0f;
}

static void write_weights(const gpt2_config *c, const twist *w)
{
    static char names[64][GPT2_MAX_NAME];
    static samba_safetensors_entry e[64];
    static float data[64][1024];
    const float *pointers[64];
    gpt2_param p;
    size_t n = 0;
    for (int32_t i = 0; gpt2_param_at(c, i, &p); i++, n++) {
        memset(&e[n], 0, sizeof e[n]);
        snprintf(names[n], sizeof names[n], "%.90s", p.name + (w->no_prefix ? 12 : 0));
        bool renamed = w->rename && !strcmp(p.name, w->rename);
        if (renamed) snprintf(names[n], sizeof names[n], "%s", w->to);
        e[n].name = names[n];
        e[n].ndim = p.ndim;
        e[n].dim[0] = p.dim[0];
        e[n].dim[1] = p.dim[1];
        if (w->shape && !strcmp(p.name, w->shape)) {
            e[n].ndim = w->d1 ? 2 : 1;
            e[n].dim[0] = w->d0;
            e[n].dim[1] = w->d1;
        }
        for (int64_t k = 0; k < 1024; k++)
            data[n][k] = value_of(i, k);
        pointers[n] = data[n];
        if (w->skip && !strcmp(p.name, w->skip)) n--;
    }
    if (w->extra) {
        e[n] = e[0];
        e[n].name = w->extra;
        pointers[n] = data[n];
        for (int64_t k = 0; k < 1024; k++)
            data[n][k] = value_of(0, k) + (k ? w->extra_by : 0);
        n++;
    }
    CHECK(samba_safetensors_save(path, e, pointers, n, why, sizeof why));
}

// Element i of a parameter as samba must have it: matrices of blocks are turned round.
static bool has_values(samba_session *s, const gpt2_config *c)
{
    gpt2_param p;
    int wrong = 0;
    for (int32_t i = 0; gpt2_param_at(c, i, &p); i++) {
        samba_tensor *t = samba_tensor_by_name(s, p.samba_name);
        const float *x = samba_read(t);
        int32_t columns = p.ndim == 2 ? p.dim[1] : 1;
        for (int32_t row = 0; row < p.dim[0]; row++) {
            for (int32_t k = 0; k < columns; k++) {
                float got = p.transposed ? x[k * p.dim[0] + row] : x[row * columns + k];
                wrong += got != value_of(i, row * columns + k);
            }
        }
    }
    return !wrong;
}

#define C_ATTN "transformer.h.1.attn.c_attn.weight"
static const twist twists[] = {
    { .reason = NULL },
    { .no_prefix = true },
    { .extra = "transformer.h.0.attn.bias" },
    { .extra = "h.1.attn.masked_bias" },
    { .extra = "lm_head.weight" },
    { .extra = "lm_head.weight", .extra_by = 0.5f, .reason = "differs from wte in row 0" },
    { .extra = "h.2.attn.bias", .reason = "\"h.2.attn.bias\" is not in this configuration" },
    { .extra = "h.0.attn.biased", .reason = "\"h.0.attn.biased\" is not in this" },
    { .extra = "transformer.h.2.ln_1.weight", .reason = "(n_layer 2, tied)" },
    { .extra = "wte.weight", .reason = "\"transformer.wte.weight\" and \"wte.weight\" are" },
    { .extra = "score.weight", .reason = "\"score.weight\" is not in" },
    { .skip = C_ATTN, .reason = "\"" C_ATTN "\" is missing" },
    { .skip = "transformer.ln_f.bias", .reason = "\"transformer.ln_f.bias\" is missing" },
    { .skip = "transformer.wte.weight", .reason = "\"transformer.wte.weight\" is missing" },
    { .rename = "transformer.wpe.weight", .to = "wpe", .reason = "\"wpe\" is not in" },
    { .rename = "transformer.wpe.weight", .to = "\x1b[0m\n", .reason = "\"?[0m?\" is not in" },
    { .shape = "transformer.wte.weight",
      .d0 = 12,
      .d1 = 8,
      .reason = "\"transformer.wte.weight\" is (12,8), but this configuration wants (11,8)" },
    { .shape = C_ATTN,
      .d0 = 24,
      .d1 = 8,
      .reason = "is (24,8), but this configuration wants (8,24)"
                ". Is it a checkpoint whose matrices are (out, in)?" },
    { .shape = C_ATTN, .d0 = 192, .reason = "is (192), but this configuration wants (8,24)" },
    { .shape = "transformer.h.0.ln_1.bias", .d0 = 9, .reason = "is (9), but this configuration" },
    { .shape = "transformer.h.0.ln_1.bias", .d0 = 8, .d1 = 1, .reason = "is (8,1), but this" },
};

static void test_files_of_weights(void)
{
    const gpt2_config c = small_config();
    for (size_t i = 0; i < sizeof twists / sizeof *twists; i++) {
        float before[64], after[64];
        const char *reason = twists[i].reason;
        test_bad = 0;
        write_weights(&c, &twists[i]);
        model m = trace(&c, B, T);
        samba_tensor *wpe = samba_tensor_by_name(m.s, "transformer__wpe__weight");
        CHECK(samba_copy_out(wpe, before, 48 * sizeof *before));
        samba_safetensors *f = open_file(path);
        bool fine = gpt2_load(m.s, &c, f, why, sizeof why);
        if (fine != !reason || (reason && !strstr(why, reason))) printf("%s\n", why);
        CHECK(fine == !reason && (!reason || strstr(why, reason)));
        CHECK(samba_copy_out(wpe, after, 48 * sizeof *after));
        if (reason)
            CHECK(!memcmp(before, after, 48 * sizeof *after)); // nothing was changed
        else
            CHECK(has_values(m.s, &c));
        samba_safetensors_close(f);
        close_clean(m.s);
        CHECK(n_live == 0);
        test_end(reason ? reason : "a good file");
    }
    remove(path);
}

static char told[600];
static int n_told;

static void hear(samba_log_level level, const char *text, void *user)
{
    (void)user;
    (void)level;
    snprintf(told, sizeof told, "%s", text);
    n_told++;
}

// NaN and infinities in a file are taken, and told in one sentence.
static void test_files_that_are_not_finite(void)
{
    const gpt2_config c = small_config();
    const float bad[2] = { NAN, INFINITY };
    for (int kinds = 0; kinds < 3; kinds++) {
        uint64_t header = 0;
        write_weights(&c, &twists[0]);
        FILE *f = fopen(path, "r+b");
        CHECK(f && fread(&header, sizeof header, 1, f) == 1);
        if (f && kinds > 0)
            CHECK(!fseek(f, 8 + (long)header, SEEK_SET) && fwrite(bad, 4, 2, f) == 2);
        if (f && kinds > 1) CHECK(!fseek(f, -4, SEEK_END) && fwrite(bad, 4, 1, f) == 1);
        if (f) fclose(f);
        n_told = 0;
        samba_session *s = samba_open(&(samba_desc){ .log = hear });
        samba_safetensors *file = open_file(path);
        gpt2_logits(&c, samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T)), NULL);
        CHECK(gpt2_load(s, &c, file, why, sizeof why) && n_told == (kinds > 0));
        if (kinds)
            CHECK(
                strstr(told, "transformer.wte.weight holds NaN or infinities in 2 of its values"));
        if (kinds) CHECK(strstr(told, kinds == 1 ? "so do 0 other" : "so do 1 other"));
        samba_safetensors_close(file);
        close_clean(s);
    }
    remove(path);
}

// A last matrix of its own is honored when the configuration says so.
static void test_an_untied_head(void)
{
    gpt2_config c = small_config();
    float before[N_LOGITS], after[N_LOGITS];
    const twist other_head = { .extra = "lm_head.weight", .extra_by = 0.5f };
    write_weights(&c, &other_head);
    samba_safetensors *f = open_file(path);
    model m = trace(&c, B, T);
    CHECK(!gpt2_load(m.s, &c, f, why, sizeof why));
    CHECK(strstr(why, "Set tie_word_embeddings to false") != NULL);
    close_clean(m.s);
    c.tie_word_embeddings = false;
    for (int i = 0; i < 2; i++) {
        m = trace(&c, B, T);
        CHECK(gpt2_load(m.s, &c, f, why, sizeof why));
        compile_inference(&m, NULL);
        if (i)
            samba_write(samba_tensor_by_name(m.s, "lm_head__weight"),
                        samba_read(samba_tensor_by_name(m.s, "transformer__wte__weight")));
        run_small(&m, i ? after : before);
        close_clean(m.s);
    }
    CHECK(distance(before, after, N_LOGITS) > 1e-3);
    samba_safetensors_close(f);
    const twist none = { .skip = "lm_head.weight" };
    write_weights(&c, &none);
    f = open_file(path);
    m = trace(&c, B, T);
    CHECK(!gpt2_load(m.s, &c, f, why, sizeof why) && strstr(why, "\"lm_head.weight\" is missing"));
    samba_safetensors_close(f);
    close_clean(m.s);
    remove(path);
}

static void test_weights_of_a_wrong_type(void)
{
    const gpt2_config c = small_config();
    const twist plain = { .reason = NULL };
    write_weights(&c, &plain);
    FILE *f = fopen(path, "r+b");
    char head[200];
    CHECK(f && fread(head, 1, sizeof head, f) == sizeof head);
    for (size_t i = 8; i + 3 < sizeof head; i++) {
        if (memcmp(head + i, "F32", 3)) continue;
        memcpy(head + i, "I32", 3);
        break;
    }
    rewind(f);
    CHECK(fwrite(head, 1, sizeof head, f) == sizeof head && !fclose(f));
    samba_safetensors *file = open_file(path);
    model m = trace(&c, B, T);
    CHECK(!gpt2_load(m.s, &c, file, why, sizeof why));
    CHECK(strstr(why, "\"transformer.wte.weight\" is I32; weights must be F32") != NULL);
    samba_safetensors_close(file);
    close_clean(m.s);
    remove(path);
}

static void test_sessions_that_cannot_load_or_save(void)
{
    gpt2_config c = small_config(), larger = c;
    const twist plain = { .reason = NULL };
    write_weights(&c, &plain);
    samba_safetensors *f = open_file(path);
    samba_session *s = samba_open(NULL);
    CHECK(!gpt2_load(s, &c, f, why, sizeof why) && strstr(why, "Trace gpt2_logits"));
    CHECK(!gpt2_load(s, &c, f, why, sizeof why) && strstr(why, "transformer__wte__weight"));
    CHECK(samba_ok(s));
    CHECK(!gpt2_save(s, &c, folder, SAMBA_SAFETENSORS_F32, why, sizeof why));
    CHECK(!gpt2_load(NULL, &c, f, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!gpt2_load(s, NULL, f, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!gpt2_load(s, &c, NULL, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!gpt2_save(s, &c, NULL, SAMBA_SAFETENSORS_F32, why, sizeof why));
    samba_close(s);
    model m = trace(&c, B, T);
    larger.vocab_size = 12;
    CHECK(!gpt2_load(m.s, &larger, f, why, sizeof why) && strstr(why, "is 11 of 2, not 12 of 2"));
    CHECK(!gpt2_save(m.s, &c, "build/no/where", SAMBA_SAFETENSORS_F32, why, sizeof why));
    CHECK(strstr(why, "build/no/where/config.json") != NULL);
    CHECK(!gpt2_save(m.s, &c, folder, SAMBA_SAFETENSORS_I64, why, sizeof why));
    CHECK(strstr(why, "only F32, BF16 and F16") != NULL);
    CHECK(samba_ok(m.s));
    close_clean(m.s);
    samba_safetensors_close(f);
    remove(path);
    remove(in_folder(folder, "config.json"));
    CHECK(n_live == 0);
}

// 16 bits on disk: what comes back is what was rounded.
static void test_saving_in_16_bits(void)
{
    const gpt2_config c = small_config();
    for (int i = 0; i < 2; i++) {
        model m = trace(&c, B, T), n = trace(&c, B, T);
        samba_safetensors_dtype dtype = i ? SAMBA_SAFETENSORS_F16 : SAMBA_SAFETENSORS_BF16;
        CHECK(gpt2_save(m.s, &c, folder, dtype, why, sizeof why));
        samba_safetensors *f = open_file(in_folder(folder, "model.safetensors"));
        CHECK(f && samba_safetensors_at(f, 0)->dtype == dtype);
        CHECK(gpt2_load(n.s, &c, f, why, sizeof why));
        const char *name = "transformer__h__0__mlp__c_fc__weight";
        const float *a = samba_read(samba_tensor_by_name(m.s, name));
        const float *b = samba_read(samba_tensor_by_name(n.s, name));
        CHECK_CLOSE(b, a, 8 * 32, i ? 5e-4 : 4e-3, 1e-7);
        CHECK(distance(a, b, 8 * 32) > 0);
        samba_safetensors_close(f);
        close_clean(m.s);
        close_clean(n.s);
    }
    remove(in_folder(folder, "model.safetensors"));
    remove(in_folder(folder, "config.json"));
}

static bool load_and_save(samba_session *s, const gpt2_config *c)
{
    samba_safetensors *f = open_file(path);
    bool fine = f && gpt2_load(s, c, f, why, sizeof why)
        && gpt2_save(s, c, folder, SAMBA_SAFETENSORS_F32, why, sizeof why);
    samba_safetensors_close(f);
    gpt2_config again;
    return fine && gpt2_config_read(in_folder(folder, "config.json"), &again, why, sizeof why);
}

static void test_every_failing_allocation(void)
{
    const gpt2_config c = small_config();
    const twist with_head = { .extra = "lm_head.weight" };
    write_weights(&c, &with_head);
    model m = trace(&c, B, T);
    cJSON_Hooks hooks = { counting_malloc, counting_free };
    cJSON_InitHooks(&hooks);
    bool done = false;
    long n = 0;
    for (; n < 5000 && !done; n++) {
        n_calls = 0;
        fail_at = n;
        why[0] = 0;
        done = load_and_save(m.s, &c);
        fail_at = -1;
        CHECK(done || strstr(why, "no memory"));
        if (!done && !strstr(why, "no memory")) printf("%ld: %s\n", n, why);
        CHECK(n_live == 0 && samba_ok(m.s));
    }
    cJSON_InitHooks(NULL);
    CHECK(done && n > 100);
    close_clean(m.s);
    remove(path);
    remove(in_folder(folder, "model.safetensors"));
    remove(in_folder(folder, "config.json"));
}

int main(int argc, char **argv)
{
    mkdir("build", 0777);
    if (argc > 1) {
        struct rusage usage;
        check_golden(argv[1], argv[1], 1e-4, 5e-2);
        test_end(argv[1]);
        if (!getrusage(RUSAGE_SELF, &usage)) {
            printf("peak memory of the process: %.2f GB\n", (double)usage.ru_maxrss / 1e6);
        }
        return test_summary();
    }
    snprintf(folder, sizeof folder, "build/gpt2.%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/file", folder);
    if (mkdir(folder, 0777)) {
        printf("no %s\n0 passed, 1 failed\n", folder);
        return 1;
    }
    RUN(test_two_layers_like_pytorch);
    RUN(test_an_unusual_model_like_pytorch);
    RUN(test_matrices_in_bf16);
    RUN(test_positions);
    RUN(test_short_positions_and_padding);
    RUN(test_patch);
    RUN(test_weights_go_into_a_loaded_pef);
    RUN(test_dropout);
    RUN(test_a_block_with_another_attention);
    RUN(test_errors_of_tracing);
    RUN(test_names);
    RUN(test_initial_values);
    RUN(test_groups);
    test_configs();
    RUN(test_config_files);
    test_files_of_weights();
    RUN(test_files_that_are_not_finite);
    RUN(test_an_untied_head);
    RUN(test_weights_of_a_wrong_type);
    RUN(test_sessions_that_cannot_load_or_save);
    RUN(test_saving_in_16_bits);
    RUN(test_every_failing_allocation);
    rmdir(folder);
    return test_summary();
}
