/* ledger.h - what int8 and int4 cost and save in each layer of a net; for samba.h.

   Needs samba.h before it. `#define SAMBA_LEDGER_IMPLEMENTATION` in one file enables the code;
   SAMBA_LEDGER_STATIC makes all functions private to the file. C99 or C++11.

       samba_ledger ledger = { .program = { .outputs = { logits } }, .score = accuracy,
                               .max_loss = 0.5 };
       ... compile with SAMBA_CALIBRATE and run some batches
       samba_ledger_run(s, &ledger);                // the program it leaves loaded keeps the bound
       samba_ledger_print(&ledger, stdout);

   Each layer is measured by ablation: one program in which it alone is int8, and one in which it
   alone reads weights stored as int4, which are computed with in f32. That needs no calibration;
   who wants no other than int4 says .keep_int4, and compiles nothing before. Layers do not add up,
   so the bound is kept by measuring, too: while all int8 (int4) layers together lose more than
   max_loss, the one that alone loses most goes back to f32.

   What was traced under a preset of GraphAMP has products in bf16: rows say which. int8 ops read
   f32, so such a layer cannot be int8; trace it without the preset to measure that. */
#ifndef SAMBA_LEDGER_H
#define SAMBA_LEDGER_H

#ifndef SAMBA_H
#error "ledger.h: include samba.h before"
#endif

#ifndef SAMBA_LEDGER_API
#if defined(SAMBA_LEDGER_STATIC)
#define SAMBA_LEDGER_API static inline
#elif defined(__cplusplus)
#define SAMBA_LEDGER_API extern "C"
#else
#define SAMBA_LEDGER_API extern
#endif
#endif

#include <stdio.h>

#define SAMBA_LEDGER_LAYERS 128

/* A layer in one form: the score with it alone in that form, the f32 score minus that, and what its
   weights, biases and tables take less than in f32; below 0, if others read them in f32 as well. */
typedef struct samba_ledger_cost {
    bool possible; /* int8: products with a parameter; int4: linear with k % 32 = 0, and lookups */
    double score, loss;
    double seconds; /* that a measurement took, less than in f32 */
    int64_t bytes_saved;
} samba_ledger_cost;

typedef struct samba_ledger_row {
    const char *layer; /* its output's name; the session's */
    samba_ledger_cost int8, int4;
    bool kept;            /* is it int8 (with keep_int4, int4) in the program that is loaded? */
    samba_dtype computes; /* where it is not int8: SAMBA_F32, or SAMBA_BF16 under GraphAMP */
} samba_ledger_row;

typedef struct samba_ledger {
    samba_program program; /* outputs; inference and quantize are set here */
    double (*score)(samba_session *s, void *user); /* runs the loaded program; more is better */
    void *user;
    double max_loss; /* of the score, with all layers that are kept; 0: no bound */
    bool keep_int4;  /* the bound is for int4 weights; int8 is not measured */
    /* results */
    samba_ledger_row rows[SAMBA_LEDGER_LAYERS];
    int32_t n_rows;
    double f32_score, score_kept;  /* as traced; of the program that is loaded */
    int64_t f32_bytes, bytes_kept; /* of their weights */
} samba_ledger;

/* Fills in the results, and leaves the program loaded that keeps the bound: with no int8 layer if
   none can be. False after a failure, which samba_error explains. */
SAMBA_LEDGER_API bool samba_ledger_run(samba_session *s, samba_ledger *ledger);
/* The table, the layer that loses most first. */
SAMBA_LEDGER_API void samba_ledger_print(const samba_ledger *ledger, FILE *file);

#endif /* SAMBA_LEDGER_H */

#if defined(SAMBA_LEDGER_IMPLEMENTATION) && !defined(SAMBA_LEDGER__IMPLEMENTED)
#define SAMBA_LEDGER__IMPLEMENTED

#include "base.h"
#include <stdlib.h>
#include <string.h>

typedef enum samba_ledger__form {
    SAMBA_LEDGER__F32,
    SAMBA_LEDGER__INT8,
    SAMBA_LEDGER__INT4
} samba_ledger__form;

/* What one program is, and how it did. */
typedef struct samba_ledger__trial {
    double score, seconds;
    int64_t bytes; /* of all weights */
    bool has_form; /* does any weight have the form that was asked for? */
} samba_ledger__trial;

static inline samba_ledger_row *samba_ledger__row(samba_ledger *ledger, const char *layer)
{
    for (int32_t i = 0; i < ledger->n_rows; i++)
        if (!strcmp(ledger->rows[i].layer, layer)) return &ledger->rows[i];
    return NULL;
}

