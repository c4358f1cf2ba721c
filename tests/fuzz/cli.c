// The commands of tools/samba: words of a command line, and a small file. Parts are args (a word a
// line; @ is the file), file (the file), and the name of another file. A command that fails says
// why; none leaves a temporary file.
//
// No word names what lies outside of the folder of the fuzzer: there is no slash and no .. in it.
#define _GNU_SOURCE
#include "pef_mutate.h"
#include "tools/cli/commands.h"
#include "tools/cli/device/commands.h"
#include "tools/cli/run/commands.h"
#include "tools/cli/view/commands.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int onnx_main(int argc, char **argv); // of tools/cli/onnx.c

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = { { "prepare-data", prepare_data_main },
                 { "decode-data", decode_data_main },
                 { "train-tokenizer", train_tokenizer_main },
                 { "check-data", check_data_main },
                 { "run", run_main },
                 { "view", view_main },
                 { "replay", replay_main },
                 { "device-config", device_config_main },
                 { "export-c", export_c_main },
                 { "device-import", device_import_main },
                 { "device-report", device_report_main } };

enum { N_COMMANDS = sizeof commands / sizeof *commands, MOST_WORDS = 40, MOST_PARTS = 4 };

static const char *const words[] = { "@",
                                     "-",
                                     "--",
                                     "-h",
                                     "--help",
                                     "-o",
                                     "out",
                                     "a.pef",
                                     "--view",
                                     "--keep",
                                     "--diff",
                                     "--input",
                                     "--data",
                                     "--steps",
                                     "--runs",
                                     "0",
                                     "--threads",
                                     "--values",
                                     "--tolerance",
                                     "--tokens",
                                     "--graph",
                                     "--section",
                                     "--types",
                                     "--small",
                                     "--input_path=@",
                                     "--output_path=out.hdf5",
                                     "--overwrite_output_path",
                                     "--ignore_input_format_error",
                                     "--pretrained_tokenizer=.",
                                     "--max_seq_length=8",
                                     "--input_packing_config=greedy::drop",
                                     "--packing_boundary=jsonl",
                                     "--attention_boundary",
                                     "--prompt_keyword",
                                     "--prompt_prefix",
                                     "--categories_path=@",
                                     "--silent",
                                     "--dev_ratio=0.1",
                                     "--test_ratio",
                                     "--shuffle=on_RAM",
                                     "--seed=1",
                                     "--num_workers=1",
                                     "--vocab_size=300",
                                     "--special_tokens_dict={'pad_token': '[PAD]'}",
                                     "--name",
                                     "x=@",
                                     "text:ab",
                                     "x=text:@",
                                     "--tokenizer",
                                     "--pad",
                                     "prepare-data",
                                     "decode-data",
                                     "train-tokenizer",
                                     "check-data",
                                     "run",
                                     "--output",
                                     "--json",
                                     "--weights",
                                     "--benchmark",
                                     "x.json",
                                     "view",
                                     "replay",
                                     "device-config",
                                     "export-c",
                                     "device-import",
                                     "device-report",
                                     "import-onnx",
                                     "export-onnx",
                                     "onnx-ops",
                                     "--shape",
                                     "--value",
                                     "x=1,2",
                                     NULL };

// ---- Calling ------------------------------------------------------------------------------------

static int report; // what is said, in memory

// Words of the part args, as many as there are; text is changed.
static int split(char *text, char **words_of)
{
    int n = 0;
    for (char *word = strtok(text, "\n"); word && n < MOST_WORDS; word = strtok(NULL, "\n")) {
        for (char *p = word; *p; p++)
            if (*p == '/' || (p[0] == '.' && p[1] == '.')) *p = '_';
        words_of[n++] = word;
    }
    words_of[n] = NULL;
    return n;
}

