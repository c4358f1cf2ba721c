/* ==== [containers] ============================================================================ */
/* stb_ds, private to this file: static, without short names, and safe when memory runs out. It
   cannot report a failed allocation, so ours does not return to it: it jumps to the guard that the
   wrapper below has set. Blocks are linked to their session, which frees them whatever state the
   container was left in. Only the array and string map halves of stb_ds are used. */
#include <setjmp.h>
#if defined(INCLUDE_STB_DS_H)
#error "samba.h: this file included stb_ds.h before: put SAMBA_IMPLEMENTATION in a file of its own"
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SAMBA__THREAD_LOCAL thread_local
#elif defined(__GNUC__)
#define SAMBA__THREAD_LOCAL __thread
#else
#define SAMBA__THREAD_LOCAL
#endif
typedef struct samba__guard {
    jmp_buf env;
    samba_session *session;
    volatile size_t missing; /* bytes that could not be had; written after setjmp */
} samba__guard;

static SAMBA__THREAD_LOCAL samba__guard *samba__current_guard;

SAMBA__FN void samba__ds_free(void *p)
{
    samba__block *b = p ? (samba__block *)p - 1 : NULL;
    if (!b) return;
    if (b->prev)
        b->prev->next = b->next;
    else
        b->session->arenas.blocks = b->next;
    if (b->next) b->next->prev = b->prev;
    samba__free(b->session, b, b->size);
}

SAMBA__FN void *samba__ds_realloc(void *old, size_t size)
{
    samba_session *s = samba__current_guard->session;
    size_t total = samba__add_size(size, sizeof(samba__block));
    void *p = total == SAMBA__NO_SIZE ? NULL : s->desc.alloc(total, s->desc.user);
    if (!p) {
        samba__current_guard->missing = total;
        longjmp(samba__current_guard->env, 1);
    }

    samba__block *b = (samba__block *)samba__taken(s, p, total);
    b->session = s;
    b->size = total;
    b->prev = NULL;
    b->next = s->arenas.blocks;
    if (s->arenas.blocks) s->arenas.blocks->prev = b;
    s->arenas.blocks = b;

    if (old) {
        size_t had = ((samba__block *)old - 1)->size - sizeof *b;
        memcpy(b + 1, old, had < size ? had : size);
        samba__ds_free(old);
    }

    return b + 1;
}

