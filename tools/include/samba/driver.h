/* driver.h - the command line of a program on samba.h: SambaFlow's commands and flags.

   Needs samba.h before it, and profiler.h beside it. `#define SAMBA_DRIVER_IMPLEMENTATION` in one
   file enables the code, and that of profiler.h; SAMBA_DRIVER_STATIC makes all functions private to
   the file. C99 or C++11.

       samba_app_args args = { .batch_size = 64 };
       if (!samba_parse_app_args(argc, argv, &args, NULL, 0)) return args.exit_code;
       samba_desc desc = samba_app_desc(&args);
       samba_session *s = samba_open(&desc);
       ... trace for samba_app_rows(&args) rows, program.microbatches = samba_app_parts(&args)
       run and test are the application's own; samba_app_driver(s, &args, &program) does the rest */
#ifndef SAMBA_DRIVER_H
#define SAMBA_DRIVER_H

#ifndef SAMBA_H
#error "driver.h: include samba.h before"
#endif

#if defined(SAMBA_DRIVER_STATIC) && !defined(SAMBA_PROFILER_STATIC)
#define SAMBA_PROFILER_STATIC
#endif
#include "profiler.h"

#ifndef SAMBA_DRIVER_API
#if defined(SAMBA_DRIVER_STATIC)
#define SAMBA_DRIVER_API static inline
#elif defined(__cplusplus)
#define SAMBA_DRIVER_API extern "C"
#else
#define SAMBA_DRIVER_API extern
#endif
#endif

#define SAMBA_MAX_EXTRA 64

/* A flag of your own: --name with a value of the kind, or a switch. Kinds say what a value may be;
   where 0 stands for a default in a struct, a kind without 0 sees to it that nobody asks for 0. */
typedef enum samba_flag_kind {
    SAMBA_FLAG_BOOL,
    SAMBA_FLAG_INT,   /* any whole number */
    SAMBA_FLAG_FLOAT, /* any number */
    SAMBA_FLAG_TEXT,
    SAMBA_FLAG_COUNT,    /* int32_t, at least 1 */
    SAMBA_FLAG_NUMBER,   /* int32_t, at least 0 */
    SAMBA_FLAG_POSITIVE, /* float, above 0 and finite */
    SAMBA_FLAG_AMOUNT,   /* float, at least 0 and finite */
    SAMBA_FLAG_SHARE,    /* float, 0 ... 1 */
    SAMBA_FLAG_PART      /* float, above 0 and at most 1 */
} samba_flag_kind;

typedef struct samba_flag {
    const char *name; /* without the dashes */
    samba_flag_kind kind;
    void *value; /* bool, int32_t, float or const char * to fill in */
    const char *help;
} samba_flag;

/* What parse fills in. Set other defaults before the call; zero means the default named here. */
typedef struct samba_app_args {
    const char *command;                /* compile, run, test, measure-performance or -sections */
    int32_t batch_size;                 /* -b, --batch-size */
    int32_t microbatch_size;            /* -mb, --microbatch-size; default: the batch */
    bool inference;                     /* --inference */
    const char *pef;                    /* -p, --pef: of run and measure */
    const char *pef_name;               /* --pef-name, default: the program's name */
    const char *output_folder;          /* --output-folder, default out */
    samba_opt_level level;              /* --o0, --o1, --o3 */
    samba_mapping mapping;              /* --mapping section | spatial */
    samba_graphamp graphamp;            /* --graphamp-preset mp0 | mp1 | mp4: for samba_desc */
    int32_t memory;                     /* --memory, MiB of tensors at most; default: no limit */
    int32_t num_iterations;             /* -n, --num-iterations, default 100 */
    int32_t num_sections;               /* --num-sections: of measure-sections; default: all */
    bool run_graph_only;                /* --run-graph-only: do not send the inputs again */
    const char *trace;                  /* --trace: of a measurement, for chrome://tracing */
    int32_t threads;                    /* --threads; else SN_NUM_THREADS or OMP_NUM_THREADS */
    int32_t seed;                       /* --seed; else SAMBA_SEED; for samba_desc */
    int32_t grad_accumulation_steps;    /* --grad-accumulation-steps: see samba_app_parts */
    bool data_parallel;                 /* --data-parallel, */
    int32_t world_size;                 /* -ws, --world-size: replicas, and */
    bool reduce_on_rdu;                 /* --reduce-on-rdu: for samba_parallel_desc */
    bool allow_extra;                   /* set it, and flags that nobody knows are no error, but */
    const char *extra[SAMBA_MAX_EXTRA]; /* here, as they were given, each with its value behind */
    int32_t n_extra;
    const samba_flag *run_flags; /* set them: flags of your own that only run, test and the */
    int32_t n_run_flags;         /* measurements take, not compile */
    int exit_code;               /* of the program, where parse says false */
} samba_app_args;

/* Reads "program command --flag value --flag=value". False after printing what is wrong, or the
   help that was asked for: args->exit_code is then what the program returns, 2 or 0. */
SAMBA_DRIVER_API bool samba_parse_app_args(int argc, char **argv, samba_app_args *args,
                                           const samba_flag *flags, int32_t n_flags);
/* What the flags say of a session: threads, seed, GraphAMP. SambaFlow's session.setup(args). */
SAMBA_DRIVER_API samba_desc samba_app_desc(const samba_app_args *args);
/* The preset of GraphAMP of this name, for programs that read their flags themselves: mp0, mp1 or
   mp4. False if there is none, and then *preset stays. */
SAMBA_DRIVER_API bool samba_app_graphamp(const char *name, samba_graphamp *preset);
/* A batch of -b rows runs in parts: of -mb rows each, or as many as --grad-accumulation-steps says.
   rows: of a part, for which the model is traced; parts: for samba_program.microbatches. */
SAMBA_DRIVER_API int32_t samba_app_rows(const samba_app_args *args);
SAMBA_DRIVER_API int32_t samba_app_parts(const samba_app_args *args);
/* samba_load of args->pef. If it was compiled with another -b or -mb, the error says so. */
SAMBA_DRIVER_API bool samba_app_load(samba_session *s, const samba_app_args *args,
                                     const samba_program *program);

/* What a section takes, in seconds: the mean and the best of the runs. throughput: samples per
   second by the mean, 0 without a batch size. */
typedef struct samba_section_time {
    samba_section section;
    double mean, best, throughput;
} samba_section_time;

/* measure_performance: runs the loaded program n times (0: 100) after one that does not count.
   Mean, best, p50 and p99 in seconds; zeros with an error in s. Nothing is sent or fetched, which
   is SambaFlow's run_graph_only = True. */
