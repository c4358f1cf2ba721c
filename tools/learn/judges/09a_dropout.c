#include "../judge.h"

static unsigned state;
static int asked;
float random_unit(void);

float random_unit(void)
{
    asked++;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f;
}

#include EXERCISE

enum { N = 12 };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

// Of what the values are multiplied by.
enum { RIGHT, NO_SCALE, KEEPS_DROPPED, SHARE_DROPPED, SCALE_BY_P, SCALE_DOWN, SCALE_P, SCALE_ROOT,
       SCALE_PLUS, SCALE_TWICE, COUNTED, DROPPED_STAY, DROPPED_SCALED, ONCE, EVEN_DRAWS, ODD_DRAWS,
       BACKWARDS, RANDOM_FACTOR, IN_HALVES };

static const mistake mistakes[] = {
    { NO_SCALE, "no_scale",
      "what stays is not multiplied by 1 / (1 - p): the sums of the layer become smaller by as "
      "much as is dropped." },
    { KEEPS_DROPPED, "kept_and_dropped",
      "what should stay is dropped, and the other way round: drop where the number is below p." },
    { SHARE_DROPPED, "one_minus_p_dropped",
      "values are dropped with probability 1 - p: p is the share that goes, not that which "
      "stays." },
    { IN_HALVES, "in_halves", "half of the values are dropped, whatever p is: compare with p." },
    { SCALE_BY_P, "one_over_p", "what stays is multiplied by 1 / p. A share of 1 - p stays." },
    { SCALE_DOWN, "scaled_down",
      "what stays is made smaller; it has to make up for what is gone." },
    { SCALE_P, "times_p", "what stays is multiplied by p; it is 1 / (1 - p)." },
    { SCALE_ROOT, "root_of_share",
      "a root was taken: of sums of values the factor is 1 / (1 - p)." },
    { SCALE_PLUS, "one_plus_p",
      "what stays is multiplied by 1 + p. A share of 1 - p stays, and 1 / (1 - p) makes up for "
      "it." },
    { SCALE_TWICE, "scaled_twice", "what stays is multiplied by 1 / (1 - p) twice; once." },
    { COUNTED, "counted",
      "the factor comes from how many values happened to stay. It is 1 / (1 - p), which is right "
      "in the mean and depends on no other value." },
    { DROPPED_STAY, "dropped_unchanged",
      "the values that are dropped are still there, as they were. They become 0." },
    { DROPPED_SCALED, "dropped_scaled",
      "the values that are dropped were multiplied by 1 / (1 - p), and the others not: dropped "
      "values become 0, the others get the factor." },
    { ONCE, "one_number", "one random number decides for all values: ask once for each." },
    { EVEN_DRAWS, "two_numbers",
      "two numbers were drawn for each value, so that the second value has the third number. Ask "
      "once, and keep the result in mask." },
    { ODD_DRAWS, "second_number",
      "two numbers were drawn for each value, and the second one decides. Ask once, and keep the "
      "result in mask." },
    { BACKWARDS, "from_the_end", "the numbers were drawn from the last value to the first." },
    { RANDOM_FACTOR, "random_factor",
      "the values are multiplied by the random number itself. It only decides: 0 or 1 / (1 - p)." },
};

static float factor(float p, int kept, int drop, float number, int e)
{
    float scale = 1 / (1 - p);
    if (e == NO_SCALE) scale = 1;
    if (e == SCALE_BY_P) scale = 1 / p;
    if (e == SCALE_DOWN) scale = 1 - p;
    if (e == SCALE_P) scale = p;
    if (e == SCALE_ROOT) scale = 1 / sqrtf(1 - p);
    if (e == SCALE_PLUS) scale = 1 + p;
    if (e == SCALE_TWICE) scale *= scale;
    if (e == COUNTED) scale = (float)N / (float)kept;
    if (e == RANDOM_FACTOR) return number;
    if (e == DROPPED_STAY && drop) return 1;
    if (e == DROPPED_SCALED) return drop ? scale : 1;
    return drop ? 0 : scale;
}

static void compute(float p, int e, float *mask)
{
    float draw[2 * N];
    int kept = 0;
    state = 7;
    for (int i = 0; i < 2 * N; i++) {
        draw[i] = random_unit();
        kept += i < N && !(draw[i] < p);
    }
    for (int i = 0; i < N; i++) {
        int k = i;
        if (e == ONCE) k = 0;
        if (e == EVEN_DRAWS || e == ODD_DRAWS) k = 2 * i + (e == ODD_DRAWS);
        if (e == BACKWARDS) k = N - 1 - i;
        int drop = draw[k] < (e == IN_HALVES ? 0.5f : p);
        if (e == KEEPS_DROPPED) drop = !drop;
        if (e == SHARE_DROPPED) drop = draw[k] < 1 - p;
        mask[i] = factor(p, kept, drop, draw[k], e);
    }
}

