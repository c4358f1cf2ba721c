// What emitters of all families share.
#include "emit.h"
#include <string.h>

const symbol *in_of(const emitter *e, const node *n, int32_t i)
{
    return i < n->n_in && n->in[i] >= 0 ? &e->p->symbols[n->in[i]] : NULL;
}

const symbol *out_of(const emitter *e, const node *n, int32_t i)
{
    return i < n->n_out && n->out[i] >= 0 ? &e->p->symbols[n->out[i]] : NULL;
}

int32_t base_of(const emitter *e, int32_t i)
{
    while (i >= 0 && e->p->symbols[i].view_of >= 0)
        i = e->p->symbols[i].view_of;
    return i;
}

const char *tensor_name(emitter *e, int32_t i)
{
    static char name[1024];
    i = base_of(e, i);
    if (i < 0) return "NULL";
    if (!e->used[i] || e->at < e->first[i]) e->first[i] = e->at;
    if (!e->used[i] || e->at > e->last[i]) e->last[i] = e->at;
    e->used[i] = true;
    snprintf(name, sizeof name, "%s_%s", e->name, e->p->ident[i]);
    return name;
}

void set_tensor(emitter *e, const char *word, int32_t i)
{
    set_word(&e->body, word, "%s", tensor_name(e, i));
}

bool has_attr(const node *n, const char *name, int32_t *words, int32_t count)
{
    return samba_pef_attr(n, name, words, count) == count;
}

int32_t attr_of(const node *n, const char *name)
{
    int32_t word = 0;
    samba_pef_attr(n, name, &word, 1);
    return word;
}

float attr_float(const node *n, const char *name)
{
    int32_t word = attr_of(n, name);
    return samba_attr_float(word);
}

bool cannot(emitter *e, const node *n, const char *what)
{
    return fail(e->why,
                "%s: export-c cannot write op %s%s%s yet; only %s_pef.h is written, "
                "for the executor",
                n->name, n->op, what ? " with " : "", what ? what : "", e->name);
}

bool set_weights(emitter *e, const node *n)
{
    int32_t i = base_of(e, n->in[1]);
    samba_dtype type = e->p->symbols[i].spec.dtype;
    bool half = type == SAMBA_F16;
    if (half) e->float16 = true;
    if ((!half && type != SAMBA_F32) || (half && !is_constant(e, i)))
        return cannot(e, n, "weights of this type");
    e->weighs[i]++;
    set_tensor(e, "w", i);
    return true;
}

bool same_shape(const symbol *a, const symbol *b)
{
    const samba_shape *x = &a->spec.shape, *y = &b->spec.shape;
    return x->ndim == y->ndim && memcmp(x->dim, y->dim, (size_t)x->ndim * sizeof *x->dim) == 0;
}

bool is_constant(const emitter *e, int32_t i)
{
    i = base_of(e, i);
    if (i < 0 || e->written[i]) return false;
    const symbol *s = &e->p->symbols[i];
    return s->role == SAMBA_ROLE_CONSTANT || s->region == REGION_READONLY
        || (e->p->pef.inference && s->value
            && (s->role == SAMBA_ROLE_WEIGHT || s->role == SAMBA_ROLE_STATE));
}

static bool same_place(const symbol *a, const symbol *b)
{
    return a->region == b->region && a->offset == b->offset && a->size == b->size;
}

const node *next_alone(const emitter *e, const node *n)
{
    int32_t next = e->at + e->taken, out = n->out[0];
    if (next >= e->end || out < 0 || e->p->symbols[out].role != SAMBA_ROLE_TEMPORARY) return NULL;
    const node *m = &e->p->nodes[next];
    bool reads = false;
    for (int32_t i = 0; i < m->n_in; i++)
        reads = reads || m->in[i] == out;
    if (!reads || e->reads[out] != 1 || m->n_out < 1 || !m->op) return NULL;
    const symbol *y = &e->p->symbols[out], *z = &e->p->symbols[m->out[0]];
    return same_place(y, z) || z->role == SAMBA_ROLE_OUTPUT ? m : NULL;
}

void take_relu(emitter *e, const node *n)
{
    const node *m = next_alone(e, n);
    bool relu = m && strcmp(m->op, "relu") == 0;
    if (relu) e->taken++;
    set_word(&e->body, "relu", "%d", relu);
    set_word(&e->body, "then", relu ? ", then relu" : "");
    set_tensor(e, "y", relu ? m->out[0] : n->out[0]);
}

void float_text(char text[32], float x)
{
    snprintf(text, 28, "%.9g", (double)x);
    bool whole = strspn(text, "-0123456789") == strlen(text);
    strcat(text, whole ? ".0f" : "f");
}

void number_text(emitter *e, char text[32], float x)
{
    if (x - x == 0.0f) {
        float_text(text, x);
        return;
    }
    need(e, x == x ? "infinity" : "not_a_number");
    snprintf(text, 32, "%s%s", x < 0 ? "-" : "", x == x ? "INFINITE" : "NOT_A_NUMBER");
}

void write_float(writer *w, float x)
{
    char text[32];
    float_text(text, x);
    write_plain(w, "%s", text);
}

void write_floats(writer *w, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (i % 8 == 0) write_plain(w, "    ");
        write_float(w, x[i]);
        write_plain(w, (i + 1) % 8 && i + 1 < n ? ", " : ",\n");
    }
}
