#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes attention.onnx: one layer of attention over bytes, for any number of tokens. Needs onnx and numpy."""

import pathlib

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

MODEL = """<ir_version: 9, opset_import: ["" : 20]>
attention (int64[N, T] tokens) => (float[N, T, 256] logits) {
  x = Gather(embedding, tokens)
  split = Constant<value = int64[4] {0, 0, 4, 32}>()
  join = Constant<value = int64[3] {0, 0, 128}>()
  scale = Constant<value = float {0.17677669}>()
  xq = MatMul(x, wq)
  xk = MatMul(x, wk)
  xv = MatMul(x, wv)
  hq = Reshape(xq, split)
  hk = Reshape(xk, split)
  hv = Reshape(xv, split)
  q = Transpose<perm = [0, 2, 1, 3]>(hq)
  k = Transpose<perm = [0, 2, 3, 1]>(hk)
  v = Transpose<perm = [0, 2, 1, 3]>(hv)
  scores = MatMul(q, k)
  scaled = Mul(scores, scale)
  weights = Softmax<axis = -1>(scaled)
  mixed = MatMul(weights, v)
  together = Transpose<perm = [0, 2, 1, 3]>(mixed)
  joined = Reshape(together, join)
  logits = MatMul(joined, wo)
}"""

if __name__ == "__main__":
    model = onnx.parser.parse_model(MODEL)
    source = np.random.default_rng(1)
    for name, shape in (
        ("embedding", (256, 128)), ("wq", (128, 128)), ("wk", (128, 128)), ("wv", (128, 128)), ("wo", (128, 256)),
    ):  # fmt: skip
        values = (source.standard_normal(shape) * 0.05).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    for node in model.graph.node:
        node.name = node.output[0]
    onnx.checker.check_model(model)
    onnx.save(model, pathlib.Path(__file__).with_name("attention.onnx"))
