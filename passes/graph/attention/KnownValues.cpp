// SPDX-License-Identifier: Apache-2.0

#include "passes/graph/attention/KnownValues.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/ConstantFolding.h"

using namespace mlir;
using namespace ingot;

using Elements = std::optional<std::vector<double>>;
using Positions = std::vector<int64_t>;

/// Returns elements of a constant.
static Elements readConstant(Attribute value, const Positions &positions) {
  auto constant = dyn_cast<DenseElementsAttr>(value);
  if (!constant)
    return std::nullopt;
  std::vector<double> result;
  result.reserve(positions.size());
  bool isSplat = constant.isSplat();
  auto read = [&](auto values, auto convert) {
    for (int64_t position : positions)
      result.push_back(convert(values[isSplat ? 0 : position]));
  };
  Type element = constant.getElementType();
  if (element.isF32())
    read(constant.getValues<float>(), [](float v) { return v; });
  else if (isa<FloatType>(element))
    read(constant.getValues<APFloat>(),
         [](const APFloat &v) { return v.convertToDouble(); });
  else if (element.isInteger(1))
    read(constant.getValues<bool>(), [](bool v) { return v ? 1.0 : 0.0; });
  else
    read(constant.getValues<APInt>(), [&](const APInt &v) {
      return element.isUnsignedInteger()
                 ? static_cast<double>(v.getZExtValue())
                 : static_cast<double>(v.getSExtValue());
    });
  return result;
}

static Elements countAlong(IotaOp op, const Positions &positions) {
  ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
  int64_t step = ingot::detail::rowMajorSteps(shape)[op.getDim()];
  std::vector<double> result;
  result.reserve(positions.size());
  for (int64_t position : positions)
    result.push_back(static_cast<double>(position / step % shape[op.getDim()]));
  return result;
}

static Elements follow(MovesElements op, const Positions &positions) {
  ElementMove move = op.getMove();
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  Positions sources;
  sources.reserve(positions.size());
  for (int64_t position : positions) {
    int64_t source = move.base;
    for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
      source += position % shape[dim] * move.steps[dim];
    sources.push_back(source);
  }
  return knownElements(op->getOperand(0), sources);
}

static Elements compute(ElementFunction op, const Positions &positions) {
  SmallVector<std::vector<double>> operands;
  for (Value operand : op->getOperands()) {
    Elements elements = knownElements(operand, positions);
    if (!elements)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  std::vector<double> result(positions.size());
  SmallVector<double> x(operands.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    for (auto [value, elements] : llvm::zip_equal(x, operands))
      value = elements[i];
    result[i] = op.evaluate(x);
  }
  return result;
}

Elements ingot::knownElements(Value value, const Positions &positions) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_if_present<ConstantOp>(op))
    return readConstant(constant.getValue(), positions);
  if (auto iota = dyn_cast_if_present<IotaOp>(op))
    return countAlong(iota, positions);
  if (auto move = dyn_cast_if_present<MovesElements>(op))
    return follow(move, positions);
  if (auto function = dyn_cast_if_present<ElementFunction>(op))
    return compute(function, positions);
  return std::nullopt;
}

std::optional<AttentionBounds>
ingot::findBounds(Value pairs,
                  llvm::function_ref<std::optional<bool>(double)> isInside) {
  RankedTensorType type = tensorType(pairs);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  if (type.getNumElements() == 0)
    return std::nullopt;
  // The smallest bounds that contain all pairs inside, and the number of these
  // pairs: they are the bounds if they contain no others.
  int64_t left = -queries, right = -keys, count = 0;
  Positions positions(keys);
  Elements first;
  for (int64_t query = 0; query < queries; ++query)
    for (int64_t at = query * keys; at < type.getNumElements();
         at += queries * keys) {
      for (int64_t key = 0; key < keys; ++key)
        positions[key] = at + key;
      Elements row = knownElements(pairs, positions);
      if (!row || (at > query * keys && *row != *first))
        return std::nullopt;
      if (at > query * keys)
        continue;
      for (int64_t key = 0; key < keys; ++key) {
        std::optional<bool> inside = isInside((*row)[key]);
        if (!inside)
          return std::nullopt;
        if (!*inside)
          continue;
        ++count;
        left = std::max(left, query - key);
        right = std::max(right, key - query);
      }
      first = std::move(row);
    }
  if (left < 0 || right < 0)
    return std::nullopt;
  AttentionBounds bounds{left >= queries - 1 ? -1 : left,
                         right >= keys - 1 ? -1 : right};
  AttentionSizes sizes = {1, 1, 1, queries, keys, 1, 1};
  if (sizes.window(bounds.left, bounds.right).pairs != count)
    return std::nullopt;
  return bounds;
}
