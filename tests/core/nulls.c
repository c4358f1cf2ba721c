// Every public function with NULL for each of its pointers in turn, and what else is there for the
// others: nothing crashes, nothing is accepted that lacks something. Sanitizers see more of it.
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/torch_names.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/lib/reference.h"

static samba_session *s;
static const samba_shape pair = { 2, { 4, 4 } };

// A call that must fail: with an error in the session, or, if it lacks the tensor or the session
// that would have it, without one.
#define REFUSES(call) \
    (samba_clear_error(s), CHECK(!(call)), CHECK(!samba_ok(s)), samba_clear_error(s))
#define NOTHING(call) (samba_clear_error(s), CHECK(!(call)), CHECK(samba_ok(s)))
#define TAKES(call) (samba_clear_error(s), CHECK(call), CHECK(samba_ok(s)), says_why())

static void says_why(void)
{
    if (!samba_ok(s)) printf("    %s\n", samba_error(s));
    samba_clear_error(s);
}

static void ignore_text(const char *text, void *user)
{
    (void)text;
    (void)user;
}

static void ignore_event(const char *name, int32_t section, bool begins, void *user)
{
    (void)name;
    (void)section;
    (void)begins;
    (void)user;
}

static void ignore_node(int32_t node, const char *name, const samba_op *op, const samba_args *args,
                        bool begins, void *user)
{
    (void)node;
    (void)name;
    (void)op;
    (void)args;
    (void)begins;
    (void)user;
}

static samba_session *open_quiet(void)
{
    samba_desc d = { .threads = 1, .quiet = true };
    return samba_open(&d);
}

static samba_tensor *leaf(const char *name, samba_dtype dtype, samba_shape shape)
{
    return samba_zeros(s, name, dtype, shape);
}

