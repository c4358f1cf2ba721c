// ONNX models written byte by byte, as protobuf has them on the wire: field numbers of onnx.proto.
#ifndef WIRE_H
#define WIRE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wire {
    uint8_t *at;
    size_t n, room;
} wire;

static inline void put(wire *w, const void *bytes, size_t n)
{
    if (w->n + n > w->room) {
        w->room = 2 * (w->n + n);
        w->at = realloc(w->at, w->room);
    }
    if (n) memcpy(w->at + w->n, bytes, n);
    w->n += n;
}

static inline void put_varint(wire *w, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        put(w, &(uint8_t){ (uint8_t)(v | 128) }, 1);
    put(w, &(uint8_t){ (uint8_t)v }, 1);
}

static inline void put_int(wire *w, int field, int64_t v)
{
    put_varint(w, (uint64_t)field << 3);
    put_varint(w, (uint64_t)v);
}

static inline void put_float(wire *w, int field, float v)
{
    put_varint(w, (uint64_t)field << 3 | 5);
    put(w, &v, sizeof v);
}

static inline void put_bytes(wire *w, int field, const void *bytes, size_t n)
{
    put_varint(w, (uint64_t)field << 3 | 2);
    put_varint(w, n);
    put(w, bytes, n);
}

static inline void put_text(wire *w, int field, const char *text)
{
    put_bytes(w, field, text, strlen(text));
}

// A message inside of another; it is freed.
static inline void put_message(wire *w, int field, wire inner)
{
    put_bytes(w, field, inner.at, inner.n);
    free(inner.at);
}

// "a b c": each word is one text.
static inline void put_words(wire *w, int field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        put_bytes(w, field, words, n);
        words += n + (words[n] == ' ');
    }
}

// A node without attributes, to be added to: those that follow go into field 5.
static inline wire node(const char *op, const char *inputs, const char *outputs)
{
    wire w = { 0 };
    put_words(&w, 1, inputs);
    put_words(&w, 2, outputs);
    put_text(&w, 4, op);
    return w;
}

static inline void put_int_attribute(wire *node, const char *name, int64_t v)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    put_int(&a, 3, v);
    put_int(&a, 20, 2);
    put_message(node, 5, a);
}

static inline void put_ints_attribute(wire *node, const char *name, int n, const int64_t *values)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        put_int(&a, 8, values[i]);
    put_int(&a, 20, 7);
    put_message(node, 5, a);
}

static inline void put_float_attribute(wire *node, const char *name, float value)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    put_float(&a, 2, value);
    put_int(&a, 20, 1);
    put_message(node, 5, a);
}

static inline void put_text_attribute(wire *node, const char *name, const char *text)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    put_text(&a, 4, text);
    put_int(&a, 20, 3);
    put_message(node, 5, a);
}

// A message as field `field` of an attribute of this type; it is freed.
static inline void put_message_attribute(wire *node, const char *name, int field, int type,
                                         wire message)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    put_message(&a, field, message);
    put_int(&a, 20, type);
    put_message(node, 5, a);
}

static inline void put_tensor_attribute(wire *node, const char *name, wire tensor)
{
    put_message_attribute(node, name, 5, 4, tensor);
}

static inline void put_graph_attribute(wire *node, const char *name, wire graph)
{
    put_message_attribute(node, name, 6, 5, graph);
}

// A ValueInfoProto. dims: "batch 3 ?", numbers, names, or nothing at all; NULL: no shape.
static inline wire value_info(const char *name, int type, const char *dims)
{
    wire info = { 0 }, shape = { 0 }, tensor = { 0 }, kind = { 0 };
    put_text(&info, 1, name);
    for (const char *p = dims ? dims : ""; *p; p += strcspn(p, " "), p += *p == ' ') {
        wire dim = { 0 };
        if ((*p >= '0' && *p <= '9') || *p == '-')
            put_int(&dim, 1, atoll(p));
        else if (*p != '?')
            put_bytes(&dim, 2, p, strcspn(p, " "));
        put_message(&shape, 1, dim);
    }
    put_int(&tensor, 1, type);
    if (dims)
        put_message(&tensor, 2, shape);
    else
        free(shape.at);
    put_message(&kind, 1, tensor);
    put_message(&info, 2, kind);
    return info;
}

// How many elements a tensor of these dimensions has: "2 3"; "": one, a scalar.
static inline size_t elements_of(const char *dims)
{
    size_t n = 1;
    for (const char *p = dims; *p; p += strcspn(p, " "), p += *p == ' ')
        n *= (size_t)atoll(p);
    return n;
}

// A TensorProto with raw data. dims: as of elements_of.
static inline wire shaped_tensor(const char *name, int type, const char *dims, const void *data,
                                 size_t size)
{
    wire t = { 0 };
    for (const char *p = dims; *p; p += strcspn(p, " "), p += *p == ' ')
        put_int(&t, 1, atoll(p));
    put_int(&t, 2, type);
    put_text(&t, 8, name);
    put_bytes(&t, 9, data, size);
    return t;
}

// The same with one dimension; ndim 0: a scalar.
static inline wire tensor_of(const char *name, int type, int ndim, int64_t dim, const void *data,
                             size_t size)
{
    char dims[24] = "";
    if (ndim) snprintf(dims, sizeof dims, "%lld", (long long)dim);
    return shaped_tensor(name, type, dims, data, size);
}

// Two floats that stand in a file of their own.
static inline wire tensor_in_file(const char *name, const char *location)
{
    wire t = { 0 }, entry = { 0 };
    put_int(&t, 1, 2);
    put_int(&t, 2, 1);
    put_text(&t, 8, name);
    put_text(&entry, 1, "location");
    put_text(&entry, 2, location);
    put_message(&t, 13, entry);
    put_int(&t, 14, 1);
    return t;
}

// The model of a graph; it is freed.
static inline wire model_of(wire graph, int64_t opset)
{
    wire m = { 0 }, set = { 0 };
    put_int(&m, 1, 8);
    put_message(&m, 7, graph);
    put_int(&set, 2, opset);
    put_message(&m, 8, set);
    return m;
}

// The model has ops of this domain, too.
static inline void put_op_set(wire *model, const char *domain, int64_t version)
{
    wire set = { 0 };
    put_text(&set, 1, domain);
    put_int(&set, 2, version);
    put_message(model, 8, set);
}

#endif
