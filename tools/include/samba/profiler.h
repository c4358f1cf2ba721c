/* profiler.h - where the time goes: SambaFlow's profilers for samba.h, and traces for a viewer.

   Needs samba.h before it. `#define SAMBA_PROFILER_IMPLEMENTATION` in one file enables the code;
   SAMBA_PROFILER_STATIC makes all functions private to the file. Define both
   SAMBA_PROFILER_MALLOC(size) and SAMBA_PROFILER_FREE(p) to allocate elsewhere. C99 or C++11.

       samba_profiler *p = samba_profiler_open(s, 0);
       samba_start_profile(p);                      // before samba_load: to see SAMBA_SET_PEF
       ... load, train
       samba_end_profile(p, "profile.txt");         // each event: count, total, min, max, mean
       samba_profile_trace(p, "trace.json");        // for chrome://tracing or ui.perfetto.dev
       samba_profiler_close(p);                     // before samba_close

   Events, by SambaFlow's names:
     SAMBA_SET_PEF          a PEF is read and proved, by samba_load or samba_compile
     SAMBA_INIT_RUNTIME     memory is laid out and filled
     SAMBA_SESSION_RUN      a run of the whole schedule, or by ids; called with section types it is
                            SAMBA_SESSION_RUN_FWD_BCKWD_OPT and the like
     PyRT_RUN               the sections of a run, without what is around them
     PyRT_GET_TENSORS       samba_cpu, samba_copy_out: one for each tensor
     PyRT_SET_TENSORS       samba_write, samba_rdu
   These happen around a session; give the tool samba_add_event as on_event to see them:
     PyRT_SET_PINNED_INPUT_TENSORS   loader.h puts a batch into pinned memory, in its thread
     PyRT_GET_TENSORS_GATHER         parallel.h reads a tensor of all replicas
     PyRT_SET_TENSORS_BROADCAST      parallel.h gives all replicas the same values */
#ifndef SAMBA_PROFILER_H
#define SAMBA_PROFILER_H

#ifndef SAMBA_H
#error "profiler.h: include samba.h before"
#endif

#ifndef SAMBA_PROFILER_API
#if defined(SAMBA_PROFILER_STATIC)
#define SAMBA_PROFILER_API static inline
#elif defined(__cplusplus)
#define SAMBA_PROFILER_API extern "C"
#else
#define SAMBA_PROFILER_API extern
#endif
#endif

typedef struct samba_profiler samba_profiler;

/* The figures of an event, in seconds. */
typedef struct samba_event_stats {
    int64_t count;
    double total, min, max, mean;
} samba_event_stats;

/* The latencies of an event, in seconds, and what they mean for batches. */
typedef struct samba_performance {
    int32_t count;
    double mean, best, p50, p99; /* p50: half of them are no longer; p99: 99 % */
    double throughput;           /* samples per second */
} samba_performance;

/* A profiler of s, one at a time; s must not be closed before it. It takes all its memory here: for
   the newest n_events events (default 65536, of 24 bytes), while figures count all of them. Costs
   nothing until it is started. NULL with an error in s. */
SAMBA_PROFILER_API samba_profiler *samba_profiler_open(samba_session *s, int32_t n_events);
SAMBA_PROFILER_API void samba_profiler_close(samba_profiler *p);

/* start_samba_profile, end_samba_profile: begins to count anew; stops, and writes what
   samba_print_profile says to a file unless it is NULL. The figures stay until the next start. */
SAMBA_PROFILER_API void samba_start_profile(samba_profiler *p);
SAMBA_PROFILER_API bool samba_end_profile(samba_profiler *p, const char *file);
/* SAMBA_PROFILE(p, "profile.txt") { ... } is a start, the block, and an end; do not leave the block
   by break, goto or return. */
#define SAMBA_PROFILE(p, file) \
    for (bool samba_profiler__open = (samba_start_profile(p), true); samba_profiler__open; \
         samba_profiler__open = (samba_end_profile(p, file), false))
