// The plan of memory: nodes go right, bytes go up, a block for each tensor while it lives.

const plan = { spans: [], pools: [], height: 0, low: 0, high: 0, peak: 0, at: 0, chosen: null };
const ROLES = ['input', 'parameter', 'output', 'gradient', 'state', 'temporary', 'scratch'];
const inkOf = role => ({ parameter: 'stone', buffer: 'stone', constant: 'stone', input: 'ink', gradient: 'warm', state: 'sand',
                         output: 'accent', temporary: 'accent', argin: 'ink', scratch: 'sand' })[role] || 'sand';

function readPlan() {
    const memory = data.memory || { pools: [], spans: [] };
    plan.pools = (memory.pools || []).map((pool, i) => {
        const name = pool.name || 'pool ' + i;
        return { name, short: name.split(':')[0], bytes: pool.bytes };
    });
    plan.high = Math.max(0, nodes.length - 1);
    plan.spans = (memory.spans || []).map(span => Object.assign({}, span, {
        role: span.tensor >= 0 ? tensors[span.tensor].role : 'scratch',
        owner: span.tensor >= 0 ? tensorName(span.tensor) : span.owner || 'no name' }));
    plan.peak = nodes[memory.peak] ? memory.peak : findPeak();
    plan.at = plan.peak;
    stack('');
}

// The pools one above the other, or only one of them.
function stack(only) {
    let base = 0;
    plan.pools.forEach((pool, i) => {
        pool.shown = only === '' || Number(only) === i;
        pool.base = base;
        if (pool.shown) base += pool.bytes;
    });
    plan.height = base;
    for (const span of plan.spans) {
        const pool = plan.pools[span.pool];
        span.shown = pool.shown;
        span.base = pool.base + span.offset;
    }
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
        const own = live.filter(span => span.pool === number).sort((a, b) => a.offset - b.offset || b.bytes - a.bytes);
        let at = 0;
        for (const span of own) {
            if (span.offset > at) rows.push({ pool: number, offset: at, bytes: span.offset - at });
            const from = Math.max(at, span.offset), to = Math.min(pool.bytes, span.offset + span.bytes);
            rows.push({ pool: number, offset: span.offset, bytes: Math.max(0, to - from), span });
            at = Math.max(at, to);
        }
        if (at < pool.bytes) rows.push({ pool: number, offset: at, bytes: pool.bytes - at });
    });
    return rows;
}

function buildMemory(section) {
    readPlan();
    const promised = (data.memory || {}).promised;
    const ends = ['From node', 'to node'].map((title, i) => numberField(title, i ? plan.high : 0, plan.high, 'range' + i, value => {
        plan[i ? 'high' : 'low'] = value;
        if (plan.low > plan.high) [plan.low, plan.high] = [plan.high, plan.low];
        drawPlan();
    }));
    plan.canvas = el('canvas');
    plan.box = el('div', { class: 'chart plan', tabindex: 0, role: 'application', onkeydown: planKey, onpointermove: planMove,
                           onclick: planClick, 'aria-describedby': 'plan-reading', 'aria-label':
        `Plan of memory: ${plural(plan.spans.length, 'block')} over ${plural(nodes.length, 'node')}. ` +
        'Left and right arrows go to other nodes, up and down to the blocks that live there.' }, plan.canvas);
    section.append(el('h2', null, 'Memory plan'),
        el('p', { class: 'lead' }, 'Nodes run from left to right; each block is a tensor in its place while it lives. The most is alive at ',
           nodeLink(plan.peak), '.'),
        el('div', { class: 'bar' }, ends, button('All', () => setRange(0, nodes.length - 1)),
           button('Around the peak', () => setRange(plan.peak - 12, plan.peak + 12)), poolSelect()), planLegend(),
        plan.box, el('output', { class: 'reading', id: 'plan-reading' }), el('div', { id: 'plan-sum' }), el('div', { id: 'plan-owners' }));
    plan.promised = promised;
    new ResizeObserver(drawPlan).observe(plan.box);
    paintOwners();
}

