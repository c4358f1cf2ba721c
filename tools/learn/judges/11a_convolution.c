#include "../judge.h"
#include EXERCISE

enum { MOST = 256, AROUND = 64, HELD = 1000 };

// Errors of the kernel, of the image, of what is summed, of sizes and of y.
enum { RIGHT, FLIPPED, SWAPPED, FIRST_KERNEL, KERNEL_NO_CHANNEL, KERNEL_CHANNEL_0, KERNEL_CO,
       UNCHECKED, WRAPPED, PAST, NO_FIRST, BOUNDS_SWAPPED, CLAMPED, X_STRIDE, X_PLANE, X_CHANNEL_0,
       X_TRANSPOSED, PAD_ADDED, NO_PAD, CENTERED, NO_BIAS, BIAS_0, BIAS_PER_CHANNEL,
       BIAS_PER_PRODUCT, FIRST_CHANNEL, LAST_CHANNEL, LAST_PRODUCT, SUM_OF_SUMS, GOES_ON, BREAK,
       ONE_LESS, MEAN, SIZE_NO_PAD, SIZE_NO_ONE, SIZE_ONE_PAD, SIZE_SAME, Y_STRIDE, Y_TRANSPOSED,
       Y_CHANNELS_LAST };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { FLIPPED, "flipped",
      "the kernel is turned upside down, as in mathematics. Nets do not turn it: k[o][c][u][v] "
      "meets x[c][i + u - pad][j + v - pad]." },
    { SWAPPED, "swapped", "rows and columns of the kernel have changed places." },
    { FIRST_KERNEL, "first_kernel", "all outputs use kernel 0; output o has kernels of its own." },
    { KERNEL_NO_CHANNEL, "kernel_without_channel",
      "the kernel is indexed as (o,s,s). It is (o,c,s,s): one s x s for each channel of each "
      "output." },
    { KERNEL_CHANNEL_0, "kernel_channel_0",
      "all channels meet the kernel of channel 0. Each has one of its own, k[o][c]." },
    { KERNEL_CO, "kernel_axes", "the kernel is read as (c,o,s,s); it is (o,c,s,s)." },
    { UNCHECKED, "unchecked",
      "what lies outside of the image was read from other memory. It counts as 0: test row and "
      "column." },
    { WRAPPED, "wrapped",
      "columns outside of the image read the neighboring row. Test rows and columns, each for "
      "itself." },
    { PAST, "one_too_far", "row h or column w was read: the last are h - 1 and w - 1." },
    { NO_FIRST, "first_row_skipped",
      "row 0 and column 0 of the image were skipped, as if they were outside: skip row < 0." },
    { BOUNDS_SWAPPED, "bounds_swapped", "rows were tested against w, and columns against h." },
    { CLAMPED, "clamped",
      "outside of the image, the nearest number of its border was taken. It counts as 0." },
    { X_STRIDE, "rows_of_h", "a row of x was taken to have h numbers; it has w." },
    { X_PLANE, "planes_of_w", "a channel of x was taken to have w rows; it has h." },
    { X_CHANNEL_0, "image_channel_0", "every channel reads channel 0 of x." },
    { X_TRANSPOSED, "image_transposed", "rows and columns of x have changed places." },
    { PAD_ADDED, "pad_added", "pad is added to row and column; subtract it." },
    { NO_PAD, "no_pad", "the kernel begins at (i,j), not pad rows and columns before it." },
    { CENTERED, "centered",
      "the kernel is centered, by s / 2 rows and columns. How far before (i,j) it begins is pad." },
    { NO_BIAS, "no_bias", "the bias is missing." },
    { BIAS_0, "bias_0", "all outputs have bias 0; output o has bias[o]." },
    { BIAS_PER_CHANNEL, "bias_per_channel",
      "the bias is added for each channel; once for each y." },
    { BIAS_PER_PRODUCT, "bias_per_product",
      "the bias is added with each product; once for each y." },
    { FIRST_CHANNEL, "first_channel", "only channel 0 is summed; the sum runs over all." },
    { LAST_CHANNEL, "last_channel",
      "only the last channel is in y: begin the sum before the loop over the channels." },
    { LAST_PRODUCT, "last_product", "only the last product is in y: += adds it to those before." },
    { SUM_OF_SUMS, "sum_of_sums",
      "the sums of image and of kernel were multiplied. Multiply number by number, then add." },
    { GOES_ON, "sum_goes_on",
      "the sum goes on from one y to the next: begin it at bias[o] for each." },
    { BREAK, "break",
      "at the first place outside, the rest of the kernel's row was left out, too: skip that "
      "place alone (continue, not break)." },
    { ONE_LESS, "kernel_too_short",
      "the last row and column of the kernel are left out: u and v run from 0 to s - 1." },
    { MEAN, "mean", "the products are averaged; they are added." },
    { SIZE_NO_PAD, "size_without_pad",
      "y was taken to have h - s + 1 rows and w - s + 1 columns: + 2 pad is missing." },
    { SIZE_ONE_PAD, "size_one_pad", "pad was counted once in the size of y; it is on both sides." },
    { SIZE_NO_ONE, "size_without_one",
      "y was taken to have h + 2 pad - s rows: + 1 is missing. A kernel 3 on 3 rows has one "
      "place." },
    { SIZE_SAME, "size_of_image",
      "y was taken to be as large as the image: h + 2 pad - s + 1 rows." },
    { Y_STRIDE, "y_rows", "a row of y was taken to have as many numbers as y has rows." },
    { Y_TRANSPOSED, "y_transposed", "rows and columns of y have changed places." },
    { Y_CHANNELS_LAST, "channels_last",
      "y was written as (rows, columns, o); it is (o, rows, columns)." },
};

