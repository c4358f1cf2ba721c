// GPT-2 124M in f32: training steps, prefill, decode with a key-value cache; time and peak memory.
//     cc -O2 -o bench_gpt2 tests/bench/gpt2.c -lcjson -lm -pthread -ldl && ./bench_gpt2 [small]
// samba and PyTorch each have processes of their own, which begin with the same weights and tokens.
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "bench.h"
#include "../../tools/include/samba/gpt2.h"
#include <sys/stat.h>

static char why[400];

// ---- samba's process: speaks as torch_peer.py does ----------------------------------------------

typedef struct model {
    gpt2_config config;
    samba_session *s;
    samba_tensor *loss, *prompt;
    samba_generator generator;
    int32_t length, at, *ids; // of the prompt; the next position
    double seconds[3];        // forward, backward, optimizer: all runs since asked
    samba_mapping mapping;
    bool decode;
} model;

static gpt2_config configuration(bool small)
{
    gpt2_config c = gpt2_config_default();
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0;
    if (small) c.n_layer = 2;
    return c;
}

// With mapping spatial each parameter is stepped as soon as its gradient is there.
static void make_training(model *m, int32_t B, int32_t T)
{
    size_t n = (size_t)B * (size_t)T;
    uint32_t V = (uint32_t)m->config.vocab_size;
    int32_t *tokens = choices(n, 1, V), *next = choices(n, 2, V);
    samba_tensor *ids = samba_from_data_copy(m->s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T), tokens);
    samba_tensor *labels = samba_from_data_copy(m->s, "labels", SAMBA_I32, SAMBA_SHAPE(B, T), next);
    free(tokens);
    free(next);
    m->loss = samba_cross_entropy(gpt2_logits(&m->config, ids, NULL), labels);
    samba_compile(
        m->s,
        &(samba_program){
            .loss = m->loss,
            .optim = { .kind = SAMBA_ADAMW, .lr = 1e-4f, .beta2 = 0.999f, .weight_decay = 0.01f },
            .mapping = m->mapping });
}

// The prompt in one chunk; decoding goes on behind it.
static void make_generation(model *m, int32_t prompt, int32_t length, samba_weights weights)
{
    m->ids = choices((size_t)length, 1, (uint32_t)m->config.vocab_size);
    m->length = prompt;
    m->at = prompt;
    samba_generator_trace(&m->generator, m->s, 1, prompt, length, gpt2_trace_step, &m->config);
    samba_compile(
        m->s,
        &(samba_program){ .outputs = { m->generator.prefill.logits, m->generator.decode.logits },
                          .inference = true,
                          .weights = weights });
}

// Tokens at ... at + n - 1 through a graph.
static void feed(model *m, const samba_generator_graph *graph, int32_t at, int32_t n)
{
    int32_t *position = (int32_t *)must(malloc(4 * (size_t)n)), last = n - 1;
    for (int32_t i = 0; i < n; i++)
        position[i] = at + i;
    samba_write(graph->ids, m->ids + at);
    samba_write(graph->position, position);
    samba_write(graph->row, position);
    samba_write(graph->last, &last);
    samba_run_graph(m->s, graph->name, SAMBA_FWD);
    free(position);
}

static void step(model *m)
{
    static const unsigned parts[]
        = { SAMBA_FWD, SAMBA_ZEROGRAD | SAMBA_BCKWD | SAMBA_REDUCE | SAMBA_GRADNORM, SAMBA_OPT };
    if (m->decode) {
        feed(m, &m->generator.decode, m->at, 1);
        if (++m->at >= m->generator.length) m->at = m->length;
        return;
    }
    if (!m->loss) {
        feed(m, &m->generator.prefill, 0, m->length);
        return;
    }
    for (int i = 0; i < 3; i++) {
        double start = bench_seconds();
        unsigned types = parts[i] & samba_section_types(m->s);
        if (m->mapping == SAMBA_MAPPING_SPATIAL && i > 0)
            types = i == 1 ? samba_section_types(m->s) & ~SAMBA_FWD : 0;
        if (types) samba_run(m->s, types);
        m->seconds[i] += bench_seconds() - start;
    }
}

