'use strict';
// What is seen. The net, the images and the training are in worker.js; build.sh puts both of them
// and the WebAssembly into one file.
const CLASSES = {
    fashion: ['T-shirt', 'Trousers', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker',
              'Bag', 'Boot'],
    digits: ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'],
};
const FILES = ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte', 't10k-images-idx3-ubyte',
               't10k-labels-idx1-ubyte'];
const PIXELS = 784;
const SMOOTH = 0.15;                    // of curves: how much a new point counts
const $ = id => document.getElementById(id);
let names = CLASSES.fashion;
let running = false, have = { train: 0, test: 0, drawn: 0 };
let tiles = [];                         // of the gallery: { pixels, label, caption }
let curves = { loss: [], train: [], test: [] };         // { x, y } each
let bounds = { steps: 0, goal: 1 };

const worker = new Worker(URL.createObjectURL(
    new Blob([$('worker').textContent], { type: 'text/javascript' })));
const send = (type, more, transfer) => worker.postMessage({ type, ...more }, transfer || []);
const number = n => n.toLocaleString('en-US');
const percent = part => (100 * part).toFixed(2) + ' %';

function warn(text) {
    $('alert').textContent = text;
    $('alert').hidden = !text;
}

// ---- Images -------------------------------------------------------------------------------------
async function give(list) {
    warn('');
    const files = [];
    for (const file of list) files.push({ name: file.name, data: await file.arrayBuffer() });
    send('load', { files }, files.map(file => file.data));
}

// The same folder, if the page was served: the four files of Fashion-MNIST, gzipped or not.
async function fetchFiles() {
    if (!location.protocol.startsWith('http')) return showCounts();
    $('data-state').textContent = 'Looking for images beside this page …';
    const found = await Promise.all(FILES.map(async name => {
        for (const full of [name + '.gz', name]) {
            const answer = await fetch(full).catch(() => null);
            if (answer && answer.ok) return { name: full, data: await answer.arrayBuffer() };
        }
        return null;
    }));
    const files = found.filter(file => file);
    if (files.length) send('load', { files }, files.map(file => file.data));
    else showCounts();
}

function showCounts() {
    const { train, test, drawn } = have;
    const parts = [];
    if (train) parts.push(`${number(train)} training images`);
    if (test) parts.push(`${number(test)} test images`);
    if (drawn) parts.push(`${drawn} drawn`);
    $('data-state').textContent = parts.length ? parts.join(', ') + '.' :
        'Drop the four IDX files of Fashion-MNIST or MNIST here, plain or gzipped. Or draw: ten ' +
        'drawings of two things are enough to begin with.';
    $('train').disabled = !(train + drawn);
    $('forget').hidden = !drawn;
    $('drawn').textContent = drawn === 1 ? '1 drawing' : `${drawn} drawings`;
}

function paint(canvas, pixels) {
    const context = canvas.getContext('2d'), image = context.createImageData(28, 28);
    pixels.forEach((value, i) => image.data.set([value, value, value, 255], 4 * i));
    context.putImageData(image, 0, 0);
}

function makeTiles(shown, labels) {
    $('gallery').hidden = !shown;
    $('tiles').replaceChildren();
    tiles = [];
    for (let i = 0; shown && i < labels.length; i++) {
        const item = document.createElement('li'), button = document.createElement('button');
        const canvas = document.createElement('canvas'), caption = document.createElement('span');
        const pixels = shown.slice(i * PIXELS, (i + 1) * PIXELS);
        canvas.width = canvas.height = 28;
        paint(canvas, pixels);
        button.type = 'button';
        button.title = `${names[labels[i]]}, a test image: draw it`;
        button.setAttribute('aria-label', button.title);
        button.append(canvas, caption);
        button.addEventListener('click', () => { drawing.set(pixels); drawn(); });
        item.append(button);
        $('tiles').append(item);
        tiles.push({ pixels, label: labels[i], caption, button });
    }
}

// ---- Drawing ------------------------------------------------------------------------------------
const drawing = new Uint8Array(PIXELS), brush = { x: 14, y: 14, down: false, last: null };
let asked = false, again = false;       // a prediction is under way; and another is wanted

