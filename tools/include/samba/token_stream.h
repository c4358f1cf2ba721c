/* token_stream.h - the text of tokens as they come, in whole characters.

   Needs tokenizer.h before it. `#define SAMBA_TOKEN_STREAM_IMPLEMENTATION` in one file enables the
   code; SAMBA_TOKEN_STREAM_STATIC makes all functions private to the file. C99 or C++11.

   What a token adds to a text may depend on those before it, and a token of bytes may end within a
   character. So all tokens of a text are decoded together, and what stays as it is whatever comes
   is given once:

       samba_token_stream stream;
       samba_token_stream_open(&stream, tokenizer, prompt, n_prompt);
       ... text = samba_token_stream_add(&stream, token, &size); fwrite(text, 1, size, stdout);
       ... text = samba_token_stream_end(&stream, &size); the bytes that were no character yet
       samba_token_stream_close(&stream); */
#ifndef SAMBA_TOKEN_STREAM_H
#define SAMBA_TOKEN_STREAM_H

#ifndef SAMBA_TOKENIZER_H
#error "token_stream.h: include tokenizer.h before"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMBA_TOKEN_STREAM_API
#if defined(SAMBA_TOKEN_STREAM_STATIC)
#define SAMBA_TOKEN_STREAM_API static inline
#elif defined(__cplusplus)
#define SAMBA_TOKEN_STREAM_API extern "C"
#else
#define SAMBA_TOKEN_STREAM_API extern
#endif
#endif

typedef struct samba_token_stream {
    const samba_tokenizer *tokenizer;
    int32_t *ids; /* of the prompt and all that was added */
    int64_t n, room;
    char *text; /* of all of them */
    int64_t size, text_room;
    int64_t given; /* bytes of it: those of the prompt, and what was returned */
    bool fine;     /* false: there was no memory */
} samba_token_stream;

/* Begins behind a prompt, of which nothing is given. */
SAMBA_TOKEN_STREAM_API bool samba_token_stream_open(samba_token_stream *s,
                                                    const samba_tokenizer *tokenizer,
                                                    const int32_t *prompt, int64_t n);
/* The text that this token completes, until the next call; "" without memory, or if there is
   none yet. */
SAMBA_TOKEN_STREAM_API const char *samba_token_stream_add(samba_token_stream *s, int32_t id,
                                                          size_t *size);
/* The rest. */
SAMBA_TOKEN_STREAM_API const char *samba_token_stream_end(samba_token_stream *s, size_t *size);
SAMBA_TOKEN_STREAM_API void samba_token_stream_close(samba_token_stream *s);

#endif /* SAMBA_TOKEN_STREAM_H */

#if defined(SAMBA_TOKEN_STREAM_IMPLEMENTATION) && !defined(SAMBA_TOKEN_STREAM__IMPLEMENTED)
#define SAMBA_TOKEN_STREAM__IMPLEMENTED
#include <stdlib.h>
#include <string.h>

static inline bool samba_token_stream__append(samba_token_stream *s, int32_t id)
{
    if (s->n == s->room) {
        const int64_t room = 2 * s->room + 64;
        int32_t *more = (int32_t *)realloc(s->ids, (size_t)room * sizeof *more);
        s->fine = s->fine && more;
        if (!more) return false;
        s->ids = more;
        s->room = room;
    }
    s->ids[s->n++] = id;
    return true;
}

static inline bool samba_token_stream__decode(samba_token_stream *s)
{
    int64_t size = samba_tokenizer_decode(s->tokenizer, s->ids, s->n, s->text, s->text_room);
    if (size > s->text_room) {
        char *more = (char *)realloc(s->text, 2 * (size_t)size);
        s->fine = s->fine && more;
        if (!more) return false;
        s->text = more;
        s->text_room = 2 * size;
        size = samba_tokenizer_decode(s->tokenizer, s->ids, s->n, s->text, s->text_room);
    }
    s->fine = s->fine && size >= 0;
    s->size = size < 0 ? 0 : size;
    return s->fine;
}

/* How many bytes end with a whole character. U+FFFD stands for bytes that the next token may make
   one of. */
static inline int64_t samba_token_stream__whole(const char *text, int64_t size)
{
    const unsigned char *t = (const unsigned char *)text;
    while (size >= 3 && t[size - 3] == 0xEF && t[size - 2] == 0xBF && t[size - 1] == 0xBD)
        size -= 3;
    int64_t first = size; /* of the last character */
    while (first > 0 && size - first < 4 && (t[first - 1] & 0xC0u) == 0x80u)
        first--;
    if (!first || t[first - 1] < 0xC0u) return size; /* it is ASCII, or no character at all */
    const int64_t has = size - first + 1;
    const int64_t wants = t[first - 1] >= 0xF0u ? 4 : t[first - 1] >= 0xE0u ? 3 : 2;
    return has < wants ? first - 1 : size;
}

/* What of the text up to `end` was not given yet. */
static inline const char *samba_token_stream__give(samba_token_stream *s, int64_t end, size_t *size)
{
    const int64_t from = s->given < end ? s->given : end;
    *size = (size_t)(end - from);
    if (end > s->given) s->given = end;
    return *size ? s->text + from : "";
}

SAMBA_TOKEN_STREAM_API bool samba_token_stream_open(samba_token_stream *s,
                                                    const samba_tokenizer *tokenizer,
                                                    const int32_t *prompt, int64_t n)
{
    memset(s, 0, sizeof *s);
    s->tokenizer = tokenizer;
    s->fine = true;
    for (int64_t i = 0; i < n && s->fine; i++)
        samba_token_stream__append(s, prompt[i]);
    if (!s->fine || !samba_token_stream__decode(s)) return false;
    s->given = s->size;
    return true;
}

SAMBA_TOKEN_STREAM_API const char *samba_token_stream_add(samba_token_stream *s, int32_t id,
                                                          size_t *size)
{
    *size = 0;
    if (!samba_token_stream__append(s, id) || !samba_token_stream__decode(s)) return "";
    return samba_token_stream__give(s, samba_token_stream__whole(s->text, s->size), size);
}

SAMBA_TOKEN_STREAM_API const char *samba_token_stream_end(samba_token_stream *s, size_t *size)
{
    return samba_token_stream__give(s, s->size, size);
}

SAMBA_TOKEN_STREAM_API void samba_token_stream_close(samba_token_stream *s)
{
    free(s->ids);
    free(s->text);
    memset(s, 0, sizeof *s);
}

#endif /* SAMBA_TOKEN_STREAM_IMPLEMENTATION */
/* MIT license, as samba.h. */
