// The graph: what layout.js placed, drawn in SVG, moved by mouse, finger and keys.

const sight = { x: 0, y: 0, zoom: 1 };  // what of the plane is seen
const stage = { element: null, plane: null, layers: {}, current: null, things: [], painted: null };
const MARGIN = 600;                     // drawn around what is seen, so that moving shows no gaps

function buildGraph(section) {
    stage.plane = svg('g');
    for (const name of ['boxes', 'threads', 'wires', 'cards']) {
        stage.layers[name] = stage.plane.appendChild(svg('g', { class: name }));
    }
    stage.svg = svg('svg', { 'aria-hidden': 'true' }, stage.plane);
    stage.element = el('div', {
        class: 'stage', id: 'stage', tabindex: 0, role: 'application', 'aria-roledescription': 'graph',
        'aria-label': 'Graph of ' + plural(nodes.length, 'node') + '. Arrow keys go from node to node, ' +
            'Enter opens and closes folds. The outline lists the same.',
    }, stage.svg);
    const tools = el('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Graph' },
        shadeSelect(),
        button('Open all', () => foldAll(true)), button('Fold all', () => foldAll(false)),
        button('Fit', fit, { title: 'Show the whole graph (0)' }),
        button('−', () => zoomBy(1 / 1.3), { 'aria-label': 'Zoom out' }),
        button('+', () => zoomBy(1.3), { 'aria-label': 'Zoom in' }));
    const side = el('div', { class: 'side' });
    section.append(side, el('div', { class: 'field-of-view' }, tools, stage.element));
    buildFind(side);
    buildOutline(side);
    listenToStage();
    stage.current = visibleOf(leafOf[state.node] || root.children[0] || root);
    relayout();
    new ResizeObserver(() => paint()).observe(stage.element);
}

function relayout() {
    layout(root);
    stage.things = [];
    spread(root, 0, 0, 0);
    for (const layer of Object.values(stage.layers)) layer.textContent = '';
    stage.things.forEach(thing => thing.element = null);
    stage.painted = null;
    paint();
    drawWires();
}

// Places on the plane for all that is to be seen, folds before what they hold.
function spread(fold, x, y, depth) {
    if (fold.threads) {
        for (const thread of fold.threads) {
            const xs = thread.points.map(p => p[0]), ys = thread.points.map(p => p[1]);
            stage.things.push({ thread, layer: 'threads', dx: x, dy: y, box: [
                x + Math.min(...xs) - 40, y + Math.min(...ys) - 20, x + Math.max(...xs) + 40, y + Math.max(...ys) + 20] });
        }
    }
    for (const item of fold.children) {
        item.ax = x + item.x;
        item.ay = y + item.y;
        const open = item.children && item.open;
        stage.things.push({ item, depth, layer: open ? 'boxes' : 'cards',
                            box: [item.ax, item.ay, item.ax + item.w, item.ay + item.h] });
        if (open) spread(item, item.ax, item.ay, depth + 1);
    }
}

// Draws what is near the part in view, and drops what is not.
function paint() {
    stage.plane.setAttribute('transform', `translate(${sight.x} ${sight.y}) scale(${sight.zoom})`);
    const w = stage.element.clientWidth, h = stage.element.clientHeight;
    const far = sight.zoom < 0.3, left = -sight.x / sight.zoom, upper = -sight.y / sight.zoom;
    const seen = [left, upper, left + w / sight.zoom, upper + h / sight.zoom];
    const inside = stage.painted && seen.every((v, i) => i < 2 ? v >= stage.painted[i] : v <= stage.painted[i]);
    stage.svg.classList.toggle('far', far);
    if (inside && stage.paintedFar === far) return;
    const margin = MARGIN / sight.zoom;
    const [x0, y0, x1, y1] = stage.painted = seen.map((v, i) => v + (i < 2 ? -margin : margin));
    const anew = stage.paintedFar !== far;
    stage.paintedFar = far;
    for (const thing of stage.things) {
        const [a, b, c, d] = thing.box, near = c >= x0 && a <= x1 && d >= y0 && b <= y1;
        if (thing.element && (!near || anew)) {
            thing.element.remove();
            thing.element = null;
        }
        if (!near || thing.element) continue;
        thing.element = thing.thread ? drawThread(thing) : drawItem(thing, far);
        stage.layers[thing.layer].append(thing.element);
    }
    mark();
}

function drawThread(thing) {
    const many = thing.thread.pair.tensors.size;
    return svg('path', { d: curve(thing.thread, thing.dx, thing.dy), class: thing.thread.back ? 'thread back' : 'thread',
                         'stroke-width': many > 1 ? Math.min(1.2 + Math.log2(many) * 0.5, 5) : null });
}

const cutText = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

