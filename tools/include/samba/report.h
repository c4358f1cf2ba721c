/* report.h - a training that shows itself: a progress bar, a CSV file, TensorBoard's events, and at
   the end one HTML page.

   Needs samba.h before it, and POSIX (for gcc -std=c99, _GNU_SOURCE too). `#define
   SAMBA_REPORT_IMPLEMENTATION` in one file enables the code; SAMBA_REPORT_STATIC makes all
   functions private to the file. C99 or C++11.

       samba_report_opts opts = { .title = "LeNet", .folder = "out/lenet", .steps = 9370,
                                  .batch = 64, .argc = argc, .argv = argv };
       samba_report *r = samba_report_open(s, &opts);
       for each step:
           samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
           samba_report_step(r, step, samba_read(loss)[0]);
       samba_report_value(r, "test accuracy", right / n);       // any other curve, at this step
       samba_report_prediction(r, label, guess);                // of each test sample
       samba_report_close(r);                                   // before samba_close

   On a terminal a bar tells loss, rate, time left and memory; elsewhere a line every ten seconds
   does. Both go to stderr. The folder gets
     log.csv                    step,seconds,name,value: every value of every curve
     events.out.tfevents.*      the same for TensorBoard: tensorboard --logdir FOLDER
     report.html                curves, learning rate, norms of gradients, samples with predictions,
                                confusion matrix, machine and command; opens without a network
   If an error has ended the training, the page says which. Two trainings need two folders.
   A report only reads: what is trained is the same bits with it and without. NULL is a report that
   does nothing, so that a program may make it an option. */
#ifndef SAMBA_REPORT_H
#define SAMBA_REPORT_H

#ifndef SAMBA_H
#error "report.h: include samba.h before"
#endif

#ifndef SAMBA_REPORT_API
#if defined(SAMBA_REPORT_STATIC)
#define SAMBA_REPORT_API static inline
#elif defined(__cplusplus)
#define SAMBA_REPORT_API extern "C"
#else
#define SAMBA_REPORT_API extern
#endif
#endif

/* All zero is a bar of a training without end, and no files. Texts must stay until close. */
typedef struct samba_report_opts {
    const char *title;          /* default "training" */
    const char *folder;         /* for the files; it is made. NULL: none */
    int64_t steps;              /* of the whole training; 0: nobody knows */
    int64_t first;              /* step to begin at, of a training that is resumed: what the
                                   folder's log.csv says of later ones goes, the rest stays
                                   and is drawn, and time left counts from here */
    int32_t batch;              /* samples of a step, for the rate; 0: steps are counted */
    int32_t gradients;          /* n > 0: norms of all gradients at each n-th step, which
                                   reads them all */
    int32_t n_classes;          /* of a confusion matrix; 0: none */
    const char *const *classes; /* their names; NULL: numbers */
    int argc;                   /* the command line, for the page */
    char *const *argv;
} samba_report_opts;

typedef struct samba_report samba_report;

/* The program must be compiled or loaded. NULL with an error in s, if a file cannot be written. */
SAMBA_REPORT_API samba_report *samba_report_open(samba_session *s, const samba_report_opts *opts);
/* After a step; step counts from 1. Notes the loss, the learning rate ("lr", if the program has
   one) and norms of gradients. */
SAMBA_REPORT_API void samba_report_step(samba_report *r, int64_t step, double loss);
/* A value of a curve of this name, at the last step: accuracy on tests, say. Up to 60 names. */
SAMBA_REPORT_API void samba_report_value(samba_report *r, const char *name, double value);
/* A test sample of class label was taken for another, or the same one: the confusion matrix. From
   samba_report_forget on anew, so that it is that of the last test. */
SAMBA_REPORT_API void samba_report_prediction(samba_report *r, int32_t label, int32_t guess);
SAMBA_REPORT_API void samba_report_forget(samba_report *r);

/* An image with its class, what it was taken for, and how surely (0 ... 1): channels 1 or 3, pixels
   (channels, height, width), of which low is black and high is white. The first 48 are shown. */
typedef struct samba_report_image {
    const float *pixels;
    int32_t channels, height, width;
    float low, high;
} samba_report_image;

SAMBA_REPORT_API void samba_report_sample(samba_report *r, const samba_report_image *image,
                                          int32_t label, int32_t guess, double sure);
/* Ends the bar's line, writes the page, frees the report. False with an error in the session if a
   file could not be written whole, or there was no memory for a value. */
SAMBA_REPORT_API bool samba_report_close(samba_report *r);

#endif /* SAMBA_REPORT_H */

#if defined(SAMBA_REPORT_IMPLEMENTATION) && !defined(SAMBA_REPORT__IMPLEMENTED)
#define SAMBA_REPORT__IMPLEMENTED

#include "base.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if !defined(__cplusplus)
extern struct tm *localtime_r(const time_t *when, struct tm *local); /* strict C99 hides them */
extern int fileno(FILE *file);
extern int ftruncate(int handle, off_t size);
#endif

enum {
    SAMBA_REPORT__CURVES = 64,   /* the program's, "loss", "lr", "gradient norm" and one */
    SAMBA_REPORT__POINTS = 1024, /* kept of a curve; then pairs become their mean */
    SAMBA_REPORT__SAMPLES = 48,
    SAMBA_REPORT__CLASSES = 64 /* more would be no matrix to look at */
};

/* A point is the mean of `each` values. */
typedef struct samba_report__curve {
    char name[200];
    int32_t n;
    int64_t each, pending;      /* pending: values of the point that is not complete */
    int64_t n_lost, first_lost; /* values that are no finite number */
    double step_sum, sum, last;
    double step[SAMBA_REPORT__POINTS], value[SAMBA_REPORT__POINTS];
} samba_report__curve;

typedef struct samba_report__shown {
    int32_t label, guess, height, width;
    double sure;
    uint8_t *rgb;
} samba_report__shown;

struct samba_report {
    samba_session *session;
    samba_report_opts opts;
    samba_report__curve *curve[SAMBA_REPORT__CURVES];
    int32_t n_curves, n_samples, n_trained;
    const char **trained; /* names of parameters whose gradients are asked for */
    bool has_rate;
    bool lacks_memory; /* for a value or a picture, which is not in the files */
    int64_t step;
    double begin, told, flushed; /* samba_seconds: when the bar or a line was last written */
    double smooth;               /* the loss that the bar tells */
    double earlier;              /* seconds of a training that is resumed */
    int32_t shown;               /* characters of the bar that stands on the terminal */
    time_t date;
    int64_t n_earlier; /* rows of the log that were there before */
    FILE *csv, *events;
    int64_t *matrix; /* (n_classes, n_classes): label, guess */
    samba_report__shown sample[SAMBA_REPORT__SAMPLES];
};

