// What the compiler rewrote: by pass, and what is alike in one row.

function buildRewrites(section) {
    const all = list('rewrites'), byPass = groupBy(all, one => one.pass || 'rewrite');
    section.append(el('h2', 'Rewrites'),
        el('p.lead', `The compiler changed ${plural(all.length, 'place')}.`));
    for (const [pass, places] of byPass) {
        const alike = Array.from(groupBy(places, pattern).values());
        const columns = [{ title: 'Before' }, { title: 'After' }];
        section.append(el('h3', `${pass} (${whole(places.length)})`),
            table('Rewrites: ' + pass, columns, alike.slice(0, 200).map(rewriteRow)));
    }
}

function groupBy(all, key) {
    const groups = new Map();
    for (const one of all) {
        if (!groups.has(key(one))) groups.set(key(one), []);
        groups.get(key(one)).push(one);
    }
    return groups;
}

const opsOf = ops => (ops || []).map(one => one.op).join(' ');
const pattern = ({ before, after }) => opsOf(before) + '>' + opsOf(after);

// A single place with the names of its nodes; of several the first, and the others when opened.
function rewriteRow(places) {
    const [{ before, after }, ...others] = places, most = others.slice(0, 200);
    const more = others.length > 0 && el('details',
        el('summary', `and ${whole(others.length)} alike`),
        el('ul', most.map(one => el('li', chain(one.before)))));
    return { cells: [[chain(before), more], chain(after)] };
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
