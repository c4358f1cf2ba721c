// Files: two savers of one path, stale temporary files, signals, a full disk, what is no regular
// file, and a mapped checkpoint that somebody writes into, in the same tick or with its old time.
//     cc -O2 -I. tests/core/files.c -lm -pthread -o files && ./files
// run: threads
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Faults: of reads and writes every second one is interrupted, or makes but one byte; a write may
// find the disk full.
static int interrupting, short_calls, full_after = -1;

static ssize_t faulty_read(int fd, void *to, size_t n)
{
    static int calls;
    if (interrupting && calls++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return read(fd, to, short_calls && n > 1 ? n / 2 : n);
}

static ssize_t faulty_write(int fd, const void *from, size_t n)
{
    static int calls;
    if (interrupting && calls++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (full_after == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (full_after > 0) full_after--;
    return write(fd, from, short_calls && n > 1 ? n / 2 : n);
}

static int faulty_open(const char *path, int flags, ...)
{
    static int calls;
    if (interrupting && calls++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    va_list args;
    va_start(args, flags);
    mode_t mode = (mode_t)(flags & O_CREAT ? va_arg(args, unsigned) : 0);
    va_end(args);
    return open(path, flags, mode);
}

#define read faulty_read
#define write faulty_write
#define open faulty_open
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#undef read
#undef write
#undef open
#include "tests/lib/files.h"
#include "tests/lib/test.h"

enum { WIDTH = 700 }; // one weight of 1.9 MB: large enough to be mapped

static char folder[600];

static const char *in_folder(const char *name)
{
    static char path[4][700];
    static int next;
    char *p = path[next = (next + 1) % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void be_quiet(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

// y = x w, and every element of w is value.
static samba_session *open_model(float value, bool inference, samba_program *p)
{
    samba_desc d;
    samba_init init = { SAMBA_INIT_CONSTANT, value, 0 };
    memset(&d, 0, sizeof d);
    memset(p, 0, sizeof *p);
    d.threads = 1;
    d.log = be_quiet;
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, WIDTH));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(WIDTH, WIDTH), init);
    samba_tensor *y = samba_matmul(x, w);
    p->inference = inference;
    if (inference)
        p->outputs[0] = y;
    else
        p->loss = samba_sum(y, SAMBA_ALL_AXES, false);
    p->optim.kind = inference ? SAMBA_NO_OPTIM : SAMBA_SGD;
    return s;
}

static samba_session *compile_model(float value)
{
    samba_program p;
    samba_session *s = open_model(value, true, &p);
    samba_compile(s, &p);
    return s;
}

static void save_model(float value, const char *path)
{
    samba_session *s = compile_model(value);
    CHECK(samba_save(s, path));
    samba_close(s);
}

static samba_session *load_model(const char *path)
{
    samba_program p;
    samba_session *s = open_model(0, true, &p);
    CHECK(samba_load(s, path, &p));
    return s;
}

static float result(samba_session *s)
{
    samba_tensor *y = samba_tensor_by_name(s, "matmul_1");
    return samba_run(s, 0) ? samba_read(y)[0] : -1.0f;
}

// ---- Savers ----
typedef struct saver {
    samba_session *s;
    const char *path;
    int failures;
} saver;

static void *save_often(void *user)
{
    saver *v = (saver *)user;
    for (int i = 0; i < 40; i++) {
        if (samba_save(v->s, v->path)) continue;
        v->failures++;
        printf("    %s\n", samba_error(v->s));
        samba_clear_error(v->s);
    }
    return NULL;
}

// Whoever reads the path meanwhile finds what one of them saved, whole.
static void test_two_savers(void)
{
    char path[700];
    snprintf(path, sizeof path, "%s", in_folder("shared.ckpt"));
    saver v[2] = { { compile_model(1), path, 0 }, { compile_model(2), path, 0 } };
    samba_session *reader = compile_model(3);
    pthread_t thread[2];
    CHECK(samba_save(v[0].s, path));
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, save_often, &v[i]);
    for (int round = 0; round < 40; round++) {
        CHECK(samba_restore(reader, path));
        samba_clear_error(reader);
        const float *w = samba_read(samba_tensor_by_name(reader, "w"));
        bool same = w[0] == 1.0f || w[0] == 2.0f;
        for (int i = 1; same && i < WIDTH * WIDTH; i++)
            same = w[i] == w[0];
        CHECK(same);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK(v[0].failures == 0 && v[1].failures == 0);
    CHECK(count_files(folder, "", ".tmp") == 0);
    samba_close(v[0].s);
    samba_close(v[1].s);
    samba_close(reader);
}

// Temporary files of programs that were killed go with the next save; those in use stay, and so do
// others whose name is but similar.
static void test_stale_temporaries(void)
{
    const char *stale = "samba-0123456789abcdef.tmp", *used = "samba-fedcba9876543210.tmp";
    const char *other = "samba-0123456789abcdef.tmp2", *upper = "samba-0123456789ABCDEF.tmp";
    const char *names[4] = { stale, used, other, upper };
    for (int i = 0; i < 4; i++) {
        CHECK(write_whole(in_folder(names[i]), "", 0));
    }
    int fd = open(in_folder(used), O_RDWR);
    CHECK(fd >= 0 && !flock(fd, LOCK_EX));
    save_model(1, in_folder("sweeps.ckpt"));
    CHECK(access(in_folder(stale), F_OK) != 0);
    for (int i = 1; i < 4; i++)
        CHECK(access(in_folder(names[i]), F_OK) == 0);
    close(fd);
    save_model(1, in_folder("sweeps.ckpt"));
    CHECK(access(in_folder(used), F_OK) != 0);
    for (int i = 2; i < 4; i++)
        CHECK(!remove(in_folder(names[i])));
}

static void test_killed_saver(void)
{
    const char *path = in_folder("killed.ckpt");
    save_model(1, path);
    for (int round = 0; round < 4; round++) {
        pid_t child = fork();
        if (child == 0) {
            samba_session *s = compile_model(2);
            for (;;)
                samba_save(s, path);
        }
        usleep(30000 + 7000 * round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        samba_session *s = load_model(path);
        float y = result(s);
        CHECK(y == 1.0f * WIDTH || y == 2.0f * WIDTH);
        samba_close(s);
    }
    save_model(1, path);
    CHECK(count_files(folder, "", ".tmp") == 0);
}

// A link of the temporary file's or the checkpoint's name is replaced, not followed.
static void test_links(void)
{
    const char *target = in_folder("target"), *path = in_folder("link.ckpt");
    CHECK(write_whole(target, "untouched", 9));
    CHECK(!symlink("target", path));
    save_model(4, path);
    struct stat about;
    CHECK(!stat(target, &about) && about.st_size == 9);
    CHECK(!lstat(path, &about) && S_ISREG(about.st_mode));
}

// A file that others may not read is replaced by one that they may not read.
static void test_private(void)
{
    const char *path = in_folder("private.pef");
    struct stat about;
    save_model(1.0f, path);
    CHECK(chmod(path, 0600) == 0);
    save_model(2.0f, path);
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0600);
    remove(path);
}

// ---- Signals and full disks ----
static void test_interrupted(void)
{
    const char *path = in_folder("interrupted.ckpt");
    samba_session *s = compile_model(5);
    for (short_calls = 0; short_calls < 2; short_calls++) {
        interrupting = 1;
        CHECK(samba_save(s, path));
        CHECK(samba_restore(s, path));
        samba_program p;
        samba_session *other = open_model(0, true, &p);
        p.pef = in_folder("interrupted.pef");
        CHECK(samba_compile(other, &p) && samba_load(other, path, &p));
        interrupting = 0;
        CHECK(result(other) == 5.0f * WIDTH);
        samba_close(other);
    }
    short_calls = 0;
    CHECK(samba_close(s) == 0);
}

static void test_full_disk(void)
{
    const char *path = in_folder("full.ckpt");
    save_model(6, path);
    for (int after = 0; after < 20; after += 3) {
        samba_session *s = compile_model(7);
        full_after = after;
        CHECK(!samba_save(s, path) && samba_error_code(s) == SAMBA_EIO);
        full_after = -1;
        CHECK(strstr(samba_error(s), "No space left") && strstr(samba_error(s), path));
        samba_clear_error(s);
        CHECK(result(s) == 7.0f * WIDTH);
        samba_close(s);
        s = load_model(path);
        CHECK(result(s) == 6.0f * WIDTH);
        samba_close(s);
        CHECK(count_files(folder, "", ".tmp") == 0);
    }
}

// The PEF is written, but its log meets a full disk: an error. A file size limit plays the disk.
static void test_full_log(void)
{
    pid_t child = fork();
    if (child == 0) {
        samba_program p;
        samba_session *s = open_model(1, true, &p);
        samba_tensor *y = p.outputs[0];
        for (int i = 0; i < 400; i++)
            y = samba_tanh(y);
        p.outputs[0] = y;
        p.compile_only = true;
        p.level = SAMBA_O0;
        p.pef = in_folder("log.pef");
        if (!samba_compile(s, &p)) _exit(3);
        struct stat pef, log;
        if (stat(p.pef, &pef) || stat(in_folder("log.pef.log"), &log)) _exit(4);
        if (log.st_size <= pef.st_size) _exit(5); // the limit must stop the log alone
        struct rlimit limit = { (rlim_t)pef.st_size + 100, (rlim_t)pef.st_size + 100 };
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit)) _exit(6);
        bool compiled = samba_compile(s, &p);
        _exit(!compiled && samba_error_code(s) == SAMBA_EIO && strstr(samba_error(s), "log.pef.log")
                  ? 0
                  : 7);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (WIFEXITED(status) && WEXITSTATUS(status)) printf("    %d\n", WEXITSTATUS(status));
    CHECK(count_files(folder, "", ".tmp") == 0);
}

// ---- What is no regular file ----
static bool refuses(const char *path, const char *text)
{
    samba_program p;
    samba_session *s = open_model(0, true, &p);
    alarm(20); // a FIFO that is waited for
    bool refused = !samba_load(s, path, &p) && samba_error_code(s) == SAMBA_EIO
        && strstr(samba_error(s), text);
    if (!refused) printf("    %s\n", samba_error(s));
    samba_clear_error(s);
    refused = refused && samba_compile(s, &p) && !samba_restore(s, path)
        && strstr(samba_error(s), text);
    samba_clear_error(s);
    alarm(0);
    samba_close(s);
    return refused;
}

static void test_irregular(void)
{
    const char *fifo = in_folder("fifo");
    CHECK(!mkfifo(fifo, 0600));
    CHECK(refuses(fifo, "no regular file") && refuses("/dev/zero", "no regular file"));
    CHECK(refuses("/dev/null", "no regular file") && refuses(folder, "directory"));
    CHECK(refuses(in_folder("nowhere"), "No such file"));
    samba_session *s = compile_model(1);
    const char *const targets[] = { fifo, "/dev/null", folder };
    for (int i = 0; i < 3; i++) {
        CHECK(!samba_save(s, targets[i]) && samba_error_code(s) == SAMBA_EIO);
        samba_clear_error(s);
    }
    CHECK(!samba_save(s, in_folder("nowhere/x.ckpt")) && samba_error_code(s) == SAMBA_EIO);
    CHECK(strstr(samba_error(s), "nowhere/x.ckpt") && strstr(samba_error(s), "No such file"));
    samba_clear_error(s);
    samba_close(s);
    struct stat about;
    CHECK(!stat(fifo, &about) && S_ISFIFO(about.st_mode));
}

// ---- A mapped file that changes ----
static void copy_into(const char *from, const char *to) // into the same inode
{
    static char buffer[1 << 22];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY);
    ssize_t n = read(in, buffer, sizeof buffer);
    CHECK(n > 0 && write(out, buffer, (size_t)n) == n);
    close(in);
    close(out);
}

static void test_overwritten(void)
{
    char ones[700], fives[700];
    snprintf(ones, sizeof ones, "%s", in_folder("ones.ckpt"));
    snprintf(fives, sizeof fives, "%s", in_folder("fives.ckpt"));
    save_model(5, fives);
    for (int round = 0; round < 20; round++) {
        const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
        const bool keep_time = round % 2;
        save_model(1, ones);
        if (keep_time) CHECK(!utimensat(AT_FDCWD, ones, old, 0));
        samba_session *s = load_model(ones);
        CHECK(s && result(s) == WIDTH);
        copy_into(fives, ones); // at once
        if (keep_time) CHECK(!utimensat(AT_FDCWD, ones, old, 0));
        CHECK(!samba_run(s, 0) && samba_error_code(s) == SAMBA_EIO);
        samba_clear_error(s);
        CHECK(!samba_run(s, 0)); // and again
        samba_clear_error(s);
        samba_close(s);
    }
}

// What does not change the bytes is no error: another name, no name, another time, more links.
static void test_harmless(void)
{
    const char *path = in_folder("first.ckpt"), *second = in_folder("second.ckpt");
    save_model(3, path);
    samba_session *s = load_model(path);
    CHECK(result(s) == 3.0f * WIDTH);
    CHECK(!link(path, second) && result(s) == 3.0f * WIDTH);
    CHECK(!utimes(path, NULL) && result(s) == 3.0f * WIDTH);
    CHECK(!chmod(path, 0600) && result(s) == 3.0f * WIDTH);
    save_model(4, path);
    CHECK(result(s) == 3.0f * WIDTH);
    CHECK(!remove(second) && result(s) == 3.0f * WIDTH);
    CHECK(samba_save(s, path) && result(s) == 3.0f * WIDTH);
    CHECK(samba_close(s) == 0);
}

int main(int argc, char **argv)
{
    char command[700];
    snprintf(folder, sizeof folder, "%.500s.d", argc > 0 ? argv[0] : "files");
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) || mkdir(folder, 0700)) return 1;
    RUN(test_two_savers);
    RUN(test_stale_temporaries);
    RUN(test_killed_saver);
    RUN(test_links);
    RUN(test_private);
    RUN(test_interrupted);
    RUN(test_full_disk);
    RUN(test_full_log);
    RUN(test_irregular);
    RUN(test_overwritten);
    RUN(test_harmless);
    if (system(command)) return 1;
    return test_summary();
}
