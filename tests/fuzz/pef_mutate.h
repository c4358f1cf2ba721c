// Mutates a PEF by its records, and makes it a file again whose order, sizes and checksums are
// right, so that the verifier has to look at what it says. Most of the time: a file whose frame is
// wrong is an input, too.
#ifndef FUZZ_PEF_MUTATE_H
#define FUZZ_PEF_MUTATE_H

#include "fuzz.h"
#include "samba_private.h"

// As LLVMFuzzerCustomMutator. What is no PEF is mutated as bytes.
size_t pef_mutate(uint8_t *data, size_t size, size_t most, unsigned seed);
// Replaces random fields of the header, and makes the checksums right, or not.
void pef_mutate_header(uint8_t *data, size_t size, fuzz_random *r);
// Makes file size and checksums right.
void pef_seal(uint8_t *data, size_t size);

// Programs to begin with: calls add with their bytes.
void pef_programs(void (*add)(const char *name, const void *bytes, size_t size));

// A program of about size bytes, of kind 0 ... PEF_LARGE_KINDS - 1; to has its bytes.
enum { PEF_LARGE_KINDS = 4 };

const char *pef_large(size_t size, int kind, fuzz_bytes *to);

// Is this a program that runs with at most so many flops, or none at all? *flops: how many.
bool pef_is_small(const uint8_t *data, size_t size, double most_flops, double *flops);

#endif