// The loss of the last step; the sum of |logits| of the last token, which no one sees otherwise.
static double value(model *m)
{
    double sum = 0;
    if (m->loss) return (double)samba_read(m->loss)[0];
    const float *logits
        = samba_read((m->decode ? m->generator.decode : m->generator.prefill).logits);
    for (int32_t i = 0; i < m->generator.V; i++)
        sum += fabs((double)logits[i]);
    return sum;
}

static bool make(model *m, const char *line, int threads)
{
    int a = 0, b = 0, layers = 0;
    char what[32] = "", folder[256] = "";
    int weights = SAMBA_WEIGHTS_F32; // a digit after Decode says others
    if (sscanf(line, "make gpt2.%31s %d %d %d %255s", what, &layers, &a, &b, folder) != 5)
        return false;
    if (!strncmp(what, "Decode", 6) && what[6]) {
        weights = what[6] - '0';
        what[6] = 0;
    }
    samba_close(m->s);
    free(m->ids);
    bool mp1 = strstr(what, "MP1") != NULL;                             // products compute in bf16
    if (mp1 && strncmp(what, "Train", 5)) weights = SAMBA_WEIGHTS_BF16; // as PyTorch's are, then
    samba_desc desc = { .threads = threads, .graphamp = mp1 ? SAMBA_MP1 : SAMBA_MP0 };
    *m = (model){ .config = configuration(false), .s = samba_open(&desc) };
    m->config.n_layer = layers;
    if (!strcmp(what, "TrainHalf")) samba_set_param_dtype(m->s, SAMBA_BF16);
    if (!strcmp(what, "TrainSpatial")) m->mapping = SAMBA_MAPPING_SPATIAL;
    if (!strncmp(what, "Train", 5))
        make_training(m, a, b);
    else
        make_generation(m, a, b, (samba_weights)weights);
    m->decode = !strcmp(what, "Decode");
    if (m->decode) feed(m, &m->generator.prefill, 0, m->length);
    return samba_ok(m->s);
}

static int worker(int threads)
{
    model m = { .s = samba_open(NULL) };
    char line[512];
    int n;
    printf("samba.h " SAMBA_VERSION "\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %d", &n) == 1) {
            memset(m.seconds, 0, sizeof m.seconds);
            double start = bench_seconds();
            for (int i = 0; i < n; i++)
                step(&m);
            printf("%.9g", (bench_seconds() - start) / n);
            for (int i = 0; m.loss && i < 3; i++)
                printf(" %.9g", m.seconds[i] / n);
            printf("\n");
        } else if (!strncmp(line, "value", 5)) {
            printf("%.9g\n", value(&m));
        } else if (!strncmp(line, "peak", 4)) {
            printf("%.6g\n", peak_memory());
        } else if (!strncmp(line, "promise", 7)) {
            printf("%.6g\n", (double)samba_device_bytes(m.s) / (1 << 20));
        } else {
            printf("%s\n", make(&m, line, threads) ? "ok" : "failed");
        }
        fflush(stdout);
        if (!samba_ok(m.s)) return samba_close(m.s);
    }
    return samba_close(m.s);
}

// ---- The races ----------------------------------------------------------------------------------

// A process, and what it said in this round.
typedef struct runner {
    peer process;
    bool there;
    int repeat;
    double parts[MOST_ROUNDS][3];
    int round;
} runner;

static double run(void *context)
{
    runner *r = (runner *)context;
    char request[32];
    double t[4] = { 0 };
    snprintf(request, sizeof request, "run %d", r->repeat);
    peer_ask(&r->process, t, 4, request);
    if (r->round >= 0 && r->round < MOST_ROUNDS)
        memcpy(r->parts[r->round], t + 1, sizeof r->parts[0]);
    r->round++;
    return t[0];
}

static const char folder[] = "build/bench_weights";

static bool start_samba(runner *r, int threads)
{
    char n[16], hello[64], word[] = "worker";
    char *argv[] = { bench.argv[0], word, n, NULL };
    snprintf(n, sizeof n, "%d", threads);
    return r->there = peer_start(&r->process, argv, hello, sizeof hello);
}

