// The values of a tensor by index: a table, a heat map, or rows as images; the gradient beside it.
// Two axes are seen, the others stand still at an index.

const look = { view: 'table', shape: '', row: 0, column: 0, lead: [], tile: 0, at: [0, 0], pages: [0, 0] };
const ROWS = 12;

// [rows, columns] of what is seen, and the index in the block of its first value.
function slice(shape) {
    const inner = shape.slice(-2), [rows, columns] = inner.length === 2 ? inner :
        inner.length === 1 ? [1, inner[0]] : [1, 1];
    let first = 0;
    look.lead.forEach((index, axis) => first = first * shape[axis] + index);
    return { rows, columns, first: first * rows * columns };
}

function resetLook(tensor) {
    const key = tensor.shape.join();
    if (look.shape === key) return;
    Object.assign(look, { shape: key, lead: tensor.shape.slice(0, -2).map(() => 0), at: [0, 0], pages: [0, 0],
                          tile: guessTile(tensor.shape) });
    if (look.view === 'image' && !look.tile) look.view = 'heat';
}

// Rows of 784 are images of 28 x 28, and kernels [out, in, h, w] images of h x w.
function guessTile(shape) {
    const last = shape[shape.length - 1] || 0, side = Math.round(Math.sqrt(last));
    if (shape.length >= 3 && shape[shape.length - 2] > 1 && last > 1 && last <= 512) return last;
    return shape.length >= 1 && side * side === last && side >= 3 ? side : 0;
}

function valuesPart(t, grad) {
    const tensor = tensors[t];
    resetLook(tensor);
    const box = el('div', { class: 'values', id: 'values' });
    paintValues(box, t, grad);
    return box;
}

function paintValues(box, t, grad) {
    const again = id => {
        paintValues(box, t, grad);
        const focus = id && box.querySelector(`[data-id="${id}"]`);
        if (focus) focus.focus();
    };
    const views = [['table', 'Table'], ['heat', 'Heat map']].concat(elements(tensors[t]) > 3 ? [['image', 'Images']] : []);
    const show = { table: valueTable, heat: heatMap, image: images }[look.view];
    const one = (tensor, title) => {
        const values = valuesOf(tensor, state.step);
        return el('div', { class: 'one' }, title && el('h4', null, title), values ?
            [show(tensor, values, again), keptNote(tensor, values)] :
            el('p', { class: 'note' }, 'The values are not in this page.'));
    };
    put(box, el('div', { class: 'bar' },
        choice('Show the values as', views, look.view, key => {
            look.view = key;
            again();
            box.querySelector('[aria-pressed=true]').focus();
        }),
        button('Wide', () => document.body.classList.toggle('wide') || again(), {
            class: 'quiet wide-button', title: 'A wider panel (w)' })),
        leadFields(tensors[t], again),
        el('div', { class: 'pair' }, one(t, grad !== undefined && 'Value'), grad !== undefined && one(grad, 'Gradient')));
}

function keptNote(t, values) {
    const all = elements(tensors[t]);
    return values.length < all && el('p', { class: 'note' },
        `The page keeps the first ${whole(values.length)} of ${whole(all)} values.`);
}

function leadFields(tensor, again) {
    return tensor.shape.slice(0, -2).some(n => n > 1) && look.view !== 'image' && el('div', { class: 'bar' }, look.lead.map((index, axis) =>
        tensor.shape[axis] > 1 && numberField('Axis ' + axis, index, tensor.shape[axis] - 1, 'lead' + axis, value => {
            look.lead[axis] = value;
            again('lead' + axis);
        })));
}

function numberField(label, value, most, id, set) {
    return el('label', { class: 'field small' }, el('span', null, `${label} (0–${whole(most)})`), el('input', {
        type: 'number', min: 0, max: most, value, 'data-id': id,
        onchange: event => set(Math.min(most, Math.max(0, Math.round(Number(event.target.value)) || 0))) }));
}

function indexText(shape, row, column) {
    const own = shape.length === 0 ? [] : shape.length === 1 ? [column] : look.lead.concat([row, column]);
    return '[' + own.join(', ') + ']';
}

