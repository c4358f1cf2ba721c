// The four reference models of MLPerf Tiny: trained a little, in int8, and what training parts of
// them takes on a device.
//     cc -O2 -o tiny_nets examples/devices/tiny_nets.c -lm -pthread -lz && ./tiny_nets
// ./tiny_nets [steps] [folder of Fashion-MNIST]
//
// The data are stand-ins, so accuracies say that the nets learn, and nothing about MLPerf:
//     dscnn        synthetic sound: 12 words that are curves of 10 cepstral coefficients
//     resnet8      Fashion-MNIST, padded to 32 x 32, three times the same channel
//     mobilenet    Fashion-MNIST, each pixel three times as large: shoes and bags, or clothing
//     autoencoder  synthetic sound: harmonics of a machine; anomalies rattle (score: AUC)
// Checkpoints are left in the working directory: NAME_UPDATE.ckpt for each row of the table, and
// NAME_int8.ckpt. tests/device/tiny_nets.sh runs them on an emulated Cortex-M4F.
#define SAMBA_SMALL // plans as for a device
#define SAMBA_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/idx.h"
#include "tiny_nets.h"
#include <stdlib.h>

enum { BATCH = 32, TESTS = 400, CALIBRATION = 24, MOST_INPUTS = 3 * 96 * 96, SIDE = 28 };

typedef struct data {
    samba_idx train, test;
    uint64_t dice;
    int n_tests;
} data;

// 0 ... 1, by SplitMix64.
static float roll(data *d)
{
    uint64_t z = d->dice += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (float)((z ^ (z >> 31)) >> 40) / 16777216.0f;
}

static float noise(data *d)
{
    return roll(d) + roll(d) + roll(d) + roll(d) - 2;
}

// ---- Stand-ins ----------------------------------------------------------------------------------

// 49 frames of 10 coefficients; a word is 10 curves, said sooner or later, faster or slower.
static int32_t say_word(data *d, float *x)
{
    int32_t word = (int32_t)(roll(d) * 12);
    float begin = 8 * roll(d), speed = 0.8f + 0.4f * roll(d), loud = 0.7f + 0.6f * roll(d);
    data curve = { .dice = (uint64_t)word + 1 };
    for (int k = 0; k < 10; k++) {
        float pitch = 1 + 2 * roll(&curve), phase = 6.2832f * roll(&curve);
        for (int t = 0; t < 49; t++) {
            float at = ((float)t * speed + begin) / 49;
            x[10 * t + k] = loud * sinf(6.2832f * pitch * at + phase) + 0.5f * noise(d);
        }
    }
    return word;
}

// 5 frames of 128 bands of a machine that hums; an anomaly also rattles, and lacks a harmonic.
static int32_t hum(data *d, float *x, bool testing)
{
    bool rattles = testing && roll(d) < 0.5f;
    float pitch = 7 + roll(d), loud = 0.8f + 0.4f * roll(d);
    for (int i = 0; i < 640; i++) {
        float band = (float)(i % 128), away = band - pitch * floorf(band / pitch + 0.5f);
        bool third = fabsf(band - 3 * pitch) < 2;
        float hums = third && rattles ? 0 : loud * expf(-away * away - band / 60);
        float extra = rattles && band > 70 && band < 90 ? 0.25f * roll(d) : 0;
        x[i] = hums + extra + 0.05f * noise(d);
    }
    return rattles;
}

// An image of 28 x 28 in each channel of side x side, `times` as large, in the middle.
static int32_t show(data *d, const tiny_net *net, float *x, bool testing)
{
    const samba_idx *set = testing ? &d->test : &d->train;
    int32_t side = net->dim[1], times = side / SIDE, margin = (side - times * SIDE) / 2;
    if (!set->n) { // no data here: something that can be learned
        int32_t bright = roll(d) < 0.5f;
        for (int32_t i = 0; i < 3 * side * side; i++)
            x[i] = noise(d) + (float)bright;
        return bright;
    }
    int32_t n = (int32_t)(roll(d) * (float)set->n), label = set->label[n];
    memset(x, 0, sizeof *x * (size_t)(3 * side * side));
    for (int32_t c = 0; c < 3; c++)
        for (int32_t i = 0; i < times * SIDE; i++)
            for (int32_t j = 0; j < times * SIDE; j++) {
                int32_t from = SIDE * SIDE * n + SIDE * (i / times) + j / times;
                int32_t to = side * (side * c + i + margin) + j + margin;
                x[to] = (float)set->image[from] / 128 - 0.6f;
            }
    return net->classes == 2 ? label == 5 || label > 6 : label;
}