/* A line for each event that happened, and the names of SambaFlow's events that did not. If most
   runs are followed by several copies to the host, advice: that is what makes loops slow. */
SAMBA_PROFILER_API void samba_print_profile(const samba_profiler *p, samba_emit_fn emit,
                                            void *user);

/* An event of your own. Events nest; what does not is counted and reported. */
SAMBA_PROFILER_API void samba_begin_event(samba_profiler *p, const char *name);
SAMBA_PROFILER_API void samba_end_event(samba_profiler *p, const char *name);
/* An event that is over, between two times of samba_seconds, perhaps in another thread. Call it in
   the session's. For on_event of loader.h and parallel.h, with the profiler as their event_user. */
SAMBA_PROFILER_API void samba_add_event(const char *name, double begin, double end, void *profiler);

/* By name; of sections by their type, such as FWD. Zeros if there was none. */
SAMBA_PROFILER_API samba_event_stats samba_profile_stats(const samba_profiler *p, const char *name);
/* The seconds each one took, but for the first `skip`. Fills up to cap, returns how many it has. */
SAMBA_PROFILER_API int32_t samba_profile_latencies(const samba_profiler *p, const char *name,
                                                   int32_t skip, double *seconds, int32_t cap);
/* The same, summed up. With batch_size 0 there is no throughput. */
SAMBA_PROFILER_API samba_performance samba_profile_performance(const samba_profiler *p,
                                                               const char *name, int32_t skip,
                                                               int32_t batch_size);

/* start_runtime_profile, end_runtime_profile: what the device does. The environment variable
   ENABLE_RUNTIME_PERF decides: SUMMARY writes the total of each type of section, DETAILED each call
   id that ran, with begin and end, too; without it both do nothing. The timer prints the seconds
   between them. start returns whether it is on; log_file NULL: cprofile_tmp.log. */
SAMBA_PROFILER_API bool samba_start_runtime_profile(samba_profiler *p, bool timer_enabled);
SAMBA_PROFILER_API bool samba_end_runtime_profile(samba_profiler *p, const char *log_file);

/* Writes all events that are kept, of both profilers, in the Trace Event Format (JSON). */
SAMBA_PROFILER_API bool samba_profile_trace(const samba_profiler *p, const char *file);

#endif /* SAMBA_PROFILER_H */

#if defined(SAMBA_PROFILER_IMPLEMENTATION) && !defined(SAMBA_PROFILER__IMPLEMENTED)
#define SAMBA_PROFILER__IMPLEMENTED

#include "base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef SAMBA_PROFILER_MALLOC
#define SAMBA_PROFILER_MALLOC(size) malloc(size)
#define SAMBA_PROFILER_FREE(p) free(p)
#endif

enum { SAMBA_PROFILER__NAMES = 64, SAMBA_PROFILER__DEPTH = 32, SAMBA_PROFILER__EVENTS = 65536 };

typedef struct samba_profiler__event {
    double begin, end;
    int32_t name;
    int32_t section; /* its id; -1: no section; -2: nor of this thread */
} samba_profiler__event;

/* Sections and other events of one name are two. */
typedef struct samba_profiler__name {
    char text[80];
    bool section;
} samba_profiler__name;

/* One of the two: of the session, of the runtime. */
typedef struct samba_profiler__profile {
    bool on;
    double began, ended;
    int64_t first, last; /* its events, counted as they end; last is one behind */
    samba_event_stats stats[SAMBA_PROFILER__NAMES]; /* without the means */
} samba_profiler__profile;

struct samba_profiler {
    samba_session *session;
    double opened;
    samba_profiler__profile front, runtime;
    bool detailed, timer; /* of the runtime's */
    samba_profiler__name names[SAMBA_PROFILER__NAMES];
    int32_t n_names;
    samba_profiler__event open[SAMBA_PROFILER__DEPTH]; /* begun, not ended */
    int32_t depth;
    int64_t unbalanced;                       /* begun and never ended, or ended and never begun */
    int64_t n_runs, n_copies, n_copied_often; /* runs; copies since the last one; runs with
                                         more than one copy behind them */
    samba_profiler__event *events;            /* a ring */
    int64_t n_events, capacity;               /* ended so far; kept at most */
};

