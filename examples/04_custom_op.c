// An op of your own: Mish, its kernel and gradient, a numeric check of both, a small training.
//     cc -O2 -o custom_op examples/04_custom_op.c -lm -pthread && ./custom_op
#define SAMBA_IMPLEMENTATION
#include "../samba.h"
#include <math.h>
#include <stdio.h>

// ---- The op -------------------------------------------------------------------------------------

// y = x tanh(softplus(x)). Misra, "Mish: A Self Regularized Non-Monotonic Activation", 2019.
// The kernel computes elements begin ... end - 1; threads call it with different ranges.
static void mish_kernel(const samba_args *a)
{
    const float *x = a->in[0];
    for (int64_t i = a->begin; i < a->end; i++) {
        float softplus = x[i] > 20 ? x[i] : log1pf(expf(x[i])); // e^x would overflow
        a->out[0][i] = x[i] * tanhf(softplus);
    }
}

// dx = dy (t + x sigmoid(x) (1 - t^2)) with t = tanh(softplus(x)): more graph, made of public ops.
static void mish_vjp(samba_vjp *g)
{
    samba_tensor *x = g->in[0], *dy = g->dout[0];
    samba_tensor *t = samba_tanh(samba_softplus(x));
    samba_tensor *one_minus_t2 = samba_shift(samba_neg(samba_mul(t, t)), 1);
    samba_tensor *slope = samba_add(t, samba_mul(samba_mul(x, samba_sigmoid(x)), one_minus_t2));
    g->din[0] = samba_mul(dy, slope);
}

// "*->*": any shape in, the same shape out. Users' numbers in PEF files begin at 0x8000.
static const samba_op mish_op = { .name = "mish",
                                  .wire = 0x8000,
                                  .signature = "*->*",
                                  .cost = 60,
                                  .kernel = mish_kernel,
                                  .vjp = mish_vjp };

static samba_tensor *mish(samba_tensor *x)
{
    return x ? samba_apply(x->session, "mish", &x, 1, NULL, 0) : NULL;
}

// ---- The check: central differences against the gradient rule -----------------------------------

enum { N = 41 };

static int check_gradient(double *worst)
{
    const float h = 1.0f / 64;
    float x[N], moved[N], up[N], down[N], slope[N];
    samba_session *s = samba_open(NULL);
    samba_register_op(s, &mish_op);
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(N));
    samba_tensor *y = mish(in);
    samba_tensor *dx = samba_grad(y, in);
    samba_compile(s, &(samba_program){ .outputs = { y, dx }, .inference = true });

    for (int i = 0; i < N; i++)
        x[i] = (float)(i - N / 2) / 4; // -5 ... 5
    for (int i = 0; i < N; i++)
        moved[i] = x[i] + h;
    samba_write_bytes(in, moved, sizeof moved);
    samba_run(s, SAMBA_FWD);
    samba_copy_out(y, up, sizeof up);
    for (int i = 0; i < N; i++)
        moved[i] = x[i] - h;
    samba_write_bytes(in, moved, sizeof moved);
    samba_run(s, SAMBA_FWD);
    samba_copy_out(y, down, sizeof down);
    samba_write_bytes(in, x, sizeof x);
    samba_run(s, SAMBA_FWD);
    samba_copy_out(dx, slope, sizeof slope);

    *worst = 0;
    for (int i = 0; i < N && samba_ok(s); i++) {
        double numeric = ((double)up[i] - (double)down[i]) / (2 * (double)h);
        double error = fabs(numeric - (double)slope[i]);
        if (error > *worst) *worst = error;
    }
    return samba_close(s);
}

// ---- The training: a net of 32 mish units learns sin(3 x) ---------------------------------------

enum { BATCH = 64, STEPS = 2000 };

static int fit_sine(float *first_loss, float *last_loss)
{
    float x[BATCH], y[BATCH];
    samba_session *s = samba_open(NULL);
    samba_register_op(s, &mish_op);
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(BATCH, 1));
    samba_tensor *want = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(BATCH, 1));
    samba_tensor *h = mish(samba_linear(in, "hidden", 32));
    samba_tensor *loss = samba_mse(samba_linear(h, "out", 1), want, SAMBA_REDUCE_MEAN);
    samba_compile(s,
                  &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_ADAM, .lr = 0.01f } });

    for (int b = 0; b < BATCH; b++) {
        x[b] = 4.0f * (float)b / (BATCH - 1) - 2.0f;
        y[b] = sinf(3 * x[b]);
    }
    samba_write_bytes(in, x, sizeof x);
    samba_write_bytes(want, y, sizeof y);
    for (int step = 0; step < STEPS && samba_ok(s); step++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        *last_loss = samba_read(loss)[0];
        if (step == 0) *first_loss = *last_loss;
    }
    return samba_close(s);
}

int main(void)
{
    double worst = 0;
    float first = 0, last = 0;
    if (check_gradient(&worst)) return 1;
    printf("gradient of mish: largest error %.1e at %d points: %s\n", worst, N,
           worst < 2e-4 ? "right" : "WRONG");
    if (fit_sine(&first, &last)) return 1;
    printf("sin(3 x) with 32 mish units: loss %.4f, after %d steps %.4f: %s\n", (double)first,
           STEPS, (double)last, last < 0.01f ? "learned" : "NOT LEARNED");
    return worst < 2e-4 && last < 0.01f ? 0 : 1;
}
