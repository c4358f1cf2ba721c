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

/* A long word: a linked list of parts, and a heap of the merges that are possible. */
typedef struct samba_tokenizer__long {
    const uint8_t *text;    /* PIECES: of the word; else NULL: parts are known by their ids */
    size_t *from;           /* PIECES: where each part begins in text; n + 1 of them */
    int32_t *id;            /* of the parts; -1: merged into the one before */
    size_t *before, *after; /* neighbours; SIZE_MAX, n: none */
    size_t n;
    samba_tokenizer__chance *heap;
    size_t heap_size;
} samba_tokenizer__long;

enum { SAMBA_TOKENIZER__FROZEN = -2 }; /* PIECES: the id of a part that is not merged */

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

/* What the parts at and right of at become: by the list of merges, or by the pieces there are. */
static bool samba_tokenizer__can_merge(const samba_tokenizer *t, const samba_tokenizer__long *w,
                                       size_t at, samba_tokenizer__chance *c)
{
    size_t right = w->after[at];
    c->at = at;
    if (!w->text) {
        const samba_tokenizer__slot *m = samba_tokenizer__merge_of(t, w->id[at], w->id[right]);
        if (!m) return false;
        c->rank = m->rank;
        c->made = m->made;
        return true;
    }

    if (w->id[at] == SAMBA_TOKENIZER__FROZEN || w->id[right] == SAMBA_TOKENIZER__FROZEN)
        return false;
    size_t begin = w->from[at], end = w->from[w->after[right]];
    if (end - begin > t->longest_piece) return false;
    int32_t id = samba_tokenizer__find(t, w->text + begin, end - begin, SAMBA_TOKENIZER__RAW);
    if (id < 0 || t->token[id].flags & SAMBA_TOKENIZER__RESERVED) return false;
    c->rank = t->rank[id];
    c->made = id;
    return true;
}

/* Enters the merge of the parts at and after at, if there is one; rise: and lets it rise. */
static void samba_tokenizer__chance_at(const samba_tokenizer *t, samba_tokenizer__long *w,
                                       size_t at, bool rise)
{
    samba_tokenizer__chance c;
    if (at == SIZE_MAX || w->after[at] >= w->n) return;
    if (!samba_tokenizer__can_merge(t, w, at, &c)) return;
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
        samba_tokenizer__chance c = w->heap[0], now;
        w->heap[0] = w->heap[--w->heap_size];
        if (w->heap_size) samba_tokenizer__sift(w, 0);
        size_t right = w->after[c.at];
        if (w->id[c.at] == -1 || right >= w->n) continue;
        if (!samba_tokenizer__can_merge(t, w, c.at, &now) || now.made != c.made)
            continue; /* its neighbours have changed since */

        w->id[c.at] = c.made;
        w->id[right] = -1;
        w->after[c.at] = w->after[right];
        if (w->after[right] < w->n) w->before[w->after[right]] = c.at;
        samba_tokenizer__chance_at(t, w, w->before[c.at], true);
        samba_tokenizer__chance_at(t, w, c.at, true);
    }
}

/* Room for n parts in a list; n log n, whatever they are. False: out of memory. */
static bool samba_tokenizer__open_long(samba_tokenizer__long *w, size_t n)
{
    const size_t per_part = 2 * sizeof *w->heap + 3 * sizeof(size_t) + sizeof(int32_t);
    if (n > SIZE_MAX / 4 / per_part) return false;
    /* a merge takes one chance off the heap and adds two: below 2 n at any time */
    size_t bytes = n * per_part + sizeof(size_t);
    w->heap = (samba_tokenizer__chance *)SAMBA_TOKENIZER_MALLOC(bytes);
    if (!w->heap) return false;

    w->before = (size_t *)(void *)(w->heap + 2 * n);
    w->after = w->before + n;
    w->from = w->after + n;
    w->id = (int32_t *)(void *)(w->from + n + 1);
    w->text = NULL;
    w->n = n;
    w->heap_size = 0;
    for (size_t i = 0; i < n; i++) {
        w->before[i] = i - 1; /* SIZE_MAX for the first */
        w->after[i] = i + 1;
    }
    return true;
}

/* The ids of the parts of a word become those of its tokens. False: out of memory. */
static bool samba_tokenizer__encode_long(const samba_tokenizer *t, const int32_t *ids, size_t n,
                                         samba_tokenizer__sink *sink)
{
    samba_tokenizer__long w;
    if (!samba_tokenizer__open_long(&w, n)) return false;
    memcpy(w.id, ids, n * sizeof *ids);
    samba_tokenizer__merge_long(t, &w);
    for (size_t i = 0; i < n; i = w.after[i])
        samba_tokenizer__emit(sink, &w.id[i], 1);
    SAMBA_TOKENIZER_FREE(w.heap);
    return true;
}

