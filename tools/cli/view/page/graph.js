// The graph: what layout.js placed, drawn in SVG, moved by mouse, finger and keys.

const sight = { x: 0, y: 0, zoom: 1 };  // what of the plane is seen
const stage = { element: null, plane: null, layers: {}, current: null, things: [], painted: null };
const MARGIN = 600;                     // drawn around what is seen, so that moving shows no gaps
// From READABLE on, all of a card can be read. Down to COARSE it has its op alone, in large
// letters, and below that none.
const READABLE = 0.9, COARSE = 0.45;
const levelOf = zoom => zoom >= READABLE ? 'near' : zoom >= COARSE ? 'coarse' : 'far';

function buildGraph(section) {
    stage.plane = svg('g');
    for (const name of ['boxes', 'threads', 'wires', 'cards']) {
        stage.layers[name] = stage.plane.appendChild(svg('g.' + name));
    }
    stage.svg = svg('svg', { 'aria-hidden': 'true' }, stage.plane);
    stage.element = el('div.stage', {
        id: 'stage', tabindex: 0, role: 'application', 'aria-roledescription': 'graph',
        'aria-label': `Graph of ${plural(nodes.length, 'node')}. Arrow keys go from node to ` +
            'node, Enter opens and closes folds. The outline lists the same.',
    }, stage.svg);
    const side = el('div.side');
    section.append(side,
        el('div.field-of-view', graphTools(), sectionTools(), diffKey(), stage.element));
    buildFind(side);
    buildOutline(side);
    listenToStage();
    stage.current = visibleOf(leafOf[state.node] || root.children[0] || root);
    relayout();
    new ResizeObserver(() => paint()).observe(stage.element);
}

function graphTools() {
    return el('div.tools', { role: 'toolbar', 'aria-label': 'Graph' }, shadeSelect(),
        button('Open all', () => foldAll(true)), button('Fold all', () => foldAll(false)),
        button('Fit', fit, { title: 'Show the whole graph (0)' }),
        button('−', () => zoomBy(1 / 1.3), { 'aria-label': 'Zoom out' }),
        button('+', () => zoomBy(1.3), { 'aria-label': 'Zoom in' }),
        saveButton('svg', 'graph', graphDrawing));
}

// The sections stand side by side, and not all of them are seen at first.
function sectionTools() {
    const all = root.children.filter(item => item.kind === 'section');
    return all.length > 1 && el('div.tools.sections', { role: 'toolbar', 'aria-label': 'Sections' },
        el('span.soft', { 'aria-hidden': 'true' }, 'Go to'), all.slice(0, 12).map(section =>
            button(section.name, () => showSection(section), { class: itemClass(section) })));
}

// The graph as it is folded, all of it.
function graphDrawing() {
    paintPart([-Infinity, -Infinity, Infinity, Infinity], 'near');
    stage.plane.setAttribute('transform', 'translate(20 20)');
    const text = drawingText(stage.svg, root.w + 40, root.h + 40);
    stage.painted = null;
    paint();
    return text;
}

function relayout() {
    layout(root);
    stage.things = [];
    spread(root, 0, 0);
    for (const layer of Object.values(stage.layers)) layer.textContent = '';
    stage.painted = null;
    paint();
    drawWires();
}

// Opens the folds around a leaf, if one is closed.
function showLeaf(leaf) {
    if (!leaf || !reveal(leaf)) return;
    relayout();
    paintOutline();
}

// Places on the plane for all that is to be seen, folds before what they hold.
function spread(fold, x, y) {
    for (const thread of fold.threads || []) {
        const xs = thread.points.map(p => x + p[0]), ys = thread.points.map(p => y + p[1]);
        const box = [Math.min(...xs) - 40, Math.min(...ys) - 20,
                     Math.max(...xs) + 40, Math.max(...ys) + 20];
        stage.things.push({ thread, layer: 'threads', dx: x, dy: y, box });
    }
    for (const item of fold.children) {
        item.ax = x + item.x;
        item.ay = y + item.y;
        const open = item.children && item.open, box = [item.ax, item.ay,
                                                        item.ax + item.w, item.ay + item.h];
        stage.things.push({ item, layer: open ? 'boxes' : 'cards', box });
        if (open) spread(item, item.ax, item.ay);
    }
}

