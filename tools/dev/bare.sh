#!/bin/sh
# tools/dev/bare.sh [COMMAND...]: a Debian that has only git, make and gcc, and in it a clone of
# what is committed here: does each command work there? Without arguments, the two that README
# promises: 'make run' and 'make test'; make bare calls it so. Others, such as 'make learn', can be
# given. Called again, a command must install nothing.
#
# debootstrap makes the folder, build/bare/debian, in about a minute, from where this machine has
# its packages; chroot and namespaces of its own keep what runs there apart from the machine. So it
# wants root and a network. The folder is made anew at each call, unless KEEP=yes. The last line is
# "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
bare=$PWD/build/bare root=$PWD/build/bare/debian log=$PWD/build/bare/log
mkdir -p "$bare" || exit 1
. tests/lib/test.sh
[ $# -gt 0 ] || set -- 'make run' 'make test'

# ---- What it takes ----
stop() {
    echo "$1" >&2
    echo '0 passed, 1 failed'
    exit 1
}
[ "$(id -u)" = 0 ] || stop 'make bare needs root: debootstrap and chroot do. Try: sudo make bare'
if ! have debootstrap; then
    echo 'missing, for make bare: debootstrap, which makes the folder; installing it'
    apt-get -q -y install --no-install-recommends debootstrap >"$log" 2>&1 ||
        stop "debootstrap cannot be installed: $(tail -n 1 "$log")"
fi
have unshare || stop 'make bare needs unshare (Debian: util-linux)'
PATH=$PATH:/sbin:/usr/sbin

# ---- The folder ----
# The archive that this machine uses, and the name of its Debian.
mirror=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "Debian" { print $1; exit }')
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
[ -n "$mirror" ] || stop 'this machine has no archive of Debian in its sources.list'

make_folder() {
    rm -rf --one-file-system "$root"
    debootstrap --variant=minbase --include=git,make,gcc,libc6-dev,ca-certificates \
        "$suite" "$root" "$mirror" || return
    # How the network is reached; what is installed there stays there.
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    for file in /etc/apt/apt.conf.d/*; do
        grep -qiE '^[^/]*(proxy|Check-(Valid-Until|Date))' "$file" &&
            cp "$file" "$root/etc/apt/apt.conf.d/"
    done
    echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/99languages"
}
if ! [ "${KEEP:-}" ] || ! [ -x "$root/usr/bin/make" ]; then
    start=$(date +%s)
    check 'debootstrap makes a Debian with git, make and gcc' make_folder
    [ $failed = 0 ] || finish
    echo "a Debian $suite with git, make and gcc: $(du -sm "$root" | cut -f 1) MB," \
        "$(($(date +%s) - start)) s"
fi
clone() {
    rm -rf "$root/samba" && git clone -q --no-hardlinks . "$root/samba"
}
check 'what is committed is cloned' clone

# ---- The commands ----
# Processes and mounts of a command end with it. It is not asked for anything: there is no input.
in_folder() {
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
        mount -t tmpfs tmpfs "$1/tmp" &&
        exec chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            sh -c "cd /samba && $2" </dev/null' sh "$root" "$1"
}
one_command() {     # one_command COMMAND: how it went, and what it printed last
    said="$bare/$(echo "$1" | tr -c 'a-z0-9\n' _).txt"
    start=$(date +%s)
    in_folder "$1" >"$said" 2>&1
    code=$?
    echo "$1: exit code $code after $(($(date +%s) - start)) s; its last line: $(tail -n 1 "$said")"
    grep 'skipped: ' "$said"
    [ $code = 0 ] || tail -n 40 "$said"
    return $code
}
silent() {          # silent COMMAND: it works and prints nothing
    in_folder "$1" >"$log.silent" 2>&1 || return
    cat "$log.silent"
    ! [ -s "$log.silent" ]
}
for command in "$@"; do
    check "$command works there" one_command "$command"
    cat "$log"
    case $command in "make run" | "make test")
        check "$command installs nothing when it is called again" \
            silent "make -s ready-${command#make }" ;;
    esac
done
finish
