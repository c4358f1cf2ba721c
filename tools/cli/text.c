// The commands of tools/samba that write text with a model of language: a program of its own, for
// they need cJSON and utf8proc. It has the command run, too, for inputs that are text.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "util/command.h"
#include "run/commands.h"
#include "text/commands.h"
#include "text/text_ids.h"

static const command commands[] = {
    { "generate", generate_main,
      "a model of language in a folder of Hugging Face goes on with a text" },
    { "chat", chat_main, "a conversation with one, by the chat template of its folder" },
    { "run", run_main, "a model with inputs from files or texts; --benchmark: how fast it is" },
};

int main(int argc, char **argv)
{
    read_text_input = read_text_ids;
    return run_command(commands, sizeof commands / sizeof *commands, argc, argv);
}