#define STBDS_REALLOC(context, p, size) samba__ds_realloc(p, size)
#define STBDS_FREE(context, p) samba__ds_free(p)
#define STBDS_NO_SHORT_NAMES
#define STBDS_ASSERT(x) ((void)0)
#if defined(__cplusplus)
extern "C" {
#endif
struct stbds_string_arena;
static void stbds_rand_seed(size_t), stbds_strreset(struct stbds_string_arena *);
static void stbds_arrfreef(void *), stbds_hmfree_func(void *, size_t);
static size_t stbds_hash_bytes(void *, size_t, size_t), stbds_hash_string(char *, size_t);
static char *stbds_stralloc(struct stbds_string_arena *, char *);
static void *stbds_arrgrowf(void *, size_t, size_t, size_t), *stbds_hmput_default(void *, size_t);
static void *stbds_hmget_key(void *, size_t, void *, size_t, int);
static void *stbds_hmget_key_ts(void *, size_t, void *, size_t, ptrdiff_t *, int);
static void *stbds_hmput_key(void *, size_t, void *, size_t, int);
static void *stbds_hmdel_key(void *, size_t, void *, size_t, size_t, int);
static void *stbds_shmode_func(size_t, int);
#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_DS_IMPLEMENTATION
#if defined(SAMBA_STB_DS_H)
#include SAMBA_STB_DS_H
#elif defined(__has_include)
#if __has_include(<stb/stb_ds.h>)
#include <stb/stb_ds.h>
#elif __has_include("stb_ds.h")
#include "stb_ds.h"
#else
#error "samba.h needs stb_ds.h. Debian: apt install libstb-dev. Or define SAMBA_STB_DS_H"
#endif
#else
#include <stb/stb_ds.h>
#endif
#undef STB_DS_IMPLEMENTATION
/* stb_ds draws the seed of a new map from a variable that all sessions share: one at a time. */
#if defined(SAMBA_NO_THREADS)
SAMBA__FN void samba__lock_maps(void)
{
}

SAMBA__FN void samba__unlock_maps(void)
{
}
#else
SAMBA__FN void samba__lock_maps(void)
{
    while (__atomic_exchange_n(&samba__maps_locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

SAMBA__FN void samba__unlock_maps(void)
{
    __atomic_store_n(&samba__maps_locked, 0, __ATOMIC_RELEASE);
}
#endif
/* Runs body where stb_ds may allocate. False, with the session poisoned, if memory ran out. */
SAMBA__FN bool samba__guarded(samba_session *s, void (*body)(samba_session *s, void *argument),
                              void *argument)
{
    samba__guard guard, *outer = samba__current_guard;
    guard.session = s;
    guard.missing = 0;
    samba__current_guard = &guard;
    samba__lock_maps();
    if (setjmp(guard.env) == 0)
        body(s, argument);
    else
        s->errors.poisoned = true;
    samba__unlock_maps();
    samba__current_guard = outer;

    /* Told last: the log may use samba.h. */
    if (guard.missing) samba__taken(s, NULL, guard.missing);
    return !s->errors.poisoned;
}

SAMBA__FN void samba__push_node_body(samba_session *s, void *n)
{
    stbds_arrput(s->trace.nodes, (samba__node *)n);
}

SAMBA__FN void samba__push_op_body(samba_session *s, void *op)
{
    stbds_arrput(s->trace.user_ops, (const samba_op *)op);
}

SAMBA__FN void samba__put_tensor_body(samba_session *s, void *argument)
{
    samba_tensor *t = (samba_tensor *)argument;
    samba__entry e = SAMBA__ZEROED;
    uintptr_t key = (uintptr_t)t->name;
    e.key = (char *)key;
    e.value = t;
    stbds_arrput(s->trace.tensors, t);
    stbds_shputs(s->trace.names, e);
}

/* A tensor's next name, and the map that finds it by either. */
typedef struct samba__renaming {
    samba_tensor *tensor;
    const char *name;
} samba__renaming;

SAMBA__FN void samba__rename_body(samba_session *s, void *argument)
{
    const samba__renaming *r = (const samba__renaming *)argument;
    uintptr_t old = (uintptr_t)r->tensor->name, key = (uintptr_t)r->name;
    samba__entry e = SAMBA__ZEROED;
    e.key = (char *)key;
    e.value = r->tensor;
    stbds_shputs(s->trace.names, e);
    (void)stbds_shdel(s->trace.names, (char *)old);
    r->tensor->name = r->name;
    r->tensor->n_same = 0; /* of the name it had */
}

/* Takes what goes with a scope out of the map and the lists; the rest keeps its order. The map may
   want memory, so it comes first: if there is none, samba_close finds the lists whole. */
SAMBA__FN void samba__drop_scope_body(samba_session *s, void *argument)
{
    const samba__scope *q = (const samba__scope *)argument;
    ptrdiff_t n = q->n_tensors, n_nodes = q->n_nodes;
    for (ptrdiff_t i = n; i < stbds_arrlen(s->trace.tensors); i++) {
        uintptr_t key = (uintptr_t)s->trace.tensors[i]->name;
        if (s->trace.tensors[i]->transient) (void)stbds_shdel(s->trace.names, (char *)key);
    }

    for (ptrdiff_t i = n; i < stbds_arrlen(s->trace.tensors); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->transient) continue;
        t->id = (int32_t)n;
        s->trace.tensors[n++] = t;
    }
    stbds_arrsetlen(s->trace.tensors, (size_t)n);

    for (ptrdiff_t i = n_nodes; i < stbds_arrlen(s->trace.nodes); i++) {
        samba__node *node = s->trace.nodes[i];
        if (node->transient) continue;
        node->id = (int32_t)n_nodes;
        s->trace.nodes[n_nodes++] = node;
    }
    stbds_arrsetlen(s->trace.nodes, (size_t)n_nodes);
}

SAMBA__FN int32_t samba__n_tensors(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->trace.tensors);
}

SAMBA__FN int32_t samba__n_nodes(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->trace.nodes);
}

SAMBA__FN int32_t samba__n_user_ops(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->trace.user_ops);
}

/* The tensor called name, or NULL. A map exists since its first put: this does not allocate. */
SAMBA__FN samba_tensor *samba__named(samba_session *s, const char *name)
{
    uintptr_t key = (uintptr_t)name;
    ptrdiff_t i = s->trace.names ? stbds_shgeti(s->trace.names, (char *)key) : -1;
    return i < 0 ? NULL : s->trace.names[i].value;
}

/* A program, and the map of its graphs. */
typedef struct samba__graph_list {
    const samba__pef *pef;
    samba__graph_entry *map;
} samba__graph_list;

/* Of two graphs with the same name, which no compiler writes, the first one counts. */
SAMBA__FN void samba__list_graphs_body(samba_session *s, void *argument)
{
    samba__graph_list *list = (samba__graph_list *)argument;
    const samba__pef *pef = list->pef;
    (void)s;

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        uintptr_t key = (uintptr_t)samba__graph_name(pef, i);
        samba__graph_entry e = SAMBA__ZEROED;
        e.key = (char *)key;
        e.value = i;
        if (samba__begins_graph(pef, i) && stbds_shgeti(list->map, e.key) < 0)
            stbds_shputs(list->map, e);
    }
}

/* Without memory there is no map: what there was of it goes with the session. */
SAMBA__FN bool samba__map_graphs(samba_session *s, const samba__pef *pef, samba__graph_entry **map)
{
    samba__graph_list list = { pef, NULL };
    bool fine = samba__guarded(s, samba__list_graphs_body, &list);
    *map = fine ? list.map : NULL;
    return fine;
}

SAMBA__FN void samba__free_graphs(samba__graph_entry *map)
{
    stbds_shfree(map);
}

/* The first section of the graph called name ("": of what is in no named one), or NULL. */
SAMBA__FN const samba__graph_entry *samba__graph_named(samba_session *s, const char *name)
{
    uintptr_t key = (uintptr_t)name;
    ptrdiff_t i = s->trace.graphs ? stbds_shgeti(s->trace.graphs, (char *)key) : -1;
    return i < 0 ? NULL : &s->trace.graphs[i];
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