SAMBA_DRIVER_API samba_performance samba_measure_performance(samba_session *s, int32_t batch_size,
                                                             int32_t n_iterations);

/* The same with SambaFlow's other arguments. */
typedef struct samba_measure_opts {
    int32_t batch_size;   /* for the throughput; 0: none */
    int32_t n_iterations; /* 0: 100 */
    bool inference;       /* the forward pass alone */
    const char *pef;      /* the program's file: each run also writes all of its inputs and reads
                             all of its outputs (run_graph_only = False); NULL: the graph only */
} samba_measure_opts;

SAMBA_DRIVER_API samba_performance samba_measure_performance_with(samba_session *s,
                                                                  const samba_measure_opts *opts);
/* measure_sections: the same of each of the first num_sections sections (0: of all), one after the
   other. Fills up to cap of times; returns how many were measured, -1 with an error in s. */
SAMBA_DRIVER_API int32_t samba_measure_sections(samba_session *s, int32_t batch_size,
                                                int32_t num_sections, int32_t n_iterations,
                                                samba_section_time *times, int32_t cap);
/* Sums sections of the same op (compile with --o0: then each has one), or else of the same type,
   the costliest first, in place: best and mean become sums, flops and bytes, too. Returns how many
   there are. */
SAMBA_DRIVER_API int32_t samba_sum_by_op(samba_section_time *times, int32_t n);
/* The folder of a source file, such as __FILE__: "." if it names none. False if size is too small.
 */
SAMBA_DRIVER_API bool samba_file_dir(const char *file, char *folder, size_t size);
/* Does compile (into output_folder/pef_name/pef_name.pef), measure-performance and
   measure-sections; run and test are the application's own. False with an error in s. compile says
   what a run takes, and warns of parameters without gradient or optimizer and of ops that cut the
   graph in parts. measure-performance writes all inputs and reads all outputs each time, but for
   run_graph_only. */
SAMBA_DRIVER_API bool samba_app_driver(samba_session *s, const samba_app_args *args,
                                       const samba_program *program);

#endif /* SAMBA_DRIVER_H */

#if defined(SAMBA_DRIVER_IMPLEMENTATION) && !defined(SAMBA_DRIVER__IMPLEMENTED)
#define SAMBA_DRIVER__IMPLEMENTED

#if !defined(SAMBA_PROFILER_IMPLEMENTATION)
#define SAMBA_PROFILER_IMPLEMENTATION
#endif
#include "profiler.h"

#include <math.h>
#include "base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if defined(_WIN32)
#include <direct.h>

static inline int samba_driver__folder(const char *path)
{
    return _mkdir(path);
}
#else
static inline int samba_driver__folder(const char *path)
{
    return mkdir(path, 0777);
}
#endif

static const char *const samba_driver__commands[]
    = { "compile", "run", "test", "measure-performance", "measure-sections" };

/* A flag of the framework: its value goes to samba_app_args, or is a choice there. */
typedef struct samba_driver__flag {
    samba_flag flag;
    const char *short_name;
    size_t at; /* in samba_app_args; 0: a choice */
} samba_driver__flag;

/* Flags of the framework that say how to run: compile refuses them. It takes --pef, as SambaFlow's
   own command lines give it that one. */
static inline bool samba_driver__is_for_running(const char *name)
{
    return !strcmp(name, "num-iterations") || !strcmp(name, "num-sections")
        || !strcmp(name, "run-graph-only") || !strcmp(name, "trace");
}

