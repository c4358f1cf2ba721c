/* bpe.h - of tokenizer.h: merging the parts of a word. */

/* ---- Encoding one word ----------------------------------------------------------------------- */

/* Where ids go: counted, and written while there is room. */
typedef struct samba_tokenizer__sink {
    int32_t *ids;
    int64_t cap, n;
} samba_tokenizer__sink;

static void samba_tokenizer__emit(samba_tokenizer__sink *sink, const int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++, sink->n++)
        if (sink->n < sink->cap) sink->ids[sink->n] = ids[i];
}

/* Merges a word of up to SAMBA_TOKENIZER__SHORT bytes in ids; how many are left. Quadratic, and
 * quick. */
static size_t samba_tokenizer__merge_short(const samba_tokenizer *t, int32_t *ids, size_t n)
{
    int32_t rank[SAMBA_TOKENIZER__SHORT], made[SAMBA_TOKENIZER__SHORT]; /* of ids i and i + 1 */
    for (size_t i = 0; i + 1 < n; i++) {
        const samba_tokenizer__slot *m = samba_tokenizer__merge_of(t, ids[i], ids[i + 1]);
        rank[i] = m ? m->rank : INT32_MAX;
        made[i] = m ? m->made : -1;
    }
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (rank[i] < rank[best]) best = i;
        if (rank[best] == INT32_MAX) break;
        ids[best] = made[best];
        n--;
        for (size_t i = best + 1; i < n; i++) {
            ids[i] = ids[i + 1];
            rank[i - 1] = rank[i];
            made[i - 1] = made[i];
        }
        for (size_t i = best ? best - 1 : 0; i <= best && i + 1 < n; i++) {
            const samba_tokenizer__slot *m = samba_tokenizer__merge_of(t, ids[i], ids[i + 1]);
            rank[i] = m ? m->rank : INT32_MAX;
            made[i] = m ? m->made : -1;
        }
    }
    return n;
}

/* A merge that was possible when it was entered. */
typedef struct samba_tokenizer__chance {
    size_t at;
    int32_t rank, made;
} samba_tokenizer__chance;

/* A long word: a linked list of ids, and a heap of the merges that are possible. */
typedef struct samba_tokenizer__long {
    int32_t *id;            /* -1: merged into the one before */
    size_t *before, *after; /* neighbours; SIZE_MAX, n: none */
    size_t n;
    samba_tokenizer__chance *heap;
    size_t heap_size;
} samba_tokenizer__long;