/* ---- The parts that merging begins with ------------------------------------------------------ */

/* CHARS: the ids of a word's characters, those of its bytes where a character is unknown, or the
   unknown token; at most one for a byte. Returns how many. */
static size_t samba_tokenizer__parts_of_chars(const samba_tokenizer *t, const uint8_t *word,
                                              size_t n, int32_t *ids)
{
    size_t count = 0, size;
    bool unknown = false; /* one waits: the next may be fused with it */
    for (size_t i = 0; i < n; i += size) {
        size = samba_tokenizer__char_size(word[i]);
        int32_t id = samba_tokenizer__find_model(t, word + i, size);
        if (id >= 0) {
            if (unknown) ids[count++] = t->unk;
            unknown = false;
            ids[count++] = id;
            continue;
        }

        bool all = t->byte_fallback;
        for (size_t k = 0; k < size && all; k++)
            all = t->fallback[word[i + k]] >= 0;
        for (size_t k = 0; k < size && all; k++)
            ids[count++] = t->fallback[word[i + k]];
        if (all || t->unk < 0) continue;
        if (unknown && !t->fuse_unk) ids[count++] = t->unk;
        unknown = true;
    }
    if (unknown) ids[count++] = t->unk;
    return count;
}

/* BYTES: the ids of a word's bytes. One without a token, as those have that texts in UTF-8 seldom
   contain, is the unknown token, or nothing where there is none: as tokenizers does it. */
static size_t samba_tokenizer__parts(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                     int32_t *ids)
{
    if (t->model == SAMBA_TOKENIZER__CHARS) return samba_tokenizer__parts_of_chars(t, word, n, ids);

    size_t count = 0;
    bool after_unknown = false;
    for (size_t i = 0; i < n; i++) {
        int32_t id = t->byte_id[word[i]];
        bool unknown = id < 0;
        if (unknown) id = t->unk;
        bool fused = unknown && after_unknown && t->fuse_unk;
        after_unknown = unknown;
        if (id >= 0 && !fused) ids[count++] = id;
    }
    return count;
}

/* A long word of BYTES or CHARS. */
static bool samba_tokenizer__merge_word(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                        samba_tokenizer__sink *sink)
{
    if (n > SIZE_MAX / 2 / sizeof(int32_t)) return false;
    int32_t *ids = (int32_t *)SAMBA_TOKENIZER_MALLOC(n * sizeof *ids);
    if (!ids) return false;
    size_t count = samba_tokenizer__parts(t, word, n, ids);
    bool done = count == 0 || samba_tokenizer__encode_long(t, ids, count, sink);
    SAMBA_TOKENIZER_FREE(ids);
    return done;
}

/* PIECES: the id of a part, by its text; unknown ones in a row become one, or bytes. */
static void samba_tokenizer__emit_part(const samba_tokenizer *t, const uint8_t *p, size_t n,
                                       bool *unknown, samba_tokenizer__sink *sink)
{
    int32_t id = samba_tokenizer__find(t, p, n, SAMBA_TOKENIZER__RAW);
    bool is_unknown = id < 0 || id == t->unk, was_unknown = *unknown;
    *unknown = is_unknown;
    if (!is_unknown)
        samba_tokenizer__emit(sink, &id, 1);
    else if (t->byte_fallback)
        for (size_t i = 0; i < n; i++)
            samba_tokenizer__emit(sink, &t->fallback[p[i]], 1);
    else if (!was_unknown)
        samba_tokenizer__emit(sink, &t->unk, 1);
}

/* A word of PIECES: characters, and pieces of the user, which stay as they are. */
static bool samba_tokenizer__encode_pieces(const samba_tokenizer *t, const uint8_t *word, size_t n,
                                           samba_tokenizer__sink *sink)
{
    samba_tokenizer__long w;
    size_t count = 0, size;
    if (!samba_tokenizer__open_long(&w, n)) return false;
    for (size_t i = 0; i < n; i += size) {
        int32_t user = samba_tokenizer__trie_longest(&t->user, 0, word + i, word + n, &size);
        if (user < 0) size = samba_tokenizer__char_size(word[i]);
        w.id[count] = user < 0 ? 0 : SAMBA_TOKENIZER__FROZEN;
        w.from[count++] = i;
    }

    w.from[count] = n;
    w.text = word;
    w.n = count;
    samba_tokenizer__merge_long(t, &w);
    bool unknown = false;
    for (size_t i = 0; i < count; i = w.after[i]) {
        size_t end = w.after[i] < count ? w.from[w.after[i]] : n;
        samba_tokenizer__emit_part(t, word + w.from[i], end - w.from[i], &unknown, sink);
    }
    SAMBA_TOKENIZER_FREE(w.heap);
    return true;
}
