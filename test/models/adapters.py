#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adapters that a trainer wrote, loaded by PEFT, and the layers that both choose.

For each model, exporter and choice of layers: the trainer's adapter has the layers of PEFT's, PEFT loads it without a
missing or an unexpected key, and computes what the trainer computes. Needs PyTorch, transformers and PEFT.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
# ruff: noqa: E402

import numpy as np
import peft
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/end-to-end"), str(ROOT / "frontends/torch")]
import adapter_goldens as goldens
import ingot_torch

# The words of ingotc after the kind, and the settings of PEFT that mean the same.
CHOICES = {
    "llama": [
        ("lora:r=4,alpha=8@all-linear", {"r": 4, "lora_alpha": 8, "target_modules": "all-linear"}),
        ("rslora:r=4@q_proj,v_proj", {"r": 4, "use_rslora": True, "target_modules": ["q_proj", "v_proj"]}),
        ("lora:r=2@1.mlp.up_proj", {"r": 2, "target_modules": ["1.mlp.up_proj"]}),
        (r"lora:r=2@/.*\.0\..*(gate|down)_proj/", {"r": 2, "target_modules": r".*\.0\..*(gate|down)_proj"}),
        ("lora:r=2@lm_head", {"r": 2, "target_modules": ["lm_head"]}),
        ("lora:r=64,alpha=3@o_proj", {"r": 64, "lora_alpha": 3, "target_modules": ["o_proj"]}),
    ],
    "bert": [
        ("lora:r=4,bias=all@query,value", {"r": 4, "bias": "all", "target_modules": ["query", "value"]}),
        ("rslora:r=4,bias=adapters@dense",
         {"r": 4, "bias": "lora_only", "use_rslora": True, "target_modules": ["dense"]}),
        ("lora:r=2@output.dense", {"r": 2, "target_modules": ["output.dense"]}),
        (r"lora:r=2@/.*\.1\..*/", {"r": 2, "target_modules": r".*\.1\..*(query|key|value|dense)"}),
        ("lora:r=2@pooler.dense", {"r": 2, "target_modules": ["pooler.dense"]}),
        ("lora:r=2@classifier", {"r": 2, "target_modules": ["classifier"]}),
        ("lora:r=4@word_embeddings,key", {"r": 4, "target_modules": ["word_embeddings", "key"]}),
        ("dora:r=4@word_embeddings,intermediate.dense",
         {"r": 4, "use_dora": True, "target_modules": ["word_embeddings", "intermediate.dense"]}),
    ],
    "cnn": [
        ("lora:r=4@conv1,conv2", {"r": 4, "target_modules": ["conv1", "conv2"]}),
        ("rslora:r=2,bias=adapters@/conv.*/",
         {"r": 2, "use_rslora": True, "bias": "lora_only", "target_modules": r"conv\d"}),
        ("dora:r=2@conv2,fc", {"r": 2, "use_dora": True, "target_modules": ["conv2", "fc"]}),
    ],
}  # fmt: skip


def export(name, exporter, path):
    ids = goldens.make_data(name)[0][: goldens.BATCH]
    if exporter == "dynamo":
        ingot_torch.export(
            goldens.build(name), (ids,), path=path, input_names=[goldens.INPUT[name]], check_gradients=False
        )
    else:
        torch.onnx.export(
            goldens.build(name), (ids,), path, dynamo=False, input_names=[goldens.INPUT[name]], output_names=["output"],
            opset_version=17,
        )  # fmt: skip


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{command[0]}: {done.stderr.strip()}")


def compare(ingotc, model, name, text, settings, work):
    work.mkdir(parents=True)
    ids, labels = (tensor.numpy() for tensor in goldens.make_data(name))
    np.savez(work / "data.npz", **{goldens.INPUT[name]: ids}, labels=labels)
    np.savez(work / "part.npz", **{goldens.INPUT[name]: ids[: goldens.BATCH]}, labels=labels[: goldens.BATCH])
    run(ingotc, model, "-o", work / "trainer", "--loss", "cross-entropy", "--batch", goldens.BATCH, "--adapter", text)
    run(work / "trainer", "--data", work / "data.npz", "--eval-data", work / "part.npz", "--steps", 10, "--lr", "1e-2",
        "--export-adapter", work / "adapter", "--predict", work / "predicted.npz")  # fmt: skip
    config = json.loads((work / "adapter/adapter_config.json").read_text())
    own = peft.get_peft_model(goldens.build(name), peft.LoraConfig(**settings))
    chosen = {path.removeprefix("base_model.model.") for path, part in own.named_modules() if hasattr(part, "lora_A")}
    if chosen != set(config["target_modules"]):
        raise AssertionError(f"layers are {sorted(set(config['target_modules']) ^ chosen)} apart")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Found missing adapter keys")
        loaded = peft.PeftModel.from_pretrained(goldens.build(name), work / "adapter")
    values = safetensors.torch.load_file(work / "adapter/adapter_model.safetensors")
    result = peft.set_peft_model_state_dict(loaded, values)
    missing = [key for key in result.missing_keys if "lora_" in key]
    if missing or result.unexpected_keys:
        raise AssertionError(f"missing keys {missing}, unexpected keys {result.unexpected_keys}")
    with torch.no_grad():
        want = loaded.eval()(torch.tensor(ids[: goldens.BATCH])).numpy()
    off = np.abs(np.load(work / "predicted.npz")["output"] - want).max()
    if off > 1e-5 * max(1, np.abs(want).max()):
        raise AssertionError(f"outputs are {off} off")
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, choices in CHOICES.items():
            # The older exporter does not know how transformers looks for packed sequences.
            for exporter in ("dynamo",) if name == "llama" else ("dynamo", "torchscript"):
                model = pathlib.Path(scratch) / f"{name}-{exporter}.onnx"
                export(name, exporter, model)
                for i, (text, settings) in enumerate(choices):
                    try:
                        off = compare(args.bin / "ingotc", model, name, text, settings, model.with_suffix(f".{i}"))
                        print(f"ok {name} {exporter} {text}: {off:.1e}", flush=True)
                    except AssertionError as error:
                        failures += 1
                        print(f"FAIL {name} {exporter} {text}: {error}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
