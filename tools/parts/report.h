/* ==== [report] ================================================================================ */
/* Texts in buffers of fixed size, for messages that also a device without stdio or malloc can
   write: a small printf with letters for shapes (%S), types (%T) and names. */

SAMBA_API const char *samba_dtype_name(samba_dtype dtype)
{
    static const char *const names[SAMBA_N_DTYPES]
        = { "f32", "bf16", "f16", "i32", "i16", "i8", "u8", "bool", "i64", "u16", "u32" };
    return (unsigned)dtype < SAMBA_N_DTYPES ? names[dtype] : "?";
}

/* A text, written piece by piece into a buffer of fixed size, and terminated; len counts what did
   not fit, too. A piece longer than `most` letters is shortened in the middle (0: never). raw: a
   name or a path, of which each byte is kept; other texts are shown to people. */
typedef struct samba__text {
    char *at;
    size_t cap, len, most;
    bool raw;
} samba__text;

SAMBA__FN void samba__put_char(samba__text *t, char c)
{
    if (++t->len >= t->cap) return;
    t->at[t->len - 1] = c;
    t->at[t->len] = 0;
    SAMBA_ASSERT(t->len < t->cap); /* room for the end of the text */
}

/* Is the byte at p, of a text that begins at `begin`, one of a control character? A terminal obeys
   them: it moves the cursor, clears the screen, or runs what it is told. Those of the second set
   are C2 80 ... C2 9F in UTF-8. */
SAMBA__FN bool samba__is_control(const char *p, const char *begin)
{
    uint8_t byte = (uint8_t)*p;
    if (byte < 32 || byte == 127) return true;
    if (byte == 0xC2) return (uint8_t)p[1] >= 0x80 && (uint8_t)p[1] < 0xA0;
    return byte >= 0x80 && byte < 0xA0 && p > begin && (uint8_t)p[-1] == 0xC2;
}

/* The letters from `text` to `end`, of a text that begins at `begin`. Names come out of files that
   anybody may have made: in what people are shown a byte of a control character is \xNN. */
SAMBA__FN void samba__put_letters(samba__text *t, const char *begin, const char *text,
                                  const char *end)
{
    for (; text < end; text++) {
        if (t->raw || !samba__is_control(text, begin)) {
            samba__put_char(t, *text);
            continue;
        }
        samba__put_char(t, '\\');
        samba__put_char(t, 'x');
        samba__put_char(t, "0123456789ABCDEF"[(uint8_t)*text >> 4]);
        samba__put_char(t, "0123456789ABCDEF"[(uint8_t)*text & 15]);
    }
}

SAMBA__FN void samba__put_text(samba__text *t, const char *text)
{
    if (!text) text = "NULL";
    size_t n = 0;
    while (text[n])
        n++; /* a device may lack strlen */

    if (!t->most || n <= t->most) {
        samba__put_letters(t, text, text, text + n);
        return;
    }

    size_t half = t->most / 2;
    samba__put_letters(t, text, text, text + half);
    for (int32_t i = 0; i < 3; i++)
        samba__put_char(t, '.');
    samba__put_letters(t, text, text + n - half, text + n);
}

SAMBA__FN void samba__put_int(samba__text *t, int64_t value)
{
    char digits[24];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);

    if (value < 0) samba__put_char(t, '-');
    while (n > 0)
        samba__put_char(t, digits[--n]);
}

