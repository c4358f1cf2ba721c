// Lesson 18: quantization: a net of bytes in place of floats.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/18_quantization.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson bits.svg draws.
// New: scale, calibration, zero point. Next: 19_memory_plan.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// Steps 1 to 4 stand in by_hand, the others in main.
enum { B = 256, WIDE = 32, N = WIDE * WIDE, STEPS = 300 };

// Makes integers q of n weights, from -most to most; returns what one step is worth, the scale.
static double quantize(const float *w, int n, int most, int *q)
{
    float largest = 0;
    for (int i = 0; i < n; i++) {
        largest = fmaxf(largest, fabsf(w[i]));
    }
    double scale = (double)largest / most;
    for (int i = 0; i < n; i++) {
        double half = w[i] < 0 ? -0.5 : 0.5; // to round, as (int) cuts off
        q[i] = (int)((double)w[i] / scale + half);
    }
    return scale;
}

static void print_steps(double scale, const int q[4])
{
    printf("step %.2f: %d %d %d %d; ", scale, q[0], q[1], q[2], q[3]);
    printf("0.05 is %.2f\n", scale * q[2]);
}

static void by_hand(void)
{
    const float w[8] = { 0.9f, -0.31f, 0.05f, -1.27f, 12.7f, -3, 0.4f, 8 }; // two rows
    const float x[4] = { 0.5f, 1, -0.25f, 0.75f };

    // 1. A float takes 4 bytes, and small processors compute with it slowly. So when a net has
    //    learned, each weight becomes a small integer q, and many weights share a scale, what one
    //    step is worth: w is about q times scale. With 127 steps of either sign, q is one byte. (A
    //    byte could be -128, too; that is left out, so that both signs are alike.)
    //
    //    The largest weight gets all 127; the others are rounded, wrong by half a step at most.
    //
    //    A net still learns in floats: q would lose small changes. (If rounding costs too much, try
    //    quantization-aware training: forward with q, steps in floats.)
    // > step 0.01: 90 -31 5 -127; 0.05 is 0.05
    int q[8], qx[4];
    double scale = quantize(w, 4, 127, q);
    double x_scale = quantize(x, 4, 127, qx);
    print_steps(scale, q);

    // 2. The gain is in the products: that of the row with x is a sum of integers, times both
    //    scales. The sum has 32 bits, so it is exact, in any order, on any machine. What is wrong
    //    came from rounding w and x.
    // > sum -10402, worth -0.819; exact -0.825
    int sum = 0;
    double exact = 0;
    for (int i = 0; i < 4; i++) {
        sum += q[i] * qx[i];
        exact += (double)w[i] * (double)x[i];
    }
    printf("sum %d, worth %.3f; exact %.3f\n", sum, scale * x_scale * sum, exact);

    // 3. The next layer wants bytes again, in steps of, say, 0.02: the sum times a fraction.
    //    Without floats that is an integer over 2^24: multiply in 64 bits, add a half to round, and
    //    shift. (C leaves it to the compiler what >> does below 0; gcc and clang round down, as is
    //    meant here.)
    // > y is -41 steps of 0.02
    double fraction = scale * x_scale / 0.02;
    int64_t factor = (int64_t)(fraction * (1 << 24));
    int64_t half = 1 << 23;
    printf("y is %d steps of 0.02\n", (int)((sum * factor + half) >> 24));

    // 4. One large weight makes all steps of its scale coarse: with the second row in the same
    //    scale, 0.05 becomes 0.10. So each row has a scale of its own.
    // > step 0.10: 9 -3 1 -13; 0.05 is 0.10
    scale = quantize(w, 8, 127, q);
    print_steps(scale, q);
}