#define SAMBA_DRIVER__FLAG(name, short_name, kind, field, help) \
    { \
        { name, SAMBA_FLAG_##kind, NULL, help }, short_name, offsetof(samba_app_args, field) \
    }
static const samba_driver__flag samba_driver__flags[] = {
    SAMBA_DRIVER__FLAG("batch-size", "b", COUNT, batch_size, "samples in a batch"),
    SAMBA_DRIVER__FLAG("microbatch-size", "mb", COUNT, microbatch_size,
                       "samples computed at once; gradients accumulate"),
    SAMBA_DRIVER__FLAG("inference", "", BOOL, inference, "forward only"),
    SAMBA_DRIVER__FLAG("pef", "p", TEXT, pef, "the compiled program to run"),
    SAMBA_DRIVER__FLAG("pef-name", "", TEXT, pef_name, "name of the program to write"),
    SAMBA_DRIVER__FLAG("output-folder", "", TEXT, output_folder, "where to write it, default out"),
    SAMBA_DRIVER__FLAG("mapping", "", TEXT, command, "section or spatial"),
    SAMBA_DRIVER__FLAG("graphamp-preset", "", TEXT, command,
                       "mp0, the default, mp1 or mp4: computes in bf16"),
    SAMBA_DRIVER__FLAG("memory", "", COUNT, memory, "MiB of tensors at most, by recomputing"),
    SAMBA_DRIVER__FLAG("o0", "", BOOL, command, "one op per section"),
    SAMBA_DRIVER__FLAG("o1", "", BOOL, command, "sections by working set"),
    SAMBA_DRIVER__FLAG("o3", "", BOOL, command, "whole graph, the default"),
    SAMBA_DRIVER__FLAG("num-iterations", "n", COUNT, num_iterations,
                       "of a measurement, default 100"),
    SAMBA_DRIVER__FLAG("num-sections", "", COUNT, num_sections,
                       "measure the first ones, default all"),
    SAMBA_DRIVER__FLAG("run-graph-only", "", BOOL, run_graph_only,
                       "measure without sending inputs"),
    SAMBA_DRIVER__FLAG("trace", "", TEXT, trace, "write what was measured for chrome://tracing"),
    SAMBA_DRIVER__FLAG("threads", "", COUNT, threads, "default: one per processor"),
    SAMBA_DRIVER__FLAG("grad-accumulation-steps", "", COUNT, grad_accumulation_steps,
                       "parts of the batch whose gradients make one step"),
    SAMBA_DRIVER__FLAG("data-parallel", "", BOOL, data_parallel, "train with replicas"),
    SAMBA_DRIVER__FLAG("world-size", "ws", COUNT, world_size, "how many"),
    SAMBA_DRIVER__FLAG("reduce-on-rdu", "", BOOL, reduce_on_rdu, "replicas reduce, not the caller"),
    SAMBA_DRIVER__FLAG("seed", "", COUNT, seed, "of weights and dropout, default 256")
};
#define SAMBA_DRIVER__N_FLAGS ((int32_t)(sizeof samba_driver__flags / sizeof *samba_driver__flags))

/* Flags of SambaFlow's compiler that mean nothing on a CPU, and how many values follow. */
static const struct {
    const char *name;
    int values;
} samba_driver__ignored[] = { { "arch", 1 },
                              { "num-tiles", 1 },
                              { "n-chips", 1 },
                              { "optimization-rules", 1 },
                              { "use-o1-default-rules", 0 },
                              { "debug", 0 },
                              { "verbose", 0 },
                              { "log-level", 1 },
                              { "num-spatial-batches", 1 },
                              { "weight-sharing", 0 },
                              { "mac-v1", 0 },
                              { "mac-v2", 0 },
                              { "mac-human-decision", 1 },
                              { "compiler-configs-file", 1 },
                              { "enable-conv-tiling", 0 },
                              { "enable-stoc-rounding", 0 },
                              { "resources-scaling-factors", 3 },
                              { "plot", 0 },
                              { "stage-instrumentation", 0 },
                              { "gen-tensorboard", 0 },
                              { "include-read-stall-cycles", 0 } };

static inline void samba_driver__usage(FILE *to, const char *program, const samba_app_args *args,
                                       const samba_flag *flags, int32_t n)
{
    samba_base_print(to,
                     "usage: %s compile | run | test | measure-performance | measure-sections "
                     "[flags]\n",
                     program);
    for (int32_t i = 0; i < SAMBA_DRIVER__N_FLAGS; i++) {
        const samba_driver__flag *f = &samba_driver__flags[i];
        samba_base_print(to, "  --%-18s %s%s%s\n", f->flag.name, f->flag.help,
                         f->short_name[0] ? "; short -" : "", f->short_name);
    }
    for (int32_t i = 0; i < n; i++)
        samba_base_print(to, "  --%-18s %s\n", flags[i].name, flags[i].help);
    if (args->n_run_flags > 0) samba_base_print(to, "run and test only:\n");
    for (int32_t i = 0; i < args->n_run_flags; i++)
        samba_base_print(to, "  --%-18s %s\n", args->run_flags[i].name, args->run_flags[i].help);
}

/* What a number of each kind may be, from SAMBA_FLAG_INT on. */
typedef struct samba_driver__range {
    bool number, whole;
    double least, most;
    bool above;        /* more than least */
    const char *words; /* what is refused is told */
} samba_driver__range;

static const samba_driver__range samba_driver__ranges[]
    = { { false, false, 0.0, 0.0, false, "" },
        { true, true, -2147483647.0, 2147483647.0, false, "a whole number" },
        { true, false, -HUGE_VAL, HUGE_VAL, false, "a number" },
        { false, false, 0.0, 0.0, false, "" },
        { true, true, 1.0, 2147483647.0, false, "a whole number from 1 on" },
        { true, true, 0.0, 2147483647.0, false, "a whole number from 0 on" },
        { true, false, 0.0, 3.4028234663852886e38, true, "a number above 0" },
        { true, false, 0.0, 3.4028234663852886e38, false, "a number from 0 on" },
        { true, false, 0.0, 1.0, false, "a number from 0 to 1" },
        { true, false, 0.0, 1.0, true, "a number above 0, up to 1" } };

/* Stores text as a value of the kind. False if it is no such value. */
static inline bool samba_driver__store(samba_flag_kind kind, void *value, const char *text)
{
    const samba_driver__range *k = &samba_driver__ranges[kind];
    char *end = NULL;
    double number = samba_base_number(text, &end);
    if (kind == SAMBA_FLAG_BOOL) *(bool *)value = true;
    if (kind == SAMBA_FLAG_TEXT) *(const char **)value = text;
    if (!k->number) return true;
    if (end == text || *end || !(number >= k->least && number <= k->most)) return false;
    if (k->above && !((float)number > (float)k->least)) return false;
    if (k->whole && number != (double)(int32_t)number) return false;
    if (k->whole)
        *(int32_t *)value = (int32_t)number;
    else
        *(float *)value = (float)number;
    return true;
}

SAMBA_DRIVER_API bool samba_app_graphamp(const char *name, samba_graphamp *preset)
{
    if (!strcmp(name, "mp0"))
        *preset = SAMBA_MP0;
    else if (!strcmp(name, "mp1"))
        *preset = SAMBA_MP1;
    else if (!strcmp(name, "mp4"))
        *preset = SAMBA_MP4;
    else
        return false;
    return true;
}

/* Flags whose text is one of a few words. */
static inline bool samba_driver__choose(samba_app_args *args, const char *name, const char *text)
{
    if (!strcmp(name, "o0"))
        args->level = SAMBA_O0;
    else if (!strcmp(name, "o1"))
        args->level = SAMBA_O1;
    else if (!strcmp(name, "o3"))
        args->level = SAMBA_O3;
    else if (!strcmp(name, "graphamp-preset"))
        return samba_app_graphamp(text, &args->graphamp);
    else if (!strcmp(text, "section"))
        args->mapping = SAMBA_MAPPING_SECTION;
    else if (!strcmp(text, "spatial"))
        args->mapping = SAMBA_MAPPING_SPATIAL;
    else
        return false;
    return true;
}

/* Is text this flag? -x or --name, alone or with =value, which *value then points to. */
static inline bool samba_driver__is_flag(const char *text, const char *name, const char *short_name,
                                         const char **value)
{
    const char *p = text + 1, *want = short_name;
    if (text[0] != '-') return false;
    if (text[1] == '-') {
        p = text + 2;
        want = name;
    }
    if (!*want) return false;
    while (*want && *p == *want) {
        p++;
        want++;
    }
    if (*want || (*p && *p != '=')) return false;
    *value = *p ? p + 1 : NULL;
    return true;
}

/* A flag that nobody knows: kept, with what follows and is no flag, or refused. */
static inline int samba_driver__keep(int argc, char **argv, int i, samba_app_args *args)
{
    bool flag = argv[i][0] == '-' && argv[i][1] && args->allow_extra;
    int used = flag && !strchr(argv[i], '=') && i + 1 < argc && argv[i + 1][0] != '-' ? 2 : 1;
    if (flag && args->n_extra + used <= SAMBA_MAX_EXTRA) {
        for (int k = 0; k < used; k++)
            args->extra[args->n_extra++] = argv[i + k];
        return used;
    }
    samba_base_print(stderr, "%s: unknown flag %s; --help lists them\n", argv[0], argv[i]);
    return 0;
}

/* Reads argv[i] and perhaps argv[i+1]; returns how many were used, 0 after saying what is wrong. */
static inline int samba_driver__read(int argc, char **argv, int i, samba_app_args *args,
                                     const samba_flag *flags, int32_t n)
{
    const int32_t own = n + args->n_run_flags;
    for (int32_t k = 0; k < SAMBA_DRIVER__N_FLAGS + own; k++) {
        const samba_driver__flag *f = k < own ? NULL : &samba_driver__flags[k - own];
        samba_flag flag; /* the application's own come first */
        if (f)
            flag = f->flag;
        else
            flag = k < n ? flags[k] : args->run_flags[k - n];
        const char *text = NULL;
        if (!samba_driver__is_flag(argv[i], flag.name, f ? f->short_name : "", &text)) continue;
        bool run_only = f ? samba_driver__is_for_running(flag.name) : k >= n;
        if (run_only && !strcmp(args->command, "compile")) {
            samba_base_print(
                stderr, "%s: --%s says how to run; compile has no use for it, give it to run\n",
                argv[0], flag.name);
            return 0;
        }
        int used = flag.kind == SAMBA_FLAG_BOOL || text ? 1 : 2;
        if (used == 2) text = i + 1 < argc ? argv[i + 1] : NULL;
        if (used == 2 && !text) {
            samba_base_print(stderr, "%s: --%s needs a value\n", argv[0], flag.name);
            return 0;
        }
        if (!text) text = "";
        if (f) flag.value = (char *)args + f->at;
        bool fine = flag.kind != SAMBA_FLAG_BOOL || !*text; /* --inference=false sets nothing */
        if (fine)
            fine = f && f->at == 0 ? samba_driver__choose(args, flag.name, text)
                                   : samba_driver__store(flag.kind, flag.value, text);
        if (fine) return used;
        const char *words = samba_driver__ranges[flag.kind].words;
        samba_base_print(stderr, "%s: \"%s\" is no value for --%s (%s)%s%s\n", argv[0], text,
                         flag.name, flag.help, *words ? ": it takes " : "", words);
        return 0;
    }
    for (size_t k = 0; k < sizeof samba_driver__ignored / sizeof *samba_driver__ignored; k++) {
        const char *name = samba_driver__ignored[k].name, *text = NULL;
        if (!samba_driver__is_flag(argv[i], name, "", &text)) continue;
        samba_base_print(stderr, "[warning samba] --%s has no meaning on a CPU and is ignored\n",
                         name);
        int used = 1 + (text ? 0 : samba_driver__ignored[k].values);
        return used < argc - i ? used : argc - i;
    }
    return samba_driver__keep(argc, argv, i, args);
}

/* A whole number from the environment: of the first of two variables that has one. */
static inline int32_t samba_driver__setting(const char *name, const char *other)
{
    const char *text = getenv(name);
    if ((!text || !*text) && other) text = getenv(other);
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end && n > 0 && n < 2147483647 ? (int32_t)n : 0;
}

SAMBA_DRIVER_API bool samba_file_dir(const char *file, char *folder, size_t size)
{
    const char *slash = strrchr(file, '/');
    int n = slash
        ? samba_base_format(folder, size, "%.*s", slash == file ? 1 : (int)(slash - file), file)
        : samba_base_format(folder, size, ".");
    return n >= 0 && (size_t)n < size;
}

SAMBA_DRIVER_API bool samba_parse_app_args(int argc, char **argv, samba_app_args *args,
                                           const samba_flag *flags, int32_t n_flags)
{
    bool known = false, help = false;
    args->command = argc > 1 ? argv[1] : "";
    args->exit_code = 2;
    for (size_t k = 0; k < sizeof samba_driver__commands / sizeof *samba_driver__commands; k++)
        known = known || !strcmp(args->command, samba_driver__commands[k]);
    for (int i = 1; i < argc; i++)
        help = help || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
    if (!known || help) {
        FILE *to = help ? stdout : stderr;
        samba_driver__usage(to, argc > 0 ? argv[0] : "program", args, flags, n_flags);
        if (help && fflush(to) == 0) args->exit_code = 0;
        return false;
    }
    for (int i = 2; i < argc;) {
        int used = samba_driver__read(argc, argv, i, args, flags, n_flags);
        if (!used) return false;
        i += used;
    }
    if (!args->threads) args->threads = samba_driver__setting("SN_NUM_THREADS", "OMP_NUM_THREADS");
    if (!args->seed) args->seed = samba_driver__setting("SAMBA_SEED", NULL);
    if (args->batch_size < 0 || args->microbatch_size < 0 || args->num_iterations < 0
        || args->num_sections < 0 || args->memory < 0 || args->grad_accumulation_steps < 0
        || args->world_size < 0) {
        samba_base_print(stderr, "%s: sizes and counts must not be negative\n", argv[0]);
        return false;
    }
    if (args->microbatch_size && args->batch_size % args->microbatch_size) {
        samba_base_print(stderr, "%s: the batch size %d is no multiple of the microbatch size %d\n",
                         argv[0], (int)args->batch_size, (int)args->microbatch_size);
        return false;
    }
    int32_t steps = args->grad_accumulation_steps;
    if (steps > 1 && args->batch_size % steps) {
        samba_base_print(
            stderr, "%s: the batch size %d cannot be split into --grad-accumulation-steps %d\n",
            argv[0], (int)args->batch_size, (int)steps);
        return false;
    }
    if (steps > 1 && args->microbatch_size && args->batch_size / args->microbatch_size != steps) {
        samba_base_print(
            stderr, "%s: -b %d with -mb %d makes %d parts, --grad-accumulation-steps says %d\n",
            argv[0], (int)args->batch_size, (int)args->microbatch_size,
            (int)(args->batch_size / args->microbatch_size), (int)steps);
        return false;
    }
    return true;
}

SAMBA_DRIVER_API int32_t samba_app_parts(const samba_app_args *args)
{
    if (args->microbatch_size > 0 && args->batch_size > 0)
        return args->batch_size / args->microbatch_size;
    return args->grad_accumulation_steps > 1 ? args->grad_accumulation_steps : 1;
}

SAMBA_DRIVER_API int32_t samba_app_rows(const samba_app_args *args)
{
    return args->batch_size / samba_app_parts(args);
}

SAMBA_DRIVER_API samba_desc samba_app_desc(const samba_app_args *args)
{
    samba_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.threads = args->threads > 0 ? args->threads : 0;
    desc.seed = args->seed > 0 ? (uint64_t)args->seed : 0;
    desc.graphamp = args->graphamp;
    return desc;
}

/* All of a file, in memory that is to be freed; NULL with an error. */
static inline uint8_t *samba_driver__file(samba_session *s, const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    uint8_t *bytes = n > 0 && !fseek(f, 0, SEEK_SET) ? (uint8_t *)malloc((size_t)n) : NULL;
    *size = bytes ? fread(bytes, 1, (size_t)n, f) : 0;
    if (f) fclose(f);
    if (bytes && *size == (size_t)n) return bytes;
    free(bytes);
    samba_fail(s, SAMBA_EIO, "cannot read %s", path);
    return NULL;
}

/* The PEF of a file, in memory that is to be freed; NULL with an error. */
static inline uint8_t *samba_driver__open(samba_session *s, const char *path, samba_pef *pef)
{
    size_t size = 0;
    char why[300];
    uint8_t *bytes = samba_driver__file(s, path, &size);
    if (!bytes || samba_pef_open(pef, bytes, size, why, sizeof why)) return bytes;
    samba_fail(s, SAMBA_EPEF, "%s: %s", path, why);
    free(bytes);
    return NULL;
}

/* Then the device half alone, which does not know them, cannot say what a run takes. */
static inline bool samba_driver__has_own_ops(const samba_pef *pef)
{
    bool own = false;
    for (int32_t i = 0; i < pef->n_nodes; i++)
        own = own || !samba_pef_node_at(pef, i).op;
    return own;
}

/* Prints what a run of the PEF takes, to the byte. */
static inline bool samba_driver__memory(samba_session *s, const char *path)
{
    static const char *const parts[6]
        = { "parameters", "gradients",          "state",
            "arena",      "inputs and outputs", "tables, constants and scratch of a thread" };
    uint64_t of_role[SAMBA_ROLE_SCRATCH + 1] = { 0 };
    samba_pef pef;
    uint8_t *bytes = samba_driver__open(s, path, &pef);
    uint64_t total = bytes ? samba_runtime_bytes(bytes, pef.size, NULL, 0) : 0;
    bool own = bytes && samba_driver__has_own_ops(&pef);
    if (own)
        samba_base_print(stdout,
                         "it has ops of your own: what a run needs is known when it is loaded\n");
    for (int32_t i = 0; total && i < pef.n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(&pef, i);
        if (q.view_of < 0) of_role[q.role] += q.size;
    }
    if (total) {
        uint64_t part[6] = { of_role[SAMBA_ROLE_WEIGHT],
                             of_role[SAMBA_ROLE_GRADIENT],
                             of_role[SAMBA_ROLE_STATE] + of_role[SAMBA_ROLE_ARGIN],
                             pef.arena_bytes,
                             pef.io_bytes,
                             total };
        for (int i = 0; i < 5; i++)
            part[5] -= part[i];
        samba_base_print(stdout, "a run needs %llu bytes (%.1f MiB)", (unsigned long long)total,
                         (double)total / 1048576);
        for (int i = 0; i < 6; i++)
            samba_base_print(stdout, "%s%s %llu", i ? ", " : ": ", parts[i],
                             (unsigned long long)part[i]);
        samba_base_print(stdout, "\n");
    }
    free(bytes);
    return total || own || !samba_ok(s)
        || samba_fail(s, SAMBA_EPEF, "%s cannot be read again", path);
}

/* Does a node of a section that steps parameters write this symbol? */
static inline bool samba_driver__stepped(const samba_pef *pef, int32_t symbol)
{
    for (int32_t i = 0; i < pef->n_sections; i++) {
        samba_pef_section q = samba_pef_section_at(pef, i);
        if (!(q.type & SAMBA_OPT)) continue;
        for (int32_t k = q.first; k < q.first + q.n; k++) {
            samba_pef_node node = samba_pef_node_at(pef, k);
            for (int32_t o = 0; o < node.n_out; o++)
                if (node.out[o] == symbol) return true;
        }
    }
    return false;
}

static inline bool samba_driver__trains(const samba_pef *pef)
{
    bool trains = false;
    for (int32_t i = 0; i < pef->n_sections; i++)
        trains = trains || (samba_pef_section_at(pef, i).type & SAMBA_OPT);
    return trains;
}

/* Is there a gradient of the parameter called name, or (mapping spatial) a step without one? */
static inline bool samba_driver__is_reached(const samba_pef *pef, const char *name)
{
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        if (q.role == SAMBA_ROLE_WEIGHT && !strcmp(q.name, name))
            return q.gradient >= 0 || samba_driver__stepped(pef, i);
    }
    return false;
}