function valueTable(t, values, again) {
    const { shape } = tensors[t], { rows, columns, first } = slice(shape);
    const wide = document.body.classList.contains('wide'), w = Math.min(columns, wide ? 8 : 4);
    // A vector runs over several rows.
    const lines = rows === 1 ? Math.ceil(columns / w) : rows;
    const row0 = Math.min(look.pages[0], Math.max(0, lines - 1)), column0 = rows === 1 ? 0 : Math.min(look.pages[1], columns - 1);
    const cell = (r, c) => {
        const i = rows === 1 ? r * w + c : r * columns + column0 + c;
        return i >= rows * columns || first + i >= values.length ? '' : number(values[first + i]);
    };
    const heads = Array.from({ length: Math.min(w, columns - column0) }, (_, c) => ({
        title: rows === 1 ? '+' + c : String(column0 + c), number: true }));
    const body = [];
    for (let r = row0; r < Math.min(lines, row0 + ROWS); r++) {
        body.push({ cells: [rows === 1 ? r * w : r].concat(heads.map((_, c) => cell(r, c))) });
    }
    const move = (axis, by, most) => {
        look.pages[axis] = Math.min(most, Math.max(0, look.pages[axis] + by));
        again('page' + axis + by);
    };
    const jump = (axis, title, most, size) => most >= size && el('span', { class: 'jump' },
        button('‹', () => move(axis, -size, most), { 'aria-label': 'Earlier ' + title + 's', 'data-id': 'page' + axis + -size }),
        numberField(title, [row0, column0][axis], most, 'jump' + axis, value => {
            look.pages[axis] = value;
            again('jump' + axis);
        }),
        button('›', () => move(axis, size, most), { 'aria-label': 'Later ' + title + 's', 'data-id': 'page' + axis + size }));
    return [table('Values of ' + tensorName(t), [{ title: rows === 1 ? 'at' : 'row', head: true, number: true }].concat(heads), body, { class: 'grid' }),
            el('div', { class: 'bar' }, jump(0, 'Row', lines - 1, ROWS), rows > 1 && jump(1, 'Column', columns - 1, w))];
}

// ---- Pictures -----------------------------------------------------------------------------------
// From the colour of the least through the paper to that of the greatest, zero in the middle.
function palette(gamma) {
    const rgb = name => {
        const [r, g, b] = color(name).match(/[0-9a-f]{2}/gi).map(hex => parseInt(hex, 16));
        return [r, g, b];
    };
    const below = rgb('warm'), zero = rgb('card'), above = rgb('accent'), bad = rgb('bad');
    return (value, most) => {
        if (!isFinite(value)) return bad;
        const part = most ? Math.max(-1, Math.min(1, value / most)) : 0, to = part < 0 ? below : above;
        const weight = Math.pow(Math.abs(part), gamma);
        return zero.map((v, i) => v + (to[i] - v) * weight);
    };
}

function greatest(values, from, to) {
    let most = 0;
    for (let i = from; i < Math.min(to, values.length); i++) {
        if (isFinite(values[i])) most = Math.max(most, Math.abs(values[i]));
    }
    return most;
}

// A picture of w x h values, at(x, y) = index or -1, each block of values drawn `size` pixels wide.
function picture(w, h, size, values, at, scale, gamma) {
    const element = el('canvas', { width: w, height: h, class: 'picture' });
    const context = element.getContext('2d'), image = context.createImageData(w, h), ink = palette(gamma || 0.8);
    for (let y = 0; y < h; y++) {
        for (let x = 0; x < w; x++) {
            const i = at(x, y);
            if (i < 0 || i >= values.length) continue;
            const [r, g, b] = ink(values[i], scale(i));
            image.data.set([r, g, b, 255], 4 * (y * w + x));
        }
    }
    context.putImageData(image, 0, 0);
    element.style.width = w * size + 'px';
    return element;
}

