// The views, the tabs, the keys; and what the page opens with.

const there = name => list(name).length > 0;
function addView(title, there, build, more) {
    VIEWS.push({ id: title.toLowerCase(), title, there, build, ...more });
}
addView('Overview', true, buildOverview);
addView('Graph', nodes.length > 0, buildGraph, {
    shown: firstLook,
    update: what => {
        updateGraph(what);
        updateOutline(what);
    },
});
addView('Memory', ((data.memory || {}).spans || []).length > 0, buildMemory,
    { update: updateMemory });
addView('Cost', nodes.length > 0, buildCost, { update: updateCost });
addView('Attention', there('attention'), buildAttention, { update: updateAttention });
addView('Rewrites', there('rewrites'), buildRewrites);
addView('Difference', !!data.diff, buildDiff);

function buildTabs() {
    const views = VIEWS.filter(view => view.there);
    for (const view of views) {
        const id = 'view-' + view.id, page = view.id !== 'graph';
        view.tab = button(view.title, () => change({ tab: view.id }), {
            id: 'tab-' + view.id, role: 'tab', 'aria-controls': id,
            onkeydown: event => tabKey(event, views, view),
        });
        view.section = $(id) || el('section', { id, class: page ? 'view page' : 'view' });
        fill(view.section, {
            role: 'tabpanel', 'aria-labelledby': 'tab-' + view.id, tabindex: page && '0',
        }, []);
        $('main').append(view.section);
        $('tabs').append(view.tab);
    }
}

function tabKey(event, views, view) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = views[(views.indexOf(view) + by + views.length) % views.length];
    event.preventDefault();
    event.stopPropagation();
    change({ tab: next.id });
    next.tab.focus();
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
        view.tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    document.body.dataset.tab = state.tab;
}

// The first time that the graph is seen it stands at its top, or at the node one came for.
let looked = false;
function firstLook() {
    if (looked) {
        paint();
        return;
    }
    looked = true;
    firstSight();
    if (state.node > 0) {
        showLeaf(leafOf[state.node]);
        intoSight(visibleOf(leafOf[state.node]));
    }
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
const KEYS = [
    ['/', 'search'], ['[ and ]', 'previous and next node'], ['space', 'play or pause'],
    ['1 … 7', 'the views'], ['w', 'a wider panel'],
    ['arrows', 'in the graph: to the next node; in a drawing: to the next value or block'],
    ['shift and arrows', 'move the graph'], ['+ − 0', 'in the graph: nearer, farther, all of it'],
    ['Enter', 'open or close a fold'], ['?', 'this list']];

function showKeys() {
    const line = ([key, text]) => el('div', el('dt', el('kbd', key)), el('dd', text));
    put($('keys'), el('h2', { id: 'keys-title' }, 'Keys'), el('dl.keys', KEYS.map(line)),
        el('form', { method: 'dialog' }, el('button', 'Close')));
    $('keys').showModal();
}

function toggleWide() {
    document.body.classList.toggle('wide');
    paintPanel();
}

function pageKey(event) {
    const typing = event.target.closest('input:not([type=range]), select, textarea');
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $('keys').open) return;
    const { key } = event, view = VIEWS.filter(one => one.there)[Number(key) - 1];
    if (key === '/') {
        change({ tab: 'graph' });
        $('find').focus();
    } else if (key === '[' || key === ']') step(state.node + (key === ']' ? 1 : -1));
    else if (key === ' ' && !event.target.closest('button, summary')) togglePlay();
    else if (key === '?') showKeys();
    else if (key === 'w') toggleWide();
    else if (view) change({ tab: view.id });
    else return;
    event.preventDefault();
}

// ---- Start --------------------------------------------------------------------------------------
function openAt() {
    const open = data.open || {}, wish = readAddress();
    if (open.message) {
        put($('alert'), el('p', el('b', open.message), ' ',
            nodes[open.node] ? nodeLink(open.node, 'Show node ' + open.node) : ''));
        $('alert').hidden = false;
    }
    if (wish.node === undefined && wish.tensor === undefined && nodes[open.node]) {
        wish.node = open.node;
        if (tensors[open.tensor]) wish.tensor = open.tensor;
    }
    if (data.diff && !open.message) {
        state.tab = 'difference';
        if (firstChanged) state.step = firstChanged.step;
        if (firstChanged && !location.hash) Object.assign(wish, placeOf(firstChanged));
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
