"""A model of language in a GGUF file becomes a folder of Hugging Face, which tools/samba reads.

    python3 tools/from_gguf.py MODEL.gguf FOLDER
    tools/samba chat FOLDER

Needs torch, transformers and gguf (pip install torch transformers gguf), which know the formats of
quantized weights: here they become bf16, in which 4 or 8 bits and their scales lose little. Models
are those that transformers reads from GGUF and tools/samba knows: Llama, Mistral, Qwen, SmolLM.
"""
import os
import sys

try:
    import gguf  # noqa: F401  transformers wants it, and says so only later
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as missing:
    sys.exit(f"from_gguf.py: {missing}: pip install torch transformers gguf")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    path, folder = sys.argv[1:]
    if not os.path.isfile(path):
        sys.exit(f"from_gguf.py: {path}: no such file")

    source, name = os.path.split(os.path.abspath(path))
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=name)
    # its weights are plain numbers by now; transformers would still refuse to save them
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"{folder}: {sum(p.numel() for p in model.parameters()):,} parameters in bf16")


if __name__ == "__main__":
    main()
