// A checkpoint as the device commands see it.
#include "program.h"
#include "identifier.h"
#include <stdlib.h>
#include <string.h>

static bool read_records(program *p, fault *why)
{
    const samba_pef *pef = &p->pef;
    p->symbols = calloc((size_t)pef->n_symbols + 1, sizeof *p->symbols);
    p->ident = calloc((size_t)pef->n_symbols + 1, sizeof *p->ident);
    p->nodes = calloc((size_t)pef->n_nodes + 1, sizeof *p->nodes);
    p->sections = calloc((size_t)pef->n_sections + 1, sizeof *p->sections);
    if (!p->symbols || !p->ident || !p->nodes || !p->sections)
        return fail(why, "no memory for the %d tensors of the program", pef->n_symbols);
    for (int32_t i = 0; i < pef->n_symbols; i++)
        p->symbols[i] = samba_pef_symbol_at(pef, i);
    for (int32_t i = 0; i < pef->n_nodes; i++)
        p->nodes[i] = samba_pef_node_at(pef, i);
    for (int32_t i = 0; i < pef->n_sections; i++)
        p->sections[i] = samba_pef_section_at(pef, i);
    return true;
}

// Tensors of the program keep their names as far as C allows; temporaries yield to them.
static bool name_symbols(program *p, fault *why)
{
    identifiers taken = { 0 };
    bool fine = true;
    for (int temporary = 0; temporary < 2; temporary++)
        for (int32_t i = 0; fine && i < p->pef.n_symbols; i++) {
            samba_role role = p->symbols[i].role;
            bool is = role == SAMBA_ROLE_TEMPORARY || role == SAMBA_ROLE_SCRATCH;
            if (is != temporary) continue;
            const char *name = p->symbols[i].name;
            p->ident[i] = new_identifier(&taken, *name ? name : role_word(role));
            fine = p->ident[i] || fail(why, "no memory for the names of tensors");
        }
    free_identifiers(&taken);
    return fine;
}

bool open_program(program *p, const char *path, fault *why)
{
    memset(p, 0, sizeof *p);
    char reason[1024];
    p->bytes = read_file(path, &p->size, why);
    if (!p->bytes) return false;
    if (!samba_pef_open(&p->pef, p->bytes, p->size, reason, sizeof reason))
        return fail(why, "%s: %s", path, reason);
    if (!samba_runtime_bytes(p->bytes, p->size, reason, sizeof reason))
        return fail(why, "%s: %s", path, reason);
    return read_records(p, why) && name_symbols(p, why);
}

bool has_values(const program *p, fault *why)
{
    for (int32_t i = 0; i < p->pef.n_symbols; i++) {
        const symbol *s = &p->symbols[i];
        bool kept = s->role == SAMBA_ROLE_WEIGHT || s->role == SAMBA_ROLE_CONSTANT;
        if (kept && !s->value)
            return fail(why,
                        "the %s %s has no value: this is a compiled program, not a checkpoint; "
                        "give it values and write it with samba_save",
                        role_word(s->role), s->name);
    }
    return true;
}

void close_program(program *p)
{
    for (int32_t i = 0; p->ident && i < p->pef.n_symbols; i++)
        free(p->ident[i]);
    free(p->ident);
    free(p->symbols);
    free(p->nodes);
    free(p->sections);
    free(p->bytes);
    memset(p, 0, sizeof *p);
}

int64_t count_of(const symbol *s)
{
    return samba_count(&s->spec.shape);
}

const char *c_type_of(const symbol *s)
{
    switch (s->spec.dtype) {
    case SAMBA_F32:
        return "float";
    case SAMBA_I32:
        return "int32_t";
    case SAMBA_I8:
        return "int8_t";
    case SAMBA_U8:
    case SAMBA_BOOL:
        return "uint8_t"; // a bool is 0, or else it is true
    case SAMBA_BF16:
    case SAMBA_F16:
        return "uint16_t"; // the bits
    default:
        return NULL;
    }
}

void print_shape(FILE *to, const samba_shape *shape)
{
    for (int32_t d = 0; d < shape->ndim; d++)
        fprintf(to, d ? "x%d" : "%d", shape->dim[d]);
    if (!shape->ndim) fputs("scalar", to);
}