// Memory that nobody needs, in GiB.
static double free_memory(void)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return kib > 0 ? kib / (1 << 20) : 1e9;
}

// The contenders. Requests of samba are other words for the same thing: "Train" is what stands in
// a request, and each kind of samba puts its own word there.
enum {
    SAMBA,
    EAGER,
    COMPILED,
    DEBIAN,
    F32, // the first of which one row has all; others have rows of their own
    SPATIAL = F32,
    HALF,
    MP1,
    AUTOCAST,
    AUTOCAST_COMPILED,
    SAMBA_1, // from here on: one thread
    EAGER_1,
    LLAMA_F32,
    LLAMA_BF16,
    LLAMA_INT8,
    LLAMA_INT4,
    RUNNERS
};

typedef struct kind {
    const char *name;
    const char *suffix; // of samba's word; NULL: it is not samba
    torch_mode mode;
    const char *llama; // how llama.cpp keeps weights; NULL: it is not llama.cpp
} kind;

static const kind kinds[RUNNERS] = {
    [SAMBA] = { .name = "samba", .suffix = "" },
    [EAGER] = { .name = "torch", .mode = TORCH_EAGER },
    [COMPILED] = { .name = "compile", .mode = TORCH_COMPILE },
    [DEBIAN] = { .name = "Debian's", .mode = TORCH_DEBIAN },
    [SPATIAL] = { .name = "spatial", .suffix = "Spatial" },
    [HALF] = { .name = "bf16 params", .suffix = "Half" },
    [MP1] = { .name = "samba mp1", .suffix = "MP1" },
    [AUTOCAST] = { .name = "autocast", .mode = TORCH_BF16 },
    [AUTOCAST_COMPILED] = { .name = "a. compile", .mode = TORCH_BF16_COMPILE },
    [SAMBA_1] = { .name = "samba, 1", .suffix = "" },
    [EAGER_1] = { .name = "torch, 1", .mode = TORCH_EAGER },
    [LLAMA_F32] = { .name = "llama.cpp", .llama = "f32" },
    [LLAMA_BF16] = { .name = "llama.cpp", .llama = "bf16" },
    [LLAMA_INT8] = { .name = "llama.cpp", .llama = "q8_0" },
    [LLAMA_INT4] = { .name = "llama.cpp", .llama = "q4_0" },
};

#define BIT(kind) (1u << (kind))

static bool llama_start(peer *p, const char *weights, int threads)
{
    static bool told;
    char n[16], hello[160] = "", word[8], python[PATH_ROOM], script[] = "tests/bench/llama_peer.py";
    char *argv[] = { python, script, n, word, NULL };

    *p = (peer){ 0 };
    bool there = todays_python("llama_cpp", python);
    snprintf(n, sizeof n, "%d", threads);
    snprintf(word, sizeof word, "%s", weights);
    there = there && peer_start(p, argv, hello, sizeof hello);
    if (!there) peer_stop(p);
    if (!told) say_version("llama.cpp", there ? hello : "not here (make peers compiles it)", there);
    told = true;
    return there;
}

// request: "make gpt2.WORD ..."; samba's word has a suffix for its kind.
static bool ask_to_make(runner *r, const kind *k, const char *request)
{
    char other[400], word[32];
    int behind = 0;
    if (!k->suffix) return peer_ask(&r->process, NULL, 0, request) >= 0;
    if (sscanf(request, "make gpt2.%31s%n", word, &behind) != 1) return false;
    snprintf(other, sizeof other, "make gpt2.%s%s%s", word, k->suffix, request + behind);
    return peer_ask(&r->process, NULL, 0, other) >= 0;
}

// Starts those of the mask and lets them build the same thing.
static void start(runner *r, contender *c, unsigned mask, const char *request, int repeat,
                  double gigabytes)
{
    for (int i = 0; i < RUNNERS; i++) {
        const kind *k = &kinds[i];
        int threads = i == SAMBA_1 || i == EAGER_1 ? 1 : bench.threads;
        r[i] = (runner){ .repeat = repeat, .round = -1 };
        c[i] = (contender){ .name = k->name, .context = &r[i] };
        if (!(mask >> i & 1)) continue;
        if (free_memory() < gigabytes + 2) {
            printf("%s: skipped, only %.1f GiB of memory are free\n", k->name, free_memory());
            continue;
        }
        if (k->suffix)
            r[i].there = start_samba(&r[i], threads);
        else if (k->llama)
            r[i].there = llama_start(&r[i].process, k->llama, threads);
        else
            r[i].there = torch_start(&r[i].process, k->mode, threads);
        r[i].there = r[i].there && ask_to_make(&r[i], k, request);
        if (r[i].there) c[i].run = run;
    }
}

