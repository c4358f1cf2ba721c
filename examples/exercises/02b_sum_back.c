// Exercise 02b: the way back of any broadcast.
//
// When a tensor of shape `small` takes part where the shape `big` is needed, each of its
// dimensions has either the size of big or the size 1, and those of size 1 are repeated: for big =
// (4,3,5), small may be (4,1,5), (1,3,1), (1,1,1) or (4,3,5). What flows back to an element is the
// sum of what flows back to all of its copies.
//
// Fill in sum_back: dx, of shape small, from dy, of shape big. Both are row-major with n
// dimensions, at most 4. What dx held before does not matter.
void sum_back(const float *dy, const int *big, float *dx, const int *small, int n)
{
    (void)dy;
    (void)big;
    (void)small;
    (void)n;
    dx[0] = -1.0f;                                          // your code
}
