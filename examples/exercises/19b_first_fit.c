// Exercise 19b: places in memory, by first fit.
//
// Tensors that are never alive at the same node may share bytes. They get their places one after
// another, in the order of the list: each one the lowest offset at which it touches no byte of a
// tensor that has its place already and is alive at one of the same nodes.
//
// first and last are the nodes where a tensor's life begins and ends; it is alive at both.
//
// Fill in place: it stores offset[i] for each of n tensors, and returns how many bytes there must
// be in all: the highest byte that any of them uses, plus one.
typedef struct tensor {
    int first, last;
    long bytes;
} tensor;

long place(const tensor *t, int n, long *offset)
{
    (void)t;
    (void)n;
    offset[0] = -1;                                         // your code
    return 0;
}
