// What the compiler told of a program. Lines of words with tabs between them.
#include "map.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = MOST_PARTS + 3 };

// A file that is being read.
typedef struct reader {
    const model *m;
    map *told;
    char *words[MOST_WORDS]; // of this line
    int n_words;
    int32_t n_nodes; // that it has named so far
} reader;

static int hex_digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

// \xNN is a byte. In place: a word gets no longer.
static void unescape(char *word)
{
    char *to = word;
    for (const char *p = word; *p;) {
        bool escaped = p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0;
        *to++ = escaped ? (char)(hex_digit(p[2]) * 16 + hex_digit(p[3])) : *p;
        p += escaped ? 4 : 1;
    }
    *to = 0;
}

// Divides a line, which ends with 0. False: it has too many words.
static bool divide(reader *r, char *line)
{
    r->n_words = 0;
    for (char *word = line; word;) {
        char *tab = strchr(word, '\t');
        if (r->n_words == MOST_WORDS) return false;
        if (tab) *tab++ = 0;
        unescape(word);
        r->words[r->n_words++] = word;
        word = tab;
    }
    return true;
}

// A number below `limit` that ends with *end; -1: it is none.
static int32_t read_number(char **p, int32_t limit)
{
    char *end;
    if (**p < '0' || **p > '9') return -1;
    long n = strtol(*p, &end, 10);
    *p = end;
    return n < limit ? (int32_t)n : -1;
}

static int32_t read_symbol(const model *m, char *word)
{
    int32_t symbol = read_number(&word, m->pef.n_symbols);
    return *word ? -1 : symbol;
}

// SYMBOL, or SYMBOL:AXIS,AXIS...
static bool read_part(const model *m, part *q, char *word)
{
    memset(q, 0, sizeof *q);
    q->tensor = read_number(&word, m->pef.n_symbols);
    if (q->tensor < 0) return false;

    for (char before = ':'; *word == before; before = ',') {
        word++;
        int32_t axis = read_number(&word, SAMBA_MAX_DIMS);
        if (axis < 0 || q->n_axes == SAMBA_MAX_DIMS) return false;
        q->axes[q->n_axes++] = axis;
    }
    return *word == 0;
}

// Is the next node of the program this one?
static bool read_node(reader *r)
{
    if (r->n_words != 3 || r->n_nodes >= r->m->pef.n_nodes) return false;
    const node *n = &r->m->nodes[r->n_nodes++];
    return strcmp(n->name, r->words[1]) == 0 && (!n->op || strcmp(n->op, r->words[2]) == 0);
}

static bool read_rewrite(reader *r)
{
    if (r->n_words != 6) return false;
    rewrite *to = &r->told->rewrites[r->told->n_rewrites++];
    to->pass = r->words[1];
    to->before = (rewrite_call){ r->words[2], r->words[3] };
    to->after = (rewrite_call){ r->words[4], r->words[5] };
    return true;
}

static bool read_gradient(reader *r, bool lost)
{
    told_gradient *g = &r->told->gradients[r->told->n_gradients++];
    memset(g, 0, sizeof *g);
    if (r->n_words < 3 || (lost && r->n_words != 3)) return false;

    g->tensor = read_symbol(r->m, r->words[1]);
    if (g->tensor < 0) return false;
    if (lost) {
        g->lost = r->words[2];
        return true;
    }

    for (int i = 2; i < r->n_words; i++)
        if (g->n == MOST_PARTS || !read_part(r->m, &g->parts[g->n++], r->words[i])) return false;
    return true;
}

static bool read_line(reader *r, char *line)
{
    if (!divide(r, line)) return false;
    const char *kind = r->words[0];
    if (strcmp(kind, "node") == 0) return read_node(r);
    if (strcmp(kind, "rewrite") == 0) return read_rewrite(r);
    if (strcmp(kind, "gradient") == 0) return read_gradient(r, false);
    return strcmp(kind, "lost") == 0 && read_gradient(r, true);
}

// The line at *at, which goes on to the next; NULL: that was the last one. A line ends with '\n'.
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *at = end + 1;
    return line;
}

// How many lines begin with this?
static size_t count_lines(const char *text, const char *begin)
{
    size_t n = 0, length = strlen(begin);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, begin, length) == 0;
    }
    return n;
}

// Is it a map, and of this program? An older one may lie there as well. No memory: it is not.
static bool read_map(const model *m, map *told)
{
    reader r = { .m = m, .told = told };
    char *at = told->text, *first = next_line(&at);
    if (!first || strcmp(first, "samba-map\t1") != 0) return false;

    size_t n_rewrites = count_lines(at, "rewrite\t");
    size_t n_gradients = count_lines(at, "gradient\t") + count_lines(at, "lost\t");
    told->rewrites = calloc(n_rewrites + 1, sizeof *told->rewrites);
    told->gradients = calloc(n_gradients + 1, sizeof *told->gradients);
    if (!told->rewrites || !told->gradients) return false;

    for (char *line = next_line(&at); line; line = next_line(&at))
        if (!read_line(&r, line)) return false;
    return *at == 0 && r.n_nodes == m->pef.n_nodes;
}

void free_map(map *told)
{
    if (!told) return;
    free(told->text);
    free(told->rewrites);
    free(told->gradients);
    free(told);
}

// A map that may be there, beside the file. False: it is not.
static bool beside(char path[PATH_SIZE], const char *of)
{
    static const char *const pef[] = { "", ".pef" };
    fault ignored;
    size_t n = strlen(of);
    if (make_path(path, &ignored, "%s.map", of) && is_file(path)) return true;
    for (int i = 0; ends_with(of, ".ckpt") && i < 2; i++)
        if (make_path(path, &ignored, "%.*s%s.map", (int)n - 5, of, pef[i]) && is_file(path))
            return true;
    return false;
}

bool find_map(model *m, const char *named, fault *why)
{
    char found[PATH_SIZE];
    size_t size;
    const char *path = named ? named : found;
    if (!named && !beside(found, m->path)) {
        return add_note(m,
                        "What the compiler told is not beside %s (--map names it): what was "
                        "rewritten, and some gradients, are not known.",
                        m->path)
            || fail(why, "no memory for a note");
    }

    map *told = calloc(1, sizeof *told);
    if (!told) return fail(why, "no memory for what the compiler told");
    told->text = read_file(path, &size, why);
    bool fine = told->text && strlen(told->text) == size && read_map(m, told);
    if (fine) m->map = told;
    if (fine) return true;

    bool read = told->text != NULL;
    free_map(told);
    if (!read) return false;
    if (named) return fail(why, "--map %s: it is of another program than %s", named, m->path);
    return add_note(m,
                    "%s is of another program, and is not used: what was rewritten, and some "
                    "gradients, are not known.",
                    path)
        || fail(why, "no memory for a note");
}
