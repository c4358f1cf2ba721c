# Reads a row that a benchmark wrote: one JSON object in one line.
function field(name,    at, rest) {         # the value of "name": in this line, without its quotes
    at = index($0, "\"" name "\": ")
    if (!at) return ""
    rest = substr($0, at + length(name) + 4)
    if (substr(rest, 1, 1) == "\"") return substr(rest, 2, index(substr(rest, 2), "\"") - 1)
    sub(/[,}].*/, "", rest)
    return rest
}
