/* parallel.h - data parallel training with samba.h: replicas in threads, and over machines.

   Needs samba.h before it, and POSIX threads. `#define SAMBA_PARALLEL_IMPLEMENTATION` in one file
   enables the code; SAMBA_PARALLEL_STATIC makes all functions private to the file. SAMBA_MPI, and
   mpicc, spread the replicas over the ranks of mpirun. C99 or C++11.

       samba_parallel_desc d = { .replicas = 4, .batch = 64, .mode = "inorder", .trace = model };
       samba_parallel *p = samba_parallel_open(&d);         // model() traces for 16 rows, 4 times
       while (next_batch(images, labels) && samba_parallel_ok(p)) {
           samba_parallel_batch in[2] = { { "image", images, 64 }, { "label", labels, 64 } };
           samba_parallel_run_desc step = { .inputs = in, .n_inputs = 2 };
           samba_parallel_run(p, &step);
       }
       samba_parallel_save(p, "net.ckpt");
       return samba_parallel_close(p);

   A replica is a session with a thread of its own. Each runs forward and backward on its part of
   the batch; every gradient becomes the mean of all replicas; then each replica makes the same
   optimizer step, so that the parameters stay equal to the bit. The sum of a gradient is a tree
   over the numbers of the replicas: pairs, pairs of pairs ... So mode, place of the reduction,
   threads and ranks change no bit, only the time. Replicas with batch B/N make the step of one with
   batch B, up to rounding: samba.h's [manual] says of what losses, under "A batch in parts", and
   targets that count are counted in all replicas. Differences are: dropout, whose seeds are the
   given ones plus the number of the replica; running statistics, which are each replica's own; a
   PEF that is loaded without a graph is run as it was compiled.

   Modes, as SambaFlow's data_parallel_mode:
     normal    all replicas finish the backward pass, then gradients are reduced
     inorder   a gradient is reduced as soon as the backward passes are done with it, beside the
               sections that follow; so it takes a program of many sections (.level SAMBA_O1)
     optimal   and sections of GRADNORM and OPT run as soon as what they read is there
   Programs with microbatches have their gradients at the end only: all modes reduce there. */
#ifndef SAMBA_PARALLEL_H
#define SAMBA_PARALLEL_H

#ifndef SAMBA_H
#error "parallel.h: include samba.h before"
#endif

#ifndef SAMBA_PARALLEL_API
#if defined(SAMBA_PARALLEL_STATIC)
#define SAMBA_PARALLEL_API static inline
#elif defined(__cplusplus)
#define SAMBA_PARALLEL_API extern "C"
#else
#define SAMBA_PARALLEL_API extern
#endif
#endif

typedef struct samba_parallel samba_parallel;

/* Traces the model of one replica into s for `batch` rows, and fills in how to compile it. Called
   once for each replica, so it must give the same graph each time. False: stop, s has the error. */
typedef bool (*samba_replica_fn)(samba_session *s, int32_t batch, samba_program *program,
                                 void *user);

typedef struct samba_parallel_desc {
    int32_t replicas;       /* of this process, default 1; over ranks a power of two */
    int32_t batch;          /* rows of a step, over all replicas of all ranks */
    const char *mode;       /* "normal", the default, "inorder" or "optimal" */
    bool reduce_on_rdu;     /* replicas reduce, each a share; else the calling thread */
    samba_replica_fn trace; /* NULL: the program is in pef, without a graph */
    void *user;             /* is passed to it */
    const char *pef;        /* to load, as samba_load does; NULL: compile */
    samba_desc session;     /* of each; threads: default, processors / replicas. log and
                               alloc are called from all replicas' threads */
    /* Is told of SambaFlow's events, in the calling thread, after they happened (samba_seconds):
       PyRT_GET_TENSORS_GATHER, it has read a tensor of all replicas, to reduce a gradient or for
       samba_parallel_mean; PyRT_SET_TENSORS_BROADCAST, all got the same values: the means of the
       gradients of a step, or a checkpoint. Such as profiler.h's samba_add_event. */
    void (*on_event)(const char *name, double begin, double end, void *user);
    void *event_user;
} samba_parallel_desc;

/* Opens, traces and compiles the replicas. NULL only when there is no memory for this itself; else
   look at samba_parallel_ok. With SAMBA_MPI every rank calls it, and every function below. */
SAMBA_PARALLEL_API samba_parallel *samba_parallel_open(const samba_parallel_desc *desc);
/* Ends the threads, closes the sessions. Returns 1 if there was an error: it was printed when it
   arose, once, unless desc.session has a log or is quiet. A child of fork has no threads, so that
   all other calls fail there. */
SAMBA_PARALLEL_API int samba_parallel_close(samba_parallel *p);
/* The first error of any replica stays; later calls do nothing. Over several ranks, an error ends
   the whole job: the other ranks would wait forever. */
SAMBA_PARALLEL_API bool samba_parallel_ok(samba_parallel *p);
SAMBA_PARALLEL_API const char *samba_parallel_error(samba_parallel *p);

/* An input for all replicas: each gets its part along batch_dim; without one, all of it. */
typedef struct samba_parallel_batch {
    const char *name;
    const void *data;
    int32_t rows; /* of data along batch_dim; 0: as many as are needed */
} samba_parallel_batch;

typedef struct samba_parallel_run_desc {
    const samba_parallel_batch *inputs; /* every rank gives the whole batch */
    int32_t n_inputs;
    const samba_value *hyperparams; /* persist until given again */
    int32_t n_hyperparams;
    unsigned types;    /* SAMBA_FWD | SAMBA_BCKWD ...; 0: the whole schedule */
    const char *graph; /* default: the one that trains */
    bool eval;         /* dropout rates act as 0 */
} samba_parallel_run_desc;

/* Runs a step in all replicas. Types with BCKWD and OPT are a whole step, which reduces, clears and
   clips as the program has it. Else REDUCE asks for the reduction of what BCKWD made, in this run
   or an earlier one; GRADNORM and OPT without it are an error, as the replicas would part. BCKWD
   without FWD must find what FWD has read, as in samba_run: the same part of the batch, the same
   rates, seeds, mode and parameters in each replica. OPT steps by gradients that BCKWD made. */
SAMBA_PARALLEL_API bool samba_parallel_run(samba_parallel *p, const samba_parallel_run_desc *desc);

/* As samba_set, in all replicas. The seeds of dropout are value plus the number of the replica. */
SAMBA_PARALLEL_API bool samba_parallel_set(samba_parallel *p, const char *name, double value);
/* The mean of a scalar, such as the loss, over all replicas. */
SAMBA_PARALLEL_API float samba_parallel_mean(samba_parallel *p, const char *name);
/* Session i of this process, to read outputs from between runs; NULL if there is none. */
SAMBA_PARALLEL_API samba_session *samba_parallel_session(samba_parallel *p, int32_t i);
/* How many replicas there are in all ranks, and the number of this process's first one. */
SAMBA_PARALLEL_API int32_t samba_parallel_replicas(samba_parallel *p);
SAMBA_PARALLEL_API int32_t samba_parallel_first(samba_parallel *p);
/* As samba_save, by replica 0 alone, and samba_restore, by all. */
SAMBA_PARALLEL_API bool samba_parallel_save(samba_parallel *p, const char *path);
SAMBA_PARALLEL_API bool samba_parallel_restore(samba_parallel *p, const char *path);

/* Runs fn(user), whose result becomes the exit code, so that nothing can hang: an error in any
   replica is printed and ends the process, and with MPI the job, within a second. The handlers of
   samba_atexit_register run, those of C's atexit do not. Does not return. */
SAMBA_PARALLEL_API int samba_use_abexit(int (*fn)(void *user), void *user);
/* fn(user) runs once when the process ends, last registered first, with samba_use_abexit or
   without. False: there are 32 already. A process that is killed runs none. */
SAMBA_PARALLEL_API bool samba_atexit_register(void (*fn)(void *user), void *user);