// A round brush with a soft rim, as if it were drawn large and shrunk; the rubber is wider.
function dab(x, y) {
    const rub = $('rub').checked || brush.rub, radius = rub ? 2.9 : 1.9;
    for (let row = 0; row < 28; row++)
        for (let column = 0; column < 28; column++) {
            const far = Math.hypot(column + 0.5 - x, row + 0.5 - y);
            const ink = 255 * Math.max(0, Math.min(1, radius - far)), i = 28 * row + column;
            drawing[i] = rub ? Math.min(drawing[i], 255 - ink) : Math.max(drawing[i], ink);
        }
}

function stroke(x, y) {
    const from = brush.last || { x, y };
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(x - from.x, y - from.y)));
    for (let i = 1; i <= steps; i++)
        dab(from.x + (x - from.x) * i / steps, from.y + (y - from.y) * i / steps);
    brush.last = { x, y };
    drawn();
}

function drawn() {
    paint($('pad'), drawing);
    if (document.activeElement === $('pad') && brush.keys) {
        const context = $('pad').getContext('2d');
        context.fillStyle = '#4c9aff';
        context.fillRect(brush.x, brush.y, 1, 1);
    }
    predict();
}

function predict() {
    if (asked) { again = true; return; }
    asked = true;
    const pixels = new Uint8Array(PIXELS * (1 + tiles.length));
    pixels.set(drawing);
    tiles.forEach((tile, i) => pixels.set(tile.pixels, PIXELS * (1 + i)));
    send('predict', { pixels }, [pixels.buffer]);
}

function listen(pad) {
    const place = event => {
        const box = pad.getBoundingClientRect();
        return [28 * (event.clientX - box.left) / box.width,
                28 * (event.clientY - box.top) / box.height];
    };
    pad.addEventListener('pointerdown', event => {
        pad.setPointerCapture(event.pointerId);
        brush.down = true;
        brush.keys = false;
        brush.rub = event.button === 2;
        brush.last = null;
        stroke(...place(event));
    });
    pad.addEventListener('pointermove', event => { if (brush.down) stroke(...place(event)); });
    for (const end of ['pointerup', 'pointercancel'])
        pad.addEventListener(end, () => { brush.down = brush.rub = false; });
    pad.addEventListener('contextmenu', event => event.preventDefault());
    pad.addEventListener('blur', () => { brush.keys = false; drawn(); });
    pad.addEventListener('keydown', event => {
        const move = {
            ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
        };
        const by = move[event.key], inks = event.key === ' ', rubs = /^x$/i.test(event.key);
        if (!by && !inks && !rubs) return;
        event.preventDefault();
        brush.keys = true;
        if (by) {
            brush.x = Math.max(0, Math.min(27, brush.x + by[0]));
            brush.y = Math.max(0, Math.min(27, brush.y + by[1]));
        }
        brush.rub = rubs;
        if (inks || rubs) dab(brush.x + 0.5, brush.y + 0.5);
        brush.rub = false;
        drawn();
    });
}

function shares(logits) {               // softmax
    const top = Math.max(...logits), e = Array.from(logits, x => Math.exp(x - top));
    const sum = e.reduce((a, b) => a + b);
    return e.map(x => x / sum);
}

function makeClasses() {
    $('classes').replaceChildren(...names.map(name => {
        const item = document.createElement('li');
        item.innerHTML = '<span></span><span></span><i><b></b></i>';
        item.firstChild.textContent = name;
        return item;
    }));
    $('label').replaceChildren(...names.map((name, i) => new Option(name, i)));
}

function showPrediction(logits) {
    const empty = drawing.every(value => value === 0), part = shares(logits.subarray(0, 10));
    const best = part.indexOf(Math.max(...part));
    [...$('classes').children].forEach((item, c) => {
        item.classList.toggle('best', !empty && c === best);
        item.children[1].textContent = empty ? '' : `${Math.round(100 * part[c])} %`;
        item.querySelector('b').style.width = empty ? 0 : `${100 * part[c]}%`;
    });
    let right = 0;
    tiles.forEach((tile, i) => {
        const own = logits.subarray(10 * (i + 1), 10 * (i + 2));
        if (own.length < 10) return;
        const guess = own.indexOf(Math.max(...own)), fine = guess === tile.label;
        right += fine;
        tile.caption.textContent = names[guess];
        tile.caption.className = fine ? 'right' : 'wrong';
        tile.button.title = `${names[tile.label]}, taken for ${names[guess]}`;
        tile.button.setAttribute('aria-label', tile.button.title);
    });
    $('gallery-right').textContent = tiles.length ? `${right} of ${tiles.length} right` : '';
}

