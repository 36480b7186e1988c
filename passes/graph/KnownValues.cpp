#include "passes/graph/KnownValues.h"

#include "dialects/ingot/ir/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

using Elements = std::optional<std::vector<double>>;
using Positions = std::vector<int64_t>;

static SmallVector<int64_t> rowMajorSteps(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> steps(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    steps[i - 1] = steps[i] * shape[i];
  return steps;
}

namespace {

struct Evaluator {
  const Positions &positions;

  Elements operator()(ConstantOp op) const {
    auto constant = dyn_cast<DenseElementsAttr>(op.getValue());
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

  Elements operator()(IotaOp op) const {
    ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
    int64_t step = rowMajorSteps(shape)[op.getDim()];
    std::vector<double> result;
    for (int64_t position : positions)
      result.push_back(
          static_cast<double>(position / step % shape[op.getDim()]));
    return result;
  }

  /// Elements of the operand, whose dimension i is dimension `dims[i]` of the
  /// result from `starts[i]` on with step `strides[i]`.
  Elements move(Operation *op, ArrayRef<int64_t> dims,
                ArrayRef<int64_t> starts = {},
                ArrayRef<int64_t> strides = {}) const {
    ArrayRef<int64_t> from = tensorType(op->getOperand(0)).getShape();
    ArrayRef<int64_t> to = tensorType(op->getResult(0)).getShape();
    SmallVector<int64_t> fromSteps = rowMajorSteps(from);
    SmallVector<int64_t> toSteps = rowMajorSteps(to);
    Positions moved;
    moved.reserve(positions.size());
    for (int64_t position : positions) {
      int64_t at = 0;
      for (auto [i, dim] : llvm::enumerate(dims)) {
        int64_t index = from[i] == 1 && to[dim] != 1
                            ? 0
                            : position / toSteps[dim] % to[dim];
        if (!starts.empty())
          index = starts[i] + index * strides[i];
        at += index * fromSteps[i];
      }
      moved.push_back(at);
    }
    return knownElements(op->getOperand(0), moved);
  }
  Elements operator()(BroadcastOp op) const { return move(op, op.getDims()); }
  Elements operator()(SliceOp op) const {
    return move(op,
                llvm::to_vector(llvm::seq<int64_t>(0, op.getStarts().size())),
                op.getStarts(), op.getStrides());
  }
  Elements operator()(TransposeOp op) const {
    SmallVector<int64_t> dims(op.getPermutation().size());
    for (auto [to, from] : llvm::enumerate(op.getPermutation()))
      dims[from] = to;
    return move(op, dims);
  }
  Elements operator()(ReshapeOp op) const {
    return knownElements(op.getOperand(), positions);
  }

  template <typename Function>
  Elements map(Operation *op, Function function) const {
    Elements a = knownElements(op->getOperand(0), positions);
    Elements b = a && op->getNumOperands() > 1
                     ? knownElements(op->getOperand(1), positions)
                     : a;
    if (!a || !b)
      return std::nullopt;
    for (size_t i = 0; i < a->size(); ++i)
      (*a)[i] = function((*a)[i], (*b)[i]);
    return a;
  }
  Elements operator()(CompareOp op) const {
    return map(op, [&](double a, double b) -> double {
      switch (op.getPredicate()) {
      case Predicate::EQ:
        return a == b;
      case Predicate::NE:
        return a != b;
      case Predicate::LT:
        return a < b;
      case Predicate::LE:
        return a <= b;
      case Predicate::GT:
        return a > b;
      case Predicate::GE:
        return a >= b;
      }
      return 0;
    });
  }
  Elements operator()(AndOp op) const {
    return map(op, [](double a, double b) { return a * b; });
  }
  Elements operator()(OrOp op) const {
    return map(op, [](double a, double b) { return std::fmax(a, b); });
  }
  Elements operator()(NotOp op) const {
    return map(op, [](double a, double) { return 1 - a; });
  }
  Elements operator()(AddOp op) const {
    return map(op, [](double a, double b) { return a + b; });
  }
  Elements operator()(SubOp op) const {
    return map(op, [](double a, double b) { return a - b; });
  }
  /// Between booleans and numbers, and numbers that both types hold.
  Elements operator()(CastOp op) const {
    Type element = op.getType().getElementType();
    return map(op, [&](double a, double) {
      return element.isInteger(1)      ? static_cast<double>(a != 0)
             : isa<FloatType>(element) ? a
                                       : std::trunc(a);
    });
  }
  Elements operator()(SelectOp op) const {
    Elements condition = knownElements(op.getOperand(0), positions);
    Elements a = knownElements(op.getOperand(1), positions);
    Elements b = knownElements(op.getOperand(2), positions);
    if (!condition || !a || !b)
      return std::nullopt;
    for (size_t i = 0; i < a->size(); ++i)
      (*a)[i] = (*condition)[i] != 0 ? (*a)[i] : (*b)[i];
    return a;
  }
};

} // namespace

Elements ingot::knownElements(Value value, const Positions &positions) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  return TypeSwitch<Operation *, Elements>(op)
      .Case<ConstantOp, IotaOp, BroadcastOp, SliceOp, TransposeOp, ReshapeOp,
            CompareOp, AndOp, OrOp, NotOp, AddOp, SubOp, CastOp, SelectOp>(
          Evaluator{positions})
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Window>
ingot::findWindow(Value pairs,
                  llvm::function_ref<std::optional<bool>(double)> isInside) {
  RankedTensorType type = tensorType(pairs);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  if (type.getNumElements() == 0)
    return std::nullopt;
  // The smallest window that holds all pairs inside, and how many these are: it
  // is the window if it holds no more.
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
  Window window{left >= queries - 1 ? -1 : left,
                right >= keys - 1 ? -1 : right};
  AttentionSizes sizes = {1, 1, 1, queries, keys, 1, 1};
  if (sizes.window(window.left, window.right).pairs != count)
    return std::nullopt;
  return window;
}
