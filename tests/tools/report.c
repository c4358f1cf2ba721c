// report.h: its files say what was noted, its page is whole, and nobody's bits change by it.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_REPORT_IMPLEMENTATION
#include "tools/include/samba/report.h"
#include "tests/lib/test.h"
#include <dirent.h>

enum { B = 4, F = 6, C = 3, STEPS = 7 };
#define FOLDER "build/report"

static char text[1 << 20];
static size_t text_size;

// Reads a file of the folder whose name begins so. False if there is none.
static bool read_file(const char *begin)
{
    char path[512];
    FILE *f = NULL;
    DIR *folder = opendir(FOLDER);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e && !f; e = readdir(folder)) {
        if (strncmp(e->d_name, begin, strlen(begin))) continue;
        snprintf(path, sizeof path, "%s/%s", FOLDER, e->d_name);
        f = fopen(path, "rb");
    }
    if (folder) closedir(folder);
    text_size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[text_size] = 0;
    if (f) fclose(f);
    return text_size > 0;
}

static void empty_folder(void)
{
    char path[512];
    DIR *folder = opendir(FOLDER);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder)) {
        snprintf(path, sizeof path, "%s/%s", FOLDER, e->d_name);
        unlink(path);
    }
    if (folder) closedir(folder);
    mkdir("build", 0777);
}

static int count(const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *loss;
} net;

static net compiled(void)
{
    net n;
    samba_program p;
    memset(&p, 0, sizeof p);
    n.s = samba_open(NULL);
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    n.label = samba_randint(n.s, "label", C, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "fc1", 5));
    n.loss = samba_cross_entropy(samba_linear(h, "fc2", C), n.label);
    p.loss = n.loss;
    p.optim.kind = SAMBA_SGD;
    p.optim.lr = 0.25f;
    CHECK(samba_compile(n.s, &p));
    return n;
}

static void train(const net *n, samba_report *r, int first)
{
    for (int i = first + 1; i <= first + STEPS; i++) {
        samba_run(n->s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        samba_report_step(r, i, (double)samba_read(n->loss)[0]);
    }
}

static const char *const names[C] = { "cat", "dog & <bone>", "fish" };
static char program[] = "report", argument[] = "--flag=\"a<b\"";
static char *const arguments[] = { program, argument };

static samba_report_opts options(void)
{
    samba_report_opts o;
    memset(&o, 0, sizeof o);
    o.title = "A <small> net";
    o.folder = FOLDER;
    o.steps = STEPS;
    o.batch = B;
    o.gradients = 2;
    o.n_classes = C;
    o.classes = names;
    o.argc = 2;
    o.argv = arguments;
    return o;
}

static void test_bits_and_csv(void)
{
    net with = compiled(), without = compiled();
    samba_report_opts o = options();
    empty_folder();
    samba_report *r = samba_report_open(with.s, &o);
    CHECK(r != NULL);
    train(&with, r, 0);
    train(&without, NULL, 0);
    samba_report_value(r, "test, \"all\"", 0.5);
    samba_tensor *a = samba_tensor_by_name(with.s, "fc1__weight");
    samba_tensor *b = samba_tensor_by_name(without.s, "fc1__weight");
    CHECK(!memcmp(samba_read(a), samba_read(b), samba_bytes(a)));
    CHECK(samba_report_close(r));
    CHECK(read_file("log.csv"));
    CHECK(strncmp(text, "step,seconds,name,value\n1,", 26) == 0);
    CHECK(count(",loss,") == STEPS && count(",lr,0.25\n") == STEPS);
    CHECK(count(",gradient norm,") == STEPS / 2);
    CHECK(count(",gradient norm/fc1__weight,") == STEPS / 2);
    CHECK(strstr(text, ",\"test, \"\"all\"\"\",0.5\n") != NULL);
    // A training that goes on has one log.
    o.first = STEPS;
    o.steps = 2 * STEPS;
    r = samba_report_open(with.s, &o);
    train(&with, r, STEPS);
    CHECK(samba_report_close(r));
    CHECK(read_file("log.csv") && count(",loss,") == 2 * STEPS && count("step,seconds") == 1);
    samba_close(with.s);
    samba_close(without.s);
}

// The norm of what backward made, by hand.
static void test_gradient_norm(void)
{
    net n = compiled();
    samba_report_opts o = options();
    double sum = 0, noted = 0;
    empty_folder();
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_close(r);
    samba_close(n.s);
    n = compiled();
    for (int i = 1; i <= STEPS - 1; i++) samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    static const char *const params[] = { "fc1__weight", "fc1__bias", "fc2__weight", "fc2__bias" };
    for (int i = 0; i < 4; i++) {
        samba_tensor *g = samba_sn_grad(samba_tensor_by_name(n.s, params[i]));
        for (int64_t k = 0; k < samba_count(&g->shape); k++)
            sum += (double)samba_read(g)[k] * (double)samba_read(g)[k];
    }
    CHECK(read_file("log.csv"));
    for (const char *at = text; (at = strstr(at, ",gradient norm,")) != NULL; at++)
        sscanf(at, ",gradient norm,%lf", &noted);
    CHECK(noted > 0 && noted * noted > sum * 0.999999 && noted * noted < sum * 1.000001);
    samba_close(n.s);
}

static uint64_t little(const char *p, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++) x |= (uint64_t)(uint8_t)p[i] << 8 * i;
    return x;
}

static bool crc_is(const char *bytes, size_t n)
{
    uint32_t crc = samba_report__crc((const uint8_t *)bytes, n);
    return ((crc >> 15 | crc << 17) + 0xa282ead8u) == (uint32_t)little(bytes + n, 4);
}

