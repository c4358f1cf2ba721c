// Programs: compile, load, run; their values, checkpoints, sections and sizes.
//     cc -O1 -o programs examples/reference/programs.c -lm -pthread && ./programs
// Files are written to the working directory, and removed.
#include "reference.h"

// A net of one layer, for the examples: y = x W^T + b, trained to give what is asked for.
typedef struct net {
    samba_tensor *x, *want, *y, *loss, *w;
} net;

static net trace_net(samba_session *s)
{
    net n;
    samba_set_tracing(s, true);
    n.x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    n.want = samba_input(s, "want", SAMBA_F32, SAMBA_SHAPE(2, 1));
    n.y = samba_linear(n.x, "layer", 1);
    n.loss = samba_mse(n.y, n.want, SAMBA_REDUCE_MEAN);
    n.w = samba_tensor_by_name(s, "layer__weight");
    return n;
}

static const samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.1f };

// The same, compiled and with data.
static net compile_net(samba_session *s)
{
    net n = trace_net(s);
    samba_compile(s, &(samba_program){ .loss = n.loss, .outputs = { n.y }, .optim = sgd });
    samba_write(n.x, (float[]){ 1, 0, 0, 0, 1, 1 });
    samba_write(n.want, (float[]){ 1, -1 });
    return n;
}

// ---- Compile, load, run -------------------------------------------------------------------------

// samba_compile, samba_run: trace once, compile, and run in a loop of your own.
static void compile_and_run(samba_session *s)
{
    net n = trace_net(s);
    samba_compile(s,
                  &(samba_program){ .loss = n.loss,
                                    .outputs = { n.y },
                                    .optim = { .kind = SAMBA_ADAMW, .lr = 0.1f } });
    samba_write(n.x, (float[]){ 1, 0, 0, 0, 1, 1 });
    samba_write(n.want, (float[]){ 1, -1 });
    samba_run(s, SAMBA_FWD);
    float before = samba_read(n.loss)[0];
    for (int step = 0; step < 200; step++)
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    holds(samba_read(n.loss)[0] < 0.01f * before);
}

// samba_load: another process runs the file that this one compiled.
static void load(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_name(samba_scale(x, 10), "y");
    samba_compile(
        s,
        &(samba_program){
            .pef = "times_ten.pef", .outputs = { y }, .inference = true, .compile_only = true });
    samba_session *other = samba_open(NULL);
    samba_load(other, "times_ten.pef", NULL); // without a graph: names find tensors
    samba_write(samba_tensor_by_name(other, "x"), (float[]){ 1, 2 });
    samba_run(other, SAMBA_FWD);
    is(samba_tensor_by_name(other, "y"), 10, 20);
    samba_close(other);
    remove("times_ten.pef");
    remove("times_ten.pef.log");
    remove("times_ten.pef.map");
}

// samba_run_with: what to send, what to run and what to fetch, in one call that is checked first.
static void run_with(samba_session *s)
{
    net n = compile_net(s);
    const float rows[6] = { 0, 0, 0, 1, 1, 1 };
    samba_run_desc run = { .types = { SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT },
                           .feeds = &(samba_feed){ .tensor = n.x, .data = rows, .bytes = 24 },
                           .n_feeds = 1,
                           .hyperparams = &(samba_value){ "lr", 0.01 },
                           .n_hyperparams = 1,
                           .outputs = &n.y,
                           .n_outputs = 1 };
    holds(samba_run_with(s, &run));
    holds(samba_get(s, "lr") == (double)0.01f); // it persists
}

// samba_eval: a test between the steps of a training, which it leaves as it was.
static void tests_between_steps(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 4), 1, 1, 1, 1);
    samba_tensor *label = integers(s, "label", SAMBA_SHAPE(1), 0);
    samba_tensor *dropped = samba_dropout(x, "drop", 0.5f);
    samba_tensor *loss = samba_cross_entropy(samba_linear(dropped, "layer", 2), label);
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { dropped }, .optim = sgd });
    samba_eval(s);
    is(dropped, 1, 1, 1, 1); // nothing is dropped
    samba_run(s, 0);
    holds(samba_read(dropped)[0] != 1); // a step drops: each number is 0 or 2
}

