/* schedule.h - learning rates that change while a program trains: SambaNova's schedules.

   Needs nothing. `#define SAMBA_SCHEDULE_IMPLEMENTATION` in one file enables the code;
   SAMBA_SCHEDULE_STATIC makes all functions private to the file. C99 or C++11.

       samba_schedule rate = { .name = "cosine_schedule_with_warmup", .learning_rate = 1e-3,
                               .warmup_steps = 100, .max_steps = 10000 };
       for (int step = 0; step < rate.max_steps; step++) {
           samba_set(s, "lr", samba_schedule_at(&rate, step));      // hyperparam_dict={"lr": ...}
           samba_run(s, 0);
       }

   The names are those of --lr_schedule:
     fixed_lr                                 learning_rate, after the warm-up
     polynomial_decay_schedule_with_warmup    falls as (1 - t)^power to end_learning_rate
     cosine_schedule_with_warmup              falls as (1 + cos(pi t)) / 2 to end_learning_rate
   with t from 0 after the warm-up to 1 at max_steps. Warming up, the rate rises in equal steps,
   and the first one is not 0. One more is PyTorch's CosineAnnealingWarmRestarts:
     cosine_annealing_warm_restarts           the same fall, again and again: the first takes
                                              restart_steps (T_0), each further one restart_factor
                                              (T_mult) times as many as the one before it
   All these depend on the step alone, so that a training that resumes needs no more than its step.

   samba_plateau is PyTorch's ReduceLROnPlateau: the rate falls when a loss or another measure has
   not become better for a while. What it remembers is a row of floats. In a buffer that is an
   output of the program, checkpoints hold them, and a training that resumes goes on as if it had
   not stopped:

       samba_tensor *memory
           = samba_buffer(s, "plateau", SAMBA_SHAPE(SAMBA_PLATEAU_FLOATS), 0.0f);
       samba_program program = { .loss = loss, .outputs = { memory }, .optim = optim };
       const samba_plateau plateau = { .learning_rate = 1e-3, .patience = 5 };
       float state[SAMBA_PLATEAU_FLOATS];
       ...                                                          // after each epoch
       samba_copy_out(memory, state, sizeof state);
       samba_set(s, "lr", samba_plateau_next(&plateau, state, validation_loss));
       samba_write(memory, state); */
#ifndef SAMBA_SCHEDULE_H
#define SAMBA_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#ifndef SAMBA_SCHEDULE_API
#if defined(SAMBA_SCHEDULE_STATIC)
#define SAMBA_SCHEDULE_API static inline
#elif defined(__cplusplus)
#define SAMBA_SCHEDULE_API extern "C"
#else
#define SAMBA_SCHEDULE_API extern
#endif
#endif

typedef struct samba_schedule {
    const char *name; /* default fixed_lr */
    double learning_rate;
    double end_learning_rate; /* at max_steps and beyond; default 0 */
    int32_t warmup_steps, max_steps;
    double power;           /* of the polynomial, at least 0; default 1: a line;
                               SAMBA_ZERO: 0, a step at the end */
    int32_t restart_steps;  /* of the first fall, at least 1 */
    int32_t restart_factor; /* default 1: all falls are equally long */
} samba_schedule;

/* When a measure has not become better for more than `patience` times, the rate is multiplied by
   factor. Zero is PyTorch's default; of threshold, cooldown and min_learning_rate SAMBA_ZERO or 0
   is 0. */
typedef struct samba_plateau {
    double learning_rate; /* the first one */
    bool maximize;        /* a larger measure is better; default: a smaller one */
    double factor;        /* below 1; default 0.1 */
    int32_t patience;     /* default 10; -1: none */
    double threshold;     /* how much better is better; default 1e-4 */
    bool absolute;        /* threshold is a difference; default: a part of the best one */
    int32_t cooldown;     /* so many measures after a fall do not count */
    double min_learning_rate;
    double eps; /* a fall by no more than that is left out; default 1e-8 */
} samba_plateau;

enum { SAMBA_PLATEAU_FLOATS = 7 };

