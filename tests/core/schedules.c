// Learning rates of samba/schedule.h: tests/golden/schedules.txt has what torch.optim.lr_scheduler
// says; a training that stops and resumes from a checkpoint goes on as if it had not.
#define SAMBA_IMPLEMENTATION
#define SAMBA_SCHEDULE_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/schedule.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

static const char checkpoint[] = "build/schedules_test.ckpt";

// ---- PyTorch's rates ----------------------------------------------------------------------------

static bool is_close(double got, double want)
{
    return fabs(got - want) <= 1e-13 + 1e-12 * fabs(want);
}

static samba_schedule read_restarts(const char *line)
{
    samba_schedule r = { .name = "cosine_annealing_warm_restarts" };
    CHECK(sscanf(line, "restarts %lf %lf %d %d", &r.learning_rate, &r.end_learning_rate,
                 &r.restart_steps, &r.restart_factor)
          == 4);
    return r;
}

// 0 of PyTorch's is said by other words here.
static samba_plateau read_plateau(const char *line)
{
    samba_plateau p = { 0 };
    int maximize, absolute;
    CHECK(sscanf(line, "plateau %lf %d %lf %d %lf %d %d %lf %lf", &p.learning_rate, &maximize,
                 &p.factor, &p.patience, &p.threshold, &absolute, &p.cooldown, &p.min_learning_rate,
                 &p.eps)
          == 9);
    p.maximize = maximize != 0;
    p.absolute = absolute != 0;
    if (p.patience == 0) p.patience = -1;
    if (p.threshold == 0) p.threshold = (double)SAMBA_ZERO;
    if (p.factor == 0) p.factor = (double)SAMBA_ZERO;
    return p;
}

// The steps of one case; how many there were.
static int compare_restarts(FILE *f, const char *head)
{
    const samba_schedule r = read_restarts(head);
    samba_schedule warm = r;
    char line[128];
    int step = 0;
    warm.warmup_steps = 5;
    for (; fgets(line, sizeof line, f) && line[0] != '\n'; step++) {
        double want = strtod(line, NULL);
        CHECK(is_close(samba_schedule_at(&r, step), want));
        CHECK(is_close(samba_schedule_at(&warm, step + 5), want));
    }
    return step;
}

static int compare_plateau(FILE *f, const char *head)
{
    const samba_plateau p = read_plateau(head);
    float state[SAMBA_PLATEAU_FLOATS] = { 0 };
    char line[128];
    int step = 0;
    for (; fgets(line, sizeof line, f) && line[0] != '\n'; step++) {
        char *rest;
        double measure = strtod(line, &rest), want = strtod(rest, NULL);
        double got = samba_plateau_next(&p, state, measure);
        if (!is_close(got, want))
            printf("    step %d of %s: %.17g, PyTorch has %.17g\n", step, head, got, want);
        CHECK(is_close(got, want));
    }
    return step;
}

static void test_as_torch(void)
{
    char line[256];
    int cases = 0;
    FILE *f = fopen(GOLDEN_DIR "/schedules.txt", "r");
    CHECK(f != NULL);
    while (f && fgets(line, sizeof line, f)) {
        bool falls = strncmp(line, "restarts", 8) == 0;
        if (line[0] == '\n') continue;
        CHECK((falls ? compare_restarts(f, line) : compare_plateau(f, line)) == 150);
        cases++;
    }
    CHECK(cases == 10);
    if (f) fclose(f);
}

static void test_refused(void)
{
    samba_schedule r
        = { .name = "cosine_annealing_warm_restarts", .learning_rate = 1, .restart_steps = 4 };
    CHECK(samba_schedule_known(r.name) && samba_schedule_at(&r, 4) == 1);
    CHECK(samba_schedule_at(&r, 2147483647) < 1);
    r.restart_factor = -1;
    CHECK(isnan(samba_schedule_at(&r, 3)));
    r.restart_factor = 2147483647; // the lengths stay far from overflow
    CHECK(samba_schedule_at(&r, 2147483647) > 0.5);
    r.restart_steps = 0;
    CHECK(isnan(samba_schedule_at(&r, 3)));

    const samba_plateau bad[]
        = { { .factor = 1 },       { .factor = -0.5 },        { .cooldown = -1 },
            { .threshold = -1 },   { .learning_rate = -0.1 }, { .min_learning_rate = -1 },
            { .eps = (double)NAN } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float state[SAMBA_PLATEAU_FLOATS] = { 0 };
        CHECK(isnan(samba_plateau_next(&bad[i], state, 1)) && state[0] == 0);
    }
}

// ---- A training that resumes --------------------------------------------------------------------

typedef struct net {
    samba_session *s;
    samba_tensor *x, *loss, *memory;
} net;

static net compiled(void)
{
    net n;
    n.s = samba_open(NULL);
    n.x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    n.memory = samba_buffer(n.s, "plateau", SAMBA_SHAPE(SAMBA_PLATEAU_FLOATS), 0.0f);
    samba_tensor *y = samba_linear(samba_tanh(samba_linear(n.x, "fc1", 5)), "fc2", 3);
    n.loss = samba_mse(y, n.x, SAMBA_REDUCE_MEAN);
    samba_program p = { .loss = n.loss, .outputs = { n.memory } };
    p.optim = (samba_optim){ .kind = SAMBA_RMSPROP, .lr = 0.5f };
    CHECK(samba_compile(n.s, &p));
    return n;
}

// Steps from ... to - 1, each with a rate by the loss before it.
static void train(net *n, int from, int to, double *rates)
{
    const samba_plateau plateau = { .learning_rate = 0.5, .factor = 0.7, .patience = 1 };
    float x[12], state[SAMBA_PLATEAU_FLOATS];
    for (int step = from; step < to; step++) {
        for (int i = 0; i < 12; i++)
            x[i] = (float)((i * 7 + step * 5) % 11) / 11;
        CHECK(samba_write(n->x, x) && samba_run(n->s, 0));
        CHECK(samba_copy_out(n->memory, state, sizeof state));
        rates[step] = samba_plateau_next(&plateau, state, (double)samba_read(n->loss)[0]);
        CHECK(samba_set(n->s, "lr", rates[step]) && samba_write(n->memory, state));
    }
}

static void test_resumed(void)
{
    enum { STEPS = 40 };

    double whole[STEPS], parts[STEPS];
    float w[2][15];
    net n = compiled();
    train(&n, 0, STEPS, whole);
    CHECK(samba_copy_out(samba_tensor_by_name(n.s, "fc1__weight"), w[0], sizeof w[0]));
    CHECK(whole[0] == 0.5 && whole[STEPS - 1] < 0.3 && samba_close(n.s) == 0);

    for (int stop = 1; stop < STEPS; stop += 6) {
        n = compiled();
        train(&n, 0, stop, parts);
        CHECK(samba_save(n.s, checkpoint) && samba_close(n.s) == 0);
        n = compiled();
        CHECK(samba_restore(n.s, checkpoint));
        train(&n, stop, STEPS, parts);
        CHECK(samba_copy_out(samba_tensor_by_name(n.s, "fc1__weight"), w[1], sizeof w[1]));
        CHECK(memcmp(whole, parts, sizeof whole) == 0 && memcmp(w[0], w[1], sizeof w[0]) == 0);
        CHECK(samba_close(n.s) == 0);
    }
    remove(checkpoint);
}

int main(void)
{
    RUN(test_as_torch);
    RUN(test_refused);
    RUN(test_resumed);
    return test_summary();
}
