// What the targets of tests/fuzz share; README.md there says how to add one.
//
// A target is a C file that defines fuzz_target, below. fuzz.c makes the functions of libFuzzer of
// it (LLVMFuzzerTestOneInput, LLVMFuzzerCustomMutator); without libFuzzer driver.c calls the same.
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What an input may take. Time is the processor's, of the process, so that a busy machine does not
// matter; heap is counted under a sanitizer alone.
typedef struct fuzz_limits {
    double seconds, seconds_per_mb;
    size_t heap, heap_per_byte; // bytes; 0 and 0: not limited
} fuzz_limits;

typedef struct fuzz_target {
    const char *name;
    fuzz_limits limits;
    const char *const *words; // a dictionary: texts that the format knows; ends with NULL
    void (*one)(const uint8_t *data, size_t size);
    // As LLVMFuzzerCustomMutator; NULL: bytes alone are mutated.
    size_t (*mutate)(uint8_t *data, size_t size, size_t most, unsigned seed);
    void (*seeds)(void); // calls fuzz_seed for each input to begin with
    // Inputs that grow: makes one of about size bytes, of kind 0, 1 ..., and says with fuzz_large
    // what it is called. False: there is no such kind. The reader must take linear time for them.
    bool (*large)(size_t size, int kind);
    int (*counted)(long n); // optional: the mode "headers N"; returns an exit code
    size_t most;            // bytes of an input; 0: 65536
} fuzz_target;

extern const fuzz_target fuzz_target_here;

// ---- What targets call ----

// The input is a finding: says why, and ends the process so that the driver keeps it.
void fuzz_fail(const char *format, ...);
// A refusal must say something: a text of ten characters and more, that ends, without control
// characters. what names it.
void fuzz_check_text(const char *text, size_t size, const char *what);
// The path of a file in the folder that is the process's own and goes with it. Of the latest four.
const char *fuzz_path(const char *name);
// Writes such a file and returns its path. It is removed when the input is done; any other file
// that is left there then is a finding.
const char *fuzz_write(const char *name, const void *bytes, size_t size);
// A file that the code under test may leave: it is removed.
void fuzz_allow(const char *name);
// Calls one within these limits, whatever those of the target are; returns the seconds it took.
double fuzz_run(void (*one)(const uint8_t *data, size_t size), const uint8_t *data, size_t size,
                const fuzz_limits *limits);
// More time for this input, such as for arithmetic that it asks for.
void fuzz_allow_seconds(double seconds);

void fuzz_seed(const char *name, const void *bytes, size_t size);
void fuzz_large(const char *kind, const void *bytes, size_t size);

// Random numbers of a mutator, from its seed.
typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;

fuzz_random fuzz_random_from(unsigned seed);
uint32_t fuzz_below(fuzz_random *r, uint32_t n); // 0 ... n - 1
bool fuzz_chance(fuzz_random *r, uint32_t one_in);
// A number that is likely to hurt, near `was` or of `bits` bits.
uint64_t fuzz_number(fuzz_random *r, uint64_t was, int bits);

// Bytes that grow.
typedef struct fuzz_bytes {
    uint8_t *at;
    size_t size, cap;
} fuzz_bytes;

void fuzz_put(fuzz_bytes *b, const void *bytes, size_t size);
void fuzz_put_text(fuzz_bytes *b, const char *text);
void fuzz_print(fuzz_bytes *b, const char *format, ...);
// n bytes from `at` on become the m bytes of with.
void fuzz_replace(fuzz_bytes *b, size_t at, size_t n, const void *with, size_t m);
void fuzz_free(fuzz_bytes *b);

// Mutates text token by token: words of the dictionary, numbers, spans that are copied, dropped,
// repeated. size bytes of at most `most`; returns the new size.
size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t most, unsigned seed);
// Mutates bytes: libFuzzer's, or driver.c's.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

// An input of several files: "=== NAME" and a newline, its bytes, a newline, the next one.
typedef struct fuzz_part {
    char name[60];
    const uint8_t *at;
    size_t size;
} fuzz_part;

int fuzz_parts(const uint8_t *data, size_t size, fuzz_part *parts, int most);
void fuzz_put_part(fuzz_bytes *b, const char *name, const void *bytes, size_t size);
// Mutates one of the files, or what is between them.
size_t fuzz_mutate_parts(uint8_t *data, size_t size, size_t most, unsigned seed,
                         size_t (*mutate)(const char *name, uint8_t *data, size_t size, size_t most,
                                          unsigned seed));

uint64_t fuzz_get(const uint8_t *at, int bytes); // little-endian
void fuzz_set(uint8_t *at, uint64_t value, int bytes);
uint8_t *fuzz_file(const char *path, size_t *size); // malloc'ed; NULL: there is none

#endif
