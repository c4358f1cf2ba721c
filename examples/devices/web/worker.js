'use strict';
// The net runs in this worker, so that the page stays alive: a slice of training, then messages.
// It answers with { type: 'progress' | 'tested' | 'prediction' | ... }.
const PIXELS = 784, TRAIN = 0, TEST = 1, PAD = 2;
const SLICE = 80;               // milliseconds of training between two looks at messages
const GLANCE = 1024;            // test images of a test on the way
const SHOWN = 20;               // test images that the page shows
let net, memory;
let loaded = [null, null];      // of each set: { n, pixels, labels }
let drawn = [];                 // { pixels, label }, trained after the loaded ones
let settings = { rate: 0.05, momentum: 0.9, passes: 1 };
let momentum = 0.9;             // that the net has
let running = false, goal = 0, turn = 0;

const bytes = (at, n) => new Uint8Array(memory.buffer, at, n);
function text(at) {
    const all = new Uint8Array(memory.buffer);
    return new TextDecoder().decode(all.subarray(at, all.indexOf(0, at)));
}
function check() {              // throws what samba.h says
    const why = net.web_error();
    if (why) throw new Error(text(why));
}
const say = (type, more) => postMessage({ type, ...more });
const pause = () => new Promise(done => setTimeout(done));

async function open(module) {
    const page = { now: () => performance.now(),
                   log: (at, n) => console.warn(new TextDecoder().decode(bytes(at, n))) };
    net = (await WebAssembly.instantiate(module, { page })).instance.exports;
    memory = net.memory;
    reset();
}

function reset() {
    net.web_open();
    check();
    momentum = 0.9;
    goal = 0;
    say('state', { steps: 0, passes: 0 });
}

