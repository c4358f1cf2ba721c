"""The page of the reference: what header.py has read, as HTML."""
import html as escaping
import os
import re

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
        self.examples, self.formulas, self.ops = {}, {}, {}
        parts = [sections for _, sections in chapters] + [part[2] for part in companions]
        self.known = set()
        for group in (g for sections in parts for section in sections for g in section.groups):
            # What is declared twice, for C and for C++, say, is shown once.
            first = {i.name: i for i in reversed(group.items) if i.name not in self.known}
            group.items = [i for i in group.items if first.get(i.name) is i]
            self.known |= set(first)


def escape(text):
    return escaping.escape(text, quote=False)


def link(book, name):
    return '<a href="#%s">%s</a>' % (name, name) if name in book.known else name


def code_html(book, code, own=''):
    """C with its keywords, comments and texts marked, and public names as links."""
    def mark(match):
        kind, text = match.lastgroup, escape(match.group())
        if kind == 'word':
            if text in KEYWORDS:
                return '<b>%s</b>' % text
            return '<i>%s</i>' % text if text == own else link(book, text)
        return '<span class="%s">%s</span>' % (kind, text)
    parts, end = [], 0
    for match in TOKEN.finditer(code):
        parts += [escape(code[end:match.start()]), mark(match)]
        end = match.end()
    return ''.join(parts) + escape(code[end:])


def prose(book, text):
    """A comment: paragraphs; what is indented deeper stays as it is written."""
    out = []
    for block in re.split(r'\n\s*\n', text):
        lines = block.strip('\n').split('\n')
        if all(line.startswith('    ') or not line for line in lines) and block.strip():
            out.append('<pre tabindex="0">%s</pre>' % code_html(book, block.strip('\n')))
        elif block.strip():
            words = escape(re.sub(r'\s+', ' ', block).strip())
            out.append('<p>%s</p>' % re.sub(r'\b(samba_\w+|SAMBA_\w+)\b',
                                            lambda m: link(book, m.group()), words))
    return '\n'.join(out)


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


def item_html(book, item):
    note = '<p class="note">%s</p>' % escape(item.note) if item.note else ''
    return '''<article id="{name}" data-kind="{kind}">
<h4><a href="#{name}">{name}</a> <small>{kind}</small></h4>
<pre class="declaration" tabindex="0">{code}</pre>
{note}{formula}{op}{example}</article>
'''.format(name=item.name, kind=item.kind, code=code_html(book, item.code, item.name), note=note,
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


def section_html(book, section, title, prefix):
    parts = ['<section id="%s">' % anchor(prefix + ' ' + title), '<h3>%s</h3>' % escape(title)]
    for group in section.groups:
        if group.items:
            parts.append('<div class="group">%s' % prose(book, group.text))
            parts += [item_html(book, item) for item in group.items]
            parts.append('</div>')
    return '\n'.join(parts + ['</section>'])


def chapter_html(book, title, sections):
    parts = ['<h2 id="%s">%s</h2>' % (anchor(title), escape(title))]
    parts += [section_html(book, s, s.title or title, title) for s in sections]
    return '\n'.join(parts)


def companion_html(book, name, about, sections):
    title = 'samba/' + name
    parts = ['<h2 id="%s">%s</h2>' % (anchor(title), title), prose(book, re.sub(
        r'\n   ', '\n', about.strip()))]
    parts += [section_html(book, s, s.title or 'Functions and types', title) for s in sections]
    return '\n'.join(parts)


def manual_html(book):
    """The manual: ---- Title ---- begins a section."""
    parts = re.split(r'\n   ---- (.*?) -+\n', re.sub(r'\n   (?!----)', '\n', book.manual))
    out = ['<h2 id="manual">Manual</h2>', prose(book, parts[0])]
    for title, text in zip(parts[1::2], parts[2::2]):
        out.append('<section id="%s"><h3>%s</h3>%s</section>' % (
            anchor('manual ' + title), escape(title), prose(book, text)))
    return '\n'.join(out)


def navigation(book):
    def entry(target, title):
        return '<li><a href="#%s">%s</a>' % (target, escape(title))
    out = ['<ul>', entry('manual', 'Manual'), '</li>']
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
    body = [manual_html(book)]
    body += [chapter_html(book, title, sections) for title, sections in book.chapters]
    body += [companion_html(book, *companion) for companion in book.companions]
    marks = {'STYLE': part('page.css'), 'SCRIPT': part('page.js'), 'NAVIGATION': navigation(book),
             'BODY': '\n'.join(body)}
    return re.sub(r'\{\{(\w+)\}\}', lambda m: marks[m.group(1)], part('page.html'))
