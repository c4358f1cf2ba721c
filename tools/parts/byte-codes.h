/* ==== [byte-codes] ============================================================================ */
/* ---- Numbers as bytes, with scales and zeros that are tensors, as ONNX has them:
       quantize_bytes     y = limit(zero + nearest(x / scale)), of the type of zero
       dequantize_bytes   y = (x - zero) scale, of x in i8 or u8; without zero: x scale
       quantize_dynamic   y, scale and zero of x: u8, with the scale that spans the range of x and 0
   A scale and a zero have one number each. [quant] has ops with constants. A NaN ends the run, as
   no byte stands for it; so does an infinity in quantize_dynamic, where no scale would do. ---- */
SAMBA__FN bool samba__expect_code(samba_call *c, int32_t scale, int32_t zero, samba_dtype type)
{
    return samba__expect_each(c, scale, SAMBA_F32, 1) && samba__expect_each(c, zero, type, 1);
}

SAMBA__FN bool samba__quantize_bytes_shape(samba_call *c)
{
    if (!samba__expect(c, 3, 3, 0) || !samba__expect_f32(c, 0)) return false;
    samba_dtype type = c->in[2].dtype;
    if (!samba__is_byte(type))
        return samba_refuse(c, SAMBA_EDTYPE, "the zero is %T, but must be i8 or u8", (int)type);
    c->out[0].shape = c->in[0].shape;
    c->out[0].dtype = type;
    return samba__expect_code(c, 1, 2, type);
}

SAMBA__FN bool samba__dequantize_bytes_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 3, 0)) return false;
    samba_dtype type = c->in[0].dtype;
    if (!samba__is_byte(type))
        return samba_refuse(c, SAMBA_EDTYPE, "x is %T, but must be i8 or u8", (int)type);
    c->out[0].shape = c->in[0].shape;
    c->out[0].dtype = SAMBA_F32;
    return samba__expect_code(c, 1, 2, type);
}

#if SAMBA__X86 && !SAMBA__IS_SMALL
/* The codes of 32 numbers at a time; returns how many there are. */
SAMBA__AVX2_FN SAMBA__FN int64_t samba__quantize_32(const samba__byte_end *e, const float *x,
                                                    float scale, int64_t n, uint8_t *y, bool *nan)
{
    const __m256 by = _mm256_set1_ps(scale);
    __m256 wrong = _mm256_setzero_ps();
    int64_t k = 0;

    for (; k + 32 <= n; k += 32) {
        __m256i v[4];
        SAMBA__UNROLLED
        for (int i = 0; i < 4; i++) {
            __m256 q = _mm256_div_ps(_mm256_loadu_ps(x + k + 8 * i), by);
            wrong = _mm256_or_ps(wrong, _mm256_cmp_ps(q, q, _CMP_UNORD_Q));
            v[i] = samba__eight_nearest(e, q);
        }
        samba__store_bytes(y + k, v, e->type);
    }

    *nan = *nan || _mm256_movemask_ps(wrong) != 0;
    return k;
}

/* The numbers of 8 codes at a time; returns how many there are. */
SAMBA__AVX2_FN SAMBA__FN int64_t samba__dequantize_8(const uint8_t *x, samba_dtype type,
                                                     int32_t zero, float scale, int64_t n, float *y)
{
    const __m256i zeros = _mm256_set1_epi32(zero);
    const __m256 by = _mm256_set1_ps(scale);
    int64_t k = 0;

    for (; k + 8 <= n; k += 8) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(x + k));
        __m256i v = type == SAMBA_I8 ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
        v = _mm256_sub_epi32(v, zeros);
        _mm256_storeu_ps(y + k, _mm256_mul_ps(_mm256_cvtepi32_ps(v), by));
    }
    return k;
}

/* The least and the most of 32 numbers at a time and of range; returns how many there are. */
SAMBA__AVX2_FN SAMBA__FN int64_t samba__range_32(const float *x, int64_t n, float range[2],
                                                 bool *nan)
{
    __m256 least[4], most[4], wrong = _mm256_setzero_ps();
    float lane[8];
    int64_t k = 0;
    for (int i = 0; i < 4; i++) {
        least[i] = _mm256_set1_ps(range[0]);
        most[i] = _mm256_set1_ps(range[1]);
    }

    for (; k + 32 <= n; k += 32) {
        SAMBA__UNROLLED
        for (int i = 0; i < 4; i++) {
            __m256 v = _mm256_loadu_ps(x + k + 8 * i);
            wrong = _mm256_or_ps(wrong, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
            least[i] = _mm256_min_ps(v, least[i]); /* of a NaN: what there was */
            most[i] = _mm256_max_ps(v, most[i]);
        }
    }

    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(lane, least[i]);
        for (int j = 0; j < 8; j++)
            range[0] = lane[j] < range[0] ? lane[j] : range[0];
        _mm256_storeu_ps(lane, most[i]);
        for (int j = 0; j < 8; j++)
            range[1] = lane[j] > range[1] ? lane[j] : range[1];
    }
    *nan = *nan || _mm256_movemask_ps(wrong) != 0;
    return k;
}
#endif

/* n codes of x; true unless there is a NaN among x / scale. */
SAMBA__FN bool samba__quantize_run(const samba_args *a, const samba__byte_end *e, const float *x,
                                   float scale, int64_t n, uint8_t *y)
{
    bool nan = false;
    int64_t k = 0;
#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (samba__byte_way_of(a).vectors) k = samba__quantize_32(e, x, scale, n, y, &nan);
#endif
    (void)a;
    for (; k < n; k++) {
        float q = x[k] / scale;
        nan = nan || q != q;
        y[k] = (uint8_t)(e->zero + samba__nearest(q, e->least, e->most));
    }
    return !nan;
}