static void test_ops(void)
{
    typedef samba_tensor *(*one)(samba_tensor * x);
    typedef samba_tensor *(*two)(samba_tensor * a, samba_tensor * b);
#define MAP(name, ...) samba_##name,
    static const one ones[] = { REF_MAPS_OF_ONE(MAP) };
    static const two twos[]
        = { REF_MAPS_OF_TWO(MAP) samba_matmul, samba_cross_entropy, samba_lookup };
#undef MAP
    s = open_quiet();
    samba_tensor *x = leaf("x", SAMBA_F32, pair), *id = leaf("id", SAMBA_I32, SAMBA_SHAPE(4));
    samba_tensor *no = NULL, *c = leaf("c", SAMBA_BOOL, pair),
                 *v = leaf("v", SAMBA_F32, SAMBA_SHAPE(4));
    samba_tensor *image = leaf("image", SAMBA_F32, SAMBA_SHAPE(1, 4, 4, 4));
    samba_tensor *w = leaf("w", SAMBA_F32, SAMBA_SHAPE(4, 4, 2, 2));
    samba_tensor *index = leaf("index", SAMBA_I32, pair);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        NOTHING(ones[i](NULL));
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) {
        NOTHING(twos[i](NULL, NULL));
        samba_tensor *first = twos[i] == samba_lookup ? id : x;
        CHECK(!twos[i](first, NULL) && !twos[i](NULL, x));
        samba_clear_error(s);
    }
    NOTHING(samba_full(NULL, pair, 1.0f));
    CHECK(!samba_where(no, x, x) && !samba_where(c, no, x) && !samba_where(c, x, no));
    CHECK(!samba_leaky_relu(no, 0.1f) && !samba_scale(no, 2.0f) && !samba_shift(no, 2.0f));
    CHECK(!samba_cast(no, SAMBA_F32) && !samba_sum(no, pair, true) && !samba_mean(no, pair, true));
    CHECK(!samba_max(no, pair, true) && !samba_argmax(no, 0, true));
    samba_clear_error(s);
    CHECK(!samba_affine(no, x, v) && !samba_affine(x, no, v));
    TAKES(samba_affine(x, x, NULL));
    CHECK(!samba_reshape(no, pair) && !samba_flatten(no, 0) && !samba_expand(no, pair));
    CHECK(!samba_squeeze(no, 0) && !samba_unsqueeze(no, 0) && !samba_transpose(no, 0, 1));
    CHECK(!samba_permute(no, pair) && !samba_slice(no, 0, 0, 1, 1)
          && !samba_pad(no, pair, pair, 0.0f));
    samba_clear_error(s);
    samba_tensor *parts[4] = { NULL }, *list[2] = { x, NULL };
    NOTHING(samba_split(NULL, 2, 0, parts, 4));
    REFUSES(samba_split(x, 2, 0, NULL, 4));
    REFUSES(samba_split(x, 2, 0, NULL, 0));
    CHECK(!samba_cat(NULL, 2, 0) && !samba_stack(NULL, 2, 0));
    CHECK(!samba_cat(list, 2, 0) && !samba_stack(list, 2, 0));
    samba_clear_error(s);
    list[0] = NULL;
    list[1] = x;
    CHECK(!samba_cat(list, 2, 0) && !samba_stack(list, 2, 0));
    samba_clear_error(s);
    CHECK(!samba_gather(no, 0, index) && !samba_gather(x, 0, no));
    samba_clear_error(s);
    CHECK(!samba_write_rows(no, x, id) && !samba_write_rows(x, no, id)
          && !samba_write_rows(x, x, no));
    samba_clear_error(s);
    CHECK(!samba_softmax(no, 0) && !samba_log_softmax(no, 0));
    CHECK(!samba_layer_normalize(no, v, v, 1e-5f));
    TAKES(samba_layer_normalize(x, no, v, 1e-5f));
    TAKES(samba_layer_normalize(x, v, no, 1e-5f));
    TAKES(samba_rms_normalize(x, no, 1e-5f));
    CHECK(!samba_rms_normalize(no, v, 1e-5f));
    for (int i = 0; i < 5; i++) {
        samba_tensor *in[5] = { image, v, v, v, v };
        in[i] = NULL;
        samba_tensor *y = samba_batch_normalize(in[0], in[1], in[2], in[3], in[4], 0.1f, 1e-5f);
        CHECK((y != NULL) == (i == 1 || i == 2));
        samba_clear_error(s);
    }
    TAKES(samba_cross_entropy_with(x, id, NULL));
    TAKES(samba_nll(x, id, NULL));
    CHECK(!samba_cross_entropy_with(no, id, NULL) && !samba_cross_entropy_with(x, no, NULL));
    CHECK(!samba_nll(no, id, NULL) && !samba_nll(x, no, NULL));
    samba_clear_error(s);
    CHECK(!samba_mse(no, x, SAMBA_REDUCE_MEAN) && !samba_mse(x, no, SAMBA_REDUCE_MEAN));
    samba_clear_error(s);
    samba_pool_opts pool = { .kernel = { 2, 2 } };
    CHECK(!samba_convolution(no, w, v, NULL) && !samba_convolution(image, no, v, NULL));
    samba_clear_error(s);
    TAKES(samba_convolution(image, w, NULL, NULL));
    TAKES(samba_max_pool2d(image, &pool));
    REFUSES(samba_max_pool2d(image, NULL));
    REFUSES(samba_avg_pool2d(image, NULL));
    CHECK(!samba_max_pool2d(no, &pool) && !samba_avg_pool2d(no, &pool));
    CHECK(!samba_adaptive_avg_pool2d(no, 1, 1));
    for (int i = 0; i < 4; i++) {
        samba_tensor *in[4] = { image, image, image, leaf(i ? "m" : "n", SAMBA_F32, pair) };
        samba_clear_error(s);
        in[i] = NULL;
        samba_tensor *y = samba_scaled_dot_product_attention(in[0], in[1], in[2], in[3], NULL);
        CHECK((y != NULL) == (i == 3));
        samba_clear_error(s);
    }
    CHECK(!samba_matmul_transposed(no, true, x, true)
          && !samba_matmul_transposed(x, true, no, true));
    CHECK(!samba_convolution_backward_input(no, w, image->shape, NULL));
    CHECK(!samba_convolution_backward_input(image, no, image->shape, NULL));
    CHECK(!samba_convolution_backward_weight(no, image, w->shape, NULL));
    CHECK(!samba_convolution_backward_weight(image, no, w->shape, NULL));
    samba_close(s);
}

