// Hint 1: For one tensor: begin at offset 0 and look whether it collides with one that has a place
//   and is alive at the same time. If so, where is the next offset that may do?
// Hint 2: Directly behind the one it collides with. Then look at all of them again, from the first:
//   the new offset may collide with another one.
// Hint 3: Two lives overlap if a.first <= b.last and b.first <= a.last; two places overlap if
//   a < b + size of b and b < a + size of a. Repeat until no tensor moves it.
// Why: A compiler knows before the first run when each tensor lives, so the plan costs nothing
//   later: no malloc, no fragments that grow, and a device can be told its bytes to the last one.
// Another way: Largest tensors first: they find the low places, and small ones fill the gaps. It
//   mostly needs less, as with boxes in a car; the best plan of all is a hard problem (NP-hard).
// A tempting wrong way: To put it behind the highest byte of all that are alive. It is right, but
//   leaves the gaps below unused.
typedef struct tensor {
    int first, last;
    long bytes;
} tensor;

static int collide(const tensor *a, long at_a, const tensor *b, long at_b)
{
    if (a->last < b->first || b->last < a->first) return 0;
    return at_a < at_b + b->bytes && at_b < at_a + a->bytes;
}

long place(const tensor *t, int n, long *offset)
{
    long most = 0;
    for (int i = 0; i < n; i++) {
        long at = 0;
        for (int k = 0; k < i;) {
            if (collide(&t[i], at, &t[k], offset[k])) {
                at = offset[k] + t[k].bytes;
                k = 0;                                      // from the first one again
            } else {
                k++;
            }
        }
        offset[i] = at;
        if (at + t[i].bytes > most) most = at + t[i].bytes;
    }
    return most;
}