static inline bool samba_report__fail(samba_report *r, const char *file)
{
    return samba_fail(r->session, SAMBA_EIO, "report.h: cannot write %s in %s: %s", file,
                      r->opts.folder, strerror(errno));
}

/* ---- TensorBoard: records of protobuf messages ---- */

/* CRC-32C, bit by bit: records are some dozen bytes. */
static inline uint32_t samba_report__crc(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0x82f63b78u : 0u);
    }
    return ~crc;
}

typedef struct samba_report__bytes {
    uint8_t data[512];
    size_t n;
} samba_report__bytes;

static inline void samba_report__put(samba_report__bytes *b, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        b->data[b->n++] = (uint8_t)(value >> 8 * i);
}

static inline void samba_report__put_varint(samba_report__bytes *b, uint64_t value)
{
    for (; value > 127; value >>= 7)
        b->data[b->n++] = (uint8_t)(value | 128u);
    b->data[b->n++] = (uint8_t)value;
}

/* A field of bytes: wire type 2. */
static inline void samba_report__put_bytes(samba_report__bytes *b, uint32_t field,
                                           const void *bytes, size_t n)
{
    samba_report__put_varint(b, field << 3 | 2u);
    samba_report__put_varint(b, n);
    memcpy(b->data + b->n, bytes, n);
    b->n += n;
}

