# Finds calls of which two arguments call ops themselves. C does not say which is evaluated first, so
# that compilers would trace them in another order, and one's PEF would not be the other's.
#     awk -v ops="$(...)" -f tools/dev/argument_order.awk FILE ...
# ops: the functions that trace or make leaves, separated by blanks.
BEGIN { n = split(ops, list, " "); for (i = 1; i <= n; i++) is_op[list[i]] = 1 }
FNR == 1 { depth = 0; in_comment = 0 }
{
    line = $0
    gsub(/\\./, "__", line)
    gsub(/"[^"]*"/, "0", line)
    gsub(/'[^']*'/, "0", line)
    gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
    if (in_comment) {
        if (!match(line, /\*\//)) next
        line = substr(line, RSTART + 2)
        in_comment = 0
    }
    sub(/\/\/.*/, "", line)
    if (match(line, /\/\*/)) { line = substr(line, 1, RSTART - 1); in_comment = 1 }
    if (line ~ /^#/) next
    walk(line)
}

# Each open parenthesis is a frame: whose call it is, how many of its arguments had ops, and whether
# this one has. What stands in braces or brackets belongs to the argument.
function walk(line,    word, c, k)
{
    while (line != "") {
        if (match(line, /^[A-Za-z_][A-Za-z_0-9]*/)) {
            word = substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
            last = word
            continue
        }
        c = substr(line, 1, 1)
        line = substr(line, 2)
        if (c == "(") {
            for (k = 1; k <= depth && is_op[last]; k++) has[k] = 1
            depth++
            name[depth] = last; count[depth] = has[depth] = braces[depth] = 0; at[depth] = FNR
        } else if (c ~ /[\[{]/) braces[depth]++
        else if (c ~ /[\]}]/) braces[depth]--
        else if (c == "," && depth && !braces[depth]) { count[depth] += has[depth]; has[depth] = 0 }
        else if (c == ")" && depth) {
            if (count[depth] + has[depth] > 1 && name[depth] ~ /[a-z]/ && name[depth] !~ /^(if|while|for|return)$/)
                print FILENAME ":" at[depth] ": two arguments of " name[depth] \
                    " call ops: make one of them in a statement before"
            depth--
        } else if (c == ";" && depth && name[1] != "for") depth = 0
        if (c != " ") last = ""
    }
}
