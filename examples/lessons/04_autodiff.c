// Lesson 4: autodiff: gradients of whatever a program computes, without calculus on paper.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/04_autodiff.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 04.svg draws.
// New: graph, chain rule, compiling. Next: 05_neuron.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// First an engine of our own. To go back later, one must know what was computed; so it is written
// down in a list of nodes, called the tape. A node is a value that was given ('='), or the sum or
// product of two earlier nodes a and b. Its grad will say how fast the last value grows with it,
// the derivative of lesson 3.
typedef struct node {
    int op, a, b;
    float value, grad;
} node;

static node tape[8];
static int length;

// Returns the number of the new node.
static int record(int op, int a, int b, float value)
{
    node made = { op, a, b, value, 0 };
    tape[length] = made;
    return length++;
}

static int add(int a, int b)
{
    return record('+', a, b, tape[a].value + tape[b].value);
}

static int mul(int a, int b)
{
    return record('*', a, b, tape[a].value * tape[b].value);
}

// The chain rule makes it possible to go back node by node: if f grows g times as fast as t, and t
// grows k times as fast as a, then f grows g k times as fast as a.
//
// In a sum a + b, k is 1. In a product a b it is b, as (a + d) b is a b + d b; so all values are
// kept. That k is all an op has to know.
//
// A value may be used several times. If it grows, f grows through each use; so what arrives is
// added, by +=. All of it must be there when a node passes it on. That holds if we go from the last
// node to the first, as each stands after those it is made of (a topological order).
//
// One such walk finds the grads of all nodes, and costs two to four times as much as f itself:
// where f adds, it adds twice, and where f multiplies, it multiplies twice and adds twice.
static void backward(int f)
{
    for (int i = 0; i <= f; i++) {
        tape[i].grad = 0; // else += would add to what an earlier walk left
    }
    tape[f].grad = 1; // f grows as fast as itself

    for (int i = f; i >= 0; i--) {
        const node *t = &tape[i];
        node *a = &tape[t->a];
        node *b = &tape[t->b];
        if (t->op == '+') {
            a->grad += t->grad;
            b->grad += t->grad;
        }
        if (t->op == '*') {
            a->grad += t->grad * b->value;
            b->grad += t->grad * a->value;
        }
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted

    // 1. A small example shows all of it: f = (x y + x)^2 at x = 2, y = -3. x is used twice: 24
    //    comes back through the product, and -8 through the sum, together 16. With = in place of
    //    +=, only what came last would be kept.
    // > x: value 2, grad 16
    // > y: value -3, grad -16
    // > x*y: value -6, grad -8
    // > s: value -4, grad -8
    // > f: value 16, grad 1
    static const char *const names[] = { "x", "y", "x*y", "s", "f" };
    int x = record('=', 0, 0, 2);
    int y = record('=', 0, 0, -3);
    int product = mul(x, y);
    int sum = add(product, x);
    int f = mul(sum, sum);
    backward(f);

    picture p = picture_open(path, 1, "Values go forward, gradients go back",
        "y and x lead to x*y; x*y and x to their sum s; s, twice, to f. Each has value and grad.");
    picture_axes(&p, -1, 4, -0.5, 3.5, "", "");
    static const float x_s_f[] = { 0, 1, 2, 3 };
    static const float y_xy_s[2][3] = { { 1, 0, 2 }, { 1, 3, 2 } };
    picture_line(&p, x_s_f, x_s_f, 4, NULL);
    picture_line(&p, y_xy_s[0], y_xy_s[1], 3, NULL);

    static const double left[] = { 0, 0.9, 1.9, 2.9, 3 };
    static const double up[] = { 3.2, -0.2, 0.8, 1.8, 3.2 };
    for (int i = 0; i <= f; i++) {
        char text[64];
        double value = (double)tape[i].value;
        double grad = (double)tape[i].grad;
        snprintf(text, sizeof text, "%s: value %g, grad %g", names[i], value, grad);
        puts(text);
        picture_label(&p, left[i], up[i], text);
    }
    picture_close(&p);

    // 2. samba.h does the same with whole tensors. From the start a session traces: ops compute
    //    nothing, but are written on a tape, called the graph. Compiling makes a program of the
    //    graph, and a run computes its outputs. Of C's own loops and ifs the graph holds only the
    //    ops they reached. Who knows the whole program before it runs can leave out work, and plan
    //    its memory (lesson 19).
    //
    //    X and Y are tensors with the values of x and y above; SAMBA_SCALAR is their shape, ().
    //    samba_grad(F, X) is our backward: it appends ops that compute how F grows with each number
    //    of X. So it has the shape of X. F is a single number; if it is several, their sum is
    //    meant.
    // > samba: f 16, grad of x 16, of y -16
    samba_session *s = samba_open(NULL);
    samba_tensor *X = samba_param(s, "x", SAMBA_SCALAR, (samba_init){ .value = 2 });
    samba_tensor *Y = samba_param(s, "y", SAMBA_SCALAR, (samba_init){ .value = -3 });
    samba_tensor *S = samba_add(samba_mul(X, Y), X);
    samba_tensor *F = samba_mul(S, S);
    samba_tensor *grad_X = samba_grad(F, X);
    samba_tensor *grad_Y = samba_grad(F, Y);

    const float three[3] = { -2, 0, 2 };
    samba_tensor *A = samba_from_data_copy(s, "a", SAMBA_F32, SAMBA_SHAPE(3), three);
    samba_tensor *grad_A = samba_grad(samba_abs(A), A);

    samba_compile(s, &(samba_program){ .outputs = { F, grad_X, grad_Y, grad_A } });
    samba_run(s, SAMBA_FWD);
    printf("samba: f %g, grad of x %g, ", number_at(F, 0), number_at(grad_X, 0));
    printf("of y %g\n", number_at(grad_Y, 0));

    // 3. Not every function has a slope everywhere: |x| falls on the left of 0 and rises on the
    //    right, with a corner between. There an op chooses one, here 0. Any from -1 to 1 would do,
    //    as a number is hardly ever exactly 0.
    // > grad of |x| at -2, 0, 2: -1 0 1
    print_numbers("grad of |x| at -2, 0, 2", samba_read(grad_A), 3, 6);
    samba_close(s);

    // 4. With this, the line of lesson 3 learns without a formula for its gradient. Its w and b are
    //    params: tensors that learning, called training, changes. The optimizer is the rule of the
    //    step; SGD is gradient descent (lesson 8 says what the letters mean). A program with a loss
    //    and an optimizer has three sections: FWD, forward, computes the loss, BCKWD, backward, the
    //    gradients, and OPT takes the step.
    //
    //    Without loss and optimizer, it has FWD alone. That is called inference.
    float hours[5] = { 0, 1, 2, 3, 4 };
    float cm[5] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };
    s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *b = samba_param(s, "b", SAMBA_SCALAR, (samba_init){ .value = 0 });
    samba_tensor *in = samba_from_data_copy(s, "hours", SAMBA_F32, SAMBA_SHAPE(5), hours);
    samba_tensor *target = samba_from_data_copy(s, "cm", SAMBA_F32, SAMBA_SHAPE(5), cm);

    samba_tensor *line = samba_add(samba_mul(in, w), b);
    samba_tensor *error = samba_sub(line, target);
    samba_tensor *loss = samba_mean(samba_mul(error, error), SAMBA_ALL_AXES, false);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });

    // 5. Compare with lesson 3: the first gradient is the same. samba_sn_grad has that of a param.
    //    A second run of BCKWD adds nothing to the first: each begins at 0, as our walk does.
    // > loss 33.878, gradient (-28.36, -10.12)
    for (int i = 0; i < 2; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    }
    double dw = number_at(samba_sn_grad(w), 0);
    double db = number_at(samba_sn_grad(b), 0);
    printf("loss %.3f, gradient (%.2f, %.2f)\n", number_at(loss, 0), dw, db);

    // 6. A hundred steps later, so is the line.
    // > step 100: w 2.030, b 0.999
    for (int i = 0; i < 100; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    }
    printf("step 100: w %.3f, b %.3f\n", number_at(w, 0), number_at(b, 0));

    // To think about:
    //   What is x's grad in x x x? In step 1, if the += of a were =? And if that of b were?
    //
    // Now you: exercise 04a is backward, 04b the order of a tape that is shuffled. `make learn`
    // begins with the first that is open, `tools/learn/learn.sh watch 04a` with 04a.
    return samba_close(s);
}
