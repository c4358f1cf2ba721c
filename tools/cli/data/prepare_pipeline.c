// tools/samba prepare-data --pipeline: check, shuffle and split, tokenize, balance, describe.
#include "prepare_data.h"
#include "tools/include/samba/hdf5_rows.h"
#include "tools/cli/util/text.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

// ---- Checking -----------------------------------------------------------------------------------

// Counts the lines and finds the bad ones, before anything is written.
static bool check_input(run *r, int64_t *n_lines, fault *why)
{
    prep_pairs pairs = { 0 };
    char reason[1024];
    prep_text line;
    lines in;
    int got = 0;
    bool ok = true, fatal;
    *n_lines = 0;
    if (!lines_open(&in, &r->input, why)) return false;
    progress_start(&r->progress, "checking  ", r->input_size, r->o.silent);
    while (ok && (got = lines_next(&in, &line, why)) > 0) {
        ++*n_lines;
        progress_show(&r->progress, in.done, r->n_bad);
        if (r->is_text || parse_line(r, line, &pairs, &fatal, reason, sizeof reason)) continue;
        ok = fatal ? fail(why, "%s line %lld: %s", lines_file(&in), (long long)in.number, reason)
                   : bad_line(r, &in, line, reason, why);
    }
    progress_end(&r->progress);
    lines_close(&in);
    prep_pairs_free(&pairs);
    return ok && got == 0;
}

static bool count_splits(const run *r, int64_t n_lines, prep_splits *s, fault *why)
{
    char reason[512];
    *s = (prep_splits){ r->o.n_train, r->o.n_dev, r->o.n_test, 0, r->o.dev_ratio, r->o.test_ratio };
    if (!prep_count_splits(s, r->input_size, reason, sizeof reason)) return fail(why, "%s", reason);
    if (s->n > n_lines)
        return fail(why,
                    "The number of total splits exceeds the number of\n"
                    "        lines in the input path jsonl file. Please reduce the number\n"
                    "        of splits, or increase the number of lines in the dataset.\n"
                    "There are %lld lines for %lld files.",
                    (long long)n_lines, (long long)s->n);
    return true;
}

bool check_pipeline(run *r, plan *p, fault *why)
{
    return check_input(r, &p->n_lines, why) && count_splits(r, p->n_lines, &p->splits, why);
}

// ---- Splitting ----------------------------------------------------------------------------------

// Train comes first, then test, then dev.
static bool split_path(const run *r, const prep_splits *s, int64_t i, char path[PATH_SIZE],
                       fault *why)
{
    const char *ending = r->is_text ? "txt" : "jsonl";
    if (i < s->n_train)
        return make_path(path, why, "%s/splits/train_%lld_of_%lld.%s", r->folder, (long long)i + 1,
                         (long long)s->n_train, ending);
    i -= s->n_train;
    if (i < s->n_test)
        return make_path(path, why, "%s/test_files/test_%lld_of_%lld.%s", r->folder,
                         (long long)i + 1, (long long)s->n_test, ending);
    i -= s->n_test;
    return make_path(path, why, "%s/splits/dev_%lld_of_%lld.%s", r->folder, (long long)i + 1,
                     (long long)s->n_dev, ending);
}

static bool list_splits(const run *r, const prep_splits *s, names *paths, fault *why)
{
    char path[PATH_SIZE];
    for (int64_t i = 0; i < s->n; i++) {
        if (!split_path(r, s, i, path, why) || !add_name(paths, path, why)) return false;
        if (is_file(path) && !r->o.overwrite && !strstr(path, "/test_files/"))
            return fail(why,
                        "%s already exists, and you are trying to overwrite it. To fix this "
                        "error either specify --overwrite_output_path or move the conflicting "
                        "file",
                        path);
    }
    return true;
}

// Bytes of memory that programs can still have; a large number where that is not told.
static int64_t free_memory(void)
{
    char line[256];
    long long kib = INT64_MAX / 2048;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kib) == 1) break;
    if (f) fclose(f);
    return (int64_t)kib * 1024;
}

