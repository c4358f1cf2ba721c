// What can be saved: files that the page itself makes, without a request.

const TYPES = { csv: 'text/csv', svg: 'image/svg+xml', json: 'application/json' };

// make() gives the text; the file is MODEL.NAME.KIND.
function saveButton(kind, name, make) {
    const text = kind.toUpperCase();
    return button('↓ ' + text, () => save(kind, name, make()), {
        class: 'quiet', 'data-save': name + '.' + kind, title: 'Save as ' + text,
        'aria-label': `Save ${name} as ${text}`,
    });
}

function save(kind, name, text) {
    const file = `${data.title || 'model'}.${name}.${kind}`.replace(/[^\w.-]+/g, '_');
    const href = URL.createObjectURL(new Blob([text], { type: TYPES[kind] }));
    el('a', { href, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
    say(file + ' is saved');
}

// ---- Tables -------------------------------------------------------------------------------------
function csv(head, rows) {
    const field = value => {
        const text = value === undefined || value === null ? '' : String(value);
        return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    return [head, ...rows].map(row => row.map(field).join(',') + '\r\n').join('');
}

// All values of a tensor that the page has, with their indices; beside them what is shown beside.
function valuesCsv(t, sets) {
    const { shape } = tensors[t], here = sets.filter(set => set.values);
    const head = shape.map((n, axis) => 'axis' + axis);
    const most = Math.max(0, ...here.map(set => set.values.length));
    const rows = Array.from({ length: most }, (_, i) => {
        const index = [];
        for (let axis = shape.length, rest = i; axis-- > 0;) {
            index.unshift(rest % shape[axis]);
            rest = Math.floor(rest / shape[axis]);
        }
        return index.concat(here.map(set => set.values[i]));
    });
    return csv(head.concat(here.map(set => (set.title || 'value').toLowerCase())), rows);
}

// ---- The data -----------------------------------------------------------------------------------
// All that the page knows. Blocks of values are base64 of little-endian f32, or i32 for integers.
function dataJson() {
    const texts = {};
    for (const element of document.querySelectorAll('script[type="text/plain"]')) {
        texts[element.id.slice(1)] = element.textContent.trim();
    }
    return JSON.stringify({ ...JSON.parse($('data').textContent), blocks: texts });
}

// ---- Drawings -----------------------------------------------------------------------------------
const INHERITED = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity',
                   'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'font-family',
                   'font-size', 'font-weight', 'text-anchor'];

// A drawing of the page as a file: what the style sheet says is written into the elements.
function drawingText(drawing, width, height) {
    const copy = drawing.cloneNode(true), copies = copy.querySelectorAll('*');
    const paper = svg('rect', { width: '100%', height: '100%', fill: color('page') });
    writeStyle(copy, getComputedStyle(drawing), null);
    drawing.querySelectorAll('*').forEach((element, i) => {
        writeStyle(copies[i], getComputedStyle(element), getComputedStyle(element.parentNode));
    });
    fill(copy, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
    copy.prepend(paper);
    return new XMLSerializer().serializeToString(copy);
}

function writeStyle(element, style, above) {
    for (const key of INHERITED) {
        const value = style.getPropertyValue(key);
        if (!above || above.getPropertyValue(key) !== value) element.setAttribute(key, value);
    }
    if (style.opacity !== '1') element.setAttribute('opacity', style.opacity);
    for (const key of ['class', 'role', 'aria-hidden', 'data-id']) element.removeAttribute(key);
}

// A pen that writes SVG where that of a canvas paints.
function svgPen(w, h) {
    const drawing = svg('svg', { width: w, height: h, viewBox: `0 0 ${w} ${h}` });
    const pen = { drawing, globalAlpha: 1 };
    const add = (tag, attributes, ...children) => drawing.append(svg(tag, attributes, ...children));
    pen.fillRect = (x, y, width, height) => add('rect', {
        x, y, width, height, fill: pen.fillStyle, 'fill-opacity': pen.globalAlpha,
    }, pen.about && svg('title', pen.about));
    pen.strokeRect = (x, y, width, height) => add('rect', {
        x, y, width, height, fill: 'none', stroke: pen.strokeStyle, 'stroke-width': pen.lineWidth,
    });
    pen.fillText = (text, x, y) => add('text', {
        x, y, fill: pen.fillStyle, 'font-family': 'sans-serif', 'font-size': 11,
        'text-anchor': { center: 'middle', right: 'end' }[pen.textAlign],
    }, String(text));
    return pen;
}
