// tools/samba: the command line of samba.h's tools. The first word names the command.
#include "commands.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
    { "prepare-data", prepare_data_main, "text and prompts to HDF5; --pipeline: shuffled, split, "
                                         "balanced" },
    { "decode-data", decode_data_main, "HDF5 back to text" },
    { "train-tokenizer", train_tokenizer_main, "learn a vocabulary from text files" },
    { "check-data", check_data_main, "is a prepared folder whole, and fit for a training" },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to)
{
    fprintf(to, "usage: tools/samba COMMAND [flags]; tools/samba COMMAND --help\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-16s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "  %-16s %s\n", "import-onnx", "an ONNX model to a PEF (needs protobuf-c)");
    fprintf(to, "  %-16s %s\n", "export-onnx", "a checkpoint to an ONNX model");
    fprintf(to, "  %-16s %s\n", "onnx-ops", "what can be imported");
}

// What was printed may have gone nowhere: into a full disk, say.
static int end_output(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fprintf(stderr, "samba: not all of the output could be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return code ? code : 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return end_output(commands[i].run(argc - 2, argv + 2));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return end_output(0);
    }
    if (*name) fprintf(stderr, "samba: there is no command \"%s\"\n", name);
    print_usage(stderr);
    return 2;
}