// ---- Images -------------------------------------------------------------------------------------
async function unzip(data) {
    if (data[0] !== 0x1f || data[1] !== 0x8b) return data;
    const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// { n, pixels } or { n, labels }; throws if the bytes are no IDX file of 28 x 28 images or labels.
function parse(data, name) {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const kind = data.length >= 8 ? view.getUint32(0) : 0, n = kind ? view.getUint32(4) : 0;
    if (kind === 0x801 && n > 0 && data.length === 8 + n) {
        const labels = data.subarray(8);
        if (labels.some(label => label > 9)) throw new Error(`${name}: labels are not 0 to 9`);
        return { n, labels };
    }
    const side = kind === 0x803 && data.length >= 16 ? view.getUint32(8) : 0;
    if (side === 28 && view.getUint32(12) === 28 && n > 0 && data.length === 16 + n * PIXELS)
        return { n, pixels: data.subarray(16) };
    throw new Error(`${name}: not an IDX file of 28 × 28 images or of labels`);
}

// Files come in any order: images and labels meet by "t10k", "test" or nothing of it in their name.
const pending = [{}, {}];
async function load(files) {
    for (const file of files) {
        const part = parse(await unzip(new Uint8Array(file.data)), file.name);
        Object.assign(pending[/t10k|test/i.test(file.name) ? TEST : TRAIN],
                      part.pixels ? { pixels: part.pixels } : { labels: part.labels });
    }
    for (const set of [TRAIN, TEST]) {
        const { pixels, labels } = pending[set];
        if (!pixels || !labels) continue;
        if (pixels.length !== labels.length * PIXELS)
            throw new Error(`${pixels.length / PIXELS} images, but ${labels.length} labels`);
        loaded[set] = { n: labels.length, pixels, labels };
        pending[set] = {};
        fill(set);
    }
    counted();
}

function put(set, parts) {
    const n = parts.reduce((sum, part) => sum + part.n, 0);
    const at = net.web_room(set, n);
    if (!at) throw new Error(`no memory for ${n} images`);
    let i = 0;
    for (const part of parts) {
        bytes(at + i * PIXELS, part.n * PIXELS).set(part.pixels);
        bytes(at + n * PIXELS + i, part.n).set(part.labels);
        i += part.n;
    }
    net.web_use(set, n);
}

function fill(set) {
    const parts = loaded[set] ? [loaded[set]] : [];
    if (set === TRAIN) parts.push(...drawn);
    put(set, parts);
}

function counted() {
    const [train, test] = loaded.map(set => set ? set.n : 0);
    const shown = loaded[TEST] ? loaded[TEST].pixels.slice(0, SHOWN * PIXELS) : null;
    const labels = loaded[TEST] ? loaded[TEST].labels.slice(0, SHOWN) : null;
    say('images', { train, test, drawn: drawn.length, shown, labels });
}

function add(pixels, label) {
    drawn.push({ n: 1, pixels, labels: new Uint8Array([label]) });
    fill(TRAIN);
    counted();
}

// ---- Training -----------------------------------------------------------------------------------
// Right answers among the first n test images; looks at messages on the way. null: interrupted.
async function test(n, mine) {
    let right = 0;
    for (let first = 0; first < n; first += 64) {
        right += net.web_test(first);
        check();
        if (first % 512 === 448) await pause();
        if (turn !== mine) return null;
    }
    say('tested', { right, n: Math.min(n, loaded[TEST].n), steps: net.web_steps() });
    return right;
}

async function train() {
    const mine = ++turn, perPass = net.web_steps_of_pass();
    const n_test = loaded[TEST] ? loaded[TEST].n : 0;
    if (!loaded[TRAIN] && !drawn.length) throw new Error('there are no images to learn from');
    let steps = net.web_steps(), begin = performance.now(), first = steps, passLoss = 0, n = 0;
    running = true;
    if (goal <= steps)          // as many passes more as are asked for
        goal = (Math.floor(steps / perPass) + settings.passes) * perPass;
    say('state', { running, steps, goal, perPass });
    while (turn === mine && steps < goal) {
        const end = performance.now() + SLICE;
        let loss = 0, right = 0, slice = 0, whole = false, glance = false;
        if (momentum !== settings.momentum) net.web_momentum(momentum = settings.momentum);
        while (!whole && !glance && (!slice || performance.now() < end)) {
            right += net.web_step(settings.rate * (1 - steps / goal));
            check();
            loss += net.web_loss();
            slice++;
            steps++;
            whole = steps % perPass === 0;
            glance = n_test > 0 && steps % 100 === 0;
        }
        passLoss += loss;
        n += slice;
        const seconds = (performance.now() - begin) / 1000;
        say('progress', { steps, goal, perPass, loss: loss / slice, accuracy: right / slice / 64,
                          speed: (steps - first) * 64 / seconds,
                          left: seconds / (steps - first) * (goal - steps) });
        if (whole || glance) {
            const before = performance.now();
            const right = n_test ? await test(whole ? n_test : Math.min(GLANCE, n_test), mine) : 0;
            begin += performance.now() - before;
            if (whole) say('pass', { pass: steps / perPass, loss: passLoss / n,
                                     right, n: right === null ? 0 : n_test });
            if (whole) passLoss = n = 0;
        }
        await pause();
    }
    if (turn !== mine) return;
    running = false;
    say('state', { running, steps, goal, perPass, done: steps >= goal });
    await hash();
}

async function stop() {
    if (!running) return;
    turn++;
    running = false;
    say('state', { running, steps: net.web_steps(), goal });
    await hash();
}

function predict(pixels, more) {        // the drawing first, then test images
    const n = pixels.length / PIXELS, part = { n, pixels, labels: new Uint8Array(n) };
    put(PAD, [part]);
    const at = net.web_predict();
    check();
    say('prediction', { logits: new Float32Array(memory.buffer, at, part.n * 10).slice(), more });
}

// ---- Checkpoints --------------------------------------------------------------------------------
function checkpoint() {
    const at = net.web_save();
    check();
    return bytes(at, net.web_size()).slice();
}

async function hash() {                 // browsers hash on https, on localhost, and in files
    if (!self.crypto || !crypto.subtle) return;
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', checkpoint()));
    say('hash', { hash: Array.from(digest, b => b.toString(16).padStart(2, '0')).join('') });
}

async function restore(data) {
    turn++;
    running = false;
    const at = net.web_file(data.length);
    if (!at) throw new Error('no memory for the checkpoint');
    bytes(at, data.length).set(data);
    net.web_restore();
    check();
    goal = 0;
    const steps = net.web_steps();
    say('state', { running, steps, restored: true });
    await hash();
    if (loaded[TEST]) await test(loaded[TEST].n, turn);
}

const actions = {
    open: m => open(m.module),
    load: m => load(m.files),
    add: m => add(m.pixels, m.label),
    forget: () => { drawn = []; fill(TRAIN); counted(); },
    settings: m => { settings = m.settings; },
    train: m => { settings = m.settings; return train(); },
    stop: () => stop(),
    reset: () => { turn++; running = false; reset(); },
    predict: m => predict(m.pixels, m.more),
    save: () => say('saved', { data: checkpoint() }),
    restore: m => restore(new Uint8Array(m.data)),
};
let opened = null;              // a promise: messages that come sooner wait for it
onmessage = async event => {
    try {
        if (event.data.type === 'open') opened = actions.open(event.data);
        await opened;
        if (event.data.type === 'open') return;
        await actions[event.data.type](event.data);
    } catch (error) {
        running = false;
        turn++;
        say('error', { text: error.message, during: event.data.type });
    }
};
