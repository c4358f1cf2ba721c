/* ==== [threads] =============================================================================== */
/* The pool. Work is a range of units, from which the threads take shares; results do not depend on
   who computes which unit. */

typedef void (*samba__job_fn)(void *context, int64_t begin, int64_t end, int32_t thread);
#if (defined(SAMBA_RUNTIME_ONLY) || !defined(__GNUC__)) && !defined(SAMBA_NO_THREADS)
#define SAMBA_NO_THREADS /* the pool needs the atomic built-ins of gcc and clang */
#endif
#define SAMBA__MAX_THREADS 64
#if !defined(SAMBA_NO_THREADS)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* Threads take pieces from one counter until it runs out: each time a fair share of what is left,
   so that pieces are large first and even out at the end, in multiples of `grain` units. A thread
   that comes late finds the job closed and goes back to sleep: nobody waits for idle threads.

   fork copies the memory of a process, but of its threads only the one that calls it. So a child
   inherits a pool whose helpers are not there, whose mutex one of them may have held, and whose
   condition still counts them. It must not touch these: it starts helpers of its own. */
typedef struct samba__pool {
    int32_t n_threads;  /* at most; the caller counts */
    int32_t n_helpers;  /* threads of this process */
    int32_t generation; /* forks between the first process and this one */
    int32_t process;    /* its id */
    bool has_mutex;     /* and a condition */
    int32_t n_started;
    uint32_t ticket;                          /* atomic; odd while a job is open */
    int32_t active;                           /* atomic; helpers inside the open job */
    int32_t sleepers;                         /* atomic */
    int64_t next __attribute__((aligned(8))); /* atomic; first unit nobody has taken */
    samba__job_fn job;
    void *context;
    int64_t units, grain;
    bool quit; /* read and written under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread[SAMBA__MAX_THREADS];
} samba__pool;

#define SAMBA__SPINS 4000 /* about 50 microseconds: longer than between two ops */

SAMBA__FN void samba__relax(void)
{
#if SAMBA__X86
    _mm_pause();
#endif
}

SAMBA__FN void samba__pool_work(samba__pool *p, int32_t thread)
{
    int64_t begin = __atomic_load_n(&p->next, __ATOMIC_RELAXED), end;
    while (begin < p->units) {
        int64_t grains = samba__ceil_div(p->units - begin, p->grain);
        end = begin + samba__ceil_div(grains, p->n_threads) * p->grain;
        SAMBA_ASSERT(end > begin);
        if (!__atomic_compare_exchange_n(&p->next, &begin, end, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;

        SAMBA_ASSERT(thread >= 0 && thread < p->n_threads);
        p->job(p->context, begin, samba__min64(end, p->units), thread);
        begin = __atomic_load_n(&p->next, __ATOMIC_RELAXED);
    }
}

/* Returns the next ticket that is not `seen`; spins first, then sleeps. 0 means quit. */
SAMBA__FN uint32_t samba__pool_wait(samba__pool *p, uint32_t seen)
{
    for (int spin = 0; spin < SAMBA__SPINS; spin++) {
        uint32_t ticket = __atomic_load_n(&p->ticket, __ATOMIC_ACQUIRE);
        if (ticket != seen && (ticket & 1)) return ticket;
        samba__relax();
    }

    uint32_t ticket = 0;
    pthread_mutex_lock(&p->mutex);
    __atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
    while (!p->quit) {
        ticket = __atomic_load_n(&p->ticket, __ATOMIC_SEQ_CST);
        if (ticket != seen && (ticket & 1)) break;
        pthread_cond_wait(&p->wake, &p->mutex);
    }

    if (p->quit) ticket = 0;
    __atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&p->mutex);
    return ticket;
}

SAMBA__FN void *samba__helper_main(void *argument)
{
    samba__pool *p = (samba__pool *)argument;
    int32_t thread = __atomic_add_fetch(&p->n_started, 1, __ATOMIC_SEQ_CST);
    for (uint32_t ticket = 0; (ticket = samba__pool_wait(p, ticket)) != 0;) {
        __atomic_add_fetch(&p->active, 1, __ATOMIC_SEQ_CST);
        samba__enter_float_mode(); /* not that of the thread which opened the pool */
        if (__atomic_load_n(&p->ticket, __ATOMIC_SEQ_CST) == ticket) samba__pool_work(p, thread);
        __atomic_sub_fetch(&p->active, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* Wakes who sleeps, for a new job or to quit. */
SAMBA__FN void samba__pool_wake(samba__pool *p, bool quit)
{
    pthread_mutex_lock(&p->mutex);
    p->quit = quit;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

static int32_t samba__maps_locked; /* see samba__lock_maps */

#if defined(_WIN32) /* which has no fork */
enum { samba__forks = 0 };

SAMBA__FN int32_t samba__generation(void)
{
    return 0;
}

SAMBA__FN int32_t samba__process(void)
{
    return 0;
}
#else
/* Forks between the first process and this one. Each counts when its child begins, which costs runs
   nothing; asking for the process's id costs some systems more than a whole run. */
static int32_t samba__forks;
static pthread_once_t samba__forks_are_counted = PTHREAD_ONCE_INIT;

/* In the child, where the forking thread is alone: who held the lock of maps is not there. */
SAMBA__FN void samba__count_fork(void)
{
    samba__forks++;
    samba__maps_locked = 0;
}

SAMBA__FN void samba__count_forks(void)
{
    (void)pthread_atfork(NULL, NULL, samba__count_fork);
}

SAMBA__FN int32_t samba__generation(void)
{
    pthread_once(&samba__forks_are_counted, samba__count_forks);
    return samba__forks;
}

SAMBA__FN int32_t samba__process(void)
{
    return (int32_t)getpid();
}
#endif

/* Starts helpers in this process, at most n; with fewer if the system refuses, which changes
   nothing but the time. False: it refuses even a mutex. */
SAMBA__FN bool samba__pool_start(samba__pool *p, int32_t n)
{
    memset(p, 0, sizeof *p);
    p->generation = samba__generation();
    p->process = samba__process();

    if (pthread_mutex_init(&p->mutex, NULL)) return false;
    if (pthread_cond_init(&p->wake, NULL)) {
        pthread_mutex_destroy(&p->mutex);
        return false;
    }
    p->has_mutex = true;

    p->n_threads = n + 1; /* helpers read it */
    while (p->n_helpers < n) {
        if (pthread_create(&p->thread[p->n_helpers], NULL, samba__helper_main, p)) break;
        p->n_helpers++;
    }
    return true;
}

SAMBA__FN bool samba__pool_open(samba__pool *p, int32_t n)
{
    bool fine = samba__pool_start(p, (n < SAMBA__MAX_THREADS ? n : SAMBA__MAX_THREADS) - 1);
    p->n_threads = p->n_helpers + 1;
    return fine;
}

/* In a forked child: helpers of its own, when it first needs some. */
SAMBA__FN void samba__pool_renew(samba__pool *p)
{
    int32_t n = p->n_threads;
    (void)samba__pool_start(p, n - 1);
    p->n_threads = n; /* for so many there is scratch */
}

SAMBA__FN void samba__pool_close(samba__pool *p)
{
    bool inherited = p->generation != samba__generation() || p->process != samba__process();
    if (inherited || !p->has_mutex) return;
    samba__pool_wake(p, true);
    for (int32_t i = 0; i < p->n_helpers; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
}

SAMBA__FN void samba__pool_run(samba__pool *p, samba__job_fn job, void *context, int64_t units,
                               int64_t grain)
{
    bool alone = !p || p->n_threads == 1 || units <= grain;
    if (!alone && p->generation != samba__forks) samba__pool_renew(p);
    if (alone || p->n_helpers == 0) {
        if (units > 0) job(context, 0, units, 0);
        return;
    }

    SAMBA_ASSERT(grain > 0);
    p->job = job;
    p->context = context;
    p->units = units;
    p->grain = grain;
    __atomic_store_n(&p->next, 0, __ATOMIC_RELAXED);

    __atomic_add_fetch(&p->ticket, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->sleepers, __ATOMIC_SEQ_CST) > 0) samba__pool_wake(p, false);
    samba__pool_work(p, 0);
    SAMBA_ASSERT(__atomic_load_n(&p->next, __ATOMIC_RELAXED) >= units); /* all are taken */

    __atomic_add_fetch(&p->ticket, 1, __ATOMIC_SEQ_CST);
    for (int spin = 0; __atomic_load_n(&p->active, __ATOMIC_SEQ_CST) > 0; spin++) {
        if (spin < SAMBA__SPINS)
            samba__relax();
        else
            sched_yield();
    }
}

SAMBA__FN int32_t samba__processors(void)
{
#if defined(_WIN32)
    long n = pthread_num_processors_np();
#else
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    if (n < 1) return 1;
    return n > SAMBA__MAX_THREADS ? SAMBA__MAX_THREADS : (int32_t)n;
}

#else /* one thread: the same calls */
typedef struct samba__pool {
    int32_t n_threads;
} samba__pool;

SAMBA__FN bool samba__pool_open(samba__pool *p, int32_t n)
{
    (void)n;
    p->n_threads = 1;
    return true;
}

SAMBA__FN void samba__pool_close(samba__pool *p)
{
    (void)p;
}

SAMBA__FN void samba__pool_run(samba__pool *p, samba__job_fn job, void *context, int64_t units,
                               int64_t grain)
{
    (void)p;
    (void)grain;
    if (units > 0) job(context, 0, units, 0);
}

SAMBA__FN int32_t samba__processors(void)
{
    return 1;
}
#endif

