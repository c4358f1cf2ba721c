// Arrays of any number of rows through a program whose batch has a fixed one.
#include "batches.h"
#include "tools/cli/util/numbers.h"
#include "tools/cli/util/text.h"

bool fit_feed(feed *f, fault *why)
{
    samba_shape *has = &f->array.shape;
    const samba_shape *wants = &f->to->shape;
    char told[128], wanted[128];
    print_shape(told, sizeof told, has);
    print_shape(wanted, sizeof wanted, wants);
    bool rows = f->to->has_rows;
    int32_t lacks = rows && has->ndim == wants->ndim - 1, first = rows ? 1 : 0;
    bool fits = has->ndim + lacks == wants->ndim;
    for (int32_t d = first; fits && d < wants->ndim; d++)
        fits = has->dim[d - lacks] == wants->dim[d];

    if (fits && lacks) {
        memmove(has->dim + 1, has->dim, (size_t)has->ndim * sizeof *has->dim);
        has->dim[0] = 1;
        has->ndim++;
    }
    if (fits) return true;

    bool other_rows = !rows && has->ndim == wants->ndim && wants->ndim > 0;
    for (int32_t d = 1; other_rows && d < wants->ndim; d++)
        other_rows = has->dim[d] == wants->dim[d];
    const char *advice = rows ? ", or another number of rows" : "";
    if (other_rows)
        advice = ". The program does not say that a row is one example, so it takes as many as it "
                 "was compiled for (an imported model: import-onnx --shape)";
    return fail(why, "%s: its shape is %s; input %s wants %s%s", f->from, told, f->to->name, wanted,
                advice);
}

// ---- What a batch is ----------------------------------------------------------------------------

typedef struct split {
    int64_t rows;  // that were given
    int32_t batch; // rows of a run; 0: one run has all as it was given
} split;

// The first input with another number of rows than the program's says how many there are; all that
// have the rows of its batch go with it.
static bool find_split(split *s, const program *p, feed *feeds, fault *why)
{
    const feed *lead = NULL;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < p->n_in; i++) {
        const feed *f = &feeds[i];
        bool other = f->given && f->to->has_rows && f->array.shape.dim[0] != f->to->shape.dim[0];
        if (other && !lead) lead = f;
    }
    if (!lead) return true;
    s->rows = lead->array.shape.dim[0];
    s->batch = lead->to->shape.dim[0];

    for (int i = 0; i < p->n_in; i++) {
        feed *f = &feeds[i];
        f->by_rows = f->given && f->to->has_rows && f->to->shape.dim[0] == s->batch;
        bool whole = !f->given || !f->to->has_rows || f->array.shape.dim[0] == f->to->shape.dim[0];
        bool agrees = f->by_rows ? f->array.shape.dim[0] == s->rows : whole;
        if (!agrees)
            return fail(why, "%s has %d rows and %s has %lld: give as many of each", f->from,
                        f->array.shape.dim[0], lead->from, (long long)s->rows);
    }
    return true;
}

static bool check_outputs(const program *p, const split *s, const bool *wanted, fault *why)
{
    for (int i = 0; s->batch && i < p->n_out; i++) {
        const samba_shape *shape = &p->out[i].shape;
        bool rows = shape->ndim > 0 && shape->dim[0] == s->batch;
        if (wanted[i] && !rows)
            return fail(why,
                        "output %s has no rows, so it is of a whole batch: give %d rows and not "
                        "%lld, or leave it out by --output NAME=FILE of others",
                        p->out[i].name, s->batch, (long long)s->rows);
    }
    return true;
}

// ---- Runs ---------------------------------------------------------------------------------------

// Fills row `to` of a batch with row `from` of what was given; turned: its elements in reverse.
static void copy_row(double *batch, const feed *f, int64_t to, int64_t from, bool turned)
{
    int64_t n = f->array.n / f->array.shape.dim[0];
    const double *row = f->array.values + from * n;
    for (int64_t i = 0; i < n; i++)
        batch[to * n + i] = row[turned ? n - 1 - i : i];
}

// Rows from `first` on; behind the last row it is repeated. probe: row `first`, and other rows
// beside it than a run from there has.
static bool send_rows(program *p, const feed *f, const split *s, int64_t first, bool probe,
                      fault *why)
{
    int64_t n = samba_count(&f->to->shape);
    double *batch = malloc((size_t)n * sizeof *batch);
    if (!batch) return fail(why, "no memory for a batch of %s", f->to->name);
    for (int32_t i = 0; i < s->batch; i++) {
        int64_t from = first + i < s->rows ? first + i : s->rows - 1;
        bool other = probe && i > 0;
        if (other) from = s->rows - 1 - i % s->rows;
        copy_row(batch, f, i, from, other);
    }
    bool fine = write_numbers(p->session, f->to->tensor, batch, n, why);
    free(batch);
    return fine;
}

