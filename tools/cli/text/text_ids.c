// Tokens of text, as the command run is fed: a row for each text.
#include "text_ids.h"
#include "tools/include/samba/tokenizer.h"
#include <stdlib.h>
#include <string.h>

// The rows that are being made.
typedef struct rows {
    samba_tokenizer *tokenizer;
    npy *array;
    int32_t *ids;  // of one text
    int32_t width; // of a row
    int64_t pad, n;
} rows;

static bool add_row(rows *r, const char *text, size_t size, fault *why)
{
    const int32_t first = samba_tokenizer_first(r->tokenizer), begun = first >= 0;
    if (begun) r->ids[0] = first;
    int64_t n = samba_tokenizer_encode(r->tokenizer, text, size, r->ids + begun,
                                       r->width > begun ? r->width - begun : 0);
    if (n < 0) return fail(why, "no memory for its tokens");
    n += begun;
    if (n > r->width)
        return fail(why, "text %lld has %lld tokens; a row of the input takes %d",
                    (long long)r->n + 1, (long long)n, r->width);
    if (n < r->width && r->pad < 0)
        return fail(why,
                    "text %lld has %lld tokens; a row of the input takes %d: --pad ID fills it",
                    (long long)r->n + 1, (long long)n, r->width);

    const size_t count = ((size_t)r->n + 1) * (size_t)r->width;
    double *more = realloc(r->array->values, count * sizeof *more);
    if (!more) return fail(why, "no memory for its tokens");
    r->array->values = more;
    double *row = more + (size_t)r->n * (size_t)r->width;
    for (int32_t i = 0; i < r->width; i++)
        row[i] = i < n ? r->ids[i] : (double)r->pad;
    r->n++;
    return true;
}

// Each line is a text; an end behind the last one begins none.
static bool add_lines(rows *r, const char *text, size_t size, fault *why)
{
    bool fine = size > 0 || fail(why, "there is no line in it");
    for (size_t at = 0; fine && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        fine = add_row(r, text + at, n, why);
        at += n + 1;
    }
    return fine;
}

static bool add_texts(rows *r, const char *text, fault *why)
{
    if (*text != '@') return add_row(r, text, strlen(text), why);
    size_t size = 0;
    char *lines = read_file(text + 1, &size, why);
    bool fine = lines && add_lines(r, lines, size, why);
    free(lines);
    return fine;
}

bool read_text_ids(npy *array, const text_input *in, fault *why)
{
    char reason[600];
    rows r = { NULL, array, NULL, 0, in->pad, 0 };
    memset(array, 0, sizeof *array);
    if (in->to->ndim < 1 || in->to->ndim > 2)
        return fail(why, "the input has %d dimensions; text goes to 1 or 2", in->to->ndim);
    r.width = in->to->dim[in->to->ndim - 1];
    r.tokenizer = samba_tokenizer_open(in->tokenizer, reason, sizeof reason);
    if (!r.tokenizer) return fail(why, "%s", reason);

    r.ids = malloc(((size_t)r.width + 1) * sizeof *r.ids);
    bool fine = r.ids ? add_texts(&r, in->text, why) : fail(why, "no memory for its tokens");
    samba_tokenizer_close(r.tokenizer);
    free(r.ids);
    if (fine && in->to->ndim == 1 && r.n != 1)
        fine = fail(why, "the input has room for one text, not for %lld", (long long)r.n);
    if (!fine) free_npy(array);
    if (!fine) return false;

    array->shape = *in->to;
    array->shape.dim[0] = in->to->ndim == 2 ? (int32_t)r.n : r.width;
    array->n = samba_count(&array->shape);
    return true;
}
