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