function drawItem(thing, far) {
    const item = thing.item, { w, h } = item;
    const place = { 'data-id': item.id, transform: `translate(${item.ax} ${item.ay})`, class: itemClass(item) };
    const body = svg('rect', { class: 'body', width: w, height: h, rx: thing.layer === 'boxes' ? 12 : 8 });
    if (thing.layer === 'boxes') {
        return svg('g', place, body, svg('rect', { class: 'grip', width: w, height: GAP.head, rx: 12 }),
                   svg('text', { x: 16, y: 22, class: 'title' }, '− ' + cutText(item.name, w / 8.4)));
    }
    if (far) return svg('g', place, body);
    if (item.kind === 'input') {
        body.setAttribute('rx', h / 2);
        return svg('g', place, body, svg('text', { x: w / 2, y: 17, class: 'op middle' }, cutText(item.name, 16)),
                   svg('text', { x: w / 2, y: 31, class: 'sub middle' }, shapeText(tensors[item.tensor].shape)));
    }
    if (item.kind === 'node') return svg('g', place, body, drawNode(item));
    const behind = item.kind === 'repeat' ? [8, 4].map(d => svg('rect', {
        class: 'body', x: d, y: d, width: w, height: h, rx: 8 })) : [];
    return svg('g', place, behind, body, drawShade(item),
               svg('text', { x: 14, y: 23, class: 'title' }, cutText(item.name, 18)),
               svg('text', { x: 14, y: 41, class: 'sub' }, foldText(item)),
               svg('text', { x: w - 22, y: 24, class: 'plus' }, '+'));
}

function foldText(fold) {
    if (fold.kind === 'repeat') {
        const n = fold.children.length;
        return `${n} × ${plural(fold.size / n, 'node')}, all alike`;
    }
    return plural(fold.size, 'node') + (fold.flops ? ' · ' + flops(fold.flops) : '');
}

function drawNode(item) {
    const node = nodes[item.node], out = (node.out || [])[0];
    const sub = out === undefined ? '' : state.walking && item.node <= state.node ? rangeText(out) :
        shapeText(tensors[out].shape) + (ownName(item) ? ' · ' + ownName(item) : '');
    return [svg('rect', { class: 'kind', x: 5, y: 9, width: 3, height: item.h - 18, rx: 1.5 }), drawShade(item),
            svg('text', { x: 16, y: 20, class: 'op' }, cutText(node.op, 18 - String(item.node).length)),
            svg('text', { x: 16, y: 36, class: 'sub' }, cutText(sub, 24)),
            svg('text', { x: item.w - 10, y: 20, class: 'sub end' }, item.node)];
}

// The name of a node, if it says more than its op.
function ownName(item) {
    const op = nodes[item.node].op;
    return item.name === op || item.name.replace(/_?\d+$/, '') === op ? '' : item.name;
}

function rangeText(tensor) {
    const one = snapshotOf(tensor, state.step);
    return one ? `${short(one.min)} … ${short(one.max)}` : shapeText(tensors[tensor].shape);
}

function itemClass(item) {
    const names = [item.kind];
    if (item.children) names.push(item.open ? 'open' : 'closed', 'fold');
    const first = nodes[Math.max(0, Math.ceil(item.first))];
    names.push(first ? kindOf(first) : 'other');
    if (item.kind === 'node' && (nodes[item.node].out || []).some(t => broken(snapshotOf(t, state.step)))) {
        names.push('broken');
    }
    return names.join(' ');
}

// ---- What is marked: the chosen node, what is filtered out, what has not run yet -----------------
function mark() {
    const chosen = leafOf[state.node] && visibleOf(leafOf[state.node]);
    for (const { item, element } of stage.things) {
        if (!element || !item) continue;
        const mark = element.classList, node = item.kind === 'node';
        mark.toggle('chosen', item === chosen);
        mark.toggle('current', item === stage.current);
        mark.toggle('dim', !!search.hits && !item.open && !hitsIn(item));
        mark.toggle('later', state.walking && !item.open && item.first > state.node && (node || !!item.children));
    }
}

// The edges of the chosen node, wherever their other ends are seen.
function drawWires() {
    const layer = stage.layers.wires;
    layer.textContent = '';
    const leaf = leafOf[state.node];
    if (!leaf) return;
    const here = visibleOf(leaf), done = new Set();
    const wire = (from, to, kind) => {
        const key = from.id + to.id;
        if (from === to || done.has(key) || done.size > 60) return;
        done.add(key);
        const p = [[from.ax + from.w / 2, from.ay + from.h], [to.ax + to.w / 2, to.ay]];
        layer.append(svg('path', { class: 'wire ' + kind, d: curve({ points: p }, 0, 0) }));
    };
    for (const t of nodes[state.node].in || []) {
        if (inputLeaf.has(t)) wire(visibleOf(inputLeaf.get(t)), here, 'in');
    }
    for (const edge of edges) {
        if (edge.to === state.node) wire(visibleOf(leafOf[edge.from]), here, 'in');
        if (edge.from === state.node) wire(here, visibleOf(leafOf[edge.to]), 'out');
    }
}

function updateGraph(what) {
    if (!stage.element) return;
    const leaf = leafOf[state.node];
    if (what.node && leaf) {
        if (!state.walking && !what.byGraph) reveal(leaf) && (relayout(), paintOutline());
        stage.current = visibleOf(leaf);
    }
    if (what.step || what.walking || (what.node && state.walking)) redrawCards();
    mark();
    drawWires();
    if (what.node && leaf) intoSight(visibleOf(leaf));
}

function redrawCards() {
    for (const thing of stage.things) {
        if (!thing.element || thing.layer !== 'cards') continue;
        const fresh = drawItem(thing, stage.paintedFar);
        thing.element.replaceWith(fresh);
        thing.element = fresh;
    }
}
