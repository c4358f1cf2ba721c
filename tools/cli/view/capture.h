// What each tensor held when it was made: statistics, a histogram, and the values that there is
// room for. Temporaries share memory, so this is noted while the nodes run.
#ifndef SAMBA_VIEW_CAPTURE_H
#define SAMBA_VIEW_CAPTURE_H

#include "model.h"

enum { BINS = 32 };

typedef struct snapshot {
    int32_t tensor, step, node, microbatch; // node -1: what it held before any node ran
    int64_t n, zeros, nan, inf;
    double min, max, mean, std; // of what is finite; no_finite: there is nothing
    bool no_finite;
    double low, high; // of the histogram
    int64_t counts[BINS];
    int32_t block; // -1: no value is kept
} snapshot;

// Values, f32 or i32 bits.
typedef struct block {
    int64_t n;
    uint32_t *words;
} block;

// Softmax of the scores of an attention, which the op itself never has in one piece.
typedef struct attention {
    int32_t node, step, block;
    bool causal;
    samba_shape shape; // batch, heads, queries, keys: as many as are kept
    samba_shape whole; // as many as there are
} attention;

typedef struct capture {
    model *m;
    int32_t step, n_steps;
    int64_t most;             // elements that are kept of a tensor, at most
    int64_t attention_budget; // elements for all probabilities of a node, in all steps
    snapshot *snapshots;
    block *blocks;
    attention *attentions;
    int32_t n_snapshots, n_blocks, n_attentions;
    int32_t *now;    // of each symbol: its snapshot in this step; -1: none yet
    int32_t *before; // and its latest one
    int32_t wide;    // a tensor of integers that were not kept, of over 32 bits; -1: none
    bool failed;     // no memory
} capture;

// Prepares for n_steps, of which all values together shall take budget bytes.
bool begin_capture(capture *c, model *m, int32_t n_steps, int64_t budget, fault *why);
// Runs a step, and notes what it makes. False, with the sentence of the run; what was made is kept.
bool capture_step(capture *c, fault *why);
// The same for a run of the caller's, between the two.
void begin_watch(capture *c);
void end_watch(capture *c);
void end_capture(capture *c);

// Read n elements of any type, from element `first` on. As floats, large integers are rounded.
void load_doubles(double *to, const void *from, samba_dtype type, int64_t first, int64_t n);
void load_numbers(float *to, const void *from, samba_dtype type, int64_t first, int64_t n);
bool is_float_type(samba_dtype type);
void take_statistics(snapshot *s, const void *data, samba_dtype type, int64_t n);
int32_t keep_values(capture *c, const float *from, int64_t n); // the new block; -1: no memory
void capture_attention(capture *c, int32_t node, const samba_args *a);

#endif
