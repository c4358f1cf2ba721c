// Lesson 5: a neuron: a weighted sum, and a bend.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/05_neuron.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 05.svg draws.
// New: neuron, sigmoid, relu. Next: 06_layers.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// Two switches, on (1) or off (0), make four cases. An example is an input together with the output
// that is wanted for it, the target. AND wants 1 if both are on; XOR if just one of them is.
static const float cases[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const float and_target[4] = { 0, 0, 0, 1 };
static const float xor_target[4] = { 0, 1, 1, 0 };

// A neuron: each input is multiplied by a weight, all are added up, and one more number is added,
// the bias. Then the sum goes through an activation, the bend. Here that is a step: the neuron
// fires, or not.
static int neuron(const int w[2], int bias, const float x[2])
{
    float sum = (float)w[0] * x[0] + (float)w[1] * x[1] + (float)bias;
    return sum > 0;
}

// Three bends that are not flat; steps 2 and 6 are about them.
enum bend { SIGMOID, RELU, LEAKY };

static samba_tensor *bent(samba_tensor *sum, enum bend bend)
{
    switch (bend) {
    case SIGMOID:
        return samba_sigmoid(sum);
    case RELU:
        return samba_relu(sum);
    default:
        return samba_leaky_relu(sum, 0.1f);
    }
}

// 25 places between the four cases: x[0] from 0 to 1 in columns, x[1] from 1 to 0 in rows.
static void fill_places(float places[25][2])
{
    for (int row = 0; row < 5; row++) {
        for (int column = 0; column < 5; column++) {
            places[5 * row + column][0] = (float)column / 4;
            places[5 * row + column][1] = (float)(4 - row) / 4;
        }
    }
}

// A neuron learns by gradient descent, as the line of lesson 4 did. Its weights begin at 0.5, its
// bias at 0. samba_affine is the weighted sum with bias, for all four cases at once. When it has
// learned, it answers at the 25 places, and map gets the answers.
static void learn(const char *name, const float target[4], enum bend bend, float lr, float map[25])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), target);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1, 2), (samba_init){ .value = 0.5f });
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(1), (samba_init){ .value = 0 });
    samba_tensor *y = bent(samba_affine(x, w, b), bend);
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN); // the mean of the squared errors

    samba_optim sgd = { SAMBA_SGD, .lr = lr };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y }, .optim = sgd });
    for (int i = 0; i < 1000; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    }

    printf("%s: loss %.3f, outputs", name, number_at(loss, 0));
    for (int i = 0; i < 4; i++) {
        printf(" %.2f", number_at(y, i));
    }
    printf(", w (%.2f, %.2f), ", number_at(w, 0), number_at(w, 1));
    printf("bias %.2f\n", number_at(b, 0));

    float places[25][2];
    fill_places(places);
    samba_set_tracing(s, false); // now the same neuron, at once
    samba_tensor *p = samba_from_data_copy(s, "places", SAMBA_F32, SAMBA_SHAPE(25, 2), places);
    samba_tensor *answer = bent(samba_affine(p, w, b), bend);
    samba_copy_out(answer, map, 25 * sizeof *map);
    samba_close(s);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    float map[5][25];

    // 1. A neuron is simple enough to be set by hand. With weights (2,2) and bias -3 it is an AND:
    //    2 + 2 - 3 is above 0, 2 - 3 is not. The weights say how much an input counts, for it or,
    //    below 0, against it. The bias says how much it takes to fire. With k inputs, these are
    //    k + 1 parameters.
    // > by hand: 0 0 0 1
    const int w[2] = { 2, 2 };
    printf("by hand:");
    for (int i = 0; i < 4; i++) {
        printf(" %d", neuron(w, -3, cases[i]));
    }
    printf("\n");

    // 2. But we want it to learn its weights. The step is no use for this: it is flat on both
    //    sides, so a loss made of it has gradient 0.
    //
    //    Take a smooth step, the sigmoid: far below 0 it is nearly 0, far above nearly 1, and at 0
    //    it is 0.5. As a formula, y = 1 / (1 + e^-sum).
    //
    //    Its slope is y (1 - y), largest in the middle, almost 0 far away. (With u = e^-sum, y is
    //    1 / (1 + u), and its slope is u / (1 + u)^2: that is y times u / (1 + u), which is 1 - y.)
    //
    //    By the chain rule (lesson 4) the squared error has, for weight k and target t, the slope
    //    2 (y - t) y (1 - y) x[k]. In the map, darker is nearer to 1.
    // > AND: loss 0.003, outputs 0.00 0.06 0.06 0.93, w (5.48, 5.48), bias -8.32
    // >   ::--++%%@@
    // >   ..::--++%%
    // >   ....::--++
    // >   ......::--
    // >   ........::
    learn("AND", and_target, SIGMOID, 2, map[0]);
    text_cells(map[0], 5, 5, -0.2f, 1);

    // 3. What has it learned? Yes means y above 0.5, so the sum above 0. The border lies where the
    //    sum is 0: a straight line, here x[0] + x[1] = 8.32 / 5.48. Drawn as an arrow (a vector), w
    //    points to the side of yes, and the bias moves the line.
    //
    //    With w and bias twice as large the line stays, but y is nearer to 0 or 1: the neuron is
    //    surer. It never gets to 1.

    // 4. A straight line cannot do everything. For XOR, none parts the 1s from the 0s: the middle
    //    between its two 1s is also the middle between its two 0s, and would lie on both sides of
    //    the line. So no neuron is an XOR. Descent from small weights ends at w = 0, with all
    //    outputs at 0.5, the mean of the targets.
    // > XOR: loss 0.250, outputs 0.50 0.50 0.50 0.50, w (0.00, 0.00), bias -0.00
    learn("XOR", xor_target, SIGMOID, 2, map[1]);

    // 5. In practice inputs have all sizes, and that hurts: the slope of weight k has x[k] in it.
    //    Inputs of size 1 and of size 1000 have slopes so far apart that no lr suits both. So bring
    //    inputs to like sizes first.

    // 6. The sigmoid's slope fades where it is sure. Another bend is relu, max(sum, 0): its slope
    //    is 1 above 0, and does not fade. Below 0 the slope is 0. If the sum is above 0 for no
    //    example, no weight gets a gradient any more: the neuron is dead, and its output 0.
    //
    //    Here the first step with lr 1 is too long, and kills it. A smaller lr avoids that. Or take
    //    leaky relu: its slope below 0 is 0.1, not 0, so the neuron comes back.
    // > relu, lr 0.1: loss 0.000, outputs 0.00 0.00 0.00 1.00, w (1.00, 1.00), bias -1.00
    // > relu, lr 1: loss 0.250, outputs 0.00 0.00 0.00 0.00, w (0.25, 0.25), bias -0.50
    // > leaky relu, lr 1: loss 0.003, outputs -0.10 0.02 0.02 1.03, w (0.99, 0.99), bias -1.02
    learn("relu, lr 0.1", and_target, RELU, 0.1f, map[2]);
    learn("relu, lr 1", and_target, RELU, 1, map[3]);
    learn("leaky relu, lr 1", and_target, LEAKY, 1, map[4]);

    // 7. Which bend is for what? The sigmoid, where a net ends in a yes or no. Inside, relu: a
    //    slope y (1 - y) is at most 1/4, and many in a row leave no gradient. For XOR, neurons
    //    become inputs of a neuron (lesson 6), with a bend between: a weighted sum of weighted sums
    //    is only a weighted sum again.
    picture p = picture_open(path, 3, "A neuron cuts the plane along a line",
        "AND: dark where both inputs are near 1. XOR: grey everywhere. Relu: 0, then a slope.");
    static const char *const labels[] = { "x[0], AND", "x[0], XOR", "x[0], AND by relu" };
    for (int i = 0; i < 3; i++) {
        picture_axes(&p, -0.125, 1.125, -0.125, 1.125, labels[i], "x[1]");
        picture_cells(&p, map[i], 5, 5, 1);
    }
    picture_close(&p);

    // To think about:
    //   Find by hand weights for OR, and for "x[0] but not x[1]". Which other case has none?
    //   What would the sigmoid's slope y (1 - y) do to a neuron that is sure, and wrong?
    //
    // Now you: exercise 05a is a neuron, 05b one step of its learning. `make learn` begins with the
    // first that is open, `tools/learn/learn.sh watch 05a` with 05a.
    return 0;
}
