/* base.h - of tokenizer.h: reasons, memory, UTF-8, letters for bytes. */

/* ---- Reasons, memory ------------------------------------------------------------------------- */

typedef struct samba_tokenizer__report {
    char *why;
    size_t size;
    const char *file; /* what is being read; NULL: no file */
} samba_tokenizer__report;

/* Writes the reason, after the name of the file. Always false, for return. */
static bool samba_tokenizer__fail(const samba_tokenizer__report *r, const char *format, ...)
{
    int n = 0;
    if (!r->why || r->size == 0) return false;
    if (r->file) n = snprintf(r->why, r->size, "%s: ", r->file);
    if (n < 0 || (size_t)n >= r->size) return false;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(r->why + n, r->size - (size_t)n, format, list);
    va_end(list);
    return false;
}

static bool samba_tokenizer__no_memory(const samba_tokenizer__report *r)
{
    return samba_tokenizer__fail(r, "out of memory");
}

/* p with room for need items, more than asked for, or NULL with p as it was. */
static void *samba_tokenizer__grown(void *p, size_t *cap, size_t need, size_t item)
{
    size_t n = *cap + *cap / 2 + 16;
    if (n < need) n = need;
    if (n > SIZE_MAX / 2 / item) return NULL;
    void *grown = p ? SAMBA_TOKENIZER_REALLOC(p, n * item) : SAMBA_TOKENIZER_MALLOC(n * item);
    if (grown) *cap = n;
    return grown;
}

typedef struct samba_tokenizer__shown {
    char text[48];
} samba_tokenizer__shown;

/* A piece of a file, fit for a message: short, whole characters, nothing that moves the cursor. */
static const char *samba_tokenizer__show(samba_tokenizer__shown *shown, const char *text,
                                         size_t size)
{
    size_t n = size < 40 ? size : 40;
    while (n < size && n > 0 && ((uint8_t)text[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)text[i];
        shown->text[i] = c < 32 || c == 127 ? '?' : text[i];
    }
    memcpy(shown->text + n, n < size ? "..." : "", n < size ? 4 : 1);
    return shown->text;
}

static uint64_t samba_tokenizer__mix(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t samba_tokenizer__hash(const uint8_t *bytes, size_t size)
{
    uint64_t h = size;
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001B3);
    return samba_tokenizer__mix(h);
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Bytes of the character that begins with this byte. */
static size_t samba_tokenizer__char_size(uint8_t byte)
{
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* The character at p, which is whole. */
static int32_t samba_tokenizer__char(const uint8_t *p, size_t *size)
{
    int32_t c = p[0];
    *size = samba_tokenizer__char_size(p[0]);
    if (*size == 1) return c;
    c &= 0x7F >> *size;
    for (size_t i = 1; i < *size; i++)
        c = c << 6 | (p[i] & 0x3F);
    return c;
}

static size_t samba_tokenizer__put_char(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (uint8_t)(0xF00 >> size | c);
    return size;
}

/* The first byte from p that is not part of a whole character; end: all is UTF-8. */
static const uint8_t *samba_tokenizer__first_bad(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint64_t eight;
        bool bad;
        if (end - p >= 8) {
            memcpy(&eight, p, 8);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                p += 8;
                continue;
            }
        }
        size_t n = samba_base_step(p, (size_t)(end - p), &bad);
        if (bad) return p;
        p += n;
    }
    return end;
}

/* The text with U+FFFD for what is not UTF-8, to be freed; NULL: out of memory. */
static uint8_t *samba_tokenizer__repaired(const uint8_t *text, size_t size, size_t *new_size)
{
    const uint8_t *end = text + size;
    uint8_t *fixed = NULL;
    for (int write = 0; write < 2; write++) {
        size_t n = 0;
        for (const uint8_t *p = text; p < end;) {
            bool bad;
            size_t step = samba_base_step(p, (size_t)(end - p), &bad);
            if (fixed) memcpy(fixed + n, bad ? (const uint8_t *)"\xEF\xBF\xBD" : p, bad ? 3 : step);
            n += bad ? 3 : step;
            p += step;
        }
        if (!write) fixed = (uint8_t *)SAMBA_TOKENIZER_MALLOC(n);
        if (!fixed) return NULL;
        *new_size = n;
    }
    return fixed;
}

/* What SentencePiece writes for a space: U+2581. */
#define SAMBA_TOKENIZER__MARK "\xE2\x96\x81"

/* ---- Letters for bytes: how the files write bytes ----------------------------------------------

   Bytes that print stand for themselves; the others, in order, are the characters from U+0100. */

static uint32_t samba_tokenizer__letter(uint32_t byte)
{
    if (byte <= 32) return 256 + byte;
    if (byte >= 127 && byte <= 160) return 162 + byte;
    return byte == 173 ? 323 : byte;
}

/* The byte of a letter; -1: none. */
static int32_t samba_tokenizer__unletter(int32_t c)
{
    if (c >= 256 && c <= 288) return c - 256;
    if (c >= 289 && c <= 322) return c - 162;
    if (c == 323) return 173;
    return (c >= 33 && c <= 126) || (c >= 161 && c <= 255 && c != 173) ? c : -1;
}

/* The bytes that a key writes; out has room for size. False: not all of it is letters for bytes. */
static bool samba_tokenizer__unspell(const char *key, size_t size, uint8_t *out, size_t *out_size)
{
    *out_size = 0;
    for (size_t i = 0, step; i < size; i += step) {
        int32_t byte
            = samba_tokenizer__unletter(samba_tokenizer__char((const uint8_t *)key + i, &step));
        if (byte < 0) return false;
        out[(*out_size)++] = (uint8_t)byte;
    }
    return true;
}

/* ---- Bytes that grow ------------------------------------------------------------------------- */

typedef struct samba_tokenizer__buffer {
    uint8_t *at;
    size_t size, cap;
    bool failed; /* out of memory: what was added since is missing */
} samba_tokenizer__buffer;

static void samba_tokenizer__append(samba_tokenizer__buffer *b, const void *bytes, size_t size)
{
    if (size == 0 || b->failed) return;
    if (size > b->cap - b->size) {
        uint8_t *grown = size > SIZE_MAX / 4 - b->size
            ? NULL
            : (uint8_t *)samba_tokenizer__grown(b->at, &b->cap, b->size + size, 1);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->at = grown;
    }
    memcpy(b->at + b->size, bytes, size);
    b->size += size;
}

static void samba_tokenizer__append_char(samba_tokenizer__buffer *b, int32_t c)
{
    uint8_t bytes[4];
    samba_tokenizer__append(b, bytes, samba_tokenizer__put_char(bytes, (uint32_t)c));
}
