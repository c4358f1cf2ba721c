// Attention: who looks at whom. A small map for each head, one head large, and the chosen token's
// weights as bars and as a table. A weight on a later token is a leak of the causal mask.

const heads = { layer: 0, batch: 0, head: 0, token: Infinity };     // at first the last token
const attending = Array.from(new Set(list('attention').map(entry => entry.node)));

// The weights of a layer in the chosen step, or in the last one before it that the page has.
function entryOf(layer) {
    const all = list('attention').filter(entry => entry.node === attending[layer]);
    return all.filter(entry => (entry.step || 0) <= state.step).pop() || all[0];
}

function attentionValues(entry) {
    if (entry.block !== undefined && entry.block !== null) return block(entry.block, false);
    const one = entry.probabilities !== undefined && snapshots[entry.probabilities];
    return one && one.block !== undefined ? block(one.block, false) : null;
}

// Weights on later tokens. Causal is what says so, or what keeps nearly all of the upper triangle
// at 0.
function leaks(entry) {
    if (entry.leaks) return entry.leaks;
    const values = attentionValues(entry), [, , queries, keys] = entry.shape;
    if (!values || queries !== keys || queries < 2) {
        return entry.leaks = { causal: false, found: [] };
    }
    const { found, above } = weightsAbove(values, entry.shape);
    const causal = entry.causal !== undefined ? entry.causal :
        above > 0 && found.length < 0.2 * above;
    return entry.leaks = { causal, found: causal ? found : [] };
}

// How many weights are above the diagonal of all maps, and those of them that are not 0.
function weightsAbove(values, [batches, count, queries, keys]) {
    const found = [];
    let above = 0;
    for (let map = 0; map < batches * count; map++) {
        for (let q = 0; q < queries; q++) {
            for (let k = q + 1; k < keys; k++) {
                const w = values[(map * queries + q) * keys + k];
                if (w === undefined) continue;
                above++;
                if (w === 0) continue;
                found.push({ batch: Math.floor(map / count), head: map % count, q, k, w });
            }
        }
    }
    return { found, above };
}

function tokenName(i) {
    const text = ((data.text || {}).tokens || [])[i];
    return text ? `${i} “${text}”` : String(i);
}

function buildAttention(section) {
    const all = list('attention'), bad = all.filter(entry => leaks(entry).found.length);
    const causal = attending.filter((_, i) => leaks(entryOf(i)).causal).length;
    heads.built = true;
    section.append(el('h2', 'Attention'), el('div', { id: 'attention-leaks' }),
        el('div.bar', { id: 'attention-bar' }), el('div', { id: 'attention-maps' }));
    const good = causal ? `✓ No token looks ahead in any of ${plural(causal, 'causal layer')}.` :
        'These layers look both ways: no causal mask.';
    put($('attention-leaks'), bad.length ? bad.map(leakWarning) :
        el('p', { class: causal ? 'good' : 'note' }, good));
    paintAttention();
}

function leakWarning(entry) {
    const { found } = leaks(entry), { batch, head, q, k, w } = found[0];
    const show = () => {
        change({ step: entry.step || 0 });
        Object.assign(heads, { layer: attending.indexOf(entry.node), batch, head, token: q });
        paintAttention();
    };
    return el('p.warning', `The causal mask leaks in ${nodeName(entry.node)}: ` +
        `${plural(found.length, 'weight')} on later tokens; first in head ${head}, token ` +
        `${tokenName(q)} looks at ${tokenName(k)} with ${number(w)}. `, button('Show it', show));
}

function updateAttention(what) {
    if (what.step) paintAttention();
}

function paintAttention() {
    const entry = entryOf(heads.layer), [batches, count, queries] = entry.shape;
    heads.batch = Math.min(heads.batch, batches - 1);
    heads.head = Math.min(heads.head, count - 1);
    heads.token = Math.min(heads.token, queries - 1);
    const setSample = value => {
        heads.batch = value;
        paintAttention();
    };
    put($('attention-bar'), layerSelect(),
        batches > 1 && numberField('Sample', heads.batch, batches - 1, 'batch', setSample),
        nodeLink(entry.node, 'its node'));
    const cut = cutText(entry);
    if (cut) $('attention-bar').append(el('p.note', { id: 'attention-cut' }, cut));
    const other = (entry.step || 0) !== state.step &&
        `These are the weights of step ${entry.step || 0}: there was no room for those of step ` +
        `${state.step}; --values makes more.`;
    if (other) $('attention-bar').append(el('p.note', { id: 'attention-step' }, other));
    if (!attentionValues(entry)) {
        put($('attention-maps'), el('p.note', 'The page does not keep these weights.'));
        return;
    }
    const move = by => {
        heads.token = (heads.token + by + queries) % queries;
        paintToken(entry);
    };
    const all = Array.from({ length: count }, (_, head) => headButton(entry, head));
    // Full rows: 12 heads are two rows of 6.
    const across = [8, 7, 6, 5, 4].find(n => count > n && count % n === 0) || 8;
    put($('attention-maps'), el('div.heads', {
        role: 'group', 'aria-label': 'Heads', style: `max-width: ${across * 104}px`,
    }, all),
        el('div.bar', { id: 'token-bar' }, button('‹ Token', () => move(-1)),
            button('Token ›', () => move(1)), el('output', { id: 'token-name' }),
            saveButton('csv', 'attention', () => attentionCsv(entry))),
        el('div.pair.attention', el('div', { id: 'head-map' }), el('div', { id: 'token-table' })));
    paintToken(entry);
}

