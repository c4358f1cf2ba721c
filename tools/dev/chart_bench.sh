#!/bin/sh
# tools/dev/chart_bench.sh ROWS.json >PICTURE.svg: the rows of `make bench` as bars.
# One bar for each row that has a peer: how many times as fast (or small) as the best peer samba is,
# on a logarithmic scale with a line at 1; and what share of the machine's own limit samba reaches.
# It is as narrow as a column of text, so that it can be read on a phone.
[ $# = 1 ] && [ -r "$1" ] || { sed -n 's/^# \{0,1\}//; 2p' "$0" >&2; exit 2; }
awk "$(cat "$(dirname "$0")/bench_row.awk")"'
function text(x, y, anchor, class, words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    gsub(/>/, "\\&gt;", words)
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n", x, y, anchor,
           class, words
}
field("ratio") + 0 > 0 {
    n++
    area[n] = field("area"); what[n] = field("what"); unit[n] = field("unit")
    ratio[n] = field("ratio") + 0; share[n] = field("share") + 0; peer[n] = field("peer")
    mine[n] = field("samba") + 0
    if (share[n] > 0) shares++
}
function line(class, x, top, bottom) {
    printf "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
           class, x, x, top, bottom
}
function style() {
    print "<style>"
    print "text { font: 19px system-ui, sans-serif; fill: #222 } .paper { fill: #fff }"
    print ".head { font-size: 22px; font-weight: 600 } .area { font-weight: 600; fill: #0060b0 }"
    print ".soft { fill: #57606a } .rule { stroke: #ddd } .one { stroke: #555 }"
    print ".more { fill: #2f7d3c } .less { fill: #b5483a } .tie { fill: #888 }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #e8e8e8 } .paper { fill: #16181c } .area { fill: #6cb4ff }"
    print ".soft { fill: #a0a8b4 } .rule { stroke: #343841 } .one { stroke: #8a92a0 }"
    print ".more { fill: #57b368 } .less { fill: #e0776a } }"
    print "</style>"
}
END {
    # Pixels, on a screen as wide: of ratio 1, of a doubling, of a row, its text above its bar.
    middle = 276; scale = 128; row = 48; right = 660
    for (i = 1; i <= n; i++) if (area[i] != area[i - 1]) areas++
    height = 108 + n * row + areas * 40
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 %d\" width=\"680\" ", height
    print "role=\"img\" aria-labelledby=\"title\">"
    print "<title id=\"title\">samba.h against the best peer of each row</title>"
    style()
    print "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>"
    text(20, 32, "start", "head", "samba.h against the best peer of each row")
    text(20, 58, "start", "soft", "Bars to the right of 1x: samba.h is faster, or smaller" \
         (shares ? "; % of the limit" : ""))
    for (x = -2; x <= 3; x++) {
        anchor = x == -2 ? "start" : x == 3 ? "end" : "middle"
        text(middle + x * scale, height - 10, anchor, "soft", 2 ^ x "x")
    }
    y = 72
    for (i = 1; i <= n; i++) {
        if (area[i] != area[i - 1]) {
            y += 40
            text(20, y - 10, "start", "area", area[i])
        }
        long = log(ratio[i]) / log(2)
        shown = long > 3 ? 3 : long < -2 ? -2 : long
        kind = long > 0.14 ? "more" : long < -0.14 ? "less" : "tie"     # 10 %: a tie
        limit = share[i] > 0 ? sprintf(", %.0f %%", 100 * share[i]) : ""
        said = sprintf("%.4g x %s", ratio[i], peer[i]) limit
        value = sprintf(", %.4g ", mine[i]) unit[i]
        fits = length(what[i] value said) < 64
        text(20, y + 18, "start", "", what[i] (fits ? value : ""))
        text(right, y + 18, "end", "", said)
        for (x = -2; x <= 3; x++)       # beside the bars alone: none goes through a text
            line(x ? "rule" : "one", middle + x * scale, y + 26, y + 40)
        printf "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\"/>\n", kind,
               (shown < 0 ? middle + shown * scale : middle), y + 28,
               (shown < 0 ? -shown : shown) * scale
        y += row
    }
    print "</svg>"
}' "$1"
