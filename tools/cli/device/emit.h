// How NAME.c is made. Each op has an emitter, which writes what stands in the function of its
// section: a call of a function of a piece, mostly, with shapes as constants. Pieces are texts of
// functions; those that are needed are written once, before the sections.
#ifndef SAMBA_DEVICE_EMIT_H
#define SAMBA_DEVICE_EMIT_H

#include "program.h"
#include "writer.h"

enum { MAX_PIECES = 224 };

typedef struct piece {
    const char *name;
    const char *needs; // names of others, with a space behind each
    const char *text;
    int stack; // bytes of arrays in its functions
} piece;

typedef struct emitter {
    const program *p;
    const char *name;      // of the files; all that others see begins with it
    writer body;           // the functions of sections
    writer data;           // tables that emitters make
    bool *used;            // of each symbol: the body names it
    int32_t *first, *last; // of each symbol: the nodes that name it
    int32_t *reads;        // of each symbol, with its views: nodes that read it
    bool *written;         // of each symbol: a node makes it; but running values of inference stay
    bool piece_used[MAX_PIECES];
    int32_t at, end; // the node that is written; the first one behind its section
    int32_t taken;   // nodes that it stands for: itself, and those fused with it
    int n_tables;
    bool inexact;         // --inexact
    bool float16, rounds; // weights of products are stored as halves; --float16-weights
    int32_t *weighs;      // of each symbol: how often it is the weights of a product
    bool trains;          // there is NAME_training
    fault *why;
} emitter;

typedef bool (*emit_function)(emitter *e, const node *n);

typedef struct op_emitter {
    const char *op;
    emit_function emit;
} op_emitter;

// A family: its emitters and its pieces, both ended by a row of NULL. Pieces stand in the order in
// which they are written.
typedef struct family {
    const op_emitter *ops;
    const piece *pieces;
} family;

extern const family math_family, reduce_family, elementwise_family, product_family,
    convolution_family, pooling_family, norm_family, loss_family, optimizer_family, shape_family,
    table_family, rows_norm_family, attention_family, dropout_family, int8_family, bytes_family;

void need(emitter *e, const char *piece);                        // and what it needs
const symbol *in_of(const emitter *e, const node *n, int32_t i); // NULL: absent
const symbol *out_of(const emitter *e, const node *n, int32_t i);
int32_t base_of(const emitter *e, int32_t i); // the symbol whose memory symbol i is
// Sets a word to the C name of symbol i, which is then used; "NULL" for -1.
void set_tensor(emitter *e, const char *word, int32_t i);
const char *tensor_name(emitter *e, int32_t i); // the same name, until the next call
bool has_attr(const node *n, const char *name, int32_t *words, int32_t count);
int32_t attr_of(const node *n, const char *name); // 0 if it has none
float attr_float(const node *n, const char *name);
bool cannot(emitter *e, const node *n, const char *what); // "... cannot write op X with WHAT yet"
// Sets the word w to the weights of a product, input 1 of n.
bool set_weights(emitter *e, const node *n);
bool same_shape(const symbol *a, const symbol *b);
bool is_constant(const emitter *e, int32_t i); // its value is that of the file for ever
// The node behind n reads its output alone, and can write where n writes.
const node *next_alone(const emitter *e, const node *n);
// Takes a relu that follows n: sets the words y (where to write), and relu to 1 or 0.
void take_relu(emitter *e, const node *n);
// Sets the word shape to a table of the shape of a convolution, or of a pooling, of in 0 to out 0.
bool set_conv_shape(emitter *e, const node *n);
bool set_pool_shape(emitter *e, const node *n);
void write_floats(writer *w, const float *x, int64_t n); // what stands between { and }
void write_float(writer *w, float x);                    // as C has it
void float_text(char text[32], float x);
void number_text(emitter *e, char text[32], float x); // or what stands for infinity, or NaN

// Loops over elements, one in the other: i, j, k ... count them. Those before `apart` are not
// merged with others.
enum { MAX_OPERANDS = 8 };

typedef struct loops {
    int n, apart;
    int64_t dim[SAMBA_MAX_DIMS];
} loops;

// A tensor in them: its element start + i * step[0] + j * step[1] ...
typedef struct operand {
    int32_t symbol;
    int64_t start, step[SAMBA_MAX_DIMS];
} operand;

int64_t inner_of(const samba_shape *x, int32_t axis); // elements behind an axis
// How far apart elements of x lie along dimension d of ndim that it is stretched to.
int64_t step_along(const samba_shape *x, int32_t ndim, int32_t d);
// One more loop, in which operand k walks by step[k]; or the last one longer, if that is the same.
void add_loop(loops *l, operand *operands, int n, int64_t dim, const int64_t *step);
// The first ndim dimensions of y, which operands are stretched to.
void add_broadcast(const emitter *e, loops *l, operand *operands, int n, const samba_shape *y,
                   int32_t ndim);
void write_loops(writer *w, const loops *l, int from, int to, bool block); // then a { behind them
void write_element(emitter *e, const operand *o, const loops *l);          // x[i * 12 + j + 3]
void write_pointer(emitter *e, const operand *o, const loops *l);          // x + i * 12 + j + 3

bool is_temporary(const emitter *e, int32_t i); // one that is used
uint64_t bytes_of(const symbol *s);
// Where each temporary lies, in bytes; returns how many bytes all take.
uint64_t place_temporaries(const emitter *e, uint64_t *at);

// How they are written.
typedef struct export_options {
    const char *from;     // the file of the program
    bool inexact;         // a * b + c rounds twice where there is no instruction for it
    bool float16_weights; // weights of products are rounded to halves
} export_options;

// NAME.c and NAME.h. *written is false, and why says what is missing, if they cannot be written:
// old ones are then removed.
bool write_source(const program *p, const char *path, const char *name, const export_options *how,
                  fault *why, bool *written);

#endif
