// Hint 1: How many elements does one step of the first index of (2,3) pass? And of the last?
// Hint 2: A step of index[d] passes as many elements as the dimensions behind d have together.
// Hint 3: Go from left to right and keep a number: times the size of the dimension, plus its
//   index.
// Why: It is how numbers are read. 365 is ((3) 10 + 6) 10 + 5, and here each digit has its own
//   base. This form (Horner's) multiplies n times and needs no table of strides.
// Another way: Go from right to left with stride = 1, add index[d] * stride, then stride *=
//   shape[d]. The strides are what a library stores, because a transposed view has the same data
//   and others.
// A tempting wrong way: offset * shape[d - 1] + index[d]. It is right for square tensors, so
//   tests with 2 x 2 pass.
#include <stdint.h>

int64_t offset(const int *shape, const int *index, int n)
{
    int64_t at = 0;
    for (int d = 0; d < n; d++) at = at * shape[d] + index[d];
    return at;
}
