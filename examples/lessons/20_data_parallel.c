// Lesson 20: data parallel: replicas share a batch, and their gradients.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/20_data_parallel.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson parts.svg draws.
// New: replica, all-reduce. Next: 21_device.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// Steps 1 to 3 stand above their functions, the others in main.
enum { ROWS = 32, IN = 4, WIDE = 8, STEPS = 50, PARAMS = 4 };

typedef struct replica {
    samba_session *s;
    samba_tensor *x, *y, *w[PARAMS];
    int first, rows; // of the batch
} replica;

// 1. One machine is too slow, so take several, and give each a part of every batch. A replica is
//    the whole net, in a session of its own, for some rows of the batch. All begin with the same
//    weights, by seed and names; unequal ones would stay unequal.
//
//    Each machine must have room for the whole net. A larger one is itself divided: layers here and
//    there (a pipeline), or parts of each matrix; or each machine keeps a part of weights and
//    momentum, and fetches the others.
static replica open_replica(int first, int rows)
{
    // It would warn that gradients are computed anew before a step is made; here that is meant.
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, IN));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(rows, 1));
    samba_tensor *h = samba_tanh(samba_linear(x, "first", WIDE));
    samba_tensor *loss = samba_mse(samba_linear(h, "second", 1), y, SAMBA_REDUCE_MEAN);
    samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = sgd });

    replica made = { s, x, y, { NULL }, first, rows };
    samba_parameters(s, made.w, PARAMS);
    return made;
}

// 2. Then each computes gradients of its own rows, which no other has. (The task: is the first
//    number larger than the second?) Each could have a machine of its own; all wait for the
//    slowest, and if one dies, all go back to a checkpoint (lesson 16).
static void forward_and_backward(replica *r, int step)
{
    float x[ROWS][IN], y[ROWS];
    for (int i = 0; i < r->rows; i++) {
        int row = r->first + i;
        uint32_t dice[4];
        samba_random(20, "rows", (uint64_t)(step * ROWS + row), dice);
        for (int k = 0; k < IN; k++) {
            x[i][k] = (float)(dice[k] >> 8) / (1 << 23) - 1; // from -1 to 1
        }
        y[i] = x[i][0] > x[i][1] ? 1 : -1;
    }
    samba_write(r->x, x);
    samba_write(r->y, y);
    samba_run(r->s, SAMBA_FWD | SAMBA_BCKWD);
}

// 3. All must make the same step, so each gradient becomes the mean over all replicas, here of two.
//    This is called all-reduce. A replica sends one number for each parameter, that is 49: 8 x 4
//    weights and 8 biases of the first layer, 8 and 1 of the second. (samba/parallel.h has it for
//    any N.)
//
//    More replicas stand in a ring: each sends to the next one, and gets from the one before. The
//    gradient is cut into N pieces. Each piece goes round once to be added up, and once more so
//    that all know the sum: N - 1 times each. So a replica sends 2 (N - 1) / N numbers for each
//    parameter.
static void all_reduce(replica r[2], double share0, double share1)
{
    for (int p = 0; p < PARAMS; p++) {
        samba_tensor *g0 = samba_sn_grad(r[0].w[p]);
        samba_tensor *g1 = samba_sn_grad(r[1].w[p]);
        float mean[WIDE * IN];
        for (int i = 0; i < samba_count(&g0->shape); i++) {
            mean[i] = (float)(share0 * number_at(g0, i) + share1 * number_at(g1, i));
        }
        samba_write(g0, mean);
        samba_write(g1, mean);
    }
}

// The gradient of the weights of the second layer.
static const float *gradient(const replica *r)
{
    return samba_read(samba_sn_grad(r->w[2]));
}

static void show(const char *name, const replica *r)
{
    printf("%-8s", name);
    for (int i = 0; i < WIDE; i++) {
        printf(" %6.3f", (double)gradient(r)[i]);
    }
    printf("\n");
}

