// What samba.c tells the targets of samba.h that is not public.
#ifndef FUZZ_SAMBA_PRIVATE_H
#define FUZZ_SAMBA_PRIVATE_H

#include "samba.h"

// The tables of a PEF, in the order of the file.
enum { FUZZ_HEADER, FUZZ_SYMBOLS, FUZZ_NODES, FUZZ_SECTIONS, FUZZ_WORDS, FUZZ_N_RECORDS };

// A field of a record: where it is, and bytes of each of its numbers.
typedef struct fuzz_field {
    int record;
    const char *name;
    size_t at;
    int bytes, n;
} fuzz_field;

extern const fuzz_field fuzz_fields[];
extern const int fuzz_n_fields;
extern const size_t fuzz_record_size[FUZZ_N_RECORDS];

uint64_t fuzz_hash(const void *bytes, size_t size); // of the tables, and of the data
size_t fuzz_align(size_t size);                     // where data begins behind `size` bytes
uint32_t fuzz_wire(uint32_t which);                 // the number of an op in files
uint32_t fuzz_wire_of(const char *name);

// Calls fn before and after each node of a runtime, which then run one by one.
void fuzz_watch(samba_runtime *rt, samba_node_fn fn, void *user);

// Where a runtime has symbols: from regions on to the end of its memory, and in the file's data.
typedef struct fuzz_memory {
    uint8_t *regions;
    const uint8_t *data;
    size_t data_size;
} fuzz_memory;

fuzz_memory fuzz_memory_of(samba_runtime *rt);
size_t fuzz_scratch(const samba_runtime *rt, int32_t node); // bytes of its scratch
uint64_t fuzz_values(const samba_runtime *rt); // a number for all that outlives the schedule

// What companions use of it: they are compiled beside samba.h here, not with it.
#include <math.h>
#if !defined(SAMBA_IMPLEMENTATION)
#define samba__fma fmaf
#endif

#endif
