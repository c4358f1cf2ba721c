"""Reads the public part of a header: what is declared, and the comments that explain it."""
import re


class Item:
    """A declaration: kind is function, type, macro or constants."""

    def __init__(self, kind, name, code, note):
        self.kind, self.name, self.code, self.note = kind, name, code, note


class Group:
    """Declarations that one comment explains."""

    def __init__(self, text):
        self.text, self.items = text, []


class Section:
    def __init__(self, title):
        self.title, self.groups = title, []


def chapter(source, tag):
    """The lines of the chapter /* ==== [tag] ==== */ and the number of its first one."""
    marks = [i for i, line in enumerate(source) if line.startswith('/* ==== [')]
    first = next(i for i in marks if source[i].startswith('/* ==== [%s] ' % tag))
    end = next((i for i in marks if i > first), len(source))
    return source[first + 1:end]


def without_comments(code):
    return re.sub(r'/\*.*?\*/', ' ', code, flags=re.S)


def comment_text(comment):
    """The words of a comment, without its marks and the indent that all of its lines have."""
    return re.sub(r'\n(?: \*(?: |$)| {1,3})', '\n', comment.strip()[2:-2], flags=re.M).strip()


def name_of(code):
    """What a declaration declares, and of which kind it is."""
    bare = without_comments(code)
    if bare.startswith('#define'):
        return 'macro', re.match(r'#define (\w+)', bare).group(1)
    if bare.startswith('typedef') and '(*' in bare and '{' not in bare:
        return 'type', re.search(r'\(\*(\w+)\)', bare).group(1)
    if bare.startswith(('typedef', 'struct')):
        return 'type', re.findall(r'\w+', re.sub(r'\{.*\}', ' ', bare, flags=re.S))[-1]
    if bare.startswith('enum'):
        return 'constants', re.search(r'\{\s*(\w+)', bare).group(1)
    function = re.match(r'[^={]*?(\w+)\(', bare)
    return ('function', function.group(1)) if function else ('table', '__')


class Parser:
    def __init__(self, lines):
        self.lines, self.at = lines, 0
        self.sections = [Section('')]
        self.group = None

    def until(self, complete):
        """Lines from here until what they make is complete."""
        first = self.at
        while self.at < len(self.lines):
            self.at += 1
            text = '\n'.join(self.lines[first:self.at])
            if complete(text):
                return text
        raise ValueError('not complete: ' + self.lines[first])

    def add(self, code):
        kind, name = name_of(code)
        if '__' in name:            # private
            return
        if kind == 'function':      # without its body, of one that a header defines
            code = code.split('\n{')[0]
        section = self.sections[-1]
        if self.group is None:      # a blank line, but no comment of its own: to what is above it
            self.group = section.groups[-1] if section.groups else Group('')
        if self.group not in section.groups:
            section.groups.append(self.group)
        note = re.search(r'[;\w)]\s*/\*(.*?)\*/\s*$', code, re.S)
        if kind in ('function', 'macro') and note:
            code = code[:note.start() + 1]
            note = re.sub(r'\s+', ' ', note.group(1)).strip()
        else:
            note = ''
        code = re.sub(r'^(SAMBA\w*_API|static inline|static|extern) ', '', code)
        self.group.items.append(Item(kind, name, code.rstrip(), note))

    def comment(self):
        text = self.until(lambda code: '*/' in code)
        title = re.match(r'/\* ---- (.*?) -+ \*/', text)
        if title:
            self.sections.append(Section(title.group(1).rstrip('.')))
            self.group = None
        elif 'clang-format' not in text:
            self.group = Group(comment_text(text))

    def declaration(self):
        def complete(code):
            bare = without_comments(code).rstrip()
            closed = bare.count('{') == bare.count('}') and bare.count('(') == bare.count(')')
            return '/*' not in bare and closed and bare.endswith((';', '\n}'))
        self.add(self.until(complete))

    def directive(self):
        def complete(code):
            return not code.endswith('\\') and code.count('/*') == code.count('*/')
        text = self.until(complete)
        if re.match(r'#define SAMBA_[A-Z0-9]', text):
            self.add(text)

    def parse(self):
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith('/*'):
                self.comment()
            elif line.startswith('#'):
                self.directive()
            elif line.strip() == '':
                if self.group and self.group.items:
                    self.group = None
                self.at += 1
            else:
                self.declaration()
        return [section for section in self.sections if section.groups]


def sections(lines):
    return Parser(lines).parse()