static bool samba_tokenizer__sooner(const samba_tokenizer__chance *a,
                                    const samba_tokenizer__chance *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* Lets the chance at i sink to its place. */
static void samba_tokenizer__sift(samba_tokenizer__long *w, size_t i)
{
    samba_tokenizer__chance moved = w->heap[i];
    for (size_t child; (child = 2 * i + 1) < w->heap_size; i = child) {
        if (child + 1 < w->heap_size
            && samba_tokenizer__sooner(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!samba_tokenizer__sooner(&w->heap[child], &moved)) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = moved;
}

/* Enters the merge of the ids at and after at, if there is one; rise: and lets it rise. */
static void samba_tokenizer__chance_at(const samba_tokenizer *t, samba_tokenizer__long *w,
                                       size_t at, bool rise)
{
    if (at == SIZE_MAX || w->after[at] >= w->n) return;
    const samba_tokenizer__slot *m = samba_tokenizer__merge_of(t, w->id[at], w->id[w->after[at]]);
    if (!m) return;
    samba_tokenizer__chance c;
    c.at = at;
    c.rank = m->rank;
    c.made = m->made;
    size_t i = w->heap_size++;
    for (; rise && i > 0 && samba_tokenizer__sooner(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static void samba_tokenizer__merge_long(const samba_tokenizer *t, samba_tokenizer__long *w)
{
    for (size_t i = 0; i + 1 < w->n; i++)
        samba_tokenizer__chance_at(t, w, i, false);
    for (size_t i = w->heap_size / 2; i-- > 0;)
        samba_tokenizer__sift(w, i);
    while (w->heap_size > 0) {
        samba_tokenizer__chance c = w->heap[0];
        w->heap[0] = w->heap[--w->heap_size];
        if (w->heap_size) samba_tokenizer__sift(w, 0);
        size_t right = w->after[c.at];
        if (w->id[c.at] < 0 || right >= w->n) continue;
        const samba_tokenizer__slot *m = samba_tokenizer__merge_of(t, w->id[c.at], w->id[right]);
        if (!m || m->rank != c.rank) continue; /* its neighbours have changed since */
        w->id[c.at] = c.made;
        w->id[right] = -1;
        w->after[c.at] = w->after[right];
        if (w->after[right] < w->n) w->before[w->after[right]] = c.at;
        samba_tokenizer__chance_at(t, w, w->before[c.at], true);
        samba_tokenizer__chance_at(t, w, c.at, true);
    }
}

/* n log n, whatever the word is. False: out of memory. */
static bool samba_tokenizer__encode_long(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                         samba_tokenizer__sink *sink)
{
    samba_tokenizer__long w;
    const size_t per_byte = 2 * sizeof *w.heap + 2 * sizeof(size_t) + sizeof(int32_t);
    if (n > SIZE_MAX / 2 / per_byte) return false;
    /* a merge takes one chance off the heap and adds two: below 2 n at any time */
    w.heap = (samba_tokenizer__chance *)SAMBA_TOKENIZER_MALLOC(n * per_byte);
    if (!w.heap) return false;
    w.before = (size_t *)(void *)(w.heap + 2 * n);
    w.after = w.before + n;
    w.id = (int32_t *)(void *)(w.after + n);
    w.n = n;
    w.heap_size = 0;
    for (size_t i = 0; i < n; i++) {
        w.id[i] = t->byte_id[word[i]];
        w.before[i] = i - 1; /* SIZE_MAX for the first */
        w.after[i] = i + 1;
    }
    samba_tokenizer__merge_long(t, &w);
    for (size_t i = 0; i < n; i = w.after[i])
        samba_tokenizer__emit(sink, &w.id[i], 1);
    SAMBA_TOKENIZER_FREE(w.heap);
    return true;
}

/* The slot of the cache for a key, which may hold another word. */
static samba_tokenizer__cached *samba_tokenizer__cache_slot(const samba_tokenizer *t,
                                                            const uint8_t *key)
{
    uint64_t part[4], h = 0;
    memcpy(part, key, sizeof part);
    for (int i = 0; i < 4; i++) {
        h = (h ^ part[i]) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
    }
    return &t->cache[h & (SAMBA_TOKENIZER__CACHE_SLOTS - 1)];
}

/* False: out of memory. */
static bool samba_tokenizer__encode_word(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                         samba_tokenizer__sink *sink)
{
    int32_t ids[SAMBA_TOKENIZER__SHORT];
    uint8_t key[SAMBA_TOKENIZER__CACHE_BYTES + 1] = { 0 };
    samba_tokenizer__cached *cached = NULL;
    if (n > SAMBA_TOKENIZER__SHORT) return samba_tokenizer__encode_long(t, word, n, sink);
    if (n <= SAMBA_TOKENIZER__CACHE_BYTES) {
        memcpy(key, word, n);
        key[SAMBA_TOKENIZER__CACHE_BYTES] = (uint8_t)n;
        cached = samba_tokenizer__cache_slot(t, key);
        if (memcmp(cached->key, key, sizeof key) == 0) {
            samba_tokenizer__emit(sink, cached->ids, (size_t)cached->n);
            return true;
        }
    }
    for (size_t i = 0; i < n; i++)
        ids[i] = t->byte_id[word[i]];
    n = samba_tokenizer__merge_short(t, ids, n);
    samba_tokenizer__emit(sink, ids, n);
    if (cached && n <= SAMBA_TOKENIZER__CACHE_IDS) {
        memcpy(cached->key, key, sizeof key);
        memcpy(cached->ids, ids, n * sizeof *ids);
        cached->n = (int32_t)n;
    }
    return true;
}