static bool split_input(run *r, int64_t n_lines, const names *paths, fault *why)
{
    dealing d = { .to = *paths, .n_lines = n_lines, .folder = r->folder };
    bool in_memory = strcmp(r->o.shuffle, "on_RAM") == 0, ok;
    int64_t available = free_memory();
    if (in_memory && available <= r->input_size)
        return fail(why,
                    "--shuffle on_RAM: not enough memory, %lld bytes are free and the input "
                    "has %lld; --shuffle large_file needs little",
                    (long long)available, (long long)r->input_size);
    d.memory = in_memory ? INT64_MAX : r->o.shuffle_memory;
    d.dice.state = r->o.seed >= 0 ? (uint64_t)r->o.seed
                                  : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    progress_start(&d.progress, "splitting ", r->input_size, r->o.silent);
    if (strcmp(r->o.shuffle, "False") == 0) {
        say(&r->log, "Lines are not shuffled; --shuffle on_RAM or large_file does that.");
        ok = deal_in_turn(&d, &r->input, why);
    } else {
        ok = deal_shuffled(&d, &r->input, why);
    }
    progress_end(&d.progress);
    return ok;
}

// ---- Tokenizing in several processes ------------------------------------------------------------

typedef struct worker {
    volatile int64_t done;
    volatile bool failed;
    fault why;
} worker;

typedef struct jobs {
    const names *from, *to;
    pid_t parent; // of the processes; 0: there is only this one
    int n_workers;
    worker *worker; // these two are memory that the processes share
    prep_metrics *metrics;
    volatile int64_t now; // bytes of the file at hand
} jobs;

// Worker w takes the files w, w + n, w + 2n ...: no two meet.
static bool work(run *r, jobs *j, int w, fault *why)
{
    worker *me = &j->worker[w];
    for (int i = w; i < j->from->n; i += j->n_workers) {
        names one = { &j->from->at[i], 1 };
        for (int k = 0; k < j->n_workers; k++)
            if (j->worker[k].failed) return fail(why, "another process has failed");
        if (j->parent && getppid() != j->parent) return fail(why, "the pipeline has ended");
        if (!prepare_file(r, &one, j->to->at[i], false, &j->metrics[i], &j->now, why)) {
            me->failed = true;
            me->why = *why;
            return false;
        }
        me->done += file_size(j->from->at[i]);
        progress_show(&r->progress, me->done, r->n_bad);
    }
    return true;
}

static void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void show_workers(run *r, const jobs *j)
{
    int64_t done = 0;
    for (int w = 0; w < j->n_workers; w++)
        done += j->worker[w].done;
    progress_show(&r->progress, done, r->n_bad);
}

// A process that tokenizes must not outlive the one that started it, however that ends. Where
// there is no prctl, `work` asks between two files.
static void end_with_parent(pid_t parent)
{
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(1); // it has ended already
}

// Starts the processes; returns how many.
static int start_workers(run *r, jobs *j, pid_t *process)
{
    int n = 0;
    pid_t parent = getpid();
    fflush(NULL);
    for (; n < j->n_workers; n++) {
        fault why = { "" };
        process[n] = fork();
        if (process[n] < 0) break;
        if (process[n] > 0) continue;
        end_with_parent(parent);
        r->progress.on = false;
        _exit(work(r, j, n, &why) ? 0 : 1);
    }
    return n;
}

