// samba_desc.check_finite, where a NaN or an infinity ends in something finite: the op is named.
// What only chooses, and what is meant, is no finding. Without it the first loss that is not finite
// is told when read.
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, BAD = 35 };

// x holds `odd` at BAD, and 1 ... N elsewhere; y = f(x).
typedef samba_tensor *(*maker)(samba_tensor *x);

static samba_tensor *number(samba_tensor *x, float value)
{
    return samba_number(x->session, value);
}

static samba_tensor *greater(samba_tensor *x)
{
    return samba_gt(x, number(x, 3));
}

static samba_tensor *equal(samba_tensor *x)
{
    return samba_eq(number(x, 3), x);
}

static samba_tensor *fused(samba_tensor *x)
{
    return samba_cast(samba_lt(x, number(x, 3)), SAMBA_F32);
}

static samba_tensor *integers(samba_tensor *x)
{
    return samba_cast(x, SAMBA_I32);
}

static samba_tensor *passed_on(samba_tensor *x)
{
    return samba_cast(samba_scale(x, 2), SAMBA_I32);
}

static samba_tensor *truths(samba_tensor *x)
{
    return samba_cast(x, SAMBA_BOOL);
}

static samba_tensor *power(samba_tensor *x)
{
    return samba_pow(x, number(x, 0));
}

static samba_tensor *largest(samba_tensor *x)
{
    return samba_argmax(x, 0, false);
}

static samba_tensor *condition(samba_tensor *x)
{
    return samba_where(x, number(x, 1), number(x, 2));
}

static samba_tensor *is_nan(samba_tensor *x)
{
    return samba_ne(x, x);
}

static samba_tensor *without_nan(samba_tensor *x)
{
    return samba_where(samba_ne(x, x), number(x, 0), x);
}

static samba_tensor *others(samba_tensor *x)
{
    return samba_relu(samba_slice(x, 0, 0, BAD, 1));
}

static samba_tensor *limited(samba_tensor *x)
{
    return samba_minimum(samba_maximum(x, number(x, -5)), number(x, 5));
}

static samba_tensor *soft(samba_tensor *x)
{
    return samba_softmax(x, 0);
}

static samba_tensor *hidden(samba_tensor *x)
{
    samba_tensor *one = samba_reshape(samba_slice(x, 0, 0, 4, 1), SAMBA_SHAPE(4, 1));
    samba_tensor *mask = samba_reshape(x, SAMBA_SHAPE(1, N));
    samba_tensor *keys = samba_expand(samba_slice(one, 0, 0, 1, 1), SAMBA_SHAPE(N, 1));
    return samba_scaled_dot_product_attention(one, keys, keys, mask, NULL);
}

// op NULL: the run succeeds.
static void check(maker f, float odd, const char *op, const char *tensor)
{
    float values[N];
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .check_finite = true });
    samba_tensor *x = samba_set_batch_dim(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(N)), -1);
    samba_tensor *y = f(x);
    samba_program p = { .outputs = { y }, .inference = true };
    for (int i = 0; i < N; i++)
        values[i] = (float)(i + 1);
    values[BAD] = odd;
    CHECK(samba_compile(s, &p) && samba_write(x, values));
    bool ran = samba_run(s, 0);
    samba_culprit q;
    bool found = samba_nonfinite(s, &q);
    CHECK(ran == !op && found == !ran);
    if (!ran && !op) printf("    false alarm: %s\n", samba_error(s));
    if (found && op) {
        CHECK(q.vanishes && !strcmp(q.op, op) && q.element == BAD
              && (q.value == odd || odd != odd));
        CHECK(!tensor || (!strcmp(q.tensor, tensor) && q.leaf));
        CHECK(strstr(samba_error(s), "makes something finite of it")
              || (printf("    %s\n", samba_error(s)), false));
    }
    samba_clear_error(s);
    values[BAD] = 1;
    CHECK(samba_write(x, values) && samba_run(s, 0) && !samba_nonfinite(s, &q));
    CHECK(samba_close(s) == 0);
}

static void test_vanishing(void)
{
    check(greater, NAN, "gt", "x");
    check(equal, NAN, "eq", "x");
    check(fused, NAN, "lt", "x");
    check(integers, NAN, "cast", "x");
    check(integers, INFINITY, "cast", "x");
    check(integers, -INFINITY, "cast", "x");
    check(passed_on, -INFINITY, "cast", NULL);
    check(truths, NAN, "cast", "x");
    check(power, NAN, "pow", "x");
    check(largest, NAN, "argmax", "x");
    check(condition, NAN, "where", "x");
}

static void test_meant(void)
{
    const float infinities[2] = { INFINITY, -INFINITY };
    check(is_nan, NAN, NULL, NULL);
    check(without_nan, NAN, NULL, NULL);
    check(others, NAN, NULL, NULL);
    check(soft, -INFINITY, NULL, NULL);
    check(hidden, -INFINITY, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        check(greater, infinities[i], NULL, NULL);
        check(truths, infinities[i], NULL, NULL);
        check(largest, infinities[i], NULL, NULL);
        check(limited, infinities[i], NULL, NULL);
        check(condition, infinities[i], NULL, NULL);
    }
}

// ---- The first loss that is not finite ----------------------------------------------------------

static char told[1200];
static int n_told;

static void listen(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(told, sizeof told, "%s", text);
    n_told++;
}

// By samba_read, samba_copy_out and samba_cpu: once, and not before there is something to tell.
static void test_loss_is_told(void)
{
    for (int how = 0; how < 4; how++) {
        samba_desc desc = { .log = listen, .check_finite = how == 3 };
        samba_session *s = samba_open(&desc);
        samba_tensor *x
            = samba_set_batch_dim(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2)), -1);
        samba_tensor *loss = samba_mean(samba_linear(x, "fc", 1), SAMBA_ALL_AXES, false);
        samba_program p = { .loss = loss, .optim = { .kind = SAMBA_SGD } };
        float values[2] = { 1, 2 }, y;
        CHECK(samba_compile(s, &p) && samba_write(x, values) && samba_run(s, 0));
        n_told = 0;
        told[0] = 0;
        for (int step = 0; step < 4; step++) {
            values[0] = step ? INFINITY : 1;
            CHECK(samba_write(x, values));
            bool ran = samba_run(s, SAMBA_FWD);
            CHECK(ran || how == 3);
            if (how == 0) y = samba_read(loss)[0];
            if (how == 1) CHECK(samba_copy_out(loss, &y, sizeof y));
            if (how == 2) y = *(const float *)samba_cpu(loss);
            if (how < 3) CHECK(n_told == (step > 0));
        }
        CHECK(how == 3 || (strstr(told, "after run 3") && strstr(told, "check_finite")));
        CHECK(how < 3 || !strstr(told, "after run"));
        samba_clear_error(s);
        CHECK(samba_close(s) == 0);
    }
}

int main(void)
{
    RUN(test_vanishing);
    RUN(test_meant);
    RUN(test_loss_is_told);
    return test_summary();
}
