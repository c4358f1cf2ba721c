// The panel: the chosen node with what goes in and comes out, and one of its tensors in full.

function paintPanel() {
    const panel = $('panel'), node = nodes[state.node], top = panel.scrollTop;
    put(panel, node ? [nodeHead(node), tensorLists(node)] : el('p.note', 'Choose a node.'),
        state.tensor >= 0 && tensorPart(state.tensor), node && nodeDetails(node));
    panel.scrollTop = top;
}

function nodeHead(node) {
    return el('header.head.' + kindOf(node),
        el('p.eyebrow', el('span.dot'), `${kindOf(node)} · node ${state.node} of ` +
            `${whole(nodes.length)} · ${sectionName(node.section || 0)}`),
        el('h2', { id: 'panel-title' }, node.op,
            node.view && el('small', ' a view: nothing moves')),
        node.name && node.name !== node.op && el('p.path', node.name),
        differenceOfNode(state.node));
}

function tensorLists(node) {
    const part = (title, all) => all && all.length > 0 &&
        el('div', el('h3', title), el('ul.tensors', all.map(tensorLine)));
    return el('div.ports', part('In', node.in), part('Out', node.out));
}

function tensorLine(t) {
    const one = snapshotOf(t, state.step), choose = () => {
        change({ tensor: t, node: state.node });
        const again = $('panel').querySelector(`[data-tensor="${t}"]`);
        if (again) again.focus();
    };
    const pressed = String(t === state.tensor), row = one && comparedWith(one);
    return el('li', el('button', {
        type: 'button', 'aria-pressed': pressed, 'data-tensor': t, onclick: choose,
    }, el('span.path', tensorName(t)), el('span.more', shapeText(tensors[t].shape)),
    broken(one) && el('span.bad', ' ' + nonFinite(one)),
    row && !row.equal && el('span.bad', { title: 'differs' }, '≠')));
}

function nonFinite({ nan, inf }) {
    return [nan && whole(nan) + ' NaN', inf && whole(inf) + ' Inf'].filter(text => text).join(', ');
}

function facts(pairs, more) {
    const there = pairs.filter(([, value]) => ![undefined, null, '', false].includes(value));
    return el('dl', { class: 'facts', ...more },
        there.map(([key, value]) => el('div', el('dt', key), el('dd', value))));
}

function nodeDetails(node) {
    const attributes = Object.entries(node.attr || {}), time = node.seconds;
    return el('section', { 'aria-label': 'The node' },
        attributes.length > 0 && [el('h3', 'Attributes'),
                                  facts(attributes.map(([k, v]) => [k, attribute(v)]))],
        el('h3', 'Cost'), facts([
            ['FLOPs', (node.about ? 'about ' : '') + whole(node.flops || 0)],
            ['Bytes moved', whole(node.bytes || 0)],
            ['Time', time && seconds(time)],
            ['FLOP per byte', node.bytes && short(node.flops / node.bytes)],
            ['GFLOP/s', time && node.flops && short(node.flops / time / 1e9)],
            ['Of all time', time && percent(time / total('seconds'))]]));
}

// What is chosen shows in the panel. On a narrow screen that stands below: the page goes there. The
// overview has none, and gives way to the graph.
function choose(wish) {
    change(state.tab === 'overview' ? { ...wish, tab: 'graph' } : wish);
    if (innerWidth < 900) $('panel').scrollIntoView();
}

function nodeLink(i, text) {
    return button(text || `${i} ${nodes[i].op}`, () => choose({ node: i }),
        { class: 'link', title: nodeName(i) });
}

function tensorLink(t, text) {
    return button(text || tensorName(t), () => choose({ tensor: t }), { class: 'link' });
}

function placeText(tensor) {
    const pools = (data.memory || {}).pools || [];
    if (!tensor.place) return null;
    const pool = pools[tensor.place.pool];
    return `${pool ? pool.name.split(':')[0] : 'pool ' + tensor.place.pool} + ` +
        whole(tensor.place.offset);
}

function tensorPart(t) {
    const tensor = tensors[t], one = snapshotOf(t, state.step);
    const about = [tensor.role, tensor.dtype, shapeText(tensor.shape), bytes(tensor.bytes),
                   placeText(tensor)];
    return el('section.tensor', { 'aria-labelledby': 'tensor-title' },
        el('h3.path', { id: 'tensor-title' }, tensorName(t)),
        el('p.note', about.filter(text => text).join(' · ')), tensorLinks(t),
        tensor.no_grad && el('p.note', { id: 'no-gradient' }, tensor.no_grad),
        one ? tensorHeld(t, one) : el('p.note', 'The run kept nothing of this tensor.'));
}

