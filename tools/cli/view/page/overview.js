// The first page, below the summary that stands there without scripting: losses, and where time and
// memory go.

function headline() {
    const parameters = tensors.filter(t => t.role === 'parameter').reduce((sum, t) => sum + elements(t), 0);
    const parts = [plural(nodes.length, 'node'), plural(sections.length, 'section'), count(parameters) + ' parameters',
                   data.memory && bytes(data.memory.promised) + ' of memory', flops(total('flops')),
                   total('seconds') > 0 && seconds(total('seconds'))];
    $('headline').textContent = parts.filter(part => part).join(' · ');
}

function bars(caption, rows, text) {
    const most = Math.max(...rows.map(row => row.value), 1e-30);
    return el('section', { class: 'card' }, el('h3', null, caption), el('ul', { class: 'bars' }, rows.map(row => el('li', null,
        el('span', { class: 'what' }, row.link || row.name), el('span', { class: 'more' }, text(row.value)),
        el('i', { class: row.ink || '', style: `width:${100 * row.value / most}%` })))));
}

function buildOverview() {
    const box = $('overview-more'), cards = [], runs = list('runs').filter(run => run.loss !== undefined);
    if (runs.length > 1) cards.push(lossCard(runs));
    if (total('seconds')) {
        const slow = nodes.map((node, i) => ({ name: node.op, link: nodeLink(i), value: node.seconds || 0,
                                               ink: kindOf(node) })).sort((a, b) => b.value - a.value).slice(0, 8);
        cards.push(bars('The slowest nodes', slow, seconds));
    }
    const ops = new Map(), roles = new Map(), key = total('seconds') ? 'seconds' : 'flops';
    for (const node of nodes) ops.set(node.op, (ops.get(node.op) || 0) + (node[key] || 0));
    for (const t of tensors) roles.set(t.role, (roles.get(t.role) || 0) + (t.bytes || 0));
    const sorted = map => Array.from(map, ([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value).slice(0, 8);
    cards.push(bars('Ops by ' + (key === 'seconds' ? 'time' : 'FLOPs'), sorted(ops), key === 'seconds' ? seconds : flops));
    cards.push(bars('Bytes of all tensors by role', sorted(roles), bytes));
    put(box, list('notes').length > 0 && el('ul', { class: 'notes' }, list('notes').map(text => el('li', null, text))),
        el('div', { class: 'cards' }, cards), data.samba && el('p', { class: 'note' }, `Written by samba.h ${data.samba}.`));
}

function lossCard(runs) {
    const w = 320, h = 120, finite = runs.filter(run => isFinite(run.loss)).map(run => run.loss);
    const low = Math.min(...finite), high = Math.max(...finite), last = runs[runs.length - 1];
    const at = (run, i) => [6 + i / (runs.length - 1) * (w - 12), 8 + (high - run.loss) / ((high - low) || 1) * (h - 16)].map(v => v.toFixed(1));
    const points = runs.map((run, i) => isFinite(run.loss) ? at(run, i) : null).filter(p => p);
    return el('section', { class: 'card' }, el('h3', null, 'Loss'), svg('svg', { viewBox: `0 0 ${w} ${h}`, class: 'curve', role: 'img', 'aria-label':
        `Loss from ${short(runs[0].loss)} to ${short(last.loss)} in ${plural(runs.length, 'step')}` },
        svg('path', { d: 'M' + points.join('L') }), points.length <= 40 && points.map(([x, y]) => svg('circle', { cx: x, cy: y, r: 3 }))),
        el('details', null, el('summary', null, `${number(runs[0].loss)} → ${number(last.loss)}`), table('Losses', [
            { title: 'Step', number: true }, { title: 'Loss', number: true }], runs.map(run => ({ cells: [run.step, number(run.loss)] })))));
}
