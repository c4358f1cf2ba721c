// Exercise 04b: in which order a graph is computed.
//
// A graph of n nodes is given as edges: from one node to another that needs it. A node can be
// computed when all nodes that it needs are there, so one looks for an order in which each node
// stands behind all of those. The gradients then go back (exercise 04a) in the same order from its
// end.
//
// Fill in find_order: it writes such an order of all n nodes to order, whichever if there are
// several, and returns n. If nodes need each other in a circle, there is none: return -1. n is at
// most 64.
typedef struct edge {
    int from, to;                                           // `to` needs `from`
} edge;

int find_order(const edge *edges, int count, int n, int *order)
{
    (void)edges;
    (void)count;
    (void)n;
    order[0] = -1;                                          // your code
    return 0;
}
