// What tests/faults/faults.py loads into a program before all else (LD_PRELOAD). As main begins it
// calls access("/faults/begin"), which separates the dynamic loader's system calls from those of
// the program. From then on it can fail allocations, and tell a time that is the same in each run:
//     FAULTS_ALLOCATION=N    allocation N of each process fails, counted from 1; N+: all from N on
//     FAULTS_SPARES=NAME     but none that a shared library of this name asks for
//     FAULTS_HIT=FILE        is made when an allocation was failed
//     FAULTS_COUNT=FILE      gets how many allocations the program made
//     FAULTS_CLOCK=1         each question for the time gets a millisecond more than the last one,
//                            and processes say that they have the same number
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// glibc's own names of what is replaced here.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static bool began, forever, fixed_clock;
static long fail_at, n_allocations, n_milliseconds;

// ---- Memory -------------------------------------------------------------------------------------

static const char *spared, *hit_file;

// Is the library that is to be spared among the callers?
static bool is_spared(void)
{
    void *caller[64];
    static __thread bool inside;
    Dl_info about;
    bool found = false;
    if (!spared || inside) return inside;
    inside = true;
    int n = backtrace(caller, 64);
    for (int i = 0; i < n && !found; i++)
        found = dladdr(caller[i], &about) && about.dli_fname && strstr(about.dli_fname, spared);
    inside = false;
    return found;
}

static bool fails(void)
{
    if (!began) return false;
    long n = __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    if (!fail_at || (forever ? n < fail_at : n != fail_at)) return false;
    if (is_spared()) return false;
    if (hit_file) close(open(hit_file, O_WRONLY | O_CREAT, 0666));
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    void *got = memalign(alignment, size);
    if (got) *p = got;
    return got ? 0 : ENOMEM;
}

// ---- Time ---------------------------------------------------------------------------------------

int clock_gettime(clockid_t which, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (!fixed_clock) return real(which, t);
    long n = __atomic_add_fetch(&n_milliseconds, 1, __ATOMIC_RELAXED);
    t->tv_sec = 1700000000 + n / 1000;
    t->tv_nsec = n % 1000 * 1000000;
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}

pid_t getpid(void)
{
    return fixed_clock ? 4242 : (pid_t)syscall(SYS_getpid);
}

// ---- Beginning and end --------------------------------------------------------------------------

static const char *count_file;
static pid_t first_process;

static void write_count(void)
{
    char text[32];
    if (!count_file || (pid_t)syscall(SYS_getpid) != first_process) return;
    int length = snprintf(text, sizeof text, "%ld\n", n_allocations);
    int file = open(count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, text, (size_t)length) != length) _exit(99);
    close(file);
}

static int (*real_main)(int argc, char **argv, char **environment);

static int begin(int argc, char **argv, char **environment)
{
    const char *at = getenv("FAULTS_ALLOCATION");
    count_file = getenv("FAULTS_COUNT");
    first_process = (pid_t)syscall(SYS_getpid);
    fixed_clock = getenv("FAULTS_CLOCK") != NULL;
    fail_at = at ? atol(at) : 0;
    forever = at && strchr(at, '+');
    spared = getenv("FAULTS_SPARES");
    hit_file = getenv("FAULTS_HIT");
    if (spared) backtrace(&(void *){ NULL }, 1); // its first call allocates
    if (count_file) atexit(write_count);
    access("/faults/begin", F_OK);
    began = true;
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*ld_fini)(void), void *stack)
{
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                 void (*)(void), void *);
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return start(begin, argc, argv, init, fini, ld_fini, stack);
}
