// Lesson 5: a neuron: a weighted sum, and a bend.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/05_neuron.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints. ./lesson 05.svg draws a picture, too.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

// Two switches, on (1) or off (0), make four cases. An example is an input with the output that is
// wanted for it, the target. AND wants 1 if both are on; XOR if just one of them is.
static const float cases[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const float and_target[4] = { 0, 0, 0, 1 }, xor_target[4] = { 0, 1, 1, 0 };

// A neuron: its inputs, each with a weight, are added up, with one more number, the bias. Then the
// sum goes through an activation. Here that is a step: the neuron fires, or not.
static int neuron(const int w[2], int bias, const float x[2])
{
    float sum = (float)w[0] * x[0] + (float)w[1] * x[1] + (float)bias;
    return sum > 0 ? 1 : 0;
}

// The perceptron's rule of 1958. If the neuron is wrong, add the input to its weights if it should
// have fired, else subtract it. It returns how many times it went through the cases.
static int perceptron(int w[2], int *bias, const float target[4], int limit)
{
    for (int pass = 1; pass <= limit; pass++) {
        int wrong = 0;
        for (int i = 0; i < 4; i++) {
            int error = (int)target[i] - neuron(w, *bias, cases[i]);
            for (int k = 0; k < 2; k++) w[k] += error * (int)cases[i][k];
            *bias += error;
            wrong += error != 0;
        }
        if (!wrong) return pass;
    }
    return 0;
}

// A neuron that learns by gradient descent, and how it answers between the cases: map (9,9).
static void learn(const char *name, const float target[4], float map[81])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), target);
    samba_tensor *y = samba_sigmoid(samba_linear(x, "neuron", 1));  // the weights begin random
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);        // mean squared error
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y },
                                       .optim = { SAMBA_SGD, .lr = 2 } });
    for (int i = 0; i < 1000; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    const float *w = samba_read(samba_tensor_by_name(s, "neuron__weight"));
    printf("%s: w (%.2f, %.2f), bias %.2f; loss %.4f; outputs", name, (double)w[0], (double)w[1],
           (double)samba_read(samba_tensor_by_name(s, "neuron__bias"))[0],
           (double)samba_read(loss)[0]);
    for (int i = 0; i < 4; i++) printf(" %.2f", (double)samba_read(y)[i]);
    printf("\n");

    float places[81][2];
    for (int i = 0; i < 81; i++) {
        places[i][0] = (float)(i % 9) / 4 - 0.5f;
        places[i][1] = 1.5f - (float)(i / 9) / 4;
    }
    samba_set_tracing(s, false);                            // the same neuron, computed at once
    samba_tensor *p = samba_from_data_copy(s, "p", SAMBA_F32, SAMBA_SHAPE(81, 2), places);
    samba_copy_out(samba_sigmoid(samba_linear(p, "neuron", 1)), map, 81 * sizeof *map);
    samba_close(s);
}

int main(int argc, char **argv)
{
    int w[2] = { 1, 1 }, bias = 0, v[2] = { 0, 0 }, c = 0;
    printf("by hand:");
    for (int i = 0; i < 4; i++) printf(" %d", neuron((int[2]){ 2, 2 }, -3, cases[i]));
    printf("\n");
    w[0]=w[1]=0;
    printf("%d passes", perceptron(w, &bias, and_target, 100));
    printf(" w (%d, %d), bias %d\n", w[0], w[1], bias);
    printf("xor %d passes\n", perceptron(v, &c, xor_target, 100));
    float map[81], map2[81];
    learn("AND", and_target, map);
    learn("XOR", xor_target, map2);
    text_cells(map, 9, 9, 0, 1);
    text_cells(map2, 9, 9, 0, 1);
    (void)argc; (void)argv;
    return 0;
}
