#!/usr/bin/env python3
"""tests/tools/reference_page.py PAGE [BROWSER]: what the reference has for who reads it: lists as
lists, texts of groups, and an answer to each word that readers of other libraries search. With a
browser, its name, the page itself is asked; without one, what its search looks through.
"""
import html.parser
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/lib'))

SEARCHES = '''accumulation, gradient accumulation, lstm, gru, rnn, one hot, early stopping, huber,
smooth l1, upsample, interpolate, dataloader, numpy, gpu, cuda, zero_grad, backward, eval, no_grad,
state_dict, checkpoint, resume, learning rate, scheduler, warmup, clip, weight decay, fine-tune,
freeze, lora, quantization, int8, bf16, half, onnx, pytorch, export, microcontroller, arduino,
cortex, threads, determinism, seed, nan, batch norm, dropout, attention, kv cache, tokenizer, mnist,
csv'''.replace('\n', ' ').split(', ')
SPELT_OTHERWISE = {'optimizer.zero_grad()': 'zero_grad', 'nn.LSTM': 'lstm', 'kv-cache': 'kv cache',
                   'One Hot': 'one hot', 'finetune': 'fine-tune', 'how to freeze layers': 'freeze'}
DEFINED = ('RDU', 'fused group', 'SAMBA_STATIC', 'SAMBA_ASSERTS', 'Memory', 'einsum')

failures = 0


def check(what, holds, seen=''):
    global failures
    if not holds:
        failures += 1
        print('%s: %s' % (what, seen))


class Reader(html.parser.HTMLParser):
    """The words of answers, the terms of lists, the names with a text of their group."""

    def __init__(self):
        super().__init__()
        self.answers, self.terms, self.shared, self.ids, self.links = [], [], set(), [], []
        self.article, self.counts, self.in_term = '', {}, False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if 'id' in attrs:
            self.ids.append(attrs['id'])
        if attrs.get('href', '').startswith('#'):
            self.links.append(attrs['href'][1:])
        if attrs.get('class') == 'answer':
            self.answers += attrs['data-words'].split('|')
        if tag == 'article':
            self.article = attrs['data-name']
        if attrs.get('class') == 'shared':
            self.shared.add(self.article)
        if tag == 'dt':
            self.in_term = True
            self.terms.append('')

    def handle_endtag(self, tag):
        self.in_term &= tag != 'dt'

    def handle_data(self, data):
        if self.in_term:
            self.terms[-1] += data


def plain(word):
    return re.sub(r'[^a-z0-9]', '', word.lower())


def judge_text(page):
    reader = Reader()
    reader.feed(page)
    for term in DEFINED:
        check('a term of a list', term in reader.terms, term)
    for name in ('samba_sub', 'samba_affine', 'samba_restore'):
        check('the text of its group', name in reader.shared, name)
    check('tables, lists', reader.counts.get('table') and reader.counts.get('li', 0) > 50)
    check('no place twice', len(set(reader.ids)) == len(reader.ids))
    check('no link to nothing', set(reader.links) <= set(reader.ids),
          sorted(set(reader.links) - set(reader.ids)))
    known = {plain(word) for word in reader.answers}
    for word in SEARCHES:
        check('an answer to', plain(word) in known, word)


SEARCH = '''((text) => {
    const query = document.getElementById('query');
    query.value = text;
    query.dispatchEvent(new Event('input'));
    const first = document.querySelector('#found .answer');
    return first && { word: first.querySelector('a').textContent,
                      text: first.querySelector('p').textContent };
})(%r)'''
CUT_OFF = '''Array.from(document.querySelectorAll('dl.formula math'), (one) => [one,
        one.closest('dd')]).filter(([one, box]) =>
        one.getBoundingClientRect().top < box.getBoundingClientRect().top
        || box.scrollHeight > box.clientHeight + 1)
    .map(([one]) => one.closest('article').dataset.name)'''
SEEN = '''((name) => {
    location.hash = '#' + name;
    return new Promise((done) => setTimeout(() => {
        const article = document.querySelector('[data-name=' + name + ']');
        const inside = article.querySelector('.shared');
        const text = inside || article.parentElement.querySelector('p');
        const box = text.getBoundingClientRect();
        done(box.height > 0 && box.top >= 0 && box.top < innerHeight);
    }, 200));
})(%r)'''


def judge_view(page, browser):
    from browser import Browser
    from looks import blind_to, each_look, faults
    with Browser(browser, pathlib.Path(page).resolve().as_uri()) as view:
        for typed, word in [(one, one) for one in SEARCHES] + list(SPELT_OTHERWISE.items()):
            found = view.evaluate(SEARCH % typed)
            check('the search for ' + typed, found and plain(found['word']) == plain(word)
                  and len(found['text']) > 10, found)
        found = view.evaluate(SEARCH % 'samba_neg')
        check('the search for a name has no answer', not found, found)
        for name in ('samba_add', 'samba_sub', 'samba_affine'):
            check('what is said of it is seen', view.evaluate(SEEN % name), name)
        for typed in ('', 'accumulation', 'none of these words'):
            view.evaluate(SEARCH % typed)
            for where in each_look(view):
                cut, seen = view.evaluate(CUT_OFF), faults(view)
                check(where + ': no formula is cut off', not cut, cut)
                check(where + ': it can be read and used', not seen, seen)
        missed = blind_to(view)
        check('planted faults are noticed', not missed, missed)


def main():
    page, *browser = sys.argv[1:]
    with open(page, encoding='utf-8') as file:
        judge_text(file.read())
    for program in browser:
        os.chdir(ROOT)
        judge_view(page, program)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
