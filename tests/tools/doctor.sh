#!/bin/sh
# tests/tools/doctor.sh: tools/samba doctor tells what a machine has and lacks, installs nothing,
# and works where little is there.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/test/doctor log=build/test/doctor/log
mkdir -p $out
. tests/lib/test.sh
version=$(sed -n 's/^#define SAMBA_VERSION "\(.*\)"$/\1/p' samba.h)

check 'runs' to_file $out/said tools/samba doctor
says() { grep -qE "$1" $out/said; }
check 'says the version of samba.h' says "^samba.h +$version\$"
check 'and which kernels it will run' says '^kernels +[a-z0-9_]+, of portable'
check 'and that arithmetic is exact' says '^arithmetic +rounds to nearest'
check 'and what make run takes' says '^run +(nothing is missing|missing: |optional: )'
check 'refuses what it does not know' fails_with 2 'takes no --fix' tools/samba doctor --fix
lacking=$(lacks tools)
if [ -z "$lacking" ]; then
    check 'stands in the list of commands' fails_with 0 '  doctor ' tools/samba --help
else
    skip 'the list of commands' "$lacking: tools/dev/install.sh tools"
fi

# As if there were no compiler, and none of what is optional.
check 'without a compiler it says so' fails_with 1 'there is no nocc' \
    env CC=nocc tools/samba doctor
check 'and what lacks, by its package' fails_with 1 'missing: gcc: compiles C' \
    env CC=nocc tools/samba doctor
check 'a compiler may be two words' fails_with 0 'compiler ' env CC='env cc' tools/samba doctor
mkdir -p $out/wrong
cat >$out/wrong/cc <<'END'
#!/bin/sh
echo 'samba.h:1: error: planted' >&2
exit 1
END
chmod +x $out/wrong/cc
check 'a compiler that fails is shown' fails_with 1 'error: planted' \
    env CC=$out/wrong/cc tools/samba doctor
finish
