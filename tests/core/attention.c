// Attention with dropout inside against softmax, dropout and products, which draw the same mask.
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <string.h>

enum { B = 2, H = 2, D = 8 };

// What a row sees: some keys here and there; those up to its own; 40 of them, up to its own; 64
// more each 40 rows.
typedef enum sight { SCATTERED, CAUSAL, NEAR, STAIRS } sight;

static bool sees(sight kind, int t, int key)
{
    if (kind == SCATTERED) return (t * 7 + key * 3) % 5 != 0;
    if (kind == STAIRS) return key / 64 <= t / 40;
    return key <= t && (kind == CAUSAL || key > t - 40);
}

static samba_tensor *weights(samba_session *s, const char *name, int T)
{
    return samba_param(s, name, SAMBA_SHAPE(B, H, T, D), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
}

// What samba_attention_dropout stands for. The mask is true where a row may look.
static samba_tensor *plain(samba_tensor *const qkv[3], samba_tensor *mask, float p)
{
    samba_session *s = qkv[0]->session;
    samba_tensor *x = samba_matmul_transposed(qkv[0], false, qkv[1], true);
    x = samba_scale(x, 1 / sqrtf(D));
    x = samba_softmax(samba_where(mask, x, samba_number(s, -1e30f)), -1);
    return samba_matmul(samba_dropout(x, "drop", p), qkv[2]);
}

typedef struct result {
    float y[B * H * 100 * D], grad[3][B * H * 150 * D], loss[3];
} result;

// Three steps: an eager check would see one mask only.
static void run(bool fused, sight kind, int T, int S, int threads, float p, result *r)
{
    bool may[100 * 150], causal = kind == CAUSAL;
    samba_session *s = samba_open(&(samba_desc){ .threads = threads });
    samba_tensor *qkv[3] = { weights(s, "q", T), weights(s, "k", S), weights(s, "v", S) };
    for (int t = 0; t < T; t++)
        for (int i = 0; i < S; i++)
            may[t * S + i] = sees(kind, t, i);
    samba_tensor *mask = samba_from_data_copy(s, "mask", SAMBA_BOOL, SAMBA_SHAPE(T, S), may);
    samba_tensor *target = samba_randn(s, "target", SAMBA_SHAPE(B, H, T, D));
    samba_set_batch_dim(mask, -1);
    samba_attention_opts opts = { .causal = causal };
    samba_tensor *y = fused ? samba_attention_dropout(qkv, causal ? NULL : mask, &opts, "drop", p)
                            : plain(qkv, mask, p);
    samba_program program = { .loss = samba_mse(y, target, SAMBA_REDUCE_SUM), .outputs = { y } };
    program.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 1e-3f };
    CHECK(samba_compile(s, &program));
    for (int i = 0; i < 3; i++) {
        CHECK(samba_run(s, 0));
        r->loss[i] = samba_read(program.loss)[0];
    }
    CHECK(samba_copy_out(y, r->y, sizeof(float) * (size_t)(B * H * T * D)));
    for (int i = 0; i < 3; i++)
        CHECK(samba_copy_out(samba_sn_grad(qkv[i]), r->grad[i], samba_bytes(qkv[i])));
    CHECK(samba_close(s) == 0);
}

static void compare(sight kind, int T, int S, float p)
{
    static result a, b, c;
    run(true, kind, T, S, 1, p, &a);
    run(false, kind, T, S, 1, p, &b);
    run(true, kind, T, S, 3, p, &c);
    CHECK_CLOSE(a.y, b.y, (size_t)(B * H * T * D), 1e-4, 1e-5);
    CHECK_CLOSE(a.loss, b.loss, 3, 1e-5, 0);
    for (int i = 0; i < 3; i++)
        CHECK_CLOSE(a.grad[i], b.grad[i], (size_t)(B * H * (i ? S : T) * D), 1e-3, 1e-4);
    CHECK(!memcmp(a.y, c.y, sizeof(float) * (size_t)(B * H * T * D)));
    CHECK(!memcmp(a.grad[1], c.grad[1], sizeof(float) * (size_t)(B * H * S * D)));
}