#endif /* SAMBA_PARALLEL_H */

#if defined(SAMBA_PARALLEL_IMPLEMENTATION) && !defined(SAMBA_PARALLEL__IMPLEMENTED)
#define SAMBA_PARALLEL__IMPLEMENTED

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(SAMBA_MPI)
#include <mpi.h>
#endif

enum {
    SAMBA_PARALLEL__MAX_REPLICAS = 64, /* of one process */
    SAMBA_PARALLEL__TREE_BLOCK = 256,  /* elements that a tree of sums has on its way */
    SAMBA_PARALLEL__MESSAGE = 1 << 18, /* elements that ranks send each other at once: 1 MiB */
    SAMBA_PARALLEL__MAX_HANDLERS = 32
};

#define SAMBA_PARALLEL__LEAVE_SECONDS 0.3 /* what is given to replicas to end their section */

/* ---- The end of the process ---- */

typedef struct samba_parallel__handler {
    void (*fn)(void *user);
    void *user;
} samba_parallel__handler;

typedef struct samba_parallel__exit_list {
    pthread_mutex_t mutex;
    int32_t n;
    bool known;  /* to C's atexit */
    bool abexit; /* within samba_use_abexit */
    samba_parallel__handler handler[SAMBA_PARALLEL__MAX_HANDLERS];
} samba_parallel__exit_list;

static samba_parallel__exit_list samba_parallel__exits
    = { PTHREAD_MUTEX_INITIALIZER, 0, false, false, { { NULL, NULL } } };

static inline bool samba_parallel__next_handler(samba_parallel__handler *h)
{
    pthread_mutex_lock(&samba_parallel__exits.mutex);
    bool there = samba_parallel__exits.n > 0;
    if (there) *h = samba_parallel__exits.handler[--samba_parallel__exits.n];
    pthread_mutex_unlock(&samba_parallel__exits.mutex);
    return there;
}

static inline void samba_parallel__run_handlers(void)
{
    samba_parallel__handler h;
    while (samba_parallel__next_handler(&h))
        h.fn(h.user);
}

SAMBA_PARALLEL_API bool samba_atexit_register(void (*fn)(void *user), void *user)
{
    samba_parallel__handler h = { fn, user };
    pthread_mutex_lock(&samba_parallel__exits.mutex);
    bool fine = fn && samba_parallel__exits.n < SAMBA_PARALLEL__MAX_HANDLERS
        && (samba_parallel__exits.known || atexit(samba_parallel__run_handlers) == 0);
    samba_parallel__exits.known = samba_parallel__exits.known || fine;
    if (fine) samba_parallel__exits.handler[samba_parallel__exits.n++] = h;
    pthread_mutex_unlock(&samba_parallel__exits.mutex);
    return fine;
}

/* Ends the process, and the job if it failed. */
static inline void samba_parallel__leave(int code)
{
    samba_parallel__run_handlers();
    fflush(NULL);
#if defined(SAMBA_MPI)
    int began = 0, ended = 0;
    MPI_Initialized(&began);
    MPI_Finalized(&ended);
    if (began && !ended && code) MPI_Abort(MPI_COMM_WORLD, code);
    if (began && !ended) MPI_Finalize();
#endif
    _Exit(code);
}

SAMBA_PARALLEL_API int samba_use_abexit(int (*fn)(void *user), void *user)
{
    samba_parallel__exits.abexit = true;
    int code = fn(user);
    samba_parallel__leave(code);
    return code;
}

/* ---- What there is ---- */

typedef enum samba_parallel__mode {
    SAMBA_PARALLEL__NORMAL = 0,
    SAMBA_PARALLEL__INORDER,
    SAMBA_PARALLEL__OPTIMAL
} samba_parallel__mode;

typedef struct samba_parallel__part {
    unsigned type;
    const char *graph;
} samba_parallel__part; /* a section */

/* Gradients are sorted by the section that completes them: whatever is done with them is done in
   this order, so a count says how far it is. */
typedef struct samba_parallel__gradient {
    const char *name;
    int32_t section; /* the last one of the passes that uses it; -1: none */
    int64_t n;       /* elements */
    float *mean;     /* of this process's replicas, then of all */
} samba_parallel__gradient;

/* A section of GRADNORM or OPT. */
typedef struct samba_parallel__tail {
    int32_t section;
    int32_t needs; /* it uses none of the gradients from this one on */
    int32_t after; /* the last section of the passes it may not precede */
} samba_parallel__tail;

typedef struct samba_parallel__replica {
    samba_parallel *all;
    int32_t local; /* number in this process */
    int32_t index; /* number in all ranks */
    samba_session *session;
    pthread_t thread;
    uint32_t ticket; /* of the step it began last */
    int32_t *ids;    /* sections that are run in one call */
    samba_tensor **grad;
    const float **data; /* where they are */
    bool *ran;          /* each tail, in this step */
    char *part;         /* of an input that is not split by its first dimension */
    size_t part_size;
    /* how far it is in this step: */
    int32_t at;                  /* sections of the passes before this one have run */
    int32_t done;                /* gradients that are complete here */
    int32_t shared;              /* gradients of which its share is reduced */
    int32_t taken;               /* gradients that are overwritten by their mean */
    double take_begin, take_end; /* the first and the last of them */
} samba_parallel__replica;

struct samba_parallel {
    samba_parallel_desc desc;
    samba_parallel__mode mode;
    int32_t rank, ranks;
    int32_t n_replicas, n_open, n_threads, n_everywhere;
    pid_t process;  /* that has the threads */
    bool inherited; /* this is another one, a child */
    samba_parallel__replica *replicas;
    samba_parallel__part *parts;
    int32_t n_parts;
    samba_parallel__gradient *gradients;
    int32_t n_gradients;
    samba_parallel__tail *tails;
    int32_t n_tails;
    bool *conflict;      /* tail i, earlier tail k: may not change places */
    bool accumulates;    /* gradients that add up, or none: passes run as a whole */
    bool adds;           /* gradients add up: there is ZEROGRAD */
    const char **counts; /* what sections of COUNT make */
    int32_t n_counts;
    bool unreduced;     /* replicas have gradients of their own */
    bool has_gradients; /* BCKWD has run, and no restore since */
    int32_t n_passes;   /* runs of BCKWD since the last OPT */
    bool norm_is_fresh; /* GRADNORM has run since gradients changed */
    const char *graph;  /* that trains */
    float *inbox;       /* a message from another rank */
    bool owns_mpi;
#if defined(SAMBA_MPI)
    MPI_Comm comm;
#endif
    pthread_mutex_t mutex; /* guards all below, and how far the replicas are */
    pthread_cond_t change;
    const samba_parallel_run_desc *run;
    const char *run_graph;
    unsigned types;
    int32_t n_step;    /* gradients to reduce in this step */
    int32_t n_ready;   /* gradients whose mean is known */
    int32_t n_counted; /* replicas that have run COUNT */
    bool counted;      /* the means of what they made are in all replicas */
    uint32_t ticket;   /* of this step */
    int32_t n_busy;    /* replicas that have not finished it */
    bool quit, failed, printed;
    char error[800];
};

/* ---- Errors: the first one wins, and wakes all who wait ---- */

static inline void samba_parallel__print(samba_parallel *p)
{
    if (p->printed) return;
    p->printed = true;
    if (p->ranks > 1)
        fprintf(stderr, "samba: rank %d: %s\n", (int)p->rank, p->error);
    else
        fprintf(stderr, "samba: %s\n", p->error);
}

static inline bool samba_parallel__fail(samba_parallel *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&p->mutex);
    if (!p->failed) {
        vsnprintf(p->error, sizeof p->error, fmt, args);
        if (!p->desc.session.quiet && !p->desc.session.log) samba_parallel__print(p);
    }
    p->failed = true;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
    va_end(args);
    return false;
}

