// What the compiler rewrote, and the difference of two files.

function buildRewrites(section) {
    const all = list('rewrites'), passes = counted(all.map(one => one.pass || 'rewrite'));
    const chain = side => el('span', { class: 'chain' }, side.map((one, i) => [i ? el('span', { class: 'soft' }, ' → ') : '', rewriteOp(one)]));
    section.append(el('h2', null, 'Rewrites'),
        el('p', { class: 'lead' }, `The compiler changed ${plural(all.length, 'place')}: ` +
            passes.map(([name, n]) => `${name} (${n})`).join(', ') + '.'),
        table('Rewrites', [{ title: 'Pass', head: true }, { title: 'Before' }, { title: 'After' }],
              all.slice(0, 500).map(one => ({ cells: [one.pass || '', chain(one.before || []),
                                                      (one.after || []).length ? chain(one.after) : el('span', { class: 'soft' }, 'nothing')] }))));
    if (all.length > 500) section.append(el('p', { class: 'note' }, `The first 500 of ${whole(all.length)}.`));
}

function rewriteOp(one) {
    const i = one.node !== undefined ? one.node : nodes.findIndex(node => one.name && node.name === one.name && node.op === one.op);
    const text = el('span', { class: 'op-chip' }, one.op, one.name && el('small', null, ' ' + one.name));
    return i >= 0 && nodes[i] ? el('button', { type: 'button', class: 'bare', onclick: () => change({ node: i, tab: 'graph' }) }, text) : text;
}

function buildDiff(section) {
    const diff = data.diff, all = diff.tensors || [], changed = all.filter(row => !row.equal);
    const first = diff.first !== undefined && diff.first !== null && diff.first >= 0 ? all[diff.first] : changed[0];
    const worst = changed.slice().sort((a, b) => (b.max_rel || 0) - (a.max_rel || 0));
    const box = el('div', { id: 'diff-table' });
    fill(section, null, [el('h2', null, 'Difference'),
        el('p', { class: 'lead' }, el('b', null, diff.a || 'a'), ' against ', el('b', null, diff.b || 'b')),
        (diff.structure || []).length > 0 ? [el('h3', null, 'The graphs differ'), el('ul', null, diff.structure.map(text => el('li', null, text)))] :
            el('p', { class: 'good' }, '✓ The graphs are alike.'),
        first ? el('div', { class: 'warning', id: 'diff-first' }, el('p', null, 'The first tensor that diverges is ',
            first.tensor >= 0 ? tensorLink(first.tensor, first.name) : el('b', null, first.name),
            first.node >= 0 && nodes[first.node] ? [', made by ', nodeLink(first.node)] : '', '.'),
            first.index && el('p', null, `At [${first.index.join(', ')}]: ${number(first.a)} against ${number(first.b)}; ` +
                `${whole(first.different)} of ${whole(first.count)} values differ, by ${number(first.max_abs)} at most.`)) :
            el('p', { class: 'good' }, `✓ All ${plural(all.length, 'tensor')} are equal.`), box]);
    const show = { order: 'made' };
    const paint = () => {
        const rows = show.order === 'made' ? changed : show.order === 'worst' ? worst : all;
        put(box, el('div', { class: 'bar' }, choice('Which tensors', [['made', 'Different, as made'], ['worst', 'Worst first'], ['all', 'All']],
            show.order, key => {
                show.order = key;
                paint();
                box.querySelector('[aria-pressed=true]').focus();
            })), table('Tensors compared', [{ title: 'Tensor', head: true }, { title: 'Step', number: true }, { title: 'Different', number: true },
                { title: 'Greatest error', number: true }, { title: 'Relative', number: true }, { title: 'Index' }, { title: 'a', number: true },
                { title: 'b', number: true }], rows.slice(0, 500).map(diffRow)),
            rows.length > 500 && el('p', { class: 'note' }, `The first 500 of ${whole(rows.length)}.`));
    };
    paint();
}

function diffRow(row) {
    return { more: { class: row.equal ? 'equal' : null }, cells: [
        row.tensor >= 0 ? tensorLink(row.tensor, row.name) : row.name, row.step === undefined ? '–' : row.step,
        row.equal ? 'equal' : `${whole(row.different)} of ${whole(row.count)}`, row.equal ? '0' : number(row.max_abs),
        row.equal ? '0' : number(row.max_rel), row.index ? `[${row.index.join(', ')}]` : '–', number(row.a), number(row.b)] };
}
