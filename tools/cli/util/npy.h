// Arrays of NumPy: .npy files of versions 1 to 3, in C order.
#ifndef SAMBA_NPY_H
#define SAMBA_NPY_H

#include "samba.h"
#include "files.h"

typedef struct npy {
    samba_shape shape;
    int64_t n;
    double *values; // whatever type the file has: f4, f8, i1 ... i8, u1 ... u4, b1
} npy;

// False, with a sentence, of a file that is damaged, of another type, or in another order.
bool read_npy(npy *a, const char *path, fault *why);
// The same of the bytes of a file.
bool parse_npy(npy *a, const unsigned char *bytes, size_t size, fault *why);
void free_npy(npy *a);

#endif