static inline bool samba_parallel__replica_fail(samba_parallel__replica *r)
{
    if (samba_ok(r->session)) return false; /* it stopped because another one failed */
    return samba_parallel__fail(r->all, "replica %d: %s", (int)r->index, samba_error(r->session));
}

static inline bool samba_parallel__is_fine(samba_parallel *p)
{
    pthread_mutex_lock(&p->mutex);
    bool fine = !p->failed;
    pthread_mutex_unlock(&p->mutex);
    return fine;
}

/* fork copies the replicas without their threads, which may hold the mutex. A child forgets both,
   so that nothing waits for them, and says so. Each call from outside begins here. */
static inline void samba_parallel__look_for_fork(samba_parallel *p)
{
    pid_t process = getpid();
    if (p->process == process) return;
    p->process = process;
    p->inherited = true;
    p->n_threads = 0;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->change, NULL);
    samba_parallel__fail(p,
                         "the threads of the replicas are in the process that opened them, and "
                         "this is a forked child of it: close the replicas here, and open others");
}

SAMBA_PARALLEL_API bool samba_parallel_ok(samba_parallel *p)
{
    if (!p) return false;
    samba_parallel__look_for_fork(p);
    return samba_parallel__is_fine(p);
}

SAMBA_PARALLEL_API const char *samba_parallel_error(samba_parallel *p)
{
    if (samba_parallel_ok(p)) return "";
    return p ? p->error : "no memory";
}

/* The end of every public function: false after an error, if the process may go on with one. */
static inline bool samba_parallel__settle(samba_parallel *p)
{
    if (samba_parallel__is_fine(p)) return true;
    if (!samba_parallel__exits.abexit && p->ranks == 1) return false;
    samba_parallel__print(p); /* a process that ends says why, quiet or not */
    samba_parallel__leave(1);
    return false;
}

static inline void *samba_parallel__room(samba_parallel *p, int64_t n, size_t size)
{
    void *room = calloc(n > 0 ? (size_t)n : 1, size);
    if (!room) samba_parallel__fail(p, "no memory: %ld times %ld bytes", (long)n, (long)size);
    return room;
}

/* ---- The reduction ---- */

/* out <- the sum of n arrays, elements at ... at + count - 1, as a tree: the largest power of two
   below n on the left. So the trees of ranks, if they hold a power of two, are branches of it. */
static inline void samba_parallel__tree(const float *const *in, int32_t n, int64_t at,
                                        int32_t count, float *out)
{
    float right[SAMBA_PARALLEL__TREE_BLOCK];
    int32_t half = 1;
    if (n == 1) {
        memcpy(out, in[0] + at, (size_t)count * sizeof *out);
        return;
    }
    while (2 * half < n)
        half *= 2;
    samba_parallel__tree(in, half, at, count, out);
    samba_parallel__tree(in + half, n - half, at, count, right);
    for (int32_t i = 0; i < count; i++)
        out[i] += right[i];
}

/* sum <- the tree over this process's arrays, elements begin ... end - 1; the mean if these are
   all. */
static inline void samba_parallel__reduce(const samba_parallel *p, const float *const *in,
                                          float *sum, int64_t begin, int64_t end)
{
    uint64_t callers = samba_enter_float_mode();
    for (int64_t at = begin; at < end; at += SAMBA_PARALLEL__TREE_BLOCK) {
        int64_t left = end - at;
        int32_t count
            = left < SAMBA_PARALLEL__TREE_BLOCK ? (int32_t)left : SAMBA_PARALLEL__TREE_BLOCK;
        samba_parallel__tree(in, p->n_replicas, at, count, sum + at);
        for (int32_t i = 0; p->ranks == 1 && i < count; i++)
            sum[at + i] /= (float)p->n_everywhere;
    }
    samba_leave_float_mode(callers);
}

/* Over the ranks the tree goes on: sum becomes the mean of all. */
#if defined(SAMBA_MPI)
static inline bool samba_parallel__wait_for(samba_parallel *p, MPI_Request *request)
{
    for (int done = 0; !done; sched_yield()) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!samba_parallel__is_fine(p)) return false;
    }
    return true;
}

static inline bool samba_parallel__exchange_message(samba_parallel *p, float *sum, int n)
{
    MPI_Request request;
    for (int32_t stride = 1; stride < p->ranks; stride *= 2) {
        if (p->rank % (2 * stride)) {
            MPI_Isend(sum, n, MPI_FLOAT, p->rank - stride, 0, p->comm, &request);
            if (!samba_parallel__wait_for(p, &request)) return false;
            break;
        }
        if (p->rank + stride >= p->ranks) continue;
        MPI_Irecv(p->inbox, n, MPI_FLOAT, p->rank + stride, 0, p->comm, &request);
        if (!samba_parallel__wait_for(p, &request)) return false;
        for (int i = 0; i < n; i++)
            sum[i] += p->inbox[i];
    }
    for (int i = 0; p->rank == 0 && i < n; i++)
        sum[i] /= (float)p->n_everywhere;
    MPI_Ibcast(sum, n, MPI_FLOAT, 0, p->comm, &request);
    return samba_parallel__wait_for(p, &request);
}

static inline bool samba_parallel__exchange(samba_parallel *p, float *sum, int64_t n)
{
    bool fine = true;
    for (int64_t at = 0; fine && p->ranks > 1 && at < n; at += SAMBA_PARALLEL__MESSAGE) {
        int64_t left = n - at;
        fine = samba_parallel__exchange_message(
            p, sum + at, left < SAMBA_PARALLEL__MESSAGE ? (int)left : SAMBA_PARALLEL__MESSAGE);
    }
    return fine;
}

/* Joins the job. Returns how many ranks share this machine. */
static inline int32_t samba_parallel__join_ranks(samba_parallel *p)
{
    int began = 0, level = MPI_THREAD_SINGLE, is_main = 1, size = 1;
    MPI_Comm machine;
    MPI_Initialized(&began);
    if (!began)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    else
        MPI_Query_thread(&level);
    p->owns_mpi = !began;
    MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Comm_size(p->comm, &p->ranks);
    MPI_Is_thread_main(&is_main);
    if (level < MPI_THREAD_FUNNELED || !is_main)
        samba_parallel__fail(p,
                             "replicas are threads, which this MPI does not allow beside the "
                             "one that calls it: MPI_THREAD_FUNNELED is needed, and its main "
                             "thread");
    MPI_Comm_split_type(p->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &size);
    MPI_Comm_free(&machine);
    return size;
}

static inline void samba_parallel__part_from_ranks(samba_parallel *p)
{
    MPI_Comm_free(&p->comm);
    if (p->owns_mpi) MPI_Finalize();
}
#else
static inline bool samba_parallel__exchange(samba_parallel *p, float *sum, int64_t n)
{
    (void)p;
    (void)sum;
    (void)n;
    return true;
}

static inline int32_t samba_parallel__join_ranks(samba_parallel *p)
{
    p->ranks = 1;
    return 1;
}

static inline void samba_parallel__part_from_ranks(samba_parallel *p)
{
    (void)p;
}
#endif

/* ---- A replica's step ---- */

static inline bool samba_parallel__in_run(const samba_parallel *p, int32_t section)
{
    const samba_parallel__part *q = &p->parts[section];
    if (!(q->type & p->types)) return false;
    return !q->graph || !p->run_graph ? q->graph == p->run_graph
                                      : strcmp(q->graph, p->run_graph) == 0;
}

/* The names of the seeds of dropout, to be freed; NULL: no memory. */
static inline const char **samba_parallel__seeds(samba_parallel__replica *r, int32_t *n)
{
    *n = samba_dropout_seed_names(r->session, NULL, 0);
    const char **names = (const char **)samba_parallel__room(r->all, *n, sizeof *names);
    if (names) samba_dropout_seed_names(r->session, names, *n);
    return names;
}