SAMBA__FN void samba__quantize_bytes_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__byte_end e = { a->out_spec[0].dtype, samba__zero_at(a, 2, 0), 0, 0 };
    samba__limit_codes(&e);
    uint8_t *y = (uint8_t *)(void *)a->out[0] + i;
    if (samba__quantize_run(a, &e, a->in[0] + i, a->in[1][0], last - i, y)) return;

    while (i < last && a->in[0][i] == a->in[0][i])
        i++;
    if (i < last)
        samba__fault_of_nan(a, 0, i);
    else
        samba__fault_of_nan(a, 1, 0); /* a scale of 0 or NaN, or infinity by infinity */
}

SAMBA__FN void samba__dequantize_bytes_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    int32_t zero = samba__zero_at(a, 2, 0);
    float scale = a->in[1][0];
#if SAMBA__X86 && !SAMBA__IS_SMALL
    const uint8_t *x = (const uint8_t *)(const void *)a->in[0];
    if (samba__byte_way_of(a).vectors)
        i += samba__dequantize_8(x + i, a->in_spec[0].dtype, zero, scale, last - i, a->out[0] + i);
#endif
    for (; i < last; i++)
        a->out[0][i] = (float)(samba__byte_at(a, 0, (ptrdiff_t)i) - zero) * scale;
}

/* ---- quantize_dynamic: phase 0 finds the range of each block, phase 1 that of all, phase 2 makes
   codes. ---- */
SAMBA__FN bool samba__quantize_dynamic_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, 0) || !samba__expect_f32(c, 0)) return false;
    c->n_out = 3;
    for (int32_t i = 0; i < 3; i++) {
        c->out[i].shape = i == 0 ? c->in[0].shape : samba_scalar_shape();
        c->out[i].dtype = i == 1 ? SAMBA_F32 : SAMBA_U8;
    }
    return true;
}

SAMBA__FN void samba__quantize_dynamic_work(samba_work *w, const samba_call *c)
{
    samba__blocks_work(w, c);
    w->n_phases = 3;
    w->units[1] = 1;
    w->units[2] = w->units[0];
    w->scratch = w->units[0] * 2 * 4;
}

SAMBA__FN void samba__range_of_block(const samba_args *a, int64_t u, float range[2])
{
    int64_t i = u * SAMBA__QUANT_BLOCK, k = 0;
    int64_t n = samba__min64(samba_count(&a->in_spec[0].shape) - i, SAMBA__QUANT_BLOCK);
    const float *x = a->in[0] + i;
    bool nan = false;
    range[0] = range[1] = 0.0f;
#if SAMBA__X86 && !SAMBA__IS_SMALL
    if (samba__byte_way_of(a).vectors) k = samba__range_32(x, n, range, &nan);
#endif

    for (; k < n; k++) {
        range[0] = x[k] < range[0] ? x[k] : range[0];
        range[1] = x[k] > range[1] ? x[k] : range[1];
        nan = nan || x[k] != x[k];
    }
    if (nan) range[1] = SAMBA__NAN;
}

/* The first element of x that is not finite; 0 if only their range is not. */
SAMBA__FN int64_t samba__first_nonfinite(const samba_args *a)
{
    int64_t n = samba_count(&a->in_spec[0].shape);
    for (int64_t i = 0; i < n; i++)
        if (!(a->in[0][i] - a->in[0][i] == 0.0f)) return i;
    return 0;
}

/* Scale and zero of all blocks: NaN stays NaN. */
SAMBA__FN void samba__scale_of_range(const samba_args *a)
{
    const float *range = (const float *)a->scratch;
    int64_t blocks = samba__ceil_div(samba_count(&a->in_spec[0].shape), SAMBA__QUANT_BLOCK);
    float least = 0.0f, most = 0.0f, least_scale = 1e-35f;

    for (int64_t u = 0; u < blocks; u++) {
        least = range[2 * u] < least ? range[2 * u] : least;
        most = most > range[2 * u + 1] ? most : range[2 * u + 1]; /* NaN is taken */
        if (most != most) break;
    }

    float span = most - least;
    if (!(span < SAMBA__INF)) samba__fault_of_nan(a, 0, samba__first_nonfinite(a));
    float scale = (span > least_scale ? span : least_scale) / 255.0f; /* of zeros alone it is 0 */
    a->out[1][0] = scale;
    *(uint8_t *)(void *)a->out[2] = (uint8_t)samba__nearest(-least / scale, 0, 255);
}

SAMBA__FN void samba__quantize_dynamic_kernel(const samba_args *a)
{
    if (a->phase == 0) {
        for (int64_t u = a->begin; u < a->end; u++)
            samba__range_of_block(a, u, (float *)a->scratch + 2 * u);
    } else if (a->phase == 1) {
        samba__scale_of_range(a);
    } else {
        int64_t last, i = samba__block_range(a, &last);
        samba__byte_end e = { SAMBA_U8, *(const uint8_t *)(const void *)a->out[2], 0, 0 };
        samba__limit_codes(&e);
        (void)samba__quantize_run(a, &e, a->in[0] + i, a->out[1][0], last - i,
                                  (uint8_t *)(void *)a->out[0] + i);
    }
}

