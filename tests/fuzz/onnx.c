// ONNX models: imported or refused; what is imported is compiled, and runs.
#include "samba_private.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMORY = 64 << 20, MOST_SEED = 4096, MOST_SEEDS = 1500 };

static const double most_flops = 1e6, flops_a_second = 1e7;

static const char *const words[] = { "Add",
                                     "MatMul",
                                     "Gemm",
                                     "Conv",
                                     "Reshape",
                                     "Shape",
                                     "Gather",
                                     "Concat",
                                     "Slice",
                                     "Constant",
                                     "ConstantOfShape",
                                     "Range",
                                     "Loop",
                                     "If",
                                     "Scan",
                                     "Resize",
                                     "Pad",
                                     "Tile",
                                     "Expand",
                                     "Cast",
                                     "Where",
                                     "NonZero",
                                     "TopK",
                                     "LSTM",
                                     "BatchNormalization",
                                     "Softmax",
                                     "Einsum",
                                     "QuantizeLinear",
                                     "OneHot",
                                     "SequenceAt",
                                     "SplitToSequence",
                                     "Transpose",
                                     "Unsqueeze",
                                     "axis",
                                     "axes",
                                     "perm",
                                     "to",
                                     "value",
                                     "group",
                                     "pads",
                                     "strides",
                                     "mode",
                                     "equation",
                                     "ij,jk->ik",
                                     "body",
                                     "ai.onnx",
                                     "ai.onnx.ml",
                                     "com.microsoft",
                                     "MatMulNBits",
                                     "GroupQueryAttention",
                                     "MultiHeadAttention",
                                     "QLinearConcat",
                                     "TreeEnsembleClassifier",
                                     "SVMClassifier",
                                     "LabelEncoder",
                                     "Resize",
                                     "bits",
                                     "block_size",
                                     "num_heads",
                                     "x",
                                     "y",
                                     NULL };

// ---- Importing ----------------------------------------------------------------------------------

static size_t live;

static void *allocate(size_t size, void *user)
{
    (void)user;
    if (size > MOST_MEMORY || live + size > MOST_MEMORY) return NULL;
    live += size;
    return malloc(size);
}

static void release(void *p, size_t size, void *user)
{
    (void)user;
    live -= size;
    free(p);
}

static void run(samba_session *s, const onnx_graph *g)
{
    samba_program p = { .inference = true, .level = SAMBA_O0 };
    if (g->n_out == 0 || !onnx_set_outputs(g, &p) || !samba_compile(s, &p)) return;
    samba_section section;
    double flops = 0;
    for (int32_t i = 0; samba_describe_section(s, i, &section); i++)
        flops += (double)section.flops;
    samba_clear_error(s);
    if (flops > most_flops) return;
    fuzz_allow_seconds(flops / flops_a_second);
    samba_zero_inputs(s);
    samba_run(s, SAMBA_FWD);
}

static void one(const uint8_t *data, size_t size)
{
    onnx_graph g;
    memset(&g, 0, sizeof g);
    samba_desc d = { .threads = 1, .quiet = true, .alloc = allocate, .release = release };
    onnx_options options = { .max_constant_bytes = 1 << 20 };
    samba_session *s = samba_open(&d);
    if (!s) return;
    bool fine = onnx_register_ops(s) && onnx_trace_bytes(s, data, size, &options, &g);
    if (fine) run(s, &g);
    if (!samba_ok(s)) fuzz_check_text(samba_error(s), 4000, "onnx_trace_bytes");
    if (!fine && samba_ok(s)) fuzz_fail("onnx_trace_bytes fails without an error");
    onnx_release(&g);
    samba_clear_error(s);
    samba_close(s);
    if (live) fuzz_fail("%zu bytes are left", live);
}

// ---- Mutating: fields of protobuf ---------------------------------------------------------------

// https://protobuf.dev/programming-guides/encoding: a field is a varint, number * 8 + kind, then a
// varint (kind 0), 8 bytes (1), a length and so many bytes (2), or 4 bytes (5).
typedef struct field {
    size_t at, body, end; // the whole field; what follows number, and length
    uint64_t number;
    int kind;
} field;