static bool wait_for_workers(run *r, jobs *j, const pid_t *process, int n, fault *why)
{
    bool ok = true, told = false;
    fault asked;
    for (int w = 0; w < n; w++) {
        int status = 0;
        pid_t ended;
        while ((ended = waitpid(process[w], &status, WNOHANG)) == 0) {
            if (stopped(&asked) && !told) {
                for (int k = w; k < n; k++)
                    kill(process[k], SIGTERM); // they remove their parts
                told = true;
            }
            show_workers(r, j);
            nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
        }
        if (ended == process[w] && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        if (ok && WIFSIGNALED(status)) {
            fail(why,
                 "a process that tokenizes was ended by signal %d; if that is for want of "
                 "memory, lower --num_workers",
                 WTERMSIG(status));
            j->worker[w].failed = true;
        }
        ok = false;
    }
    for (int w = 0; !ok && w < n; w++)
        if (*j->worker[w].why.text) *why = j->worker[w].why;
    return !stopped(why) && ok;
}

static bool run_workers(run *r, jobs *j, fault *why)
{
    pid_t *process = calloc((size_t)j->n_workers, sizeof *process);
    if (!process) return fail(why, "no memory");
    int started = start_workers(r, j, process);
    if (started < j->n_workers) { // its files would be missing
        for (int w = 0; w < j->n_workers; w++)
            j->worker[w].failed = true;
        wait_for_workers(r, j, process, started, why);
        free(process);
        return fail(why, "only %d of %d processes could be started; lower --num_workers", started,
                    j->n_workers);
    }
    bool ok = wait_for_workers(r, j, process, started, why);
    free(process);
    return ok;
}

// Fills metrics[i] for each file.
static bool tokenize(run *r, const names *from, const names *to, prep_metrics *metrics, fault *why)
{
    jobs j = { .from = from, .to = to, .parent = getpid() };
    size_t metrics_size = (size_t)from->n * sizeof *metrics, worker_size;
    j.n_workers = r->o.workers < from->n ? (int)r->o.workers : from->n;
    worker_size = (size_t)j.n_workers * sizeof(worker);
    if (j.n_workers == 1) j.parent = 0;
    j.worker = shared_memory(worker_size);
    j.metrics = shared_memory(metrics_size);
    progress_start(&r->progress, "tokenizing", r->input_size, r->o.silent);
    bool ok = j.worker && j.metrics;
    if (!ok)
        fail(why, "no memory for %d processes", j.n_workers);
    else
        ok = j.n_workers == 1 ? work(r, &j, 0, why) : run_workers(r, &j, why);
    progress_end(&r->progress);
    if (ok) memcpy(metrics, j.metrics, metrics_size);
    if (j.worker) munmap(j.worker, worker_size);
    if (j.metrics) munmap(j.metrics, metrics_size);
    return ok;
}

// ---- Balancing ----------------------------------------------------------------------------------

// Rows that files have too many of, in order, to files that have too few.
typedef struct balance {
    char *const *path;
    int64_t *count, *give, n;
    int64_t giver, given; // the file rows are taken from, and how many were
    samba_rows *from;
    int32_t *block[3], length;
    int64_t block_rows;
    bool categories;
    char why[1024];
} balance;

static samba_rows *open_rows(balance *b, int64_t i, samba_rows_mode mode)
{
    return samba_rows_open(b->path[i], mode, b->length, b->categories, b->why, sizeof b->why);
}

static bool close_giver(balance *b)
{
    samba_rows *from = b->from;
    b->from = NULL;
    return samba_rows_close(from, b->why, sizeof b->why);
}

// Makes sure that the file rows are taken from still has some to give.
static bool next_giver(balance *b)
{
    if (b->from && b->given < b->give[b->giver]) return true;
    if (b->from) b->giver++;
    if (!close_giver(b)) return false;
    while (b->give[b->giver] <= 0)
        b->giver++; // the sum of give is 0: there is one
    b->given = 0;
    b->from = open_rows(b, b->giver, SAMBA_ROWS_READ);
    return b->from;
}

static bool give_rows(balance *b, samba_rows *to, int64_t need)
{
    while (need > 0) {
        if (!next_giver(b)) return false;
        fault asked;
        if (stopped(&asked)) {
            snprintf(b->why, sizeof b->why, "%.200s", asked.text);
            return false;
        }
        int64_t n = b->give[b->giver] - b->given, first;
        if (n > need) n = need;
        if (n > b->block_rows) n = b->block_rows;
        first = b->count[b->giver] - b->give[b->giver] + b->given;
        if (!samba_rows_read(b->from, first, n, b->block[0], b->block[1],
                             b->categories ? b->block[2] : NULL, b->why, sizeof b->why)
            || !samba_rows_append(to, n, b->block[0], b->block[1], b->block[2], b->why,
                                  sizeof b->why))
            return false;
        b->given += n;
        need -= n;
    }
    return true;
}

static bool receive_rows(balance *b, int64_t i)
{
    samba_rows *to = open_rows(b, i, SAMBA_ROWS_CHANGE);
    if (!to) return false;
    if (give_rows(b, to, -b->give[i])) return samba_rows_close(to, b->why, sizeof b->why);
    samba_rows_abandon(to);
    return false;
}

static bool cut_rows(balance *b, int64_t i)
{
    samba_rows *r = open_rows(b, i, SAMBA_ROWS_CHANGE);
    if (!r) return false;
    if (samba_rows_cut(r, b->count[i] - b->give[i], b->why, sizeof b->why))
        return samba_rows_close(r, b->why, sizeof b->why);
    samba_rows_abandon(r);
    return false;
}

// First all that receive, then all that gave are cut.
static bool move_rows(balance *b)
{
    for (int64_t i = 0; i < b->n; i++)
        if (b->give[i] < 0 && !receive_rows(b, i)) return false;
    if (!close_giver(b)) return false;
    for (int64_t i = 0; i < b->n; i++)
        if (b->give[i] > 0 && !cut_rows(b, i)) return false;
    return true;
}

// The files first ... first+n-1. *least: rows of the smallest afterwards.
static bool balance_files(const run *r, const names *files, const prep_metrics *metrics, int first,
                          int64_t n, int64_t *least, fault *why)
{
    balance b = { .path = files->at + first,
                  .n = n,
                  .length = r->rules.length,
                  .categories = r->categories.name != NULL };
    b.block_rows = samba_rows_block(b.length);
    b.count = malloc((size_t)n * sizeof *b.count);
    b.give = malloc((size_t)n * sizeof *b.give);
    bool ok = b.count && b.give;
    for (int i = 0; i < 3; i++) {
        b.block[i] = malloc((size_t)b.block_rows * (size_t)b.length * sizeof(int32_t));
        ok = ok && b.block[i];
    }
    if (!ok) snprintf(b.why, sizeof b.why, "no memory to balance files");
    for (int64_t i = 0; ok && i < n; i++)
        b.count[i] = metrics[first + i].sequences;
    if (ok) *least = prep_plan_balance(b.count, b.give, n);
    ok = ok && move_rows(&b);
    if (b.from) samba_rows_abandon(b.from);
    for (int i = 0; i < 3; i++)
        free(b.block[i]);
    free(b.count);
    free(b.give);
    return ok || fail(why, "%s", b.why);
}

// ---- The whole ----------------------------------------------------------------------------------

// One kind of files: the sum of its metrics, and its smallest number of rows.
static bool finish_kind(run *r, const names *files, const prep_metrics *metrics, int first,
                        int64_t n, prep_metrics *sum, int64_t *least, fault *why)
{
    *least = n ? INT64_MAX : -1;
    for (int64_t i = first; i < first + n; i++) {
        prep_add_metrics(sum, &metrics[i]);
        if (metrics[i].sequences < *least) *least = metrics[i].sequences;
    }
    return !n || r->o.no_balance || balance_files(r, files, metrics, first, n, least, why);
}

static bool write_categories(const run *r, fault *why)
{
    char path[PATH_SIZE];
    if (!r->categories.name) return true;
    if (!make_path(path, why, "%s/category_to_id.json", r->folder)) return false;
    if (is_file(path) && !r->o.overwrite)
        return fail(why, "%s exists; to replace it, say --overwrite_output_path", path);
    FILE *f = open_file(path, "wb", why);
    if (!f) return false;
    for (int i = 0; i < r->categories.n; i++) {
        fputs(i ? ", " : "{", f);
        write_json_text(f, r->categories.name[i]);
        fprintf(f, ": %d", i);
    }
    fputs(r->categories.n ? "}" : "{}", f);
    return close_file(f, path, why);
}

// The splits that are tokenized, and their HDF5 files.
static bool list_jobs(const run *r, const prep_splits *s, const names *paths, names *from,
                      names *to, fault *why)
{
    char path[PATH_SIZE];
    for (int i = 0; i < paths->n; i++) {
        if (i >= s->n_train && i < s->n_train + s->n_test) continue;
        const char *name = strrchr(paths->at[i], '/') + 1;
        if (!make_path(path, why, "%s/%.*s.hdf5", r->folder, (int)strcspn(name, "."), name)
            || !add_name(from, paths->at[i], why) || !add_name(to, path, why))
            return false;
    }
    return true;
}

static void say_hints(run *r, const prep_splits *s, const metadata *m)
{
    say(&r->log,
        "To train with it: batch size at most %lld, max_seq_length %lld, at most %lld "
        "workers.",
        (long long)m->max_batch_size_train, (long long)m->max_seq_length, (long long)s->n_train);
    if (!m->max_batch_size_train || !m->max_batch_size_dev)
        say(&r->log, "Some files have no row: there is too little data for %lld files.",
            (long long)s->n);
    if (r->o.no_balance)
        say(&r->log, "Files were not balanced; workers will see some rows more often than others.");
}

static bool finish(run *r, const prep_splits *s, const names *files, const prep_metrics *metrics,
                   fault *why)
{
    metadata m = { .max_seq_length = r->rules.length,
                   .n_train = s->n_train,
                   .n_dev = s->n_dev,
                   .n_test = s->n_test,
                   .vocab_size = r->vocabulary.size,
                   .model_type = r->vocabulary.model_type };
    if (!finish_kind(r, files, metrics, 0, s->n_train, &m.train, &m.max_batch_size_train, why)
        || !finish_kind(r, files, metrics, (int)s->n_train, s->n_dev, &m.dev, &m.max_batch_size_dev,
                        why))
        return false;
    print_metrics(&r->log, "Train Metrics", &m.train);
    if (s->n_dev) print_metrics(&r->log, "Dev Metrics", &m.dev);
    say_hints(r, s, &m);
    return keep_bad_lines(r, why) && write_metadata(&m, r->folder, why);
}

// Files of the same kind that an earlier run has left, and this one would not replace: a training
// would take them for a part of this data.
static bool find_stale(const run *r, const names *paths, const names *to, fault *why)
{
    names there = { 0 };
    char path[PATH_SIZE], text[PATH_SIZE];
    int n = 0;
    bool ok = walk_folder(&there, r->folder, "", why);
    for (int i = 0; ok && i < there.n; i++) {
        const char *name = there.at[i];
        bool kept = false;
        if (strstr(name, "cache")) continue;
        bool data = (!strchr(name, '/') && ends_with(name, ".hdf5"))
            || strncmp(name, "test_files/", 11) == 0
            || (!r->categories.name && strcmp(name, "category_to_id.json") == 0);
        if (!data) continue;
        ok = make_path(path, why, "%s/%s", r->folder, name);
        for (int k = 0; k < to->n && !kept; k++)
            kept = strcmp(to->at[k], path) == 0;
        for (int k = 0; k < paths->n && !kept; k++)
            kept = strcmp(paths->at[k], path) == 0;
        if (!kept && n++ == 0) snprintf(text, sizeof text, "%s", path);
    }
    free_names(&there);
    if (ok && n)
        return fail(why,
                    "%s%s is of an earlier run and would not be replaced; to delete what is "
                    "there, say --overwrite_output_path, or choose another --output_path",
                    text, n > 1 ? ", among others," : "");
    return ok;
}

// Without these two, check-data calls the folder whole no longer: what is written from here on is
// not what they describe.
static bool forget_description(const run *r, fault *why)
{
    static const char *const name[] = { "metadata.yaml", "sha256/files_metadata.json" };
    char path[PATH_SIZE];
    for (int i = 0; i < 2; i++) {
        if (!make_path(path, why, "%s/%s", r->folder, name[i])) return false;
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            return fail_errno(why, "cannot be deleted", path);
    }
    return true;
}

static bool make_inner_folders(const run *r, const prep_splits *s, fault *why)
{
    char path[PATH_SIZE];
    return make_path(path, why, "%s/splits", r->folder) && make_folders(path, why)
        && make_path(path, why, "%s/test_files", r->folder)
        && (!s->n_test || make_folders(path, why))
        && make_path(path, why, "%s/tokenizer", r->folder)
        && vocabulary_save(&r->vocabulary, path, why);
}

bool run_pipeline(run *r, const plan *p, fault *why)
{
    names paths = { 0 }, from = { 0 }, to = { 0 };
    char folder[PATH_SIZE];
    prep_metrics *metrics = NULL;
    const prep_splits *s = &p->splits;
    double start = seconds();
    r->has_tests = s->n_test > 0;
    bool ok = list_splits(r, s, &paths, why) && list_jobs(r, s, &paths, &from, &to, why)
        && find_stale(r, &paths, &to, why) && forget_description(r, why) && write_categories(r, why)
        && make_inner_folders(r, s, why);
    if (ok && !(metrics = calloc((size_t)from.n, sizeof *metrics))) ok = fail(why, "no memory");
    bool has_splits = ok;
    ok = ok && split_input(r, p->n_lines, &paths, why) && tokenize(r, &from, &to, metrics, why)
        && finish(r, s, &to, metrics, why);
    if (has_splits && !r->o.keep_splits)
        ok = make_path(folder, why, "%s/splits", r->folder)
            && remove_folder(folder, ok ? why : &(fault){ "" }) && ok;
    if (ok) {
        note(&r->log, "%s is ready after %.1f s", r->o.output, seconds() - start);
        if (fflush(r->log.file) != 0) ok = fail_errno(why, "not all could be written", "the log");
    }
    ok = ok && write_hashes(r->folder, why);
    if (!ok && has_splits) {
        fault first = *why;
        fail(why, "%.4000s\n%s is not whole; --overwrite_output_path begins it anew", first.text,
             r->o.output);
    }
    free(metrics);
    free_names(&paths);
    free_names(&from);
    free_names(&to);
    return ok;
}
