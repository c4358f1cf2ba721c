// samba.h, compiled once for all targets, and what targets want of it that is private: the tables
// of fields of a PEF, its checksums, and a look at each node of a runtime.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "samba_private.h"
#include "tests/lib/lasting_values.h"

// ---- Fields -------------------------------------------------------------------------------------

#define X(bits, field, since) { FUZZ_RECORD, #field, offsetof(LAYOUT, field), bits / 8, 1 },
#define A(bits, field, n, since) { FUZZ_RECORD, #field, offsetof(LAYOUT, field), bits / 8, n },
#define Z(bytes, since) { FUZZ_RECORD, "zero", offsetof(LAYOUT, zero##bytes), 1, bytes },

const fuzz_field fuzz_fields[] = {
#define FUZZ_RECORD FUZZ_HEADER
#define LAYOUT samba__header_layout
    SAMBA__HEADER_FIELDS(X, A, Z)
#undef FUZZ_RECORD
#undef LAYOUT
#define FUZZ_RECORD FUZZ_SYMBOLS
#define LAYOUT samba__symbol_layout
        SAMBA__SYMBOL_FIELDS(X, A, Z)
#undef FUZZ_RECORD
#undef LAYOUT
#define FUZZ_RECORD FUZZ_NODES
#define LAYOUT samba__node_layout
            SAMBA__NODE_FIELDS(X, A, Z)
#undef FUZZ_RECORD
#undef LAYOUT
#define FUZZ_RECORD FUZZ_SECTIONS
#define LAYOUT samba__section_layout
                SAMBA__SECTION_FIELDS(X, A, Z)
#undef FUZZ_RECORD
#undef LAYOUT
};

#undef X
#undef A
#undef Z

const int fuzz_n_fields = sizeof fuzz_fields / sizeof *fuzz_fields;

const size_t fuzz_record_size[FUZZ_N_RECORDS]
    = { sizeof(samba__header_layout), sizeof(samba__symbol_layout), sizeof(samba__node_layout),
        sizeof(samba__section_layout), 4 };

uint64_t fuzz_hash(const void *bytes, size_t size)
{
    return samba__hash(bytes, size, 0);
}

size_t fuzz_align(size_t size)
{
    return (size_t)samba__align_bytes(size);
}

uint32_t fuzz_wire(uint32_t which)
{
    return samba__op_table[which % SAMBA__N_OPS].wire;
}

uint32_t fuzz_wire_of(const char *name)
{
    return samba__find_op(0, name, NULL, 0)->wire;
}

// ---- Runtimes -----------------------------------------------------------------------------------

void fuzz_watch(samba_runtime *rt, samba_node_fn fn, void *user)
{
    rt->on_node = fn;
    rt->node_user = user;
}

fuzz_memory fuzz_memory_of(samba_runtime *rt)
{
    fuzz_memory m;
    samba__layout at = samba__layout_of(&rt->pef, true, samba__in_file(&rt->pef));
    m.regions = (uint8_t *)rt + at.regions;
    m.data = rt->pef.data;
    m.data_size = (size_t)rt->pef.data_size;
    return m;
}

size_t fuzz_scratch(const samba_runtime *rt, int32_t node)
{
    return (size_t)rt->steps[node].work.scratch;
}

uint64_t fuzz_values(const samba_runtime *rt)
{
    return lasting_values(rt);
}

// ---- The glass box ------------------------------------------------------------------------------

// It looks into a session, too; the file would implement samba.h if this one had not.
#include "tools/cli/view/fused.c"
