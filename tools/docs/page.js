'use strict';
// Search: every article and section by its name and its words. Names that begin with what is typed
// come first, then names that contain it, then texts that contain all of its words.
(function () {
    const query = document.getElementById('query');
    const found = document.getElementById('found');
    const count = document.getElementById('count');
    const most = 40;
    let index = null;

    function entry(element, name, kind, text) {
        return { id: element.id, name, kind, low: name.toLowerCase(), text: text.toLowerCase() };
    }

    function build() {
        index = [];
        for (const article of document.querySelectorAll('article')) {
            const group = article.parentElement.querySelector('p');
            const text = article.textContent + ' ' + (group ? group.textContent : '');
            index.push(entry(article, article.id, article.dataset.kind, text));
        }
        for (const section of document.querySelectorAll('section'))
            index.push(entry(section, section.querySelector('h3').textContent, 'section',
                             section.id.startsWith('manual') ? section.textContent : ''));
    }

    function rank(item, whole, words) {
        if (item.low === whole || item.low === 'samba_' + whole) return 0;
        if (item.low.startsWith(whole) || item.low.startsWith('samba_' + whole)) return 1;
        if (item.low.includes(whole)) return 2;
        return words.every((word) => item.text.includes(word)) ? 3 : 9;
    }

    function search() {
        if (!index) build();
        const whole = query.value.trim().toLowerCase();
        const words = whole.split(/\s+/);
        const hits = whole === '' ? [] : index
            .map((item) => ({ item, rank: rank(item, whole, words) }))
            .filter((hit) => hit.rank < 9)
            .sort((a, b) => a.rank - b.rank || a.item.low.length - b.item.low.length);
        found.replaceChildren(...hits.slice(0, most).map(({ item }) => {
            const line = document.createElement('li');
            const link = document.createElement('a');
            link.href = '#' + item.id;
            link.textContent = item.name;
            if (item.kind !== 'function') {
                const kind = document.createElement('small');
                kind.textContent = item.kind;
                link.append(kind);
            }
            line.append(link);
            return line;
        }));
        found.hidden = hits.length === 0;
        count.textContent = whole === '' ? '' : hits.length === 0 ? 'Nothing found'
            : hits.length + ' found' + (hits.length > most ? ', the first ' + most + ' shown' : '');
    }

    function step(by) {
        const links = [...found.querySelectorAll('a')];
        const at = links.indexOf(document.activeElement) + by;
        (at < 0 ? query : links[Math.min(at, links.length - 1)] || query).focus();
    }

    // What the address names is unfolded: the example of a function that was searched.
    function open() {
        const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
        const example = target && target.querySelector('details');
        if (example && target.tagName === 'ARTICLE') example.open = true;
    }

    query.addEventListener('input', search);
    query.addEventListener('focus', () => index || build());
    window.addEventListener('hashchange', open);
    document.addEventListener('keydown', (event) => {
        const typing = document.activeElement === query;
        if (event.key === '/' && !typing) {
            event.preventDefault();
            query.focus();
            query.select();
        } else if (event.key === 'Escape' && typing) {
            query.value = '';
            search();
        } else if (event.key === 'Enter' && typing && found.querySelector('a')) {
            found.querySelector('a').click();
        } else if (!found.hidden && (typing || found.contains(document.activeElement))) {
            if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
                event.preventDefault();
                step(event.key === 'ArrowDown' ? 1 : -1);
            }
        }
    });
    open();
}());