function planLegend() {
    const roles = ROLES.filter(role => plan.spans.some(span => span.role === role));
    return el('ul', { class: 'key' }, roles.map(role => el('li', null, el('i', { class: 'ink-' + inkOf(role) }), role)));
}

function poolSelect() {
    const pools = plan.pools.map((pool, i) => [String(i), `${pool.short} (${bytes(pool.bytes)})`]);
    return select('Pool', [['', 'all']].concat(pools.filter((_, i) => plan.pools[i].bytes > 0)), '', only => {
        stack(only);
        plan.chosen = null;
        drawPlan();
    });
}

function setRange(low, high) {
    plan.low = Math.max(0, low);
    plan.high = Math.min(nodes.length - 1, high);
    const fields = $('view-memory').querySelectorAll('input');
    fields[0].value = plan.low;
    fields[1].value = plan.high;
    drawPlan();
}

function paintOwners() {
    const rows = owners(plan.at), sum = rows.reduce((s, row) => s + row.bytes, 0), peak = plan.at === plan.peak;
    const free = rows.filter(row => !row.span).reduce((s, row) => s + row.bytes, 0);
    const same = plan.promised === undefined || sum === plan.promised;
    put($('plan-sum'), el('dl', { class: 'facts sum' }, [
        [(peak ? 'Owned at the peak, ' : 'Owned at node ') + plan.at, whole(sum - free)], ['Free then', whole(free)],
        ['Sum', whole(sum)], ['Promised', plan.promised === undefined ? '–' : whole(plan.promised)]].map(
        ([k, v]) => el('div', null, el('dt', null, k), el('dd', null, v + ' B')))),
        el('p', { class: same ? 'good' : 'warning', id: 'plan-verdict' }, same ? '✓ The sum is what samba promised, byte for byte.' :
            `✗ The sum is ${whole(sum)} bytes, the promise ${whole(plan.promised)}.`));
    const shown = rows.slice().sort((a, b) => b.bytes - a.bytes);
    const cells = row => [row.span ? row.span.tensor >= 0 ? tensorLink(row.span.tensor) : row.span.owner : 'free',
        row.span ? row.span.role : '–', plan.pools[row.pool].short, whole(row.offset), whole(row.bytes),
        row.span ? `${row.span.from} – ${row.span.to}` : '–'];
    put($('plan-owners'), el('h3', null, `Who owns the bytes while node ${plan.at} runs`), table('Owners of memory', [
        { title: 'Owner', head: true }, { title: 'Role' }, { title: 'Pool' }, { title: 'Offset', number: true },
        { title: 'Bytes', number: true }, { title: 'Lives', number: true }],
        shown.slice(0, 400).map(row => ({ cells: cells(row) }))),
        shown.length > 400 && el('p', { class: 'note' }, `The largest 400 of ${whole(shown.length)}.`));
}

// ---- The drawing --------------------------------------------------------------------------------
const EDGE = { left: 86, right: 12, top: 10, bottom: 28 };
function planScales() {
    const w = plan.box.clientWidth, h = plan.box.clientHeight, n = plan.high - plan.low + 1;
    const inner = [w - EDGE.left - EDGE.right, h - EDGE.top - EDGE.bottom];
    return { w, h, n, x: node => EDGE.left + (node - plan.low) / n * inner[0],
             y: byte => h - EDGE.bottom - byte / (plan.height || 1) * inner[1],
             node: x => plan.low + Math.floor((x - EDGE.left) / inner[0] * n),
             byte: y => (h - EDGE.bottom - y) / inner[1] * plan.height };
}

