// The program as a tree: sections, layers, nodes. What is long is folded: neighbours that are alike
// become one fold "12 ×", and a list without layers is cut into parts.

const LONG = 40;                        // more children than this are cut into parts ...
const PART = 20;                        // ... of about so many

let folds = 0;
function newFold(kind, name, parent) {
    return {
        id: 'f' + folds++, kind, name, parent, children: [], first: Infinity, last: -1,
        size: 0, flops: 0, bytes: 0, seconds: 0, open: false,
    };
}

const leafOf = [];                      // node -> its leaf
const inputLeaf = new Map();            // input tensor -> its leaf

function buildFolds() {
    const root = newFold('root', data.title || '', null);
    sections.forEach((section, number) => {
        const top = newFold('section', sectionName(number), root);
        top.section = number;
        for (let i = section.first; i < section.end; i++) placeNode(top, i);
        root.children.push(top);
    });
    root.children = root.children.filter(top => top.children.length);
    root.children.forEach(top => {
        tidy(top);
        collapseAlike(top);
        cut(top);
    });
    placeInputs();
    measure(root);
    nameParts(root);
    root.open = true;
    return root;
}

function placeNode(top, i) {
    let fold = top;
    for (const part of layerOf(nodes[i])) {
        fold.names = fold.names || new Map();
        if (!fold.names.has(part)) {
            const inner = newFold('layer', part, fold);
            fold.names.set(part, inner);
            fold.children.push(inner);
        }
        fold = fold.names.get(part);
    }
    leafOf[i] = { id: 'n' + i, kind: 'node', node: i, name: lastPart(nodeName(i)), parent: fold };
    fold.children.push(leafOf[i]);
}

// A fold around a single thing is no help: the two become one, under both names.
function tidy(fold) {
    fold.children.forEach((child, at) => {
        if (!child.children) return;
        tidy(child);
        if (child.children.length !== 1) return;
        const only = child.children[0];
        const tells = only.children || only.name !== nodes[only.node].op;
        only.name = tells && only.name !== child.name ? child.name + '.' + only.name : child.name;
        only.parent = fold;
        fold.children[at] = only;
    });
}

// A number for each different structure: equal numbers are equal layers.
const structures = new Map();
function structure(item) {
    if (item.structure !== undefined) return item.structure;
    let text;
    if (item.children) {
        text = '(' + item.children.map(structure).join(' ') + ')';
    } else {
        const node = nodes[item.node];
        text = node.op + (node.out || []).map(t => tensors[t].dtype + tensors[t].shape).join(';');
    }
    if (!structures.has(text)) structures.set(text, structures.size);
    return item.structure = structures.get(text);
}

function collapseAlike(fold) {
    for (const child of fold.children) {
        if (child.children) collapseAlike(child);
    }
    const out = [];
    for (let i = 0; i < fold.children.length;) {
        const { period, times } = repetition(fold.children, i);
        if (times < 3) {
            out.push(fold.children[i]);
            i++;
            continue;
        }
        const units = [];
        for (let n = 0; n < times; n++, i += period) {
            const unit = fold.children.slice(i, i + period);
            const { name } = unit.find(one => one.children);
            units.push(period === 1 ? unit[0] : gather('layer', fold, unit, name));
        }
        out.push(gather('repeat', fold, units));
    }
    if (out.length === 1 && out[0].kind === 'repeat' && fold.kind === 'layer') {
        fold.kind = 'repeat';           // h.0 ... h.11 are all of h: h itself is the fold
        out[0].children.forEach(child => child.parent = fold);
        return;
    }
    fold.children = out;
}

// How often what starts at `at` comes again: a layer, or a layer and the few nodes after it.
function repetition(children, at) {
    let best = { period: 1, times: 1 };
    for (let period = 1; period <= 4; period++) {
        const unit = children.slice(at, at + period);
        if (!unit.some(one => one.children)) continue;
        let times = 1;
        const alike = n => unit.every((one, i) => {
            const other = children[at + n * period + i];
            return other && structure(other) === structure(one);
        });
        while (alike(times)) times++;
        if (times > 2 && times * period > best.times * best.period) best = { period, times };
    }
    return best;
}

