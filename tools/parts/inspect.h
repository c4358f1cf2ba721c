/* ==== [inspect] =============================================================================== */
SAMBA_API size_t samba_device_bytes(samba_session *s)
{
    return s && s->program.rt ? samba__layout_of(&s->program.rt->pef, false, false).size : 0;
}

SAMBA_API size_t samba_held_bytes(const samba_session *s)
{
    return s ? s->arenas.held : 0;
}

/* argin: of those of which the file says this; NOTHING: all. Gradients of losses are no
   hyperparameters. */
SAMBA__FN int32_t samba__names_of_role(samba_session *s, int32_t role, uint32_t argin,
                                       const char **names, int32_t cap)
{
    int32_t n = 0;
    if (s && s->program.rt) {
        for (uint32_t i = 0; i < s->program.rt->pef.n_symbols; i++) {
            samba__symbol q = samba__symbol_at(&s->program.rt->pef, i);
            if (q.role != role || (argin && q.argin != argin)) continue;
            if (q.argin == SAMBA__FILED_GRAD) continue;
            if (n < cap && names) names[n] = s->program.rt->pef.strings + q.name;
            n++;
        }
    }
    return n;
}

#define SAMBA__NAMES(of, role, argin) \
    SAMBA_API int32_t samba_##of##_names(samba_session *s, const char **names, int32_t cap) \
    { \
        return samba__names_of_role(s, role, argin, names, cap); \
    }
SAMBA__NAMES(argin, SAMBA__ARGIN, SAMBA__FILED_NOTHING)
SAMBA__NAMES(dropout_rate, SAMBA__ARGIN, SAMBA__FILED_RATE)
SAMBA__NAMES(dropout_seed, SAMBA__ARGIN, SAMBA__FILED_SEED)
SAMBA__NAMES(weight, SAMBA__WEIGHT, SAMBA__FILED_NOTHING)
SAMBA__NAMES(grad, SAMBA__GRADIENT, SAMBA__FILED_NOTHING)
SAMBA__NAMES(buffer, SAMBA__STATE, SAMBA__FILED_NOTHING)

SAMBA_API int32_t samba_count_names(samba_session *s, const char **names, int32_t cap)
{
    int32_t n = 0;

    if (s && s->program.rt) {
        for (uint32_t i = 0; i < s->program.rt->pef.n_sections; i++) {
            samba__section q = samba__section_at(&s->program.rt->pef, i);
            if (q.type == SAMBA_COUNT) {
                for (uint32_t node = q.first; node < q.end; node++) {
                    samba__call_record r = samba__record_at(&s->program.rt->pef, node);
                    samba__symbol out
                        = samba__symbol_at(&s->program.rt->pef, samba__word(&r, r.n_in) - 1);
                    if (out.role != SAMBA__OUTPUT) continue;
                    if (n < cap && names) names[n] = s->program.rt->pef.strings + out.name;
                    n++;
                }
            }
        }
    }

    return n;
}

/* Marks what is no port of the program: gradients, which have calls of their own, what clips, and
   what COUNT makes. */
SAMBA__FN void samba__mark_own(const samba_runtime *rt, bool *own)
{
    const samba__pef *pef = &rt->pef;

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        uint32_t grad = samba__symbol_at(pef, i).grad;
        if (grad) own[grad - 1] = true;
    }

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        for (uint32_t node = q.first; node < q.end; node++) {
            bool counts = q.type == SAMBA_COUNT;
            if (!counts && !samba__is(rt->steps[node].op, SAMBA__OP_clip_factor)) continue;
            samba__call_record r = samba__record_at(pef, node);
            own[samba__word(&r, r.n_in) - 1] = true;
        }
    }
}

/* Names of the session's tensors, in PEF order. Inputs that are gradients of losses have a call of
   their own. */
SAMBA__FN int32_t samba__port_names(samba_session *s, int32_t role, const char **names, int32_t cap)
{
    int32_t n = 0;
    if (!s || !s->program.rt) return 0;

    const samba__pef *pef = &s->program.rt->pef;
    bool *own = (bool *)samba__alloc(s, pef->n_symbols * sizeof *own);
    if (!own) return 0;
    memset(own, 0, pef->n_symbols * sizeof *own);
    samba__mark_own(s->program.rt, own);

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (q.role != role || own[i]) continue;
        const samba_tensor *t = samba__tensor_at(s, i);
        if (names && n < cap) names[n] = t ? t->name : pef->strings + q.name;
        n++;
    }

    samba__free(s, own, pef->n_symbols * sizeof *own);
    return n;
}

