// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Ops that move elements by indices: docs/spec/shape.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// Index `i` of a dimension of this size, clamped into it. An empty dimension
/// has none to clamp into.
static llvm::Expected<int64_t> clamped(int64_t i, int64_t size) {
  if (size == 0)
    return invalid("index into an empty dimension");
  return std::clamp<int64_t>(i, 0, size - 1);
}

static llvm::Error gather(GatherOp op, Operands in, Results out) {
  const Tensor &operand = in[0], &indices = in[1];
  Split from(operand.getShape(), op.getDim());
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = 0; i < indices.size(); ++i) {
      llvm::Expected<int64_t> row = clamped(indices.integer(i), from.size);
      if (!row)
        return row.takeError();
      for (int64_t n = 0; n < from.inner; ++n)
        out[0].copy((o * indices.size() + i) * from.inner + n, operand,
                    from.at(o, *row, n));
    }
  return llvm::Error::success();
}

static llvm::Error takeAlong(TakeAlongOp op, Operands in, Results out) {
  const Tensor &operand = in[0], &indices = in[1];
  Split from(operand.getShape(), op.getDim());
  Split to(indices.getShape(), op.getDim());
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t i = 0; i < to.size; ++i)
      for (int64_t n = 0; n < to.inner; ++n) {
        int64_t position = to.at(o, i, n);
        llvm::Expected<int64_t> row =
            clamped(indices.integer(position), from.size);
        if (!row)
          return row.takeError();
        out[0].copy(position, operand, from.at(o, *row, n));
      }
  return llvm::Error::success();
}

static llvm::Error scatterAdd(ScatterAddOp op, Operands in, Results out) {
  const Tensor &indices = in[0], &updates = in[1];
  Split to(out[0].getShape(), op.getDim());
  if (op.getInit())
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].copy(i, in[2], i);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t i = 0; i < indices.size(); ++i) {
      llvm::Expected<int64_t> row = clamped(indices.integer(i), to.size);
      if (!row)
        return row.takeError();
      for (int64_t n = 0; n < to.inner; ++n)
        out[0].real(to.at(o, *row, n)) +=
            updates.real((o * indices.size() + i) * to.inner + n);
    }
  return llvm::Error::success();
}

void ingot::reference::registerIndexing(Registry &registry) {
  registry.add<GatherOp>(gather);
  registry.add<TakeAlongOp>(takeAlong);
  registry.add<ScatterAddOp>(scatterAdd);
}
