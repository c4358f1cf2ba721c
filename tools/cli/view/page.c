// The page: index.html of the viewer, in which each mark is replaced by what it names.
#include "page.h"
#include "traffic.h"
#include "tools/cli/util/text.h"
#include "build/view_page.h" // page_files: the texts of tools/cli/view/page
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- Values -------------------------------------------------------------------------------------

static void write_base64(FILE *to, const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)p[i] << 16;
        if (have > 1) bits |= (uint32_t)p[i + 1] << 8;
        if (have > 2) bits |= p[i + 2];
        line[used++] = digits[bits >> 18];
        line[used++] = digits[bits >> 12 & 63];
        line[used++] = have > 1 ? digits[bits >> 6 & 63] : '=';
        line[used++] = have > 2 ? digits[bits & 63] : '=';
        if (used == sizeof line) {
            fwrite(line, 1, used, to);
            used = 0;
        }
    }
    fwrite(line, 1, used, to);
}

void write_blocks(FILE *to, const capture *c, int32_t first)
{
    for (int32_t i = 0; i < c->n_blocks; i++) {
        const block *b = &c->blocks[i];
        if (b->n == 0) continue;
        for (int64_t k = 0; k < b->n; k++) { // little-endian, in place
            uint32_t w = b->words[k];
            unsigned char *p = (unsigned char *)&b->words[k];
            for (int j = 0; j < 4; j++)
                p[j] = (unsigned char)(w >> 8 * j);
        }
        fprintf(to, "<script type=\"text/plain\" id=\"v%d\">", first + i);
        write_base64(to, (const unsigned char *)b->words, (size_t)b->n * 4);
        fputs("</script>\n", to);
    }
}

// ---- What reads well without scripts ------------------------------------------------------------

static void write_fact(FILE *to, const char *name, const char *format, ...) LIKE_PRINTF(3, 4);

static void write_fact(FILE *to, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(to, "<div><dt>%s</dt><dd>", name);
    fputs(in_html(text), to);
    fputs("</dd></div>\n", to);
}

