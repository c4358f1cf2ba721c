// How fast a forward pass is.
#ifndef SAMBA_RUN_BENCHMARK_H
#define SAMBA_RUN_BENCHMARK_H

#include "program.h"

// Runs it n times behind some that warm it up, and prints what they took.
bool run_benchmark(program *p, int64_t n, bool json, fault *why);

#endif
