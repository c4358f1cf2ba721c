"""make docs: the reference as one HTML page, from the comments of the headers themselves.

tools/docs/docs.py OPS PAGE    OPS is what tools/docs/ops.c prints; run from the root.
Each public function of samba.h has an example in examples/reference, or this fails and names it;
likewise each op that computes something has its formula in tools/docs/formulas.txt, and all that
tools/docs/synonyms.txt names is there.
"""
import glob
import os
import re
import subprocess
import sys

import header
import page
import synonyms

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def public_chapters():
    """Of samba.h: (title, sections) for each chapter that has public names."""
    source = read('samba.h').split('\n')
    titles = (('api', 'samba.h'), ('functions-api', 'Functions made of ops'),
              ('pef-api', 'Reading a PEF'), ('device-api', 'On a device'),
              ('config', 'Version and limits'))
    chapters = [(title, header.sections(header.chapter(source, tag))) for tag, title in titles]
    private = ('SAMBA_API', 'SAMBA_H', 'SAMBA_ASSERT')
    for group in (g for _, sections in chapters for s in sections for g in s.groups):
        group.items = [i for i in group.items if i.name not in private]
        for item in group.items:
            if item.name == 'samba_code':       # a list of its own makes it
                item.code = error_codes('\n'.join(source))
    for _, sections in chapters:
        for section in sections:
            section.groups = [g for g in section.groups if g.items]
    return chapters


def error_codes(source):
    codes = re.findall(r'^    X\((\w+), +"(.*?)"\)', source[source.index('SAMBA__CODES(X)'):
                                                        source.index('SAMBA_N_CODES')], re.M)
    return 'typedef enum samba_code {\n%s    SAMBA_N_CODES\n} samba_code;' % ''.join(
        '    %-14s /* %s */\n' % ('SAMBA_%s,' % name, text) for name, text in codes)


def manual():
    source = read('samba.h').split('\n')
    text = '\n'.join(header.chapter(source, 'manual'))
    return header.comment_text(text[text.index('/*'):text.rindex('*/') + 2])


def companions():
    """(file, what its first comment says, sections) of each header beside samba.h."""
    found = []
    for path in sorted(glob.glob('tools/include/samba/*.h')):
        text = read(path)
        guard = re.search(r'^#ifndef (SAMBA_\w+_H)$', text, re.M)
        if not guard:
            continue
        end = text.find('#endif /* %s */' % guard.group(1))
        begin = text.index('\n', text.index('#define ' + guard.group(1)))
        sections = header.sections(text[begin:end if end > 0 else len(text)].split('\n'))
        for section in sections:
            for group in section.groups:
                group.items = [i for i in group.items if not re.search(r'_(API|H)$', i.name)]
        about = header.comment_text(text[text.index('/*'):text.index('*/') + 2])
        found.append((os.path.basename(path), about, sections))
    return found


def examples():
    """name -> (file, line, code) of the first example that says it is about this function."""
    found = {}
    for path in sorted(glob.glob('examples/reference/*.c')):
        pattern = r'((?:^// [^\n]*\n)+)^static \w+ \w+\([^\n]*\)\n\{\n(.*?)^\}\n'
        text = read(path)
        for match in re.finditer(pattern, text, re.M | re.S):
            about = re.sub(r'\n// ', ' ', match.group(1)[3:]).strip()
            names, _, sentence = about.partition(':')
            if not re.fullmatch(r'samba_\w+(,\s*samba_\w+)*', names):
                continue
            code = re.sub(r'^    ', '', match.group(2), flags=re.M)
            line = text[:match.start()].count('\n') + 1
            for name in re.split(r',\s*', names):
                if not re.search(r'\b%s\b' % re.escape(name), code):
                    sys.exit('%s:%d: the example of %s does not call it' % (path, line, name))
                found.setdefault(name, page.Example(path, line, sentence.strip(), code))
    return found


def formulas():
    """function -> (result, gradients), as MathML made by pandoc, an element for each equation."""
    rows = []
    for line in read(os.path.join(HERE, 'formulas.txt')).split('\n'):
        if line and not line.startswith('#'):
            name, result, gradients = (part.strip() for part in (line + ' ').split(' | '))
            rows.append((name, result, gradients))
    texts = [text for row in rows for part in row[1:] for text in equations(part)]
    markdown = '\n\n'.join('$%s$' % text for text in texts)
    html = subprocess.run(['pandoc', '--from=markdown', '--to=html5', '--mathml'], input=markdown,
                          stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    rendered = re.findall(r'<p>(<math.*?</math>)</p>', html, re.S)
    if len(rendered) != len(texts):
        sys.exit('pandoc made %d formulas of %d' % (len(rendered), len(texts)))
    rendered = iter(rendered)
    return {name: tuple(''.join(next(rendered) for _ in equations(part)) for part in parts)
            for name, *parts in rows}


def equations(text):
    """What a comma and space divide may stand in lines of its own."""
    return text.split(r',\quad ') if text else []


def ops(path):
    """name -> (wire number, attributes, what it does with memory)"""
    rows = (line.split('\t') for line in read(path).rstrip('\n').split('\n'))
    return {row[0]: tuple(row[1:]) for row in rows}


def functions(chapters):
    return [item for _, sections in chapters for section in sections
            for group in section.groups for item in group.items if item.kind == 'function']


def complain(what, names):
    if names:
        print('%s: %s' % (what, ' '.join(names)), file=sys.stderr)
    return bool(names)


def main():
    ops_file, out = sys.argv[1:]
    book = page.Book(public_chapters(), companions(), manual())
    book.examples, book.formulas, book.ops = examples(), formulas(), ops(ops_file)
    declared = functions(book.chapters)
    public = [item.name for item in declared]
    computing = [i.name for i in declared if i.name[6:] in book.ops and 'samba_tensor *' in i.code]
    bad = complain('no example in examples/reference',
                   [n for n in public if n not in book.examples])
    bad |= complain('examples of what is not public',
                    [n for n in book.examples if n not in public])
    bad |= complain('formulas of what is not public', [n for n in book.formulas if n not in public])
    bad |= complain('no formula in tools/docs/formulas.txt',
                    [n for n in computing if n not in book.formulas])
    book.synonyms, wrong = synonyms.synonyms(book, 'tools/docs/synonyms.txt')
    for line in wrong:
        print(line, file=sys.stderr)
    bad |= bool(wrong)
    os.makedirs(os.path.dirname(out) or '.', exist_ok=True)
    with open(out, 'w', encoding='utf-8') as file:
        file.write(page.html(book))
    print('%s: %d functions, %d examples, %d formulas, %d words'
          % (out, len(public), len(set(e.place for e in book.examples.values())),
             len(book.formulas), sum(len(words) for words, _ in book.synonyms)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