/* ---- Recording: nothing here allocates ---- */

/* The number of a name. The last one stands for all for which there is no room. */
static inline int32_t samba_profiler__name_of(samba_profiler *p, const char *text, bool section)
{
    samba_profiler__name *name = p->names;
    const size_t most = sizeof name->text - 1;
    int32_t i = 0;
    for (; i < p->n_names; i++, name++)
        if (name->section == section && !strncmp(name->text, text, most)) return i;
    if (i == SAMBA_PROFILER__NAMES) return i - 1;
    samba_base_format(name->text, sizeof name->text, "%.*s", (int)most,
                      i < SAMBA_PROFILER__NAMES - 1 ? text : "(others)");
    name->section = section;
    p->n_names++;
    return i;
}

static inline void samba_profiler__add(samba_profiler__profile *profile,
                                       const samba_profiler__event *e)
{
    samba_event_stats *sum = &profile->stats[e->name];
    double seconds = e->end - e->begin;
    if (!profile->on || e->begin < profile->began) return;
    if (!sum->count || seconds < sum->min) sum->min = seconds;
    if (!sum->count || seconds > sum->max) sum->max = seconds;
    sum->total += seconds;
    sum->count++;
}

static inline void samba_profiler__begin(samba_profiler *p, const char *name, int32_t section)
{
    if (p->depth == SAMBA_PROFILER__DEPTH) {
        p->unbalanced++;
        return;
    }
    samba_profiler__event *e = &p->open[p->depth++];
    e->name = samba_profiler__name_of(p, name, section >= 0);
    e->section = section;
    e->begin = samba_seconds();
}

/* Counts copies to the host between runs; what a run itself fetches is one transfer. */
static inline void samba_profiler__count(samba_profiler *p, const char *name)
{
    for (int32_t i = 0; i < p->depth; i++)
        if (!strncmp(p->names[p->open[i].name].text, "SAMBA_SESSION_RUN", 17)) return;
    if (!strncmp(name, "SAMBA_SESSION_RUN", 17)) {
        p->n_runs++;
        p->n_copies = 0;
    }
    if (strcmp(name, "PyRT_GET_TENSORS") != 0 || !p->n_runs) return;
    p->n_copied_often += ++p->n_copies == 2;
}

/* Ends the innermost event of this name; those within it that were not ended are dropped. */
static inline void samba_profiler__end(samba_profiler *p, const char *name, int32_t section)
{
    double now = samba_seconds();
    int32_t name_id = samba_profiler__name_of(p, name, section >= 0), k = p->depth - 1;
    while (k >= 0 && (p->open[k].name != name_id || p->open[k].section != section))
        k--;
    p->unbalanced += k < 0 ? 1 : p->depth - 1 - k;
    if (k < 0) return;
    samba_profiler__event *e = &p->open[k];
    p->depth = k;
    e->end = now;
    p->events[p->n_events++ % p->capacity] = *e;
    samba_profiler__add(&p->front, e);
    samba_profiler__add(&p->runtime, e);
    if (section < 0) samba_profiler__count(p, name);
}

static inline void samba_profiler__told(const char *name, int32_t section, bool begins, void *user)
{
    samba_profiler *p = (samba_profiler *)user;
    if (begins)
        samba_profiler__begin(p, name, section);
    else
        samba_profiler__end(p, name, section);
}

SAMBA_PROFILER_API void samba_begin_event(samba_profiler *p, const char *name)
{
    if (p && name && (p->front.on || p->runtime.on)) samba_profiler__begin(p, name, -1);
}

SAMBA_PROFILER_API void samba_end_event(samba_profiler *p, const char *name)
{
    if (p && name && (p->front.on || p->runtime.on)) samba_profiler__end(p, name, -1);
}

