"""Finds what can be flipped in C code, and writes a copy in which each flip is chosen at run time.

A flip is an operator or a constant that becomes another: `a < b` is written as an expression that
gives `a <= b` if the process was started with SAMBA_MUTANT=17. Operands are found by precedence,
over the tokens of function bodies. What is not flipped, and why, is said in mutants.py."""
import bisect
import re

TOKEN = re.compile(
    r'''(?P<space>\s+|/\*.*?\*/|//[^\n]*)
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)''',
    re.S | re.X)

PRECEDENCE = {}
for level, signs in enumerate(('||', '&&', '|', '^', '&', '== !=', '< > <= >=', '<< >>', '+ -',
                               '* / %')):
    for sign in signs.split():
        PRECEDENCE[sign] = level
ASSIGNMENTS = set('= += -= *= /= %= &= |= ^= <<= >>='.split())

# What becomes what. The first of a comparison moves its border, the second turns it round.
BINARY = {
    '<': ('<=', '>='), '<=': ('<', '>'), '>': ('>=', '<='), '>=': ('>', '<'),
    '==': ('!=',), '!=': ('==',), '&&': ('||',), '||': ('&&',),
    '+': ('-',), '-': ('+',), '*': ('+',), '/': ('*',), '%': ('/',),
    '&': ('|',), '|': ('&',), '^': ('|',), '<<': ('>>',), '>>': ('<<',),
}
ASSIGNED = {
    '+=': ('-=', '='), '-=': ('+=', '='), '*=': ('+=', '='), '/=': ('*=', '='), '%=': ('/=',),
    '&=': ('|=', '='), '|=': ('&=', '='), '^=': ('|=', '='), '<<=': ('>>=',), '>>=': ('<<=',),
}
KEYWORDS = set('return case else do goto default sizeof if while for switch break continue'.split())
BUILT_IN_TYPES = set('''void char short int long float double signed unsigned const volatile struct
    union enum bool size_t ptrdiff_t FILE va_list'''.split())


class Token:
    __slots__ = 'kind', 'text', 'start', 'end', 'line'

    def __init__(self, kind, text, start, line):
        self.kind, self.text, self.start, self.line = kind, text, start, line
        self.end = start + len(text)


class Flip:
    """text[start:end] becomes write(render), which names the flip by `id`, set when it is drawn."""

    def __init__(self, source, token, start, end, new, write):
        self.source, self.line, self.column = source, token.line, token.start
        self.start, self.end, self.old, self.new = start, end, token.text, new
        self.write, self.id = write, 0

    def lines(self):
        """The line as it is, and as the flip makes it."""
        text = self.source.text
        begin = text.rfind('\n', 0, self.column) + 1
        end = text.find('\n', self.column)
        after = self.column + len(self.old)
        return (text[begin:end].strip(),
                (text[begin:self.column] + self.new + text[after:end]).strip())

    def key(self):
        return (self.source.path, self.source.function(self.line), *self.lines())


class Shell:
    """A body that is left out."""

    def __init__(self, start, end, text):
        self.start, self.end, self.column, self.id = start, end, start, 0
        lines = keep_lines(text[start:end])
        self.write = lambda id, render: ';' + lines


# What the functions of samba.h begin with that may be called from another object file.
SHARED = ('SAMBA__FN', 'SAMBA__NOINLINE', 'SAMBA_API', 'SAMBA__OP_API')


def shared(text, hollow):
    """Without static where it would make a second copy; each change keeps its length."""
    word = 'extern' if hollow else '      '
    text = re.sub(r'^(#define SAMBA__(?:FN|NOINLINE)) static (?=__attribute__)', r'\1        ',
                  text, flags=re.M)
    # One table of ops: tests compare ops by their places in it.
    table = r'^static( const samba_op samba__op_table\[\w+\])( = \{.*?\n?.*?\});$'

    def one_table(found):
        rows = re.sub('[^\n]', ' ', found[2]) if hollow else found[2]
        return word + found[1] + rows + ';'
    text = re.sub(table, one_table, text, flags=re.M)
    return re.sub(r'^static( [^(={\n]*;)$', word + r'\1', text, flags=re.M)