// The part of the plane that is seen, and so much around it: [left, top, right, bottom].
function seenPart(margin) {
    const { x, y, zoom } = sight, { clientWidth, clientHeight } = stage.element;
    return [(-x - margin) / zoom, (-y - margin) / zoom,
            (clientWidth - x + margin) / zoom, (clientHeight - y + margin) / zoom];
}

const contains = (a, b) => a[0] <= b[0] && a[1] <= b[1] && a[2] >= b[2] && a[3] >= b[3];
const touches = (a, b) => a[0] <= b[2] && a[1] <= b[3] && a[2] >= b[0] && a[3] >= b[1];

// Draws what is near the part in view, and drops what is not.
function paint() {
    const { x, y, zoom } = sight, level = levelOf(zoom);
    stage.plane.setAttribute('transform', `translate(${x} ${y}) scale(${zoom})`);
    stage.layers.boxes.style.setProperty('--zoom', zoom);
    if (stage.level !== level) stage.svg.setAttribute('class', level);
    const known = stage.painted && stage.level === level;
    if (known && contains(stage.painted, seenPart(0))) return;
    paintPart(seenPart(MARGIN), level);
}

function paintPart(part, level) {
    const anew = stage.level !== level;
    stage.painted = part;
    stage.level = level;
    for (const thing of stage.things) {
        const near = touches(thing.box, part);
        if (thing.element && (!near || anew)) {
            thing.element.remove();
            thing.element = null;
        }
        if (!near || thing.element) continue;
        thing.element = thing.thread ? drawThread(thing) : drawItem(thing, level);
        stage.layers[thing.layer].append(thing.element);
    }
    mark();
}

function drawThread({ thread, dx, dy }) {
    const many = thread.pair.tensors.size;
    return svg('path', {
        d: curve(thread, dx, dy), class: thread.back ? 'thread back' : 'thread',
        'stroke-width': many > 1 && Math.min(1.2 + Math.log2(many) * 0.5, 5),
    });
}

const svgText = (name, x, y, text) => svg('text.' + name, { x, y }, text);

function drawItem(thing, level) {
    const { item } = thing, { w, h } = item, box = thing.layer === 'boxes';
    const round = box ? 12 : item.kind === 'input' ? h / 2 : 8;
    const body = svg('rect.body', { width: w, height: h, rx: round });
    const group = svg('g', {
        'data-id': item.id, transform: `translate(${item.ax} ${item.ay})`, class: itemClass(item),
    });
    const whole = { input: drawInput, node: drawNode }[item.kind] || drawFold;
    const card = { near: whole, coarse: drawCoarse, far: () => null }[level];
    const draw = box ? drawBox : card;
    const behind = !box && item.kind === 'repeat' && [8, 4].map(d =>
        svg('rect.body', { x: d, y: d, width: w, height: h, rx: 8 }));
    return fill(group, null, [behind, body, draw(item)]);
}

function drawBox(item) {
    const name = fitted(item.name, item.w - 48, '600 14px');
    return [svg('rect.grip', { width: item.w, height: GAP.head, rx: 12 }),
            svgText('title', 16, 22, '− ' + name)];
}

// What can be read from afar: the op, or the name.
function drawCoarse(item) {
    const text = item.kind === 'node' ? nodes[item.node].op : item.name;
    return [svg('rect.kind', { x: 5, y: 9, width: 3, height: item.h - 18, rx: 1.5 }),
            drawShade(item),
            svgText('large', 16, item.h / 2 + 8, fitted(text, item.w - 24, '600 24px'))];
}

