"""The text of a comment as blocks: paragraphs, code, lists, definitions, tables."""
import re

# A term and what it means, two spaces or more apart; tags of chapters need one only.
TERM = re.compile(r'(\[[\w-]+\] |\S+(?: \S+)* {2})\s*(?=\S)')
BRACE = re.compile(r'\s*(?:(-\+)|\|(?: (.*))?)$')   # at the right of lines that belong together


class Block:
    """kind is paragraph, code, list, definitions or table; items are texts, or rows of texts."""

    def __init__(self, kind, items, title=''):
        self.kind, self.items, self.title = kind, items, title


def joined(lines):
    return re.sub(r'\s+', ' ', ' '.join(lines)).strip()


def indent(line):
    return len(line) - len(line.lstrip(' '))


def is_definitions(lines):
    """Lines that begin with a term, and lines that go on where the meanings stand."""
    base = indent(lines[0])
    if not TERM.match(lines[0].strip()):
        return False
    return all(TERM.match(line.strip()) if indent(line) == base else indent(line) > base + 3
               for line in lines)


def items_of(lines):
    """The lines of each item: those that are indented deeper belong to the one before."""
    items = []
    for line in lines:
        if indent(line) == indent(lines[0]):
            items.append([line])
        else:
            items[-1].append(line)
    return items


def cells(line):
    """(column, text) of each cell of a line."""
    return [(match.start(), match.group()) for match in re.finditer(r'\S+(?: \S+)*', line)]


def table(items):
    """Three columns: the second may be empty in some rows."""
    rows = [cells(item[0]) for item in items]
    third = max(row[2][0] for row in rows if len(row) == 3)
    out = []
    for row, item in zip(rows, items):
        texts = [row[0][1], row[1][1] if row[1][0] < third else '', row[-1][1]]
        out.append(texts[:2] + [joined([texts[2]] + item[1:])])
    return Block('table', out)


def definitions(lines):
    items = items_of(lines)
    three = [item for item in items if len(cells(item[0])) == 3]
    if len(three) * 2 > len(items):
        return table(items)
    rows = []
    for item in items:
        first = item[0].strip()
        end = TERM.match(first).end()
        rows.append((first[:end].strip(), joined([first[end:]] + item[1:])))
    return Block('definitions', rows)


def braced(lines):
    """Lines with a brace at their right: a block of definitions for each brace, with its words."""
    out, part, title, within = [], [], [], False
    for line in lines:
        match = BRACE.search(line)
        part.append(line[:match.start()] if match else line)
        if not match:
            continue
        if match.group(2):
            title.append(match.group(2).strip())
        if match.group(1) and within:
            out.append(definitions(part))
            out[-1].title = joined(title)
            part, title = [], []
        elif match.group(1) and len(part) > 1:
            out.append(definitions(part[:-1]))
            part = part[-1:]
        within = within != bool(match.group(1))
    return out + ([definitions(part)] if part else [])


def listed(lines):
    """What is indented by two spaces or three."""
    if lines[0].lstrip().startswith('- '):
        return [Block('list', [joined(item).lstrip('- ') for item in items_of(lines)])]
    if any(line.endswith('-+') for line in lines):
        return braced(lines)
    if is_definitions(lines):
        return [definitions(lines)]
    return [Block('inset', [joined(lines)])]


def blocks(text):
    """text: a comment without its marks, and without the indent that all of its lines have."""
    lines = [line.rstrip() for line in text.strip('\n').split('\n')]
    out, at = [], 0
    while at < len(lines):
        begin, depth = at, indent(lines[at])

        def run(belongs):
            end = begin
            while end < len(lines) and belongs(lines[end]):
                end += 1
            return end
        if not lines[at]:
            at += 1
        elif depth >= 4:
            at = run(lambda line: not line or indent(line) >= 4)
            code = lines[begin:at]
            while not code[-1]:
                code.pop()
            least = min(indent(line) for line in code if line)
            out.append(Block('code', ['\n'.join(line[least:] for line in code)]))
        elif depth >= 2:
            at = run(lambda line: line and indent(line) >= 2)
            out += listed(lines[begin:at])
        else:
            whole = run(bool)
            if whole > begin + 1 and is_definitions(lines[begin:whole]):
                at = whole
                out.append(definitions(lines[begin:at]))
            else:
                at = run(lambda line: line and indent(line) < 2)
                out.append(Block('paragraph', [joined(lines[begin:at])]))
    return out