// samba's decoder says in its word how weights are kept: the digit of a samba_weights.
static void start_decoder(runner *r, contender *c, int weights, const char *request, int repeat)
{
    char digit[2] = { (char)('0' + weights), 0 };
    const kind k = { .name = "samba", .suffix = digit };
    *r = (runner){ .repeat = repeat, .round = -1 };
    *c = (contender){ .name = k.name, .context = r };
    if (start_samba(r, bench.threads) && ask_to_make(r, &k, request)) c->run = run;
}

// All contenders against the first one, which is in the mask.
static void compare_values(const char *what, runner *r, const contender *c, int first,
                           double tolerance)
{
    double mine = peer_number(&r[first].process, "value");
    for (int i = 0; i < RUNNERS; i++)
        if (i != first && c[i].run)
            agree(what, c[i].name, mine, peer_number(&r[i].process, "value"), tolerance);
}

static void stop(runner *r)
{
    for (int i = 0; i < RUNNERS; i++)
        peer_stop(&r[i].process);
}

static double parts_median(const runner *r, int part)
{
    double x[MOST_ROUNDS];
    for (int i = 0; i < bench.done; i++)
        x[i] = r->parts[i][part];
    return median(x, bench.done);
}

// FLOPs of a training step: products with the tied head, and causal attention (half of T x T; 2
// products forward, 5 backward, because the scores are computed again).
static double training_flops(const gpt2_config *c, double B, double T)
{
    double C = c->n_embd, weights = c->n_layer * 12 * C * C + (double)c->vocab_size * C;
    return 6 * weights * B * T + 7 * c->n_layer * B * T * T * C;
}

static double parameters(const gpt2_config *c)
{
    double C = c->n_embd;
    return c->n_layer * (12 * C * C + 13 * C) + (c->vocab_size + c->n_positions + 2) * C;
}

// The least time a step can take: the FLOPs, then 28 bytes per parameter for AdamW (four read,
// three written) and 12 for reading weights twice and writing gradients.
static double training_floor(const gpt2_config *c, double B, double T, double fma, int all)
{
    return training_flops(c, B, T) / fma
        + parameters(c) * (28 / machine.best[all].adam + 12 / machine.best[all].modify);
}

// A training: what its rows are called, and their limits.
typedef struct training {
    const gpt2_config *c;
    int B, T;
    char name[32], request[400];
    double fma, floor_seconds;
} training;

// Builds the contenders of the mask, and lets them step in turns.
static void race_training(training *t, runner *r, contender *x, unsigned mask)
{
    start(r, x, mask, t->request, 1, 2.5 + t->B * t->T / 256.0);
    t->fma = race(x, RUNNERS, CEILING_FMA, bench.threads > 1);
    t->floor_seconds = training_floor(t->c, t->B, t->T, t->fma, bench.threads > 1);
}

// Memory of n contenders that follow each other.
static void report_peak(const char *what, runner *r, contender *x, int first, int n, double floor)
{
    contender peaks[RUNNERS];
    for (int i = 0; i < n; i++) {
        peaks[i] = x[first + i];
        peaks[i].value = x[first + i].run ? peer_number(&r[first + i].process, "peak") : 0;
    }
    report(what, "MiB", peaks, n, floor, bench.threads);
}

