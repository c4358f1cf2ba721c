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

#include "tokenizer/tables.h"
#include "tokenizer/types.h"
#include "tokenizer/base.h"
#include "tokenizer/unicode.h"
#include "tokenizer/words.h"
#include "tokenizer/pattern.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/normalize.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/special.h"
#include "tokenizer/bpe.h"
#include "tokenizer/unigram.h"
#include "tokenizer/models.h"
#include "tokenizer/split.h"
#include "tokenizer/encode.h"
#include "tokenizer/decode.h"
#include "tokenizer/life.h"
#include "tokenizer/read.h"
#include "tokenizer/read_vocabulary.h"
#include "tokenizer/read_steps.h"
#include "tokenizer/read_json.h"
#include "tokenizer/settings.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/wordpiece_file.h"
#include "tokenizer/open.h"
#include "tokenizer/train.h"
#include "tokenizer/save.h"

#endif /* SAMBA_TOKENIZER_IMPLEMENTATION */
