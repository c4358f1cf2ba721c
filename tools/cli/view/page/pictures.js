// Values as colours: a heat map, and rows as images. Pointer and arrow keys read what is there.

// From the colour of the least through the paper to that of the greatest, zero in the middle.
function palette(gamma) {
    const rgb = name => color(name).match(/[0-9a-f]{2}/gi).map(hex => parseInt(hex, 16));
    const below = rgb('warm'), zero = rgb('card'), above = rgb('accent'), bad = rgb('bad');
    return (value, most) => {
        if (!isFinite(value)) return bad;
        const part = most ? Math.max(-1, Math.min(1, value / most)) : 0;
        const to = part < 0 ? below : above, weight = Math.pow(Math.abs(part), gamma);
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

// A picture of w x h values, at(x, y) = index or -1, each `size` pixels wide; scale(i): the
// greatest of those that value i is compared with.
function picture(w, h, size, values, at, scale, gamma) {
    const element = el('canvas.picture', { width: w, height: h, style: `width:${w * size}px` });
    const context = element.getContext('2d'), image = context.createImageData(w, h);
    const ink = palette(gamma || 0.8);
    for (let y = 0; y < h; y++) {
        for (let x = 0; x < w; x++) {
            const i = at(x, y);
            if (i < 0 || i >= values.length) continue;
            image.data.set([...ink(values[i], scale(i)), 255], 4 * (y * w + x));
        }
    }
    context.putImageData(image, 0, 0);
    return element;
}

// The value under the pointer or the cursor keys, written below.
function readable(element, w, h, label, tell) {
    let x = 0, y = 0;
    const out = el('output.reading', 'Point at a value, or use the arrow keys.');
    const read = (nx, ny) => {
        x = Math.max(0, Math.min(w - 1, nx));
        y = Math.max(0, Math.min(h - 1, ny));
        out.textContent = tell(x, y) || out.textContent;
    };
    const onkeydown = event => {
        const arrow = ARROWS[event.key];
        if (!arrow) return;
        event.preventDefault();
        event.stopPropagation();
        read(x + arrow[0], y + arrow[1]);
    };
    const onpointermove = event => {
        const at = element.getBoundingClientRect();
        read(Math.floor((event.clientX - at.left) / at.width * w),
            Math.floor((event.clientY - at.top) / at.height * h));
    };
    return [el('div.picture-box', {
        tabindex: 0, role: 'application', 'aria-label': label + ' Arrow keys read values.',
        onkeydown, onpointermove,
    }, element), out];
}

const told = (values, i) => i < values.length ? number(values[i]) : 'not kept';

function heatMap({ tensor, values }) {
    const { shape } = tensors[tensor], { rows, columns, first } = slice(shape);
    const folded = rows === 1 && columns > 64, w = folded ? 32 : columns;
    const h = folded ? Math.ceil(columns / 32) : rows;
    const step = Math.max(1, Math.ceil(Math.max(w, h) / 1024));         // more than a screen shows
    const pw = Math.ceil(w / step), ph = Math.ceil(h / step);
    const most = greatest(values, first, first + rows * columns);
    const at = (x, y) => {
        const i = y * step * w + x * step;
        return i < rows * columns ? first + i : -1;
    };
    const size = Math.max(1, Math.min(24, Math.floor(330 / pw)));
    const drawing = picture(pw, ph, size, values, at, () => most);
    const label = `Heat map of ${tensorName(tensor)}, ${h} rows and ${w} columns.`;
    return [readable(drawing, pw, ph, label, (x, y) => {
        const i = at(x, y) - first;
        if (i < 0) return '';
        const index = indexText(shape, Math.floor(i / columns), i % columns);
        return `${index} = ${told(values, first + i)}`;
    }), legend(most)];
}

function legend(most) {
    return el('p.legend', { 'aria-hidden': 'true' },
        el('span', short(-most)), el('i'), el('span', short(most)));
}

// How images lie in a tensor: so many of tw x th, `size` values each; `width`: of a row.
function imagesIn(shape) {
    const width = shape[shape.length - 1] || 1, kernels = shape.length >= 3;
    const size = kernels ? shape[shape.length - 2] * width : width;
    const tw = kernels ? width : Math.min(look.tile || Math.min(width, 28), size);
    return { kernels, width, size, tw, th: Math.ceil(size / tw) };
}

function images({ tensor, values }, again) {
    const { kernels, width, size, tw, th } = imagesIn(tensors[tensor].shape);
    const all = Math.floor(elements(tensors[tensor]) / size), shown = Math.min(all, 64);
    const across = Math.min(shown, 8, Math.max(1, Math.floor(300 / (tw + 1))));
    const w = across * (tw + 1) - 1, h = Math.ceil(shown / across) * (th + 1) - 1;
    const most = Array.from({ length: shown },
        (_, n) => greatest(values, n * size, (n + 1) * size));
    const at = (x, y) => {
        const n = Math.floor(y / (th + 1)) * across + Math.floor(x / (tw + 1));
        const ix = x % (tw + 1), iy = y % (th + 1), i = iy * tw + ix;
        return n < shown && ix < tw && iy < th && i < size ? n * size + i : -1;
    };
    const zoom = Math.max(1, Math.min(16, Math.floor(330 / w)));
    const drawing = picture(w, h, zoom, values, at, i => most[Math.floor(i / size)]);
    const label = `${shown} images of ${tw} × ${th} from ${tensorName(tensor)}.`;
    return [readable(drawing, w, h, label, (x, y) => {
        const i = at(x, y), place = i % size;
        return i >= 0 && `image ${Math.floor(i / size)}, x ${place % tw}, ` +
            `y ${Math.floor(place / tw)} = ${told(values, i)}`;
    }), el('p.note', `${shown} of ${plural(all, 'image')}, ${tw} × ${th}, each scaled to its ` +
                     'own greatest value'),
    !kernels && numberField('Width of an image', tw, width, 'tile', value => {
        look.tile = Math.max(1, value);
        again('tile');
    })];
}
