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
        double start = samba_seconds();
        unsigned types = parts[i] & samba_section_types(m->s);
        if (m->mapping == SAMBA_MAPPING_SPATIAL && i > 0)
            types = i == 1 ? samba_section_types(m->s) & ~SAMBA_FWD : 0;
        if (types) samba_run(m->s, types);
        m->seconds[i] += samba_seconds() - start;
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
    *m = (model){ .config = configuration(false),
                  .s = samba_open(&(samba_desc){ .threads = threads }) };
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
            double start = samba_seconds();
            for (int i = 0; i < n; i++)
                step(&m);
            printf("%.9g", (samba_seconds() - start) / n);
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

enum {
    SAMBA,
    TUNED,
    DEFAULT,
    SPATIAL,
    HALF,
    SAMBA_1,
    TUNED_1,
    RUNNERS
}; // from SAMBA_1 on: one thread

static const char *const names[RUNNERS]
    = { "samba", "torch tuned", "torch", "samba, spatial", "samba, bf16", "samba, 1", "tuned, 1" };

// Starts those of the mask and lets them build the same thing; returns how many contenders there
// are.
static void start(runner *r, contender *c, unsigned mask, const char *request, int repeat,
                  double gigabytes)
{
    for (int i = 0; i < RUNNERS; i++) {
        int threads = i >= SAMBA_1 ? 1 : bench.threads;
        r[i] = (runner){ .repeat = repeat, .round = -1 };
        c[i] = (contender){ .name = names[i], .context = &r[i] };
        if (!(mask >> i & 1)) continue;
        if (free_memory() < gigabytes + 2) {
            printf("%s: skipped, only %.1f GiB of memory are free\n", names[i], free_memory());
            continue;
        }
        if (i == SAMBA || i == SAMBA_1 || i == SPATIAL || i == HALF)
            start_samba(&r[i], threads);
        else
            r[i].there = torch_start(&r[i].process, i != DEFAULT, threads);
        const char *ask = request;
        char other[400];
        if (i == SPATIAL || i == HALF) {
            snprintf(other, sizeof other, "make gpt2.Train%s %s", i == HALF ? "Half" : "Spatial",
                     request + strlen("make gpt2.Train "));
            ask = other;
        }
        if (!r[i].there || peer_ask(&r[i].process, NULL, 0, ask) < 0) {
            r[i].there = false;
            continue;
        }
        c[i].run = run;
    }
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

static void train(const gpt2_config *c, int B, int T)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char request[400], what[64], name[32];
    snprintf(name, sizeof name, "GPT-2 train B%d T%d", B, T);
    if (!wanted(name)) return;
    unsigned mask = 1u << SAMBA | 1u << TUNED
        | (bench.small ? 0 : 1u << DEFAULT | 1u << SPATIAL | 1u << HALF);
    if (B == 4 && T == 256 && bench.threads > 1) mask |= 1u << SAMBA_1 | 1u << TUNED_1;
    snprintf(request, sizeof request, "make gpt2.Train %d %d %d %s", c->n_layer, B, T, folder);
    start(r, x, mask, request, 1, 2.5 + B * T / 256.0);
    double fma = race(x, RUNNERS, CEILING_FMA, bench.threads > 1);
    double floor_seconds = training_floor(c, B, T, fma, bench.threads > 1),
           mine = peer_number(&r[SAMBA].process, "value");
    for (int i = 1; i < RUNNERS; i++)
        if (x[i].run)
            agree(name, names[i], mine, peer_number(&r[i].process, "value"),
                  i == HALF ? 1e-2 : 1e-3);
    if (x[SAMBA_1].value > 0) {
        contender ratio[2]
            = { { .name = "samba", .value = x[SAMBA_1].value / x[SAMBA].value },
                { .name = names[TUNED],
                  .value = x[TUNED].value > 0 ? x[TUNED_1].value / x[TUNED].value : 0 } };
        snprintf(what, sizeof what, "%s, 1 -> %d threads", name, bench.threads);
        report(what, "x", ratio, 2, bench.threads, bench.threads);
    }
    contender tokens[3], stored[2] = { x[HALF], { .name = "samba, f32", .value = x[SAMBA].value } };
    contender spatial[2] = { x[SPATIAL], x[TUNED] };
    memcpy(tokens, x, sizeof tokens);
    report_ms(name, x, 3, floor_seconds, bench.threads);
    for (int i = 0; i < 3; i++)
        tokens[i].value = tokens[i].value > 0 ? B * T / tokens[i].value : 0;
    snprintf(what, sizeof what, "%s, tokens/s", name);
    report(what, "tokens/s", tokens, 3, B * T / floor_seconds, bench.threads);
    const char *const parts[] = { "forward", "backward", "AdamW" };
    for (int part = 0; part < 3; part++) {
        double adam = parameters(c) * 28 / machine.best[bench.threads > 1].adam,
               flops = training_flops(c, B, T) / 3 / fma;
        for (int i = 0; i < 3; i++)
            x[i].value = x[i].run ? parts_median(&r[i], part) : 0;
        snprintf(what, sizeof what, "%s, %s", name, parts[part]);
        report_ms(what, x, 3, part == 2 ? adam : part == 1 ? 2 * flops : flops, bench.threads);
    }
    for (int i = 0; i < 3; i++)
        x[i].value = x[i].run ? peer_number(&r[i].process, "peak") : 0;
    snprintf(what, sizeof what, "%s, peak memory", name);
    report(what, "MiB", x, 3, parameters(c) * 16 / (1 << 20), bench.threads);
    snprintf(what, sizeof what, "%s, promised", name);
    report_one(what, "MiB", peer_number(&r[SAMBA].process, "promise"), 0, bench.threads);
    if (spatial[0].run) {
        snprintf(what, sizeof what, "%s, spatial", name);
        report_ms(what, spatial, 2, floor_seconds, bench.threads);
        spatial[0].value = peer_number(&r[SPATIAL].process, "peak");
        spatial[1] = x[DEFAULT];
        snprintf(what, sizeof what, "%s, spatial, peak memory", name);
        report(what, "MiB", spatial, 2, parameters(c) * 12 / (1 << 20), bench.threads);
    }
    if (stored[0].run) {
        snprintf(what, sizeof what, "%s, bf16 parameters", name);
        report_ms(what, stored, 2, floor_seconds, bench.threads);
        stored[0].value = peer_number(&r[HALF].process, "peak");
        stored[1].value = x[SAMBA].value;
        snprintf(what, sizeof what, "%s, bf16, peak memory", name);
        report(what, "MiB", stored, 2, 0, bench.threads);
    }
    stop(r);
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
        start(r, x, 1u << SAMBA, request, 1, 3);
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

static void generate(const gpt2_config *c, int prompt, int tokens)
{
    static runner r[RUNNERS];
    contender x[RUNNERS];
    char request[400], what[64];
    double C = c->n_embd, layers = c->n_layer * 12 * C * C, head = c->vocab_size * C;
    unsigned mask = 1u << SAMBA | 1u << TUNED | (bench.small ? 0 : 1u << DEFAULT);
    if (wanted("GPT-2 prefill")) {
        snprintf(request, sizeof request, "make gpt2.Prefill %d %d %d %s", c->n_layer, prompt,
                 prompt + tokens, folder);
        start(r, x, mask, request, 1, 2);
        double fma = race(x, RUNNERS, CEILING_FMA, bench.threads > 1),
               mine = peer_number(&r[SAMBA].process, "value");
        for (int i = 1; i < RUNNERS; i++)
            if (x[i].run)
                agree("prefill", names[i], mine, peer_number(&r[i].process, "value"), 1e-4);
        double flops
            = 2 * layers * prompt + 2 * head + 2 * c->n_layer * C * prompt * (double)prompt;
        snprintf(what, sizeof what, "GPT-2 prefill %d", prompt);
        for (int i = 0; i < 3; i++)
            x[i].value = x[i].value > 0 ? prompt / x[i].value : 0;
        report(what, "tokens/s", x, 3, prompt / (flops / fma), bench.threads);
        stop(r);
    }

    // f32 against the peers; then fewer bytes for each weight
    static const struct {
        const char *name;
        double bytes;
    } stored[] = { { "plain f32", 4 },
                   { "f32", 4 },
                   { "bf16", 2 },
                   { "int8", 34 / 32.0 },
                   { "int4", 18 / 32.0 } };

    for (int as = SAMBA_WEIGHTS_F32; as <= SAMBA_WEIGHTS_INT4; as++) {
        snprintf(what, sizeof what, "GPT-2 decode %d after %d, %s", tokens, prompt,
                 stored[as].name);
        if (!wanted(what)
            || (bench.small && (as == SAMBA_WEIGHTS_BF16 || as == SAMBA_WEIGHTS_INT8)))
            continue;
        snprintf(request, sizeof request, "make gpt2.Decode%s %d %d %d %s",
                 as == SAMBA_WEIGHTS_F32 ? "" : (char[]){ (char)('0' + as), 0 }, c->n_layer, prompt,
                 prompt + tokens, folder);
        start(r, x, as == SAMBA_WEIGHTS_F32 ? mask : 1u << SAMBA, request, tokens, 2);
        double read = race(x, RUNNERS, CEILING_READ, bench.threads > 1),
               mine = peer_number(&r[SAMBA].process, "value");
        for (int i = 1; i < RUNNERS; i++)
            if (x[i].run)
                agree("decode", names[i], mine, peer_number(&r[i].process, "value"), 1e-4);
        double bytes
            = stored[as].bytes * (layers + head) + 8 * c->n_layer * C * (prompt + tokens / 2.0);
        for (int i = 0; i < 3; i++)
            x[i].value = x[i].value > 0 ? 1 / x[i].value : 0;
        report(what, "tokens/s", x, 3, read / bytes, bench.threads);
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

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "worker")) return worker(atoi(argv[2]));
    bench_begin(argc, argv, "gpt2");
    gpt2_config c = configuration(bench.small);
    if (bench.small) printf("small: 2 layers instead of 12\n");
    if (!save_weights(&c)) return 1;
    train(&c, bench.small ? 1 : 4, 64);
    if (!bench.small) {
        train(&c, 4, 256);
        train(&c, 1, 1024);
    }
    generate(&c, bench.small ? 128 : 512, bench.small ? 8 : 64);
    if (!bench.small) growth(&c);
    char path[64];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    remove(path);
    return bench_end();
}
