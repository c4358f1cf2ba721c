// Sessions, errors, and the leaves of a graph: inputs, parameters, buffers, constants.
//     cc -O1 -o sessions examples/reference/sessions.c -lm -pthread && ./sessions
#include "reference.h"

// ---- Session ------------------------------------------------------------------------------------

// samba_open, samba_close: all options have defaults; what the session made goes with it.
static void open_and_close(samba_session *unused)
{
    (void)unused;
    samba_desc desc = { .seed = 7, .threads = 1 };
    samba_session *s = samba_open(&desc);    // or samba_open(NULL)
    samba_session *other = samba_open(NULL); // knows nothing of s
    holds(samba_close(other) == 0);
    holds(samba_close(s) == 0); // 1: an error was standing
}

// samba_tracing, samba_set_tracing: whether ops are recorded, or computed at once.
static void tracing(samba_session *s)
{
    holds(!samba_tracing(s)); // said in reference.h
    is(samba_scale(numbers(s, "x", SAMBA_SHAPE(2), 1, 2), 3), 3, 6);
    samba_set_tracing(s, true); // as a session begins
    samba_tensor *recorded = samba_scale(samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(2)), 3);
    holds(recorded->shape.dim[0] == 2); // it has a shape, but no value yet
}

// samba_scope_begin, samba_scope_end: a loop that computes at once frees what each turn made.
static void scopes(samba_session *s)
{
    samba_tensor *sum = samba_buffer(s, "sum", SAMBA_SHAPE(1), 0);
    for (int turn = 1; turn <= 3; turn++) {
        samba_scope_begin(s);
        samba_tensor *square = samba_full(s, SAMBA_SHAPE(1), (float)(turn * turn));
        samba_write(sum, samba_read(samba_add(sum, square)));
        samba_scope_end(s); // square is gone, sum is not
    }
    is(sum, 1 + 4 + 9);
}

// samba_set_graphamp: what waits for the backward pass is kept as bf16.
static void graphamp(samba_session *s)
{
    samba_graphamp before = samba_set_graphamp(s, SAMBA_MP1);
    holds(before == SAMBA_MP0);
    samba_set_graphamp(s, before);
}

static void count_lines(const char *text, void *user)
{
    for (; *text; text++)
        *(int *)user += *text == '\n';
}

// samba_begin_graph, samba_set_op_prefix, samba_run_graph: two graphs in one program share a
// parameter.
static void graphs(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_begin_graph(s, "double");
    samba_set_op_prefix(s, "double__");
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 5 });
    samba_tensor *twice = samba_scale(w, 2);
    samba_begin_graph(s, "negate");
    samba_set_op_prefix(s, NULL);
    samba_tensor *minus = samba_neg(w);
    samba_compile(s, &(samba_program){ .outputs = { twice, minus }, .inference = true });
    samba_run_graph(s, "negate", SAMBA_FWD);
    is(minus, -5, -5);
    samba_run_graph(s, "double", SAMBA_FWD);
    is(twice, 10, 10);
    holds(strncmp(twice->name, "double__", 8) == 0);
}

// samba_use_legacy_names: ops are called by kind and number, as in SambaFlow's older releases.
static void legacy_names(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_use_legacy_names(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 4));
    holds(strstr(samba_linear(x, "layer", 2)->name, "layer") == NULL);
}

// ---- Errors -------------------------------------------------------------------------------------

// samba_ok, samba_error_code, samba_error, samba_clear_error, samba_code_text: the first error
// stays, later calls do nothing, so that one look at the end is enough.
static void errors(samba_session *s)
{
    samba_set_quiet(s, true); // else it is printed when it happens
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(2), 1, 2);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 1, 2, 3);
    samba_tensor *y = samba_add(a, b); // shapes (2) and (3)
    holds(y == NULL && samba_neg(y) == NULL && !samba_ok(s));
    holds(samba_error_code(s) == SAMBA_ESHAPE);
    holds(strstr(samba_error(s), "(2)") != NULL); // what, where, what to do
    holds(strcmp(samba_code_text(SAMBA_ESHAPE), "shapes do not fit") == 0);
    samba_clear_error(s);
    is(samba_neg(a), -1, -2);
}

// samba_set_quiet: no error is printed while a call may fail.
static void quiet(samba_session *s)
{
    bool before = samba_set_quiet(s, true);
    if (!samba_tensor_by_name(s, "bias")) samba_clear_error(s); // it has none: all right
    samba_set_quiet(s, before);
    holds(samba_ok(s));
}