SAMBA_PROFILER_API void samba_add_event(const char *name, double begin, double end, void *profiler)
{
    samba_profiler *p = (samba_profiler *)profiler;
    samba_profiler__event e = { begin, end, 0, -2 };
    if (!p || !name || (!p->front.on && !p->runtime.on)) return;
    e.name = samba_profiler__name_of(p, name, false);
    p->events[p->n_events++ % p->capacity] = e;
    samba_profiler__add(&p->front, &e);
    samba_profiler__add(&p->runtime, &e);
}

/* ---- Opening, starting, ending ---- */

SAMBA_PROFILER_API samba_profiler *samba_profiler_open(samba_session *s, int32_t n_events)
{
    size_t n = (size_t)(n_events > 0 ? n_events : (int32_t)SAMBA_PROFILER__EVENTS);
    if (!samba_ok(s)) return NULL;
    samba_profiler *p = (samba_profiler *)SAMBA_PROFILER_MALLOC(sizeof *p);
    samba_profiler__event *events
        = (samba_profiler__event *)SAMBA_PROFILER_MALLOC(n * sizeof *events);
    if (!p || !events) {
        SAMBA_PROFILER_FREE(p);
        SAMBA_PROFILER_FREE(events);
        samba_fail(s, SAMBA_ENOMEM, "no memory to profile %l events", (int64_t)n);
        return NULL;
    }
    memset(p, 0, sizeof *p);
    memset(events, 0, n * sizeof *events); /* touches each page now, not in a run */
    p->session = s;
    p->opened = samba_seconds();
    p->events = events;
    p->capacity = (int64_t)n;
    return p;
}

SAMBA_PROFILER_API void samba_profiler_close(samba_profiler *p)
{
    if (!p) return;
    if (p->front.on || p->runtime.on) samba_on_event(p->session, NULL, NULL);
    SAMBA_PROFILER_FREE(p->events);
    SAMBA_PROFILER_FREE(p);
}

static inline void samba_profiler__start(samba_profiler *p, samba_profiler__profile *profile)
{
    memset(profile, 0, sizeof *profile);
    profile->on = true;
    profile->first = p->n_events;
    p->n_runs = p->n_copies = p->n_copied_often = 0;
    profile->began = samba_seconds();
    samba_on_event(p->session, samba_profiler__told, p);
}

static inline void samba_profiler__stop(samba_profiler *p, samba_profiler__profile *profile)
{
    profile->ended = samba_seconds();
    profile->last = p->n_events;
    profile->on = false;
    if (p->front.on || p->runtime.on) return;
    samba_on_event(p->session, NULL, NULL);
    p->unbalanced += p->depth;
    p->depth = 0;
}

static inline double samba_profiler__seconds(const samba_profiler__profile *profile)
{
    return (profile->on ? samba_seconds() : profile->ended) - profile->began;
}

/* ---- Asking ---- */

/* The next kept event of a profile, from *at on: one of this name, or a section if that is NULL. */
static inline const samba_profiler__event *samba_profiler__next(
    const samba_profiler *p, const samba_profiler__profile *profile, const char *name, int64_t *at)
{
    int64_t oldest = p->n_events - p->capacity, last = profile->on ? p->n_events : profile->last;
    if (*at < profile->first) *at = profile->first;
    if (*at < oldest) *at = oldest;
    while (*at < last) {
        const samba_profiler__event *e = &p->events[(*at)++ % p->capacity];
        bool wanted = name ? !strcmp(p->names[e->name].text, name) : e->section >= 0;
        if (wanted && e->begin >= profile->began) return e;
    }
    return NULL;
}

SAMBA_PROFILER_API samba_event_stats samba_profile_stats(const samba_profiler *p, const char *name)
{
    samba_event_stats sum;
    memset(&sum, 0, sizeof sum);
    for (int32_t i = 0; p && name && i < p->n_names; i++) {
        const samba_event_stats *one = &p->front.stats[i];
        if (!one->count || strcmp(p->names[i].text, name) != 0) continue;
        if (!sum.count || one->min < sum.min) sum.min = one->min;
        if (!sum.count || one->max > sum.max) sum.max = one->max;
        sum.total += one->total;
        sum.count += one->count;
    }
    if (sum.count) sum.mean = sum.total / (double)sum.count;
    return sum;
}

