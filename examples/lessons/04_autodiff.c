// Lesson 4: autodiff: gradients of whatever a program computes, without calculus on paper.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/04_autodiff.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 04.svg draws. New: graph, chain rule.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

// First an engine of our own. What is computed is written down: a list of nodes, called the tape.
// A node is a value that was given ('='), or the sum or product of two earlier nodes a and b.
typedef struct node {
    char op;
    int a, b;
    float value, grad;                              // grad: how fast the last value grows with it
} node;

static node tape[8];
static int n;

static int record(char op, int a, int b, float value)
{
    tape[n] = (node){ op, a, b, value, 0 };
    return n++;
}

static int leaf(float value) { return record('=', 0, 0, value); }
static int add(int a, int b) { return record('+', a, b, tape[a].value + tape[b].value); }
static int mul(int a, int b) { return record('*', a, b, tape[a].value * tape[b].value); }

// The chain rule: if f grows g times as fast as t, and t grows k times as fast as a, then f grows
// g k times as fast as a. In a sum, k is 1; in a product a b it is b, so all values are kept. Each
// node passes its own grad on so, and what arrives at one is added (+=), since it may be used
// several times. From the last node to the first, all has arrived before a node passes it on, since
// each node stands after those it is made of: a topological order. One walk finds the grads of all
// nodes, in as many steps as it took to compute f.
static void backward(int f)
{
    for (int i = 0; i <= f; i++) tape[i].grad = 0;  // else += adds to an earlier walk's
    tape[f].grad = 1;                               // f grows as fast as itself
    for (int i = f; i >= 0; i--) {
        node *t = &tape[i], *a = &tape[t->a], *b = &tape[t->b];
        if (t->op == '=') continue;
        a->grad += t->op == '+' ? t->grad : t->grad * b->value;
        b->grad += t->op == '+' ? t->grad : t->grad * a->value;
    }
}

static double get(samba_tensor *scalar) { return (double)samba_read(scalar)[0]; }

int main(int argc, char **argv)
{
    // 1. f = (x y + x)^2 at x = 2, y = -3. x is used twice: 24 comes back through the product, and
    //    -8 through the sum. With = in place of +=, only what came last would be kept.
    // > x: value 2, grad 16
    // > y: value -3, grad -16
    // > x*y: value -6, grad -8
    // > s: value -4, grad -8
    // > f: value 16, grad 1
    static const char *const names[] = { "x", "y", "x*y", "s", "f" };
    int x = leaf(2), y = leaf(-3), s = add(mul(x, y), x), f = mul(s, s);
    backward(f);
    static const double left[] = { 0, 0.9, 1.9, 2.9, 3 }, up[] = { 3.2, -0.2, 0.8, 1.8, 3.2 };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Values go forward, gradients go back",
        "y and x lead to x*y; x*y and x to their sum s; s, twice, to f. Each has value and grad.");
    picture_axes(&p, -1, 4, -0.5, 3.5, "", "");
    picture_line(&p, (float[]){ 0, 1, 2, 3 }, (float[]){ 0, 1, 2, 3 }, 4, NULL);
    picture_line(&p, (float[]){ 1, 0, 2 }, (float[]){ 1, 3, 2 }, 3, NULL);
    for (int i = 0; i <= f; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: value %g, grad %g", names[i], (double)tape[i].value,
                 (double)tape[i].grad);
        puts(text);
        picture_label(&p, left[i], up[i], text);
    }
    picture_close(&p);

    // 2. The same in samba.h. From the start a session traces: ops compute nothing, but are written
    //    on a tape, called the graph. samba_grad(F, X) is the loop above, over tensors: it appends
    //    ops that compute how F, a single number (of several, their sum), grows with each number of
    //    X. So a gradient has the shape of X. Compiling makes a program of the graph, and a run
    //    computes its outputs. Central differences are approximate, this is not; and no formula is
    //    derived: each op knows its own slopes (those of a product of matrices: lesson 6).
    // > samba: f 16, grad of x 16, of y -16
    samba_session *session = samba_open(NULL);
    samba_tensor *X = samba_param(session, "x", SAMBA_SCALAR, (samba_init){ .value = 2 });
    samba_tensor *Y = samba_param(session, "y", SAMBA_SCALAR, (samba_init){ .value = -3 });
    samba_tensor *S = samba_add(samba_mul(X, Y), X), *F = samba_mul(S, S);
    samba_tensor *FX = samba_grad(F, X), *FY = samba_grad(F, Y);
    samba_compile(session, &(samba_program){ .outputs = { F, FX, FY }, .inference = true });
    samba_run(session, SAMBA_FWD);
    printf("samba: f %g, grad of x %g, of y %g\n", get(F), get(FX), get(FY));
    samba_close(session);

    // 3. The line of lesson 3 learns. A param is a tensor that this learning, called training,
    //    changes; data stay. (The program of step 2 was for inference: it only computes.) A program
    //    with a loss and an optimizer, here SGD (gradient descent; lesson 8), has three sections.
    //    FWD, forward, computes the loss; BCKWD, backward, the gradients, which samba_sn_grad then
    //    gives; OPT takes the step. They can run one by one, in this order, or all at a time.
    // > loss 33.878, gradient (-28.36, -10.12)
    // > step 100: w 2.030, b 0.999
    float hours[5] = { 0, 1, 2, 3, 4 }, cm[5] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };
    session = samba_open(NULL);
    samba_tensor *w = samba_param(session, "w", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *b = samba_param(session, "b", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *in = samba_from_data_copy(session, "hours", SAMBA_F32, SAMBA_SHAPE(5), hours);
    samba_tensor *target = samba_from_data_copy(session, "cm", SAMBA_F32, SAMBA_SHAPE(5), cm);
    samba_tensor *error = samba_sub(samba_add(samba_mul(in, w), b), target);
    samba_tensor *loss = samba_mean(samba_mul(error, error), SAMBA_ALL_AXES, false);
    samba_compile(session, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    samba_run(session, SAMBA_FWD | SAMBA_BCKWD);
    printf("loss %.3f, gradient (%.2f, %.2f)\n", get(loss), get(samba_sn_grad(w)),
           get(samba_sn_grad(b)));
    for (int i = 0; i < 100; i++) samba_run(session, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("step 100: w %.3f, b %.3f\n", get(w), get(b));

    // Exercises 04a and 04b (make learn) are backward, and the order of a tape that is shuffled.
    //   Why does f begin with grad 1? What is x's grad in f = x x x? (Make the tape, and see.)
    //   In step 1, what would x's grad be if the += of a were =? And if that of b were?
    //   Why does one walk backward do for a million parameters, unlike central differences?
    return samba_close(session);
}
