/* dot_graph.h - the traced graph of samba.h as a picture, in Graphviz's dot language.

   Needs samba.h before it. `#define SAMBA_DOT_GRAPH_IMPLEMENTATION` in one file enables the code;
   SAMBA_DOT_GRAPH_STATIC makes the function private to the file. C99 or C++11.

       samba_dot_graph(s, print, stdout);           // ./program | dot -Tsvg >graph.svg */
#ifndef SAMBA_DOT_GRAPH_H
#define SAMBA_DOT_GRAPH_H

#ifndef SAMBA_H
#error "dot_graph.h: include samba.h before"
#endif

#ifndef SAMBA_DOT_GRAPH_API
#if defined(SAMBA_DOT_GRAPH_STATIC)
#define SAMBA_DOT_GRAPH_API static inline
#elif defined(__cplusplus)
#define SAMBA_DOT_GRAPH_API extern "C"
#else
#define SAMBA_DOT_GRAPH_API extern
#endif
#endif

/* Writes what samba_print_graph says as a graph: a box for each op, an arrow for each input. */
SAMBA_DOT_GRAPH_API void samba_dot_graph(samba_session *s, samba_emit_fn emit, void *user);

#endif /* SAMBA_DOT_GRAPH_H */

#if defined(SAMBA_DOT_GRAPH_IMPLEMENTATION) && !defined(SAMBA_DOT_GRAPH__IMPLEMENTED)
#define SAMBA_DOT_GRAPH__IMPLEMENTED

#include <stdio.h>
#include <string.h>

typedef struct samba_dot_graph__dot {
    samba_emit_fn emit;
    void *user;
} samba_dot_graph__dot;

/* The length of " f32 (2,3)" at p, a type and a shape; 0 if there is none. */
static inline size_t samba_dot_graph__spec(const char *p)
{
    for (int32_t t = 0; *p == ' ' && t < SAMBA_N_DTYPES; t++) {
        const char *type = samba_dtype_name((samba_dtype)t);
        size_t n = 1 + strlen(type);
        if (strncmp(p + 1, type, n - 1) != 0 || strncmp(p + n, " (", 2) != 0) continue;
        n += 2 + strspn(p + n + 2, "0123456789,");
        if (p[n] == ')') return n + 1;
    }
    return 0;
}

/* The first output of an op is called like the op, the others NAME__outputs__1 ... */
static inline size_t samba_dot_graph__op_of(const char *name, size_t n)
{
    static const char part[] = "__outputs__";
    size_t digits = 0, m = sizeof part - 1;
    while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
        digits++;
    bool other = digits && n > digits + m && !memcmp(name + n - digits - m, part, m);
    return other ? n - digits - m : n;
}

/* One line of samba_print_graph: "name = op(x f32 (2,3), none) [axis=1] -> f32 (2,3)". */
static inline void samba_dot_graph__line(const char *line, void *user)
{
    const samba_dot_graph__dot *dot = (const samba_dot_graph__dot *)user;
    const char *op = strstr(line, " = "), *in = op ? strchr(op, '(') : NULL;
    const char *out = in ? strstr(in, " -> ") : NULL, *shape = out ? strchr(out, '(') : NULL;
    char text[2048];
    if (!shape) return;
    int n = (int)(op - line), n_op = (int)(in - op) - 3, n_shape = (int)strcspn(shape, ")") + 1;
    const char *attr = out;
    for (bool more = out[-1] == ']'; more; more = *attr != '[')
        attr--;
    snprintf(text, sizeof text, "  \"%.*s\" [label=\"%.*s\\n%.*s %.*s%s%.*s\"];\n", n, line, n,
             line, n_op, op + 3, n_shape, shape, attr < out ? "\\n" : "", (int)(out - attr), attr);
    dot->emit(text, dot->user);
    for (const char *p = in + 1, *name = p; p < out; p++) {
        size_t spec = samba_dot_graph__spec(p);
        if (!strncmp(p, "none, ", 6) && p == name) name = p + 6;
        if (!spec) continue;
        snprintf(text, sizeof text, "  \"%.*s\" -> \"%.*s\";\n",
                 (int)samba_dot_graph__op_of(name, (size_t)(p - name)), name, n, line);
        dot->emit(text, dot->user);
        p += spec;
        name = p + 2;
    }
}

SAMBA_DOT_GRAPH_API void samba_dot_graph(samba_session *s, samba_emit_fn emit, void *user)
{
    samba_dot_graph__dot dot = { emit, user };
    if (!s || !emit) return;
    emit("digraph samba {\n  node [shape=box, fontname=\"sans\"];\n", user);
    samba_print_graph(s, samba_dot_graph__line, &dot);
    emit("}\n", user);
}
#endif /* SAMBA_DOT_GRAPH_IMPLEMENTATION */
/* MIT license, as samba.h. */
