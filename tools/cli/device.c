// The device commands of tools/samba, a program of their own: what a microcontroller needs of a
// checkpoint. samba.h is implemented here, once; the commands stand in tools/cli/device.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "device/commands.h"
#include "util/command.h"

static const command commands[] = {
    { "device-config", device_config_main, "what samba.h compiles for a microcontroller" },
    { "export-c", export_c_main, "a checkpoint to C for a microcontroller" },
    { "device-import", device_import_main, "what a microcontroller has learned to a checkpoint" },
    { "device-report", device_report_main,
      "what a PEF takes of RAM and flash on a microcontroller" },
};

int main(int argc, char **argv)
{
    return run_command(commands, sizeof commands / sizeof *commands, argc, argv);
}
