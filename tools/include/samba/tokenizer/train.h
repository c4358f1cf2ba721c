/* train.h - of tokenizer.h: learning merges. */

/* ---- Training --------------------------------------------------------------------------------

   Words are counted once; then each step merges the most frequent pair of neighbours in the words
   that have it, and corrects the counts of the pairs around it. A heap offers the pairs; an offer
   that is out of date is made again, or dropped when it comes up (the count has changed since). */

/* A growing list; items are reached through a cast of items. */
typedef struct samba_tokenizer__list {
    void *items;
    size_t n, cap;
} samba_tokenizer__list;

/* Room for one more item of this size, counted; NULL: out of memory. */
static void *samba_tokenizer__push(samba_tokenizer__list *list, size_t size)
{
    if (list->n == list->cap) {
        void *grown = samba_tokenizer__grown(list->items, &list->cap, list->n + 1, size);
        if (!grown) return NULL;
        list->items = grown;
    }
    return (uint8_t *)list->items + list->n++ * size;
}

/* A hash table from a hash to indices of items; a quarter of the slots stays empty. */
typedef struct samba_tokenizer__entry {
    uint64_t hash;
    size_t item; /* 1 + index; 0: empty */
} samba_tokenizer__entry;

typedef struct samba_tokenizer__index {
    samba_tokenizer__entry *entry;
    size_t n, n_slots;
} samba_tokenizer__index;

/* The first slot from i that is empty or has this hash. */
static size_t samba_tokenizer__probe(const samba_tokenizer__index *x, uint64_t hash, size_t i)
{
    for (i &= x->n_slots - 1; x->entry[i].item && x->entry[i].hash != hash;)
        i = (i + 1) & (x->n_slots - 1);
    return i;
}

/* Room for one more entry. */
static bool samba_tokenizer__index_room(samba_tokenizer__index *x)
{
    samba_tokenizer__index bigger = { NULL, x->n, x->n_slots ? 2 * x->n_slots : 4096 };
    if (4 * (x->n + 1) <= 3 * x->n_slots) return true;
    if (bigger.n_slots > SIZE_MAX / 2 / sizeof *x->entry) return false;
    size_t size = bigger.n_slots * sizeof *x->entry;
    bigger.entry = (samba_tokenizer__entry *)SAMBA_TOKENIZER_MALLOC(size);
    if (!bigger.entry) return false;
    memset(bigger.entry, 0, size);
    for (size_t i = 0; i < x->n_slots; i++) {
        if (!x->entry[i].item) continue;
        size_t at = (size_t)x->entry[i].hash & (bigger.n_slots - 1);
        while (bigger.entry[at].item)
            at = (at + 1) & (bigger.n_slots - 1);
        bigger.entry[at] = x->entry[i];
    }
    SAMBA_TOKENIZER_FREE(x->entry);
    *x = bigger;
    return true;
}

/* A different word of the text. */
typedef struct samba_tokenizer__entrant {
    const uint8_t *text;
    size_t size, at, n; /* its n ids begin at at in samba_tokenizer__trainer.ids */
    int64_t count;
} samba_tokenizer__entrant;

/* A pair of neighbours. */
typedef struct samba_tokenizer__pair {
    int32_t left, right;
    int64_t count;
    size_t place; /* 1 + its newest place; 0: none */
    size_t step;  /* the last one that raised its count */
} samba_tokenizer__pair;

/* A word in which a pair was once. */
typedef struct samba_tokenizer__place {
    size_t word, next;
} samba_tokenizer__place;

typedef struct samba_tokenizer__offer {
    int64_t count;
    int32_t left, right;
    size_t pair;
} samba_tokenizer__offer;

typedef struct samba_tokenizer__trainer {
    samba_tokenizer *t;
    samba_tokenizer__list words, ids, pairs, places, offers, raised;
    samba_tokenizer__index word_index, pair_index;
    size_t step;
} samba_tokenizer__trainer;

static samba_tokenizer__pair *samba_tokenizer__pair_at(const samba_tokenizer__trainer *tr, size_t i)
{
    return (samba_tokenizer__pair *)tr->pairs.items + i;
}

static samba_tokenizer__entrant *samba_tokenizer__word_at(const samba_tokenizer__trainer *tr,
                                                          size_t i)
{
    return (samba_tokenizer__entrant *)tr->words.items + i;
}