/* Is there a schedule of this name? NULL is fixed_lr. */
SAMBA_SCHEDULE_API bool samba_schedule_known(const char *name);
/* The rate of a step, which count from 0. Of an unknown name or a negative power: NaN, which
   samba_set refuses; and so of less than one restart_steps, or a negative restart_factor. */
SAMBA_SCHEDULE_API double samba_schedule_at(const samba_schedule *schedule, int32_t step);
/* Takes a new measure and returns the rate from now on. state has SAMBA_PLATEAU_FLOATS numbers:
   zeros at first, then what the former call left. NaN is not better than anything, as in PyTorch.
   Options that make no sense give NaN, which samba_set refuses, and leave state as it is. */
SAMBA_SCHEDULE_API double samba_plateau_next(const samba_plateau *plateau, float *state,
                                             double measure);

#endif /* SAMBA_SCHEDULE_H */

#if defined(SAMBA_SCHEDULE_IMPLEMENTATION) && !defined(SAMBA_SCHEDULE__IMPLEMENTED)
#define SAMBA_SCHEDULE__IMPLEMENTED

#include <math.h>
#include <string.h>

typedef enum samba_schedule__kind {
    SAMBA_SCHEDULE__FIXED,
    SAMBA_SCHEDULE__POLYNOMIAL,
    SAMBA_SCHEDULE__COSINE,
    SAMBA_SCHEDULE__RESTARTS,
    SAMBA_SCHEDULE__UNKNOWN
} samba_schedule__kind;

static inline samba_schedule__kind samba_schedule__kind_of(const char *name)
{
    if (!name || !strcmp(name, "fixed_lr")) return SAMBA_SCHEDULE__FIXED;
    if (!strcmp(name, "polynomial_decay_schedule_with_warmup")) return SAMBA_SCHEDULE__POLYNOMIAL;
    if (!strcmp(name, "cosine_schedule_with_warmup")) return SAMBA_SCHEDULE__COSINE;
    if (!strcmp(name, "cosine_annealing_warm_restarts")) return SAMBA_SCHEDULE__RESTARTS;
    return SAMBA_SCHEDULE__UNKNOWN;
}

SAMBA_SCHEDULE_API bool samba_schedule_known(const char *name)
{
    return samba_schedule__kind_of(name) != SAMBA_SCHEDULE__UNKNOWN;
}

/* How much of its fall a step has behind it, 0 ... 1; NaN if falls have no length. */
static inline double samba_schedule__of_restart(const samba_schedule *schedule, int64_t step)
{
    int64_t length = schedule->restart_steps;
    int64_t factor = schedule->restart_factor == 0 ? 1 : schedule->restart_factor;
    if (length < 1 || factor < 1) return (double)NAN;

    if (factor == 1) return (double)(step % length) / (double)length;
    while (step >= length) {
        step -= length;
        length *= factor;
    }
    return (double)step / (double)length;
}

SAMBA_SCHEDULE_API double samba_schedule_at(const samba_schedule *schedule, int32_t step)
{
    const double pi = 3.14159265358979324;
    samba_schedule__kind kind = samba_schedule__kind_of(schedule->name);
    double rate = schedule->learning_rate, end = schedule->end_learning_rate, left = 1.0;
    bool given = schedule->power != 0.0 || signbit(schedule->power); /* SAMBA_ZERO has a sign */
    double power = given ? schedule->power : 1.0;
    int32_t warmup = schedule->warmup_steps, falling = schedule->max_steps - warmup;
    if (kind == SAMBA_SCHEDULE__UNKNOWN || !(power >= 0.0)) return (double)NAN;
    if (step < warmup) return rate * (step + 1) / warmup;
    if (kind == SAMBA_SCHEDULE__FIXED) return rate;
    double t = falling > 0 ? (double)(step - warmup) / falling : 1.0;
    if (t > 1.0) t = 1.0;
    if (kind == SAMBA_SCHEDULE__RESTARTS)
        t = samba_schedule__of_restart(schedule, (int64_t)step - warmup);
    if (kind == SAMBA_SCHEDULE__POLYNOMIAL) left = pow(1.0 - t, power);
    if (kind == SAMBA_SCHEDULE__COSINE || kind == SAMBA_SCHEDULE__RESTARTS)
        left = 0.5 * (1.0 + cos(pi * t));
    return end + (rate - end) * left;
}

