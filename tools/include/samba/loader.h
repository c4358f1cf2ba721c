/* loader.h - batches are made while the program runs: SambaFlow's SambaLoader.

   Needs samba.h before it, and POSIX (for gcc -std=c99, _GNU_SOURCE too). `#define
   SAMBA_LOADER_IMPLEMENTATION` in one file enables the code; SAMBA_LOADER_STATIC makes all
   functions private to the file. C99 or C++11.

       samba_dataset data = { .n = 60000, .batch = 64, .arrays = { images, labels },
                              .shuffle = true, .drop_last = true };
       const char *names[] = { "image", "label" };
       samba_loader *l = samba_loader_open_dataset(s, &data, names, 2, NULL);
       for (int epoch = 0; epoch < 5; epoch++)
           while (samba_loader_next(l, NULL) == 1)
               samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
       samba_loader_close(l);

   A thread of the loader's asks the source for batches, some ahead of the program, and leaves the
   session alone. samba_loader_next sends the oldest batch to the tensors of these names. */
#ifndef SAMBA_LOADER_H
#define SAMBA_LOADER_H

#ifndef SAMBA_H
#error "loader.h: include samba.h before"
#endif

#ifndef SAMBA_LOADER_API
#if defined(SAMBA_LOADER_STATIC)
#define SAMBA_LOADER_API static inline
#elif defined(__cplusplus)
#define SAMBA_LOADER_API extern "C"
#else
#define SAMBA_LOADER_API extern
#endif
#endif

/* A batch: room for each tensor. A pass over the data is a sequence of batches. */
typedef struct samba_batch {
    int32_t n;            /* tensors */
    void *const *data;    /* n of them */
    const size_t *size;   /* their bytes, as the loaded program wants them */
    int32_t pass, number; /* of this batch, from 0 */
    int32_t rows;         /* that count; 0: the source does not say */
    char why[256];        /* the source's words for an error */
} samba_batch;

/* Where batches come from. Only the loader's thread calls next and rewind, and neither may use the
   session. */
typedef struct samba_source {
    /* Fills a batch. Returns how many tensors it has; 0: the pass is over; -1: an error, why. */
    int32_t (*next)(void *user, samba_batch *batch);
    /* The next batch is to be this one of this pass; called for the first one, too. NULL: there is
       one pass only. */
    bool (*rewind)(void *user, int32_t pass, int32_t batch);
    /* The loader closes: makes a next that waits, and any that still comes, return. Called from
       another thread. May be NULL. */
    void (*cancel)(void *user);
    void (*close)(void *user); /* the last call; may be NULL */
    void *user;
} samba_source;

/* All zero is SambaFlow's default. */
typedef struct samba_loader_opts {
    int32_t maxsize;                  /* batches that wait at most; default 10 */
    double timeout;                   /* seconds to wait for a batch; default 900 */
    bool ignore_dataloader_exception; /* a batch that fails is left out */
    bool return_original_batch;       /* samba_loader_batch has the data, too */
    bool (*function_hook)(void *user, samba_batch *batch); /* changes each batch in place, in
                                      the loader's thread; false: as next's -1 */
    void *hook_user;
    int32_t pass, batch;                       /* the place to begin at */
    samba_tensor *position;                    /* or where this says: see samba_loader_position */
    void (*log)(const char *text, void *user); /* gets remarks; default: stderr */
    void *log_user;
    void (*on_event)(const char *name, double begin, double end, void *user); /* is told of each
                                         batch that was put into pinned memory, by next; such as
                                         profiler.h's samba_add_event */
    void *event_user;
} samba_loader_opts;

typedef struct samba_loader samba_loader;

/* Starts to load. The program must be compiled or loaded. NULL with an error in s. */
SAMBA_LOADER_API samba_loader *samba_loader_open(samba_session *s, const samba_source *source,
                                                 const char *const *names, int32_t n_names,
                                                 const samba_loader_opts *opts);
/* Sends the next batch; tensors, unless NULL, gets the n_names of them. 1: there was one. 0: the
   pass is over, and the next call begins another. -1: an error, in the session; after one of the
   source all calls fail until rewound. */
SAMBA_LOADER_API int32_t samba_loader_next(samba_loader *l, samba_tensor **tensors);
/* Leaves this pass and begins another, unless this one has only begun. */
SAMBA_LOADER_API bool samba_loader_rewind(samba_loader *l);
/* The batch that next sent. Its data are there with return_original_batch only, as they were before
   function_hook, until the next call. */
SAMBA_LOADER_API const samba_batch *samba_loader_batch(const samba_loader *l);
/* False if the source does not come back within the timeout: it will be closed when it does. In a
   child of fork, where the loader has no thread, all calls but this one and statistics fail. */
SAMBA_LOADER_API bool samba_loader_close(samba_loader *l);

/* A place in a source, (pass, batch), as state of the program. Make it before compiling and have it
   among the outputs; then samba_save keeps it, and a loader that is opened with it after
   samba_restore goes on there. It is a buffer, for the kinds of samba_restore_opts. */
