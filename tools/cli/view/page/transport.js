// The bar below: through the program node by node, forward and backward, and through the steps of
// the run. What a node made appears in the panel as it is reached.

const walk = { timer: 0, speed: 400 };

function buildTransport() {
    const last = nodes.length - 1, calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (calm) walk.speed = 1200;
    walk.slider = el('input', {
        type: 'range', min: 0, max: Math.max(0, last), value: state.node, id: 'walk',
        'aria-label': 'Node', oninput: event => step(Number(event.target.value)),
    });
    walk.play = button('▶', togglePlay, { 'aria-label': 'Play', class: 'play', title: 'space' });
    walk.label = el('output', { for: 'walk', id: 'walk-label' });
    const to = (sign, label, node, key) =>
        button(sign, () => step(node()), { 'aria-label': label, title: key || label });
    put($('transport'), el('div.buttons', to('«', 'First node', () => 0),
        to('‹', 'Previous node', () => state.node - 1, 'Previous node ( [ )'), walk.play,
        to('›', 'Next node', () => state.node + 1, 'Next node ( ] )'),
        to('»', 'Last node', () => last)),
        el('div.track', track(), walk.slider), walk.label, stepField());
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
    const share = count => 100 * count / n + '%';
    return el('div.kinds', { 'aria-hidden': 'true' }, runs.map(({ kind, from, end }) =>
        el('i.' + kind, { style: `left:${share(from)};width:${share(end - from)}` })));
}

function stepField() {
    if (steps.length < 2) return null;
    return select('Step', steps.map(s => [String(s), String(s)]), String(state.step),
        value => change({ step: Number(value) }), { class: 'field step', id: 'step' });
}

function step(node) {
    change({ node: Math.min(nodes.length - 1, Math.max(0, node)), walking: true });
    say(walk.label.textContent);
}

function togglePlay() {
    if (walk.timer) {
        pause();
        return;
    }
    const atEnd = () => state.node >= nodes.length - 1;
    if (atEnd()) step(0);
    walk.timer = setInterval(() => atEnd() ? pause() : step(state.node + 1), walk.speed);
    showPlay('❚❚', 'Pause');
}

function pause() {
    clearInterval(walk.timer);
    walk.timer = 0;
    showPlay('▶', 'Play');
}

function showPlay(sign, label) {
    walk.play.textContent = sign;
    walk.play.setAttribute('aria-label', label);
}

function updateTransport(what) {
    const node = nodes[state.node];
    if (!walk.slider || !node) return;
    walk.slider.value = state.node;
    walk.slider.setAttribute('aria-valuetext', `node ${state.node}, ${node.op}`);
    put(walk.label, el('b', node.op), el('span.path', ` ${nodeName(state.node)}`));
    if (what.step && $('step')) $('step').querySelector('select').value = String(state.step);
}
