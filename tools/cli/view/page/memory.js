// The plan of memory: nodes go right, bytes go up, a block for each tensor while it lives.

const plan = { spans: [], pools: [], low: 0, high: 0, peak: 0, at: 0, chosen: null };
const INKS = {
    input: 'ink', argin: 'ink', parameter: 'stone', buffer: 'stone', constant: 'stone',
    temporary: 'accent', output: 'good', gradient: 'warm', state: 'sand', scratch: 'plum',
};

function readPlan() {
    const memory = data.memory || { pools: [], spans: [] };
    plan.pools = (memory.pools || []).map(({ name, bytes }, i) =>
        ({ name: (name || 'pool ' + i).split(':')[0], bytes }));
    plan.high = Math.max(0, nodes.length - 1);
    plan.spans = (memory.spans || []).map(span => {
        const own = span.tensor >= 0;
        return { ...span, role: own ? tensors[span.tensor].role : 'scratch',
                 owner: own ? tensorName(span.tensor) : span.owner || 'no name' };
    });
    plan.promised = memory.promised;
    plan.peak = nodes[memory.peak] ? memory.peak : findPeak();
    plan.at = plan.peak;
    stack('');
}

// The pools one above the other, or only one of them. Each has a part of the drawing, from low to
// high, 0 ... 1: a small pool more than its share of the bytes, most of all one whose blocks come
// and go, so that they can be told apart.
const LEAST = { moving: 0.5, still: 0.1 };
function stack(only) {
    plan.pools.forEach((pool, i) => {
        pool.shown = only === '' || Number(only) === i;
    });
    const shown = plan.pools.filter(pool => pool.shown && pool.bytes > 0);
    const all = shown.reduce((sum, pool) => sum + pool.bytes, 0);
    const moves = pool => plan.spans.some(({ pool: i, from, to }) =>
        plan.pools[i] === pool && (from > 0 || to < nodes.length - 1));
    const weight = pool => Math.max(pool.bytes / all, moves(pool) ? LEAST.moving : LEAST.still);
    const weights = shown.reduce((sum, pool) => sum + weight(pool), 0);
    let low = 0;
    for (const pool of plan.pools) {
        pool.low = low;
        if (shown.includes(pool)) low += weight(pool) / weights;
        pool.high = low;
    }
    for (const span of plan.spans) {
        const pool = plan.pools[span.pool];
        span.shown = pool.shown;
        span.low = partOf(pool, span.offset);
        span.high = partOf(pool, span.offset + span.bytes);
    }
}

// Where a byte of a pool is drawn.
function partOf(pool, offset) {
    return pool.low + (pool.high - pool.low) * (pool.bytes ? offset / pool.bytes : 0);
}

// The first node at which the most bytes are alive.
function findPeak() {
    const change = new Float64Array(nodes.length + 2);
    for (const span of plan.spans) {
        change[Math.max(0, span.from)] += span.bytes;
        change[Math.min(nodes.length, span.to + 1)] -= span.bytes;
    }
    let sum = 0, most = -1, peak = 0;
    for (let i = 0; i < nodes.length; i++) {
        sum += change[i];
        if (sum > most) [most, peak] = [sum, i];
    }
    return peak;
}

const liveAt = node => plan.spans.filter(span => span.from <= node && node <= span.to);

// Who owns each byte while `node` runs: [{ pool, offset, bytes, span }]; without a span it is free.
// What shares bytes with another (a view) adds none.
function owners(node) {
    const rows = [], live = liveAt(node);
    plan.pools.forEach((pool, number) => {
        const own = live.filter(span => span.pool === number)
            .sort((a, b) => a.offset - b.offset || b.bytes - a.bytes);
        let at = 0;
        const free = to => to > at && rows.push({ pool: number, offset: at, bytes: to - at });
        for (const span of own) {
            const { offset } = span, to = Math.min(pool.bytes, offset + span.bytes);
            free(offset);
            const taken = Math.max(0, to - Math.max(at, offset));
            rows.push({ pool: number, offset, bytes: taken, span });
            at = Math.max(at, to);
        }
        free(pool.bytes);
    });
    return rows;
}