SAMBA_LOADER_API samba_tensor *samba_loader_position(samba_session *s, const char *name);

typedef struct samba_loader_stats {
    int64_t batches, skipped; /* sent; left out */
    int64_t waits;            /* of the program for a batch */
    double wait_seconds;
    int64_t pinned_batches; /* that were sent from pinned memory, SambaFlow's event */
    double pinned_seconds;  /* PyRT_SET_PINNED_INPUT_TENSORS, and how long it took */
    size_t pool_bytes;
    bool locked; /* the system agreed to pin the pool */
} samba_loader_stats;

SAMBA_LOADER_API samba_loader_stats samba_loader_statistics(samba_loader *l);

/* While this is on, loaders keep their batches in memory that is never paged out, if the system
   allows: from opening on, or from the next batch on if they are open already, and until they are
   closed; results are the same. For the whole process, as the system's limit is. */
SAMBA_LOADER_API void samba_enable_pinned_memory(void);
SAMBA_LOADER_API void samba_disable_pinned_memory(void);
SAMBA_LOADER_API bool samba_use_pinned_memory(void);
/* SambaFlow's t.fast_access: the host copy of t, which samba_cpu makes, and samba_rdu and a run's
   inputs send, is never paged out either. A loader's tensors need no such word. Gradients of
   outputs that the host sends may have it as well: samba_set_fast_access(samba_sn_grad(loss),
   true). True if the system has agreed; false, too, while pinned memory is off. Take it back before
   the session closes. */
SAMBA_LOADER_API bool samba_set_fast_access(samba_tensor *t, bool fast);

/* n samples in memory. The order of a pass depends on seed and pass only, on every machine. */
#define SAMBA_MAX_ARRAYS 8

typedef struct samba_dataset {
    int32_t n, batch;                                           /* samples; samples of a batch */
    const void *arrays[SAMBA_MAX_ARRAYS];                       /* n rows for each name; or */
    void (*fill)(void *user, int32_t sample, void *const *row); /* writes one to row[i] of
                                   tensor i, in the loader's thread; NULL beyond the names.
                                   What it leaves out is 0 */
    void *user;
    const samba_spec *writes; /* what fill writes to each row: type, and as many elements
                                 as this shape has. Another tensor is refused; NULL: only
                                 a fill that writes behind its row is an error */
    bool shuffle;
    uint64_t seed;
    bool drop_last;                  /* else the last batch of a pass, if there are too few
                                        samples, is filled up with first ones: see rows */
    bool is_label[SAMBA_MAX_ARRAYS]; /* i32 or i64: is filled up with -100 instead, which losses
                                        ignore: the last batch's loss is that of its own
                                        samples */
} samba_dataset;

/* The arrays, or user, must stay until close. */
SAMBA_LOADER_API samba_loader *samba_loader_open_dataset(samba_session *s,
                                                         const samba_dataset *dataset,
                                                         const char *const *names, int32_t n_names,
                                                         const samba_loader_opts *opts);
/* The order of a pass: all of 0 ... n - 1. */
SAMBA_LOADER_API void samba_dataset_order(const samba_dataset *dataset, int32_t pass,
                                          int32_t *order);

#endif /* SAMBA_LOADER_H */

#if defined(SAMBA_LOADER_IMPLEMENTATION) && !defined(SAMBA_LOADER__IMPLEMENTED)
#define SAMBA_LOADER__IMPLEMENTED

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if !defined(CLOCK_MONOTONIC) && !defined(__APPLE__)
#error \
    "loader.h: -std=c99 hides what POSIX has: compile with -D_GNU_SOURCE, too, or with -std=gnu99"
#endif

/* ---- The queue: a ring of places, of which the thread fills one while others wait ---- */

typedef enum samba_loader__kind {
    SAMBA_LOADER__BATCH,
    SAMBA_LOADER__END,
    SAMBA_LOADER__ERROR,
    SAMBA_LOADER__SKIPPED
} samba_loader__kind;

typedef struct samba_loader__place {
    samba_loader__kind kind;
    samba_batch batch;
    void **original;   /* batch.data unless there is a hook */
    double begin, end; /* when it was filled */
} samba_loader__place;

struct samba_loader {
    samba_session *session; /* not for the loader's thread */
    samba_source source;
    samba_loader_opts opts;
    int32_t n;
    samba_tensor **tensors;
    size_t *size;
    void **pointers; /* of all places */
    uint8_t *pool;
    size_t pool_size;
    bool pinned;                 /* the program's side */
    samba_loader__place *places; /* maxsize, and one that is being filled */
    pthread_t thread;
    pid_t process; /* that has the thread */

    /* the program's side */
    samba_batch current;      /* sent last */
    bool held, ended, failed; /* its place is not free yet; next returned 0, or -1 */
    int32_t pass, batch;      /* what comes next */

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t filled, freed;
    int32_t head, tail, count; /* places: the oldest, the next to fill, full ones */
    bool rewinds;              /* the thread is to go to: */
    int32_t to_pass, to_batch;
    bool quits, orphan, gone; /* the thread is to end; nobody waits for it; it has */
    samba_loader_stats stats;
};