// 1234567 as 1,234,567.
static const char *grouped(char text[32], int64_t n)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
    for (int i = 0; i < length && at < 30; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

static void write_number(FILE *to, int64_t n)
{
    char text[32];
    fprintf(to, "<td class=\"number\">%s</td>", grouped(text, n));
}

static void write_seconds(FILE *to, double seconds)
{
    if (seconds < 1e-3)
        fprintf(to, "<td class=\"number\">%.1f µs</td>", seconds * 1e6);
    else if (seconds < 1.0)
        fprintf(to, "<td class=\"number\">%.2f ms</td>", seconds * 1e3);
    else
        fprintf(to, "<td class=\"number\">%.2f s</td>", seconds);
}

static void write_row(FILE *to, const page_data *d, int32_t i)
{
    const section *q = &d->model->sections[i];
    int64_t flops = 0, bytes = 0;
    for (int32_t k = q->first; k < q->first + q->n; k++) {
        flops += is_view(d->model, k) ? 0 : d->model->nodes[k].flops;
        bytes += bytes_of(d->model, k);
    }
    fprintf(to, "<tr><td class=\"number\">%d</td><td>%s</td>", i, section_name(q->type));
    write_number(to, q->n);
    write_number(to, flops);
    write_number(to, bytes);
    if (d->times->section) write_seconds(to, d->times->section[i]);
    fputs("</tr>\n", to);
}

static void write_heads(FILE *to, bool timed)
{
    static const char *const names[] = { "No.", "Type", "Nodes", "FLOPs", "Bytes", "Time" };
    fputs("<div class=\"scroll\" tabindex=\"0\"><table><caption>Sections</caption>\n<thead><tr>",
          to);
    for (int i = 0; i < (timed ? 6 : 5); i++)
        fprintf(to, "<th%s scope=\"col\">%s</th>", i == 1 ? "" : " class=\"number\"", names[i]);
    fputs("</tr></thead>\n<tbody>\n", to);
}

void write_summary(FILE *to, const page_data *d)
{
    const model *m = d->model;
    char text[32];
    fputs("<dl class=\"facts\">\n", to);
    write_fact(to, "Nodes", "%s", grouped(text, m->pef.n_nodes));
    write_fact(to, "Tensors", "%s", grouped(text, m->pef.n_symbols));
    write_fact(to, "Sections", "%s", grouped(text, m->pef.n_sections));
    write_fact(to, "Bytes of memory", "%s", grouped(text, (int64_t)d->memory->promised));
    write_fact(to, "Steps shown", "%s", grouped(text, d->n_steps));
    if (d->losses && d->n_steps > 0)
        write_fact(to, m->is_drawn ? "Loss, of random data" : "Loss", m->is_drawn ? "%.3g" : "%.7g",
                   d->losses[d->n_steps - 1]);
    fputs("</dl>\n", to);
    write_heads(to, d->times->section != NULL);
    for (int32_t i = 0; i < m->pef.n_sections; i++)
        write_row(to, d, i);
    fputs("</tbody></table></div>\n<p class=\"note\"><code>", to);
    fputs(in_html(d->command), to);
    fputs("</code></p>\n", to);
}

// ---- The file -----------------------------------------------------------------------------------

static const char *find_file(const char *name, size_t n)
{
    for (size_t i = 0; page_files[i].name; i++)
        if (strncmp(page_files[i].name, name, n) == 0 && !page_files[i].name[n])
            return page_files[i].text;
    return NULL;
}

// The texts of the files that are named in a mark, "A.js B.js".
static bool write_files(FILE *to, const char *names, const char *end, fault *why)
{
    while (names < end) {
        while (names < end && *names == ' ')
            names++;
        size_t n = strcspn(names, " ");
        if (names + n > end) n = (size_t)(end - names);
        if (n == 0 || names >= end) break;
        const char *text = find_file(names, n);
        if (!text) return fail(why, "index.html names %.*s, which the page has not", (int)n, names);
        fputs(text, to);
        names += n;
    }
    return true;
}

// Is the mark from name to end, "NAME" or "NAME WORDS", of this name?
static bool is_mark(const char *name, const char *end, const char *wanted)
{
    size_t n = strlen(wanted);
    bool begins = (size_t)(end - name) >= n && strncmp(name, wanted, n) == 0;
    return begins && (name + n == end || name[n] == ' ');
}

// What stands in the place of the mark whose text is from name to end.
static bool write_mark(FILE *to, const char *name, const char *end, const page_data *d, fault *why)
{
    static const char style[] = "style.css";
    if (is_mark(name, end, "style")) return write_files(to, style, style + strlen(style), why);
    if (is_mark(name, end, "script")) return write_files(to, name + strlen("script"), end, why);
    if (is_mark(name, end, "title"))
        fputs(in_html(d->title), to);
    else if (is_mark(name, end, "summary"))
        write_summary(to, d);
    else if (is_mark(name, end, "values")) {
        write_blocks(to, d->capture, 0);
        if (d->other) write_blocks(to, d->other, d->capture->n_blocks);
    } else if (is_mark(name, end, "data")) {
        fputs("<script type=\"application/json\" id=\"data\">", to);
        write_data(to, d);
        fputs("</script>\n", to);
    } else
        return fail(why, "index.html has the mark %.*s, which nobody knows", (int)(end - name),
                    name);
    return true;
}

static bool write_parts(FILE *to, const page_data *d, fault *why)
{
    const char *p = find_file("index.html", 10);
    if (!p) return fail(why, "the viewer has no index.html");
    for (;;) {
        const char *mark = strstr(p, "<!--");
        const char *end = mark ? strstr(mark, "-->") : NULL;
        if (!end) break;
        fwrite(p, 1, (size_t)(mark - p), to);
        if (!write_mark(to, mark + 4, end, d, why)) return false;
        p = end + 3;
    }
    fputs(p, to);
    return true;
}

// index.html has it, in front of all that comes from a model.
static const char mark[] = "content=\"tools/samba view\"";

bool may_write_page(const char *path, fault *why)
{
    return samba_base_may_replace(path, mark, why->text, sizeof why->text);
}

bool write_page(const char *path, const page_data *d, int64_t *size, fault *why)
{
    samba_base_output out;
    if (!samba_base_begin(&out, path, mark, why->text, sizeof why->text)) return false;
    bool fine = write_parts(out.file, d, why);
    *size = ftell(out.file);
    if (fine && *size < 0) fine = fail_errno(why, "its size cannot be told", path);
    return samba_base_end(&out, fine, why->text, sizeof why->text);
}
