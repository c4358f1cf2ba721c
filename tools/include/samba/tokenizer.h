/* tokenizer.h - GPT-2's byte-level BPE: text to ids and back, exactly, and a trainer for your own.

   Do this:
       #define SAMBA_TOKENIZER_IMPLEMENTATION      in exactly ONE file, before
       #include <samba/tokenizer.h>          and include it wherever you want without it
       cc program.c -lcjson -lutf8proc             Debian: libcjson-dev, libutf8proc-dev

       char why[256];
       samba_tokenizer *t = samba_tokenizer_open("gpt2", why, sizeof why);
       if (!t) return puts(why), 1;
       int64_t n = samba_tokenizer_encode(t, text, strlen(text), ids, 1024);

   Text becomes words by GPT-2's pattern; each word starts as bytes, and of all neighbours that the
   list of merges names, the one named first is joined, until none is left.

       's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

   Letters and numbers are those of Unicode 16.0, as in the present releases of both references,
   Hugging Face's tokenizers (0.22 and later) and tiktoken: utf8proc says what a character is, and a
   table here has what came after Unicode 15.0, so utf8proc 2.8 (Debian 12) is new enough. \s is
   White_Space.

   Files: vocab.json with merges.txt, or a tokenizer.json that says the same. All is proved before
   use: ids are 0, 1, 2 ... without a hole, each byte has a token, merges name tokens that exist. Of
   a tokenizer.json, what changes ids is honoured or refused; post_processor, truncation and padding
   belong to the caller and are ignored. The other files of a folder are read, too:
   tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json. A class or a
   model with another tokenizer, add_prefix_space and the like are refused by their key;
   added_tokens_decoder and the special tokens they name are taken, with the ids that Hugging Face's
   transformers gives them (5; so does 4.57 unless special tokens are parts of each other).

   Special tokens match in the text, the longest first. In a tokenizer.json they are its
   added_tokens; where tokenizer_config.json or special_tokens_map.json stands beside it, or beside
   a vocab.json, those that they name. In a vocab.json alone (and an added_tokens.json beside it)
   they are the tokens that no word could become: "<|endoftext|>" is no byte and no merge makes it.
   A special token decodes to its own text, where Hugging Face's decoder takes letters such as the e
   acute of one for bytes.

   A tokenizer belongs to one thread at a time: encode keeps a cache in it.

   Options, defined before the include of the implementation: SAMBA_TOKENIZER_STATIC makes all
   functions private to the file, SAMBA_TOKENIZER_API is your own linkage;
   SAMBA_TOKENIZER_MALLOC(size), SAMBA_TOKENIZER_REALLOC(p, size) and SAMBA_TOKENIZER_FREE(p), all
   three or none. cJSON has an allocator of its own: cJSON_InitHooks. */

#ifndef SAMBA_TOKENIZER_H
#define SAMBA_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMBA_TOKENIZER_API
#if defined(SAMBA_TOKENIZER_STATIC)
#define SAMBA_TOKENIZER_API static inline
#elif defined(__cplusplus)
#define SAMBA_TOKENIZER_API extern "C"
#else
#define SAMBA_TOKENIZER_API extern
#endif
#endif

typedef struct samba_tokenizer samba_tokenizer;

/* Opens a folder with tokenizer.json, or with vocab.json and merges.txt, and with what else it says
   of the tokenizer; or a tokenizer.json file alone. NULL with the reason in why, which may be NULL.
   The caller closes it. */
SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open(const char *path, char *why,
                                                          size_t why_size);
SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open_files(const char *vocab_json,
                                                                const char *merges_txt, char *why,
                                                                size_t why_size);
/* Takes NULL, too. */
SAMBA_TOKENIZER_API void samba_tokenizer_close(samba_tokenizer *t);

/* The largest id + 1. */
SAMBA_TOKENIZER_API int32_t samba_tokenizer_size(const samba_tokenizer *t);

/* The id of a special or other token by its text, such as "<|endoftext|>" or " the"; -1: none. */
SAMBA_TOKENIZER_API int32_t samba_tokenizer_id(const samba_tokenizer *t, const char *token);

/* Makes a token special; one that is not in the vocabulary gets the next id. */
SAMBA_TOKENIZER_API bool samba_tokenizer_add_special(samba_tokenizer *t, const char *token,
                                                     char *why, size_t why_size);

/* Text in UTF-8 -> ids. Special tokens in the text become their ids. Bytes that are not UTF-8 act
   as U+FFFD, like Python's errors="replace"; NUL is a character like any other.
   Returns the number of ids, writes at most cap of them; -1: out of memory. */
SAMBA_TOKENIZER_API int64_t samba_tokenizer_encode(samba_tokenizer *t, const char *text,
                                                   size_t size, int32_t *ids, int64_t cap);

/* Ids -> bytes (not terminated); a token may end within a character. Unknown ids give nothing.
   Returns the number of bytes, writes at most cap. */
SAMBA_TOKENIZER_API int64_t samba_tokenizer_decode(const samba_tokenizer *t, const int32_t *ids,
                                                   int64_t n, char *text, int64_t cap);

/* Learns merges from text: the bytes first, in GPT-2's order, then merges by frequency (ties: the
   smallest pair of ids), "<|endoftext|>" last. vocab_size ids, 257 or more; fewer if the text has
   no pair left to merge. "<|endoftext|>" in the text separates documents. */
SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_train(const char *text, size_t size,
                                                           int32_t vocab_size, char *why,
                                                           size_t why_size);

/* Writes vocab.json and merges.txt into a folder that exists; each first under a temporary name. */
SAMBA_TOKENIZER_API bool samba_tokenizer_save(const samba_tokenizer *t, const char *folder,
                                              char *why, size_t why_size);

#endif

/* ==== Implementation ========================================================================== */
#if defined(SAMBA_TOKENIZER_IMPLEMENTATION) && !defined(SAMBA_TOKENIZER__IMPLEMENTED)
#define SAMBA_TOKENIZER__IMPLEMENTED

#include "base.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#ifndef SAMBA_TOKENIZER_MALLOC
#define SAMBA_TOKENIZER_MALLOC(size) malloc(size)
#define SAMBA_TOKENIZER_REALLOC(p, size) realloc(p, size)
#define SAMBA_TOKENIZER_FREE(p) free(p)
#endif

enum {
    SAMBA_TOKENIZER__MAX_IDS = 1 << 24,
    SAMBA_TOKENIZER__MAX_FILE = 1 << 29,    /* bytes; keeps offsets of tokens below 32 bits */
    SAMBA_TOKENIZER__CACHE_SLOTS = 1 << 15, /* 2 MiB: most words of most texts */
    SAMBA_TOKENIZER__CACHE_BYTES = 31,      /* longer words are not cached */
    SAMBA_TOKENIZER__CACHE_IDS = 7,
    SAMBA_TOKENIZER__SHORT = 64,        /* bytes of a word up to which a plain search wins */
    SAMBA_TOKENIZER__MAX_SPECIAL = 1024 /* bytes of a special token: what a search may cost at
                                     each byte of a text that was made to be slow */
};

/* flags of a token */
enum {
    SAMBA_TOKENIZER__KNOWN = 1, /* the id has a token */
    SAMBA_TOKENIZER__MADE = 2,  /* a byte, or a merge makes it: a word can become it */
    SAMBA_TOKENIZER__RAW = 4,   /* its key is its text, not letters for bytes */
    SAMBA_TOKENIZER__SPECIAL = 8,
    SAMBA_TOKENIZER__LSTRIP = 16, /* a special token that swallows whitespace before it */
    SAMBA_TOKENIZER__RSTRIP = 32, /* or after it */
    SAMBA_TOKENIZER__LATE = 64,   /* sought after those that are not */
    SAMBA_TOKENIZER__HOW = 16 | 32 | 64,
    SAMBA_TOKENIZER__NAMED = 128 /* a key such as pad_token has made it special */
};

typedef struct samba_tokenizer__token {
    uint32_t at, size; /* its bytes, in samba_tokenizer.bytes */
    uint32_t flags;
} samba_tokenizer__token;

typedef struct samba_tokenizer__merge {
    int32_t left, right, made;
} samba_tokenizer__merge;

/* A slot of the hash table of merges: 16 bytes, four in a cache line. */
typedef struct samba_tokenizer__slot {
    uint64_t pair; /* left << 32 | right; SAMBA_TOKENIZER__EMPTY */
    int32_t rank, made;
} samba_tokenizer__slot;

#define SAMBA_TOKENIZER__EMPTY UINT64_MAX