static int samba_loader__pins; /* atomic */

SAMBA_LOADER_API void samba_enable_pinned_memory(void)
{
    __atomic_store_n(&samba_loader__pins, 1, __ATOMIC_SEQ_CST);
}

SAMBA_LOADER_API void samba_disable_pinned_memory(void)
{
    __atomic_store_n(&samba_loader__pins, 0, __ATOMIC_SEQ_CST);
}

SAMBA_LOADER_API bool samba_use_pinned_memory(void)
{
    return __atomic_load_n(&samba_loader__pins, __ATOMIC_SEQ_CST) != 0;
}

SAMBA_LOADER_API bool samba_set_fast_access(samba_tensor *t, bool fast)
{
    if (fast && !samba_use_pinned_memory()) return false;
    void *data = samba_cpu(t);
    if (!data) return false;
    return fast ? mlock(data, samba_bytes(t)) == 0 : munlock(data, samba_bytes(t)) == 0;
}

/* Calls source.close, whatever became of the loader, and frees it. */
static inline void samba_loader__free(samba_loader *l)
{
    if (l->source.close) l->source.close(l->source.user);
    if (l->stats.locked) munlock(l->pool, l->pool_size);
    free(l->pool);
    free(l->places);
    free(l->pointers);
    free(l->size);
    free(l->tensors);
    free(l);
}

/* Frees it when nobody waits any more: neither its thread nor the program. */
static inline void samba_loader__destroy(samba_loader *l)
{
    pthread_cond_destroy(&l->freed);
    pthread_cond_destroy(&l->filled);
    pthread_mutex_destroy(&l->mutex);
    samba_loader__free(l);
}

/* fork copies a loader without its thread, which may hold the mutex: a child must wait for neither.
 */
static inline bool samba_loader__is_inherited(const samba_loader *l)
{
    return l->process != getpid();
}

static inline bool samba_loader__fail_inherited(const samba_loader *l, const char *call)
{
    return samba_fail(l->session, SAMBA_ESTATE,
                      "in %s: the thread that loads is in the process "
                      "that opened the loader, and this is a forked child of it: close the loader "
                      "here, and open another one",
                      call);
}

/* ---- The loader's thread ---- */

/* Fills a place without the mutex: nobody else looks at it. */
static inline samba_loader__kind samba_loader__fill(samba_loader *l, samba_loader__place *p)
{
    samba_batch *b = &p->batch;
    b->why[0] = 0;
    b->rows = 0;
    int32_t n = l->source.next(l->source.user, b);
    if (n == 0) return SAMBA_LOADER__END;
    if (n > 0 && n != l->n)
        snprintf(b->why, sizeof b->why, "the source gave %d tensors for %d names", (int)n,
                 (int)l->n);
    if (n != l->n) return SAMBA_LOADER__ERROR;
    if (!l->opts.function_hook) return SAMBA_LOADER__BATCH;
    for (int32_t i = 0; i < n && l->opts.return_original_batch; i++)
        memcpy(p->original[i], b->data[i], b->size[i]);
    return l->opts.function_hook(l->opts.hook_user, b) ? SAMBA_LOADER__BATCH : SAMBA_LOADER__ERROR;
}

/* Goes to the place that batch names. */
static inline samba_loader__kind samba_loader__go(samba_loader *l, samba_batch *b)
{
    if (!l->source.rewind && b->pass == 0 && b->number == 0) return SAMBA_LOADER__BATCH;
    if (l->source.rewind && l->source.rewind(l->source.user, b->pass, b->number))
        return SAMBA_LOADER__BATCH;
    snprintf(b->why, sizeof b->why, "the source cannot go there");
    return SAMBA_LOADER__ERROR;
}

static inline void *samba_loader__main(void *argument)
{
    samba_loader *l = (samba_loader *)argument;
    int32_t pass = 0, number = 0;
    bool stopped = false; /* at the end of a pass, or after an error */
    pthread_mutex_lock(&l->mutex);
    while (!l->quits) {
        bool goes = l->rewinds;
        if (!goes && (stopped || l->count >= l->opts.maxsize)) {
            pthread_cond_wait(&l->freed, &l->mutex);
            continue;
        }
        if (goes) {
            pass = l->to_pass;
            number = l->to_batch;
        }
        l->rewinds = stopped = false;
        samba_loader__place *p = &l->places[l->tail];
        pthread_mutex_unlock(&l->mutex);

        samba_loader__kind kind = SAMBA_LOADER__BATCH;
        p->begin = samba_seconds();
        p->batch.pass = pass;
        p->batch.number = number;
        if (goes) kind = samba_loader__go(l, &p->batch);
        bool there = kind == SAMBA_LOADER__BATCH;
        if (there) kind = samba_loader__fill(l, p);
        if (there && kind == SAMBA_LOADER__ERROR && l->opts.ignore_dataloader_exception)
            kind = SAMBA_LOADER__SKIPPED;
        p->end = samba_seconds();

        pthread_mutex_lock(&l->mutex);
        if (l->rewinds || l->quits) continue; /* nobody wants it any more */
        number++;
        l->stats.skipped += kind == SAMBA_LOADER__SKIPPED;
        if (kind == SAMBA_LOADER__SKIPPED) continue;
        p->kind = kind;
        stopped = kind != SAMBA_LOADER__BATCH;
        l->tail = (l->tail + 1) % (l->opts.maxsize + 1);
        l->count++;
        pthread_cond_signal(&l->filled);
    }
    bool orphan = l->orphan;
    l->gone = true;
    pthread_cond_signal(&l->filled);
    pthread_mutex_unlock(&l->mutex);
    if (orphan) {
        samba_loader__destroy(l);
    }
    return NULL;
}

