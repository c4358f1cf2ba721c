// The panel: the chosen node with what goes in and comes out, and one of its tensors in full.

function paintPanel() {
    const panel = $('panel'), node = nodes[state.node];
    if (!node && state.tensor < 0) return put(panel, el('p', { class: 'note' }, 'Choose a node.'));
    const top = panel.scrollTop;
    put(panel, node && [nodeHead(node), tensorLists(node)],
        state.tensor >= 0 && tensorPart(state.tensor), node && nodeDetails(node));
    panel.scrollTop = top;
    return undefined;
}

function nodeHead(node) {
    return el('header', { class: 'head ' + kindOf(node) },
        el('p', { class: 'eyebrow' }, el('span', { class: 'dot' }), `${kindOf(node)} · node ${state.node} of ` +
            `${whole(nodes.length)} · ${sectionName(node.section || 0)}`),
        el('h2', { id: 'panel-title' }, node.op, node.view && el('small', null, ' a view: nothing moves')),
        node.name && node.name !== node.op && el('p', { class: 'path' }, node.name));
}

function tensorLists(node) {
    const part = (title, all) => all && all.length > 0 && el('div', null, el('h3', null, title),
        el('ul', { class: 'tensors' }, all.map(tensorLine)));
    return el('div', { class: 'ports' }, part('In', node.in), part('Out', node.out));
}

function tensorLine(t) {
    const tensor = tensors[t], one = snapshotOf(t, state.step);
    return el('li', null, el('button', {
        type: 'button', 'aria-pressed': String(t === state.tensor), 'data-tensor': t,
        onclick: () => {
            change({ tensor: t, node: state.node });
            const again = $('panel').querySelector(`[data-tensor="${t}"]`);
            if (again) again.focus();
        },
    }, el('span', { class: 'path' }, tensorName(t)), el('span', { class: 'more' }, shapeText(tensor.shape)),
       broken(one) && el('span', { class: 'bad' }, ' ' + nonFinite(one))));
}

const nonFinite = one => [one.nan && whole(one.nan) + ' NaN', one.inf && whole(one.inf) + ' Inf']
    .filter(text => text).join(', ');

function facts(pairs, more) {
    const there = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false);
    return el('dl', Object.assign({ class: 'facts' }, more), there.map(
        ([key, value]) => el('div', null, el('dt', null, key), el('dd', null, value))));
}

function nodeDetails(node) {
    const attributes = Object.entries(node.attr || {});
    return el('section', { 'aria-label': 'The node' },
        attributes.length > 0 && [el('h3', null, 'Attributes'), facts(attributes.map(([k, v]) => [k, attribute(v)]))],
        el('h3', null, 'Cost'), facts([
            ['FLOPs', node.flops ? whole(node.flops) : '0'], ['Bytes moved', whole(node.bytes || 0)],
            ['Time', node.seconds && seconds(node.seconds)],
            ['FLOP per byte', node.bytes ? short(node.flops / node.bytes) : null],
            ['GFLOP/s', node.seconds && node.flops ? short(node.flops / node.seconds / 1e9) : null],
            ['Of all time', node.seconds && percent(node.seconds / total('seconds'))]]));
}

function nodeLink(i, text) {
    return button(text || `${i} ${nodes[i].op}`, () => change({ node: i }), { class: 'link', title: nodeName(i) });
}

function tensorLink(t, text) {
    return button(text || tensorName(t), () => change({ tensor: t }), { class: 'link' });
}

function placeText(tensor) {
    const pools = (data.memory || {}).pools || [];
    if (!tensor.place) return null;
    const pool = pools[tensor.place.pool];
    return `${pool ? pool.name.split(':')[0] : 'pool ' + tensor.place.pool} + ${whole(tensor.place.offset)}`;
}

function tensorPart(t) {
    const tensor = tensors[t], one = snapshotOf(t, state.step), uses = readers[t];
    const grad = tensor.grad >= 0 ? tensor.grad : undefined, of = gradientOf.get(t);
    return el('section', { class: 'tensor', 'aria-labelledby': 'tensor-title' },
        el('h3', { id: 'tensor-title', class: 'path' }, tensorName(t)),
        el('p', { class: 'note' }, [tensor.role, tensor.dtype, shapeText(tensor.shape), bytes(tensor.bytes),
                                    placeText(tensor)].filter(text => text).join(' · ')),
        el('p', { class: 'links' },
            writer[t] >= 0 ? ['made by ', nodeLink(writer[t])] : 'made by no node',
            uses.length > 0 && [', used by ', uses.slice(0, 4).map((i, n) => [n ? ', ' : '', nodeLink(i)]),
                                uses.length > 4 && ` and ${uses.length - 4} more`],
            grad !== undefined && ['; its gradient is ', tensorLink(grad)],
            of !== undefined && ['; the gradient of ', tensorLink(of)]),
        one ? [broken(one) && el('p', { class: 'warning' }, `${nonFinite(one)} of ${whole(elements(tensor))} values`),
               statistics(t, one), histograms(t, one, grad), valuesPart(t, grad)] :
            el('p', { class: 'note' }, 'The run kept nothing of this tensor.'));
}

function statistics(t, one) {
    const zeros = one.zeros === undefined ? null : one.zeros ?
        `${whole(one.zeros)} (${percent(one.zeros / Math.max(1, elements(tensors[t])))})` : '0';
    return facts([['Min', number(one.min)], ['Max', number(one.max)], ['Mean', number(one.mean)],
                  ['Std', number(one.std)], ['Zeros', zeros], ['NaN, Inf', `${one.nan || 0}, ${one.inf || 0}`]],
                 { class: 'facts three', id: 'statistics' });
}

function histograms(t, one, grad) {
    const its = grad !== undefined && snapshotOf(grad, state.step);
    return el('div', { class: 'pair' },
        one.histogram && histogram('Values', one.histogram, 'forward'),
        its && its.histogram && histogram('Gradient', its.histogram, 'backward'));
}

function histogram(title, { low, high, counts }, kind) {
    const most = Math.max(1, ...counts), w = 160, h = 56, each = w / counts.length;
    const bars = counts.map((n, i) => n > 0 && svg('rect', {
        x: i * each + 0.5, width: Math.max(1, each - 1), y: h - Math.max(1, n / most * h), height: Math.max(1, n / most * h) }));
    const zero = low < 0 && high > 0 ? -low / (high - low) * w : null;
    const edge = i => number(low + (high - low) * i / counts.length);
    return el('figure', { class: 'histogram ' + kind },
        svg('svg', { viewBox: `0 0 ${w} ${h + 1}`, role: 'img', preserveAspectRatio: 'none', 'aria-label':
            `Histogram of the ${title.toLowerCase()} from ${short(low)} to ${short(high)}; most are near ` +
            short(low + (high - low) * (counts.indexOf(most) + 0.5) / counts.length) }, bars,
            zero !== null && svg('line', { x1: zero, x2: zero, y1: 0, y2: h })),
        el('figcaption', null, el('span', null, short(low)), el('b', null, title), el('span', null, short(high))),
        el('details', null, el('summary', null, 'as a table'), table('Histogram: ' + title, [
            { title: 'From' }, { title: 'Values', number: true }],
            counts.map((n, i) => ({ cells: [edge(i), whole(n)] })))));
}
