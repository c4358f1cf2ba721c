/* ==== [memory] ================================================================================ */
/* What a session allocates: blocks, and arenas that are freed as a whole. */
/* p, or an error if it is NULL: size bytes that the session holds from now on. */
SAMBA__FN void *samba__taken(samba_session *s, void *p, size_t size)
{
    if (!p) {
        samba_fail(s, SAMBA_ENOMEM, "while asking for %l bytes; the session holds %l",
                   (int64_t)size, (int64_t)s->arenas.held);
        return NULL;
    }
    s->arenas.held += size;
    return p;
}

SAMBA__FN void *samba__alloc(samba_session *s, size_t size)
{
    return samba__taken(s, size == SAMBA__NO_SIZE ? NULL : s->desc.alloc(size, s->desc.user), size);
}

SAMBA__FN void samba__free(samba_session *s, void *p, size_t size)
{
    if (!p) return;
    SAMBA_ASSERT(size <= s->arenas.held); /* what goes was taken, with the same size */
    s->arenas.held -= size;
    s->desc.release(p, size, s->desc.user);
}

#define SAMBA__CHUNK ((size_t)32 * 1024)

SAMBA__FN void *samba__arena_alloc_in(samba_session *s, samba__chunk **chunks, size_t size)
{
    size_t need = samba__add_size(size, 15) & ~(size_t)15;
    if (need > SIZE_MAX / 2) return samba__alloc(s, need); /* too much: it fails, and says so */

    samba__chunk *c = *chunks;
    if (!c || c->size - c->used < need) {
        size_t chunk = samba__add_size(need > SAMBA__CHUNK ? need : SAMBA__CHUNK, sizeof *c + 16);
        c = (samba__chunk *)samba__alloc(s, chunk);
        if (!c) return NULL;
        c->size = chunk;
        c->used = (sizeof *c + 15) & ~(size_t)15;
        c->next = *chunks;
        *chunks = c;
    }

    uint8_t *p = (uint8_t *)c + c->used;
    c->used += need;
    SAMBA_ASSERT(c->used <= c->size && (uintptr_t)p % 16 == 0);
    memset(p, 0, need);
    return p;
}

SAMBA__FN void samba__arena_free(samba_session *s, samba__chunk **chunks)
{
    while (*chunks) {
        samba__chunk *c = *chunks;
        *chunks = c->next;
        samba__free(s, c, c->size);
    }
}

/* Zeroed memory until the session is closed, or the scope ends; n zeroed elements until a
   compilation ends. */
SAMBA__FN void *samba__arena_alloc(samba_session *s, size_t size)
{
    return samba__arena_alloc_in(
        s, s->arenas.transient ? &s->arenas.scope_chunks : &s->arenas.chunks, size);
}

SAMBA__FN void *samba__temp(samba_session *s, int32_t n, size_t size)
{
    SAMBA_ASSERT(n >= 0);
    return samba__arena_alloc_in(s, &s->arenas.temp_chunks, samba__mul_size((size_t)n, size));
}

SAMBA__FN char *samba__arena_text(samba_session *s, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = (char *)samba__arena_alloc(s, n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

/* A name made of others: in buffer if it fits, otherwise in memory that lives until the next
   compilation or load ends. NULL: no memory. */
SAMBA__FN const char *samba__print_name(samba_session *s, char *buffer, size_t size,
                                        const char *fmt, ...)
{
    samba__text t = samba__text_in(buffer, size);
    va_list args;
    t.raw = true;
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    if (t.len < t.cap) return buffer;

    size_t whole = t.len + 1;
    char *name = (char *)samba__arena_alloc_in(s, &s->arenas.temp_chunks, whole);
    if (!name) return NULL;

    t = samba__text_in(name, whole);
    t.raw = true;
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    return name;
}

SAMBA__FN size_t samba__local_bytes(const samba_session *s)
{
    return (size_t)s->program.pool.n_threads * SAMBA_LOCAL_BYTES;
}

/* Of large blocks the system is asked for large pages: these are cleared and found sooner. */
#if defined(__linux__)
#include <sys/mman.h>
#endif
SAMBA__FN void *samba__with_large_pages(void *p, size_t size)
{
#if defined(MADV_HUGEPAGE)
    const size_t page = (size_t)2 << 20, before = (page - (size_t)(uintptr_t)p % page) % page;
    if (p && size >= 4 * page)
        (void)madvise((uint8_t *)p + before, (size - before) / page * page, MADV_HUGEPAGE);
#endif
    (void)size;
    return p;
}

SAMBA__FN void *samba__default_alloc(size_t size, void *user)
{
    (void)user;
    return samba__with_large_pages(malloc(size), size);
}

SAMBA__FN void samba__default_release(void *p, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(p);
}

#define SAMBA__FRESH ((size_t)64 << 20) /* bytes that malloc asks of the system, which are zero */

/* Memory for a program. If it is large, no byte of it is touched before it gets a value: then what
   values it takes over from the host, one after another, lie in memory once. */
SAMBA__FN void *samba__alloc_program(samba_session *s, size_t size, bool *zeros)
{
    *zeros
        = size >= SAMBA__FRESH && size != SAMBA__NO_SIZE && s->desc.alloc == samba__default_alloc;
    if (!*zeros) return samba__alloc(s, size);
    return samba__taken(s, samba__with_large_pages(calloc(1, size), size), size);
}

/* Moves a value to where it stays; the old place is freed next, and not read any more. Of a large
   one each part goes back to the system when it was copied, so that it never lies in memory twice:
   malloc alone would keep what is freed for others of its size. */
SAMBA__FN void samba__move_value(const samba_session *s, void *to, void *from, size_t size)
{
    size_t at = 0;
#if defined(MADV_DONTNEED)
    const size_t page = (size_t)1 << 16, most = 64 * page;
    bool large = s->desc.release == samba__default_release && size >= 2 * page;
    size_t part = large ? (page - (size_t)(uintptr_t)from % page) % page : 0;

    memcpy(to, from, part); /* up to a page's border */
    for (at = part; large && size - at >= page; at += part) {
        part = (size - at < most ? size - at : most) / page * page;
        memcpy((uint8_t *)to + at, (uint8_t *)from + at, part);
        (void)madvise((uint8_t *)from + at, part, MADV_DONTNEED);
    }
#endif
    (void)s;
    memcpy((uint8_t *)to + at, (uint8_t *)from + at, size - at);
}

/* What follows prepares programs, and gains nothing by more than -Og: gcc takes half as long. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define SAMBA__QUICK 1
#pragma GCC push_options
#pragma GCC optimize("Og", "strict-aliasing")
#else
#define SAMBA__QUICK 0
#endif

