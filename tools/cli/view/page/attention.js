// Attention: who looks at whom. A small map for each head, one head large, and the chosen token's
// weights as bars and as a table. A weight on a later token is a leak of the causal mask.

const heads = { entry: 0, batch: 0, head: 0, token: 0, timer: 0 };

function attentionValues(entry) {
    if (entry.block !== undefined && entry.block !== null) return block(entry.block, false);
    const one = entry.probabilities !== undefined && snapshots[entry.probabilities];
    return one && one.block !== undefined ? block(one.block, false) : null;
}

// Weights on later tokens. Causal is what says so, or what keeps nearly all of the upper triangle 0.
function leaks(entry) {
    if (entry.leaks) return entry.leaks;
    const values = attentionValues(entry), [batches, count, queries, keys] = entry.shape, found = [];
    if (!values || queries !== keys || queries < 2) return entry.leaks = { causal: false, found };
    let above = 0;
    for (let map = 0; map < batches * count; map++) {
        for (let q = 0; q < queries; q++) {
            for (let k = q + 1; k < keys; k++) {
                const w = values[(map * queries + q) * keys + k];
                if (w === undefined) continue;
                above++;
                if (w !== 0) found.push({ batch: Math.floor(map / count), head: map % count, q, k, w });
            }
        }
    }
    const causal = entry.causal !== undefined ? entry.causal : above > 0 && found.length < 0.2 * above;
    return entry.leaks = { causal, found: causal ? found : [] };
}

const tokenText = i => {
    const tokens = (data.text || {}).tokens || [];
    return tokens[i] === undefined ? '' : tokens[i];
};
const tokenName = i => tokenText(i) ? `${i} “${tokenText(i)}”` : String(i);

function buildAttention(section) {
    const all = list('attention');
    heads.built = true;
    section.append(el('h2', null, 'Attention'), el('div', { id: 'attention-leaks' }), el('div', { class: 'bar', id: 'attention-bar' }),
                   el('div', { id: 'attention-maps' }));
    const bad = all.map((entry, i) => ({ i, ...leaks(entry) })).filter(one => one.found.length);
    const causal = all.filter(entry => leaks(entry).causal).length;
    put($('attention-leaks'), bad.length ? bad.map(one => {
        const { batch, head, q, k, w } = one.found[0];
        return el('p', { class: 'warning' }, `The causal mask leaks in ${nodeName(all[one.i].node)}: ${plural(one.found.length, 'weight')} on later ` +
            `tokens; first in head ${head}, token ${tokenName(q)} looks at ${tokenName(k)} with ${number(w)}. `,
            button('Show it', () => {
                Object.assign(heads, { entry: one.i, batch, head, token: q });
                paintAttention();
            }));
    }) : el('p', { class: causal ? 'good' : 'note' }, causal ? `✓ No token looks ahead in any of ${plural(causal, 'causal layer')}.` :
        'These layers look both ways: no causal mask.'));
    paintAttention();
}

function paintAttention() {
    const all = list('attention'), entry = all[heads.entry], [batches, count, queries] = entry.shape;
    heads.batch = Math.min(heads.batch, batches - 1);
    heads.head = Math.min(heads.head, count - 1);
    heads.token = Math.min(heads.token, queries - 1);
    const move = token => {
        heads.token = (token + queries) % queries;
        paintToken(entry);
    };
    put($('attention-bar'), select('Layer', all.map((one, i) => [String(i), nodeName(one.node) + (leaks(one).found.length ? ' – leaks' : '')]),
        String(heads.entry), value => {
            heads.entry = Number(value);
            paintAttention();
            $('attention-bar').querySelector('select').focus();
        }), batches > 1 && numberField('Sample', heads.batch, batches - 1, 'batch', value => {
        heads.batch = value;
        paintAttention();
    }), nodeLink(entry.node, 'its node'));
    if (!attentionValues(entry)) return put($('attention-maps'), el('p', { class: 'note' }, 'The page does not keep these weights.'));
    put($('attention-maps'),
        el('div', { class: 'heads', role: 'group', 'aria-label': 'Heads' }, Array.from({ length: count }, (_, h) => headButton(entry, h))),
        el('div', { class: 'bar', id: 'token-bar' }, button('‹ Token', () => move(heads.token - 1)), button('Token ›', () => move(heads.token + 1)),
           el('output', { id: 'token-name' })),
        el('div', { class: 'pair attention' }, el('div', { id: 'head-map' }), el('div', { id: 'token-table' })));
    paintToken(entry);
    return undefined;
}

function headMap(entry, head, size) {
    const [, count, queries, keys] = entry.shape, values = attentionValues(entry);
    const first = (heads.batch * count + head) * queries * keys, leak = new Set(leaks(entry).found.filter(
        one => one.head === head && one.batch === heads.batch).map(one => one.q * keys + one.k));
    const at = (x, y) => first + y * keys + x;
    const element = picture(keys, queries, Math.max(1, size / keys), values, at, () => 1, 0.5);
    const pen = element.getContext('2d');
    pen.fillStyle = color('bad');
    leak.forEach(i => pen.fillRect(i % keys, Math.floor(i / keys), 1, 1));
    element.style.width = size + 'px';
    return element;
}

function headButton(entry, h) {
    const bad = leaks(entry).found.some(one => one.head === h && one.batch === heads.batch);
    return el('button', { type: 'button', 'aria-pressed': String(h === heads.head), class: bad ? 'leaks' : null, onclick: () => {
        heads.head = h;
        paintAttention();
        $('attention-maps').querySelector('[aria-pressed=true]').focus();
    } }, el('span', { 'aria-hidden': 'true' }, headMap(entry, h, 84)), el('span', null, 'Head ' + h + (bad ? ' leaks' : '')));
}

function paintToken(entry) {
    const [, count, queries, keys] = entry.shape, values = attentionValues(entry), q = heads.token;
    const first = (heads.batch * count + heads.head) * queries * keys;
    const size = Math.min(360, Math.max(240, $('attention-maps').clientWidth - 16));
    const drawing = headMap(entry, heads.head, size), row = Array.from(values.subarray(first + q * keys, first + (q + 1) * keys));
    const [box, out] = readable(drawing, keys, queries, `Head ${heads.head}: queries go down, keys go right.`, (x, y) =>
        `${tokenName(y)} looks at ${tokenName(x)}: ${number(values[first + y * keys + x])}`);
    box.append(el('i', { class: 'row-mark', style: `top:${q / queries * 100}%;height:${100 / queries}%`, 'aria-hidden': 'true' }));
    box.addEventListener('click', event => {
        const at = drawing.getBoundingClientRect();
        heads.token = Math.min(queries - 1, Math.max(0, Math.floor((event.clientY - at.top) / at.height * queries)));
        paintToken(entry);
    });
    $('token-name').textContent = `Token ${tokenName(q)} of ${queries}, head ${heads.head}`;
    put($('head-map'), box, out);
    const most = Math.max(...row.filter(isFinite), 1e-12), { causal } = leaks(entry);
    put($('token-table'), table(`What token ${q} looks at`, [{ title: 'Key', head: true }, { title: 'Weight', number: true }],
        row.map((w, k) => ({ more: { class: causal && k > q && w !== 0 ? 'leak' : k > q && causal ? 'masked' : null }, cells: [
            tokenName(k), el('span', { class: 'share', style: `--part:${isFinite(w) ? w / most : 0}` }, number(w))] }))));
}