/* ---- The program's side ---- */

/* Waits for the thread until the queue is not empty, or it is gone. False after the timeout. */
static inline bool samba_loader__wait(samba_loader *l, const bool *gone)
{
    struct timespec until;
#if defined(__APPLE__) /* its conditions know one clock only */
    clock_gettime(CLOCK_REALTIME, &until);
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
#endif
    double whole = l->opts.timeout < 1e8 ? l->opts.timeout : 1e8;
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (gone ? !*gone : l->count == 0)
        if (pthread_cond_timedwait(&l->filled, &l->mutex, &until) == ETIMEDOUT)
            return gone ? *gone : l->count > 0;
    return true;
}

/* Frees the oldest place. */
static inline void samba_loader__pop(samba_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    l->head = (l->head + 1) % (l->opts.maxsize + 1);
    l->count--;
    l->held = false;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->mutex);
}

/* Tells the thread to begin elsewhere. What waits in the queue is dropped. */
static inline bool samba_loader__begin(samba_loader *l, int32_t pass, int32_t batch)
{
    if (!l->source.rewind && (pass || batch))
        return samba_fail(l->session, SAMBA_ESTATE,
                          "in samba_loader: this source has one pass "
                          "only: it has no function rewind");
    pthread_mutex_lock(&l->mutex);
    l->head = l->tail;
    l->count = 0;
    l->to_pass = pass;
    l->to_batch = batch;
    l->rewinds = true;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->mutex);
    l->pass = pass;
    l->batch = batch;
    l->held = l->ended = l->failed = false;
    return true;
}

static inline bool samba_loader__note(samba_loader *l, int32_t pass, int32_t batch)
{
    const float position[2] = { (float)pass, (float)batch };
    l->pass = pass;
    l->batch = batch;
    return !l->opts.position || samba_write_bytes(l->opts.position, position, sizeof position);
}

/* Pins the pool, once, if that is wanted by now. All that waits in the queue is in it. */
static inline void samba_loader__pin(samba_loader *l)
{
    static const char *const remark = "samba: loader.h: the system does not let this process pin "
                                      "%lu bytes; batches are loaded into ordinary memory\n";
    char text[200];
    if (l->pinned || !samba_use_pinned_memory()) return;
    l->pinned = true;
    bool locked = mlock(l->pool, l->pool_size) == 0;
    pthread_mutex_lock(&l->mutex);
    l->stats.locked = locked;
    pthread_mutex_unlock(&l->mutex);
    if (locked) return;
    snprintf(text, sizeof text, remark, (unsigned long)l->pool_size);
    if (l->opts.log)
        l->opts.log(text, l->opts.log_user);
    else
        fputs(text, stderr);
}

/* Sends a batch, whose place is free afterwards unless its data are wanted. */
static inline bool samba_loader__send(samba_loader *l, const samba_loader__place *p)
{
    const samba_batch *b = &p->batch;
    bool fine = true;
    if (l->pinned) {
        pthread_mutex_lock(&l->mutex);
        l->stats.pinned_batches++;
        l->stats.pinned_seconds += p->end - p->begin;
        pthread_mutex_unlock(&l->mutex);
        if (l->opts.on_event)
            l->opts.on_event("PyRT_SET_PINNED_INPUT_TENSORS", p->begin, p->end, l->opts.event_user);
    }
    for (int32_t i = 0; fine && i < l->n; i++) {
        fine = samba_bytes(l->tensors[i]) == l->size[i]
            || samba_fail(l->session, SAMBA_ESTATE,
                          "in samba_loader_next: %s has another size in "
                          "the program that was loaded since the loader was opened",
                          l->tensors[i]->name);
        fine = fine && samba_write(l->tensors[i], b->data[i]);
    }
    l->current = *b;
    l->current.data = l->opts.return_original_batch ? p->original : NULL;
    l->held = l->opts.return_original_batch;
    fine = fine && samba_loader__note(l, b->pass, b->number + 1);
    if (!l->held) samba_loader__pop(l);
    return fine;
}

