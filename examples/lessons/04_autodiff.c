// Lesson 4: autodiff: gradients of whatever a program computes, without calculus on paper.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/04_autodiff.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 04.svg draws. New: graph, chain rule.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

// First an engine of our own. What is computed is written down: a list of nodes, called the tape.
// A node is a value that was given ('='), or the sum or product of two earlier nodes a and b. Its
// grad will say how fast the last value grows with it.
typedef struct node { int op, a, b; float value, grad; } node;

static node tape[8];
static int n;

static int record(int op, int a, int b, float value)
{
    tape[n] = (node){ op, a, b, value, 0 };
    return n++;
}

static int add(int a, int b) { return record('+', a, b, tape[a].value + tape[b].value); }
static int mul(int a, int b) { return record('*', a, b, tape[a].value * tape[b].value); }

// The chain rule: if f grows g times as fast as t, and t grows k times as fast as a, then f grows
// g k times as fast as a. In a sum, k is 1; in a product a b it is b, so all values are kept. That
// k is all an op has to know; a new op takes a line or two here.
// If a value that is used several times grows, f grows through each use; so what arrives is added,
// by +=. All of it is there when a node passes it on, from the last node to the first, as each
// stands after those it is made of: a topological order. One such walk, some two to four times
// the work of f, finds the grads of all nodes.
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

static double get(samba_tensor *t, int i) { return (double)samba_read(t)[i]; }

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
    int x = record('=', 0, 0, 2), y = record('=', 0, 0, -3);
    int sum = add(mul(x, y), x), f = mul(sum, sum);
    backward(f);
    static const double left[] = { 0, 0.9, 1.9, 2.9, 3 }, up[] = { 3.2, -0.2, 0.8, 1.8, 3.2 };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Values go forward, gradients go back",
        "y and x lead to x*y; x*y and x to their sum s; s, twice, to f. Each has value and grad.");
    picture_axes(&p, -1, 4, -0.5, 3.5, "", "");
    picture_line(&p, (float[]){ 0, 1, 2, 3 }, (float[]){ 0, 1, 2, 3 }, 4, NULL);
    picture_line(&p, (float[]){ 1, 0, 2 }, (float[]){ 1, 3, 2 }, 3, NULL);
    for (int i = 0; i <= f; i++) {
        char text[64];
        double value = (double)tape[i].value, grad = (double)tape[i].grad;
        snprintf(text, sizeof text, "%s: value %g, grad %g", names[i], value, grad);
        puts(text);
        picture_label(&p, left[i], up[i], text);
    }
    picture_close(&p);

    // 2. The same in samba.h. From the start a session traces: ops compute nothing, but are written
    //    on a tape, called the graph. Of C's own loops and ifs it holds only the ops they reached.
    //    Compiling makes a program of the graph, and a run computes its outputs.
    // > samba: f 16, grad of x 16, of y -16
    // 3. samba_grad(F, X) is the loop above, over tensors. It appends ops that compute how F grows
    //    with each number of X, so it has the shape of X. F is a single number; if it is several,
    //    their sum is meant. Where there is no slope, as |x| has none at 0, an op chooses one.
    // > grad of |x| at -2, 0, 2: -1 0 1
    samba_session *s = samba_open(NULL);
    samba_tensor *X = samba_param(s, "x", SAMBA_SCALAR, (samba_init){ .value = 2 });
    samba_tensor *Y = samba_param(s, "y", SAMBA_SCALAR, (samba_init){ .value = -3 });
    samba_tensor *S = samba_add(samba_mul(X, Y), X), *F = samba_mul(S, S);
    const float three[3] = { -2, 0, 2 };
    samba_tensor *A = samba_from_data_copy(s, "a", SAMBA_F32, SAMBA_SHAPE(3), three);
    samba_tensor *FX = samba_grad(F, X), *FY = samba_grad(F, Y), *G = samba_grad(samba_abs(A), A);
    samba_compile(s, &(samba_program){ .outputs = { F, FX, FY, G } });
    samba_run(s, SAMBA_FWD);
    printf("samba: f %g, grad of x %g, of y %g\n", get(F, 0), get(FX, 0), get(FY, 0));
    printf("grad of |x| at -2, 0, 2: %g %g %g\n", get(G, 0), get(G, 1), get(G, 2));
    samba_close(s);

    // 4. The line of lesson 3 learns. A param is a tensor that learning, called training, changes.
    //    With a loss and an optimizer, here SGD (gradient descent), a program has three sections:
    //    FWD computes the loss, BCKWD the gradients (samba_sn_grad has that of a param), OPT takes
    //    the step. Without both, it has FWD alone: inference. A second run of BCKWD adds nothing to
    //    the first: each begins at 0, as our walk does.
    // > loss 33.878, gradient (-28.36, -10.12)
    // > step 100: w 2.030, b 0.999
    float hours[5] = { 0, 1, 2, 3, 4 }, cm[5] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };
    s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *b = samba_param(s, "b", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *in = samba_from_data_copy(s, "hours", SAMBA_F32, SAMBA_SHAPE(5), hours);
    samba_tensor *target = samba_from_data_copy(s, "cm", SAMBA_F32, SAMBA_SHAPE(5), cm);
    samba_tensor *error = samba_sub(samba_add(samba_mul(in, w), b), target);
    samba_tensor *loss = samba_mean(samba_mul(error, error), SAMBA_ALL_AXES, false);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < 2; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    printf("loss %.3f, gradient (%.2f, %.2f)\n", get(loss, 0), get(samba_sn_grad(w), 0),
           get(samba_sn_grad(b), 0));
    for (int i = 0; i < 100; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("step 100: w %.3f, b %.3f\n", get(w, 0), get(b, 0));

    // Exercises 04a and 04b (make learn) are backward, and the order of a tape that is shuffled.
    //   What is x's grad in x x x? In step 1, if the += of a were =? And if that of b were?
    return samba_close(s);
}