// ---- The chart: loss from the left axis, accuracies from the right one --------------------------
function axisOf(top) {                  // a round distance between lines
    const rough = top / 4, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map(x => x * power).find(x => x >= rough);
}

function chart() {
    const canvas = $('chart'), scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue('--' + name).trim();
    const left = 38, right = width - 46, top = 10, bottom = height - 24;
    const most = Math.max(1, ...curves.loss.map(point => point.y)), step = axisOf(most);
    const lossTop = Math.ceil(most / step) * step, end = Math.max(bounds.goal, bounds.steps, 1);
    const x = at => left + (right - left) * at / end;
    const y = share => bottom - (bottom - top) * share;
    context.scale(scale, scale);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = 'middle';
    for (let i = 0; i <= 4; i++) {
        context.strokeStyle = colour('line');
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(left, Math.round(y(i / 4)) + 0.5);
        context.lineTo(right, Math.round(y(i / 4)) + 0.5);
        context.stroke();
        context.fillStyle = colour('soft');
        context.textAlign = 'right';
        context.fillText((lossTop * i / 4).toFixed(lossTop > 4 ? 1 : 2), left - 8, y(i / 4));
        context.textAlign = 'left';
        context.fillText(`${25 * i} %`, right + 8, y(i / 4));
    }
    context.textBaseline = 'alphabetic';
    context.textAlign = 'left';
    context.fillText('step 0', left, height - 4);
    context.textAlign = 'right';
    if (end > 1) context.fillText(number(end), right, height - 4);
    const line = (points, of, name, dots) => {
        context.strokeStyle = context.fillStyle = colour(name);
        context.lineWidth = 2;
        context.lineJoin = 'round';
        context.beginPath();
        for (const point of points) context.lineTo(x(point.x), y(of(point.y)));
        context.stroke();
        for (const point of dots ? points : []) {
            context.beginPath();
            context.arc(x(point.x), y(of(point.y)), 3, 0, 2 * Math.PI);
            context.fill();
        }
    };
    line(curves.train, share => share, 'train');
    line(curves.loss, loss => loss / lossTop, 'loss');
    line(curves.test, share => share, 'test', true);
}

// The new point is drawn towards the one before: share 1 is the value itself. Of a long curve each
// second point stays.
function addPoint(name, at, value, share) {
    const curve = curves[name], last = curve[curve.length - 1];
    curve.push({ x: at, y: last ? last.y + share * (value - last.y) : value });
    if (curve.length > 2000) curves[name] = curve.filter((point, i) => i % 2);
    return curve[curve.length - 1].y;
}

function clearCurves() {
    curves = { loss: [], train: [], test: [] };
    for (const id of ['loss', 'accuracy', 'test', 'speed']) $(id).textContent = '–';
    $('log').hidden = true;
    $('log').tBodies[0].replaceChildren();
    $('hash-line').hidden = true;
}

// ---- What the worker says -----------------------------------------------------------------------
function time(seconds) {
    if (seconds < 90) return `${Math.ceil(seconds)} s`;
    return `${Math.round(seconds / 60)} min`;
}