// samba_fail, samba_warn, samba_error_context: a reader of files reports as samba.h itself does.
static void own_errors(samba_session *s)
{
    samba_set_quiet(s, true);
    const char *before = samba_error_context(s, "net.txt, line 3");
    samba_warn(s, "%d layers have no name", 2); // told once, goes on
    samba_fail(s, SAMBA_EARG, "a layer cannot have %d outputs", -1);
    samba_error_context(s, before);
    holds(strstr(samba_error(s), "net.txt, line 3") != NULL);
    samba_clear_error(s);
}

// ---- Types and shapes ---------------------------------------------------------------------------

// samba_count, samba_scalar_shape, samba_dtype_size, samba_dtype_name: how large things are.
static void sizes(samba_session *s)
{
    (void)s;
    samba_shape image = SAMBA_SHAPE(3, 28, 28), scalar = samba_scalar_shape();
    holds(samba_count(&image) == 2352);
    holds(samba_count(&scalar) == 1); // no dimensions, one number
    holds(samba_dtype_size(SAMBA_BF16) == 2);
    holds(strcmp(samba_dtype_name(SAMBA_BF16), "bf16") == 0);
}

// ---- Inputs -------------------------------------------------------------------------------------

// samba_input: a place for data that each run brings.
static void input(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_scale(x, 10);
    samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true });
    samba_write(x, (float[]){ 1, 2 });
    samba_run(s, SAMBA_FWD);
    is(y, 10, 20);
}

// samba_from_data, samba_from_data_copy: tensors over your own array, or of a copy of it.
static void from_data(samba_session *s)
{
    float mine[2] = { 1, 2 };
    samba_tensor *same = samba_from_data(s, "same", SAMBA_F32, SAMBA_SHAPE(2), mine);
    samba_tensor *copy = samba_from_data_copy(s, "copy", SAMBA_F32, SAMBA_SHAPE(2), mine);
    mine[0] = 100; // mine must live as long as same
    is(same, 100, 2);
    is(copy, 1, 2);
}

// samba_zeros, samba_ones, samba_randn, samba_rand, samba_randint: named tensors with values, the
// random ones by seed and name.
static void made_inputs(samba_session *s)
{
    is(samba_zeros(s, "zeros", SAMBA_F32, SAMBA_SHAPE(2)), 0, 0);
    is(samba_ones(s, "ones", SAMBA_I32, SAMBA_SHAPE(2)), 1, 1);
    samba_tensor *normal = samba_randn(s, "normal", SAMBA_SHAPE(1000));
    holds(fabsf(samba_read(samba_mean(normal, SAMBA_ALL_AXES, false))[0]) < 0.1f);
    samba_tensor *uniform = samba_rand(s, "uniform", SAMBA_SHAPE(1000));
    holds(samba_read(samba_max(uniform, SAMBA_ALL_AXES, false))[0] < 1);
    samba_tensor *dice = samba_randint(s, "dice", 6, SAMBA_SHAPE(1000)); // 0 ... 5
    holds(samba_read_i32(dice)[0] >= 0 && samba_read_i32(dice)[0] < 6);
}

// samba_random: the words that these numbers are made of, for a generator of your own.
static void random_words(samba_session *s)
{
    (void)s;
    uint32_t a[4], b[4], other[4];
    samba_random(256, "noise", 0, a); // numbers 0 ... 3 of "noise"
    samba_random(256, "noise", 0, b);
    samba_random(256, "noise", 1, other); // numbers 4 ... 7
    holds(memcmp(a, b, sizeof a) == 0 && memcmp(a, other, sizeof a) != 0);
}

// samba_name, samba_tensor_by_name, samba_forget_name: finding a tensor again.
static void names(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2), 1, 2);
    samba_tensor *y = samba_name(samba_neg(x), "minus_x");
    holds(samba_tensor_by_name(s, "minus_x") == y);
    samba_forget_name(y); // y lives on, without being found
    samba_set_quiet(s, true);
    holds(samba_tensor_by_name(s, "minus_x") == NULL);
    samba_clear_error(s);
}

// samba_set_batch_dim: which dimension microbatches and replicas divide; it is the first one unless
// something else is said.
static void batch_dim(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(10, 32));
    holds(x->batch_dim == 0);
    samba_set_batch_dim(x, 1); // time first, then the batch
    holds(samba_set_batch_dim(samba_input(s, "table", SAMBA_F32, SAMBA_SHAPE(5)), -1)->batch_dim
          == -1); // not of the batch
}

// ---- Parameters and buffers ---------------------------------------------------------------------

