// What the compiler rewrote, as <pef>.log has it: a line for each,
//     rewrite PASS: NAME (OP) -> NAME (OP)        or        -> nothing
#include "rewrites.h"
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

// "NAME (OP)" from p up to end; false: it is something else.
static bool read_call(rewrite_call *call, const char *p, const char *end)
{
    const char *open = end;
    if (end - p < 4 || end[-1] != ')') return false;
    while (open > p && *open != '(')
        open--;
    if (open - p < 2 || open[-1] != ' ') return false;
    call->name = copy_of(p, (size_t)(open - 1 - p));
    call->op = copy_of(open + 1, (size_t)(end - open - 2));
    return call->name && call->op;
}

static bool read_line(rewrite *r, const char *line, size_t n)
{
    const char *end = line + n, *colon = strstr(line, ": "), *arrow = strstr(line, ") -> ");
    memset(r, 0, sizeof *r);
    if (!colon || !arrow || colon > arrow || arrow > end) return false;
    arrow++; // names may have one, too
    r->pass = copy_of(line, (size_t)(colon - line));
    if (!r->pass || !read_call(&r->before, colon + 2, arrow)) return false;
    bool nothing = strncmp(arrow + 4, "nothing", 7) == 0;
    return nothing || read_call(&r->after, arrow + 4, end);
}

static void free_rewrite(rewrite *r)
{
    free(r->pass);
    free(r->before.name);
    free(r->before.op);
    free(r->after.name);
    free(r->after.op);
}

bool read_rewrites(rewrites *r, const char *log, fault *why)
{
    memset(r, 0, sizeof *r);
    for (const char *line = log; line && *line;) {
        size_t n = strcspn(line, "\n");
        rewrite one, *more;
        bool begins = strncmp(line, "rewrite ", 8) == 0;
        bool is = begins && read_line(&one, line + 8, n - 8);
        more = is ? realloc(r->list, ((size_t)r->n + 1) * sizeof *more) : NULL;
        if (more) {
            r->list = more;
            r->list[r->n++] = one;
        } else if (begins)
            free_rewrite(&one);
        if (is && !more) return fail(why, "no memory for what the compiler rewrote");
        line += n + (line[n] == '\n');
    }
    return true;
}

void free_rewrites(rewrites *r)
{
    for (int32_t i = 0; i < r->n; i++)
        free_rewrite(&r->list[i]);
    free(r->list);
    memset(r, 0, sizeof *r);
}
