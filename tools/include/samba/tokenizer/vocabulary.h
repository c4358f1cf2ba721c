/* vocabulary.h - of tokenizer.h: tokens and merges by their bytes. */

/* ---- Vocabulary ------------------------------------------------------------------------------ */

static bool samba_tokenizer__is(const samba_tokenizer *t, int32_t id, const void *bytes,
                                size_t size)
{
    const samba_tokenizer__token *token = &t->token[id];
    return token->size == size && memcmp(t->bytes + token->at, bytes, size) == 0;
}

/* The slot of a token in by_text, or the empty one where it would be. */
static size_t samba_tokenizer__text_slot(const samba_tokenizer *t, const uint8_t *bytes,
                                         size_t size, uint32_t raw)
{
    size_t mask = t->by_text_slots - 1, i = (size_t)samba_tokenizer__hash(bytes, size) & mask;
    for (; t->by_text[i] >= 0; i = (i + 1) & mask) {
        int32_t id = t->by_text[i];
        uint32_t is_raw = t->token[id].flags & SAMBA_TOKENIZER__RAW;
        if (is_raw == raw && samba_tokenizer__is(t, id, bytes, size)) break;
    }
    return i;
}

/* The id of a token by its bytes and the flag RAW or 0; -1: none. */
static int32_t samba_tokenizer__find(const samba_tokenizer *t, const uint8_t *bytes, size_t size,
                                     uint32_t raw)
{
    return t->by_text_slots ? t->by_text[samba_tokenizer__text_slot(t, bytes, size, raw)] : -1;
}

/* The id of a token of the model's vocabulary by the bytes that a word has; -1: none. */
static int32_t samba_tokenizer__find_model(const samba_tokenizer *t, const uint8_t *bytes,
                                           size_t size)
{
    uint32_t raw = t->model == SAMBA_TOKENIZER__BYTES ? 0 : SAMBA_TOKENIZER__RAW;
    int32_t id = samba_tokenizer__find(t, bytes, size, raw);
    return id >= 0 && t->token[id].flags & SAMBA_TOKENIZER__OF_MODEL ? id : -1;
}

/* Room in by_text for n tokens. */
static bool samba_tokenizer__room(samba_tokenizer *t, size_t n)
{
    size_t slots = 1024;
    while (slots < 2 * n)
        slots *= 2;
    if (slots <= t->by_text_slots) return true;
    int32_t *table = (int32_t *)SAMBA_TOKENIZER_MALLOC(slots * sizeof *table), *old = t->by_text;
    size_t n_old = t->by_text_slots;
    if (!table) return false;
    for (size_t i = 0; i < slots; i++)
        table[i] = -1;
    t->by_text = table;
    t->by_text_slots = slots;
    for (size_t i = 0; i < n_old; i++) {
        if (old[i] < 0) continue;
        const samba_tokenizer__token *k = &t->token[old[i]];
        uint32_t raw = k->flags & SAMBA_TOKENIZER__RAW;
        table[samba_tokenizer__text_slot(t, t->bytes + k->at, k->size, raw)] = old[i];
    }
    SAMBA_TOKENIZER_FREE(old);
    return true;
}

/* Appends bytes to the store of bytes; where they begin, or UINT32_MAX: out of memory. */
static uint32_t samba_tokenizer__store(samba_tokenizer *t, const void *bytes, size_t size)
{
    size_t need = t->bytes_size + size;
    if (need >= UINT32_MAX) return UINT32_MAX;
    if (need > t->bytes_cap) {
        uint8_t *grown = (uint8_t *)samba_tokenizer__grown(t->bytes, &t->bytes_cap, need, 1);
        if (!grown) return UINT32_MAX;
        t->bytes = grown;
    }
    memcpy(t->bytes + t->bytes_size, bytes, size);
    t->bytes_size = need;
    return (uint32_t)(need - size);
}

/* Ids below n exist, though they may have no token yet. */
static bool samba_tokenizer__ids(samba_tokenizer *t, size_t n)
{
    if (n > t->tokens_cap) {
        samba_tokenizer__token *grown = (samba_tokenizer__token *)samba_tokenizer__grown(
            t->token, &t->tokens_cap, n, sizeof *grown);
        if (!grown) return false;
        t->token = grown;
    }
    for (; t->n_tokens < n; t->n_tokens++)
        memset(&t->token[t->n_tokens], 0, sizeof *t->token);
    return true;
}

