# SPDX-License-Identifier: Apache-2.0
"""evaluate.py MODEL.onnx DATA.npz: prints the percentage of labels that a
model gets right in ONNX Runtime, to see a trained export at work elsewhere."""

import sys

import numpy as np
import onnxruntime

model, data = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
with np.load(data) as arrays:
    (logits,) = session.run(None, {"image": arrays["image"]})
    print(f"{100 * np.mean(logits.argmax(1) == arrays['labels']):.2f}")