/* Places in the state of a plateau. A number of 48 bits is two floats, the second of which is what
   the first one leaves. */
enum {
    SAMBA_SCHEDULE__STAGE, /* 0 at first, 1: there is a rate, 2: and a best measure */
    SAMBA_SCHEDULE__RATE,
    SAMBA_SCHEDULE__BEST = SAMBA_SCHEDULE__RATE + 2,
    SAMBA_SCHEDULE__BAD = SAMBA_SCHEDULE__BEST + 2, /* measures since then */
    SAMBA_SCHEDULE__COOLING
};

static inline double samba_schedule__number(const float *state)
{
    return (double)state[0] + (double)state[1];
}

static inline void samba_schedule__keep(float *state, double x)
{
    state[0] = (float)x;
    state[1] = isfinite(state[0]) ? (float)(x - (double)state[0]) : 0.0f;
}

static inline double samba_schedule__or(double x, double otherwise)
{
    return x != 0.0 || signbit(x) ? x : otherwise; /* SAMBA_ZERO has a sign */
}

static inline bool samba_schedule__is_better(const samba_plateau *p, const float *state,
                                             double measure)
{
    double best = samba_schedule__number(state + SAMBA_SCHEDULE__BEST);
    double threshold = samba_schedule__or(p->threshold, 1e-4);
    double sign = p->maximize ? 1.0 : -1.0;
    double wanted = p->absolute ? best + sign * threshold : best * (1.0 + sign * threshold);

    if (state[SAMBA_SCHEDULE__STAGE] < 2.0f) wanted = -sign * (double)INFINITY;
    return p->maximize ? measure > wanted : measure < wanted;
}

SAMBA_SCHEDULE_API double samba_plateau_next(const samba_plateau *plateau, float *state,
                                             double measure)
{
    const samba_plateau *p = plateau;
    double factor = samba_schedule__or(p->factor, 0.1), eps = samba_schedule__or(p->eps, 1e-8);
    int32_t patience = p->patience == 0 ? 10 : p->patience;
    bool sensible = factor >= 0.0 && factor < 1.0 && eps >= 0.0 && p->cooldown >= 0
        && p->threshold >= 0.0 && p->min_learning_rate >= 0.0 && p->learning_rate >= 0.0;
    if (!sensible) return (double)NAN;

    if (state[SAMBA_SCHEDULE__STAGE] == 0.0f) {
        samba_schedule__keep(state + SAMBA_SCHEDULE__RATE, p->learning_rate);
        state[SAMBA_SCHEDULE__STAGE] = 1.0f;
    }

    float *bad = &state[SAMBA_SCHEDULE__BAD], *cooling = &state[SAMBA_SCHEDULE__COOLING];
    *bad += 1.0f;
    if (samba_schedule__is_better(p, state, measure)) {
        samba_schedule__keep(state + SAMBA_SCHEDULE__BEST, measure);
        state[SAMBA_SCHEDULE__STAGE] = 2.0f;
        *bad = 0.0f;
    }
    if (*cooling > 0.0f) {
        *cooling -= 1.0f;
        *bad = 0.0f;
    }

    double rate = samba_schedule__number(state + SAMBA_SCHEDULE__RATE);
    if (*bad <= (float)(patience < 0 ? 0 : patience)) return rate;

    double lower = rate * factor;
    if (lower < p->min_learning_rate) lower = p->min_learning_rate;
    *cooling = (float)p->cooldown;
    *bad = 0.0f;
    if (rate - lower > eps) samba_schedule__keep(state + SAMBA_SCHEDULE__RATE, lower);
    return samba_schedule__number(state + SAMBA_SCHEDULE__RATE);
}
#endif /* SAMBA_SCHEDULE_IMPLEMENTATION */
/* MIT license, as samba.h. */