static void test_causal(void)
{
    compare(CAUSAL, 7, 7, 0.3f);
    compare(CAUSAL, 100, 100, 0.1f);
}

static void test_mask(void)
{
    compare(SCATTERED, 5, 9, 0.5f);
    compare(SCATTERED, 70, 149, 0.25f);
    compare(NEAR, 100, 150, 0); // whole blocks of keys are hidden
    compare(NEAR, 100, 100, 0.25f);
    compare(STAIRS, 100, 150, 0.25f); // a row sees all keys of a block, or none
}

static void test_all_or_nothing(void)
{
    compare(SCATTERED, 6, 6, 0);
    compare(CAUSAL, 6, 6, 1);
}

// Evaluation and inference use no mask, and give what attention without dropout gives.
static void test_eval(void)
{
    float want[B * H * 6 * D];
    for (int level = 0; level < 3; level++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *qkv[3] = { weights(s, "q", 6), weights(s, "k", 6), weights(s, "v", 6) };
        samba_tensor *y = samba_attention_dropout(qkv, NULL, NULL, "drop", 0.5f);
        samba_tensor *z = samba_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], NULL, NULL);
        samba_program program = { .outputs = { y, z }, .inference = level > 0 };
        program.level = level == 2 ? SAMBA_O0 : SAMBA_O3;
        CHECK(samba_compile(s, &program));
        samba_set_train(s, false);
        CHECK(samba_run(s, SAMBA_FWD));
        CHECK(samba_copy_out(z, want, sizeof want));
        CHECK(!memcmp(samba_read(y), want, sizeof want));
        if (level == 0) {
            samba_set_train(s, true);
            CHECK(samba_run(s, SAMBA_FWD) && memcmp(samba_read(y), want, sizeof want));
            CHECK(samba_set(s, "p", 0) && samba_run(s, SAMBA_FWD));
            CHECK(!memcmp(samba_read(y), want, sizeof want));
        }
        CHECK(samba_close(s) == 0);
    }
}

// Eight elements are differentiated whole, a single one block by block: the same bits.
static void test_whole_and_parts(void)
{
    enum { N = 8, T = 150, SIZE = T * D };

    static float x[3][N * SIZE], whole[3][N * SIZE], part[3][SIZE];
    const samba_attention_opts opts = { .causal = true };
    for (int i = -1; i < N; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *qkv[3], *y;
        const char *const name[3] = { "q", "k", "v" };
        int n = i < 0 ? N : 1;
        for (int j = 0; j < 3; j++) {
            if (i < 0)
                for (int k = 0; k < N * SIZE; k++)
                    x[j][k] = sinf((float)(k + 1) * (0.7f + (float)j));
            qkv[j] = samba_param(s, name[j], SAMBA_SHAPE(n, T, D),
                                 (samba_init){ SAMBA_INIT_CONSTANT, 0, 0 });
        }
        y = samba_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], NULL, &opts);
        samba_program program = { .loss = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false) };
        CHECK(samba_compile(s, &program));
        for (int j = 0; j < 3; j++)
            CHECK(samba_write(qkv[j], x[j] + (i < 0 ? 0 : i * SIZE)));
        CHECK(samba_run(s, 0));
        for (int j = 0; j < 3; j++)
            CHECK(samba_copy_out(samba_sn_grad(qkv[j]), i < 0 ? whole[j] : part[j],
                                 samba_bytes(qkv[j])));
        for (int j = 0; i >= 0 && j < 3; j++)
            CHECK(!memcmp(whole[j] + i * SIZE, part[j], sizeof part[j]));
        CHECK(samba_close(s) == 0);
    }
}

int main(void)
{
    RUN(test_causal);
    RUN(test_mask);
    RUN(test_all_or_nothing);
    RUN(test_eval);
    RUN(test_whole_and_parts);
    return test_summary();
}
