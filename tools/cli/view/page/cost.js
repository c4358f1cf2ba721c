// What each node, layer, op or section costs: a table that sorts, above it the roofline.

const cost = { by: 'node', sort: 'seconds', down: true, shown: 100 };
const BY = [['node', 'Nodes'], ['layer', 'Layers'], ['op', 'Ops'], ['section', 'Sections']];

function buildCost(section) {
    if (!total('seconds')) cost.sort = 'flops';
    section.append(el('h2', 'Cost'), el('div', { id: 'roofline' }),
        el('div', { id: 'cost-table' }));
    buildRoofline($('roofline'));
    paintCost();
}

// about: for how many nodes FLOPs are an estimate.
const costOf = ({ seconds, flops, bytes, about }) =>
    ({ seconds: seconds || 0, flops: flops || 0, bytes: bytes || 0, about: about ? 1 : 0 });

function costRows() {
    if (cost.by === 'node') {
        return nodes.map((node, i) =>
            ({ node: i, name: node.op, where: node.name || '', count: 1, ...costOf(node) }));
    }
    const groups = new Map();
    nodes.forEach((node, i) => {
        const name = { layer: layerOf(node).join('.') || '(none)', op: node.op,
                       section: sectionName(node.section || 0) }[cost.by];
        const key = cost.by === 'section' ? node.section : name;
        const none = { node: i, name, where: '', count: 0, ...costOf({}) };
        const group = groups.get(key) || none, own = costOf(node);
        groups.set(key, group);
        group.count++;
        for (const what of Object.keys(own)) group[what] += own[what];
    });
    return Array.from(groups.values());
}

const intensity = row => row.bytes ? row.flops / row.bytes : 0;
const speed = row => row.seconds ? row.flops / row.seconds / 1e9 : 0;

// Of each column: its title, what it sorts by, and its text.
const COST = {
    node: ['Node', row => row.node, row => row.node],
    name: ['Name', row => row.name, costName],
    count: ['Nodes', row => row.count, row => whole(row.count)],
    seconds: ['Time', row => row.seconds, row => seconds(row.seconds)],
    share: ['Share', row => row.seconds, costShare],
    flops: ['FLOPs', row => row.flops, row => (row.about ? '≈ ' : '') + whole(row.flops)],
    bytes: ['Bytes', row => row.bytes, row => whole(row.bytes)],
    intensity: ['FLOP/B', intensity, row => short(intensity(row))],
    speed: ['GFLOP/s', speed, row => short(speed(row))],
};

function costName(row) {
    if (cost.by !== 'node') return row.name;
    return [nodeLink(row.node, row.name), ' ', el('span.path.soft', row.where)];
}

function costShare(row) {
    const all = total('seconds') || 1;
    return el('span.share', { style: `--part:${row.seconds / cost.most}` },
        percent(row.seconds / all));
}

const costColumns = () => Object.keys(COST).filter(
    name => name !== (cost.by === 'node' ? 'count' : 'node'));

function sortedCost() {
    const key = COST[cost.sort][1], up = cost.down ? -1 : 1;
    const compare = (a, b) => typeof a === 'string' ? a.localeCompare(b) : a - b;
    return costRows().sort((a, b) => up * compare(key(a), key(b)) || a.node - b.node);
}

function paintCost() {
    const rows = sortedCost(), names = costColumns();
    const more = Math.min(1000, rows.length - cost.shown);
    cost.most = Math.max(...rows.map(row => row.seconds), 1e-12);
    const order = cost.down ? 'descending' : 'ascending';
    const columns = names.map(name => ({
        title: COST[name][0], number: name !== 'name', head: name === 'name',
        sorted: name === cost.sort ? order : 'none', onclick: () => sortBy(name),
    }));
    const line = row => ({
        cells: names.map(name => COST[name][2](row)),
        more: { class: cost.by === 'node' && row.node === state.node && 'chosen' },
    });
    put($('cost-table'), el('div.bar', choice('Sum by', BY, cost.by, by => {
        cost.by = by;
        paintCost();
        focusPressed($('cost-table'));
    }), saveButton('csv', 'cost', costCsv)),
    table('Cost by ' + cost.by, columns, rows.slice(0, cost.shown).map(line)),
    more > 0 && button(`Show ${whole(more)} more of ${whole(rows.length)}`, () => {
        cost.shown += 1000;
        paintCost();
    }));
}

function costCsv() {
    const head = [cost.by, 'name', 'nodes', 'flops', 'bytes', 'seconds'];
    return csv(head, sortedCost().map(row => [cost.by === 'node' ? row.node : row.name,
                                              row.where || row.name, row.count, row.flops,
                                              row.bytes, row.seconds]));
}

function sortBy(name) {
    cost.down = cost.sort === name ? !cost.down : name !== 'name' && name !== 'node';
    cost.sort = name;
    paintCost();
    $('cost-table').querySelector('th[aria-sort$=ending] button').focus();
}

function updateCost(what) {
    if (!what.node) return;
    paintCost();
    drawRoofline();
}