/* A record: length, its masked CRC, the bytes, theirs; little-endian. */
static inline void samba_report__put_record(FILE *f, const samba_report__bytes *b)
{
    samba_report__bytes head = { { 0 }, 0 }, tail = { { 0 }, 0 };
    samba_report__put(&head, b->n, 8);
    uint32_t crc = samba_report__crc(head.data, 8);
    samba_report__put(&head, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
    crc = samba_report__crc(b->data, b->n);
    samba_report__put(&tail, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
    fwrite(head.data, 1, head.n, f);
    fwrite(b->data, 1, b->n, f);
    fwrite(tail.data, 1, tail.n, f);
}

/* tensorflow.Event: wall_time = 1 (double), step = 2, file_version = 3, summary = 5; a summary is
   value = 1 { tag = 1, simple_value = 2 (float) }. Without a name, the version, which is first. */
static inline void samba_report__put_event(samba_report *r, double seconds, const char *name,
                                           float value)
{
    samba_report__bytes event = { { 0 }, 0 }, summary = { { 0 }, 0 }, one = { { 0 }, 0 };
    uint64_t time_bits;
    uint32_t value_bits;
    double wall = (double)r->date + seconds;
    memcpy(&time_bits, &wall, 8);
    memcpy(&value_bits, &value, 4);
    samba_report__put_varint(&event, 1u << 3 | 1u);
    samba_report__put(&event, time_bits, 8);
    if (name) {
        samba_report__put_varint(&event, 2u << 3);
        samba_report__put_varint(&event, (uint64_t)r->step);
        samba_report__put_bytes(&one, 1, name, strlen(name));
        samba_report__put_varint(&one, 2u << 3 | 5u);
        samba_report__put(&one, value_bits, 4);
        samba_report__put_bytes(&summary, 1, one.data, one.n);
        samba_report__put_bytes(&event, 5, summary.data, summary.n);
    } else
        samba_report__put_bytes(&event, 3, "brain.Event:2", 13);
    samba_report__put_record(r->events, &event);
}

/* ---- Curves ---- */

/* How many bytes at `at` are one character of UTF-8; 0: none that is whole and printed. */
static inline size_t samba_report__char_size(const char *at)
{
    uint32_t code = 0;
    size_t n = samba_base_character(at, strlen(at), &code);
    return code < 0x20 || code == 0x7f ? 0 : n;
}

/* A name as files may have it: a line of UTF-8, cut at a whole character. Others become '?'. */
static inline void samba_report__clean(char *to, size_t size, const char *name)
{
    size_t at = 0;
    while (*name) {
        size_t n = samba_report__char_size(name);
        if (at + (n ? n : 1) >= size) break;
        if (n)
            memcpy(to + at, name, n);
        else
            to[at] = '?';
        at += n ? n : 1;
        name += n ? n : 1;
    }
    to[at] = 0;
}

static inline samba_report__curve *samba_report__curve_of(samba_report *r, const char *given)
{
    int32_t i = 0;
    char name[200];
    samba_report__clean(name, sizeof name, given);
    while (i < r->n_curves && strcmp(r->curve[i]->name, name))
        i++;
    if (i < r->n_curves || i == SAMBA_REPORT__CURVES) return i < r->n_curves ? r->curve[i] : NULL;
    samba_report__curve *c = (samba_report__curve *)calloc(1, sizeof *c);
    if (!c) r->lacks_memory = true;
    if (!c) return NULL;
    memcpy(c->name, name, sizeof name);
    c->each = 1;
    r->curve[r->n_curves++] = c;
    return c;
}

static inline void samba_report__thin_out(samba_report__curve *c)
{
    for (int32_t i = 0; i < c->n / 2; i++) {
        c->step[i] = (c->step[2 * i] + c->step[2 * i + 1]) / 2;
        c->value[i] = (c->value[2 * i] + c->value[2 * i + 1]) / 2;
    }
    c->n /= 2;
    c->each *= 2;
}

static inline void samba_report__add_point(samba_report__curve *c, int64_t step, double value)
{
    c->last = value;
    if (!(value - value == 0) && c->n_lost++ == 0) c->first_lost = step;
    c->step_sum += (double)step;
    c->sum += value;
    if (++c->pending < c->each) return;
    c->step[c->n] = c->step_sum / (double)c->pending;
    c->value[c->n++] = c->sum / (double)c->pending;
    c->step_sum = c->sum = 0;
    c->pending = 0;
    if (c->n == SAMBA_REPORT__POINTS) samba_report__thin_out(c);
}

/* The last point is of fewer values. */
static inline void samba_report__end_curve(samba_report__curve *c)
{
    c->step[c->n] = c->step_sum / (double)c->pending;
    c->value[c->n++] = c->sum / (double)c->pending;
    c->pending = 0;
}

/* A field of CSV: in quotes, if it must be. */
static inline void samba_report__put_field(FILE *f, const char *text)
{
    bool quotes = strpbrk(text, ",\"\n") != NULL;
    if (quotes) fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    if (quotes) fputc('"', f);
}

static inline void samba_report__note(samba_report *r, const char *name, double value)
{
    samba_report__curve *c = samba_report__curve_of(r, name);
    double seconds = samba_seconds() - r->begin;
    if (!c) return;
    if (value != value) value = (double)NAN; /* of one sign, for who prints it */
    samba_report__add_point(c, r->step, value);
    if (r->csv) {
        samba_base_print(r->csv, "%lld,%.3f,", (long long)r->step, r->earlier + seconds);
        samba_report__put_field(r->csv, c->name);
        samba_base_print(r->csv, ",%.9g\n", value);
    }
    if (r->events) samba_report__put_event(r, seconds, c->name, (float)value);
}

/* ---- The bar ---- */

static inline void samba_report__put_time(char *text, size_t size, double seconds)
{
    long long n = seconds > 0 ? (long long)(seconds + 0.5) : 0;
    if (n >= 3600)
        samba_base_format(text, size, "%lld:%02lld:%02lld", n / 3600, n / 60 % 60, n % 60);
    else
        samba_base_format(text, size, "%lld:%02lld", n / 60, n % 60);
}

static inline void samba_report__put_loss(char *text, size_t size, double loss)
{
    if (loss != loss)
        samba_base_format(text, size, "NaN");
    else
        samba_base_format(text, size, fabs(loss) < 1e5 ? "%.4f" : "%.4g", loss);
}

/* Loss, rate, time left, memory: what a bar and a line have in common. */
static inline void samba_report__tell(const samba_report *r, double now, char *text, size_t size)
{
    double done = (double)(r->step - r->opts.first), seconds = now - r->begin;
    double rate = seconds > 0 ? done / seconds : 0;
    int32_t batch = r->opts.batch > 0 ? r->opts.batch : 1;
    char left[32] = "", all[32] = "", loss[40];
    samba_report__put_loss(loss, sizeof loss, r->smooth);
    if (r->opts.steps > 0) samba_base_format(all, sizeof all, "/%lld", (long long)r->opts.steps);
    if (r->opts.steps > 0 && rate > 0)
        samba_report__put_time(left, sizeof left, (double)(r->opts.steps - r->step) / rate);
    samba_base_format(text, size, "step %lld%s  loss %s  %.0f %s/s%s%s  %.0f MiB",
                      (long long)r->step, all, loss, rate * batch,
                      r->opts.batch > 0 ? "samples" : "steps", *left ? "  ETA " : "", left,
                      (double)samba_held_bytes(r->session) / 1048576);
}

/* Columns of the terminal that stderr is; 0: it is none, or one that only knows lines. */
static inline int32_t samba_report__columns(void)
{
    struct winsize size;
    const char *name = getenv("TERM");
    if (!isatty(STDERR_FILENO) || (name && strcmp(name, "dumb") == 0)) return 0;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

/* Takes the bar away, so that other lines can be printed. */
static inline void samba_report__clear_bar(samba_report *r)
{
    if (r->shown) samba_base_print(stderr, "\r%*s\r", (int)r->shown, "");
    r->shown = 0;
}

/* The cursor ends at the beginning: what is printed next, an error, is not behind the bar. A line
   that the terminal would break could not be drawn over: it is cut. */
static inline void samba_report__draw_bar(samba_report *r, double now)
{
    static const char full[] = "====================", empty[] = "                    ";
    int32_t columns = samba_report__columns();
    bool ends = r->step == r->opts.steps;
    char text[256];
    size_t at = 0;
    if (!ends && now - r->told < (columns ? 0.1 : 10.0)) return;
    r->told = now;
    if (columns >= 90 && r->opts.steps > 0) {
        double part = (double)r->step / (double)r->opts.steps;
        int cells = part < 1 ? (int)(20 * part) : 20;
        at = (size_t)samba_base_format(text, sizeof text, "[%.*s%.*s] %3.0f %%  ", cells, full,
                                       20 - cells, empty, 100 * part);
    }
    samba_report__tell(r, now, text + at, sizeof text - at);
    if (columns == 0) {
        samba_base_print(stderr, "%s\n", text);
        return;
    }
    if ((size_t)columns <= strlen(text)) text[columns - 1] = 0;
    int32_t n = (int32_t)strlen(text), rest = r->shown > n ? r->shown - n : 0;
    if (rest >= columns - n) rest = columns - 1 - n; /* it has been made narrower */
    samba_base_print(stderr, "%s%*s\r", text, (int)rest, "");
    fflush(stderr);
    r->shown = n;
}

SAMBA_REPORT_API void samba_report_value(samba_report *r, const char *name, double value)
{
    if (!r || !name) return;
    samba_report__clear_bar(r); /* a test has ended, which the program may tell of, too */
    samba_report__note(r, name, value);
}

/* ---- Steps ---- */

/* The root of the sum of squares. */
static inline double samba_report__norm(samba_tensor *grad)
{
    double sum = 0;
    int64_t n = grad && grad->dtype == SAMBA_F32 ? samba_count(&grad->shape) : 0;
    const float *g = n > 0 ? samba_read(grad) : NULL;
    for (int64_t k = 0; k < n; k++)
        sum += (double)g[k] * (double)g[k];
    return sqrt(sum);
}

/* That of all gradients, and, if they are not too many to look at, of each. */
static inline void samba_report__note_gradients(samba_report *r)
{
    double all = 0;
    bool each = r->n_trained <= SAMBA_REPORT__CURVES / 2;
    for (int32_t i = 0; i < r->n_trained; i++) {
        char name[240];
        samba_tensor *w = samba_tensor_by_name(r->session, r->trained[i]);
        double norm = samba_report__norm(samba_sn_grad(w));
        all += norm * norm;
        samba_base_format(name, sizeof name, "gradient norm/%s", r->trained[i]);
        if (each) samba_report__note(r, name, norm);
    }
    samba_report__note(r, "gradient norm", sqrt(all));
}

SAMBA_REPORT_API void samba_report_step(samba_report *r, int64_t step, double loss)
{
    if (!r || !samba_ok(r->session)) return;
    double now = samba_seconds();
    bool first = r->step == r->opts.first || !(r->smooth - r->smooth == 0);
    r->step = step;
    r->smooth = first ? loss : r->smooth + 0.05 * (loss - r->smooth);
    samba_report__note(r, "loss", loss);
    if (r->has_rate) samba_report__note(r, "lr", samba_get(r->session, "lr"));
    if (r->n_trained && step % r->opts.gradients == 0) samba_report__note_gradients(r);
    samba_report__draw_bar(r, now);
    if (now - r->flushed < 2) return;
    r->flushed = now; /* who looks on sees the last seconds, too */
    if (r->csv) fflush(r->csv);
    if (r->events) fflush(r->events);
}

/* ---- Predictions ---- */

SAMBA_REPORT_API void samba_report_prediction(samba_report *r, int32_t label, int32_t guess)
{
    int32_t n = r && r->matrix ? r->opts.n_classes : 0;
    if (label < 0 || label >= n || guess < 0 || guess >= n) return;
    r->matrix[label * n + guess]++;
}

SAMBA_REPORT_API void samba_report_forget(samba_report *r)
{
    if (!r) return;
    for (int32_t i = 0; i < r->n_samples; i++)
        free(r->sample[i].rgb);
    r->n_samples = 0;
    if (r->matrix) memset(r->matrix, 0, (size_t)r->opts.n_classes * (size_t)r->opts.n_classes * 8);
}

SAMBA_REPORT_API void samba_report_sample(samba_report *r, const samba_report_image *image,
                                          int32_t label, int32_t guess, double sure)
{
    if (!r || !image || r->n_samples == SAMBA_REPORT__SAMPLES) return;
    if (image->height < 1 || image->width < 1 || image->height > 256 || image->width > 256) return;
    if (image->channels != 1 && image->channels != 3) return;
    int32_t n = image->height * image->width;
    samba_report__shown shown = { label, guess, image->height, image->width, sure, NULL };
    shown.rgb = (uint8_t *)malloc((size_t)n * 3);
    if (!shown.rgb) r->lacks_memory = true;
    if (!shown.rgb) return;
    for (int32_t i = 0; i < 3 * n; i++) {
        int32_t channel = image->channels == 3 ? i % 3 : 0;
        float x = (image->pixels[channel * n + i / 3] - image->low) / (image->high - image->low);
        shown.rgb[i] = (uint8_t)(x > 0 ? (x < 1 ? 255.0f * x + 0.5f : 255.0f) : 0.0f);
    }
    r->sample[r->n_samples++] = shown;
}

/* ---- The page ---- */

static inline void samba_report__put_text(FILE *f, const char *text)
{
    samba_base_write(f, SAMBA_BASE_HTML, text);
}

/* The distance of the lines of an axis: 1, 2 or 5 times a power of ten, four or so of them. */
static inline double samba_report__unit(double range)
{
    double power = pow(10, floor(log10(range / 4)));
    double times = range / 4 / power;
    if (times > 5) return 10 * power;
    if (times > 2) return 5 * power;
    return times > 1 ? 2 * power : power;
}

typedef struct samba_report__axes {
    double left, right, top, bottom; /* of the picture */
    double first, last, low, high;   /* steps, values */
} samba_report__axes;

static inline samba_report__axes samba_report__axes_of(const samba_report *r,
                                                       const samba_report__curve *c, bool small)
{
    samba_report__axes a = { 58, 548, 12, 196, (double)r->opts.first, (double)r->step, 0, 0 };
    bool any = false;
    if (small) {
        a.left = 3;
        a.right = 157;
        a.top = 4;
        a.bottom = 44;
    }
    if (r->n_earlier) a.first = 0;
    for (int32_t i = 0; i < c->n; i++) {
        double y = c->value[i];
        if (!(y - y == 0)) continue; /* no place for what is not finite */
        if (!any || y < a.low) a.low = y;
        if (!any || y > a.high) a.high = y;
        any = true;
    }
    if (!(a.last > a.first)) a.last = a.first + 1;
    if (a.low >= 0 && a.low < 0.5 * a.high) a.low = 0;
    if (!(a.high > a.low)) a.low -= a.low > 0 && a.low <= 1 ? a.low : 0; /* a share, say */
    if (!(a.high > a.low)) a.high += 1;
    return a;
}

static inline double samba_report__x(const samba_report__axes *a, double step)
{
    return a->left + (a->right - a->left) * (step - a->first) / (a->last - a->first);
}

static inline double samba_report__y(const samba_report__axes *a, double value)
{
    return a->bottom - (a->bottom - a->top) * (value - a->low) / (a->high - a->low);
}

/* The mean of the finite values that are at most `half` places away. */
static inline double samba_report__mean_at(const samba_report__curve *c, int32_t i, int32_t half)
{
    double sum = 0;
    int32_t n = 0;
    if (i < half) half = i; /* as many on both sides: an end stays */
    if (c->n - 1 - i < half) half = c->n - 1 - i;
    for (int32_t k = i - half; k <= i + half; k++) {
        if (!(c->value[k] - c->value[k] == 0)) continue;
        sum += c->value[k];
        n++;
    }
    return sum / n;
}

/* half: values are drawn as means with so many neighbours on each side. */
static inline void samba_report__put_path(FILE *f, const samba_report__curve *c,
                                          const samba_report__axes *a, int32_t half)
{
    bool draws = false;
    samba_base_print(f, "<path%s d=\"", half > 0 ? " class=\"smooth\"" : "");
    for (int32_t i = 0; i < c->n; i++) {
        bool finite = c->value[i] - c->value[i] == 0;
        if (finite)
            samba_base_print(f, "%c%.1f %.1f", draws ? 'L' : 'M', samba_report__x(a, c->step[i]),
                             samba_report__y(a, samba_report__mean_at(c, i, half)));
        draws = finite;
    }
    samba_base_print(f, "\"/>");
}

static inline void samba_report__put_line(FILE *f, const samba_report__curve *c,
                                          const samba_report__axes *a)
{
    bool noisy = c->n > 200;
    if (noisy) samba_base_print(f, "<g class=\"faint\">");
    samba_report__put_path(f, c, a, 0);
    if (noisy) samba_base_print(f, "</g>");
    if (noisy) samba_report__put_path(f, c, a, c->n / 50);
    for (int32_t i = 0; i < c->n && c->n <= 40; i++)
        if (c->value[i] - c->value[i] == 0)
            samba_base_print(
                f,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>step %.0f: %.5g</title>"
                "</circle>",
                samba_report__x(a, c->step[i]), samba_report__y(a, c->value[i]), c->step[i],
                c->value[i]);
}

static inline void samba_report__put_number(FILE *f, const char *format, double value)
{
    if (value - value == 0)
        samba_base_print(f, format, value);
    else
        fputs(value != value ? "NaN" : value > 0 ? "+&infin;" : "&minus;&infin;", f);
}

/* Where a curve has gaps. */
static inline void samba_report__put_gaps(FILE *f, const samba_report__curve *c)
{
    if (!c->n_lost) return;
    samba_base_print(f, "<p class=\"gap\">%lld value%s not finite, the first at step %lld</p>",
                     (long long)c->n_lost, c->n_lost == 1 ? " is" : "s are",
                     (long long)c->first_lost);
}

static inline void samba_report__put_chart(FILE *f, const samba_report *r,
                                           const samba_report__curve *c)
{
    samba_report__axes a = samba_report__axes_of(r, c, false);
    double unit = samba_report__unit(a.high - a.low);
    a.low = floor(a.low / unit + 1e-9) * unit;
    a.high = ceil(a.high / unit - 1e-9) * unit;
    samba_base_print(f, "<figure><figcaption>");
    samba_report__put_text(f, c->name);
    samba_base_print(f, " <b>");
    samba_report__put_number(f, "%.4g", c->last);
    samba_base_print(f, "</b></figcaption><svg viewBox=\"0 0 560 224\" role=\"img\" aria-label=\"");
    samba_report__put_text(f, c->name);
    samba_base_print(f, " over the steps, at last ");
    samba_report__put_number(f, "%.4g", c->last);
    samba_base_print(f, "\">");
    for (int32_t i = 0; a.low + i * unit <= a.high + unit / 2; i++) {
        double value = a.low + i * unit, y = samba_report__y(&a, value);
        samba_base_print(f,
                         "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"50\" "
                         "y=\"%.1f\" class=\"end\">%.4g</text>",
                         a.left, a.right, y, y, y + 4, fabs(value) < unit / 1000 ? 0.0 : value);
    }
    samba_base_print(f,
                     "<text x=\"%.0f\" y=\"216\">step %.0f</text><text x=\"%.0f\" y=\"216\" "
                     "class=\"end\">%.0f</text>",
                     a.left, a.first, a.right, a.last);
    samba_report__put_line(f, c, &a);
    samba_base_print(f, "</svg>");
    samba_report__put_gaps(f, c);
    samba_base_print(f, "</figure>\n");
}

/* The norm of one gradient: these stand side by side. */
static inline bool samba_report__is_of_one(const samba_report__curve *c)
{
    return strncmp(c->name, "gradient norm/", 14) == 0;
}

static inline void samba_report__put_small(FILE *f, const samba_report *r,
                                           const samba_report__curve *c)
{
    samba_report__axes a = samba_report__axes_of(r, c, true);
    samba_base_print(f, "<figure class=\"small\"><figcaption>");
    samba_report__put_text(f, strchr(c->name, '/') + 1);
    samba_base_print(f, " <b>");
    samba_report__put_number(f, "%.3g", c->last);
    samba_base_print(f, "</b></figcaption><svg viewBox=\"0 0 160 48\" aria-hidden=\"true\">");
    samba_report__put_line(f, c, &a);
    samba_base_print(f, "</svg></figure>\n");
}

static inline void samba_report__put_curves(FILE *f, const samba_report *r)
{
    bool small = false;
    if (!r->n_curves) return;
    samba_base_print(f, "<section><h2>Curves</h2><div class=\"charts\">\n");
    for (int32_t i = 0; i < r->n_curves; i++) {
        bool of_one = samba_report__is_of_one(r->curve[i]);
        small = small || of_one;
        if (!of_one) samba_report__put_chart(f, r, r->curve[i]);
    }
    samba_base_print(f, "</div></section>\n");
    if (!small) return;
    samba_base_print(f, "<section><h2>Norms of gradients</h2><div class=\"smalls\">\n");
    for (int32_t i = 0; i < r->n_curves; i++)
        if (samba_report__is_of_one(r->curve[i])) samba_report__put_small(f, r, r->curve[i]);
    samba_base_print(f, "</div></section>\n");
}

static inline void samba_report__put_class(FILE *f, const samba_report *r, int32_t i)
{
    if (r->opts.classes && i >= 0 && i < r->opts.n_classes)
        samba_report__put_text(f, r->opts.classes[i]);
    else
        samba_base_print(f, "%d", i);
}

static inline void samba_report__put_matrix(FILE *f, const samba_report *r)
{
    int32_t n = r->matrix ? r->opts.n_classes : 0;
    int64_t total = 0, right = 0;
    for (int32_t i = 0; i < n * n; i++)
        total += r->matrix[i];
    for (int32_t i = 0; i < n; i++)
        right += r->matrix[i * n + i];
    if (!total) return;
    samba_base_print(
        f,
        "<section><h2 id=\"matrix\">Confusion matrix <small>%lld of %lld right</small></h2>"
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"matrix\">"
        "<table class=\"matrix\"><thead><tr><th>true \\ predicted</th>",
        (long long)right, (long long)total);
    for (int32_t c = 0; c < n; c++) {
        samba_base_print(f, "<th>");
        samba_report__put_class(f, r, c);
        samba_base_print(f, "</th>");
    }
    samba_base_print(f, "</tr></thead><tbody>\n");
    for (int32_t l = 0; l < n; l++) {
        int64_t sum = 0;
        for (int32_t c = 0; c < n; c++)
            sum += r->matrix[l * n + c];
        samba_base_print(f, "<tr><th>");
        samba_report__put_class(f, r, l);
        samba_base_print(f, "</th>");
        for (int32_t c = 0; c < n; c++) {
            double part = sum ? (double)r->matrix[l * n + c] / (double)sum : 0;
            samba_base_print(f, "<td class=\"%s\" style=\"--part:%.0f%%\">%lld</td>",
                             l == c ? "hit" : "miss", 100 * sqrt(part),
                             (long long)r->matrix[l * n + c]);
        }
        samba_base_print(f, "</tr>\n");
    }
    samba_base_print(f, "</tbody></table></div></section>\n");
}

/* Bytes as base64, three at a time; a rest is kept until the next call, or the last. */
typedef struct samba_report__base64 {
    FILE *file;
    uint32_t word;
    int32_t n;
} samba_report__base64;

static inline void samba_report__put64(samba_report__base64 *b, uint32_t value, int bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (; bytes > 0; bytes--, value >>= 8) {
        b->word = b->word << 8 | (value & 255u);
        if (++b->n < 3) continue;
        for (int shift = 18; shift >= 0; shift -= 6)
            fputc(digits[b->word >> shift & 63u], b->file);
        b->word = 0;
        b->n = 0;
    }
}

/* A BMP of 24 bits: a header of 54 bytes, rows from the lowest on, blue first, each of 4 k bytes.
 */
static inline void samba_report__put_image(FILE *f, const samba_report__shown *s)
{
    uint32_t w = (uint32_t)s->width, h = (uint32_t)s->height, row = (3 * w + 3) / 4 * 4;
    const uint32_t head[13][2]
        = { { 54 + row * h, 4 }, { 0, 4 }, { 54, 4 },      { 40, 4 }, { w, 4 }, { h, 4 }, { 1, 2 },
            { 24, 2 },           { 0, 4 }, { row * h, 4 }, { 0, 4 },  { 0, 4 }, { 0, 4 } };
    samba_report__base64 b = { f, 0, 0 };
    samba_base_print(f, "<img alt=\"\" width=\"%u\" height=\"%u\" src=\"data:image/bmp;base64,", w,
                     h);
    samba_report__put64(&b, 'B' | 'M' << 8, 2);
    for (int i = 0; i < 13; i++)
        samba_report__put64(&b, head[i][0], (int)head[i][1]);
    samba_report__put64(&b, 0, 4);
    for (uint32_t y = h; y-- > 0;) {
        for (uint32_t i = 0; i < row; i++) {
            uint32_t at = 3 * (y * w + i / 3) + 2 - i % 3;
            samba_report__put64(&b, i < 3 * w ? s->rgb[at] : 0, 1);
        }
    }
    while (b.n)
        samba_report__put64(&b, 0, 1); /* behind the picture */
    samba_base_print(f, "\">");
}

static inline void samba_report__put_samples(FILE *f, const samba_report *r)
{
    if (!r->n_samples) return;
    samba_base_print(f, "<section><h2>Samples</h2><div class=\"samples\">\n");
    for (int32_t i = 0; i < r->n_samples; i++) {
        const samba_report__shown *s = &r->sample[i];
        bool right = s->label == s->guess;
        samba_base_print(f, "<figure>");
        samba_report__put_image(f, s);
        samba_base_print(f, "<figcaption class=\"%s\">", right ? "right" : "wrong");
        samba_report__put_class(f, r, s->guess);
        samba_base_print(f, "&nbsp;%.0f&nbsp;%%", 100 * s->sure);
        if (!right) {
            samba_base_print(f, "<br>is ");
            samba_report__put_class(f, r, s->label);
        }
        samba_base_print(f, "</figcaption></figure>\n");
    }
    samba_base_print(f, "</div></section>\n");
}

static inline void samba_report__put_style(FILE *f)
{
    fputs(":root{--page:#f6f6f4;--card:#fff;--text:#1c1d20;--soft:#63666d;--line:#dfdfdb;"
          "--accent:#0b63ce;--bad:#b3261e;color-scheme:light}\n"
          "@media(prefers-color-scheme:dark){:root{--page:#121316;--card:#1b1d21;--text:#ececee;"
          "--soft:#9fa3ab;--line:#31343a;--accent:#7db4ff;--bad:#ff8a80;color-scheme:dark}}\n"
          "*{box-sizing:border-box}body{margin:0 auto;padding:32px 16px 48px;max-width:1180px;"
          "background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}\n"
          "h1{margin:0 0 4px;font-size:28px;line-height:1.2;letter-spacing:-.015em;"
          "text-wrap:balance}h2{margin:0 0 12px;"
          "font-size:17px}small,p,dt,th{color:var(--soft);font-weight:normal}p{margin:0 0 20px}\n"
          "section{background:var(--card);border:1px solid var(--line);border-radius:12px;"
          "padding:20px;margin:0 0 16px}code{overflow-wrap:anywhere}\n"
          "dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:12px;"
          "margin:0}dt{font-size:13px}dd{margin:0;font-size:22px}dl.list{display:grid;"
          "grid-template-columns:max-content minmax(0,1fr);gap:4px 18px}.list dd{font-size:16px;"
          "overflow-wrap:anywhere}.list dt{font-size:16px}\n"
          "figure{margin:0}.charts{display:grid;grid-template-columns:repeat(auto-fill,"
          "minmax(min(100%,480px),1fr));gap:20px}figcaption{font-size:14px;color:var(--soft);"
          "margin-bottom:6px}"
          "figcaption b{color:var(--text);float:right;margin-left:8px}\n"
          ".smalls{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:16px;"
          "align-items:end}"
          ".small figcaption{font-size:12px;overflow-wrap:anywhere}svg{display:block;width:100%;"
          "overflow:visible}h1{overflow-wrap:anywhere}\n"
          "svg line{stroke:var(--line)}svg text{fill:var(--soft);font-size:12px}svg .end{"
          "text-anchor:end}svg path{fill:none;stroke:var(--accent);stroke-width:2;"
          "stroke-linejoin:round;vector-effect:non-scaling-stroke}"
          "svg .faint path{opacity:.3;stroke-width:1}svg circle{fill:var(--accent)}\n"
          ".gap{margin:4px 0 0;font-size:14px;color:var(--bad)}.error{border-color:var(--bad)}"
          ".error p{margin:0;color:var(--text);overflow-wrap:anywhere}\n"
          ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
          "font-size:13px}.matrix th,.matrix td{padding:5px 9px;text-align:right;"
          "white-space:nowrap}.matrix td{min-width:48px}.hit{background:color-mix(in srgb,"
          "var(--accent) calc(var(--part)*.5),transparent)}.miss{background:color-mix(in srgb,"
          "var(--bad) calc(var(--part)*.9),transparent)}\n"
          ".samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(84px,1fr));gap:14px}"
          ".samples img{width:100%;height:auto;image-rendering:pixelated;border-radius:6px;"
          "display:block}.samples figcaption{font-size:12px;text-align:center;margin-top:3px;"
          "overflow-wrap:anywhere}"
          ".wrong{color:var(--bad);font-weight:600}\n"
          "@media(max-width:600px){svg text{font-size:20px}section{padding:16px}.matrix{width:100%;"
          "font-size:11px}.matrix th,.matrix td{padding:4px 2px;min-width:0;text-align:center}"
          ".matrix thead th{vertical-align:bottom}.matrix thead th:not(:first-child){"
          "writing-mode:sideways-lr;text-align:start}.matrix th:first-child{text-align:left;"
          "white-space:normal}}\n",
          f);
}

static inline void samba_report__put_figure(FILE *f, const char *name, const char *value)
{
    samba_base_print(f, "<div><dt>");
    samba_report__put_text(f, name);
    samba_base_print(f, "</dt><dd>%s</dd></div>\n", value);
}

static inline void samba_report__put_figures(FILE *f, const samba_report *r)
{
    char text[64];
    double seconds = samba_seconds() - r->begin, done = (double)(r->step - r->opts.first);
    int32_t batch = r->opts.batch > 0 ? r->opts.batch : 1;
    samba_base_print(f, "<section><dl>\n");
    samba_base_format(text, sizeof text, r->step < r->opts.steps ? "%lld of %lld" : "%lld",
                      (long long)r->step, (long long)r->opts.steps);
    samba_report__put_figure(f, "steps", text);
    if (seconds < 9.95)
        samba_base_format(text, sizeof text, "%.1f s", seconds);
    else
        samba_report__put_time(text, sizeof text, seconds);
    samba_report__put_figure(f, "time", text);
    samba_base_format(text, sizeof text, "%.0f", seconds > 0 ? done * batch / seconds : 0);
    samba_report__put_figure(f, r->opts.batch > 0 ? "samples a second" : "steps a second", text);
    for (int32_t i = 0; i < r->n_curves; i++) {
        const samba_report__curve *c = r->curve[i];
        bool more = !strcmp(c->name, "lr") || !strncmp(c->name, "gradient norm", 13);
        if (more) continue;
        samba_base_format(text, sizeof text, "%.4g", c->last);
        samba_report__put_figure(f, c->name, c->last != c->last ? "NaN" : text);
    }
    samba_base_print(f, "</dl></section>\n");
}

/* The name of the processor, as Linux has it; elsewhere "". */
static inline void samba_report__find_processor(char *text, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    *text = 0;
    while (f && !*text && fgets(line, sizeof line, f)) {
        char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!value) continue;
        value[strcspn(value, "\n")] = 0;
        samba_base_format(text, size, "%s, ", value + 2);
    }
    if (f) fclose(f);
}

static inline void samba_report__put_machine(FILE *f, const samba_report *r)
{
    struct utsname system;
    char processor[200], date[40] = "";
    struct tm local, *when = localtime_r(&r->date, &local);
    if (uname(&system) < 0) memset(&system, 0, sizeof system);
    if (when) strftime(date, sizeof date, "%Y-%m-%d %H:%M", when);
    samba_report__find_processor(processor, sizeof processor);
    samba_base_print(
        f, "<section><h2>Where from</h2><dl class=\"list\">\n<dt>Begun</dt><dd>%s</dd>\n", date);
    samba_base_print(f, "<dt>Machine</dt><dd>");
    samba_report__put_text(f, processor);
    samba_base_print(f, "%ld processors, %s %s</dd>\n", sysconf(_SC_NPROCESSORS_ONLN),
                     system.sysname, system.machine);
    samba_base_print(f, "<dt>Memory</dt><dd>%.1f MiB</dd>\n",
                     (double)samba_held_bytes(r->session) / 1048576);
    samba_base_print(f, "<dt>Program</dt><dd>samba.h %s", SAMBA_VERSION);
#if defined(__VERSION__)
    samba_base_print(f, ", compiler ");
    samba_report__put_text(f, __VERSION__);
#endif
    samba_base_print(f, "</dd>\n<dt>Command</dt><dd><code>");
    for (int i = 0; i < r->opts.argc; i++) {
        if (i) fputc(' ', f);
        samba_report__put_text(f, r->opts.argv[i]);
    }
    samba_base_print(f, "</code></dd>\n</dl></section>\n");
}

static inline void samba_report__put_page(FILE *f, const samba_report *r)
{
    samba_base_print(
        f,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\""
        "viewport\" content=\"width=device-width,initial-scale=1\">\n<meta http-equiv=\""
        "Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';"
        "img-src data:\">\n<title>");
    samba_report__put_text(f, r->opts.title);
    samba_base_print(f, "</title><style>\n");
    samba_report__put_style(f);
    samba_base_print(f, "</style></head><body><main>\n<h1>");
    samba_report__put_text(f, r->opts.title);
    samba_base_print(f, "</h1>\n<p>Report of a training</p>\n");
    if (!samba_ok(r->session)) {
        samba_base_print(f, "<section class=\"error\"><h2>Ended by an error</h2><p>");
        samba_report__put_text(f, samba_error(r->session));
        samba_base_print(f, "</p></section>\n");
    }
    samba_report__put_figures(f, r);
    samba_report__put_curves(f, r);
    samba_report__put_matrix(f, r);
    samba_report__put_samples(f, r);
    samba_report__put_machine(f, r);
    samba_base_print(f, "</main></body></html>\n");
}

/* ---- Open and close ---- */

/* Strict C99 hides these two. */
#if defined(O_NOFOLLOW) && defined(O_CLOEXEC)
#define SAMBA_REPORT__OPEN (O_NOFOLLOW | O_CLOEXEC)
#else
#define SAMBA_REPORT__OPEN 0
#endif

/* A file that grows while the training runs. A link of its name is not followed. */
static inline FILE *samba_report__open_file(samba_report *r, const char *name, const char *mode)
{
    char path[1024];
    errno = ENAMETOOLONG;
    int n = samba_base_format(path, sizeof path, "%s/%s", r->opts.folder, name);
    int how = *mode == 'a' ? O_RDWR | O_APPEND : O_WRONLY | O_TRUNC;
    bool fits = n > 0 && n < (int)sizeof path;
    int handle = fits ? open(path, how | O_CREAT | SAMBA_REPORT__OPEN, 0666) : -1;
    FILE *f = handle < 0 ? NULL : fdopen(handle, mode);
    if (!f) samba_report__fail(r, name);
    if (!f && handle >= 0) close(handle);
    return f;
}

/* The page, which replaces that of an earlier report. */
static inline bool samba_report__write_page(samba_report *r)
{
    static const char mark[] = "style-src 'unsafe-inline';img-src data:";
    char path[1024], why[1800];
    samba_base_output out;
    int n = samba_base_format(path, sizeof path, "%s/report.html", r->opts.folder);
    errno = ENAMETOOLONG;
    if (n < 0 || n >= (int)sizeof path) return samba_report__fail(r, "report.html");
    bool fine = samba_base_begin(&out, path, mark, why, sizeof why);
    if (fine) {
        samba_report__put_page(out.file, r);
        fine = samba_base_end(&out, true, why, sizeof why);
    }
    return fine || samba_fail(r->session, SAMBA_EIO, "report.h: %s", why);
}

/* The folder and those above it. */
static inline bool samba_report__make_folder(samba_report *r)
{
    char path[1024];
    size_t n = strlen(r->opts.folder);
    errno = ENAMETOOLONG;
    if (n >= sizeof path) return samba_report__fail(r, "files");
    for (size_t i = 1; i <= n; i++) {
        if (i < n && r->opts.folder[i] != '/') continue;
        memcpy(path, r->opts.folder, i);
        path[i] = 0;
        if (mkdir(path, 0777) < 0 && errno != EEXIST) return samba_report__fail(r, "files");
    }
    return true;
}

/* A row of log.csv back into its curve: step,seconds,name,value. False: it is none, or of a step
   that comes again. Its name loses its quotes in place. */
static inline bool samba_report__take_row(samba_report *r, char *row)
{
    char *at, *value = strrchr(row, ',');
    long long step = strtoll(row, &at, 10);
    if (at == row || *at != ',' || step > r->opts.first || !strchr(row, '\n')) return false;
    double seconds = samba_base_number(at + 1, &at);
    if (*at != ',' || at == value) return false;
    char *name = ++at, *to = name;
    bool quoted = *name == '"';
    for (at += quoted; at < value; at++) {
        if (quoted && *at == '"' && *++at != '"') break;
        *to++ = *at;
    }
    *to = 0;
    samba_report__curve *c = samba_report__curve_of(r, name);
    if (c) samba_report__add_point(c, step, samba_base_number(value + 1, NULL));
    r->earlier = seconds;
    r->n_earlier++;
    return true;
}

/* The log of a training that goes on: what it says of steps up to the first stays, and is drawn.
   False: nothing stays. */
static inline bool samba_report__take_log(samba_report *r)
{
    char row[1024];
    long end = 0;
    rewind(r->csv);
    while (fgets(row, sizeof row, r->csv)) {
        bool head = end == 0 && strncmp(row, "step,", 5) == 0;
        if (!head && !samba_report__take_row(r, row)) break;
        end = ftell(r->csv);
    }
    rewind(r->csv);
    return ftruncate(fileno(r->csv), end) == 0 && end > 0;
}

/* Is it empty, or what a training wrote? */
static inline bool samba_report__is_log(FILE *f)
{
    char row[8] = "";
    rewind(f);
    size_t n = fread(row, 1, 5, f);
    rewind(f);
    return n == 0 || strncmp(row, "step,", 5) == 0;
}

/* Two trainings would spoil one log: the file is locked while it is written. */
static inline bool samba_report__open_log(samba_report *r)
{
    r->csv = samba_report__open_file(r, "log.csv", "a+");
    if (!r->csv) return false;
    if (flock(fileno(r->csv), LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return samba_fail(r->session, SAMBA_EIO,
                          "report.h: another training writes to %s "
                          "now; give this one a folder of its own",
                          r->opts.folder);
    if (!samba_report__is_log(r->csv))
        return samba_fail(r->session, SAMBA_EIO,
                          "report.h: log.csv in %s is no log of a training, so "
                          "it stays; give this one a folder of its own",
                          r->opts.folder);
    if (r->opts.first > 0 && samba_report__take_log(r)) return true;
    if (ftruncate(fileno(r->csv), 0) < 0) return samba_report__fail(r, "log.csv");
    samba_base_print(r->csv, "step,seconds,name,value\n");
    return true;
}

static inline bool samba_report__open_files(samba_report *r)
{
    char name[64];
    if (!samba_report__make_folder(r) || !samba_report__open_log(r)) return false;
    samba_base_format(name, sizeof name, "events.out.tfevents.%010lld.samba.%ld",
                      (long long)r->date, (long)getpid());
    r->events = samba_report__open_file(r, name, "wb");
    if (r->events) samba_report__put_event(r, 0, NULL, 0);
    return r->events != NULL;
}

/* Has the program a gradient of this parameter? */
static inline bool samba_report__has_gradient(samba_session *s, const char *name)
{
    bool quiet = samba_set_quiet(s, true);
    bool has = samba_sn_grad(samba_tensor_by_name(s, name)) != NULL;
    if (!has) samba_clear_error(s);
    samba_set_quiet(s, quiet);
    return has;
}

static inline bool samba_report__find_gradients(samba_report *r)
{
    int32_t n = samba_grad_names(r->session, NULL, 0) ? samba_weight_names(r->session, NULL, 0) : 0;
    if (n <= 0 || !samba_ok(r->session)) return true;
    r->trained = (const char **)calloc((size_t)n, sizeof *r->trained);
    if (!r->trained) return false;

    samba_weight_names(r->session, r->trained, n);
    for (int32_t i = 0; i < n; i++)
        if (samba_report__has_gradient(r->session, r->trained[i]))
            r->trained[r->n_trained++] = r->trained[i];
    return true;
}

static inline bool samba_report__has_rate(samba_session *s)
{
    const char *names[256];
    int32_t n = samba_argin_names(s, names, 256);
    for (int32_t i = 0; i < n && i < 256; i++)
        if (!strcmp(names[i], "lr")) return true;
    return false;
}

static inline void samba_report__free(samba_report *r)
{
    samba_report_forget(r);
    for (int32_t i = 0; i < r->n_curves; i++)
        free(r->curve[i]);
    if (r->csv) fclose(r->csv);
    if (r->events) fclose(r->events);
    free(r->trained);
    free(r->matrix);
    free(r);
}

SAMBA_REPORT_API samba_report *samba_report_open(samba_session *s, const samba_report_opts *opts)
{
    if (!samba_ok(s)) return NULL;
    samba_report *r = (samba_report *)calloc(1, sizeof *r);
    if (r) {
        r->session = s;
        if (opts) r->opts = *opts;
        if (!r->opts.title) r->opts.title = "training";
        r->step = r->opts.first;
        r->begin = r->told = samba_seconds();
        r->date = time(NULL);
        r->has_rate = samba_report__has_rate(s);
        size_t n = r->opts.n_classes > 0 && r->opts.n_classes <= SAMBA_REPORT__CLASSES
            ? (size_t)r->opts.n_classes
            : 0;
        if (n) r->matrix = (int64_t *)calloc(n * n, sizeof *r->matrix);
        bool fine
            = (!n || r->matrix) && (r->opts.gradients <= 0 || samba_report__find_gradients(r));
        if (fine && (!r->opts.folder || samba_report__open_files(r))) return r;
        samba_report__free(r);
    }
    samba_fail(s, SAMBA_ENOMEM, "in samba_report_open: no memory for a report");
    return NULL;
}

SAMBA_REPORT_API bool samba_report_close(samba_report *r)
{
    if (!r) return true;
    bool fine = true;
    if (r->shown) fputc('\n', stderr);
    for (int32_t i = 0; i < r->n_curves; i++) {
        samba_report__curve *c = r->curve[i];
        if (c->pending) samba_report__end_curve(c);
    }
    if (r->csv) {
        fine = !ferror(r->csv) && !fflush(r->csv) && !ferror(r->events) && !fflush(r->events);
        if (!fine) samba_report__fail(r, "log.csv and events");
        fine = samba_report__write_page(r) && fine;
        if (r->lacks_memory)
            fine = samba_fail(r->session, SAMBA_ENOMEM,
                              "report.h: values or samples are not in %s: "
                              "there was no memory for them",
                              r->opts.folder);
    }
    samba_report__free(r);
    return fine;
}
#endif /* SAMBA_REPORT_IMPLEMENTATION */
/* MIT license, as samba.h. */