/* Parameters that are to be trained, but the loss does not depend on them. */
static inline void samba_driver__warn_of_gradients(samba_session *s, const samba_pef *p)
{
    int32_t n = samba_parameters(s, NULL, 0);
    samba_tensor **list = (samba_tensor **)malloc(((size_t)n + 1) * sizeof *list);
    if (list) samba_parameters(s, list, n);
    for (int32_t i = 0; list && i < n; i++)
        if (!list[i]->frozen && !samba_driver__is_reached(p, list[i]->name))
            samba_base_print(
                stdout,
                "[warning samba] the parameter %s gets no gradient: no loss depends on it\n",
                list[i]->name);
    free(list);
}

/* Parameters that have a gradient and no optimizer, in a program that has one. */
static inline void samba_driver__warn_of_parameters(const samba_pef *p)
{
    for (int32_t i = 0; i < p->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(p, i);
        if (q.role == SAMBA_ROLE_WEIGHT && q.gradient >= 0 && !samba_driver__stepped(p, i))
            samba_base_print(
                stdout, "[warning samba] no optimizer has the parameter %s: it keeps its values\n",
                q.name);
    }
}

/* Ops of the program's own that are a section, between two of their type. */
static inline void samba_driver__warn_of_cuts(const samba_pef *p)
{
    for (int32_t i = 1; i + 1 < p->n_sections; i++) {
        samba_pef_section q = samba_pef_section_at(p, i);
        samba_pef_node node = samba_pef_node_at(p, q.first);
        bool inside = samba_pef_section_at(p, i - 1).type == q.type
            && samba_pef_section_at(p, i + 1).type == q.type;
        if (q.n == 1 && !node.op && inside)
            samba_base_print(
                stdout,
                "[warning samba] %s is a section of its own (call %d) and cuts the graph: ops "
                "before and after it cannot be joined\n",
                node.name, (int)i);
    }
}

