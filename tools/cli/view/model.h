// A PEF or checkpoint that is looked at: its records in plain arrays, and a session that runs it.
#ifndef SAMBA_VIEW_MODEL_H
#define SAMBA_VIEW_MODEL_H

#include "samba.h"
#include "tools/cli/util/files.h"
#include "tools/cli/util/role.h"

typedef samba_pef_symbol symbol;
typedef samba_pef_node node;
typedef samba_pef_section section;

enum { REGION_STATE, REGION_ARENA, REGION_IO, REGION_READONLY, N_REGIONS };

typedef struct model {
    const char *path;
    samba_pef pef;
    char *bytes; // of the file
    size_t size;
    symbol *symbols;
    node *nodes;
    section *sections;
    int32_t *section_of;    // of each node
    char **layer;           // of each node: its path, parts divided by '\n'; "" at the top
    samba_session *session; // NULL: it has ops of its own, and is shown without values
    struct map *map;        // what the compiler told of it; NULL: that is not known
    char *notes;            // sentences that belong on the page, each with a '\n'
    bool lacks_note;        // there was no memory for one
    bool is_drawn;          // inputs or parameters are random, so its losses mean nothing
} model;

typedef struct model_options {
    int32_t threads;    // 0: all processors
    uint64_t seed;      // of what is drawn
    const char *replay; // NULL, or a replay file: the model is what it holds, written to path
    struct samba_replay_found *found; // (NULL: for a while), and what it says, to be freed last
    bool structure_will_do;           // a program with ops of its own is opened without a session
} model_options;

bool open_model(model *m, const char *path, const model_options *o, fault *why);
void close_model(model *m);
bool add_note(model *m, const char *format, ...) LIKE_PRINTF(2, 3);
// The graph of a section ("": it has no name); does one begin with this section?
const char *graph_of(const model *m, int32_t section);
bool begins_graph(const model *m, int32_t section);
// Runs the whole schedule, of each graph. False, with the session's sentence.
bool run_model(model *m, fault *why);

const char *kind_of(const model *m, int32_t node);    // forward, backward, optimizer, other
const char *section_name(unsigned types);             // "FWD", "BCKWD + OPT"
bool is_view(const model *m, int32_t node);           // it makes nothing: its output is its input
int32_t find_input(const model *m, const char *name); // -1: none

#endif
