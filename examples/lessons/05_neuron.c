// Lesson 5: a neuron: a weighted sum, and a bend.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/05_neuron.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 05.svg draws. New: neuron, sigmoid, relu.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

// Two switches, on (1) or off (0), make four cases. An example is an input with the output that is
// wanted for it, the target. AND wants 1 if both are on; XOR if just one of them is.
static const float cases[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const float and_target[4] = { 0, 0, 0, 1 }, xor_target[4] = { 0, 1, 1, 0 };

// A neuron: its inputs, each with a weight, are added up, with one more number, the bias. Then the
// sum goes through an activation, the bend. Here that is a step: the neuron fires, or not.
static int neuron(const int w[2], int bias, const float x[2])
{
    return (float)w[0] * x[0] + (float)w[1] * x[1] + (float)bias > 0;
}

// The perceptron's rule of 1958: after a wrong answer, the input is added to the weights if the
// neuron should have fired, and subtracted if not. A pass shows all cases; one without errors ends.
static void perceptron(const char *name, const float target[4])
{
    int w[2] = { 0, 0 }, bias = 0, wrong = 1, pass = 0;
    for (; wrong && pass < 100; pass++) {
        wrong = 0;
        for (int i = 0; i < 4; i++) {
            int error = (int)target[i] - neuron(w, bias, cases[i]);
            for (int k = 0; k < 2; k++) w[k] += error * (int)cases[i][k];
            bias += error;
            wrong += error != 0;
        }
    }
    printf("perceptron, %s: %d wrong in pass %d, w (%d, %d), bias %d\n", name, wrong, pass, w[0],
           w[1], bias);
}

// A neuron with a smooth bend learns by gradient descent. samba_linear makes its weights and bias,
// small random numbers; called again with the same name, it finds them. Fills in the answers
// between the cases: map (5,5), x[0] from 0 to 1 in columns, x[1] from 1 to 0 in rows.
static void learn(const char *name, const float target[4], float map[25])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), target);
    samba_tensor *y = samba_sigmoid(samba_linear(x, "neuron", 1));
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);        // mean, not sum, of the squares
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y },
                                       .optim = { SAMBA_SGD, .lr = 2 } });
    for (int i = 0; i < 1000; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("%s: loss %.3f, outputs", name, (double)samba_read(loss)[0]);
    for (int i = 0; i < 4; i++) printf(" %.2f%s", (double)samba_read(y)[i], i < 3 ? "" : "\n");
    float places[25][2];
    for (int i = 0; i < 25; i++) {
        places[i][0] = (float)(i % 5) / 4;
        places[i][1] = 1 - (float)(i / 5) / 4;
    }
    samba_set_tracing(s, false);                            // the same neuron, computed at once
    samba_tensor *p = samba_from_data_copy(s, "places", SAMBA_F32, SAMBA_SHAPE(25, 2), places);
    samba_copy_out(samba_sigmoid(samba_linear(p, "neuron", 1)), map, 25 * sizeof *map);
    samba_close(s);
}

int main(int argc, char **argv)
{
    // 1. With weights (2,2) and bias -3 the neuron is an AND: 2 + 2 - 3 is above 0, 2 - 3 is not.
    //    The weights say how much an input counts, for it or against it (below 0); the bias, how
    //    much it takes to fire. With k inputs, these are k + 1 parameters.
    // > by hand: 0 0 0 1
    printf("by hand:");
    for (int i = 0; i < 4; i++)
        printf(" %d%s", neuron((int[2]){ 2, 2 }, -3, cases[i]), i < 3 ? "" : "\n");

    // 2. The rule finds weights, if there are any. But it is not gradient descent: the step is flat
    //    on both sides, so a loss made of it has gradient 0, and does not say where to go.
    // > perceptron, AND: 0 wrong in pass 6, w (2, 1), bias -2
    perceptron("AND", and_target);

    // 3. So take a smooth step: the sigmoid, y = 1 / (1 + e^-sum), which rises from 0 to 1 and is
    //    0.5 where the sum is 0. Its slope is y (1 - y), largest there, almost 0 far away. By the
    //    chain rule (lesson 4) the slope of a squared error for weight k, with target t, is
    //    2 (y - t) y (1 - y) x[k]. As x[k] is in it, inputs of size 1 and 1000 have slopes so far
    //    apart that no lr suits both: bring them to like sizes. In the map, darker is nearer to 1.
    // > AND: loss 0.003, outputs 0.00 0.06 0.06 0.93
    // >   ::--++%%@@
    // >   ..::--++%%
    // >   ....::--++
    // >   ......::--
    // >   ........::
    float map[2][25];
    learn("AND", and_target, map[0]);
    text_cells(map[0], 5, 5, -0.2f, 1);

    // 4. The sum w[0] x[0] + w[1] x[1] + bias is 0 on a straight line, which without a bias would
    //    go through (0,0). On one side the neuron fires (y is above 0.5), on the other not. For
    //    XOR, no line parts the 1s from the 0s, so no neuron is an XOR. The perceptron never ends;
    //    descent from small weights ends with all outputs at 0.5, the mean of the targets.
    // > perceptron, XOR: 4 wrong in pass 100, w (-1, 0), bias 1
    // > XOR: loss 0.250, outputs 0.50 0.50 0.50 0.50
    perceptron("XOR", xor_target);
    learn("XOR", xor_target, map[1]);

    // 5. What helps is a second layer, neurons whose inputs are neurons: lesson 6. Without a bend
    //    between them, two layers are no more than one. A common bend is relu, max(sum, 0). Above
    //    0, its slope is 1 and does not fade. Below 0, it is 0: if the sum is below 0 for all
    //    examples, the neuron's weights get no gradient. It is dead, unless its inputs change.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A neuron cuts the plane along a line",
        "AND: dark where both inputs are near 1, the rest light. XOR: the same grey everywhere.");
    for (int i = 0; i < 2; i++) {
        picture_axes(&p, -0.125, 1.125, -0.125, 1.125, i ? "x[0], XOR" : "x[0], AND", "x[1]");
        picture_cells(&p, map[i], 5, 5, 1);
    }
    picture_close(&p);

    // Exercises 05a and 05b (make learn) are a neuron, and one step of its learning. Then:
    //   Find by hand weights for OR, and for "x[0] but not x[1]". XOR has a twin with none: which?
    //   Why does a neuron with a step not learn by gradient descent, and one with a sigmoid does?
    //   What would the sigmoid's slope y (1 - y) do to a neuron that is sure, and wrong?
    return 0;
}
