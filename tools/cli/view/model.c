// A PEF or checkpoint that is looked at.
#include "model.h"
#include "layers.h"
#include "map.h"
#define SAMBA_REPLAY_IMPLEMENTATION
#include "samba/replay.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool add_note(model *m, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    for (char *p = text; *p; p++)
        if (*p == '\n') *p = ' ';
    size_t old = m->notes ? strlen(m->notes) : 0, more = strlen(text);
    char *notes = realloc(m->notes, old + more + 2);
    if (!notes) m->lacks_note = true;
    if (!notes) return false;
    memcpy(notes + old, text, more);
    memcpy(notes + old + more, "\n", 2);
    m->notes = notes;
    return true;
}

// Errors are returned as sentences; warnings stand on the page.
static void note_warning(samba_log_level level, const char *text, void *user)
{
    if (level == SAMBA_LOG_WARNING) add_note(user, "%s", text);
}

static bool read_records(model *m, fault *why)
{
    const samba_pef *pef = &m->pef;
    m->symbols = calloc((size_t)pef->n_symbols + 1, sizeof *m->symbols);
    m->nodes = calloc((size_t)pef->n_nodes + 1, sizeof *m->nodes);
    m->sections = calloc((size_t)pef->n_sections + 1, sizeof *m->sections);
    m->section_of = calloc((size_t)pef->n_nodes + 1, sizeof *m->section_of);
    if (!m->symbols || !m->nodes || !m->sections || !m->section_of)
        return fail(why, "no memory for the %d tensors of the program", pef->n_symbols);
    for (int32_t i = 0; i < pef->n_symbols; i++)
        m->symbols[i] = samba_pef_symbol_at(pef, i);
    for (int32_t i = 0; i < pef->n_nodes; i++)
        m->nodes[i] = samba_pef_node_at(pef, i);
    for (int32_t i = 0; i < pef->n_sections; i++) {
        section q = m->sections[i] = samba_pef_section_at(pef, i);
        for (int32_t k = q.first; k < q.first + q.n; k++)
            m->section_of[k] = i;
    }
    return true;
}

/* The tables of the file alone: its values, which may be many, are read by the session. */
static bool read_tables(model *m, const char *path, fault *why)
{
    enum { HEADER = 128 };

    char header[HEADER], reason[1024];
    int64_t size = file_size(path);
    FILE *f = open_file(path, "rb", why);
    if (!f) return false;
    bool whole = size >= HEADER && fread(header, 1, HEADER, f) == HEADER;
    size_t need = whole ? samba_pef_tables_size(header, (size_t)size) : 0;
    m->size = need ? (size_t)size : 0;
    m->bytes = malloc(need + 1);
    rewind(f);
    bool fine = m->bytes && fread(m->bytes, 1, need, f) == need;
    fclose(f);
    if (!fine) return fail(why, "%s: it cannot be read, or there is no memory for it", path);
    if (need == 0) return fail(why, "%s: this is no PEF, and no checkpoint", path);
    return samba_pef_open(&m->pef, m->bytes, m->size, reason, sizeof reason)
        || fail(why, "%s: %s", path, reason);
}

static bool load(model *m, const model_options *o, fault *why)
{
    static const char own_ops[]
        = ". tools/samba has no ops of programs: the program itself can repeat "
          "the run, with samba_replay_load and samba_replay_again";
    char reason[1024];
    if (o->replay) {
        bool fine
            = samba_replay_load(m->session, o->replay, m->path, o->found, reason, sizeof reason);
        if (fine) m->path = o->found->checkpoint;
        return fine || fail(why, "%s%s", reason, strstr(reason, "register it") ? own_ops : "");
    }
    if (samba_load(m->session, m->path, NULL)) return true;
    fail(why, "%s", samba_error(m->session));
    if (!o->structure_will_do || !strstr(why->text, "register it")) return false;
    samba_close(m->session);
    m->session = NULL;
    return add_note(m,
                    "This program has ops of its own, which tools/samba cannot run: its structure "
                    "and its memory are shown, without values and times.")
        || fail(why, "no memory for a note");
}

