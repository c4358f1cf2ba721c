/* special.h - of tokenizer.h: tokens that are sought in the text. */

/* ---- Special tokens -------------------------------------------------------------------------- */

/* The slot of an edge, or the empty one where it would be. */
static size_t samba_tokenizer__edge_slot(const samba_tokenizer__trie *trie, uint64_t key)
{
    size_t mask = trie->n_slots - 1;
    size_t i = (size_t)samba_tokenizer__mix(key * UINT64_C(0xD6E8FEB86659FD93)) & mask;
    while (trie->edge[i].key != key && trie->edge[i].key != SAMBA_TOKENIZER__EMPTY)
        i = (i + 1) & mask;
    return i;
}

static bool samba_tokenizer__more_edges(samba_tokenizer__trie *trie)
{
    samba_tokenizer__trie old = *trie;
    size_t n = old.n_slots ? 2 * old.n_slots : 256;
    samba_tokenizer__edge *edge = (samba_tokenizer__edge *)SAMBA_TOKENIZER_MALLOC(n * sizeof *edge);
    if (!edge) return false;
    memset(edge, 0xFF, n * sizeof *edge);
    trie->edge = edge;
    trie->n_slots = n;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.edge[i].key != SAMBA_TOKENIZER__EMPTY)
            edge[samba_tokenizer__edge_slot(trie, old.edge[i].key)] = old.edge[i];
    SAMBA_TOKENIZER_FREE(old.edge);
    return true;
}

static bool samba_tokenizer__add_node(samba_tokenizer__trie *trie)
{
    if (trie->n_nodes == trie->nodes_cap) {
        int32_t *grown = (int32_t *)samba_tokenizer__grown(trie->id, &trie->nodes_cap,
                                                           trie->n_nodes + 1, sizeof *grown);
        if (!grown) return false;
        trie->id = grown;
    }
    trie->id[trie->n_nodes++] = -1;
    return true;
}

/* Enters a token's bytes. False: out of memory; the nodes made so far lead to no token. */
static bool samba_tokenizer__trie_add(samba_tokenizer__trie *trie, const uint8_t *bytes,
                                      size_t size, int32_t id)
{
    uint64_t node = 0;
    if (trie->n_nodes == 0 && !samba_tokenizer__add_node(trie)) return false;
    for (size_t i = 0; i < size; i++) {
        uint64_t key = node << 8 | bytes[i];
        if (2 * trie->n_nodes >= trie->n_slots && !samba_tokenizer__more_edges(trie)) return false;
        samba_tokenizer__edge *edge = &trie->edge[samba_tokenizer__edge_slot(trie, key)];
        if (edge->key == SAMBA_TOKENIZER__EMPTY) {
            if (!samba_tokenizer__add_node(trie)) return false;
            edge->key = key;
            edge->node = (uint32_t)(trie->n_nodes - 1);
        }
        node = edge->node;
    }
    trie->id[node] = id;
    trie->starts[bytes[0]] = true;
    trie->n_tokens++;
    return true;
}

/* The node that a byte leads to; 0: none. */
static uint32_t samba_tokenizer__trie_step(const samba_tokenizer__trie *trie, uint32_t node,
                                           uint8_t byte)
{
    uint64_t key = (uint64_t)node << 8 | byte;
    const samba_tokenizer__edge *edge = &trie->edge[samba_tokenizer__edge_slot(trie, key)];
    return edge->key == key ? edge->node : 0;
}

/* The longest token that begins at p, and its size; -1: none. */
static int32_t samba_tokenizer__trie_longest(const samba_tokenizer__trie *trie, uint32_t node,
                                             const uint8_t *p, const uint8_t *end, size_t *size)
{
    int32_t id = -1;
    if (!trie->n_tokens) return -1;
    for (const uint8_t *q = p; q < end; q++) {
        node = samba_tokenizer__trie_step(trie, node, *q);
        if (!node) break;
        if (trie->id[node] < 0) continue;
        id = trie->id[node];
        *size = (size_t)(q + 1 - p);
    }
    return id;
}

static void samba_tokenizer__trie_free(samba_tokenizer__trie *trie)
{
    SAMBA_TOKENIZER_FREE(trie->edge);
    SAMBA_TOKENIZER_FREE(trie->id);
}

static bool samba_tokenizer__can_be_special(const char *text, size_t size,
                                            const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    if (size <= SAMBA_TOKENIZER__MAX_SPECIAL) return true;
    return samba_tokenizer__fail(r,
                                 "the special token \"%s\" has %lu bytes; at most %d are possible",
                                 samba_tokenizer__show(&shown, text, size), (unsigned long)size,
                                 (int)SAMBA_TOKENIZER__MAX_SPECIAL);
}

/* Makes an id special, whose text is set. */
static bool samba_tokenizer__make_special(samba_tokenizer *t, int32_t id, uint32_t flags,
                                          const samba_tokenizer__report *r)
{
    samba_tokenizer__token *k = &t->token[id];
    samba_tokenizer__trie *trie = &t->trie[flags & SAMBA_TOKENIZER__LATE ? 1 : 0];
    if (!samba_tokenizer__can_be_special((const char *)t->bytes + k->at, k->size, r)) return false;
    samba_tokenizer__buffer sought = { NULL, 0, 0, false };
    if (flags & SAMBA_TOKENIZER__LATE)
        samba_tokenizer__normalize(&t->normalizer, t->bytes + k->at, k->size, &sought);
    else
        samba_tokenizer__append(&sought, t->bytes + k->at, k->size);

    /* a token that normalizes to nothing is never found */
    bool done = !sought.failed
        && (sought.size == 0 || samba_tokenizer__trie_add(trie, sought.at, sought.size, id));
    SAMBA_TOKENIZER_FREE(sought.at);
    if (!done) return samba_tokenizer__no_memory(r);
    k->flags |= flags | SAMBA_TOKENIZER__SPECIAL;
    return true;
}

/* The id of a special token by its text; -1: none. */
static int32_t samba_tokenizer__find_special(const samba_tokenizer *t, const char *text,
                                             size_t size)
{
    for (uint32_t raw = 0; raw <= SAMBA_TOKENIZER__RAW; raw += SAMBA_TOKENIZER__RAW) {
        int32_t id = samba_tokenizer__find(t, (const uint8_t *)text, size, raw);
        if (id >= 0 && t->token[id].flags & SAMBA_TOKENIZER__SPECIAL) return id;
    }
    return -1;
}

/* RAW for a text with characters other than visible ASCII, which as letters are themselves. */
static uint32_t samba_tokenizer__raw(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] <= 32 || text[i] >= 127) return SAMBA_TOKENIZER__RAW;
    return 0;
}

/* The same in this tokenizer: only those of bytes write letters for bytes. */
static uint32_t samba_tokenizer__raw_of(const samba_tokenizer *t, const uint8_t *text, size_t size)
{
    if (t->model != SAMBA_TOKENIZER__BYTES) return SAMBA_TOKENIZER__RAW;
    return samba_tokenizer__raw(text, size);
}