function buildMemory(section) {
    readPlan();
    plan.canvas = el('canvas');
    plan.box = el('div.chart.plan', {
        tabindex: 0, role: 'application', onkeydown: planKey, onpointermove: planMove,
        onclick: planClick, 'aria-describedby': 'plan-reading',
        'aria-label': `Plan of memory: ${plural(plan.spans.length, 'block')} over ` +
            `${plural(nodes.length, 'node')}. Left and right arrows go to other nodes, up and ` +
            'down to the blocks that live there.',
    }, plan.canvas);
    section.append(el('h2', 'Memory plan'), el('p.lead', 'Nodes run from left to right; each ' +
        'block is a tensor in its place while it lives. Each pool has a scale of its own. ' +
        'The most is alive at ', nodeLink(plan.peak), '.'), planTools(), planKeyOfInks(), plan.box,
    el('output.reading', { id: 'plan-reading' }), el('div', { id: 'plan-sum' }),
    el('div', { id: 'plan-owners' }));
    new ResizeObserver(drawPlan).observe(plan.box);
    paintOwners();
}

function planTools() {
    const last = nodes.length - 1;
    const end = (title, which, value) => numberField(title, value, last, which, wished => {
        plan[which] = wished;
        setRange(Math.min(plan.low, plan.high), Math.max(plan.low, plan.high));
    });
    return el('div.bar', end('From node', 'low', 0), end('to node', 'high', last),
        button('All', () => setRange(0, last)),
        button('Around the peak', () => setRange(plan.peak - 12, plan.peak + 12)), poolSelect(),
        saveButton('svg', 'memory', planDrawing), saveButton('csv', 'memory', planCsv));
}

function planKeyOfInks() {
    const byInk = new Map();
    for (const role of Object.keys(INKS)) {
        if (!plan.spans.some(span => span.role === role)) continue;
        byInk.set(INKS[role], (byInk.get(INKS[role]) || []).concat(role));
    }
    return el('ul.key', Array.from(byInk, ([ink, roles]) =>
        el('li', el('i.ink-' + ink), roles.join(', '))));
}

function poolSelect() {
    const pools = plan.pools.map((pool, i) => [String(i), `${pool.name} (${bytes(pool.bytes)})`])
        .filter((_, i) => plan.pools[i].bytes > 0);
    return select('Pool', [['', 'all'], ...pools], '', only => {
        stack(only);
        plan.chosen = null;
        drawPlan();
    });
}

function setRange(low, high) {
    plan.low = Math.max(0, low);
    plan.high = Math.min(nodes.length - 1, high);
    for (const which of ['low', 'high']) {
        $('view-memory').querySelector(`[data-id=${which}]`).value = plan[which];
    }
    drawPlan();
}

function planCsv() {
    return csv(['owner', 'role', 'pool', 'offset', 'bytes', 'from_node', 'to_node'],
        plan.spans.map(({ owner, role, pool, offset, bytes, from, to }) =>
            [owner, role, plan.pools[pool].name, offset, bytes, from, to]));
}

// ---- Who owns the bytes -------------------------------------------------------------------------
function paintOwners() {
    const rows = owners(plan.at), sumOf = list => list.reduce((sum, row) => sum + row.bytes, 0);
    const sum = sumOf(rows), free = sumOf(rows.filter(row => !row.span)), { promised } = plan;
    const same = promised === undefined || sum === promised, peak = plan.at === plan.peak;
    const inBytes = n => n === undefined ? '–' : whole(n) + ' B';
    const verdict = !same ?
        `✗ The sum is ${whole(sum)} bytes, the promise ${whole(promised)}.` :
        peak && free ? `✗ At the peak ${whole(free)} bytes have no owner.` :
            '✓ The sum is what samba promised, byte for byte.';
    put($('plan-sum'), facts([[(peak ? 'Owned at the peak, ' : 'Owned at node ') + plan.at,
                               inBytes(sum - free)], ['Free then', inBytes(free)],
                              ['Sum', inBytes(sum)], ['Promised', inBytes(promised)]],
                             { class: 'facts sum' }),
        el('p', { class: verdict[0] === '✓' ? 'good' : 'warning', id: 'plan-verdict' }, verdict));
    paintOwnersTable(rows.sort((a, b) => b.bytes - a.bytes));
}