function gradientFor(t) {
    const { grad } = tensors[t];
    return grad >= 0 ? grad : undefined;
}

// What a gradient is made of, if that is not one tensor element by element: the sum of some that
// are permuted by axes, or stretched as NumPy does it.
function partsText(t) {
    const { grads = [] } = tensors[t], smaller = p => elements(tensors[p]) < elements(tensors[t]);
    return grads.map(({ tensor: p, axes }, n) => [
        n ? ' + ' : grads.length > 1 ? '; its gradient is the sum ' : '; its gradient is ',
        tensorLink(p), axes ? ` with axes ${axes.join(', ')}` : smaller(p) && ', stretched']);
}

function tensorLinks(t) {
    const uses = readers[t], grad = gradientFor(t), of = gradientOf.get(t);
    return el('p.links', writer[t] >= 0 ? ['made by ', nodeLink(writer[t])] : 'made by no node',
        uses.slice(0, 4).map((i, n) => [n ? ', ' : ', used by ', nodeLink(i)]),
        uses.length > 4 && ` and ${uses.length - 4} more`,
        grad !== undefined && ['; its gradient is ', tensorLink(grad)], partsText(t),
        of !== undefined && ['; the gradient of ', tensorLink(of)]);
}

// What the tensor held in this step; with two files that are compared, what it held in both.
function tensorHeld(t, one) {
    const row = comparedWith(one), other = row && row.other, grad = gradientFor(t);
    const its = grad !== undefined ? snapshotOf(grad, state.step) : countedGradient(t);
    return [broken(one) && el('p.warning', `${nonFinite(one)} of ${whole(elements(tensors[t]))} ` +
                'values'),
            row && comparedNote(row),
            other ? bothStatistics(t, one, other) : statistics(t, one),
            el('div.pair', histogram(other ? 'Values of a' : 'Values', one.histogram, 'forward'),
                other && histogram('Values of b', other.histogram, 'other'),
                its && histogram('Gradient', its.histogram, 'backward')),
            valuesPart(t, grad, row)];
}

// [name, value] of each statistic.
function statisticsOf(t, one) {
    const share = one.zeros ? ` (${percent(one.zeros / Math.max(1, elements(tensors[t])))})` : '';
    return [['Min', number(one.min)], ['Max', number(one.max)], ['Mean', number(one.mean)],
            ['Std', number(one.std)],
            ['Zeros', one.zeros === undefined ? null : whole(one.zeros) + share],
            ['NaN, Inf', `${one.nan || 0}, ${one.inf || 0}`]];
}

function statistics(t, one) {
    return facts(statisticsOf(t, one), { class: 'facts three', id: 'statistics' });
}

function histogram(title, held, kind) {
    if (!held) return null;
    const { low, high, counts } = held, n = counts.length, most = Math.max(1, ...counts);
    const w = 160, h = 56, each = w / n, at = i => low + (high - low) * i / n;
    const bar = (count, i) => {
        const height = Math.max(1, count / most * h), x = i * each + 0.5;
        return count > 0 && svg('rect', { x, width: Math.max(1, each - 1), y: h - height, height });
    };
    const zero = low < 0 && high > 0 && -low / (high - low) * w;
    const told = `Histogram of the ${title.toLowerCase()} from ${short(low)} to ${short(high)}; ` +
        `most are near ${short(at(counts.indexOf(most) + 0.5))}`;
    return el('figure.histogram.' + kind,
        svg('svg', { viewBox: `0 0 ${w} ${h + 1}`, role: 'img', preserveAspectRatio: 'none',
                     'aria-label': told }, counts.map(bar),
        zero !== false && svg('line', { x1: zero, x2: zero, y1: 0, y2: h })),
        el('figcaption', el('span', short(low)), el('b', title), el('span', short(high))),
        el('details', el('summary', 'as a table'), table('Histogram: ' + title,
            [{ title: 'From' }, { title: 'Values', number: true }],
            counts.map((count, i) => ({ cells: [number(at(i)), whole(count)] })))));
}
