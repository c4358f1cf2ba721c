// The values of a tensor by index: a table, a heat map, or rows as images; beside them the
// gradient, or what the tensor holds in the other of two files. Two axes are seen, the others stand
// still.

const look = { view: 'table', shape: '', lead: [], tile: 0, pages: [0, 0] };
const ROWS = 12;

// [rows, columns] of what is seen, and the index in the block of its first value.
function slice(shape) {
    const [columns = 1, rows = 1] = shape.slice(-2).reverse();
    let first = 0;
    look.lead.forEach((index, axis) => first = first * shape[axis] + index);
    return { rows, columns, first: first * rows * columns };
}

function resetLook({ shape }) {
    const key = shape.join();
    if (look.shape === key) return;
    look.shape = key;
    look.lead = shape.slice(0, -2).map(() => 0);
    look.pages = [0, 0];
    look.tile = guessTile(shape);
    if (look.view === 'image' && !look.tile) look.view = 'heat';
}

// Rows of 784 are images of 28 x 28, and kernels [out, in, h, w] images of h x w.
function guessTile(shape) {
    const last = shape[shape.length - 1] || 0, side = Math.round(Math.sqrt(last));
    const kernels = shape.length >= 3 && shape[shape.length - 2] > 1;
    if (kernels && last > 1 && last <= 512) return last;
    return shape.length >= 1 && side * side === last && side >= 3 ? side : 0;
}

function valuesPart(t, grad, row) {
    resetLook(tensors[t]);
    const box = el('div.values', { id: 'values' });
    paintValues(box, t, valueSets(t, grad, row));
    return box;
}

// The gradient of a tensor that is the sum of others: as many of its first elements as they have.
function summedGradient(t) {
    const { grads, shape } = tensors[t];
    const parts = (grads || []).map(part => ({ ...part, from: tensors[part.tensor].shape,
                                               held: valuesOf(part.tensor, state.step) }));
    if (!parts.length || parts.some(part => !part.held)) return null;
    const n = Math.min(elements(tensors[t]), 1 << 20), sum = new Float32Array(n);
    for (let i = 0; i < n; i++) {
        for (const part of parts) {
            const value = part.held[elementOfPart(part, shape, i)];
            if (value === undefined) return i ? sum.subarray(0, i) : null;
            sum[i] += value;
        }
    }
    return sum;
}

// Where element i of a tensor of this shape is in a part of its gradient.
function elementOfPart({ axes, from }, shape, i) {
    const size = dims => dims.reduce((a, b) => a * b, 1);
    if (!axes && size(from) === size(shape)) return i;
    let at = 0;
    for (let d = shape.length - 1; d >= 0; d--) {
        const axis = axes ? axes[d] : d - (shape.length - from.length);
        if (axis >= 0 && from[axis] > 1) at += i % shape[d] * size(from.slice(axis + 1));
        i = Math.floor(i / shape[d]);
    }
    return at;
}

// Its histogram, if all of it is there.
function countedGradient(t) {
    const values = summedGradient(t), counts = new Array(32).fill(0);
    if (!values || values.length < elements(tensors[t]) || !values.every(isFinite)) return null;
    const low = values.reduce((a, b) => Math.min(a, b));
    const high = values.reduce((a, b) => Math.max(a, b));
    for (const v of values) counts[Math.min(31, Math.floor((v - low) / (high - low || 1) * 32))]++;
    return { histogram: { low, high, counts } };
}

// What stands side by side: { tensor, title, values, marks }; marks(i): does value i differ?
function valueSets(t, grad, row) {
    const own = valuesOf(t, state.step), sets = [{ tensor: t, values: own }];
    if (row && row.other) {
        const other = otherValues(t, row), differs = i => other && own && !same(own[i], other[i]);
        sets[0].title = 'a';
        sets[0].marks = differs;
        sets.push({ tensor: t, values: other, title: 'b', marks: differs });
    }
    if (grad !== undefined) {
        sets[0].title = sets[0].title || 'Value';
        sets.push({ tensor: grad, values: valuesOf(grad, state.step), title: 'Gradient' });
    } else if (tensors[t].grads) {
        sets[0].title = sets[0].title || 'Value';
        sets.push({ tensor: t, values: summedGradient(t), title: 'Gradient' });
    }
    return sets;
}

function paintValues(box, t, sets) {
    const again = id => {
        paintValues(box, t, sets);
        const focus = id && box.querySelector(`[data-id="${id}"]`);
        if (focus) focus.focus();
    };
    const views = [['table', 'Table'], ['heat', 'Heat map']];
    if (elements(tensors[t]) > 3) views.push(['image', 'Images']);
    const wide = button('Wide', toggleWide, {
        class: 'quiet wide-button', title: 'A wider panel (w)',
        'aria-pressed': String(document.body.classList.contains('wide')),
    });
    put(box, el('div.bar', choice('Show the values as', views, look.view, key => {
        look.view = key;
        again();
        focusPressed(box);
    }), wide, saveButton('csv', lastPart(tensorName(t)), () => valuesCsv(t, sets))),
    leadFields(tensors[t], again),
    el('div.pair', sets.map(set => valueSet(set, again, sets.length))));
}