static void test_leaves_and_layers(void)
{
    float data[16] = { 0 };
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    s = open_quiet();
    REFUSES(samba_input(s, NULL, SAMBA_F32, pair));
    REFUSES(samba_randn(s, NULL, pair));
    REFUSES(samba_rand(s, NULL, pair));
    REFUSES(samba_randint(s, NULL, 3, pair));
    REFUSES(samba_randint(s, NULL, 0, pair));
    REFUSES(samba_zeros(s, NULL, SAMBA_F32, pair));
    REFUSES(samba_ones(s, NULL, SAMBA_F32, pair));
    REFUSES(samba_from_data(s, NULL, SAMBA_F32, pair, data));
    REFUSES(samba_from_data(s, "a", SAMBA_F32, pair, NULL));
    REFUSES(samba_from_data(s, NULL, SAMBA_F32, pair, NULL));
    REFUSES(samba_from_data_copy(s, NULL, SAMBA_F32, pair, data));
    REFUSES(samba_from_data_copy(s, "b", SAMBA_F32, pair, NULL));
    REFUSES(samba_param(s, NULL, pair, zero));
    REFUSES(samba_buffer(s, NULL, pair, 0.0f));
    REFUSES(samba_buffer_of(s, NULL, SAMBA_BF16, pair, 0.0f));
    CHECK(!samba_randn(NULL, "x", pair) && !samba_ones(NULL, "x", SAMBA_F32, pair));
    CHECK(!samba_from_data(NULL, "x", SAMBA_F32, pair, data));
    uint32_t words[4];
    samba_random(1, NULL, 0, words);
    samba_random(1, "x", 0, NULL);
    CHECK(samba_set_param_dtype(NULL, SAMBA_BF16) == SAMBA_F32);
    TAKES(samba_enable_lazy_param(s, NULL));
    CHECK(!samba_enable_lazy_param(NULL, NULL) && !samba_disable_lazy_param(NULL));
    CHECK(!samba_use_lazy_param(NULL) && !samba_reset_random_generator(NULL));
    CHECK(!samba_set_batch_dim(NULL, 0) && !samba_number(NULL, 1.0f));
    samba_tensor *x = leaf("x", SAMBA_F32, pair),
                 *image = leaf("image", SAMBA_F32, SAMBA_SHAPE(1, 4, 4, 4));
    samba_tensor *id = leaf("id", SAMBA_I32, SAMBA_SHAPE(4)), *in[2] = { x, NULL };
    samba_tensor *line = leaf("line", SAMBA_F32, SAMBA_SHAPE(1, 4, 4));
    REFUSES(samba_linear(x, NULL, 3));
    REFUSES(samba_linear_no_bias(x, NULL, 3));
    REFUSES(samba_layernorm(x, NULL));
    REFUSES(samba_fake_quantize(x, NULL));
    REFUSES(samba_fake_quantize_weight(x, 9));
    REFUSES(samba_rmsnorm(x, NULL));
    REFUSES(samba_batchnorm(image, NULL));
    REFUSES(samba_conv2d(image, NULL, 2, 2, NULL));
    REFUSES(samba_conv1d(line, NULL, 2, 2, NULL));
    REFUSES(samba_embedding(id, NULL, 5, 5));
    REFUSES(samba_dropout(x, NULL, 0.5f));
    NOTHING(samba_conv1d(NULL, "conv", 2, 2, NULL));
    for (int i = 0; i < 3; i++) {
        samba_tensor *qkv[3] = { line, line, line };
        REFUSES(samba_attention_dropout(qkv, NULL, NULL, NULL, 0.5f));
        qkv[i] = NULL;
        CHECK(!samba_attention_dropout(qkv, NULL, NULL, "drop", 0.5f));
        samba_clear_error(s);
    }
    NOTHING(samba_attention_dropout(NULL, NULL, NULL, "drop", 0.5f));
    samba_op op = { 0 };
    REFUSES(samba_register_op(s, NULL));
    REFUSES(samba_register_op(s, &op));
    CHECK(!samba_register_op(NULL, &op));
    const int32_t attr[1] = { 0 };
    REFUSES(samba_apply(s, NULL, in, 1, NULL, 0));
    CHECK(!samba_apply(s, NULL, in, 1, NULL, 0) && said(s, "name of the op is NULL"));
    REFUSES(samba_apply(s, "add", NULL, 2, NULL, 0));
    REFUSES(samba_apply(s, "add", in, 2, NULL, 0));
    REFUSES(samba_apply(s, "cast", in, 1, NULL, 1));
    REFUSES(samba_apply(s, "relu", in + 1, 1, NULL, 0));
    CHECK(!samba_apply(NULL, "cast", in, 1, attr, 1));
    REFUSES(samba_apply_all(s, NULL, in, 1, NULL, 0, NULL, 4));
    REFUSES(samba_call_function(s, NULL, in, 1, NULL, 0));
    REFUSES(samba_apply_all(s, "torch.bmm", in, 2, NULL, 0, NULL, 4)); // no name of an op
    CHECK(samba_op_at(NULL, 0) && !samba_op_at(NULL, -1) && !samba_op_at(NULL, 1 << 20));
    REFUSES(samba_call_function_all(s, "torch.split", NULL, 1, attr, 1, NULL, 4));
    REFUSES(samba_call_function_all(s, "torch.bmm", in, 2, NULL, 0, NULL, 4));
    TAKES(samba_call_function_all(s, "torch.relu", in, 1, NULL, 0, NULL, 4) == 1);
    CHECK(!samba_call_function_all(NULL, "torch.relu", in, 1, NULL, 0, in, 2));
    CHECK(!samba_set_requires_grad(NULL, true) && !samba_set_frozen(NULL, true));
    CHECK(!samba_set_sharing(NULL, true));
    TAKES(samba_on_trace(s, NULL, NULL));
    CHECK(!samba_on_trace(NULL, NULL, NULL));
    CHECK(!samba_grad(NULL, x) && !samba_grad(samba_tanh(x), NULL) && !samba_sn_grad(NULL));
    REFUSES(samba_begin_graph(s, NULL));
    CHECK(!samba_begin_graph(NULL, "g") && samba_set_graphamp(NULL, SAMBA_MP1) == SAMBA_MP0);
    CHECK(!samba_use_legacy_names(NULL, true) && !samba_set_quiet(NULL, true));
    samba_close(s);
}

