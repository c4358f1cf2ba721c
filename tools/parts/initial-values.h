/* ==== [initial-values] ======================================================================== */
/* The values that tensors begin with, and where their current ones are. */
/* The x below which the normal distribution has the mass u = (k + 1/2) / 2^32. On the side with
   less than half of it, p: x = t - N(t) / D(t) with t = sqrt(-2 log p), fitted to 3.3 10^-5 (the
   form is Hastings', 1955), and one step of Newton's to Q(x) = p. Absolute error 2.7 10^-7. */
SAMBA__INLINE float samba__normal_quantile(uint32_t k)
{
    uint32_t upper = k >> 31, m = upper ? ~k : k;
    float p = samba__fma((float)(int32_t)m, 2.3283064365386963e-10f, 1.1641532182693481e-10f);
    float t = samba__sqrt(-2.0f * samba__log(p));
    float n = samba__poly(t, 2.70013623f, 1.63829539f, 0.02066536f, 0.0f);
    float x = t - n / samba__poly(t, 1.0f, 1.99313959f, 0.439501f, 0.0f);
    x = samba__fma(2.506628275f, samba__normal_tail(x) - p / samba__gauss(1.0f, x), x);
    return upper ? x : -x;
}

/* The values y (n) of a tensor; threads share them by blocks of four. */
typedef struct samba__filling {
    uint8_t *y;
    samba_dtype dtype;
    int64_t n;
    samba_init init;
    bool inverse, cut; /* transform sampling of normal values; bf16 is cut */
    uint64_t key;
} samba__filling;

/* Values of an initial distribution, four for each block of the generator, whose number and key
   decide alone. Many blocks beside each other suit vectors. */
enum { SAMBA__DRAWN = 256 };

/* x[i] in [-1,1). */
SAMBA__KERNEL void samba__draw_uniform(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i++)
        x[i] = samba__fma(samba__unit(w[i]), 2.0f, -1.0f);
}

/* Pairs of independent normal values: Box, Muller, "A note on the generation of random normal
   deviates", 1958. */
SAMBA__KERNEL void samba__draw_normal(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i += 2) {
        float r = samba__sqrt(-2.0f * samba__log(samba__open_unit(w[i])));
        float u = samba__unit(w[i + 1]);
        x[i] = r * samba__sin_2pi(u, 1); /* cos */
        x[i + 1] = r * samba__sin_2pi(u, 0);
    }
}

/* Normal values, one for each word, by the inverse of their distribution. */
SAMBA__KERNEL void samba__draw_inverse(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i++)
        x[i] = samba__normal_quantile(w[i]);
}

/* What is drawn has one of three types; all others begin as zeros. */
SAMBA__KERNEL void samba__store_drawn(uint8_t *y, const float *x, samba_dtype dtype, int64_t n)
{
    if (dtype == SAMBA_F32)
        samba__store(y, x, SAMBA_F32, n);
    else if (dtype == SAMBA_BF16)
        samba__store(y, x, SAMBA_BF16, n);
    else
        samba__store(y, x, SAMBA_F16, n);
}

SAMBA__KERNEL void samba__fill_kernel(const samba__filling *f, int64_t begin, int64_t end)
{
    uint32_t w[SAMBA__DRAWN];
    float x[SAMBA__DRAWN];

    for (int64_t block = begin, n; block < end; block += n) {
        n = samba__min64(SAMBA__DRAWN / 4, end - block);
        for (int b = 0; b < SAMBA__DRAWN / 4; b++) /* the last ones may be too many */
            samba__philox_words(f->key, (uint64_t)(block + b), 0, w + 4 * b);

        if (f->init.kind != SAMBA_INIT_NORMAL)
            samba__draw_uniform(w, x);
        else if (f->inverse)
            samba__draw_inverse(w, x);
        else
            samba__draw_normal(w, x);

        for (int i = 0; i < SAMBA__DRAWN; i++)
            x[i] = samba__fma(f->init.scale, x[i], f->init.value);
        if (f->cut) {
            for (int i = 0; i < SAMBA__DRAWN; i++)
                x[i] = samba__from_bf16(samba__cut_bf16(x[i]));
        }

        uint8_t *y = f->y + 4 * block * (int64_t)samba_dtype_size(f->dtype);
        samba__store_drawn(y, x, f->dtype, samba__min64(4 * n, f->n - 4 * block));
    }
}

SAMBA__VECTORIZED SAMBA__FN void samba__fill_portable(const samba__filling *f, int64_t begin,
                                                      int64_t end)
{
    samba__fill_kernel(f, begin, end);
}

#if SAMBA__X86
SAMBA__AVX2_FN SAMBA__FN void samba__fill_avx2(const samba__filling *f, int64_t begin, int64_t end)
{
    samba__fill_kernel(f, begin, end);
}
#endif

SAMBA__FN void samba__fill_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    const samba__filling *f = (const samba__filling *)context;
    (void)thread;
    samba__set_of(samba__best_isa(false))->fill(f, begin, end);
}

SAMBA__FN samba_init samba__init_of(samba_init_kind kind, float value, float scale)
{
    samba_init init;
    init.kind = kind;
    init.value = value;
    init.scale = scale;
    return init;
}