static int32_t sample(data *d, const tiny_net *net, float *x, bool testing)
{
    if (net == &tiny_nets[0]) return say_word(d, x);
    return net->classes ? show(d, net, x, testing) : hum(d, x, testing);
}

// ---- Models -------------------------------------------------------------------------------------

typedef struct model {
    const tiny_net *net;
    samba_session *session;
    samba_tensor *x, *label, *y, *loss;
    tiny_trace trace;
} model;

static model trace(const tiny_net *net, int32_t batch, bool norm, bool masks)
{
    model m = { .net = net, .session = samba_open(NULL) };
    samba_shape shape = SAMBA_SHAPE(batch, net->dim[0], net->dim[1], net->dim[2]);
    if (!net->dim[1]) shape.ndim = 2;
    m.x = samba_input(m.session, "x", SAMBA_F32, shape);
    if (net->classes) m.label = samba_input(m.session, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    m.y = samba_name(tiny_build(&m.trace, net, m.x, norm, masks), "y");
    m.loss
        = net->classes ? samba_cross_entropy(m.y, m.label) : samba_mse(m.y, m.x, SAMBA_REDUCE_MEAN);
    samba_name(m.loss, "loss");
    return m;
}

static void feed(const model *m, data *d, bool testing, int32_t *label)
{
    static float x[BATCH * MOST_INPUTS];
    int32_t batch = m->x->shape.dim[0];
    int64_t each = samba_count(&m->x->shape) / batch;
    for (int32_t b = 0; b < batch; b++)
        label[b] = sample(d, m->net, x + b * each, testing);
    samba_write(m->x, x);
    if (m->label && !testing) samba_write(m->label, label);
}

static float train(const model *m, data *d, int steps)
{
    int32_t label[BATCH];
    float loss = 0;
    for (int i = 0; i < steps && samba_ok(m->session); i++) {
        feed(m, d, false, label);
        samba_set(m->session, "lr", 0.002 * (1 - 0.9 * i / steps));
        samba_run(m->session, 0);
        loss = samba_read(m->loss)[0];
        if (i % 50 == 0) fprintf(stderr, "%s, step %d: %.4f\n", m->net->name, i, (double)loss);
    }
    return loss;
}

// Percent of the labels that are right; of the autoencoder, of the pairs of a sound that rattles
// and one that does not of which the first is further from what comes out.
static double score(const model *m, data *d)
{
    static float error[TESTS];
    static int32_t label[TESTS];
    int64_t right = 0, pairs = 0;
    d->dice = 2;
    for (int i = 0; i < d->n_tests && samba_ok(m->session); i++) {
        feed(m, d, true, &label[i]);
        samba_run(m->session, SAMBA_FWD);
        const float *y = samba_read(m->y), *x = samba_read(m->x);
        int32_t best = 0;
        for (int32_t c = 1; c < m->net->classes; c++)
            if (y[c] > y[best]) best = c;
        right += m->net->classes && best == label[i];
        error[i] = 0;
        for (int32_t k = 0; k < 640 && !m->net->classes; k++)
            error[i] += (y[k] - x[k]) * (y[k] - x[k]);
    }
    if (m->net->classes) return 100.0 * (double)right / d->n_tests;
    for (int i = 0; i < d->n_tests; i++)
        for (int k = 0; k < d->n_tests; k++) {
            if (!label[i] || label[k]) continue;
            pairs++;
            right += error[i] > error[k];
        }
    return pairs ? 100.0 * (double)right / (double)pairs : 0;
}

// ---- The table ----------------------------------------------------------------------------------

static size_t file_size(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) return 0;
    long size = ftell(f);
    fclose(f);
    return size > 0 ? (size_t)size : 0;
}

// What samba_runtime_open takes of a 32-bit device's RAM; read-only parameters lie in flash.
static size_t ram_of(const char *path)
{
    static union {
        uint64_t align;
        uint8_t bytes[4 << 20];
    } file;

    samba_device_memory memory = { 0 };
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(file.bytes, 1, sizeof file.bytes, f) : 0;
    if (f) fclose(f);
    samba_measure_device(file.bytes, size, NULL, &memory, NULL, 0);
    return memory.bytes;
}

static int64_t work_of(samba_session *s)
{
    samba_section section;
    int64_t flops = 0;
    for (int32_t i = 0; samba_describe_section(s, i, &section); i++)
        flops += section.flops;
    return flops / 2;
}

static int64_t trained_by(const model *m)
{
    samba_tensor *list[4 * TINY_LAYERS];
    int32_t count = samba_parameters(m->session, list, 4 * TINY_LAYERS);
    int64_t n = 0;
    for (int32_t i = 0; i < count; i++)
        n += list[i]->frozen ? 0 : samba_count(&list[i]->shape);
    return n;
}

