// Attention in bf16 against the same from products, roundings and a softmax of their own; and the
// bits of attention in f32 and in bf16, which are the same on every instruction set, with any
// threads, and on a small device (small_bits.sh), with NaN and infinity in what is hidden,
// too.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T_MOST = 250, S_MOST = 250, D = 24, E = 20, SIZE = B * T_MOST * D };

#if defined(SAMBA_TILE_TWIN)
#define TWIN true
#else
#define TWIN false
#endif

typedef enum sight { ALL, CAUSAL, SCATTERED, LATE, STAIRS } sight;

// LATE: rows that see nothing for a while, and then the last keys; so blocks begin in their middle.
static bool sees(sight kind, int t, int key, int S)
{
    switch (kind) {
    case CAUSAL:
        return key <= t;
    case SCATTERED:
        return (t * 7 + key * 3) % 5 != 0;
    case LATE:
        return t % 97 > 40 && key > S - 30;
    case STAIRS:
        return key / 64 <= t / 40;
    default:
        return true;
    }
}

typedef struct values {
    float q[SIZE], k[SIZE], v[SIZE], dy[SIZE], y[SIZE], dq[SIZE], dk[SIZE], dv[SIZE];
} values;

static void draw(values *x)
{
    uint32_t state = 12345;
    float *all[4] = { x->q, x->k, x->v, x->dy };
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < SIZE; i++) {
            state = state * 1664525u + 1013904223u;
            all[a][i] = (float)(state >> 8) / 8388608.0f - 1.0f;
        }
}

// How attention is computed.
typedef struct way {
    samba_graphamp preset;
    int threads;
    int32_t isa; // or -1: the best of this machine
} way;

// y and the gradients of sum(y dy) by the op.
static bool run(values *x, sight kind, int T, int S, way how)
{
    static bool may[T_MOST * S_MOST];
    samba_desc desc;
    samba_program program;
    memset(&desc, 0, sizeof desc);
    memset(&program, 0, sizeof program);
    desc.threads = how.threads;
    desc.graphamp = how.preset;

    samba_session *s = samba_open(&desc);
    const samba_init zero = { SAMBA_INIT_CONSTANT, 0, 0 };
    samba_tensor *q = samba_param(s, "q", SAMBA_SHAPE(B, T, D), zero);
    samba_tensor *k = samba_param(s, "k", SAMBA_SHAPE(B, S, D), zero);
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(B, S, E), zero);
    samba_tensor *dy = samba_from_data_copy(s, "dy", SAMBA_F32, SAMBA_SHAPE(B, T, E), x->dy);
    samba_tensor *mask = NULL;
    if (kind != ALL && kind != CAUSAL) {
        for (int t = 0; t < T; t++)
            for (int i = 0; i < S; i++)
                may[t * S + i] = sees(kind, t, i, S);
        mask = samba_from_data_copy(s, "mask", SAMBA_BOOL, SAMBA_SHAPE(T, S), may);
        samba_set_batch_dim(mask, -1);
    }

    samba_attention_opts opts = { kind == CAUSAL, 0 };
    samba_tensor *y = samba_scaled_dot_product_attention(q, k, v, mask, &opts);
    program.loss = samba_sum(samba_mul(y, dy), SAMBA_ALL_AXES, false);
    program.outputs[0] = y;
    bool fine = samba_compile(s, &program);
    if (fine && how.isa >= 0) s->program.rt->isa = how.isa;

    fine = fine && samba_write(q, x->q) && samba_write(k, x->k) && samba_write(v, x->v)
        && samba_run(s, 0) && samba_copy_out(y, x->y, samba_bytes(y))
        && samba_copy_out(samba_sn_grad(q), x->dq, samba_bytes(q))
        && samba_copy_out(samba_sn_grad(k), x->dk, samba_bytes(k))
        && samba_copy_out(samba_sn_grad(v), x->dv, samba_bytes(v));
    return samba_close(s) == 0 && fine;
}