/* A cached word: 64 bytes, one cache line. */
typedef struct samba_tokenizer__cached {
    uint8_t key[SAMBA_TOKENIZER__CACHE_BYTES + 1]; /* the word, zeros, its size */
    int32_t ids[SAMBA_TOKENIZER__CACHE_IDS];
    int32_t n;
} samba_tokenizer__cached;

/* An edge of a trie: from a node by a byte to the next one. */
typedef struct samba_tokenizer__edge {
    uint64_t key; /* node << 8 | byte; SAMBA_TOKENIZER__EMPTY */
    uint32_t node;
} samba_tokenizer__edge;

/* Special tokens by their bytes. Node 0 is the root; a search costs a step for each byte that
   agrees, however many tokens there are. */
typedef struct samba_tokenizer__trie {
    samba_tokenizer__edge *edge; /* hash table, half full at most */
    size_t n_slots;
    int32_t *id; /* by node; -1: no token ends there */
    size_t n_nodes, nodes_cap;
    size_t n_tokens;
    bool starts[256]; /* whether a token begins with the byte */
} samba_tokenizer__trie;

struct samba_tokenizer {
    samba_tokenizer__token *token; /* by id */
    size_t n_tokens, tokens_cap;
    uint8_t *bytes;
    size_t bytes_size, bytes_cap;
    int32_t *by_text; /* hash table of ids, -1 for empty; half full at most */
    size_t by_text_slots, by_text_used;
    samba_tokenizer__merge *merge; /* by rank */
    size_t n_merges, merges_cap;
    samba_tokenizer__slot *slot; /* the same by pair, half full at most */
    size_t n_slots;
    int32_t byte_id[256];
    samba_tokenizer__trie trie[2]; /* special tokens: those sought first, and LATE ones */
    samba_tokenizer__cached *cache;
};

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