/* As samba_program.quantizes: what the rows say; a layer without a row gets one. */
static inline bool samba_ledger__choose(const samba_tensor *y, void *user)
{
    samba_ledger *ledger = (samba_ledger *)user;
    samba_ledger_row *row = samba_ledger__row(ledger, y->name);
    if (row) return row->kept;
    if (ledger->n_rows == SAMBA_LEDGER_LAYERS) return false;
    row = &ledger->rows[ledger->n_rows++];
    memset(row, 0, sizeof *row);
    row->layer = y->name;
    row->kept = true;
    return true;
}

/* Weights that int4 cannot store, since their rows are no multiple of 32 long, are bf16 instead: so
   names tell which form there is. */
static inline bool samba_ledger__weigh(samba_session *s, samba_ledger__form form,
                                       samba_ledger__trial *trial)
{
    const char *mark = form == SAMBA_LEDGER__INT8 ? "__int8_weight" : "__int4_scale";
    int32_t n = samba_weight_names(s, NULL, 0);
    const char **names = (const char **)malloc(((size_t)n + 1) * sizeof *names);
    if (!names)
        return samba_fail(s, SAMBA_ENOMEM,
                          "in samba_ledger_run: no memory for the names of %d weights", n);
    trial->bytes = 0;
    trial->has_form = false;
    samba_weight_names(s, names, n);
    for (int32_t i = 0; i < n; i++) {
        trial->bytes += (int64_t)samba_bytes(samba_tensor_by_name(s, names[i]));
        trial->has_form = trial->has_form || strstr(names[i], mark) != NULL;
    }
    free(names);
    return true;
}

static inline bool samba_ledger__measure(samba_session *s, samba_ledger *ledger,
                                         samba_ledger__form form, samba_ledger__trial *trial)
{
    samba_program p = ledger->program;
    p.inference = true;
    p.quantize = form == SAMBA_LEDGER__INT8 ? SAMBA_INT8 : SAMBA_NO_QUANTIZE;
    p.weights = form == SAMBA_LEDGER__INT4 ? SAMBA_WEIGHTS_INT4 : SAMBA_WEIGHTS_PLAIN;
    p.quantizes = samba_ledger__choose;
    p.quantizes_user = ledger;
    if (!samba_compile(s, &p)) return false;
    double start = samba_seconds();
    trial->score = ledger->score(s, ledger->user);
    trial->seconds = samba_seconds() - start;
    return samba_ok(s) && samba_ledger__weigh(s, form, trial)
        && (trial->score == trial->score
            || samba_fail(s, SAMBA_ERANGE, "in samba_ledger_run: the score is NaN"));
}

/* As samba_node_fn: the type of what a layer multiplies; a lookup reads numbers of rows. */
static inline void samba_ledger__see(int32_t node, const char *name, const samba_op *op,
                                     const samba_args *args, bool begins, void *user)
{
    samba_ledger_row *row = samba_ledger__row((samba_ledger *)user, name);
    (void)node;
    (void)op;
    if (row && begins && args->n_in > 0 && args->in_spec[0].dtype == SAMBA_BF16)
        row->computes = SAMBA_BF16;
}

/* Measures each layer alone. A first program, in which none is, finds the layers. */
static inline bool samba_ledger__ablate(samba_session *s, samba_ledger *ledger,
                                        samba_ledger__form form, const samba_ledger__trial *f32)
{
    samba_ledger__trial all, one;
    for (int32_t i = 0; i < ledger->n_rows; i++)
        ledger->rows[i].kept = false;
    samba_on_node(s, samba_ledger__see, ledger);
    bool found = samba_ledger__measure(s, ledger, form, &all);
    samba_on_node(s, NULL, NULL);
    if (!found) return false;
    for (int32_t i = 0; i < ledger->n_rows; i++) {
        samba_ledger_row *row = &ledger->rows[i];
        samba_ledger_cost *cost = form == SAMBA_LEDGER__INT8 ? &row->int8 : &row->int4;
        for (int32_t k = 0; k < ledger->n_rows; k++)
            ledger->rows[k].kept = k == i;
        if (!samba_ledger__measure(s, ledger, form, &one)) return false;
        cost->score = one.score;
        cost->loss = f32->score - one.score;
        cost->seconds = f32->seconds - one.seconds;
        cost->bytes_saved = f32->bytes - one.bytes;
        cost->possible = one.has_form;
    }
    return true;
}

static inline double samba_ledger__loss(const samba_ledger *ledger, const samba_ledger_row *row)
{
    const samba_ledger_cost *cost = ledger->keep_int4 ? &row->int4 : &row->int8;
    return cost->possible ? cost->loss : -1e300; /* last */
}