function drawPlan() {
    if (!plan.box || !plan.box.clientWidth) return;
    const { w, h, n, x, y } = planScales(), pen = canvas(plan.canvas, w, h), inks = {};
    for (const name of ['stone', 'ink', 'warm', 'sand', 'accent', 'line', 'soft', 'text', 'card']) inks[name] = color(name);
    pen.clearRect(0, 0, w, h);
    pen.font = '11px system-ui, sans-serif';
    drawPlanAxes(pen, inks);
    const gap = (w - EDGE.left) / n > 4 ? 1 : 0;
    for (const span of plan.spans) {
        if (!span.shown || span.to < plan.low || span.from > plan.high) continue;
        const x0 = x(Math.max(span.from, plan.low)), x1 = x(Math.min(span.to, plan.high) + 1), y1 = y(span.base + span.bytes);
        const high = y(span.base) - y1;
        pen.fillStyle = inks[inkOf(span.role)];
        pen.globalAlpha = span === plan.chosen ? 1 : 0.72;
        pen.fillRect(x0, y1 + (high > 3 ? 0.5 : 0), Math.max(0.7, x1 - x0 - gap), Math.max(0.5, high - (high > 3 ? 1 : 0)));
    }
    pen.globalAlpha = 1;
    pen.fillStyle = inks.text;
    pen.fillRect(x(plan.at), EDGE.top, 1.5, h - EDGE.top - EDGE.bottom);
    if (plan.chosen) {
        const s = plan.chosen;
        pen.strokeStyle = inks.text;
        pen.lineWidth = 2;
        pen.strokeRect(x(Math.max(s.from, plan.low)), y(s.base + s.bytes), x(Math.min(s.to, plan.high) + 1) -
            x(Math.max(s.from, plan.low)), y(s.base) - y(s.base + s.bytes));
    }
}

function drawPlanAxes(pen, inks) {
    const { w, h, n, x, y } = planScales();
    pen.textAlign = 'right';
    plan.pools.forEach((pool, i) => {
        if (!pool.shown) return;
        const low = y(pool.base), high = y(pool.base + pool.bytes);
        pen.fillStyle = inks.line;
        pen.fillRect(EDGE.left, high, w - EDGE.left - EDGE.right, 1);
        if (!i) pen.fillRect(EDGE.left, low, w - EDGE.left - EDGE.right, 1);
        if (low - high < 13) return;
        pen.fillStyle = inks.soft;
        pen.fillText(cutText(pool.short, 12), EDGE.left - 8, (low + high) / 2 + (low - high > 28 ? -2 : 4));
        if (low - high > 28) pen.fillText(bytes(pool.bytes), EDGE.left - 8, (low + high) / 2 + 12);
    });
    pen.textAlign = 'center';
    pen.fillStyle = inks.soft;
    const step = tickStep(n / Math.max(2, w / 90));
    for (let i = Math.ceil(plan.low / step) * step; i <= plan.high; i += step) pen.fillText(i, x(i + 0.5), h - 10);
}

function tickStep(least) {
    const size = Math.pow(10, Math.floor(Math.log10(Math.max(1, least))));
    return [1, 2, 5, 10].map(f => f * size).find(step => step >= least) || 1;
}

function tellSpan(span) {
    plan.chosen = span || null;
    $('plan-reading').textContent = span ?
        `${span.owner} · ${span.role} · ${whole(span.bytes)} B at ${plan.pools[span.pool].short} + ${whole(span.offset)}, ` +
        `nodes ${span.from} to ${span.to}` : 'No tensor lives there then: the bytes are free.';
    drawPlan();
}

function spanAt(event) {
    const box = plan.canvas.getBoundingClientRect(), { node, byte } = planScales();
    const n = node(event.clientX - box.left), b = byte(event.clientY - box.top);
    if (n < plan.low || n > plan.high) return undefined;
    return plan.spans.find(span => span.shown && span.from <= n && n <= span.to && span.base <= b && b < span.base + span.bytes);
}

function planMove(event) {
    tellSpan(spanAt(event));
}

function planClick(event) {
    const span = spanAt(event), box = plan.canvas.getBoundingClientRect();
    const node = Math.min(plan.high, Math.max(plan.low, planScales().node(event.clientX - box.left)));
    change(span && span.tensor >= 0 ? { node, tensor: span.tensor } : { node });
    tellSpan(span);
}

function planKey(event) {
    const [dx, dy] = ARROWS[event.key] || [0, 0];
    if (!dx && !dy) return;
    event.preventDefault();
    event.stopPropagation();
    if (dx) change({ node: Math.min(plan.high, Math.max(plan.low, plan.at + dx)) });
    const live = liveAt(plan.at).filter(span => span.shown).sort((a, b) => a.base - b.base);
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
