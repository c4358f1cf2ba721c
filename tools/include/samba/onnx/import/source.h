/* source.h - of onnx_import.h: the bytes of a model, read where they are. A model is mostly
   weights: what is unpacked is a copy without them, and each is read from the file when its turn
   comes, into the place where it stays. */

/* Bytes in memory or in a file; of a file a block is kept. */
typedef struct ox_source {
    const uint8_t *bytes;
    FILE *f;
    int64_t size;
    uint8_t *block; /* OX_BLOCK bytes of the file from `first` on */
    int64_t first, n_block;
    int error; /* of the system, when it was read; 0: none */
} ox_source;

enum { OX_BLOCK = 1 << 16 };

static const char *const ox_no_memory = "out of memory"; /* a reason that is told apart */

/* n bytes of the file from a place; notes why that cannot be. */
static bool ox_read_file(ox_source *s, int64_t at, int64_t n, void *to)
{
    if (at > LONG_MAX) return false;
    errno = 0;
    bool fine = !fseek(s->f, (long)at, SEEK_SET) && fread(to, 1, (size_t)n, s->f) == (size_t)n;
    if (!fine && !feof(s->f)) s->error = errno;
    return fine;
}

/* n bytes from a place, n at most OX_BLOCK, valid until the next call; NULL: they are not there. */
static const uint8_t *ox_look(ox_source *s, int64_t at, int64_t n)
{
    if (at < 0 || n < 0 || n > OX_BLOCK || at > s->size || s->size - at < n) return NULL;
    if (s->bytes) return s->bytes + at;
    if (!s->block) s->block = (uint8_t *)malloc(OX_BLOCK);
    if (!s->block) s->error = ENOMEM;
    if (!s->block) return NULL;
    if (at < s->first || at + n > s->first + s->n_block) {
        int64_t left = s->size - at;
        s->first = at;
        s->n_block = left < OX_BLOCK ? left : OX_BLOCK;
        bool fine = ox_read_file(s, at, s->n_block, s->block);
        if (!fine) s->n_block = 0;
        if (!fine) return NULL;
    }
    return s->block + (at - s->first);
}

/* Any number of bytes into memory of the caller. */
static bool ox_copy_bytes(ox_source *s, int64_t at, int64_t n, void *to)
{
    if (at < 0 || n < 0 || at > s->size || s->size - at < n) return false;
    if (n <= OX_BLOCK || s->bytes) {
        const uint8_t *from = s->bytes ? s->bytes + at : ox_look(s, at, n);
        if (from && n) memcpy(to, from, (size_t)n);
        return from != NULL;
    }
    return ox_read_file(s, at, n, to);
}

static void ox_close_source(ox_source *s)
{
    if (s->f) fclose(s->f);
    free(s->block);
    s->f = NULL;
    s->block = NULL;
}

/* ---- A model without its weights ---- */

/* Values of a tensor that were left out: its doc_string has the number of this entry instead. */
typedef struct ox_left_out {
    int64_t at, size;
    bool raw; /* raw_data, not float_data */
} ox_left_out;

typedef struct ox_skeleton {
    ox_source *from;
    uint8_t *bytes;
    size_t n, room;
    ox_left_out *left_out;
    int32_t n_left_out, room_left_out;
    const char *why; /* it could not be made; NULL: it is no sound message */
} ox_skeleton;

enum { OX_LEAST_LEFT_OUT = 512 }; /* bytes: fewer are copied */

/* Messages that have tensors in them, by the fields of onnx.proto. */
enum {
    OX_M_MODEL,
    OX_M_GRAPH,
    OX_M_NODE,
    OX_M_ATTRIBUTE,
    OX_M_TENSOR,
    OX_M_SPARSE,
    OX_M_FUNCTION,
    OX_M_TRAINING,
    OX_M_NONE
};

static int ox_message_in(int message, uint64_t field)
{
    static const struct {
        int message;
        uint64_t field;
        int in;
    } rows[] = {
        { OX_M_MODEL, 7, OX_M_GRAPH },         { OX_M_MODEL, 20, OX_M_TRAINING },
        { OX_M_MODEL, 25, OX_M_FUNCTION },     { OX_M_TRAINING, 1, OX_M_GRAPH },
        { OX_M_TRAINING, 2, OX_M_GRAPH },      { OX_M_FUNCTION, 7, OX_M_NODE },
        { OX_M_FUNCTION, 11, OX_M_ATTRIBUTE }, { OX_M_GRAPH, 1, OX_M_NODE },
        { OX_M_GRAPH, 5, OX_M_TENSOR },        { OX_M_GRAPH, 15, OX_M_SPARSE },
        { OX_M_SPARSE, 1, OX_M_TENSOR },       { OX_M_SPARSE, 2, OX_M_TENSOR },
        { OX_M_NODE, 5, OX_M_ATTRIBUTE },      { OX_M_ATTRIBUTE, 5, OX_M_TENSOR },
        { OX_M_ATTRIBUTE, 10, OX_M_TENSOR },   { OX_M_ATTRIBUTE, 6, OX_M_GRAPH },
        { OX_M_ATTRIBUTE, 11, OX_M_GRAPH },    { OX_M_ATTRIBUTE, 22, OX_M_SPARSE },
        { OX_M_ATTRIBUTE, 23, OX_M_SPARSE },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].message == message && rows[i].field == field) return rows[i].in;
    return OX_M_NONE;
}