static void test_session(void)
{
    const char *names[4];
    float data[16] = { 0 };
    s = open_quiet();
    REFUSES(samba_fail(s, SAMBA_EIO, NULL));
    CHECK(!samba_fail(NULL, SAMBA_EIO, NULL));
    samba_warn(NULL, "nobody hears it");
    samba_warn(s, NULL);
    REFUSES(samba_compile(s, NULL));
    samba_program nothing = { 0 };
    REFUSES(samba_compile(s, &nothing));
    REFUSES(samba_load(s, NULL, NULL));
    REFUSES(samba_load(s, NULL, &nothing));
    CHECK(!samba_load(NULL, "x", NULL) && !samba_compile(NULL, &nothing));
    samba_tensor *x = leaf("x", SAMBA_F32, pair), *y = samba_linear(x, "fc", 4);
    samba_program p = { .loss = samba_mse(y, x, SAMBA_REDUCE_MEAN), .outputs = { y } };
    p.optim.kind = SAMBA_SGD;
    CHECK(samba_compile(s, &p));
    TAKES(samba_run_graph(s, NULL, 0));
    TAKES(samba_run_with(s, NULL));
    CHECK(!samba_run_graph(NULL, "g", 0) && !samba_run_with(NULL, NULL) && !samba_run(NULL, 0));
    samba_value value = { NULL, 1.0 };
    const char *none = NULL;
    samba_output_grad grad = { NULL, data }, grad2 = { y, NULL };
    REFUSES(samba_run_with(s, &(samba_run_desc){ .hyperparams = &value, .n_hyperparams = 1 }));
    TAKES(samba_session_run(s, NULL));
    CHECK(!samba_session_run(NULL, NULL));
    samba_session_run_desc d = { .hyperparams = &value, .n_hyperparams = 1 };
    REFUSES(samba_session_run(s, &d));
    d = (samba_session_run_desc){ .section_types = &none, .n_section_types = 1 };
    REFUSES(samba_session_run(s, &d));
    d = (samba_session_run_desc){ .grad_of_outputs = &grad, .n_grad_of_outputs = 1 };
    REFUSES(samba_session_run(s, &d));
    d.grad_of_outputs = &grad2;
    REFUSES(samba_session_run(s, &d));
    d.grad_of_outputs = NULL;
    REFUSES(samba_session_run(s, &d));
    TAKES(samba_init_output_grads(s, NULL, 0, 0));
    REFUSES(samba_init_output_grads(s, NULL, 1, 0));
    CHECK(!samba_init_output_grads(NULL, NULL, 0, 0));
    REFUSES(samba_set(s, NULL, 1.0));
    CHECK(!samba_set(NULL, "lr", 1.0) && samba_get(s, NULL) == 0.0 && samba_get(NULL, "lr") == 0.0);
    samba_clear_error(s);
    CHECK(samba_argin_names(s, NULL, 4) == samba_argin_names(s, names, 4));
    CHECK(samba_weight_names(s, NULL, 4) == 2 && samba_grad_names(s, NULL, 4) == 2);
    CHECK(samba_dropout_rate_names(s, NULL, 4) == 0 && samba_dropout_seed_names(s, NULL, 4) == 0);
    CHECK(!samba_argin_names(NULL, names, 4) && !samba_section_types(NULL));
    CHECK(!samba_section_type_name(0) && !samba_section_type_name(SAMBA_COUNT)
          && !strcmp(samba_section_type_name(SAMBA_OPT), "OPT"));
    REFUSES(samba_write(x, NULL));
    REFUSES(samba_write_f32(x, NULL, 16));
    REFUSES(samba_copy_out(x, NULL, 64));
    REFUSES(samba_copy_out_f32(x, NULL, 16));
    CHECK(!samba_write(NULL, data) && !samba_write_f32(NULL, data, 16) && !samba_bytes(NULL));
    CHECK(!samba_copy_out(NULL, data, 64) && !samba_copy_out_f32(NULL, data, 16));
    NOTHING(samba_tensor_by_name(NULL, "x"));
    REFUSES(samba_tensor_by_name(s, NULL));
    REFUSES(samba_update_tensor(s, NULL, data));
    CHECK(!samba_update_tensor(NULL, "x", data));
    CHECK(!samba_cpu(NULL) && !samba_rdu(NULL) && !samba_is_stale(NULL));
    CHECK(!samba_to_cpu(NULL) && !samba_to_rdu(NULL));
    CHECK(!samba_fetch_state(NULL, SAMBA_KEPT) && !samba_send_state(NULL, SAMBA_KEPT));
    CHECK(samba_losses(NULL, NULL, 0) == 0 && !samba_forget_name(NULL));
    CHECK(!samba_sync_buffers_to_cpu(NULL) && !samba_sync_buffers_to_rdu(NULL));
    REFUSES(samba_save(s, NULL));
    REFUSES(samba_restore(s, NULL));
    CHECK(!samba_save(NULL, "x") && !samba_restore(NULL, "x") && !samba_set_train(NULL, true));
    bool modes[2] = { true, true };
    samba_modes(NULL, &modes[0], &modes[1]);
    samba_modes(s, NULL, NULL);
    CHECK(!modes[0] && !modes[1]);
    samba_print_graph(s, NULL, NULL);
    samba_print_graph(NULL, ignore_text, NULL);
    samba_print_ops(NULL, NULL);
    samba_pef_node node;
    memset(&node, 0, sizeof node);
    CHECK(!samba_pef_attr(NULL, "axis", NULL, 0) && !samba_pef_attr(&node, NULL, NULL, 0));
    CHECK(!samba_pef_attr(&node, "axis", NULL, 0));
    CHECK(samba_pef_fingerprint(NULL, 0) == 0 && samba_pef_fingerprint(NULL, 100) == 0);
    samba_section section;
    CHECK(!samba_describe_section(s, 0, NULL) && !samba_describe_section(NULL, 0, &section));
    CHECK(!samba_section_uses(s, 0, NULL) && !samba_section_uses(NULL, 0, x));
    CHECK(!samba_sections_commute(NULL, 0, 0) && !samba_zero_inputs(NULL) && !samba_eval(NULL));
    samba_on_event(s, NULL, NULL);
    samba_on_event(NULL, ignore_event, NULL);
    samba_on_node(s, NULL, NULL);
    samba_on_node(NULL, ignore_node, NULL);
    samba_clear_error(s);
    CHECK(samba_run(s, 0) && samba_close(s) == 0);
}

