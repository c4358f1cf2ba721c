# awk -v bodies=yes|no -f tests/lib/inside.awk samba.h: samba.h as tests that look inside it are
# built. Once with bodies, compiled for all of them: its functions are not static there. And for
# each test without the bodies, which takes a second where samba.h takes fifteen. Lines keep their
# numbers. tests/run.sh writes both; make mutants has the same in Python.

# Variables without a value, and the table of ops, are those of the other file.
function outside(line) {
    word = bodies == "yes" ? "" : "extern "
    return word substr(line, length("static ") + 1)
}

# What macros make keeps its body in both files: where it is inline as in GNU C89, it is compiled in
# the first one alone.
/^#define SAMBA__(FN|NOINLINE) static __attribute__/ {
    sub(/ static /, bodies == "yes" ? " " : " extern __inline__ ")
    if (bodies == "no") sub(/\(\((noinline, )?/, "((gnu_inline, ")
    print
    next
}
/^static [^(={]*;$/ {
    print outside($0)
    next
}
/^static const samba_op samba__op_table\[/ {
    table = bodies == "no"
    line = outside($0)
    if (table) sub(/ = .*/, ";", line)
    print line
    next
}
table {                                 # the rest of its rows
    table = !/;$/
    print ""
    next
}
bodies == "yes" {
    print
    next
}

# A function that is not static: its head, which ends with a brace at the left edge, or with a ;.
/^(SAMBA__VECTORIZED )?(SAMBA__FN|SAMBA__NOINLINE|SAMBA_API|SAMBA__OP_API) / { head = 1 }
head && /^\{$/ {
    print ";"
    head = 0
    body = 1
    next
}
body {
    body = !/^\}/
    # gcc warns of such an inline function that calls static ones, but not in headers of the system.
    print quiet++ ? "" : "#pragma GCC system_header"
    next
}
{
    if (/;$/) head = 0
    print
}