SAMBA_LOADER_API int32_t samba_loader_next(samba_loader *l, samba_tensor **tensors)
{
    if (!l || !samba_ok(l->session)) return -1;
    if (samba_loader__is_inherited(l)) {
        samba_loader__fail_inherited(l, "samba_loader_next");
        return -1;
    }
    samba_loader__pin(l);
    if (l->held) samba_loader__pop(l);
    l->current.data = NULL;
    if (l->ended && !samba_loader__begin(l, l->pass, 0)) return -1;
    bool there = true;
    pthread_mutex_lock(&l->mutex);
    if (!l->failed && l->count == 0) {
        double start = samba_seconds();
        there = samba_loader__wait(l, NULL);
        l->stats.waits++;
        l->stats.wait_seconds += samba_seconds() - start;
    }
    samba_loader__place *p = &l->places[l->head];
    l->stats.batches += there && !l->failed && p->kind == SAMBA_LOADER__BATCH;
    pthread_mutex_unlock(&l->mutex);
    if (!there) {
        samba_fail(l->session, SAMBA_EIO,
                   "in samba_loader_next: no batch within %d ms (timeout); "
                   "the source is at batch %d of pass %d or beyond",
                   (int32_t)(l->opts.timeout * 1000.0), l->batch, l->pass);
        return -1;
    }
    l->failed = l->failed || p->kind == SAMBA_LOADER__ERROR;
    if (l->failed) { /* the place stays: the error can be told again */
        samba_fail(l->session, SAMBA_EIO, "in samba_loader_next: batch %d of pass %d: %s",
                   p->batch.number, p->batch.pass,
                   p->batch.why[0] ? p->batch.why : "the source failed");
        return -1;
    }
    if (p->kind == SAMBA_LOADER__END) {
        samba_loader__pop(l);
        l->ended = true;
        return samba_loader__note(l, l->pass + 1, 0) ? 0 : -1;
    }
    for (int32_t i = 0; i < l->n && tensors; i++)
        tensors[i] = l->tensors[i];
    return samba_loader__send(l, p) ? 1 : -1;
}

SAMBA_LOADER_API bool samba_loader_rewind(samba_loader *l)
{
    if (!l || !samba_ok(l->session)) return false;
    if (samba_loader__is_inherited(l))
        return samba_loader__fail_inherited(l, "samba_loader_rewind");
    if (l->batch == 0 && !l->failed && !l->ended) return true;
    return samba_loader__begin(l, l->batch ? l->pass + 1 : l->pass, 0)
        && samba_loader__note(l, l->pass, 0);
}

SAMBA_LOADER_API const samba_batch *samba_loader_batch(const samba_loader *l)
{
    return &l->current;
}

SAMBA_LOADER_API samba_loader_stats samba_loader_statistics(samba_loader *l)
{
    if (samba_loader__is_inherited(l)) return l->stats;
    pthread_mutex_lock(&l->mutex);
    samba_loader_stats stats = l->stats;
    pthread_mutex_unlock(&l->mutex);
    return stats;
}

SAMBA_LOADER_API bool samba_loader_close(samba_loader *l)
{
    if (!l) return false;
    if (samba_loader__is_inherited(l)) {
        samba_loader__free(l);
        return true;
    }
    pthread_t thread = l->thread;
    pthread_mutex_lock(&l->mutex);
    l->quits = true;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->mutex);
    if (l->source.cancel) l->source.cancel(l->source.user);
    pthread_mutex_lock(&l->mutex);
    bool gone = samba_loader__wait(l, &l->gone);
    l->orphan = !gone; /* then the thread frees all when it comes back */
    pthread_mutex_unlock(&l->mutex);
    if (!gone) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    samba_loader__destroy(l);
    return true;
}

/* ---- Opening ---- */

/* One block for the data of all places, each tensor at a page of its own. */
static inline bool samba_loader__make_pool(samba_loader *l, int32_t n_places)
{
    bool keeps = l->opts.return_original_batch && l->opts.function_hook;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = 0, copies = keeps ? 2 : 1;
    for (int32_t i = 0; i < l->n; i++)
        total += (l->size[i] + page - 1) / page * page;
    void *pool = NULL;
    l->pool_size = l->stats.pool_bytes = total * copies * (size_t)n_places;
    if (posix_memalign(&pool, page, l->pool_size)) return false;
    uint8_t *at = l->pool = (uint8_t *)pool;
    memset(pool, 0, l->pool_size);
    for (int32_t k = 0; k < n_places * (int32_t)copies * l->n; k++) {
        l->pointers[k] = at;
        at += (l->size[k % l->n] + page - 1) / page * page;
    }
    for (int32_t k = 0; k < n_places; k++) {
        void **data = l->pointers + (size_t)k * copies * (size_t)l->n;
        l->places[k].batch.n = l->n;
        l->places[k].batch.size = l->size;
        l->places[k].batch.data = data;
        l->places[k].original = keeps ? data + l->n : data;
    }
    return true;
}

