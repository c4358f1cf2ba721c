// Hint 1: In which order must the nodes be visited, so that a node's gradient is complete before it
//   is passed on?
// Hint 2: From the last to the first: all users of a node stand behind it.
// Hint 3: Zero all gradients, set the last to 1; then for i = n - 1 ... 0 add to grad[a] and
//   grad[b].
// Why: The chain rule for several paths: the small changes that reach the result on different paths
//   add up. So each use adds (+=), and x * x gets x twice, which makes 2 x.
// Another way: Recursion from the result, in an order found by depth-first search. It is needed
//   when nodes are not in a list. micrograd does it so.
// A tempting wrong way: grad[a] = ... instead of +=. It is right for every graph without a value
//   that is used twice, and so for most first tests.
enum { LEAF, ADD, MUL };
typedef struct node {
    int op, a, b;
    float value;
} node;

void backward(const node *nodes, int n, float *grad)
{
    for (int i = 0; i < n; i++) grad[i] = 0.0f;
    grad[n - 1] = 1.0f;
    for (int i = n - 1; i >= 0; i--) {
        const node *x = &nodes[i];
        if (x->op == ADD) {
            grad[x->a] += grad[i];
            grad[x->b] += grad[i];
        } else if (x->op == MUL) {
            grad[x->a] += grad[i] * nodes[x->b].value;
            grad[x->b] += grad[i] * nodes[x->a].value;
        }
    }
}
