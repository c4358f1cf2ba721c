// Mistakes that users make. Each must end in an error with the right code, whose text names what is
// involved and says what to do; nothing crashes; after samba_clear_error the session works on.
//     cc -O2 -I. tests/core/mistakes.c -lm -pthread -o mistakes && ./mistakes [print]
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_DOT_GRAPH_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/torch_names.h"
#include "tools/include/samba/driver.h"
#include "tools/include/samba/dot_graph.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/hook.h"
#include <math.h>
#include <unistd.h>

enum { B = 4, F = 6, C = 3, V = 5, LONG = 600 };

// What a mistake is made with: a session, tensors of a small model, and files beside the program.
typedef struct fixture {
    samba_session *s, *other;
    samba_tensor *x, *y, *label, *ids, *image, *cond, *w, *logits, *hidden, *loss, *foreign;
    const char *file, *pef, *other_pef, *missing;
} fixture;

typedef enum stage { TRACING, TRAINING, INFERENCE, MICROBATCHES } stage;

typedef struct mistake {
    const char *name;
    stage when;
    void (*make)(fixture *f);
    samba_code code;
    const char *words; // separated by '|': each must be in the message
} mistake;

static const char *program_path = "mistakes";
static bool print_messages;

// The error of another session, reported through the fixture's.
static void pass_on(fixture *f, samba_session *s)
{
    const char *text = strchr(samba_error(s), ' '); // what follows the code's name
    CHECK(!samba_ok(s));
    if (text) samba_fail(f->s, samba_error_code(s), "%s", text + 1);
    samba_close(s);
}

// ---- Shapes and types ----

static void add_shapes(fixture *f)
{
    samba_add(f->x, f->y);
}

static void add_null(fixture *f)
{
    samba_add(f->x, NULL);
}

static void matmul_inner(fixture *f)
{
    samba_matmul(f->x, f->y);
}

static void matmul_scalar(fixture *f)
{
    samba_matmul(f->x, samba_number(f->s, 2.0f));
}

static void matmul_integer(fixture *f)
{
    samba_matmul(f->ids, f->x);
}

static void affine_weight(fixture *f)
{
    samba_affine(f->x, f->w, NULL);
}

static void affine_bias(fixture *f)
{
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    samba_tensor *w = samba_param(f->s, "wide", SAMBA_SHAPE(C, F), zero);
    samba_affine(f->x, w, samba_param(f->s, "short", SAMBA_SHAPE(C + 1), zero));
}

static void conv_channels(fixture *f)
{
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    samba_tensor *w = samba_param(f->s, "filters", SAMBA_SHAPE(4, 7, 3, 3), zero);
    samba_convolution(f->image, w, NULL, NULL);
}

static void conv_kernel(fixture *f)
{
    samba_conv2d(f->image, "conv", 4, 50, NULL);
}

static void conv_groups(fixture *f)
{
    samba_conv_opts opts = { { 0, 0 }, { 0, 0 }, { 0, 0 }, 3 };
    samba_conv2d(f->image, "conv", 4, 3, &opts);
}

static void conv_of_rows(fixture *f)
{
    samba_conv2d(f->x, "conv", 4, 3, NULL);
}

static void cat_shapes(fixture *f)
{
    samba_tensor *parts[2];
    parts[0] = f->x;
    parts[1] = f->y;
    samba_cat(parts, 2, 0);
}

static void cat_axis(fixture *f)
{
    samba_tensor *parts[2];
    parts[0] = f->x;
    parts[1] = f->y;
    samba_cat(parts, 2, 2);
}

static void where_condition(fixture *f)
{
    samba_matmul(f->cond, f->x);
}

static void lookup_of_floats(fixture *f)
{
    samba_embedding(f->x, "table", V, 2);
}

static void gather_floats(fixture *f)
{
    samba_gather(f->x, 1, f->x);
}

static void loss_of_floats(fixture *f)
{
    samba_cross_entropy(f->y, f->y);
}

static void loss_shapes(fixture *f)
{
    samba_cross_entropy(f->y, samba_input(f->s, "labels5", SAMBA_I32, SAMBA_SHAPE(B + 1)));
}

static void mse_shapes(fixture *f)
{
    samba_mse(f->x, f->y, SAMBA_REDUCE_MEAN);
}

static void reshape_count(fixture *f)
{
    samba_reshape(f->x, SAMBA_SHAPE(5, 5));
}

static void reshape_inferred(fixture *f)
{
    samba_reshape(f->x, SAMBA_SHAPE(5, -1));
}

static void reshape_huge(fixture *f)
{
    samba_reshape(f->x, SAMBA_SHAPE(2147483647, 2147483647, 2147483647));
}

static void reshape_rank(fixture *f)
{
    samba_shape shape = SAMBA_SHAPE(B, F);
    shape.ndim = 20;
    samba_reshape(f->x, shape);
}

static void softmax_axis(fixture *f)
{
    samba_softmax(f->x, 2);
}

static void sum_axis(fixture *f)
{
    samba_sum(f->x, SAMBA_AXES(0, 3), false);
}

static void sum_twice(fixture *f)
{
    samba_sum(f->x, SAMBA_AXES(1, -1), false);
}

static void argmax_axis(fixture *f)
{
    samba_argmax(f->x, -3, false);
}

static void permute_axes(fixture *f)
{
    samba_permute(f->x, SAMBA_AXES(1, 1));
}

static void transpose_axes(fixture *f)
{
    samba_transpose(f->x, 0, 2);
}

static void slice_empty(fixture *f)
{
    samba_slice(f->x, 1, 4, 4, 1);
}

static void slice_axis(fixture *f)
{
    samba_slice(f->x, 7, 0, 1, 1);
}

static void squeeze_wide(fixture *f)
{
    samba_squeeze(f->x, 1);
}

static void squeeze_axis(fixture *f)
{
    samba_squeeze(f->x, 9);
}

static void unsqueeze_axis(fixture *f)
{
    samba_unsqueeze(f->x, B * F);
}

static void flatten_axis(fixture *f)
{
    samba_flatten(f->x, 4);
}

static void expand_shape(fixture *f)
{
    samba_expand(f->x, SAMBA_SHAPE(B, 2 * F));
}

static void split_axis(fixture *f)
{
    samba_tensor *parts[4];
    samba_split(f->x, 2, 5, parts, 4);
}

static void pool_window(fixture *f)
{
    samba_pool_opts opts = { { 40, 40 }, { 0, 0 }, { 0, 0 }, false, false };
    samba_max_pool2d(f->image, &opts);
}

static void norm_channels(fixture *f)
{
    samba_init one = { SAMBA_INIT_CONSTANT, 1.0f, 0.0f };
    samba_tensor *g = samba_param(f->s, "gain", SAMBA_SHAPE(F + 1), one);
    samba_layer_normalize(f->x, g, NULL, 1e-5f);
}

static void attention_widths(fixture *f)
{
    samba_scaled_dot_product_attention(f->x, f->y, f->y, NULL, NULL);
}

static void cast_type(fixture *f)
{
    samba_cast(f->x, (samba_dtype)77);
}

// ---- Names, leaves, layers ----

static void name_twice(fixture *f)
{
    samba_input(f->s, "x", SAMBA_I32, SAMBA_SHAPE(B));
}

static void layer_reshaped(fixture *f)
{
    samba_linear(f->x, "fc1", C);
    samba_linear(f->x, "fc1", C + 1);
}

static void name_missing(fixture *f)
{
    samba_input(f->s, NULL, SAMBA_F32, SAMBA_SHAPE(B));
}

static void name_empty(fixture *f)
{
    samba_linear(f->x, "", C);
}