// Points of a square: are they in a circle, or on the right side, but not both?
static void next_batch(int step, samba_tensor *point, samba_tensor *label)
{
    float x[B][2];
    int32_t y[B];
    for (int b = 0; b < B; b++) {
        uint32_t dice[4];
        samba_random(18, "points", (uint64_t)(step * B + b), dice);
        int32_t across = (int32_t)(dice[0] >> 20) - 2048;
        int32_t up = (int32_t)(dice[1] >> 20) - 2048;
        x[b][0] = (float)across / 2048;
        x[b][1] = (float)up / 2048;

        bool is_right = across > 0;
        bool in_circle = across * across + up * up < 1500 * 1500;
        y[b] = is_right != in_circle;
    }
    samba_write(point, x);
    samba_write(label, y);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    by_hand();

    // A net of three layers learns; hit is how many percent of a batch it gets right.
    samba_session *s = samba_open(NULL);
    samba_tensor *point = samba_input(s, "point", SAMBA_F32, SAMBA_SHAPE(B, 2));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_relu(samba_linear(point, "first", WIDE));
    h = samba_relu(samba_linear(h, "second", WIDE));
    samba_tensor *score = samba_linear(h, "third", 2);
    samba_tensor *loss = samba_cross_entropy(score, label);

    samba_tensor *answer = samba_argmax(score, 1, false);
    samba_tensor *is_hit = samba_cast(samba_eq(answer, label), SAMBA_F32);
    samba_tensor *hit = samba_scale(samba_mean(is_hit, SAMBA_AXES(0), false), 100);

    samba_optim adamw = { SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { hit }, .optim = adamw });

    for (int step = 0; step < STEPS; step++) {
        next_batch(step, point, label);
        samba_run(s, 0);
    }
    next_batch(STEPS, point, label); // not learned: for tests

    // 5. How few bits will do? One is the sign, so n bits have 2^(n - 1) - 1 steps each way. Errors
    //    of both signs partly cancel (lesson 6). Here only layer 2 is rounded, with one scale.
    //    Percent right, by the bits of a weight (nets with another .seed have 65 to 81 with 2 bits,
    //    96 to 100 with 5):
    // > 2 bits 71.9, 3 bits 88.7, 4 bits 96.9, 5 bits 98.4, 6 bits 98.8, 7 bits 98.8, 8 bits 98.8
    static float w[N], rounded[N], bits[7], right[7];
    static int q[N];
    samba_tensor *second = samba_tensor_by_name(s, "second__weight");
    samba_copy_out(second, w, sizeof w);

    for (int n = 2; n <= 8; n++) {
        int most = (1 << (n - 1)) - 1;
        double scale = quantize(w, N, most, q);
        for (int i = 0; i < N; i++) {
            rounded[i] = (float)(scale * q[i]);
        }
        samba_write(second, rounded);
        samba_run(s, SAMBA_FWD);
        bits[n - 2] = (float)n;
        right[n - 2] = samba_read(hit)[0];
        printf("%d bits %.1f%s", n, number_at(hit, 0), n < 8 ? ", " : "\n");
    }
    samba_write(second, w);

    // 6. Now all in bytes (int8), also what passes between layers: the activations, named after the
    //    bend that made them. How large those get is not known before; so it is observed first, on
    //    some hundreds of inputs as in use. This is calibration. What is larger later is cut off.
    // > f32: 98.8 % right, 75136 bytes, 65536 of them activations
    samba_program program = { .outputs = { hit }, .inference = true };
    samba_compile(s, &program);
    next_batch(STEPS, point, label);
    samba_run(s, SAMBA_FWD);
    int activations = 2 * B * WIDE;
    printf("f32: %.1f %% right, %d bytes, ", number_at(hit, 0), (int)samba_device_bytes(s));
    printf("%d of them activations\n", activations * 4);

    program.quantize = SAMBA_CALIBRATE;
    samba_compile(s, &program);
    next_batch(0, point, label); // not the batch of the test
    samba_run(s, SAMBA_FWD);

    // 7. Weights have both signs, so byte 0 stands for 0. But after a relu nothing is below 0, and
    //    half of all bytes would be wasted. So the byte that stands for 0, the zero point, is -128
    //    there, and x is about scale (q - zero). Sums have 32 bits, and so have biases: they are
    //    added to sums, in steps of the sum, and there are few of them.
    // > int8: 98.4 % right, 23040 bytes, 16384 of them activations
    program.quantize = SAMBA_INT8;
    samba_compile(s, &program);
    next_batch(STEPS, point, label);
    samba_run(s, SAMBA_FWD);
    printf("int8: %.1f %% right, %d bytes, ", number_at(hit, 0), (int)samba_device_bytes(s));
    printf("%d of them activations\n", activations);

    picture p = picture_open(path, 1, "How few bits will do",
                             "Hardly a point is lost down to 5 bits, a quarter of them with 2.");
    picture_axes(&p, 2, 8, 60, 100, "bits of a weight", "percent right");
    picture_line(&p, bits, right, 7, NULL);
    picture_close(&p);

    // To think about:
    //   Why are sums of products of bytes kept in 32 bits? How many products surely fit?
    //   In step 7 the int8 net is not a quarter of 75136 bytes. What else do the bytes hold?
    //
    // Now you: exercise 18a quantizes to int8, 18b requantizes with integers alone, as step 3 does.
    // `make learn` begins with the first that is open, `tools/learn/learn.sh watch 18a` with 18a.
    return samba_close(s);
}
