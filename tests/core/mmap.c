// Checkpoints too large to be read at once: parameters stay in the mapped file, a restore takes no
// memory for it, and whoever writes into a file that is in use changes no result unnoticed.
//     cc -O2 -I. tests/core/mmap.c -lm -pthread -o mmap && ./mmap
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/hook.h"
#include <unistd.h>
#include <utime.h>

enum { B = 4, WIDTH = 640, CLASSES = 8 }; // two weights of 1.6 MB

enum { WEIGHTS = 2 * WIDTH * WIDTH * 4 };

static char path[600], other_path[600];

typedef struct model {
    hook h;
    samba_session *s;
    samba_tensor *x, *y, *logits, *loss;
    samba_program program;
} model;

static void open_model(model *m, bool inference, bool no_map)
{
    samba_desc d = hook_desc(&m->h);
    memset(&m->program, 0, sizeof m->program);
    d.no_map = no_map;
    d.threads = 2;
    m->s = samba_open(&d);
    m->x = samba_input(m->s, "x", SAMBA_F32, SAMBA_SHAPE(B, WIDTH));
    m->y = samba_input(m->s, "y", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(m->x, "one", WIDTH));
    m->logits = samba_linear(samba_tanh(samba_linear(h, "two", WIDTH)), "head", CLASSES);
    m->loss = samba_cross_entropy(m->logits, m->y);
    m->program.inference = inference;
    m->program.loss = inference ? NULL : m->loss;
    m->program.outputs[0] = m->logits;
    m->program.optim.kind = SAMBA_ADAMW;
}

static bool run(const model *m)
{
    static float x[B * WIDTH];
    const int32_t y[B] = { 0, 1, 2, 3 };
    for (int i = 0; i < B * WIDTH; i++)
        x[i] = 0.01f * (float)(i % 37) - 0.2f;
    return samba_write(m->x, x) && (m->program.inference || samba_write(m->y, y))
        && samba_run(m->s, 0);
}

static uint64_t result(const model *m)
{
    CHECK(run(m));
    if (!samba_ok(m->s)) printf("    %s\n", samba_error(m->s));
    return samba__hash(samba_read(m->logits), samba_bytes(m->logits), 0);
}

static void close_model(const model *m)
{
    samba_close(m->s);
    CHECK(m->h.live == 0 && m->h.n_wrong == 0);
}

// A checkpoint of a program; the result of a run after it was saved, and what the device needs.
typedef struct facts {
    uint64_t result;
    size_t device;
} facts;

static facts make_checkpoint(bool inference)
{
    model m;
    facts f;
    open_model(&m, inference, false);
    CHECK(samba_compile(m.s, &m.program));
    if (!inference) CHECK(run(&m));
    CHECK(samba_save(m.s, path));
    f.device = samba_device_bytes(m.s);
    CHECK(m.s->program.file.bytes == NULL); // of what was compiled, the tables are kept
    f.result = result(&m);
    close_model(&m);
    return f;
}

static bool load(model *m, bool inference, bool no_map)
{
    open_model(m, inference, no_map);
    return samba_load(m->s, path, &m->program);
}

static uint64_t sum_of(const model *m, const char *name)
{
    samba_tensor *t = samba_tensor_by_name(m->s, name);
    return samba__hash(samba_read(t), samba_bytes(t), 0);
}

// What somebody does to a file in use.
static void overwrite(long at, size_t n)
{
    FILE *f = fopen(path, "r+b");
    uint8_t byte = 0x3C;
    CHECK(f && !fseek(f, at, SEEK_SET));
    for (size_t i = 0; f && i < n; i++)
        CHECK(fwrite(&byte, 1, 1, f) == 1);
    if (f) fclose(f);
}

static void make_old(void) // the test does not wait for the clock
{
    struct utimbuf then = { 1000000000, 1000000000 };
    CHECK(!utime(path, &then));
}