function drawInput(item) {
    const shape = shapeText(tensors[item.tensor].shape);
    return [svgText('op.middle', item.w / 2, 17, fitted(item.name, item.w - 24, '600 13px')),
            svgText('sub.middle', item.w / 2, 31, fitted(shape, item.w - 24, '11.5px'))];
}

function drawFold(item) {
    return [drawShade(item),
            svgText('title', 14, 23, fitted(item.name, item.w - 48, '600 13px')),
            svgText('sub', 14, 41, fitted(foldText(item), item.w - 24, '11.5px')),
            svgText('plus', item.w - 22, 24, '+'), drawDiff(item, item.w - 20, 42)];
}

function foldText(fold) {
    if (fold.kind === 'repeat') {
        const n = fold.children.length;
        return `${n} × ${plural(fold.size / n, 'node')}, all alike`;
    }
    return plural(fold.size, 'node') + (fold.flops ? ' · ' + flops(fold.flops) : '');
}

function drawNode(item) {
    const { w, h } = item, { op } = nodes[item.node], number = String(item.node);
    return [svg('rect.kind', { x: 5, y: 9, width: 3, height: h - 18, rx: 1.5 }), drawShade(item),
            svgText('op', 16, 20, fitted(op, w - 34 - 7 * number.length, '600 13px')),
            svgText('sub', 16, 36, fitted(nodeText(item), w - (data.diff ? 44 : 26), '11.5px')),
            svgText('sub.end', w - 10, 20, number), drawDiff(item, w - 18, 37)];
}

// Below the op: the shape, or what the node has made when one walks through the graph.
function nodeText(item) {
    const t = tensorOf(item);
    if (t === undefined) return ownName(item);
    const shape = shapeText(tensors[t].shape), name = ownName(item);
    const one = state.walking && item.node <= state.node && snapshotOf(t, state.step);
    if (one) return `${short(one.min)} … ${short(one.max)}`;
    const both = `${shape} · ${name}`, room = item.w - (data.diff ? 44 : 26);
    return name && fitted(both, room, '11.5px') === both ? both : shape;
}

// The name of a node, if it says more than its op.
function ownName(item) {
    const op = nodes[item.node].op;
    return item.name === op || item.name.replace(/_?\d+$/, '') === op ? '' : item.name;
}

function itemClass(item) {
    const names = [item.kind];
    if (item.children) names.push(item.open ? 'open' : 'closed', 'fold');
    const first = nodes[Math.max(0, Math.ceil(item.first))];
    names.push(first ? kindOf(first) : 'other');
    const made = item.kind === 'node' ? nodes[item.node].out || [] : [];
    if (made.some(t => broken(snapshotOf(t, state.step)))) names.push('broken');
    const differs = diffOf(item);
    if (differs) names.push(differs);
    return names.join(' ');
}

// ---- What is marked: the chosen node, what is filtered out, what has not run yet ----------------
function mark() {
    const chosen = leafOf[state.node] && visibleOf(leafOf[state.node]);
    for (const { item, element } of stage.things) {
        if (!element || !item) continue;
        const mark = element.classList, closed = !item.open && item.kind !== 'input';
        mark.toggle('chosen', item === chosen);
        mark.toggle('current', item === stage.current);
        mark.toggle('dim', !!search.hits && !item.open && !hitsIn(item));
        mark.toggle('later', state.walking && closed && item.first > state.node);
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
        const points = [[from.ax + from.w / 2, from.ay + from.h], [to.ax + to.w / 2, to.ay]];
        layer.append(svg('path.wire.' + kind, { d: curve({ points }, 0, 0) }));
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
        if (!state.walking) showLeaf(leaf);
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
        const fresh = drawItem(thing, stage.level);
        thing.element.replaceWith(fresh);
        thing.element = fresh;
    }
}
