// What exported C is compared with. `drive` runs a checkpoint in the executor of the device half,
// prints a hash of all that it made and learned, and writes a header by which export_run.c does the
// same with NAME.c. samba.h is included before.
#ifndef EXPORT_DRIVE_H
#define EXPORT_DRIVE_H
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/device/export_steps.h"
#include "tests/lib/files.h"

// ---- The same steps in the executor -------------------------------------------------------------

// Does an op overwrite or make what is called so? What none does is a constant in C, if it is
// there.
static bool is_made(const samba_pef *pef, const char *name)
{
    for (int32_t i = 0; i < pef->n_nodes; i++) {
        samba_pef_node n = samba_pef_node_at(pef, i);
        for (int32_t k = 0; k < n.n_out; k++)
            if (n.out[k] >= 0 && !strcmp(samba_pef_symbol_at(pef, n.out[k]).name, name))
                return true;
    }
    return false;
}

static bool is_compared(const samba_pef *pef, const samba_runtime_symbol *s)
{
    bool learned = s->role == SAMBA_ROLE_WEIGHT || s->role == SAMBA_ROLE_STATE;
    if (s->role != SAMBA_ROLE_OUTPUT && !(learned && !pef->inference)) return false;
    return is_made(pef, s->name);
}

static void fill_inputs_of(samba_runtime *rt)
{
    samba_runtime_symbol s;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &s); i++) {
        if (s.role != SAMBA_ROLE_INPUT) continue;
        if (s.spec.dtype == SAMBA_I32)
            fill_labels((int32_t *)s.data, s.bytes / 4);
        else if (s.spec.dtype == SAMBA_BOOL)
            fill_truths((uint8_t *)s.data, s.bytes);
        else
            fill_floats((float *)s.data, s.bytes / 4);
    }
}

static void add_results_of(samba_runtime *rt, const samba_pef *pef)
{
    samba_runtime_symbol s;
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &s); i++) {
        if (!is_compared(pef, &s)) continue;
        if (s.spec.dtype == SAMBA_F32)
            add_floats((const float *)s.data, s.bytes / 4);
        else
            add_to_hash(s.data, s.bytes);
    }
}

// False: a label is out of range.
static bool run_step(samba_runtime *rt, const samba_pef *pef)
{
    fill_inputs_of(rt);
    if (!samba_runtime_run(rt, 0)) return false;
    add_results_of(rt, pef);
    return true;
}

static void run_with_nan(samba_runtime *rt, const samba_pef *pef)
{
    with_nan = true;
    fill_inputs_of(rt);
    with_nan = false;
    bool ran = samba_runtime_run(rt, 0);
    add_answer(ran);
    if (ran) add_results_of(rt, pef);
}

// ---- and as functions of export_run.c -----------------------------------------------------------

static void put_call(FILE *to, const char *call, const char *net, const samba_runtime_symbol *s,
                     size_t n)
{
    fprintf(to, "    %s(%s_", call, net);
    for (const char *c = s->name; *c; c++)
        fputc(isalnum((unsigned char)*c) ? *c : '_', to);
    fprintf(to, ", %zu);\n", n);
}

static void put_steps(FILE *to, const char *net, const samba_runtime *rt, const samba_pef *pef)
{
    samba_runtime_symbol s;
    fprintf(to,
            "#include \"%s.h\"\n#include \"tests/device/export_steps.h\"\n#define NET_RUN "
            "%s_run\n#define NET_STACK ",
            net, net);
    for (const char *c = net; *c; c++)
        fputc(toupper((unsigned char)*c), to);
    fprintf(to, "_STACK\n\nstatic void fill_inputs(void)\n{\n    labels_below = %uu;\n",
            labels_below);
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &s); i++) {
        if (s.role != SAMBA_ROLE_INPUT) continue;
        bool ids = s.spec.dtype == SAMBA_I32, truths = s.spec.dtype == SAMBA_BOOL;
        const char *others = truths ? "fill_truths" : "fill_floats";
        put_call(to, ids ? "fill_labels" : others, net, &s, truths ? s.bytes : s.bytes / 4);
    }
    fprintf(to, "}\n\nstatic void add_results(void)\n{\n");
    for (int32_t i = 0; samba_runtime_symbol_at(rt, i, &s); i++) {
        bool floats = s.spec.dtype == SAMBA_F32;
        if (!is_compared(pef, &s)) continue;
        put_call(to, floats ? "add_floats" : "add_to_hash", net, &s,
                 floats ? s.bytes / 4 : s.bytes);
    }
    fprintf(to, "}\n");
}

// All steps in the executor, from the values of the file; true: rt is open, and a hash is made.
static bool run_steps(samba_pef *pef, const char *bytes, size_t size, void *memory, size_t needed,
                      samba_runtime **rt)
{
    random_state = FIRST_RANDOM;
    hash = FIRST_HASH;
    *rt = samba_runtime_open(bytes, size, memory, needed, NULL, 0);
    bool fine = *rt && samba_pef_open(pef, bytes, size, NULL, 0);
    for (int step = 0; step < RUNS && fine; step++)
        fine = run_step(*rt, pef);
    if (fine) run_with_nan(*rt, pef);
    return fine;
}

static int drive(const char *path, const char *net, const char *steps)
{
    char why[400] = "cannot be read, or runs with no label";
    size_t size = 0;
    char *bytes = read_whole(path, &size);
    size_t needed = bytes ? samba_runtime_bytes(bytes, size, why, sizeof why) : 0;
    void *memory = malloc(needed + 1);
    samba_runtime *rt = NULL;
    samba_pef pef;
    bool fine = false;
    for (labels_below = 4; needed && !fine && --labels_below;)
        fine = run_steps(&pef, bytes, size, memory, needed, &rt);
    FILE *to = fine ? fopen(steps, "w") : NULL;
    if (to) {
        put_steps(to, net, rt, &pef);
        printf("%016llx\n", (unsigned long long)hash);
    } else
        fprintf(stderr, "%s: %s\n", path, why);
    free(memory);
    free(bytes);
    return to && !fclose(to) ? 0 : 1;
}

#endif
