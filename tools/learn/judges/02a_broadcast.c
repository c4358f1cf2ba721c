#include "../judge.h"
#include EXERCISE

enum { M = 3, N = 4 };

static const float x[M * N] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static const float b[N] = { 100, 200, 300, 400 };
static const float dy[M * N] = { 1, 2, 4, 8, 16, 32, 64, 128, 0.5f, 0.25f, 0.125f, 3 };

static void forward(void)
{
    float y[M * N + 1], want[M * N], by_row[M * N], first[M * N], flat[M * N], twice[M * N];
    for (int k = 0; k < M * N; k++) {
        want[k] = x[k] + b[k % N];
        by_row[k] = x[k] + b[k / N];
        first[k] = x[k] + b[0];
        twice[k] = 2 * x[k] + b[k % N];
        flat[k] = k < N ? x[k] + b[k] : x[k];
    }
    memset(y, 0, sizeof y);
    memcpy(y, x, sizeof x);
    y[M * N] = 77.0f;
    judge_case("add_row of x (3,4) and b (4)");
    add_row(x, b, y, M, N);
    judge_holds(y[M * N] == 77.0f, "past_the_end",
                "it writes behind the end of y, which has m n "
                "elements.");
    judge_got(y, M * N);
    judge_mistake("row_index",
                  "each row gets one number of b, its own. b belongs to the columns: "
                  "element (i,j) gets b[j].",
                  by_row, M * N);
    judge_mistake("first_element", "all elements get b[0]; element (i,j) gets b[j].", first, M * N);
    judge_mistake("first_row", "only the first row gets b: it is repeated for all rows.", flat,
                  M * N);
    judge_mistake("added_to_y",
                  "the sum is added to what y held before, += for =. Here y held x.", twice, M * N);
    judge_want(want, M * N, 0);
}

static void backward(void)
{
    float db[N], want[N] = { 0, 0, 0, 0 }, last[N], mean[N], dirty[N], columns[N];
    for (int k = 0; k < M * N; k++)
        want[k % N] += dy[k];
    for (int j = 0; j < N; j++) {
        db[j] = 1000.0f;
        columns[j] = dy[j * M] + dy[j * M + 1] + dy[j * M + 2];
        last[j] = dy[(M - 1) * N + j];
        mean[j] = want[j] / M;
        dirty[j] = want[j] + 1000.0f;
    }
    judge_case("add_row_gradient of dy (3,4)");
    add_row_gradient(dy, db, M, N);
    judge_got(db, N);
    judge_mistake("assigned",
                  "only the last row of dy is left: = overwrites what the rows before "
                  "brought, += adds to it.",
                  last, N);
    judge_mistake("by_columns",
                  "dy is read as if its columns lay side by side: dy[i * n + j] is row i, column j.",
                  columns, N);
    judge_mistake("mean",
                  "this is the mean over the rows. Nothing was divided forward, so nothing is "
                  "divided backward: it is the sum.",
                  mean, N);
    judge_mistake("not_zeroed",
                  "the sums are right, but they were added to what db held before. Set "
                  "it to zero first.",
                  dirty, N);
    judge_want(want, N, 1e-6);
}

int main(void)
{
    judge_begin();
    forward();
    backward();
    return judge_end();
}