static bool send_feeds(program *p, const feed *feeds, const split *s, int64_t first, bool probe,
                       fault *why)
{
    fault reason = { "" };
    for (int i = 0; i < p->n_in; i++) {
        const feed *f = &feeds[i];
        bool fine = true;
        if (!f->given) continue;
        if (f->by_rows)
            fine = send_rows(p, f, s, first, probe, &reason);
        else if (first == 0 && !probe)
            fine = write_numbers(p->session, f->to->tensor, f->array.values, f->array.n, &reason);
        if (!fine) return fail(why, "%s, for input %s: %s", f->from, f->to->name, reason.text);
    }
    return true;
}

// What an output holds now, as results have it; to be freed. NULL: it cannot be read.
static void *fetch(program *p, const port *out, fault *why)
{
    int64_t n = samba_count(&out->shape);
    size_t size = samba_bytes(out->tensor);
    bool integers = is_integer(out->tensor->dtype);
    void *data = malloc(integers ? size : (size_t)n * sizeof(float));
    if (!data) fail(why, "no memory for output %s", out->name);
    bool fine = data
        && (integers ? samba_copy_out(out->tensor, data, size)
                     : samba_copy_out_f32(out->tensor, data, n));
    if (data && !fine) fail(why, "%s", samba_error(p->session));
    if (!fine) free(data);
    return fine ? data : NULL;
}

static size_t size_of_element(const port *out)
{
    return is_integer(out->tensor->dtype) ? samba_dtype_size(out->tensor->dtype) : sizeof(float);
}

static bool begin_result(result *r, const port *out, const split *s, fault *why)
{
    r->name = out->name;
    r->type = is_integer(out->tensor->dtype) ? out->tensor->dtype : SAMBA_F32;
    r->shape = out->shape;
    if (s->batch) r->shape.dim[0] = (int32_t)s->rows;
    r->n = samba_count(&r->shape);
    r->data = malloc((size_t)r->n * size_of_element(out));
    return r->data || fail(why, "no memory for output %s", out->name);
}

// Rows of a run that were given go behind those of the runs before it.
static bool keep_rows(program *p, result *r, const port *out, const split *s, int64_t first,
                      fault *why)
{
    unsigned char *data = fetch(p, out, why);
    if (!data) return false;
    size_t all = (size_t)samba_count(&out->shape) * size_of_element(out), row = all;
    int64_t rows = 1;
    if (s->batch) {
        row = all / (size_t)s->batch;
        rows = s->rows - first < s->batch ? s->rows - first : s->batch;
    }
    memcpy(r->data + (size_t)first * row, data, (size_t)rows * row);
    free(data);
    return true;
}

/* Are rows apart from each other? A batch that is filled, or cut in another place, would give
   another result if they were not: then row 0 among other rows has other bits. The same run shows a
   state that goes on, such as a cache. */
static bool check_rows(program *p, const feed *feeds, const result *results, const bool *wanted,
                       const split *s, fault *why)
{
    if (!send_feeds(p, feeds, s, 0, true, why) || !forward(p, why)) return false;
    for (int i = 0; i < p->n_out; i++) {
        if (!wanted[i]) continue;
        unsigned char *again = fetch(p, &p->out[i], why);
        if (!again) return false;
        size_t all = (size_t)samba_count(&p->out[i].shape) * size_of_element(&p->out[i]);
        bool same = memcmp(again, results[i].data, all / (size_t)s->batch) == 0;
        free(again);
        if (!same)
            return fail(why,
                        "output %s of a row depends on the other rows of the batch, or on runs "
                        "before it: so only %d rows can be given, not %lld",
                        p->out[i].name, s->batch, (long long)s->rows);
    }
    return true;
}

bool run_feeds(program *p, feed *feeds, result *results, const bool *wanted, fault *why)
{
    split s;
    if (!find_split(&s, p, feeds, why) || !check_outputs(p, &s, wanted, why)) return false;
    for (int i = 0; i < p->n_out; i++)
        if (wanted[i] && !begin_result(&results[i], &p->out[i], &s, why)) return false;

    int64_t first = 0;
    do {
        if (!send_feeds(p, feeds, &s, first, false, why) || !forward(p, why)) return false;
        for (int i = 0; i < p->n_out; i++)
            if (wanted[i] && !keep_rows(p, &results[i], &p->out[i], &s, first, why)) return false;
        if (s.batch && first == 0 && !check_rows(p, feeds, results, wanted, &s, why)) return false;
        first += s.batch;
    } while (s.batch && first < s.rows);
    return true;
}
