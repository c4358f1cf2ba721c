// The commands of tools/samba, each with the words behind its name. They return the exit code.
#ifndef SAMBA_COMMANDS_H
#define SAMBA_COMMANDS_H

int prepare_data_main(int argc, char **argv);    // prepare-data: one file to HDF5, or --pipeline
int decode_data_main(int argc, char **argv);     // decode-data: HDF5 to text
int train_tokenizer_main(int argc, char **argv); // train-tokenizer: text to a vocabulary
int check_data_main(int argc, char **argv);      // check-data: is a prepared folder whole and fit

#endif
