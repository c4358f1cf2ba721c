// A PEF or checkpoint through the host: samba_load, runs, samba_save, samba_restore, once more.
// What is refused must say so, with a code that fits, and without more heap than the file and 64
// KiB.
#include "pef_mutate.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMORY = 16 << 20, LIVE = 16 };

static const double most_flops = 1e6, flops_a_second = 2e7;

// ---- The session's memory -----------------------------------------------------------------------

typedef struct memory {
    size_t live, most;
} memory;

static void *allocate(size_t size, void *user)
{
    memory *m = user;
    if (size > MOST_MEMORY || m->live + size > 2 * MOST_MEMORY) return NULL;
    m->live += size;
    if (m->live > m->most) m->most = m->live;
    return malloc(size);
}

static void release(void *p, size_t size, void *user)
{
    memory *m = user;
    m->live -= size;
    free(p);
}

// ---- One session --------------------------------------------------------------------------------

static void check_refusal(samba_session *s, size_t took, size_t size)
{
    samba_code code = samba_error_code(s);
    fuzz_check_text(samba_error(s), 4000, "samba_load");
    if (code != SAMBA_EPEF && code != SAMBA_EGRAPH && code != SAMBA_ENOMEM && code != SAMBA_ENAME
        && code != SAMBA_EOP && code != SAMBA_ERANGE) // the last: a rate that is out of range
        fuzz_fail("samba_load fails with another code: %s", samba_error(s));
    if (code == SAMBA_EPEF && took > size + 65536)
        fuzz_fail("%zu bytes of heap to refuse a file of %zu: %s", took, size, samba_error(s));
}

static void give_inputs(samba_session *s, const samba_pef *pef)
{
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        if (q.role != SAMBA_ROLE_INPUT || q.size > MOST_MEMORY) continue;
        uint8_t *bytes = calloc(1, (size_t)q.size + 1);
        samba_tensor *t = samba_tensor_by_name(s, q.name);
        if (t) samba_write_bytes(t, bytes, (size_t)q.size);
        free(bytes);
        samba_clear_error(s);
    }
}

static void use(samba_session *s, const samba_pef *pef)
{
    give_inputs(s, pef);
    if (!samba_run(s, 0)) {
        fuzz_check_text(samba_error(s), 4000, "samba_run");
        samba_clear_error(s);
    }
    for (int32_t i = 0; i < pef->n_sections && i < 3; i++) {
        const char *graph = samba_pef_section_at(pef, i).graph;
        if (graph) samba_run_graph(s, graph, SAMBA_FWD);
        samba_clear_error(s);
    }
    samba_set(s, "lr", 0.5);
    samba_clear_error(s);
    samba_fetch_state(s, SAMBA_KEPT);
    samba_clear_error(s);

    const char *path = fuzz_path("out.ckpt");
    fuzz_allow("out.ckpt");
    fuzz_allow("out.ckpt.log");
    fuzz_allow("out.ckpt.map");
    if (samba_save(s, path) && !samba_restore(s, path))
        fuzz_fail("what was saved is not restored: %s", samba_error(s));
    samba_clear_error(s);
}

static void one(const uint8_t *data, size_t size)
{
    memory m = { 0, 0 };
    samba_desc d
        = { .threads = 1, .quiet = true, .alloc = allocate, .release = release, .user = &m };
    samba_pef pef;
    double flops;
    char why[400];
    const char *path = fuzz_write("load.pef", data, size);
    samba_session *s = samba_open(&d);
    if (!s) return;

    for (int round = 0; round < 2; round++) {
        size_t before = m.live;
        m.most = m.live;
        if (!samba_load(s, path, NULL)) {
            check_refusal(s, m.most - before, size);
            break;
        }
        bool small = pef_is_small(data, size, most_flops, &flops);
        if (!small || !samba_pef_open(&pef, data, size, why, sizeof why)) break;
        fuzz_allow_seconds(8 * flops / flops_a_second + (double)m.live * 2e-7);
        use(s, &pef);
    }
    samba_close(s);
    if (m.live) fuzz_fail("samba_close leaves %zu bytes", m.live);
}

static bool large(size_t size, int kind)
{
    fuzz_bytes file = { NULL, 0, 0 };
    if (kind >= PEF_LARGE_KINDS) return false;
    const char *title = pef_large(size, kind, &file);
    fuzz_large(title, file.at, file.size);
    fuzz_free(&file);
    return true;
}

static void seeds(void)
{
    pef_programs(fuzz_seed);
}

const fuzz_target fuzz_target_here = {
    .name = "load",
    .limits = { .seconds = 0.5, .seconds_per_mb = 5 },
    .one = one,
    .mutate = pef_mutate,
    .seeds = seeds,
    .large = large,
    .most = 32768,
};