/* The character at p, which is whole. */
static int32_t samba_tokenizer__char(const uint8_t *p, size_t *size)
{
    int32_t c = p[0];
    *size = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
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
    out[0] = (uint8_t)(0xC0 | c >> 6); /* letters for bytes end at 323 */
    out[1] = (uint8_t)(0x80 | (c & 0x3F));
    return 2;
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

/* ---- Words: GPT-2's pattern ------------------------------------------------------------------ */

enum {
    SAMBA_TOKENIZER__OTHER,
    SAMBA_TOKENIZER__LETTER,
    SAMBA_TOKENIZER__NUMBER,
    SAMBA_TOKENIZER__SPACE
};

/* Letters and numbers that Unicode 15.1 and 16.0 added to 15.0. */
static const struct {
    int32_t first, last, kind;
} samba_tokenizer__newer[] = {
    { 0x1C89, 0x1C8A, SAMBA_TOKENIZER__LETTER },   { 0xA7CB, 0xA7CD, SAMBA_TOKENIZER__LETTER },
    { 0xA7DA, 0xA7DC, SAMBA_TOKENIZER__LETTER },   { 0x105C0, 0x105F3, SAMBA_TOKENIZER__LETTER },
    { 0x10D40, 0x10D49, SAMBA_TOKENIZER__NUMBER }, { 0x10D4A, 0x10D65, SAMBA_TOKENIZER__LETTER },
    { 0x10D6F, 0x10D85, SAMBA_TOKENIZER__LETTER }, { 0x10EC2, 0x10EC4, SAMBA_TOKENIZER__LETTER },
    { 0x11380, 0x11389, SAMBA_TOKENIZER__LETTER }, { 0x1138B, 0x1138B, SAMBA_TOKENIZER__LETTER },
    { 0x1138E, 0x1138E, SAMBA_TOKENIZER__LETTER }, { 0x11390, 0x113B5, SAMBA_TOKENIZER__LETTER },
    { 0x113B7, 0x113B7, SAMBA_TOKENIZER__LETTER }, { 0x113D1, 0x113D1, SAMBA_TOKENIZER__LETTER },
    { 0x113D3, 0x113D3, SAMBA_TOKENIZER__LETTER }, { 0x116D0, 0x116E3, SAMBA_TOKENIZER__NUMBER },
    { 0x11BC0, 0x11BE0, SAMBA_TOKENIZER__LETTER }, { 0x11BF0, 0x11BF9, SAMBA_TOKENIZER__NUMBER },
    { 0x13460, 0x143FA, SAMBA_TOKENIZER__LETTER }, { 0x16100, 0x1611D, SAMBA_TOKENIZER__LETTER },
    { 0x16130, 0x16139, SAMBA_TOKENIZER__NUMBER }, { 0x16D40, 0x16D6C, SAMBA_TOKENIZER__LETTER },
    { 0x16D70, 0x16D79, SAMBA_TOKENIZER__NUMBER }, { 0x18CFF, 0x18CFF, SAMBA_TOKENIZER__LETTER },
    { 0x1CCF0, 0x1CCF9, SAMBA_TOKENIZER__NUMBER }, { 0x1E5D0, 0x1E5ED, SAMBA_TOKENIZER__LETTER },
    { 0x1E5F0, 0x1E5F0, SAMBA_TOKENIZER__LETTER }, { 0x1E5F1, 0x1E5FA, SAMBA_TOKENIZER__NUMBER },
    { 0x2EBF0, 0x2EE5D, SAMBA_TOKENIZER__LETTER },
};

static int samba_tokenizer__kind_of_newer(int32_t c)
{
    size_t low = 0, high = sizeof samba_tokenizer__newer / sizeof samba_tokenizer__newer[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (samba_tokenizer__newer[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sizeof samba_tokenizer__newer / sizeof samba_tokenizer__newer[0])
        return SAMBA_TOKENIZER__OTHER;
    return samba_tokenizer__newer[low].first <= c ? (int)samba_tokenizer__newer[low].kind
                                                  : SAMBA_TOKENIZER__OTHER;
}

static int samba_tokenizer__kind_of_char(int32_t c)
{
    if (c == 0x85) return SAMBA_TOKENIZER__SPACE; /* NEL is a control, and White_Space */
    utf8proc_category_t category = utf8proc_category(c);
    if (category == UTF8PROC_CATEGORY_CN) return samba_tokenizer__kind_of_newer(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
        return SAMBA_TOKENIZER__LETTER;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
        return SAMBA_TOKENIZER__NUMBER;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)
        return SAMBA_TOKENIZER__SPACE;
    return SAMBA_TOKENIZER__OTHER;
}

/* The kind of the character at p, and its size. */
static int samba_tokenizer__kind(const uint8_t *p, size_t *size)
{
    uint8_t c = p[0];
    if (c >= 0x80) return samba_tokenizer__kind_of_char(samba_tokenizer__char(p, size));
    *size = 1;
    if ((uint8_t)((c | 32) - 'a') < 26) return SAMBA_TOKENIZER__LETTER;
    if ((uint8_t)(c - '0') < 10) return SAMBA_TOKENIZER__NUMBER;
    return c == ' ' || (uint8_t)(c - 9) < 5 ? SAMBA_TOKENIZER__SPACE : SAMBA_TOKENIZER__OTHER;
}

/* Bytes of 's 't 'm 'd 're 've 'll at p, where an apostrophe is; 0: none. */
static size_t samba_tokenizer__contraction(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 2) return 0;
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd') return 2;
    if (end - p < 3) return 0;
    if ((p[1] == 'r' || p[1] == 'v') && p[2] == 'e') return 3;
    return p[1] == 'l' && p[2] == 'l' ? 3 : 0;
}

/* The end of the whitespace at p, as words see it: the last of several characters is left to the
   word that follows. */
static const uint8_t *samba_tokenizer__spaces(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p, *last = p;
    size_t size;
    while (p < end && samba_tokenizer__kind(p, &size) == SAMBA_TOKENIZER__SPACE) {
        last = p;
        p += size;
    }
    return p == end || last == start ? p : last;
}

/* The end of the word at p < end. */
static const uint8_t *samba_tokenizer__word(const uint8_t *p, const uint8_t *end)
{
    size_t size = *p == '\'' ? samba_tokenizer__contraction(p, end) : 0;
    if (size) return p + size;
    const uint8_t *q = p;
    if (*q == ' ' && q + 1 < end) q++;
    int kind = samba_tokenizer__kind(q, &size);
    if (kind == SAMBA_TOKENIZER__SPACE) return samba_tokenizer__spaces(p, end);
    do
        q += size;
    while (q < end && samba_tokenizer__kind(q, &size) == kind);
    return q;
}

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

/* The longest token that begins at p; -1: none. */
static int32_t samba_tokenizer__trie_longest(const samba_tokenizer__trie *trie, const uint8_t *p,
                                             const uint8_t *end)
{
    int32_t id = -1;
    for (uint64_t node = 0; p < end; p++) {
        const samba_tokenizer__edge *edge
            = &trie->edge[samba_tokenizer__edge_slot(trie, node << 8 | *p)];
        if (edge->key == SAMBA_TOKENIZER__EMPTY) break;
        node = edge->node;
        if (trie->id[node] >= 0) id = trie->id[node];
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
    if (!samba_tokenizer__trie_add(trie, t->bytes + k->at, k->size, id))
        return samba_tokenizer__no_memory(r);
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

/* ---- Encoding text --------------------------------------------------------------------------- */

typedef struct samba_tokenizer__match {
    const uint8_t *start, *stop;
    int32_t id;
} samba_tokenizer__match;

/* The first special token of a pass from p, the longest of those that start there. */
static bool samba_tokenizer__next_special(const samba_tokenizer *t, const uint8_t *p,
                                          const uint8_t *end, int pass,
                                          samba_tokenizer__match *match)
{
    const samba_tokenizer__trie *trie = &t->trie[pass];
    for (; p < end; p++) {
        if (!trie->starts[*p]) continue;
        int32_t id = samba_tokenizer__trie_longest(trie, p, end);
        if (id < 0) continue;
        match->start = p;
        match->stop = p + t->token[id].size;
        match->id = id;
        return true;
    }
    return false;
}

/* The start of the whitespace that ends at p, not before start. */
static const uint8_t *samba_tokenizer__trim_left(const uint8_t *p, const uint8_t *start)
{
    while (p > start) {
        const uint8_t *q = p - 1;
        size_t size;
        while (q > start && (*q & 0xC0) == 0x80)
            q--;
        if (samba_tokenizer__kind(q, &size) != SAMBA_TOKENIZER__SPACE) break;
        p = q;
    }
    return p;
}

static const uint8_t *samba_tokenizer__trim_right(const uint8_t *p, const uint8_t *end)
{
    size_t size;
    while (p < end && samba_tokenizer__kind(p, &size) == SAMBA_TOKENIZER__SPACE)
        p += size;
    return p;
}

/* Text between special tokens. False: out of memory. */
static bool samba_tokenizer__encode_words(const samba_tokenizer *t, const uint8_t *p,
                                          const uint8_t *end, samba_tokenizer__sink *sink)
{
    while (p < end) {
        const uint8_t *stop = samba_tokenizer__word(p, end);
        if (!samba_tokenizer__encode_word(t, p, (size_t)(stop - p), sink)) return false;
        p = stop;
    }
    return true;
}

/* Text in which special tokens of this pass, 0 or 1, and later ones have not been sought. */
static bool samba_tokenizer__encode_pass(const samba_tokenizer *t, const uint8_t *p,
                                         const uint8_t *end, int pass, samba_tokenizer__sink *sink)
{
    while (pass < 2 && t->trie[pass].n_tokens == 0)
        pass++;
    if (pass == 2) return samba_tokenizer__encode_words(t, p, end, sink);
    samba_tokenizer__match m;
    for (const uint8_t *from = p; samba_tokenizer__next_special(t, from, end, pass, &m);) {
        uint32_t flags = t->token[m.id].flags;
        from = m.stop;
        if (flags & SAMBA_TOKENIZER__LSTRIP)
            m.start = p < m.start ? samba_tokenizer__trim_left(m.start, p) : p;
        if (flags & SAMBA_TOKENIZER__RSTRIP) m.stop = samba_tokenizer__trim_right(m.stop, end);
        if (p < m.start && !samba_tokenizer__encode_pass(t, p, m.start, pass + 1, sink))
            return false;
        samba_tokenizer__emit(sink, &m.id, 1);
        p = m.stop;
    }
    return p >= end || samba_tokenizer__encode_pass(t, p, end, pass + 1, sink);
}

SAMBA_TOKENIZER_API int64_t samba_tokenizer_encode(samba_tokenizer *t, const char *text,
                                                   size_t size, int32_t *ids, int64_t cap)
{
    const uint8_t *p = (const uint8_t *)text;
    samba_tokenizer__sink sink = { ids, ids ? cap : 0, 0 };
    uint8_t *fixed = NULL;
    if (!t || !text || size == 0) return t && size == 0 ? 0 : -1;
    if (samba_tokenizer__first_bad(p, p + size) != p + size) {
        p = fixed = samba_tokenizer__repaired(p, size, &size);
        if (!fixed) return -1;
    }
    bool ok = samba_tokenizer__encode_pass(t, p, p + size, 0, &sink);
    SAMBA_TOKENIZER_FREE(fixed);
    return ok ? sink.n : -1;
}

SAMBA_TOKENIZER_API int64_t samba_tokenizer_decode(const samba_tokenizer *t, const int32_t *ids,
                                                   int64_t n, char *text, int64_t cap)
{
    int64_t size = 0;
    if (!t || !ids) return 0;
    if (!text || cap < 0) cap = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens) continue;
        const samba_tokenizer__token *k = &t->token[ids[i]];
        int64_t fits = size >= cap ? 0 : cap - size < (int64_t)k->size ? cap - size : k->size;
        if (fits) memcpy(text + size, t->bytes + k->at, (size_t)fits);
        size += k->size;
    }
    return size;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static samba_tokenizer *samba_tokenizer__new(void)
{
    samba_tokenizer *t = (samba_tokenizer *)SAMBA_TOKENIZER_MALLOC(sizeof *t);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 256; i++)
        t->byte_id[i] = -1;
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
    SAMBA_TOKENIZER_FREE(t->cache);
    SAMBA_TOKENIZER_FREE(t);
}

SAMBA_TOKENIZER_API int32_t samba_tokenizer_size(const samba_tokenizer *t)
{
    return t ? (int32_t)t->n_tokens : 0;
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
        if (!samba_tokenizer__put(t, id, text, size, samba_tokenizer__raw(text, size)))
            return samba_tokenizer__no_memory(&r);
    }
    return samba_tokenizer__make_special(t, id, 0, &r);
}

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
    if (!samba_tokenizer__unspell(key, size, bytes, &spelled)) {
        raw = SAMBA_TOKENIZER__RAW;
        memcpy(bytes, key, size);
        spelled = size;
    }
    if (samba_tokenizer__find(t, bytes, spelled, raw) >= 0)
        return samba_tokenizer__fail(r, "has the token \"%s\" twice",
                                     samba_tokenizer__show(&shown, key, size));
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
    for (int b = 0; b < 256 && done; b++)
        if (t->byte_id[b] < 0)
            done = samba_tokenizer__fail(r,
                                         "no token for the byte 0x%02X: this is not a byte-level "
                                         "vocabulary, or a part of one",
                                         b);
    return done;
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
    int32_t id
        = samba_tokenizer__unspell(key, size, out, &n) ? samba_tokenizer__find(t, out, n, 0) : -1;
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
    m.made = samba_tokenizer__find(t, bytes, n + t->token[m.right].size, 0);
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

/* ---- Opening --------------------------------------------------------------------------------- */

/* What a tokenizer.json says must be one of these, or nothing where that is allowed. */
typedef struct samba_tokenizer__rule {
    const char *key;
    const char *allowed; /* of: null, false, zero, empty, or a text; | between */
    bool needed;
} samba_tokenizer__rule;

static const samba_tokenizer__rule samba_tokenizer__model_rules[] = {
    { "type", "BPE", false },
    { "dropout", "null|zero", false },
    { "continuing_subword_prefix", "null|empty", false },
    { "end_of_word_suffix", "null|empty", false },
    { "byte_fallback", "null|false", false },
    { "ignore_merges", "null|false", false },
};

static const samba_tokenizer__rule samba_tokenizer__words_rules[] = {
    { "type", "ByteLevel", true },
    { "add_prefix_space", "false", true },
    { "use_regex", "null|true", false },
};

static const samba_tokenizer__rule samba_tokenizer__decoder_rules[]
    = { { "type", "ByteLevel", true } };

/* What kind of value this is, in the words of the rules. */
static const char *samba_tokenizer__value(const cJSON *item)
{
    if (cJSON_IsNull(item)) return "null";
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
    if (cJSON_IsNumber(item)) return item->valuedouble == 0 ? "zero" : "a number other than 0";
    if (cJSON_IsString(item)) return item->valuestring[0] ? item->valuestring : "empty";
    if (cJSON_IsArray(item)) return item->child ? "an array" : "an empty array";
    return "an object";
}

static bool samba_tokenizer__is_allowed(const char *value, const char *allowed)
{
    size_t n = strlen(value);
    for (const char *p = allowed; p; p = strchr(p, '|'), p = p ? p + 1 : NULL)
        if (strncmp(p, value, n) == 0 && (p[n] == 0 || p[n] == '|')) return true;
    return false;
}

/* where: the path of the object and a dot, for the message. */
static bool samba_tokenizer__obeys(const cJSON *object, const char *where,
                                   const samba_tokenizer__rule *rule, size_t n,
                                   const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < n; i++) {
        const cJSON *item;
        samba_tokenizer__shown shown;
        if (!samba_tokenizer__member(object, rule[i].key, &item, r)) return false;
        if (!item && !rule[i].needed) continue;
        const char *value = item ? samba_tokenizer__value(item) : "missing";
        if (!item || !samba_tokenizer__is_allowed(value, rule[i].allowed))
            return samba_tokenizer__fail(
                r, "%s%s is %s; GPT-2's tokenizer, the only one here, wants %s", where, rule[i].key,
                samba_tokenizer__show(&shown, value, strlen(value)), rule[i].allowed);
    }
    return true;
}

