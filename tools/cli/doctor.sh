#!/bin/sh
# tools/samba doctor: what this machine has, which kernels samba.h will run on it, and what is
# missing for what; nothing is installed. Exit code 1 if samba.h cannot be compiled, or computes
# wrongly here.
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
case ${2:-} in
'') ;;
--help | -h)
    sed -n '2,4s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
*)
    echo "samba: doctor takes no $2" >&2
    exit 2
    ;;
esac
CC=${CC:-cc}
have() { command -v "$1" >/dev/null 2>&1; }
row() { printf '%-12s %s\n' "$1" "$2"; }

# ---- The machine ----
model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.1f GB of memory", $2 / 1e6 }' /proc/meminfo 2>/dev/null)
count=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo '?')
row machine "$(uname -s) on $(uname -m)${model:+, $model}"
row processors "$count${memory:+, $memory}"

# ---- What samba.h makes of it ----
code=0
if have "${CC%% *}"; then           # it may be two words, such as ccache gcc
    row compiler "$($CC --version 2>/dev/null | head -n 1)"
    program=$(mktemp) || exit 1
    trap 'rm -f "$program" "$program.log"' EXIT
    # Static functions that nothing uses are dropped before they are optimized: 2 s instead of 12.
    if $CC -O1 -DSAMBA_STATIC -I"$root" -o "$program" "$root/tools/cli/doctor.c" -lm -pthread \
        >"$program.log" 2>&1
    then
        "$program" || code=1
    else
        row samba.h 'cannot be compiled here:'
        head -n 5 "$program.log"
        code=1
    fi
else
    row compiler "none: there is no $CC (Debian: apt-get install gcc libc6-dev)"
    code=1
fi

# ---- What is missing, for each of the make targets ----
echo
for purpose in run gpt test tools onnx view docs device web bench fuzz; do
    missing=$(sh "$root/tools/dev/install.sh" look $purpose)
    if [ -z "$missing" ]; then
        row "$purpose" 'nothing is missing'
        continue
    fi
    echo "$missing" | while read -r level package why; do
        case $level in
        must) row "$purpose" "missing: $package $why" ;;
        may) row "$purpose" "optional: $package $why" ;;
        esac
    done
done
echo
echo 'tools/dev/install.sh NAME installs what is missing; so do the make targets themselves.'
exit $code
