/* schedule.h - learning rates that change while a program trains: SambaNova's schedules.

   Needs nothing. `#define SAMBA_SCHEDULE_IMPLEMENTATION` in one file enables the code;
   SAMBA_SCHEDULE_STATIC makes all functions private to the file. C99 or C++11.

       samba_schedule rate = { .name = "cosine_schedule_with_warmup", .learning_rate = 1e-3,
                               .warmup_steps = 100, .max_steps = 10000 };
       for (int step = 0; step < rate.max_steps; step++) {
           samba_set(s, "lr", samba_schedule_at(&rate, step));      // hyperparam_dict={"lr": ...}
           samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
       }

   The names are those of --lr_schedule:
     fixed_lr                                 learning_rate, after the warm-up
     polynomial_decay_schedule_with_warmup    falls as (1 - t)^power to end_learning_rate
     cosine_schedule_with_warmup              falls as (1 + cos(pi t)) / 2 to end_learning_rate
   with t from 0 after the warm-up to 1 at max_steps. Warming up, the rate rises in equal steps,
   and the first one is not 0. */
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
    double power; /* of the polynomial, at least 0; default 1: a line;
                     SAMBA_ZERO: 0, a step at the end */
} samba_schedule;

/* Is there a schedule of this name? NULL is fixed_lr. */
SAMBA_SCHEDULE_API bool samba_schedule_known(const char *name);
/* The rate of a step, which count from 0. Of an unknown name or a negative power: NaN, which
   samba_set refuses. */
SAMBA_SCHEDULE_API double samba_schedule_at(const samba_schedule *schedule, int32_t step);

#endif /* SAMBA_SCHEDULE_H */

#if defined(SAMBA_SCHEDULE_IMPLEMENTATION) && !defined(SAMBA_SCHEDULE__IMPLEMENTED)
#define SAMBA_SCHEDULE__IMPLEMENTED

#include <math.h>
#include <string.h>

typedef enum samba_schedule__kind {
    SAMBA_SCHEDULE__FIXED,
    SAMBA_SCHEDULE__POLYNOMIAL,
    SAMBA_SCHEDULE__COSINE,
    SAMBA_SCHEDULE__UNKNOWN
} samba_schedule__kind;

static inline samba_schedule__kind samba_schedule__kind_of(const char *name)
{
    if (!name || !strcmp(name, "fixed_lr")) return SAMBA_SCHEDULE__FIXED;
    if (!strcmp(name, "polynomial_decay_schedule_with_warmup")) return SAMBA_SCHEDULE__POLYNOMIAL;
    if (!strcmp(name, "cosine_schedule_with_warmup")) return SAMBA_SCHEDULE__COSINE;
    return SAMBA_SCHEDULE__UNKNOWN;
}

SAMBA_SCHEDULE_API bool samba_schedule_known(const char *name)
{
    return samba_schedule__kind_of(name) != SAMBA_SCHEDULE__UNKNOWN;
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
    if (kind == SAMBA_SCHEDULE__POLYNOMIAL) left = pow(1.0 - t, power);
    if (kind == SAMBA_SCHEDULE__COSINE) left = 0.5 * (1.0 + cos(pi * t));
    return end + (rate - end) * left;
}
#endif /* SAMBA_SCHEDULE_IMPLEMENTATION */
/* MIT license, as samba.h. */