static void layer_unnamed(fixture *f)
{
    samba_linear(f->x, NULL, C);
}

static void name_with_newline(fixture *f)
{
    samba_input(f->s, "two\nlines", SAMBA_F32, SAMBA_SHAPE(B));
}

static void long_name_twice(fixture *f)
{
    char name[5000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    samba_input(f->s, name, SAMBA_F32, SAMBA_SHAPE(B));
    samba_input(f->s, name, SAMBA_F32, SAMBA_SHAPE(C));
}

static void shape_negative(fixture *f)
{
    samba_input(f->s, "empty", SAMBA_F32, SAMBA_SHAPE(B, 0));
}

static void type_unknown(fixture *f)
{
    samba_input(f->s, "odd", (samba_dtype)19, SAMBA_SHAPE(B));
}

static void layer_of_none(fixture *f)
{
    samba_linear(f->x, "none", 0);
}

static void layer_negative(fixture *f)
{
    samba_conv2d(f->image, "conv", -2, 3, NULL);
}

static void data_null(fixture *f)
{
    samba_from_data(f->s, "data", SAMBA_F32, SAMBA_SHAPE(B), NULL);
}

static void randint_high(fixture *f)
{
    samba_randint(f->s, "draws", 0, SAMBA_SHAPE(B));
}

static void dropout_rate(fixture *f)
{
    samba_dropout(f->x, "drop", 2.0f);
}

static void dropout_unnamed(fixture *f)
{
    samba_dropout(f->x, NULL, 0.5f);
}

static void batch_dim_range(fixture *f)
{
    samba_set_batch_dim(f->x, 2);
}

static void unknown_tensor(fixture *f)
{
    samba_tensor_by_name(f->s, "fc__wieght");
}

static void foreign_operand(fixture *f)
{
    samba_add(f->x, f->foreign);
}

static void foreign_output(fixture *f)
{
    samba_program p = { 0 };
    p.inference = true;
    p.outputs[0] = f->foreign;
    samba_compile(f->s, &p);
}

static void foreign_gradient(fixture *f)
{
    samba_grad(f->loss, f->foreign);
}

static void op_after_error(fixture *f)
{
    CHECK(!samba_add(f->x, f->y));
    CHECK(!samba_tanh(f->x) && !samba_linear(f->x, "late", C));
    CHECK(!samba_input(f->s, "late", SAMBA_F32, SAMBA_SCALAR));
    CHECK(samba_read(f->x)[0] == 0.0f && samba_read_i32(f->label)[0] == 0);
    CHECK(!samba_run(f->s, 0) && !samba_save(f->s, f->file) && !samba_set(f->s, "lr", 1.0));
    CHECK(!samba_tensor_by_name(f->s, "nobody") && samba_get(f->s, "lr") == 0.0);
    CHECK(!samba_fail(f->s, SAMBA_EIO, "later"));
}

// ---- Gradients, ops by name ----

static void gradient_of_integer(fixture *f)
{
    samba_grad(samba_argmax(f->x, 1, false), f->x);
}

static void gradient_unrelated(fixture *f)
{
    samba_grad(f->loss, f->y);
}

static void apply_unknown(fixture *f)
{
    samba_tensor *in[1];
    in[0] = f->x;
    samba_apply(f->s, "tahn", in, 1, NULL, 0);
}

static void apply_too_few(fixture *f)
{
    samba_tensor *in[1];
    in[0] = f->x;
    samba_apply(f->s, "matmul", in, 1, NULL, 0);
}

static void apply_null(fixture *f)
{
    samba_apply(f->s, "tanh", NULL, 1, NULL, 0);
}

static void apply_negative(fixture *f)
{
    samba_apply(f->s, "tanh", &f->x, -1, NULL, 0);
}

static void apply_too_many(fixture *f)
{
    samba_tensor *in[20];
    for (int i = 0; i < 20; i++)
        in[i] = f->x;
    samba_apply(f->s, "cat", in, 20, NULL, 0);
}

static void apply_without_factor(fixture *f)
{
    samba_apply(f->s, "scale", &f->x, 1, NULL, 0);
}

static void apply_without_slope(fixture *f)
{
    samba_call_function(f->s, "F.leaky_relu", &f->x, 1, NULL, 0);
}

static void apply_without_axis(fixture *f)
{
    samba_call_function(f->s, "F.softmax", &f->x, 1, NULL, 0);
}

static void apply_without_eps(fixture *f)
{
    samba_apply(f->s, "layer_norm", &f->x, 1, NULL, 0);
}

static void apply_more_attributes(fixture *f)
{
    const int32_t one = 1;
    samba_apply(f->s, "relu", &f->x, 1, &one, 1);
}

static void half_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = 0.5f * a->in[0][i];
}

static samba_op half_op(void)
{
    samba_op op = { 0 };
    op.name = "half";
    op.wire = 0x8001;
    op.signature = "*->*";
    op.kernel = half_kernel;
    return op;
}

static void register_null(fixture *f)
{
    samba_register_op(f->s, NULL);
}

static void register_kernel(fixture *f)
{
    samba_op op = half_op();
    op.kernel = NULL;
    samba_register_op(f->s, &op);
}

static void register_wire(fixture *f)
{
    samba_op op = half_op();
    op.wire = 32767;
    samba_register_op(f->s, &op);
}

static void register_name(fixture *f)
{
    samba_op op = half_op();
    op.name = "add";
    samba_register_op(f->s, &op);
}

static void register_twice(fixture *f)
{
    samba_op op = half_op();
    CHECK(samba_register_op(f->s, &op));
    op.name = "other_half";
    samba_register_op(f->s, &op);
}

