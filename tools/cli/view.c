// The glass box of tools/samba, a program of its own: a model as a page that shows what happens in
// it. The commands stand in tools/cli/view.
#include "util/command.h"
#include "view/commands.h"

static const command commands[] = {
    { "view", view_main, "a model as one HTML page: graph, values, gradients, memory, time" },
    { "replay", replay_main, "the run again in which a value was not finite" },
};

int main(int argc, char **argv)
{
    return run_command(commands, sizeof commands / sizeof *commands, argc, argv);
}