// Without a session, or the tensor that would have one.
static void test_no_session(void)
{
    samba_shape shape = SAMBA_SHAPE(2);
    samba_init zero = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    float value[2] = { 0 };
    CHECK(!samba_ok(NULL) && samba_close(NULL) == 1 && samba_error(NULL)[0]);
    CHECK(samba_error_code(NULL) == SAMBA_ENOMEM);
    CHECK(!samba_tracing(NULL) && !samba_set_tracing(NULL, true));
    samba_clear_error(NULL);
    CHECK(!samba_input(NULL, "x", SAMBA_F32, shape) && !samba_zeros(NULL, "x", SAMBA_F32, shape));
    CHECK(!samba_rand(NULL, "x", shape) && !samba_randint(NULL, "x", 3, shape));
    CHECK(!samba_from_data_copy(NULL, "x", SAMBA_F32, shape, value));
    CHECK(!samba_param(NULL, "x", shape, zero) && !samba_buffer(NULL, "x", shape, 0.0f)
          && !samba_buffer_of(NULL, "x", SAMBA_I8, shape, 0.0f));
    CHECK(!samba_batch_normalize(NULL, NULL, NULL, NULL, NULL, 0.1f, 0.0f));
    CHECK(!samba_scaled_dot_product_attention(NULL, NULL, NULL, NULL, NULL));
    CHECK(!samba_linear(NULL, "x", 2) && !samba_dropout(NULL, "x", 0.1f));
    CHECK(!samba_fake_quantize(NULL, "x") && !samba_fake_quantize_weight(NULL, 0));
    CHECK(!samba_layernorm(NULL, "x") && !samba_rmsnorm(NULL, "x") && !samba_batchnorm(NULL, "x"));
    CHECK(!samba_conv2d(NULL, "x", 2, 2, NULL) && !samba_embedding(NULL, "x", 2, 2));
    CHECK(samba_weight_names(NULL, NULL, 0) == 0 && samba_buffer_names(NULL, NULL, 0) == 0);
    CHECK(samba_read(NULL)[0] == 0.0f && samba_read_i32(NULL)[0] == 0);
    CHECK(samba_device_bytes(NULL) == 0 && samba_held_bytes(NULL) == 0);
}

