/* types.h - of tokenizer.h: the tokens, the merges, and what else a tokenizer holds. */

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
    SAMBA_TOKENIZER__LSTRIP = 16,  /* a special token that swallows whitespace before it */
    SAMBA_TOKENIZER__RSTRIP = 32,  /* or after it */
    SAMBA_TOKENIZER__LATE = 64,    /* sought after those that are not, in the normalized text */
    SAMBA_TOKENIZER__NAMED = 128,  /* a key such as pad_token has made it special */
    SAMBA_TOKENIZER__SINGLE = 256, /* a special token that is not within a word */
    SAMBA_TOKENIZER__HOW = 16 | 32 | 64 | 256,
    SAMBA_TOKENIZER__CONTROL = 512, /* types of pieces in a tokenizer.model, beside normal ones */
    SAMBA_TOKENIZER__UNKNOWN = 1024,
    SAMBA_TOKENIZER__BYTE = 2048,
    SAMBA_TOKENIZER__USER = 4096,
    SAMBA_TOKENIZER__RESERVED = 512 | 1024 | 2048, /* what text does not become */
    SAMBA_TOKENIZER__OF_MODEL = 8192 /* in the vocabulary of the model, not only added to it */
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

/* What makes tokens of a word. */
enum {
    SAMBA_TOKENIZER__BYTES,     /* BPE of bytes by merges: GPT-2, Llama 3, Qwen, DeepSeek */
    SAMBA_TOKENIZER__CHARS,     /* BPE of characters by merges: Llama 2, Mistral, Gemma */
    SAMBA_TOKENIZER__PIECES,    /* BPE of characters by scores: the same, in a tokenizer.model */
    SAMBA_TOKENIZER__UNIGRAM,   /* the most likely pieces: T5, XLM-R, ALBERT */
    SAMBA_TOKENIZER__WORDPIECE, /* the longest pieces from the left: BERT */
    SAMBA_TOKENIZER__MODELS
};

/* What is done to a text before tokens are sought in it, between words, or with the texts of
   tokens: one step of normalizer, pre_tokenizer or decoder. What the members mean is said where
   steps are run: normalize.h, split.h and decode.h. */
typedef struct samba_tokenizer__step {
    int kind;
    int32_t number[2];
    bool flag[4];
    struct samba_tokenizer__pattern *pattern; /* NULL: none */
    uint8_t *text[2];                         /* NULL: none */
    size_t size[2];
    struct samba_tokenizer__charsmap *map; /* NULL: none */
} samba_tokenizer__step;

enum { SAMBA_TOKENIZER__MAX_STEPS_OF_A_KIND = 32 };

typedef struct samba_tokenizer__steps {
    samba_tokenizer__step step[SAMBA_TOKENIZER__MAX_STEPS_OF_A_KIND];
    int n;
} samba_tokenizer__steps;

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

    int model;
    samba_tokenizer__steps normalizer, words, decoder;
    bool ignore_merges;    /* a word that is a token is that token */
    bool byte_fallback;    /* an unknown character becomes the tokens of its bytes */
    bool fuse_unk;         /* unknown characters in a row are one unknown token */
    bool by_sentencepiece; /* as tokenizer.model says, not tokenizer.json */
    bool dummy_prefix, strips_spaces, escapes_spaces; /* of a tokenizer.model */
    bool marks_first;      /* a step puts a mark before the first word only */
    bool has_decoder;      /* false: tokens are written with spaces between */
    int32_t unk;           /* -1: none */
    int32_t first;         /* what texts begin with; -1: none */
    int32_t fallback[256]; /* the tokens of bytes, <0x00> and so on; -1: none */
    double *score;         /* by id; NULL: none */
    int32_t *rank;         /* by id, of scores: the highest is 0 */
    size_t n_scores;
    size_t longest_piece; /* PIECES: in bytes */
    double unk_score, max_score;
    samba_tokenizer__trie pieces; /* the tokens that words may become */
    samba_tokenizer__trie user;   /* pieces of the user in a tokenizer.model */
    uint32_t inner;               /* WORDPIECE: the node of "##" in pieces */
    bool has_inner;               /* false: no piece begins with it */
    int32_t longest_word;         /* WORDPIECE: in characters */
    uint8_t *unk_text;            /* of a tokenizer.model: what the unknown token says */
    size_t unk_text_size;
};