/* Each replica draws masks of its own: its number is added to the seeds. */
static inline bool samba_parallel__set_hyperparam(samba_parallel__replica *r, const char *name,
                                                  double value)
{
    int32_t n;
    const char **seeds = samba_parallel__seeds(r, &n);
    bool is_seed = false;
    if (!seeds) return false;

    for (int32_t i = 0; name && i < n; i++)
        is_seed = is_seed || strcmp(name, seeds[i]) == 0;
    free(seeds);

    if (is_seed) {
        value += (double)r->index;
        if (value > 4294967295.0) value -= 4294967296.0;
    }
    return samba_set(r->session, name, value);
}

/* The part of data that is the replica's: along batch_dim every n-th piece. With microbatches the
   whole batch is the microbatches one after another, and each of them is split. */
static inline bool samba_parallel__send_part(samba_parallel__replica *r,
                                             const samba_parallel_batch *in)
{
    samba_tensor *t = samba_tensor_by_name(r->session, in->name);
    const char *data = (const char *)in->data;
    size_t bytes = samba_bytes(t), piece = t ? samba_dtype_size(t->dtype) : 0;
    if (!t || t->batch_dim < 0) return samba_write(t, data);
    for (int32_t i = t->batch_dim; i < t->shape.ndim; i++)
        piece *= (size_t)t->shape.dim[i];
    data += (size_t)r->index * piece;
    if (piece == bytes) return samba_write(t, data);
    if (r->part_size < bytes) {
        char *larger = (char *)realloc(r->part, bytes);
        if (!larger) return samba_fail(r->session, SAMBA_ENOMEM, "no memory for a part of a batch");
        r->part = larger;
        r->part_size = bytes;
    }
    for (size_t at = 0; at < bytes; at += piece, data += (size_t)r->all->n_everywhere * piece)
        memcpy(r->part + at, data, piece);
    return samba_write(t, r->part);
}

static inline bool samba_parallel__replica_part(samba_parallel__replica *r, int32_t section)
{
    samba_run_desc d;
    memset(&d, 0, sizeof d);
    d.section_ids = &section;
    d.n_section_ids = 1;
    d.graph = r->all->parts[section].graph;
    d.eval = r->all->run->eval;
    d.own_order = true; /* samba_parallel__check_run and the order of tails see to it */
    return samba_run_with(r->session, &d);
}

/* A section of the passes, which come before any use of the gradients. */
static inline bool samba_parallel__is_pass(const samba_parallel__part *q)
{
    return q->type <= SAMBA_BCKWD || q->type == SAMBA_COUNT;
}

/* Runs all sections of these types in one call: with microbatches they are repeated as a whole. */
static inline bool samba_parallel__run_passes(samba_parallel__replica *r, unsigned types)
{
    samba_parallel *p = r->all;
    samba_run_desc d;
    memset(&d, 0, sizeof d);
    for (int32_t k = 0; k < p->n_parts; k++)
        if ((p->parts[k].type & types) && samba_parallel__in_run(p, k))
            r->ids[d.n_section_ids++] = k;
    d.section_ids = r->ids;
    d.own_order = true;
    d.graph = p->run_graph;
    d.eval = p->run->eval;
    return !d.n_section_ids || samba_run_with(r->session, &d);
}

/* Does this run begin with a forward pass that reads counts? */
static inline bool samba_parallel__counts_now(const samba_parallel *p)
{
    return p->n_counts && (p->types & SAMBA_COUNT);
}

/* COUNT in this replica; then the calling thread makes means of all replicas. */
static inline bool samba_parallel__replica_count(samba_parallel__replica *r)
{
    samba_parallel *p = r->all;
    if (!samba_parallel__counts_now(p)) return true;
    if (!samba_parallel__run_passes(r, SAMBA_COUNT)) return false;
    pthread_mutex_lock(&p->mutex);
    p->n_counted++;
    pthread_cond_broadcast(&p->change);
    while (!p->counted && !p->failed)
        pthread_cond_wait(&p->change, &p->mutex);
    bool fine = p->counted;
    pthread_mutex_unlock(&p->mutex);
    return fine;
}

/* A backward pass alone: is there what it reads again, as FWD saw it? Looked at before any section
   runs, since each of them runs in an order of its own. */
static inline bool samba_parallel__check_backward(samba_parallel__replica *r)
{
    samba_parallel *p = r->all;
    samba_run_desc d;
    bool alone = (p->types & SAMBA_BCKWD) && !(p->types & SAMBA_FWD);
    if (!alone) return true;
    memset(&d, 0, sizeof d);
    d.types[0] = SAMBA_BCKWD;
    d.graph = p->run_graph;
    d.eval = p->run->eval;
    d.check_only = true;
    return samba_run_with(r->session, &d);
}

/* Says that the sections of the passes before `at` have run, and which gradients that completes. */
static inline void samba_parallel__passed(samba_parallel__replica *r, int32_t at)
{
    samba_parallel *p = r->all;
    pthread_mutex_lock(&p->mutex);
    r->at = at;
    for (; r->done < p->n_step && p->gradients[r->done].section < at; r->done++)
        r->data[r->done] = samba_read(r->grad[r->done]);
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
}

/* Overwrites the gradients before the n-th by their means. */
static inline bool samba_parallel__take_means(samba_parallel__replica *r, int32_t n)
{
    samba_parallel *p = r->all;
    if (n > p->n_step) n = p->n_step;
    if (r->taken >= n) return true;
    if (r->taken == 0) r->take_begin = samba_seconds();
    for (; r->taken < n; r->taken++)
        if (!samba_write(r->grad[r->taken], p->gradients[r->taken].mean)) return false;
    r->take_end = samba_seconds();
    return true;
}

/* How many gradients all replicas have completed, or reduced their share of. Mutex held, as in the
   next three functions. */
static inline int32_t samba_parallel__least(const samba_parallel *p, bool shared)
{
    int32_t least = p->n_step;
    for (int32_t i = 0; i < p->n_replicas; i++) {
        int32_t n = shared ? p->replicas[i].shared : p->replicas[i].done;
        if (n < least) least = n;
    }
    return least;
}

static inline int32_t samba_parallel__may_reduce(const samba_parallel *p)
{
    int32_t n = samba_parallel__least(p, false);
    return p->mode != SAMBA_PARALLEL__NORMAL || n == p->n_step ? n : 0;
}

static inline bool samba_parallel__may_run(const samba_parallel__replica *r, int32_t tail)
{
    const samba_parallel *p = r->all;
    const samba_parallel__tail *t = &p->tails[tail];
    if (p->n_ready < (t->needs < p->n_step ? t->needs : p->n_step)) return false;
    if (p->mode != SAMBA_PARALLEL__OPTIMAL) return r->at == p->n_parts;
    for (int32_t k = 0; k < tail; k++)
        if (!r->ran[k] && p->conflict[tail * p->n_tails + k]) return false;
    return r->at > t->after;
}

typedef enum samba_parallel__duty {
    SAMBA_PARALLEL__NOTHING,
    SAMBA_PARALLEL__SHARE,
    SAMBA_PARALLEL__TAIL,
    SAMBA_PARALLEL__FINISH
} samba_parallel__duty;

/* What the replica can do now besides the passes. */
static inline samba_parallel__duty samba_parallel__choose_task(const samba_parallel__replica *r,
                                                               int32_t *tail)
{
    const samba_parallel *p = r->all;
    bool left = r->at < p->n_parts || p->n_ready < p->n_step;
    if (p->desc.reduce_on_rdu && r->shared < samba_parallel__may_reduce(p))
        return SAMBA_PARALLEL__SHARE;
    for (int32_t i = 0; i < p->n_tails; i++) {
        if (r->ran[i]) continue;
        *tail = i;
        left = true;
        if (samba_parallel__may_run(r, i)) return SAMBA_PARALLEL__TAIL;
        if (p->mode != SAMBA_PARALLEL__OPTIMAL) break;
    }
    return left ? SAMBA_PARALLEL__NOTHING : SAMBA_PARALLEL__FINISH;
}