function paintOwnersTable(rows) {
    const owner = span => span.tensor >= 0 ? tensorLink(span.tensor) : span.owner;
    const cells = ({ span, pool, offset, bytes }) => [
        span ? owner(span) : 'free', span ? span.role : '–', plan.pools[pool].name, whole(offset),
        whole(bytes), span ? `${span.from} – ${span.to}` : '–'];
    const columns = [
        { title: 'Owner', head: true }, { title: 'Role' }, { title: 'Pool' },
        { title: 'Offset', number: true }, { title: 'Bytes', number: true },
        { title: 'Lives', number: true }];
    put($('plan-owners'), el('h3', `Who owns the bytes while node ${plan.at} runs`),
        table('Owners of memory', columns, rows.slice(0, 400).map(row => ({ cells: cells(row) }))),
        rows.length > 400 && el('p.note', `The largest 400 of ${whole(rows.length)}.`));
}

// ---- The drawing --------------------------------------------------------------------------------
const EDGE = { left: 86, right: 12, top: 10, bottom: 28 };
function planScales() {
    const w = plan.box.clientWidth, h = plan.box.clientHeight, n = plan.high - plan.low + 1;
    const [right, up] = [w - EDGE.left - EDGE.right, h - EDGE.top - EDGE.bottom];
    return { w, h, n, x: node => EDGE.left + (node - plan.low) / n * right,
             y: part => h - EDGE.bottom - part * up,
             node: x => plan.low + Math.floor((x - EDGE.left) / right * n),
             part: y => (h - EDGE.bottom - y) / up };
}

function drawPlan() {
    if (!plan.box || !plan.box.clientWidth) return;
    const { w, h } = planScales(), pen = canvas(plan.canvas, w, h);
    pen.clearRect(0, 0, w, h);
    pen.font = '11px system-ui, sans-serif';
    penPlan(pen);
}

function planDrawing() {
    const { w, h } = planScales(), pen = svgPen(w, h);
    pen.fillStyle = color('card');
    pen.fillRect(0, 0, w, h);
    penPlan(pen);
    return new XMLSerializer().serializeToString(pen.drawing);
}

function penPlan(pen) {
    const { w, h, n, x, y } = planScales(), inks = {};
    for (const name of [...Object.values(INKS), 'line', 'soft', 'text']) inks[name] = color(name);
    penAxes(pen, inks);
    const gap = (w - EDGE.left) / n > 4 ? 1 : 0;
    for (const span of plan.spans) {
        if (!span.shown || span.to < plan.low || span.from > plan.high) continue;
        const [x0, y0, wide, high] = spanBox(span, x, y), thin = high <= 3;
        pen.fillStyle = inks[INKS[span.role] || 'plum'];
        pen.globalAlpha = span === plan.chosen ? 1 : 0.75;
        pen.about = `${span.owner}, ${whole(span.bytes)} B, nodes ${span.from} to ${span.to}`;
        pen.fillRect(x0, y0 + (thin ? 0 : 0.5), Math.max(0.7, wide - gap),
            Math.max(0.5, high - (thin ? 0 : 1)));
    }
    pen.globalAlpha = 1;
    pen.about = '';
    pen.fillStyle = inks.text;
    pen.fillRect(x(plan.at), EDGE.top, 1.5, h - EDGE.top - EDGE.bottom);
    if (!plan.chosen) return;
    pen.strokeStyle = inks.text;
    pen.lineWidth = 2;
    pen.strokeRect(...spanBox(plan.chosen, x, y));
}