static bool get_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *at < size; shift += 7) {
        uint8_t byte = data[(*at)++];
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static void put_varint(fuzz_bytes *b, uint64_t value)
{
    while (value >= 0x80) {
        uint8_t byte = (uint8_t)(value | 0x80);
        fuzz_put(b, &byte, 1);
        value >>= 7;
    }
    uint8_t byte = (uint8_t)value;
    fuzz_put(b, &byte, 1);
}

// The fields of a message: how many; -1: it is none.
static int read_fields(const uint8_t *data, size_t size, field *fields, int most)
{
    int n = 0;
    for (size_t at = 0; at < size; n++) {
        uint64_t key, value;
        if (n == most) return n;
        field *f = &fields[n];
        f->at = at;
        if (!get_varint(data, size, &at, &key) || key >> 3 == 0) return -1;
        f->number = key >> 3;
        f->kind = (int)(key & 7);
        f->body = at;
        if (f->kind == 0 || f->kind == 2) {
            if (!get_varint(data, size, &at, &value)) return -1;
            if (f->kind == 2) f->body = at;
            if (f->kind == 2 && value > size - at) return -1;
            if (f->kind == 2) at += (size_t)value;
        } else if (f->kind == 1 || f->kind == 5) {
            size_t bytes = f->kind == 1 ? 8 : 4;
            if (bytes > size - at) return -1;
            at += bytes;
        } else {
            return -1;
        }
        f->end = at;
    }
    return n;
}

enum { MOST_FIELDS = 64 };

static void mutate_message(fuzz_bytes *to, const uint8_t *data, size_t size, fuzz_random *r,
                           int depth);

// One field, changed: a number, bytes, or a message within.
static void mutate_field(fuzz_bytes *to, const uint8_t *data, const field *f, fuzz_random *r,
                         int depth)
{
    field inner[MOST_FIELDS];
    fuzz_bytes body = { NULL, 0, 0 };
    size_t size = f->end - f->body, at = f->body;
    uint64_t value;
    put_varint(to, f->number << 3 | (uint64_t)f->kind);

    if (f->kind == 0) {
        get_varint(data, f->end, &at, &value);
        put_varint(to, fuzz_number(r, value, 64));
        return;
    }
    bool message
        = f->kind == 2 && size > 0 && read_fields(data + f->body, size, inner, MOST_FIELDS) > 0;
    if (message && !fuzz_chance(r, 10)) {
        mutate_message(&body, data + f->body, size, r, depth + 1);
    } else {
        size_t most = f->kind == 2 ? size + 16 : size;
        uint8_t *room = malloc(most + 1);
        uint32_t n_words = sizeof words / sizeof *words - 1;
        memcpy(room, data + f->body, size);
        size_t now = LLVMFuzzerMutate(room, size, most);
        if (f->kind != 2) now = size;
        const char *word = words[fuzz_below(r, n_words)];
        if (f->kind == 2 && fuzz_chance(r, 3))
            fuzz_put(&body, word, strlen(word));
        else
            fuzz_put(&body, room, now);
        free(room);
    }
    if (f->kind == 2)
        put_varint(to, fuzz_chance(r, 60) ? fuzz_number(r, body.size, 32) : body.size);
    fuzz_put(to, body.at, body.size);
    fuzz_free(&body);
}

static void mutate_message(fuzz_bytes *to, const uint8_t *data, size_t size, fuzz_random *r,
                           int depth)
{
    field fields[MOST_FIELDS];
    int n = read_fields(data, size, fields, MOST_FIELDS);
    if (n < 1 || depth > 12) {
        fuzz_put(to, data, size);
        return;
    }
    int which = (int)fuzz_below(r, (uint32_t)n), other = (int)fuzz_below(r, (uint32_t)n);
    uint32_t how = fuzz_below(r, 12);
    for (int i = 0; i < n; i++) {
        const field *f = &fields[i], *g = &fields[other];
        if (i != which) {
            fuzz_put(to, data + f->at, f->end - f->at);
        } else if (how == 0) { // dropped
            continue;
        } else if (how == 1) { // twice
            fuzz_put(to, data + f->at, f->end - f->at);
            fuzz_put(to, data + f->at, f->end - f->at);
        } else if (how == 2) { // another one of this message before it
            fuzz_put(to, data + g->at, g->end - g->at);
            fuzz_put(to, data + f->at, f->end - f->at);
        } else if (how == 3 && g->kind == f->kind) { // what another one holds
            put_varint(to, f->number << 3 | (uint64_t)f->kind);
            if (f->kind == 2) put_varint(to, g->end - g->body);
            fuzz_put(to, data + g->body, g->end - g->body);
        } else {
            mutate_field(to, data, f, r, depth);
        }
    }
    size_t rest = fields[n - 1].end;
    fuzz_put(to, data + rest, size - rest);
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    field fields[MOST_FIELDS];
    if (read_fields(data, size, fields, MOST_FIELDS) < 1 || fuzz_chance(&r, 20))
        return LLVMFuzzerMutate(data, size, most);
    for (uint32_t n = 1 + fuzz_below(&r, 3); n > 0; n--) {
        fuzz_bytes b = { NULL, 0, 0 };
        mutate_message(&b, data, size, &r, 0);
        if (b.size > 0 && b.size <= most) {
            memcpy(data, b.at, b.size);
            size = b.size;
        }
        fuzz_free(&b);
    }
    return size;
}

// ---- Seeds, large inputs ------------------------------------------------------------------------

// Makers of models, from the inside out: a message, then as field number `number` of the next.
static void put_bytes_field(fuzz_bytes *b, uint64_t number, const void *bytes, size_t size)
{
    put_varint(b, number << 3 | 2);
    put_varint(b, size);
    fuzz_put(b, bytes, size);
}

static void put_text_field(fuzz_bytes *b, uint64_t number, const char *text)
{
    put_bytes_field(b, number, text, strlen(text));
}

static void put_number_field(fuzz_bytes *b, uint64_t number, uint64_t value)
{
    put_varint(b, number << 3);
    put_varint(b, value);
}

static void put_node(fuzz_bytes *graph, const char *op, const char *in, const char *in_2,
                     const char *out)
{
    fuzz_bytes node = { NULL, 0, 0 };
    put_text_field(&node, 1, in);
    if (in_2) put_text_field(&node, 1, in_2);
    put_text_field(&node, 2, out);
    put_text_field(&node, 4, op);
    put_bytes_field(graph, 1, node.at, node.size);
    fuzz_free(&node);
}

// An input (11) or output (12): f32 (2,3).
static void put_port(fuzz_bytes *graph, uint64_t number, const char *name)
{
    fuzz_bytes info = { NULL, 0, 0 };
    put_text_field(&info, 1, name);
    put_bytes_field(&info, 2, "\x0A\x0C\x08\x01\x12\x08\x0A\x02\x08\x02\x0A\x02\x08\x03", 14);
    put_bytes_field(graph, number, info.at, info.size);
    fuzz_free(&info);
}

static void put_weights(fuzz_bytes *graph, const char *name, size_t n)
{
    static const uint8_t zeros[4096];
    fuzz_bytes t = { NULL, 0, 0 }, raw = { NULL, 0, 0 };
    while (raw.size < 4 * n)
        fuzz_put(&raw, zeros, 4 * n - raw.size < sizeof zeros ? 4 * n - raw.size : sizeof zeros);
    put_number_field(&t, 1, n);
    put_number_field(&t, 2, 1);
    put_text_field(&t, 8, name);
    put_bytes_field(&t, 9, raw.at, raw.size);
    put_bytes_field(graph, 5, t.at, t.size);
    fuzz_free(&t);
    fuzz_free(&raw);
}

static void finish_model(fuzz_bytes *model, fuzz_bytes *graph)
{
    put_text_field(graph, 2, "g");
    put_port(graph, 11, "x");
    put_port(graph, 12, "y");
    put_number_field(model, 1, 8);
    put_bytes_field(model, 7, graph->at, graph->size);
    put_bytes_field(model, 8, "\x0A\x00\x10\x0D", 4); // op set 13
    fuzz_free(graph);
}

static int n_seeds;

// Models of ONNX's own tests, if they are installed.
static void seeds_of(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e = readdir(dir); e && n_seeds < MOST_SEEDS; e = readdir(dir)) {
        char path[600];
        size_t size;
        snprintf(path, sizeof path, "%s/%s/model.onnx", folder, e->d_name);
        uint8_t *bytes = fuzz_file(path, &size);
        if (bytes && size <= MOST_SEED) {
            fuzz_seed(e->d_name, bytes, size);
            n_seeds++;
        }
        free(bytes);
    }
    closedir(dir);
}

