// The command of tools/samba that runs a model, a program of its own, for it has all of samba.h.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "util/command.h"
#include "run/commands.h"

static const command commands[] = {
    { "run", run_main, "a model with inputs from files; --benchmark: how fast it is" },
};

int main(int argc, char **argv)
{
    return run_command(commands, sizeof commands / sizeof *commands, argc, argv);
}