static void test_device(void)
{
    static uint64_t pef[4], memory[512];
    char why[80];
    samba_call call = { 0 };
    int32_t fault[SAMBA__FAULT_WORDS] = { 0 };
    samba_args args = { 0 };
    CHECK(!samba_runtime_open(NULL, 128, memory, sizeof memory, why, sizeof why) && why[0]);
    CHECK(!samba_runtime_open(NULL, 0, memory, sizeof memory, NULL, 0));
    CHECK(!samba_runtime_open(pef, sizeof pef, NULL, 0, why, sizeof why));
    CHECK(!samba_runtime_open(pef, sizeof pef, memory, sizeof memory, NULL, 40));
    CHECK(!samba_runtime_bytes(NULL, 128, why, sizeof why));
    CHECK(!samba_runtime_bytes(pef, sizeof pef, NULL, 40));
    samba_device_memory ram;
    CHECK(!samba_measure_device(NULL, 128, NULL, &ram, why, sizeof why) && why[0]
          && ram.bytes == 0);
    CHECK(!samba_measure_device(pef, sizeof pef, NULL, NULL, NULL, 0)
          && !samba_measure_device(NULL, 0, NULL, NULL, NULL, 40));
    CHECK(!samba_runtime_run(NULL, 0) && !samba_runtime_run_graph(NULL, "g", 0));
    CHECK(!samba_runtime_data(NULL, "x"));
    samba_runtime_symbol symbol;
    samba_storage none = { 0 };
    CHECK(samba_runtime_error(NULL, why, sizeof why) == SAMBA_EARG
          && samba_runtime_n_symbols(NULL) == 0);
    CHECK(!samba_runtime_symbol_at(NULL, 0, &symbol) && !samba_runtime_find(NULL, "x", &symbol));
    CHECK(!samba_runtime_set_train(NULL, true) && !samba_runtime_set(NULL, "lr", 0)
          && samba_runtime_get(NULL, "lr") == 0);
    const samba_runtime_desc no_list = { NULL, 2 };
    CHECK(!samba_runtime_open_with(NULL, 0, NULL, 0, NULL, NULL, 0)
          && !samba_runtime_bytes_with(NULL, 0, NULL, NULL, 0));
    CHECK(!samba_runtime_bytes_with(pef, sizeof pef, &no_list, why, sizeof why)
          && strstr(why, "no ops"));
    CHECK(samba_runtime_state_bytes(NULL) == 0 && !samba_runtime_save(NULL, &none)
          && !samba_runtime_restore(NULL, &none));
    CHECK(!samba_refuse(&call, SAMBA_EARG, NULL) && call.code == SAMBA_EARG);
    CHECK(!samba_refuse(NULL, SAMBA_EARG, "x"));
    samba_fault(NULL, 0, 0);
    samba_fault(&args, 0, 0); // no place to report to
    args.fault = fault;
    samba_fault(&args, 1, 7);
    CHECK(fault[SAMBA__FAULT_SET] && fault[SAMBA__FAULT_INPUT] == 1);
    CHECK(samba__fault_number(fault + SAMBA__FAULT_VALUE) == 7);
    CHECK(samba_count(NULL) == 0);
}

