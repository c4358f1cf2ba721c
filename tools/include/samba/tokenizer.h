/* tokenizer.h - text to ids and back, exactly as the tokenizers of the usual models, and a trainer.

   Do this:
       #define SAMBA_TOKENIZER_IMPLEMENTATION      in exactly ONE file, before
       #include <samba/tokenizer.h>          and include it wherever you want without it
       cc program.c -lcjson -lutf8proc             Debian: libcjson-dev, libutf8proc-dev

       char why[256];
       samba_tokenizer *t = samba_tokenizer_open("gpt2", why, sizeof why);
       if (!t) return puts(why), 1;
       int64_t n = samba_tokenizer_encode(t, text, strlen(text), ids, 1024);

   A text goes through five steps, and each kind of tokenizer is a choice at each of them:

       added tokens   special tokens are sought in the text, the longest first; what is between
                      goes on
       normalizer     NFC, lower case, replacements, SentencePiece's table ...
       words          GPT-2's pattern, that of Llama 3 or Qwen, spaces, punctuation, digits ...
       model          BPE of bytes or of characters, Unigram, WordPiece
       decoder        the way back

   Files, of which a folder has one or more; the first of them counts:

       tokenizer.json            as Hugging Face's tokenizers writes it: all of the above
       vocab.json, merges.txt    GPT-2's byte-level BPE
       tokenizer.model           SentencePiece's BPE and Unigram, as sentencepiece encodes
       vocab.txt                 BERT's WordPiece

   Of a tokenizer.json, what changes ids is honoured, or refused by its key: tokenizer/read_steps.h
   has the lists. Patterns are compiled by tokenizer/pattern.h, which takes those of GPT-2, Llama 3,
   Qwen 2 and 3, DeepSeek, o200k and their like. Of post_processor only the token before a text is
   read, for samba_tokenizer_first; that, truncation and padding belong to the caller. Characters
   are those of Unicode as tokenizers knows them (tokenizer/tables.h), so that ids do not depend on
   the release of utf8proc, of which 2.8 (Debian 12) is new enough.

   A byte-level tokenizer.json may lack tokens for bytes that its training texts did not contain, as
   SmolLM2's does for 0x04. In a text such a byte becomes model.unk_token, or nothing where there is
   none. Printable ASCII must be there; in vocab.json all bytes.

   All is proved before use: ids are 0, 1, 2 ... without a hole, merges name tokens that exist. The
   other files of a folder are read, too: tokenizer_config.json, special_tokens_map.json,
   added_tokens.json and config.json. A class or a model with another tokenizer, and options that
   would change ids, are refused by their key; added_tokens_decoder and the special tokens they name
   are taken, with the ids that Hugging Face's transformers gives them (5; so does 4.57 unless
   special tokens are parts of each other).

   Special tokens match in the text, the longest first. In a tokenizer.json they are its
   added_tokens; where tokenizer_config.json or special_tokens_map.json stands beside it, or beside
   a vocab.json, those that they name. In a vocab.json alone (and an added_tokens.json beside it)
   they are the tokens that no word could become: "<|endoftext|>" is no byte and no merge makes it.
   Those of a tokenizer.model, such as <s>, do not match in the text, as in sentencepiece, unless
   one of those files names them. Between them each stretch of text is encoded by itself. A special
   token decodes to its own text; one that is sought in the normalized text to what is sought.

   A tokenizer belongs to one thread at a time: encode keeps a cache in it.

   Options, defined before the include of the implementation: SAMBA_TOKENIZER_STATIC makes all
   functions private to the file, SAMBA_TOKENIZER_API is your own linkage;
   SAMBA_TOKENIZER_MALLOC(size), SAMBA_TOKENIZER_REALLOC(p, size) and SAMBA_TOKENIZER_FREE(p), all
   three or none. cJSON has an allocator of its own: cJSON_InitHooks; utf8proc takes malloc. */

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

/* Opens a folder with tokenizer.json, with vocab.json and merges.txt, with tokenizer.model or with
   vocab.txt, and with what else it says of the tokenizer; or one of these files alone: NAME.model,
   vocab.txt, or a tokenizer.json of any name. NULL with the reason in why, which may be NULL. The
   caller closes it. */
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