// ---- The same in double, rounded to bf16 where a product begins ----
static double half(double x)
{
    float from = (float)x, to;
    uint16_t bits;
    samba__store(&bits, &from, SAMBA_BF16, 1);
    samba__load(&to, &bits, SAMBA_BF16, 1);
    return (double)to;
}

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += half((double)a[i]) * half((double)b[i]);
    return sum;
}

// Softmax is rounded once, relative to the largest score of a row: as it is for one block of keys.
TEST_UNCHECKED static void reference(values *x, sight kind, int T, int S)
{
    static double p[S_MOST];
    const double scale = 1 / sqrt((double)D);
    memset(x->dq, 0, sizeof x->dq);
    memset(x->dk, 0, sizeof x->dk);
    memset(x->dv, 0, sizeof x->dv);

    for (int row = 0; row < B * T; row++) {
        int b = row / T, t = row % T;
        const float *dy = x->dy + row * E;
        const float *k = x->k + b * S * D, *v = x->v + b * S * E;
        double top = -INFINITY, sum = 0, delta = 0, y[E] = { 0 };

        for (int i = 0; i < S; i++) {
            p[i] = sees(kind, t, i, S) ? dot(x->q + row * D, k + i * D, D) * scale : -INFINITY;
            top = fmax(top, p[i]);
        }
        for (int i = 0; i < S; i++) {
            p[i] = top == -INFINITY ? 0 : exp(p[i] - top);
            sum += p[i];
            for (int e = 0; e < E; e++)
                y[e] += half(p[i]) * half((double)v[i * E + e]);
        }
        for (int e = 0; e < E; e++) {
            y[e] = sum > 0 ? y[e] / sum : 0;
            x->y[row * E + e] = (float)y[e];
            delta += y[e] * (double)dy[e];
        }

        for (int i = 0; i < S; i++) {
            double share = sum > 0 ? p[i] / sum : 0;
            double ds = half(share * (dot(dy, v + i * E, E) - delta) * scale);
            for (int d = 0; d < D; d++) {
                x->dq[row * D + d] += (float)(ds * half((double)k[i * D + d]));
                x->dk[(b * S + i) * D + d] += (float)(ds * half((double)x->q[row * D + d]));
            }
            for (int e = 0; e < E; e++)
                x->dv[(b * S + i) * E + e] += (float)(half(share) * half((double)dy[e]));
        }
    }
}

// Their distance, of the size of `want`.
static double distance(const float *got, const float *want, int n)
{
    double far = 0, size = 1e-30;
    for (int i = 0; i < n; i++) {
        far += fabs((double)got[i] - (double)want[i]);
        size += fabs((double)want[i]);
    }
    return far / size;
}

// A value that lies between two of bf16 may go either way: on average that is far below what it
// would be if another value was rounded.
static void compare(sight kind, int T, int S)
{
    static values got, want;
    const way best = { SAMBA_MP1, 1, -1 };
    draw(&got);
    draw(&want);
    CHECK(run(&got, kind, T, S, best));
    reference(&want, kind, T, S);

    // Beyond a block of keys, softmax is rounded relative to the largest score so far.
    double of_y = S <= 64 ? 2e-5 : 1.5e-3;
    double error[4]
        = { distance(got.y, want.y, B * T * E), distance(got.dq, want.dq, B * T * D),
            distance(got.dk, want.dk, B * S * D), distance(got.dv, want.dv, B * S * E) };
    double most = S <= 64 ? 1e-4 : 2e-3;
    if (error[0] > of_y || error[1] > most || error[2] > most || error[3] > most)
        printf("sight %d, %d rows, %d keys: y %g, dq %g, dk %g, dv %g\n", (int)kind, T, S, error[0],
               error[1], error[2], error[3]);
    CHECK(error[0] <= of_y);
    CHECK(error[1] <= most && error[2] <= most && error[3] <= most);
}