/* cuts: level O0 makes each op a section anyway. */
static inline bool samba_driver__warn(samba_session *s, const char *path, bool cuts)
{
    samba_pef p;
    uint8_t *bytes = samba_driver__open(s, path, &p);
    if (!bytes) return false;
    if (samba_driver__trains(&p)) {
        samba_driver__warn_of_gradients(s, &p);
        samba_driver__warn_of_parameters(&p);
    }
    if (cuts) samba_driver__warn_of_cuts(&p);
    free(bytes);
    return true;
}

/* The tables of a PEF, of whose values there may be much, in memory that is to be freed. NULL: it
   is none, or cannot be read. */
static inline uint8_t *samba_driver__tables(const char *path, samba_pef *pef)
{
    uint8_t head[128], *bytes = NULL;
    FILE *f = fopen(path, "rb");
    long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    bool fine = size >= 128 && !fseek(f, 0, SEEK_SET) && fread(head, sizeof head, 1, f) == 1;
    size_t n = fine ? samba_pef_tables_size(head, (size_t)size) : 0;
    if (n) bytes = (uint8_t *)malloc(n);
    fine = bytes && !fseek(f, 0, SEEK_SET) && fread(bytes, n, 1, f) == 1
        && samba_pef_tables_size(bytes, (size_t)size) == n
        && samba_pef_open(pef, bytes, (size_t)size, NULL, 0);
    if (f) fclose(f);
    if (fine) return bytes;
    free(bytes);
    return NULL;
}