// y is right; what is in mask?
static void check_mask(const float *x, const float *mask, const float *want, int times)
{
    float wrong[N], turned[N], y[N];
    int untouched = 1;
    for (int i = 0; i < N; i++) {
        wrong[i] = want[i] > 0;
        turned[i] = want[i] == 0;
        y[i] = x[i] * want[i];
        untouched &= mask[i] == 99;
    }
    judge_holds(times != 2 * N, "drawn_twice",
                "two numbers were drawn for each value: ask once, and keep the result in mask.");
    judge_holds(times == N, "numbers_drawn",
                "ask random_unit once for each value, also for those that stay.");
    judge_holds(!untouched, "mask_unwritten",
                "y is right, and nothing was written to mask. The backward pass needs it.");
    judge_case("mask, where y is right");
    judge_got(mask, N);
    judge_part("mask", 1, N);
    judge_mistake("mask", "mask has 1 for what stays; it is what the value was multiplied by, "
                  "1 / (1 - p).", wrong, N);
    judge_mistake("mask_of_dropped", "mask has 1 for what was dropped; it is what the value was "
                  "multiplied by: 0 there.", turned, N);
    judge_mistake("mask_is_y", "mask holds y; it is what x was multiplied by, the factor alone.", y,
                  N);
    compute(0, RANDOM_FACTOR, wrong);
    judge_mistake("mask_is_number", "mask holds the random numbers; it is what each value was "
                  "multiplied by.", wrong, N);
    judge_want(want, N, 1e-6);
}

// Of the backward pass.
enum { UNSCALED = 1, WHOLE, INVERTED, FROM_DROPPED, MASK_TWICE, MASK_ALONE, DIVIDED, ADDED };

static const mistake backward_mistakes[] = {
    { UNSCALED, "unscaled_gradient",
      "the gradient of what stayed is passed on without the factor 1 / (1 - p)." },
    { WHOLE, "whole_gradient",
      "dropped values get a gradient, too. They had no part in the loss." },
    { INVERTED, "one_minus_mask", "dy is multiplied by 1 - mask; it is mask, as x was." },
    { FROM_DROPPED, "gradient_of_dropped",
      "the gradient goes to the dropped values and to no other: it is the other way round." },
    { MASK_TWICE, "mask_twice", "mask is in it twice. y = mask x, so dx = mask dy." },
    { MASK_ALONE, "mask_alone", "this is mask. By the chain rule it is multiplied by dy." },
    { DIVIDED, "divided_by_mask", "dy is divided by mask: multiply, as forward." },
    { ADDED, "added", "the gradient is added to what dx held before: = and not +=." },
};

static float gradient(float dy, float mask, int e)
{
    switch (e) {
    case UNSCALED: return mask > 0 ? dy : 0;
    case WHOLE: return dy;
    case INVERTED: return dy * (1 - mask);
    case FROM_DROPPED: return mask > 0 ? 0 : dy;
    case MASK_TWICE: return dy * mask * mask;
    case MASK_ALONE: return mask;
    case DIVIDED: return mask > 0 ? dy / mask : 0;
    case ADDED: return 99 + dy * mask;
    default: return dy * mask;
    }
}

static void check_backward(const float *mask)
{
    float dy[N], want[N], wrong[N], *own = judge_copy(mask, N * sizeof *mask);
    float *dx = judge_room(N, 99);
    int count = (int)(sizeof backward_mistakes / sizeof(mistake));
    for (int i = 0; i < N; i++) {
        dy[i] = (float)(2 * i - 5);
        want[i] = gradient(dy[i], mask[i], RIGHT);
    }
    asked = 0;
    judge_case("the gradient");
    dropout_backward(dy, own, dx, N);
    judge_got(dx, N);
    judge_part("dx", 1, N);
    judge_holds(asked == 0, "drawn_again",
                "the backward pass draws new random numbers. It must use the mask: the loss came "
                "from that one.");
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < N; i++)
            wrong[i] = gradient(dy[i], mask[i], backward_mistakes[k].e);
        judge_mistake(backward_mistakes[k].name, backward_mistakes[k].sentence, wrong, N);
    }
    judge_want(want, N, 1e-6);
    free(own);
    free(dx);
}

static void values(const char *what, float p)
{
    static const float x[N] = { 1, -2, 3, 4, -5, 0, 7, 8, -9, 10, 11, 12 };
    float mask[N], y[N], *own_mask = judge_room(N, 99), *own_y = judge_room(N, 99);
    judge_case(what);
    state = 7;
    asked = 0;
    dropout(x, own_y, own_mask, N, p);
    int times = asked;
    judge_got(own_y, N);
    judge_part("y", 1, N);
    for (unsigned k = 0; k < sizeof mistakes / sizeof(mistake) && p > 0; k++) {
        if (mistakes[k].e == ONCE && times != 1) continue;      // all are kept for another reason
        compute(p, mistakes[k].e, mask);
        for (int i = 0; i < N; i++)
            y[i] = x[i] * mask[i];
        judge_mistake(mistakes[k].name, mistakes[k].sentence, y, N);
    }
    compute(p, RIGHT, mask);
    for (int i = 0; i < N; i++)
        y[i] = x[i] * mask[i];
    judge_want(y, N, 1e-6);
    check_mask(x, own_mask, mask, times);
    check_backward(mask);
    free(own_y);
    free(own_mask);
}

int main(void)
{
    judge_begin();
    values("12 values, p = 0.3", 0.3f);
    values("12 values, p = 0.6", 0.6f);
    values("12 values, p = 0", 0);
    return judge_end();
}
