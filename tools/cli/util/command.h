// A program of several commands, of which the first word names one: tools/samba and its kin.
#ifndef SAMBA_COMMAND_H
#define SAMBA_COMMAND_H

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); // with the words behind the name; the exit code
    const char *help;                  // run is NULL: the command of another program
} command;

// Runs the command that argv[1] names; prints the list where it is asked for, or names none.
int run_command(const command *commands, int n, int argc, char **argv);

#endif
