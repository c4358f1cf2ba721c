// Moving over the graph: pan, zoom, fit, and the keys and pointers that do it.

function moveTo(x, y, zoom) {
    sight.zoom = Math.min(2.5, Math.max(0.02, zoom));
    sight.x = x;
    sight.y = y;
    paint();
}

function zoomBy(factor, at) {
    const zoom = Math.min(2.5, Math.max(0.02, sight.zoom * factor)), real = zoom / sight.zoom;
    const [x, y] = at || [stage.element.clientWidth / 2, stage.element.clientHeight / 2];
    moveTo(x - (x - sight.x) * real, y - (y - sight.y) * real, zoom);
}

function fit() {
    const w = stage.element.clientWidth, h = stage.element.clientHeight;
    const zoom = Math.min(1, (w - 40) / root.w, (h - 40) / root.h);
    moveTo((w - root.w * zoom) / 2, Math.max(20, (h - root.h * zoom) / 2), zoom);
}

// At first: text can be read, the first section is there from its top.
function firstSight() {
    const w = stage.element.clientWidth;
    const zoom = Math.min(1, Math.max(READABLE, (w - 40) / root.w)), wide = root.w * zoom;
    moveTo(wide < w ? (w - wide) / 2 : 20, 20, zoom);
}

// The section is there from its top, as text that can be read.
function showSection(section) {
    const zoom = Math.max(sight.zoom, READABLE);
    moveTo(20 - section.ax * zoom, 20 - section.ay * zoom, zoom);
    stage.current = section;
    mark();
    say(describe(section));
}

// Moves so that the item is seen, and no more than needed.
function intoSight(item) {
    const w = stage.element.clientWidth, h = stage.element.clientHeight, edge = 48;
    if (!w || item.ax === undefined) return;
    const zoom = Math.max(sight.zoom, COARSE);
    if (zoom !== sight.zoom) zoomBy(zoom / sight.zoom);
    const x = item.ax * zoom + sight.x, y = item.ay * zoom + sight.y;
    const high = Math.min(item.h * zoom, h - 2 * edge);
    const wide = Math.min(item.w * zoom, w - 2 * edge);
    let dx = 0, dy = 0;
    if (x < edge || x + wide > w - edge) dx = (w - wide) / 2 - x;
    if (y < edge || y + high > h - edge) dy = (h - high) / 2 - y;
    if (dx || dy) moveTo(sight.x + dx, sight.y + dy, zoom);
}

function foldAll(open) {
    setAll(root, open);
    for (const section of root.children) section.open = section.open || root.children.length > 1;
    if (!open) openSome(root, 12);
    relayout();
    paintOutline();
    fit();
    say(open ? 'All folds are open' : 'All layers are folded');
}

function toggle(item) {
    const x = item.ax * sight.zoom + sight.x, y = item.ay * sight.zoom + sight.y;
    item.open = !item.open;
    stage.current = item;
    relayout();
    moveTo(sight.x + x - item.ax * sight.zoom, sight.y + y - item.ay * sight.zoom, sight.zoom);
    paintOutline();
    say(item.name + (item.open ? ' is open' : ' is folded'));
}

function pick(item) {
    if (item.children) return toggle(item);
    stage.current = item;
    if (item.kind === 'input') change({ tensor: item.tensor });
    else change({ node: item.node });
    mark();
    say(describe(item));
    return undefined;
}

function describe(item) {
    if (item.children) return `${item.name}, ${foldText(item)}, ${item.open ? 'open' : 'folded'}`;
    const t = tensorOf(item), shape = t === undefined ? '' : ', ' + shapeText(tensors[t].shape);
    if (item.kind === 'input') return 'input ' + item.name + shape;
    return `node ${item.node}, ${nodes[item.node].op}${shape}, ${nodeName(item.node)}`;
}

// The nearest item in a direction: near along it, nearer across it.
function neighbour(dx, dy) {
    const middle = item => [item.ax + item.w / 2, item.ay + (item.open ? 17 : item.h / 2)];
    const [x, y] = middle(stage.current);
    let best = null, least = Infinity;
    for (const { item } of stage.things) {
        if (!item || item === stage.current) continue;
        const [ax, ay] = middle(item), along = (ax - x) * dx + (ay - y) * dy;
        const across = Math.abs((ax - x) * dy + (ay - y) * dx);
        if (along < 4 || (dx && across > along * 2 && across > 30)) continue;
        const far = along + 2 * across;
        if (far < least) [best, least] = [item, far];
    }
    return best;
}

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

function stageKey(event) {
    const arrow = ARROWS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (arrow && event.shiftKey) {
        moveTo(sight.x - arrow[0] * 80, sight.y - arrow[1] * 80, sight.zoom);
    } else if (arrow) {
        const item = neighbour(...arrow);
        if (item) go(item);
    } else if (event.key === 'Enter') {
        pick(stage.current);
    } else if (event.key === '+' || event.key === '=') {
        zoomBy(1.3);
    } else if (event.key === '-') {
        zoomBy(1 / 1.3);
    } else if (event.key === '0') {
        fit();
    } else {
        return;
    }
    event.preventDefault();
    event.stopPropagation();
}

function go(item) {
    stage.current = item;
    if (item.kind === 'node') change({ node: item.node });
    intoSight(item);
    mark();
    say(describe(item));
}

function listenToStage() {
    const { element } = stage, fingers = new Map();
    let moved = 0, spread = 0;
    const at = event => {
        const box = element.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    const apart = () => {
        const [a, b] = Array.from(fingers.values());
        return Math.hypot(a[0] - b[0], a[1] - b[1]);
    };
    element.addEventListener('keydown', stageKey);
    element.addEventListener('wheel', event => {
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) zoomBy(Math.exp(-event.deltaY * 0.01), at(event));
        else if (event.shiftKey) moveTo(sight.x - event.deltaY, sight.y, sight.zoom);
        else moveTo(sight.x - event.deltaX, sight.y - event.deltaY, sight.zoom);
    }, { passive: false });
    element.addEventListener('pointerdown', event => {
        fingers.set(event.pointerId, at(event));
        moved = 0;
        if (fingers.size === 2) spread = apart();
    });
    element.addEventListener('pointermove', event => {
        const before = fingers.get(event.pointerId), now = at(event);
        if (!before) return;
        fingers.set(event.pointerId, now);
        moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
        if (moved > 4) element.setPointerCapture(event.pointerId);
        if (fingers.size === 1 && moved > 4) {
            moveTo(sight.x + now[0] - before[0], sight.y + now[1] - before[1], sight.zoom);
        } else if (fingers.size === 2 && spread) {
            zoomBy(apart() / spread, now);
            spread = apart();
        }
    });
    const up = event => {
        fingers.delete(event.pointerId);
        spread = 0;
    };
    element.addEventListener('pointerup', up);
    element.addEventListener('pointercancel', up);
    element.addEventListener('click', event => {
        const group = event.target.closest('[data-id]');
        if (moved > 4 || !group) return;
        const thing = stage.things.find(one => one.item && one.item.id === group.dataset.id);
        if (thing && (!thing.item.open || event.target.closest('.grip, .title'))) pick(thing.item);
    });
}
