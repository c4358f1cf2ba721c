// What is in the page: the data, who makes and uses which tensor, and values when they are wanted.

const data = JSON.parse($('data').textContent);
const list = name => data[name] || [];
const tensors = list('tensors'), nodes = list('nodes'), snapshots = list('snapshots');
const sections = list('sections').length ? list('sections') :
    [{ type: 'graph', first: 0, end: nodes.length }];
const steps = Array.from(new Set(snapshots.map(s => s.step || 0))).sort((a, b) => a - b);
if (!steps.length) steps.push(0);

const KINDS = { forward: 'forward', backward: 'backward', optimizer: 'optimizer', other: 'other' };
const kindOf = node => KINDS[node.kind] || 'other';
const sectionName = i => (sections[i].name || sections[i].type || 'section ' + i);
for (const node of nodes) node.in = (node.in || []).filter(t => t >= 0);     // -1: not given
const nodeName = i => nodes[i].name || nodes[i].op;
const lastPart = name => name.split(/\.|\/|__/).filter(part => part).pop() || name;
const elements = tensor => tensor.shape.reduce((a, b) => a * b, 1);
const tensorName = i => tensors[i].name || 'tensor ' + i;

function layerOf(node) {
    if (node.layer) return node.layer;
    return (node.name || '').split(/\.|\/|__/).filter(part => part).slice(0, -1);
}

// edges: { from, to, tensor }, from the node that wrote the tensor last before `to` reads it.
// writer[t]: the first node that writes t, or -1; readers[t]: the nodes that read it.
const edges = [], writer = tensors.map(t => t.made === undefined ? -1 : t.made);
const readers = tensors.map(() => []);
(function connect() {
    const last = tensors.map(() => -1);
    nodes.forEach((node, i) => {
        for (const t of new Set(node.in || [])) {
            readers[t].push(i);
            if (last[t] >= 0) edges.push({ from: last[t], to: i, tensor: t });
        }
        for (const t of node.out || []) {
            if (writer[t] < 0 && tensors[t].role === 'temporary') writer[t] = i;
            last[t] = i;
        }
    });
})();
const gradientOf = new Map();           // gradient -> its tensor
tensors.forEach((t, i) => t.grad !== undefined && t.grad >= 0 && gradientOf.set(t.grad, i));

const snapshotsOf = new Map();          // tensor -> its snapshots, by step
snapshots.forEach(s => {
    if (!snapshotsOf.has(s.tensor)) snapshotsOf.set(s.tensor, []);
    s.step = s.step || 0;
    s.node = s.node === undefined ? -1 : s.node;
    snapshotsOf.get(s.tensor).push(s);
});
snapshotsOf.forEach(all => all.sort((a, b) => a.step - b.step || a.node - b.node));

// What the tensor held in a step: after the chosen node, if it was written several times (a
// parameter before and after its update), else whenever it was made. Or what it held in the last
// step before.
function snapshotOf(tensor, step) {
    const all = snapshotsOf.get(tensor) || [];
    let best = all[0];
    for (const one of all) {
        if (one.step > step) break;
        if (one.step > best.step || one.node <= state.node) best = one;
    }
    return best;
}

const broken = snapshot => snapshot && (snapshot.nan > 0 || snapshot.inf > 0);
const INTEGERS = new Set(['i32', 'i64', 'u8', 'i8', 'bool']);

// Blocks are decoded when they are looked at; the last few stay.
const blocks = new Map();
function block(id, integer) {
    const known = blocks.get(id);
    if (known) return known;
    const element = $('v' + id);
    if (!element) return null;
    const text = atob(element.textContent.trim()), raw = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
    const values = new (integer ? Int32Array : Float32Array)(raw.buffer, 0, raw.length >> 2);
    if (blocks.size > 24) blocks.delete(blocks.keys().next().value);
    blocks.set(id, values);
    return values;
}

// The values of a tensor in a step: as many of the first as the page has, or null.
function valuesOf(tensor, step) {
    const snapshot = snapshotOf(tensor, step);
    if (!snapshot || snapshot.block === undefined || snapshot.block === null) return null;
    return block(snapshot.block, INTEGERS.has(tensors[tensor].dtype));
}

const total = key => nodes.reduce((sum, node) => sum + (node[key] || 0), 0);