#define SAMBA_TOKENIZER__OBEYS(object, where, rules, r) \
    samba_tokenizer__obeys(object, where, rules, sizeof rules / sizeof rules[0], r)

/* The parts of a tokenizer.json that change ids, beside the model. */
static bool samba_tokenizer__check_parts(const cJSON *json, const samba_tokenizer__report *r)
{
    const cJSON *normalizer, *words, *decoder;
    if (!samba_tokenizer__member(json, "normalizer", &normalizer, r)
        || !samba_tokenizer__member(json, "pre_tokenizer", &words, r)
        || !samba_tokenizer__member(json, "decoder", &decoder, r))
        return false;
    if (normalizer && !cJSON_IsNull(normalizer))
        return samba_tokenizer__fail(r,
                                     "has a normalizer; GPT-2's tokenizer, the only one here, has "
                                     "none");
    if (!words || !cJSON_IsObject(words))
        return samba_tokenizer__fail(r, "has no pre_tokenizer; expected one of type ByteLevel");
    if (!SAMBA_TOKENIZER__OBEYS(words, "pre_tokenizer.", samba_tokenizer__words_rules, r))
        return false;
    if (!decoder || cJSON_IsNull(decoder)) return true;
    if (!cJSON_IsObject(decoder)) return samba_tokenizer__fail(r, "decoder is not an object");
    return SAMBA_TOKENIZER__OBEYS(decoder, "decoder.", samba_tokenizer__decoder_rules, r);
}

/* A member that is true or false, or missing: false. */
static bool samba_tokenizer__read_flag(const cJSON *object, const char *key, bool *flag,
                                       const samba_tokenizer__report *r)
{
    const cJSON *item;
    if (!samba_tokenizer__member(object, key, &item, r)) return false;
    *flag = item && cJSON_IsTrue(item);
    return !item || cJSON_IsBool(item)
        ? true
        : samba_tokenizer__fail(r,
                                "added_tokens: %s is neither true nor "
                                "false",
                                key);
}

/* The id of the token that files write as this key; -1: none. False: out of memory. */
static bool samba_tokenizer__find_key(const samba_tokenizer *t, const char *key, int32_t *id)
{
    size_t size = strlen(key), n;
    uint8_t *bytes = (uint8_t *)SAMBA_TOKENIZER_MALLOC(size + 1);
    if (!bytes) return false;
    *id = samba_tokenizer__unspell(key, size, bytes, &n)
        ? samba_tokenizer__find(t, bytes, n, 0)
        : samba_tokenizer__find(t, (const uint8_t *)key, size, SAMBA_TOKENIZER__RAW);
    SAMBA_TOKENIZER_FREE(bytes);
    return true;
}

/* Makes the token that files write as this key, and that is its text, special. */
static bool samba_tokenizer__add(samba_tokenizer *t, const char *key, int32_t id, uint32_t flags,
                                 const samba_tokenizer__report *r)
{
    size_t size = strlen(key);
    samba_tokenizer__shown shown;
    int32_t found;
    if (!samba_tokenizer__find_key(t, key, &found)) return samba_tokenizer__no_memory(r);
    samba_tokenizer__show(&shown, key, size);
    if (found >= 0 && found != id)
        return samba_tokenizer__fail(
            r, "the added token \"%s\" has the id %d, but %d in the vocabulary", shown.text,
            (int)id, (int)found);
    if (samba_tokenizer__find_special(t, key, size) >= 0)
        return samba_tokenizer__fail(r, "has the added token \"%s\" twice", shown.text);
    if (found >= 0 && !samba_tokenizer__is(t, found, key, size))
        return samba_tokenizer__fail(
            r,
            "the added token \"%s\" is, in the vocabulary, the spelling of "
            "other bytes; give it another text",
            shown.text);
    if (!samba_tokenizer__can_be_special(key, size, r)) return false;
    if (found < 0 && !samba_tokenizer__id_is_free(t, id, key, r)) return false;
    if (found < 0
        && !samba_tokenizer__put(t, id, (const uint8_t *)key, size,
                                 samba_tokenizer__raw((const uint8_t *)key, size)))
        return samba_tokenizer__no_memory(r);
    return samba_tokenizer__make_special(t, id, flags, r);
}

/* An added token as files describe it: its text, and the flags LSTRIP, RSTRIP and LATE. */
static bool samba_tokenizer__describe(const cJSON *object, const char **text, uint32_t *flags,
                                      const samba_tokenizer__report *r)
{
    const cJSON *content;
    bool single_word, lstrip, rstrip, normalized;
    samba_tokenizer__shown shown;
    if (!samba_tokenizer__member(object, "content", &content, r)
        || !samba_tokenizer__read_flag(object, "single_word", &single_word, r)
        || !samba_tokenizer__read_flag(object, "lstrip", &lstrip, r)
        || !samba_tokenizer__read_flag(object, "rstrip", &rstrip, r)
        || !samba_tokenizer__read_flag(object, "normalized", &normalized, r))
        return false;
    if (!cJSON_IsString(content) || !content->valuestring[0])
        return samba_tokenizer__fail(r, "added_tokens: content is missing, empty or not a string");
    *text = content->valuestring;
    if (single_word)
        return samba_tokenizer__fail(
            r, "the added token \"%s\" has single_word, which is not known here",
            samba_tokenizer__show(&shown, *text, strlen(*text)));
    *flags = (uint32_t)lstrip * SAMBA_TOKENIZER__LSTRIP | (uint32_t)rstrip * SAMBA_TOKENIZER__RSTRIP
        | (uint32_t)normalized * SAMBA_TOKENIZER__LATE;
    return true;
}

/* One of added_tokens; ids are below n. */
static bool samba_tokenizer__read_added(samba_tokenizer *t, const cJSON *object, size_t n,
                                        const samba_tokenizer__report *r)
{
    const cJSON *number;
    const char *text;
    uint32_t flags;
    int32_t id;
    if (!cJSON_IsObject(object)) return samba_tokenizer__fail(r, "added_tokens holds no objects");
    if (!samba_tokenizer__member(object, "id", &number, r)
        || !samba_tokenizer__describe(object, &text, &flags, r))
        return false;
    return samba_tokenizer__read_id(number, n, text, &id, r)
        && samba_tokenizer__add(t, text, id, flags, r);
}

static bool samba_tokenizer__load_model(samba_tokenizer *t, const cJSON *json,
                                        const samba_tokenizer__report *r)
{
    const cJSON *model, *vocab, *merges, *added;
    if (!samba_tokenizer__member(json, "model", &model, r)) return false;
    if (!model || !cJSON_IsObject(model))
        return samba_tokenizer__fail(r, "has no object \"model\"");
    if (!SAMBA_TOKENIZER__OBEYS(model, "model.", samba_tokenizer__model_rules, r)
        || !samba_tokenizer__check_parts(json, r)
        || !samba_tokenizer__member(model, "vocab", &vocab, r)
        || !samba_tokenizer__member(model, "merges", &merges, r)
        || !samba_tokenizer__member(json, "added_tokens", &added, r))
        return false;
    if (!vocab || !cJSON_IsObject(vocab))
        return samba_tokenizer__fail(r, "model.vocab is not an object");
    if (!merges || !cJSON_IsArray(merges))
        return samba_tokenizer__fail(r, "model.merges is not an array");
    if (added && !cJSON_IsNull(added) && !cJSON_IsArray(added))
        return samba_tokenizer__fail(r, "added_tokens is not an array");
    size_t n_added = 0, n = 0;
    for (const cJSON *i = added ? added->child : NULL; i; i = i->next)
        n_added++;
    for (const cJSON *i = vocab->child; i; i = i->next)
        n++;
    if (!samba_tokenizer__read_vocabulary(t, vocab, n_added, r)
        || !samba_tokenizer__read_merge_array(t, merges, r))
        return false;
    for (const cJSON *i = added ? added->child : NULL; i; i = i->next)
        if (!samba_tokenizer__read_added(t, i, n + n_added, r)) return false;
    return true;
}