function valueSet(set, again, number) {
    const { tensor, title, values } = set;
    const show = { table: valueTable, heat: heatMap, image: images }[look.view];
    return el('div.one', title && el('h4', title), values ?
        [show(set, again, number), keptNote(tensor, values)] :
        el('p.note', 'The values are not in this page.'));
}

function keptNote(t, values) {
    const all = elements(tensors[t]);
    return values.length < all &&
        el('p.note', `The page keeps the first ${whole(values.length)} of ${whole(all)} values.`);
}

function leadFields({ shape }, again) {
    const axes = look.lead.map((index, axis) => axis).filter(axis => shape[axis] > 1);
    if (!axes.length || look.view === 'image') return null;
    return el('div.bar', axes.map(axis =>
        numberField('Axis ' + axis, look.lead[axis], shape[axis] - 1, 'lead' + axis, value => {
            look.lead[axis] = value;
            again('lead' + axis);
        })));
}

function numberField(label, value, most, id, set) {
    const take = event => {
        const wished = Math.round(Number(event.target.value)) || 0;
        set(Math.min(most, Math.max(0, wished)));
    };
    return el('label.field', el('span', `${label} (0–${whole(most)})`), el('input', {
        type: 'number', min: 0, max: most, value, 'data-id': id, onchange: take,
    }));
}

function indexText(shape, row, column) {
    if (shape.length < 2) return shape.length ? `[${column}]` : '[]';
    return '[' + look.lead.concat([row, column]).join(', ') + ']';
}

// ---- The table ----------------------------------------------------------------------------------
// As many columns as there is room for: the longest of the numbers tells how many that are.
function fittingColumns(values, first, columns, sets) {
    const wide = document.body.classList.contains('wide') && sets === 1;
    const room = Math.min(wide ? 724 : 352, innerWidth - 36) - 40;
    let longest = String(columns).length;
    for (const value of values.subarray(first, first + 1000)) {
        longest = Math.max(longest, number(value).length);
    }
    return Math.max(1, Math.min(columns, 10, Math.floor(room / (longest * 6.95 + 12))));
}

function valueTable({ tensor, values, marks }, again, sets) {
    const { rows, columns, first } = slice(tensors[tensor].shape), vector = rows === 1;
    const w = fittingColumns(values, first, columns, sets);
    const kept = Math.min(values.length - first, rows * columns);
    if (kept <= 0) return el('p.note', 'The page does not keep these values, only earlier ones.');
    // A vector runs over several rows. Rows of which nothing is kept are left out.
    const lines = Math.ceil(kept / (vector ? w : columns));
    const row0 = Math.min(look.pages[0], lines - 1);
    const column0 = vector ? 0 : Math.min(look.pages[1], columns - 1);
    const shown = vector ? w : Math.min(w, columns - column0);
    const most = greatest(values, first, first + rows * columns);
    const cell = (r, c) => {
        const i = vector ? r * w + c : r * columns + column0 + c;
        if (i >= kept) return '';
        return tinted(values[first + i], most, marks && marks(first + i));
    };
    const each = Array.from({ length: shown }, (_, c) => c);
    const heads = each.map(c => ({ title: vector ? '+' + c : column0 + c, number: true }));
    const body = [];
    for (let r = row0; r < Math.min(lines, row0 + ROWS); r++) {
        body.push({ cells: [vector ? r * w : r, ...each.map(c => cell(r, c))] });
    }
    return [table('Values of ' + tensorName(tensor),
                  [{ title: vector ? 'at' : 'row', head: true, number: true }, ...heads], body,
                  { class: 'grid' }),
            el('div.bar', pager(0, 'Row', row0, lines, ROWS, again),
               !vector && pager(1, 'Column', column0, columns, w, again))];
}

// A number on a wash of its colour, as strong as it is large.
function tinted(value, most, differs) {
    const part = isFinite(value) && most ? Math.abs(value) / most : 0, sign = value < 0 ? -1 : 1;
    return el('span.tint' + (sign < 0 ? '.below' : '') + (differs ? '.differs' : ''),
        { style: `--part:${Math.round(24 * part)}%` }, number(value));
}

// Earlier, a field for the first, and later, if there is more than fits.
function pager(axis, title, at, all, size, again) {
    if (all <= size) return null;
    const id = 'page' + axis, set = (value, focus) => {
        look.pages[axis] = Math.min(all - 1, Math.max(0, value));
        again(focus);
    };
    const turn = (sign, label, by) => button(sign, () => set(at + by, id + sign), {
        'aria-label': `${label} ${title.toLowerCase()}s`, 'data-id': id + sign,
    });
    return el('span.jump', turn('‹', 'Earlier', -size),
        numberField(title, at, all - 1, id, value => set(value, id)), turn('›', 'Later', size));
}
