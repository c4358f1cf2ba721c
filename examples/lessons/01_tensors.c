// Lesson 1: a tensor is a list of numbers and a shape.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/01_tensors.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints. Start at main. New: tensor, shape, axis, stride.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

// Four days, and on each the temperature in the morning, at noon and in the evening. C stores the
// twelve numbers one behind the other; that they are four rows of three is known to nobody but us.
// float celsius[4][3] lies in memory just so, but those sizes are fixed when C compiles.
static const float celsius[12] = {
     8, 15, 10,
     9, 18, 12,
    10, 20, 15,
     7, 13, 10,
};

static void print_shape(const char *name, const samba_tensor *t)
{
    printf("%s: shape (", name);
    for (int32_t i = 0; i < t->shape.ndim; i++) printf(i ? ",%d" : "%d", (int)t->shape.dim[i]);
    printf("), %d numbers\n", (int)samba_count(&t->shape));
}

static void print_row(const char *name, const float *x, int n, int step)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(" %g", (double)x[i * step]);
    printf("\n");
}

// A picture of a matrix, from 7 degrees to 20: the warmer, the darker.
static void draw(const float *x, int rows, int columns)
{
    for (int i = 0; i < rows * columns; i++) {
        char dark = " .:-=+*#%@"[(int)((x[i] - 7) / 13 * 9)];
        printf("%c%c%c%c%s", dark, dark, dark, dark, i % columns == columns - 1 ? "\n" : "");
    }
}

int main(void)
{
    // A session owns its tensors; samba_close frees them all. Messages call a tensor by its name.
    // An op, such as reshape or mean, is a function that makes a new tensor from others.
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);        // ops compute at once; the other way comes in lesson 4
    samba_set_quiet(s, true);           // errors are ours to print

    // 1. With the shape (4,3), the numbers are a matrix. It has two axes, also called dimensions:
    //    axis 0 counts the days, from 0, and axis 1 the times (-1 is the last axis). The product of
    //    the sizes, 4 * 3, is how many numbers there are. F32 is their type: floats of 4 bytes.
    // > celsius: shape (4,3), 12 numbers
    samba_tensor *t = samba_from_data_copy(s, "celsius", SAMBA_F32, SAMBA_SHAPE(4, 3), celsius);
    print_shape("celsius", t);

    // 2. Where does day 2, noon lie, index (2,1)? The last index counts single numbers; one step of
    //    the index before it skips a whole row of 3. So it is number 2 * 3 + 1, counted from 0.
    //    This order is called row-major, and the distances (3,1) are the strides of the shape. With
    //    more axes, too, the stride of an axis is the product of all sizes behind it.
    // > (2,1) is number 7: 20 degrees
    printf("(2,1) is number %d: %g degrees\n", 2 * 3 + 1, (double)samba_read(t)[2 * 3 + 1]);

    // 3. To reshape is to give the list another shape, in the same order. In (2,6), two days share
    //    a row, and number 7 is at (1,1), as 1 * 6 + 1 = 7. The product must stay the same. Else
    //    the op returns NULL, and so do all that follow, until the error is cleared.
    // > reshaped: shape (2,6), 12 numbers
    // > (5,2): shapes do not fit
    print_shape("reshaped", samba_reshape(t, SAMBA_SHAPE(2, 6)));
    samba_reshape(t, SAMBA_SHAPE(5, 2));
    printf("(5,2): %s\n", samba_code_text(samba_error_code(s)));
    samba_clear_error(s);

    // 4. To transpose is to exchange two axes: rows become columns. Day 2, noon is now (1,2), which
    //    is number 1 * 4 + 2: the op copies the numbers in another order, and the first row is the
    //    four mornings. A reshape to (3,4) keeps the order; its first row is a day and a third.
    // > transposed: shape (3,4), 12 numbers
    // > number 6 of it: 20 degrees
    // > mornings: 8 9 10 7
    // > a reshape instead: 8 15 10 9
    samba_tensor *by_time = samba_transpose(t, 0, 1);
    print_shape("transposed", by_time);
    printf("number 6 of it: %g degrees\n", (double)samba_read(by_time)[6]);
    print_row("mornings", samba_read(by_time), 4, 1);
    print_row("a reshape instead", samba_read(samba_reshape(t, SAMBA_SHAPE(3, 4))), 4, 1);

    // 5. It can be had without a copy. In the old list, a next day is 3 numbers away, a next time
    //    1: so read that list with the strides (1,3), those of (4,3) exchanged. (1,2) is number
    //    1 * 1 + 2 * 3 = 7 again. Such a way to read the numbers of another tensor is a view. It
    //    copies nothing, so what is written through one is seen through the other.
    // > a view, stride 3: 8 9 10 7
    print_row("a view, stride 3", samba_read(t), 4, 3);

    // 6. A mean along an axis makes that axis disappear. Along axis 1, the times, (4,3) becomes
    //    (4): a mean for each day. Along axis 0, the days, it becomes (3): one for each time. So
    //    name the axis, or several, that the result should not have. (Why false, says lesson 2.)
    // > mean of each day: 11 13 15 10
    // > mean of each time: 8.5 16.5 11.75
    print_row("mean of each day", samba_read(samba_mean(t, SAMBA_AXES(1), false)), 4, 1);
    print_row("mean of each time", samba_read(samba_mean(t, SAMBA_AXES(0), false)), 3, 1);

    // 7. Along all axes, one number is left, a scalar: its shape () has no axis; (1) still has one.
    // > mean of all: shape (), 1 numbers
    // > it is 12.25
    samba_tensor *all = samba_mean(t, SAMBA_ALL_AXES, false);
    print_shape("mean of all", all);
    printf("it is %g\n", (double)samba_read(all)[0]);

    // 8. The picture: blank is 7 or 8 degrees, @ 20. Noon is the dark column, day 2 the dark row.
    // >     ++++::::
    // > ....####----
    // > ::::@@@@++++
    // >     ====::::
    draw(celsius, 4, 3);

    // Exercises (make learn): 01a is step 2, 01b transposes by strides alone, 01c slices. Then:
    //   What are the strides of the shape (5,2,7)? Which number is (4,0,6), and is it the last one?
    //   32 pictures, each of 3 colours, 28 rows and 28 columns, are a tensor (32,3,28,28). Along
    //   which axes is the mean that gives one brightness for each picture? What shape has it?
    return samba_close(s);
}
