#!/bin/sh
# tests/tools/parallel.sh: data parallel training over MPI. Ranks train to the bytes of as many
# replicas in one process; one that fails or is killed ends the job, and its checkpoint goes on
# from there. Needs mpicc and mpirun (Debian: libopenmpi-dev, openmpi-bin). Ends with "N passed, N
# failed".
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/test/mpi
log=$out/log
data=${DATA:-/usr/share/datasets/fashion-mnist}
mkdir -p $out || exit 1
. tests/lib/test.sh

have mpicc && have mpirun ||
    skip_all 'replicas over MPI' 'mpicc and mpirun: apt-get install libopenmpi-dev openmpi-bin'
rm -f $out/*

ranks() {           # ranks N command...: without bindings, so that they share what there is
    n=$1
    shift
    timeout 120 mpirun --allow-run-as-root --oversubscribe --bind-to none -np $n "$@"
}
# samba.h itself is that of the C tests, and knows nothing of MPI.
samba=$(sh tests/lib/samba_object.sh "${CC:-cc}" -O2)
build() {           # build COMPILER PROGRAM FILE...
    compiler=$1 program=$2
    shift 2
    "$compiler" -O1 -DSAMBA__IMPLEMENTED -include stdio.h -include stdlib.h -include string.h -I. \
        -o "$program" "$@" "$samba" -lm -pthread -lz
}
check 'builds without MPI' build "${CC:-cc}" $out/threads tests/tools/parallel.c
check 'builds with MPI' build mpicc $out/mpi -DSAMBA_MPI tests/tools/parallel.c
[ $failed = 0 ] || finish

# ---- The same bits ----
for n in 2 4; do
    check "$n replicas train" $out/threads train $n normal host 10 $out/threads$n
done
same() {            # same WHAT RANKS REPLICAS_OF_EACH MODE PLACE
    n=$(($2 * $3))
    rm -f $out/mpi$n
    check "$1: trains" ranks $2 $out/mpi train $3 $4 $5 10 $out/mpi$n
    check "$1: the same bytes" cmp $out/threads$n $out/mpi$n
}
same '2 ranks, normal' 2 1 normal host
same '2 ranks, inorder' 2 1 inorder rdu
same '4 ranks, normal' 4 1 normal rdu
same '4 ranks, inorder' 4 1 inorder host
same '4 ranks, optimal' 4 1 optimal host
same '2 ranks of 2 replicas' 2 2 optimal rdu
check 'refuses a number of replicas that makes another tree' \
    fails_with 1 'a power of two' ranks 2 $out/mpi train 3 normal host 10 $out/refused

# ---- The end of the job ----
check 'trains to the end' ranks 4 $out/mpi train 1 inorder host 20 $out/whole
ends_soon() {       # within seconds of what happened, with the checkpoint of step 10
    [ -e $out/$1.when ] || { echo "it did not happen: no $out/$1.when"; return 1; }
    age=$((($(date +%s%N) - $(date -r $out/$1.when +%s%N)) / 1000000))
    echo "$age ms"
    [ $age -le 5000 ]       # below 2000, unless others use the machine, too
}
ends() {            # ends NAME CODE TEXT WORD NUMBER: at step 15 of 20
    check "$1: ends with its error" fails_with "$2" "$3" \
        ranks 4 $out/mpi train 1 inorder host 20 $out/$4 $4 $5 15
    check "$1: soon" ends_soon $4
    check "$1: the checkpoint goes on" \
        ranks 4 $out/mpi train 1 normal rdu 20 $out/$4 resume 0 10
    check "$1: to the same bytes" cmp $out/whole $out/$4
}
ends 'a killed rank' 137 'signal 9' kill 2
ends 'a bad label' 1 'replica 3: SAMBA_ERANGE' spoil 3
ends 'a rank that leaves' 4 '' leave 1

# ---- The example ----
check 'the example builds with MPI' \
    build mpicc $out/example -DSAMBA_MPI examples/08_data_parallel.c
example="$out/example --epochs 1 --data $data --checkpoint"
if ! [ -e "$data/train-images-idx3-ubyte.gz" ]; then
    skip 'the example' "Fashion-MNIST in $data: tools/dev/install.sh run"
else
    check 'it trains in threads' to_file $out/in_threads $example $out/a --replicas 2
    check 'it trains in ranks' to_file $out/in_ranks ranks 2 $example $out/b --mode inorder
    check 'both to the same bytes' cmp $out/a $out/b
    check 'and 84 %' awk '/^test accuracy/ { good = $3 >= 84 } END { exit !good }' $out/in_ranks
fi
finish
