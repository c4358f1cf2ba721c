// Hint 1: Begin without stride: a window of 3 on a row of 5 has 3 places, not 2. Draw it.
// Hint 2: Of the row with its zeros, take off what the window covers. That is how far it can move;
//   it stands at the beginning, too, before it moves.
// Hint 3: room = in + 2 padding - (dilation (kernel - 1) + 1); if that is negative, 0; else
//   room / stride + 1.
// Why: Every convolution and pooling has this formula, for height and width apart. Kernel 3 with
//   padding 1 and stride 1 keeps the size; with stride 2 it halves it, rounded up.
// Another way: Count: for (at = 0; at + covered <= whole; at += stride) n++. It is slow, but
//   nobody can forget the + 1.
// A tempting wrong way: To leave out the test for room < 0. C divides towards 0, so -1 / 2 + 1 is 1:
//   a window that does not fit has one place, and reads what is not there.
int output_size(int in, int kernel, int stride, int padding, int dilation)
{
    int room = in + 2 * padding - (dilation * (kernel - 1) + 1);
    if (room < 0) return 0;
    return room / stride + 1;
}
