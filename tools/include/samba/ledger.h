/* ledger.h - what int8 costs and saves in each layer of a net; for samba.h.

   Needs samba.h before it. `#define SAMBA_LEDGER_IMPLEMENTATION` in one file enables the code;
   SAMBA_LEDGER_STATIC makes all functions private to the file. C99 or C++11.

       samba_ledger ledger = { .program = { .outputs = { logits } }, .score = accuracy,
                               .max_loss = 0.5 };
       ... compile with SAMBA_CALIBRATE and run some batches
       samba_ledger_run(s, &ledger);                // the program it leaves loaded keeps the bound
       samba_ledger_print(&ledger, stdout);

   Each layer is measured by ablation: one program in which it alone is int8. Layers do not add up,
   so the bound is kept by measuring, too: while all int8 layers together lose more than max_loss,
   the one that alone loses most goes back to f32. */
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

typedef struct samba_ledger_row {
    const char *layer;   /* its output's name; the session's */
    double score, loss;  /* with it alone in int8; the f32 score minus that */
    double seconds;      /* that a measurement took, less than in f32 */
    int64_t bytes_saved; /* of weights: three of four */
    bool int8;           /* is it int8 in the program that is loaded? */
} samba_ledger_row;

typedef struct samba_ledger {
    samba_program program;       /* outputs; inference and quantize are set here */
    double (*score)(samba_session *s, void *user); /* runs the loaded program; more is better */
    void *user;
    double max_loss;             /* of the score, with all int8 layers; 0: no bound */
    /* results */
    samba_ledger_row rows[SAMBA_LEDGER_LAYERS];
    int32_t n_rows;
    double f32_score, score_kept; /* of the program that is loaded */
} samba_ledger;

/* Fills in the results, and leaves the program loaded that keeps the bound: with no int8 layer if
   none can be. False after a failure, which samba_error explains. */
SAMBA_LEDGER_API bool samba_ledger_run(samba_session *s, samba_ledger *ledger);
/* The table, the layer that loses most first. */
SAMBA_LEDGER_API void samba_ledger_print(const samba_ledger *ledger, FILE *file);

#endif /* SAMBA_LEDGER_H */

#if defined(SAMBA_LEDGER_IMPLEMENTATION) && !defined(SAMBA_LEDGER__IMPLEMENTED)
#define SAMBA_LEDGER__IMPLEMENTED

#include <string.h>

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
    if (row) return row->int8;
    if (ledger->n_rows == SAMBA_LEDGER_LAYERS) return false;
    row = &ledger->rows[ledger->n_rows++];
    memset(row, 0, sizeof *row);
    row->layer = y->name;
    row->int8 = true;
    return true;
}

static inline bool samba_ledger__measure(samba_session *s, samba_ledger *ledger,
                                         samba_quantize quantize, double *score, double *seconds)
{
    samba_program p = ledger->program;
    p.inference = true;
    p.quantize = quantize;
    p.quantizes = samba_ledger__choose;
    p.quantizes_user = ledger;
    if (!samba_compile(s, &p)) return false;
    double start = samba_seconds();
    *score = ledger->score(s, ledger->user);
    *seconds = samba_seconds() - start;
    return samba_ok(s)
        && (*score == *score || samba_fail(s, SAMBA_ERANGE, "in samba_ledger_run: the score is NaN"));
}

/* Bytes of the int8 weights of the loaded program that a layer has. */
static inline int64_t samba_ledger__weights(samba_session *s, const char *layer)
{
    char name[256];
    int32_t n = snprintf(name, sizeof name, "%s__int8_weight", layer);
    samba_tensor *w = n > 0 && n < (int32_t)sizeof name ? samba_tensor_by_name(s, name) : NULL;
    return w ? (int64_t)samba_bytes(w) : 0;
}

/* Puts the row with the largest loss first, and so on; of equal ones, the first stays first. */
static inline void samba_ledger__sort(samba_ledger *ledger)
{
    for (int32_t i = 1; i < ledger->n_rows; i++) {
        samba_ledger_row row = ledger->rows[i];
        int32_t k = i;
        for (; k > 0 && ledger->rows[k - 1].loss < row.loss; k--)
            ledger->rows[k] = ledger->rows[k - 1];
        ledger->rows[k] = row;
    }
}

static inline bool samba_ledger__ablate(samba_session *s, samba_ledger *ledger, double f32_seconds)
{
    for (int32_t i = 0; i < ledger->n_rows; i++) {
        samba_ledger_row *row = &ledger->rows[i];
        double seconds;
        for (int32_t k = 0; k < ledger->n_rows; k++)
            ledger->rows[k].int8 = k == i;
        if (!samba_ledger__measure(s, ledger, SAMBA_INT8, &row->score, &seconds)) return false;
        row->loss = ledger->f32_score - row->score;
        row->seconds = f32_seconds - seconds;
        row->bytes_saved = 3 * samba_ledger__weights(s, row->layer);
    }
    return samba_ok(s);
}

SAMBA_LEDGER_API bool samba_ledger_run(samba_session *s, samba_ledger *ledger)
{
    double seconds, all_seconds;
    if (!samba_ok(s)) return false;
    if (!ledger || !ledger->score)
        return samba_fail(s, SAMBA_EARG, "in samba_ledger_run: a ledger with a score is needed");
    ledger->n_rows = 0;
    bool fine
        = samba_ledger__measure(s, ledger, SAMBA_NO_QUANTIZE, &ledger->f32_score, &seconds)
        && samba_ledger__measure(s, ledger, SAMBA_INT8, &ledger->score_kept, &all_seconds)
        && samba_ledger__ablate(s, ledger, seconds);
    if (!fine) return false;
    samba_ledger__sort(ledger);
    for (int32_t i = 0; i < ledger->n_rows; i++)
        ledger->rows[i].int8 = true;
    for (int32_t worst = 0;; worst++) {
        if (!samba_ledger__measure(s, ledger, SAMBA_INT8, &ledger->score_kept, &seconds))
            return false;
        bool holds = ledger->max_loss <= 0.0
            || ledger->f32_score - ledger->score_kept <= ledger->max_loss;
        if (holds || worst == ledger->n_rows) return true;
        ledger->rows[worst].int8 = false;
    }
}

SAMBA_LEDGER_API void samba_ledger_print(const samba_ledger *ledger, FILE *file)
{
    if (!ledger || !file) return;
    fprintf(file, "%-24s %8s %8s %12s %10s  %s\n", "layer", "score", "loss", "bytes saved",
            "s saved", "kept in");
    for (int32_t i = 0; i < ledger->n_rows; i++) {
        const samba_ledger_row *row = &ledger->rows[i];
        fprintf(file, "%-24s %8.2f %8.2f %12ld %10.3f  %s\n", row->layer, row->score, row->loss,
                (long)row->bytes_saved, row->seconds, row->int8 ? "int8" : "f32");
    }
    fprintf(file, "%-24s %8.2f\n%-24s %8.2f %8.2f\n", "all in f32", ledger->f32_score, "as kept",
            ledger->score_kept, ledger->f32_score - ledger->score_kept);
}
#endif /* SAMBA_LEDGER_IMPLEMENTATION */
/* MIT license, as samba.h. */
