"""Writes tests/golden/chat.json: what transformers makes of messages by chat templates.

    python3 tests/golden/make_chat.py            write the file; needs the package transformers
    python3 tests/golden/make_chat.py --check    compare with the file

An entry has the template, its variables, and the text; text null where transformers refuses. The
templates, chat_templates.json, have the shape of those of the families they are named after, and
"parts" tries each part of Jinja that samba/chat_template.h knows.
"""
import json
import os
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(ROOT, "tests", "golden", "chat.json")

with open(os.path.join(ROOT, "tests", "golden", "chat_templates.json"), encoding="ascii") as f:
    TEMPLATES = json.load(f)
PARTS = TEMPLATES.pop("parts")

MESSAGES = [
    [{"role": "user", "content": "Hello, \u4e16\u754c! "}],
    [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "1 + 1?"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
     {"role": "user", "content": "  c\t"}],
    [{"role": "system", "content": "S"}, {"role": "user", "content": "u\n\nv"},
     {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nbecause"},
     {"role": "user", "content": "\u00a0x\u3000"}, {"role": "assistant", "content": "y \"z\" \\"}],
    [{"role": "assistant", "content": "first"}, {"role": "user", "content": ""}],
    [{"role": "user", "content": "sum"},
     {"role": "assistant", "content": "",
      "tool_calls": [{"type": "function",
                      "function": {"name": "add", "arguments": {"x": 1, "y": [2.5, None, True],
                                                                "z": "\u00e9\n\"<'&"}}}]},
     {"role": "tool", "content": "3.5"}, {"role": "assistant", "content": "3.5"}],
]
TOOLS = [{"type": "function", "function": {
    "name": "add", "description": "Adds <numbers> & 'more'", "return": "a number",
    "parameters": {"type": "object", "properties": {"x": {"type": "number"}, "list": [1, {}, []]},
                   "required": ["x"]}}}]

REFUSED = ["{{ 1 / 0 }}", "{{ missing.x }}", "{{ raise_exception('no') }}", "{{ 'a' + 1 }}",
           "{% for a, b in [[1]] %}{% endfor %}", "{{ missing() }}", "{{ 'a' < 1 }}"]


def entries():
    for name, template in TEMPLATES.items():
        for i, messages in enumerate(MESSAGES):
            with_tools = {"tools": TOOLS, "tools_in_user_message": False}
            for more in ({}, {"add_generation_prompt": True, "enable_thinking": False},
                         *[with_tools] * ("tools" in template), *[{"tools": TOOLS}] * (i == 1)):
                yield (f"{name} {i}", template,
                       {"messages": messages, "bos_token": "<s>", "eos_token": "</s>",
                        "add_generation_prompt": False, **more})
    for line, part in enumerate(PARTS.split("\n")[:24]):
        yield f"part {line}", part, {}
    yield "all parts", PARTS, {}
    yield "end of the last line", PARTS + "\n\n", {}
    for template in REFUSED:
        yield f"refused {template}", template, {}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    made = []
    for name, template, variables in entries():
        try:
            text = _compile_jinja_template(template).render(**variables)
        except Exception:
            text = None
        made.append({"name": name, "template": template, "variables": variables, "text": text})
    kept = []
    for entry in made:  # a template stands once
        if kept and entry["template"] == kept[-1]["template"]:
            kept[-1]["cases"].append([entry["name"], entry["variables"], entry["text"]])
        else:
            kept.append({"template": entry["template"],
                         "cases": [[entry["name"], entry["variables"], entry["text"]]]})
    text = json.dumps(kept, indent=0, ensure_ascii=True) + "\n"
    if check:
        with open(FILE, encoding="ascii") as f:
            if f.read() != text:
                sys.exit(f"{FILE} is not what transformers says now")
        print(len(made), "cases, as in the file")
        return
    with open(FILE, "w", encoding="ascii") as f:
        f.write(text)
    print(len(made), "cases,", sum(e["text"] is None for e in made), "refused")


if __name__ == "__main__":
    main()
