/* Arrays of NumPy in one file, .npz: a ZIP archive of .npy files, as numpy.savez writes it, without
   compression. The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
#include "arrays.h"
#include <stdlib.h>
#include <string.h>

enum { END_SIZE = 22, CENTRAL_SIZE = 46, LOCAL_SIZE = 30 };

static uint32_t little16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t little32(const unsigned char *at)
{
    return little16(at) | little16(at + 2) << 16;
}

// The polynomial of ISO 3309, reflected, a bit at a time.
uint32_t crc32_of(const unsigned char *bytes, size_t n)
{
    uint32_t table[256], crc = 0xffffffffu;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
    return ~crc;
}

// The record at the end of the archive, behind which there may be a comment; NULL: there is none.
static const unsigned char *find_end(const unsigned char *bytes, size_t size)
{
    enum { MOST_COMMENT = 65535 };

    size_t most = size < END_SIZE + MOST_COMMENT ? size : END_SIZE + MOST_COMMENT;
    for (size_t back = END_SIZE; back <= most; back++) {
        const unsigned char *at = bytes + size - back;
        if (little32(at) == 0x06054b50u && END_SIZE + little16(at + 20) == back) return at;
    }
    return NULL;
}

typedef struct entry {
    const char *name;
    size_t length; // of the name
    const unsigned char *data;
    size_t size;
} entry;

/* What the central directory says of an entry at `at`, of which `left` bytes can be read. Its size
   there is that of the file, as numpy.savez makes small ones; a larger one says 2^32 - 1. */
static bool read_entry(entry *e, const unsigned char *at, size_t left, const unsigned char *bytes,
                       size_t size, fault *why)
{
    bool whole = left >= CENTRAL_SIZE && little32(at) == 0x02014b50u
        && left - CENTRAL_SIZE >= little16(at + 28);
    if (!whole) return fail(why, "its directory is damaged: write it again with numpy.savez");
    e->name = (const char *)at + CENTRAL_SIZE;
    e->length = little16(at + 28);
    e->size = little32(at + 24);
    size_t local = little32(at + 42);
    if (little16(at + 10) != 0)
        return fail(why, "%.*s is compressed: write it with numpy.savez, not savez_compressed",
                    (int)e->length, e->name);
    if (e->size == 0xffffffffu || local == 0xffffffffu)
        return fail(why, "%.*s has 4 GB or more: write it as a .npy file", (int)e->length, e->name);

    bool there
        = local < size && size - local >= LOCAL_SIZE && little32(bytes + local) == 0x04034b50u;
    size_t skip
        = there ? LOCAL_SIZE + little16(bytes + local + 26) + little16(bytes + local + 28) : 0;
    there = there && size - local >= skip && size - local - skip >= e->size;
    if (!there)
        return fail(why, "%.*s is not where its directory says: the file may be cut off",
                    (int)e->length, e->name);
    e->data = bytes + local + skip;
    if (crc32_of(e->data, e->size) != little32(at + 16))
        return fail(why, "%.*s is damaged: its checksum is another one", (int)e->length, e->name);
    return true;
}

static bool add_entry(arrays *list, const entry *e, fault *why)
{
    fault reason = { "" };
    npy array;
    memset(&array, 0, sizeof array);
    bool named = e->length > 4 && memcmp(e->name + e->length - 4, ".npy", 4) == 0
        && !memchr(e->name, 0, e->length);
    if (!named) return fail(why, "it has a file %.*s, which is no .npy", (int)e->length, e->name);
    if (!parse_npy(&array, e->data, e->size, &reason)) {
        free_npy(&array);
        return fail(why, "%.*s: %s", (int)e->length, e->name, reason.text);
    }
    return add_array(list, e->name, e->length - 4, &array, why);
}

bool parse_npz(arrays *list, const unsigned char *bytes, size_t size, fault *why)
{
    const unsigned char *end = size >= END_SIZE ? find_end(bytes, size) : NULL;
    if (!end) return fail(why, "it is no .npz file: a ZIP archive ends in another way");
    size_t at = little32(end + 16), most = (size_t)(end - bytes);
    uint32_t n = little16(end + 10);
    for (uint32_t i = 0; i < n; i++) {
        entry e;
        if (at > most)
            return fail(why, "its directory is damaged: write it again with numpy.savez");
        const unsigned char *record = bytes + at;
        if (!read_entry(&e, record, most - at, bytes, size, why)) return false;
        if (!add_entry(list, &e, why)) return false;
        at += CENTRAL_SIZE + e.length + little16(record + 30) + little16(record + 32);
    }
    return n > 0 || fail(why, "it has no arrays");
}
