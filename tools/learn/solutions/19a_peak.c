// Hint 1: For one node: which tensors are alive, and how many bytes have they together?
// Hint 2: A tensor is alive at node i if first <= i and i <= last: it is being made, or still being
//   read.
// Hint 3: Two loops: over nodes, and in it over tensors, which adds up bytes. Keep the largest sum,
//   and the node, with >, so that the first one stays.
// Why: What a node reads and what it makes must be there at the same time; that is why both ends
//   count. The peak is what a device must have, however large the sum of all tensors is: in a chain
//   of 100 layers it is two neighbours.
// Another way: Events: + bytes at first, - bytes behind last, sorted by time, and a running sum:
//   n log n steps instead of n times nodes.
// A tempting wrong way: To free a tensor before the node that reads it last. In the plan the result
//   then takes its place while it is read: right for a relu, wrong for a product.
typedef struct tensor {
    int first, last;
    long bytes;
} tensor;

long peak(const tensor *t, int n, int nodes, int *at)
{
    long most = 0;
    *at = 0;
    for (int node = 0; node < nodes; node++) {
        long sum = 0;
        for (int i = 0; i < n; i++)
            if (t[i].first <= node && node <= t[i].last) sum += t[i].bytes;
        if (sum > most) {
            most = sum;
            *at = node;
        }
    }
    return most;
}