static void test_events(void)
{
    net n = compiled();
    samba_report_opts o = options();
    int records = 0, losses = 0;
    empty_folder();
    o.gradients = 0;
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    float last = samba_read(n.loss)[0], stored = 0;
    CHECK(samba_report_close(r));
    samba_close(n.s);
    CHECK(samba_report__crc((const uint8_t *)"123456789", 9) == 0xe3069283u);
    CHECK(read_file("events.out.tfevents."));
    for (size_t at = 0; at + 16 <= text_size; records++) {
        size_t size = (size_t)little(text + at, 8);
        CHECK(crc_is(text + at, 8) && at + 16 + size <= text_size);
        if (at + 16 + size > text_size) break;
        const char *event = text + at + 12;
        CHECK(crc_is(event, size) && event[0] == 9);            // a wall time, then
        if (!records) CHECK(!memcmp(event + 9, "\x1a\x0d" "brain.Event:2", 15));
        // step, and a summary { value { tag "loss", simple_value } }
        if (records && event[16] == 4 && !memcmp(event + 17, "loss", 4)) {
            losses++;
            CHECK(event[9] == 16 && event[10] == losses && event[11] == 42);
            CHECK(event[13] == 10 && event[15] == 10 && event[21] == 21);
            memcpy(&stored, event + 22, 4);
        }
        at += 16 + size;
    }
    CHECK(records == 1 + 2 * STEPS && losses == STEPS && stored == last);
}

static void test_page(void)
{
    net n = compiled();
    samba_report_opts o = options();
    const float gray[6] = { -1, 0, 1, 1, 3, 0 };
    const samba_report_image image = { gray, 1, 2, 3, -1, 1 };
    empty_folder();
    samba_report *r = samba_report_open(n.s, &o);
    train(&n, r, 0);
    samba_report_prediction(r, 2, 2);
    samba_report_forget(r);
    samba_report_prediction(r, 0, 1);
    samba_report_prediction(r, 1, 1);
    samba_report_prediction(r, 1, C);       // no class: does not count
    samba_report_prediction(r, -1, 0);
    samba_report_sample(r, &image, 0, 1, 0.625);
    CHECK(samba_report_close(r));
    CHECK(read_file("report.html"));
    CHECK(strstr(text, "<title>A &lt;small> net</title>") && strstr(text, "</html>"));
    CHECK(strstr(text, "--flag=&quot;a&lt;b&quot;") && strstr(text, "1 of 2 right"));
    CHECK(count("<svg viewBox=\"0 0 560") == 3);        // loss, lr, gradient norm
    CHECK(count("<figure class=\"small\">") == 4);
    CHECK(count("<td class=\"hit\"") == C && count("<td class=\"miss\"") == C * C - C);
    CHECK(strstr(text, "dog &amp; &lt;bone>&nbsp;62&nbsp;%<br>is cat") != NULL);
    CHECK(!strstr(text, "http://") && !strstr(text, "https://") && !strstr(text, "<script"));
    // A bitmap of 3 x 2: 54 bytes, and rows of 12 with the lower one first, which is all white in
    // two pixels and gray in one.
    CHECK(strstr(text, "base64,Qk1OAAAAAAAAADYAAAAoAAAAAwAAAAIAAAABABgAAAAAABgAAAAAAAAAAAAAAAAA"
                       "AAAAAAAA////////gICAAAAAAAAAgICA////AAAA\"") != NULL);
    samba_close(n.s);
}

// However long it is, a curve keeps its mean and its ends in bounded memory.
static void test_long_curve(void)
{
    net n = compiled();
    samba_report *r = samba_report_open(n.s, NULL);
    double sum = 0;
    for (int i = 0; i < 100000; i++) samba_report_value(r, "ramp", i);
    samba_report__curve *c = samba_report__curve_of(r, "ramp");
    CHECK(c->n < SAMBA_REPORT__POINTS && c->n >= SAMBA_REPORT__POINTS / 2 - 1);
    for (int i = 0; i < c->n; i++) sum += c->value[i];
    double covered = (double)c->n * (double)c->each;    // values 0 ... covered - 1
    CHECK(sum / c->n == (covered - 1) / 2);
    CHECK(c->value[0] == (double)(c->each - 1) / 2);
    for (int i = 0; i < 100; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        samba_report_value(r, name, i);     // more than there may be: the rest is left out
    }
    CHECK(r->n_curves == SAMBA_REPORT__CURVES);
    CHECK(samba_report_close(r));
    samba_close(n.s);
}

static void test_errors(void)
{
    net n = compiled();
    samba_report_opts o = options();
    samba_set_quiet(n.s, true);
    o.folder = "build/none/none";
    CHECK(!samba_report_open(n.s, &o) && samba_error_code(n.s) == SAMBA_EIO);
    CHECK(strstr(samba_error(n.s), "build/none/none") != NULL);
    samba_clear_error(n.s);
    samba_report_step(NULL, 1, 1);
    samba_report_value(NULL, "x", 1);
    samba_report_prediction(NULL, 0, 0);
    samba_report_sample(NULL, NULL, 0, 0, 0);
    samba_report_forget(NULL);
    CHECK(samba_report_close(NULL));
    CHECK(samba_close(n.s) == 0);
}

int main(void)
{
    RUN(test_bits_and_csv);
    RUN(test_gradient_norm);
    RUN(test_events);
    RUN(test_page);
    RUN(test_long_curve);
    RUN(test_errors);
    return test_summary();
}