static inline void samba_parallel__reduce_share(samba_parallel__replica *r)
{
    samba_parallel *p = r->all;
    const samba_parallel__gradient *g = &p->gradients[r->shared];
    const float *in[SAMBA_PARALLEL__MAX_REPLICAS];
    for (int32_t i = 0; i < p->n_replicas; i++)
        in[i] = p->replicas[i].data[r->shared];
    samba_parallel__reduce(p, in, g->mean, g->n * r->local / p->n_replicas,
                           g->n * (r->local + 1) / p->n_replicas);
    pthread_mutex_lock(&p->mutex);
    r->shared++;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
}

/* Does one thing besides the passes. False if there is nothing to do, now or, with wait, ever. */
static inline bool samba_parallel__work(samba_parallel__replica *r, bool wait)
{
    samba_parallel *p = r->all;
    int32_t tail = 0;
    pthread_mutex_lock(&p->mutex);
    samba_parallel__duty task = samba_parallel__choose_task(r, &tail);
    while (wait && task == SAMBA_PARALLEL__NOTHING && !p->failed) {
        pthread_cond_wait(&p->change, &p->mutex);
        task = samba_parallel__choose_task(r, &tail);
    }
    bool stop
        = p->failed || task == SAMBA_PARALLEL__NOTHING || (task == SAMBA_PARALLEL__FINISH && !wait);
    pthread_mutex_unlock(&p->mutex);
    if (stop) return false;
    if (task == SAMBA_PARALLEL__FINISH) {
        samba_parallel__take_means(r, p->n_step);
        return false;
    }
    if (task == SAMBA_PARALLEL__SHARE) {
        samba_parallel__reduce_share(r);
        return true;
    }
    r->ran[tail] = true;
    return samba_parallel__take_means(r, p->tails[tail].needs)
        && samba_parallel__replica_part(r, p->tails[tail].section);
}

static inline bool samba_parallel__replica_step(samba_parallel__replica *r)
{
    samba_parallel *p = r->all;
    const samba_parallel_run_desc *d = p->run;
    for (int32_t i = 0; i < d->n_hyperparams; i++)
        if (!samba_parallel__set_hyperparam(r, d->hyperparams[i].name, d->hyperparams[i].value))
            return false;
    for (int32_t i = 0; i < d->n_inputs; i++)
        if (!samba_parallel__send_part(r, &d->inputs[i])) return false;
    if (!samba_parallel__check_backward(r)) return false;
    if (!samba_parallel__run_passes(r, SAMBA_ZEROGRAD) || !samba_parallel__replica_count(r))
        return false;
    if (p->accumulates && !samba_parallel__run_passes(r, SAMBA_FWD | SAMBA_BCKWD)) return false;
    for (int32_t k = 0; k < p->n_parts && !p->accumulates; k++) {
        bool pass = p->parts[k].type == SAMBA_FWD || p->parts[k].type == SAMBA_BCKWD;
        if (!pass || !samba_parallel__in_run(p, k)) continue;
        if (!samba_parallel__is_fine(p) || !samba_parallel__replica_part(r, k)) return false;
        samba_parallel__passed(r, k + 1);
        while (p->mode != SAMBA_PARALLEL__NORMAL && samba_parallel__work(r, false))
            continue;
    }
    if (!samba_ok(r->session)) return false; /* a section that ran early has failed */
    samba_parallel__passed(r, p->n_parts);
    while (samba_parallel__work(r, true))
        continue;
    return samba_ok(r->session);
}