static void test_one_block(void)
{
    for (int kind = ALL; kind <= STAIRS; kind++) {
        compare((sight)kind, 250, 60);
        compare((sight)kind, 7, 64);
        compare((sight)kind, 1, 1);
    }
}

static void test_blocks(void)
{
    for (int kind = ALL; kind <= STAIRS; kind++)
        compare((sight)kind, 250, 250);
    compare(CAUSAL, 100, 250);
    compare(CAUSAL, 250, 100);
}

// ---- Bits ----
static uint64_t hash_of(const values *x, int T, int S)
{
    uint64_t hash = 14695981039346656037u;
    const float *const all[4] = { x->y, x->dq, x->dk, x->dv };
    const int n[4] = { B * T * E, B * T * D, B * S * D, B * S * E };
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < n[a]; i++) {
            uint32_t bits;
            memcpy(&bits, &all[a][i], sizeof bits);
            if (all[a][i] != all[a][i]) bits = 0x7fc00000u; // which NaN it is, is left open
            hash = (hash ^ bits) * 1099511628211u;
        }
    return hash;
}

// One key of v is NaN in an element, another is infinite: rows that do not look there may meet it.
static void poison(values *x, int S)
{
    x->v[20 * E + 3] = NAN;
    x->v[(S - 5) * E + 7] = INFINITY;
}

// Compares with what is written here: `want`, by sight, and with values that are not finite.
static void compare_bits(samba_graphamp preset, const uint64_t (*want)[2])
{
    enum { T = 250, S = 230 };

    static values x;
    way how = { preset, 1, 0 };

    for (int kind = ALL; kind <= STAIRS; kind++)
        for (how.isa = 0; how.isa <= samba__best_isa(preset == SAMBA_MP1); how.isa++)
            for (how.threads = 1; how.threads <= 3; how.threads += 2) {
                // The twin of a matrix unit is slow.
                bool twin = samba__set_of(how.isa)->tiles && TWIN;
                if (twin && (kind != LATE || how.threads != 3)) continue;

                for (int poisoned = 0; poisoned < 2; poisoned++) {
                    draw(&x);
                    if (poisoned) poison(&x, S);
                    CHECK(run(&x, (sight)kind, T, S, how));
                    uint64_t hash = hash_of(&x, T, S);
                    if (hash != want[kind][poisoned])
                        printf("preset %d, sight %d, poisoned %d, isa %d, threads %d: 0x%016llx\n",
                               (int)preset, kind, poisoned, (int)how.isa, how.threads,
                               (unsigned long long)hash);
                    CHECK(hash == want[kind][poisoned]);
                }
            }
}

static void test_bits_f32(void)
{
    static const uint64_t want[STAIRS + 1][2] = {
        { 0x8f2d8eef94d2063du, 0x282c83caecdc5851u }, { 0xa70e905244b81269u, 0xbd226ce8b663695fu },
        { 0xc994ab6b423d23c9u, 0x6071208db890e879u }, { 0xbf9e57e4adecbaf0u, 0x256881b035af38feu },
        { 0xd45d32d4b24d255au, 0x9d791c6ff864d1dcu },
    };
    compare_bits(SAMBA_MP0, want);
}

static void test_bits_bf16(void)
{
    static const uint64_t want[STAIRS + 1][2] = {
        { 0x2e32707e4974f15bu, 0x291266730dd4ec82u }, { 0xd4512e68bc24dadeu, 0xa535257a19b2d740u },
        { 0x06487c25b9ddd38bu, 0xf7251efbd81a2d12u }, { 0x6cb7a2a2d6222a34u, 0xe972d66d6a6b1236u },
        { 0xd81585d6a90efcc6u, 0xadb42eb40116c141u },
    };
    compare_bits(SAMBA_MP1, want);
}

int main(void)
{
#if !defined(SAMBA_TILE_TWIN)
    RUN(test_one_block);
    RUN(test_blocks);
    RUN(test_bits_f32);
#endif
    RUN(test_bits_bf16);
    return test_summary();
}
