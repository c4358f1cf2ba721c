// Which tensor owns which bytes while each node runs: together, what samba_device_bytes promises.
#ifndef SAMBA_VIEW_MEMORY_H
#define SAMBA_VIEW_MEMORY_H

#include "model.h"

typedef struct pool {
    const char *name;
    uint64_t bytes;
} pool;

// Bytes of a pool that have one owner while nodes from ... to run.
typedef struct span {
    int32_t pool, from, to;
    uint64_t offset, bytes;
    int32_t tensor; // -1: owner says whose they are
    const char *owner;
} span;

enum { POOL_RUNTIME = N_REGIONS, N_POOLS }; // those before are the regions of the PEF

typedef struct memory_map {
    uint64_t promised; // samba_device_bytes
    pool pools[N_POOLS];
    span *spans;
    int32_t n_spans, cap;
    int32_t peak; // the node with most bytes of temporaries
} memory_map;

bool map_memory(memory_map *map, const model *m, fault *why);
void free_memory_map(memory_map *map);

// Do the spans that live while node i runs fill every pool, with no byte twice? At the peak those
// that are named free fill the gaps; elsewhere what no span has is free.
bool check_memory_map(const memory_map *map, int32_t node, fault *why);

#endif