/* Makes special what no word can become and what its key writes out. */
static bool samba_tokenizer__find_specials(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    for (size_t i = 0; i < t->n_tokens; i++) {
        const samba_tokenizer__token *k = &t->token[i];
        if (!(k->flags & SAMBA_TOKENIZER__KNOWN) || k->flags & SAMBA_TOKENIZER__MADE) continue;
        if (!(k->flags & SAMBA_TOKENIZER__RAW) && samba_tokenizer__raw(t->bytes + k->at, k->size))
            continue;
        if (!samba_tokenizer__make_special(t, (int32_t)i, 0, r)) return false;
    }
    return true;
}

/* The vocabulary of r->file; more: how many ids other files may add; merges_txt: its path. */
static bool samba_tokenizer__load_pair(samba_tokenizer *t, const samba_tokenizer__report *r,
                                       const char *merges_txt, size_t more)
{
    samba_tokenizer__report of_merges = { r->why, r->size, merges_txt };
    cJSON *vocab = samba_tokenizer__read_json(r);
    bool done = vocab && samba_tokenizer__read_vocabulary(t, vocab, more, r)
        && samba_tokenizer__read_merges(t, &of_merges);
    cJSON_Delete(vocab);
    return done;
}

/* ---- What a model's other files say of its tokenizer --------------------------------------------

   tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json, as Hugging
   Face's transformers reads them: what is taken here gives the ids of its releases 5 and, unless
   special tokens are parts of each other, 4.57. What this tokenizer cannot do, and what these two
   do not agree on, is refused by its key. */

enum {
    SAMBA_TOKENIZER__CONFIG,
    SAMBA_TOKENIZER__MAP,
    SAMBA_TOKENIZER__ADDED,
    SAMBA_TOKENIZER__MODEL,
    SAMBA_TOKENIZER__FILES
};

static const char *const samba_tokenizer__file[SAMBA_TOKENIZER__FILES] = {
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
};

typedef struct samba_tokenizer__settings {
    cJSON *json[SAMBA_TOKENIZER__FILES]; /* NULL: there is no such file */
    char *path[SAMBA_TOKENIZER__FILES];
    bool has_tokenizer_json;
    bool has_class;      /* a file names the class, or the model */
    bool gives_defaults; /* it names <|endoftext|> where nothing else does */
} samba_tokenizer__settings;

/* Any of these is GPT-2's tokenizer; the last two only as the name of a tokenizer.json. */
static const char *const samba_tokenizer__classes[] = {
    "GPT2Tokenizer",        "GPT2TokenizerFast",       "CodeGenTokenizer",
    "CodeGenTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend",
};

enum { SAMBA_TOKENIZER__GPT2_CLASSES = 4, SAMBA_TOKENIZER__CLASSES = 6 };

/* The models for which transformers takes GPT-2's tokenizer when no class is named. */
static const char *const samba_tokenizer__models[] = {
    "gpt2",         "gpt_neo",           "gptj", "opt",  "codegen", "phi", "starcoder2", "blip-2",
    "instructblip", "instructblipvideo", "dbrx", "emu3",
};

static const samba_tokenizer__rule samba_tokenizer__config_rules[] = {
    { "add_prefix_space", "null|false", false },
    { "do_lower_case", "null|false", false },
    { "split_special_tokens", "null|false", false },
    { "init_inputs", "null|an empty array", false },
    { "auto_map", "null", false },
};

/* The keys of special tokens; those that are not in the vocabulary get ids in this order. */
static const char *const samba_tokenizer__keys[] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
};

enum { SAMBA_TOKENIZER__KEYS = 7, SAMBA_TOKENIZER__KEYS_WITH_DEFAULT = 3 };

static const char samba_tokenizer__default[] = "<|endoftext|>";

static bool samba_tokenizer__is_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0) return true;
    return false;
}

static samba_tokenizer__report samba_tokenizer__of_file(const samba_tokenizer__settings *s,
                                                        int which, const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = { r->why, r->size, s->path[which] };
    return of;
}

/* The text of a special token, which may be an object; NULL for null, or none. */
static const char *samba_tokenizer__text_of(const cJSON *item)
{
    if (cJSON_IsObject(item)) item = cJSON_GetObjectItemCaseSensitive(item, "content");
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Whether a class that a file names is GPT-2's. *said: it names one. */
static bool samba_tokenizer__check_named_class(samba_tokenizer__settings *s, int which, bool *said,
                                               const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, which, r);
    size_t n = s->has_tokenizer_json ? SAMBA_TOKENIZER__CLASSES : SAMBA_TOKENIZER__GPT2_CLASSES;
    const cJSON *item = NULL;
    samba_tokenizer__shown shown;
    if (s->json[which] && !samba_tokenizer__member(s->json[which], "tokenizer_class", &item, &of))
        return false;
    *said = item && !cJSON_IsNull(item);
    if (!*said) return true;
    const char *name = cJSON_IsString(item) ? item->valuestring : "no text";
    s->has_class = true;
    s->gives_defaults
        = samba_tokenizer__is_one_of(name, samba_tokenizer__classes, SAMBA_TOKENIZER__GPT2_CLASSES);
    if (samba_tokenizer__is_one_of(name, samba_tokenizer__classes, n)) return true;
    return samba_tokenizer__fail(
        &of,
        "tokenizer_class is %s; only GPT2Tokenizer, and what equals it, is "
        "known here%s",
        samba_tokenizer__show(&shown, name, strlen(name)),
        s->has_tokenizer_json ? " (PreTrainedTokenizerFast where tokenizer.json "
                                "says all)"
                              : "");
}

/* The class that transformers would take; where no file names one, by the model. */
static bool samba_tokenizer__check_class(samba_tokenizer__settings *s,
                                         const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__MODEL, r);
    const cJSON *model = NULL;
    samba_tokenizer__shown shown;
    bool said;
    s->gives_defaults = !s->has_tokenizer_json;
    if (!samba_tokenizer__check_named_class(s, SAMBA_TOKENIZER__CONFIG, &said, r)) return false;
    if (said) return true;
    if (!samba_tokenizer__check_named_class(s, SAMBA_TOKENIZER__MODEL, &said, r)) return false;
    if (said || !s->json[SAMBA_TOKENIZER__MODEL]) return true;
    if (!samba_tokenizer__member(s->json[SAMBA_TOKENIZER__MODEL], "model_type", &model, &of))
        return false;
    if (!model || !cJSON_IsString(model)) return true;
    s->has_class = s->gives_defaults = true;
    if (samba_tokenizer__is_one_of(model->valuestring, samba_tokenizer__models,
                                   sizeof samba_tokenizer__models
                                       / sizeof samba_tokenizer__models[0]))
        return true;
    return samba_tokenizer__fail(
        &of,
        "model_type is %s, whose tokenizer is not GPT-2's; if this one is, "
        "say \"tokenizer_class\": \"%s\" in tokenizer_config.json",
        samba_tokenizer__show(&shown, model->valuestring, strlen(model->valuestring)),
        s->has_tokenizer_json ? "PreTrainedTokenizerFast" : "GPT2Tokenizer");
}

/* Makes a text special that a key names. One that is not in the vocabulary gets the next id. */
static bool samba_tokenizer__add_text(samba_tokenizer *t, const char *key, const char *text,
                                      uint32_t flags, const samba_tokenizer__report *r)
{
    samba_tokenizer__shown shown;
    int32_t id = samba_tokenizer__find_special(t, text, strlen(text));
    uint32_t known = id >= 0 ? t->token[id].flags : 0;
    if (id >= 0 && (!(known & SAMBA_TOKENIZER__NAMED) || (known & SAMBA_TOKENIZER__HOW) == flags))
        return true;
    if (id >= 0)
        return samba_tokenizer__fail(
            r,
            "%s: lstrip, rstrip or normalized of \"%s\" is not what another "
            "key says; make them the same",
            key, samba_tokenizer__show(&shown, text, strlen(text)));
    if (!samba_tokenizer__find_key(t, text, &id)) return samba_tokenizer__no_memory(r);
    if (id < 0 && t->n_tokens >= SAMBA_TOKENIZER__MAX_IDS)
        return samba_tokenizer__fail(r, "%s would be one token too many", key);
    if (id < 0) id = (int32_t)t->n_tokens;
    if (!samba_tokenizer__add(t, text, id, flags, r)) return false;
    t->token[id].flags |= SAMBA_TOKENIZER__NAMED;
    return true;
}

