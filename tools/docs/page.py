"""The page of the reference: what header.py has read, as HTML."""
import html as escaping
import os
import re

import header
import prose

HERE = os.path.dirname(os.path.abspath(__file__))
KEYWORDS = set('''bool break case char const continue default do double else enum extern false float
for if int int8_t int16_t int32_t int64_t long return short size_t sizeof static struct switch true
typedef uint8_t uint16_t uint32_t uint64_t uintptr_t unsigned void while NULL'''.split())
TOKEN = re.compile(r'(?P<comment>/\*.*?\*/|//[^\n]*)'
                   r'|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
                   r'|(?P<directive>^#\w+)|(?P<word>[A-Za-z_]\w*)|(?P<number>\b\d[\w.]*)',
                   re.S | re.M)


class Example:
    def __init__(self, path, line, sentence, code):
        self.path, self.line, self.sentence, self.code = path, line, sentence, code
        self.place = '%s:%d' % (path, line)


class Book:
    """All that the page shows."""

    def __init__(self, chapters, companions, manual):
        self.chapters, self.companions, self.manual = chapters, companions, manual
        self.examples, self.formulas, self.ops, self.synonyms = {}, {}, {}, []
        parts = [sections for _, sections in chapters] + [part[2] for part in companions]
        self.anchors, self.items = {}, {}       # name -> where it is, name -> its declaration
        self.shown_options = set()
        for group in (g for sections in parts for section in sections for g in section.groups):
            # What is declared twice, for C and for C++, say, is shown once.
            first = {i.name: i for i in reversed(group.items) if i.name not in self.anchors}
            group.items = [i for i in group.items if first.get(i.name) is i]
            self.items.update(first)
            self.anchors.update((name, name) for name in first)
        for item in list(self.items.values()):
            bare = header.without_comments(item.code)
            if re.match(r'(typedef )?enum', bare):
                for name in re.findall(r'\bSAMBA_[A-Z]\w+', bare):
                    self.anchors.setdefault(name, item.name)
        for block in prose.blocks(manual):
            for term, _ in block.items if block.kind == 'definitions' else ():
                for name in re.findall(r'^SAMBA_\w+|(?<=, )SAMBA_\w+', term):
                    self.anchors.setdefault(name, name)


def escape(text):
    return escaping.escape(text, quote=False)


def link(book, name):
    where = book.anchors.get(name)
    return '<a href="#%s">%s</a>' % (where, name) if where else name


def code_html(book, code, own=''):
    """C with its keywords, comments and texts marked, and public names as links."""
    def mark(match):
        kind, text = match.lastgroup, escape(match.group())
        if kind == 'word':
            if text in KEYWORDS:
                return '<b>%s</b>' % text
            return '<i>%s</i>' % text if text == own else (
                text if own and book.anchors.get(text) == own else link(book, text))
        return '<span class="%s">%s</span>' % (kind, text)
    parts, end = [], 0
    for match in TOKEN.finditer(code):
        parts += [escape(code[end:match.start()]), mark(match)]
        end = match.end()
    return ''.join(parts) + escape(code[end:])


TAGS = {'manual': 'manual', 'api': 'samba-h', 'functions-api': 'functions-made-of-ops',
        'pef-api': 'reading-a-pef', 'device-api': 'on-a-device', 'config': 'version-and-limits'}


def has_field(book, name, field):
    return name in book.items and re.search(
        r'\b%s\b' % field, header.without_comments(book.items[name].code)) is not None


def inline(book, text):
    """A text with its names and its chapters as links."""
    def mark(match):
        code, companion, name, field, tag = match.groups()
        if code:
            return '<code>%s</code>' % inline(book, code)
        if companion:
            known = companion in (name for name, _, _ in book.companions)
            title = 'samba/' + companion
            return '<a href="#%s">%s</a>' % (anchor(title), title) if known else title
        if name and field and has_field(book, name, field):
            return '<a href="#%s">%s<wbr>.%s</a>' % (name, name, field)
        if name:
            return link(book, name) + ('.' + field if field else '')
        return '[<a href="#%s">%s</a>]' % (TAGS[tag], tag) if tag in TAGS else match.group()
    pattern = (r'`([^`]+)`|\bsamba/(\w+\.h)\b|\b((?:samba|SAMBA|gpt2|onnx)_\w+)\b(?:\.(\w+))?'
               r'|\[([\w-]+)\]')
    parts, end = [], 0
    for match in re.finditer(pattern, text):
        parts += [escape(text[end:match.start()]), mark(match)]
        end = match.end()
    return ''.join(parts) + escape(text[end:])