/* Is a PEF of the batch and its parts that the command line names? Looks at its inputs' records
   alone; what is wrong with a file is left to samba_load. */
static inline bool samba_driver__fits(samba_session *s, const samba_app_args *args)
{
    int32_t rows = 0;
    bool same = false;
    samba_pef pef;
    uint8_t *bytes = args->pef ? samba_driver__tables(args->pef, &pef) : NULL;
    for (int32_t i = 0; bytes && i < pef.n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(&pef, i);
        if (q.role != SAMBA_ROLE_INPUT || q.batch_dim < 0) continue;
        int32_t dim = q.spec.shape.dim[q.batch_dim];
        same = same || dim == samba_app_rows(args);
        if (!rows || dim < rows) rows = dim;
    }
    int32_t parts = bytes ? pef.microbatches : 1;
    free(bytes);
    if (rows < 1 || (same && parts == samba_app_parts(args))) return true;
    return samba_fail(s, SAMBA_EGRAPH,
                      "%s was compiled with -b %d -mb %d; the command line says "
                      "-b %d -mb %d",
                      args->pef, rows * parts, rows, args->batch_size, samba_app_rows(args));
}

SAMBA_DRIVER_API bool samba_app_load(samba_session *s, const samba_app_args *args,
                                     const samba_program *program)
{
    return samba_ok(s) && samba_driver__fits(s, args) && samba_load(s, args->pef, program);
}

static inline bool samba_driver__compile(samba_session *s, const samba_app_args *args,
                                         const samba_program *program)
{
    const char *name = args->pef_name ? args->pef_name : program->name ? program->name : "samba";
    const char *folder = args->output_folder ? args->output_folder : "out";
    samba_program p = *program;
    char path[1024];
    int n = samba_base_format(path, sizeof path, "%s/%s/%s.pef", folder, name, name);
    if (n < 0 || n >= (int)sizeof path)
        return samba_fail(s, SAMBA_EARG, "the path %s/%s is too long", folder, name);
    for (char *q = path + 1; *q; q++) {
        if (*q != '/') continue;
        *q = 0;
        samba_driver__folder(path);
        *q = '/';
    }
    if (args->pef && strcmp(args->pef, path) != 0)
        printf("[warning samba] --pef %s says what to run and is not written: compile writes %s "
               "(--output-folder, --pef-name)\n",
               args->pef, path);
    p.pef = path;
    p.compile_only = true;
    p.inference = p.inference || args->inference;
    if (args->level) p.level = args->level;
    if (args->mapping) p.mapping = args->mapping;
    if (args->memory) p.memory = (int64_t)args->memory << 20;
    if (samba_app_parts(args) > 1) p.microbatches = samba_app_parts(args);
    double start = samba_seconds();
    if (!samba_compile(s, &p)) return false;
    samba_base_print(stdout, "compiled %s in %.3f s, log in %s.log\n", path,
                     samba_seconds() - start, path);
    return samba_driver__memory(s, path) && samba_driver__warn(s, path, p.level != SAMBA_O0);
}

/* What is sent before each run of a measurement, and fetched behind it. */
typedef struct samba_driver__traffic {
    samba_tensor **inputs, **outputs;
    int32_t n_inputs, n_outputs;
    uint8_t *zeros, *room; /* what is sent, where it is put: for the largest */
} samba_driver__traffic;

/* The inputs and outputs of the loaded program, by its file. */
static inline bool samba_driver__find_traffic(samba_session *s, const char *path,
                                              samba_driver__traffic *t)
{
    size_t largest = 1;
    samba_pef p;
    uint8_t *bytes = samba_driver__open(s, path, &p);
    if (!bytes) return false;
    t->inputs = (samba_tensor **)malloc(2 * (size_t)(p.n_symbols + 1) * sizeof *t->inputs);
    t->outputs = t->inputs ? t->inputs + p.n_symbols + 1 : NULL;
    for (int32_t i = 0; t->inputs && i < p.n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(&p, i);
        if (q.role != SAMBA_ROLE_INPUT && q.role != SAMBA_ROLE_OUTPUT) continue;
        samba_tensor *x = samba_tensor_by_name(s, q.name);
        if (q.role == SAMBA_ROLE_INPUT)
            t->inputs[t->n_inputs++] = x;
        else
            t->outputs[t->n_outputs++] = x;
        if (samba_bytes(x) > largest) largest = samba_bytes(x);
    }
    free(bytes);
    t->zeros = (uint8_t *)calloc(2, largest);
    t->room = t->zeros ? t->zeros + largest : NULL;
    return t->inputs && t->zeros ? samba_ok(s)
                                 : samba_fail(s, SAMBA_ENOMEM, "no memory to measure");
}

static inline bool samba_driver__send(const samba_driver__traffic *t)
{
    bool fine = true;
    for (int32_t i = 0; fine && i < t->n_inputs; i++)
        fine = samba_write(t->inputs[i], t->zeros);
    return fine;
}

static inline bool samba_driver__fetch(const samba_driver__traffic *t)
{
    bool fine = true;
    for (int32_t i = 0; fine && i < t->n_outputs; i++)
        fine = samba_copy_out(t->outputs[i], t->room, samba_bytes(t->outputs[i]));
    return fine;
}