/* Seven significant digits; with an exponent below 1e-4 and from 1e10 on: 0.25, 1e-05, NaN. */
SAMBA__FN void samba__put_number(samba__text *t, double value)
{
    char digits[8];
    int power = 6, n = 7;

    if (value != value) {
        samba__put_text(t, "NaN");
        return;
    }
    if (value < 0.0) samba__put_char(t, '-');
    if (value < 0.0) value = -value;
    if (value > 1.7976931348623157e308) {
        samba__put_text(t, "inf");
        return;
    }
    if (value == 0.0) {
        samba__put_char(t, '0');
        return;
    }

    /* To 7 digits before the point, by a loop: a product next to the sum could be fused with it. */
    for (; value >= 1e7; value /= 10.0)
        power++;
    for (; value < 1e6; value *= 10.0)
        power--;

    int64_t whole = (int64_t)(value + 0.5);
    if (whole >= 10000000) { /* 9.9999999 is 10 */
        whole /= 10;
        power++;
    }

    for (int i = 6; i >= 0; i--) {
        digits[i] = (char)('0' + whole % 10);
        whole /= 10;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;

    bool plain = power >= -4 && power < 10;
    int point = plain ? power : 0; /* the digit that the decimal point follows */
    if (point < 0) samba__put_text(t, "0.");
    for (int i = point; i < -1; i++)
        samba__put_char(t, '0');
    for (int i = 0; i < n || i <= point; i++) {
        samba__put_char(t, i < n ? digits[i] : '0');
        if (i == point && i < n - 1) samba__put_char(t, '.');
    }

    if (plain) return;
    samba__put_text(t, power < 0 ? "e-" : "e+");
    if (power > -10 && power < 10) samba__put_char(t, '0');
    samba__put_int(t, power < 0 ? -power : power);
}

SAMBA__FN void samba__put_shape(samba__text *t, const samba_shape *shape)
{
    samba__put_char(t, '(');
    for (int32_t i = 0; i < shape->ndim && i < SAMBA_MAX_DIMS; i++) {
        if (i) samba__put_char(t, ',');
        samba__put_int(t, shape->dim[i]);
    }
    samba__put_char(t, ')');
}

/* Verbs: %s text, %d int32_t, %l int64_t, %g double, %S const samba_shape *, %T int (a dtype). */
SAMBA__FN void samba__vformat(samba__text *t, const char *fmt, va_list args)
{
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            samba__put_char(t, *fmt);
            continue;
        }

        switch (*++fmt) {
        case 's':
            samba__put_text(t, va_arg(args, const char *));
            break;
        case 'd':
            samba__put_int(t, va_arg(args, int32_t));
            break;
        case 'l':
            samba__put_int(t, va_arg(args, int64_t));
            break;

        case 'g': {
            samba__float_mode callers = samba__enter_float_mode();
            samba__put_number(t, va_arg(args, double));
            samba__leave_float_mode(callers);
            break;
        }

        case 'S':
            samba__put_shape(t, va_arg(args, const samba_shape *));
            break;
        case 'T':
            samba__put_text(t, samba_dtype_name((samba_dtype)va_arg(args, int)));
            break;

        case 0:
            return;
        default:
            samba__put_char(t, *fmt);
            break;
        }
    }
}

SAMBA__FN void samba__format(samba__text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vformat(t, fmt, args);
    va_end(args);
}

SAMBA__FN samba__text samba__text_in(char *buffer, size_t size)
{
    samba__text t = { buffer, buffer ? size : 0, 0, 0, false };
    if (t.cap) buffer[0] = 0;
    return t;
}

/* The formatted text in buffer, which it returns: a name, a path, or a part of a sentence. */
SAMBA__FN const char *samba__print(char *buffer, size_t size, const char *fmt, ...)
{
    samba__text t = samba__text_in(buffer, size);
    t.raw = true;
    va_list args;
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    return buffer;
}

/* For "did you mean": the length of the longer name without the common prefix and suffix. */
SAMBA__FN size_t samba__distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), begin = 0, end = 0;
    while (a[begin] && a[begin] == b[begin])
        begin++;
    while (begin + end < n && begin + end < m && a[n - 1 - end] == b[m - 1 - end])
        end++;
    return (n > m ? n : m) - begin - end;
}

SAMBA_API bool samba_refuse(samba_call *call, samba_code code, const char *fmt, ...)
{
    va_list args;
    if (!call) return false;
    samba__text t = samba__text_in(call->why, call->why_size);
    va_start(args, fmt);
    samba__vformat(&t, fmt ? fmt : "no reason is given", args);
    va_end(args);
    call->code = code;
    return false;
}

/* Returns `holds`; if it is false, writes the reason for which a PEF is refused. */
SAMBA__FN bool samba__prove(samba__text *why, bool holds, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!holds) samba__vformat(why, fmt, args);
    va_end(args);
    return holds;
}

/* Without texts: the line of this file where the sentence is, which the program does not have. */
SAMBA__NOINLINE bool samba__prove_at(samba__text *why, bool holds, int32_t line)
{
    if (holds) return true;
    samba__put_text(why, "samba.h:");
    samba__put_int(why, line);
    return false;
}

SAMBA__NOINLINE bool samba__refuse_at(samba_call *call, samba_code code, int32_t line)
{
    samba__text t = samba__text_in(call->why, call->why_size);
    call->code = code;
    return samba__prove_at(&t, false, line);
}

#if defined(SAMBA_NO_TEXTS)
#define SAMBA__DIGITS(line) #line
#define SAMBA__LINE_TEXT(line) "samba.h:" SAMBA__DIGITS(line)
#define SAMBA__TEXT(text) SAMBA__LINE_TEXT(__LINE__)
/* Arguments of sentences are named, not computed. */
#define SAMBA__UNSAID(...) (void)sizeof(samba__print(NULL, 0, __VA_ARGS__))
#define samba__prove(why, holds, ...) \
    (SAMBA__UNSAID(__VA_ARGS__), samba__prove_at(why, holds, __LINE__))
#define samba_refuse(call, code, ...) \
    (SAMBA__UNSAID(__VA_ARGS__), samba__refuse_at(call, code, __LINE__))
#else
#define SAMBA__TEXT(text) text
#endif