// samba_param, samba_parameters: what is trained. The same name is the same parameter.
static void parameters(samba_session *s)
{
    samba_init uniform = { .kind = SAMBA_INIT_UNIFORM, .scale = 0.1f };
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2, 3), uniform);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(3), (samba_init){ .value = 0.5f });
    samba_tensor *list[8];
    holds(samba_parameters(s, list, 8) == 2 && list[0] == w && list[1] == b);
    holds(samba_param(s, "w", SAMBA_SHAPE(2, 3), uniform) == w);
    is(b, 0.5, 0.5, 0.5);
}

// samba_set_param_dtype: matrices made from here on take half of the memory.
static void half_parameters(samba_session *s)
{
    samba_dtype before = samba_set_param_dtype(s, SAMBA_BF16);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(8, 8), (samba_init){ .value = 1 });
    samba_set_param_dtype(s, before);
    holds(w->dtype == SAMBA_BF16 && samba_bytes(w) == 128);
}

// samba_buffer: state that the forward pass may change, and no optimizer does.
static void buffer(samba_session *s)
{
    is(samba_buffer(s, "running_mean", SAMBA_SHAPE(3), 0), 0, 0, 0);
}

// samba_buffer_of: the same of another type, here of half the size.
static void buffer_of(samba_session *s)
{
    samba_tensor *cache = samba_buffer_of(s, "cache", SAMBA_BF16, SAMBA_SHAPE(3), 0);
    is(samba_cast(cache, SAMBA_F32), 0, 0, 0);
}

// samba_set_requires_grad, samba_set_frozen: parameters that are used, but not trained.
static void frozen(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2));
    samba_set_frozen(s, true); // all that are made from here on
    samba_tensor *h = samba_linear_no_bias(x, "pretrained", 3);
    samba_set_frozen(s, false);
    samba_tensor *y = samba_linear_no_bias(h, "head", 1);
    samba_tensor *head = samba_tensor_by_name(s, "head__weight");
    samba_set_requires_grad(head, true); // one by one
    samba_compile(s,
                  &(samba_program){ .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                                    .optim = { .kind = SAMBA_SGD, .lr = 0.1f } });
    holds(samba_grad_names(s, NULL, 0) == 1); // of head__weight alone
}

// samba_enable_lazy_param, samba_use_lazy_param, samba_disable_lazy_param: parameters get memory
// when a value is needed; so large models can be compiled where they do not fit.
static void lazy(samba_session *s)
{
    samba_enable_lazy_param(s, &(samba_lazy_opts){ .seed = 3 });
    holds(samba_use_lazy_param(s));
    samba_tensor *huge = samba_param(s, "huge", SAMBA_SHAPE(1 << 20, 1 << 10),
                                     (samba_init){ .kind = SAMBA_INIT_NORMAL, .scale = 1 });
    holds(samba_bytes(huge) == (size_t)4 << 30); // which nobody has to have yet
    samba_session *eager = samba_open(NULL);
    samba_disable_lazy_param(eager); // each is drawn as it is made
    holds(!samba_use_lazy_param(eager));
    samba_close(eager);
}

// samba_reset_random_generator: dropout draws the same masks again.
static void draw_again(samba_session *s)
{
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(64));
    float first[64], again[64];
    samba_copy_out(samba_dropout(x, "drop", 0.5f), first, sizeof first);
    samba_reset_random_generator(s);
    samba_copy_out(samba_dropout(x, "drop", 0.5f), again, sizeof again);
    holds(memcmp(first, again, sizeof first) == 0);
}

// samba_print_graph, samba_print_ops: what was traced, and what there is to trace.
static void print(samba_session *s)
{
    int graph = 0, ops = 0;
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_relu(samba_scale(x, 2));
    samba_print_graph(s, count_lines, &graph); // a line for each op, and more
    samba_print_ops(count_lines, &ops);
    holds(graph >= 2 && ops > 100);
}

int main(void)
{
    RUN(open_and_close);
    RUN(tracing);
    RUN(scopes);
    RUN(graphamp);
    RUN(graphs);
    RUN(legacy_names);
    RUN(errors);
    RUN(quiet);
    RUN(own_errors);
    RUN(sizes);
    RUN(input);
    RUN(from_data);
    RUN(made_inputs);
    RUN(random_words);
    RUN(names);
    RUN(batch_dim);
    RUN(parameters);
    RUN(half_parameters);
    RUN(buffer);
    RUN(buffer_of);
    RUN(frozen);
    RUN(lazy);
    RUN(draw_again);
    RUN(print);
    return finish_examples();
}