/* The seconds of n runs, after one that does not count. The traffic may be NULL: none. */
static inline bool samba_driver__latencies(samba_session *s, const samba_run_desc *run,
                                           const samba_driver__traffic *traffic, int32_t n,
                                           double *seconds)
{
    for (int32_t i = -1; i < n; i++) {
        double start = samba_seconds();
        if (traffic && !samba_driver__send(traffic)) return false;
        if (!samba_run_with(s, run)) return false;
        if (traffic && !samba_driver__fetch(traffic)) return false;
        if (i >= 0) seconds[i] = samba_seconds() - start;
    }
    return true;
}

static inline int samba_driver__compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What n latencies say; they are sorted. */
static inline samba_performance samba_driver__sum_up(double *seconds, int32_t n, int32_t batch_size)
{
    samba_performance p;
    double total = 0.0;
    memset(&p, 0, sizeof p);
    qsort(seconds, (size_t)n, sizeof *seconds, samba_driver__compare);
    for (int32_t i = 0; i < n; i++)
        total += seconds[i];
    p.count = n;
    p.mean = total / n;
    p.best = seconds[0];
    p.p50 = seconds[(n - 1) / 2];
    p.p99 = seconds[(n * (int64_t)99 + 99) / 100 - 1];
    p.throughput = batch_size > 0 && total > 0.0 ? batch_size / p.mean : 0.0;
    return p;
}

/* Times n runs: zeros with an error in s. */
static inline samba_performance samba_driver__time(samba_session *s, const samba_run_desc *run,
                                                   const samba_driver__traffic *traffic, int32_t n,
                                                   int32_t batch_size)
{
    samba_performance p;
    memset(&p, 0, sizeof p);
    double *seconds = (double *)malloc((size_t)n * sizeof *seconds);
    if (!seconds) samba_fail(s, SAMBA_ENOMEM, "no memory for %d latencies", (int)n);
    if (seconds && samba_driver__latencies(s, run, traffic, n, seconds))
        p = samba_driver__sum_up(seconds, n, batch_size);
    free(seconds);
    return p;
}

/* Seconds of one run of a program that only makes y. */
static inline double samba_driver__time_of(samba_tensor *y)
{
    samba_program p;
    samba_run_desc all;
    memset(&p, 0, sizeof p);
    memset(&all, 0, sizeof all);
    if (!y) return 0.0;
    p.outputs[0] = y;
    p.inference = true;
    if (!samba_compile(y->session, &p)) return 0.0;
    samba_performance t = samba_driver__time(y->session, &all, NULL, 5, 0);
    return t.count && samba_set_tracing(y->session, true) ? t.best : 0.0;
}

/* The machine's own limits with so many threads: arithmetic as a product does it, bytes read and
   written by an op that does little else. */
static inline bool samba_driver__limits(samba_session *s, int32_t threads, double *flops,
                                        double *bytes)
{
    const int32_t side = 576, many = 1 << 24;
    samba_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.threads = threads;
    desc.quiet = true; /* its error becomes one of s */
    samba_session *own = samba_open(&desc);
    samba_tensor *a = samba_rand(own, "a", SAMBA_SHAPE(side, side));
    *flops = 2.0 * side * side * side / samba_driver__time_of(samba_matmul(a, a));
    *bytes = 8.0 * many / samba_driver__time_of(samba_neg(samba_rand(own, "x", SAMBA_SHAPE(many))));
    bool fine = samba_ok(own)
        || samba_fail(s, samba_error_code(own),
                      "while measuring the "
                      "machine: %s",
                      samba_error(own));
    samba_close(own);
    return fine;
}

/* A count that an argument says, or its default for 0. Below 0 there is none. */
static inline int32_t samba_driver__count(samba_session *s, const char *what, int32_t given,
                                          int32_t by_default)
{
    if (given < 0) samba_fail(s, SAMBA_EARG, "%s is %d; use 0 or more", what, (int)given);
    return given > 0 ? given : by_default;
}

SAMBA_DRIVER_API samba_performance samba_measure_performance_with(samba_session *s,
                                                                  const samba_measure_opts *opts)
{
    samba_performance p;
    samba_run_desc run;
    samba_driver__traffic traffic = { NULL, NULL, 0, 0, NULL, NULL };
    memset(&p, 0, sizeof p);
    memset(&run, 0, sizeof run);
    int32_t n = samba_driver__count(s, "n_iterations", opts->n_iterations, 100);
    samba_driver__count(s, "batch_size", opts->batch_size, 0);
    if (opts->inference) run.types[0] = SAMBA_FWD;
    bool fine = samba_ok(s) && (!opts->pef || samba_driver__find_traffic(s, opts->pef, &traffic));
    if (fine) p = samba_driver__time(s, &run, opts->pef ? &traffic : NULL, n, opts->batch_size);
    free(traffic.inputs);
    free(traffic.zeros);
    return p;
}

SAMBA_DRIVER_API samba_performance samba_measure_performance(samba_session *s, int32_t batch_size,
                                                             int32_t n_iterations)
{
    samba_measure_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.batch_size = batch_size;
    opts.n_iterations = n_iterations;
    return samba_measure_performance_with(s, &opts);
}

SAMBA_DRIVER_API int32_t samba_measure_sections(samba_session *s, int32_t batch_size,
                                                int32_t num_sections, int32_t n_iterations,
                                                samba_section_time *times, int32_t cap)
{
    int32_t n = samba_driver__count(s, "n_iterations", n_iterations, 100), k = 0;
    samba_driver__count(s, "batch_size", batch_size, 0);
    samba_driver__count(s, "num_sections", num_sections, 0);
    samba_section_time t;
    samba_run_desc one;
    memset(&t, 0, sizeof t);
    memset(&one, 0, sizeof one);
    one.section_ids = &k;
    one.n_section_ids = 1;
    one.own_order = true;
    if (!samba_ok(s)) return -1;
    while ((num_sections == 0 || k < num_sections) && samba_describe_section(s, k, &t.section)) {
        samba_performance p = samba_driver__time(s, &one, NULL, n, batch_size);
        if (!p.count) return -1;
        t.mean = p.mean;
        t.best = p.best;
        t.throughput = p.throughput;
        if (k < cap) times[k] = t;
        k++;
    }
    return k;
}

/* What sections are summed by: the op, or the type where a section has several. */
static inline const char *samba_driver__kind(const samba_section_time *t)
{
    return t->section.op ? t->section.op : t->section.type;
}