static void test_parameters_stay_in_the_file(void)
{
    facts want = make_checkpoint(true);
    model m;
    CHECK(load(&m, true, false));
    CHECK(m.s->program.file.mapped);
    CHECK(m.h.largest < WEIGHTS / 2 || m.h.largest == SAMBA_LOCAL_BYTES * 2);
    CHECK(samba_held_bytes(m.s) == m.h.live && m.h.live < samba_device_bytes(m.s) + WEIGHTS / 2);
    CHECK(samba_device_bytes(m.s) == want.device && want.device > WEIGHTS);
    long n_calls = m.h.n_calls;
    CHECK(result(&m) == want.result && result(&m) == want.result);
    CHECK(m.h.n_calls == n_calls);
    close_model(&m);
    CHECK(load(&m, true, true) && !m.s->program.file.mapped); // in memory, once
    CHECK(samba_device_bytes(m.s) == want.device && m.h.most < m.h.live + WEIGHTS / 2);
    CHECK(result(&m) == want.result);
    close_model(&m);
}

static void test_writing_is_private(void)
{
    facts want = make_checkpoint(true);
    static float zeros[WIDTH * WIDTH];
    model m, n;
    CHECK(load(&m, true, false) && load(&n, true, false));
    CHECK(samba_write(samba_tensor_by_name(m.s, "two__weight"), zeros));
    CHECK(result(&m) != want.result && result(&n) == want.result);
    CHECK(samba_restore(m.s, path) && result(&m) == want.result);
    CHECK(samba_write(samba_tensor_by_name(m.s, "two__weight"), zeros));
    CHECK(samba_save(m.s, path)); // over the file both use
    CHECK(result(&m) != want.result && result(&n) == want.result);
    CHECK(samba_restore(n.s, path) && result(&n) == result(&m));
    close_model(&m);
    close_model(&n);
}

// Trained on from the mapped file, saved over it, and again.
static void test_training_goes_on(void)
{
    model whole, part;
    make_checkpoint(false);
    CHECK(load(&whole, false, true));
    for (int round = 0; round < 3; round++) {
        CHECK(load(&part, false, false));
        CHECK(!part.s->program.file.bytes
              && !part.s->program.file.mapped); // all was copied: nothing is held
        CHECK(part.h.live < samba_device_bytes(part.s) + WEIGHTS / 2 + 2 * SAMBA_LOCAL_BYTES);
        CHECK(result(&whole) == result(&part));
        CHECK(samba_save(part.s, path));
        CHECK(result(&whole) == result(&part));
        CHECK(samba_restore(whole.s, path));
        close_model(&part);
    }
    close_model(&whole);
}

static void test_restore_takes_no_memory(void)
{
    facts want = make_checkpoint(true);
    model m;
    open_model(&m, true, false);
    CHECK(samba_compile(m.s, &m.program));
    static float zeros[WIDTH * WIDTH];
    CHECK(samba_write(samba_tensor_by_name(m.s, "one__weight"), zeros));
    size_t live = m.h.most = m.h.live;
    CHECK(samba_restore(m.s, path));
    CHECK(m.h.live == live && m.h.most < live + 64 * 1024);
    CHECK(result(&m) == want.result);
    CHECK(samba_compile(m.s, &m.program) && result(&m) == want.result);
    close_model(&m);
}

static void test_damaged_data(void)
{
    model m, n;
    make_checkpoint(false);
    CHECK(load(&m, false, false) && run(&m) && samba_save(m.s, path));
    uint64_t before = sum_of(&m, "one__weight");
    overwrite(WEIGHTS, 1);
    CHECK(!samba_restore(m.s, path) && samba_error_code(m.s) == SAMBA_EPEF);
    CHECK(strstr(samba_error(m.s), "checksum of the data") && strstr(samba_error(m.s), path));
    samba_clear_error(m.s);
    CHECK(sum_of(&m, "one__weight") == before);
    for (int no_map = 0; no_map < 2; no_map++) {
        CHECK(!load(&n, false, no_map) && samba_error_code(n.s) == SAMBA_EPEF);
        close_model(&n);
    }
    CHECK(truncate(path, WEIGHTS) == 0);
    CHECK(!samba_restore(m.s, path) && samba_error_code(m.s) == SAMBA_EPEF);
    samba_clear_error(m.s);
    CHECK(run(&m));
    close_model(&m);
}

