// Lesson 2: broadcasting: a small tensor is used again and again, as if it were a larger one.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/02_broadcasting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 02.svg draws.
// New: broadcasting, batch, keepdim. Next: 03_gradient.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"
#include <string.h>

// The temperatures of lesson 1: four days; morning, noon, evening.
static const float celsius[12] = { 8, 15, 10, 9, 18, 12, 10, 20, 15, 7, 13, 10 };

// The shape of a tensor, and its numbers in index order.
static void print(const char *name, samba_tensor *t)
{
    printf("%s (", name);
    for (int i = 0; i < t->shape.ndim; i++) {
        printf(i ? ",%d" : "%d", (int)t->shape.dim[i]);
    }
    printf("):");
    for (int i = 0; i < samba_count(&t->shape); i++) {
        printf(" %g", number_at(t, i));
    }
    printf("\n");
}

// What a library does inside. A stride says how far the next row or column lies (lesson 1). With
// stride 0 one stays where one is, so the same numbers are read again. Nothing is copied.
static void add(const float *a, const int a_stride[2], const float *b, const int b_stride[2],
                float *y)
{
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            float from_a = a[row * a_stride[0] + column * a_stride[1]];
            float from_b = b[row * b_stride[0] + column * b_stride[1]];
            y[row * 3 + column] = from_a + from_b;
        }
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false); // compute at once, as in lesson 1
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 3), celsius);

    // 1. Often one small tensor concerns every row of a large one. At noon the sun warmed the
    //    thermometer by 2 degrees, and in the evening by 1. The correction has one number for each
    //    time, shape (3); the table has (4,3). When they are added, the correction counts for every
    //    day. To repeat a tensor along an axis like this is called broadcasting.
    // > corrected (4,3): 8 13 9 9 16 11 10 18 14 7 11 9
    const float sun[3] = { 0, -2, -1 };
    samba_tensor *correction = samba_from_data_copy(s, "fix", SAMBA_F32, SAMBA_SHAPE(3), sun);
    print("corrected", samba_add(t, correction));

    // 2. One rule says which shapes fit. Write them below each other, the last axes in line. What
    //    is missing on the left counts as 1. In each column the sizes must be equal, or one is 1,
    //    and that one is repeated.
    //
    //    So (3) below (4,3) counts as (1,3), and its one row is used 4 times. Our function add does
    //    it with the strides (3,1) and (0,1).
    // > by hand (4,3): 8 13 9 9 16 11 10 18 14 7 11 9
    const int table_strides[2] = { 3, 1 };
    const int row_strides[2] = { 0, 1 };
    float y[12];
    add(celsius, table_strides, sun, row_strides, y);
    print("by hand", samba_from_data_copy(s, "by hand", SAMBA_F32, SAMBA_SHAPE(4, 3), y));

    // 3. A neural network is a formula with many numbers that are learned. It computes for many
    //    things at once, and broadcasting makes that easy. The days are a batch: things of one kind
    //    that go through the same computation together.
    //
    //    None looks at another, so day 2 alone, a batch of 1, gets the same numbers. But one call
    //    for all is faster: what all share is fetched from memory once.
    //
    //    The batch is axis 0. The rule lines up shapes at the last axis; so what all share, such as
    //    the correction, needs no batch axis, and fits a batch of any size.
    // > day 2 alone (1,3): 10 18 14
    const float *day_2 = celsius + 6;
    samba_tensor *day = samba_from_data_copy(s, "day", SAMBA_F32, SAMBA_SHAPE(1, 3), day_2);
    print("day 2 alone", samba_add(day, correction));

    // 4. The rule can refuse what seems natural: to subtract from each day its mean. The means have
    //    the shape (4); its 4 stands in line with the 3 times. samba_sub returns NULL with an
    //    error, and so do all ops that follow, until it is cleared (lesson 1).
    //
    //    That is luck. With 4 times, (4,4) and (4) would fit: the mean of day 0 would be taken from
    //    all of time 0, without a message.
    // > the shapes differ in dimension 1 of the result; make them equal, or 1 to broadcast
    samba_set_quiet(s, true);
    samba_sub(t, samba_mean(t, SAMBA_AXES(1), false));
    const char *behind_the_op = strchr(samba_error(s), ':') + 2;
    printf("%s\n", behind_the_op);
    samba_clear_error(s);

    // 5. So the means must say that they are a column: (4,1), the axis kept with size 1. That is
    //    the argument called keepdim, here true. Then the 1 meets the 3 and is repeated. In the
    //    result, 0 is the mean of each row.
    //
    //    (Of means that have the shape (4) already, samba_unsqueeze(means, 1) makes a column; it is
    //    a reshape to (4,1).)
    // > means (4,1): 11 13 15 10
    // > deviation (4,3): -3 4 -1 -4 5 -1 -5 5 0 -3 3 0
    samba_tensor *means = samba_mean(t, SAMBA_AXES(1), true);
    samba_tensor *deviation = samba_sub(t, means);
    print("means", means);
    print("deviation", deviation);

    // 6. Sometimes every pair is wanted. A column (3,1) and a row (4) are both repeated, and every
    //    number of one meets every number of the other. Their product is a multiplication table.
    // > table (3,4): 1 2 3 4 2 4 6 8 3 6 9 12
    const float to4[4] = { 1, 2, 3, 4 };
    samba_tensor *column = samba_from_data_copy(s, "column", SAMBA_F32, SAMBA_SHAPE(3, 1), to4);
    samba_tensor *row = samba_from_data_copy(s, "row", SAMBA_F32, SAMBA_SHAPE(4), to4);
    print("table", samba_mul(column, row));

    // 7. The same is a trap, and everybody falls into it once. Let a row (4) be the answers of a
    //    program, and a column (4,1) the numbers that were wanted. They are the same, so the
    //    difference should be 0. But it is a table of all pairs, (4,4). No message says why: print
    //    the shapes.
    //
    //    To learn is often to make such a difference small, by its mean square, the mean of all
    //    squares (lesson 3). A network that makes this one small answers the mean of what is wanted
    //    to everything, and nobody sees why. (That mean is 2.5, too, by chance: the 2.5 below is
    //    the loss, which should be 0.)
    //
    //    The cure is one shape for both: samba_reshape(wanted, SAMBA_SHAPE(4)).
    // > difference (4,4): 0 1 2 3 -1 0 1 2 -2 -1 0 1 -3 -2 -1 0
    // > its mean square (): 2.5
    samba_tensor *wanted = samba_from_data_copy(s, "wanted", SAMBA_F32, SAMBA_SHAPE(4, 1), to4);
    samba_tensor *difference = samba_sub(row, wanted);
    samba_tensor *squares = samba_mul(difference, difference);
    print("difference", difference);
    print("its mean square", samba_mean(squares, SAMBA_ALL_AXES, false));

    // 8. To learn, one asks of each number: if it grows a little, by how much does the result grow
    //    (lesson 3)? For this a network goes back from results to inputs, and broadcasting has a
    //    way back.
    //
    //    Each number of (3) was used in 4 places, one for each day. If it grows by d, 4 results do,
    //    and their sum grows by 4 d. So what was repeated along an axis is summed along that axis.
    //
    //    As an example, take the numbers of deviation for such answers, and bring them back to (3)
    //    and (4,1). An axis that was missing goes (keepdim false), one of size 1 stays (true). From
    //    lesson 4 on, samba.h does all this by itself.
    // > as (3): -15 17 -2
    // > as (4,1): 0 0 0 0
    print("as", samba_sum(deviation, SAMBA_AXES(0), false));
    print("as", samba_sum(deviation, SAMBA_AXES(1), true));

    // 9. The picture shows what warm and cold days hide: when each day's mean is subtracted, the
    //    rows look much alike.
    picture p = picture_open(path, 2, "What is special about a time of day?",
        "Temperatures of four days at three times; beside them, less the mean of each day.");
    picture_axes(&p, 0, 3, 4, 0, "morning, noon, evening: degrees", "day");
    picture_cells(&p, celsius, 4, 3, 20);
    picture_axes(&p, 0, 3, 4, 0, "above (blue) or below the mean of the day", "day");
    picture_cells(&p, samba_read(deviation), 4, 3, 5);
    picture_close(&p);

    // To think about, and to let it print:
    //   Which shape has (5,1,7) + (3,1)? Which pairs fit: (2,3) and (2), (2,3) and (2,1)?
    //   In pictures (32,3,28,28), each of the 3 colours gets a factor of its own. Which shape do
    //   the factors need, and along which axes is summed on the way back?
    //
    // Now you: exercise 02a is step 2, 02b is step 8. `make learn` begins with the first that is
    // open, `tools/learn/learn.sh watch 02a` with 02a.
    return samba_close(s);
}