SAMBA_API int32_t samba_input_names(samba_session *s, const char **names, int32_t cap)
{
    return samba__port_names(s, SAMBA__INPUT, names, cap);
}

SAMBA_API int32_t samba_output_names(samba_session *s, const char **names, int32_t cap)
{
    return samba__port_names(s, SAMBA__OUTPUT, names, cap);
}

SAMBA_API bool samba_describe_section(samba_session *s, int32_t id, samba_section *section)
{
    const samba_runtime *rt = s ? s->program.rt : NULL;
    if (!rt || !section || id < 0 || (uint32_t)id >= rt->pef.n_sections) return false;

    memset(section, 0, sizeof *section);
    samba__section q = samba__section_at(&rt->pef, (uint32_t)id);
    section->type = samba__type_name(q.type);
    section->types = q.type;
    section->graph = q.graph ? rt->pef.strings + q.graph - 1 : NULL;
    section->op = q.end == q.first + 1 ? rt->steps[q.first].op->name : NULL;

    for (uint32_t i = q.first; i < q.end; i++) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        if (rt->steps[i].view) continue;
        section->flops += rt->steps[i].work.flops;
        for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
            uint32_t word = samba__word(&r, k);
            samba_spec spec = samba__symbol_at(&rt->pef, word ? word - 1 : 0).spec;
            section->bytes += word ? (int64_t)samba__spec_bytes(&spec) : 0;
        }
    }

    return true;
}

SAMBA__FN bool samba__has_section(const samba_session *s, int32_t id)
{
    return s && s->program.rt && id >= 0 && (uint32_t)id < s->program.rt->pef.n_sections;
}

SAMBA_API unsigned samba_section_uses(samba_session *s, int32_t id, const samba_tensor *t)
{
    unsigned use = 0;
    if (!samba__has_section(s, id) || !t || t->session != s || t->symbol < 0) return 0;

    const uint8_t *begin = (const uint8_t *)s->program.rt->data[t->symbol];
    const uint8_t *end = begin + samba__device_size(t);
    samba__section q = samba__section_at(&s->program.rt->pef, (uint32_t)id);

    for (uint32_t i = q.first; i < q.end; i++) {
        samba__call_record r = samba__record_at(&s->program.rt->pef, i);
        if (!s->program.rt->steps[i].view) {
            for (int32_t k = 0; k <= r.n_in + r.n_out; k++) {
                samba__operand o = samba__operand_at(s->program.rt, i, k, 0);
                if (o.begin < end && begin < o.end) use |= o.written ? SAMBA_WRITES : SAMBA_READS;
            }
        }
    }

    return use;
}

/* Neither of two sections writes where the other reads or writes. */
SAMBA__FN bool samba__independent(const samba_runtime *rt, int32_t a, int32_t b)
{
    samba__section x = samba__section_at(&rt->pef, (uint32_t)a);
    samba__section y = samba__section_at(&rt->pef, (uint32_t)b);
    for (uint32_t i = x.first; i < x.end; i++)
        for (uint32_t k = y.first; k < y.end; k++)
            if (!rt->steps[i].view && !rt->steps[k].view && !samba__share_safely(rt, i, k, 0))
                return false;
    return true;
}

SAMBA_API bool samba_sections_commute(samba_session *s, int32_t a, int32_t b)
{
    return samba__has_section(s, a) && samba__has_section(s, b)
        && samba__independent(s->program.rt, a, b);
}

#if !defined(SAMBA_NO_STDIO)
#include <time.h>
#if defined(_WIN32) || (defined(SAMBA_NO_THREADS) && !defined(CLOCK_MONOTONIC))
SAMBA_API double samba_seconds(void) /* strict -std=c99 hides the better clock */
{
    return (double)clock() / CLOCKS_PER_SEC;
}
#else
#if !defined(CLOCK_MONOTONIC) /* hidden, too, but its types are known from pthread.h */
#define CLOCK_MONOTONIC 1
extern int clock_gettime(int clock, struct timespec *t);
#endif
SAMBA_API double samba_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
#endif
#if SAMBA__QUICK
#pragma GCC pop_options
#endif
#endif /* !SAMBA_RUNTIME_ONLY: host half */
#if defined(SAMBA_NO_TEXTS)
#undef samba_refuse /* ops of your own may have texts */
#endif
#endif /* SAMBA__TEMPLATE == 0 */
#if SAMBA__TEMPLATE <= 0
#undef SAMBA__TEMPLATE
#endif