/* The id of the token that transformers puts before a text, such as <s> or [CLS]; -1: none. It is
   what post_processor of tokenizer.json says, add_bos_token of tokenizer_config.json, or the class
   of a tokenizer.model or vocab.txt in a folder. samba_tokenizer_encode does not write it. */
SAMBA_TOKENIZER_API int32_t samba_tokenizer_first(const samba_tokenizer *t);

/* Makes a token special; one that is not in the vocabulary gets the next id. */
SAMBA_TOKENIZER_API bool samba_tokenizer_add_special(samba_tokenizer *t, const char *token,
                                                     char *why, size_t why_size);

/* Text in UTF-8 -> ids. Special tokens in the text become their ids. Bytes that are not UTF-8 act
   as U+FFFD, like Python's errors="replace"; NUL is a character like any other.
   Returns the number of ids, writes at most cap of them; -1: out of memory. */
SAMBA_TOKENIZER_API int64_t samba_tokenizer_encode(samba_tokenizer *t, const char *text,
                                                   size_t size, int32_t *ids, int64_t cap);

/* Ids -> bytes (not terminated); a token of bytes may end within a character, and the texts of the
   other kinds depend on the tokens before: decode all ids of a text at a time. Unknown ids give
   nothing. Returns the number of bytes, writes at most cap; -1: out of memory. */
SAMBA_TOKENIZER_API int64_t samba_tokenizer_decode(const samba_tokenizer *t, const int32_t *ids,
                                                   int64_t n, char *text, int64_t cap);

/* Learns merges from text: the bytes first, in GPT-2's order, then merges by frequency (ties: the
   smallest pair of ids), "<|endoftext|>" last. vocab_size ids, 257 or more; fewer if the text has
   no pair left to merge. "<|endoftext|>" in the text separates documents. */
SAMBA_TOKENIZER_API samba_tokenizer *samba_tokenizer_train(const char *text, size_t size,
                                                           int32_t vocab_size, char *why,
                                                           size_t why_size);

/* Writes vocab.json and merges.txt into a folder that exists; each first under a temporary name.
   False, with the reason, for tokenizers that these files cannot express. */
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

#include "tokenizer/tables.h"          /* which characters are what */
#include "tokenizer/types.h"           /* what a tokenizer holds */
#include "tokenizer/base.h"            /* reasons, memory, UTF-8 */
#include "tokenizer/unicode.h"         /* categories, words, cases */
#include "tokenizer/words.h"           /* GPT-2's pattern, by hand */
#include "tokenizer/pattern.h"         /* the other patterns */
#include "tokenizer/charsmap.h"        /* SentencePiece's table of replacements */
#include "tokenizer/normalize.h"       /* steps of normalizer */
#include "tokenizer/vocabulary.h"      /* tokens and merges by their bytes */
#include "tokenizer/special.h"         /* tokens sought in the text */
#include "tokenizer/bpe.h"             /* merging */
#include "tokenizer/unigram.h"         /* the best pieces, and the longest */
#include "tokenizer/models.h"          /* a word by any model, and the cache */
#include "tokenizer/split.h"           /* steps of pre_tokenizer */
#include "tokenizer/encode.h"          /* all of a text */
#include "tokenizer/decode.h"          /* and back */
#include "tokenizer/life.h"            /* making, closing, asking */
#include "tokenizer/read.h"            /* files, JSON */
#include "tokenizer/read_vocabulary.h" /* vocabularies, merges */
#include "tokenizer/read_steps.h"      /* the steps of a tokenizer.json */
#include "tokenizer/read_json.h"       /* its model and added tokens */
#include "tokenizer/settings.h"        /* tokenizer_config.json and the like */
#include "tokenizer/sentencepiece.h"   /* tokenizer.model */
#include "tokenizer/wordpiece_file.h"  /* vocab.txt */
#include "tokenizer/open.h"            /* which files a path has */
#include "tokenizer/train.h"           /* learning merges */
#include "tokenizer/save.h"            /* vocab.json and merges.txt */

#endif /* SAMBA_TOKENIZER_IMPLEMENTATION */
