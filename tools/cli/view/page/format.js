// Numbers and shapes as text.

const whole = n => Math.round(n).toLocaleString('en-US');

function plural(n, word, many) {
    return whole(n) + ' ' + (n === 1 ? word : many || word + 's');
}

// Seven significant digits: what an f32 holds.
function number(value) {
    if (value === undefined || value === null) return '–';
    if (value !== value) return 'NaN';
    if (value === Infinity) return '∞';
    if (value === -Infinity) return '-∞';
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
    const size = Math.abs(value);
    if (size >= 1e-4 && size < 1e7) return String(Number(value.toPrecision(7)));
    return value.toExponential(6).replace(/\.?0+e/, 'e');
}

// Three digits, for places where the exact value stands elsewhere.
function short(value) {
    if (typeof value !== 'number' || !isFinite(value)) return number(value);
    const size = Math.abs(value);
    if (size && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace('.0e', 'e');
    return String(Number(value.toPrecision(3)));
}

// Three digits that can be pointed at for all seven.
function brief(value) {
    return el('span', { title: number(value) }, short(value));
}

function scaled(value, units, unit) {
    let i = 0;
    while (value >= 999.5 && i < units.length - 1) {
        value /= 1000;
        i++;
    }
    return (i || value % 1 ? Number(value.toPrecision(3)) : value) + ' ' + units[i] + unit;
}

const bytes = n => scaled(n || 0, ['', 'k', 'M', 'G', 'T'], 'B');
const flops = n => scaled(n || 0, ['', 'k', 'M', 'G', 'T', 'P'], 'FLOP');
const count = n => scaled(n || 0, ['', 'k', 'M', 'G', 'T'], '').trim();

function percent(part) {
    if (part && part < 0.00995) return short(100 * part) + ' %';
    return (100 * part).toFixed(part < 0.0995 ? 1 : 0) + ' %';
}

function seconds(s) {
    if (s === undefined || s === null) return '–';
    if (s >= 1) return Number(s.toPrecision(3)) + ' s';
    if (s >= 1e-3) return Number((s * 1e3).toPrecision(3)) + ' ms';
    return Number((s * 1e6).toPrecision(3)) + ' µs';
}

const shapeText = shape => shape.length ? shape.join('×') : 'scalar';

function attribute(value) {
    if (Array.isArray(value)) return value.map(attribute).join(', ');
    if (value && typeof value === 'object') return JSON.stringify(value);
    return typeof value === 'number' ? number(value) : String(value);
}