/* The same of a key's value: a text, an object, or null. */
static bool samba_tokenizer__add_named(samba_tokenizer *t, const char *key, const cJSON *item,
                                       const samba_tokenizer__report *r)
{
    const char *text = samba_tokenizer__text_of(item);
    uint32_t flags = 0;
    if (cJSON_IsNull(item)) return true;
    if (!text || !*text)
        return samba_tokenizer__fail(r, "%s is neither a text nor an object with content", key);
    if (cJSON_IsObject(item) && !samba_tokenizer__describe(item, &text, &flags, r)) return false;
    return samba_tokenizer__add_text(t, key, text, flags, r);
}

/* What the two files say of a key in *item; NULL: nothing. False: they contradict each other, or
   one says nothing though it has added_tokens_decoder: then transformers ignores the other. */
static bool samba_tokenizer__find_named(const samba_tokenizer__settings *s, const char *key,
                                        const cJSON **item, const samba_tokenizer__report *r)
{
    bool has_decoder
        = cJSON_HasObjectItem(s->json[SAMBA_TOKENIZER__CONFIG], "added_tokens_decoder");
    samba_tokenizer__report of[2];
    const cJSON *said[2] = { NULL, NULL };
    for (int i = SAMBA_TOKENIZER__CONFIG; i <= SAMBA_TOKENIZER__MAP; i++) {
        of[i] = samba_tokenizer__of_file(s, i, r);
        if (s->json[i] && !samba_tokenizer__member(s->json[i], key, &said[i], &of[i])) return false;
    }
    *item = said[1] && !has_decoder ? said[1] : said[0];
    if (!said[1] || (!said[0] && !has_decoder)) return true;
    samba_tokenizer__shown shown[2];
    const char *text[2];
    for (int i = 0; i < 2; i++) {
        text[i] = samba_tokenizer__text_of(said[i]);
        if (!text[i]) text[i] = said[i] ? "null" : "nothing";
        samba_tokenizer__show(&shown[i], text[i], strlen(text[i]));
    }
    if (strcmp(text[0], text[1]) == 0) return true;
    return samba_tokenizer__fail(&of[1],
                                 "%s is %s, but %s in tokenizer_config.json; make them the same",
                                 key, shown[1].text, shown[0].text);
}

/* What the class takes for a key that no file has. */
static bool samba_tokenizer__add_default(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                         const char *key, const samba_tokenizer__report *r)
{
    int32_t id = samba_tokenizer__find_special(t, samba_tokenizer__default,
                                               strlen(samba_tokenizer__default));
    if (id >= 0 && !s->has_tokenizer_json
        && t->token[id].flags & (SAMBA_TOKENIZER__LSTRIP | SAMBA_TOKENIZER__RSTRIP))
        return samba_tokenizer__fail(r,
                                     "%s has lstrip or rstrip, but no key says that it is %s; "
                                     "releases of transformers differ in what they make of that",
                                     samba_tokenizer__default, key);
    return samba_tokenizer__add_text(t, key, samba_tokenizer__default, 0, r);
}

/* bos_token and the like, of both files. */
static bool samba_tokenizer__add_keys(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                      const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(
        s, s->json[SAMBA_TOKENIZER__CONFIG] ? SAMBA_TOKENIZER__CONFIG : SAMBA_TOKENIZER__MAP, r);
    for (int k = 0; k < SAMBA_TOKENIZER__KEYS; k++) {
        const char *key = samba_tokenizer__keys[k];
        const cJSON *item;
        if (!samba_tokenizer__find_named(s, key, &item, r)) return false;
        if (item) {
            if (!samba_tokenizer__add_named(t, key, item, &of)) return false;
        } else if (s->gives_defaults && k < SAMBA_TOKENIZER__KEYS_WITH_DEFAULT) {
            if (!samba_tokenizer__add_default(t, s, key, &of)) return false;
        }
    }
    return true;
}

/* Lists of special tokens, and keys of the model's own that end in _token. */
static bool samba_tokenizer__add_extra(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                       int which, const samba_tokenizer__report *r)
{
    static const char *const list[2] = { "additional_special_tokens", "extra_special_tokens" };
    samba_tokenizer__report of = samba_tokenizer__of_file(s, which, r);
    samba_tokenizer__shown shown;
    const cJSON *config = s->json[SAMBA_TOKENIZER__CONFIG];
    bool ignored = which == SAMBA_TOKENIZER__MAP
        && (cJSON_HasObjectItem(config, "added_tokens_decoder")
            || cJSON_HasObjectItem(config, list[0]) || cJSON_HasObjectItem(config, list[1]));
    for (int k = 0; k < 2; k++) {
        const cJSON *item;
        if (!samba_tokenizer__member(s->json[which], list[k], &item, &of)) return false;
        if (!item || cJSON_IsNull(item)) continue;
        if (!cJSON_IsArray(item) && !(k && cJSON_IsObject(item)))
            return samba_tokenizer__fail(&of, "%s is no list of tokens", list[k]);
        for (const cJSON *i = item->child; i; i = i->next) {
            const char *text = samba_tokenizer__text_of(i);
            if (ignored && text && samba_tokenizer__find_special(t, text, strlen(text)) < 0)
                return samba_tokenizer__fail(&of,
                                             "%s: tokenizer_config.json lists special tokens, too, "
                                             "and lacks \"%s\"; make them the same",
                                             list[k],
                                             samba_tokenizer__show(&shown, text, strlen(text)));
            if (!samba_tokenizer__add_named(t, list[k], i, &of)) return false;
        }
    }
    for (const cJSON *i = s->json[which]->child; i; i = i->next) {
        size_t n = strlen(i->string);
        const char *text = samba_tokenizer__text_of(i);
        if (n < 6 || strcmp(i->string + n - 6, "_token") != 0 || !text) continue;
        if (samba_tokenizer__is_one_of(i->string, samba_tokenizer__keys, SAMBA_TOKENIZER__KEYS))
            continue;
        if (samba_tokenizer__find_special(t, text, strlen(text)) >= 0) continue;
        return samba_tokenizer__fail(&of,
                                     "%s: no other key makes \"%s\" a special token; name it in "
                                     "extra_special_tokens or take it out",
                                     i->string, samba_tokenizer__show(&shown, text, strlen(text)));
    }
    return true;
}

/* One of added_tokens_decoder, "id": { "content": ... }; ids are below n. */
static bool samba_tokenizer__read_decoder_entry(samba_tokenizer *t, const cJSON *entry, size_t n,
                                                const samba_tokenizer__report *r)
{
    const char *text;
    char *end;
    uint32_t flags;
    samba_tokenizer__shown shown;
    unsigned long id = strtoul(entry->string, &end, 10);
    samba_tokenizer__show(&shown, entry->string, strlen(entry->string));
    if (entry->string[0] < '0' || entry->string[0] > '9' || *end || id >= n)
        return samba_tokenizer__fail(r, "added_tokens_decoder: \"%s\" is no id from 0 to %lu",
                                     shown.text, (unsigned long)(n - 1));
    if (!cJSON_IsObject(entry))
        return samba_tokenizer__fail(r, "added_tokens_decoder: \"%s\" is no object", shown.text);
    if (!samba_tokenizer__describe(entry, &text, &flags, r)) return false;
    int32_t found = samba_tokenizer__find_special(t, text, strlen(text));
    if (found < 0) return samba_tokenizer__add(t, text, (int32_t)id, flags, r);
    samba_tokenizer__show(&shown, text, strlen(text));
    if (found != (int32_t)id)
        return samba_tokenizer__fail(r,
                                     "added_tokens_decoder: \"%s\" has the id %lu, but %d in the "
                                     "vocabulary",
                                     shown.text, id, (int)found);
    if ((t->token[found].flags & SAMBA_TOKENIZER__HOW) != flags)
        return samba_tokenizer__fail(
            r,
            "added_tokens_decoder: lstrip, rstrip or normalized of \"%s\" is "
            "not what tokenizer.json says",
            shown.text);
    return true;
}

/* Whether tokenizer_config.json or special_tokens_map.json names this text as special, in the eyes
   of transformers: an object in the former does not count. */
static bool samba_tokenizer__is_named(const samba_tokenizer__settings *s, const char *text)
{
    for (int which = SAMBA_TOKENIZER__CONFIG; which <= SAMBA_TOKENIZER__MAP; which++) {
        for (const cJSON *i = s->json[which] ? s->json[which]->child : NULL; i; i = i->next) {
            const char *one = samba_tokenizer__text_of(i);
            if (which == SAMBA_TOKENIZER__CONFIG && cJSON_IsObject(i)) continue;
            if (samba_tokenizer__is_one_of(i->string, samba_tokenizer__keys, SAMBA_TOKENIZER__KEYS)
                && one && strcmp(one, text) == 0)
                return true;
            if (!strstr(i->string, "_special_tokens")) continue;
            for (const cJSON *k = i->child; k; k = k->next)
                if ((one = samba_tokenizer__text_of(k)) != NULL && strcmp(one, text) == 0)
                    return true;
        }
    }
    return false;
}

