// What is chosen. The address keeps it (#tab=memory&node=12), so that a link opens there.

const state = {
    tab: 'graph', node: nodes.length ? 0 : -1, tensor: -1, step: steps[steps.length - 1],
    walking: false,
};
const listeners = [];                   // each is called with what changed: { node: true, ... }
const KEPT = ['tab', 'node', 'tensor', 'step'];

function mainTensor(node) {
    const { out = [], in: inputs = [] } = nodes[node] || {};
    return out.length ? out[0] : inputs.length ? inputs[0] : -1;
}

// change({ node: 12 }) shows node 12 and what it made; change({ tensor: 3 }) a tensor, and the node
// that made it unless the chosen one has to do with it.
function change(wish) {
    const next = Object.assign({}, state, wish);
    if (wish.node !== undefined && wish.tensor === undefined) next.tensor = mainTensor(next.node);
    if (wish.tensor !== undefined && wish.node === undefined) {
        const { out = [], in: inputs = [] } = nodes[state.node] || {};
        const t = wish.tensor;
        if (!out.includes(t) && !inputs.includes(t) && gradientOf.get(t) === undefined) {
            next.node = writer[t] >= 0 ? writer[t] : readers[t].length ? readers[t][0] : state.node;
        }
    }
    if (wish.node !== undefined && wish.walking === undefined) next.walking = false;
    const what = {};
    let any = false;
    for (const key of Object.keys(next)) {
        if (next[key] === state[key]) continue;
        what[key] = any = true;
        state[key] = next[key];
    }
    if (!any) return;
    keepAddress();
    for (const listener of listeners) listener(what);
}

function keepAddress() {
    const hash = '#' + KEPT.map(key => key + '=' + state[key]).join('&');
    if (location.hash !== hash) history.replaceState(null, '', hash);
}

// What the address asks for, as far as the file has it.
function readAddress() {
    const wish = {};
    for (const part of location.hash.slice(1).split('&')) {
        const [key, value] = part.split('=');
        if (key === 'tab' && VIEWS.some(view => view.id === value && view.there)) wish.tab = value;
        if (key === 'node' && nodes[value]) wish.node = Number(value);
        if (key === 'tensor' && tensors[value]) wish.tensor = Number(value);
        if (key === 'step' && steps.includes(Number(value))) wish.step = Number(value);
    }
    return wish;
}

const VIEWS = [];                       // { id, title, there, build(section), update(what) }