// x lies in the midst of known numbers, so that what is read outside of it is recognized.
static float image_at(const float *x, sizes n, int c, int row, int column, int e)
{
    int h = n.h, w = n.w, low = e == NO_FIRST;
    if (e == X_CHANNEL_0) c = 0;
    if (e == PAST || e == BOUNDS_SWAPPED) {
        h = e == PAST ? n.h + 1 : n.w;
        w = e == PAST ? n.w + 1 : n.h;
    }
    int inside = row >= low && row < h && column >= low && column < w;
    if (e == CLAMPED) {
        row = row < 0 ? 0 : row;
        row = row < h ? row : h - 1;
        column = column < 0 ? 0 : column;
        column = column < w ? column : w - 1;
        inside = 1;
    }
    int at = (c * n.h + row) * n.w + column;
    if (e == WRAPPED) inside = at >= 0 && at < n.c * n.h * n.w;
    if (e == X_STRIDE) at = (c * n.h + row) * n.h + column;
    if (e == X_PLANE) at = (c * n.w + row) * n.w + column;
    if (e == X_TRANSPOSED) at = (c * n.h + column) * n.w + row;
    return inside || e == UNCHECKED ? x[at] : 0;
}

static float kernel_at(const float *k, sizes n, int o, int c, int u, int v, int e)
{
    int p = u, q = v;
    if (e == FLIPPED) {
        p = n.s - 1 - u;
        q = n.s - 1 - v;
    }
    if (e == SWAPPED) {
        p = v;
        q = u;
    }
    if (e == FIRST_KERNEL) o = 0;
    int plane = o * n.c + c;
    if (e == KERNEL_NO_CHANNEL) plane = o;
    if (e == KERNEL_CHANNEL_0) plane = o * n.c;
    if (e == KERNEL_CO) plane = c * n.o + o;
    return k[(plane * n.s + p) * n.s + q];
}