/* The tensors of the names, and a queue for them. */
static inline bool samba_loader__prepare(samba_loader *l, const char *const *names)
{
    samba_session *s = l->session;
    size_t n = (size_t)l->n, n_places = (size_t)l->opts.maxsize + 1;
    l->tensors = (samba_tensor **)calloc(n, sizeof *l->tensors);
    l->size = (size_t *)calloc(n, sizeof *l->size);
    l->pointers = (void **)calloc(2 * n * n_places, sizeof *l->pointers);
    l->places = (samba_loader__place *)calloc(n_places, sizeof *l->places);
    bool fine = l->tensors && l->size && l->pointers && l->places;
    for (int32_t i = 0; fine && i < l->n; i++) {
        l->tensors[i] = samba_tensor_by_name(s, names[i]);
        if (!l->tensors[i]) return false;
        l->size[i] = samba_bytes(l->tensors[i]);
    }
    return (fine && samba_loader__make_pool(l, (int32_t)n_places))
        || samba_fail(s, SAMBA_ENOMEM, "in samba_loader_open: no memory for %d batches",
                      l->opts.maxsize + 1);
}

/* Where opts say, or where the restored position is. */
static inline bool samba_loader__find_start(samba_loader *l)
{
    samba_tensor *t = l->opts.position;
    l->pass = l->opts.pass;
    l->batch = l->opts.batch;
    if (t && t->symbol < 0)
        return samba_fail(l->session, SAMBA_ESTATE,
                          "in samba_loader_open: checkpoints would not "
                          "have the position %s: list it among program.outputs",
                          t->name);
    if (t) {
        const float *position = samba_read(t);
        if (!samba_ok(l->session)) return false;
        bool sound = position[0] >= 0.0f && position[0] <= 16777216.0f && position[1] >= 0.0f
            && position[1] <= 16777216.0f;
        l->pass = sound ? (int32_t)position[0] : -1;
        l->batch = sound ? (int32_t)position[1] : -1;
    }
    return l->pass >= 0 && l->batch >= 0
        ? samba_loader__begin(l, l->pass, l->batch)
        : samba_fail(l->session, SAMBA_ERANGE,
                     "in samba_loader_open: batch %d of pass %d is no "
                     "place to begin at",
                     l->batch, l->pass);
}

static inline bool samba_loader__start(samba_loader *l)
{
    pthread_condattr_t clock;
    bool fine = !pthread_condattr_init(&clock);
#if !defined(__APPLE__)
    fine = fine && !pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
#endif
    fine = fine && !pthread_mutex_init(&l->mutex, NULL) && !pthread_cond_init(&l->filled, &clock)
        && !pthread_cond_init(&l->freed, NULL);
    pthread_condattr_destroy(&clock);
    l->process = getpid();
    return fine && samba_loader__find_start(l)
        && !pthread_create(&l->thread, NULL, samba_loader__main, l);
}

static inline bool samba_loader__good_options(samba_session *s, const samba_loader_opts *o)
{
    const char *at = "in samba_loader_open";
    if (!o) return true;
    return ((o->maxsize >= 0 && o->maxsize <= 1 << 20)
            || samba_fail(s, SAMBA_ERANGE, "%s: maxsize is %d; it must be 0 ... 1048576", at,
                          o->maxsize))
        && (o->timeout >= 0.0
            || samba_fail(s, SAMBA_ERANGE, "%s: timeout is %g; it must be at least 0", at,
                          o->timeout))
        && (o->pass >= 0
            || samba_fail(s, SAMBA_ERANGE, "%s: pass is %d; it must be at least 0", at, o->pass))
        && (o->batch >= 0
            || samba_fail(s, SAMBA_ERANGE, "%s: batch is %d; it must be at least 0", at, o->batch));
}

SAMBA_LOADER_API samba_loader *samba_loader_open(samba_session *s, const samba_source *source,
                                                 const char *const *names, int32_t n_names,
                                                 const samba_loader_opts *opts)
{
    samba_loader *l = NULL;
    if (samba_ok(s) && (!source || !source->next || !names || n_names < 1))
        samba_fail(s, SAMBA_EARG,
                   "in samba_loader_open: a source with a function next, and names "
                   "of tensors are needed");
    else if (samba_ok(s) && samba_loader__good_options(s, opts)
             && !(l = (samba_loader *)calloc(1, sizeof *l)))
        samba_fail(s, SAMBA_ENOMEM, "in samba_loader_open: no memory");
    if (!l) {
        if (source && source->close) source->close(source->user);
        return NULL;
    }
    l->session = s;
    l->source = *source;
    l->n = n_names;
    if (opts) l->opts = *opts;
    if (!l->opts.maxsize) l->opts.maxsize = 10;
    if (!(l->opts.timeout > 0.0)) l->opts.timeout = 900.0;
    if (samba_loader__prepare(l, names) && samba_loader__start(l)) {
        samba_loader__pin(l);
        return l;
    }
    samba_fail(s, SAMBA_ENOMEM, "in samba_loader_open: the system gives no thread");
    samba_loader__free(l);
    return NULL;
}

SAMBA_LOADER_API samba_tensor *samba_loader_position(samba_session *s, const char *name)
{
    return samba_buffer(s, name, SAMBA_SHAPE(2), 0.0f);
}

/* ---- Samples in memory ---- */

typedef struct samba_loader__dataset_source {
    samba_dataset d;
    int32_t *order;
    int32_t at;                          /* batch of the pass */
    size_t label_size[SAMBA_MAX_ARRAYS]; /* bytes of an element */
    uint8_t *room[SAMBA_MAX_ARRAYS];     /* of fill: a row of each tensor, and its guard */
    const char *names;                   /* of the tensors, each ends with 0 */
} samba_loader__dataset_source;

