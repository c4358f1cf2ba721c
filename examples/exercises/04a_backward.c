// Exercise 04a: gradients go back through a graph, which is called backpropagation.
//
// A program of additions and products is a list of nodes, each made from earlier ones:
//
//     LEAF        a value that is given
//     ADD         value of a + value of b
//     MUL         value of a * value of b
//
// The derivative of the last node for every node is found backward. The last node has gradient 1. A
// node with gradient g passes on g to both sides of an ADD, and to the sides of a MUL g times the
// value of the other side. A node that is used several times gets the sum of what comes back.
//
// Fill in backward: grad[i] for all n nodes. It may be called again, with the same result.
enum { LEAF, ADD, MUL };
typedef struct node {
    int op, a, b;                                           // a and b: numbers of earlier nodes
    float value;
} node;

void backward(const node *nodes, int n, float *grad)
{
    (void)nodes;
    (void)n;
    grad[0] = 0.0f;                                         // your code
}
