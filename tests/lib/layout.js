// An expression: what does not fit or cannot be read, as [what, HTML], five at most: what makes the
// page scroll sideways, text that is cut off without a sign of it, text too small to be read, and
// texts of a drawing that lie on each other.
(() => {
    const LEAST = 10;                   // pixels, as they are on the screen
    const seen = element => element.checkVisibility() && element.getClientRects().length > 0;
    const all = Array.from(document.querySelectorAll('body *')).filter(element =>
        seen(element) && !element.closest('script, style, noscript, math, option'));
    const told = what => element => [what, element.outerHTML.slice(0, 100)];

    const room = document.documentElement.clientWidth;
    const isInside = element => {       // what scrolls or clips by itself is as wide as it likes
        for (let up = element.parentElement; up; up = up.parentElement) {
            if (getComputedStyle(up).overflowX !== 'visible' || up.tagName === 'svg') return true;
        }
        return false;
    };
    const wide = document.documentElement.scrollWidth <= room ? [] : all.filter(element =>
        element.getBoundingClientRect().right > room + 0.5 && !isInside(element));

    const texts = all.filter(element =>
        Array.from(element.childNodes).some(one => one.nodeType === 3 && one.data.trim()));
    const sizeOf = element => {
        const size = parseFloat(getComputedStyle(element).fontSize);
        const matrix = element.ownerSVGElement && element.getScreenCTM();
        return matrix ? size * Math.hypot(matrix.a, matrix.b) : size;
    };
    const small = texts.filter(element => sizeOf(element) < LEAST);
    const cut = all.filter(element => {
        const style = getComputedStyle(element);
        return ['hidden', 'clip'].includes(style.overflowX) && style.clipPath === 'none' &&
            style.textOverflow !== 'ellipsis' && !element.closest('svg') &&
            !element.querySelector('svg, canvas') && element.textContent.trim() &&
            element.scrollWidth > element.clientWidth + 1;
    });

    const onEachOther = Array.from(document.querySelectorAll('svg')).filter(seen).flatMap(svg => {
        const boxes = Array.from(svg.querySelectorAll('text'), element =>
            [element, element.getBoundingClientRect()]).slice(0, 300);
        return boxes.filter(([, a], i) => boxes.some(([, b], j) => j > i &&
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)).map(([one]) => one);
    });
    return wide.map(told('wider than the page')).concat(cut.map(told('cut off')),
        small.map(told('smaller than ' + LEAST + ' pixels')),
        onEachOther.map(told('on another text'))).slice(0, 5);
})()
