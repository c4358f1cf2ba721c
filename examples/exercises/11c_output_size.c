// Exercise 11c: how large the result of a convolution is.
//
// A window of `kernel` numbers slides over a row of `in` numbers, which has got `padding` zeros on
// each side before. It moves by `stride` from one place to the next. With dilation d, its numbers
// are d apart, so that it covers d (kernel - 1) + 1 places of the row. It must lie within the row
// with its zeros as a whole.
//
// Fill in output_size: at how many places the window stops; 0 if it fits nowhere.
int output_size(int in, int kernel, int stride, int padding, int dilation)
{
    (void)in;
    (void)kernel;
    (void)stride;
    (void)padding;
    (void)dilation;
    return -1;                                              // your code
}
