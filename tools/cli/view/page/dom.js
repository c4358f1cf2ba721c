'use strict';
// Elements. What comes from a model is put in as text, never as HTML.

const $ = id => document.getElementById(id);

function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? '' : value);
    }
    for (const child of children.flat(9)) {
        if (child !== undefined && child !== null && child !== false) element.append(child);
    }
    return element;
}

// 'p.note' makes <p class="note">; attributes, if there are any, stand before the children.
function make(create, name, rest) {
    const [tag, ...classes] = name.split('.');
    const element = create(tag);
    if (classes.length) element.setAttribute('class', classes.join(' '));
    const given = rest[0] && rest[0].constructor === Object;
    return fill(element, given ? rest[0] : null, given ? rest.slice(1) : rest);
}

// el('button.link', { type: 'button', onclick: f }, 'Play')
function el(name, ...rest) {
    return make(tag => document.createElement(tag), name, rest);
}

function svg(name, ...rest) {
    return make(tag => document.createElementNS('http://www.w3.org/2000/svg', tag), name, rest);
}

function put(parent, ...children) {
    parent.textContent = '';
    return fill(parent, null, children);
}

function button(text, onclick, more) {
    return el('button', { type: 'button', onclick, ...more }, text);
}

// A labelled <select>; options are [value, text].
function select(label, options, value, onchange, more) {
    const list = el('select', { onchange: event => onchange(event.target.value) },
        options.map(([key, text]) => el('option', { value: key }, text)));
    list.value = value;
    return el('label', { class: 'field', ...more }, el('span', label), list);
}

// Buttons of which one is pressed.
function choice(label, options, value, onchange) {
    const one = ([key, text]) =>
        button(text, () => onchange(key), { 'aria-pressed': String(key === value) });
    return el('div.choice', { role: 'group', 'aria-label': label }, options.map(one));
}

// A table that scrolls in its own box. Columns: { title, head, number, sorted, onclick }; rows:
// { cells, more }, where cells are text or elements, and more the attributes of <tr>.
function table(caption, columns, rows, more) {
    const head = columns.map(({ title, number, sorted, onclick }) =>
        el('th', { scope: 'col', class: number && 'number', 'aria-sort': sorted },
            onclick ? button(title, onclick, { class: 'sort' }) : title));
    const cell = (content, i) => {
        const { head, number } = columns[i];
        return el(head ? 'th' : 'td', { class: number && 'number', scope: head && 'row' }, content);
    };
    const body = rows.map(row => el('tr', row.more || {}, row.cells.map(cell)));
    return el('div.scroll', { tabindex: 0, role: 'group', 'aria-label': caption },
        el('table', more || {}, el('caption.hidden', caption),
            el('thead', el('tr', head)), el('tbody', body)));
}

// The choice that was pressed has been drawn anew: the focus goes back to it.
function focusPressed(box) {
    box.querySelector('[aria-pressed=true]').focus();
}

// What a screen reader should say.
function say(text) {
    $('said').textContent = text;
}

// A canvas as sharp as the screen, w x h CSS pixels; returns its context.
function canvas(element, w, h) {
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.max(1, Math.round(w * ratio));
    element.height = Math.max(1, Math.round(h * ratio));
    element.style.width = w + 'px';
    element.style.height = h + 'px';
    const context = element.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
}

function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

// The text, or as much of its beginning as fits into so many pixels.
const ruler = document.createElement('canvas').getContext('2d');
function fitted(text, pixels, font) {
    ruler.font = font + ' system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
    if (ruler.measureText(text).width <= pixels) return text;
    let n = Math.min(text.length, Math.floor(pixels / 3));
    while (n > 1 && ruler.measureText(text.slice(0, n) + '…').width > pixels) n--;
    return text.slice(0, n) + '…';
}
