// Layers, gradients, and ops of your own.
//     cc -O1 -o layers examples/reference/layers.c -lm -pthread && ./layers
#include "reference.h"

// ---- Layers: ops with parameters that are called after them -------------------------------------

// samba_linear, samba_linear_no_bias: y = x W^T + b with W (outputs, inputs).
static void linear(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 2), 3, 4);
    samba_tensor *y = samba_linear(x, "layer", 1);
    samba_write(samba_tensor_by_name(s, "layer__weight"), (float[]){ 10, 100 });
    samba_write(samba_tensor_by_name(s, "layer__bias"), (float[]){ 0.5f });
    is(samba_linear(x, "layer", 1), 430.5); // the same name, the same parameters
    holds(y->shape.dim[0] == 1 && y->shape.dim[1] == 1);
    samba_linear_no_bias(x, "plain", 1);
    holds(samba_parameters(s, NULL, 0) == 3);
}

// samba_set_sharing: a layer is called again on purpose: a step of a recurrent net. A second call
// of "cell" without it, as of a slip in a name, gives a warning.
static void sharing(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *h = samba_input(s, "h", SAMBA_F32, SAMBA_SHAPE(1, 4));
    samba_set_sharing(s, true);
    for (int step = 0; step < 3; step++)
        h = samba_tanh(samba_linear(h, "cell", 4));
    holds(samba_set_sharing(s, false));       // it returns what it was
    holds(samba_parameters(s, NULL, 0) == 2); // cell__weight and cell__bias
}

// samba_layernorm, samba_rmsnorm, samba_batchnorm: layers that normalize; their scale begins as 1.
static void norms(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 2, 4, 6, 1, 1, 4);
    is(samba_layernorm(x, "layer_norm"), -1.224743, 0, 1.224743, -0.707105, -0.707105, 1.414210);
    is(samba_slice(samba_rmsnorm(x, "rms_norm"), 0, 0, 1, 1), 0.462910, 0.925820, 1.388730);
    samba_tensor *image = samba_reshape(x, SAMBA_SHAPE(2, 3, 1, 1)); // 3 channels
    is(samba_batchnorm(image, "batch_norm"), 0.99998, 0.999998, 0.999995, -0.99998, -0.999998,
       -0.999995);
}

// samba_conv2d, samba_conv1d: convolutions of o channels with a window of 3.
static void convolutions(samba_session *s)
{
    samba_tensor *image = samba_randn(s, "image", SAMBA_SHAPE(1, 3, 28, 28));
    samba_conv_opts same = { .padding = { 1, 1 } };
    samba_tensor *y = samba_conv2d(image, "conv", 8, 3, &same);
    holds(y->shape.dim[1] == 8 && y->shape.dim[2] == 28); // (1,8,28,28)
    holds(samba_conv2d(image, "small", 8, 3, NULL)->shape.dim[2] == 26);
    samba_tensor *sound = samba_randn(s, "sound", SAMBA_SHAPE(1, 2, 100));
    holds(samba_conv1d(sound, "filter", 4, 3, NULL)->shape.dim[2] == 98);
}

// samba_embedding: a row that is learned for each id.
static void embedding(samba_session *s)
{
    samba_tensor *ids = integers(s, "ids", SAMBA_SHAPE(3), 4, 4, 2);
    samba_tensor *y = samba_embedding(ids, "words", 5, 8);
    holds(y->shape.dim[0] == 3 && y->shape.dim[1] == 8);
    holds(memcmp(samba_read(y), samba_read(y) + 8, 8 * sizeof(float)) == 0);
}

// samba_dropout, samba_attention_dropout, samba_set_train, samba_modes: zeroes only while training.
static void dropout(samba_session *s)
{
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1000));
    samba_tensor *y = samba_dropout(x, "drop", 0.5f); // each number is 0 or 2
    holds(fabsf(samba_read(samba_mean(y, SAMBA_ALL_AXES, false))[0] - 1) < 0.1f);
    samba_tensor *q = samba_randn(s, "q", SAMBA_SHAPE(4, 8));
    samba_set_train(s, false);
    bool train, running_stats;
    samba_modes(s, &train, &running_stats);
    holds(!train && !running_stats);
    holds(memcmp(samba_read(samba_dropout(x, "drop", 0.5f)), samba_read(x), 4000) == 0);
    samba_tensor *dropped = samba_attention_dropout((samba_tensor *[]){ q, q, q }, NULL, NULL,
                                                    "attention_drop", 0.1f);
    samba_tensor *plain = samba_scaled_dot_product_attention(q, q, q, NULL, NULL);
    holds(memcmp(samba_read(dropped), samba_read(plain), 128) == 0);
}

// samba_fake_quantize: training sees the steps that int8 will have.
static void fake_quantize(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -1, 0.001f, 1);
    samba_tensor *y = samba_fake_quantize(x, "steps"); // 2 / 255 from one to the next
    holds(fabsf(samba_read(y)[1]) < 0.008f);
    holds(samba_tensor_by_name(s, "steps__range") != NULL);
}

