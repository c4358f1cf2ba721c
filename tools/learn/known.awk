# tools/learn/known.awk: awk -f known.awk SOLUTION MISTAKES prints C in which the functions of a
# solution stand once as they are, and once for each mistake: as function_0, function_1 and so on.
# Whoever calls the function calls the one that judge_known.variant says. With -v only=K it prints
# the solution with the change of the K-th mistake. The top of judge.sh describes the format of a
# file of mistakes.

# ---- A change of the text ----
function replaced(text, old, new,    at, out, n) {
    if (old == "") return ""
    for (; (at = index(text, old)) > 0; n++) {
        out = out substr(text, 1, at - 1) new
        text = substr(text, at + length(old))
    }
    return n ? out text : ""
}
function changed(text, change,    parts, n, i, at) {
    gsub(/\\n/, "\n", change)
    n = split(change, parts, " ;; ")
    for (i = 1; i <= n && text != ""; i++) {
        at = index(parts[i], " => ")
        if (!at) return ""
        text = replaced(text, substr(parts[i], 1, at - 1), substr(parts[i], at + 4))
    }
    return text
}

# ---- A text in pieces: functions, and all else (types, constants, headers, declarations) ----
function begins_function(line) {
    if (line !~ /^[A-Za-z_].*\(/ || line ~ /^typedef/) return 0
    return !index(line, "=") || index(line, "=") > index(line, "(")
}
function name_of(line) {
    line = substr(line, 1, index(line, "(") - 1)
    match(line, /[A-Za-z_][A-Za-z_0-9]*$/)
    return substr(line, RSTART)
}
# Sets piece[1 ... n], and name[i] of a function; "" for all else. Returns n.
function cut(text,    lines, count, i, n, open) {
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        if (open == "" && lines[i] ~ /^[ \t]*$/) continue
        if (open == "") {
            piece[++n] = ""
            name[n] = ""
            open = begins_function(lines[i]) ? "head" : "other"
            if (open == "head") name[n] = name_of(lines[i])
        }
        piece[n] = piece[n] lines[i] "\n"
        if (open == "head" && lines[i] ~ /;$/ && lines[i] !~ /\{/) {
            name[n] = ""                    # a declaration
            open = ""
        } else if (open == "head" && lines[i] ~ /\{/) {
            open = lines[i] ~ /\}$/ ? "" : "body"
        } else if (open == "body" && lines[i] ~ /^\}/) {
            open = ""
        } else if (open == "other" && (lines[i] ~ /^#/ || lines[i] ~ /^[^ ].*;$/)) {
            open = ""
        }
    }
    return n
}

# ---- C ----
function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}
# What is no function stands there once; of a mistake, only what the solution has not.
function print_variant(text, number,    n, i) {
    n = cut(text)
    for (i = 1; i <= n; i++)
        if (name[i] != "") print "#define " name[i] " " name[i] "_" number
    for (i = 1; i <= n; i++)
        if (name[i] != "" || !(piece[i] in shared)) {
            print piece[i]
        }
    for (i = 1; i <= n; i++)
        if (name[i] != "") print "#undef " name[i]
}
function print_solution(    n, i) {
    n = cut(solution)
    for (i = 1; i <= n; i++) {
        if (name[i] != "") functions[++n_functions] = name[i]
        else {
            shared[piece[i]] = 1
            print piece[i]
        }
    }
    print_variant(solution, 0)
}
function print_mistakes(    v, text) {
    for (v = 1; v <= n_mistakes; v++) {
        text = change[v] == "" ? solution : changed(solution, change[v])
        print "#line " line[v] " " quoted(FILENAME)
        if (text == "") print "#error \"" mistake[v] ": the solution has no such text\""
        else print_variant(text, v)
    }
}
function print_calls(    f, v) {
    for (f = 1; f <= n_functions; f++) {
        print "static __typeof__(" functions[f] "_0) *const known_" functions[f] "[] = {"
        for (v = 0; v <= n_mistakes; v++) print "    " functions[f] "_" v ","
        print "};"
    }
    for (f = 1; f <= n_functions; f++)
        print "#define " functions[f] " known_" functions[f] "[judge_known.variant]"
}
function print_names(    v) {
    print "static const struct {"
    print "    const char *name, *sentence;"
    print "    int changed;"
    print "} judge_listed[] = {"
    print "    { \"solution\", \"\", 0 },"
    for (v = 1; v <= n_mistakes; v++)
        print "    { " quoted(mistake[v]) ", " quoted(sentence[v]) ", " (change[v] != "") " },"
    print "};"
}

NR == FNR {                                 # the solution, without the comment at its top
    if ($0 !~ /^\/\//) solution = solution $0 "\n"
    next
}
/^[A-Za-z]/ {                               # name: old => new
    if (said) group = n_mistakes + 1        # a sentence belongs to all lines above it
    said = 0
    if (!group) group = 1
    at = index($0, ":")
    mistake[++n_mistakes] = substr($0, 1, at - 1)
    if (mistake[n_mistakes] != mistake[n_mistakes - 1]) group = n_mistakes
    change[n_mistakes] = substr($0, at + 2)
    line[n_mistakes] = FNR
    next
}
/^    / {
    sub(/^ */, "")
    for (i = group; i <= n_mistakes; i++)
        sentence[i] = sentence[i] (sentence[i] == "" ? "" : " ") $0
    said = 1
}
END {
    if (only) {
        printf "%s", changed(solution, change[only])
        exit
    }
    print_solution()
    print_mistakes()
    print_calls()
    print_names()
    print "#include \"known.h\""
}
