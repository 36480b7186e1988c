// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification and cost of attention; constraints are those of
// docs/spec/attention.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Verification.h"
#include "runtime/abi/Abi.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

AttentionSizes AttentionSizes::of(Value query, Value key, Value value) {
  ArrayRef<int64_t> q = tensorType(query).getShape();
  ArrayRef<int64_t> k = tensorType(key).getShape();
  return {q[0], q[2], k[2], q[1], k[1], q[3], tensorType(value).getDimSize(3)};
}

AttentionSizes AttentionSizes::ofPacked(Value packed, int64_t keyHeads) {
  ArrayRef<int64_t> s = tensorType(packed).getShape();
  return {s[0], s[2] - 2 * keyHeads, keyHeads, s[1], s[1], s[3], s[3]};
}

bool AttentionSizes::packsAligned(Type element) const {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return heads * size * bytes % INGOT_ALIGNMENT == 0 &&
         keyHeads * size * bytes % INGOT_ALIGNMENT == 0;
}

AttentionSizes::Window AttentionSizes::window(int64_t left,
                                              int64_t right) const {
  Window window = {0, keys};
  for (int64_t query = 0; query < queries; ++query) {
    int64_t first = left < 0 ? 0 : std::max<int64_t>(0, query - left);
    int64_t last = right < 0 ? keys : std::min(keys, query + right + 1);
    int64_t count = std::max<int64_t>(0, last - first);
    window.pairs += count;
    window.fewest = std::min(window.fewest, count);
  }
  return window;
}

/// Checks the constraints that all attention ops share.
template <typename Op> static LogicalResult checkPairs(Op op) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  AttentionSizes s = op.getSizes();
  if (s.keyHeads < 1 || s.heads < 0 || s.heads % s.keyHeads != 0)
    return fail("C3: heads must be a multiple of key heads, got " +
                Twine(s.heads) + " and " + Twine(s.keyHeads));
  int64_t sizes[] = {s.batch, s.heads, s.queries, s.keys};
  for (auto [name, value] : {std::pair<StringRef, Value>{"bias", op.getBias()},
                             {"mask", op.getMask()}}) {
    if (!value)
      continue;
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    bool fits = shape.size() == 4 && shape[3] == s.keys;
    for (size_t i = 0; fits && i < 3; ++i)
      fits = shape[i] == 1 || shape[i] == sizes[i];
    if (!fits)
      return fail("C4: the " + name + " must have shape " + listText(sizes) +
                  ", with 1 for any dimension but the last, got " +
                  listText(shape));
  }
  if (!std::isfinite(op.getScale().convertToDouble()))
    return fail("C5: the scale must be finite");
  auto left = static_cast<int64_t>(op.getLeft());
  auto right = static_cast<int64_t>(op.getRight());
  if (left < -1 || right < -1)
    return fail("C5: bounds must be at least -1, got " + Twine(left) + " and " +
                Twine(right));
  if (op.getLengths() &&
      failed(checkShape(fail, "C7", "the lengths", {s.batch},
                        tensorType(op.getLengths()).getShape())))
    return failure();
  if (bool(op.getSeed()) != bool(op.getStep()))
    return fail("C8: dropout has a seed and a step");
  for (auto [name, value] : {std::pair<StringRef, Value>{"seed", op.getSeed()},
                             {"step", op.getStep()}})
    if (value &&
        failed(checkShape(fail, "C8", name, {}, tensorType(value).getShape())))
      return failure();
  double ratio = op.getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return op.emitOpError("C8: ratio must be at least 0 and below 1, got ")
           << ratio;
  if (ratio != 0 && !op.getSeed())
    return fail("C8: a ratio requires a seed");
  return success();
}

/// Checks the constraints of ops with separate queries, keys and values.
template <typename Op> static LogicalResult checkOperands(Op op) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  RankedTensorType q = tensorType(op.getQuery()), k = tensorType(op.getKey());
  RankedTensorType v = tensorType(op.getValue());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return fail("C1: query, key and value must have rank 4, got " +
                Twine(q.getRank()) + ", " + Twine(k.getRank()) + " and " +
                Twine(v.getRank()));
  AttentionSizes s = op.getSizes();
  if (failed(checkShape(fail, "C2", "the key",
                        {s.batch, s.keys, s.keyHeads, s.size}, k.getShape())) ||
      failed(checkShape(fail, "C2", "the value",
                        {s.batch, s.keys, s.keyHeads, s.valueSize},
                        v.getShape())) ||
      failed(checkElement(fail, "C2", "the key", q.getElementType(),
                          k.getElementType())) ||
      failed(checkElement(fail, "C2", "the value", q.getElementType(),
                          v.getElementType())))
    return failure();
  double softcap = op.getSoftcap().convertToDouble();
  if (!std::isfinite(softcap) || softcap < 0)
    return fail("C5: softcap must be finite and not negative");
  return checkPairs(op);
}