function gather(kind, parent, children, name) {
    const names = [children[0].name, children[children.length - 1].name];
    const fold = newFold(kind, name || names[0] + ' … ' + names[1], parent);
    fold.children = children;
    children.forEach(child => child.parent = fold);
    return fold;
}

function cut(fold) {
    for (const child of fold.children) {
        if (child.children) cut(child);
    }
    while (fold.children.length > LONG) {
        const parts = [], long = Math.min(PART, Math.ceil(fold.children.length / 2));
        for (let at = 0; at < fold.children.length; at += long) {
            const part = fold.children.slice(at, at + long);
            parts.push(part.length > 1 ? gather('part', fold, part) : part[0]);
        }
        fold.children = parts;
    }
}

function nameParts(fold) {
    if (fold.kind === 'part') {
        fold.name = `nodes ${whole(Math.ceil(fold.first))} – ${whole(Math.floor(fold.last))}`;
    }
    for (const child of fold.children) {
        if (child.children) nameParts(child);
    }
}

// Inputs stand in the fold that holds all that read them.
function placeInputs() {
    tensors.forEach((tensor, t) => {
        if (tensor.role !== 'input' || writer[t] >= 0 || !readers[t].length) return;
        const inSection = readers[t].filter(i => nodes[i].section === nodes[readers[t][0]].section);
        let fold = leafOf[inSection[0]].parent;
        for (const i of inSection) fold = common(fold, leafOf[i].parent);
        const leaf = { id: 't' + t, kind: 'input', tensor: t, name: tensorName(t), parent: fold };
        fold.children.unshift(leaf);
        inputLeaf.set(t, leaf);
    });
}

// The tensor of an input, or the first that a node makes.
function tensorOf(item) {
    if (item.children) return undefined;
    return item.kind === 'input' ? item.tensor : (nodes[item.node].out || [])[0];
}

function ancestors(item) {
    const all = [];
    for (let at = item; at; at = at.parent) all.push(at);
    return all;
}

function common(a, b) {
    const above = new Set(ancestors(a));
    let at = b;
    while (!above.has(at)) at = at.parent;
    return at;
}

function measure(fold) {
    for (const child of fold.children) {
        if (child.children) {
            measure(child);
            for (const key of ['size', 'flops', 'bytes', 'seconds']) fold[key] += child[key];
        } else if (child.kind === 'node') {
            const node = nodes[child.node];
            child.first = child.last = child.node;
            fold.size++;
            for (const key of ['flops', 'bytes', 'seconds']) fold[key] += node[key] || 0;
        } else {
            child.first = child.last = readers[child.tensor][0] - 0.5;
        }
        fold.first = Math.min(fold.first, child.first);
        fold.last = Math.max(fold.last, child.last);
    }
}

// ---- What is open -------------------------------------------------------------------------------
// At first as much as fits on a page, outer folds before inner ones; what repeats stays folded.
function openSome(root, most) {
    let shown = root.children.length, queue = root.children.slice();
    while (queue.length) {
        const fold = queue.shift();
        if (!fold.children || fold.kind === 'repeat') continue;
        if (fold.kind !== 'section' && shown + fold.children.length > most) continue;
        if (fold.kind === 'section' && fold.children.length > most) continue;
        fold.open = true;
        shown += fold.children.length;
        queue.push(...fold.children);
    }
}

function setAll(fold, open) {
    for (const child of fold.children) {
        if (!child.children) continue;
        child.open = open;
        setAll(child, open);
    }
}

// The item itself, or the outermost closed fold around it.
function visibleOf(item) {
    let seen = item;
    for (let at = item.parent; at; at = at.parent) {
        if (!at.open) seen = at;
    }
    return seen;
}

function reveal(item) {
    let changed = false;
    for (let at = item.parent; at; at = at.parent) {
        changed = changed || !at.open;
        at.open = true;
    }
    return changed;
}

const root = buildFolds();
openSome(root, 30);