def term_html(book, term):
    """A term; an option of the manual is what links to it find."""
    def mark(match):
        name = match.group()
        if book.anchors.get(name) != name or name in book.items or name in book.shown_options:
            return link(book, name)
        book.shown_options.add(name)
        return '<span id="%s" data-option>%s</span>' % (name, name)
    if term.startswith('['):
        return '<dt>%s</dt>' % inline(book, term)
    return '<dt>%s</dt>' % re.sub(r'\bSAMBA_\w+', mark, escape(term))


def block_html(book, block):
    if block.kind == 'code':
        return '<pre tabindex="0">%s</pre>' % code_html(book, block.items[0])
    if block.kind == 'list':
        return '<ul>%s</ul>' % ''.join('<li>%s</li>' % inline(book, i) for i in block.items)
    if block.kind == 'table':
        rows = ['<th scope="row">%s</th><td>%s</td><td>%s</td>' % tuple(
            inline(book, cell) for cell in row) for row in block.items]
        return '<div class="wide" tabindex="0"><table>%s</table></div>' % ''.join(
            '<tr>%s</tr>' % row for row in rows)
    if block.kind == 'definitions':
        title = '<p class="title">%s</p>' % inline(book, block.title) if block.title else ''
        return title + '<dl class="terms">%s</dl>' % ''.join(
            '<div>%s<dd>%s</dd></div>' % (term_html(book, term), inline(book, meaning))
            for term, meaning in block.items)
    kind = ' class="inset"' if block.kind == 'inset' else ''
    return '<p%s>%s</p>' % (kind, inline(book, block.items[0]))


def prose_html(book, text):
    """A comment, with its lists, tables and code as such."""
    return '\n'.join(block_html(book, block) for block in prose.blocks(text))


def op_html(book, name):
    """The row of the op table, of a function that is called like its op."""
    row = book.ops.get(name[6:])
    if not row:
        return ''
    wire, attributes, flags = row
    facts = [('op', name[6:]), ('number in a PEF', wire)]
    if attributes:
        facts.append(('attributes', ', '.join(a.split(':')[0] for a in attributes.split())))
    if flags:
        facts.append(('memory', flags))
    return '<dl class="op">%s</dl>' % ''.join(
        '<div><dt>%s</dt><dd>%s</dd></div>' % (key, escape(value)) for key, value in facts)


def formula_html(book, name):
    result, gradients = book.formulas.get(name, ('', ''))
    rows = ''
    if result:
        rows += '<div><dt>computes</dt><dd tabindex="0">%s</dd></div>' % result
    if gradients:
        rows += '<div><dt>gradient</dt><dd tabindex="0">%s</dd></div>' % gradients
    return '<dl class="formula">%s</dl>' % rows if rows else ''


def item_html(book, item, shared):
    """shared: what is said of the group; anchored there, the first of a group has None."""
    note = '<p class="note">%s</p>' % inline(book, item.note) if item.note else ''
    return '''<article{place} data-name="{name}" data-kind="{kind}">
<h4><a href="#{name}">{name}</a> <small>{kind}</small></h4>
<pre class="declaration" tabindex="0">{code}</pre>
{note}{formula}{op}{shared}{example}</article>
'''.format(place='' if shared is None else ' id="%s"' % item.name, name=item.name, kind=item.kind,
           code=code_html(book, item.code, item.name), note=note, shared=shared or '',
           formula=formula_html(book, item.name), op=op_html(book, item.name),
           example=example_html(book, item.name))


def example_html(book, name):
    example = book.examples.get(name)
    if not example:
        return ''
    sentence = ': ' + escape(example.sentence) if example.sentence else ''
    return '''<details><summary>Example%s</summary>
<pre tabindex="0">%s</pre>
<p class="note">%s</p></details>
''' % (sentence, code_html(book, example.code), escape(example.place))


def anchor(title):
    return re.sub(r'\W+', '-', title.lower()).strip('-')


def heading(level, place, title):
    return '<h{0}><a href="#{1}">{2}</a></h{0}>'.format(level, place, escape(title))