/* Room for n more bytes; NULL: no memory. */
static uint8_t *ox_more_bytes(ox_skeleton *k, size_t n)
{
    if (k->room - k->n < n) {
        size_t room = 2 * (k->n + n) + 4096;
        uint8_t *bytes = (uint8_t *)realloc(k->bytes, room);
        if (!bytes) k->why = ox_no_memory;
        if (!bytes) return NULL;
        k->bytes = bytes;
        k->room = room;
    }
    k->n += n;
    return k->bytes + (k->n - n);
}

static bool ox_copy_part(ox_skeleton *k, int64_t at, int64_t n)
{
    uint8_t *to = ox_more_bytes(k, (size_t)n);
    return to && ox_copy_bytes(k->from, at, n, to);
}

/* A varint at *at, which moves behind it. */
static bool ox_read_varint(ox_skeleton *k, int64_t *at, int64_t end, uint64_t *v)
{
    int64_t n = end - *at < 10 ? end - *at : 10;
    const uint8_t *p = ox_look(k->from, *at, n);
    const uint8_t *behind = p ? ox_varint(p, p + n, v) : NULL;
    if (!behind) return false;
    *at += behind - p;
    return true;
}

/* A size in 5 bytes, whatever it is: it is put in when it is known. */
static void ox_put_size(uint8_t *to, size_t size)
{
    for (int i = 0; i < 5; i++, size >>= 7)
        to[i] = (uint8_t)((size & 0x7F) | (i < 4 ? 0x80 : 0));
}

static bool ox_leave_out(ox_skeleton *k, int64_t at, int64_t size, bool raw)
{
    if (k->n_left_out == k->room_left_out) {
        int32_t room = k->room_left_out ? 2 * k->room_left_out : 64;
        ox_left_out *more = (ox_left_out *)realloc(k->left_out, (size_t)room * sizeof *more);
        if (!more) k->why = ox_no_memory;
        if (!more) return false;
        k->left_out = more;
        k->room_left_out = room;
    }
    ox_left_out *l = &k->left_out[k->n_left_out++];
    l->at = at;
    l->size = size;
    l->raw = raw;
    return true;
}

/* The number of an entry as the doc_string of a tensor: field 12. */
static bool ox_put_number(ox_skeleton *k, int32_t number)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%d", number);
    uint8_t *to = ox_more_bytes(k, (size_t)n + 2);
    if (!to) return false;
    to[0] = 12 << 3 | 2;
    to[1] = (uint8_t)n;
    memcpy(to + 2, text, (size_t)n);
    return true;
}

/* Copies a message but for the values of its tensors; depth: how deep others may be in it. */
static bool ox_copy_message(ox_skeleton *k, int message, int64_t at, int64_t end, int depth);

/* A field of a size, whose bytes begin at `at` and whose key begins at `key_at`. */
static bool ox_copy_field(ox_skeleton *k, int message, int64_t key_at, int64_t at, int64_t size,
                          uint64_t field, int depth)
{
    int inner = ox_message_in(message, field);
    if (inner == OX_M_NONE) return ox_copy_part(k, key_at, at + size - key_at);
    if (depth == 0) return false;
    uint64_t key = field << 3 | 2;
    uint8_t *to = ox_more_bytes(k, 2 + 5);
    if (!to) return false;
    to[0] = (uint8_t)(key | 0x80);
    to[1] = (uint8_t)(key >> 7);
    size_t begin = k->n;
    if (!ox_copy_message(k, inner, at, at + size, depth - 1)) return false;
    ox_put_size(k->bytes + begin - 5, k->n - begin);
    return k->n - begin <= INT32_MAX;
}

static bool ox_copy_message(ox_skeleton *k, int message, int64_t at, int64_t end, int depth)
{
    int32_t number = -1;
    bool fine = true;
    while (fine && at < end) {
        int64_t key_at = at;
        uint64_t key, size;
        if (!ox_read_varint(k, &at, end, &key)) return false;
        switch (key & 7) {
        case 0:
            fine = ox_read_varint(k, &at, end, &size);
            break;
        case 1:
            at += 8;
            break;
        case 5:
            at += 4;
            break;
        case 2:
            fine = ox_read_varint(k, &at, end, &size) && size <= (uint64_t)(end - at);
            break;
        default:
            return false;
        }
        if (!fine || at > end) return false;
        if ((key & 7) != 2) {
            fine = ox_copy_part(k, key_at, at - key_at);
            continue;
        }

        uint64_t field = key >> 3;
        bool values = field == 9 || field == 4, tensor = message == OX_M_TENSOR;
        if (tensor && values && size >= OX_LEAST_LEFT_OUT) {
            if (number >= 0) k->why = "a tensor has its values twice";
            if (number >= 0) return false;
            number = k->n_left_out;
            fine = ox_leave_out(k, at, (int64_t)size, field == 9);
        } else if (!tensor || field != 12) { /* a doc_string would be a number */
            fine = ox_copy_field(k, message, key_at, at, (int64_t)size, field, depth);
        }
        at += (int64_t)size;
    }
    return fine && (number < 0 || ox_put_number(k, number));
}
