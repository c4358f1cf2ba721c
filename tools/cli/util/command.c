// A program of several commands, of which the first word names one.
#include "command.h"
#include "text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_usage(FILE *to, const command *commands, int n)
{
    fprintf(to,
            "usage: tools/samba COMMAND [flags]; tools/samba COMMAND --help; "
            "behind -- all words are files\n");
    for (int i = 0; i < n; i++)
        fprintf(to, "  %-16s %s\n", commands[i].name, commands[i].help);
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

// Behind -- all words are names: one that begins with a dash becomes a path that does not. Returns
// how many words are left; the last one may be longer than before, in memory that stays.
static int read_rest_as_names(int argc, char **argv)
{
    int end = 0;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    for (int i = end + 1; i < argc; i++) {
        char *name = argv[i];
        if (*name == '-') {
            size_t n = strlen(name) + 1;
            char *path = malloc(n + 2);
            if (path) memcpy(path, "./", 2);
            if (path) memcpy(path + 2, name, n);
            if (path) name = path;
        }
        argv[i - 1] = name;
    }
    return end < argc ? argc - 1 : argc;
}

int run_command(const command *commands, int n, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    argc = read_rest_as_names(argc, argv);
    for (int i = 0; i < n; i++)
        if (commands[i].run && strcmp(name, commands[i].name) == 0)
            return end_output(commands[i].run(argc - 2, argv + 2));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout, commands, n);
        return end_output(0);
    }
    if (*name) fprintf(stderr, "samba: there is no command \"%s\"\n", shown(name));
    print_usage(stderr, commands, n);
    return 2;
}
