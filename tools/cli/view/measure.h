// How long nodes and sections take, and what this machine can do at most.
#ifndef SAMBA_VIEW_MEASURE_H
#define SAMBA_VIEW_MEASURE_H

#include "model.h"

typedef struct times {
    double *node, *section; // seconds for one microbatch, medians of runs
    int32_t runs;
} times;

typedef struct machine {
    char name[128];
    int32_t threads;
    double gflops, gbytes; // of a product of matrices; read and written by a copy
} machine;

bool measure_times(times *t, model *m, int32_t runs, fault *why);
void free_times(times *t);
bool measure_machine(machine *m, int32_t threads, fault *why);

#endif
