// Exercise 01a: where an element lies.
//
// A tensor is one array of floats and a shape. In row-major order the last index runs fastest:
// the shape (2,3) is stored as
//
//     (0,0) (0,1) (0,2) (1,0) (1,1) (1,2)
//
// Fill in offset: the place, in floats from the beginning, of the element at index[0] ...
// index[n-1] of a tensor with n dimensions of sizes shape[0] ... shape[n-1]. A tensor without
// dimensions (n = 0) has one element, at 0.
#include <stdint.h>

int64_t offset(const int *shape, const int *index, int n)
{
    (void)shape;
    (void)index;
    (void)n;
    return -1;                                              // your code
}