static void report_parts(const training *t, const runner *r, const contender *x)
{
    static const char *const parts[] = { "forward", "backward", "AdamW" };
    double adam = parameters(t->c) * 28 / machine.best[bench.threads > 1].adam,
           flops = training_flops(t->c, t->B, t->T) / 3 / t->fma;
    char what[64];
    for (int part = 0; part < 3; part++) {
        contender c[F32];
        for (int i = 0; i < F32; i++) {
            c[i] = x[i];
            c[i].value = x[i].run ? parts_median(&r[i], part) : 0;
        }
        snprintf(what, sizeof what, "%s, %s", t->name, parts[part]);
        report_ms(what, c, F32, part == 2 ? adam : part == 1 ? 2 * flops : flops, bench.threads);
    }
}

// A way of samba's own to save memory, beside the best peer and beside samba without it.
static void report_option(const training *t, runner *r, const contender *x, int option,
                          const char *name, double bytes)
{
    char what[64];
    if (!x[option].run) return;
    contender c[F32 + 1] = { x[option], { .name = "samba f32", .value = x[SAMBA].value } };
    memcpy(c + 2, x + EAGER, (F32 - EAGER) * sizeof *c);
    snprintf(what, sizeof what, "%s, %s", t->name, name);
    report_ms(what, c, F32 + 1, t->floor_seconds, bench.threads);

    for (int i = EAGER; i < F32; i++)
        c[i + 1].value = x[i].run ? peer_number(&r[i].process, "peak") : 0;
    c[0].value = peer_number(&r[option].process, "peak");
    c[1].value = peer_number(&r[SAMBA].process, "peak");
    snprintf(what, sizeof what, "%s, %s, peak memory", t->name, name);
    report(what, "MiB", c, F32 + 1, bytes / (1 << 20), bench.threads);
}

static void train_f32(training *t)
{
    static runner r[RUNNERS];
    contender x[RUNNERS], times[F32], tokens[F32];
    char what[64];
    unsigned mask = BIT(SAMBA) | BIT(EAGER);
    if (!bench.small) mask |= BIT(COMPILED) | BIT(DEBIAN) | BIT(SPATIAL) | BIT(HALF);
    race_training(t, r, x, mask);
    double mine = peer_number(&r[SAMBA].process, "value");
    for (int i = 1; i < RUNNERS; i++)
        if (x[i].run)
            agree(t->name, x[i].name, mine, peer_number(&r[i].process, "value"),
                  i == HALF ? 1e-2 : 1e-3);

    memcpy(times, x, sizeof times);
    memcpy(tokens, x, sizeof tokens);
    for (int i = 0; i < F32; i++)
        tokens[i].value = x[i].value > 0 ? t->B * t->T / x[i].value : 0;
    report_ms(t->name, times, F32, t->floor_seconds, bench.threads);
    snprintf(what, sizeof what, "%s, tokens/s", t->name);
    report(what, "tokens/s", tokens, F32, t->B * t->T / t->floor_seconds, bench.threads);
    snprintf(what, sizeof what, "%s, peak memory", t->name);
    report_peak(what, r, x, SAMBA, F32, parameters(t->c) * 16 / (1 << 20));
    snprintf(what, sizeof what, "%s, promised", t->name);
    report_one(what, "MiB", peer_number(&r[SAMBA].process, "promise"), 0, bench.threads);
    report_parts(t, r, x);
    report_option(t, r, x, SPATIAL, "spatial", parameters(t->c) * 12);
    report_option(t, r, x, HALF, "bf16 parameters", 0);
    stop(r);
}

// Products in bf16 on both sides: GraphAMP and autocast.
static void train_bf16(training *t)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char what[64];
    race_training(t, r, x, BIT(MP1) | BIT(AUTOCAST) | BIT(AUTOCAST_COMPILED));
    compare_values(t->name, r, x, MP1, 1e-2);
    snprintf(what, sizeof what, "%s, products in bf16", t->name);
    report_ms(what, x + MP1, 3, 0, bench.threads);
    snprintf(what, sizeof what, "%s, products in bf16, peak memory", t->name);
    report_peak(what, r, x, MP1, 3, 0);
    stop(r);
}

