/* life.h - of tokenizer.h: making, closing, asking. */

/* ---- Life ------------------------------------------------------------------------------------ */

static samba_tokenizer *samba_tokenizer__new(void)
{
    samba_tokenizer *t = (samba_tokenizer *)SAMBA_TOKENIZER_MALLOC(sizeof *t);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    t->unk = t->first = -1;
    t->words.n = 1; /* until a file says something else */
    t->words.step[0].kind = SAMBA_TOKENIZER__GPT2;
    t->has_decoder = true;
    for (int i = 0; i < 256; i++)
        t->byte_id[i] = t->fallback[i] = -1;
    size_t size = SAMBA_TOKENIZER__CACHE_SLOTS * sizeof *t->cache;
    t->cache = (samba_tokenizer__cached *)SAMBA_TOKENIZER_MALLOC(size);
    if (!t->cache) {
        SAMBA_TOKENIZER_FREE(t);
        return NULL;
    }
    memset(t->cache, 0, size);
    return t;
}

SAMBA_TOKENIZER_API void samba_tokenizer_close(samba_tokenizer *t)
{
    if (!t) return;
    SAMBA_TOKENIZER_FREE(t->token);
    SAMBA_TOKENIZER_FREE(t->bytes);
    SAMBA_TOKENIZER_FREE(t->by_text);
    SAMBA_TOKENIZER_FREE(t->merge);
    SAMBA_TOKENIZER_FREE(t->slot);
    samba_tokenizer__trie_free(&t->trie[0]);
    samba_tokenizer__trie_free(&t->trie[1]);
    samba_tokenizer__trie_free(&t->pieces);
    samba_tokenizer__trie_free(&t->user);
    samba_tokenizer__free_steps(&t->normalizer);
    samba_tokenizer__free_steps(&t->words);
    samba_tokenizer__free_steps(&t->decoder);
    SAMBA_TOKENIZER_FREE(t->score);
    SAMBA_TOKENIZER_FREE(t->rank);
    SAMBA_TOKENIZER_FREE(t->unk_text);
    SAMBA_TOKENIZER_FREE(t->cache);
    SAMBA_TOKENIZER_FREE(t);
}

SAMBA_TOKENIZER_API int32_t samba_tokenizer_size(const samba_tokenizer *t)
{
    return t ? (int32_t)t->n_tokens : 0;
}

SAMBA_TOKENIZER_API int32_t samba_tokenizer_first(const samba_tokenizer *t)
{
    return t ? t->first : -1;
}

SAMBA_TOKENIZER_API int32_t samba_tokenizer_id(const samba_tokenizer *t, const char *token)
{
    if (!t || !token || !*token) return -1;
    size_t size = strlen(token);
    int32_t id = samba_tokenizer__find_special(t, token, size);
    if (id < 0) id = samba_tokenizer__find(t, (const uint8_t *)token, size, 0);
    return id < 0 ? samba_tokenizer__find(t, (const uint8_t *)token, size, SAMBA_TOKENIZER__RAW)
                  : id;
}

SAMBA_TOKENIZER_API bool samba_tokenizer_add_special(samba_tokenizer *t, const char *token,
                                                     char *why, size_t why_size)
{
    samba_tokenizer__report r = { why, why_size, NULL };
    if (!t) return samba_tokenizer__fail(&r, "no tokenizer (NULL)");
    if (!token || !*token)
        return samba_tokenizer__fail(&r, "the special token is empty; give it a text");
    size_t size = strlen(token);
    const uint8_t *text = (const uint8_t *)token,
                  *bad = samba_tokenizer__first_bad(text, text + size);
    if (bad != text + size)
        return samba_tokenizer__fail(&r, "the special token is not UTF-8 from byte %lu on",
                                     (unsigned long)(bad - text));
    if (samba_tokenizer__find_special(t, token, size) >= 0) return true;
    if (!samba_tokenizer__can_be_special(token, size, &r)) return false;
    if (t->n_tokens >= SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(&r, "the vocabulary has all %d ids it can have",
                                     (int)SAMBA_TOKENIZER__MAX_IDS);
    int32_t id = samba_tokenizer__find(t, text, size, 0);
    if (id < 0) id = samba_tokenizer__find(t, text, size, SAMBA_TOKENIZER__RAW);
    if (id < 0) {
        id = (int32_t)t->n_tokens;
        if (!samba_tokenizer__put(t, id, text, size, samba_tokenizer__raw_of(t, text, size)))
            return samba_tokenizer__no_memory(&r);
    }
    return samba_tokenizer__make_special(t, id, 0, &r);
}