/* Bytes behind a row that fill must leave as they are. A function that writes i32 into rows of i16
   would otherwise spoil what lies behind the last row of a batch. */
enum { SAMBA_LOADER__DATASET_GUARD = 4096, SAMBA_LOADER__DATASET_MARK = 0xA5 };

SAMBA_LOADER_API void samba_dataset_order(const samba_dataset *d, int32_t pass, int32_t *order)
{
    uint32_t words[4] = { 0, 0, 0, 0 };
    for (int32_t i = 0; i < d->n; i++)
        order[i] = i;
    for (int32_t i = d->n - 1; i > 0 && d->shuffle; i--) { /* Fisher and Yates 1938 */
        uint32_t k = (uint32_t)(d->n - 1 - i);
        if (k % 4 == 0)
            samba_random(d->seed, "shuffle", (uint64_t)(uint32_t)pass << 32 | k / 4, words);
        int32_t j = (int32_t)((uint64_t)words[k % 4] * ((uint32_t)i + 1u) >> 32), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

static inline bool samba_loader__dataset_rewind(void *user, int32_t pass, int32_t batch)
{
    samba_loader__dataset_source *q = (samba_loader__dataset_source *)user;
    samba_dataset_order(&q->d, pass, q->order);
    q->at = batch;
    return true;
}

/* A missing row: of labels that count nothing. each: bytes of a label, i32 or i64. */
static inline void samba_loader__dataset_leave_out(void *row, size_t size, size_t each)
{
    const int32_t ignored = -100;
    const int64_t ignored_wide = -100;
    const void *from = each == 8 ? (const void *)&ignored_wide : &ignored;
    for (size_t k = 0; k + each <= size; k += each)
        memcpy((uint8_t *)row + k, from, each);
}

/* Is the guard behind the row that fill wrote as it was? */
static inline bool samba_loader__dataset_is_kept(const uint8_t *guard)
{
    return guard[0] == SAMBA_LOADER__DATASET_MARK
        && !memcmp(guard, guard + 1, SAMBA_LOADER__DATASET_GUARD - 1);
}

/* Row r of the batch, made by the user's function. It gets memory of its own, so that an error of
   its author is told and does no harm. */
static inline bool samba_loader__dataset_fill(samba_loader__dataset_source *q, samba_batch *b,
                                              int32_t r, int32_t sample)
{
    void *row[SAMBA_MAX_ARRAYS] = { NULL };
    const char *name = q->names;
    for (int32_t i = 0; i < b->n; i++) {
        row[i] = q->room[i];
        memset(row[i], 0, b->size[i] / (size_t)q->d.batch);
    }
    q->d.fill(q->d.user, sample, row);
    for (int32_t i = 0; i < b->n; i++, name += strlen(name) + 1) {
        size_t size = b->size[i] / (size_t)q->d.batch;
        if (!samba_loader__dataset_is_kept(q->room[i] + size)) {
            snprintf(b->why, sizeof b->why,
                     "fill wrote more than the %lu bytes of a row of %s: its "
                     "type or shape is not the one that fill writes",
                     (unsigned long)size, name);
            return false;
        }
        memcpy((uint8_t *)b->data[i] + size * (size_t)r, q->room[i], size);
    }
    return true;
}

static inline int32_t samba_loader__dataset_next(void *user, samba_batch *b)
{
    samba_loader__dataset_source *q = (samba_loader__dataset_source *)user;
    const samba_dataset *d = &q->d;
    int64_t first = (int64_t)q->at * d->batch, left = d->n - first;
    if (left <= 0 || (d->drop_last && left < d->batch)) return 0;
    for (int32_t r = 0; r < d->batch; r++) {
        int32_t sample = q->order[(first + r) % d->n];
        if (d->fill && !samba_loader__dataset_fill(q, b, r, sample)) return -1;
        for (int32_t i = 0; i < b->n; i++) {
            size_t size = b->size[i] / (size_t)d->batch;
            uint8_t *row = (uint8_t *)b->data[i] + size * (size_t)r;
            if (!d->fill) memcpy(row, (const uint8_t *)d->arrays[i] + size * (size_t)sample, size);
            if (d->is_label[i] && r >= left)
                samba_loader__dataset_leave_out(row, size, q->label_size[i]);
        }
    }
    b->rows = left < d->batch ? (int32_t)left : d->batch;
    q->at++;
    return b->n;
}

static inline void samba_loader__dataset_close(void *user)
{
    samba_loader__dataset_source *q = (samba_loader__dataset_source *)user;
    free(q->order);
    free(q->room[0]);
    free(q);
}

/* Memory for a row of each tensor, with guards, and for the names. */
static inline bool samba_loader__dataset_make_room(samba_session *s,
                                                   samba_loader__dataset_source *q,
                                                   const char *const *names, int32_t n_names)
{
    size_t at[SAMBA_MAX_ARRAYS], total = 0, letters = 0;
    for (int32_t i = 0; i < n_names; i++) {
        size_t row = samba_bytes(samba_tensor_by_name(s, names[i])) / (size_t)q->d.batch;
        at[i] = total;
        total += (row + SAMBA_LOADER__DATASET_GUARD + 63) / 64 * 64;
        letters += strlen(names[i]) + 1;
    }
    uint8_t *room = (uint8_t *)malloc(total + letters);
    if (!room) return false;
    memset(room, SAMBA_LOADER__DATASET_MARK, total);
    for (int32_t i = 0; i < n_names; i++)
        q->room[i] = room + at[i];
    char *text = (char *)room + total;
    q->names = text;
    for (int32_t i = 0; i < n_names; i++) {
        size_t size = strlen(names[i]) + 1;
        memcpy(text, names[i], size);
        text += size;
    }
    return true;
}

/* Has the tensor rows of what fill says it writes? */
static inline bool samba_loader__dataset_takes(samba_session *s, const samba_dataset *d, int32_t i,
                                               const samba_tensor *t)
{
    if (!d->fill || !d->writes) return true;
    const samba_spec *w = &d->writes[i];
    size_t row = samba_bytes(t) / (size_t)d->batch;
    if (w->dtype != t->dtype)
        return samba_fail(s, SAMBA_EDTYPE,
                          "in samba_loader_open_dataset: fill writes %T for %s, "
                          "which is %T: make it an input of %T",
                          (int)w->dtype, t->name, (int)t->dtype, (int)w->dtype);
    if ((size_t)samba_count(&w->shape) * samba_dtype_size(w->dtype) != row)
        return samba_fail(s, SAMBA_ESHAPE,
                          "in samba_loader_open_dataset: fill writes %S for each "
                          "of %d samples, which %s %S has no room for, or more",
                          &w->shape, d->batch, t->name, &t->shape);
    return true;
}

/* Does each tensor consist of as many rows as a batch has samples? */
static inline bool samba_loader__dataset_fits(samba_session *s, const samba_dataset *d,
                                              const char *const *names, int32_t n_names)
{
    if (!d || d->n < 1 || d->batch < 1 || !names || n_names < 1 || n_names > SAMBA_MAX_ARRAYS)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_loader_open_dataset: at least a sample, a batch "
                          "of one, and 1 ... %d names are needed",
                          SAMBA_MAX_ARRAYS);
    if (d->drop_last && d->n < d->batch)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_loader_open_dataset: drop_last leaves no batch: "
                          "there are %d samples, and a batch takes %d",
                          d->n, d->batch);
    for (int32_t i = 0; i < n_names; i++) {
        const samba_tensor *t = samba_tensor_by_name(s, names[i]);
        if (!t) return false;
        if (!d->fill && !d->arrays[i])
            return samba_fail(s, SAMBA_EARG,
                              "in samba_loader_open_dataset: there is no array for "
                              "%s, and no function fill",
                              names[i]);
        if (d->is_label[i] && t->dtype != SAMBA_I32 && t->dtype != SAMBA_I64)
            return samba_fail(s, SAMBA_EDTYPE,
                              "in samba_loader_open_dataset: %s is %T and cannot "
                              "have labels of -100, which are i32 or i64",
                              names[i], (int)t->dtype);
        if (samba_bytes(t) % (size_t)d->batch)
            return samba_fail(s, SAMBA_ESHAPE,
                              "in samba_loader_open_dataset: %s %S does not "
                              "consist of %d rows",
                              names[i], &t->shape, d->batch);
        if (!samba_loader__dataset_takes(s, d, i, t)) return false;
    }
    return true;
}

