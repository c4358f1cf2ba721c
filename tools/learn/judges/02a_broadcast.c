#include "../judge.h"
#include EXERCISE

enum { M = 3, N = 4 };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const float x[M * N] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static const float b[N] = { 100, 250, 300, 470 };
static const float dy[M * N] = { 1, 2, 4, 8, 16, 32, 64, 128, 0.5f, 0.25f, 0.125f, 3 };

// ---- Forward ----
enum { RIGHT, ROW_INDEX, FIRST, FLAT, LAST_ROW, ADDED, ONLY_B, ONLY_X, TIMES, MINUS, X_MINUS_B,
       FIRST_X, BY_M, SUM_OF_B, COLUMNS };

static const mistake of_y[] = {
    { ROW_INDEX, "row_index",
      "each row gets one number of b, its own. b belongs to the columns: element (i,j) gets "
      "b[j]." },
    { FIRST, "first_element", "all elements get b[0]; element (i,j) gets b[j]." },
    { FLAT, "first_row", "only the first row gets b: it is repeated for all rows." },
    { LAST_ROW, "last_row", "only the last row gets b: it is repeated for all rows." },
    { ADDED, "added_to_y",
      "the sum is added to what y held before, += for =. Here y held other numbers." },
    { ONLY_B, "only_b", "each row is b; x is not in it." },
    { ONLY_X, "only_x", "this is x; b is not added." },
    { TIMES, "multiplied", "x and b are multiplied; they are added." },
    { MINUS, "b_minus_x", "this is b - x; it is x + b." },
    { X_MINUS_B, "subtracted", "b is subtracted; it is added." },
    { FIRST_X, "x_row_0",
      "all rows are those of row 0 of x: element (i,j) of x lies at i n + j." },
    { BY_M, "steps_of_m",
      "a row of x is taken as m floats long. It has n: element (i,j) lies at i n + j." },
    { SUM_OF_B, "sum_of_b", "each element gets the sum of b; element (i,j) gets b[j] alone." },
    { COLUMNS, "by_columns",
      "x is read by columns, at j m + i. It is row-major: element (i,j) lies at i n + j." },
};

static void compute_y(int e, float *y)
{
    for (int k = 0; k < M * N; k++) {
        int i = k / N, j = k % N;
        float a = x[k], add = b[e == ROW_INDEX ? i : j];
        if (e == FIRST) add = b[0];
        if (e == FIRST_X) a = x[j];
        if (e == BY_M) a = x[i * M + j];
        if (e == COLUMNS) a = x[j * M + i];
        if (e == SUM_OF_B) add = b[0] + b[1] + b[2] + b[3];
        if ((e == FLAT && i > 0) || (e == LAST_ROW && i < M - 1) || e == ONLY_X) add = 0;
        if (e == ONLY_B || e == MINUS) a = e == MINUS ? -a : 0;
        y[k] = e == TIMES ? a * add : a + (e == X_MINUS_B ? -add : add);
        if (e == ADDED) y[k] += 1000;
    }
}

// ---- Backward ----
enum { ASSIGNED = 1, BY_COLUMNS, MEAN, DIRTY, FIRST_ROW, TWO_ROWS, WITHOUT_0, NEGATIVE, ROWS,
       TOTAL, MEAN_N, TIMES_M };

static const mistake of_db[] = {
    { ASSIGNED, "assigned",
      "only the last row of dy is left: = overwrites what the rows before brought, += adds to "
      "it." },
    { FIRST_ROW, "only_row_0", "this is row 0 of dy alone; b was used by every row." },
    { TWO_ROWS, "without_last_row",
      "the last row of dy is missing: does a loop end one too early?" },
    { WITHOUT_0, "without_row_0", "row 0 of dy is missing: does a loop begin one too late?" },
    { BY_COLUMNS, "by_columns",
      "dy is read as if its columns lay side by side: dy[i * n + j] is row i, column j." },
    { ROWS, "row_sums",
      "these are the sums of rows. db[j] is the sum over all rows i of dy[i][j]: of a column." },
    { TOTAL, "sum_of_all", "each is the sum of all of dy; db[j] is that of column j." },
    { MEAN, "mean",
      "this is the mean over the rows. Nothing was divided forward, so nothing is divided "
      "backward: it is the sum." },
    { MEAN_N, "divided_by_n",
      "the sums are divided by n. Nothing was divided forward, so nothing is divided backward." },
    { TIMES_M, "times_m", "the sums are multiplied by m: each row counts once." },
    { NEGATIVE, "sign", "the sign is turned: y grows when b does." },
    { DIRTY, "not_zeroed",
      "the sums are right, but they were added to what db held before. Set it to zero first." },
};

static void compute_db(int e, float *db)
{
    double all = 0;
    for (int j = 0; j < N && e != ROWS; j++)
        db[j] = e == DIRTY ? 1000 : 0;
    for (int k = 0; k < M * N; k++) {
        int i = k / N, j = k % N;
        float part = dy[e == BY_COLUMNS ? j * M + i : k];
        all += (double)part;
        if ((e == FIRST_ROW && i > 0) || (e == TWO_ROWS && i == M - 1)) continue;
        if (e == WITHOUT_0 && i == 0) continue;
        if (e == MEAN) part /= M;
        if (e == MEAN_N) part /= N;
        if (e == TIMES_M) part *= M;
        if (e == NEGATIVE) part = -part;
        if (e == ROWS) db[i] = (j ? db[i] : 0) + part;
        else db[j] = (e == ASSIGNED ? 0 : db[j]) + part;
    }
    for (int j = 0; j < N && e == TOTAL; j++)
        db[j] = (float)all;
}

// ---- The two functions ----
static void forward(void)
{
    float *own_x = judge_copy(x, sizeof x), *own_b = judge_copy(b, sizeof b), out[M * N];
    float *y = judge_room(M * N, 1000);
    judge_case("add_row of x (3,4) and b (4)");
    add_row(own_x, own_b, y, M, N);
    judge_got(y, M * N);
    judge_part("y", M, N);
    for (unsigned k = 0; k < sizeof of_y / sizeof *of_y; k++) {
        compute_y(of_y[k].e, out);
        judge_mistake(of_y[k].name, of_y[k].sentence, out, M * N);
    }
    compute_y(RIGHT, out);
    judge_want(out, M * N, 0);
    free(own_x);
    free(own_b);
    free(y);
}

static void backward(void)
{
    float *own_dy = judge_copy(dy, sizeof dy), *db = judge_room(N, 1000), out[N];
    judge_case("add_row_gradient of dy (3,4)");
    add_row_gradient(own_dy, db, M, N);
    judge_got(db, N);
    judge_part("db", 1, N);
    for (unsigned k = 0; k < sizeof of_db / sizeof *of_db; k++) {
        memcpy(out, db, sizeof out);            // db[3] is not written if there are m sums
        compute_db(of_db[k].e, out);
        judge_mistake(of_db[k].name, of_db[k].sentence, out, N);
    }
    compute_db(RIGHT, out);
    judge_want(out, N, 1e-6);
    free(own_dy);
    free(db);
}

int main(void)
{
    judge_begin();
    forward();
    backward();
    return judge_end();
}
