// What the compiler rewrote.

function buildRewrites(section) {
    const all = list('rewrites'), passes = counted(all.map(one => one.pass || 'rewrite'));
    const text = passes.map(([name, n]) => `${name} (${n})`).join(', ');
    const line = one => ({ cells: [one.pass || '', chain(one.before), chain(one.after)] });
    fill(section, null, [el('h2', 'Rewrites'),
        el('p.lead', `The compiler changed ${plural(all.length, 'place')}: ${text}.`),
        table('Rewrites', [{ title: 'Pass', head: true }, { title: 'Before' }, { title: 'After' }],
            all.slice(0, 500).map(line)),
        all.length > 500 && el('p.note', `The first 500 of ${whole(all.length)}.`)]);
}

function chain(ops) {
    if (!ops || !ops.length) return el('span.soft', 'nothing');
    const arrow = i => i > 0 && el('span.soft', ' → ');
    return el('span.chain', ops.map((one, i) => [arrow(i), rewriteOp(one)]));
}

function rewriteOp({ op, name, node }) {
    const i = node !== undefined ? node :
        nodes.findIndex(one => name && one.name === name && one.op === op);
    const text = el('span.op-chip', op, name && el('small', ' ' + name));
    if (!nodes[i]) return text;
    const show = () => change({ node: i, tab: 'graph' });
    return el('button.bare', { type: 'button', onclick: show }, text);
}
