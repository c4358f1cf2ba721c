"""What transformers makes of the folders of tests/tools/text_cli.sh: text_judge.py TOOL FOLDER...

The same greedy texts, and the same conversations by the folder's chat template.
"""
import subprocess
import sys

import torch
import transformers

TOOL, FOLDERS = sys.argv[1], sys.argv[2:]
PROMPTS = ["abcHello", "q", "<s>xyz<|user|>P"]
SAID = ["abc", "Hi", "xy"]
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
failed = 0


def tool(command, folder, *flags, **more):
    return subprocess.run([TOOL, command, folder, *flags], capture_output=True, text=True,
                          **more).stdout


def written(model, tokenizer, ids, new):
    said = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)),
                          max_new_tokens=new, do_sample=False)[0, len(ids):].tolist()
    if said and said[-1] == tokenizer.eos_token_id:
        said.pop()
    return tokenizer.decode(said)


def check(what, ours, theirs):
    global failed
    if ours != theirs:
        failed += 1
        print(f"{what}: {ours!r} here, {theirs!r} by transformers")


for folder in FOLDERS:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for prompt in PROMPTS:
        ours = tool("generate", folder, "--prompt", prompt, "--max-tokens", "9")
        theirs = prompt + written(model, tokenizer, tokenizer(prompt)["input_ids"], 9) + "\n"
        check(f"{folder}, {prompt}", ours, theirs)
    if model.config.max_position_embeddings < 60:
        continue
    model.generation_config.eos_token_id = [2]  # as in a chat: the tokenizer's own
    messages, theirs = [{"role": "system", "content": "be"}], ""
    for said in SAID:
        messages.append({"role": "user", "content": said})
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True,
                                            return_dict=True)["input_ids"]
        answer = written(model, tokenizer, ids, 5)
        messages.append({"role": "assistant", "content": answer})
        theirs += answer + "\n"
    ours = tool("chat", folder, "--system", "be", "--max-tokens", "5",
                input="".join(said + "\n" for said in SAID))
    check(f"{folder}, a chat", ours, theirs)
print(f"{len(FOLDERS)} folders, transformers {transformers.__version__}")
sys.exit(failed > 0)
