#!/bin/sh
# tests/lib/test.sh: the harness of test scripts, as test.h is that of C programs. They read it
# with `. tests/lib/test.sh`, after log=FILE, which gets what the last command printed.
passed=0 failed=0
have() { command -v "$1" >/dev/null 2>&1; }
check() {           # check 'what holds' command...
    what=$1
    shift
    if "$@" >"$log" 2>&1; then passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $what"
        tail -n 20 "$log"
    fi
}
fails_with() {      # fails_with CODE TEXT command...: exit code and a part of what it prints
    code=$1 text=$2
    shift 2
    "$@" >"$log.said" 2>&1
    got=$?
    cat "$log.said"
    [ $got = "$code" ] && grep -qF -- "$text" "$log.said"
}
# lacks PURPOSE: the packages that tools/dev/install.sh must have for it and that are not here.
lacks() {
    tools/dev/install.sh look "$1" | sed -n 's/^must \([^:]*\):.*/\1/p' | xargs
}
to_file() { file=$1; shift; "$@" >"$file"; code=$?; cat "$file"; return $code; }
# build_with_samba -o PROGRAM FILE...: with the samba.h that was compiled once for all scripts. The
# files use its public functions alone; inside, what they are given first, is for the others.
inside=-Ibuild/inside/hollow
build_with_samba() {
    samba=$(sh tests/lib/samba_object.sh ${CC:-cc} -O1 -DSAMBA_NO_SIMD) || return
    # What an implemented samba.h includes, programs may use.
    how='-DSAMBA__IMPLEMENTED -include stdio.h -include stdlib.h -include string.h'
    case " $* " in *" $inside "*) how=-Wl,--allow-multiple-definition ;; esac  # those of macros
    ${CC:-cc} -std=gnu99 -O0 -DSAMBA_NO_SIMD $how "$@" -I. "$samba" -lm -pthread
}
finish() {          # the last line, and the exit code
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
}
# skip 'what is not run' 'what it takes': says both in one line, for a skip is neither a failure
# nor a pass. tests/run.sh wants this form, and such a line where nothing was tested at all.
skip() { echo "skipped: $1; it takes $2"; }
skip_all() { skip "$@"; finish; }
