// What a model is run with.
#include "inputs.h"
#include "tools/cli/util/npy.h"
#include "tools/cli/util/numbers.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- How large an id may be ---------------------------------------------------------------------

// Is input k of this op a number of something: a row, a class, a place? How many there are; 0: no.
static int32_t ids_of(const model *m, const node *n, int32_t k)
{
    const char *op = n->op ? n->op : "";
    const symbol *other = NULL;
    bool loss = strncmp(op, "cross_entropy", 13) == 0 || strncmp(op, "nll", 3) == 0;
    if (strcmp(op, "lookup") == 0 && k == 0) {
        other = n->in[1] < 0 ? NULL : &m->symbols[n->in[1]];
        return other ? other->spec.shape.dim[0] : 0;
    }
    if (strcmp(op, "lookup_packed") == 0 && k == 0) {
        int32_t rows = 0;
        return samba_pef_attr(n, "rows", &rows, 1) ? rows : 0;
    }
    if (loss && k >= 1 && n->in[k - 1] >= 0) {
        other = &m->symbols[n->in[k - 1]];
        int32_t last = other->spec.shape.ndim - 1;
        return last >= 0 ? other->spec.shape.dim[last] : 0;
    }
    if (strcmp(op, "write_rows") == 0 && k == 2) {
        other = &m->symbols[n->in[0]];
        return other->spec.shape.dim[other->spec.shape.ndim - 2];
    }
    if (strcmp(op, "gather") == 0 && k == 1) {
        int32_t axis = 0;
        other = &m->symbols[n->in[0]];
        if (!samba_pef_attr(n, "axis", &axis, 1)) return 0;
        if (axis < 0) axis += other->spec.shape.ndim;
        return axis >= 0 && axis < other->spec.shape.ndim ? other->spec.shape.dim[axis] : 0;
    }
    return 0;
}

// Does the op only move elements of its first input?
static bool moves(const node *n)
{
    static const char *const ops[]
        = { "reshape", "permute", "expand", "slice", "cast", "cat", "pad" };
    for (size_t i = 0; n->op && i < sizeof ops / sizeof *ops; i++)
        if (strcmp(n->op, ops[i]) == 0) return true;
    return false;
}

/* The least number of rows or classes that ids in this symbol may count, on the ways that they
   take; 0: no op says. Nodes come in the order in which values arise. */
static int32_t most_ids(const model *m, int32_t input, bool *reached)
{
    int32_t most = 0;
    memset(reached, 0, (size_t)m->pef.n_symbols * sizeof *reached);
    reached[input] = true;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *n = &m->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] < 0 || !reached[n->in[k]]) continue;
            int32_t ids = ids_of(m, n, k);
            if (ids > 0 && (most == 0 || ids < most)) most = ids;
            if (moves(n) && n->out[0] >= 0) reached[n->out[0]] = true;
        }
    }
    return most;
}

// ---- Drawn values -------------------------------------------------------------------------------

static uint64_t seed_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

static double uniform(uint64_t *state)
{
    return (double)(samba_base__draw(state) >> 11) * 0x1p-53;
}

