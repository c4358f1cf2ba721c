// samba/generate.h: what is drawn from logits; texts with a cache against texts without.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_GENERATE_IMPLEMENTATION
#include "tools/include/samba/generate.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"

// ---- Sampling, against the definition written down plainly ----

enum { N = 40 };

// The probability of each id after temperature, top_k, top_p and min_p.
static void plain(const float *logits, int n, const samba_sampling *how, double *p)
{
    int order[N];
    double all = 0, before = 0, kept = 0;
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (logits[order[j]] > logits[order[i]]
                || (logits[order[j]] == logits[order[i]] && order[j] < order[i])) {
                int t = order[i];
                order[i] = order[j];
                order[j] = t;
            }
    for (int i = 0; i < n; i++) {
        bool in = how->top_k == 0 || i < how->top_k;
        p[order[i]] = in ? exp((double)logits[order[i]] / (double)how->temperature) : 0;
        all += p[order[i]];
    }
    for (int i = 0; i < n; i++) {
        double mass = p[order[i]];
        if (how->top_p > 0 && before >= (double)how->top_p * all) p[order[i]] = 0;
        if (p[order[i]] < (double)how->min_p * p[order[0]]) p[order[i]] = 0;
        before += mass;
        kept += p[order[i]];
    }
    for (int i = 0; i < n; i++)
        p[i] /= kept;
}

static void test_distribution(void)
{
    static const samba_sampling how[] = {
        { .temperature = 1 },
        { .temperature = 0.5f },
        { .temperature = 2, .top_k = 5 },
        { .temperature = 1, .top_p = 0.7f },
        { .temperature = 0.8f, .top_k = 12, .top_p = 0.5f },
        { .temperature = 1, .top_k = 1 },
        { .temperature = 1, .top_p = 1e-6f },
        { .temperature = 3, .top_k = 1000, .top_p = 0.999f },
        { .temperature = 1, .min_p = 0.3f },
        { .temperature = 2, .top_k = 30, .min_p = 0.2f },
        { .temperature = 1, .top_k = 20, .top_p = 0.8f, .min_p = 0.5f },
        { .temperature = 1, .min_p = 1 },
    };
    float logits[N];
    double p[N];
    int32_t work[N];
    for (size_t c = 0; c < sizeof how / sizeof *how; c++) {
        int count[N] = { 0 }, draws = 40000, wrong = 0;
        for (int i = 0; i < N; i++) // with equal ones among them
            logits[i] = (float)((i * 37 + (int)c * 11) % 23) * 0.25f;
        plain(logits, N, &how[c], p);
        for (int i = 0; i < draws; i++)
            count[samba_sample(logits, N, &how[c], (i + 0.5) / draws, work)]++;
        for (int i = 0; i < N; i++)
            wrong += fabs((double)count[i] - p[i] * draws) > 1.001;
        CHECK(wrong == 0);
    }
}

static void test_special(void)
{
    int32_t work[4];
    samba_sampling greedy = { 0 }, any = { .temperature = 1 };
    float tie[4] = { 1, 3, 3, 2 }, bad[4] = { NAN, NAN, NAN, NAN };
    float one[4] = { -INFINITY, -INFINITY, 2, -INFINITY };
    CHECK(samba_sample(tie, 4, &greedy, 0.9, work) == 1);
    CHECK(samba_sample(bad, 4, &greedy, 0.9, work) == -1);
    CHECK(samba_sample(bad, 4, &any, 0.9, work) == -1);
    CHECK(samba_sample(one, 4, &any, 0.9, work) == 2);
    CHECK(samba_sample(tie, 4, &any, 0, work) >= 0);
    CHECK(samba_sample(tie, 4, &any, 1 - 1e-16, work) >= 0);
    double mean = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double u = samba_sampling_number(7, i % 3, i);
        CHECK((u >= 0 && u < 1) || test_bad);
        mean += u / 10000;
    }
    CHECK(mean > 0.49 && mean < 0.51);
    CHECK(samba_sampling_number(1, 0, 0) != samba_sampling_number(2, 0, 0));
}

// transformers' RepetitionPenaltyLogitsProcessor: once for each id, whatever its sign.
static void test_repetition_penalty(void)
{
    const float logits[6] = { 3, -3, 0, INFINITY, -INFINITY, 1 };
    const int32_t text[8] = { 0, 0, 1, 1, 3, 4, -1, 6 };
    const float want[6] = { 1.5f, -6, 0, INFINITY, -INFINITY, 1 };
    float got[6];
    samba_penalize(logits, 6, text, 8, 2, got);
    for (int i = 0; i < 6; i++)
        CHECK(memcmp(&got[i], &want[i], sizeof *got) == 0);
    samba_penalize(logits, 6, text, 0, 2, got);
    CHECK(memcmp(got, logits, sizeof got) == 0);
}

// ---- Texts: a small net with one layer of attention ----

enum { V = 11, C = 8 };

typedef struct net {
    int B;
} net;