const on = {
    state(m) {
        running = !!m.running;
        document.body.dataset.state = running ? 'training' : m.done ? 'done' : 'ready';
        bounds = { steps: m.steps, goal: m.goal || m.steps || 1 };
        if (m.steps === 0 && !running) clearCurves();
        if (m.restored) clearCurves();
        $('train').textContent = running ? 'Stop' : m.steps ? 'Train on' : 'Train';
        $('progress').value = m.goal ? m.steps / m.goal : 0;
        $('note').textContent = running ? '' : m.restored ? `opened, ${number(m.steps)} steps` :
            m.done ? 'Done.' : m.steps ? `stopped at step ${number(m.steps)}` : '';
        for (const id of ['reset', 'save', 'restore']) $(id).disabled = false;
        if (running) $('hash-line').hidden = true;
        chart();
        predict();
    },
    images(m) {
        have = m;
        showCounts();
        makeTiles(m.shown, m.labels);
        predict();
    },
    progress(m) {
        bounds = { steps: m.steps, goal: m.goal };
        $('loss').textContent = addPoint('loss', m.steps, m.loss, SMOOTH).toFixed(3);
        $('accuracy').textContent = percent(addPoint('train', m.steps, m.accuracy, SMOOTH));
        $('speed').textContent = number(Math.round(m.speed));
        $('progress').value = m.steps / m.goal;
        const step = `step ${number(m.steps)} of ${number(m.goal)}`;
        $('note').textContent = `${step}, ${time(m.left)} left`;
        chart();
        if (m.steps % 5 === 0) predict();
    },
    tested(m) {
        addPoint('test', m.steps, m.right / m.n, 1);
        $('test').textContent = percent(m.right / m.n);
        $('test').title = `${number(m.right)} of ${number(m.n)} test images`;
        chart();
        predict();
    },
    pass(m) {
        const row = $('log').tBodies[0].insertRow();
        row.insertCell().textContent = m.pass;
        row.insertCell().textContent = m.loss.toFixed(4);
        row.insertCell().textContent = m.n ? `${percent(m.right / m.n)} of ${number(m.n)}` : '–';
        $('log').hidden = false;
    },
    prediction(m) {
        asked = false;
        showPrediction(m.logits);
        if (again) { again = false; predict(); }
    },
    hash(m) {
        $('hash').textContent = m.hash;
        $('hash-line').hidden = false;
    },
    saved(m) {
        const link = document.createElement('a');
        link.href = URL.createObjectURL(new Blob([m.data], { type: 'application/octet-stream' }));
        link.download = 'res_ffn.ckpt';
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    },
    error(m) {
        warn(m.text);
        asked = again = false;
        if (running) on.state({ steps: bounds.steps, goal: bounds.goal });
    },
};

// ---- Begin --------------------------------------------------------------------------------------
function settings() {
    const rate = 10 ** (Number($('rate').value) / 10), momentum = Number($('momentum').value);
    const passes = Math.max(1, Math.min(999, Math.round(Number($('passes').value)) || 1));
    // 0.05 is 02_res_ffn.c's, as a float, and what the slider begins with: 10^-1.3 is near it.
    const shown = Number(rate.toPrecision(rate < 0.0095 ? 1 : 2));
    $('rate-value').textContent = shown;
    $('momentum-value').textContent = momentum;
    return { rate: Math.fround(shown), momentum, passes };
}

function start() {
    worker.onmessage = event => on[event.data.type](event.data);
    worker.onerror = event => warn(event.message);
    const code = Uint8Array.from(atob($('wasm').textContent.trim()), c => c.charCodeAt(0)).buffer;
    send('open', { module: code }, [code]);
    makeClasses();
    listen($('pad'));
    drawn();
    settings();
    chart();
    fetchFiles();
}

$('choose').addEventListener('click', () => $('files').click());
$('files').addEventListener('change', () => { give($('files').files); });
for (const type of ['dragover', 'dragleave', 'drop'])
    document.addEventListener(type, event => {
        event.preventDefault();
        $('drop').classList.toggle('over', type === 'dragover');
        if (type === 'drop') give(event.dataTransfer.files);
    });
$('names').addEventListener('change', () => {
    names = CLASSES[$('names').value];
    makeClasses();
    predict();
});
for (const id of ['rate', 'momentum', 'passes'])
    $(id).addEventListener('input', () => send('settings', { settings: settings() }));
$('train').addEventListener('click', () => {
    warn('');
    if (running) send('stop');
    else send('train', { settings: settings() });
});
$('reset').addEventListener('click', () => { warn(''); send('reset'); });
$('clear').addEventListener('click', () => { drawing.fill(0); drawn(); });
$('add').addEventListener('click', () => {
    if (drawing.some(value => value)) {
        send('add', { pixels: drawing.slice(), label: Number($('label').value) });
        drawing.fill(0);
        drawn();
    } else warn('Draw something first.');
});
$('forget').addEventListener('click', () => send('forget'));
$('save').addEventListener('click', () => send('save'));
$('restore').addEventListener('click', () => $('restore-file').click());
$('restore-file').addEventListener('change', async () => {
    const [file] = $('restore-file').files;
    warn('');
    if (file) send('restore', { data: await file.arrayBuffer() });
    $('restore-file').value = '';
});
window.addEventListener('resize', chart);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', chart);
start();
