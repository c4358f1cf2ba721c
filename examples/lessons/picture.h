// picture.h: what a lesson has computed, as a picture. It is an SVG file, text that browsers draw,
// and a lesson writes it if it is told where: ./lesson picture.svg
//
//     picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "Title", "What one sees, in words");
//     picture_axes(&p, 0, 10, -1, 1, "step", "loss");      // the first of 2 panels, and its ranges
//     picture_line(&p, x, y, 11, "training");              // NULL: without a name
//     picture_axes(&p, 0, 3, 4, 0, "column", "row");       // the second; 4, 0: row 0 is on top
//     picture_cells(&p, matrix, 4, 3, 1);                  // 1 is darkest
//     picture_close(&p);
//
// Without a path all of them do nothing. Who cannot see the picture has its words, and the number
// of each cell and dot; text_bar and text_cells draw on the terminal.
#ifndef PICTURE_H
#define PICTURE_H
#include <math.h>
#include <stdio.h>

enum { PANEL_W = 330, PANEL_H = 250, PANEL_LEFT = 66, PANEL_TOP = 80, PANEL_STEP = 426 };

typedef struct picture {
    FILE *file;
    int panels, series;    // begun so far; each series has its own look
    double x0, x1, y0, y1; // what the sides of the panel stand for
} picture;

// In SVG, < begins a tag and & a special character.
static inline void picture_text(picture *p, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", p->file);
        else if (*text == '&')
            fputs("&amp;", p->file);
        else
            fputc(*text, p->file);
    }
}

// How the classes look, on light and dark screens. Series differ by more than their colours.
static const char picture_style[]
    = "<style>\nsvg { background: #fff } text { font: 13px sans-serif; fill: #222 }\n"
      ".frame { fill: none; stroke: #888 } .line, .dot { fill: none; stroke-width: 2 }\n"
      ".s0 { stroke: #0060b0 } .s1 { stroke: #b84600 } .s2 { stroke: #00785a }\n"
      ".s3 { stroke: #8a3a8f } .line.s1 { stroke-dasharray: 7 3 }\n"
      ".line.s2 { stroke-dasharray: 2 3 } .line.s3 { stroke-dasharray: 12 3 3 3 }\n"
      ".plus { fill: #0060b0 } .minus { fill: #b84600 } @media (prefers-color-scheme: dark) {\n"
      "svg { background: #16181c } text { fill: #e8e8e8 } .s0 { stroke: #6cb4ff }\n"
      ".s1 { stroke: #ffa060 } .s2 { stroke: #4fd0a8 } .s3 { stroke: #dc9be0 }\n"
      ".plus { fill: #6cb4ff } .minus { fill: #ffa060 } }\n</style>\n";

static inline picture picture_open(const char *path, int panels, const char *title,
                                   const char *words)
{
    picture p = { path ? fopen(path, "w") : NULL, 0, 0, 0, 1, 0, 1 };
    if (path && !p.file) fprintf(stderr, "%s cannot be written\n", path);
    if (!p.file) return p;
    int width = panels * PANEL_STEP, height = PANEL_TOP + PANEL_H + 52;
    fprintf(p.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\""
            " role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">",
            width, height, width);
    picture_text(&p, title);
    fputs("</title>\n<desc id=\"d\">", p.file);
    picture_text(&p, words);
    fprintf(p.file, "</desc>\n%s<text style=\"font-size: 17px\" x=\"24\" y=\"30\">", picture_style);
    picture_text(&p, title);
    fputs("</text>\n", p.file);
    return p;
}

// Where x and y lie in the panel, in pixels; SVG counts y downward.
static inline double picture_x(const picture *p, double x)
{
    return (x - p->x0) / (p->x1 - p->x0) * PANEL_W;
}

static inline double picture_y(const picture *p, double y)
{
    return (p->y1 - y) / (p->y1 - p->y0) * PANEL_H;
}

// A text at a pixel of the panel, which is its "start", "middle" or "end".
static inline void picture_at(picture *p, double x, double y, const char *anchor, const char *text)
{
    if (!p->file) return;
    fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    picture_text(p, text);
    fputs("</text>\n", p->file);
}

// A text at a place of the axes.
static inline void picture_label(picture *p, double x, double y, const char *text)
{
    picture_at(p, picture_x(p, x), picture_y(p, y) + 4, "middle", text);
}

// In how many parts marks divide an axis: whole numbers, if 3 to 8 parts make them.
static inline int picture_parts(double range)
{
    for (int n = 8; n >= 3; n--)
        if (fmod(range, n) == 0) return n;
    return 4;
}

