// fork copies a process, but of its threads only one. A child must be able to run and to close what
// it has inherited: with the same bits where it can, else with an error, and never waiting for
// threads that it does not have.
//     cc -O2 -I. tests/tools/fork.c -lm -pthread -o fork && ./fork
// Not under ThreadSanitizer, in which a child of several threads may not start others.
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/loader.h"
#include "tools/include/samba/parallel.h"
#include "tests/lib/test.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#if defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

enum { SECONDS = 60, SIDE = 96, BATCH = 8 };

typedef struct model {
    samba_session *s;
    samba_tensor *x, *y;
} model;

static model trace(int32_t threads)
{
    model m = { NULL, NULL, NULL };
    m.s = samba_open(&(samba_desc){ .threads = threads, .quiet = true });
    m.x = samba_randn(m.s, "x", SAMBA_SHAPE(SIDE, SIDE));
    m.y = samba_sum(samba_tanh(samba_matmul(m.x, m.x)), SAMBA_ALL_AXES, false);
    CHECK(samba_compile(m.s, &(samba_program){ .inference = true, .outputs = { m.y } }));
    return m;
}

// The bits of a run, or 0.
static uint32_t run(model m)
{
    uint32_t bits = 0;
    if (samba_run(m.s, SAMBA_FWD)) memcpy(&bits, samba_read(m.y), sizeof bits);
    return bits;
}

// Runs child(user) in a forked child, whose exit code it returns; -1: the child had to be killed.
static int in_child(int (*child)(void *user), void *user)
{
    int status = 0;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        alarm(SECONDS);
        _exit(child(user));
    }
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ---- Sessions -----------------------------------------------------------------------------------

typedef struct inherited {
    model m;
    uint32_t bits;
    int32_t threads;
    int deeper; // children of this child
} inherited;

static int close_only(void *user)
{
    return samba_close(((inherited *)user)->m.s);
}

static int run_and_close(void *user)
{
    inherited *c = (inherited *)user;
    int wrong = 0;
    for (int i = 0; i < 3; i++)
        wrong |= run(c->m) != c->bits;
    bool own_threads = c->m.s->program.pool.n_helpers == c->threads - 1;
    if (!own_threads) wrong |= 2;
    if (c->deeper-- > 0) wrong |= in_child(run_and_close, c) << 2;
    wrong |= samba_close(c->m.s) << 3;
    return wrong;
}

static void test_sessions(void)
{
    for (int32_t threads = 1; threads <= 4; threads++) {
        for (int rest = 0; rest < 2; rest++) { // helpers spin first, then they sleep
            inherited c = { trace(threads), 0, threads, 2 };
            c.bits = run(c.m);
            if (rest) usleep(20000);
            CHECK(in_child(close_only, &c) == 0);
            CHECK(in_child(run_and_close, &c) == 0);
            CHECK(run(c.m) == c.bits); // the parent has all that it had
            CHECK(samba_close(c.m.s) == 0);
        }
    }
}

// A child that closes while a thread of the parent runs: the pool is as the middle of a run has it.
static void *keep_running(void *user)
{
    inherited *c = (inherited *)user;
    for (int i = 0; i < 200; i++)
        c->deeper += run(c->m) != c->bits;
    return NULL;
}

static void test_close_amid_runs(void)
{
    inherited c = { trace(4), 0, 4, 0 };
    pthread_t thread;
    c.bits = run(c.m);
    CHECK(pthread_create(&thread, NULL, keep_running, &c) == 0);
    for (int i = 0; i < 20; i++)
        CHECK(in_child(close_only, &c) == 0);
    pthread_join(thread, NULL);
    CHECK(c.deeper == 0);
    CHECK(samba_close(c.m.s) == 0);
}

// A child uses a session of its own, or loads a file, while a thread of the parent made and ended
// maps: what the thread held when the child began, nobody in the child releases.
static bool stop_loading;

static void *keep_loading(void *user)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    bool fine = true;
    while (!__atomic_load_n(&stop_loading, __ATOMIC_RELAXED))
        fine = fine && samba_load(s, (const char *)user, NULL);
    CHECK(fine && samba_close(s) == 0);
    return NULL;
}

static int open_in_child(void *user)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    bool fine = samba_load(s, (const char *)user, NULL);
    return samba_close(s) != 0 || !fine;
}

static void test_load_amid_loads(void)
{
    char path[] = "build/fork_test.pef";
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 4));
    samba_program p = { .inference = true, .outputs = { samba_linear(x, "fc", 4) }, .pef = path };
    CHECK(samba_compile(s, &p) && samba_close(s) == 0);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_loading, path) == 0);
    for (int i = 0; i < 200; i++)
        CHECK(in_child(open_in_child, path) == 0);
    __atomic_store_n(&stop_loading, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    remove(path);
    remove("build/fork_test.pef.log");
    remove("build/fork_test.pef.map");
}

