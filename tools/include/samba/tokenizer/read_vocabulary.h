/* read_vocabulary.h - of tokenizer.h: a vocabulary and its merges. */

/* ---- Reading a vocabulary -------------------------------------------------------------------- */

static bool samba_tokenizer__id_is_free(const samba_tokenizer *t, int32_t id, const char *key,
                                        const samba_tokenizer__report *r)
{
    samba_tokenizer__shown one, other;
    if ((size_t)id >= t->n_tokens || !(t->token[id].flags & SAMBA_TOKENIZER__KNOWN)) return true;
    const samba_tokenizer__token *k = &t->token[id];
    samba_tokenizer__show(&one, key, strlen(key));
    samba_tokenizer__show(&other, (const char *)t->bytes + k->at, k->size);
    return samba_tokenizer__fail(r, "\"%s\" and \"%s\" have the same id, %d", other.text, one.text,
                                 (int)id);
}

/* Enters the token of one member of the vocabulary; bytes has room for its key, ids are below n. */
static bool samba_tokenizer__read_token(samba_tokenizer *t, const cJSON *item, size_t n,
                                        uint8_t *bytes, const samba_tokenizer__report *r)
{
    const char *key = item->string;
    size_t size = strlen(key), spelled;
    int32_t id;
    uint32_t raw = 0;
    samba_tokenizer__shown shown;
    if (size == 0) return samba_tokenizer__fail(r, "has a token without text (\"\")");
    if (!samba_tokenizer__read_id(item, n, key, &id, r)
        || !samba_tokenizer__id_is_free(t, id, key, r))
        return false;
    bool in_letters = t->model == SAMBA_TOKENIZER__BYTES;
    if (!in_letters || !samba_tokenizer__unspell(key, size, bytes, &spelled)) {
        raw = SAMBA_TOKENIZER__RAW;
        memcpy(bytes, key, size);
        spelled = size;
    }
    if (samba_tokenizer__find(t, bytes, spelled, raw) >= 0)
        return samba_tokenizer__fail(r, "has the token \"%s\" twice",
                                     samba_tokenizer__show(&shown, key, size));
    raw |= SAMBA_TOKENIZER__OF_MODEL;
    return samba_tokenizer__put(t, id, bytes, spelled, raw) ? true : samba_tokenizer__no_memory(r);
}

/* All members of the vocabulary; more: how many ids other members may need. */
static bool samba_tokenizer__read_vocabulary(samba_tokenizer *t, const cJSON *vocab, size_t more,
                                             const samba_tokenizer__report *r)
{
    size_t n = more, longest = 0;
    for (const cJSON *i = vocab->child; i; i = i->next, n++) {
        size_t size = strlen(i->string);
        if (size > longest) longest = size;
    }
    if (n > SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(r, "has %lu tokens; at most %d are possible", (unsigned long)n,
                                     (int)SAMBA_TOKENIZER__MAX_IDS);
    uint8_t *bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(longest + 1);
    bool done = bytes && samba_tokenizer__room(t, n);
    if (!done) samba_tokenizer__no_memory(r);
    for (const cJSON *i = vocab->child; i && done; i = i->next)
        done = samba_tokenizer__read_token(t, i, n, bytes, r);
    SAMBA_TOKENIZER_FREE(bytes);
    return done;
}

/* Of a byte-level vocabulary, the first byte from `first` to `last` without a token; -1: none. */
static int samba_tokenizer__missing_byte(const samba_tokenizer *t, int first, int last)
{
    for (int b = first; b <= last && t->model == SAMBA_TOKENIZER__BYTES; b++)
        if (t->byte_id[b] < 0) return b;
    return -1;
}

/* Have all those bytes tokens? */
static bool samba_tokenizer__has_bytes(const samba_tokenizer *t, int first, int last,
                                       const samba_tokenizer__report *r)
{
    int missing = samba_tokenizer__missing_byte(t, first, last);
    return missing < 0
        || samba_tokenizer__fail(r,
                                 "no token for the byte 0x%02X: this is not a byte-level "
                                 "vocabulary, or a part of one",
                                 missing);
}

/* Every id has a token. */
static bool samba_tokenizer__has_no_hole(const samba_tokenizer *t, const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < t->n_tokens; i++)
        if (!(t->token[i].flags & SAMBA_TOKENIZER__KNOWN))
            return samba_tokenizer__fail(r, "no token has the id %lu, though the largest id is %lu",
                                         (unsigned long)i, (unsigned long)(t->n_tokens - 1));
    return true;
}

/* ---- Reading merges -------------------------------------------------------------------------- */

/* One merge of a file. */
typedef struct samba_tokenizer__line {
    const char *left, *right;
    size_t left_size, right_size;
    const char *unit; /* "line" or "merge", and its number from 1 */
    long number;
} samba_tokenizer__line;

/* Splits "a b". */
static bool samba_tokenizer__split(samba_tokenizer__line *line, const char *text, size_t size,
                                   const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    const char *space = (const char *)memchr(text, ' ', size), *end = text + size;
    if (!space || space == text || space + 1 == end
        || memchr(space + 1, ' ', (size_t)(end - space - 1)))
        return samba_tokenizer__fail(
            r, "%s %ld is \"%s\"; expected two tokens with one space between", line->unit,
            line->number, samba_tokenizer__show(&shown, text, size));
    line->left = text;
    line->left_size = (size_t)(space - text);
    line->right = space + 1;
    line->right_size = (size_t)(end - space - 1);
    return true;
}