/// Checks the constraints of ops with a packed operand.
template <typename Op> static LogicalResult checkPacked(Op op) {
  int64_t rank = tensorType(op.getPacked()).getRank();
  if (rank != 4)
    return op.emitOpError("C1: packed must have rank 4, got ") << rank;
  return checkPairs(op);
}

/// Returns the type of lse: statistics of 16-bit tensors are f32.
template <typename Op> static RankedTensorType lseType(Op op) {
  AttentionSizes s = op.getSizes();
  auto element =
      cast<FloatType>(tensorType(op->getOperand(0)).getElementType());
  Type wide = element.getWidth() < 32 ? Float32Type::get(op.getContext())
                                      : Type(element);
  return RankedTensorType::get({s.batch, s.heads, s.queries}, wide);
}

template <typename Op> static RankedTensorType outputType(Op op) {
  AttentionSizes s = op.getSizes();
  return RankedTensorType::get({s.batch, s.queries, s.heads, s.valueSize},
                               tensorType(op->getOperand(0)).getElementType());
}

template <typename Op> static LogicalResult checkResults(Op op) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  if (failed(checkType(fail, "C6", "the result", outputType(op),
                       op.getResult().getType())))
    return failure();
  return checkType(fail, "C6", "lse", lseType(op), op.getLse().getType());
}

LogicalResult AttentionOp::verify() {
  return failed(checkOperands(*this)) ? failure() : checkResults(*this);
}

LogicalResult PackedAttentionOp::verify() {
  return failed(checkPacked(*this)) ? failure() : checkResults(*this);
}

namespace {
/// A value and the type that it must have.
struct TypeRule {
  StringRef what;
  RankedTensorType want;
  Value value;
};
} // namespace

static LogicalResult checkTypes(Operation *op, ArrayRef<TypeRule> rules) {
  auto fail = [&](const Twine &message) { return op->emitOpError(message); };
  for (const TypeRule &rule : rules)
    if (failed(
            checkType(fail, "C6", rule.what, rule.want, rule.value.getType())))
      return failure();
  return success();
}

LogicalResult AttentionGradOp::verify() {
  if (failed(checkOperands(*this)))
    return failure();
  return checkTypes(*this,
                    {{"output", outputType(*this), getOutput()},
                     {"lse", lseType(*this), getLse()},
                     {"the cotangent", outputType(*this), getCotangent()},
                     {"query_grad", tensorType(getQuery()), getQueryGrad()},
                     {"key_grad", tensorType(getKey()), getKeyGrad()},
                     {"value_grad", tensorType(getValue()), getValueGrad()}});
}

LogicalResult PackedAttentionGradOp::verify() {
  if (failed(checkPacked(*this)))
    return failure();
  return checkTypes(
      *this, {{"output", outputType(*this), getOutput()},
              {"lse", lseType(*this), getLse()},
              {"the cotangent", outputType(*this), getCotangent()},
              {"packed_grad", tensorType(getPacked()), getPackedGrad()}});
}

/// Two matmuls in the forward pass (scores and weighted values), five in the
/// backward pass.
template <typename Op> static int64_t countFlops(Op op, bool isGradient) {
  AttentionSizes s = op.getSizes();
  int64_t pairs = s.window(op.getLeft(), op.getRight()).pairs;
  int64_t columns =
      isGradient ? 3 * s.size + 2 * s.valueSize : s.size + s.valueSize;
  return 2 * s.batch * s.heads * pairs * columns;
}

int64_t AttentionOp::getFlops() { return countFlops(*this, false); }
int64_t AttentionGradOp::getFlops() { return countFlops(*this, true); }
int64_t PackedAttentionOp::getFlops() { return countFlops(*this, false); }
int64_t PackedAttentionGradOp::getFlops() { return countFlops(*this, true); }
