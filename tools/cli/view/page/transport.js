// The bar below: through the program node by node, forward and backward, and through the steps of
// the run. What a node made appears in the panel as it is reached.

const walk = { timer: 0, speed: 400 };

function buildTransport() {
    const last = nodes.length - 1, calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (calm) walk.speed = 1200;
    walk.slider = el('input', { type: 'range', min: 0, max: Math.max(0, last), value: state.node, id: 'walk', 'aria-label': 'Node',
                                oninput: event => step(Number(event.target.value)) });
    walk.play = button('▶', togglePlay, { 'aria-label': 'Play', class: 'play', title: 'Play or pause (space)' });
    walk.label = el('output', { for: 'walk', id: 'walk-label' });
    put($('transport'), el('div', { class: 'buttons' },
        button('«', () => step(0), { 'aria-label': 'First node' }),
        button('‹', () => step(state.node - 1), { 'aria-label': 'Previous node', title: 'Previous node ( [ )' }), walk.play,
        button('›', () => step(state.node + 1), { 'aria-label': 'Next node', title: 'Next node ( ] )' }),
        button('»', () => step(last), { 'aria-label': 'Last node' })),
        el('div', { class: 'track' }, track(), walk.slider), walk.label, stepField());
    updateTransport({ node: true });
}

// Which part of the way is forward, backward, optimizer.
function track() {
    const n = Math.max(1, nodes.length), runs = [];
    nodes.forEach((node, i) => {
        const kind = kindOf(node), last = runs[runs.length - 1];
        if (last && last.kind === kind) last.end = i + 1;
        else if (runs.length < 200) runs.push({ kind, from: i, end: i + 1 });
    });
    return el('div', { class: 'kinds', 'aria-hidden': 'true' }, runs.map(run => el('i', {
        class: run.kind, style: `left:${100 * run.from / n}%;width:${100 * (run.end - run.from) / n}%` })));
}

function stepField() {
    if (steps.length < 2) return null;
    return select('Step', steps.map(s => [String(s), String(s)]), String(state.step), value => change({ step: Number(value) }),
                  { class: 'field step', id: 'step' });
}

function step(node) {
    change({ node: Math.min(nodes.length - 1, Math.max(0, node)), walking: true });
    say(walk.label.textContent);
}

function togglePlay() {
    if (walk.timer) return pause();
    if (state.node >= nodes.length - 1) step(0);
    walk.timer = setInterval(() => state.node >= nodes.length - 1 ? pause() : step(state.node + 1), walk.speed);
    walk.play.textContent = '❚❚';
    fill(walk.play, { 'aria-label': 'Pause' }, []);
    return undefined;
}

function pause() {
    clearInterval(walk.timer);
    walk.timer = 0;
    walk.play.textContent = '▶';
    fill(walk.play, { 'aria-label': 'Play' }, []);
}

function updateTransport(what) {
    const node = nodes[state.node];
    if (!walk.slider || !node) return;
    walk.slider.value = state.node;
    walk.slider.setAttribute('aria-valuetext', `node ${state.node}, ${node.op}`);
    put(walk.label, el('b', null, node.op), el('span', { class: 'path' }, ` ${nodeName(state.node)}`));
    if (what.step && $('step')) $('step').querySelector('select').value = String(state.step);
}