// samba_set, samba_get, samba_argin_names: hyperparameters change without compiling.
static void hyperparameters(samba_session *s)
{
    const char *names[8];
    compile_net(s);
    holds(samba_argin_names(s, names, 8) > 0 && strstr(names[0], "lr") != NULL);
    samba_set(s, "lr", 0.5); // of every optimizer
    holds(samba_get(s, "lr") == 0.5);
}

// samba_input_names, samba_output_names, samba_weight_names, samba_grad_names, samba_buffer_names:
// of a program that was loaded without a graph; samba_tensor_by_name has the tensors.
static void program_names(samba_session *s)
{
    const char *names[8];
    net n = compile_net(s);
    holds(samba_input_names(s, names, 8) == 2 && samba_tensor_by_name(s, names[0]) != NULL);
    holds(samba_output_names(s, names, 8) == 2); // loss and y
    holds(samba_weight_names(s, names, 8) == 2);
    holds(samba_grad_names(s, names, 8) == 2);
    holds(samba_buffer_names(s, names, 8) == 1); // the steps of the optimizer
    holds(samba_tensor_by_name(s, "layer__weight") == n.w);
}

// samba_dropout_rate_names, samba_dropout_seed_names: what each dropout can be told.
static void dropout_names(samba_session *s)
{
    const char *rate = NULL, *seed = NULL;
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(4), (samba_init){ .value = 1 });
    samba_tensor *loss
        = samba_sum(samba_dropout(samba_mul(x, w), "drop", 0.5f), SAMBA_ALL_AXES, false);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = sgd });
    holds(samba_dropout_rate_names(s, &rate, 1) == 1 && strcmp(rate, "drop__p") == 0);
    holds(samba_dropout_seed_names(s, &seed, 1) == 1 && strcmp(seed, "drop__seed") == 0);
    holds(samba_set(s, rate, 0.1));
}

// samba_count_names: a loss over targets that count, of a batch in two parts.
static void counts(samba_session *s)
{
    const char *name = NULL;
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(2));
    samba_tensor *loss = samba_cross_entropy(samba_linear(x, "layer", 4), target);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = sgd, .microbatches = 2 });
    holds(samba_count_names(s, &name, 1) == 1 && strstr(name, "__targets") != NULL);
}

// samba_section_types, samba_section_type_name: what the program has to run.
static void section_types(samba_session *s)
{
    compile_net(s);
    holds(samba_section_types(s) & SAMBA_BCKWD);
    holds(strcmp(samba_section_type_name(SAMBA_BCKWD), "BCKWD") == 0);
}

// samba_use_running_stats: a training program is tested with what batchnorm has seen in training.
static void running_stats(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 1), 10, 30);
    is(samba_batchnorm(x, "norm"), -1, 1); // by mean and variance of the batch
    samba_use_running_stats(s, true);
    samba_tensor *y = samba_batchnorm(x, "norm"); // by running values, still near 0 and 1
    holds(samba_read(y)[0] > 1);
}

// samba_set_check_finite, samba_nonfinite: who made the first NaN.
static void find_nan(samba_session *s)
{
    samba_set_tracing(s, true);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3));
    samba_tensor *y = samba_scale(samba_name(samba_log(x), "logs"), 2);
    samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true });
    samba_write(x, (float[]){ 1, 2, -1 });
    samba_set_check_finite(s, true);
    samba_set_quiet(s, true);
    holds(!samba_run(s, SAMBA_FWD));
    samba_culprit culprit;
    holds(samba_nonfinite(s, &culprit) && strcmp(culprit.op, "log") == 0);
    holds(culprit.element == 2 && culprit.in[0].min == -1);
    samba_clear_error(s);
}

