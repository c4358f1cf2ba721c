// The views, the tabs, the keys; and what the page opens with.

const there = name => list(name).length > 0;
VIEWS.push(
    { id: 'overview', title: 'Overview', there: true, build: buildOverview },
    { id: 'graph', title: 'Graph', there: nodes.length > 0, build: buildGraph, shown: firstLook,
      update: what => {
          updateGraph(what);
          updateOutline(what);
      } },
    { id: 'memory', title: 'Memory', there: !!data.memory && (data.memory.spans || []).length > 0, build: buildMemory, update: updateMemory },
    { id: 'cost', title: 'Cost', there: nodes.length > 0, build: buildCost, update: updateCost },
    { id: 'attention', title: 'Attention', there: there('attention'), build: buildAttention },
    { id: 'rewrites', title: 'Rewrites', there: there('rewrites'), build: buildRewrites },
    { id: 'difference', title: 'Difference', there: !!data.diff, build: buildDiff });

function buildTabs() {
    const views = VIEWS.filter(view => view.there);
    for (const view of views) {
        view.tab = button(view.title, () => change({ tab: view.id }), {
            id: 'tab-' + view.id, role: 'tab', 'aria-controls': 'view-' + view.id, onkeydown: event => {
                const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
                if (!by) return;
                const next = views[(views.indexOf(view) + by + views.length) % views.length];
                event.preventDefault();
                event.stopPropagation();
                change({ tab: next.id });
                next.tab.focus();
            } });
        view.section = $('view-' + view.id) || $('main').appendChild(
            el('section', { id: 'view-' + view.id, class: view.id === 'graph' ? 'view' : 'view page' }));
        fill(view.section, { role: 'tabpanel', 'aria-labelledby': 'tab-' + view.id, tabindex: view.id === 'graph' ? null : 0 }, []);
        $('tabs').append(view.tab);
    }
}

function showTab() {
    for (const view of VIEWS.filter(one => one.there)) {
        const on = view.id === state.tab;
        view.section.hidden = !on;
        fill(view.tab, { 'aria-selected': String(on), tabindex: on ? 0 : -1 }, []);
        if (!on) continue;
        if (!view.built) {
            view.built = true;
            view.build(view.section);
        }
        if (view.shown) view.shown();
        view.stale = false;
    }
    document.body.dataset.tab = state.tab;
}

// The first time that the graph is seen it stands at its top, or at the node one came for.
let looked = false;
function firstLook() {
    if (looked) return paint();
    looked = true;
    firstSight();
    if (state.node > 0) {
        reveal(leafOf[state.node]) && (relayout(), paintOutline());
        intoSight(visibleOf(leafOf[state.node]));
    }
    return undefined;
}

listeners.push(what => {
    if (what.tab) showTab();
    if (what.node || what.tensor || what.step) paintPanel();
    updateTransport(what);
    for (const view of VIEWS) {
        if (view.built && view.update) view.update(what);
    }
});

// ---- Keys ---------------------------------------------------------------------------------------
const KEYS = [['/', 'search'], ['[ and ]', 'previous and next node'], ['space', 'play or pause'], ['1 … 7', 'the views'],
              ['w', 'a wider panel'], ['arrows', 'in the graph: to the next node; in a drawing: to the next value or block'],
              ['shift and arrows', 'move the graph'], ['+ − 0', 'in the graph: nearer, farther, all of it'],
              ['Enter', 'open or close a fold'], ['?', 'this list']];

function showKeys() {
    put($('keys'), el('h2', { id: 'keys-title' }, 'Keys'), el('dl', { class: 'keys' }, KEYS.map(
        ([key, text]) => el('div', null, el('dt', null, el('kbd', null, key)), el('dd', null, text)))),
        el('form', { method: 'dialog' }, el('button', null, 'Close')));
    $('keys').showModal();
}

function pageKey(event) {
    const at = event.target, typing = at.closest('input:not([type=range]), select, textarea'), pressed = at.closest('button, summary');
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $('keys').open) return;
    const views = VIEWS.filter(view => view.there), key = event.key;
    if (key === '/') {
        change({ tab: 'graph' });
        $('find').focus();
    } else if (key === '[' || key === ']') step(state.node + (key === ']' ? 1 : -1));
    else if (key === ' ' && !pressed) togglePlay();
    else if (key === '?') showKeys();
    else if (key === 'w') document.body.classList.toggle('wide') || paintPanel();
    else if (views[Number(key) - 1]) change({ tab: views[Number(key) - 1].id });
    else return;
    event.preventDefault();
}

// ---- Start --------------------------------------------------------------------------------------
function openAt() {
    const open = data.open || {}, wish = readAddress();
    if (open.message) {
        put($('alert'), el('p', null, el('b', null, open.message), ' ',
            nodes[open.node] ? nodeLink(open.node, 'Show node ' + open.node) : ''));
        $('alert').hidden = false;
    }
    if (wish.node === undefined && wish.tensor === undefined && nodes[open.node]) {
        wish.node = open.node;
        if (tensors[open.tensor]) wish.tensor = open.tensor;
    }
    if (!nodes.length) state.tab = 'overview';
    Object.assign(state, { tensor: mainTensor(state.node) });
    if (wish.node !== undefined && wish.tensor === undefined) wish.tensor = mainTensor(wish.node);
    if (wish.tensor !== undefined && wish.node === undefined && nodes.length) {
        wish.node = writer[wish.tensor] >= 0 ? writer[wish.tensor] : readers[wish.tensor][0] || 0;
    }
    Object.assign(state, wish);
}

document.documentElement.className = 'js';
headline();
openAt();
buildTabs();
showTab();
paintPanel();
buildTransport();
document.addEventListener('keydown', pageKey);
$('keys-button').addEventListener('click', showKeys);
window.addEventListener('hashchange', () => change(readAddress()));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    paintPanel();
    if (plan.box) drawPlan();
    if (heads.built) paintAttention();
});
// The blocks of values stand behind this script.
document.addEventListener('DOMContentLoaded', () => {
    paintPanel();
    if (heads.built) paintAttention();
});
performance.mark('ready');
