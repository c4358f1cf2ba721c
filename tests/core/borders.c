// What lies just beyond: shapes, types and places that are refused, or that are still right, at the
// border of what an op or a function takes.
//     cc -O2 -I. tests/core/borders.c -lm -pthread -o borders && ./borders
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <string.h>

static bool refuses(samba_session *s, const void *result, const char *why)
{
    bool fine = !result && strstr(samba_error(s), why);
    if (!fine) printf("    \"%s\" should say \"%s\"\n", samba_error(s), why);
    samba_clear_error(s);
    return fine;
}

static samba_session *quiet(void)
{
    return samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
}

// ---- Convolution --------------------------------------------------------------------------------

static void test_bias_of_convolution(void)
{
    samba_session *s = quiet();
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(1, 2, 5, 5));
    samba_tensor *w = samba_rand(s, "w", SAMBA_SHAPE(4, 2, 3, 3));
    samba_tensor *few = samba_rand(s, "few", SAMBA_SHAPE(3));
    samba_tensor *many = samba_rand(s, "many", SAMBA_SHAPE(5));
    samba_tensor *flat = samba_rand(s, "flat", SAMBA_SHAPE(4, 1));
    const char *why = "must have one value for each of the 4 output channels";

    CHECK(refuses(s, samba_convolution(x, w, few, NULL), why));
    CHECK(refuses(s, samba_convolution(x, w, many, NULL), why));
    CHECK(refuses(s, samba_convolution(x, w, flat, NULL), why));
    CHECK(samba_close(s) == 0);
}

// A row has no rows that a stride, a padding or a dilation could count.
static void test_convolution_of_rows(void)
{
    samba_session *s = quiet();
    samba_tensor *in[2]
        = { samba_rand(s, "x", SAMBA_SHAPE(1, 2, 9)), samba_rand(s, "w", SAMBA_SHAPE(4, 2, 3)) };
    const int32_t plain[7] = { 1, 2, 0, 1, 1, 1, 1 };
    CHECK(samba_apply(s, "convolution", in, 2, plain, 7) != NULL);

    for (int k = 0; k < 3; k++) {
        int32_t attr[7];
        memcpy(attr, plain, sizeof attr);
        attr[2 * k]++; // stride, padding, dilation of rows
        CHECK(refuses(s, samba_apply(s, "convolution", in, 2, attr, 7), "(N,C,L)"));
    }
    CHECK(samba_close(s) == 0);
}

// ---- Int8 ---------------------------------------------------------------------------------------

static void test_int8_of_a_scalar(void)
{
    samba_session *s = quiet();
    const int8_t values[3] = { 1, 2, 3 };
    const int32_t table[3] = { 0, 1 << 30, 0 }, attr[4] = { 0, 0, -128, 127 };
    samba_tensor *in[3];
    in[0] = samba_from_data_copy(s, "x", SAMBA_I8, samba_scalar_shape(), values);
    in[1] = samba_from_data_copy(s, "w", SAMBA_I8, SAMBA_SHAPE(1, 1), values);
    in[2] = samba_from_data_copy(s, "table", SAMBA_I32, SAMBA_SHAPE(1, 3), table);
    CHECK(refuses(s, samba_apply(s, "affine_int8", in, 3, attr, 4), "affine_int8"));
    CHECK(samba_close(s) == 0);
}

// ---- Names and types ----------------------------------------------------------------------------

static void test_size_of_no_type(void)
{
    CHECK(samba_dtype_size(SAMBA_F32) == 4
          && samba_dtype_size((samba_dtype)(SAMBA_N_DTYPES - 1)) > 0);
    CHECK(samba_dtype_size(SAMBA_N_DTYPES) == 0 && samba_dtype_size((samba_dtype)-1) == 0);
}

// A program that was loaded without a graph has no tensors that could be asked for names.
static void test_names_without_a_graph(void)
{
    const char *const path = "build/borders.pef", *names[4] = { NULL, NULL, NULL, NULL };
    samba_session *s = quiet();
    samba_tensor *x = samba_input(s, "pixels", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_name(samba_relu(x), "positive");
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true, .pef = path }));
    CHECK(samba_close(s) == 0);

    s = quiet();
    CHECK(samba_load(s, path, NULL));
    CHECK(samba_input_names(s, names, 4) == 1 && !strcmp(names[0], "pixels") && !names[1]);
    CHECK(samba_output_names(s, names, 4) == 1 && !strcmp(names[0], "positive") && !names[1]);
    CHECK(samba_input_names(s, NULL, 0) == 1);
    CHECK(samba_close(s) == 0);
    remove(path);
    remove("build/borders.pef.log");
    remove("build/borders.pef.map");
}

// ---- The first op of a program ------------------------------------------------------------------

// It writes to a cache: that is no constant, although no op before it says so.
static void test_first_op_writes(void)
{
    const float rows[4] = { 1, 2, 3, 4 }, want[6] = { 0, 0, 1, 2, 3, 4 };
    const int32_t places[2] = { 1, 2 };
    samba_session *s = quiet();
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(3, 2), 0);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2));
    samba_tensor *row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_write_rows(cache, x, row);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { samba_relu(y) }, .inference = true }));
    CHECK(samba_write(x, rows) && samba_write(row, places) && samba_run(s, SAMBA_FWD));
    CHECK(memcmp(samba_read(cache), want, sizeof want) == 0);
    CHECK(samba_close(s) == 0);
}

// It steps a parameter: the loss is that itself, so nothing comes before.
static void test_first_op_steps(void)
{
    samba_session *s = quiet();
    samba_tensor *w = samba_param(s, "w", samba_scalar_shape(), (samba_init){ .value = 3 });
    samba_program p = { .loss = w, .optim = { .kind = SAMBA_SGD, .lr = 0.5f } };
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(samba_read(w)[0] == 2.5f);
    CHECK(samba_close(s) == 0);
}

// ---- What check_finite says of inputs -----------------------------------------------------------

// In a group of ops that run in place log overwrites its input, whose least value is its first, and
// its largest the last; or the other way round.
static void test_range_of_what_is_overwritten(void)
{
    enum { N = 300 };

    for (int turned = 0; turned < 2; turned++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true, .check_finite = true });
        samba_culprit culprit;
        float data[N];
        for (int i = 0; i < N; i++)
            data[i] = 1 + (float)(i % 7);
        data[turned ? N - 1 : 0] = -5;
        data[turned ? 0 : N - 1] = 9;

        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(N));
        samba_tensor *y = samba_log(samba_shift(samba_scale(x, 2), 0));
        y = samba_shift(samba_scale(samba_relu(y), 0.5f), 1);
        CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
        CHECK(samba_write(x, data) && !samba_run(s, SAMBA_FWD));
        CHECK(samba_nonfinite(s, &culprit) && culprit.n_in == 1 && !strcmp(culprit.op, "log"));
        CHECK(culprit.in[0].known && culprit.in[0].min == -10 && culprit.in[0].max == 18);
        CHECK(culprit.element == (turned ? N - 1 : 0));
        samba_close(s);
    }
}

int main(void)
{
    RUN(test_bias_of_convolution);
    RUN(test_convolution_of_rows);
    RUN(test_int8_of_a_scalar);
    RUN(test_size_of_no_type);
    RUN(test_names_without_a_graph);
    RUN(test_first_op_writes);
    RUN(test_first_op_steps);
    RUN(test_range_of_what_is_overwritten);
    return test_summary();
}
