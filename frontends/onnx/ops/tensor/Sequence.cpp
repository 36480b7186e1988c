// SPDX-License-Identifier: Apache-2.0

// Sequences of tensors whose length is known: they exist only while the graph
// is imported.

#include "frontends/onnx/model/Node.h"
#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static FailureOr<ArrayRef<Value>> sequence(Node &node, size_t i) {
  const Binding *binding = node.binding(i);
  if (!binding || !binding->sequence)
    return node.malformed("input " + Twine(i) + " is not a sequence");
  return ArrayRef<Value>(*binding->sequence);
}

/// Each tensor of a sequence becomes ops of its own; real models have some
/// dozens.
static constexpr int64_t kMaxSequence = 4096;

static LogicalResult failLength(Node &node, int64_t length) {
  return node.fail("SplitToSequence: " + Twine(length) +
                       " parts are more than the " + Twine(kMaxSequence) +
                       " that a sequence may have",
                   "split into larger parts, or keep the tensor whole");
}

static LogicalResult importSplitToSequence(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = node.shape(0)[*dim];
  Shape sizes;
  bool drop = false;
  if (!node.has(1)) {
    if (size > kMaxSequence)
      return failLength(node, size);
    sizes.assign(size, 1);
    drop = !node.intAttr("keepdims", 1);
  } else {
    FailureOr<Shape> given = node.constantInts(1, "the sizes");
    if (failed(given))
      return failure();
    if (node.rank(1) == 0) {
      int64_t each = given->front();
      if (each < 1)
        return node.malformed("parts of size " + Twine(each));
      if ((size - 1) / each >= kMaxSequence)
        return failLength(node, (size - 1) / each + 1);
      for (int64_t start = 0; start < size; start += each)
        sizes.push_back(std::min(each, size - start));
    } else {
      sizes = *given;
      if (static_cast<int64_t>(sizes.size()) > kMaxSequence)
        return failLength(node, static_cast<int64_t>(sizes.size()));
    }
  }
  SmallVector<Value> parts;
  int64_t start = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - start)
      return node.malformed("sizes " + shapeText(sizes) +
                            " of a dimension of " + Twine(size));
    Value value = node.sliceDim(node.in(0), *dim, start, start + part);
    if (drop) {
      Shape shape(tensorType(value).getShape());
      shape.erase(shape.begin() + *dim);
      value = node.reshape(value, shape);
    }
    parts.push_back(value);
    start += part;
  }
  if (start != size)
    return node.malformed("sizes " + shapeText(sizes) + " of a dimension of " +
                          Twine(size));
  node.setSequence(0, std::move(parts));
  return success();
}

static LogicalResult importSequenceConstruct(Node &node) {
  FailureOr<SmallVector<Value>> values = node.allInputs();
  if (failed(values))
    return failure();
  node.setSequence(0, std::move(*values));
  return success();
}

/// Returns a position in a sequence, from a constant that may count from the
/// end. `past` is 1 where the position behind the last element is one, too.
static FailureOr<int64_t> position(Node &node, size_t input, size_t length,
                                   int64_t past) {
  FailureOr<double> given = node.constantScalar(input, "the position");
  if (failed(given))
    return failure();
  auto size = static_cast<int64_t>(length);
  auto index = static_cast<int64_t>(*given);
  if (index < -size || index >= size + past)
    return node.malformed("position " + Twine(index) + " in a sequence of " +
                          Twine(size));
  return index < 0 ? index + size : index;
}

static LogicalResult importSequenceAt(Node &node) {
  FailureOr<ArrayRef<Value>> values = sequence(node, 0);
  if (failed(values))
    return failure();
  FailureOr<int64_t> at = position(node, 1, values->size(), /*past=*/0);
  if (failed(at))
    return failure();
  return node.result((*values)[*at]);
}

static LogicalResult importSequenceEmpty(Node &node) {
  node.setSequence(0, {});
  return success();
}

