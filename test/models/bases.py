#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file beside a trainer, as bitsandbytes reads it: its weights in 4 bits are those that the trainer computes with.

bases.py --bin build/release/bin
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
# ruff: noqa: E402

import bitsandbytes
import torch
from safetensors.torch import load_file

MODEL = pathlib.Path(__file__).parents[1] / "end-to-end/goldens-adapters/llama/model.onnx"


def compare(folder, bin_folder, kind, encoding):
    trainer, weights = folder / "trainer", folder / "weights.safetensors"
    subprocess.run(
        [
            bin_folder / "ingotc", MODEL, "-o", trainer, "--batch", "4", "--loss", "cross-entropy", "--weights",
            "sidecar", "--adapter", "lora:r=4@all-linear", "--base", encoding,
        ],
        check=True,
    )  # fmt: skip
    subprocess.run(
        [trainer, "--data", MODEL.with_name("data.npz"), "--steps", "0", "--export", weights],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    tensors, wholes = load_file(f"{trainer}.safetensors"), load_file(weights)
    found = 0
    suffix = f".quant_state.bitsandbytes__{kind}"
    for key in [key for key in tensors if key.endswith(suffix)]:
        name = key.removesuffix(suffix)
        stats = {other: tensor for other, tensor in tensors.items() if other.startswith(name + ".")}
        parameter = bitsandbytes.nn.Params4bit.from_prequantized(tensors[name], stats, device="cpu")
        state = parameter.quant_state
        decoded = bitsandbytes.functional.dequantize_4bit(parameter.data, state)
        whole = wholes[name]
        if tuple(state.shape) != tuple(whole.shape):
            whole = whole.T
        error = (decoded - whole).abs().max().item()
        assert decoded.shape == whole.shape and error < 1e-6, f"{encoding}: {name} differs by {error}"
        # A layer computes with it.
        x = torch.randn(3, state.shape[1])
        product = bitsandbytes.matmul_4bit(x, parameter.data.t(), quant_state=state)
        assert torch.allclose(product, x @ whole.T, atol=1e-4), f"{encoding}: {name}, a product"
        found += 1
    assert found == 10, f"{encoding}: {found} weights are encoded"
    print(f"{encoding}: {found} weights")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    args = parser.parse_args()
    for kind in ("nf4", "fp4"):
        for settings in ("", ":double", ":block=128,double"):
            with tempfile.TemporaryDirectory() as folder:
                compare(pathlib.Path(folder), args.bin.resolve(), kind, kind + settings)


if __name__ == "__main__":
    main()