static void register_without_gradient(fixture *f)
{
    samba_program p = { 0 };
    samba_op op = half_op();
    CHECK(samba_register_op(f->s, &op));
    samba_tensor *h = samba_linear(f->x, "fc1", C);
    p.loss = samba_sum(samba_apply(f->s, "half", &h, 1, NULL, 0), SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_SGD;
    samba_compile(f->s, &p);
}

// ---- Programs ----

static samba_program small_program(fixture *f)
{
    samba_program p = { 0 };
    p.loss = f->loss;
    p.outputs[0] = f->logits;
    p.optim.kind = SAMBA_SGD;
    p.optim.lr = 0.1f;
    p.optim.momentum = 0.9f;
    return p;
}

static void compile_null(fixture *f)
{
    samba_compile(f->s, NULL);
}

static void compile_nothing(fixture *f)
{
    samba_program p = { 0 };
    samba_compile(f->s, &p);
}

static void compile_loss_index(fixture *f)
{
    samba_program p = small_program(f);
    p.loss = NULL;
    p.n_loss_indices = 1;
    p.loss_indices[0] = 1;
    samba_compile(f->s, &p);
}

static void compile_integer_loss(fixture *f)
{
    samba_program p = small_program(f);
    p.loss = samba_argmax(f->logits, 1, false);
    samba_compile(f->s, &p);
}

static void compile_microbatches(fixture *f)
{
    samba_program p = small_program(f);
    p.microbatches = -3;
    samba_compile(f->s, &p);
}

static void compile_two_owners(fixture *f)
{
    samba_program p = small_program(f);
    samba_tensor *w = samba_tensor_by_name(f->s, "fc__weight");
    samba_optim optims[2];
    optims[0] = p.optim;
    optims[0].params = &w;
    optims[0].n_params = 1;
    optims[1] = optims[0];
    p.optims = optims;
    p.n_optims = 2;
    memset(&p.optim, 0, sizeof p.optim);
    samba_compile(f->s, &p);
}

static void compile_not_a_parameter(fixture *f)
{
    samba_program p = small_program(f);
    p.optim.params = &f->x;
    p.optim.n_params = 1;
    samba_compile(f->s, &p);
}

static void compile_no_optimizer_kind(fixture *f)
{
    samba_program p = small_program(f);
    samba_optim optims[1];
    optims[0] = p.optim;
    optims[0].kind = SAMBA_NO_OPTIM;
    p.optims = optims;
    p.n_optims = 1;
    memset(&p.optim, 0, sizeof p.optim);
    samba_compile(f->s, &p);
}

static void compile_same_region(fixture *f)
{
    samba_program p = small_program(f);
    samba_tensor *w = samba_tensor_by_name(f->s, "fc__weight");
    samba_optim optims[2];
    optims[0] = p.optim;
    optims[0].argin_region_name = "head_";
    optims[1] = optims[0];
    optims[0].params = &w;
    optims[0].n_params = 1;
    p.optims = optims;
    p.n_optims = 2;
    memset(&p.optim, 0, sizeof p.optim);
    samba_compile(f->s, &p);
}

static void compile_without_parameters(fixture *f)
{
    samba_program p = small_program(f);
    p.outputs[0] = NULL;
    p.loss = samba_mean(f->x, SAMBA_ALL_AXES, false);
    samba_compile(f->s, &p);
}

static void compile_missing_directory(fixture *f)
{
    samba_program p = small_program(f);
    p.pef = f->missing;
    samba_compile(f->s, &p);
}

static void compile_too_large_on_chip(fixture *f)
{
    samba_program p = small_program(f);
    p.mapping = SAMBA_MAPPING_SPATIAL;
    p.sram_bytes = 100;
    samba_compile(f->s, &p);
}

// ---- Runs ----

static void run_before_compile(fixture *f)
{
    samba_run(f->s, 0);
}

static void eval_before_compile(fixture *f)
{
    samba_eval(f->s);
}

static void run_graph_before_compile(fixture *f)
{
    samba_run_graph(f->s, "decode", 0);
}

static void save_before_compile(fixture *f)
{
    samba_save(f->s, f->file);
}

static void save_with_before_compile(fixture *f)
{
    samba_save_with(f->s, f->file, NULL);
}

static void set_before_compile(fixture *f)
{
    samba_set(f->s, "lr", 0.1);
}

static void set_unknown(fixture *f)
{
    samba_set(f->s, "learning_rate", 0.1);
}

static void set_part_of_a_name(fixture *f)
{
    samba_set(f->s, "ecay", 0.1);
}

static void set_nan(fixture *f)
{
    samba_set(f->s, "lr", (double)NAN);
}

static void get_unknown(fixture *f)
{
    samba_get(f->s, "l_r");
}

static void init_scaled_constant(fixture *f)
{
    samba_param(f->s, "w", SAMBA_SHAPE(2), (samba_init){ SAMBA_INIT_CONSTANT, 1, 0.5f });
}

static void run_backward(fixture *f)
{
    samba_run(f->s, SAMBA_BCKWD);
}

static void run_odd_type(fixture *f)
{
    samba_run(f->s, 1024);
}

static void run_type_name(fixture *f)
{
    samba_session_run_desc d = { 0 };
    const char *types[1];
    types[0] = "backward";
    d.section_types = types;
    d.n_section_types = 1;
    samba_session_run(f->s, &d);
}

static void run_both(fixture *f)
{
    samba_session_run_desc d = { 0 };
    const char *types[1];
    int32_t ids[1] = { 0 };
    types[0] = "fwd";
    d.section_types = types;
    d.n_section_types = 1;
    d.section_ids = ids;
    d.n_section_ids = 1;
    samba_session_run(f->s, &d);
}

static void run_id(fixture *f)
{
    samba_session_run_desc d = { 0 };
    int32_t ids[1] = { 999 };
    d.section_ids = ids;
    d.n_section_ids = 1;
    samba_session_run(f->s, &d);
}

static void run_types_and_ids(fixture *f)
{
    samba_run_desc d = { 0 };
    int32_t ids[1] = { 0 };
    d.types[0] = SAMBA_FWD;
    d.section_ids = ids;
    d.n_section_ids = 1;
    samba_run_with(f->s, &d);
}

static void run_far_id(fixture *f)
{
    samba_run_desc d = { 0 };
    int32_t ids[2] = { 0, 999 };
    d.section_ids = ids;
    d.n_section_ids = 2;
    samba_run_with(f->s, &d);
}

static void run_counts(fixture *f)
{
    for (int i = 0; i < 4; i++) {
        samba_run_desc d = { 0 };
        int32_t *count[4] = { &d.n_section_ids, &d.n_feeds, &d.n_hyperparams, &d.n_outputs };
        for (*count[i] = -1; *count[i] < 2; *count[i] += 2) {
            samba_clear_error(f->s);
            CHECK(!samba_run_with(f->s, &d) && !samba_ok(f->s));
        }
    }
}

static void run_hyperparameter(fixture *f)
{
    samba_run_desc d = { 0 };
    samba_value value = { "lrr", 0.1 };
    d.hyperparams = &value;
    d.n_hyperparams = 1;
    samba_run_with(f->s, &d);
}

static void run_foreign_input(fixture *f)
{
    samba_session_run_desc d = { 0 };
    d.inputs = &f->foreign;
    d.n_inputs = 1;
    CHECK(!samba_session_run(f->s, &d));
}

static void send_without_data(fixture *f)
{
    samba_session_run_desc d = { 0 };
    d.inputs = &f->x;
    d.n_inputs = 1;
    CHECK(samba_session_run(f->s, &d)); // what the device has is the newest
    samba_rdu(f->x);
}

// Each list of a run with a count and no values.
static void run_lists(fixture *f)
{
    for (int i = 0; i < 6; i++) {
        samba_session_run_desc d = { 0 };
        int32_t *count[6] = { &d.n_inputs,      &d.n_hyperparams, &d.n_section_types,
                              &d.n_section_ids, &d.n_outputs,     &d.n_grad_of_outputs };
        for (*count[i] = i < 5 ? -1 : 1; *count[i] < 2; *count[i] += 2) {
            samba_clear_error(f->s);
            CHECK(!samba_session_run(f->s, &d) && !samba_ok(f->s));
        }
    }
}

static void run_foreign_gradient(fixture *f)
{
    samba_session_run_desc d = { 0 };
    samba_output_grad g = { f->foreign, f };
    d.grad_of_outputs = &g;
    d.n_grad_of_outputs = 1;
    samba_session_run(f->s, &d);
}

static void init_gradients(fixture *f)
{
    samba_init_output_grads(f->s, NULL, 2, 0);
}

static void run_backwards(fixture *f)
{
    samba_session_run_desc d = { 0 };
    d.from_call_id = 2;
    d.until_call_id = 1;
    samba_session_run(f->s, &d);
}

static void open_odd_preset(fixture *f)
{
    samba_desc d = { 0 };
    (void)f;
    d.graphamp = (samba_graphamp)3;
    d.threads = 1;
    samba_session *s = samba_open(&d);
    CHECK(s && strstr(samba_error(s), "mp3") && samba_error_code(s) == SAMBA_EARG);
    samba_close(s);
    samba_set_graphamp(f->s, (samba_graphamp)3);
}

static void name_again(fixture *f) // the first one has its name in the graph still
{
    CHECK(samba_update_tensor(f->s, "x", NULL));
    samba_input(f->s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
}

static void run_label(fixture *f)
{
    const int32_t labels[B] = { 0, 1, C, 2 }, good[B] = { 0, 1, 2, 0 };
    CHECK(samba_write(f->label, labels));
    CHECK(!samba_run(f->s, 0));
    samba_code code = samba_error_code(f->s);
    char text[1200];
    snprintf(text, sizeof text, "%s", samba_error(f->s));
    samba_clear_error(f->s);
    CHECK(samba_write(f->label, good));
    // after the code's name, which is put there again
    samba_fail(f->s, code, "%s", text + 13);
}

static void run_id_of_embedding(fixture *f)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *ids = samba_input(s, "tokens", SAMBA_I32, SAMBA_SHAPE(2));
    samba_program p = { 0 };
    const int32_t values[2] = { 1, -7 };
    p.inference = true;
    p.outputs[0] = samba_embedding(ids, "table", V, 2);
    CHECK(samba_compile(s, &p) && samba_write(ids, values) && !samba_run(s, 0));
    pass_on(f, s);
}

static void run_without_input(fixture *f)
{
    samba_program p = small_program(f);
    samba_compile(f->s, &p);
    samba_run(f->s, 0);
}

static void eval_without_input(fixture *f)
{
    samba_program p = small_program(f);
    samba_compile(f->s, &p);
    samba_eval(f->s);
}

static void microbatch_backward(fixture *f)
{
    samba_run(f->s, SAMBA_BCKWD);
}

static void microbatch_transfer(fixture *f)
{
    samba_session *s = samba_open(NULL);
    samba_program p = { 0 };
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    p.loss = samba_sum(samba_linear(x, "fc", 1), SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_SGD;
    p.microbatches = 2;
    CHECK(samba_compile(s, &p) && samba_bytes(x) == 2 * B * F * sizeof(float));
    samba_rdu(x);
    pass_on(f, s);
}

static void eager_without_value(fixture *f)
{
    CHECK(samba_set_tracing(f->s, false));
    samba_tanh(f->x);
}

// ---- Values ----

static void read_intermediate(fixture *f)
{
    samba_read(f->hidden);
}

static void write_intermediate(fixture *f)
{
    float values[B * F] = { 0 };
    samba_write(f->hidden, values);
}

static void write_null(fixture *f)
{
    samba_write(f->x, NULL);
}

static void read_type(fixture *f)
{
    samba_read(f->label);
}

static void read_integer_type(fixture *f)
{
    samba_read_i32(f->logits);
}

static void copy_size(fixture *f)
{
    float values[B * C];
    samba_copy_out(f->logits, values, sizeof values - 4);
}

static void copy_null(fixture *f)
{
    samba_copy_out(f->logits, NULL, B * C * sizeof(float));
}

static void gradient_of_input(fixture *f)
{
    samba_sn_grad(f->x);
}

static void transfer_unused(fixture *f)
{
    samba_rdu(f->hidden);
}

// ---- Files ----

static void load_missing(fixture *f)
{
    samba_load(f->s, f->missing, NULL);
}

static void load_null(fixture *f)
{
    samba_load(f->s, NULL, NULL);
}

static void load_directory(fixture *f)
{
    samba_load(f->s, ".", NULL);
}

static void write_text(const char *path, const char *text)
{
    CHECK(write_whole(path, text, strlen(text)));
}

static void load_text(fixture *f)
{
    char line[200];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = 0;
    write_text(f->file, line);
    samba_load(f->s, f->file, NULL);
}

static void load_empty(fixture *f)
{
    write_text(f->file, "");
    samba_load(f->s, f->file, NULL);
}

// An input of the PEF, which holds two microbatches, has the name of a parameter here.
static void load_other_role(fixture *f)
{
    samba_session *s = samba_open(NULL);
    samba_program p = { 0 };
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    p.loss = samba_sum(samba_linear(samba_input(s, "same", SAMBA_F32, SAMBA_SHAPE(B, F)), "fc", 1),
                       SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_SGD;
    p.microbatches = 2;
    p.pef = f->file;
    p.compile_only = true;
    CHECK(samba_compile(s, &p));
    samba_close(s);
    s = samba_open(NULL);
    CHECK(samba_param(s, "same", SAMBA_SHAPE(B, F), zero));
    for (int i = 0; i < 2; i++) {
        CHECK(!samba_load(s, f->file, NULL));
        if (i == 0) samba_clear_error(s);
    }
    pass_on(f, s);
}

static void load_other_graph(fixture *f)
{
    samba_load(f->s, f->other_pef, NULL);
}

static void load_other_optimizer(fixture *f)
{
    samba_program p = small_program(f);
    p.optim.kind = SAMBA_ADAMW;
    samba_load(f->s, f->pef, &p);
}

static void save_missing_directory(fixture *f)
{
    samba_save(f->s, f->missing);
}

static void save_null(fixture *f)
{
    samba_save(f->s, NULL);
}

static void restore_null(fixture *f)
{
    samba_restore(f->s, NULL);
}

static void restore_missing(fixture *f)
{
    samba_restore(f->s, f->missing);
}

static void restore_other_model(fixture *f)
{
    samba_restore(f->s, f->other_pef);
}

static void restore_without_values(fixture *f)
{
    samba_restore(f->s, f->pef);
}

static void load_unregistered(fixture *f)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_program p = { 0 };
    samba_op op = half_op();
    CHECK(samba_register_op(s, &op));
    p.inference = p.compile_only = true;
    p.pef = f->file;
    p.outputs[0] = samba_apply(s, "half", &x, 1, NULL, 0);
    CHECK(samba_compile(s, &p));
    samba_close(s);
    s = samba_open(NULL);
    CHECK(!samba_load(s, f->file, NULL));
    pass_on(f, s);
}

// ---- The driver ----

static void drive(fixture *f, const char *command, const char *pef)
{
    samba_app_args args = { 0 };
    samba_program p = small_program(f);
    args.command = command;
    args.pef = pef;
    samba_app_driver(f->s, &args, &p);
}

static void driver_null(fixture *f)
{
    samba_app_driver(f->s, NULL, NULL);
}

static void driver_command(fixture *f)
{
    drive(f, "run", NULL);
}

static void driver_pef(fixture *f)
{
    drive(f, "measure-performance", NULL);
}

static const mistake mistakes[] = {
    { "add of other shapes", TRACING, add_shapes, SAMBA_ESHAPE,
      "add|x f32 (4,6)|y f32 (4,3)|1|broadcast" },
    { "add without its second operand", TRACING, add_null, SAMBA_EARG,
      "add|x f32 (4,6)|1|missing" },
    { "matmul with other inner dimensions", TRACING, matmul_inner, SAMBA_ESHAPE,
      "matmul|x f32 (4,6)|y f32 (4,3)|6|4|transpose" },
    { "matmul with a scalar", TRACING, matmul_scalar, SAMBA_ESHAPE,
      "matmul|x f32 (4,6)|2 dimensions" },
    { "matmul of integers", TRACING, matmul_integer, SAMBA_EDTYPE,
      "matmul|ids i32|f32|samba_cast" },
    { "matmul of bools", TRACING, where_condition, SAMBA_EDTYPE, "matmul|cond bool|samba_cast" },
    { "affine with another weight", TRACING, affine_weight, SAMBA_ESHAPE,
      "affine|x f32 (4,6)|w f32 (3,5)|5|6" },
    { "affine with another bias", TRACING, affine_bias, SAMBA_ESHAPE, "affine|short f32 (4)|3" },
    { "convolution of other channels", TRACING, conv_channels, SAMBA_ESHAPE,
      "convolution|image f32 (4,2,8,8)|filters f32 (4,7,3,3)" },
    { "kernel larger than the image", TRACING, conv_kernel, SAMBA_ESHAPE,
      "conv|image f32 (4,2,8,8)|50|8|padding" },
    { "channels that groups do not divide", TRACING, conv_groups, SAMBA_ESHAPE,
      "conv|image|groups 3|2|(4,2,8,8)" },
    { "convolution of rows", TRACING, conv_of_rows, SAMBA_ESHAPE, "conv|x|(4,6)|(N,C,H,W)" },
    { "cat of other shapes", TRACING, cat_shapes, SAMBA_ESHAPE,
      "cat|x f32 (4,6)|y f32 (4,3)|axis 0" },
    { "cat along no axis", TRACING, cat_axis, SAMBA_EARG, "cat|axis 2|(4,6)|-2 ... 1" },
    { "embedding of floats", TRACING, lookup_of_floats, SAMBA_EDTYPE,
      "table|lookup|x f32|i32|samba_cast" },
    { "gather by floats", TRACING, gather_floats, SAMBA_EDTYPE, "gather|i32|samba_cast" },
    { "float labels", TRACING, loss_of_floats, SAMBA_EDTYPE, "cross_entropy|y f32|i32|samba_cast" },
    { "more labels than rows", TRACING, loss_shapes, SAMBA_ESHAPE,
      "cross_entropy|y f32 (4,3)|labels5 i32 (5)" },
    { "mse of other shapes", TRACING, mse_shapes, SAMBA_ESHAPE, "x f32 (4,6)|y f32 (4,3)" },
    { "reshape that does not fit", TRACING, reshape_count, SAMBA_ESHAPE,
      "reshape|x f32 (4,6)|24|(5,5)" },
    { "inferred dimension that is none", TRACING, reshape_inferred, SAMBA_ESHAPE,
      "reshape|x f32 (4,6)|24|(5," },
    { "reshape to a huge shape", TRACING, reshape_huge, SAMBA_ESHAPE, "reshape|24|2147483647" },
    { "shape with 20 dimensions", TRACING, reshape_rank, SAMBA_ESHAPE,
      "reshape|x f32 (4,6)|8 dimensions" },
    { "softmax along no axis", TRACING, softmax_axis, SAMBA_EARG, "softmax|axis 2|(4,6)|-2 ... 1" },
    { "sum over no axis", TRACING, sum_axis, SAMBA_EARG, "sum|axis|x f32 (4,6)" },
    { "sum over an axis twice", TRACING, sum_twice, SAMBA_EARG, "sum|twice|x f32 (4,6)" },
    { "argmax along no axis", TRACING, argmax_axis, SAMBA_EARG, "argmax|x f32 (4,6)|-2 ... 1" },
    { "axis permuted twice", TRACING, permute_axes, SAMBA_EARG, "permute|x f32 (4,6)|once" },
    { "transpose of no axis", TRACING, transpose_axes, SAMBA_EARG, "transpose|x f32 (4,6)" },
    { "empty slice", TRACING, slice_empty, SAMBA_ERANGE, "slice|x f32 (4,6)|4:4:1|axis 1|6" },
    { "slice of no axis", TRACING, slice_axis, SAMBA_EARG, "slice|axis 7|(4,6)" },
    { "squeeze of a wide axis", TRACING, squeeze_wide, SAMBA_ESHAPE, "x f32 (4,6)" },
    { "squeeze of no axis", TRACING, squeeze_axis, SAMBA_EARG, "x f32 (4,6)|axis 9" },
    { "unsqueeze far away", TRACING, unsqueeze_axis, SAMBA_EARG, "x f32 (4,6)|axis 24" },
    { "flatten from no axis", TRACING, flatten_axis, SAMBA_EARG, "x f32 (4,6)|axis 4" },
    { "expand of a wide dimension", TRACING, expand_shape, SAMBA_ESHAPE, "expand|(4,6)|(4,12)" },
    { "split along no axis", TRACING, split_axis, SAMBA_EARG, "split|axis 5|(4,6)" },
    { "pool larger than the image", TRACING, pool_window, SAMBA_ESHAPE, "max_pool2d|image|40|8" },
    { "gain of another size", TRACING, norm_channels, SAMBA_ESHAPE, "layer_norm|gain f32 (7)|6" },
    { "attention of other widths", TRACING, attention_widths, SAMBA_ESHAPE,
      "attention|x f32 (4,6)|y f32 (4,3)|6|3" },
    { "cast to no type", TRACING, cast_type, SAMBA_EDTYPE, "cast|x f32 (4,6)|77" },

    { "name used twice", TRACING, name_twice, SAMBA_ENAME, "x|twice|f32 (4,6)|i32 (4)" },
    { "layer with another size", TRACING, layer_reshaped, SAMBA_ENAME, "fc1__weight|(3,6)|(4,6)" },
    { "input without a name", TRACING, name_missing, SAMBA_ENAME, "name|(4)" },
    { "layer with an empty name", TRACING, name_empty, SAMBA_ENAME, "layer|name|weight" },
    { "layer without a name", TRACING, layer_unnamed, SAMBA_ENAME, "layer|name|weight" },
    { "name of two lines", TRACING, name_with_newline, SAMBA_ENAME, "name|(4)|control" },
    { "name of 4999 letters", TRACING, long_name_twice, SAMBA_ENAME, "twice|(4)|choose another" },
    { "dimension of 0", TRACING, shape_negative, SAMBA_ESHAPE, "empty|(4,0)|at least 1" },
    { "unknown type", TRACING, type_unknown, SAMBA_EDTYPE, "odd|19" },
    { "layer of 0 columns", TRACING, layer_of_none, SAMBA_ESHAPE, "none__weight|(0,6)|at least 1" },
    { "convolution with -2 filters", TRACING, layer_negative, SAMBA_ESHAPE,
      "conv__weight|(-2,2,3,3)" },
    { "data that is NULL", TRACING, data_null, SAMBA_EARG, "samba_from_data|data|NULL" },
    { "integers below 0", TRACING, randint_high, SAMBA_EARG, "samba_randint|draws|0|at least 1" },
    { "dropout rate of 2", TRACING, dropout_rate, SAMBA_ERANGE, "samba_dropout|x|p is 2|0 ... 1" },
    { "dropout without a name", TRACING, dropout_unnamed, SAMBA_EARG, "samba_dropout|x|name" },
    { "batch dimension out of range", TRACING, batch_dim_range, SAMBA_EARG,
      "batch_dim 2|x (4,6)|-1" },
    { "misspelt tensor", TRACING, unknown_tensor, SAMBA_ENAME, "fc__wieght|fc__weight" },
    { "operand of another session", TRACING, foreign_operand, SAMBA_EARG,
      "add|foreign|another session|samba_copy_out" },
    { "output of another session", TRACING, foreign_output, SAMBA_EARG, "foreign|another session" },
    { "gradient in another session", TRACING, foreign_gradient, SAMBA_EARG,
      "samba_grad|foreign|session" },
    { "ops after an error", TRACING, op_after_error, SAMBA_ESHAPE, "add|x f32 (4,6)|y f32 (4,3)" },

    { "gradient of integers", TRACING, gradient_of_integer, SAMBA_EDTYPE, "samba_grad|i32|float" },
    { "gradient in what has no influence", TRACING, gradient_unrelated, SAMBA_EARG,
      "samba_grad|y|depend" },
    { "op that does not exist", TRACING, apply_unknown, SAMBA_EOP, "tahn|samba_register_op" },
    { "matmul with one input", TRACING, apply_too_few, SAMBA_EARG, "matmul|x f32 (4,6)|1 inputs" },
    { "inputs that are NULL", TRACING, apply_null, SAMBA_EARG, "samba_apply|tanh|1 inputs" },
    { "-1 inputs", TRACING, apply_negative, SAMBA_EARG, "tanh|-1 inputs" },
    { "scale without its factor", TRACING, apply_without_factor, SAMBA_EARG,
      "scale|0 attributes given, 1 needed" },
    { "leaky_relu without its slope", TRACING, apply_without_slope, SAMBA_EARG,
      "leaky_relu|0 attributes given, 1 needed" },
    { "softmax by its torch name without an axis", TRACING, apply_without_axis, SAMBA_EARG,
      "softmax|0 arguments are given" },
    { "layer_norm without eps", TRACING, apply_without_eps, SAMBA_EARG,
      "layer_norm|0 attributes given, 1 needed" },
    { "relu with an attribute", TRACING, apply_more_attributes, SAMBA_EARG,
      "relu|1 attributes given, 0 needed" },
    { "20 inputs", TRACING, apply_too_many, SAMBA_EARG, "cat|20 inputs" },
    { "register nothing", TRACING, register_null, SAMBA_EARG, "samba_register_op|name|kernel" },
    { "register without a kernel", TRACING, register_kernel, SAMBA_EARG,
      "samba_register_op|kernel|signature" },
    { "register a reserved number", TRACING, register_wire, SAMBA_EARG,
      "samba_register_op|half|32767|32768" },
    { "register a taken name", TRACING, register_name, SAMBA_ENAME, "samba_register_op|add|taken" },
    { "register a taken number", TRACING, register_twice, SAMBA_ENAME,
      "samba_register_op|other_half|32769|taken" },
    { "train through an op without gradient", TRACING, register_without_gradient, SAMBA_EOP,
      "half|vjp" },

    { "a constant with a scale", TRACING, init_scaled_constant, SAMBA_EARG,
      "samba_init of w|constant|0.5|SAMBA_INIT_UNIFORM" },
    { "compile nothing", TRACING, compile_null, SAMBA_EARG, "samba_compile|program|NULL" },
    { "compile without outputs", TRACING, compile_nothing, SAMBA_EARG, "loss|output" },
    { "loss index out of range", TRACING, compile_loss_index, SAMBA_ERANGE, "index 1|1 outputs" },
    { "integer loss", TRACING, compile_integer_loss, SAMBA_EDTYPE, "argmax|i32|loss" },
    { "negative microbatches", TRACING, compile_microbatches, SAMBA_ERANGE, "microbatches|-3" },
    { "parameter of two optimizers", TRACING, compile_two_owners, SAMBA_EARG,
      "fc__weight|0|1|one optimizer" },
    { "optimizer of an input", TRACING, compile_not_a_parameter, SAMBA_EARG,
      "optimizer 0|x|no parameter" },
    { "optimizer without a kind", TRACING, compile_no_optimizer_kind, SAMBA_ERANGE,
      "optimizer 0|kind|SAMBA_SGD" },
    { "two optimizers of one region", TRACING, compile_same_region, SAMBA_ENAME, "head_|0|1" },
    { "training without parameters", TRACING, compile_without_parameters, SAMBA_EARG,
      "optimizer 0|parameter|loss" },
    { "PEF into a missing directory", TRACING, compile_missing_directory, SAMBA_EIO,
      "write|no/such/place" },
    { "program larger than the chip", TRACING, compile_too_large_on_chip, SAMBA_ERANGE,
      "spatial|sram_bytes|100|smaller batch" },

    { "run before compile", TRACING, run_before_compile, SAMBA_ESTATE,
      "samba_run|samba_compile|samba_load" },
    { "eval before compile", TRACING, eval_before_compile, SAMBA_ESTATE, "samba_eval|samba_load" },
    { "run of a graph before compile", TRACING, run_graph_before_compile, SAMBA_ESTATE,
      "samba_run_graph|samba_load" },
    { "save_with before compile", TRACING, save_with_before_compile, SAMBA_ESTATE,
      "samba_save_with|samba_compile" },
    { "save before compile", TRACING, save_before_compile, SAMBA_ESTATE,
      "samba_save|samba_compile" },
    { "set before compile", TRACING, set_before_compile, SAMBA_ESTATE, "samba_set|samba_compile" },
    { "eval without an input", TRACING, eval_without_input, SAMBA_ESTATE,
      "samba_eval|x f32 (4,6)|samba_write" },
    { "run without an input", TRACING, run_without_input, SAMBA_ESTATE,
      "samba_run|x f32 (4,6)|samba_write" },
    { "eager op on an input without a value", TRACING, eager_without_value, SAMBA_ESTATE,
      "tanh|x|samba_write|samba_set_tracing" },
    { "unknown hyperparameter", TRAINING, set_unknown, SAMBA_ENAME, "learning_rate|lr" },
    { "end of a hyperparameter's name", TRAINING, set_part_of_a_name, SAMBA_ENAME,
      "hyperparameter ecay|unknown" },
    { "learning rate NaN", TRAINING, set_nan, SAMBA_ERANGE, "samba_set|lr|NaN" },
    { "hyperparameter to read unknown", TRAINING, get_unknown, SAMBA_ENAME, "l_r|lr" },
    { "run_with an unknown hyperparameter", TRAINING, run_hyperparameter, SAMBA_ENAME, "lrr|lr" },
    { "BCKWD of an inference program", INFERENCE, run_backward, SAMBA_EARG, "BCKWD|FWD|samba_run" },
    { "section type of no kind", TRAINING, run_odd_type, SAMBA_EARG, "samba_run|1024|FWD" },
    { "wrong name of a section type", TRAINING, run_type_name, SAMBA_EARG, "backward|BCKWD" },
    { "types and ids", TRAINING, run_both, SAMBA_EARG, "section_types|section_ids" },
    { "lists of a run that are NULL", TRAINING, run_lists, SAMBA_EARG,
      "gradient 0 of 1|no values" },
    { "gradient of another session's output", TRAINING, run_foreign_gradient, SAMBA_EARG,
      "gradient 0 of 1|this session" },
    { "gradients that are NULL", TRAINING, init_gradients, SAMBA_EARG, "gradient 0 of 2" },
    { "call ids in the wrong order", TRAINING, run_backwards, SAMBA_ERANGE, "2 up to 1|order" },
    { "preset of GraphAMP that does not exist", TRACING, open_odd_preset, SAMBA_EARG, "mp3|mp4" },
    { "name of a removed tensor", TRACING, name_again, SAMBA_ENAME, "x|twice" },
    { "section id out of range", TRAINING, run_id, SAMBA_ERANGE, "999|0 ... " },
    { "section id out of range, of run_with", TRAINING, run_far_id, SAMBA_ERANGE, "999|0 ... " },
    { "types and ids of run_with", TRAINING, run_types_and_ids, SAMBA_EARG,
      "types and section_ids" },
    { "lists of run_with that are NULL", TRAINING, run_counts, SAMBA_EARG, "has a count" },
    { "run with an input of another session", TRAINING, run_foreign_input, SAMBA_EARG,
      "foreign|another session" },
    { "sending a host copy that is not there", TRAINING, send_without_data, SAMBA_ESTATE,
      "samba_rdu|x|samba_cpu" },
    { "label out of range", TRAINING, run_label, SAMBA_ERANGE,
      "cross_entropy|label|3|out of range" },
    { "embedding id out of range", TRAINING, run_id_of_embedding, SAMBA_ERANGE,
      "table|lookup|tokens|-7|out of range" },
    { "BCKWD alone with microbatches", MICROBATCHES, microbatch_backward, SAMBA_EARG,
      "samba_run|microbatch|FWD" },
    { "sending data of one microbatch", MICROBATCHES, microbatch_transfer, SAMBA_ESTATE,
      "samba_rdu|x|microbatch" },

    { "read of an intermediate", TRAINING, read_intermediate, SAMBA_ESTATE,
      "samba_read|tanh|program.outputs" },
    { "write to an intermediate", TRAINING, write_intermediate, SAMBA_ESTATE,
      "samba_write|tanh|computed" },
    { "write of NULL", TRAINING, write_null, SAMBA_EARG, "samba_write|x|NULL" },
    { "read of integers as floats", TRAINING, read_type, SAMBA_EDTYPE,
      "samba_read|label|i32|f32|samba_copy_out" },
    { "read of floats as integers", TRAINING, read_integer_type, SAMBA_EDTYPE,
      "samba_read_i32|fc|f32|samba_copy_out" },
    { "copy of a wrong size", TRAINING, copy_size, SAMBA_EARG, "samba_copy_out|fc|44|48" },
    { "copy to NULL", TRAINING, copy_null, SAMBA_EARG, "samba_copy_out|fc|48" },
    { "gradient of an input", TRAINING, gradient_of_input, SAMBA_ESTATE,
      "x|gradient|losses|samba_grad" },
    { "transfer of what is not there", TRAINING, transfer_unused, SAMBA_ESTATE, "samba_rdu|tanh" },

    { "load of a missing file", TRACING, load_missing, SAMBA_EIO, "read|no/such/place" },
    { "load of NULL", TRACING, load_null, SAMBA_EARG, "samba_load|path|NULL" },
    { "load of a directory", TRACING, load_directory, SAMBA_EIO, "read|." },
    { "load of a text file", TRACING, load_text, SAMBA_EPEF, ".file|magic" },
    { "load of an empty file", TRACING, load_empty, SAMBA_EPEF, ".file|empty" },
    { "load of another graph", TRACING, load_other_graph, SAMBA_EGRAPH,
      "other|First difference|tanh|sigmoid" },
    { "load of a PEF in which a name is something else", TRACING, load_other_role, SAMBA_EGRAPH,
      "same|role|compile again" },
    { "load with another optimizer", TRACING, load_other_optimizer, SAMBA_EGRAPH,
      "First difference|SGD|AdamW" },
    { "save into a missing directory", TRAINING, save_missing_directory, SAMBA_EIO,
      "write|no/such/place" },
    { "save to NULL", TRAINING, save_null, SAMBA_EARG, "samba_save|path|NULL" },
    { "restore from NULL", TRAINING, restore_null, SAMBA_EARG, "samba_restore|path|NULL" },
    { "restore from nowhere", TRAINING, restore_missing, SAMBA_EIO, "read|no/such/place" },
    { "restore of another model", TRAINING, restore_other_model, SAMBA_ENAME,
      "other|fc__|nothing was changed" },
    { "restore from a PEF without values", TRAINING, restore_without_values, SAMBA_ENAME,
      ".pef|fc__|nothing was changed" },
    { "load of an op nobody registered", TRACING, load_unregistered, SAMBA_EPEF,
      ".file|32769|register" },

    { "driver without arguments", TRACING, driver_null, SAMBA_EARG, "samba_app_driver|args" },
    { "driver with the application's command", TRACING, driver_command, SAMBA_EARG,
      "samba_app_driver|run" },
    { "measurement without a PEF", TRACING, driver_pef, SAMBA_EARG, "measure-performance|--pef" }
};

// ---- The fixture, before and after ----

static void open_fixture(fixture *f)
{
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    samba_desc quiet = { 0 };
    quiet.threads = 1;
    quiet.quiet = true;
    f->s = samba_open(&quiet);
    f->other = samba_open(&quiet);
    f->foreign = samba_ones(f->other, "foreign", SAMBA_F32, SAMBA_SHAPE(B, F));
    f->x = samba_input(f->s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    f->y = samba_input(f->s, "y", SAMBA_F32, SAMBA_SHAPE(B, C));
    f->label = samba_input(f->s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    f->ids = samba_input(f->s, "ids", SAMBA_I32, SAMBA_SHAPE(B, F));
    f->image = samba_input(f->s, "image", SAMBA_F32, SAMBA_SHAPE(B, 2, 8, 8));
    f->cond = samba_input(f->s, "cond", SAMBA_BOOL, SAMBA_SHAPE(B, F));
    f->w = samba_param(f->s, "w", SAMBA_SHAPE(C, V), zero);
    f->hidden = samba_tanh(f->x);
    f->logits = samba_linear(f->hidden, "fc", C);
    f->loss = samba_cross_entropy(f->logits, f->label);
    CHECK(samba_ok(f->s) && f->foreign);
}

static void write_inputs(fixture *f, int n)
{
    float x[2 * B * F];
    int32_t label[2 * B];
    for (int i = 0; i < n * B * F; i++)
        x[i] = 0.1f * (float)(i % 7) - 0.2f;
    for (int i = 0; i < n * B; i++)
        label[i] = i % C;
    CHECK(samba_write(f->x, x) && samba_write(f->label, label));
}

static void start_program(fixture *f, stage when)
{
    samba_program p = small_program(f);
    p.inference = when == INFERENCE;
    p.microbatches = when == MICROBATCHES ? 2 : 0;
    if (p.inference) p.loss = f->loss;
    CHECK(samba_compile(f->s, &p));
    write_inputs(f, when == MICROBATCHES ? 2 : 1);
}

// The session is as good as new: it compiles if it had not, runs, and gives a loss.
static void goes_on(fixture *f, stage when)
{
    CHECK(samba_ok(f->s) && samba_error(f->s)[0] == 0);
    if (when == TRACING) CHECK(samba_set_tracing(f->s, true));
    if (when == TRACING) start_program(f, TRAINING);
    CHECK(samba_run(f->s, 0));
    float loss = samba_read(f->loss)[0];
    CHECK(loss > 0.0f && loss < 10.0f);
    if (!samba_ok(f->s)) printf("    then: %s\n", samba_error(f->s));
}

static void has_words(const char *text, const char *words)
{
    char word[64];
    while (*words) {
        size_t n = strcspn(words, "|");
        if (n >= sizeof word) n = sizeof word - 1;
        memcpy(word, words, n);
        word[n] = 0;
        if (!strstr(text, word)) {
            printf("    \"%s\" is not in: %s\n", word, text);
            test_bad++;
        }
        words += n + (words[n] == '|');
    }
}

static char file_path[4][LONG];

static void one_mistake(fixture *f, const mistake *m)
{
    char text[1200];
    open_fixture(f);
    if (m->when != TRACING) start_program(f, m->when);
    if (!samba_ok(f->s)) printf("    before: %s\n", samba_error(f->s));
    m->make(f);
    snprintf(text, sizeof text, "%s", samba_error(f->s));
    if (print_messages) printf("%s:\n    %s\n", m->name, text);
    CHECK(!samba_ok(f->s));
    if (samba_error_code(f->s) != m->code) {
        printf("    the code is %s, not %s: %s\n", samba_code_text(samba_error_code(f->s)),
               samba_code_text(m->code), text);
        test_bad++;
    }
    has_words(text, m->words);
    CHECK(strlen(text) >= 20 && strlen(text) < LONG && !strstr(text, "malformed"));
    CHECK(!samba_tanh(f->x) && !samba_run(f->s, 0));
    CHECK(strcmp(samba_error(f->s), text) == 0); // the first error stays
    samba_clear_error(f->s);
    goes_on(f, m->when);
    CHECK(samba_close(f->s) == 0);
    CHECK(samba_close(f->other) == 0);
}

// The PEF of the fixture's model, and the checkpoint of another that differs by a sigmoid.
static void write_files(fixture *f)
{
    samba_program p;
    open_fixture(f);
    p = small_program(f);
    p.pef = f->pef;
    p.compile_only = true;
    CHECK(samba_compile(f->s, &p));
    samba_close(f->s);
    samba_close(f->other);

    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_program q = { 0 };
    q.inference = true;
    q.outputs[0] = samba_linear(samba_sigmoid(x), "last", C);
    CHECK(samba_compile(s, &q) && samba_save(s, f->other_pef));
    CHECK(samba_close(s) == 0);
}

// tests/core/nulls.c has the functions of samba.h.
static void test_null(void)
{
    CHECK(!samba_app_driver(NULL, NULL, NULL));
    samba_dot_graph(NULL, NULL, NULL);
}

// A layer that failed leaves no trace: not even its name, whose text may be gone by then.
static void test_failed_layer_leaves_no_name(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    char *name = (char *)malloc(8);
    CHECK(name != NULL && x);
    if (!name) return;
    memcpy(name, "short", 6);
    CHECK(samba_linear(x, name, 4));
    CHECK(!samba_linear(x, name, 5));
    memset(name, '?', 7);
    free(name);
    samba_clear_error(s);
    samba_tensor *y = samba_tanh(x);
    CHECK(y && strncmp(y->name, "tanh", 4) == 0);
    CHECK(samba_close(s) == 0);
}

// An empty file was read into an empty session: every byte that was asked for is given back.
static void test_empty_file_in_empty_session(void)
{
    hook h;
    samba_desc d = hook_desc(&h);
    samba_session *s = samba_open(&d);
    write_text(file_path[0], "");
    CHECK(!samba_load(s, file_path[0], NULL));
    CHECK(samba_error_code(s) == SAMBA_EPEF);
    CHECK(h.live == samba_held_bytes(s));
    samba_close(s);
    CHECK(h.live == 0 && h.n_wrong == 0);
}

// What reached stderr since start_listening, in a buffer that the next call reuses.
static int screen = -1;

static void start_listening(void)
{
    fflush(stderr);
    screen = dup(STDERR_FILENO);
    CHECK(screen >= 0 && freopen(file_path[0], "w", stderr));
}

static const char *heard(void)
{
    static char text[4000];
    fflush(stderr);
    CHECK(dup2(screen, STDERR_FILENO) == STDERR_FILENO && close(screen) == 0);
    FILE *f = fopen(file_path[0], "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
    return text;
}

static int n_errors, n_warnings;

static void count_log(samba_log_level level, const char *text, void *user)
{
    (void)user;
    CHECK(text[0] != 0);
    if (level == SAMBA_LOG_ERROR) n_errors++;
    if (level == SAMBA_LOG_WARNING) n_warnings++;
}

// An error is printed when it arises, and never again: neither by later calls nor by samba_close.
static void test_errors_are_told_at_once(void)
{
    samba_session *s = samba_open(NULL);
    start_listening();
    samba_fail(s, SAMBA_EIO, "a %s of %d with %S", "sentence", 3, &SAMBA_SHAPE(2, 3));
    CHECK(!strcmp(heard(), "samba: SAMBA_EIO a sentence of 3 with (2,3)\n"));
    CHECK(strcmp(samba_error(s), "SAMBA_EIO a sentence of 3 with (2,3)") == 0);
    start_listening();
    samba_fail(s, SAMBA_EARG, "a consequence");
    samba_run(s, 0);
    CHECK(samba_close(s) == 1);
    CHECK(!strcmp(heard(), ""));

    start_listening(); // after samba_clear_error the next one is another
    s = samba_open(NULL);
    samba_fail(s, SAMBA_EIO, "one");
    samba_clear_error(s);
    samba_fail(s, SAMBA_OK, "one"); // whatever code: it is an error
    CHECK(samba_error_code(s) == SAMBA_EARG && samba_close(s) == 1);
    CHECK(!strcmp(heard(), "samba: SAMBA_EIO one\nsamba: SAMBA_EARG one\n"));
}

// A session that is quiet prints nothing, and keeps the error all the same; a log gets it instead.
static void test_quiet(void)
{
    samba_desc quiet = { .quiet = true }, logged = { .log = count_log };
    start_listening();
    samba_session *s = samba_open(&quiet);
    samba_fail(s, SAMBA_EIO, "one");
    CHECK(!strcmp(samba_error(s), "SAMBA_EIO one") && samba_close(s) == 1);
    s = samba_open(NULL);
    CHECK(!samba_set_quiet(s, true) && !samba_tensor_by_name(s, "perhaps"));
    samba_clear_error(s);
    CHECK(samba_set_quiet(s, false) && samba_close(s) == 0);
    CHECK(!strcmp(heard(), ""));
    start_listening();
    s = samba_open(NULL);
    samba_set_quiet(s, true);
    samba_fail(s, SAMBA_EIO, "kept back");
    CHECK(samba_set_quiet(s, false) && !samba_set_quiet(s, false) && samba_close(s) == 1);
    CHECK(!strcmp(heard(), "samba: SAMBA_EIO kept back\n"));
    start_listening();
    s = samba_open(&logged);
    samba_fail(s, SAMBA_EIO, "one");
    samba_fail(s, SAMBA_EIO, "two");
    CHECK(n_errors == 1 && samba_close(s) == 1 && n_errors == 1);
    CHECK(!strcmp(heard(), ""));
}

// Each text once, and not without end, in a loop that warns for ever.
static void test_warnings(void)
{
    samba_desc logged = { .log = count_log };
    samba_session *s = samba_open(&logged);
    n_warnings = 0;
    for (int i = 0; i < 10; i++)
        samba__warn(s, "one %s of %d", "warning", 7);
    CHECK(n_warnings == 1 && samba_ok(s));
    size_t held = samba_held_bytes(s);
    for (int i = 0; i < 1000; i++)
        samba__warn(s, "warning %d", i);
    CHECK(n_warnings == SAMBA__MAX_WARNINGS + 1 && samba_held_bytes(s) == held);
    CHECK(samba_close(s) == 0);
    s = samba_open(NULL);
    start_listening();
    samba__warn(s, "%s means little", "this");
    samba__warn(s, "%s means little", "this");
    s->desc.quiet = true;
    samba__warn(s, "nobody hears this");
    CHECK(!strcmp(heard(), "samba: warning: this means little\n") && samba_close(s) == 0);
}

static void test_code_texts(void)
{
    for (int i = 0; i < SAMBA_N_CODES; i++)
        CHECK(strlen(samba_code_text((samba_code)i)) > 5);
    CHECK(samba_code_text((samba_code)77)[0]);
}

int main(int argc, char **argv)
{
    static const char *const ends[4] = { ".file", ".pef", ".other", ".no/such/place/x.pef" };
    fixture f = { 0 };
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    print_messages = argc > 1;
    if (argc > 0) program_path = argv[0];
    for (int i = 0; i < 4; i++)
        snprintf(file_path[i], LONG, "%.500s%s", program_path, ends[i]);
    f.file = file_path[0];
    f.pef = file_path[1];
    f.other_pef = file_path[2];
    f.missing = file_path[3];
    RUN(test_null);
    RUN(test_failed_layer_leaves_no_name);
    RUN(test_empty_file_in_empty_session);
    RUN(test_errors_are_told_at_once);
    RUN(test_quiet);
    RUN(test_warnings);
    RUN(test_code_texts);
    test_bad = 0;
    write_files(&f);
    test_end("write_files");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        test_bad = 0;
        one_mistake(&f, &mistakes[i]);
        test_end(mistakes[i].name);
    }
    for (int i = 0; i < 3; i++)
        remove(file_path[i]);
    for (int i = 0; i < 2; i++) {
        char beside[LONG + 8];
        snprintf(beside, sizeof beside, "%s.log", file_path[i]);
        remove(beside);
        snprintf(beside, sizeof beside, "%s.map", file_path[i]);
        remove(beside);
    }
    fflush(stderr); // freopen left it with a buffer; the summary is last
    return test_summary();
}