SAMBA__FN samba_init samba__all(float value)
{
    return samba__init_of(SAMBA_INIT_CONSTANT, value, 0.0f);
}

SAMBA__FN bool samba__begins_zero(const samba_tensor *t)
{
    return !samba__is_float(t->dtype)
        || (t->init.kind == SAMBA_INIT_CONSTANT && t->init.value == 0.0f);
}

/* The value t begins with. As many threads draw as there are pieces. */
SAMBA__FN void samba__begin_value(const samba_tensor *t, void *to)
{
    samba_session *s = t->session;
    bool param = t->role == SAMBA__WEIGHT;
    samba__filling f;

    if (samba__begins_zero(t)) {
        memset(to, 0, samba__host_bytes(t));
        return;
    }

    f.y = (uint8_t *)to;
    f.dtype = t->dtype;
    f.n = samba_count(&t->shape);
    f.init = t->init;
    f.cut = t->dtype == SAMBA_BF16 && s->modes.cuts_bf16;
    f.inverse
        = param && s->modes.lazy.inverse_transform_sampling && f.init.kind == SAMBA_INIT_NORMAL;
    f.key = samba__stream_key(param && s->modes.lazy.seed ? s->modes.lazy.seed : s->seed, t->name);

    int64_t blocks = samba__ceil_div(f.n, 4);
    int64_t pieces = param && s->modes.lazy.init_threads ? s->modes.lazy.init_threads : blocks;
    samba__float_mode callers = samba__enter_float_mode();
    samba__pool_run(&s->program.pool, samba__fill_job, &f, blocks,
                    samba__max64(samba__ceil_div(blocks, pieces), 1024));
    samba__leave_float_mode(callers);
}

/* The host copy of t is to hold so many microbatches: one of another size goes. */
SAMBA__FN void samba__set_parts(samba_tensor *t, int32_t parts)
{
    samba_session *s = t->session;
    if (parts < 2) parts = 0;
    if (t->value.parts == parts) return;
    if (!t->value.borrowed) samba__free(s, t->data, samba__copy_bytes(t));
    t->data = NULL;
    t->value.borrowed = t->value.settled = false;
    t->value.parts = parts;
}

/* Host memory for a value that is about to be written, once. */
SAMBA__FN bool samba__own_room(samba_tensor *t)
{
    if (!t->data) t->data = samba__alloc(t->session, samba__copy_bytes(t));
    return t->data != NULL;
}

/* Host memory with the value a tensor begins with, unless it has another already. */
SAMBA__FN bool samba__own_data(samba_tensor *t)
{
    if (t->data) return true;
    if (samba__own_room(t)) samba__begin_value(t, t->data);
    return t->data != NULL;
}

/* Parameters, state and gradients of losses get their first values when something needs them, most
   of them straight in the memory of a loaded program. */
SAMBA__FN bool samba__begins_late(const samba_tensor *t)
{
    bool grad = t->role == SAMBA__INPUT && t->init.value != 0.0f; /* of a loss */
    return (grad || t->role == SAMBA__WEIGHT || t->role == SAMBA__STATE) && !t->data;
}

/* Its memory, in the loaded program or on the host; NULL if it has none. */
SAMBA__FN void *samba__place_of(const samba_tensor *t)
{
    const samba_session *s = t->session;
    return s->program.rt && t->symbol >= 0 && !t->value.withheld ? s->program.rt->data[t->symbol]
                                                                 : t->data;
}

/* Where the current value of t is: in the loaded program, or on the host; NULL if it has none. */
SAMBA__FN void *samba__value_of(samba_tensor *t)
{
    const samba_session *s = t->session;
    if (t->writes.holder) t = t->writes.holder;
    bool on_device = s->program.rt && t->symbol >= 0 && !t->value.withheld;
    if (samba__begins_late(t) && !on_device) samba__own_data(t);
    return samba__place_of(t);
}

/* The value of t, which the program has, is another one from now on. */
SAMBA__FN void samba__note_edit(const samba_tensor *t)
{
    samba__history *h = &t->session->program.history;
    h->edited[t->symbol] = ++h->now;
}

/* May the memory of t be touched? Not if it lies in a mapped file that somebody cut. */
SAMBA__FN bool samba__in_reach(const samba_tensor *t)
{
    samba_session *s = t->session;
    const samba__file *file = &s->program.file;
    const uint8_t *at = (const uint8_t *)samba__place_of(t->writes.holder ? t->writes.holder : t);
    bool mapped = file->mapped && at >= file->bytes && at < file->bytes + file->size;
    return !mapped || file->kept(s);
}

/* Does t hold the rows of all microbatches? Its shape is that of one. */
SAMBA__FN bool samba__holds_parts(const samba_tensor *t)
{
    const samba_session *s = t->session;
    bool loaded = s->program.rt && t->symbol >= 0 && !t->value.withheld;
    if (!loaded) return t->value.parts > 1;
    return samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol).per_microbatch;
}

/* Bytes of the place of t: in the loaded program all microbatches that it holds there. */
SAMBA__FN size_t samba__place_size(const samba_tensor *t)
{
    const samba_session *s = t->session;
    if (!s->program.rt || t->symbol < 0) return samba__copy_bytes(t);
    samba__symbol q = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol);
    return (size_t)samba__symbol_bytes(&s->program.rt->pef, &q);
}

