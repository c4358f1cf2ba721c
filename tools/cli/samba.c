// tools/samba: the command line of samba.h's tools. The first word names the command.
#include "commands.h"
#include "util/command.h"

static const command commands[] = {
    { "prepare-data", prepare_data_main,
      "text and prompts to HDF5; --pipeline: shuffled, split, "
      "balanced" },
    { "decode-data", decode_data_main, "HDF5 back to text" },
    { "train-tokenizer", train_tokenizer_main, "learn a vocabulary from text files" },
    { "check-data", check_data_main, "is a prepared folder whole, and fit for a training" },
    // A script, tools/cli/doctor.sh.
    { "doctor", 0, "what this machine has, which kernels it runs, what is missing for what" },
    // Of tools/cli/run.c, text.c, onnx.c, device.c and view.c, to which tools/samba turns at once.
    { "run", 0, "a model with inputs from files; --benchmark: how fast it is" },
    { "generate", 0, "a model of language in a folder of Hugging Face goes on with a text" },
    { "chat", 0, "a conversation with one, by the chat template of its folder" },
    { "view", 0, "a model as one HTML page: graph, values, gradients, memory, time; --diff" },
    { "replay", 0, "the run again in which a value was not finite" },
    { "import-onnx", 0, "an ONNX model to a PEF (needs protobuf-c)" },
    { "export-onnx", 0, "a checkpoint to an ONNX model" },
    { "onnx-ops", 0, "what can be imported" },
    { "device-config", 0, "what samba.h compiles for a microcontroller" },
    { "device-report", 0, "what a PEF takes of RAM and flash on a microcontroller" },
    { "device-import", 0, "what a microcontroller has learned to a checkpoint" },
    { "export-c", 0, "a checkpoint to C for a microcontroller" },
};

int main(int argc, char **argv)
{
    return run_command(commands, sizeof commands / sizeof *commands, argc, argv);
}