SAMBA_PROFILER_API int32_t samba_profile_latencies(const samba_profiler *p, const char *name,
                                                   int32_t skip, double *seconds, int32_t cap)
{
    if (!p || !name) return 0;
    int32_t kept = 0, n = 0;
    int64_t at = 0;
    const samba_profiler__event *e;
    while (samba_profiler__next(p, &p->front, name, &at))
        kept++;
    int64_t i = samba_profile_stats(p, name).count - kept; /* so many have been overwritten */
    for (at = 0; (e = samba_profiler__next(p, &p->front, name, &at)) != NULL;) {
        if (i++ < skip) continue;
        if (n < cap && seconds) seconds[n] = e->end - e->begin;
        n++;
    }
    return n;
}

static inline int samba_profiler__compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

SAMBA_PROFILER_API samba_performance samba_profile_performance(const samba_profiler *p,
                                                               const char *name, int32_t skip,
                                                               int32_t batch_size)
{
    samba_performance result;
    memset(&result, 0, sizeof result);
    int32_t n = samba_profile_latencies(p, name, skip, NULL, 0);
    if (!n) return result;
    double *seconds = (double *)SAMBA_PROFILER_MALLOC((size_t)n * sizeof *seconds), total = 0.0;
    if (!seconds) {
        samba_fail(p->session, SAMBA_ENOMEM, "no memory for %d latencies", n);
        return result;
    }
    samba_profile_latencies(p, name, skip, seconds, n);
    qsort(seconds, (size_t)n, sizeof *seconds, samba_profiler__compare);
    for (int32_t i = 0; i < n; i++)
        total += seconds[i];
    result.count = n;
    result.mean = total / n;
    result.best = seconds[0];
    result.p50 = seconds[(n - 1) / 2];
    result.p99 = seconds[(n * (int64_t)99 + 99) / 100 - 1];
    if (total > 0.0) result.throughput = batch_size / result.mean;
    SAMBA_PROFILER_FREE(seconds);
    return result;
}

/* ---- Writing ---- */

static inline void samba_profiler__put(const char *text, void *user)
{
    fputs(text, (FILE *)user);
}

static inline FILE *samba_profiler__create(const samba_profiler *p, samba_base_output *out,
                                           const char *path)
{
    char why[800];
    if (samba_base_begin(out, path, NULL, why, sizeof why)) return out->file;
    samba_fail(p->session, SAMBA_EIO, "%s", why);
    return NULL;
}

static inline bool samba_profiler__written(const samba_profiler *p, samba_base_output *out)
{
    char why[800];
    return samba_base_end(out, true, why, sizeof why)
        || samba_fail(p->session, SAMBA_EIO, "%s", why);
}

/* A line for each name of the kind that happened. */
static inline void samba_profiler__table(const samba_profiler *p,
                                         const samba_profiler__profile *profile, bool sections,
                                         samba_emit_fn emit, void *user)
{
    char line[240];
    samba_base_format(line, sizeof line, "%-48s %9s %12s %11s %11s %11s\n",
                      sections ? "section type" : "event", "count", "total ms", "min ms", "max ms",
                      "mean ms");
    emit(line, user);
    for (int32_t i = 0; i < p->n_names; i++) {
        const samba_event_stats *sum = &profile->stats[i];
        if (p->names[i].section != sections || !sum->count) continue;
        samba_base_format(line, sizeof line, "%-48s %9.0f %12.4f %11.4f %11.4f %11.4f\n",
                          p->names[i].text, (double)sum->count, sum->total * 1e3, sum->min * 1e3,
                          sum->max * 1e3, sum->total * 1e3 / (double)sum->count);
        emit(line, user);
    }
}