// The value under the pointer or the cursor keys, written below.
function readable(element, w, h, label, tell) {
    let x = 0, y = 0;
    const out = el('output', { class: 'reading' }, 'Point at a value, or use the arrow keys.');
    const read = (nx, ny) => {
        x = Math.max(0, Math.min(w - 1, nx));
        y = Math.max(0, Math.min(h - 1, ny));
        const text = tell(x, y);
        if (text) out.textContent = text;
    };
    const box = el('div', {
        class: 'picture-box', tabindex: 0, role: 'application', 'aria-label': label + ' Arrow keys read values.',
        onkeydown: event => {
            const arrow = ARROWS[event.key];
            if (!arrow) return;
            event.preventDefault();
            event.stopPropagation();
            read(x + arrow[0], y + arrow[1]);
        },
        onpointermove: event => {
            const at = element.getBoundingClientRect();
            read(Math.floor((event.clientX - at.left) / at.width * w), Math.floor((event.clientY - at.top) / at.height * h));
        },
    }, element);
    return [box, out];
}

function heatMap(t, values) {
    const { shape } = tensors[t], { rows, columns, first } = slice(shape);
    let w = columns, h = rows;
    if (rows === 1 && columns > 64) [w, h] = [32, Math.ceil(columns / 32)];
    const step = Math.max(1, Math.ceil(Math.max(w, h) / 1024));         // more than a screen shows
    const pw = Math.ceil(w / step), ph = Math.ceil(h / step), most = greatest(values, first, first + rows * columns);
    const at = (x, y) => {
        const i = y * step * w + x * step;
        return i < rows * columns ? first + i : -1;
    };
    const size = Math.max(1, Math.min(24, Math.floor((document.body.classList.contains('wide') ? 330 : 320) / pw)));
    const drawing = picture(pw, ph, size, values, at, () => most);
    return [readable(drawing, pw, ph, `Heat map of ${tensorName(t)}, ${h} rows and ${w} columns.`, (x, y) => {
        const i = at(x, y) - first;
        if (i < 0) return '';
        const value = values[first + i];
        return `${indexText(shape, Math.floor(i / columns), i % columns)} = ${value === undefined ? 'not kept' : number(value)}`;
    }), legend(most)];
}

function legend(most) {
    return el('p', { class: 'legend', 'aria-hidden': 'true' }, el('span', null, short(-most)), el('i'), el('span', null, short(most)));
}

function images(t, values, again) {
    const { shape } = tensors[t], width = shape[shape.length - 1] || 1, kernels = shape.length >= 3;
    const tile = look.tile || Math.min(width, 28);
    const size = kernels ? shape[shape.length - 2] * width : width;
    const tw = kernels ? width : Math.min(tile, size), th = Math.ceil(size / tw);
    const all = Math.floor(elements(tensors[t]) / size), shown = Math.min(all, 64);
    const across = Math.min(shown, Math.max(1, Math.min(8, Math.floor(300 / (tw + 1)) || 1)));
    const most = Array.from({ length: shown }, (_, n) => greatest(values, n * size, (n + 1) * size));
    const w = across * (tw + 1) - 1, h = Math.ceil(shown / across) * (th + 1) - 1;
    const at = (x, y) => {
        const n = Math.floor(y / (th + 1)) * across + Math.floor(x / (tw + 1)), ix = x % (tw + 1), iy = y % (th + 1);
        return n < shown && ix < tw && iy < th && iy * tw + ix < size ? n * size + iy * tw + ix : -1;
    };
    const drawing = picture(w, h, Math.max(1, Math.min(16, Math.floor(320 / w))), values, at, i => most[Math.floor(i / size)]);
    return [readable(drawing, w, h, `${shown} images of ${tw} × ${th} from ${tensorName(t)}.`, (x, y) => {
        const i = at(x, y);
        if (i < 0) return '';
        return `image ${Math.floor(i / size)}, x ${i % size % tw}, y ${Math.floor(i % size / tw)} = ` +
            (i < values.length ? number(values[i]) : 'not kept');
    }), el('p', { class: 'note' }, `${shown} of ${plural(all, 'image')}, ${tw} × ${th}, each scaled to its own greatest value`),
        !kernels && numberField('Width of an image', tile, width, 'tile', value => {
            look.tile = Math.max(1, value);
            again('tile');
        })];
}
