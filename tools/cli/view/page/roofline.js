// The roofline: each node by its FLOPs a byte and its speed, under this machine's two ceilings.

const roof = { element: null };
const ROOM = { w: 760, h: 300, left: 56, right: 16, top: 14, bottom: 40 };

function buildRoofline(box) {
    const machine = data.machine || {};
    roof.points = nodes.map((node, i) => ({ i, x: node.bytes ? node.flops / node.bytes : 0,
                                            y: node.seconds ? node.flops / node.seconds / 1e9 : 0 }))
        .filter(point => point.x > 0 && point.y > 0);
    if (!machine.gflops || !machine.gbytes || !roof.points.length) {
        put(box, el('p', { class: 'note' }, 'Without measured times and ceilings there is no roofline.'));
        return;
    }
    const knee = machine.gflops / machine.gbytes, compute = roof.points.filter(p => p.x >= knee).length;
    roof.element = el('div', { class: 'chart' });
    roof.reading = el('output', { class: 'reading' });
    put(box, el('p', { class: 'lead' }, `${machine.name || 'This machine'} reaches ${short(machine.gflops)} GFLOP/s and ` +
        `${short(machine.gbytes)} GB/s, as measured${machine.threads ? ' with ' + plural(machine.threads, 'thread') : ''}. ` +
        `Below ${short(knee)} FLOP per byte, memory is the limit: that holds for ${whole(roof.points.length - compute)} of ` +
        `${plural(roof.points.length, 'node')}. What lies in caches may be above the line.`), roof.element, el('ul', { class: 'key' },
        ['forward', 'backward', 'optimizer'].map(kind => el('li', null, el('i', { class: 'dot ' + kind }), kind))));
    drawRoofline();
}

function roofScales() {
    const { gflops, gbytes } = data.machine, log = Math.log10, { points } = roof;
    const xs = points.map(p => log(p.x)).concat(log(gflops / gbytes)), ys = points.map(p => log(p.y)).concat(log(gflops));
    const range = all => [Math.floor(all.reduce((a, b) => Math.min(a, b))), Math.ceil(all.reduce((a, b) => Math.max(a, b)) + 0.1)];
    const [x0, x1] = range(xs), y1 = range(ys)[1], y0 = Math.max(range(ys)[0], y1 - 7);
    return { x0, x1, y0, y1, x: v => ROOM.left + (log(v) - x0) / (x1 - x0) * (ROOM.w - ROOM.left - ROOM.right),
             y: v => ROOM.h - ROOM.bottom - Math.max(0, (log(v) - y0) / (y1 - y0)) * (ROOM.h - ROOM.top - ROOM.bottom) };
}

const power = e => e >= 0 && e < 4 ? whole(Math.pow(10, e)) : e < 0 && e > -4 ? String(Math.pow(10, e)) : '1e' + e;

function drawRoofline() {
    if (!roof.element) return;
    const { x0, x1, y0, y1, x, y } = roofScales(), { gflops, gbytes } = data.machine, marks = [];
    for (let e = x0; e <= x1; e++) {
        const at = x(Math.pow(10, e));
        marks.push(svg('line', { class: 'rule', x1: at, x2: at, y1: ROOM.top, y2: ROOM.h - ROOM.bottom }),
                   svg('text', { class: 'middle', x: at, y: ROOM.h - 22 }, power(e)));
    }
    for (let e = y0; e <= y1; e++) {
        const at = y(Math.pow(10, e));
        marks.push(svg('line', { class: 'rule', x1: ROOM.left, x2: ROOM.w - ROOM.right, y1: at, y2: at }),
                   svg('text', { class: 'end', x: ROOM.left - 8, y: at + 4 }, power(e)));
    }
    const low = Math.pow(10, x0), high = Math.pow(10, x1), knee = gflops / gbytes;
    const start = Math.max(low, Math.pow(10, y0) / gbytes);
    const ceiling = `M${x(start)},${y(start * gbytes)}L${x(knee)},${y(gflops)}L${x(high)},${y(gflops)}`;
    // One path for each kind: ten thousand circles would be slow.
    const dots = Object.keys(KINDS).map(kind => svg('path', { class: 'point ' + kind, d: roof.points.filter(
        p => kindOf(nodes[p.i]) === kind).map(p => `M${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}h0`).join('') }));
    const chosen = roof.points.find(p => p.i === state.node);
    put(roof.element, svg('svg', { viewBox: `0 0 ${ROOM.w} ${ROOM.h}`, role: 'img', class: 'roofline', 'aria-label':
        'Roofline. The table below has the same numbers.', onclick: event => {
        const point = nearestPoint(event);
        if (point) change({ node: point.i });
    }, onpointermove: event => {
        const point = nearestPoint(event);
        if (point) roof.reading.textContent = pointText(point);
    } }, marks, svg('path', { class: 'ceiling', d: ceiling }), dots,
        chosen && svg('circle', { class: 'ring', cx: x(chosen.x), cy: y(chosen.y), r: 8 }),
        svg('text', { class: 'end', x: ROOM.w - ROOM.right, y: y(gflops) - 7 }, short(gflops) + ' GFLOP/s'),
        svg('text', { class: 'middle', x: (ROOM.left + ROOM.w - ROOM.right) / 2, y: ROOM.h - 4 }, 'FLOP per byte')), roof.reading);
    roof.reading.textContent = chosen ? pointText(chosen) : 'Point at a node.';
}

const pointText = ({ i, x, y }) => `node ${i} ${nodes[i].op}: ${short(x)} FLOP per byte, ${short(y)} GFLOP/s`;

// The node drawn next to the pointer, at most 12 units away.
function nearestPoint(event) {
    const box = roof.element.firstChild.getBoundingClientRect(), unit = ROOM.w / box.width, { x, y } = roofScales();
    const px = (event.clientX - box.left) * unit, py = (event.clientY - box.top) * unit;
    let best = null, least = 12;
    for (const point of roof.points) {
        const far = Math.hypot(x(point.x) - px, y(point.y) - py);
        if (far < least) [best, least] = [point, far];
    }
    return best;
}
