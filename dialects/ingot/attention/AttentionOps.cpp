//===----------------------------------------------------------------------===//
//
// Verification and cost of attention; constraints are those of
// docs/spec/attention.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Builders.h"
#include "dialects/ingot/support/Verification.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

AttentionSizes AttentionSizes::of(Value query, Value key, Value value) {
  ArrayRef<int64_t> q = tensorType(query).getShape();
  ArrayRef<int64_t> k = tensorType(key).getShape();
  return {q[0], q[2], k[2], q[1], k[1], q[3], tensorType(value).getDimSize(3)};
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

bool AttentionSizes::fitDevice(int64_t left, int64_t right) const {
  auto fits = [](int64_t columns) {
    return columns > 0 && columns % 8 == 0 && columns <= 128;
  };
  bool knowsBounds = right == 0 || (right < 0 && left < 0);
  bool isEmpty = batch * heads * queries * keys == 0;
  return !isEmpty && fits(size) && fits(valueSize) && knowsBounds &&
         window(left, right).fewest > 0;
}

/// The rules that both ops have in common.
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
  if (s.keyHeads < 1 || s.heads % s.keyHeads != 0)
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
  double softcap = op.getSoftcap().convertToDouble();
  if (!std::isfinite(softcap) || softcap < 0)
    return fail("C5: softcap must be finite and not negative");
  auto left = static_cast<int64_t>(op.getLeft());
  auto right = static_cast<int64_t>(op.getRight());
  if (left < -1 || right < -1)
    return fail("C5: bounds must be at least -1, got " + Twine(left) + " and " +
                Twine(right));
  return success();
}

/// The type of lse: statistics of half precision are f32.
template <typename Op> static RankedTensorType lseType(Op op) {
  AttentionSizes s = op.getSizes();
  auto element = cast<FloatType>(tensorType(op.getQuery()).getElementType());
  Type wide = element.getWidth() < 32 ? Float32Type::get(op.getContext())
                                      : Type(element);
  return RankedTensorType::get({s.batch, s.heads, s.queries}, wide);
}

template <typename Op> static RankedTensorType outputType(Op op) {
  AttentionSizes s = op.getSizes();
  return RankedTensorType::get({s.batch, s.queries, s.heads, s.valueSize},
                               tensorType(op.getQuery()).getElementType());
}

LogicalResult AttentionOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  if (failed(checkOperands(*this)))
    return failure();
  if (failed(checkType(fail, "C6", "the result", outputType(*this),
                       getResult().getType())))
    return failure();
  return checkType(fail, "C6", "lse", lseType(*this), getLse().getType());
}

LogicalResult AttentionGradOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  if (failed(checkOperands(*this)))
    return failure();
  struct {
    StringRef what;
    RankedTensorType want;
    Value value;
  } rules[] = {{"output", outputType(*this), getOutput()},
               {"lse", lseType(*this), getLse()},
               {"the cotangent", outputType(*this), getCotangent()},
               {"query_grad", tensorType(getQuery()), getQueryGrad()},
               {"key_grad", tensorType(getKey()), getKeyGrad()},
               {"value_grad", tensorType(getValue()), getValueGrad()}};
  for (auto &rule : rules)
    if (failed(
            checkType(fail, "C6", rule.what, rule.want, rule.value.getType())))
      return failure();
  return success();
}

/// Two products forward (scores and mix); five back.
int64_t AttentionOp::getFlops() {
  AttentionSizes s = getSizes();
  int64_t pairs = s.window(getLeft(), getRight()).pairs;
  return 2 * s.batch * s.heads * pairs * (s.size + s.valueSize);
}

int64_t AttentionGradOp::getFlops() {
  AttentionSizes s = getSizes();
  int64_t pairs = s.window(getLeft(), getRight()).pairs;
  return 2 * s.batch * s.heads * pairs * (3 * s.size + 2 * s.valueSize);
}
