// An expression: what a user of a keyboard or of a screen reader cannot use, as [what, HTML], five
// at most: controls without a name, and what scrolls but cannot be reached. axe-core asks for both,
// but is not everywhere.
(() => {
    const seen = element => element.checkVisibility() && element.getClientRects().length > 0;
    const text = element => element ? element.textContent.trim() : '';
    const nameOf = element => {
        const ids = (element.getAttribute('aria-labelledby') || '').split(/\s+/).filter(id => id);
        const inside = element.matches('input, select, textarea') ? '' : text(element);
        return (element.getAttribute('aria-label') || '').trim() || inside ||
            ids.map(id => text(document.getElementById(id))).join('') ||
            // What a label says besides what it labels: options are the text of a select.
            Array.from(element.labels || [], label => {
                const copy = label.cloneNode(true);
                copy.querySelectorAll('select, textarea').forEach(one => one.remove());
                return text(copy);
            }).join('');
    };
    const controls = 'button, input, select, textarea, summary, a[href], [tabindex="0"][role], ' +
        '[role=button], [role=slider], [role=application]';
    const nameless = Array.from(document.querySelectorAll(controls)).filter(element =>
        seen(element) && element.type !== 'hidden' && !nameOf(element));
    const scrolls = element => {
        const { overflowX, overflowY } = getComputedStyle(element), can = ['auto', 'scroll'];
        return (can.includes(overflowX) && element.scrollWidth > element.clientWidth + 1) ||
            (can.includes(overflowY) && element.scrollHeight > element.clientHeight + 1);
    };
    const reached = 'a[href], button:not(:disabled), input, select, textarea, summary, [tabindex]';
    const lost = Array.from(document.querySelectorAll('body *')).filter(element =>
        seen(element) && scrolls(element) && element.tabIndex < 0 &&
        !Array.from(element.querySelectorAll(reached)).some(one => one.tabIndex >= 0));
    const told = what => element => [what, element.outerHTML.slice(0, 100)];
    return nameless.map(told('no name')).concat(lost.map(told('no key reaches it'))).slice(0, 5);
})()
