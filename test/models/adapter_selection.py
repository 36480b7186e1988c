#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers that rules of --adapter take, compared with those of PEFT.

Twelve architectures of transformers with random weights, each exported by both exporters of PyTorch, and six choices of
layers each. Needs PyTorch, transformers and PEFT.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
# ruff: noqa: E402

import peft
import torch
import transformers
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "frontends/torch"))
import ingot_torch

WIDTH = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES = {**WIDTH, "intermediate_size": 48}
TEXT = {**SIZES, "vocab_size": 48, "max_position_embeddings": 32}
# The exporter keeps dropouts only where it can tell that modules call them.
CLASSES = {**TEXT, "num_labels": 5, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
CAUSAL = {**TEXT, "tie_word_embeddings": False, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
T = transformers
ARCHITECTURES = {
    "llama": lambda: T.LlamaForCausalLM(T.LlamaConfig(**CAUSAL, num_key_value_heads=2)),
    "mistral": lambda: T.MistralForCausalLM(T.MistralConfig(**CAUSAL, num_key_value_heads=2)),
    "qwen2": lambda: T.Qwen2ForCausalLM(T.Qwen2Config(**CAUSAL, num_key_value_heads=2)),
    "gpt_neox": lambda: T.GPTNeoXForCausalLM(T.GPTNeoXConfig(**CAUSAL)),
    "gpt2": lambda: T.GPT2LMHeadModel(T.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=48, n_positions=32, tie_word_embeddings=False,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)),
    "opt": lambda: T.OPTForCausalLM(T.OPTConfig(
        **WIDTH, ffn_dim=48, vocab_size=48, max_position_embeddings=32, word_embed_proj_dim=32,
        tie_word_embeddings=False)),
    "bert": lambda: T.BertForSequenceClassification(T.BertConfig(**CLASSES)),
    "roberta": lambda: T.RobertaForSequenceClassification(T.RobertaConfig(**CLASSES, pad_token_id=0)),
    "distilbert": lambda: T.DistilBertForSequenceClassification(T.DistilBertConfig(
        dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=48, max_position_embeddings=32, num_labels=5,
        dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0)),
    "electra": lambda: T.ElectraForSequenceClassification(T.ElectraConfig(**CLASSES, embedding_size=32)),
    "t5": lambda: T.T5EncoderModel(T.T5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=48)),
    "vit": lambda: T.ViTForImageClassification(T.ViTConfig(**SIZES, image_size=16, patch_size=8, num_labels=5)),
}  # fmt: skip


class Logits(torch.nn.Module):
    """The first output alone, of a model whose modules keep their paths."""

    def __new__(cls, model):
        kind = type(model)

        def forward(self, x):
            settings = {}
            if isinstance(self, transformers.GenerationMixin):
                # With a mask, nothing looks for packed sequences, which the older exporter does not know.
                settings = {"use_cache": False, "attention_mask": torch.ones_like(x)}
            return kind.forward(self, x, **settings)[0]

        model.__class__ = type(kind.__name__, (kind,), {"forward": forward})
        return model


def build(name):
    torch.manual_seed(7)
    return Logits(ARCHITECTURES[name]().eval())


def make_input(name):
    return torch.randn(2, 3, 16, 16) if name == "vit" else torch.randint(3, 48, (2, 12))


def export(name, exporter, path):
    x = make_input(name)
    if exporter == "dynamo":
        ingot_torch.export(build(name), (x,), path=path, input_names=["x"], check_gradients=False)
    else:
        torch.onnx.export(build(name), (x,), path, dynamo=False, input_names=["x"], opset_version=17)


def choose(name):
    """Six choices: what --adapter is told after the @, and PEFT's target_modules."""
    linear = [
        path for path, module in build(name).named_modules()
        if isinstance(module, (torch.nn.Linear, transformers.pytorch_utils.Conv1D)) and ".0." in path
    ]  # fmt: skip
    first, last = linear[0], linear[-1]
    ends = sorted({path.rsplit(".", 1)[1] for path in linear})
    regex = rf".*\.1\..*({'|'.join(ends)})"
    lists = [
        list(DEFAULTS.get(name, [ends[0]])), [".".join(first.split(".")[-2:])], [first, last], ends,
    ]  # fmt: skip
    return [
        ("all-linear", "all-linear"), *((",".join(names), names) for names in lists), (f"/{regex}/", regex),
    ]  # fmt: skip


def is_classifier(name):
    return hasattr(build(name), "classifier")


def select(ingot_opt, model, layers, has_classifier):
    """Returns the modules with adapters."""
    # The head of a new task is trained as a whole.
    train = " adapter-train=^classifier" if has_classifier else ""
    command = [str(ingot_opt), str(model), "--batch=2", "--ingot-simplify",
               f"--ingot-add-adapters=adapter={{{{lora:r=2@{layers}}}}}{train}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip()[:300])
    (header,) = re.findall(r"^module attributes \{ingot\.adapters = \[(.*)", done.stdout, re.M)
    return set(re.findall(r'module = "([^"]*)"', header))


def select_by_peft(name, targets):
    left_out = {"exclude_modules": r"classifier(\..*)?"} if is_classifier(name) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peft.get_peft_model(build(name), peft.LoraConfig(r=2, target_modules=targets, **left_out))
    return {path.removeprefix("base_model.model.") for path, part in model.named_modules() if hasattr(part, "lora_A")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--filter", default="", help="of architectures")
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in ARCHITECTURES:
            if not re.search(args.filter, name):
                continue
            choices = [(layers, select_by_peft(name, targets)) for layers, targets in choose(name)]
            for exporter in ("dynamo", "torchscript"):
                model = pathlib.Path(scratch) / f"{name}-{exporter}.onnx"
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        export(name, exporter, model)
                except Exception as error:
                    failures += 1
                    print(f"FAIL {name} {exporter}: {str(error).splitlines()[0][:200]}", flush=True)
                    continue
                for layers, want in choices:
                    try:
                        got = select(args.bin / "ingot-opt", model, layers, is_classifier(name))
                        if got != want:
                            raise AssertionError(f"layers are {sorted(got ^ want)} apart")
                        print(f"ok {name} {exporter} {layers}: {len(got)} layers", flush=True)
                    except AssertionError as error:
                        failures += 1
                        print(f"FAIL {name} {exporter} {layers}: {error}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
