// show.h: how lessons print numbers; nothing here is to be learned. Include it behind samba.h.
#ifndef SHOW_H
#define SHOW_H
#include <stdio.h>

// Number i of a tensor of floats.
static inline double number_at(samba_tensor *t, int i)
{
    return (double)samba_read(t)[i];
}

// A line: a name, a colon, and n numbers of at most so many digits.
static inline void print_numbers(const char *name, const float *x, int n, int digits)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) {
        printf(" %.*g", digits, (double)x[i]);
    }
    printf("\n");
}

// The same of a whole tensor, each number with so many places behind the point.
static inline void print_tensor(const char *name, samba_tensor *t, int places)
{
    printf("%s:", name);
    for (int i = 0; i < samba_count(&t->shape); i++) {
        printf(" %.*f", places, number_at(t, i));
    }
    printf("\n");
}
#endif
