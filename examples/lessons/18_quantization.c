// Lesson 18: quantization: a net of bytes in place of floats.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/18_quantization.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson bits.svg draws. New: scale, calibration.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
enum { B = 256, WIDE = 32, N = WIDE * WIDE, STEPS = 300 };
// 1. A float takes 4 bytes, and small processors compute with it slowly (elsewhere the gain is
//    memory). So when a net has learned, a weight becomes a small integer q, and many weights share
//    a scale, what one step is worth: w is about q times scale. With 127 steps of either sign (-128
//    is left out), q is one byte. The largest weight gets all 127; the others are rounded, wrong by
//    half a step at most. A net still learns in floats: q would lose small changes. (If rounding
//    costs too much, try quantization-aware training: forward with q, steps in floats.)
static double quantize(const float *w, int n, int most, int *q)
{
    float largest = 0;
    for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(w[i]));
    double scale = (double)largest / most;
    for (int i = 0; i < n; i++) q[i] = (int)((double)w[i] / scale + (w[i] < 0 ? -0.5 : 0.5));
    return scale;
}
static void by_hand(void)
{
    const float w[8] = { 0.9f, -0.31f, 0.05f, -1.27f, 12.7f, -3, 0.4f, 8 };     // two rows
    const float x[4] = { 0.5f, 1, -0.25f, 0.75f };
    int q[8], qx[4], sum = 0;
    // > step 0.01: 90 -31 5 -127; 0.05 is 0.05
    double exact = 0, scale = quantize(w, 4, 127, q), x_scale = quantize(x, 4, 127, qx);
    printf("step %.2f: %d %d %d %d; 0.05 is %.2f\n", scale, q[0], q[1], q[2], q[3], scale * q[2]);
    // 2. The product of the row with x is a sum of integers times both scales. The sum has 32 bits,
    //    so it is exact, in any order, on any machine; what is wrong came from rounding w and x.
    // > sum -10402, worth -0.819; exact -0.825
    for (int i = 0; i < 4; i++) sum += q[i] * qx[i];
    for (int i = 0; i < 4; i++) exact += (double)w[i] * (double)x[i];
    printf("sum %d, worth %.3f; exact %.3f\n", sum, scale * x_scale * sum, exact);
    // 3. The next layer wants bytes again, in steps of, say, 0.02: sum times a fraction. Without
    //    floats that is an integer over 2^24: multiply in 64 bits, add a half to round, and shift.
    // > y is -41 steps of 0.02
    int64_t factor = (int64_t)(scale * x_scale / 0.02 * (1 << 24));
    printf("y is %d steps of 0.02\n", (int)((sum * factor + (1 << 23)) >> 24));
    // 4. A large weight makes all steps of its scale coarse. So each row has a scale of its own.
    // > step 0.10: 9 -3 1 -13; 0.05 is 0.10
    scale = quantize(w, 8, 127, q);
    printf("step %.2f: %d %d %d %d; 0.05 is %.2f\n", scale, q[0], q[1], q[2], q[3], scale * q[2]);
}
// Points of a square: are they in a circle, or on the right side, but not both?
static void next_batch(int step, samba_tensor *point, samba_tensor *label)
{
    float x[B][2];
    int32_t y[B];
    for (int b = 0; b < B; b++) {
        uint32_t dice[4];
        samba_random(18, "points", (uint64_t)(step * B + b), dice);
        int32_t p[2] = { (int32_t)(dice[0] >> 20) - 2048, (int32_t)(dice[1] >> 20) - 2048 };
        for (int i = 0; i < 2; i++) x[b][i] = (float)p[i] / 2048;
        y[b] = (p[0] > 0) != (p[0] * p[0] + p[1] * p[1] < 1500 * 1500);
    }
    samba_write(point, x);
    samba_write(label, y);
}
int main(int argc, char **argv)
{
    static float w[N], v[N], bits[7], right[7];
    static int q[N];
    by_hand();
    samba_session *s = samba_open(NULL);    // other .seed: 65 to 81 % with 2 bits, 96 to 100 with 5
    samba_tensor *point = samba_input(s, "point", SAMBA_F32, SAMBA_SHAPE(B, 2));
    samba_tensor *y = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_relu(samba_linear(point, "first", WIDE));
    h = samba_relu(samba_linear(h, "second", WIDE));
    samba_tensor *scores = samba_linear(h, "third", 2), *loss = samba_cross_entropy(scores, y);
    samba_tensor *hit = samba_cast(samba_eq(samba_argmax(scores, 1, false), y), SAMBA_F32);
    hit = samba_scale(samba_mean(hit, SAMBA_AXES(0), false), 100);      // percent
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { hit },
                                       .optim = { SAMBA_ADAMW, .lr = 0.01f } });
    for (int step = 0; step <= STEPS; step++) {
        next_batch(step, point, y);
        if (step < STEPS) samba_run(s, 0);          // the last batch is for tests
    }
    // 5. How few bits will do? One is the sign: n bits have 2^(n - 1) - 1 steps each way. Errors of
    //    both signs partly cancel (lesson 6). Percent right, by bits in layer 2, with one scale:
    // > 2 bits 71.9, 3 bits 88.7, 4 bits 96.9, 5 bits 98.4, 6 bits 98.8, 7 bits 98.8, 8 bits 98.8
    samba_tensor *second = samba_tensor_by_name(s, "second__weight");
    samba_copy_out(second, w, sizeof w);
    for (int i = 0; i < 7; i++) {
        double scale = quantize(w, N, (1 << (i + 1)) - 1, q);
        for (int k = 0; k < N; k++) v[k] = (float)(scale * q[k]);
        samba_write(second, v);
        bits[i] = (float)(i + 2);
        samba_run(s, SAMBA_FWD);
        right[i] = samba_read(hit)[0];
        printf("%d bits %.1f%s", i + 2, (double)right[i], i < 6 ? ", " : "\n");
    }
    samba_write(second, w);
    // 6. All in int8, also what passes between layers, the activations. How large they get is
    //    observed first, on some hundreds of inputs as in use: calibration. What is larger later is
    //    cut off. For weights, which have both signs, byte 0 stands for 0. After a relu nothing is
    //    below 0: so the zero point, the byte for 0, is -128, none is wasted, and x is about
    //    scale (q - zero). Biases and sums have 32 bits. Bytes of all, and of labels and tables:
    // > f32: 98.8 % right, 75136 bytes, 65536 of them activations
    // > int8: 98.4 % right, 23040 bytes, 16384 of them activations
    for (int i = 0; i < 3; i++) {
        static const samba_quantize how[] = { SAMBA_NO_QUANTIZE, SAMBA_CALIBRATE, SAMBA_INT8 };
        samba_compile(s, &(samba_program){ .outputs = { hit }, .inference = true,
                                           .quantize = how[i] });
        next_batch(i == 1 ? 0 : STEPS, point, y);       // to calibrate, not that of the test
        samba_run(s, SAMBA_FWD);
        if (i == 1) continue;
        printf("%s: %.1f %% right, %d bytes, %d of them activations\n", i ? "int8" : "f32",
               (double)samba_read(hit)[0], (int)samba_device_bytes(s), 2 * B * WIDE * (i ? 1 : 4));
    }
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "How few bits will do",
                             "Hardly a point is lost down to 5 bits, a quarter of them with 2.");
    picture_axes(&p, 2, 8, 60, 100, "bits of a weight", "percent right");
    picture_line(&p, bits, right, 7, NULL);
    picture_close(&p);
    // Exercises 18a, 18b: quantize to int8, and requantize with integers alone. Then answer:
    //   Why are sums of products of bytes kept in 32 bits? How many products surely fit?
    return samba_close(s);
}
