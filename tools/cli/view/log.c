// What the compiler said of a program. Its lines are written by samba__put_log of samba.h.
#include "log.h"
#include <stdlib.h>
#include <string.h>

// Where the log says that node n runs, from `from` on: "    NAME = OP("; NULL: it does not.
static const char *find_node(const char *from, const node *n)
{
    size_t size = strlen(n->name) + (n->op ? strlen(n->op) : 0) + 16;
    char *line = malloc(size);
    if (!line) return NULL;
    snprintf(line, size, "\n    %s = %s%s", n->name, n->op ? n->op : "", n->op ? "(" : "");
    const char *at = strstr(from, line);
    free(line);
    return at;
}

// Does it list the nodes of this program, in this order? An older one may lie there as well.
static bool is_of(const model *m, const char *log)
{
    char counts[96];
    snprintf(counts, sizeof counts, ": %d nodes in %d sections, %d symbols, PEF ", m->pef.n_nodes,
             m->pef.n_sections, m->pef.n_symbols);
    const char *at = strstr(log, counts);
    for (int32_t i = 0; at && i < m->pef.n_nodes; i++) {
        at = find_node(at, &m->nodes[i]);
        if (at) at++;
    }
    return at != NULL;
}

// A log that may be there, beside the file. False: it is not.
static bool beside(char log[PATH_SIZE], const char *path)
{
    static const char *const pef[] = { "", ".pef" };
    fault ignored;
    size_t n = strlen(path);
    if (make_path(log, &ignored, "%s.log", path) && is_file(log)) return true;
    for (int i = 0; ends_with(path, ".ckpt") && i < 2; i++)
        if (make_path(log, &ignored, "%.*s%s.log", (int)n - 5, path, pef[i]) && is_file(log))
            return true;
    return false;
}

bool find_log(model *m, const char *named, fault *why)
{
    char found[PATH_SIZE];
    size_t size;
    const char *path = named ? named : found;
    if (!named && !beside(found, m->path)) {
        return add_note(m,
                        "The compiler's log is not beside %s (--log names it): what was rewritten, "
                        "and some gradients, are not known.",
                        m->path)
            || fail(why, "no memory for a note");
    }
    m->log = read_file(path, &size, why);
    if (!m->log) return false;
    if (is_of(m, m->log)) return true;
    if (named) return fail(why, "--log %s: it is of another program than %s", named, m->path);
    free(m->log);
    m->log = NULL;
    return add_note(m,
                    "%s is of another program, and is not used: what was rewritten, and some "
                    "gradients, are not known.",
                    path)
        || fail(why, "no memory for a note");
}
