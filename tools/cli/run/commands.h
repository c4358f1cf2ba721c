// The commands of build/samba-run; each takes the words behind its name, and returns the exit code.
#ifndef SAMBA_RUN_COMMANDS_H
#define SAMBA_RUN_COMMANDS_H

int run_main(int argc, char **argv);

#endif