// What a second thread gives.
static void train_threads(training *t)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char what[64];
    race_training(t, r, x, BIT(SAMBA) | BIT(EAGER) | BIT(SAMBA_1) | BIT(EAGER_1));
    contender ratio[2] = { { .name = "samba", .value = x[SAMBA_1].value / x[SAMBA].value },
                           { .name = x[EAGER].name } };
    if (x[EAGER].value > 0) ratio[1].value = x[EAGER_1].value / x[EAGER].value;
    snprintf(what, sizeof what, "%s, 1 -> %d threads", t->name, bench.threads);
    report(what, "x", ratio, 2, bench.threads, bench.threads);
    stop(r);
}

static void train(const gpt2_config *c, int B, int T)
{
    training t = { .c = c, .B = B, .T = T };
    snprintf(t.name, sizeof t.name, "GPT-2 train B%d T%d", B, T);
    snprintf(t.request, sizeof t.request, "make gpt2.Train %d %d %d %s", c->n_layer, B, T, folder);
    if (!wanted(t.name)) return;
    train_f32(&t);
    if (bench.small) return;
    train_bf16(&t);
    if (T == 256 && bench.threads > 1) train_threads(&t);
}

// Does the time of a step follow its FLOPs? One row per length, FLOP/s of each.
static void growth(const gpt2_config *c)
{
    double least = 1e30, most = 0;
    if (!wanted("GPT-2 growth")) return;
    for (int T = 64; T <= 1024; T *= 2) {
        static runner r[RUNNERS];
        contender x[RUNNERS];
        char request[400], what[64];
        snprintf(request, sizeof request, "make gpt2.Train %d 1 %d %s", c->n_layer, T, folder);
        start(r, x, BIT(SAMBA), request, 1, 3);
        double fma = race(x, RUNNERS, CEILING_FMA, bench.threads > 1),
               flops = training_flops(c, 1, T);
        double adam = parts_median(&r[SAMBA], 2);
        x[SAMBA].value -= adam; // the same for every length
        snprintf(what, sizeof what, "GPT-2 growth, B1 T%d, no AdamW", T);
        double rate = flops / x[SAMBA].value;
        report_rate(what, "GFLOP/s", x, 1, flops * 1e-9, fma * 1e-9, bench.threads);
        least = fmin(least, rate);
        most = fmax(most, rate);
        stop(r);
    }
    report_one("GPT-2 growth, slowest / quickest", "x", least / most, 1, bench.threads);
}

// A prompt, in f32 and with products in bf16.
static void prefill(const gpt2_config *c, int prompt, int tokens)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char request[400], what[64];
    double C = c->n_embd, layers = c->n_layer * 12 * C * C, head = c->vocab_size * C;
    double flops = 2 * layers * prompt + 2 * head + 2 * c->n_layer * C * prompt * (double)prompt;

    static const struct {
        const char *name;
        int first, second, third, llama;
        double tolerance;
    } ways[] = { { "", SAMBA, EAGER, COMPILED, LLAMA_F32, 1e-4 },
                 { ", products in bf16", MP1, AUTOCAST, AUTOCAST_COMPILED, LLAMA_BF16, 1e-2 } };

    for (int way = 0; way < (bench.small ? 1 : 2); way++) {
        snprintf(what, sizeof what, "GPT-2 prefill %d%s", prompt, ways[way].name);
        if (!wanted(what)) continue;
        unsigned mask = BIT(ways[way].first) | BIT(ways[way].second);
        if (!bench.small) mask |= BIT(ways[way].third) | BIT(ways[way].llama);
        if (!bench.small && way == 0) mask |= BIT(DEBIAN);
        snprintf(request, sizeof request, "make gpt2.Prefill %d %d %d %s", c->n_layer, prompt,
                 prompt + tokens, folder);
        start(r, x, mask, request, 1, 2);
        double fma = race(x, RUNNERS, CEILING_FMA, bench.threads > 1);
        compare_values(what, r, x, ways[way].first, ways[way].tolerance);

        contender rate[] = { x[ways[way].first], x[ways[way].second], x[ways[way].third],
                             x[ways[way].llama], x[DEBIAN] };
        int n = way == 0 ? 5 : 4;
        for (int i = 0; i < n; i++)
            rate[i].value = rate[i].value > 0 ? prompt / rate[i].value : 0;
        report(what, "tokens/s", rate, n, way == 0 ? prompt / (flops / fma) : 0, bench.threads);
        stop(r);
    }
}