/* added_tokens.json, "token": id; ids are below n. Tokens that nothing names are sought late. */
static bool samba_tokenizer__read_added_file(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                             bool known, size_t n, const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__ADDED, r);
    const cJSON *json = s->json[SAMBA_TOKENIZER__ADDED];
    samba_tokenizer__shown shown;
    for (const cJSON *i = json ? json->child : NULL; i; i = i->next) {
        int32_t id, found;
        if (!i->string[0]) return samba_tokenizer__fail(&of, "has a token without text (\"\")");
        if (!samba_tokenizer__read_id(i, n, i->string, &id, &of)) return false;
        found = samba_tokenizer__find_special(t, i->string, strlen(i->string));
        if (found == id) continue;
        if (known && found < 0)
            return samba_tokenizer__fail(
                &of,
                "\"%s\" is not in added_tokens_decoder of "
                "tokenizer_config.json; make them the same",
                samba_tokenizer__show(&shown, i->string, strlen(i->string)));
        if (!samba_tokenizer__add(
                t, i->string, id,
                samba_tokenizer__is_named(s, i->string) ? 0 : SAMBA_TOKENIZER__LATE, &of))
            return false;
    }
    return true;
}

static size_t samba_tokenizer__count(const cJSON *json)
{
    size_t n = 0;
    for (const cJSON *i = json ? json->child : NULL; i; i = i->next)
        n++;
    return n;
}

/* How many ids the settings may add to the vocabulary. */
static size_t samba_tokenizer__count_added(const samba_tokenizer__settings *s)
{
    return samba_tokenizer__count(s->json[SAMBA_TOKENIZER__ADDED])
        + samba_tokenizer__count(cJSON_GetObjectItemCaseSensitive(s->json[SAMBA_TOKENIZER__CONFIG],
                                                                  "added_tokens_decoder"));
}

/* Adds what the files name to the tokens of the vocabulary, which is read. */
static bool samba_tokenizer__apply(samba_tokenizer *t, const samba_tokenizer__settings *s,
                                   const samba_tokenizer__report *r)
{
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    size_t n = t->n_tokens + samba_tokenizer__count_added(s);
    const cJSON *decoder = NULL;
    bool named = s->json[SAMBA_TOKENIZER__CONFIG] || s->json[SAMBA_TOKENIZER__MAP] || s->has_class;
    if (n > SAMBA_TOKENIZER__MAX_IDS) return samba_tokenizer__fail(r, "has too many added tokens");
    if (!named && !s->has_tokenizer_json && !samba_tokenizer__find_specials(t, r)) return false;
    if (s->json[SAMBA_TOKENIZER__CONFIG]
        && !samba_tokenizer__member(s->json[SAMBA_TOKENIZER__CONFIG], "added_tokens_decoder",
                                    &decoder, &of))
        return false;
    if (decoder && !cJSON_IsObject(decoder))
        return samba_tokenizer__fail(&of, "added_tokens_decoder is no object");
    for (const cJSON *i = decoder ? decoder->child : NULL; i; i = i->next)
        if (!samba_tokenizer__read_decoder_entry(t, i, n, &of)) return false;
    if (decoder && t->trie[0].n_tokens + t->trie[1].n_tokens > samba_tokenizer__count(decoder))
        return samba_tokenizer__fail(&of,
                                     "added_tokens_decoder lacks some of added_tokens in "
                                     "tokenizer.json; make them the same");
    if (!samba_tokenizer__read_added_file(t, s, decoder != NULL, n, r)
        || !samba_tokenizer__has_no_hole(t, r))
        return false;
    if (named && !samba_tokenizer__add_keys(t, s, r)) return false;
    for (int which = SAMBA_TOKENIZER__CONFIG; which <= SAMBA_TOKENIZER__MAP; which++)
        if (s->json[which] && !samba_tokenizer__add_extra(t, s, which, r)) return false;
    return true;
}

