// Exercise 19a: how much memory a program needs.
//
// A program is a list of nodes, 0 ... nodes - 1, which run in this order. Each of n tensors is made
// by a node, first, and read for the last time by another, last: it needs memory while these two
// and all nodes between them run. So at each node some tensors are alive, and the program needs as
// much as at the node where they are largest together: the peak. (No result takes the place of its
// input here; the lesson's plan has such, and counts their bytes once.)
//
// Fill in peak: it returns the bytes, and stores in *at the first node at which so many are alive.
typedef struct tensor {
    int first, last;
    long bytes;
} tensor;

long peak(const tensor *t, int n, int nodes, int *at)
{
    (void)t;
    (void)n;
    (void)nodes;
    *at = 0;
    return 0;                                               // your code
}