// ---- Gradients ----------------------------------------------------------------------------------

// samba_grad: more graph, which computes the derivative of a loss.
static void gradient(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3));
    samba_tensor *loss = samba_sum(samba_mul(x, samba_mul(x, x)), SAMBA_ALL_AXES, false);
    samba_tensor *dx = samba_grad(loss, x); // 3 x^2
    samba_tensor *ddx = samba_grad(dx, x);  // of the sum of dx: 6 x
    samba_compile(s, &(samba_program){ .outputs = { dx, ddx }, .inference = true });
    samba_write(x, (float[]){ 1, 2, 3 });
    samba_run(s, SAMBA_FWD);
    is(dx, 3, 12, 27);
    is(ddx, 6, 12, 18);
}

// samba_sn_grad, samba_losses: gradients of a training program, and what they begin with.
static void program_gradients(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 3 });
    samba_tensor *loss = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_SGD, .lr = 0.1f } });
    samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    is(samba_sn_grad(w), 6, 6);
    samba_tensor *list[4];
    holds(samba_losses(s, list, 4) == 1 && list[0] == loss);
    samba_write(samba_sn_grad(loss), (float[]){ 100 }); // scaled, as some do for half types
    samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    is(samba_sn_grad(w), 600, 600);
}

// ---- Ops of your own ----------------------------------------------------------------------------

// samba_fault, samba_fault_at: a kernel that finds a bad value in an input; the run fails and says
// where it stands.
static void root_kernel(const samba_args *args)
{
    for (int64_t i = args->begin; i < args->end; i++) {
        float x = args->in[0][i];
        if (x < 0) samba_fault_at(args, 0, (int32_t)x, i, 0, INT32_MAX);
        if (x != x) samba_fault(args, 0, 0);
        args->out[0][i] = x < 0 ? 0 : sqrtf(x);
    }
}

// samba_refuse: a shape rule that says what is wrong, and what to do.
static bool root_shape(samba_call *call)
{
    call->out[0] = call->in[0];
    call->n_out = 1;
    if (call->in[0].dtype == SAMBA_F32) return true;
    return samba_refuse(call, SAMBA_EDTYPE, "root takes f32; use samba_cast first");
}

// dx = dy / (2 y)
static void root_gradient(samba_vjp *g)
{
    g->din[0] = samba_scale(samba_div(g->dout[0], g->out[0]), 0.5f);
}

static const samba_op root = { .name = "root",
                               .wire = 0x8001,
                               .signature = "*->*",
                               .shape = root_shape,
                               .kernel = root_kernel,
                               .vjp = root_gradient };

// samba_register_op, samba_apply, samba_apply_all: an op is called by its name.
static void own_op(samba_session *s)
{
    samba_register_op(s, &root); // kernel, shape rule, gradient rule
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 1, 4, 9), *y = NULL;
    is(samba_apply(s, "root", &x, 1, NULL, 0), 1, 2, 3);
    holds(samba_apply_all(s, "root", &x, 1, NULL, 0, &y, 1) == 1); // for several outputs
    is(y, 1, 2, 3);
}

// samba_op_at: the list of ops, built in and your own.
static void list_ops(samba_session *s)
{
    int n = 0;
    samba_register_op(s, &root);
    while (samba_op_at(s, n))
        n++;
    holds(strcmp(samba_op_at(s, 0)->name, "add") == 0);
    holds(strcmp(samba_op_at(s, n - 1)->name, "root") == 0);
}

// samba_float_attr, samba_attr_float: attributes are 32-bit words; a float travels as its bits.
static void attributes(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2), 1, 2);
    int32_t factor = samba_float_attr(2.5f);
    holds(samba_attr_float(factor) == 2.5f);
    is(samba_apply(s, "scale", &x, 1, &factor, 1), 2.5, 5);
}

static samba_tensor *count_op(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                              samba_tensor *y, void *user)
{
    (void)op;
    (void)in;
    (void)n_in;
    ++*(int *)user;
    return y; // or another tensor in its place
}

// samba_on_trace: sees each op when it is traced, and may put something else in its place.
static void watch_trace(samba_session *s)
{
    int n = 0;
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_on_trace(s, count_op, &n);
    samba_relu(samba_neg(x));
    samba_on_trace(s, NULL, NULL);
    holds(n == 2);
}

int main(void)
{
    RUN(linear);
    RUN(sharing);
    RUN(norms);
    RUN(convolutions);
    RUN(embedding);
    RUN(dropout);
    RUN(fake_quantize);
    RUN(gradient);
    RUN(program_gradients);
    RUN(own_op);
    RUN(list_ops);
    RUN(attributes);
    RUN(watch_trace);
    return finish_examples();
}