/* Did an event happen? One of SAMBA_SESSION_RUN may have types behind its name. */
static inline bool samba_profiler__happened(const samba_profiler *p, const char *name)
{
    size_t n = strcmp(name, "SAMBA_SESSION_RUN") == 0 ? strlen(name) : sizeof p->names->text;
    for (int32_t i = 0; i < p->n_names; i++)
        if (p->front.stats[i].count && !strncmp(p->names[i].text, name, n)) return true;
    return false;
}

SAMBA_PROFILER_API void samba_print_profile(const samba_profiler *p, samba_emit_fn emit, void *user)
{
    static const char *const known[] = { "SAMBA_SESSION_RUN",
                                         "SAMBA_SET_PEF",
                                         "SAMBA_INIT_RUNTIME",
                                         "PyRT_GET_TENSORS",
                                         "PyRT_GET_TENSORS_GATHER",
                                         "PyRT_SET_TENSORS",
                                         "PyRT_SET_TENSORS_BROADCAST",
                                         "PyRT_SET_PINNED_INPUT_TENSORS",
                                         "PyRT_RUN" };
    char line[240];
    bool all = true;
    if (!p || !emit) return;
    samba_base_format(line, sizeof line, "samba profile of %.6f s\n",
                      samba_profiler__seconds(&p->front));
    emit(line, user);
    samba_profiler__table(p, &p->front, false, emit, user);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (samba_profiler__happened(p, known[i])) continue;
        samba_base_format(line, sizeof line, "%s %s", all ? "did not happen:" : "", known[i]);
        emit(line, user);
        all = false;
    }
    if (!all) emit("\n", user);
    if (p->n_runs > 1 && 2 * p->n_copied_often > p->n_runs) {
        samba_base_format(
            line, sizeof line,
            "advice: %.0f of %.0f runs are followed by several copies to "
            "the host; fetch what a loop needs at once, by the run's outputs, or look at it "
            "where it is: samba_read\n",
            (double)p->n_copied_often, (double)p->n_runs);
        emit(line, user);
    }
    if (!p->unbalanced) return;
    samba_base_format(line, sizeof line,
                      "unbalanced: %.0f events were begun and not ended, or ended and "
                      "not begun\n",
                      (double)p->unbalanced);
    emit(line, user);
}

SAMBA_PROFILER_API void samba_start_profile(samba_profiler *p)
{
    if (p) samba_profiler__start(p, &p->front);
}

SAMBA_PROFILER_API bool samba_end_profile(samba_profiler *p, const char *file)
{
    if (!p) return false;
    if (p->front.on) samba_profiler__stop(p, &p->front);
    samba_base_output out;
    FILE *f = file ? samba_profiler__create(p, &out, file) : NULL;
    if (f) samba_print_profile(p, samba_profiler__put, f);
    return f ? samba_profiler__written(p, &out) : !file;
}

/* ---- The runtime's profiler ---- */

SAMBA_PROFILER_API bool samba_start_runtime_profile(samba_profiler *p, bool timer_enabled)
{
    const char *mode = getenv("ENABLE_RUNTIME_PERF");
    bool detailed = mode && !strcmp(mode, "DETAILED");
    if (!p || !mode || (!detailed && strcmp(mode, "SUMMARY") != 0)) return false;
    p->detailed = detailed;
    p->timer = timer_enabled;
    samba_profiler__start(p, &p->runtime);
    return true;
}

static inline void samba_profiler__calls(const samba_profiler *p, FILE *f)
{
    int64_t at = 0, n = 0;
    for (int32_t i = 0; i < p->n_names; i++)
        if (p->names[i].section) n += p->runtime.stats[i].count;
    samba_base_print(f, "\n%7s  %-9s %14s %14s %12s\n", "call id", "type", "begin ms", "end ms",
                     "ms");
    for (const samba_profiler__event *e;
         (e = samba_profiler__next(p, &p->runtime, NULL, &at)) != NULL; n--)
        samba_base_print(f, "%7d  %-9s %14.4f %14.4f %12.4f\n", (int)e->section,
                         p->names[e->name].text, (e->begin - p->runtime.began) * 1e3,
                         (e->end - p->runtime.began) * 1e3, (e->end - e->begin) * 1e3);
    if (n)
        samba_base_print(f, "the first %.0f are lost: samba_profiler_open had no more room\n",
                         (double)n);
}

