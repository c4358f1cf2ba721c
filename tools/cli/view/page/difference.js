// Two files, compared: a, which the page shows, and b. What of b differs stands beside what a has:
// in a view of its own, in the panel of each tensor, and as marks in the graph.

const diff = data.diff || { tensors: [] };
const compared = diff.tensors || [];
const changed = compared.filter(row => !row.equal);
const firstChanged = compared[diff.first] || changed[0];
const comparedAt = new Map();           // 'tensor node step microbatch' -> its row
const differingNodes = new Set();       // that make a tensor which differs
const partners = diff.pair || [];       // of each node of a: its node in b, or -1

for (const row of compared) {
    comparedAt.set([row.tensor, row.node, row.step, row.microbatch || 0].join(), row);
    if (!row.equal && row.node >= 0) differingNodes.add(row.node);
}

const comparedWith = ({ tensor, node, step, microbatch }) =>
    comparedAt.get([tensor, node, step, microbatch || 0].join());
const same = (x, y) => x === y || (x !== x && y !== y);

function otherValues(t, { other }) {
    if (other.block === undefined || other.block === null) return null;
    return block(other.block, INTEGERS.has(tensors[t].dtype));
}

// ---- In the graph -------------------------------------------------------------------------------
// Of a node, or of all in a fold: 'only' in a, 'differs', or nothing.
function diffOf(item) {
    if (!data.diff || item.kind === 'input') return '';
    if (item.children) {
        const all = item.children.map(diffOf);
        return all.includes('differs') ? 'differs' : all.includes('only') ? 'only' : '';
    }
    if (partners[item.node] < 0) return 'only';
    return differingNodes.has(item.node) ? 'differs' : '';
}

const DIFF_SIGNS = { differs: '≠', only: '∉' };

function drawDiff(item, x, y) {
    const what = diffOf(item), sign = DIFF_SIGNS[what];
    const first = firstChanged && !item.children && firstChanged.node === item.node;
    return sign && svgText('diff-sign.end', x + 8, y, first ? 'first ' + sign : sign);
}

function diffKey() {
    return data.diff && el('ul.key.diff-key',
        el('li', el('b', '≠'), ' makes other values than b'),
        el('li', el('b', '∉'), ' is not in b'),
        firstChanged && el('li', 'The first that diverges: ', firstLink(firstChanged)));
}

// ---- In the panel -------------------------------------------------------------------------------
function differenceOfNode(i) {
    if (!data.diff) return null;
    if (partners[i] < 0) return el('p.bad', '∉ b has no such node');
    const row = changed.find(one => one.node === i);
    return row && el('p.bad', `≠ what it makes differs from step ${row.step} on`);
}

function comparedNote(row) {
    if (row.equal) return el('p.good', '✓ a and b are equal.');
    return el('p.warning', differenceText(row));
}

function differenceText(row) {
    return `${whole(row.different)} of ${plural(row.count, 'value')} differ, by ` +
        `${short(row.max_abs)} at most. First at [${row.index.join(', ')}]: a has ` +
        `${number(row.a)}, b ${number(row.b)}.`;
}

function bothStatistics(t, one, other) {
    const b = statisticsOf(t, other);
    return table('Statistics of a and b',
        [{ title: '', head: true }, { title: 'a', number: true }, { title: 'b', number: true }],
        statisticsOf(t, one).map(([name, value], i) =>
            ({ cells: [name, el('span.a', value), b[i][1]] })), { id: 'statistics' });
}

// ---- The view -----------------------------------------------------------------------------------
function firstLink(row) {
    const show = () => choose({ tab: 'graph', step: row.step, ...placeOf(row) });
    return button(row.name, show, { class: 'link', title: 'Show it in the graph' });
}

// The node that made what differs; of what was there before any node ran, the first that reads it.
function placeOf({ node, tensor }) {
    if (node >= 0) return { node, tensor };
    return tensor >= 0 && readers[tensor].length ? { node: readers[tensor][0], tensor } : {};
}

function buildDiff(section) {
    const box = el('div', { id: 'diff-table' }), { structure = [] } = diff;
    fill(section, null, [el('h2', 'Difference'),
        el('p.lead', el('b', 'a'), ' ', el('span.path', diff.a), ' against ', el('b', 'b'), ' ',
            el('span.path', diff.b)),
        firstChanged ? el('div.warning', { id: 'diff-first' },
            el('p', 'The first tensor that diverges is ', firstLink(firstChanged),
                ` in step ${firstChanged.step}`, madeBy(firstChanged), '. ',
                differenceText(firstChanged))) :
            el('p.good', `✓ All ${plural(compared.length, 'tensor')} that both have are equal.`),
        structure.length > 0 ? structureList(structure) : el('p.good', '✓ The graphs are alike.'),
        box]);
    paintDiff(box, 'made');
}

function madeBy({ node }) {
    return nodes[node] ? [', made by ', nodeLink(node)] : ', before any node has run';
}

function structureList(structure) {
    const at = diff.nodes || [], more = diff.more || 0;
    return el('details', { open: structure.length <= 8 },
        el('summary', `The graphs differ in ${plural(structure.length + more, 'place')}`),
        el('ul.notes', structure.map((text, i) => el('li', nodes[at[i]] ?
            button(text, () => choose({ tab: 'graph', node: at[i] }), { class: 'link' }) : text)),
        more > 0 && el('li', `and ${whole(more)} more`)));
}

const DIFF_ORDERS = [['made', 'Different, as made'], ['worst', 'Worst first'], ['all', 'All']];

function diffRows(order) {
    if (order === 'all') return compared;
    const worst = (x, y) => (y.max_rel || 0) - (x.max_rel || 0);
    return order === 'made' ? changed : changed.slice().sort(worst);
}

function paintDiff(box, order) {
    const rows = diffRows(order), number = title => ({ title, number: true });
    const columns = [
        { title: 'Tensor', head: true }, number('a'), number('b'), { title: 'First at' },
        number('Differ'), number('Most'), number('Relative'), number('Step')];
    put(box, el('div.bar', choice('Which tensors', DIFF_ORDERS, order, key => {
        paintDiff(box, key);
        focusPressed(box);
    }), saveButton('csv', 'difference', () => diffCsv(rows))),
    rows.length ? table('Tensors compared', columns, rows.slice(0, 500).map(diffRow)) :
        el('p.note', 'Nothing differs.'),
    rows.length > 500 && el('p.note', `The first 500 of ${whole(rows.length)}.`));
}

function diffRow(row) {
    const link = firstLink(row), classes = [row.equal && 'equal', row === firstChanged && 'first'];
    const name = row === firstChanged ? [link, ' ', el('span.bad', 'first')] : link;
    const cells = row.equal ? [name, '', '', '', 'equal', '0', '0', row.step] :
        [name, number(row.a), number(row.b), `[${row.index.join(', ')}]`,
         `${whole(row.different)} of ${whole(row.count)}`, brief(row.max_abs),
         brief(row.max_rel), row.step];
    return { cells, more: { class: classes.filter(one => one).join(' ') || null } };
}

function diffCsv(rows) {
    const head = ['name', 'node', 'step', 'count', 'different', 'index', 'a', 'b', 'max_abs',
                  'max_rel'];
    return csv(head, rows.map(row => head.map(key =>
        key === 'index' ? (row.index || []).join(' ') : row[key])));
}