// One step for one sample, in place: each parameter changes as soon as its gradient is there.
static bool row(const model *trained, tiny_update update)
{
    char path[64];
    bool infers = update == TINY_NONE;
    model m = trace(trained->net, 1, false, update == TINY_BIAS);
    snprintf(path, sizeof path, "%s_%s.ckpt", m.net->name, tiny_update_names[update]);
    tiny_freeze(&m.trace, m.net, update);
    tiny_fold(&trained->trace, &m.trace);
    samba_program p = { .outputs = { m.y }, .inference = infers, .mapping = SAMBA_MAPPING_SPATIAL };
    if (!infers) p.loss = m.loss;
    if (!infers) p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.001f };
    if (update == TINY_TIGHT) p.memory = m.net->memory;
    p.target = SAMBA_DEVICE32;
    samba_compile(m.session, &p);
    samba_save(m.session, path);
    if (samba_ok(m.session))
        printf("%-12s %-7s %9lld %12lld %10lu %9lu\n", m.net->name, tiny_update_names[update],
               infers ? 0LL : (long long)trained_by(&m), (long long)work_of(m.session),
               (unsigned long)ram_of(path), (unsigned long)file_size(path));
    return samba_close(m.session) == 0;
}

// ---- All of it ----------------------------------------------------------------------------------

// Percent in f32, and in int8 after some samples to calibrate with.
static bool in_int8(const model *trained, data *d, double percent[2])
{
    char path[64];
    int32_t label;
    model m = trace(trained->net, 1, false, false);
    samba_program p = { .outputs = { m.y }, .inference = true, .quantize = SAMBA_CALIBRATE };
    snprintf(path, sizeof path, "%s_int8.ckpt", m.net->name);
    tiny_fold(&trained->trace, &m.trace);
    samba_compile(m.session, &p);
    percent[0] = score(&m, d);
    for (int i = 0; i < CALIBRATION && samba_ok(m.session); i++) {
        feed(&m, d, true, &label);
        samba_run(m.session, SAMBA_FWD);
    }
    p.quantize = SAMBA_INT8;
    samba_compile(m.session, &p);
    percent[1] = score(&m, d);
    samba_save(m.session, path);
    printf("%-12s parameters %lld, %lld as published; multiply-adds %lld\n", m.net->name,
           (long long)m.trace.parameters, (long long)trained->trace.parameters,
           (long long)m.trace.macs);
    printf("%-12s f32 %.2f %%, int8 %.2f %% of stand-ins, %lu bytes\n", m.net->name, percent[0],
           percent[1], (unsigned long)file_size(path));
    bool counts = m.trace.parameters == m.net->parameters && m.trace.macs == m.net->macs
        && trained->trace.parameters == m.net->with_norm;
    if (!counts) fprintf(stderr, "%s: not the published net\n", m.net->name);
    return samba_close(m.session) == 0 && counts;
}

static bool show_net(const tiny_net *net, data *d, int steps)
{
    double percent[2] = { 0, 0 };
    d->dice = 1;
    model m = trace(net, BATCH, true, false);
    samba_compile(m.session,
                  &(samba_program){ .loss = m.loss,
                                    .outputs = { m.y },
                                    .optim = { .kind = SAMBA_ADAMW, .lr = 0.002f } });
    train(&m, d, steps);
    bool fine = in_int8(&m, d, percent);
    for (int u = 0; u < TINY_UPDATES && fine; u++)
        fine = row(&m, (tiny_update)u);
    return samba_close(m.session) == 0 && fine;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    const char *folder = argc > 2 ? argv[2] : "/usr/share/datasets/fashion-mnist";
    static data d;
    d.n_tests = steps > 0 ? TESTS : 4; // without training there is little to test
    samba_session *reader = samba_open(&(samba_desc){ .quiet = true });
    bool fine = true;
    if (!samba_idx_open(reader, &d.train, folder, "train", SIDE, 10)
        || !samba_idx_open(reader, &d.test, folder, "t10k", SIDE, 10))
        printf("no Fashion-MNIST in %s: images are noise, brighter or darker\n", folder);
    printf("net          learns    trained  flops/2/step      RAM     flash (bytes)\n");
    for (int i = 0; i < TINY_NETS && fine; i++)
        fine = show_net(&tiny_nets[i], &d, steps);
    samba_idx_close(&d.train);
    samba_idx_close(&d.test);
    samba_close(reader);
    return !fine;
}
