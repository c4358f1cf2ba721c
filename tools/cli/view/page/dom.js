'use strict';
// Elements. What comes from a model is put in as text, never as HTML.

const $ = id => document.getElementById(id);

function fill(element, attributes, children) {
    for (const key of Object.keys(attributes || {})) {
        const value = attributes[key];
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? '' : value);
    }
    for (const child of children.flat(9)) {
        if (child !== undefined && child !== null && child !== false) element.append(child);
    }
    return element;
}

// el('button', { type: 'button', onclick: f }, 'Play')
function el(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
    return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function put(parent, ...children) {
    parent.textContent = '';
    return fill(parent, null, children);
}

function button(text, onclick, more) {
    return el('button', Object.assign({ type: 'button', onclick }, more), text);
}

// A labelled <select>; options are [value, text].
function select(label, options, value, onchange, more) {
    const list = el('select', { onchange: event => onchange(event.target.value) },
                    options.map(([key, text]) => el('option', { value: key }, text)));
    list.value = value;
    return el('label', Object.assign({ class: 'field' }, more), el('span', null, label), list);
}

// Buttons of which one is pressed.
function choice(label, options, value, onchange) {
    return el('div', { class: 'choice', role: 'group', 'aria-label': label }, options.map(
        ([key, text]) => button(text, () => onchange(key), { 'aria-pressed': String(key === value) })));
}

// A table that scrolls in its own box. Columns: { title, number, sort }; cells are text or elements.
function table(caption, columns, rows, more) {
    const head = columns.map(column => el('th', {
        scope: 'col', class: column.number && 'number', 'aria-sort': column.sorted,
    }, column.onclick ? button(column.title, column.onclick, { class: 'sort' }) : column.title));
    return el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption }, el(
        'table', more, el('caption', { class: 'hidden' }, caption), el('thead', null, el('tr', null, head)),
        el('tbody', null, rows.map(row => el('tr', row.more, row.cells.map((cell, i) => el(
            columns[i].head ? 'th' : 'td',
            { class: columns[i].number && 'number', scope: columns[i].head && 'row' }, cell)))))));
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