/* Counts a word; the first time, it becomes ids of bytes. */
static bool samba_tokenizer__count_word(samba_tokenizer__trainer *tr, const uint8_t *text,
                                        size_t size)
{
    samba_tokenizer__index *x = &tr->word_index;
    uint64_t hash = samba_tokenizer__hash(text, size);
    if (size < 2) return true; /* no pair in it */
    if (!samba_tokenizer__index_room(x)) return false;
    size_t i = samba_tokenizer__probe(x, hash, (size_t)hash);
    for (; x->entry[i].item; i = samba_tokenizer__probe(x, hash, i + 1)) {
        samba_tokenizer__entrant *w = samba_tokenizer__word_at(tr, x->entry[i].item - 1);
        if (w->size != size || memcmp(w->text, text, size) != 0) continue;
        w->count++;
        return true;
    }
    samba_tokenizer__entrant *w
        = (samba_tokenizer__entrant *)samba_tokenizer__push(&tr->words, sizeof *w);
    if (!w) return false;
    w->text = text;
    w->size = w->n = size;
    w->at = tr->ids.n;
    w->count = 1;
    x->entry[i].hash = hash;
    x->entry[i].item = tr->words.n;
    x->n++;
    for (size_t k = 0; k < size; k++) {
        int32_t *id = (int32_t *)samba_tokenizer__push(&tr->ids, sizeof *id);
        if (!id) return false;
        *id = tr->t->byte_id[text[k]];
    }
    return true;
}

/* The index of a pair, new or not; SIZE_MAX: out of memory. */
static size_t samba_tokenizer__find_pair(samba_tokenizer__trainer *tr, int32_t left, int32_t right)
{
    samba_tokenizer__index *x = &tr->pair_index;
    uint64_t hash
        = samba_tokenizer__mix(samba_tokenizer__pair_key(left, right)); /* different for each */
    if (!samba_tokenizer__index_room(x)) return SIZE_MAX;
    size_t i = samba_tokenizer__probe(x, hash, (size_t)hash);
    if (x->entry[i].item) return x->entry[i].item - 1;
    samba_tokenizer__pair *pair
        = (samba_tokenizer__pair *)samba_tokenizer__push(&tr->pairs, sizeof *pair);
    if (!pair) return SIZE_MAX;
    memset(pair, 0, sizeof *pair);
    pair->left = left;
    pair->right = right;
    pair->step = SIZE_MAX;
    x->entry[i].hash = hash;
    x->entry[i].item = tr->pairs.n;
    x->n++;
    return tr->pairs.n - 1;
}

/* Lowers the count of a pair in a word, which was once there, or raises it. */
static bool samba_tokenizer__change(samba_tokenizer__trainer *tr, int32_t left, int32_t right,
                                    size_t word, bool raise)
{
    size_t i = samba_tokenizer__find_pair(tr, left, right);
    if (i == SIZE_MAX) return false;
    samba_tokenizer__pair *pair = samba_tokenizer__pair_at(tr, i);
    int64_t count = samba_tokenizer__word_at(tr, word)->count;
    pair->count += raise ? count : -count;
    if (!raise) return true;
    const samba_tokenizer__place *places = (const samba_tokenizer__place *)tr->places.items;
    if (!pair->place || places[pair->place - 1].word != word) {
        samba_tokenizer__place *place
            = (samba_tokenizer__place *)samba_tokenizer__push(&tr->places, sizeof *place);
        if (!place) return false;
        place->word = word;
        place->next = pair->place;
        pair->place = tr->places.n;
    }
    if (pair->step == tr->step) return true;
    pair->step = tr->step;
    size_t *raised = (size_t *)samba_tokenizer__push(&tr->raised, sizeof *raised);
    if (raised) *raised = i;
    return raised != NULL;
}

/* Replaces a pair by one id in a word, and corrects the counts around it. */
static bool samba_tokenizer__merge_in(samba_tokenizer__trainer *tr, size_t word,
                                      samba_tokenizer__merge m)
{
    samba_tokenizer__entrant *w = samba_tokenizer__word_at(tr, word);
    int32_t *id = (int32_t *)tr->ids.items + w->at;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (i + 1 == w->n || id[i] != m.left || id[i + 1] != m.right) {
            id[n++] = id[i];
            continue;
        }
        if (n > 0
            && !(samba_tokenizer__change(tr, id[n - 1], m.left, word, false)
                 && samba_tokenizer__change(tr, id[n - 1], m.made, word, true)))
            return false;
        if (i + 2 < w->n
            && !(samba_tokenizer__change(tr, m.right, id[i + 2], word, false)
                 && samba_tokenizer__change(tr, m.made, id[i + 2], word, true)))
            return false;
        id[n++] = m.made;
        i++;
    }
    w->n = n;
    return true;
}

