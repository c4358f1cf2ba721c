// The tree of sections, layers and nodes: the text that stands for the graph, and a way through it.

const outline = { element: null, rows: [], at: 0 };

function buildOutline(side) {
    outline.element = el('ul.outline', {
        id: 'outline', role: 'tree', 'aria-label': 'Outline of the graph',
        onkeydown: outlineKey, onclick: outlineClick,
    });
    side.append(el('div.outline-box', { id: 'outline-box' }, outline.element));
    paintOutline();
}

function collect(fold, level, rows) {
    for (const item of fold.children) {
        rows.push({ item, level });
        if (item.children && item.open) collect(item, level + 1, rows);
    }
    return rows;
}

function paintOutline() {
    if (!outline.element) return;
    outline.rows = collect(root, 1, []);
    const chosen = leafOf[state.node] && visibleOf(leafOf[state.node]);
    outline.at = Math.max(0, outline.rows.findIndex(row => row.item === chosen));
    put(outline.element, outline.rows.map(outlineRow));
}

// How many nodes a fold has, or how often what is in it repeats; else the shape.
function outlineNote(item) {
    if (item.kind === 'repeat') return item.children.length + ' ×';
    if (item.children) return whole(item.size);
    const t = tensorOf(item);
    return t === undefined ? '' : shapeText(tensors[t].shape);
}

function outlineRow({ item, level }, i) {
    const at = i === outline.at, fold = !!item.children, twist = item.open ? '▾' : '▸';
    const name = item.kind !== 'node' ? item.name :
        [nodes[item.node].op, el('span.soft', ' ' + ownName(item))];
    return el('li', {
        role: 'treeitem', 'aria-level': level, 'aria-expanded': fold && String(!!item.open),
        'aria-selected': String(at), tabindex: at ? 0 : -1, 'data-row': i,
        class: itemClass(item), style: `--level:${level}`,
    }, el('span.twist', { 'aria-hidden': 'true' }, fold && twist),
    el('span.what', name), el('span.more', outlineNote(item)));
}

function outlineClick(event) {
    const row = event.target.closest('[data-row]');
    if (row) pickRow(Number(row.dataset.row));
}

function pickRow(i) {
    const { item } = outline.rows[i];
    if (item.children) {
        toggle(item);
        focusRow(outline.rows.findIndex(row => row.item === item));
    } else {
        pick(item);
        focusRow(i);
    }
}

function focusRow(i, quietly) {
    const rows = outline.element.children, before = rows[outline.at];
    if (!rows[i]) return;
    if (before) fill(before, { tabindex: -1, 'aria-selected': 'false' }, []);
    outline.at = i;
    fill(rows[i], { tabindex: 0, 'aria-selected': 'true' }, []);
    if (quietly) rows[i].scrollIntoView({ block: 'nearest' });
    else rows[i].focus();
}

function outlineKey(event) {
    const { item, level } = outline.rows[outline.at] || {};
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    const last = outline.rows.length - 1;
    if (step) focusRow(Math.min(last, Math.max(0, outline.at + step)));
    else if (event.key === 'Home') focusRow(0);
    else if (event.key === 'End') focusRow(last);
    else if (event.key === 'Enter' || event.key === ' ') pickRow(outline.at);
    else if (event.key === 'ArrowRight' && item.children && !item.open) pickRow(outline.at);
    else if (event.key === 'ArrowRight' && item.children) focusRow(outline.at + 1);
    else if (event.key === 'ArrowLeft' && item.children && item.open) pickRow(outline.at);
    else if (event.key === 'ArrowLeft' && level > 1) {
        focusRow(outline.rows.findIndex(row => row.item === item.parent));
    } else return;
    event.preventDefault();
    event.stopPropagation();
}

function updateOutline(what) {
    if (!what.node || !outline.element || !leafOf[state.node]) return;
    const chosen = visibleOf(leafOf[state.node]);
    const i = outline.rows.findIndex(row => row.item === chosen);
    if (i >= 0 && i !== outline.at) focusRow(i, true);
}
