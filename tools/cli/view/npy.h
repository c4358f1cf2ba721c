// Arrays of NumPy: .npy files of versions 1 to 3, in C order.
#ifndef SAMBA_VIEW_NPY_H
#define SAMBA_VIEW_NPY_H

#include "samba.h"
#include "tools/cli/util/files.h"

typedef struct npy {
    samba_shape shape;
    int64_t n;
    double *values; // whatever type the file has: f4, f8, i1 ... i8, u1 ... u4, b1
} npy;

// False, with a sentence, of a file that is damaged, of another type, or in another order.
bool read_npy(npy *a, const char *path, fault *why);
void free_npy(npy *a);

#endif