// The next panel. Its left side stands for x0, the right one for x1, bottom y0, top y1.
static inline void picture_axes(picture *p, double x0, double x1, double y0, double y1,
                                const char *x_label, const char *y_label)
{
    if (!p->file) return;
    fprintf(p->file, "%s<g transform=\"translate(%d %d)\">\n", p->panels ? "</g>\n" : "",
            PANEL_LEFT + p->panels * PANEL_STEP, PANEL_TOP);
    fprintf(p->file, "<rect class=\"frame\" width=\"%d\" height=\"%d\"/>\n", PANEL_W, PANEL_H);
    *p = (picture){ p->file, p->panels + 1, 0, x0, x1, y0, y1 };
    char number[32];
    for (int i = 0, n = picture_parts(x1 - x0); i <= n; i++) {
        snprintf(number, sizeof number, "%.4g", x0 + i * ((x1 - x0) / n));
        picture_at(p, PANEL_W * i / n, PANEL_H + 18, "middle", number);
    }
    for (int i = 0, n = picture_parts(y1 - y0); i <= n; i++) {
        snprintf(number, sizeof number, "%.4g", y0 + i * ((y1 - y0) / n));
        picture_at(p, -8, PANEL_H - PANEL_H * i / n + 4, "end", number);
    }
    picture_at(p, PANEL_W / 2.0, PANEL_H + 38, "middle", x_label);
    picture_at(p, -PANEL_LEFT + 4, -14, "start", y_label);
}

static const char *const picture_dot[] = { "m-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0z", "m-4,-4h8v8h-8z",
                                           "m0,-5l5,5l-5,5l-5,-5z", "m0,-5l5,8h-10z" };

// The next series, of class "line" or "dot"; its name stands above the panel. Returns its number.
static inline int picture_series(picture *p, const char *class, const char *name)
{
    int s = p->series++ % 4;
    if (!name) return s;
    fprintf(p->file, "<path class=\"%s s%d\" d=\"M%d,-18%s\"/>\n", class, s, 30 + 112 * s,
            *class == 'l' ? "h20" : picture_dot[s]);
    picture_at(p, 54 + 112 * s - 10 * (*class == 'd'), -14, "start", name);
    return s;
}

static inline void picture_line(picture *p, const float *x, const float *y, int n, const char *name)
{
    if (!p->file) return;
    int s = picture_series(p, "line", name);
    fprintf(p->file, "<polyline class=\"line s%d\" points=\"", s);
    for (int i = 0; i < n; i++)
        fprintf(p->file, "%.1f,%.1f ", picture_x(p, x[i]), picture_y(p, y[i]));
    fputs("\"/>\n", p->file);
}

static inline void picture_dots(picture *p, const float *x, const float *y, int n, const char *name)
{
    if (!p->file) return;
    int s = picture_series(p, "dot", name);
    for (int i = 0; i < n; i++) {
        fprintf(p->file,
                "<path class=\"dot s%d\" d=\"M%.1f,%.1f%s\"><title>%.3g, %.3g</title>"
                "</path>\n",
                s, picture_x(p, x[i]), picture_y(p, y[i]), picture_dot[s], (double)x[i],
                (double)y[i]);
    }
}

// A heat map that fills the panel: the darker, the farther from 0; below it in another colour.
static inline void picture_cells(picture *p, const float *v, int rows, int columns, float most)
{
    double w = (double)PANEL_W / columns, h = (double)PANEL_H / rows;
    for (int i = 0; p->file && i < rows * columns; i++) {
        int row = i / columns, column = i % columns;
        fprintf(p->file, "<rect class=\"%s\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" ",
                v[i] < 0 ? "minus" : "plus", fabs((double)v[i]) / most, column * w, row * h);
        fprintf(p->file,
                "width=\"%.1f\" height=\"%.1f\"><title>row %d, column %d: %.4g</title>"
                "</rect>\n",
                w, h, row, column, (double)v[i]);
    }
}

static inline void picture_close(picture *p)
{
    if (!p->file) return;
    fputs(p->panels ? "</g>\n</svg>\n" : "</svg>\n", p->file);
    fclose(p->file);
    p->file = NULL;
}

// On the terminal: a value as a bar of at most 40 signs.
static inline void text_bar(const char *name, double value, double most)
{
    int n = (int)(value / most * 40);
    printf("%-9s %.*s %.3g\n", name, n, "########################################", value);
}

// A matrix on the terminal, two signs for a number: blank is least, @ is most.
static inline void text_cells(const float *v, int rows, int columns, float least, float most)
{
    for (int i = 0; i < rows * columns; i++) {
        int dark = (int)((v[i] - least) / (most - least) * 9.99f);
        char sign = " .:-=+*#%@"[dark < 0 || dark > 9 ? 9 * (dark > 9) : dark];
        printf("%s%c%c", i % columns ? "" : "  ", sign, sign);
        if (i % columns == columns - 1) printf("\n");
    }
}
#endif
