// Where things stand: in each open fold its children in rows from top to bottom, what feeds above
// what is fed (Sugiyama's method: rows, order within rows, places). Sections stand side by side.

const SIZE = { node: [188, 46], input: [140, 38], fold: [196, 56] };
const GAP = { row: 30, item: 20, pad: 18, head: 34, section: 72, thread: 12 };
const WIDE = 4;                         // more in a row than this go to the next row

// Edges between children of the same fold, by fold: each edge is lifted to where its ends part.
const lifted = new Map();
(function lift() {
    const add = (from, to, tensor) => {
        const above = ancestors(from), seen = new Map(above.map((item, i) => [item, i]));
        let below = to;
        while (!seen.has(below.parent)) below = below.parent;
        const fold = below.parent, a = above[seen.get(fold) - 1];
        if (a === below) return;
        if (!lifted.has(fold)) lifted.set(fold, new Map());
        const key = a.id + '>' + below.id, pairs = lifted.get(fold);
        if (!pairs.has(key)) pairs.set(key, { from: a, to: below, tensors: new Set() });
        pairs.get(key).tensors.add(tensor);
    };
    for (const edge of edges) add(leafOf[edge.from], leafOf[edge.to], edge.tensor);
    inputLeaf.forEach((leaf, t) => readers[t].forEach(i => add(leaf, leafOf[i], t)));
})();

// Gives each child x, y, w, h within the fold, and the fold's threads (edges) their points.
function layout(fold) {
    for (const child of fold.children) {
        if (child.children && child.open) layout(child);
        else [child.w, child.h] = SIZE[child.children ? 'fold' : child.kind];
    }
    if (fold.kind === 'root') return layoutSections(fold);
    const pairs = Array.from((lifted.get(fold) || new Map()).values());
    const rows = split(rank(fold, pairs));
    const threads = pairs.map(pair => thread(pair, rows));
    order(rows);
    const width = place(rows);
    let y = GAP.head + 6;
    for (const row of rows) {
        row.y = y;
        row.h = Math.max(...row.map(item => item.h));
        for (const item of row) item.y = y;
        y += row.h + GAP.row;
    }
    fold.threads = threads.map(one => route(one, rows));
    fold.w = Math.max(width + 2 * GAP.pad, 160);
    fold.h = y - GAP.row + GAP.pad;
}

function layoutSections(fold) {
    let x = 0;
    for (const child of fold.children) {
        child.x = x;
        child.y = 0;
        x += child.w + GAP.section;
    }
    fold.w = Math.max(0, x - GAP.section);
    fold.h = Math.max(0, ...fold.children.map(child => child.h));
    fold.threads = Array.from((lifted.get(fold) || new Map()).values()).map(pair => {
        const back = pair.from.x > pair.to.x, high = 17 + (back ? 8 : 0);
        const a = [pair.from.x + (back ? 0 : pair.from.w), high];
        const b = [pair.to.x + (back ? pair.to.w : 0), high];
        return { pair, points: [a, b], across: true };
    });
}

// The longest way from above, over edges that go forward in the order of running.
function rank(fold, pairs) {
    const sorted = fold.children.slice().sort((a, b) => a.first - b.first);
    sorted.forEach((item, i) => Object.assign(item, { at: i, rank: 0, up: [], down: [] }));
    for (const pair of pairs) {
        pair.back = pair.from.at > pair.to.at;
        if (!pair.back) pair.to.up.push(pair.from);
    }
    for (const item of sorted) {
        for (const above of item.up) item.rank = Math.max(item.rank, above.rank + 1);
    }
    for (const item of sorted) {        // an input stands right above what reads it first
        if (item.kind !== 'input') continue;
        const fed = pairs.filter(pair => pair.from === item && !pair.back);
        const first = Math.min(...fed.map(pair => pair.to.rank));
        if (fed.length) item.rank = Math.max(0, first - 1);
    }
    return sorted;
}

function split(sorted) {
    const byRank = [];
    for (const item of sorted) (byRank[item.rank] = byRank[item.rank] || []).push(item);
    const rows = [];
    // Inputs stand in rows of their own: beside a chain they would make its frame twice as wide.
    const inputs = row => row.filter(item => item.kind === 'input');
    const others = row => row.filter(item => item.kind !== 'input');
    for (const row of byRank.flatMap(all => all ? [others(all), inputs(all)] : [])) {
        if (!row.length) continue;
        const wide = Math.ceil(row.length / Math.ceil(row.length / WIDE));
        for (let i = 0; i < row.length; i += wide) rows.push(row.slice(i, i + wide));
    }
    rows.forEach((row, r) => {
        for (const item of row) Object.assign(item, { row: r, up: [], down: [] });
    });
    return rows;
}