SAMBA_DRIVER_API int32_t samba_sum_by_op(samba_section_time *times, int32_t n)
{
    int32_t n_kinds = 0;
    for (int32_t i = 0; i < n; i++) {
        samba_section_time t = times[i];
        int32_t k = 0;
        while (k < n_kinds && strcmp(samba_driver__kind(&times[k]), samba_driver__kind(&t)) != 0)
            k++;
        if (k == n_kinds) {
            times[n_kinds++] = t;
            continue;
        }
        times[k].mean += t.mean;
        times[k].best += t.best;
        times[k].section.flops += t.section.flops;
        times[k].section.bytes += t.section.bytes;
    }
    for (int32_t i = 1; i < n_kinds; i++) { /* the costliest first */
        samba_section_time t = times[i];
        int32_t at = i;
        for (; at > 0 && times[at - 1].best < t.best; at--)
            times[at] = times[at - 1];
        times[at] = t;
    }
    return n_kinds;
}

/* "12.3 GB/s (45 %)". Above the limit, which is that of the memory, data come from a cache. */
static inline void samba_driver__print_rate(const char *unit, double rate, double limit)
{
    samba_base_print(stdout, ", %.1f %s ", rate * 1e-9, unit);
    if (rate <= limit)
        samba_base_print(stdout, "(%.0f %%)", 100.0 * rate / limit);
    else if (rate <= 1.2 * limit)
        samba_base_print(stdout, "(100 %%)");
    else
        samba_base_print(stdout, "(cached)");
}

/* Which of the two limits a section is near tells what to mend: its arithmetic or its traffic. */
static inline void samba_driver__print_time(const samba_section_time *t, double most_flops,
                                            double most_bytes)
{
    samba_base_print(stdout, "latency %.3f ms (best %.3f)", t->mean * 1e3, t->best * 1e3);
    if (t->throughput > 0.0) samba_base_print(stdout, ", throughput %.0f samples/s", t->throughput);
    samba_driver__print_rate("GFLOP/s", (double)t->section.flops / t->best, most_flops);
    samba_driver__print_rate("GB/s", (double)t->section.bytes / t->best, most_bytes);
}

/* The sections by op, if each is one op. */
static inline void samba_driver__print_ops(samba_section_time *times, int32_t n)
{
    double all = 0.0;
    for (int32_t i = 0; i < n; i++) {
        if (!times[i].section.op) {
            samba_base_print(stdout,
                             "for times by op, measure a program that was compiled with --o0\n");
            return;
        }
        all += times[i].best;
    }
    n = samba_sum_by_op(times, n);
    for (int32_t i = 0; i < n; i++)
        samba_base_print(stdout, "op %-24s best %.3f ms, %.1f %%\n", times[i].section.op,
                         times[i].best * 1e3, all > 0.0 ? 100.0 * times[i].best / all : 0.0);
}

static inline bool samba_driver__sections(samba_session *s, const samba_app_args *args, int32_t n)
{
    double most_flops, most_bytes;
    samba_section q;
    int32_t n_sections = 0;
    if (!samba_driver__limits(s, args->threads, &most_flops, &most_bytes)) return false;
    samba_base_print(stdout, "limits: products %.1f GFLOP/s, copies %.1f GB/s\n", most_flops * 1e-9,
                     most_bytes * 1e-9);
    while (samba_describe_section(s, n_sections, &q))
        n_sections++;
    if (args->num_sections > 0 && args->num_sections < n_sections) n_sections = args->num_sections;
    samba_section_time *times
        = (samba_section_time *)malloc(((size_t)n_sections + 1) * sizeof *times);
    if (!times) return samba_fail(s, SAMBA_ENOMEM, "no memory to measure sections");
    bool fine = samba_measure_sections(s, args->batch_size, n_sections, n, times, n_sections) >= 0;
    for (int32_t k = 0; fine && k < n_sections; k++) {
        const samba_section *one = &times[k].section;
        samba_base_print(stdout, "section %d %-8s ", (int)k, one->type);
        samba_driver__print_time(&times[k], most_flops, most_bytes);
        samba_base_print(stdout, "%s%s\n", one->op ? " " : "", one->op ? one->op : "");
    }
    if (fine && n_sections > 0) samba_driver__print_ops(times, n_sections);
    free(times);
    return fine;
}

static inline bool samba_driver__performance(samba_session *s, const samba_app_args *args,
                                             int32_t n)
{
    samba_measure_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.batch_size = args->batch_size;
    opts.n_iterations = n;
    opts.pef = args->run_graph_only ? NULL : args->pef;
    samba_performance p = samba_measure_performance_with(s, &opts);
    if (!p.count) return false;
    samba_base_print(stdout, "latency %.3f ms (best %.3f, half within %.3f, 99 %% within %.3f)",
                     p.mean * 1e3, p.best * 1e3, p.p50 * 1e3, p.p99 * 1e3);
    if (p.throughput > 0.0) samba_base_print(stdout, ", throughput %.0f samples/s", p.throughput);
    samba_base_print(stdout, "\n");
    return true;
}

static inline bool samba_driver__measure(samba_session *s, const samba_app_args *args,
                                         const samba_program *program, bool sections)
{
    int32_t n = args->num_iterations ? args->num_iterations : 100;
    if (!args->pef)
        return samba_fail(s, SAMBA_EARG, "%s needs the program to measure: --pef FILE",
                          args->command);
    samba_profiler *p = args->trace ? samba_profiler_open(s, 0) : NULL;
    samba_start_profile(p);
    bool fine = samba_load(s, args->pef, program) && samba_zero_inputs(s)
        && (sections ? samba_driver__sections(s, args, n) : samba_driver__performance(s, args, n));
    if (p && fine) fine = samba_end_profile(p, NULL) && samba_profile_trace(p, args->trace);
    samba_profiler_close(p);
    return fine;
}

SAMBA_DRIVER_API bool samba_app_driver(samba_session *s, const samba_app_args *args,
                                       const samba_program *program)
{
    if (!samba_ok(s)) return false;
    if (!args || !args->command || !program)
        return samba_fail(s, SAMBA_EARG, "in samba_app_driver: args or program is missing");
    if (!strcmp(args->command, "compile")) return samba_driver__compile(s, args, program);
    bool sections = !strcmp(args->command, "measure-sections");
    if (sections || !strcmp(args->command, "measure-performance"))
        return samba_driver__measure(s, args, program, sections);
    return samba_fail(s, SAMBA_EARG, "in samba_app_driver: %s is the application's own command",
                      args->command);
}
#endif /* SAMBA_DRIVER_IMPLEMENTATION */
/* MIT license, as samba.h. */
