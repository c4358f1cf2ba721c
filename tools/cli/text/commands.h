// The commands of build/samba-text; each takes the words behind its name, and returns the exit
// code.
#ifndef SAMBA_TEXT_COMMANDS_H
#define SAMBA_TEXT_COMMANDS_H

int generate_main(int argc, char **argv);
int chat_main(int argc, char **argv);

#endif