// Tokens after a prompt, one by one: f32, then fewer bytes for each weight.
static void decode(const gpt2_config *c, int prompt, int tokens)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char request[400], what[64];
    double C = c->n_embd, layers = c->n_layer * 12 * C * C, head = c->vocab_size * C;

    static const struct {
        const char *name;
        double bytes;
        unsigned peers;
        int llama;
        bool small;
    } stored[] = { { "plain f32", 4, 0, LLAMA_F32, false },
                   { "f32", 4, BIT(EAGER) | BIT(COMPILED) | BIT(DEBIAN), LLAMA_F32, true },
                   { "bf16", 2, BIT(AUTOCAST) | BIT(AUTOCAST_COMPILED), LLAMA_BF16, false },
                   { "int8", 34 / 32.0, 0, LLAMA_INT8, false },
                   { "int4", 18 / 32.0, 0, LLAMA_INT4, true } };

    for (int as = SAMBA_WEIGHTS_F32; as <= SAMBA_WEIGHTS_INT4; as++) {
        snprintf(what, sizeof what, "GPT-2 decode %d after %d, %s", tokens, prompt,
                 stored[as].name);
        if (!wanted(what) || (bench.small && !stored[as].small)) continue;
        unsigned mask = stored[as].peers | BIT(stored[as].llama);
        if (bench.small) mask &= BIT(EAGER);
        snprintf(request, sizeof request, "make gpt2.Decode %d %d %d %s", c->n_layer, prompt,
                 prompt + tokens, folder);
        start(r, x, mask, request, tokens, 2);
        start_decoder(&r[SAMBA], &x[SAMBA], as, request, tokens);
        double read = race(x, RUNNERS, CEILING_READ, bench.threads > 1);
        // each library rounds weights of fewer bits in its own way
        if (as <= SAMBA_WEIGHTS_BF16)
            compare_values(what, r, x, SAMBA, as == SAMBA_WEIGHTS_F32 ? 1e-4 : 1e-2);

        double bytes
            = stored[as].bytes * (layers + head) + 8 * c->n_layer * C * (prompt + tokens / 2.0);
        contender rate[RUNNERS];
        int n = 0;
        for (int i = 0; i < RUNNERS; i++) {
            if (i != SAMBA && !(mask >> i & 1)) continue;
            rate[n] = x[i];
            rate[n].value = x[i].value > 0 ? 1 / x[i].value : 0;
            n++;
        }
        report(what, "tokens/s", rate, n, read / bytes, bench.threads);
        stop(r);
    }
}

// Writes the weights that every samba session of the same seed begins with, for PyTorch.
static bool save_weights(const gpt2_config *c)
{
    samba_session *s = samba_open(NULL);
    int32_t *ids = choices(8, 1, 8);
    samba_tensor *logits
        = gpt2_logits(c, samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 8), ids), NULL);
    mkdir("build", 0777);
    mkdir(folder, 0777);
    samba_compile(s, &(samba_program){ .outputs = { logits }, .inference = true });
    bool fine = gpt2_save(s, c, folder, SAMBA_SAFETENSORS_F32, why, sizeof why);
    if (!fine) printf("%s: %s\n", folder, why);
    free(ids);
    return samba_close(s) == 0 && fine;
}

// Those, and what llama_peer.py made of them.
static void remove_weights(void)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/model*", folder);
    if (!glob(pattern, 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            remove(found.gl_pathv[i]);
    }
    globfree(&found);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "worker")) return worker(atoi(argv[2]));
    bench_begin(argc, argv, "gpt2");
    gpt2_config c = configuration(bench.small);
    if (bench.small) printf("small: 2 layers instead of 12\n");
    remove_weights();
    if (!save_weights(&c)) return 1;
    train(&c, bench.small ? 1 : 4, 64);
    if (!bench.small) {
        train(&c, 4, 256);
        train(&c, 1, 1024);
    }
    prefill(&c, bench.small ? 128 : 512, bench.small ? 8 : 64);
    decode(&c, bench.small ? 128 : 512, bench.small ? 8 : 64);
    if (!bench.small) growth(&c);
    remove_weights();
    return bench_end();
}