// What of the weights is left out of the page, if anything is.
function cutText({ shape, whole: all = shape }) {
    const names = ['samples', 'heads', 'queries', 'keys'];
    const cut = names.map((name, i) => shape[i] < all[i] && `the first ${shape[i]} of ` +
        `${all[i]} ${name}`).filter(text => text);
    return cut.length > 0 && `The page keeps ${cut.join(', ')}; --values keeps more.`;
}

function layerSelect() {
    const options = attending.map((node, i) =>
        [String(i), nodeName(node) + (leaks(entryOf(i)).found.length ? ' – leaks' : '')]);
    return select('Layer', options, String(heads.layer), value => {
        heads.layer = Number(value);
        paintAttention();
        $('attention-bar').querySelector('select').focus();
    });
}

// Where the chosen map begins in the weights of its layer.
function mapStart(entry, head) {
    const [, count, queries, keys] = entry.shape;
    return (heads.batch * count + head) * queries * keys;
}

const leaksIn = (entry, head) => leaks(entry).found.filter(
    one => one.head === head && one.batch === heads.batch);

function headMap(entry, head, size) {
    const [, , queries, keys] = entry.shape, first = mapStart(entry, head);
    const element = picture(keys, queries, Math.max(1, size / keys), attentionValues(entry),
        (x, y) => first + y * keys + x, () => 1, 0.5);
    const pen = element.getContext('2d');
    pen.fillStyle = color('bad');
    for (const { q, k } of leaksIn(entry, head)) pen.fillRect(k, q, 1, 1);
    element.style.width = size + 'px';
    return element;
}

function headButton(entry, head) {
    const bad = leaksIn(entry, head).length > 0, onclick = () => {
        heads.head = head;
        paintAttention();
        focusPressed($('attention-maps'));
    };
    return el('button', {
        type: 'button', 'aria-pressed': String(head === heads.head), class: bad && 'leaks', onclick,
    }, el('span', { 'aria-hidden': 'true' }, headMap(entry, head, innerWidth < 900 ? 40 : 84)),
    el('span', `Head ${head}${bad ? ' leaks' : ''}`));
}

function paintToken(entry) {
    const [, , queries, keys] = entry.shape, q = heads.token, values = attentionValues(entry);
    const first = mapStart(entry, heads.head);
    $('token-name').textContent = `Token ${tokenName(q)} of ${queries}, head ${heads.head}`;
    put($('head-map'), largeMap(entry, values, first),
        el('p.note', 'Queries go down, keys go right. A click chooses a token.'));
    const row = Array.from(values.subarray(first + q * keys, first + (q + 1) * keys));
    const most = Math.max(...row.filter(isFinite), 1e-12), { causal } = leaks(entry);
    const masked = (w, k) => causal && k > q && w === 0, shown = row.flatMap((w, k) =>
        masked(w, k) ? [] : [{
            more: { class: causal && k > q && 'leak' },
            cells: [tokenName(k), el('span.share', {
                style: `--part:${isFinite(w) ? w / most : 0}`,
            }, number(w))],
        }]);
    put($('token-table'), table(`What token ${q} looks at`,
        [{ title: 'Key', head: true }, { title: 'Weight', number: true }], shown),
    shown.length < keys && el('p.note', 'Later tokens are masked: their weight is 0.'));
}

function largeMap(entry, values, first) {
    const [, , queries, keys] = entry.shape, q = heads.token;
    const size = Math.min(360, Math.max(240, $('attention-maps').clientWidth - 16));
    const drawing = headMap(entry, heads.head, size);
    const [box, out] = readable(drawing, keys, queries,
        `Head ${heads.head}: queries go down, keys go right.`, (x, y) =>
            `${tokenName(y)} looks at ${tokenName(x)}: ${number(values[first + y * keys + x])}`);
    const style = `top:${q / queries * 100}%;height:${100 / queries}%`;
    box.append(el('i.row-mark', { style, 'aria-hidden': 'true' }));
    box.addEventListener('click', event => {
        const at = drawing.getBoundingClientRect();
        const token = Math.floor((event.clientY - at.top) / at.height * queries);
        heads.token = Math.min(queries - 1, Math.max(0, token));
        paintToken(entry);
    });
    return [box, out];
}

// The weights of a layer, head by head.
function attentionCsv(entry) {
    const [, count, queries, keys] = entry.shape, all = Array.from(attentionValues(entry));
    return csv(['sample', 'head', 'query', 'key', 'weight'], all.map((w, i) => {
        const map = Math.floor(i / (queries * keys));
        return [Math.floor(map / count), map % count, Math.floor(i / keys) % queries, i % keys, w];
    }));
}
