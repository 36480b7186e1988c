# SPDX-License-Identifier: Apache-2.0
"""Makes digits.onnx, train.npz and eval.npz beside this file.

Needs PyTorch, onnxscript and scikit-learn; nothing else in Ingot does. The
result is checked in, so this only runs when the example itself changes.
Same versions, same bytes: the split, the initial weights and the archives are
all made from fixed seeds and fixed time stamps.
"""

import io
import pathlib
import zipfile

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).parent
EVAL_SAMPLES = 360


class Digits(nn.Module):
    """Three convolutions with batch norm; the first layers have no bias
    because batch norm would cancel it."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(64 * 2 * 2, 10)

    def forward(self, image):
        x = torch.relu(self.bn1(self.conv1(image)))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        x = self.pool(torch.relu(self.bn3(self.conv3(x))))
        return self.fc(torch.flatten(x, 1))


def save_npz(path, **arrays):
    """numpy.savez_compressed, less the time of day in the archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array))
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, buffer.getvalue())


def make_data():
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    held_out, train = order[:EVAL_SAMPLES], order[EVAL_SAMPLES:]
    save_npz(HERE / "train.npz", image=images[train], labels=labels[train])
    save_npz(HERE / "eval.npz", image=images[held_out], labels=labels[held_out])


def make_model():
    torch.manual_seed(0)
    # optimize=False keeps every parameter under its own name and batch norm
    # as an op. Exported in evaluation mode, as the exporter wants it: Ingot
    # trains batch norm whatever the mode of the export.
    program = torch.onnx.export(
        Digits().eval(),
        (torch.zeros(2, 1, 8, 8),),
        dynamo=True,
        optimize=False,
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        input_names=["image"],
        output_names=["logits"],
        opset_version=18,
        verbose=False,
    )
    model = program.model_proto
    for node in model.graph.node:
        # Stack traces of the exporting machine: paths, and most of the file.
        del node.metadata_props[:]
    ops = [node.op_type for node in model.graph.node]
    assert ops.count("BatchNormalization") == 3, ops
    onnx.checker.check_model(model)
    (HERE / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    make_data()
    make_model()