// An edge over several rows goes through a narrow place in each row between.
function thread(pair, rows) {
    const chain = [pair.from];
    if (!pair.back) {
        for (let r = pair.from.row + 1; r < pair.to.row; r++) {
            const narrow = { thin: true, w: GAP.thread, h: 0, row: r, up: [], down: [] };
            rows[r].push(narrow);
            chain.push(narrow);
        }
    }
    chain.push(pair.to);
    for (let i = 1; !pair.back && i < chain.length; i++) {
        chain[i - 1].down.push(chain[i]);
        chain[i].up.push(chain[i - 1]);
    }
    return { pair, chain };
}

function average(list, value, without) {
    return list.length ? list.reduce((sum, one) => sum + value(one), 0) / list.length : without;
}

// Fewer crossings: each in the order of the middle of its neighbours, down and up a few times.
function order(rows) {
    const number = row => row.forEach((item, i) => item.at = i);
    rows.forEach(number);
    for (let sweep = 0; sweep < 6; sweep++) {
        const down = sweep % 2 === 0;
        const way = down ? rows.slice(1) : rows.slice(0, -1).reverse();
        for (const row of way) {
            for (const item of row) {
                item.middle = average(down ? item.up : item.down, other => other.at, item.at);
            }
            row.sort((a, b) => a.middle - b.middle);
            number(row);
        }
    }
}

// x of all: as near to the middle of the neighbours as the others in the row let it.
function place(rows) {
    for (const row of rows) {
        let x = 0;
        for (const item of row) {
            item.x = x;
            x += item.w + GAP.item;
        }
        const shift = (x - GAP.item) / 2;
        for (const item of row) item.x -= shift;
    }
    for (let sweep = 0; sweep < 8; sweep++) {
        const down = sweep % 2 === 0;
        for (const row of down ? rows : rows.slice().reverse()) {
            settle(row, row.map(item => {
                const half = item.w / 2, near = down ? item.up : item.down;
                return average(near, other => other.x + other.w / 2, item.x + half) - half;
            }));
        }
    }
    let low = Infinity, high = -Infinity;
    for (const row of rows) {
        for (const item of row) {
            low = Math.min(low, item.x);
            high = Math.max(high, item.x + item.w);
        }
    }
    const inner = Math.max(high - low, 160 - 2 * GAP.pad), extra = (inner - (high - low)) / 2;
    for (const row of rows) {
        for (const item of row) item.x += GAP.pad + extra - low;
    }
    return inner;
}

// The places nearest to the wished ones (least squares) that keep order and gaps: neighbours that
// would overlap move as one.
function settle(row, wishes) {
    const packs = [], at = pack => pack.sum / pack.count;
    let offset = 0;
    row.forEach((item, i) => {
        item.offset = offset;
        offset += item.w + GAP.item;
        let pack = { sum: wishes[i] - item.offset, count: 1 };
        while (packs.length && at(packs[packs.length - 1]) > at(pack)) {
            const before = packs.pop();
            pack = { sum: before.sum + pack.sum, count: before.count + pack.count };
        }
        packs.push(pack);
    });
    let i = 0;
    for (const pack of packs) {
        for (let n = 0; n < pack.count; n++, i++) row[i].x = at(pack) + row[i].offset;
    }
}

function route(one, rows) {
    const { pair, chain } = one, points = [], middle = item => item.x + item.w / 2;
    if (pair.back) {
        const right = item => [item.x + item.w, item.y + item.h / 2];
        return { pair, back: true, points: [right(pair.from), right(pair.to)] };
    }
    points.push([middle(pair.from), pair.from.y + pair.from.h]);
    for (const item of chain.slice(1, -1)) {
        const row = rows[item.row];
        points.push([middle(item), row.y], [middle(item), row.y + row.h]);
    }
    points.push([middle(pair.to), pair.to.y]);
    return { pair, points };
}

// The path through the points, with vertical tangents.
function curve(thread, dx, dy) {
    const p = thread.points.map(([x, y]) => [x + dx, y + dy]);
    if (thread.across) {
        const half = (p[1][0] - p[0][0]) / 2;
        return `M${p[0]}C${p[0][0] + half},${p[0][1]} ${p[1][0] - half},${p[1][1]} ${p[1]}`;
    }
    if (thread.back) {
        const out = Math.max(p[0][0], p[1][0]) + 40;
        return `M${p[0]}C${out},${p[0][1]} ${out},${p[1][1]} ${p[1]}`;
    }
    let path = `M${p[0]}`;
    for (let i = 1; i < p.length; i++) {
        const [ax, ay] = p[i - 1], [bx, by] = p[i];
        if (Math.abs(ax - bx) < 0.5) path += `V${by}`;
        else path += `C${ax},${(ay + by) / 2} ${bx},${(ay + by) / 2} ${bx},${by}`;
    }
    return path;
}