static void show_and_draw(const char *name, const replica *r, picture *p)
{
    static const float number[WIDE] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    show(name, r);
    picture_dots(p, number, gradient(r), WIDE, name);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    static const float number[WIDE] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    replica whole = open_replica(0, ROWS);
    replica half[2] = { open_replica(0, 16), open_replica(16, 16) };
    replica part[2] = { open_replica(0, 24), open_replica(24, 8) };

    // 4. Do parts give the same as the whole? The loss is a mean over rows, and the gradient of a
    //    mean is the mean of the gradients. So the whole batch's is the mean of its halves'; a half
    //    alone errs more.
    //
    //    So N replicas often take a batch N times as large. As its gradient errs less (lesson 8),
    //    it may step further: try up to N times the rate, after a warmup (lesson 16). Beyond some
    //    size a batch errs so little that more rows are wasted.
    // > 0...15   -0.112  0.261  0.497  0.570  0.245  0.242  0.272  0.415
    // > 16...31   0.046  0.220  0.510  0.616  0.352  0.218  0.277  0.315
    // > mean     -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    // > whole    -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    picture p = picture_open(path, 1, "Gradients of eight weights",
                             "The mean of both halves lies on the gradient of the whole batch.");
    picture_axes(&p, -0.5, WIDE - 0.5, -0.25, 0.75, "weight (line: the whole batch)", "gradient");
    forward_and_backward(&whole, 0);
    forward_and_backward(&half[0], 0);
    forward_and_backward(&half[1], 0);
    show_and_draw("0...15", &half[0], &p);
    show_and_draw("16...31", &half[1], &p);
    all_reduce(half, 0.5, 0.5);
    show_and_draw("mean", &half[0], &p);
    picture_line(&p, number, gradient(&whole), WIDE, NULL);
    picture_close(&p);
    show("whole", &whole);

    // 5. Parts may be unequal, here of 24 and 8 rows. Then the plain mean is wrong: it counts each
    //    of the 8 like three others. So weigh by rows, 24/32 and 8/32.
    // > plain     0.115  0.254  0.540  0.667  0.340  0.306  0.353  0.309
    // > by rows  -0.033  0.240  0.503  0.593  0.298  0.230  0.274  0.365
    forward_and_backward(&part[0], 0);
    forward_and_backward(&part[1], 0);
    all_reduce(part, 0.5, 0.5);
    show("plain", &part[0]);

    forward_and_backward(&part[0], 0);
    forward_and_backward(&part[1], 0);
    all_reduce(part, 0.75, 0.25);
    show("by rows", &part[0]);

    // 6. With the same gradient all make the same step, and stay equal, to the bit. (Clip after the
    //    mean: before it, norms differ.) The whole batch may differ in last digits: its sums are
    //    rounded in another order.
    // > a weight after 50 steps: 0.176271781 0.176271781, whole 0.176271722
    for (int step = 0; step < STEPS; step++) {
        forward_and_backward(&whole, step);
        forward_and_backward(&half[0], step);
        forward_and_backward(&half[1], step);
        all_reduce(half, 0.5, 0.5);
        samba_run(whole.s, SAMBA_OPT);
        samba_run(half[0].s, SAMBA_OPT);
        samba_run(half[1].s, SAMBA_OPT);
    }
    printf("a weight after 50 steps: %.9g ", number_at(half[0].w[0], 0));
    printf("%.9g, whole %.9g\n", number_at(half[1].w[0], 0), number_at(whole.w[0], 0));

    // 7. How much faster is it? Not N times, as gradients must travel. If a step computes for 8 s,
    //    and reduces half a gigabyte, 124 million floats, in a ring of 1.25 gigabytes a second, 32
    //    replicas are 8 times as fast: each sends nearly twice that, however many there are.
    //
    //    More rows take longer to compute, not to send. So large batches pay.
    // > replicas, seconds: 1 8.0, 2 4.4, 4 2.6, 8 1.7, 16 1.2, 32 1.0
    printf("replicas, seconds:");
    for (int n = 1; n <= 32; n *= 2) {
        double compute = 8.0 / n;
        double send = 0.5 * 2 * (n - 1) / n / 1.25;
        printf(" %d %.1f%s", n, compute + send, n < 32 ? "," : "\n");
    }

    // To think about:
    //   Why must no row be in two replicas' parts?
    //
    // Now you: exercise 20a is the mean over unequal parts. `make learn` begins with the first that
    // is open, `tools/learn/learn.sh watch 20a` with 20a.
    for (int i = 0; i < 2; i++) {
        samba_close(half[i].s);
        samba_close(part[i].s);
    }
    return samba_close(whole.s);
}
