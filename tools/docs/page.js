'use strict';
// Search: every article and section by its name and its words. Words of other libraries are
// answered first; then come names that begin with what is typed, names that contain it, and texts
// that contain all of its words.
(function () {
    const query = document.getElementById('query');
    const found = document.getElementById('found');
    const count = document.getElementById('count');
    const most = 40, mostAnswers = 3;
    let index = null, answers = null;

    // zero_grad, zero-grad, optimizer.zero_grad() and nn.ZeroGrads are not to be told apart.
    function plain(text) {
        const path = /^[\w.]+(\(.*\))?$/.test(text);
        const last = path ? text.replace(/\(.*/, '').split('.').pop() : text;
        return last.toLowerCase().split(/[^\p{L}\p{N}+#]+/u).filter(Boolean)
            .map((word) => word.length > 3 ? word.replace(/s$/, '') : word).join(' ');
    }

    function entry(id, name, kind, text) {
        return { id, name, kind, low: name.toLowerCase(), text: text.toLowerCase() };
    }

    function build() {
        index = [];
        for (const article of document.querySelectorAll('article')) {
            const group = Array.from(article.parentElement.children, (one) =>
                one.tagName === 'ARTICLE' ? '' : one.textContent).join(' ');
            index.push(entry(article.dataset.name, article.dataset.name, article.dataset.kind,
                             article.textContent + ' ' + group));
        }
        for (const option of document.querySelectorAll('[data-option]'))
            index.push(entry(option.id, option.id, 'option', option.closest('div').textContent));
        for (const title of document.querySelectorAll('h2'))
            index.push(entry(title.id, title.textContent, 'chapter',
                             title.nextElementSibling.matches('p')
                                 ? title.nextElementSibling.textContent : ''));
        for (const section of document.querySelectorAll('section'))
            index.push(entry(section.id, section.querySelector('h3').textContent, 'section',
                             section.id.startsWith('manual') ? section.textContent : ''));
        answers = Array.from(document.querySelectorAll('main .answer'), (row) =>
            ({ row, words: row.dataset.words.split('|').map(plain) }));
    }

    // How well a word says what was typed: it is the same, begins so, or is a part of it.
    function fit(word, typed) {
        const close = (text) => text.replaceAll(' ', '');
        if (close(word) === close(typed)) return 0;
        if (typed.length > 2 && word.startsWith(typed)) return 1;
        return (' ' + typed + ' ').includes(' ' + word + ' ') ? 2 : 9;
    }

    function answersTo(typed) {
        return answers
            .map(({ row, words }) => {
                const fits = words.map((word) => fit(word, typed)), best = Math.min(...fits);
                return { row, fit: best, word: row.dataset.words.split('|')[fits.indexOf(best)] };
            })
            .filter((answer) => answer.fit < 9)
            .sort((a, b) => a.fit - b.fit)
            .filter((answer, i, all) => i < mostAnswers && (all[0].fit > 0 || answer.fit === 0));
    }

    function answerLine({ row, word }) {
        const line = document.createElement('li'), link = document.createElement('a');
        const text = document.createElement('p');
        line.className = 'answer';
        link.href = '#' + row.id;
        link.textContent = word;
        text.append(...row.querySelector('dd').cloneNode(true).childNodes);
        line.append(link, text);
        return line;
    }

    function hitLine(item) {
        const line = document.createElement('li'), link = document.createElement('a');
        link.href = '#' + item.id;
        link.textContent = item.name;
        if (item.kind !== 'function') {
            const kind = document.createElement('small');
            kind.textContent = item.kind;
            link.append(kind);
        }
        line.append(link);
        return line;
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
        const rows = whole === '' ? [] : answersTo(plain(whole));
        const number = rows.length + hits.length;
        found.replaceChildren(...rows.map(answerLine),
                              ...hits.slice(0, most).map(({ item }) => hitLine(item)));
        found.hidden = number === 0;
        count.replaceChildren(...summary(whole, number, hits.length));
    }

    // Who finds nothing is shown the words that are known.
    function summary(whole, number, hits) {
        if (whole === '') return [];
        if (number > 0)
            return [number + ' found' + (hits > most ? ', the first ' + most + ' shown' : '')];
        const link = document.createElement('a');
        link.href = '#other-words';
        link.textContent = 'Words of other libraries';
        return ['Nothing found. ', link, ' has those that are answered.'];
    }

    function step(by) {
        const links = [...found.querySelectorAll('li > a')];
        const at = links.indexOf(document.activeElement) + by;
        (at < 0 ? query : links[Math.min(at, links.length - 1)] || query).focus();
    }

    // What the address names is unfolded: the example of a function that was searched.
    function open() {
        const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
        const article = target && (target.matches('.group') ? target.querySelector('article')
                                                            : target.matches('article') && target);
        const example = article && article.querySelector('details');
        if (example) example.open = true;
    }

    // Where the contents stand above the text, they are folded, and a button leads back to them.
    const contents = document.querySelector('nav details');
    contents.open = !matchMedia('(max-width: 60rem)').matches;
    const back = document.querySelector('.back');
    const hide = () => { back.hidden = scrollY < innerHeight / 2; };
    hide();
    window.addEventListener('scroll', hide, { passive: true });
    back.addEventListener('click', (event) => {
        event.preventDefault();
        scrollTo(0, 0);
        query.focus();
    });

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
