// SPDX-License-Identifier: Apache-2.0

// Rotary embeddings, of ONNX and of ONNX Runtime, whose inputs come in another
// order.

#include "frontends/onnx/ops/runtime/Compose.h"
#include "frontends/onnx/ops/runtime/Runtime.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

FailureOr<Value> onnx_import::rotate(Node &node, Value heads, Value cosines,
                                     Value sines, Value positions,
                                     bool interleaved) {
  Shape shape(tensorType(heads).getShape());
  Type element = tensorType(heads).getElementType();
  int64_t half = tensorType(cosines).getShape().back();
  int64_t turned = 2 * half;
  auto angles = [&](Value cache) -> FailureOr<Value> {
    if (positions) {
      FailureOr<SmallVector<Value>> rows =
          Standard("Gather")
              .set("axis", int64_t(0))
              .import(node, {cache, positions});
      if (failed(rows))
        return failure();
      cache = rows->front();
    }
    ArrayRef<int64_t> own = tensorType(cache).getShape();
    if (own.size() != 3 || (own[0] != shape[0] && own[0] != 1) ||
        own[1] != shape[1] || own[2] != half || turned > shape[3])
      return node.malformed("angles of shape " + shapeText(own) +
                            " for heads of shape " + shapeText(shape));
    Value row = node.reshape(cache, {own[0], own[1], 1, half});
    return node.broadcast(node.cast(row, element),
                          {shape[0], shape[1], shape[2], half});
  };
  FailureOr<Value> c = angles(cosines), s = angles(sines);
  if (failed(c) || failed(s))
    return failure();
  Value x = interleaved ? node.sliceDim(heads, 3, 0, turned, 2)
                        : node.sliceDim(heads, 3, 0, half);
  Value y = interleaved ? node.sliceDim(heads, 3, 1, turned, 2)
                        : node.sliceDim(heads, 3, half, turned);
  Value real =
      node.binary<SubOp>(node.binary<MulOp>(*c, x), node.binary<MulOp>(*s, y));
  Value imaginary =
      node.binary<AddOp>(node.binary<MulOp>(*s, x), node.binary<MulOp>(*c, y));
  Shape pairs = {shape[0], shape[1], shape[2], half, 1};
  Value result =
      interleaved ? node.reshape(node.concat({node.reshape(real, pairs),
                                              node.reshape(imaginary, pairs)},
                                             4),
                                 {shape[0], shape[1], shape[2], turned})
                  : node.concat({real, imaginary}, 3);
  if (turned == shape[3])
    return result;
  return node.concat({result, node.sliceDim(heads, 3, turned, shape[3])}, 3);
}

Value onnx_import::countPositions(Node &node, int64_t batch, int64_t sequence) {
  return node.iota({batch, sequence}, node.b.getI64Type(), 1);
}

/// Imports the rotation of input 0, whose heads are a dimension of their own or
/// merged with their elements. Without positions, caches are of each token.
static LogicalResult importRotation(Node &node, size_t cosines, size_t sines,
                                    Value positions, int64_t batch,
                                    int64_t sequence) {
  int64_t turned = node.intAttr("rotary_embedding_dim", 0);
  int64_t half = node.rank(cosines) ? node.shape(cosines).back() : 0;
  if (node.type(cosines) != node.type(sines) || half < 1 ||
      (turned && turned != 2 * half))
    return node.malformed("caches of shapes " + shapeText(node.shape(cosines)) +
                          " and " + shapeText(node.shape(sines)));
  Value heads = node.in(0);
  if (node.rank(0) == 4) {
    heads = node.transpose(heads, {0, 2, 1, 3});
  } else {
    int64_t size = node.shape(0)[2], count = node.intAttr("num_heads", 0);
    if (count == 0)
      count = size / (2 * half);
    if (count < 1 || size % count)
      return node.malformed(Twine(count) + " heads for shape " +
                            shapeText(node.shape(0)));
    heads = node.reshape(heads, {batch, sequence, count, size / count});
  }
  FailureOr<Value> result =
      rotate(node, heads, node.in(cosines), node.in(sines), positions,
             node.intAttr("interleaved", 0));
  if (failed(result))
    return failure();
  return node.result(node.rank(0) == 4 ? node.transpose(*result, {0, 2, 1, 3})
                                       : node.reshape(*result, node.shape(0)));
}

/// Fails unless input 0 is [batch, sequence, elements] or [batch, heads,
/// sequence, elements].
static LogicalResult readSizes(Node &node, int64_t &batch, int64_t &sequence) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) != 3 && node.rank(0) != 4)
    return node.malformed("an input of shape " + shapeText(node.shape(0)));
  batch = node.shape(0)[0];
  sequence = node.shape(0)[node.rank(0) - 2];
  return success();
}

static LogicalResult importStandardRotation(Node &node) {
  int64_t batch, sequence;
  if (failed(readSizes(node, batch, sequence)))
    return failure();
  return importRotation(node, 1, 2, node.in(3), batch, sequence);
}

static LogicalResult importRuntimeRotation(Node &node) {
  int64_t batch, sequence;
  if (failed(readSizes(node, batch, sequence)))
    return failure();
  if (node.intAttr("is_packed_batching", 0))
    return node.unsupported("is_packed_batching");
  if (node.floatAttr("scale", 1.0) != 1.0)
    return node.unsupported("a scale");
  Value positions = node.in(1);
  // One position is that of the first token.
  if (node.rank(1) < 2 && node.type(1).getNumElements() == 1) {
    Value offset = node.cast(node.reshape(positions, {}), node.b.getI64Type());
    Value count = countPositions(node, batch, sequence);
    positions =
        node.binary<AddOp>(count, node.broadcast(offset, {batch, sequence}));
  }
  return importRotation(node, 2, 3, positions, batch, sequence);
}

void onnx_import::registerRotaryEmbedding(Registry &registry) {
  registry.add("RotaryEmbedding", importStandardRotation);
  registry.add("com.microsoft::RotaryEmbedding", importRuntimeRotation);
  registry.require("com.microsoft::RotaryEmbedding", 4);
}
