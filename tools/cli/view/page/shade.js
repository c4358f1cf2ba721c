// Cards shaded by their share of the time, the FLOPs or the bytes of the whole program.

const shade = { key: '', whole: 0 };
const SHADES = [['', 'nothing'], ['seconds', 'time'], ['flops', 'FLOPs'], ['bytes', 'bytes moved']];

function shadeSelect() {
    return select('Shade by', SHADES.filter(([key]) => !key || total(key) > 0), '', key => {
        shade.key = key;
        shade.whole = key ? total(key) : 0;
        redrawCards();
        mark();
    });
}

// A bar along the lower edge; half of the whole fills it, so that small shares can be seen.
function drawShade(item) {
    if (!shade.whole) return null;
    const value = (item.children ? item : nodes[item.node])[shade.key] || 0;
    const share = Math.min(1, 2 * value / shade.whole);
    const { w, h } = item, opacity = Math.min(0.3, share * 0.6);
    return [svg('rect.heat', { width: w, height: h, rx: 8, opacity }),
            svg('rect.bar', { x: 8, y: h - 5, height: 3, rx: 1.5, width: share * (w - 16) })];
}