static int call(int argc, char **argv)
{
    if (argc < 1) return 0;
    if (strstr(argv[0], "onnx")) {
        char name[] = "samba-onnx", *with_name[MOST_WORDS + 2] = { name };
        memcpy(with_name + 1, argv, ((size_t)argc + 1) * sizeof *argv);
        return onnx_main(argc + 1, with_name);
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[0], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    return 0;
}

// Calls a command whose stdout and stderr go to memory; returns the bytes of both.
static long call_quietly(int argc, char **argv, int *code)
{
    if (!report) report = memfd_create("said", 0);
    fflush(stdout);
    fflush(stderr);
    int out = dup(1), err = dup(2);
    if (ftruncate(report, 0) != 0 || lseek(report, 0, SEEK_SET) != 0)
        fuzz_fail("no memory for what is said");
    dup2(report, 1);
    dup2(report, 2);

    *code = call(argc, argv);

    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    return (long)lseek(report, 0, SEEK_END);
}

// Removes what a command may leave; a temporary file is none of that.
static void clear_folder(const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[600];
        size_t n = strlen(e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        bool temporary = n > 4 && strcmp(e->d_name + n - 4, ".tmp") == 0;
        if (unlink(path) != 0 && depth < 8) {
            clear_folder(path, depth + 1);
            rmdir(path);
        }
        if (temporary) fuzz_fail("%s is left behind", e->d_name);
    }
    if (dir) closedir(dir);
}

// A training of hundreds of microbatches takes as many times as long, by rights: a byte says how
// many there are, and the limits of time are for files that nobody would expect to take long.
static bool runs_long(const uint8_t *file, size_t size)
{
    enum { MOST_MICROBATCHES = 16 };

    samba_pef pef;
    char why[200];
    uint8_t *aligned = malloc(size + 1);
    if (!aligned) return false;
    memcpy(aligned, file, size);
    bool is_pef = samba_pef_open(&pef, aligned, size, why, sizeof why);
    free(aligned);
    return is_pef && pef.microbatches > MOST_MICROBATCHES;
}

static void one(const uint8_t *data, size_t size)
{
    fuzz_part part[MOST_PARTS];
    char text[2000] = "", folder[300], *argv[MOST_WORDS + 1];
    int code = 0, n = fuzz_parts(data, size, part, MOST_PARTS), back = open(".", O_RDONLY);
    for (int i = 0; i < n; i++) {
        bool args = strcmp(part[i].name, "args") == 0, file = strcmp(part[i].name, "file") == 0;
        if (file && runs_long(part[i].at, part[i].size)) {
            close(back);
            return;
        }
        if (args) snprintf(text, sizeof text, "%.*s", (int)part[i].size, (const char *)part[i].at);
        if (file) fuzz_write("@", part[i].at, part[i].size);
    }
    strcpy(folder, fuzz_path(""));
    if (strcmp(folder, "/") == 0 || chdir(folder) != 0) fuzz_fail("no folder");
    int argc = split(text, argv);
    long said = call_quietly(argc, argv, &code);
    clear_folder(".", 0);
    if (fchdir(back) != 0) fuzz_fail("no way back");
    close(back);
    if (code != 0 && said == 0) fuzz_fail("%s ends with %d, without a word", argv[0], code);
}

// ---- Mutating -----------------------------------------------------------------------------------

static size_t mutate_file(const char *name, uint8_t *data, size_t size, size_t most, unsigned seed)
{
    if (strcmp(name, "args") == 0) return fuzz_mutate_text(data, size, most, seed);
    if (size > 8 && memcmp(data, "SAMBAPEF", 8) == 0) return pef_mutate(data, size, most, seed);
    return seed & 1 ? fuzz_mutate_text(data, size, most, seed) : LLVMFuzzerMutate(data, size, most);
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate_parts(data, size, most, seed, mutate_file);
}

// ---- Seeds --------------------------------------------------------------------------------------

static void add_seed(const char *name, const char *args, const void *file, size_t size)
{
    fuzz_bytes b = { NULL, 0, 0 };
    fuzz_put_part(&b, "args", args, strlen(args));
    fuzz_put_part(&b, "file", file, size);
    fuzz_seed(name, b.at, b.size);
    fuzz_free(&b);
}

static void add_program(const char *name, const void *bytes, size_t size)
{
    static const char *const lines[][2]
        = { { "report", "device-report\n@" },
            { "config", "device-config\n@\n-o\nout.h" },
            { "export", "export-c\n@\n-o\nout" },
            { "view", "view\n@\n-o\nout.html\n--runs\n0\n--threads\n1" },
            { "diff", "view\n--diff\n@\n@\n-o\nout.html\n--runs\n0\n--threads\n1" },
            { "onnx", "export-onnx\n@\nout.onnx" } };
    char title[100];
    if (size > 12000) return;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(title, sizeof title, "%s-%s", lines[i][0], name);
        add_seed(title, lines[i][1], bytes, size);
    }
}

static void seeds(void)
{
    static const struct {
        const char *name, *args, *file;
    } list[]
        = { { "prepare",
              "prepare-data\n--input_path=@\n--output_path=out.hdf5\n--pretrained_tokenizer=.\n"
              "--max_seq_length=8",
              "{\"prompt\":\"a\",\"completion\":\"b\"}\n" },
            { "pipeline",
              "prepare-data\n--pipeline\n--input_path=@\n--output_path=out\n--num_workers=1\n"
              "--pretrained_tokenizer=.\n--dev_ratio=0.1\n--shuffle=on_RAM",
              "text\ntext\n" },
            { "train", "train-tokenizer\n@\nout\n--vocab_size=300", "the cat's hat\n" },
            { "decode", "decode-data\n@\nout.txt", "rows" },
            { "check", "check-data\n.\n--max_seq_length=8\n--batch_size=2", "{}" },
            { "replay", "replay\n@\n--keep\nout.ckpt", "SBRP" },
            { "import", "import-onnx\n@\nout.pef\n--shape\nx=1,2\n--value\ny=2.5", "\x08\x08" },
            { "ops", "onnx-ops", "" },
            { "help", "view\n--help", "" },
            { "import-device", "device-import\n@\n@\nout.ckpt", "BAST" } };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        add_seed(list[i].name, list[i].args, list[i].file, strlen(list[i].file));
    pef_programs(add_program);
}

// Commands whose time must be linear in the file: programs that grow.
static bool large(size_t size, int kind)
{
    static const char *const lines[] = { "device-report\n@", "export-c\n@\n-o\nout",
                                         "view\n@\n-o\nout.html\n--runs\n0\n--threads\n1" };
    char title[100];
    fuzz_bytes file = { NULL, 0, 0 }, b = { NULL, 0, 0 };
    int command = kind / 3;
    if (command >= 3) return false;
    const char *what = pef_large(size, kind % 3, &file);
    snprintf(title, sizeof title, "%.*s, %s", (int)strcspn(lines[command], "\n"), lines[command],
             what);
    fuzz_put_part(&b, "args", lines[command], strlen(lines[command]));
    fuzz_put_part(&b, "file", file.at, file.size);
    fuzz_large(title, b.at, b.size);
    fuzz_free(&file);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "cli",
    .limits = { .seconds = 8, .seconds_per_mb = 50 },
    .words = words,
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 16384,
};
