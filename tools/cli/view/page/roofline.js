// The roofline: each node by its FLOPs a byte and its speed, under this machine's two ceilings.

const roof = { element: null, points: [] };
const ROOM = { w: 760, h: 320, left: 52, right: 16, top: 22, bottom: 44 };     // w: as is there

function buildRoofline(box) {
    const { gflops, gbytes } = data.machine || {};
    roof.points = nodes.map((node, i) => ({ i, x: intensity(node), y: speed(node) }))
        .filter(point => point.x > 0 && point.y > 0);
    if (!gflops || !gbytes || !roof.points.length) {
        put(box, el('p.note', 'Without measured times and ceilings there is no roofline.'));
        return;
    }
    roof.element = el('div.chart');
    roof.reading = el('output.reading');
    const drawing = () => drawingText(roof.element.firstChild, ROOM.w, ROOM.h);
    put(box, el('p.lead', roofText(data.machine)), roof.element, el('div.bar', el('ul.key',
        ['forward', 'backward', 'optimizer'].map(kind => el('li', el('i.dot.' + kind), kind))),
    saveButton('svg', 'roofline', drawing)));
    new ResizeObserver(drawRoofline).observe(roof.element);
}

function roofText({ name, threads, gflops, gbytes }) {
    const knee = gflops / gbytes, below = roof.points.filter(p => p.x < knee).length;
    return `${name || 'This machine'} reaches ${short(gflops)} GFLOP/s and ${short(gbytes)} GB/s` +
        `, as measured${threads ? ' with ' + plural(threads, 'thread') : ''}. Below ` +
        `${short(knee)} FLOP per byte, memory is the limit: that holds for ${whole(below)} of ` +
        `${plural(roof.points.length, 'node')}. What lies in caches may be above the line.`;
}

// Both axes are logarithmic, from a power of ten to another.
function roofScales() {
    const { gflops, gbytes } = data.machine, log = Math.log10, { points } = roof;
    const xs = [...points.map(p => log(p.x)), log(gflops / gbytes)];
    const ys = [...points.map(p => log(p.y)), log(gflops)];
    const least = all => Math.floor(all.reduce((a, b) => Math.min(a, b)));
    const most = all => Math.ceil(all.reduce((a, b) => Math.max(a, b)) + 0.1);
    const x0 = least(xs), x1 = most(xs), y1 = most(ys), y0 = Math.max(least(ys), y1 - 7);
    const right = ROOM.w - ROOM.left - ROOM.right, up = ROOM.h - ROOM.top - ROOM.bottom;
    return { x0, x1, y0, y1, x: v => ROOM.left + (log(v) - x0) / (x1 - x0) * right,
             y: v => ROOM.h - ROOM.bottom - Math.max(0, (log(v) - y0) / (y1 - y0)) * up };
}

function power(e) {
    if (e < -3 || e > 3) return '1e' + e;
    return e < 0 ? String(Math.pow(10, e)) : whole(Math.pow(10, e));
}

function roofRules({ x0, x1, y0, y1, x, y }) {
    const marks = [], lower = ROOM.h - ROOM.bottom;
    for (let e = x0; e <= x1; e++) {
        const at = x(Math.pow(10, e));
        marks.push(svg('line.rule', { x1: at, x2: at, y1: ROOM.top, y2: lower }),
            svgText('middle', at, lower + 18, power(e)));
    }
    for (let e = y0; e <= y1; e++) {
        const at = y(Math.pow(10, e));
        marks.push(svg('line.rule', { x1: ROOM.left, x2: ROOM.w - ROOM.right, y1: at, y2: at }),
            svgText('end', ROOM.left - 8, at + 4, power(e)));
    }
    return marks;
}

function drawRoofline() {
    if (!roof.element || !roof.element.clientWidth) return;
    ROOM.w = Math.min(900, roof.element.clientWidth);
    const scales = roofScales(), { x0, x1, y0, x, y } = scales, { gflops, gbytes } = data.machine;
    const knee = gflops / gbytes, start = Math.max(Math.pow(10, x0), Math.pow(10, y0) / gbytes);
    const ceiling = [[start, start * gbytes], [knee, gflops], [Math.pow(10, x1), gflops]];
    // One path for each kind: ten thousand circles would be slow.
    const dots = Object.keys(KINDS).map(kind => svg('path.point.' + kind, {
        d: roof.points.filter(p => kindOf(nodes[p.i]) === kind)
            .map(p => `M${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}h0`).join(''),
    }));
    const chosen = roof.points.find(p => p.i === state.node);
    put(roof.element, svg('svg.roofline', {
        viewBox: `0 0 ${ROOM.w} ${ROOM.h}`, role: 'img',
        'aria-label': 'Roofline. The table below has the same numbers.',
        onclick: roofClick, onpointermove: roofMove,
    }, roofRules(scales),
    svg('path.ceiling', { d: 'M' + ceiling.map(([a, b]) => `${x(a)},${y(b)}`).join('L') }), dots,
    chosen && svg('circle.ring', { cx: x(chosen.x), cy: y(chosen.y), r: 8 }),
    svgText('end', ...roofLabel(x(knee), y(gflops)), short(gflops) + ' GFLOP/s'),
    svgText('middle', (ROOM.left + ROOM.w - ROOM.right) / 2, ROOM.h - 4, 'FLOP per byte')),
    roof.reading);
    roof.reading.textContent = chosen ? pointText(chosen) : 'Point at a node.';
}

// Above the slope, where nodes are rare; if there is no room, above the ceiling.
function roofLabel(knee, ceiling) {
    return [knee - ROOM.left > 120 ? knee - 4 : ROOM.w - ROOM.right, ceiling - 6];
}

function roofClick(event) {
    const point = nearestPoint(event);
    if (point) change({ node: point.i });
}

function roofMove(event) {
    const point = nearestPoint(event);
    if (point) roof.reading.textContent = pointText(point);
}

function pointText({ i, x, y }) {
    return `node ${i} ${nodes[i].op}: ${short(x)} FLOP per byte, ${short(y)} GFLOP/s`;
}

// The node drawn next to the pointer, at most 12 units away.
function nearestPoint(event) {
    const box = roof.element.firstChild.getBoundingClientRect(), unit = ROOM.w / box.width;
    const px = (event.clientX - box.left) * unit, py = (event.clientY - box.top) * unit;
    const { x, y } = roofScales();
    let best = null, least = 12;
    for (const point of roof.points) {
        const far = Math.hypot(x(point.x) - px, y(point.y) - py);
        if (far < least) [best, least] = [point, far];
    }
    return best;
}