SAMBA_PROFILER_API bool samba_end_runtime_profile(samba_profiler *p, const char *log_file)
{
    const char *path = log_file ? log_file : "cprofile_tmp.log";
    if (!p) return false;
    if (!p->runtime.on) return true;
    samba_profiler__stop(p, &p->runtime);
    double seconds = samba_profiler__seconds(&p->runtime);
    if (p->timer) samba_base_print(stdout, "runtime profile: %.6f s\n", seconds);
    samba_base_output out;
    FILE *f = samba_profiler__create(p, &out, path);
    if (!f) return false;
    samba_base_print(f, "runtime profile of %.6f s, %s\n", seconds,
                     p->detailed ? "DETAILED" : "SUMMARY");
    samba_profiler__table(p, &p->runtime, true, samba_profiler__put, f);
    fputs("\n", f);
    samba_profiler__table(p, &p->runtime, false, samba_profiler__put, f);
    if (p->detailed) samba_profiler__calls(p, f);
    return samba_profiler__written(p, &out);
}

/* ---- Traces ---- */

static inline void samba_profiler__json_text(FILE *f, const char *text)
{
    fputc('"', f);
    samba_base_write(f, SAMBA_BASE_JSON, text);
    fputc('"', f);
}

/* Nanoseconds as microseconds, by integers: a locale may have its own decimal point. */
static inline void samba_profiler__json_us(FILE *f, const char *key, int64_t ns)
{
    samba_base_print(f, ", \"%s\": %.0f.%03d", key, (double)(ns / 1000), (int)(ns % 1000));
}

static inline int64_t samba_profiler__ns(const samba_profiler *p, double seconds)
{
    return (int64_t)((seconds - p->opened) * 1e9 + 0.5);
}

/* Begin and end are rounded, not the duration: so what lies within a parent stays there. */
static inline void samba_profiler__json_event(FILE *f, const samba_profiler *p,
                                              const samba_profiler__event *e)
{
    int64_t begin = samba_profiler__ns(p, e->begin), end = samba_profiler__ns(p, e->end);
    fputs(",\n{\"name\": ", f);
    samba_profiler__json_text(f, p->names[e->name].text);
    samba_base_print(f, ", \"cat\": \"%s\", \"ph\": \"X\"",
                     e->section >= 0 ? "section" : "session");
    samba_profiler__json_us(f, "ts", begin);
    samba_profiler__json_us(f, "dur", end - begin);
    samba_base_print(f, ", \"pid\": 1, \"tid\": %d", e->section < -1 ? 2 : 1);
    if (e->section >= 0) samba_base_print(f, ", \"args\": {\"call_id\": %d}", (int)e->section);
    fputs("}", f);
}

SAMBA_PROFILER_API bool samba_profile_trace(const samba_profiler *p, const char *file)
{
    if (!p || !file) return false;
    samba_base_output out;
    FILE *f = samba_profiler__create(p, &out, file);
    if (!f) return false;
    fputs("{\"displayTimeUnit\": \"ms\", \"otherData\": {\"version\": \"samba.h " SAMBA_VERSION
          "\"}, \"traceEvents\": [\n"
          "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, "
          "\"args\": {\"name\": \"samba.h\"}},\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, "
          "\"args\": {\"name\": \"session\"}}",
          f);
    int64_t oldest = p->n_events > p->capacity ? p->n_events - p->capacity : 0;
    for (int64_t i = oldest; i < p->n_events; i++)
        samba_profiler__json_event(f, p, &p->events[i % p->capacity]);
    fputs("\n]}\n", f);
    return samba_profiler__written(p, &out);
}
#endif /* SAMBA_PROFILER_IMPLEMENTATION */
/* MIT license, as samba.h. */
