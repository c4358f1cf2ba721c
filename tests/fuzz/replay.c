// Files of samba/replay.h: the run in which a value was not finite. Loaded and run again, or
// refused.
#include "pef_mutate.h"
#define SAMBA_REPLAY_IMPLEMENTATION
#include "tools/include/samba/replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMORY = 16 << 20 };

static const double most_flops = 2e5, flops_a_second = 2e7;

static void *allocate(size_t size, void *user)
{
    (void)user;
    return size > MOST_MEMORY ? NULL : malloc(size);
}

static void release(void *p, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(p);
}

// Sections that all runs of a file name; a run of all is 64 of them.
static double work_of(const samba_replay_found *found)
{
    double n = 0;
    for (int32_t i = 0; i < found->n_runs; i++)
        n += 64 + found->runs[i].n_section_ids;
    return n;
}

static void one(const uint8_t *data, size_t size)
{
    char why[2000] = "";
    samba_replay_found found;
    samba_desc d = { .threads = 1, .quiet = true, .alloc = allocate, .release = release };
    samba_session *s = samba_open(&d);
    if (!s) return;
    char checkpoint[300], path[300];
    strcpy(checkpoint, fuzz_path("nan.ckpt"));
    strcpy(path, fuzz_write("nan.replay", data, size));
    fuzz_allow("nan.ckpt");

    if (samba_replay_load(s, path, checkpoint, &found, why, sizeof why)) {
        size_t n;
        double flops;
        uint8_t *pef = fuzz_file(checkpoint, &n);
        bool small = pef && pef_is_small(pef, n, most_flops, &flops);
        if (small && work_of(&found) < 2000) {
            fuzz_allow_seconds((flops / flops_a_second + 1e-3) * work_of(&found));
            samba_replay_again(s, &found);
        }
        free(pef);
    } else {
        fuzz_check_text(why, sizeof why, "samba_replay_load");
    }
    samba_replay_free(&found);
    samba_clear_error(s);
    samba_close(s);
}

// ---- Mutating -----------------------------------------------------------------------------------

// FNV-1a of all but the last eight bytes, which hold it.
static void seal(uint8_t *data, size_t size)
{
    if (size >= 8)
        fuzz_set(data + size - 8, samba_replay__hash(0xcbf29ce484222325u, data, size - 8), 8);
}

// Where the checkpoint begins, by its first bytes; size: nowhere.
static size_t checkpoint_at(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at++)
        if (memcmp(data + at, "SAMBAPEF", 8) == 0) return at;
    return size;
}

// What stands before the checkpoint is a row of numbers and of blocks with their lengths.
static size_t mutate_front(uint8_t *data, size_t size, size_t most, fuzz_random *r)
{
    if (size < 16 || fuzz_chance(r, 4)) return LLVMFuzzerMutate(data, size, most);
    for (uint32_t tries = 0; tries < 64; tries++) { // a number is small
        size_t at = fuzz_below(r, (uint32_t)size - 8);
        uint64_t was = fuzz_get(data + at, 8);
        if (was > size) continue;
        fuzz_set(data + at, fuzz_number(r, was, 64), 8);
        break;
    }
    return size;
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    size_t end = size >= 8 ? size - 8 : size, at = checkpoint_at(data, end);
    uint8_t *room = malloc(most + 8);
    if (!room) return size;

    memcpy(room, data, at);
    size_t n = at;
    if (fuzz_chance(&r, 2)) n = mutate_front(room, n, most - (end - at) - 8, &r);
    size_t rest = end - at;
    memcpy(room + n, data + at, rest);
    if (fuzz_chance(&r, 2) && rest)
        rest = pef_mutate(room + n, rest, most - n - 8, fuzz_below(&r, ~0u));
    n += rest + 8;
    memcpy(data, room, n);
    free(room);
    if (!fuzz_chance(&r, 16)) seal(data, n);
    return n;
}

// ---- Seeds, large inputs ------------------------------------------------------------------------

// A training that overflows: rows of x are as many as asked for.
static void make(fuzz_bytes *to, int32_t rows, int32_t runs)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, 4));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_program p = { 0 };
    char path[300];
    p.loss = samba_cross_entropy(samba_linear(samba_tanh(samba_linear(x, "a", 3)), "b", 2), label);
    p.optim.kind = SAMBA_SGD;
    p.optim.lr = 0.1f;
    strcpy(path, fuzz_path("seed.replay"));
    fuzz_allow("seed.replay");
    bool fine = samba_compile(s, &p);

    samba_replay *r = samba_replay_open(s, path);
    float *values = calloc((size_t)rows * 4, sizeof *values);
    fine = fine && r && samba_zero_inputs(s) && samba_write(x, values);
    for (int32_t i = 0; fine && i < runs; i++)
        fine = samba_replay_run(r, SAMBA_FWD) && samba_replay_run(r, SAMBA_BCKWD);
    if (values) values[1] = INFINITY;
    if (fine && samba_write(x, values) && samba_replay_run(r, 0))
        fuzz_fail("no seed: it is finite");
    free(values);
    samba_replay_close(r);

    size_t size = 0;
    uint8_t *bytes = fuzz_file(path, &size);
    if (!bytes) fuzz_fail("no seed: %s", samba_error(s));
    samba_clear_error(s);
    samba_close(s);
    to->size = 0;
    fuzz_put(to, bytes, size);
    free(bytes);
    remove(path);
}

static void seeds(void)
{
    fuzz_bytes b = { NULL, 0, 0 };
    make(&b, 2, 1);
    fuzz_seed("training", b.at, b.size);
    make(&b, 1, 0);
    fuzz_seed("one", b.at, b.size);
    fuzz_free(&b);
}

static bool large(size_t size, int kind)
{
    fuzz_bytes b = { NULL, 0, 0 };
    if (kind >= 1) return false;
    make(&b, (int32_t)(size / 20), 0);
    fuzz_large("a long input", b.at, b.size);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "replay",
    .limits = { .seconds = 0.5, .seconds_per_mb = 10 },
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 32768,
};
