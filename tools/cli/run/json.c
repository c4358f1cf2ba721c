// Arrays in JSON: lists of lists of numbers, alone or by name: {"x": [[1, 2], [3, 4]]}.
#include "arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *text; // ends with zero, which no JSON has in it
    const char *at;
    npy array;
    int64_t room; // for numbers
    int32_t depth_of_numbers;
    fault *why;
} reader;

static bool refuse(reader *r, const char *what)
{
    int line = 1;
    for (const char *c = r->text; c < r->at; c++)
        line += *c == '\n';
    return fail(r->why, "line %d, before \"%.12s\": %s", line, r->at, what);
}

static void skip_space(reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool take(reader *r, const char *word)
{
    size_t n = strlen(word);
    skip_space(r);
    if (strncmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

// NaN and Infinity are what Python writes, too.
static bool read_number(reader *r, double *x)
{
    static const struct {
        const char *word;
        double value;
    } words[] = { { "true", 1 },
                  { "false", 0 },
                  { "NaN", (double)NAN },
                  { "Infinity", (double)INFINITY },
                  { "-Infinity", -(double)INFINITY } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *x = words[i].value;
        if (take(r, words[i].word)) return true;
    }

    skip_space(r);
    size_t n = strspn(r->at, "0123456789+-.eE");
    char *end = NULL;
    if (n == 0 || n > 300) return refuse(r, "a number, or a list of numbers, has to stand here");
    *x = samba_base_number(r->at, &end);
    if (end != r->at + n) return refuse(r, "this is no number of JSON");
    if (isinf(*x)) return refuse(r, "this number is larger than a double holds");
    r->at = end;
    return true;
}

static bool add_number(reader *r, double x)
{
    if (r->array.n == r->room) {
        int64_t room = r->room ? 2 * r->room : 64;
        double *more = realloc(r->array.values, (size_t)room * sizeof *more);
        if (!more) return fail(r->why, "no memory for its numbers");
        r->array.values = more;
        r->room = room;
    }
    r->array.values[r->array.n++] = x;
    return true;
}

// Lists at the same depth have the same length, and numbers stand at one depth.
static bool read_value(reader *r, int32_t depth)
{
    if (!take(r, "[")) {
        double x;
        if (!read_number(r, &x)) return false;
        if (r->depth_of_numbers < 0) r->depth_of_numbers = depth;
        if (r->depth_of_numbers != depth) return refuse(r, "lists are nested unevenly");
        return add_number(r, x);
    }
    if (depth == SAMBA_MAX_DIMS) return refuse(r, "lists are nested too deeply");
    if (depth == r->depth_of_numbers) return refuse(r, "lists are nested unevenly");

    int32_t n = 0;
    do {
        if (n == INT32_MAX) return refuse(r, "a list is too long");
        if (!read_value(r, depth + 1)) return false;
        n++;
    } while (take(r, ","));
    if (!take(r, "]")) return refuse(r, "a list goes on with , or ends with ]");
    int32_t *dim = &r->array.shape.dim[depth];
    if (*dim == 0) *dim = n;
    return *dim == n || refuse(r, "this list is of another length than those before it");
}

static bool read_array(reader *r, arrays *list, const char *name, size_t length)
{
    memset(&r->array, 0, sizeof r->array);
    r->room = 0;
    r->depth_of_numbers = -1;
    if (!read_value(r, 0)) {
        free_npy(&r->array);
        return false;
    }
    r->array.shape.ndim = r->depth_of_numbers;
    return add_array(list, name, length, &r->array, r->why);
}

static bool read_members(reader *r, arrays *list)
{
    do {
        if (!take(r, "\"")) return refuse(r, "a name in quotes has to stand here");
        const char *name = r->at;
        size_t length = strcspn(name, "\"\\\n");
        if (name[length] != '"') return refuse(r, "a name has to be plain letters in quotes");
        r->at += length + 1;
        if (!take(r, ":")) return refuse(r, "behind a name a : has to stand");
        if (!read_array(r, list, name, length)) return false;
    } while (take(r, ","));
    return take(r, "}") || refuse(r, "an object goes on with , or ends with }");
}

bool parse_json(arrays *list, const char *text, size_t size, fault *why)
{
    reader r;
    memset(&r, 0, sizeof r);
    r.text = r.at = text;
    r.why = why;
    bool fine = take(&r, "{") ? read_members(&r, list) : read_array(&r, list, "", 0);
    skip_space(&r);
    if (fine && r.at != text + size) fine = refuse(&r, "nothing may stand behind the value");
    return fine;
}