SAMBA_LOADER_API samba_loader *samba_loader_open_dataset(samba_session *s,
                                                         const samba_dataset *dataset,
                                                         const char *const *names, int32_t n_names,
                                                         const samba_loader_opts *opts)
{
    samba_source source;
    if (!samba_ok(s) || !samba_loader__dataset_fits(s, dataset, names, n_names)) return NULL;
    samba_loader__dataset_source *q = (samba_loader__dataset_source *)calloc(1, sizeof *q);
    int32_t *order = (int32_t *)malloc((size_t)dataset->n * sizeof *order);
    bool fine = q && order;
    if (fine) q->d = *dataset;
    fine = fine && (!dataset->fill || samba_loader__dataset_make_room(s, q, names, n_names));
    if (!fine) {
        free(order);
        free(q);
        samba_fail(s, SAMBA_ENOMEM, "no memory for the order of %d samples", dataset->n);
        return NULL;
    }
    q->order = order;
    for (int32_t i = 0; i < n_names; i++)
        q->label_size[i] = samba_dtype_size(samba_tensor_by_name(s, names[i])->dtype);
    memset(&source, 0, sizeof source);
    source.next = samba_loader__dataset_next;
    source.rewind = samba_loader__dataset_rewind;
    source.close = samba_loader__dataset_close;
    source.user = q;
    return samba_loader_open(s, &source, names, n_names, opts);
}
#endif /* SAMBA_LOADER_IMPLEMENTATION */
/* MIT license, as samba.h. */