static int eager(void *user)
{
    inherited *c = (inherited *)user;
    samba_set_tracing(c->m.s, false);
    samba_tensor *x = samba_randn(c->m.s, "child", SAMBA_SHAPE(300, 300));
    bool fine = samba_read(samba_matmul(x, x)) != NULL && samba_ok(c->m.s);
    return samba_close(c->m.s) || !fine;
}

static void test_eager(void)
{
    inherited c = { trace(3), 0, 3, 0 };
    c.bits = run(c.m);
    CHECK(in_child(eager, &c) == 0);
    CHECK(samba_close(c.m.s) == 0);
}

// ---- loader.h -----------------------------------------------------------------------------------

typedef struct loading {
    model m;
    samba_loader *loader;
    int closed;
} loading;

static int32_t endless(void *user, samba_batch *batch)
{
    (void)user;
    memset(batch->data[0], 0, batch->size[0]);
    return 1;
}

static void note_close(void *user)
{
    ((loading *)user)->closed++;
}

static int load_in_child(void *user)
{
    loading *c = (loading *)user;
    int wrong = samba_loader_next(c->loader, NULL) != -1;
    wrong |= samba_error_code(c->m.s) != SAMBA_ESTATE;
    wrong |= strstr(samba_error(c->m.s), "forked child") == NULL;
    wrong |= samba_loader_statistics(c->loader).batches < 1;
    samba_clear_error(c->m.s);
    wrong |= samba_loader_rewind(c->loader);
    wrong |= !samba_loader_close(c->loader) || c->closed != 1;
    samba_clear_error(c->m.s);
    wrong |= samba_close(c->m.s);
    return wrong;
}

static void test_loader(void)
{
    static const char *const names[] = { "x" };
    for (int rest = 0; rest < 2; rest++) {
        loading c = { trace(2), NULL, 0 };
        samba_source source = { .next = endless, .close = note_close, .user = &c };
        c.loader = samba_loader_open(c.m.s, &source, names, 1, NULL);
        CHECK(samba_loader_next(c.loader, NULL) == 1);
        if (rest) usleep(20000);
        CHECK(in_child(load_in_child, &c) == 0);
        CHECK(samba_loader_next(c.loader, NULL) == 1);
        CHECK(samba_loader_close(c.loader) && c.closed == 1);
        CHECK(samba_close(c.m.s) == 0);
    }
}

// ---- parallel.h ---------------------------------------------------------------------------------

static bool trace_replica(samba_session *s, int32_t batch, samba_program *program, void *user)
{
    (void)user;
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 5));
    program->loss = samba_mean(samba_linear(x, "layer", 3), SAMBA_ALL_AXES, false);
    program->optim.kind = SAMBA_SGD;
    program->optim.lr = 0.1f;
    return true;
}

static float data[BATCH * 5];
static const samba_parallel_batch batch = { "x", data, BATCH };
static const samba_parallel_run_desc step = { .inputs = &batch, .n_inputs = 1 };

static int replicas_in_child(void *user)
{
    samba_parallel *p = (samba_parallel *)user;
    int wrong = samba_parallel_run(p, &step);
    wrong |= strstr(samba_parallel_error(p), "forked child") == NULL;
    wrong |= samba_parallel_set(p, "lr", 0.5) || samba_parallel_ok(p);
    wrong |= samba_parallel_close(p) != 1;
    return wrong;
}

static int close_replicas(void *user)
{
    return samba_parallel_close((samba_parallel *)user) != 1;
}

static void test_replicas(void)
{
    samba_parallel_desc desc = { .replicas = 2, .batch = BATCH, .trace = trace_replica };
    desc.session.threads = 2;
    desc.session.quiet = true;
    samba_parallel *p = samba_parallel_open(&desc);
    CHECK(samba_parallel_run(p, &step));
    CHECK(in_child(replicas_in_child, p) == 0);
    CHECK(in_child(close_replicas, p) == 0);
    CHECK(samba_parallel_run(p, &step));
    CHECK(samba_parallel_close(p) == 0);
}

int main(void)
{
    RUN(test_sessions);
    RUN(test_close_amid_runs);
    // A sanitizer's allocator takes no part in fork: its lock may be held when a child begins.
    if (TEST_SANITIZED)
        printf("skipped: children beside loads; it takes a build without sanitizers\n");
    else
        RUN(test_load_amid_loads);
    RUN(test_eager);
    RUN(test_loader);
    RUN(test_replicas);
    return test_summary();
}