/* folder/name, to be freed; NULL: out of memory. */
static char *samba_tokenizer__join(const char *folder, const char *name)
{
    size_t n = strlen(folder), size = n + strlen(name) + 2;
    char *path = (char *)SAMBA_TOKENIZER_MALLOC(size);
    if (path) snprintf(path, size, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

/* Whether there is something of this name, readable or not. */
static bool samba_tokenizer__exists(const char *path)
{
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return errno != ENOENT && errno != ENOTDIR;
    fclose(f);
    return true;
}

/* The vocabulary that a folder may have; a path that is no folder has none of them. */
typedef struct samba_tokenizer__paths {
    char *json, *vocab, *merges;
} samba_tokenizer__paths;

/* The JSON files that there are beside the vocabulary. */
static bool samba_tokenizer__read_settings(samba_tokenizer__settings *s, const char *folder,
                                           const samba_tokenizer__report *r)
{
    for (int i = 0; i < SAMBA_TOKENIZER__FILES; i++) {
        s->path[i] = samba_tokenizer__join(folder, samba_tokenizer__file[i]);
        if (!s->path[i]) return samba_tokenizer__no_memory(r);
        samba_tokenizer__report of = samba_tokenizer__of_file(s, i, r);
        if (samba_tokenizer__exists(s->path[i]) && !(s->json[i] = samba_tokenizer__read_json(&of)))
            return false;
    }
    samba_tokenizer__report of = samba_tokenizer__of_file(s, SAMBA_TOKENIZER__CONFIG, r);
    return samba_tokenizer__check_class(s, r)
        && (!s->json[SAMBA_TOKENIZER__CONFIG]
            || SAMBA_TOKENIZER__OBEYS(s->json[SAMBA_TOKENIZER__CONFIG], "",
                                      samba_tokenizer__config_rules, &of));
}

static bool samba_tokenizer__load_json(samba_tokenizer *t, const samba_tokenizer__report *r)
{
    cJSON *json = samba_tokenizer__read_json(r);
    bool done = json && samba_tokenizer__load_model(t, json, r);
    cJSON_Delete(json);
    return done;
}

/* Looks for what a folder, or a file by its name, has of tokenizers that are not read here; *kind
   is NULL if there is nothing. False: out of memory. */
static bool samba_tokenizer__find_other_kind(const char *path, const char **kind)
{
    static const struct {
        const char *name, *kind;
    } others[] = {
        { "tokenizer.model", "tokenizer.model is SentencePiece's, as of Llama 2 and T5" },
        { "spiece.model", "spiece.model is SentencePiece's, as of T5" },
        { "sentencepiece.bpe.model", "sentencepiece.bpe.model is SentencePiece's" },
        { "vocab.txt", "vocab.txt is WordPiece's, as of BERT" },
    };

    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *inner = samba_tokenizer__join(path, others[i].name);
        if (!inner) return false;
        bool there = samba_tokenizer__exists(inner);
        SAMBA_TOKENIZER_FREE(inner);
        if (there || strcmp(base, others[i].name) == 0) {
            *kind = others[i].kind;
            return true;
        }
    }
    return true;
}

/* A path without any vocabulary in it: a tokenizer.json itself, whatever its name, and alone. */
static bool samba_tokenizer__load_file(samba_tokenizer *t, const char *path,
                                       const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    r->file = path;
    if (samba_tokenizer__exists(p->merges))
        return samba_tokenizer__fail(r,
                                     "has merges.txt, but neither vocab.json nor tokenizer.json");
    const char *other = NULL;
    if (!samba_tokenizer__find_other_kind(path, &other)) return samba_tokenizer__no_memory(r);
    if (other)
        return samba_tokenizer__fail(
            r,
            "is of another kind: %s. Read are byte-level BPE tokenizers, as "
            "those of GPT-2 and Llama 3: tokenizer.json, or vocab.json and "
            "merges.txt; train one of your own with tools/samba "
            "train-tokenizer",
            other);
    FILE *f = fopen(path, "rb");
    int first = f ? fgetc(f) : 0;
    if (f) fclose(f);
    if (f && first == EOF)
        return samba_tokenizer__fail(r,
                                     "is a folder without tokenizer.json, and without vocab.json "
                                     "and merges.txt; or an empty file");
    return samba_tokenizer__load_json(t, r) && samba_tokenizer__has_no_hole(t, r);
}

static bool samba_tokenizer__load(samba_tokenizer *t, const char *path,
                                  const samba_tokenizer__paths *p, samba_tokenizer__report *r)
{
    samba_tokenizer__settings s;
    memset(&s, 0, sizeof s);
    s.has_tokenizer_json = samba_tokenizer__exists(p->json);
    if (!s.has_tokenizer_json && !samba_tokenizer__exists(p->vocab))
        return samba_tokenizer__load_file(t, path, p, r);
    r->file = s.has_tokenizer_json ? p->json : p->vocab;
    bool done = samba_tokenizer__read_settings(&s, path, r);
    if (done)
        done = s.has_tokenizer_json
            ? samba_tokenizer__load_json(t, r)
            : samba_tokenizer__load_pair(t, r, p->merges, samba_tokenizer__count_added(&s));
    done = done && samba_tokenizer__apply(t, &s, r);
    for (int i = 0; i < SAMBA_TOKENIZER__FILES; i++) {
        cJSON_Delete(s.json[i]);
        SAMBA_TOKENIZER_FREE(s.path[i]);
    }
    return done;
}

SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open(const char *path, char *why,
                                                          size_t why_size)
{
    samba_tokenizer__report r = { why, why_size, NULL };
    samba_tokenizer__paths p;
    bool done = false;
    if (why && why_size) why[0] = 0;
    if (!path || !*path) {
        samba_tokenizer__fail(&r, "no path to a tokenizer");
        return (samba_tokenizer *)0;
    }
    samba_tokenizer *t = samba_tokenizer__new();
    p.json = samba_tokenizer__join(path, "tokenizer.json");
    p.vocab = samba_tokenizer__join(path, "vocab.json");
    p.merges = samba_tokenizer__join(path, "merges.txt");
    if (t && p.json && p.vocab && p.merges)
        done = samba_tokenizer__load(t, path, &p, &r);
    else
        samba_tokenizer__no_memory(&r);
    SAMBA_TOKENIZER_FREE(p.json);
    SAMBA_TOKENIZER_FREE(p.vocab);
    SAMBA_TOKENIZER_FREE(p.merges);
    if (done) return t;
    samba_tokenizer_close(t);
    return NULL;
}

SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_open_files(const char *vocab_json,
                                                                const char *merges_txt, char *why,
                                                                size_t why_size)
{
    samba_tokenizer__report r = { why, why_size, vocab_json };
    if (why && why_size) why[0] = 0;
    if (!vocab_json || !*vocab_json || !merges_txt || !*merges_txt) {
        r.file = NULL;
        const char *missing = vocab_json && *vocab_json ? "merges.txt" : "vocab.json";
        samba_tokenizer__fail(&r, "no path to %s", missing);
        return NULL;
    }
    samba_tokenizer *t = samba_tokenizer__new();
    if (!t) samba_tokenizer__no_memory(&r);
    if (t && samba_tokenizer__load_pair(t, &r, merges_txt, 0)
        && samba_tokenizer__find_specials(t, &r) && samba_tokenizer__has_no_hole(t, &r))
        return t;
    samba_tokenizer_close(t);
    return NULL;
}

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

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Whether a vocab.json says of the token that it is special, or that it is not, as it is here. */
static bool samba_tokenizer__can_be_written(const samba_tokenizer *t, size_t id,
                                            const samba_tokenizer__report *r)
{
    const samba_tokenizer__token *k = &t->token[id];
    const char *text = (const char *)t->bytes + k->at, *why = NULL;
    bool special = k->flags & SAMBA_TOKENIZER__SPECIAL, raw = k->flags & SAMBA_TOKENIZER__RAW;
    uint8_t small[512];
    size_t n;
    samba_tokenizer__shown shown;
    if (special && k->flags & SAMBA_TOKENIZER__MADE)
        why = "is special, but words become it, too";
    else if (k->flags & (SAMBA_TOKENIZER__LSTRIP | SAMBA_TOKENIZER__RSTRIP))
        why = "has lstrip or rstrip";
    else if (special && t->trie[0].n_tokens && t->trie[1].n_tokens)
        why = "may be sought before others";
    else if (raw && k->size > sizeof small)
        why = "is above 512 bytes";
    else if (raw && samba_tokenizer__unspell(text, k->size, small, &n))
        why = "reads as other bytes";
    else if (!special && !(k->flags & SAMBA_TOKENIZER__MADE)
             && (raw || !samba_tokenizer__raw((const uint8_t *)text, k->size)))
        why = "would become special";
    if (!why) return true;
    return samba_tokenizer__fail(r, "vocab.json cannot express the token \"%s\", id %lu: it %s",
                                 samba_tokenizer__show(&shown, text, k->size), (unsigned long)id,
                                 why);
}

/* Writes the key of a token, in JSON escaped. */
static void samba_tokenizer__write_key(FILE *f, const samba_tokenizer *t, int32_t id, bool json)
{
    const samba_tokenizer__token *k = &t->token[id];
    for (size_t i = 0; i < k->size; i++) {
        uint8_t out[2] = { t->bytes[k->at + i], 0 };
        size_t n = 1;
        if (!(k->flags & SAMBA_TOKENIZER__RAW))
            n = samba_tokenizer__put_char(out, samba_tokenizer__letter(out[0]));
        if (n == 1 && json && (out[0] == '"' || out[0] == '\\')) fputc('\\', f);
        if (n == 1 && json && out[0] < 32)
            fprintf(f, "\\u%04x", (unsigned)out[0]);
        else
            fwrite(out, 1, n, f);
    }
}

static void samba_tokenizer__write_vocabulary(FILE *f, const samba_tokenizer *t)
{
    for (size_t i = 0; i < t->n_tokens; i++) {
        fputs(i ? ",\n\"" : "{\n\"", f);
        samba_tokenizer__write_key(f, t, (int32_t)i, true);
        fprintf(f, "\": %lu", (unsigned long)i);
    }
    fputs("\n}\n", f);
}

static void samba_tokenizer__write_merges(FILE *f, const samba_tokenizer *t)
{
    fputs("#version: 0.2\n", f);
    for (size_t i = 0; i < t->n_merges; i++) {
        samba_tokenizer__write_key(f, t, t->merge[i].left, false);
        fputc(' ', f);
        samba_tokenizer__write_key(f, t, t->merge[i].right, false);
        fputc('\n', f);
    }
}

/* Both files, each of which replaces the one of its name when both are written. path: vocab.json
   and merges.txt. */
static bool samba_tokenizer__save_as(const samba_tokenizer *t, char *const path[2],
                                     const samba_tokenizer__report *r)
{
    samba_base_output out[2];
    char why[600] = "";
    int begun = 0;
    while (begun < 2 && samba_base_begin(&out[begun], path[begun], NULL, why, sizeof why))
        begun++;
    bool done = begun == 2;
    if (done) {
        samba_tokenizer__write_vocabulary(out[0].file, t);
        samba_tokenizer__write_merges(out[1].file, t);
        for (int i = 0; i < 2; i++) {
            bool fine = fflush(out[i].file) == 0 && !ferror(out[i].file);
            if (!fine)
                snprintf(why, sizeof why, "%s: cannot be written: %s", path[i], strerror(errno));
            done = done && fine;
        }
    }
    for (int i = 0; i < begun; i++)
        done = samba_base_end(&out[i], done, why, sizeof why) && done;
    samba_tokenizer__report of = *r;
    of.file = NULL; /* why names it */
    return done || samba_tokenizer__fail(&of, "%s", why);
}

SAMBA_TOKENIZER_API bool samba_tokenizer_save(const samba_tokenizer *t, const char *folder,
                                              char *why, size_t why_size)
{
    static const char *const name[4]
        = { "vocab.json", "merges.txt", "tokenizer.json", "added_tokens.json" };
    samba_tokenizer__report r = { why, why_size, NULL };
    char *path[4];
    bool done = true;
    if (!t || !folder || !*folder)
        return samba_tokenizer__fail(&r, "no %s", t ? "folder to save to" : "tokenizer (NULL)");
    for (size_t i = 0; i < t->n_tokens; i++)
        if (!samba_tokenizer__can_be_written(t, i, &r)) return false;
    for (int i = 0; i < 4; i++) {
        path[i] = samba_tokenizer__join(folder, name[i]);
        if (!path[i]) done = false;
    }
    if (!done) samba_tokenizer__no_memory(&r);
    for (int i = 2; i < 4 && done; i++) {
        if (!samba_tokenizer__exists(path[i])) continue;
        r.file = path[i];
        done = samba_tokenizer__fail(&r,
                                     "is in the way: it would be read with or before what is saved "
                                     "here; remove it or save to another folder");
    }
    done = done && samba_tokenizer__save_as(t, path, &r);
    for (int i = 0; i < 4; i++)
        SAMBA_TOKENIZER_FREE(path[i]);
    return done;
}

#endif /* SAMBA_TOKENIZER_IMPLEMENTATION */
