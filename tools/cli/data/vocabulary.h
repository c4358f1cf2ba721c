// A tokenizer with what else its folder says: the special tokens, and the model it belongs to.
#ifndef SAMBA_VOCABULARY_H
#define SAMBA_VOCABULARY_H

#include "tools/cli/util/files.h"
#include "tools/include/samba/tokenizer.h"

typedef struct vocabulary {
    samba_tokenizer *tokenizer;
    char folder[PATH_SIZE];
    int32_t eos, bos, pad;   // -1: there is none, but pad is eos then
    bool adds_bos, adds_eos; // around every text
    bool cleans_up;          // spaces before punctuation, of decoded text
    int32_t size;            // without tokens that were added
    char model_type[256];    // what Python prints as the class of the configuration
    char *special_tokens;    // the JSON of --special_tokens_dict, or NULL
} vocabulary;

// A JSON file of a folder; *json is NULL if there is no such file. The caller deletes it.
struct cJSON;
bool vocabulary_read_json(const char *folder, const char *name, struct cJSON **json, fault *why);

// path: a folder with tokenizer.json, vocab.json and merges.txt, tokenizer.model, or vocab.txt.
// special_tokens: JSON with
// double or single quotes, or NULL.
bool vocabulary_open(vocabulary *v, const char *path, const char *special_tokens, fault *why);
// Into a folder, which is made: what another vocabulary_open, or Hugging Face, needs.
bool vocabulary_save(const vocabulary *v, const char *folder, fault *why);
void vocabulary_close(vocabulary *v);

#endif
