// Lesson 20: data parallel: replicas share a batch, and their gradients.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/20_data_parallel.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson parts.svg draws. New: replica, all-reduce.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
enum { ROWS = 32, IN = 4, WIDE = 8, STEPS = 50, PARAMS = 4 };
typedef struct replica {
    samba_session *s;
    samba_tensor *x, *y, *w[PARAMS];
    int first, rows;                    // of the batch
} replica;
static const float number[WIDE] = { 0, 1, 2, 3, 4, 5, 6, 7 };
// 1. A replica is the whole net, in a session of its own, for some rows of the batch. All begin
//    with the same weights, by seed and names; unequal ones would stay unequal. Each machine must
//    have room for it. A net too large is itself divided: layers here and there (a pipeline), parts
//    of each matrix, or weights and momentum: each machine keeps a part and fetches the others.
static replica open_replica(int first, int rows)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, IN));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(rows, 1));
    samba_tensor *h = samba_tanh(samba_linear(x, "first", WIDE));
    samba_tensor *loss = samba_mse(samba_linear(h, "second", 1), y, SAMBA_REDUCE_MEAN);
    samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = sgd });
    replica r = { s, x, y, { NULL }, first, rows };
    samba_parameters(s, r.w, PARAMS);
    return r;
}
// Its rows, which no other has: is the first number larger than the second? Each replica could have
// a machine of its own; all wait for the slowest, and if one dies, go back to a checkpoint.
static void forward_and_backward(replica *r, int step)
{
    float x[ROWS][IN], y[ROWS];
    for (int i = 0; i < r->rows; i++) {
        uint32_t dice[4];
        samba_random(20, "rows", (uint64_t)(step * ROWS + r->first + i), dice);
        for (int k = 0; k < IN; k++) x[i][k] = (float)(dice[k] >> 8) / (1 << 23) - 1;
        y[i] = x[i][0] > x[i][1] ? 1 : -1;
    }
    samba_write(r->x, x);
    samba_write(r->y, y);
    samba_run(r->s, SAMBA_FWD | SAMBA_BCKWD);
}
// 2. All-reduce: each gradient becomes the mean over all replicas, here of two. A replica sends one
//    number for each parameter, 8 x 4 + 8 + 8 + 1 = 49 (N in a ring: 2 (N - 1) / N for each).
static void all_reduce(replica r[2], double share0, double share1)  // samba/parallel.h: of any N
{
    for (int p = 0; p < PARAMS; p++) {
        samba_tensor *g0 = samba_sn_grad(r[0].w[p]), *g1 = samba_sn_grad(r[1].w[p]);
        float mean[WIDE * IN];
        for (int i = 0; i < samba_count(&g0->shape); i++)
            mean[i] = (float)(share0 * (double)samba_read(g0)[i] + share1 * samba_read(g1)[i]);
        samba_write(g0, mean);
        samba_write(g1, mean);
    }
}
static void show(const char *name, const replica *r, picture *p)
{
    const float *g = samba_read(samba_sn_grad(r->w[2]));            // of the second layer
    printf("%-8s", name);
    for (int i = 0; i < WIDE; i++) printf(" %6.3f", (double)g[i]);
    printf("\n");
    picture_dots(p, number, g, WIDE, name);
}
int main(int argc, char **argv)
{
    replica whole = open_replica(0, ROWS), half[2] = { open_replica(0, 16), open_replica(16, 16) };
    replica part[2] = { open_replica(0, 24), open_replica(24, 8) };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Gradients of eight weights",
                             "The mean of both halves lies on the gradient of the whole batch.");
    picture_axes(&p, -0.5, WIDE - 0.5, -0.25, 0.75, "weight (line: the whole batch)", "gradient");
    // 3. The gradient of a mean over rows is the mean of the rows' gradients: the whole batch's is
    //    the mean of its halves'. A half errs more. So N replicas often take a batch N times as
    //    large, and it may step further: try up to N times the rate, after a warmup (lesson 16).
    // > 0...15   -0.112  0.261  0.497  0.570  0.245  0.242  0.272  0.415
    // > 16...31   0.046  0.220  0.510  0.616  0.352  0.218  0.277  0.315
    // > mean     -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    // > whole    -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    forward_and_backward(&whole, 0);
    for (int i = 0; i < 2; i++) forward_and_backward(&half[i], 0);
    show("0...15", &half[0], &p);
    show("16...31", &half[1], &p);
    all_reduce(half, 0.5, 0.5);
    show("mean", &half[0], &p);
    picture_line(&p, number, samba_read(samba_sn_grad(whole.w[2])), WIDE, NULL);
    picture_close(&p);
    show("whole", &whole, &p);
    // 4. Of 24 and 8 rows, the plain mean counts each of the 8 like three others. So weigh by rows:
    // > plain     0.115  0.254  0.540  0.667  0.340  0.306  0.353  0.309
    // > by rows  -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        for (int i = 0; i < 2; i++) forward_and_backward(&part[i], 0);
        all_reduce(part, by_rows ? 0.75 : 0.5, by_rows ? 0.25 : 0.5);
        show(by_rows ? "by rows" : "plain", &part[0], &p);
    }
    // 5. All make the same step and stay equal, to the bit. (Clip after the mean: before it, norms
    //    differ.) The whole batch may differ in last digits: its sums are rounded in another order.
    // > a weight after 50 steps: 0.176271781 0.176271781, whole 0.176271722
    for (int step = 0; step < STEPS; step++) {
        forward_and_backward(&whole, step);
        for (int i = 0; i < 2; i++) forward_and_backward(&half[i], step);
        all_reduce(half, 0.5, 0.5);
        for (int i = 0; i < 2; i++) samba_run(half[i].s, SAMBA_OPT);
        samba_run(whole.s, SAMBA_OPT);
    }
    printf("a weight after 50 steps: %.9g %.9g, whole %.9g\n", (double)samba_read(half[0].w[0])[0],
           (double)samba_read(half[1].w[0])[0], (double)samba_read(whole.w[0])[0]);
    // 6. How much faster? If a step computes for 8 s, and reduces half a gigabyte, 124 million
    //    floats, in a ring of 1.25 gigabytes a second, 32 replicas are 8 times as fast: each sends
    //    nearly twice that. More rows take longer to compute, not to send: large batches pay.
    // > replicas, seconds: 1 8.0, 2 4.4, 4 2.6, 8 1.7, 16 1.2, 32 1.0
    printf("replicas, seconds:");
    for (int n = 1; n <= 32; n *= 2)
        printf(" %d %.1f%s", n, 8.0 / n + 0.5 * 2 * (n - 1) / n / 1.25, n < 32 ? "," : "\n");
    // Exercise 20a: the mean over unequal parts. Why must no row be in two replicas' parts?
    for (int i = 0; i < 4; i++) samba_close(i < 2 ? half[i].s : part[i - 2].s);
    return samba_close(whole.s);
}
