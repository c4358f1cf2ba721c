// Lesson 16, second half: accumulation: a large batch in small parts, and one step for all.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/16_accumulation.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson parts.svg draws.
// New: accumulation. Next: 17_cache.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// Steps 1 and 2 stand above their functions, the others in main.
enum { ROWS = 64, PART = 16, PARTS = 4, IN = 4, WIDE = 8, NO_LABEL = -100 };

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *loss, *w; // w: the weights of the second layer
} net;

// 1. Larger batches give steadier gradients (lesson 8), and take more memory: each row keeps its
//    activations until the backward pass needs them. So run a few rows at a time, add up the
//    gradients, and step once, at the end. This is accumulation.
//
//    Ask samba_compile for it by `.accumulate = true`. It takes no more operations, only more time:
//    small parts use a processor less well.
static net open_net(int rows, samba_reduction reduction)
{
    net n = { .s = samba_open(NULL) };
    n.x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(rows, IN));
    n.label = samba_input(n.s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "first", WIDE));
    samba_tensor *y = samba_linear(h, "second", 2);
    const samba_loss_opts opts = { .reduction = reduction };
    n.loss = samba_name(samba_cross_entropy_with(y, n.label, &opts), "loss");

    samba_program program = { .loss = n.loss, .accumulate = true, .max_grad_norm = 0.1f };
    program.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.5f };
    samba_compile(n.s, &program);
    n.w = samba_tensor_by_name(n.s, "second__weight");
    return n;
}

// 2. The task: is the first number larger than the second? Only the first `exist` rows of the batch
//    are real; those behind them get the label -100, that is, they do not count (lesson 15).
static void forward_and_backward(const net *n, int first, int rows, int exist)
{
    float x[ROWS][IN];
    int32_t label[ROWS];
    for (int i = 0; i < rows; i++) {
        uint32_t dice[4];
        samba_random(16, "rows", (uint64_t)(first + i), dice);
        for (int k = 0; k < IN; k++) {
            x[i][k] = (float)(dice[k] >> 8) / (1 << 23) - 1; // from -1 to 1
        }
        label[i] = first + i < exist ? x[i][0] > x[i][1] : NO_LABEL;
    }
    samba_write(n->x, x);
    samba_write(n->label, label);
    samba_run(n->s, SAMBA_FWD | SAMBA_BCKWD);
}

static void all_parts(const net *n, int exist)
{
    samba_run(n->s, SAMBA_ZEROGRAD); // begins a new sum; so would a step (OPT)
    for (int part = 0; part < PARTS; part++) {
        forward_and_backward(n, part * PART, PART, exist);
    }
}

static void show(const char *name, const net *n)
{
    printf("%-7s", name);
    for (int i = 0; i < WIDE; i++) {
        printf(" %6.3f", number_at(samba_sn_grad(n->w), i));
    }
    printf("\n");
}

static double norm_of(samba_tensor *g)
{
    double sum = 0;
    for (int i = 0; i < samba_count(&g->shape); i++) {
        sum += number_at(g, i) * number_at(g, i);
    }
    return sqrt(sum);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    static const float number[WIDE] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    net whole = open_net(ROWS, SAMBA_REDUCE_MEAN);
    net parts = open_net(PART, SAMBA_REDUCE_MEAN);

    // 3. The gradient of a part is the mean of its 16 rows. So four of them, added up, are four
    //    times the mean of all 64. With plain SGD that is a learning rate four times too large.
    //
    //    The backward pass begins at the loss with the gradient 1. Let it begin with 1/4
    //    (`loss__grad`), and each part counts a quarter.
    // > whole    0.098 -0.055 -0.126 -0.193 -0.106 -0.010 -0.081 -0.165
    // > sum      0.391 -0.222 -0.503 -0.773 -0.425 -0.041 -0.323 -0.659
    // > mean     0.098 -0.055 -0.126 -0.193 -0.106 -0.010 -0.081 -0.165
    forward_and_backward(&whole, 0, ROWS, ROWS);
    show("whole", &whole);
    all_parts(&parts, ROWS);
    show("sum", &parts);
    samba_set(parts.s, "loss__grad", 0.25);
    all_parts(&parts, ROWS);
    show("mean", &parts);
    picture p = picture_open(path, 1, "Gradients of eight weights",
                             "The mean of four parts lies on the gradient of the whole batch.");
    picture_axes(&p, -0.5, WIDE - 0.5, -0.3, 0.3, "weight (line: the whole batch)", "gradient");
    picture_line(&p, number, samba_read(samba_sn_grad(whole.w)), WIDE, NULL);
    picture_dots(&p, number, samba_read(samba_sn_grad(parts.w)), WIDE, "mean");
    picture_close(&p);

    // 4. The last batch of an epoch has fewer rows, here 50: three full parts, and one of 2. A
    //    mean of means counts these 2 like 16. So let the loss be the sum of its rows, and its
    //    gradient 1/50: then each row counts once, wherever it stands.
    // > whole    0.119 -0.048 -0.106 -0.180 -0.097  0.008 -0.072 -0.169
    // > means    0.074 -0.070 -0.140 -0.222 -0.111 -0.042 -0.117 -0.164
    // > by rows  0.119 -0.048 -0.106 -0.180 -0.097  0.008 -0.072 -0.169
    samba_run(whole.s, SAMBA_ZEROGRAD);
    forward_and_backward(&whole, 0, ROWS, 50);
    show("whole", &whole);
    all_parts(&parts, 50);
    show("means", &parts);
    net sums = open_net(PART, SAMBA_REDUCE_SUM);
    samba_set(sums.s, "loss__grad", 1.0 / 50);
    all_parts(&sums, 50);
    show("by rows", &sums);

    // 5. Clip the sum (lesson 8), when it is complete. A part errs more than the whole batch, so
    //    its gradient is often longer: clipped by itself, its rows would count less than others.
    //    GRADNORM measures what was added up, so it runs once, before the step.
    //
    //    The norms of each part's gradient of w, and of the gradient of the whole:
    // > norms: 0.443 0.563 0.407 0.608, of the whole 0.471
    printf("norms:");
    for (int part = 0; part < PARTS; part++) {
        samba_run(sums.s, SAMBA_ZEROGRAD);
        samba_set(sums.s, "loss__grad", 1.0 / PART);
        forward_and_backward(&sums, part * PART, PART, ROWS);
        printf(" %.3f", norm_of(samba_sn_grad(sums.w)));
    }
    all_parts(&parts, ROWS);
    printf(", of the whole %.3f\n", norm_of(samba_sn_grad(parts.w)));
    samba_run(parts.s, SAMBA_GRADNORM | SAMBA_OPT);

    // 6. What was it good for? Memory: of what the program holds, only inputs and activations
    //    shrink, by 84 bytes for each of 48 rows. Weights, gradients and the state of the optimizer
    //    are as large as ever. So cut a batch into as few parts as the memory allows.
    // > bytes: 64 rows 10624, 16 rows 6592
    printf("bytes: 64 rows %d, ", (int)samba_device_bytes(whole.s));
    printf("16 rows %d\n", (int)samba_device_bytes(parts.s));

    // To think about:
    //   Dropout draws a mask for each part. Is the sum still the gradient of one net?
    //   With Adam, what becomes of a gradient that is four times too large?
    //
    // Now you: exercise 16b puts parts together, 16c clips their sum. `make learn` begins with the
    // first that is open, `tools/learn/learn.sh watch 16b` with 16b.
    samba_close(sums.s);
    samba_close(parts.s);
    return samba_close(whole.s);
}