/* Gives an id its token, which is new. */
static bool samba_tokenizer__put(samba_tokenizer *t, int32_t id, const uint8_t *bytes, size_t size,
                                 uint32_t flags)
{
    if (!samba_tokenizer__ids(t, (size_t)id + 1) || !samba_tokenizer__room(t, t->by_text_used + 1))
        return false;
    uint32_t at = samba_tokenizer__store(t, bytes, size);
    if (at == UINT32_MAX) return false;
    samba_tokenizer__token *token = &t->token[id];
    token->at = at;
    token->size = (uint32_t)size;
    token->flags = flags | SAMBA_TOKENIZER__KNOWN;
    t->by_text[samba_tokenizer__text_slot(t, bytes, size, flags & SAMBA_TOKENIZER__RAW)] = id;
    t->by_text_used++;
    if (size == 1 && !(flags & SAMBA_TOKENIZER__RAW)) {
        t->byte_id[bytes[0]] = id;
        token->flags |= SAMBA_TOKENIZER__MADE;
    }
    return true;
}

/* ---- Merges ---------------------------------------------------------------------------------- */

static uint64_t samba_tokenizer__pair_key(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot of a pair, or the empty one where it would be. */
static size_t samba_tokenizer__merge_slot(const samba_tokenizer *t, uint64_t pair)
{
    size_t mask = t->n_slots - 1;
    size_t i = (size_t)samba_tokenizer__mix(pair * UINT64_C(0xD6E8FEB86659FD93)) & mask;
    while (t->slot[i].pair != pair && t->slot[i].pair != SAMBA_TOKENIZER__EMPTY)
        i = (i + 1) & mask;
    return i;
}

static const samba_tokenizer__slot *samba_tokenizer__merge_of(const samba_tokenizer *t,
                                                              int32_t left, int32_t right)
{
    if (!t->n_slots) return NULL;
    uint64_t pair = samba_tokenizer__pair_key(left, right);
    const samba_tokenizer__slot *slot = &t->slot[samba_tokenizer__merge_slot(t, pair)];
    return slot->pair == pair ? slot : NULL;
}

static void samba_tokenizer__set_slot(samba_tokenizer *t, size_t rank)
{
    const samba_tokenizer__merge *m = &t->merge[rank];
    uint64_t pair = samba_tokenizer__pair_key(m->left, m->right);
    samba_tokenizer__slot *slot = &t->slot[samba_tokenizer__merge_slot(t, pair)];
    slot->pair = pair;
    slot->rank = (int32_t)rank;
    slot->made = m->made;
}

static bool samba_tokenizer__more_slots(samba_tokenizer *t)
{
    size_t n = t->n_slots ? 2 * t->n_slots : 1024;
    samba_tokenizer__slot *slot = (samba_tokenizer__slot *)SAMBA_TOKENIZER_MALLOC(n * sizeof *slot);
    if (!slot) return false;
    memset(slot, 0xFF, n * sizeof *slot);
    SAMBA_TOKENIZER_FREE(t->slot);
    t->slot = slot;
    t->n_slots = n;
    for (size_t i = 0; i < t->n_merges; i++)
        samba_tokenizer__set_slot(t, i);
    return true;
}

/* Appends a merge, which is new. */
static bool samba_tokenizer__add_merge(samba_tokenizer *t, samba_tokenizer__merge m)
{
    if (2 * (t->n_merges + 1) > t->n_slots && !samba_tokenizer__more_slots(t)) return false;
    if (t->n_merges == t->merges_cap) {
        samba_tokenizer__merge *grown = (samba_tokenizer__merge *)samba_tokenizer__grown(
            t->merge, &t->merges_cap, t->n_merges + 1, sizeof *grown);
        if (!grown) return false;
        t->merge = grown;
    }
    t->merge[t->n_merges++] = m;
    samba_tokenizer__set_slot(t, t->n_merges - 1);
    t->token[m.made].flags |= SAMBA_TOKENIZER__MADE;
    return true;
}
