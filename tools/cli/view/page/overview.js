// The first page, below the summary that stands there without scripting: losses, and where time and
// memory go.

function headline() {
    const parameters = tensors.filter(t => t.role === 'parameter');
    const weights = parameters.reduce((sum, t) => sum + elements(t), 0), time = total('seconds');
    const parts = [plural(nodes.length, 'node'), plural(sections.length, 'section'),
                   count(weights) + ' parameters',
                   data.memory && bytes(data.memory.promised) + ' of memory', flops(total('flops')),
                   time > 0 && seconds(time)];
    $('headline').textContent = parts.filter(part => part).join(' · ');
}

// The greatest of the rows as bars: { name, link, value, ink }.
function bars(caption, rows, text) {
    const most = Math.max(...rows.map(row => row.value), 1e-30);
    const shown = rows.sort((a, b) => b.value - a.value).slice(0, 8);
    const bar = ({ name, link, value, ink }) => el('li',
        el('span.what', link ? link() : name), el('span.more', text(value)),
        el('i', { class: ink, style: `width:${100 * value / most}%` }));
    return el('section.card', el('h3', caption), el('ul.bars', shown.map(bar)));
}

// Sums of what value() gives, by key: rows for bars().
function sums(all, key, value) {
    const map = new Map();
    for (const one of all) map.set(one[key], (map.get(one[key]) || 0) + (value(one) || 0));
    return Array.from(map, ([name, value]) => ({ name, value }));
}

function buildOverview() {
    const cards = [], runs = list('runs').filter(run => run.loss !== undefined);
    const timed = total('seconds') > 0, key = timed ? 'seconds' : 'flops';
    if (runs.length > 1) cards.push(lossCard(runs));
    if (timed) {
        cards.push(bars('The slowest nodes', nodes.map((node, i) => ({
            link: () => nodeLink(i), value: node.seconds || 0, ink: kindOf(node),
        })), seconds));
    }
    cards.push(bars('Ops by ' + (timed ? 'time' : 'FLOPs'),
        sums(nodes, 'op', node => node[key]), timed ? seconds : flops));
    cards.push(bars('Bytes of all tensors by role', sums(tensors, 'role', t => t.bytes), bytes));
    put($('overview-more'),
        there('notes') && el('ul.notes', list('notes').map(text => el('li', text))),
        el('div.cards', cards),
        el('div.bar', saveButton('json', 'data', dataJson),
            data.samba && el('span.note', `Written by samba.h ${data.samba}.`)));
}

function lossCard(runs) {
    const w = 320, h = 120, losses = runs.map(run => run.loss), finite = losses.filter(isFinite);
    const low = Math.min(...finite), high = Math.max(...finite), last = losses.length - 1;
    const at = (loss, i) => [6 + i / last * (w - 12),
                             8 + (high - loss) / ((high - low) || 1) * (h - 16)];
    const points = losses.map((loss, i) => isFinite(loss) ? at(loss, i) : null).filter(p => p);
    const [first, final] = [losses[0], losses[last]];
    const title = data.drawn ? 'Loss, of random data' : 'Loss';
    return el('section.card', el('h3', title), svg('svg.curve', {
        viewBox: `0 0 ${w} ${h}`, role: 'img',
        'aria-label': `Loss from ${short(first)} to ${short(final)} in ${plural(last + 1, 'step')}`,
    }, svg('path', { d: 'M' + points.map(p => p.map(v => v.toFixed(1))).join('L') }),
    points.length <= 40 && points.map(([cx, cy]) => svg('circle', { cx, cy, r: 3 }))),
    el('details', el('summary', `${number(first)} → ${number(final)}`), table('Losses',
        [{ title: 'Step', number: true }, { title: 'Loss', number: true }],
        runs.map(run => ({ cells: [run.step, number(run.loss)] })))));
}