def group_html(book, group):
    """The text that is said of all stands above them, where links to the first one lead; in the
    others it is shown while a link has led to them."""
    text = prose_html(book, group.text)
    first, last = group.items[0].name, group.items[-1].name
    shared = '<div class="shared"><p class="title">Said of %s ... %s</p>%s</div>' % (
        first, last, re.sub(r' id="[^"]*"', '', text)) if text else ''
    parts = ['<div class="group" id="%s">%s' % (first, text), item_html(book, group.items[0], None)]
    parts += [item_html(book, item, shared if item.kind != 'macro' else '')
              for item in group.items[1:]]
    return '\n'.join(parts + ['</div>'])


def section_html(book, section, title, prefix):
    place = anchor(prefix + ' ' + title)
    parts = ['<section id="%s">' % place, heading(3, place, title)]
    parts += [group_html(book, group) for group in section.groups if group.items]
    return '\n'.join(parts + ['</section>'])


def chapter_html(book, title, sections):
    parts = ['<h2 id="%s">%s</h2>' % (anchor(title), escape(title))]
    parts += [section_html(book, s, s.title or 'Functions and types', title) for s in sections]
    return '\n'.join(parts)


def companion_html(book, name, about, sections):
    title = 'samba/' + name
    parts = ['<h2 id="%s">%s</h2>' % (anchor(title), title), prose_html(book, about)]
    parts += [section_html(book, s, s.title or 'Functions and types', title) for s in sections]
    return '\n'.join(parts)


def manual_parts(book):
    """(title, text) of each section of the manual: ---- Title ---- begins one."""
    parts = re.split(r'(?:^|\n)---- (.*?) -+\n', book.manual)
    return [('', parts[0])] + list(zip(parts[1::2], parts[2::2]))


def manual_html(book):
    (_, contents), *parts = manual_parts(book)
    out = ['<h2 id="manual">Manual</h2>', '<details><summary>Chapters of samba.h</summary>',
           prose_html(book, contents), '</details>']
    for title, text in parts:
        place = anchor('manual ' + title)
        out.append('<section id="%s">%s%s</section>' % (
            place, heading(3, place, title), prose_html(book, text)))
    return '\n'.join(out)


def synonyms_html(book):
    """What to use for a word of other libraries; page.js looks here first."""
    rows = ['<div class="answer" id="%s" data-words="%s"><dt>%s</dt><dd>%s</dd></div>' % (
        anchor('word ' + words[0]), escaping.escape('|'.join(words)), escape(', '.join(words)),
        html) for words, html in book.synonyms]
    return '''<h2 id="other-words">Other words</h2>
<p>Words that other libraries have, and what to use here.</p>
<dl class="terms">%s</dl>''' % '\n'.join(rows)


def navigation(book):
    def entry(target, title):
        return '<li><a href="#%s">%s</a>' % (target, escape(title))
    out = ['<ul>', entry('manual', 'Manual'), '<ul>%s</ul></li>' % ''.join(
        entry(anchor('manual ' + title), title) + '</li>'
        for title, _ in manual_parts(book) if title), entry('other-words', 'Other words') + '</li>']
    for title, sections in book.chapters:
        out.append(entry(anchor(title), title))
        titles = [s.title for s in sections if s.title]
        if titles:
            short = [(t, re.split(r'[.:;]', t)[0]) for t in titles]
            out.append('<ul>%s</ul>' % ''.join(
                entry(anchor(title + ' ' + t), name) + '</li>' for t, name in short))
        out.append('</li>')
    out += [entry(anchor('samba/' + name), 'samba/' + name) + '</li>'
            for name, _, _ in book.companions]
    return '\n'.join(out + ['</ul>'])


def html(book):
    def part(name):
        with open(os.path.join(HERE, name), encoding='utf-8') as file:
            return file.read()
    body = [manual_html(book), synonyms_html(book)]
    body += [chapter_html(book, title, sections) for title, sections in book.chapters]
    body += [companion_html(book, *companion) for companion in book.companions]
    marks = {'STYLE': part('page.css'), 'SCRIPT': part('page.js'), 'NAVIGATION': navigation(book),
             'BODY': '\n'.join(body)}
    return re.sub(r'\{\{(\w+)\}\}', lambda m: marks[m.group(1)], part('page.html'))
