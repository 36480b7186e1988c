// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Ops that move elements by indices: docs/spec/shape.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

static double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// The element `to` of the result, combined with the element `from` of the
/// updates.
static void combine(ScatterKind kind, Tensor &result, int64_t to,
                    const Tensor &updates, int64_t from) {
  if (kind == ScatterKind::Set)
    return result.copy(to, updates, from);
  Type element = result.getElementType();
  if (result.isFloat()) {
    double a = result.real(to), b = updates.real(from);
    double value = kind == ScatterKind::Add   ? a + b
                   : kind == ScatterKind::Mul ? a * b
                   : kind == ScatterKind::Max ? larger(a, b)
                                              : -larger(-a, -b);
    result.real(to) = roundToFloat(value, element);
    return;
  }
  int64_t a = result.integer(to), b = updates.integer(from);
  bool isSmaller = isLess(a, b, element);
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  int64_t value = kind == ScatterKind::Add   ? static_cast<int64_t>(x + y)
                  : kind == ScatterKind::Mul ? static_cast<int64_t>(x * y)
                  : (kind == ScatterKind::Max) == isSmaller ? b
                                                            : a;
  result.integer(to) = wrapToInteger(value, element);
}

static llvm::Error scatter(ScatterOp op, Operands in, Results out) {
  const Tensor &init = in[0], &indices = in[1], &updates = in[2];
  for (int64_t i = 0; i < init.size(); ++i)
    out[0].copy(i, init, i);
  Split to(out[0].getShape(), op.getDim());
  Split from(updates.getShape(), op.getDim());
  bool isShared = indices.getRank() == 1;
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = 0; i < from.size; ++i)
      for (int64_t n = 0; n < from.inner; ++n) {
        int64_t position = from.at(o, i, n);
        llvm::Expected<int64_t> row =
            clamped(indices.integer(isShared ? i : position), to.size);
        if (!row)
          return row.takeError();
        combine(op.getKind(), out[0], to.at(o, *row, n), updates, position);
      }
  return llvm::Error::success();
}

void ingot::reference::registerIndexing(Registry &registry) {
  registry.add<GatherOp>(gather);
  registry.add<TakeAlongOp>(takeAlong);
  registry.add<ScatterAddOp>(scatterAdd);
  registry.add<ScatterOp>(scatter);
}
