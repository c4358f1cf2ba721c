// What each node, layer, op or section costs: a table that sorts, above it the roofline.

const cost = { by: 'node', sort: 'seconds', down: true, shown: 100 };
const BY = [['node', 'Nodes'], ['layer', 'Layers'], ['op', 'Ops'], ['section', 'Sections']];

function buildCost(section) {
    if (!total('seconds')) cost.sort = 'flops';
    section.append(el('h2', null, 'Cost'), el('div', { id: 'roofline' }), el('div', { id: 'cost-table' }));
    buildRoofline($('roofline'));
    paintCost();
}

function costRows() {
    if (cost.by === 'node') {
        return nodes.map((node, i) => ({ node: i, name: node.op, where: node.name || '', seconds: node.seconds || 0, flops: node.flops || 0,
                                         bytes: node.bytes || 0, count: 1 }));
    }
    const groups = new Map();
    nodes.forEach((node, i) => {
        const layer = layerOf(node).join('.') || '(none)';
        const name = { layer, op: node.op, section: sectionName(node.section || 0) }[cost.by];
        const key = cost.by === 'section' ? node.section : name;
        if (!groups.has(key)) groups.set(key, { node: i, name, where: '', seconds: 0, flops: 0, bytes: 0, count: 0 });
        const group = groups.get(key);
        group.count++;
        for (const what of ['seconds', 'flops', 'bytes']) group[what] += node[what] || 0;
    });
    return Array.from(groups.values());
}

const intensity = row => row.bytes ? row.flops / row.bytes : 0;
const speed = row => row.seconds ? row.flops / row.seconds / 1e9 : 0;
const COST = {
    node: ['Node', row => row.node], name: ['Name', row => row.name], count: ['Nodes', row => row.count],
    flops: ['FLOPs', row => row.flops], bytes: ['Bytes', row => row.bytes], intensity: ['FLOP/B', intensity],
    seconds: ['Time', row => row.seconds], share: ['Share', row => row.seconds], speed: ['GFLOP/s', speed],
};

function paintCost() {
    const key = COST[cost.sort][1], up = cost.down ? -1 : 1;
    const rows = costRows().sort((a, b) => {
        const x = key(a), y = key(b);
        return up * (typeof x === 'string' ? x.localeCompare(y) : x - y) || a.node - b.node;
    });
    const all = total('seconds') || 1, most = Math.max(...rows.map(row => row.seconds), 1e-12);
    const names = Object.keys(COST).filter(name => name !== (cost.by === 'node' ? 'count' : 'node'));
    const columns = names.map(name => ({
        title: COST[name][0], number: name !== 'name', head: name === 'name',
        sorted: name === cost.sort ? (cost.down ? 'descending' : 'ascending') : 'none',
        onclick: () => sortBy(name) }));
    const text = (row, name) => ({
        node: () => row.node, name: () => cost.by === 'node' ? [nodeLink(row.node, row.name), ' ', el('span', { class: 'path soft' }, row.where)] :
            row.name,
        count: () => whole(row.count), flops: () => whole(row.flops), bytes: () => whole(row.bytes), intensity: () => short(intensity(row)),
        seconds: () => seconds(row.seconds), speed: () => short(speed(row)),
        share: () => el('span', { class: 'share', style: `--part:${row.seconds / most}` }, percent(row.seconds / all)),
    })[name]();
    put($('cost-table'), el('div', { class: 'bar' }, choice('Sum by', BY, cost.by, by => {
        cost.by = by;
        paintCost();
        $('cost-table').querySelector('[aria-pressed=true]').focus();
    })), table('Cost by ' + cost.by, columns, rows.slice(0, cost.shown).map(row => ({
        cells: names.map(name => text(row, name)),
        more: { class: cost.by === 'node' && row.node === state.node ? 'chosen' : null } }))),
        rows.length > cost.shown && button(`Show ${whole(Math.min(1000, rows.length - cost.shown))} more of ${whole(rows.length)}`, () => {
            cost.shown += 1000;
            paintCost();
        }));
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