static inline void *samba_parallel__replica_main(void *argument)
{
    samba_parallel__replica *r = (samba_parallel__replica *)argument;
    samba_parallel *p = r->all;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (!p->quit && r->ticket == p->ticket)
            pthread_cond_wait(&p->change, &p->mutex);
        if (p->quit) break;
        r->ticket = p->ticket;
        pthread_mutex_unlock(&p->mutex);
        if (!samba_parallel__replica_step(r)) samba_parallel__replica_fail(r);
        pthread_mutex_lock(&p->mutex);
        p->n_busy--;
        pthread_cond_broadcast(&p->change);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- The calling thread's step ---- */

static inline bool samba_parallel__check_batch(samba_parallel *p, const samba_parallel_batch *in)
{
    samba_session *s = p->replicas[0].session;
    samba_tensor *t = in->name ? samba_tensor_by_name(s, in->name) : NULL;
    if (!in->name || !in->data) return samba_parallel__fail(p, "an input has no name or no data");
    if (!t) return samba_parallel__replica_fail(&p->replicas[0]);
    if (t->batch_dim < 0 || in->rows == 0) return true;
    int64_t bytes = samba_count(&t->shape) * (int64_t)samba_dtype_size(t->dtype);
    int64_t rows = t->shape.dim[t->batch_dim] * ((int64_t)samba_bytes(t) / bytes);
    if (in->rows % p->n_everywhere)
        return samba_parallel__fail(p,
                                    "a batch of %d rows for %s cannot be split evenly among %d "
                                    "replicas",
                                    (int)in->rows, in->name, (int)p->n_everywhere);
    return in->rows == rows * p->n_everywhere
        || samba_parallel__fail(p, "%s has %d rows; each of %d replicas takes %d", in->name,
                                (int)in->rows, (int)p->n_everywhere, (int)rows);
}

static inline bool samba_parallel__is_step(unsigned types)
{
    return (types & SAMBA_BCKWD) && (types & SAMBA_OPT);
}

/* Do gradients change in this run, other than by a reduction? */
static inline bool samba_parallel__makes_gradients(const samba_parallel *p)
{
    bool makes = false;
    for (int32_t k = 0; k < p->n_parts; k++)
        makes = makes
            || (samba_parallel__in_run(p, k) && p->parts[k].type & (SAMBA_ZEROGRAD | SAMBA_BCKWD));
    return makes;
}

/* OPT without BCKWD in the same run: are there gradients, and are they those that are meant? */
static inline bool samba_parallel__check_step(samba_parallel *p)
{
    samba_session *s = p->replicas[0].session;
    if (!p->has_gradients)
        return samba_parallel__fail(p,
                                    "OPT steps by gradients, but BCKWD has not run since the "
                                    "replicas were opened or restored; nothing was run");
    if (p->types & SAMBA_FWD)
        return samba_parallel__fail(p,
                                    "OPT would step by gradients of an earlier forward pass: add "
                                    "SAMBA_BCKWD to the types, or run OPT before FWD; nothing was "
                                    "run");
    if (p->n_passes == 0)
        samba_warn(s,
                   "OPT has stepped by these gradients before; each run of it needs one of "
                   "BCKWD");
    if (p->n_passes > 1 && !p->adds)
        samba_warn(s,
                   "BCKWD has run more than once since OPT has stepped, and the gradients are "
                   "those of the last time alone; if they are to add up, compile with "
                   "samba_program.accumulate, or let samba_program.microbatches split the batch");
    return true;
}

/* May GRADNORM and OPT run now: are the gradients the means of all replicas, and is the norm that
   OPT clips by theirs? */
static inline bool samba_parallel__check_turn(samba_parallel *p)
{
    bool norm = false, uses = false, blind = false;
    bool makes = samba_parallel__makes_gradients(p), reduces = (p->types & SAMBA_REDUCE) != 0;
    bool fresh = p->norm_is_fresh && !makes && !(reduces && p->unreduced);
    for (int32_t i = 0; i < p->run->n_hyperparams; i++)
        fresh = fresh && !strstr(p->run->hyperparams[i].name, "max_grad_norm");
    for (int32_t i = 0; i < p->n_tails; i++) {
        unsigned type = p->parts[p->tails[i].section].type;
        norm = norm || type == SAMBA_GRADNORM;
        uses = uses || samba_parallel__in_run(p, p->tails[i].section);
        blind = blind || (type == SAMBA_OPT && samba_parallel__in_run(p, p->tails[i].section));
    }
    if (blind && !makes && !samba_parallel__check_step(p)) return false;
    if (uses && !reduces && (p->unreduced || makes))
        return samba_parallel__fail(p,
                                    "the replicas' gradients have not been reduced since BCKWD: "
                                    "add SAMBA_REDUCE to the types; nothing was run");
    return !blind || !norm || fresh || p->types & SAMBA_GRADNORM
        || samba_parallel__fail(p,
                                "OPT clips by the norm of the gradients, which GRADNORM has not "
                                "computed since they changed: add SAMBA_GRADNORM to the types; "
                                "nothing was run");
}

static inline bool samba_parallel__check_run(samba_parallel *p, const samba_parallel_run_desc *d)
{
    const unsigned optional = SAMBA_ZEROGRAD | SAMBA_GRADNORM;
    unsigned there = samba_section_types(p->replicas[0].session) | SAMBA_REDUCE;
    bool any = p->types == SAMBA_REDUCE;
    if (samba_parallel__is_step(d->types)) there |= optional;
    for (int32_t k = 0; k < p->n_parts; k++)
        any = any || samba_parallel__in_run(p, k);
    if (!any || (d->types & ~there))
        return samba_parallel__fail(p,
                                    "the program%s%s has not all types of sections that are to "
                                    "run",
                                    d->graph ? ", graph " : "", d->graph ? d->graph : "");
    if (!samba_parallel__check_turn(p)) return false;
    for (int32_t i = 0; i < d->n_inputs; i++)
        if (!samba_parallel__check_batch(p, &d->inputs[i])) return false;
    return true;
}

/* Are there gradients to reduce in this run? */
static inline bool samba_parallel__reduces(const samba_parallel *p)
{
    return (p->types & SAMBA_REDUCE) && (p->unreduced || samba_parallel__makes_gradients(p));
}

/* Lets the replicas begin a step. */
static inline void samba_parallel__begin_step(samba_parallel *p)
{
    pthread_mutex_lock(&p->mutex);
    p->n_step = samba_parallel__reduces(p) ? p->n_gradients : 0;
    p->n_ready = p->n_counted = 0;
    p->counted = false;
    for (int32_t i = 0; i < p->n_replicas; i++) {
        samba_parallel__replica *r = &p->replicas[i];
        r->at = r->done = r->shared = r->taken = 0;
        for (int32_t k = 0; k < p->n_tails; k++)
            r->ran[k] = !samba_parallel__in_run(p, p->tails[k].section);
    }
    p->n_busy = p->n_replicas;
    p->ticket++;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
}

static inline void samba_parallel__tell(const samba_parallel *p, bool gather, double begin,
                                        double end)
{
    const char *name = gather ? "PyRT_GET_TENSORS_GATHER" : "PyRT_SET_TENSORS_BROADCAST";
    if (p->desc.on_event) p->desc.on_event(name, begin, end, p->desc.event_user);
}

/* Makes the mean of gradient i, or, if the replicas reduce, waits for it. */
static inline bool samba_parallel__host_reduce(samba_parallel *p, int32_t i)
{
    samba_parallel__gradient *g = &p->gradients[i];
    const float *in[SAMBA_PARALLEL__MAX_REPLICAS];
    bool on_rdu = p->desc.reduce_on_rdu;
    pthread_mutex_lock(&p->mutex);
    while (!p->failed
           && i >= (on_rdu ? samba_parallel__least(p, true) : samba_parallel__may_reduce(p)))
        pthread_cond_wait(&p->change, &p->mutex);
    bool fine = !p->failed;
    pthread_mutex_unlock(&p->mutex);
    for (int32_t k = 0; fine && k < p->n_replicas; k++)
        in[k] = p->replicas[k].data[i];
    double begin = samba_seconds();
    if (fine && !on_rdu) {
        samba_parallel__reduce(p, in, g->mean, 0, g->n);
        samba_parallel__tell(p, true, begin, samba_seconds());
    }
    if (!fine || !samba_parallel__exchange(p, g->mean, g->n)) return false;
    pthread_mutex_lock(&p->mutex);
    p->n_ready = i + 1;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
    return true;
}

/* Waits until all replicas have counted, and gives them the means. They wait meanwhile. */
static inline bool samba_parallel__share_counts(samba_parallel *p)
{
    const float *in[SAMBA_PARALLEL__MAX_REPLICAS];
    if (!samba_parallel__counts_now(p)) return true;
    pthread_mutex_lock(&p->mutex);
    while (!p->failed && p->n_counted < p->n_replicas)
        pthread_cond_wait(&p->change, &p->mutex);
    bool fine = !p->failed;
    pthread_mutex_unlock(&p->mutex);
    for (int32_t i = 0; fine && i < p->n_counts; i++) {
        int64_t n = 0;
        for (int32_t k = 0; k < p->n_replicas; k++) {
            samba_tensor *t = samba_tensor_by_name(p->replicas[k].session, p->counts[i]);
            n = t ? samba_count(&t->shape) : 0;
            in[k] = samba_read(t);
        }
        float *mean = (float *)samba_parallel__room(p, n, sizeof *mean);
        fine = n > 0 && mean;
        if (fine) samba_parallel__reduce(p, in, mean, 0, n);
        fine = fine && samba_parallel__exchange(p, mean, n);
        for (int32_t k = 0; fine && k < p->n_replicas; k++) {
            samba_session *s = p->replicas[k].session;
            fine = samba_write(samba_tensor_by_name(s, p->counts[i]), mean);
        }
        free(mean);
    }
    if (!fine) return samba_parallel__fail(p, "what the replicas counted could not be shared");
    pthread_mutex_lock(&p->mutex);
    p->counted = true;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
    return true;
}

/* Waits for the replicas; not forever if the process is about to end. */
static inline void samba_parallel__end_step(samba_parallel *p)
{
    bool hurry = samba_parallel__exits.abexit || p->ranks > 1;
    pthread_mutex_lock(&p->mutex);
    while (p->n_busy > 0 && !(p->failed && hurry))
        pthread_cond_wait(&p->change, &p->mutex);
    double end = samba_seconds() + SAMBA_PARALLEL__LEAVE_SECONDS;
    while (p->n_busy > 0 && samba_seconds() < end) {
        pthread_mutex_unlock(&p->mutex);
        sched_yield();
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
}

/* The means went to all replicas from the first one's first to the last one's last. */
static inline void samba_parallel__tell_of_means(const samba_parallel *p)
{
    double begin = p->replicas[0].take_begin, end = p->replicas[0].take_end;
    for (int32_t i = 1; i < p->n_replicas; i++) {
        const samba_parallel__replica *r = &p->replicas[i];
        begin = r->take_begin < begin ? r->take_begin : begin;
        end = r->take_end > end ? r->take_end : end;
    }
    samba_parallel__tell(p, false, begin, end);
}

/* Notes what this run does with the gradients, for samba_parallel__check_step of the next ones. */
static inline void samba_parallel__count_passes(samba_parallel *p)
{
    bool backward = false, steps = false;
    for (int32_t k = 0; k < p->n_parts; k++) {
        if (!samba_parallel__in_run(p, k)) continue;
        backward = backward || (p->parts[k].type & SAMBA_BCKWD);
        steps = steps || (p->parts[k].type & SAMBA_OPT);
    }
    p->has_gradients = p->has_gradients || backward;
    if (backward) p->n_passes++;
    if (steps) p->n_passes = 0;
}

SAMBA_PARALLEL_API bool samba_parallel_run(samba_parallel *p, const samba_parallel_run_desc *desc)
{
    samba_parallel_run_desc whole;
    memset(&whole, 0, sizeof whole);
    if (!samba_parallel_ok(p)) return false;
    p->run = desc ? desc : &whole;
    p->run_graph = p->run->graph ? p->run->graph : p->graph;
    p->types = p->run->types ? p->run->types : ~0u;
    if (samba_parallel__is_step(p->types))
        p->types |= SAMBA_ZEROGRAD | SAMBA_REDUCE | SAMBA_GRADNORM;
    if (p->types & SAMBA_FWD) p->types |= SAMBA_COUNT;
    if (p->types & SAMBA_BCKWD && p->n_passes == 0) p->types |= SAMBA_ZEROGRAD;
    if (!samba_parallel__check_run(p, p->run)) return samba_parallel__settle(p);
    bool reduces = samba_parallel__reduces(p), makes = samba_parallel__makes_gradients(p);
    if (makes || reduces) p->norm_is_fresh = false;
    if (p->types & SAMBA_GRADNORM) p->norm_is_fresh = true;
    samba_parallel__count_passes(p);
    samba_parallel__begin_step(p);
    bool fine = samba_parallel__share_counts(p);
    for (int32_t i = 0; fine && i < p->n_step; i++)
        fine = samba_parallel__host_reduce(p, i);
    samba_parallel__end_step(p);
    p->unreduced = (p->unreduced || makes) && !reduces;
    if (fine && p->n_step && samba_parallel_ok(p)) samba_parallel__tell_of_means(p);
    return samba_parallel__settle(p);
}

/* ---- Opening: what the sections do with the gradients ---- */

static inline bool samba_parallel__look_at_sections(samba_parallel *p)
{
    samba_session *s = p->replicas[0].session;
    samba_section q;
    while (samba_describe_section(s, p->n_parts, &q))
        p->n_parts++;
    p->parts = (samba_parallel__part *)samba_parallel__room(p, p->n_parts, sizeof *p->parts);
    p->tails = (samba_parallel__tail *)samba_parallel__room(p, p->n_parts, sizeof *p->tails);
    if (!p->parts || !p->tails) return false;
    for (int32_t k = 0; samba_describe_section(s, k, &q); k++) {
        p->parts[k].type = q.types;
        p->parts[k].graph = q.graph;
        if (strchr(q.type, '_'))
            return samba_parallel__fail(p,
                                        "mapping spatial keeps no gradients that could be "
                                        "reduced: compile the replicas with mapping section");
        p->adds = p->adds || p->parts[k].type == SAMBA_ZEROGRAD;
        if (p->parts[k].type == SAMBA_BCKWD || k == 0) p->graph = q.graph;
        if (!samba_parallel__is_pass(&p->parts[k])) p->tails[p->n_tails++].section = k;
    }
    return true;
}

static inline int samba_parallel__by_section(const void *a, const void *b)
{
    const samba_parallel__gradient *x = (const samba_parallel__gradient *)a,
                                   *y = (const samba_parallel__gradient *)b;
    return x->section != y->section ? (x->section < y->section ? -1 : 1) : strcmp(x->name, y->name);
}

static inline bool samba_parallel__look_at_gradients(samba_parallel *p)
{
    samba_session *s = p->replicas[0].session;
    int32_t n = samba_grad_names(s, NULL, 0);
    const char **names = (const char **)samba_parallel__room(p, n, sizeof *names);
    p->gradients = (samba_parallel__gradient *)samba_parallel__room(p, n, sizeof *p->gradients);
    bool fine = names && p->gradients;
    if (fine) samba_grad_names(s, names, n);
    for (int32_t i = 0; fine && i < n; i++, p->n_gradients++) {
        const samba_tensor *t = samba_tensor_by_name(s, names[i]);
        samba_parallel__gradient *g = &p->gradients[i];
        g->name = names[i];
        g->section = -1;
        g->n = t ? samba_count(&t->shape) : 0;
        for (int32_t k = 0; k < p->n_parts; k++)
            if (samba_parallel__is_pass(&p->parts[k]) && samba_section_uses(s, k, t))
                g->section = k;
        g->mean = (float *)samba_parallel__room(p, g->n, sizeof *g->mean);
        fine = t && g->mean;
    }
    free(names);
    if (fine) qsort(p->gradients, (size_t)n, sizeof *p->gradients, samba_parallel__by_section);
    p->accumulates = p->adds || n == 0;
    p->n_counts = samba_count_names(s, NULL, 0);
    p->counts = (const char **)samba_parallel__room(p, p->n_counts, sizeof *p->counts);
    if (p->counts) samba_count_names(s, p->counts, p->n_counts);
    return fine && p->counts;
}

/* What each tail needs, and what it may not precede. */
static inline bool samba_parallel__look_at_tails(samba_parallel *p)
{
    samba_session *s = p->replicas[0].session;
    p->conflict = (bool *)samba_parallel__room(p, (int64_t)p->n_tails * p->n_tails, sizeof(bool));
    for (int32_t i = 0; p->conflict && i < p->n_tails; i++) {
        samba_parallel__tail *t = &p->tails[i];
        t->after = p->n_parts - 1;
        for (int32_t g = 0; g < p->n_gradients; g++)
            if (samba_section_uses(s, t->section, samba_tensor_by_name(s, p->gradients[g].name)))
                t->needs = g + 1;
        if (p->mode != SAMBA_PARALLEL__OPTIMAL) continue;
        /* Passes that are repeated for each microbatch are done with a parameter only at the end;
           the order among tails is the same with microbatches as without. */
        while (!p->accumulates && t->after >= 0
               && (!samba_parallel__is_pass(&p->parts[t->after])
                   || samba_sections_commute(s, t->after, t->section)))
            t->after--;
        for (int32_t k = 0; k < i; k++)
            p->conflict[i * p->n_tails + k]
                = !samba_sections_commute(s, p->tails[k].section, t->section);
    }
    return p->conflict != NULL;
}

/* Gives the seeds of dropout, as a program or a file has them, the number of the replica. */
static inline bool samba_parallel__spread_seeds(samba_parallel__replica *r)
{
    int32_t n;
    const char **seeds = samba_parallel__seeds(r, &n);
    if (!seeds) return false;
    for (int32_t i = 0; i < n && r->index; i++)
        samba_parallel__set_hyperparam(r, seeds[i], samba_get(r->session, seeds[i]));
    free(seeds);
    return samba_ok(r->session);
}

/* Warnings of one replica; its errors are printed as those of the group. */
static inline void samba_parallel__replica_log(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING) fprintf(stderr, "samba: warning: %s\n", text);
}

static inline bool samba_parallel__open_replica(samba_parallel *p, int32_t i)
{
    samba_parallel__replica *r = &p->replicas[i];
    const samba_parallel_desc *d = &p->desc;
    samba_program program;
    memset(&program, 0, sizeof program);
    r->all = p;
    r->local = i;
    r->index = p->rank * p->n_replicas + i;
    samba_desc session = d->session;
    if (!session.log && r->index == 0 && !session.quiet)
        session.log = samba_parallel__replica_log;
    else if (!session.log)
        session.quiet = true; /* they say all the same */
    r->session = samba_open(&session);
    if (!r->session) return samba_parallel__fail(p, "no memory for replica %d", (int)r->index);
    p->n_open++;
    bool fine = !d->trace || d->trace(r->session, d->batch / p->n_everywhere, &program, d->user);
    if (r->index) program.pef = NULL; /* one writes for all */
    program.replicas = p->n_everywhere;
    if (fine)
        fine = d->pef ? samba_load(r->session, d->pef, d->trace ? &program : NULL)
                      : samba_compile(r->session, &program);
    if (fine && samba_parallel__spread_seeds(r)) return true;
    samba_parallel__replica_fail(r);
    return samba_parallel__fail(p, "replica %d: tracing it failed", (int)r->index);
}

static inline bool samba_parallel__open_tables(samba_parallel *p)
{
    if (!samba_parallel__look_at_sections(p) || !samba_parallel__look_at_gradients(p)
        || !samba_parallel__look_at_tails(p))
        return samba_parallel__replica_fail(&p->replicas[0]);
    for (int32_t i = 0; i < p->n_replicas; i++) {
        samba_parallel__replica *r = &p->replicas[i];
        r->grad = (samba_tensor **)samba_parallel__room(p, p->n_gradients, sizeof *r->grad);
        r->data = (const float **)samba_parallel__room(p, p->n_gradients, sizeof *r->data);
        r->ran = (bool *)samba_parallel__room(p, p->n_tails, sizeof *r->ran);
        r->ids = (int32_t *)samba_parallel__room(p, p->n_parts, sizeof *r->ids);
        if (!r->grad || !r->data || !r->ran || !r->ids) return false;
        for (int32_t g = 0; g < p->n_gradients; g++) {
            r->grad[g] = samba_tensor_by_name(r->session, p->gradients[g].name);
            if (!r->grad[g]) return samba_parallel__replica_fail(r);
        }
    }
    return true;
}

static inline bool samba_parallel__options(samba_parallel *p)
{
    samba_parallel_desc *d = &p->desc;
    const char *mode = d->mode ? d->mode : "normal";
    int32_t here = samba_parallel__join_ranks(p), n = d->replicas ? d->replicas : 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    p->n_everywhere = n * p->ranks;
    p->mode = strcmp(mode, "optimal") == 0 ? SAMBA_PARALLEL__OPTIMAL
        : strcmp(mode, "inorder") == 0     ? SAMBA_PARALLEL__INORDER
                                           : SAMBA_PARALLEL__NORMAL;
    if (p->mode == SAMBA_PARALLEL__NORMAL && strcmp(mode, "normal") != 0)
        return samba_parallel__fail(p,
                                    "there is no mode %s; the modes are normal, inorder and "
                                    "optimal",
                                    mode);
    if (n < 1 || n > SAMBA_PARALLEL__MAX_REPLICAS || (p->ranks > 1 && (n & (n - 1))))
        return samba_parallel__fail(p,
                                    "%d replicas in a process; use 1 ... %d, and over several "
                                    "ranks a power of two, for the sake of the tree of sums",
                                    (int)n, (int)SAMBA_PARALLEL__MAX_REPLICAS);
    if (d->batch % p->n_everywhere)
        return samba_parallel__fail(p, "a batch of %d cannot be split evenly among %d replicas",
                                    (int)d->batch, (int)p->n_everywhere);
    if (!d->trace && !d->pef)
        return samba_parallel__fail(p, "a function that traces, or a pef, is needed");
    if (d->session.threads <= 0) d->session.threads = (int32_t)(processors / ((long)n * here));
    if (d->session.threads <= 0) d->session.threads = 1;
    p->n_replicas = n;
    p->replicas = (samba_parallel__replica *)samba_parallel__room(p, n, sizeof *p->replicas);
    p->inbox = (float *)samba_parallel__room(p, p->ranks > 1 ? SAMBA_PARALLEL__MESSAGE : 1,
                                             sizeof(float));
    return samba_parallel_ok(p);
}

SAMBA_PARALLEL_API samba_parallel *samba_parallel_open(const samba_parallel_desc *desc)
{
    samba_parallel *p = (samba_parallel *)calloc(1, sizeof *p);
    if (!p) return NULL;
    if (desc) p->desc = *desc;
    p->ranks = 1;
    p->process = getpid();
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->change, NULL);
    bool fine = samba_parallel__options(p);
    for (int32_t i = 0; fine && i < p->n_replicas; i++)
        fine = samba_parallel__open_replica(p, i);
    fine = fine && samba_parallel__open_tables(p);
    for (int32_t i = 0; fine && i < p->n_replicas; i++) {
        samba_parallel__replica *r = &p->replicas[i];
        fine = !pthread_create(&r->thread, NULL, samba_parallel__replica_main, r)
            || samba_parallel__fail(p, "the system gives no thread for replica %d", (int)r->index);
        p->n_threads += fine;
    }
    samba_parallel__settle(p);
    return p;
}

