// The commands of build/samba-view; each takes the words behind its name, and returns the exit
// code.
#ifndef SAMBA_VIEW_COMMANDS_H
#define SAMBA_VIEW_COMMANDS_H

int view_main(int argc, char **argv);
int replay_main(int argc, char **argv);

#endif