static samba_tensor *attend(samba_tensor *x, samba_tensor *k, samba_tensor *v, samba_tensor *mask,
                            bool causal)
{
    samba_attention_opts opts = { .causal = causal };
    samba_tensor *q = samba_linear_no_bias(x, "q", C);
    return samba_add(x, samba_scaled_dot_product_attention(q, k, v, mask, &opts));
}

static samba_tensor *embed(samba_tensor *ids, samba_tensor *position, int length)
{
    samba_tensor *x = samba_embedding(ids, "wte", V, C);
    return samba_add(x, samba_embedding(position, "wpe", length, C));
}

enum { LENGTH = 14 };

static bool trace(const void *model, samba_generator_graph *graph)
{
    const net *m = (const net *)model;
    samba_tensor *x = embed(graph->ids, graph->position, LENGTH);
    samba_session *s = x ? x->session : NULL;
    samba_shape kept = SAMBA_SHAPE(m->B, LENGTH, C);
    samba_tensor *k = samba_buffer(s, "k_cache", kept, 0), *v = samba_buffer(s, "v_cache", kept, 0);
    k = samba_write_rows(k, samba_linear_no_bias(x, "k", C), graph->row);
    v = samba_write_rows(v, samba_linear_no_bias(x, "v", C), graph->row);
    samba_tensor *mask = samba_le(graph->key, samba_unsqueeze(graph->position, -1));
    x = attend(x, k, v, mask, false);
    x = samba_lookup(graph->last, samba_reshape(x, SAMBA_SHAPE(-1, C)));
    graph->logits = samba_linear_no_bias(x, "head", V);
    return samba_ok(s);
}

// Logits after each token of one text, all computed at once.
static samba_tensor *whole(samba_session *s, samba_tensor **ids)
{
    int32_t position[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        position[i] = i;
    *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, LENGTH));
    samba_tensor *x = embed(
        *ids, samba_from_data_copy(s, "position", SAMBA_I32, SAMBA_SHAPE(1, LENGTH), position),
        LENGTH);
    samba_tensor *k = samba_linear_no_bias(x, "k", C), *v = samba_linear_no_bias(x, "v", C);
    return samba_linear_no_bias(attend(x, k, v, NULL, true), "head", V);
}

static int stream[3][LENGTH], n_stream[3];

static bool listen(void *user, int32_t row, int32_t token)
{
    CHECK(user == &stream);
    stream[row][n_stream[row]++] = token;
    return !(row == 2 && n_stream[2] == 3); // the caller has had enough of row 2
}

typedef struct texts {
    int32_t text[3][LENGTH], *to[3], size[3];
} texts;

static bool generate(samba_generator *g, samba_generate_desc d, texts *t)
{
    static const int32_t a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 7 }, c[] = { 3, 1, 4, 1 };
    static const int32_t *const prompts[] = { a, b, c };
    static const int32_t sizes[] = { 6, 1, 4 };
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 3; i++) {
        t->to[i] = t->text[i];
        n_stream[i] = 0;
    }
    d.prompt = prompts;
    d.prompt_size = sizes;
    d.n_prompts = 3;
    d.text = t->to;
    d.text_size = t->size;
    return samba_generate(g, &d);
}

static void open_generator(samba_generator *g, int B, int chunk)
{
    static net m;
    m.B = B;
    samba_session *s = samba_open(NULL);
    CHECK(samba_generator_trace(g, s, B, chunk, LENGTH, trace, &m));
    samba_program p = { .outputs = { g->prefill.logits, g->decode.logits }, .inference = true };
    CHECK(samba_compile(s, &p));
}

// The greedy text of the cached graphs, token for token, by computing everything anew each time.
// Logits that are not finite, at each place of several lengths: NaN is told, +inf is drawn (of two,
// each half of the time), -inf never.
static void test_not_finite(void)
{
    static const samba_sampling how[] = { { 0 },
                                          { .temperature = 1 },
                                          { .temperature = 2, .top_k = 3 },
                                          { .temperature = 0.5f, .top_p = 0.4f } };
    const float extreme[4] = { 1e30f, -1e30f, 3e38f, -3e38f };
    float logits[N];
    int32_t work[N];
    for (int n = 1; n <= N; n += 13)
        for (int at = 0; at < n; at++)
            for (int c = 0; c < 4; c++) {
                for (int i = 0; i < n; i++)
                    logits[i] = extreme[(i + c) % 4];
                logits[at] = NAN;
                CHECK(samba_sample(logits, n, &how[c], 0.5, work) == -1);
                logits[at] = INFINITY;
                CHECK(samba_sample(logits, n, &how[c], 0.999, work) == at);
                for (int i = 0; i < n; i++)
                    logits[i] = -INFINITY;
                CHECK(samba_sample(logits, n, &how[c], 0.5, work) == -1);
                logits[at] = -3e38f;
                CHECK(samba_sample(logits, n, &how[c], 0.999, work) == at);
            }
    float both[4] = { 0, INFINITY, INFINITY, -INFINITY };
    CHECK(samba_sample(both, 4, &how[0], 0.9, work) == 1);
    int32_t low = samba_sample(both, 4, &how[1], 0.4, work),
            high = samba_sample(both, 4, &how[1], 0.6, work);
    CHECK(low + high == 3 && low != high);
}