static void seeds(void)
{
    fuzz_bytes model = { NULL, 0, 0 }, graph = { NULL, 0, 0 };
    char folder[500];
    const char *data = getenv("ONNX_DATA");
    put_weights(&graph, "w", 3);
    put_node(&graph, "Add", "x", "w", "h");
    put_node(&graph, "Relu", "h", NULL, "y");
    finish_model(&model, &graph);
    fuzz_seed("own", model.at, model.size);
    fuzz_free(&model);
    snprintf(folder, sizeof folder, "%s/node", data ? data : "/usr/share/libonnx-testdata/data");
    seeds_of(folder);
    snprintf(folder, sizeof folder, "%s/simple", data ? data : "/usr/share/libonnx-testdata/data");
    seeds_of(folder);
}

static bool large(size_t size, int kind)
{
    static const char *const titles[] = { "many nodes", "many weights", "a large weight" };
    fuzz_bytes model = { NULL, 0, 0 }, graph = { NULL, 0, 0 };
    char from[40] = "x", to[40];
    if (kind >= 3) return false;
    for (unsigned i = 0; graph.size < size && kind < 2; i++) {
        snprintf(to, sizeof to, "node%u", i);
        if (kind == 0) put_node(&graph, "Relu", from, NULL, to);
        if (kind == 1) put_weights(&graph, to, 3);
        if (kind == 0) strcpy(from, to);
    }
    if (kind == 2) put_weights(&graph, "w", size / 4);
    put_node(&graph, "Relu", from, NULL, "y");
    finish_model(&model, &graph);
    fuzz_large(titles[kind], model.at, model.size);
    fuzz_free(&model);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "onnx",
    .limits = { .seconds = 1, .seconds_per_mb = 50, .heap = 2 * MOST_MEMORY, .heap_per_byte = 100 },
    .words = words,
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 8192,
};
