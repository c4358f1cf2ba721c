// An expression: text on the page whose contrast with what is behind it is less than WCAG 2 AA asks
// for, as ['pale', HTML, contrast], five at most. Text of a drawing is compared with what is behind
// the drawing. axe-core does not tell of text that is scrolled away.
(() => {
    // Of rgb(1 2 3), and of color(srgb 0.1 0.2 0.3 / 0.5), which is what color-mix gives.
    const numbers = text => (text.match(/[\d.]+(e-?\d+)?/g) || []).map(
        (v, i) => text.startsWith('color(') && i < 3 ? v * 255 : Number(v));
    const over = (top, below) => {
        const opaque = top.length > 3 ? top[3] : 1;
        return below.map((v, i) => (top[i] || 0) * opaque + v * (1 - opaque));
    };
    const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) =>
        0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const behind = element => element ?
        over(numbers(getComputedStyle(element).backgroundColor), behind(element.parentElement)) :
        [255, 255, 255];
    const isText = element => !element.closest('script, style, noscript, option, :disabled') &&
        Array.from(element.childNodes).some(one => one.nodeType === 3 && one.data.trim()) &&
        element.checkVisibility();

    const pale = [];
    for (const element of document.querySelectorAll('body *')) {
        if (!isText(element)) continue;
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        const svg = element.closest('svg'), paper = behind(svg || element);
        const ink = over(numbers(svg ? style.fill : style.color), paper);
        const [dark, bright] = [light(ink), light(paper)].sort((a, b) => a - b);
        const contrast = (bright + 0.05) / (dark + 0.05);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        if (contrast < (large ? 3 : 4.5)) pale.push(
            ['pale', element.outerHTML.slice(0, 100), contrast.toFixed(2)]);
    }
    return pale.slice(0, 5);
})()