SAMBA_PARALLEL_API int samba_parallel_close(samba_parallel *p)
{
    if (!p) return 1;
    int failed = !samba_parallel_ok(p);
    pthread_mutex_lock(&p->mutex);
    p->quit = true;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->mutex);
    for (int32_t i = 0; i < p->n_threads; i++)
        pthread_join(p->replicas[i].thread, NULL);
    for (int32_t i = 0; i < p->n_open; i++) {
        samba_parallel__replica *r = &p->replicas[i];
        failed |= samba_close(r->session);
        free(r->grad);
        free(r->data);
        free(r->ran);
        free(r->part);
        free(r->ids);
    }
    for (int32_t i = 0; i < p->n_gradients; i++)
        free(p->gradients[i].mean);
    free(p->replicas);
    free(p->parts);
    free(p->tails);
    free(p->gradients);
    free(p->conflict);
    free(p->inbox);
    free(p->counts);
    if (p->n_everywhere && !p->inherited) samba_parallel__part_from_ranks(p);
    pthread_cond_destroy(&p->change);
    pthread_mutex_destroy(&p->mutex);
    free(p);
    return failed;
}

/* ---- Between runs ---- */

SAMBA_PARALLEL_API samba_session *samba_parallel_session(samba_parallel *p, int32_t i)
{
    return p && i >= 0 && i < p->n_open ? p->replicas[i].session : NULL;
}

