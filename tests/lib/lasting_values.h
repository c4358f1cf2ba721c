// What a runtime keeps from run to run, as a number. Include after the implementation of samba.h.
#ifndef LASTING_VALUES_H
#define LASTING_VALUES_H

// Of all symbols that outlive the schedule.
static inline uint64_t lasting_values(const samba_runtime *rt)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol s = samba__symbol_at(&rt->pef, i);
        if (s.role >= SAMBA__TEMP) continue;
        sum = samba__hash(rt->data[i], (size_t)samba__symbol_bytes(&rt->pef, &s), sum);
    }
    return sum;
}

#endif