// What one channel adds to y[o][i][j].
static float channel_sum(const float *x, const float *k, sizes n, int o, int c, int i, int j, int e)
{
    float sum = 0, of_image = 0, of_kernel = 0;
    int pad = e == NO_PAD ? 0 : n.pad;
    if (e == PAD_ADDED) pad = -pad;
    if (e == CENTERED) pad = n.s / 2;
    for (int u = 0; u < n.s - (e == ONE_LESS); u++)
        for (int v = 0; v < n.s - (e == ONE_LESS); v++) {
            int row = i + u - pad, column = j + v - pad;
            int inside = row >= 0 && row < n.h && column >= 0 && column < n.w;
            if (e == BREAK && !inside) break;
            float a = image_at(x, n, c, row, column, e), b = kernel_at(k, n, o, c, u, v, e);
            if (e == LAST_PRODUCT) sum = 0;
            sum += a * b;
            of_image += a;
            of_kernel += b;
        }
    return e == SUM_OF_SUMS ? of_image * of_kernel : sum;
}

static float output(const float *x, const float *k, const float *bias, sizes n, int o, int i, int j,
                    int e)
{
    float sum = 0, b = bias[e == BIAS_0 ? 0 : o];
    for (int c = 0; c < (e == FIRST_CHANNEL ? 1 : n.c); c++) {
        if (e == LAST_CHANNEL || e == LAST_PRODUCT) sum = 0;
        sum += channel_sum(x, k, n, o, c, i, j, e);
    }
    if (e == MEAN) sum /= (float)(n.c * n.s * n.s);
    if (e == NO_BIAS || e == LAST_PRODUCT) b = 0;
    if (e == BIAS_PER_CHANNEL) b *= (float)n.c;
    if (e == BIAS_PER_PRODUCT) b *= (float)(n.c * n.s * n.s);
    return sum + b;
}

static int compute(const float *x, const float *k, const float *bias, sizes n, int e, float *y)
{
    int rows = n.h + 2 * n.pad - n.s + 1, columns = n.w + 2 * n.pad - n.s + 1;
    int count = n.o * rows * columns, less = 0;
    float last = 0;
    for (int m = 0; m < MOST; m++)
        y[m] = HELD;
    if (e == SIZE_NO_PAD) less = 2 * n.pad;
    if (e == SIZE_NO_ONE) less = 1;
    if (e == SIZE_ONE_PAD) less = n.pad;
    if (e == SIZE_SAME) less = 2 * n.pad - n.s + 1;
    rows -= less;
    columns -= less;
    for (int o = 0; o < n.o; o++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) {
                int at = (o * rows + i) * columns + j;
                if (e == Y_STRIDE) at = (o * rows + i) * rows + j;
                if (e == Y_TRANSPOSED) at = (o * columns + j) * rows + i;
                if (e == Y_CHANNELS_LAST) at = (i * columns + j) * n.o + o;
                last = output(x, k, bias, n, o, i, j, e) + (e == GOES_ON ? last : 0);
                y[at] = last;
            }
    return count;
}

// Whether y is right with these inputs.
static int right_with(const float *x, const float *k, const float *bias, sizes n)
{
    float want[MOST], *y = judge_room(MOST, HELD);
    int count = compute(x, k, bias, n, RIGHT, want), right = 1;
    convolution(x, k, bias, y, n);
    for (int i = 0; i < count; i++)
        right &= judge_close((double)y[i], (double)want[i], 1e-4);
    free(y);
    return right;
}