// A program that runs on the device: its runtime, too, takes NULL for a name.
static void test_runtime(void)
{
    static uint64_t pef[4096];
    s = open_quiet();
    samba_tensor *x = leaf("x", SAMBA_F32, pair);
    samba_program p = { .inference = true, .outputs = { samba_tanh(x) } };
    CHECK(samba_compile(s, &p) && samba_save(s, "build/nulls.pef"));
    samba_close(s);
    size_t n = read_into("build/nulls.pef", pef, sizeof pef);
    size_t size = samba_runtime_bytes(pef, n, NULL, 0);
    void *memory = malloc(size);
    CHECK(size > 0 && !samba_runtime_open(pef, n, NULL, size, NULL, 0));
    samba_runtime *rt = samba_runtime_open(pef, n, memory, size, NULL, 0);
    CHECK(rt != NULL);
    CHECK(!samba_runtime_data(rt, NULL) && samba_runtime_data(rt, "x"));
    CHECK(samba_runtime_run(rt, 0) && !samba_runtime_run_graph(rt, "g", 0));
    CHECK(!samba_runtime_run_graph(rt, NULL, 0));
    samba_storage none = { 0 };
    samba_runtime_symbol symbol;
    CHECK(samba_runtime_error(rt, NULL, 40) == SAMBA_ENAME);
    CHECK(!samba_runtime_symbol_at(rt, 0, NULL) && !samba_runtime_find(rt, NULL, &symbol)
          && !samba_runtime_find(rt, "x", NULL));
    CHECK(!samba_runtime_set(rt, NULL, 0) && samba_runtime_get(rt, NULL) == 0);
    CHECK(!samba_runtime_save(rt, NULL) && !samba_runtime_restore(rt, NULL));
    CHECK(!samba_runtime_save(rt, &none) && !samba_runtime_restore(rt, &none));
    free(memory);
}

int main(void)
{
    RUN(test_ops);
    RUN(test_leaves_and_layers);
    RUN(test_session);
    RUN(test_no_session);
    RUN(test_device);
    RUN(test_runtime);
    return test_summary();
}
