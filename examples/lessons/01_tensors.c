// Lesson 1: a tensor is a list of numbers and a shape.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/01_tensors.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints. Start at main.
// New: tensor, shape, stride. Next: 02_broadcasting.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "show.h"

// Four days, and on each the temperature in the morning, at noon and in the evening. C stores the
// twelve numbers one behind the other. That they are four rows of three, only we know.
static const float celsius[12] = {
    8,  15, 10,
    9,  18, 12,
    10, 20, 15,
    7,  13, 10,
};

static void print_shape(const char *name, const samba_tensor *t)
{
    printf("%s: shape (", name);
    for (int i = 0; i < t->shape.ndim; i++) {
        printf(i ? ",%d" : "%d", (int)t->shape.dim[i]);
    }
    printf("), %d numbers\n", (int)samba_count(&t->shape));
}

// The n numbers that lie at 0, step, 2 step, ... of a list.
static void print_every(const char *name, int step, const float *x, int n)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) {
        printf(" %g", (double)x[i * step]);
    }
    printf("\n");
}

// A picture of a matrix, from 7 degrees to 20: the warmer, the darker.
static void draw(const float *x, int rows, int columns)
{
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            float degrees = x[row * columns + column];
            char dark = " .:-=+*#%@"[(int)((degrees - 7) / 13 * 9)];
            printf("%c%c%c%c", dark, dark, dark, dark);
        }
        printf("\n");
    }
}

int main(void)
{
    // Before all else: a session owns its tensors, and samba_close frees them all. An op, such as
    // reshape or mean, is a function that makes a new tensor from others.
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false); // ops compute at once; the other way comes in lesson 4
    samba_set_quiet(s, true);    // errors are ours to print

    // 1. A program must know which number belongs to which day. So the list gets a shape, here
    //    (4,3). Now it is a matrix, a tensor with two axes (also called dimensions): axis 0 counts
    //    the days, from 0, and axis 1 the times. The product of the sizes, 4 * 3, is how many
    //    numbers there are.
    //
    //    The name is for messages. F32 is the type of the numbers: floats of 4 bytes. Doubles would
    //    take twice the memory, and a net errs by far more than a float is rounded by.
    // > celsius: shape (4,3), 12 numbers
    samba_tensor *t = samba_from_data_copy(s, "celsius", SAMBA_F32, SAMBA_SHAPE(4, 3), celsius);
    print_shape("celsius", t);

    // 2. To read a number, one must find it in the list. Where does day 2, noon lie, the index
    //    (2,1)? The last index counts single numbers; a step of the index before it skips a whole
    //    row of 3. So it is number 2 * 3 + 1, counted from 0.
    //
    //    These distances, 3 and 1, are the strides of the shape. With more axes, too, the stride of
    //    an axis is the product of all sizes behind it. This order is called row-major.
    // > (2,1) is number 7: 20 degrees
    int at = 2 * 3 + 1;
    printf("(2,1) is number %d: %g degrees\n", at, number_at(t, at));

    // 3. The same numbers may be wanted in another shape: to reshape is to give the list a new one,
    //    in the same order. In (2,6), two days share a row, and number 7 is now at (1,1), as
    //    1 * 6 + 1 = 7.
    // > reshaped: shape (2,6), 12 numbers
    print_shape("reshaped", samba_reshape(t, SAMBA_SHAPE(2, 6)));

    // 4. Mistakes in shapes are frequent, so look at one. The product must stay 12. If not, the op
    //    returns NULL, and so do all that follow, until the error is cleared.
    // > (5,2): shapes do not fit
    samba_reshape(t, SAMBA_SHAPE(5, 2));
    printf("(5,2): %s\n", samba_code_text(samba_error_code(s)));
    samba_clear_error(s);

    // 5. To have all mornings in a row, transpose: that exchanges two axes, so rows become columns.
    //    Day 2, noon is now at (1,2), which is number 1 * 4 + 2: the op copies the numbers in
    //    another order. A reshape to the same (3,4) keeps the order; its first row is a day and a
    //    third.
    // > transposed: shape (3,4), 12 numbers
    // > number 6 of it: 20 degrees
    // > mornings: 8 9 10 7
    // > a reshape instead: 8 15 10 9
    samba_tensor *by_time = samba_transpose(t, 0, 1);
    print_shape("transposed", by_time);
    printf("number 6 of it: %g degrees\n", number_at(by_time, 6));
    print_every("mornings", 1, samba_read(by_time), 4);

    samba_tensor *not_by_time = samba_reshape(t, SAMBA_SHAPE(3, 4));
    print_every("a reshape instead", 1, samba_read(not_by_time), 4);

    // 6. Copies cost time and memory, and strides can save them. In the old list a next day is 3
    //    numbers away, a next time 1. So read that list with the strides (1,3), those of (4,3)
    //    exchanged: (1,2) is number 1 * 1 + 2 * 3 = 7 again.
    //
    //    Such a way to read the numbers of another tensor is a view. What is written through one is
    //    seen through the other. (The reshape of step 3 copied, too: here each op has its result
    //    for itself. In a compiled program, lesson 4, it is a view.)
    // > a view, stride 3: 8 9 10 7
    print_every("a view, stride 3", 3, samba_read(t), 4);

    // 7. Many questions are about one axis: how warm was each day? A mean along axis 1, the times,
    //    makes that axis disappear, and (4,3) becomes (4). Along axis 0, the days, it becomes (3).
    //    So name the axis that the result should not have. (Why false, says lesson 2.)
    // > mean of each day: 11 13 15 10
    // > mean of each time: 8.5 16.5 11.75
    print_every("mean of each day", 1, samba_read(samba_mean(t, SAMBA_AXES(1), false)), 4);
    print_every("mean of each time", 1, samba_read(samba_mean(t, SAMBA_AXES(0), false)), 3);

    // 8. And how warm was it at all? Along all axes, one number is left, a scalar. Its shape () has
    //    no axis, and the product of no sizes is 1.
    // > mean of all: shape (), 1 numbers
    // > it is 12.25
    samba_tensor *all = samba_mean(t, SAMBA_ALL_AXES, false);
    print_shape("mean of all", all);
    printf("it is %g\n", number_at(all, 0));

    // 9. A picture often shows what numbers hide. Blank is 7 or 8 degrees, @ is 20: noon is the
    //    dark column, day 2 the dark row.
    // >     ++++::::
    // > ....####----
    // > ::::@@@@++++
    // >     ====::::
    draw(celsius, 4, 3);

    // To think about:
    //   What are the strides of the shape (5,2,7)? Which number is (4,0,6), and is it the last one?
    //   32 pictures, each of 3 colours, 28 rows and 28 columns, are a tensor (32,3,28,28). Along
    //   which axes is the mean that gives one brightness for each picture? What shape has it?
    //
    // Now you: exercise 01a is step 2, 01b transposes by strides alone, 01c takes slices, parts
    // such as every second row. `make learn` begins with the first that is open,
    // `tools/learn/learn.sh watch 01a` with 01a.
    return samba_close(s);
}
