/* charsmap.h - of tokenizer.h: SentencePiece's precompiled table of replacements.

   A double-array trie (Darts: units of 32 bits) from texts to where their replacement, ended by a
   zero, begins. The bytes: the size of the trie, the trie, the replacements. */

typedef struct samba_tokenizer__charsmap {
    uint32_t *unit;
    size_t n_units;
    char *text; /* ended by a zero, whatever the file says */
    size_t text_size;
} samba_tokenizer__charsmap;

static void samba_tokenizer__free_charsmap(samba_tokenizer__charsmap *map)
{
    if (!map) return;
    SAMBA_TOKENIZER_FREE(map->unit);
    SAMBA_TOKENIZER_FREE(map->text);
    SAMBA_TOKENIZER_FREE(map);
}

static uint32_t samba_tokenizer__little_endian(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Units that lead out of the array end a search; offsets behind the texts are replaced by nothing.
 */
static samba_tokenizer__charsmap *samba_tokenizer__open_charsmap(const uint8_t *bytes, size_t size,
                                                                 const samba_tokenizer__report *r)
{
    size_t trie_size = size >= 4 ? samba_tokenizer__little_endian(bytes) : 0;
    if (size < 4 || trie_size > size - 4 || trie_size % 4 || trie_size < 4) {
        samba_tokenizer__fail(r, "precompiled_charsmap is damaged: its trie has %lu of %lu bytes",
                              (unsigned long)trie_size, (unsigned long)size);
        return NULL;
    }

    samba_tokenizer__charsmap *map
        = (samba_tokenizer__charsmap *)SAMBA_TOKENIZER_MALLOC(sizeof *map);
    if (map) {
        map->n_units = trie_size / 4;
        map->text_size = size - 4 - trie_size;
        map->unit = (uint32_t *)SAMBA_TOKENIZER_MALLOC(trie_size);
        map->text = (char *)SAMBA_TOKENIZER_MALLOC(map->text_size + 1);
    }
    if (!map || !map->unit || !map->text) {
        samba_tokenizer__free_charsmap(map);
        samba_tokenizer__no_memory(r);
        return NULL;
    }

    for (size_t i = 0; i < map->n_units; i++)
        map->unit[i] = samba_tokenizer__little_endian(bytes + 4 + 4 * i);
    if (map->text_size) memcpy(map->text, bytes + 4 + trie_size, map->text_size);
    map->text[map->text_size] = 0;
    return map;
}

/* The replacement of the longest, or the shortest, text in the table that begins at p, and the
   bytes that it stands for; NULL: there is none. */
static const char *samba_tokenizer__look_up(const samba_tokenizer__charsmap *map, const uint8_t *p,
                                            const uint8_t *end, bool shortest, size_t *size)
{
    const char *found = NULL;
    uint32_t unit = map->unit[0];
    size_t at = unit >> 10 << ((unit & 1u << 9) >> 6);

    for (const uint8_t *q = p; q < end; q++) {
        at ^= *q;
        if (at >= map->n_units) break;
        unit = map->unit[at];
        if ((unit & ((UINT32_C(1) << 31) | 0xFF)) != *q) break;
        at ^= unit >> 10 << ((unit & 1u << 9) >> 6);
        if (!(unit >> 8 & 1)) continue;
        if (at >= map->n_units) break;
        size_t text = map->unit[at] & ~(UINT32_C(1) << 31);
        found = map->text + (text < map->text_size ? text : map->text_size);
        *size = (size_t)(q + 1 - p);
        if (shortest) break;
    }
    return found;
}