// No known mistake: simpler inputs tell whether it is y and bias, the index of k or that of x.
static void narrow(const float *x, const float *k, const float *bias, sizes n)
{
    float zeros[MOST] = { 0 }, ones[MOST + 2 * AROUND];
    if (judge.mistake || right_with(x, k, bias, n)) return;
    for (int i = 0; i < MOST + 2 * AROUND; i++)
        ones[i] = 1;
    if (!right_with(x, zeros, bias, n)) {
        judge.mistake = "without_products";
        judge.sentence = "with a kernel of zeros, y should be the bias everywhere, and is not: look "
                         "at the size of y, at its index, and at bias.";
    } else if (right_with(x, ones, bias, n)) {
        judge.mistake = "only_kernel_wrong";
        judge.sentence = "with a kernel of ones y is right, so the right numbers of x lie under it: "
                         "look at which number of k meets which of x, at the index of k.";
    } else if (right_with(ones + AROUND, k, bias, n)) {
        judge.mistake = "only_image_wrong";
        judge.sentence = "with an image of ones y is right, so the kernel and what is outside are "
                         "right: look at the index of x, at row and column.";
    } else {
        judge.mistake = "sum_wrong";
        judge.sentence = "with a kernel of zeros y is right, so its size and the bias are: look at "
                         "what is summed over c, u and v, and what is left out.";
    }
}

static void image(const char *what, sizes n)
{
    float around[MOST + 2 * AROUND], *x = around + AROUND, k[MOST], bias[8];
    float want[MOST], wrong[MOST];
    unsigned state = 3;
    for (int i = 0; i < MOST + 2 * AROUND; i++) {
        state = state * 1664525u + 1013904223u;
        around[i] = (float)(state >> 24) / 16 - 8;
        state = state * 1664525u + 1013904223u;
        if (i < MOST) k[i] = (float)(state >> 24) / 64 - 2;
        if (i < 8) bias[i] = (float)(i + 1);
    }
    judge_case(what);
    int count = compute(x, k, bias, n, RIGHT, want), behind = 0;
    float *y = judge_room(MOST, HELD);
    convolution(x, k, bias, y, n);
    judge_got(y, count);
    judge_part("y", n.o * (n.h + 2 * n.pad - n.s + 1), n.w + 2 * n.pad - n.s + 1);
    for (unsigned e = 0; e < sizeof mistakes / sizeof *mistakes; e++) {
        compute(x, k, bias, n, mistakes[e].e, wrong);
        judge_mistake(mistakes[e].name, mistakes[e].sentence, wrong, count);
    }
    narrow(x, k, bias, n);
    judge_want(want, count, 1e-4);
    for (int i = count; i < MOST; i++)
        behind |= y[i] != HELD;
    judge_holds(!behind, "past_the_end",
                "it writes behind the end of y: there are "
                "h + 2 pad - s + 1 rows and w + 2 pad - s + 1 columns.");
    free(y);
    float *own[] = { judge_copy(x, sizeof(float) * (size_t)(n.c * n.h * n.w)),
                     judge_copy(k, sizeof(float) * (size_t)(n.o * n.c * n.s * n.s)),
                     judge_copy(bias, sizeof(float) * (size_t)n.o), judge_room(count, HELD) };
    convolution(own[0], own[1], own[2], own[3], n); // for the sanitizer: arrays of their sizes
    for (int i = 0; i < 4; i++)
        free(own[i]);
}

int main(void)
{
    judge_begin();
    image("one channel 5 x 6, one kernel 3 x 3", (sizes){ 1, 5, 6, 1, 3, 0 });
    image("two outputs (with one, y is right)", (sizes){ 1, 5, 6, 2, 3, 0 });
    image("three channels 4 x 5, two outputs (with one channel, y is right)",
          (sizes){ 3, 4, 5, 2, 3, 0 });
    image("three channels 4 x 5, two outputs, padding 1 (without padding, y is right)",
          (sizes){ 3, 4, 5, 2, 3, 1 });
    image("two channels 6 x 3, two kernels 2 x 2", (sizes){ 2, 6, 3, 2, 2, 0 });
    image("kernels 1 x 1", (sizes){ 3, 2, 2, 4, 1, 0 });
    image("one channel 3 x 2, one kernel 2 x 2, padding 2", (sizes){ 1, 3, 2, 1, 2, 2 });
    return judge_end();
}