/* Puts the row with the largest loss first, and so on; of equal ones, the first stays first. */
static inline void samba_ledger__sort(samba_ledger *ledger)
{
    for (int32_t i = 1; i < ledger->n_rows; i++) {
        samba_ledger_row row = ledger->rows[i];
        double loss = samba_ledger__loss(ledger, &row);
        int32_t k = i;
        for (; k > 0 && samba_ledger__loss(ledger, &ledger->rows[k - 1]) < loss; k--)
            ledger->rows[k] = ledger->rows[k - 1];
        ledger->rows[k] = row;
    }
}

/* Takes the worst layers out until the rest keeps the bound. */
static inline bool samba_ledger__keep(samba_session *s, samba_ledger *ledger,
                                      samba_ledger__form form)
{
    samba_ledger__trial trial;
    for (int32_t i = 0; i < ledger->n_rows; i++) {
        samba_ledger_row *row = &ledger->rows[i];
        row->kept = form == SAMBA_LEDGER__INT8 ? row->int8.possible : row->int4.possible;
    }
    for (int32_t worst = 0;; worst++) {
        if (!samba_ledger__measure(s, ledger, form, &trial)) return false;
        ledger->score_kept = trial.score;
        ledger->bytes_kept = trial.bytes;
        bool holds = ledger->max_loss <= 0.0 || ledger->f32_score - trial.score <= ledger->max_loss;
        if (holds || worst == ledger->n_rows) return true;
        ledger->rows[worst].kept = false;
    }
}

SAMBA_LEDGER_API bool samba_ledger_run(samba_session *s, samba_ledger *ledger)
{
    samba_ledger__trial f32;
    if (!samba_ok(s)) return false;
    if (!ledger || !ledger->score)
        return samba_fail(s, SAMBA_EARG, "in samba_ledger_run: a ledger with a score is needed");
    ledger->n_rows = 0;
    if (!samba_ledger__measure(s, ledger, SAMBA_LEDGER__F32, &f32)) return false;
    ledger->f32_score = f32.score;
    ledger->f32_bytes = f32.bytes;
    ledger->n_rows = 0;
    if (!ledger->keep_int4 && !samba_ledger__ablate(s, ledger, SAMBA_LEDGER__INT8, &f32))
        return false;
    if (!samba_ledger__ablate(s, ledger, SAMBA_LEDGER__INT4, &f32)) return false;
    samba_ledger__sort(ledger);
    return samba_ledger__keep(s, ledger,
                              ledger->keep_int4 ? SAMBA_LEDGER__INT4 : SAMBA_LEDGER__INT8);
}

static inline void samba_ledger__print_cost(const samba_ledger_cost *cost, FILE *file)
{
    if (cost->possible)
        samba_base_print(file, " %8.3f %10ld", cost->loss, (long)cost->bytes_saved);
    else
        samba_base_print(file, " %8s %10s", "-", "-");
}

SAMBA_LEDGER_API void samba_ledger_print(const samba_ledger *ledger, FILE *file)
{
    if (!ledger || !file) return;
    const char *form = ledger->keep_int4 ? "int4" : "int8";
    bool halves = false; /* does any layer compute in bf16? */
    samba_base_print(file, "%-20s %19s %19s\n", "", "int8", "int4 weights");
    samba_base_print(file, "%-20s %8s %10s %8s %10s  %s\n", "layer", "loss", "saves", "loss",
                     "saves", "kept in");
    for (int32_t i = 0; i < ledger->n_rows; i++) {
        const samba_ledger_row *row = &ledger->rows[i];
        samba_base_print(file, "%-20s", row->layer);
        samba_ledger__print_cost(&row->int8, file);
        samba_ledger__print_cost(&row->int4, file);
        const char *traced = row->computes == SAMBA_BF16 ? "bf16" : "f32";
        samba_base_print(file, "  %s\n", row->kept ? form : traced);
        halves = halves || row->computes == SAMBA_BF16;
    }
    samba_base_print(file, "%s score %.3f, weights %ld bytes\n",
                     halves ? "as traced: " : "all in f32:", ledger->f32_score,
                     (long)ledger->f32_bytes);
    samba_base_print(file, "as kept:    score %.3f (loss %.3f), weights %ld bytes\n",
                     ledger->score_kept, ledger->f32_score - ledger->score_kept,
                     (long)ledger->bytes_kept);
}
#endif /* SAMBA_LEDGER_IMPLEMENTATION */
/* MIT license, as samba.h. */
