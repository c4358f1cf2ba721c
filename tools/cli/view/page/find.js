// Search and filters. Both look into folds; what is found opens them.

const search = { text: '', op: '', type: '', shape: '', hits: null, inFold: new Map() };
const SHOWN = 80;
let searchIndex = null;

// One entry for each node, and one for each tensor that no node makes.
function buildIndex() {
    const entry = (what, words, ts) => Object.assign(what, {
        words: words.concat(ts.map(tensorName)).join(' ').toLowerCase(),
        shapes: ts.map(t => shapeText(tensors[t].shape)), types: ts.map(t => tensors[t].dtype),
    });
    searchIndex = nodes.map((node, i) => entry({ node: i, op: node.op }, [
        node.op, node.name || '', layerOf(node).join('.'), String(i),
        sectionName(node.section || 0)], node.out || []));
    tensors.forEach((tensor, t) => {
        if (writer[t] < 0) searchIndex.push(entry({ tensor: t, op: '' }, [tensor.role], [t]));
    });
}

// '32x*' as a pattern for '32×784': * stands for whatever follows, or comes before.
function shapePattern(text) {
    const shape = text.toLowerCase().replace(/[x*, ]+/g, m => m.includes('*') ? '×*×' : '×')
        .replace(/×+/g, '×').replace(/^×(?=\*)|(\*)×$/g, '$1');
    const part = word => word === '*' ? '.*' : word.replace(/\D/g, '') || '\\d+';
    return shape && new RegExp('^' + shape.split('×').map(part).join('×') + '$');
}

function found() {
    if (!searchIndex) buildIndex();
    const words = search.text.toLowerCase().split(/\s+/).filter(word => word);
    const pattern = shapePattern(search.shape);
    const has = (one, word) =>
        one.words.includes(word) || one.shapes.includes(word.replace(/x/g, '×'));
    return searchIndex.filter(one => (!search.op || one.op === search.op) &&
        (!search.type || one.types.includes(search.type)) &&
        (!pattern || one.shapes.some(text => pattern.test(text))) &&
        words.every(word => has(one, word)));
}

// The leaf that a row of the index stands for: an input that is not drawn has its first reader.
function leafOfRow({ node, tensor }) {
    if (node !== undefined) return leafOf[node];
    return inputLeaf.get(tensor) || leafOf[readers[tensor][0]];
}

function runSearch() {
    const any = search.text.trim() || search.op || search.type || search.shape;
    const rows = any ? found() : [];
    search.hits = any ? new Set() : null;
    search.inFold = new Map();
    for (const row of rows) {
        const leaf = leafOfRow(row);
        if (!leaf || search.hits.has(leaf)) continue;
        search.hits.add(leaf);
        for (const fold of ancestors(leaf.parent)) {
            search.inFold.set(fold, (search.inFold.get(fold) || 0) + 1);
        }
    }
    search.rows = rows;
    paintFound(any, rows);
    mark();
}

const hitsIn = item => item.children ? search.inFold.get(item) || 0 : search.hits.has(item);

function paintFound(any, rows) {
    const box = $('found');
    $('outline-box').hidden = !!any;
    box.hidden = !any;
    if (!any) {
        put(box);
        return;
    }
    const number = rows.length ? plural(rows.length, 'match', 'matches') : 'Nothing matches.';
    put(box, el('p.note', { role: 'status' },
        number, rows.length > SHOWN && `, the first ${SHOWN}:`),
        rows.length > 0 && button('Open their folds', openAllFound),
        el('ul', rows.slice(0, SHOWN).map(foundLine)));
}

function foundLine(row) {
    const isNode = row.node !== undefined, t = isNode ? tensorOf(leafOf[row.node]) : row.tensor;
    return el('li', el('button', { type: 'button', onclick: () => openFound(row) },
        el('span.what', isNode ? nodes[row.node].op : tensors[t].role),
        el('span.path', isNode ? nodeName(row.node) : tensorName(t)),
        el('span.more', t === undefined ? '' : shapeText(tensors[t].shape))));
}

function openFound(row) {
    if (row.node !== undefined) {
        if (reveal(leafOf[row.node])) relayout();
        change({ node: row.node });
    } else {
        change({ tensor: row.tensor });
    }
    const leaf = leafOf[state.node];
    paintOutline();
    if (leaf) intoSight(visibleOf(leaf));
}

function openAllFound() {
    let opened = 0;
    for (const leaf of search.hits) {
        if (opened++ < 500) reveal(leaf);
    }
    relayout();
    paintOutline();
    fit();
    say('The folds of ' + plural(Math.min(opened, 500), 'node') + ' are open');
}

function counted(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return Array.from(counts).sort((a, b) => b[1] - a[1]);
}

function buildFind(side) {
    const option = ([value, n]) => [value, `${value} (${whole(n)})`];
    const options = values => [['', 'any'], ...counted(values).map(option)];
    const set = key => value => {
        search[key] = value;
        runSearch();
    };
    const shapes = counted(tensors.map(t => shapeText(t.shape))).slice(0, 60);
    side.append(el('div.find', { role: 'search' },
        el('label.hidden', { for: 'find' }, 'Search nodes and tensors'),
        el('input', {
            id: 'find', type: 'search', placeholder: 'Search  ( / )', autocomplete: 'off',
            spellcheck: 'false', oninput: event => set('text')(event.target.value),
            onkeydown: findKey,
        }),
        el('details.filters', el('summary', 'Filter by op, shape, type'),
            select('Op', options(nodes.map(node => node.op)), '', set('op')),
            el('label.field', el('span', 'Shape'), el('input', {
                id: 'filter-shape', list: 'shapes', placeholder: '32x* or 64×64',
                autocomplete: 'off', oninput: event => set('shape')(event.target.value),
            })),
            el('datalist', { id: 'shapes' }, shapes.map(([text]) => el('option', { value: text }))),
            select('Type', options(tensors.map(t => t.dtype)), '', set('type')))),
        el('div.found', { id: 'found', hidden: true }));
}

function findKey(event) {
    if (event.key === 'Enter' && search.rows && search.rows.length) {
        openFound(search.rows[0]);
    } else if (event.key === 'Escape') {
        event.target.value = search.text = '';
        runSearch();
    } else if (event.key === 'ArrowDown') {
        const first = $('found').querySelector('li button') || outline.element.children[outline.at];
        if (first) first.focus();
        event.preventDefault();
    }
}