static void test_greedy(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *ids, *logits = whole(s, &ids);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { logits }, .inference = true }));
    for (int chunk = 1; chunk <= 8; chunk++) {
        samba_generator g;
        texts t;
        open_generator(&g, 3, chunk);
        samba_generate_desc d = { .max_new_tokens = 7 };
        CHECK(generate(&g, d, &t));
        CHECK(t.size[0] == 13 && t.size[1] == 8 && t.size[2] == 11);
        static const int prompt_size[] = { 6, 1, 4 };
        for (int b = 0; b < 3; b++) {
            for (int n = prompt_size[b]; n < t.size[b]; n++) {
                int32_t padded[LENGTH] = { 0 }, best = 0;
                memcpy(padded, t.text[b], (size_t)n * sizeof *padded);
                samba_write(ids, padded);
                CHECK(samba_run(s, SAMBA_FWD));
                const float *last = samba_read(logits) + (n - 1) * V;
                for (int i = 1; i < V; i++)
                    if (last[i] > last[best]) best = i;
                CHECK(t.text[b][n] == best);
            }
        }
        CHECK(samba_close(g.session) == 0);
    }
    samba_close(s);
}

static void test_ends(void)
{
    samba_generator g;
    texts t, again;
    open_generator(&g, 4, 3); // one row more than prompts
    samba_generate_desc d = { .max_new_tokens = 100, .on_token = listen, .user = &stream };
    CHECK(generate(&g, d, &t));
    CHECK(t.size[0] == LENGTH && t.size[1] == LENGTH && t.size[2] == 4 + 3);
    for (int i = 0; i < n_stream[0]; i++)
        CHECK(stream[0][i] == t.text[0][6 + i]);
    CHECK(n_stream[0] == LENGTH - 6 && n_stream[1] == LENGTH - 1 && n_stream[2] == 3);
    d.stop = &t.text[1][3];
    d.n_stop = 1; // a token that was generated is now a stop
    CHECK(generate(&g, d, &again));
    CHECK(again.size[1] <= 4 && again.text[1][again.size[1] - 1] == t.text[1][3]);

    samba_generate_desc random = { .max_new_tokens = 8 };
    random.sampling = (samba_sampling){ .temperature = 1.5f, .seed = 5 };
    CHECK(generate(&g, random, &t) && generate(&g, random, &again));
    CHECK(!memcmp(t.text, again.text, sizeof t.text));
    random.sampling.seed = 6;
    CHECK(generate(&g, random, &again) && memcmp(t.text, again.text, sizeof t.text));
    CHECK(samba_close(g.session) == 0);
}

static void test_mistakes(void)
{
    samba_generator g;
    texts t;
    open_generator(&g, 2, 3);
    CHECK(!generate(&g, (samba_generate_desc){ .max_new_tokens = 1 }, &t));
    CHECK(said(g.session, "rows for 1 ... 2 prompts"));
    samba_close(g.session);
    open_generator(&g, 3, 3);
    samba_session *s = g.session;
    CHECK(!generate(&g, (samba_generate_desc){ .max_new_tokens = 0 }, &t) && said(s, "new tokens"));
    samba_generate_desc negative = { .max_new_tokens = 1, .sampling = { .top_p = -1 } };
    CHECK(!generate(&g, negative, &t) && said(s, "must not be negative"));
    samba_generate_desc above
        = { .max_new_tokens = 1, .sampling = { .temperature = 1, .top_p = 1.5f } };
    CHECK(!generate(&g, above, &t) && said(s, "top_p 1.5 is 0 ... 1"));
    g.length = 6;
    CHECK(!generate(&g, (samba_generate_desc){ .max_new_tokens = 1 }, &t));
    CHECK(said(s, "prompt 0 has 6 tokens; this generator takes 1 ... 5"));
    g.length = LENGTH;
    samba_tensor *head = samba_tensor_by_name(s, "head__weight");
    float nan[V * C];
    for (int i = 0; i < V * C; i++)
        nan[i] = NAN;
    samba_write(head, nan);
    CHECK(!generate(&g, (samba_generate_desc){ .max_new_tokens = 1 }, &t)
          && said(s, "is NaN, or all are -inf"));
    samba_close(s);
    s = samba_open(NULL);
    CHECK(!samba_generator_trace(&g, s, 0, 1, 1, trace, NULL) && said(s, "at least 1"));
    samba_close(s);
}

int main(void)
{
    RUN(test_distribution);
    RUN(test_special);
    RUN(test_repetition_penalty);
    RUN(test_not_finite);
    RUN(test_greedy);
    RUN(test_ends);
    RUN(test_mistakes);
    return test_summary();
}
