// What a prepared data set says about itself: metrics, metadata.yaml, sha256/files_metadata.json.
#ifndef SAMBA_REPORT_H
#define SAMBA_REPORT_H

#include "tools/cli/util/files.h"
#include "packing.h"

void print_metrics(journal *log, const char *title, const prep_metrics *m);

typedef struct metadata {
    int64_t max_batch_size_train, max_batch_size_dev; // -1: null
    int64_t max_seq_length, n_train, n_dev, n_test, vocab_size;
    const char *model_type;
    prep_metrics train, dev;
} metadata;

bool write_metadata(const metadata *m, const char *folder, fault *why);

// Of every file below folder, into folder/sha256/files_metadata.json.
bool write_hashes(const char *folder, fault *why);

#endif
