// What emitters of f32 and of int8 both write: the loops over the windows of an image, as texts.
#ifndef WINDOWS_H
#define WINDOWS_H

// For each place of the output: how many rows and columns of taps lie inside the image, and where
// the first of them is. The body that follows sums them.
#define CONVOLUTION_WINDOWS \
    "            for (int oy = 0; oy < s->out[0]; oy++) {\n" \
    "                int top, bottom, left, right, row = oy * s->stride[0] - s->padding[0];\n" \
    "                taps_of(row, s->dilation[0], s->kernel[0], s->side[0], &top, &bottom);\n" \
    "                d.x_channel = plane - (bottom - top) * step[0];\n" \
    "                d.w_channel = taps - (bottom - top) * s->kernel[1];\n" \
    "                for (int ox = 0; ox < s->out[1]; ox++) {\n" \
    "                    int column = ox * s->stride[1] - s->padding[1];\n" \
    "                    taps_of(column, step[1], s->kernel[1], side, &left, &right);\n" \
    "                    d.x = x + row * side + top * step[0] + column + left * step[1];\n" \
    "                    d.w = w + first * k + top * s->kernel[1] + left;\n" \
    "                    d.columns = right - left;\n" \
    "                    d.rows = d.columns > 0 ? bottom - top : 0;\n" \
    "                    d.x_row = step[0] - d.columns * step[1];\n" \
    "                    d.w_row = s->kernel[1] - d.columns;\n" \
    "                    d.y = y++;\n" \
    "                    if (taps == 1 && d.columns && d.rows) { /* channels are like" \
    " columns */\n" \
    "                        d.channels = 1;\n" \
    "                        d.columns = k;\n" \
    "                        d.x_step = plane;\n" \
    "                    }\n"

// For each place of the output: the taps that lie inside the image, and how many count.
#define POOLING_WINDOWS "{\n" POOLING_WINDOWS_INSIDE
#define POOLING_WINDOWS_INSIDE \
    "    for (int p = 0; p < s->planes; p++, x += s->side[0] * s->side[1])\n" \
    "        for (int o = 0; o < s->out[0] * s->out[1]; o++) {\n" \
    "            int at[2], first[2], end[2], size = 1;\n" \
    "            for (int i = 0; i < 2; i++) {\n" \
    "                at[i] = (i ? o % s->out[1] : o / s->out[1]) * s->stride[i] -" \
    " s->padding[i];\n" \
    "                taps_of(at[i], 1, s->kernel[i], s->side[i], &first[i], &end[i]);\n" \
    "                int last = s->side[i] + s->padding[i] - at[i];\n" \
    "                if (last > s->kernel[i]) last = s->kernel[i];\n" \
    "                size *= exclude_padding ? end[i] - first[i] : last;\n" \
    "            }\n"

#endif
