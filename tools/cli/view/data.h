// The data of a page: everything that is known of a model, as JSON and blocks of values.
#ifndef SAMBA_VIEW_DATA_H
#define SAMBA_VIEW_DATA_H

#include "capture.h"
#include "diff.h"
#include "map.h"
#include "measure.h"
#include "memory.h"
#include "model.h"

typedef struct page_data {
    const char *title, *command;
    const model *model;
    const capture *capture;
    const times *times;
    const machine *machine;
    const memory_map *memory;
    const comparison *comparison; // NULL: one model is shown
    const capture *other;         // what the second one made, or NULL
    const double *losses;         // of each step; NULL: the program has none
    int32_t n_steps;
    char **tokens; // labels of a sequence
    int32_t n_tokens;
    int32_t open_node, open_tensor; // what the page opens at; -1: the graph, no tensor
    const char *open_message;
} page_data;

void write_data(FILE *to, const page_data *d);                // JSON
void write_summary(FILE *to, const page_data *d);             // HTML: figures and sections
void write_blocks(FILE *to, const capture *c, int32_t first); // script elements with base64
// Its block of values is first_block + its number in c.
void write_snapshot(FILE *to, const snapshot *s, const capture *c, int32_t first_block);

void write_json_number(FILE *to, double x); // null unless it is finite

#endif
