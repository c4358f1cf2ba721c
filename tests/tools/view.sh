#!/bin/sh
# tests/tools/view.sh: tools/samba view and replay. What pages of many nets say is proved, and is
# what samba_read gives of the same run; names cannot break out of a page; damaged files are
# refused.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/view_test log=build/view_test.log
. tests/lib/test.sh
have python3 || skip_all 'the glass box' 'python3: apt-get install python3'
rm -rf $out && mkdir -p $out || exit 1
CC=${CC:-cc}
MALLOC_PERTURB_=165         # glibc: memory is never zero by chance
export MALLOC_PERTURB_

# One file looks inside samba.h: it has all prototypes, the others those of the public functions.
build() {
    make -s build/view_page.h || return 1
    build_with_samba $inside -Itools/include -c -o $out/fused.o tools/cli/view/fused.c || return 1
    for part in $(ls tools/cli/view/*.c tools/cli/util/*.c | grep -v fused.c); do
        $CC -O1 -DSAMBA_NO_SIMD -I. -Itools/include -I$out -c -o "$out/$(basename "$part" .c).o" \
            "$part" || return 1
    done
    for program in tool=tools/cli/view.c nets=tests/lib/view_nets.c grads=tests/lib/view_grads.c; do
        build_with_samba -Itools/include -I$out -Wl,--allow-multiple-definition \
            -o $out/"${program%=*}" "${program#*=}" $out/*.o || return 1
    done
}
check 'the tool and the nets are built' build
[ $failed = 0 ] || finish
tool=$out/tool
check 'memory of all nets: every byte has an owner' to_file $out/memory.txt $out/nets $out
check 'there are 20 and more' [ "$(grep -c 'have owners' $out/memory.txt)" -ge 20 ]

# page NAME FLAGS: of the run that NAME.expected is of; its inputs are lines of NAME.inputs.
page() {
    name=$1
    shift
    set -- $tool view $out/$name.ckpt -o $out/$name.html --runs 0 "$@"
    if [ -e $out/$name.inputs ]; then
        while IFS= read -r word; do set -- "$@" "$word"; done <$out/$name.inputs
    fi
    "$@"
}
proved() { page "$1" && python3 tests/lib/view_page.py $out/"$1".html $out/"$1".expected; }
for inputs in $out/*.inputs; do
    net=$(basename "$inputs" .inputs)
    [ "$net" != hostile ] || continue       # its names cannot be given
    check "the page of $net is what samba_read gives" proved $net
done
graphs() { page "$1" && python3 tests/lib/view_page.py $out/"$1".html; }
check 'two graphs' graphs graphs
check 'a graph without a name, and one behind it' graphs unnamed
check 'both are listed' grep -qF '"graphs":["","second"]' $out/unnamed.html
hostile() {     # inputs drawn: a name with = or a line end cannot be given
    $tool view $out/hostile.ckpt -o $out/hostile.html --runs 0 &&
        python3 tests/lib/view_page.py $out/hostile.html &&
        ! grep -q 'alert(1)</script>' $out/hostile.html
}
check 'names do not break out of the page' hostile
timed() {       # seconds of nodes and sections, and the machine's ceilings
    $tool view $out/conv_train.ckpt -o $out/timed.html --runs 2 --steps 3 &&
        python3 tests/lib/view_page.py $out/timed.html &&
        grep -q '"gflops":[0-9]' $out/timed.html && grep -q '"seconds":[1-9]' $out/timed.html
}
check 'runs are timed' timed
quoted() {      # the command can be given again
    cp $out/chain.ckpt "$out/it's one.ckpt" &&
        $tool view "$out/it's one.ckpt" --runs 0 &&
        grep -qF "tools/samba view '$out/it'\\\\''s one.ckpt' --runs 0" "$out/it's one.ckpt.html"
}
check 'the command is one that a shell takes' quoted
same_page() {   # of two runs of one command, with any number of threads
    cp $out/transformer.html $out/once.html
    page transformer && cmp $out/transformer.html $out/once.html
}
check 'a page is the same whenever it is made' same_page
check 'what runs together is told' grep -q '"pass":"run together' $out/transformer.html
check 'what is computed again is told' grep -q '"pass":"computed again' $out/recomputed.html
layer_of() { grep "\"name\":\"$2\".*\"kind\":\"forward\".*\"layer\":\[$3\]" $out/"$1".html; }
check 'the table of words is the embedding' layer_of tied wte '"wte"'
check 'logits that it is tied to are of no layer' layer_of tied logits ''
check 'nor is the loss' layer_of tied loss ''
labels() {
    printf 'The\n</script>\ncat' >$out/words.txt
    page transformer --tokens $out/words.txt &&
        python3 tests/lib/view_page.py $out/transformer.html &&
        grep -qF '"tokens":["The","\u003c/script\u003e","cat"]' $out/transformer.html
}
check 'labels of tokens' labels
gradients() {   # those of three layers, by dW = dy^T x
    python3 tests/lib/view_page.py $out/mlp_sgd.html | grep ', 3 gradients proved'
}
check 'gradients of what layers make are known' gradients
trained='mlp_sgd transformer conv_train microbatches dropped spatial in_products recomputed words
    tied read_often two_losses equal_parts folded'
differences() {
    set --
    for net in $trained; do set -- "$@" $out/$net.ckpt; done
    $out/grads "$@" >$out/gradients.txt
}
check 'gradients are what central differences say' differences
known() { grep "$1.ckpt: $2 gradients are proved" $out/gradients.txt; }
check 'of all that one layer of GPT makes' known tied 39
same_gradients() {
    for net in $trained; do
        page $net >$out/said && python3 tests/lib/view_page.py $out/$net.html $out/$net.expected \
            $out/gradients.txt $out/$net.ckpt | grep -v ' 0 gradients proved' || return 1
    done
}
check 'and pages name the same tensors' same_gradients
check 'of what two losses need, one of them a mean' known two_losses 12
check 'where equal calls and their gradients became one' known equal_parts 8
check 'and where only the calls did' known read_often 22
check 'of what is stretched, permuted and left out' known folded 22
made() { [ "$(grep -c "folded.ckpt: the gradient of .* is made of" $out/gradients.txt)" = 5 ]; }
check 'five of them are made of others' made
why() { grep -q "\"name\":\"$2\".*\"no_grad\":\"$3" $out/"$1".html; }
check 'what a product reads past has none' why folded permute_2 'Its gradient is not kept: some ops'
check 'nor has what no parameter is before' why mlp_sgd x 'No gradient goes through it'
check 'what a step took on its way is not kept' \
    why in_products fc1__weight 'Its gradient is not kept: another op'
without_map() {     # the graph alone tells fewer
    mkdir -p $out/alone && cp $out/tied.ckpt $out/alone/ && $out/grads $out/alone/tied.ckpt
}
check 'without a map no gradient is wrong' without_map
elsewhere() {       # a checkpoint whose PEF is in another folder
    $tool view $out/alone/tied.ckpt --runs 0 -o $out/alone.html &&
        grep -q 'told is not beside' $out/alone.html &&
        ! grep -q 'goes on in place' $out/alone.html &&
        $tool view $out/alone/tied.ckpt --map $out/tied.pef.map --runs 0 -o $out/alone.html &&
        grep -q 'goes on in place' $out/alone.html
}
check 'a map that lies elsewhere can be named' elsewhere
stale() {           # the PEF has been compiled anew since
    cp $out/mlp_sgd.pef.map $out/alone/tied.pef.map &&
        $tool view $out/alone/tied.ckpt --runs 0 -o $out/alone.html &&
        grep -q 'is of another program, and is not used' $out/alone.html
}
check 'a map of another program is not used' stale
torn() {            # a line is not whole
    head -c 300 $out/tied.pef.map >$out/alone/tied.pef.map
    $tool view $out/alone/tied.ckpt --runs 0 -o $out/alone.html &&
        grep -q 'is of another program, and is not used' $out/alone.html
}
check 'nor is a torn one' torn
check 'nor if it is named' fails_with 2 'is of another program than' \
    $tool view $out/tied.ckpt --map $out/mlp_sgd.pef.map --runs 0 -o $out/alone.html
rewrites() { grep -q "\"pass\":\"$2\"" $out/"$1".html; }
check 'int8 is among what was rewritten' rewrites int8 'computed in int8'
check 'so are steps that products make' rewrites in_products 'a product makes a step'
small() { page transformer --values 0 && python3 tests/lib/view_page.py $out/transformer.html; }
check 'no room for values' small
attends() {
    page "$1" && python3 tests/lib/view_page.py $out/"$1".html | grep ' 1 of 1 attentions proved'
}
check 'causal attention: y = P v' attends transformer
check 'attention with a mask: y = P v' attends masked
steps() {           # step by step, or of the first one alone
    page transformer --steps 3 "$@" >$out/said &&
        python3 tests/lib/view_page.py $out/transformer.html
}
all_steps() { steps | grep ' 3 of 3 attentions proved'; }
check 'attention of all steps: y = P v' all_steps
first_step() { steps --values 0 | grep ' 0 of 1 attentions proved'; }
check 'and of the first one, where room is short' first_step
check 'rewrites are read from the map' grep -q '"rewrites":\[{' $out/transformer.html

# ---- Files that are given ----
x=$out/mlp_infer_0.npy
view_x() { $tool view $out/mlp_infer.ckpt --input "$1" --runs 0 -o $out/x.html; }
check 'a file without a name, for the only input' view_x $x
check 'a name that is no input' fails_with 2 'it has x' view_x y=$x
check 'a file that is missing' fails_with 2 'cannot be read' view_x x=$out/none.npy
head -c 100 $x >$out/bad.npy
check 'a header cut off' fails_with 2 'header is damaged' view_x $out/bad.npy
head -c 300 $x >$out/bad.npy
check 'values cut off' fails_with 2 'numbers of 4 bytes' view_x $out/bad.npy
{ cat $x; printf 1234; } >$out/bad.npy
check 'values too many' fails_with 2 'numbers of 4 bytes' view_x $out/bad.npy
sed 's/NUMPY/NUMPX/' $x >$out/bad.npy
check 'another kind of file' fails_with 2 'no .npy file' view_x $out/bad.npy
sed 's/<f4/>f4/' $x >$out/bad.npy
check 'big-endian' fails_with 2 'its type is' view_x $out/bad.npy
sed 's/<f4/<c8/' $x >$out/bad.npy
check 'complex numbers' fails_with 2 'its type is' view_x $out/bad.npy
sed "s/'fortran_order': False/'fortran_order': True /" $x >$out/bad.npy
check 'Fortran order' fails_with 2 'Fortran order' view_x $out/bad.npy
sed 's/(3,24,)/(24,3,)/' $x >$out/bad.npy
check 'another shape' fails_with 2 'its shape is (24,3); input x wants (3,24)' view_x $out/bad.npy
sed 's/(3,24,)/(-3,24)/' $x >$out/bad.npy
check 'a shape that is none' fails_with 2 'shape cannot be read' view_x $out/bad.npy
check 'numbers with fractions for ids' fails_with 2 'which is no i32' \
    $tool view $out/words.ckpt --input ids=$out/fraction.npy --runs 0
check 'a number that no float has' fails_with 2 'element 1 is -1e+300, which is no f32' \
    $tool view $out/chain.ckpt --input x=$out/far.npy --runs 0
check 'an input that is given twice' fails_with 2 'this input is given twice' \
    $tool view $out/mlp_infer.ckpt --input x=$x --input x=$x --runs 0
check 'more steps than a page can hold' fails_with 2 'room for' \
    $tool view $out/mlp_infer.ckpt --runs 0 --steps 1000000000
lost() {
    $tool view $out/masked.ckpt --input q=$out/nan_query.npy --runs 0 -o $out/lost.html &&
        python3 tests/lib/view_page.py $out/lost.html | grep ' 1 of 1 attentions proved'
}
check 'weights of a query that is no number are none' lost
integers() {    # $1: .npy, $2: its largest number, $3: whether values are kept
    $tool view $out/whole.ckpt --input $out/"$1".npy --runs 0 -o $out/whole.html &&
        python3 tests/lib/view_page.py $out/whole.html &&
        grep -q "\"max\":$2,.*\"node\":0\|\"node\":0,.*\"max\":$2," $out/whole.html &&
        [ "$(grep -c '"block":' $out/whole.html)" = "$3" ]
}
check 'large integers are exact' integers 31_bits 2147483647 2
check 'and not shown if 32 bits cannot hold them' integers 32_bits 4294967295 0
check 'a PEF that is none' fails_with 2 SAMBA_EPEF $tool view $x
check 'a flag that is none' fails_with 2 'no flag' $tool view $out/mlp_infer.ckpt --nothing 1
check 'a folder that is missing' fails_with 2 'none/x.html' \
    $tool view $out/mlp_infer.ckpt --runs 0 -o $out/none/x.html

# ---- Two models ----
check 'a model is equal to itself' fails_with 0 'values that both have are equal' \
    $tool view --diff $out/mlp_sgd.ckpt $out/mlp_sgd.ckpt --steps 2
check 'parameters differ' fails_with 1 'first difference, in step 0: fc1__weight[0,0]' \
    $tool view --diff $out/mlp_sgd.ckpt $out/mlp_sgd.pef
check 'optimizers differ' fails_with 1 'sgd_17 (sgd) stands where' \
    $tool view --diff $out/mlp_sgd.ckpt $out/mlp_adamw.ckpt
check 'a graph that is wired otherwise' fails_with 1 'input 0 of add_3 (add) is tanh_1 f32 (4,8)' \
    $tool view --diff $out/straight.ckpt $out/crossed.ckpt
check 'an output of another name' fails_with 1 'makes is the output y f32 (4,8)' \
    $tool view --diff $out/straight.ckpt $out/renamed.ckpt
check 'a page of what differs' fails_with 1 'x.html' \
    $tool view --diff $out/mlp_sgd.ckpt $out/mlp_sgd.pef -o $out/x.html
check 'it has the difference' grep -q '"diff":{"a":' $out/x.html
check 'schedules differ, and no thread waits forever' fails_with 1 'microbatches' \
    $tool view --diff $out/microbatches.ckpt $out/mlp_adamw.ckpt
check 'one of them is missing' fails_with 2 'no such file' \
    $tool view --diff $out/mlp_sgd.ckpt $out/none.ckpt

# ---- A run again ----
check 'a NaN is repeated' fails_with 0 'makes NaN at element 13' \
    $tool replay $out/nan.replay --view $out/nan.html
opens() {
    python3 tests/lib/view_page.py $out/nan.html &&
        grep -q '"open":{"node":[0-9]*,"tensor":' $out/nan.html
}
check 'and its page opens at the op' opens
rm $out/nan.html
check 'view takes a replay file' fails_with 0 'at step 3, in run 3, section 0 (FWD): log' \
    $tool view $out/nan.replay -o $out/nan.html
check 'and that page opens there, too' opens
check 'of one a flag is refused' fails_with 2 'only -o PAGE.html' \
    $tool view $out/nan.replay --steps 2
head -c 2000 $out/nan.replay >$out/bad.replay
check 'a replay file cut off' fails_with 2 'damaged' $tool replay $out/bad.replay
check 'nothing is left behind' [ ! -e $out/nan.replay.tmp ]
finish
