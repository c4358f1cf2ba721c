#!/bin/sh
# tools/dev/compare_bench.sh BEFORE.json AFTER.json: what changed between two runs of `make bench`.
# Prints, for each row that both have: before, after, and how many times better it has become; a
# difference under 10 % is a tie. "better" has the sign right for times and memory, too. The ratio
# to the best peer is beside it: where the machine itself was slower, only that one tells.
[ $# = 2 ] && [ -r "$1" ] && [ -r "$2" ] || { sed -n 's/^# \{0,1\}//; 2,5p' "$0" >&2; exit 2; }
awk "$(cat "$(dirname "$0")/bench_row.awk")"'
{
    key = field("area") "|" field("what") "|" field("unit") "|" field("threads")
    value = field("samba") + 0
}
value <= 0 { next }
FNR == NR { before[key] = value; peer[key] = field("ratio") + 0; next }
!(key in before) { lonely++; next }
{
    seen[key] = 1
    split(key, part, "|")
    less = part[3] == "ms" || part[3] == "s" || part[3] == "MiB" || part[3] == "KiB"
    better = less ? before[key] / value : value / before[key]
    if (part[1] != area) {
        area = part[1]
        printf "\n%-38s %-9s %11s %11s %7s   %s\n", area, "unit", "before", "after", "better",
               "to the best peer"
    }
    tie = better < 1.1 && better > 1 / 1.1
    ratio = field("ratio") + 0
    printf "%-38s %-9s %11.4g %11.4g %7.2f %s", part[2], part[3], before[key], value, better,
           (tie ? "=" : better > 1 ? "+" : "-")
    if (ratio > 0 && peer[key] > 0) printf " %.2f -> %.2f", peer[key], ratio
    printf "\n"
    n++; sum += log(better)
    if (tie) ties++
    else if (better > 1) up++
    else down++
}
END {
    for (key in before) if (!(key in seen)) lonely++
    if (!n) { print "no row is in both files"; exit 1 }
    printf "\n%d rows: %d better, %d worse, %d ties (under 10 %%); geometric mean %.3f\n", n, up,
           down, ties, exp(sum / n)
    if (lonely) printf "%d rows are in one file only\n", lonely
}' "$1" "$2"