// Somebody writes into the file: an error, before anything is computed with it.
static void test_written_while_in_use(void)
{
    for (int how = 0; how < 4; how++) {
        facts want = make_checkpoint(true);
        model m;
        make_old();
        CHECK(load(&m, true, how == 3) && result(&m) == want.result);
        if (how == 0) overwrite(WEIGHTS, 4);
        if (how == 1) CHECK(truncate(path, 4096) == 0);
        if (how == 2) CHECK(!rename(path, other_path)); // no harm
        if (how == 3) overwrite(WEIGHTS, 4);            // it was read
        if (how >= 2) {
            CHECK(result(&m) == want.result);
        } else {
            CHECK(!run(&m) && samba_error_code(m.s) == SAMBA_EIO);
            CHECK(strstr(samba_error(m.s), "wrote into the PEF"));
            samba_clear_error(m.s);
            CHECK(!samba_save(m.s, other_path) && samba_error_code(m.s) == SAMBA_EIO);
            samba_clear_error(m.s);
            CHECK(!samba_compile(m.s, &m.program) && samba_error_code(m.s) == SAMBA_EIO);
        }
        close_model(&m);
    }
}

// What reads or writes a parameter outside a run looks first, too: memory behind the end of a file
// that was cut is none.
static void test_cut_while_in_use(void)
{
    static float values[WIDTH * WIDTH];
    make_checkpoint(true);
    for (int how = 0; how < 8; how++) {
        model m;
        make_old();
        CHECK(load(&m, true, false) && m.s->program.file.mapped);
        samba_tensor *t = samba_tensor_by_name(m.s, "two__weight");
        CHECK(t && samba_bytes(t) == sizeof values);
        CHECK(samba_copy_out(t, values, sizeof values));
        CHECK(truncate(path, 4096) == 0);
        if (how == 0) CHECK(samba_read(t)[WIDTH * WIDTH - 1] == 0.0f);
        if (how == 1) CHECK(!samba_cpu(t));
        if (how == 2) CHECK(!samba_copy_out(t, values, sizeof values));
        if (how == 3) CHECK(!samba_write(t, values));
        if (how == 4) CHECK(!samba_fetch_state(m.s, SAMBA_KEPT));
        if (how == 5) CHECK(!samba_restore(m.s, path));
        if (how == 6) { // ops that are computed at once
            samba_set_tracing(m.s, false);
            CHECK(!samba_sum(t, SAMBA_ALL_AXES, false));
        }
        if (how == 7) {
            samba_set_tracing(m.s, false);
            CHECK(!samba_write_rows(t, samba_ones(m.s, "row", SAMBA_F32, SAMBA_SHAPE(1, WIDTH)),
                                    samba_zeros(m.s, "at", SAMBA_I32, SAMBA_SHAPE(1))));
        }
        CHECK(samba_error_code(m.s) == SAMBA_EIO);
        CHECK(strstr(samba_error(m.s), "wrote into the PEF"));
        close_model(&m);
        make_checkpoint(true);
    }
}

// Every allocation of loading and restoring fails once; the session stays usable.
static void test_no_memory(void)
{
    facts want = make_checkpoint(true);
    for (long n = 0; n < 500 && !test_bad; n++) {
        model m;
        open_model(&m, true, false);
        CHECK(samba_ok(m.s));
        m.h.fail_at = m.h.n_calls + n;
        bool loaded = samba_load(m.s, path, &m.program) && samba_restore(m.s, path);
        bool failed = m.h.n_failed > 0;
        CHECK(loaded == !failed && (loaded || samba_error_code(m.s) == SAMBA_ENOMEM));
        if (loaded) CHECK(result(&m) == want.result);
        close_model(&m);
        if (!failed) return;
    }
    CHECK(!"fewer than 500 allocations");
}

int main(int argc, char **argv)
{
    snprintf(path, sizeof path, "%.500s.ckpt", argc > 0 ? argv[0] : "mapped");
    snprintf(other_path, sizeof other_path, "%.500s.other", argc > 0 ? argv[0] : "mapped");
    RUN(test_parameters_stay_in_the_file);
    RUN(test_writing_is_private);
    RUN(test_training_goes_on);
    RUN(test_restore_takes_no_memory);
    RUN(test_damaged_data);
    RUN(test_written_while_in_use);
    RUN(test_cut_while_in_use);
    RUN(test_no_memory);
    remove(path);
    remove(other_path);
    return test_summary();
}