static LogicalResult importSequenceInsert(Node &node) {
  FailureOr<ArrayRef<Value>> values = sequence(node, 0);
  if (failed(values))
    return failure();
  SmallVector<Value> longer(*values);
  FailureOr<int64_t> at = longer.size();
  if (node.has(2))
    at = position(node, 2, longer.size(), /*past=*/1);
  if (failed(at))
    return failure();
  if (!node.in(1))
    return node.malformed("what is inserted is not a tensor");
  longer.insert(longer.begin() + *at, node.in(1));
  node.setSequence(0, std::move(longer));
  return success();
}

static LogicalResult importSequenceErase(Node &node) {
  FailureOr<ArrayRef<Value>> values = sequence(node, 0);
  if (failed(values))
    return failure();
  SmallVector<Value> shorter(*values);
  if (shorter.empty())
    return node.malformed("the sequence is empty");
  FailureOr<int64_t> at = shorter.size() - 1;
  if (node.has(1))
    at = position(node, 1, shorter.size(), /*past=*/0);
  if (failed(at))
    return failure();
  shorter.erase(shorter.begin() + *at);
  node.setSequence(0, std::move(shorter));
  return success();
}

//===----------------------------------------------------------------------===//
// Optional values, of which it is known whether they are there
//===----------------------------------------------------------------------===//

static bool isAbsent(Node &node) {
  return !node.has(0) || node.binding(0)->isAbsent;
}

static LogicalResult importOptional(Node &node) {
  Binding value;
  value.isAbsent = true;
  node.setBinding(0, isAbsent(node) ? value : *node.binding(0));
  return success();
}

static LogicalResult importOptionalHasElement(Node &node) {
  return node.result(splat(node.b, node.loc,
                           RankedTensorType::get({}, node.b.getI1Type()),
                           isAbsent(node) ? 0.0 : 1.0));
}

static LogicalResult importOptionalGetElement(Node &node) {
  if (isAbsent(node))
    return node.malformed("the value is absent");
  node.setBinding(0, *node.binding(0));
  return success();
}

static LogicalResult importSequenceLength(Node &node) {
  FailureOr<ArrayRef<Value>> values = sequence(node, 0);
  if (failed(values))
    return failure();
  return node.result(node.reshape(
      node.constantInts({static_cast<int64_t>(values->size())}), {}));
}

static LogicalResult importConcatFromSequence(Node &node) {
  FailureOr<ArrayRef<Value>> values = sequence(node, 0);
  if (failed(values))
    return failure();
  if (values->empty())
    return node.malformed("the sequence is empty");
  bool stack = node.intAttr("new_axis", 0);
  RankedTensorType first = tensorType(values->front());
  FailureOr<int64_t> dim = node.normalizeAxis(
      node.intAttr("axis", 0), first.getRank() + (stack ? 1 : 0));
  if (failed(dim))
    return failure();
  SmallVector<Value> parts;
  for (Value value : *values) {
    RankedTensorType type = tensorType(value);
    bool fits = type.getRank() == first.getRank() &&
                type.getElementType() == first.getElementType();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = (!stack && i == *dim) || type.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return node.malformed("tensors " + shapeText(first.getShape()) + " and " +
                            shapeText(type.getShape()) +
                            " cannot be concatenated along dimension " +
                            Twine(*dim));
    if (stack) {
      Shape shape(type.getShape());
      shape.insert(shape.begin() + *dim, 1);
      value = node.reshape(value, shape);
    }
    parts.push_back(value);
  }
  return node.result(node.concat(parts, *dim));
}

void onnx_import::registerSequence(Registry &registry) {
  registry.add("SplitToSequence", importSplitToSequence);
  registry.add("SequenceConstruct", importSequenceConstruct);
  registry.add("SequenceEmpty", importSequenceEmpty);
  registry.add("SequenceInsert", importSequenceInsert);
  registry.add("SequenceErase", importSequenceErase);
  registry.add("Optional", importOptional);
  registry.add("OptionalHasElement", importOptionalHasElement);
  registry.add("OptionalGetElement", importOptionalGetElement);
  registry.add("SequenceAt", importSequenceAt);
  registry.add("SequenceLength", importSequenceLength);
  registry.add("ConcatFromSequence", importConcatFromSequence);
}
