/* read.h - of tokenizer.h: files, JSON. */

/* ---- Reading files --------------------------------------------------------------------------- */

static long samba_tokenizer__line_of(const char *text, size_t at)
{
    long line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

/* The text of an open file, terminated; NULL with the reason. */
static char *samba_tokenizer__read_all(FILE *f, size_t *size, const samba_tokenizer__report *r)
{
    char *text = NULL;
    size_t cap = 0, n = 0;
    for (;;) {
        if (cap - n < 2) {
            char *grown = (char *)samba_tokenizer__grown(text, &cap, n + 65536, 1);
            if (!grown) {
                SAMBA_TOKENIZER_FREE(text);
                samba_tokenizer__no_memory(r);
                return NULL;
            }
            text = grown;
        }
        errno = 0;
        size_t got = fread(text + n, 1, cap - n - 1, f);
        n += got;
        if (got == 0 || n > SAMBA_TOKENIZER__MAX_FILE) break;
    }
    if (ferror(f) || n > SAMBA_TOKENIZER__MAX_FILE) {
        if (ferror(f))
            samba_tokenizer__fail(r, "cannot be read: %s", errno ? strerror(errno) : "error");
        else
            samba_tokenizer__fail(r, "is above %d bytes; no vocabulary is",
                                  (int)SAMBA_TOKENIZER__MAX_FILE);
        SAMBA_TOKENIZER_FREE(text);
        return NULL;
    }
    text[n] = 0;
    *size = n;
    return text;
}

/* The text of r->file, which is UTF-8 without NUL, terminated; NULL with the reason. */
static char *samba_tokenizer__read(size_t *size, const samba_tokenizer__report *r)
{
    FILE *f = fopen(r->file, "rb");
    if (!f) {
        samba_tokenizer__fail(r, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    char *text = samba_tokenizer__read_all(f, size, r);
    fclose(f);
    if (!text) return NULL;
    const uint8_t *start = (const uint8_t *)text;
    size_t bad = (size_t)(samba_tokenizer__first_bad(start, start + *size) - start),
           nul = strlen(text);
    if (bad == *size && nul == *size) return text;
    if (nul < bad) bad = nul;
    samba_tokenizer__fail(r, "line %ld: byte %lu of the file is %s; is the file damaged?",
                          samba_tokenizer__line_of(text, bad), (unsigned long)bad,
                          bad == nul ? "NUL" : "not UTF-8");
    SAMBA_TOKENIZER_FREE(text);
    return NULL;
}

/* cJSON ends strings at an escaped NUL; then two keys could become one. */
static bool samba_tokenizer__has_escaped_nul(const char *json)
{
    for (const char *p = json; (p = strchr(p, '\\')) != NULL; p += 2) {
        if (strncmp(p, "\\u0000", 6) == 0) return true;
        if (!p[1]) return false;
    }
    return false;
}

/* r->file as JSON, an object; the caller deletes it. NULL with the reason. */
static cJSON *samba_tokenizer__read_json(const samba_tokenizer__report *r)
{
    size_t size;
    const char *stop = NULL;
    char *text = samba_tokenizer__read(&size, r);
    if (!text) return NULL;
    cJSON *json = NULL;
    if (samba_tokenizer__has_escaped_nul(text))
        samba_tokenizer__fail(
            r, "has the character U+0000 (\\u0000) in a string; no token may have it");
    else if (!(json = cJSON_ParseWithLengthOpts(text, size + 1, &stop, 1)))
        samba_tokenizer__fail(r,
                              "line %ld: not JSON from byte %lu of the file on (or out of memory)",
                              samba_tokenizer__line_of(text, stop ? (size_t)(stop - text) : 0),
                              (unsigned long)(stop ? stop - text : 0));
    SAMBA_TOKENIZER_FREE(text);
    if (json && !cJSON_IsObject(json)) {
        samba_tokenizer__fail(r, "holds no JSON object; expected { ... }");
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

/* The member of an object in *item, NULL if there is none. False with the reason: there are two. */
static bool samba_tokenizer__member(const cJSON *object, const char *key, const cJSON **item,
                                    const samba_tokenizer__report *r)
{
    *item = NULL;
    for (const cJSON *i = object->child; i; i = i->next) {
        if (strcmp(i->string, key) != 0) continue;
        if (*item) return samba_tokenizer__fail(r, "has the key \"%s\" twice", key);
        *item = i;
    }
    return true;
}

/* An id below n in *id; of what, for the message. */
static bool samba_tokenizer__read_id(const cJSON *item, size_t n, const char *of, int32_t *id,
                                     const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    samba_tokenizer__show(&shown, of, strlen(of));
    if (!cJSON_IsNumber(item))
        return samba_tokenizer__fail(r, "the id of \"%s\" is not a number", shown.text);
    double v = item->valuedouble;
    if (!(v >= 0))
        return samba_tokenizer__fail(r, "the id of \"%s\" is %g; ids begin at 0", shown.text, v);
    if (v >= (double)n)
        return samba_tokenizer__fail(r,
                                     "the id of \"%s\" is %.15g; the file has %lu tokens, so their "
                                     "ids must be 0 to %lu, without a hole",
                                     shown.text, v, (unsigned long)n, (unsigned long)(n - 1));
    *id = (int32_t)v;
    return *id == v
        ? true
        : samba_tokenizer__fail(r, "the id of \"%s\" is %.15g, not a whole number", shown.text, v);
}

/* How many members or elements there are. */
static size_t samba_tokenizer__count(const cJSON *json)
{
    size_t n = 0;
    for (const cJSON *i = json ? json->child : NULL; i; i = i->next)
        n++;
    return n;
}
