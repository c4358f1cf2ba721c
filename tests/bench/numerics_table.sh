#!/bin/sh
# tests/bench/numerics_table.sh FILE...: the tables of NUMERICS.md, of what numerics.c and
# numerics.py have printed; and whether mp1 keeps what is asked of it, in the last lines.
cat "$@" | awk '
function mean(m, mode, column,    s, sum, n) {      # over seeds
    for (s = 1; s <= 3; s++)
        if ((m, mode, s, column) in value) { sum += value[m, mode, s, column]; n++ }
    return n ? sum / n : ""
}
function cell(m, mode, s, column, format) {
    return (m, mode, s, column) in value ? sprintf(format, value[m, mode, s, column]) : "-"
}
{
    if (!(($1, $4) in column_of)) { column_of[$1, $4] = ++columns[$1]; steps[$1, columns[$1]] = $4 }
    value[$1, $2, $3, $4] = $5
}
END {
    n_models = split("lenet resnet8 gpt2", models)
    n_modes = split("mp0 mp1 mp4 torch-f32 torch-autocast", modes)

    print "| net | mode | seed 1 | seed 2 | seed 3 | mean |\n|---|---|---|---|---|---|"
    for (i = 1; i <= n_models; i++) for (k = 1; k <= n_modes; k++) {
        m = models[i]; format = m == "gpt2" ? "%.4f" : "%.2f"
        if (mean(m, modes[k], "final") == "") continue
        printf "| %s | %s |", m, modes[k]
        for (s = 1; s <= 3; s++) printf " %s |", cell(m, modes[k], s, "final", format)
        printf " " format " |\n", mean(m, modes[k], "final")
    }

    for (i = 1; i <= n_models; i++) {
        m = models[i]
        printf "\n| %s, loss at step |", m
        for (c = 1; c <= columns[m]; c++) if (steps[m, c] != "final") printf " %s |", steps[m, c]
        printf "\n|---|"
        for (c = 1; c <= columns[m]; c++) if (steps[m, c] != "final") printf "---|"
        for (k = 1; k <= n_modes; k++) {
            if (mean(m, modes[k], "final") == "") continue
            printf "\n| %s |", modes[k]
            for (c = 1; c <= columns[m]; c++)
                if (steps[m, c] != "final") printf " %.3f |", mean(m, modes[k], steps[m, c])
        }
        print ""
    }

    print ""
    for (i = 1; i <= 2; i++) {
        m = models[i]
        if (mean(m, "mp0", "final") == "" || mean(m, "mp1", "final") == "") continue
        d = mean(m, "mp1", "final") - mean(m, "mp0", "final")
        printf "%s: mp1 is %+.2f points from f32: %s\n", m, d, \
            (d >= -0.2 ? "kept" : "more than 0.2 points below")
    }
    for (c = 1; c <= columns["gpt2"]; c++) {        # within the spread of the seeds of f32?
        low = 1e9; high = -1e9; at = steps["gpt2", c]
        for (s = 1; s <= 3; s++) if (("gpt2", "mp0", s, at) in value) {
            x = value["gpt2", "mp0", s, at]
            if (x < low) low = x
            if (x > high) high = x
        }
        x = mean("gpt2", "mp1", at)
        if (x != "" && high > low)
            printf "gpt2, %s: mp1 %.4f, f32 %.4f to %.4f: %s\n", at, x, low, high, \
                (x < low ? "below" : x > high ? "above" : "within")
    }
}'
