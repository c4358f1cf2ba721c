// Lesson 2: broadcasting: a small tensor is used again and again, as if it were a larger one.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/02_broadcasting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 02.svg draws. New: broadcasting, keepdim.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include <string.h>

static const float celsius[12] = { 8, 15, 10, 9, 18, 12, 10, 20, 15, 7, 13, 10 };  // of lesson 1

static void print(const char *name, samba_tensor *t)       // shape, and numbers in index order
{
    const float *x = samba_read(t);
    printf("%s (", name);
    for (int i = 0; i < t->shape.ndim; i++) printf(i ? ",%d" : "%d", (int)t->shape.dim[i]);
    printf("):");
    for (int i = 0; i < samba_count(&t->shape); i++) printf(" %g", (double)x[i]);
    printf("\n");
}

// What a library does inside. A stride says how far the next row or column lies (lesson 1); stride
// 0 stays where it is, so that the same numbers are read again. Nothing is copied.
static void add(const float *a, const int a_step[2], const float *b, const int b_step[2], float *y)
{
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 3; c++)
            y[r * 3 + c] = a[r * a_step[0] + c * a_step[1]] + b[r * b_step[0] + c * b_step[1]];
}

int main(int argc, char **argv)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);                            // compute at once, as in lesson 1
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 3), celsius);

    // 1. At noon the sun warmed the thermometer by 2 degrees, and in the evening by 1. The
    //    correction has one number for each time, shape (3); the table has (4,3). Added to it, the
    //    row counts for every day. This is called broadcasting: to repeat along an axis.
    // > corrected (4,3): 8 13 9 9 16 11 10 18 14 7 11 9
    const float sun[3] = { 0, -2, -1 };
    samba_tensor *fix = samba_from_data_copy(s, "fix", SAMBA_F32, SAMBA_SHAPE(3), sun);
    print("corrected", samba_add(t, fix));

    // 2. The rule: write both shapes below each other, the last axes in line. What is missing on
    //    the left counts as 1. In each column the two must be equal, or one of them is 1, and that
    //    one is repeated: (3) below (4,3) counts as (1,3), and its one row is used 4 times. The
    //    function add does it with strides (3,1) and (0,1). So do sub, mul and div of samba.h.
    // > by hand (4,3): 8 13 9 9 16 11 10 18 14 7 11 9
    float y[12];
    add(celsius, (int[2]){ 3, 1 }, sun, (int[2]){ 0, 1 }, y);
    print("by hand", samba_from_data_copy(s, "by hand", SAMBA_F32, SAMBA_SHAPE(4, 3), y));

    // 3. The days are a batch: things of one kind, which go through the same computation together.
    //    None looks at another, so day 2 alone, a batch of 1, gets the same numbers. A batch is
    //    axis 0, the first, since the rule begins at the last: what is the same for all, such as
    //    the correction, has no axis for the batch, and fits however many there are.
    // > day 2 alone (1,3): 10 18 14
    samba_tensor *day = samba_from_data_copy(s, "day", SAMBA_F32, SAMBA_SHAPE(1, 3), celsius + 6);
    print("day 2 alone", samba_add(day, fix));

    // 4. Now subtract from each day its mean. The means have the shape (4): in line with the times,
    //    4 against 3 (dimension 1). It is refused, and that is luck: were there 4 times, (4,4) and
    //    (4) would fit, and the mean of day 0 be taken from all of time 0, without a message.
    // > the shapes differ in dimension 1 of the result; make them equal, or 1 to broadcast
    samba_set_quiet(s, true);
    samba_sub(t, samba_mean(t, SAMBA_AXES(1), false));
    printf("%s\n", strchr(samba_error(s), ':') + 2);       // after the op and its inputs
    samba_clear_error(s);

    // 5. The mean must say that it is a column: (4,1), its axis kept, with size 1 (keepdim = true).
    //    Then the 1 meets the 3 and is repeated. In the result, 0 is the mean of each row.
    // > means (4,1): 11 13 15 10
    // > deviation (4,3): -3 4 -1 -4 5 -1 -5 5 0 -3 3 0
    samba_tensor *means = samba_mean(t, SAMBA_AXES(1), true);
    samba_tensor *deviation = samba_sub(t, means);
    print("means", means);
    print("deviation", deviation);

    // 6. A column (3,1) and a row (4) are both repeated: every pair meets. The product of all pairs
    //    is a multiplication table; their difference, without its sign, is a table of distances.
    // > table (3,4): 1 2 3 4 2 4 6 8 3 6 9 12
    const float to4[4] = { 1, 2, 3, 4 };
    samba_tensor *column = samba_from_data_copy(s, "column", SAMBA_F32, SAMBA_SHAPE(3, 1), to4);
    samba_tensor *row = samba_from_data_copy(s, "row", SAMBA_F32, SAMBA_SHAPE(4), to4);
    print("table", samba_mul(column, row));

    // 7. The trap in it: let a row (4) be the answers of a program, and a column (4,1) the numbers
    //    that were wanted. They are the same, so the difference should be 0. But it is a table of
    //    all pairs, (4,4); its mean square is 2.5, and no message says why. So print the shapes.
    // > difference (4,4): 0 1 2 3 -1 0 1 2 -2 -1 0 1 -3 -2 -1 0
    // > its mean square (): 2.5
    samba_tensor *wanted = samba_from_data_copy(s, "wanted", SAMBA_F32, SAMBA_SHAPE(4, 1), to4);
    samba_tensor *difference = samba_sub(row, wanted);
    print("difference", difference);
    print("its mean square", samba_mean(samba_mul(difference, difference), SAMBA_ALL_AXES, false));

    // 8. The way back. Each number of (3) was used in 4 places, one for each day. If it grows by d,
    //    4 results do, and their sum grows by 4 d. So on the way from results back to inputs, the 4
    //    places are added up: what was repeated along an axis is summed along that axis. Here the
    //    deviation is summed, as an example; from lesson 4 on, samba.h does it by itself.
    // > as (3): -15 17 -2
    // > as (4,1): 0 0 0 0
    print("as", samba_sum(deviation, SAMBA_AXES(0), false));
    print("as", samba_sum(deviation, SAMBA_AXES(1), true));

    // 9. The picture: less the mean of their day, the rows look much alike.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "What is special about a time of day?",
        "Temperatures of four days at three times; beside them, less the mean of each day.");
    picture_axes(&p, 0, 3, 4, 0, "morning, noon, evening: degrees", "day");
    picture_cells(&p, celsius, 4, 3, 20);
    picture_axes(&p, 0, 3, 4, 0, "above (blue) or below the mean of the day", "day");
    picture_cells(&p, samba_read(deviation), 4, 3, 5);
    picture_close(&p);

    // Exercises 02a and 02b (make learn) are steps 2 and 8. Then answer, and let it print:
    //   Which shape has (5,1,7) + (3,1)? Which pairs fit: (2,3) and (2), (2,3) and (2,1)?
    //   In pictures (32,3,28,28), each of the 3 colours gets a factor of its own. Which shape do
    //   the factors need, and along which axes is summed on the way back?
    return samba_close(s);
}
