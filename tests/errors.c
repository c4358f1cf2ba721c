// What a session does beside returning an error: what can be read after one, and what every public
// function does with NULL.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "test.h"
#include "hook.h"
#include "session.h"

enum { B = 64, F = 4, C = 300, MANY = 2 };

typedef struct model {
    samba_session *s;
    samba_tensor *x, *y, *logits, *loss;
} model;

static samba_desc quiet_desc(hook *h)
{
    samba_desc d = { 0 };
    if (h) d = hook_desc(h);
    d.quiet = true, d.threads = 1;
    return d;
}

static model trained(hook *h, int32_t microbatches)
{
    samba_desc d = quiet_desc(h);
    model m = { .s = samba_open(&d) };
    int32_t rows = B;
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(rows, F));
    m.y = samba_input(m.s, "y", SAMBA_I32, SAMBA_SHAPE(rows));
    m.logits = samba_linear(m.x, "fc", C);
    m.loss = samba_cross_entropy(m.logits, m.y);
    samba_program p = { .loss = m.loss, .outputs = { m.logits }, .optim = { .kind = SAMBA_SGD } };
    p.microbatches = microbatches;
    CHECK(samba_compile(m.s, &p));
    return m;
}

static void run_once(model *m, int32_t label)
{
    static float x[MANY * B * F];
    static int32_t y[MANY * B];
    for (int i = 0; i < MANY * B * F; i++) x[i] = 0.25f * (float)(i % 9);
    for (int i = 0; i < MANY * B; i++) y[i] = i % C;
    y[5] = label;
    samba_write(m->x, x);
    samba_write(m->y, y);
    samba_run(m->s, 0);
}

static bool all_zero(const void *p, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)p;
    for (size_t i = 0; i < bytes; i++) {
        if (at[i]) return false;
    }
    return true;
}

// A loop over the values of a tensor reads zeros after an error, of each microbatch, too; what was
// got first can be read when a larger tensor has been asked for, and until the session is closed.
static void test_zeros_after_error(void)
{
    for (int32_t microbatches = 1; microbatches <= MANY; microbatches++) {
        hook h;
        model m = trained(&h, microbatches);
        run_once(&m, 1);
        CHECK(samba_ok(m.s) && samba_read(m.loss)[0] > 0.0f);
        CHECK(!all_zero(samba_read(m.logits), samba_bytes(m.logits)));
        run_once(&m, C + 7);
        CHECK(samba_error_code(m.s) == SAMBA_ERANGE);
        const float *loss = samba_read(m.loss), *x = samba_read(m.x);
        const float *logits = samba_read(m.logits);
        CHECK(all_zero(logits, samba_bytes(m.logits)));
        CHECK(all_zero(x, samba_bytes(m.x)));
        CHECK(loss[0] == 0.0f && all_zero(samba_read_i32(m.y), samba_bytes(m.y)));
        size_t held = samba_held_bytes(m.s);
        for (int i = 0; i < 100; i++) CHECK(samba_read(m.logits) == logits);
        CHECK(samba_held_bytes(m.s) == held);
        samba_clear_error(m.s);                     // and then it goes on
        run_once(&m, 1);
        CHECK(samba_read(m.loss)[0] > 0.0f && all_zero(logits, samba_bytes(m.logits)));
        samba_close(m.s);
        CHECK(h.live == 0 && h.n_wrong == 0);
    }
}

// A read that is itself the error: as many zeros as elements, of 4 bytes, whatever the type is.
static void test_zeros_of_wrong_type(void)
{
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *bytes = samba_ones(s, "bytes", SAMBA_U8, SAMBA_SHAPE(9, 1111));
    samba_tensor *traced = samba_tanh(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(70, 70)));
    CHECK(all_zero(samba_read(bytes), 4 * 9999) && samba_error_code(s) == SAMBA_EDTYPE);
    samba_clear_error(s);
    CHECK(all_zero(samba_read(traced), 4 * 4900) && samba_error_code(s) == SAMBA_ESTATE);
    samba_clear_error(s);
    CHECK(all_zero(samba_read_i32(bytes), 4 * 9999));
    samba_close(s);
    CHECK(all_zero(samba_read(NULL), 4 * 4096) && all_zero(samba_read_i32(NULL), 4 * 4096));
}

// Without memory for zeros the tensor's own memory is read, as large as it is; without any, NULL.
static void test_zeros_without_memory(void)
{
    hook h;
    model m = trained(&h, 1);
    run_once(&m, 1);
    run_once(&m, -3);
    h.fail_at = h.n_calls, h.forever = true;
    CHECK(samba_read(m.loss)[0] == 0.0f && all_zero(samba_read(m.x), samba_bytes(m.x)));
    const float *logits = samba_read(m.logits);
    double sum = 0;
    for (int i = 0; logits && i < B * C; i++) sum += (double)logits[i] * 0.0;
    CHECK(logits != NULL && sum == 0.0);
    samba_close(m.s);
    samba_desc d = quiet_desc(&h);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(200, 200));
    samba_fail(s, SAMBA_EIO, "any");
    h.fail_at = h.n_calls, h.forever = true;
    CHECK(samba_read(x) == NULL);
    samba_close(s);
    CHECK(h.live == 0 && h.n_wrong == 0);
}

int main(void)
{
    RUN(test_zeros_after_error);
    RUN(test_zeros_of_wrong_type);
    RUN(test_zeros_without_memory);
    return test_summary();
}