// samba_set_transfer, samba_to_device: values stay on the host until they are sent.
static void transfer(samba_session *s)
{
    net n = trace_net(s);
    samba_set_transfer(s, false);
    samba_compile(s, &(samba_program){ .loss = n.loss, .optim = sgd });
    samba_write(n.x, (float[]){ 1, 0, 0, 0, 1, 1 }); // writing sends
    samba_write(n.want, (float[]){ 1, -1 });
    samba_to_device(s); // so does this, all parameters
    holds(samba_run(s, SAMBA_FWD));
}

// samba_set_output_grads: the gradient that a backward pass begins with is given, not one.
static void output_gradients(samba_session *s)
{
    net n = trace_net(s);
    samba_set_output_grads(s, false);
    samba_compile(s, &(samba_program){ .loss = n.loss, .optim = sgd });
    samba_write(n.x, (float[]){ 1, 0, 0, 0, 1, 1 });
    samba_write(n.want, (float[]){ 1, -1 });
    samba_write(samba_sn_grad(n.loss), (float[]){ 0.5f });
    holds(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
}

// ---- Values -------------------------------------------------------------------------------------

// samba_write, samba_write_bytes, samba_write_f32, samba_read, samba_read_i32, samba_copy_out,
// samba_copy_out_f32, samba_bytes: in and out.
static void values(samba_session *s)
{
    float out[2];
    samba_tensor *x = samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *ids = samba_zeros(s, "ids", SAMBA_I32, SAMBA_SHAPE(2));
    holds(samba_bytes(x) == sizeof out);
    samba_write_bytes(x, (float[]){ 1, 2 }, sizeof out); // refuses another size
    samba_write(x, (float[]){ 3, 4 });                   // trusts you
    holds(samba_read(x)[1] == 4);                        // valid until the next run or write
    samba_copy_out(x, out, sizeof out);
    holds(out[0] == 3);
    samba_write_f32(ids, (float[]){ 7, 8 }, 2); // of any type, as f32
    holds(samba_read_i32(ids)[0] == 7);
    samba_copy_out_f32(ids, out, 2);
    holds(out[1] == 8);
}

// samba_cpu, samba_rdu, samba_is_stale: host copies, as SambaFlow's tensors have them.
static void host_copies(samba_session *s)
{
    net n = compile_net(s);
    float *w = (float *)samba_cpu(n.w); // from the device
    w[0] = 42;
    samba_rdu(n.w); // and back
    holds(samba_read(n.w)[0] == 42);
    samba_cpu(n.y);
    holds(!samba_is_stale(n.y));
    samba_run(s, SAMBA_FWD);
    holds(samba_is_stale(n.y)); // the run made another one
}

// samba_fetch_state, samba_send_state: the same of all parameters and optimizer state at once.
static void state(samba_session *s)
{
    net n = compile_net(s);
    samba_fetch_state(s, SAMBA_KEPT);
    ((float *)n.w->data)[0] = 1; // edit what you like
    samba_send_state(s, SAMBA_KEPT_PARAMETERS);
    holds(samba_read(n.w)[0] == 1);
}

// samba_zero_inputs: to time a program without data.
static void zero_inputs(samba_session *s)
{
    net n = trace_net(s);
    samba_compile(s, &(samba_program){ .loss = n.loss, .optim = sgd });
    samba_zero_inputs(s);
    holds(samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
}

// ---- Checkpoints --------------------------------------------------------------------------------

// samba_save, samba_restore: a checkpoint is a PEF with values, and training goes on from it.
static void checkpoint(samba_session *s)
{
    net n = compile_net(s);
    samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    samba_save(s, "net.ckpt");
    float saved = samba_read(n.w)[0];
    samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    samba_restore(s, "net.ckpt");
    holds(samba_read(n.w)[0] == saved);
    remove("net.ckpt");
}

// samba_save_with, samba_restore_with: what else may be said.
static void checkpoint_options(samba_session *s)
{
    samba_restored found;
    compile_net(s);
    samba_save_with(s, "net.ckpt", &(samba_save_opts){ .allow_nonfinite = true });
    samba_restore_with(s, "net.ckpt", &(samba_restore_opts){ .partial = true }, &found);
    holds(found.n_missing == 0 && found.n_unexpected == 0);
    samba_set(s, "lr", 0.001); // to tune what was trained: weights, and another rate
    const samba_restore_opts weights = { .kinds = SAMBA_KEPT_PARAMETERS | SAMBA_KEPT_BUFFERS };
    samba_restore_with(s, "net.ckpt", &weights, NULL);
    holds(samba_get(s, "lr") == (double)0.001f);
    remove("net.ckpt");
}

// ---- Looking inside -----------------------------------------------------------------------------

// samba_device_bytes, samba_held_bytes: what the compiler promised, and what the session holds.
static void memory(samba_session *s)
{
    compile_net(s);
    holds(samba_device_bytes(s) > 0 && samba_held_bytes(s) > samba_device_bytes(s));
}

// samba_seconds: wall clock.
static void seconds(samba_session *s)
{
    (void)s;
    double begin = samba_seconds();
    holds(samba_seconds() >= begin);
}

// samba_enter_float_mode, samba_leave_float_mode: arithmetic of your own with the same bits.
static void float_mode(samba_session *s)
{
    (void)s;
    volatile float one = 1.0f, three = 3.0f;
    uint64_t mode = samba_enter_float_mode();
    float third = one / three; // to nearest, whatever this thread is set to
    samba_leave_float_mode(mode);
    holds(third > 0.33f);
}

// samba_describe_section, samba_section_uses, samba_sections_commute: the schedule.
static void sections(samba_session *s)
{
    samba_section section;
    net n = compile_net(s);
    int backward = -1, step = -1;
    for (int id = 0; samba_describe_section(s, id, &section); id++) {
        if (section.types & SAMBA_BCKWD) backward = id;
        if (section.types & SAMBA_OPT) step = id;
    }
    holds(samba_section_uses(s, step, n.w) == (SAMBA_READS | SAMBA_WRITES));
    holds(!samba_sections_commute(s, backward, step)); // a step needs its gradient
}

static void count_events(const char *name, int32_t section, bool begins, void *user)
{
    (void)section;
    if (begins && strncmp(name, "SAMBA_SESSION_RUN", 17) == 0) ++*(int *)user;
}

// samba_on_event: what begins and ends, for a profiler.
static void events(samba_session *s)
{
    int runs = 0;
    compile_net(s);
    samba_on_event(s, count_events, &runs);
    samba_run(s, SAMBA_FWD);
    samba_run(s, SAMBA_FWD);
    samba_on_event(s, NULL, NULL);
    holds(runs == 2);
}

static void find_loss(int32_t node, const char *name, const samba_op *op, const samba_args *args,
                      bool begins, void *user)
{
    (void)node;
    (void)name;
    if (!begins && strcmp(op->name, "mean") == 0) *(float *)user = args->out[0][0];
}

// samba_on_node: every value when it is made, those of temporaries, too.
static void nodes(samba_session *s)
{
    float loss = -1;
    net n = compile_net(s);
    samba_on_node(s, find_loss, &loss);
    samba_run(s, SAMBA_FWD);
    samba_on_node(s, NULL, NULL);
    is(n.loss, loss);
}

int main(void)
{
    RUN(compile_and_run);
    RUN(load);
    RUN(run_with);
    RUN(tests_between_steps);
    RUN(hyperparameters);
    RUN(program_names);
    RUN(dropout_names);
    RUN(counts);
    RUN(section_types);
    RUN(running_stats);
    RUN(find_nan);
    RUN(transfer);
    RUN(output_gradients);
    RUN(values);
    RUN(host_copies);
    RUN(state);
    RUN(zero_inputs);
    RUN(checkpoint);
    RUN(checkpoint_options);
    RUN(memory);
    RUN(seconds);
    RUN(float_mode);
    RUN(sections);
    RUN(events);
    RUN(nodes);
    return finish_examples();
}
