"""synonyms.txt: words of other libraries, and what to use for them; what it names must exist."""
import os
import re

import page

FILE = re.compile(r'\b(?:examples|tests|tools)/[\w/.-]*\w\.\w+|\bsamba/\w+\.h\b')


def read_rows(path):
    """[(line number, words, text)]"""
    rows = []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith('#'):
                words, text = line.split(' | ', 1)
                rows.append((number, words.split(', '), text.strip()))
    return rows


def normal(word):
    return re.sub(r'[^a-z0-9]', '', word.lower())


def mentioned(book, text):
    """(what is named, whether it exists) for all that a text names."""
    for name, field in re.findall(r'(?<![/\w])((?:samba|SAMBA|gpt2|onnx)_\w+)(?:\.(\w+))?', text):
        yield name, name in book.anchors
        if field and name in book.items:
            yield name + '.' + field, page.has_field(book, name, field)
    for name in FILE.findall(text):
        yield name, os.path.exists(
            'tools/include/' + name if name.startswith('samba/') else name)
    with open('tools/cli/samba.c', encoding='utf-8') as file:
        commands = re.findall(r'^    \{ "([\w-]+)",', file.read(), re.M)
    for name in re.findall(r'\btools/samba ([\w-]+)', text):
        yield 'tools/samba ' + name, name in commands
    with open('Makefile', encoding='utf-8') as file:
        targets = re.findall(r'^([\w-]+):', file.read(), re.M)
    for name in re.findall(r'\bmake (packages|web|docs|\w+)\b(?= (?:builds|makes))', text):
        yield 'make ' + name, name in targets
    titles = [title for title, _ in page.manual_parts(book)]
    for name in re.findall(r'"([^"]+)" in the manual', text):
        yield name, name in titles


def check(book, path):
    """The rows, and what is wrong with them."""
    rows, wrong, seen = read_rows(path), [], {}
    for number, words, text in rows:
        wrong += ['%s:%d: there is no %s' % (path, number, name)
                  for name, exists in mentioned(book, text) if not exists]
        for word in words:
            if not normal(word) or seen.get(normal(word), number) != number:
                wrong.append('%s:%d: %r has been there before' % (path, number, word))
            seen[normal(word)] = number
    return rows, wrong


def html(book, text):
    """A text with links: names, headers, sections of the manual."""
    out = page.inline(book, text)
    out = re.sub(r'\b(?:examples|tests|tools)/[\w/.-]+',
                 lambda m: m.group().replace('/', '/<wbr>'), out)
    return re.sub(r'"([^"<>]+)" in the manual', lambda m: '<a href="#%s">%s</a> in the manual' % (
        page.anchor('manual ' + m.group(1)), m.group(1)), out)


def synonyms(book, path):
    """[(words, html)] for the page, and what is wrong."""
    rows, wrong = check(book, path)
    return [(words, html(book, text)) for _, words, text in rows], wrong
