// Hint 1: Which nodes can come first? When one of them is computed, what changes for those that
//   need it?
// Hint 2: Count for each node how many edges lead to it. Those with 0 are ready; a node that is put
//   into the order takes 1 from each node that needs it.
// Hint 3: order is also the queue: put all ready nodes at its end, then go through it from the
//   front, and append each node whose count falls to 0. If fewer than n were put in, there is a
//   circle.
// Why: A node enters the order exactly when the last of what it needs has been handled, so it
//   stands behind all of them. In a circle each node waits for another, and no count of them ever
//   becomes 0. This is Kahn's method (1962).
// Another way: Depth-first search: visit what a node needs, then append the node itself. A circle
//   is found when a node is met that is being visited. It is shorter with recursion, and a long
//   graph can use up the stack.
// A tempting wrong way: To append a node as soon as one of its inputs is there. It is right for
//   chains and trees, and wrong where a short and a long way meet: at every residual connection.
typedef struct edge {
    int from, to;
} edge;

int find_order(const edge *edges, int count, int n, int *order)
{
    int waits[64] = { 0 }, end = 0;
    for (int e = 0; e < count; e++) waits[edges[e].to]++;
    for (int i = 0; i < n; i++)
        if (waits[i] == 0) order[end++] = i;
    for (int k = 0; k < end; k++)
        for (int e = 0; e < count; e++)
            if (edges[e].from == order[k] && --waits[edges[e].to] == 0) order[end++] = edges[e].to;
    return end == n ? n : -1;
}