def types_of(texts):
    """Names of types: what follows typedef, struct, union and enum."""
    names = set(BUILT_IN_TYPES)
    for text in texts:
        names.update(re.findall(r'\b(?:struct|union|enum)\s+(\w+)', text))
        names.update(re.findall(r'^}\s*(\w+);', text, re.M))
        names.update(re.findall(r'typedef\s[^;{(]*?(\w+)\s*;', text))
        names.update(re.findall(r'typedef\s[^;{]*?\(\*(\w+)\)', text))
    return names


class Source:
    def __init__(self, path, text, types):
        self.path, self.text, self.types = path, text, types
        self.tokens = []
        self.read()
        self.pair()
        self.places()

    # ---- Tokens, without those of the preprocessor ----
    def read(self):
        at, line, text = 0, 1, self.text
        self.directives = []
        fresh = True                            # nothing but space since the line began
        while at < len(text):
            if fresh and text[at] == '#':
                end = at
                while True:
                    end = text.find('\n', end)
                    if text[end - 1] != '\\':
                        break
                    end += 1
                self.directives.append(at)
                line += text.count('\n', at, end)
                at = end
                continue
            found = TOKEN.match(text, at)
            kind, what = found.lastgroup, found.group()
            if kind == 'space':
                fresh = fresh or '\n' in what
            else:
                fresh = False
                self.tokens.append(Token(kind, what, at, line))
            line += what.count('\n')
            at = found.end()

    def pair(self):
        """match[i] is the bracket that belongs to bracket i."""
        self.match, stack = {}, []
        closing = {')': '(', ']': '[', '}': '{'}
        for i, token in enumerate(self.tokens):
            if token.kind != 'sign':
                continue
            if token.text in '([{':
                stack.append(i)
            elif token.text in closing:
                # The branches of an #if may open a brace each.
                while stack and self.tokens[stack[-1]].text != closing[token.text]:
                    stack.pop()
                if stack:
                    self.match[i] = stack.pop()
                    self.match[self.match[i]] = i

    # ---- Where the code of functions is, and what their names and chapters are ----
    def places(self):
        text = self.text
        self.bodies, self.names, self.chapters = [], [], []
        for found in re.finditer(r'^/\* ==== \[([a-z-]+)\]', text, re.M):
            self.chapters.append((text.count('\n', 0, found.start()) + 1, found.group(1)))
        depth_until = -1
        for i, token in enumerate(self.tokens):
            if i <= depth_until or token.text != '{' or i not in self.match:
                continue
            close = self.match[i]
            before = self.tokens[i - 1] if i else None
            if before.text == ')' and i - 1 in self.match:
                self.bodies.append((i, close))
                name = self.tokens[self.match[i - 1] - 1]
                self.names.append((name.line, self.tokens[close].line, name.text))
                depth_until = close
            elif before.text != '"C"' and not (before.kind == 'string'):
                depth_until = close

    def function(self, line):
        at = bisect.bisect(self.names, (line + 1,)) - 1
        return self.names[at][2] if at >= 0 and line <= self.names[at][1] else ''

    def chapter(self, line):
        at = bisect.bisect(self.chapters, (line + 1,)) - 1
        return self.chapters[at][1] if at >= 0 else ''

    # ---- Expressions ----
    def is_type(self, name):
        return name in self.types or name.endswith('_t')

    def is_cast(self, i):
        """Is the ) at i the end of a cast, or of sizeof (type)?"""
        open = self.match.get(i)
        if open is None or i == open + 1:
            return False
        before = self.tokens[open - 1]
        if before.kind == 'name' and before.text not in KEYWORDS:
            return False
        inside = self.tokens[open + 1:i]
        words = [t for t in inside if t.kind == 'name']
        if any(t.text not in '*()' and t.kind != 'name' for t in inside) or not words:
            return False
        return all(self.is_type(w.text) for w in words)

    def is_header(self, i):
        """Is the ) at i the end of if (...), for (...), while (...), switch (...)?"""
        open = self.match.get(i)
        return open is not None and self.tokens[open - 1].text in ('if', 'for', 'while', 'switch')

    def ends_operand(self, i):
        token = self.tokens[i]
        if token.kind in ('number', 'string'):
            return True
        if token.kind == 'name':
            return token.text not in KEYWORDS and not self.is_type(token.text)
        if token.text == ')':
            return not self.is_cast(i) and not self.is_header(i)
        return token.text == ']' or token.text in ('++', '--') and self.ends_operand(i - 1)

    def is_binary(self, i):
        return self.tokens[i].text in PRECEDENCE and self.ends_operand(i - 1)

    def left_end(self, i, level):
        """The first token of the operand that ends before token i."""
        at = i - 1
        while True:
            token = self.tokens[at]
            text = token.text
            if text in (')', ']', '}') and at in self.match:
                open = self.match[at]
                if text == ')' and self.is_header(at):
                    break
                if text == '}' and not (self.tokens[open - 1].text == ')' and
                                        self.is_cast(open - 1)):
                    break
                if at + 1 < i and text == ')' and not self.is_cast(at) and \
                        self.tokens[at + 1].kind in ('name', 'number'):
                    break
                at = open - 1
                continue
            if text in '([{;,?:' or text in ASSIGNMENTS or text in KEYWORDS - {'sizeof'}:
                break
            if text in PRECEDENCE and self.is_binary(at) and PRECEDENCE[text] < level:
                break
            following = self.tokens[at + 1]
            if at + 1 < i and token.kind in ('name', 'number') and text != 'sizeof' and \
                    following.kind in ('name', 'number'):
                break
            at -= 1
        return at + 1

    def right_end(self, i, level):
        """The token behind the operand that begins after token i."""
        at, waiting = i + 1, 0
        while True:
            text = self.tokens[at].text
            if text in ('(', '[', '{') and at in self.match:
                at = self.match[at] + 1
                continue
            if text in ')]};,' or text in ASSIGNMENTS and level >= 0:
                return at
            if level < 0:                       # of an assignment
                waiting += (text == '?') - (text == ':')
                if waiting < 0:
                    return at
            elif text in '?:':
                return at
            elif text in PRECEDENCE and self.is_binary(at) and PRECEDENCE[text] <= level:
                return at
            at += 1

    def unary_end(self, i):
        """The token behind the operand of the prefix operator at i."""
        at = i + 1
        while self.tokens[at].text in ('!', '-', '~', '*', '&', '++', '--', '+') or \
                self.tokens[at].text == '(' and self.is_cast(self.match.get(at, at)):
            at = at + 1 if self.tokens[at].text != '(' else self.match[at] + 1
        at = self.match[at] + 1 if self.tokens[at].text == '(' else at + 1
        while True:
            text = self.tokens[at].text
            if text in ('(', '['):
                at = self.match[at] + 1
            elif text in ('.', '->'):
                at += 2
            elif text in ('++', '--'):
                at += 1
            else:
                return at

    def postfix_start(self, i):
        """The first token of the operand that the postfix operator at i stands behind."""
        at = i - 1
        while True:
            if self.tokens[at].text in (')', ']'):
                at = self.match[at] - 1
                if self.tokens[at].kind == 'name' or self.tokens[at].text in (')', ']'):
                    continue
                return at + 1
            if self.tokens[at - 1].text in ('.', '->'):
                at -= 2
                continue
            return at

    # ---- All flips ----
    def flips(self, is_active):
        """Each flip of a line that is_active(line)."""
        found = []
        for first, last in self.bodies:
            barred = self.barred(first, last)
            for i in range(first + 1, last):
                if i not in barred and is_active(self.tokens[i].line):
                    found += self.flips_at(i)
        return found

    def barred(self, first, last):
        """Tokens that have to be constants of the compiler, or mean nothing at run time."""
        barred = set()
        i = start = first + 1
        declares = False
        while i < last:
            token = self.tokens[i]
            text = token.text
            if self.tokens[i - 1].text in (';', '{', '}') or self.tokens[i - 1].text == ')' and \
                    self.is_header(i - 1) or i == first + 1:
                start = i
                following = self.tokens[i + 1]
                declares = token.kind == 'name' and text not in KEYWORDS and \
                    (following.kind == 'name' or text in self.types)
            end = None
            if text in ('static', 'enum', 'asm', '__asm__', '_Static_assert') or \
                    text.startswith('stbds_') and i == start:
                end = self.statement_end(i)
            elif text == 'case':
                end = next(j for j in range(i, last) if self.tokens[j].text == ':')
            elif text in ('sizeof', 'SAMBA_ASSERT', 'offsetof') and self.tokens[i + 1].text == '(':
                end = self.match[i + 1]
            elif text == 'sizeof':
                end = i + 1
            elif text == '[' and declares and not self.assigned(start, i):
                end = self.match[i]
            elif text == '{' and self.tokens[i + 1].text == '0' and self.tokens[i + 2].text == '}':
                end = i + 2                     # = { 0 }
            elif text == 'for' and self.tokens[i + 1].text == '(':
                barred.update(self.steps(i + 1))
            if end is not None:
                barred.update(range(i, end + 1))
                i = end
            i += 1
        return barred

    def statement_end(self, i):
        while self.tokens[i].text != ';':
            i = self.match[i] + 1 if self.tokens[i].text in ('(', '[', '{') else i + 1
        return i

    def assigned(self, start, end):
        """Does = stand between, since the last comma outside of brackets?"""
        at, seen = start, False
        while at < end:
            text = self.tokens[at].text
            seen = text == '=' or seen and text != ','
            at = self.match[at] + 1 if text in ('(', '[', '{') and at in self.match else at + 1
        return seen

    def steps(self, open):
        """The tokens of a for's third part whose flip is an endless loop: ++ and +=."""
        at, semicolons, end = open + 1, 0, self.match[open]
        while at < end and semicolons < 2:
            text = self.tokens[at].text
            semicolons += text == ';'
            at = self.match[at] + 1 if text in ('(', '[', '{') else at + 1
        return [i for i in range(at, end)
                if self.tokens[i].text in ('++', '--') or self.tokens[i].text in ASSIGNED]

    def flips_at(self, i):
        token = self.tokens[i]
        text = token.text
        if token.kind == 'number':
            return [self.constant(i, new) for new in other_numbers(text)]
        if text in ('true', 'false'):
            return [self.constant(i, 'false' if text == 'true' else 'true')]
        if text in BINARY and self.is_binary(i):
            return [self.binary(i, new) for new in BINARY[text]]
        if text in ASSIGNED:
            return [self.assignment(i, new) for new in ASSIGNED[text]]
        if text in ('!', '-', '~') and not self.ends_operand(i - 1):
            return [self.unary(i)]
        if text in ('++', '--'):
            return [self.step(i)]
        return []

    def span(self, first, behind):
        return self.tokens[first].start, self.tokens[behind - 1].end

    def constant(self, i, new):
        start, end = self.span(i, i + 1)
        old = self.tokens[i].text
        return Flip(self, self.tokens[i], start, end, new,
                    lambda id, render: f'(MUTANT({id}) ? ({new}) : ({old}))')

    def binary(self, i, new):
        old = self.tokens[i].text
        level = PRECEDENCE[old]
        a = self.span(self.left_end(i, level), i)
        b = self.span(i + 1, self.right_end(i, level))

        def write(id, render):
            x, y = render(*a), render(*b)
            between = keep_lines(self.text[a[1]:b[0]])
            if old == '&&':
                return f'({{ int mutant_{id} = MUTANT({id}); (!!({x}){between} != mutant_{id}) ' \
                       f'? !!({y}) : mutant_{id}; }})'
            if old == '||':
                return f'({{ int mutant_{id} = MUTANT({id}); (!!({x}){between} != mutant_{id}) ' \
                       f'? !mutant_{id} : !!({y}); }})'
            return f'({{ __auto_type x_{id} = ({x});{between} __auto_type y_{id} = ({y}); ' \
                   f'__auto_type old_{id} = x_{id} {old} y_{id}; ' \
                   f'__auto_type new_{id} = x_{id} {new} y_{id}; ' \
                   f'MUTANT_OF({id}, old_{id} != new_{id}) ? new_{id} : old_{id}; }})'
        return Flip(self, self.tokens[i], a[0], b[1], new, write)

    def assignment(self, i, new):
        old = self.tokens[i].text
        a = self.span(self.left_end(i, 99), i)
        b = self.span(i + 1, self.right_end(i, -1))

        def write(id, render):
            x, y = render(*a), render(*b)
            between = keep_lines(self.text[a[1]:b[0]])
            once = f'{one_line(x)} {new} {one_line(y)}'
            return f'(MUTANT({id}) ? ({once}) : ({x} {old}{between} {y}))'
        return Flip(self, self.tokens[i], a[0], b[1], new, write)

    def unary(self, i):
        old = self.tokens[i].text
        x = self.span(i + 1, self.unary_end(i))
        start = self.tokens[i].start

        def write(id, render):
            if old == '!':
                return f'(!({render(*x)}) != MUTANT({id}))'
            return f'({{ __auto_type x_{id} = ({render(*x)}); ' \
                   f'__auto_type old_{id} = {old}x_{id}; ' \
                   f'MUTANT_OF({id}, old_{id} != x_{id}) ? x_{id} : old_{id}; }})'
        return Flip(self, self.tokens[i], start, x[1], '', write)

    def step(self, i):
        old = self.tokens[i].text
        new = '--' if old == '++' else '++'
        before = self.ends_operand(i - 1)
        x = self.span(self.postfix_start(i), i) if before else self.span(i + 1, self.unary_end(i))
        start = x[0] if before else self.tokens[i].start
        end = self.tokens[i].end if before else x[1]

        def write(id, render):
            def form(sign, operand):
                return f'{operand}{sign}' if before else f'{sign}{operand}'
            operand = render(*x)
            return f'(MUTANT({id}) ? {form(new, one_line(operand))} : {form(old, operand)})'
        return Flip(self, self.tokens[i], start, end, new, write)

    def shells(self):
        """Bodies that may stand in another object file, each as [start, end) of the text."""
        found = []
        for first, last in self.bodies:
            head = first
            while head and self.tokens[head - 1].text not in (';', '}'):
                head -= 1
            if self.tokens[head].text in SHARED:
                found.append(self.span(first, last + 1))
        return found

    def write(self, chosen, hollow=False):
        """The text in which the chosen flips can be switched on, line for line. Its functions can
        be called from other object files; hollow, the text has just the prototypes of them."""
        chosen = list(chosen)
        if hollow:
            shells = self.shells()
            chosen = [f for f in chosen if not any(s <= f.start < e for s, e in shells)]
            chosen += [Shell(start, end, self.text) for start, end in shells]
        chosen.sort(key=lambda f: (f.start, -f.end, f.column))
        text = shared(self.text, hollow)

        def render(start, end, inner):
            out, at, k = [], start, 0
            while k < len(inner):
                flip, k = inner[k], k + 1
                within = []
                while k < len(inner) and inner[k].start < flip.end:
                    within.append(inner[k])
                    k += 1
                out.append(text[at:flip.start])
                out.append(flip.write(flip.id, lambda s, e, w=within: render(
                    s, e, [f for f in w if s <= f.start and f.end <= e])))
                at = flip.end
            out.append(text[at:end])
            return ''.join(out)
        return render(0, len(text), chosen)

    def holds(self, flip):
        """Can the flip be written: without a directive inside, its line comments whole?"""
        inside = self.text[flip.start:flip.end]
        return '//' not in inside and not any(flip.start <= d < flip.end for d in self.directives)


def other_numbers(text):
    """Numbers that may stand in place of this one."""
    is_hex = text[:2].lower() == '0x'
    if not is_hex and re.search(r'[.eE]', text):
        number = text.rstrip('fF')
        suffix = text[len(number):]
        return [f'{float(number) + 1.0!r}{suffix}'] + ([f'0.0{suffix}'] if float(number) else [])
    number = text.rstrip('uUlL')
    suffix = text[len(number):]
    if is_hex and '.' in number or is_hex and re.search('[pP]', number):
        return []
    value = int(number, 8 if re.fullmatch('0[0-7]+', number) else 0)
    form = hex if is_hex else str
    return [form(value + 1) + suffix] + ([form(value - 1) + suffix] if value else [])


def keep_lines(text):
    return '\n' * text.count('\n')


def one_line(text):
    return text.replace('\n', ' ')
