// Arrays of any number of rows through a program whose batch has a fixed one.
#ifndef SAMBA_RUN_BATCHES_H
#define SAMBA_RUN_BATCHES_H

#include "program.h"

typedef struct feed {
    const port *to;
    npy array;
    char from[4096]; // the file, for sentences
    bool given;
    bool by_rows; // it has another number of rows than a batch, or goes with one that has
} feed;

// Does the array fit this input, in each dimension but that of the rows? One that lacks that
// dimension alone gets it.
bool fit_feed(feed *f, fault *why);
// Runs the program, batch by batch if the feeds have more or fewer rows than one; results (n_out of
// the program) of the outputs that are wanted. What is in them is to be freed.
bool run_feeds(program *p, feed *feeds, result *results, const bool *wanted, fault *why);

#endif
