// Exercise 01c: every second row is a view, too.
//
// A view reads an array through an offset and strides: element (index[0], index[1], ...) lies at
//
//     offset  +  index[0] stride[0]  +  index[1] stride[1]  +  ...
//
// x[start:stop:step] in Python keeps, of one dimension, the indices start, start + step, ... that
// lie before stop; so 1:6:2 of 8 rows keeps rows 1, 3 and 5. No float needs to move for it.
//
// Fill in slice: the view of v with that done to dimension d. The view v may itself be a slice.
// Always 0 <= start <= stop <= shape[d] and step >= 1.
typedef struct view {
    int offset;                                             // where element (0,0,...) lies
    int n;                                                  // dimensions, at most 4
    int shape[4], stride[4];
} view;

view slice(view v, int d, int start, int stop, int step)
{
    (void)d;
    (void)start;
    (void)stop;
    (void)step;                                             // your code
    return v;
}