/* The id of a part of a merge, its bytes in out; -1 with the reason. */
static int32_t samba_tokenizer__part(const samba_tokenizer *t, const samba_tokenizer__line *line,
                                     bool right, uint8_t *out, const samba_tokenizer__report *r)
{
    const char *key = right ? line->right : line->left;
    size_t size = right ? line->right_size : line->left_size, n;
    int32_t id = -1;
    if (t->model != SAMBA_TOKENIZER__BYTES) {
        memcpy(out, key, size);
        id = samba_tokenizer__find_model(t, out, size);
    } else if (samba_tokenizer__unspell(key, size, out, &n)) {
        id = samba_tokenizer__find(t, out, n, 0);
    }
    samba_tokenizer__shown shown;
    if (id < 0)
        samba_tokenizer__fail(
            r, "%s %ld: \"%s\" is not in the vocabulary; do the files belong together?", line->unit,
            line->number, samba_tokenizer__show(&shown, key, size));
    return id;
}

/* bytes has room for both parts. */
static bool samba_tokenizer__read_merge_to(samba_tokenizer *t, const samba_tokenizer__line *line,
                                           uint8_t *bytes, const samba_tokenizer__report *r)
{
    samba_tokenizer__merge m;
    samba_tokenizer__shown a, b;
    m.left = samba_tokenizer__part(t, line, false, bytes, r);
    if (m.left < 0) return false;
    size_t n = t->token[m.left].size;
    m.right = samba_tokenizer__part(t, line, true, bytes + n, r);
    if (m.right < 0) return false;
    m.made = samba_tokenizer__find_model(t, bytes, n + t->token[m.right].size);
    samba_tokenizer__show(&a, line->left, line->left_size);
    samba_tokenizer__show(&b, line->right, line->right_size);
    if (m.made < 0)
        return samba_tokenizer__fail(r,
                                     "%s %ld merges \"%s\" and \"%s\", but the vocabulary does not "
                                     "have them in one",
                                     line->unit, line->number, a.text, b.text);
    const samba_tokenizer__slot *slot = samba_tokenizer__merge_of(t, m.left, m.right);
    if (slot)
        return samba_tokenizer__fail(r, "%s %ld merges \"%s\" and \"%s\" for the second time",
                                     line->unit, line->number, a.text, b.text);
    return samba_tokenizer__add_merge(t, m) ? true : samba_tokenizer__no_memory(r);
}

static bool samba_tokenizer__read_merge(samba_tokenizer *t, const samba_tokenizer__line *line,
                                        const samba_tokenizer__report *r)
{
    uint8_t small[256], *bytes = small;
    if (line->left_size + line->right_size > sizeof small)
        bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(line->left_size + line->right_size);
    if (!bytes) return samba_tokenizer__no_memory(r);
    bool done = samba_tokenizer__read_merge_to(t, line, bytes, r);
    if (bytes != small) SAMBA_TOKENIZER_FREE(bytes);
    return done;
}

/* The lines of merges.txt: "#version: 0.2" first, perhaps; then merges; empty lines at the end. */
static bool samba_tokenizer__read_merge_lines(samba_tokenizer *t, const char *text, size_t size,
                                              const samba_tokenizer__report *r)
{
    const char *end = text + size;
    samba_tokenizer__line line;
    memset(&line, 0, sizeof line);
    line.unit = "line";
    while (end > text && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    for (const char *p = text, *stop; p < end; p = stop + 1) {
        stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        size_t n = (size_t)(stop - p);
        if (n > 0 && p[n - 1] == '\r') n--;
        if (++line.number == 1 && n >= 8 && memcmp(p, "#version", 8) == 0) continue;
        if (!samba_tokenizer__split(&line, p, n, r) || !samba_tokenizer__read_merge(t, &line, r))
            return false;
    }
    return true;
}

static bool samba_tokenizer__read_merges(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    size_t size;
    char *text = samba_tokenizer__read(&size, r);
    if (!text) return false;
    bool done = samba_tokenizer__read_merge_lines(t, text, size, r);
    SAMBA_TOKENIZER_FREE(text);
    return done;
}

/* model.merges of a tokenizer.json: "a b" or, in newer ones, ["a", "b"]. */
static bool samba_tokenizer__read_merge_array(samba_tokenizer *t, const cJSON *merges,
                                              const samba_tokenizer__report *r)
{
    samba_tokenizer__line line;
    memset(&line, 0, sizeof line);
    line.unit = "merge";
    for (const cJSON *i = merges->child; i; i = i->next) {
        const cJSON *a = cJSON_IsArray(i) ? i->child : NULL, *b = a ? a->next : NULL;
        line.number++;
        if (cJSON_IsString(i)) {
            if (!samba_tokenizer__split(&line, i->valuestring, strlen(i->valuestring), r))
                return false;
        } else if (b && !b->next && cJSON_IsString(a) && cJSON_IsString(b)) {
            line.left = a->valuestring;
            line.left_size = strlen(line.left);
            line.right = b->valuestring;
            line.right_size = strlen(line.right);
        } else {
            return samba_tokenizer__fail(r,
                                         "merge %ld of model.merges is neither \"a b\" nor [\"a\", "
                                         "\"b\"]",
                                         line.number);
        }
        if (!samba_tokenizer__read_merge(t, &line, r)) return false;
    }
    return true;
}
