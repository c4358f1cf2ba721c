#!/bin/sh
# tools/dev/chart_bench.sh ROWS.json >PICTURE.svg: the rows of `make bench` as bars.
# One bar for each row that has a peer: how many times as fast (or small) as the best peer samba is,
# on a logarithmic scale, the line in the middle is 1; beside it, what share of the machine's own
# limit samba reaches.
[ $# = 1 ] && [ -r "$1" ] || { sed -n 's/^# \{0,1\}//; 2p' "$0" >&2; exit 2; }
awk "$(cat "$(dirname "$0")/bench_row.awk")"'
function text(x, y, anchor, more, words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    gsub(/>/, "\\&gt;", words)
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more,
           words
}
field("ratio") + 0 > 0 {
    n++
    area[n] = field("area"); what[n] = field("what"); unit[n] = field("unit")
    ratio[n] = field("ratio") + 0; share[n] = field("share") + 0; peer[n] = field("peer")
    mine[n] = field("samba") + 0
    if (share[n] > 0) shares++
}
END {
    middle = 560; scale = 90; row = 18          # pixels: of ratio 1, of a doubling, of a line
    for (i = 1; i <= n; i++) if (area[i] != area[i - 1]) areas++
    height = 60 + n * row + areas * 30
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1040\" height=\"%d\" ", height
    printf "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
    print "fill=\"white\"/>"
    text(20, 24, "start", " font-size=\"16\"",
         "samba.h against the best peer of each row" (shares ? "; right: share of the limit" : ""))
    for (x = -2; x <= 3; x++) {
        printf "<line x1=\"%d\" x2=\"%d\" y1=\"40\" y2=\"%d\" stroke=\"%s\"/>\n",
               middle + x * scale, middle + x * scale, height - 14, (x ? "#ddd" : "#555")
        text(middle + x * scale, height - 2, "middle", " fill=\"#555\"", 2 ^ x "x")
    }
    y = 40
    for (i = 1; i <= n; i++) {
        if (area[i] != area[i - 1]) {
            y += 24
            text(20, y - 4, "start", " font-weight=\"bold\"", area[i])
            y += 6
        }
        long = log(ratio[i]) / log(2)
        shown = long > 3 ? 3 : long < -2 ? -2 : long
        color = long > 0.14 ? "#3a7d44" : long < -0.14 ? "#b5483a" : "#888888"     # 10 %: a tie
        printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
               (shown < 0 ? middle + shown * scale : middle), y + 2,
               (shown < 0 ? -shown : shown) * scale, row - 5, color
        text(370, y + 13, "end", "", what[i] sprintf("  %.4g ", mine[i]) unit[i])
        text(middle + 3 * scale + 12, y + 13, "start", "", sprintf("%.2f x %s", ratio[i], peer[i]))
        if (share[i] > 0)
            text(1030, y + 13, "end", " fill=\"#555\"", sprintf("%.0f %%", 100 * share[i]))
        y += row
    }
    print "</svg>"
}' "$1"