/* More frequent, or as frequent and with smaller ids. */
static bool samba_tokenizer__better(const samba_tokenizer__offer *a,
                                    const samba_tokenizer__offer *b)
{
    if (a->count != b->count) return a->count > b->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static bool samba_tokenizer__make_offer(samba_tokenizer__trainer *tr, size_t i)
{
    const samba_tokenizer__pair *pair = samba_tokenizer__pair_at(tr, i);
    samba_tokenizer__offer offer;
    offer.count = pair->count;
    offer.left = pair->left;
    offer.right = pair->right;
    offer.pair = i;
    if (!samba_tokenizer__push(&tr->offers, sizeof offer)) return false;
    samba_tokenizer__offer *heap = (samba_tokenizer__offer *)tr->offers.items;
    size_t at = tr->offers.n - 1;
    for (; at > 0 && samba_tokenizer__better(&offer, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = offer;
    return true;
}

/* Offers the pairs whose counts have been raised in this step. */
static bool samba_tokenizer__offer_raised(samba_tokenizer__trainer *tr)
{
    for (size_t i = 0; i < tr->raised.n; i++) {
        size_t pair = ((const size_t *)tr->raised.items)[i];
        if (samba_tokenizer__pair_at(tr, pair)->count > 0 && !samba_tokenizer__make_offer(tr, pair))
            return false;
    }
    tr->raised.n = 0;
    tr->step++;
    return true;
}

/* Takes the best offer off the heap, which is not empty. */
static samba_tokenizer__offer samba_tokenizer__best_offer(samba_tokenizer__trainer *tr)
{
    samba_tokenizer__offer *heap = (samba_tokenizer__offer *)tr->offers.items, best = heap[0];
    samba_tokenizer__offer moved = heap[--tr->offers.n];
    size_t n = tr->offers.n, i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && samba_tokenizer__better(&heap[child + 1], &heap[child])) child++;
        if (!samba_tokenizer__better(&heap[child], &moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
    return best;
}

/* The id of left and right in one, new or not (two merges can make the same); -1: out of memory. */
static int32_t samba_tokenizer__join_tokens(samba_tokenizer *t, int32_t left, int32_t right)
{
    size_t n = t->token[left].size, size = n + t->token[right].size;
    uint8_t *bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(size);
    if (!bytes) return -1;
    memcpy(bytes, t->bytes + t->token[left].at, n);
    memcpy(bytes + n, t->bytes + t->token[right].at, size - n);
    int32_t id = samba_tokenizer__find(t, bytes, size, 0);
    if (id < 0 && samba_tokenizer__put(t, (int32_t)t->n_tokens, bytes, size, 0))
        id = (int32_t)t->n_tokens - 1;
    SAMBA_TOKENIZER_FREE(bytes);
    return id;
}

/* One step: merges the pair of an offer that is up to date. */
static bool samba_tokenizer__merge_pair(samba_tokenizer__trainer *tr,
                                        const samba_tokenizer__offer *offer)
{
    samba_tokenizer__merge m = { offer->left, offer->right, -1 };
    m.made = samba_tokenizer__join_tokens(tr->t, m.left, m.right);
    if (m.made < 0) return false;
    /* known already if another merge has since made one of its sides again */
    if (!samba_tokenizer__merge_of(tr->t, m.left, m.right) && !samba_tokenizer__add_merge(tr->t, m))
        return false;
    for (size_t p = samba_tokenizer__pair_at(tr, offer->pair)->place; p > 0;) {
        const samba_tokenizer__place *place
            = (const samba_tokenizer__place *)tr->places.items + p - 1;
        p = place->next;
        if (!samba_tokenizer__merge_in(tr, place->word, m)) return false;
    }
    samba_tokenizer__pair_at(tr, offer->pair)->count = 0;
    samba_tokenizer__pair_at(tr, offer->pair)->place = 0;
    return samba_tokenizer__offer_raised(tr);
}

/* Merges until there are enough ids or no pair is left. False: out of memory. */
static bool samba_tokenizer__learn(samba_tokenizer__trainer *tr, size_t n_ids)
{
    for (size_t w = 0; w < tr->words.n; w++) {
        const samba_tokenizer__entrant *word = samba_tokenizer__word_at(tr, w);
        const int32_t *id = (const int32_t *)tr->ids.items + word->at;
        for (size_t i = 0; i + 1 < word->n; i++)
            if (!samba_tokenizer__change(tr, id[i], id[i + 1], w, true)) return false;
    }
    if (!samba_tokenizer__offer_raised(tr)) return false;
    while (tr->t->n_tokens < n_ids && tr->offers.n > 0) {
        samba_tokenizer__offer offer = samba_tokenizer__best_offer(tr);
        int64_t count = samba_tokenizer__pair_at(tr, offer.pair)->count;
        if (offer.count == count) {
            if (!samba_tokenizer__merge_pair(tr, &offer)) return false;
        } else if (count > 0 && count < offer.count
                   && !samba_tokenizer__make_offer(tr, offer.pair)) {
            return false;
        }
    }
    return true;
}

/* The bytes get ids in the order of their letters; words between separators are counted. */
static bool samba_tokenizer__count_words(samba_tokenizer__trainer *tr, const uint8_t *p,
                                         const uint8_t *end, const char *separator)
{
    size_t size = strlen(separator);
    for (int32_t c = 0, id = 0; c <= 323; c++) {
        int32_t byte = samba_tokenizer__unletter(c);
        uint8_t one = (uint8_t)byte;
        if (byte >= 0 && !samba_tokenizer__put(tr->t, id++, &one, 1, 0)) return false;
    }
    while (p < end) {
        const uint8_t *q = p, *stop;
        while ((q = (const uint8_t *)memchr(q, separator[0], (size_t)(end - q))) != NULL) {
            if ((size_t)(end - q) >= size && memcmp(q, separator, size) == 0) break;
            q++;
        }
        for (const uint8_t *to = q ? q : end; p < to; p = stop) {
            stop = samba_tokenizer__word(p, to);
            if (!samba_tokenizer__count_word(tr, p, (size_t)(stop - p))) return false;
        }
        if (q) p += size;
    }
    return true;
}

SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_train(const char *text, size_t size,
                                                           int32_t vocab_size, char *why,
                                                           size_t why_size)
{
    static const char last[] = "<|endoftext|>";
    samba_tokenizer__report r = { why, why_size, NULL };
    if (why && why_size) why[0] = 0;
    if ((!text && size) || vocab_size < 257 || vocab_size > SAMBA_TOKENIZER__MAX_IDS) {
        if (!text && size)
            samba_tokenizer__fail(&r, "no text (NULL)");
        else
            samba_tokenizer__fail(&r,
                                  "a vocabulary of %d ids; possible are 257 (256 bytes and %s) to "
                                  "%d",
                                  (int)vocab_size, last, (int)SAMBA_TOKENIZER__MAX_IDS);
        return NULL;
    }
    const uint8_t *p = (const uint8_t *)(text ? text : "");
    uint8_t *fixed = NULL;
    samba_tokenizer__trainer tr;
    memset(&tr, 0, sizeof tr);
    if (samba_tokenizer__first_bad(p, p + size) != p + size)
        p = fixed = samba_tokenizer__repaired(p, size, &size);
    tr.t = samba_tokenizer__new();
    bool done = p && tr.t && samba_tokenizer__count_words(&tr, p, p + size, last)
        && samba_tokenizer__learn(&tr, (size_t)vocab_size - 1)
        && samba_tokenizer_add_special(tr.t, last, NULL, 0);
    if (!done) samba_tokenizer__no_memory(&r);
    SAMBA_TOKENIZER_FREE(tr.words.items);
    SAMBA_TOKENIZER_FREE(tr.ids.items);
    SAMBA_TOKENIZER_FREE(tr.pairs.items);
    SAMBA_TOKENIZER_FREE(tr.places.items);
    SAMBA_TOKENIZER_FREE(tr.offers.items);
    SAMBA_TOKENIZER_FREE(tr.raised.items);
    SAMBA_TOKENIZER_FREE(tr.word_index.entry);
    SAMBA_TOKENIZER_FREE(tr.pair_index.entry);
    SAMBA_TOKENIZER_FREE(fixed);
    if (done) return tr.t;
    samba_tokenizer_close(tr.t);
    return NULL;
}