bool open_model(model *m, const char *path, const model_options *o, fault *why)
{
    memset(m, 0, sizeof *m);
    m->path = path;
    if (!o->replay && is_folder(path))
        return fail(why, "%s: this is a folder; name a PEF or a checkpoint in it", path);
    if (!o->replay && !is_file(path)) return fail(why, "%s: there is no such file", path);
    samba_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.log = note_warning;
    desc.user = m;
    desc.threads = o->threads;
    desc.seed = o->seed;
    m->session = samba_open(&desc);
    if (!m->session) return fail(why, "no memory for a session");
    if (!load(m, o, why) || !read_tables(m, m->path, why) || !read_records(m, why)) return false;
    return find_layers(m) || fail(why, "no memory for the names of layers");
}

void close_model(model *m)
{
    samba_close(m->session);
    for (int32_t i = 0; m->layer && i < m->pef.n_nodes; i++)
        free(m->layer[i]);
    free(m->layer);
    free_map(m->map);
    free(m->notes);
    free(m->symbols);
    free(m->nodes);
    free(m->sections);
    free(m->section_of);
    free(m->bytes);
    memset(m, 0, sizeof *m);
}

const char *graph_of(const model *m, int32_t section)
{
    const char *name = m->sections[section].graph;
    return name ? name : "";
}

// The sections of one graph stand together.
bool begins_graph(const model *m, int32_t section)
{
    return section == 0 || strcmp(graph_of(m, section - 1), graph_of(m, section)) != 0;
}

bool run_model(model *m, fault *why)
{
    for (int32_t i = 0; i < m->pef.n_sections; i++)
        if (begins_graph(m, i) && !samba_run_graph(m->session, graph_of(m, i), 0))
            return fail(why, "%s: %s", m->path, samba_error(m->session));
    return true;
}

// Does it change a parameter, or what an optimizer keeps?
static bool steps(const model *m, const node *n)
{
    for (int32_t o = 0; o < n->n_out; o++) {
        const symbol *s = n->out[o] < 0 ? NULL : &m->symbols[n->out[o]];
        bool kept
            = s && (s->role == SAMBA_ROLE_WEIGHT || (s->role == SAMBA_ROLE_STATE && s->generated));
        if (kept) return true;
    }
    return n->op && strcmp(n->op, "clip_factor") == 0;
}

// With mapping spatial a section has types of which each node has one.
const char *kind_of(const model *m, int32_t node)
{
    unsigned types = m->sections[m->section_of[node]].type;
    const unsigned optimizer = SAMBA_OPT | SAMBA_GRADNORM;
    if (types & (SAMBA_FWD | SAMBA_COUNT)) return "forward";
    if ((types & SAMBA_BCKWD) && (types & optimizer))
        return steps(m, &m->nodes[node]) ? "optimizer" : "backward";
    if (types & SAMBA_BCKWD) return "backward";
    return types & optimizer ? "optimizer" : "other";
}

const char *section_name(unsigned types)
{
    static char text[80];
    text[0] = 0;
    for (unsigned bit = 1; bit; bit <<= 1) {
        const char *name = types & bit ? samba_section_type_name(bit) : NULL;
        if ((types & bit) && bit == SAMBA_COUNT) name = "COUNT";
        if (!name) continue;
        if (*text) strcat(text, " + ");
        strcat(text, name);
    }
    return text;
}

bool is_view(const model *m, int32_t node)
{
    int32_t in = m->nodes[node].in[0], out = m->nodes[node].out[0];
    if (m->nodes[node].n_in < 1 || in < 0 || out < 0 || m->symbols[out].view_of < 0) return false;
    return m->symbols[out].view_of == in || m->symbols[out].view_of == m->symbols[in].view_of;
}

int32_t find_input(const model *m, const char *name)
{
    for (int32_t i = 0; i < m->pef.n_symbols; i++) {
        bool input = m->symbols[i].role == SAMBA_ROLE_INPUT;
        if (input && strcmp(m->symbols[i].name, name) == 0) return i;
    }
    return -1;
}