// Where a span is drawn: left, top, width, height.
function spanBox(span, x, y) {
    const left = x(Math.max(span.from, plan.low)), top = y(span.high);
    return [left, top, x(Math.min(span.to, plan.high) + 1) - left, y(span.low) - top];
}

function penAxes(pen, inks) {
    const { w, h, n, x, y } = planScales();
    const rule = at => pen.fillRect(EDGE.left, at, w - EDGE.left - EDGE.right, 1);
    pen.textAlign = 'right';
    plan.pools.filter(pool => pool.shown).forEach((pool, i) => {
        const low = y(pool.low), high = y(pool.high), roomy = low - high > 28;
        pen.fillStyle = inks.line;
        rule(high);
        if (!i) rule(low);
        if (low - high < 13) return;
        const middle = (low + high) / 2, name = fitted(pool.name, EDGE.left - 12, '11px');
        pen.fillStyle = inks.soft;
        pen.fillText(name, EDGE.left - 8, middle + (roomy ? -2 : 4));
        if (roomy) pen.fillText(bytes(pool.bytes), EDGE.left - 8, middle + 12);
    });
    pen.textAlign = 'center';
    pen.fillStyle = inks.soft;
    const step = tickStep(n / Math.max(2, w / 90));
    for (let i = Math.ceil(plan.low / step) * step; i <= plan.high; i += step) {
        pen.fillText(i, x(i + 0.5), h - 10);
    }
}

function tickStep(least) {
    const size = Math.pow(10, Math.floor(Math.log10(Math.max(1, least))));
    return [1, 2, 5, 10].map(f => f * size).find(step => step >= least) || 1;
}

// ---- Reading it ---------------------------------------------------------------------------------
function tellSpan(span) {
    plan.chosen = span || null;
    $('plan-reading').textContent = span ?
        `${span.owner} · ${span.role} · ${whole(span.bytes)} B at ` +
        `${plan.pools[span.pool].name} + ${whole(span.offset)}, nodes ${span.from} to ${span.to}` :
        'No tensor lives there then: the bytes are free.';
    drawPlan();
}

// The node under the pointer, and the span that lives there.
function planAt(event) {
    const box = plan.canvas.getBoundingClientRect(), scale = planScales();
    const node = scale.node(event.clientX - box.left), part = scale.part(event.clientY - box.top);
    const seen = plan.low <= node && node <= plan.high;
    return { node: Math.min(plan.high, Math.max(plan.low, node)), span: seen && liveAt(node).find(
        span => span.shown && span.low <= part && part < span.high) };
}

function planMove(event) {
    tellSpan(planAt(event).span);
}

function planClick(event) {
    const { node, span } = planAt(event);
    change(span && span.tensor >= 0 ? { node, tensor: span.tensor } : { node });
    tellSpan(span);
}

function planKey(event) {
    const [dx, dy] = ARROWS[event.key] || [0, 0];
    if (!dx && !dy) return;
    event.preventDefault();
    event.stopPropagation();
    if (dx) change({ node: Math.min(plan.high, Math.max(plan.low, plan.at + dx)) });
    const live = liveAt(plan.at).filter(span => span.shown).sort((a, b) => a.low - b.low);
    const at = live.indexOf(plan.chosen);
    tellSpan(live[dy ? Math.min(live.length - 1, Math.max(0, at - dy)) : Math.max(0, at)]);
    say($('plan-reading').textContent);
}

function updateMemory(what) {
    if (!what.node) return;
    plan.at = state.node;
    if (plan.chosen && (plan.chosen.from > plan.at || plan.chosen.to < plan.at)) plan.chosen = null;
    paintOwners();
    drawPlan();
}
