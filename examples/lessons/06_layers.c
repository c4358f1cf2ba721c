// Lesson 6, first half: layers, and why they do not begin with equal weights.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/06_layers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints.
// New: layer, hidden neuron, symmetry. Next: 06_weights.c, the second half
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "show.h"

// XOR, which no single neuron can do (lesson 5).
static const float cases[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };
static const float xor_target[4] = { 0, 1, 1, 0 };

static int relu(int sum)
{
    return sum > 0 ? sum : 0;
}

// An XOR by hand, of how many switches are on; step 2 explains it.
static int xor_by_hand(int on)
{
    int count = relu(on);
    int both = relu(on - 1);
    return count - 2 * both;
}

// XOR with a layer of n neurons, and one neuron that reads them. Weights begin as init says. Random
// ones are made from one number, the seed: the same seed, the same weights. Biases begin at 0.
static void learn_xor(const char *name, samba_init init, int n, uint64_t seed)
{
    samba_session *s = samba_open(&(samba_desc){ .seed = seed });
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), xor_target);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(n, 2), init);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(n), (samba_init){ .value = 0 });
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(1, n), init);

    samba_tensor *hidden = samba_tanh(samba_affine(x, w, b));
    samba_tensor *y = samba_affine(hidden, v, NULL);
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < 2000; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    }

    printf("%s: loss %.4f, ", name, number_at(loss, 0));
    printf("w of x[0] %.2f %.2f\n", number_at(w, 0), number_at(w, 2));
    samba_close(s);
}

int main(void)
{
    // 1. One neuron draws one line; for more, take several. A layer is n neurons with the same k
    //    inputs. Their n times k weights are a matrix W (n,k), a row for each neuron, and there are
    //    n biases b. The inputs are a batch x (B,k), a row for each example.
    //
    //    For example i, the sum of neuron j is x[i][0] W[j][0] + ... + x[i][k-1] W[j][k-1] + b[j]:
    //    a row of x times a row of W, number by number, added up. All of them together, y (B,n),
    //    are written x W^T + b (T: transposed), a product of matrices and a broadcast. That is
    //    samba_affine(x, W, b).

    // 2. Two layers can do what one cannot. Let one neuron with relu count the switches that are
    //    on, and let another fire if both are. They are hidden: only the next layer sees them. Its
    //    neuron adds 1 times the one and -2 times the other, and that is an XOR.
    //
    //    Without relu, two layers, of weights W and V, are no more than one, of weights V W:
    //    (x W^T) V^T is x (V W)^T.
    // > by hand, with 0, 1 and 2 on: 0 1 0
    printf("by hand, with 0, 1 and 2 on: ");
    printf("%d %d %d\n", xor_by_hand(0), xor_by_hand(1), xor_by_hand(2));

    // 3. To learn, a gradient must come back through a layer. Let dy (B,n) be the gradient of y.
    //    Input x[i][c] went into each neuron j, times W[j][c]. So its gradient is the sum over all
    //    j of dy[i][j] W[j][c]. For all at once: dx = dy W.
    //
    //    Weight W[j][c] met x[i][c] in each example i; so its gradient is the sum over i of
    //    dy[i][j] x[i][c]. For all: dW = dy^T x. And db is dy summed over the batch, as b was
    //    broadcast (lesson 2).

    // 4. How should weights begin? Not at 0: then the hidden outputs are 0, so v, which multiplies
    //    them, gets the gradient 0. And the gradient of w comes back times v, which is 0, too. (The
    //    bend here is tanh, a sigmoid from -1 to 1, which is 0 at 0.)
    //
    //    So every answer stays 0. Two of the four should be 1: the mean of the squares is 0.5.
    // > begun at 0: loss 0.5000, w of x[0] 0.00 0.00
    learn_xor("begun at 0", (samba_init){ .value = 0 }, 4, 0);

    // 5. Not equal, either: then all hidden neurons get equal gradients, and stay copies of one.
    //    One neuron cannot do XOR: with two equal weights its answer only rises, or only falls,
    //    with the number of switches that are on.
    //
    //    With none on it can be right, 0. For one and two on, best is the mean of what is wanted,
    //    1, 1 and 0: its outputs are 0, 2/3, 2/3, 2/3. (A loss of 0.167; after 2000 steps it is on
    //    its way there.)
    // > begun equal: loss 0.1822, w of x[0] 1.60 1.60
    learn_xor("begun equal", (samba_init){ .value = 0.5f }, 4, 0);

    // 6. Random weights differ, and each neuron goes its own way. If equal neurons change places,
    //    the net stays the same: that is a symmetry. Random weights break it. Here they are normal
    //    random numbers of size 1: most are nearer to 0 than 1, few are beyond 2.
    // > begun random: loss 0.0000, w of x[0] 0.62 1.33
    const samba_init random = { SAMBA_INIT_NORMAL, .scale = 1 };
    learn_xor("begun random", random, 4, 0);

    // 7. How many neurons does it take? Two are enough (step 2 with relu, seed 1 with tanh), but
    //    not from every start: seed 3 ends in a low point that is no XOR (many low points: lesson
    //    3). Of the seeds 0 to 19, 14 succeed with 2 neurons; with 4, all do.
    //
    //    A net is often made larger than it must be, as that makes it easier to train: the more
    //    neurons, the likelier that some begin near what is needed. How to choose their number,
    //    step 7 of lesson 9 says.
    // > 2 neurons, seed 1: loss 0.0000, w of x[0] 0.85 -2.23
    // > 2 neurons, seed 3: loss 0.1276, w of x[0] 0.80 -0.81
    learn_xor("2 neurons, seed 1", random, 2, 1);
    learn_xor("2 neurons, seed 3", random, 2, 3);

    // To think about:
    //   Which shapes have W, b and y of a layer from 784 to 10, for a batch of 32?
    //   In step 4, the bias of the hidden neurons gets no gradient either. Why?
    //
    // Now you: exercise 06a is a layer, 06c its way back (06b is for the second half). `make learn`
    // begins with the first that is open, `tools/learn/learn.sh watch 06a` with 06a.
    return 0;
}
