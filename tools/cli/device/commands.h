// The commands of tools/samba for small devices, each with the words behind its name. They return
// the exit code.
#ifndef SAMBA_DEVICE_COMMANDS_H
#define SAMBA_DEVICE_COMMANDS_H

int device_config_main(int argc, char **argv); // device-config: macros of what is needed
int export_c_main(int argc, char **argv);      // export-c: a checkpoint as C
int device_import_main(int argc, char **argv); // device-import: a saved state to a checkpoint
int device_report_main(int argc, char **argv); // device-report: what a PEF takes

#endif