// Box and Muller, 1958.
static double normal(uint64_t *state)
{
    double radius = sqrt(-2.0 * log(1.0 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Values of a parameter that the file lacks: what layers begin with, as far as its name and shape
   tell. Matrices and kernels are uniform with torch's bound, 1/sqrt(fan in). */
static void draw_parameter(const symbol *s, float *to, int64_t n)
{
    uint64_t state = seed_of(s->name);
    const samba_shape *shape = &s->spec.shape;
    bool zero = ends_in(s->name, "bias") || ends_in(s->name, "running_mean");
    double bound = shape->ndim >= 2 ? 1.0 / sqrt((double)(n / shape->dim[0])) : 0.0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = zero ? 0.0f : 1.0f;
        if (shape->ndim >= 2) to[i] = (float)((2.0 * uniform(&state) - 1.0) * bound);
    }
}

static void draw_input(const symbol *s, double *to, int64_t n, int32_t ids)
{
    uint64_t state = seed_of(s->name);
    samba_dtype type = s->spec.dtype;
    double high = ids > 0 ? ids : 10.0;
    if (type == SAMBA_BOOL) high = 2.0;
    if (type == SAMBA_I8) high = 128.0;
    for (int64_t i = 0; i < n; i++)
        to[i] = is_integer(type) ? floor(uniform(&state) * high) : normal(&state);
}

// ---- Values go to the session -------------------------------------------------------------------

static bool send(model *m, const symbol *s, const double *values, int64_t n, fault *why)
{
    samba_tensor *t = samba_tensor_by_name(m->session, s->name);
    if (!t) return fail(why, "%s", samba_error(m->session));
    return write_numbers(m->session, t, values, n, why);
}

static int64_t elements_of(const symbol *s)
{
    return (int64_t)(s->size / samba_dtype_size(s->spec.dtype));
}

static bool send_file(model *m, const symbol *s, const char *path, fault *why)
{
    npy a;
    fault reason = { "" };
    char has[128], wants[128];
    if (!read_npy(&a, path, why)) return false;
    samba_shape shape = s->spec.shape; // of all microbatches
    if (s->holds_microbatches && s->batch_dim >= 0) shape.dim[s->batch_dim] *= m->pef.microbatches;
    bool fits = a.shape.ndim == shape.ndim;
    for (int32_t d = 0; fits && d < shape.ndim; d++)
        fits = a.shape.dim[d] == shape.dim[d];
    print_shape(has, sizeof has, &a.shape);
    print_shape(wants, sizeof wants, &shape);
    bool fine = fits ? send(m, s, a.values, a.n, &reason)
                     : fail(&reason, "its shape is %s; input %s wants %s", has, s->name, wants);
    free_npy(&a);
    return fine || fail(why, "%s: %s", path, reason.text);
}

static bool send_drawn(model *m, int32_t i, bool *reached, fault *why)
{
    const symbol *s = &m->symbols[i];
    int64_t n = elements_of(s);
    double *values = malloc((size_t)n * sizeof *values);
    if (!values) return fail(why, "no memory for %" PRId64 " numbers", n);
    m->is_drawn = true;
    int32_t ids = is_integer(s->spec.dtype) ? most_ids(m, i, reached) : 0;
    draw_input(s, values, n, ids);
    bool fine = send(m, s, values, n, why);
    free(values);
    if (ids)
        add_note(m, "The input %s is random: whole numbers from 0 to %d.", s->name, ids - 1);
    else
        add_note(m, "The input %s is random.", s->name);
    return fine;
}

static bool send_parameter(model *m, const symbol *s, fault *why)
{
    int64_t n = elements_of(s);
    float *values = malloc((size_t)n * sizeof *values);
    samba_tensor *t = samba_tensor_by_name(m->session, s->name);
    bool fine = values && t;
    if (fine) {
        if (!is_integer(s->spec.dtype))
            draw_parameter(s, values, n);
        else
            memset(values, 0, (size_t)n * sizeof *values);
        fine = samba_write_f32(t, values, n);
    }
    free(values);
    return fine || fail(why, "%s: %s", s->name, t ? samba_error(m->session) : "no memory");
}

// The file that is given for an input; NULL: none.
static const char *file_for(const char *name, const char *const *given, int n)
{
    size_t length = strlen(name);
    for (int i = 0; i < n; i++) {
        if (strncmp(given[i], name, length) == 0 && given[i][length] == '=')
            return given[i] + length + 1;
    }
    return NULL;
}

// Is file k of an input that a file before it is of as well?
static bool is_repeated(const char *const *given, int k, int32_t n_names)
{
    const char *equals = strchr(given[k], '=');
    for (int i = 0; i < k; i++) {
        if (n_names == 1) return true;
        if (equals && strncmp(given[i], given[k], (size_t)(equals + 1 - given[k])) == 0)
            return true;
    }
    return false;
}

// Is every NAME= one of an input? Without a name there is one input.
static bool check_names(const model *m, const char *const *names, int32_t n_names,
                        const char *const *given, int n, fault *why)
{
    char list[512] = "";
    for (int32_t i = 0; i < n_names; i++)
        if (strlen(list) + strlen(names[i]) + 2 < sizeof list) strcat(strcat(list, " "), names[i]);
    for (int k = 0; k < n; k++) {
        bool known = n_names == 1 && !strchr(given[k], '=');
        for (int32_t i = 0; i < n_names; i++)
            known = known || file_for(names[i], &given[k], 1);
        if (!known)
            return fail(why,
                        "--input %s: write NAME=FILE.npy with the name of an input of %s; it has"
                        "%s",
                        given[k], m->path, n_names ? list : " none");
        if (is_repeated(given, k, n_names))
            return fail(why, "--input %s: this input is given twice", given[k]);
    }
    return true;
}

bool give_values(model *m, const char *const *given, int n, fault *why)
{
    int32_t n_names = samba_input_names(m->session, NULL, 0), drawn = 0;
    const char **names = calloc((size_t)n_names + 1, sizeof *names);
    bool *reached = calloc((size_t)m->pef.n_symbols + 1, sizeof *reached);
    bool fine = names && reached;
    if (!fine) fail(why, "no memory for the names of inputs");
    if (fine && samba_input_names(m->session, names, n_names) != n_names)
        fine = fail(why, "%s", samba_error(m->session));
    fine = fine && check_names(m, names, n_names, given, n, why);
    for (int32_t i = 0; fine && i < n_names; i++) {
        int32_t at = find_input(m, names[i]);
        const char *file = file_for(names[i], given, n);
        if (n_names == 1 && n > 0 && !file) file = given[0];
        if (at < 0) continue;
        fine = file ? send_file(m, &m->symbols[at], file, why) : send_drawn(m, at, reached, why);
    }
    for (int32_t i = 0; fine && i < m->pef.n_symbols; i++) {
        const symbol *s = &m->symbols[i];
        bool lacks = s->role == SAMBA_ROLE_WEIGHT && !s->value && s->view_of < 0;
        if (!lacks) continue;
        fine = send_parameter(m, s, why);
        drawn++;
    }
    m->is_drawn = m->is_drawn || drawn > 0;
    if (fine && drawn)
        add_note(m,
                 "%s holds no values of %d parameters, for it was compiled and not saved: they are "
                 "random.",
                 m->path, drawn);
    free(names);
    free(reached);
    return fine;
}