SAMBA_PARALLEL_API int32_t samba_parallel_replicas(samba_parallel *p)
{
    return p ? p->n_everywhere : 0;
}

SAMBA_PARALLEL_API int32_t samba_parallel_first(samba_parallel *p)
{
    return p ? p->rank * p->n_replicas : 0;
}

SAMBA_PARALLEL_API bool samba_parallel_set(samba_parallel *p, const char *name, double value)
{
    if (!samba_parallel_ok(p)) return false;
    p->norm_is_fresh = false; /* max_grad_norm may be another one */
    for (int32_t i = 0; i < p->n_replicas; i++)
        if (!samba_parallel__set_hyperparam(&p->replicas[i], name, value))
            samba_parallel__replica_fail(&p->replicas[i]);
    return samba_parallel__settle(p);
}

SAMBA_PARALLEL_API float samba_parallel_mean(samba_parallel *p, const char *name)
{
    float value[SAMBA_PARALLEL__MAX_REPLICAS], mean = 0.0f;
    const float *in[SAMBA_PARALLEL__MAX_REPLICAS];
    if (!samba_parallel_ok(p)) return 0.0f;
    double begin = samba_seconds();
    for (int32_t i = 0; i < p->n_replicas; i++) {
        value[i] = samba_read(samba_tensor_by_name(p->replicas[i].session, name))[0];
        in[i] = &value[i];
        samba_parallel__replica_fail(&p->replicas[i]);
    }
    if (!samba_parallel__settle(p)) return 0.0f;
    samba_parallel__reduce(p, in, &mean, 0, 1);
    samba_parallel__exchange(p, &mean, 1);
    samba_parallel__tell(p, true, begin, samba_seconds());
    return mean;
}

SAMBA_PARALLEL_API bool samba_parallel_save(samba_parallel *p, const char *path)
{
    if (!samba_parallel_ok(p)) return false;
    if (p->rank == 0 && !samba_save(p->replicas[0].session, path))
        samba_parallel__replica_fail(&p->replicas[0]);
    return samba_parallel__settle(p);
}

SAMBA_PARALLEL_API bool samba_parallel_restore(samba_parallel *p, const char *path)
{
    const samba_restore_opts all = { false, false, SAMBA_KEPT_ALL };
    if (!samba_parallel_ok(p)) return false;
    p->has_gradients = p->norm_is_fresh = p->unreduced = false;
    p->n_passes = 0;
    double begin = samba_seconds();
    for (int32_t i = 0; i < p->n_replicas; i++) {
        samba_parallel__replica *r = &p->replicas[i];
        const samba_restore_opts *how = i ? &all : NULL; /* the first warns, if there is reason */
        if (!samba_restore_with(r->session, path, how, NULL) || !samba_parallel__spread_seeds(r))
            samba_parallel__replica_fail(r);
    }
    if (samba_parallel_ok(p)) samba_parallel__tell(p, false, begin, samba_seconds());
    return samba_parallel__settle(p);
}
#endif /* SAMBA_PARALLEL_IMPLEMENTATION */
/* MIT license, as samba.h. */
