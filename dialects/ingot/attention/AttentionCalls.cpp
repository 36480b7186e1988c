// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library calls of attention.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

/// Elements from one batch, row and head to the next in a tensor of that shape.
static void setRowStrides(int64_t (&strides)[INGOT_ROW_STRIDES],
                          ArrayRef<int64_t> shape) {
  int64_t stride = shape.back();
  for (int i = INGOT_ROW_STRIDES; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

/// Sets the strides of a bias or a mask, which repeats along dimensions of size
/// 1, or is absent.
static void setPairStrides(int64_t (&strides)[INGOT_ROW_STRIDES], Value pairs) {
  if (!pairs)
    return;
  ArrayRef<int64_t> shape = tensorType(pairs).getShape();
  setRowStrides(strides, shape);
  for (int i = 0; i < INGOT_ROW_STRIDES; ++i)
    if (shape[i] == 1)
      strides[i] = 0;
}

/// Returns what does not depend on where queries, keys and values are.
template <typename Op>
static ingot_attention_desc describe(Op op, Value result) {
  AttentionSizes sizes = op.getSizes();
  ingot_attention_desc desc = {};
  desc.batch = sizes.batch;
  desc.heads = sizes.heads;
  desc.key_heads = sizes.keyHeads;
  desc.queries = sizes.queries;
  desc.keys = sizes.keys;
  desc.size = sizes.size;
  desc.value_size = sizes.valueSize;
  desc.left = static_cast<int64_t>(op.getLeft());
  desc.right = static_cast<int64_t>(op.getRight());
  desc.scale = op.getScale().convertToDouble();
  desc.ratio = op.getRatio().convertToDouble();
  setRowStrides(desc.result_strides, tensorType(result).getShape());
  setPairStrides(desc.bias_strides, op.getBias());
  setPairStrides(desc.mask_strides, op.getMask());
  desc.type = getAbiType(getElementTypeOrSelf(op->getOperand(0)));
  desc.stream = static_cast<int32_t>(op.getStream());
  return desc;
}

template <typename Op>
static ingot_attention_desc describeSeparate(Op op, Value result) {
  ingot_attention_desc desc = describe(op, result);
  setRowStrides(desc.query_strides, op.getQuery().getType().getShape());
  setRowStrides(desc.key_strides, op.getKey().getType().getShape());
  setRowStrides(desc.value_strides, op.getValue().getType().getShape());
  return desc;
}

template <typename Op>
static ingot_attention_desc describePacked(Op op, Value result) {
  ingot_attention_desc desc = describe(op, result);
  for (auto *strides :
       {&desc.query_strides, &desc.key_strides, &desc.value_strides})
    setRowStrides(*strides, op.getPacked().getType().getShape());
  return desc;
}

/// Queries, keys and values, or their gradients, within a packed tensor.
template <typename Op>
static void appendParts(Op op, Value packed,
                        SmallVectorImpl<CallBuffer> &buffers) {
  RankedTensorType type = tensorType(packed);
  int64_t strides[INGOT_ROW_STRIDES];
  setRowStrides(strides, type.getShape());
  AttentionSizes sizes = op.getSizes();
  int64_t counts[] = {sizes.heads, sizes.keyHeads, sizes.keyHeads};
  for (auto [first, heads] : llvm::zip_equal(op.getFirstHeads(), counts)) {
    CallBuffer part{packed, first * strides[2]};
    part.shape.assign(type.getShape().begin(), type.getShape().end());
    part.shape[2] = heads;
    part.strides.assign(std::begin(strides), std::end(strides));
    part.strides.push_back(1);
    buffers.push_back(part);
  }
}

template <typename Op>
static void appendOptions(Op op, SmallVectorImpl<CallBuffer> &buffers) {
  for (Value option :
       SmallVector<Value>{op.getBias(), op.getMask(), op.getLengths(),
                          op.getSeed(), op.getStep()})
    buffers.push_back({option});
}

StringRef AttentionOp::getEntry() { return "ingot_attention"; }
void AttentionOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describeSeparate(*this, getResult());
}
SmallVector<CallBuffer> AttentionOp::getCallBuffers() {
  SmallVector<CallBuffer> buffers = {{getQuery()}, {getKey()}, {getValue()}};
  appendOptions(*this, buffers);
  buffers.push_back({getResult()});
  buffers.push_back({getLse()});
  return buffers;
}

StringRef AttentionGradOp::getEntry() { return "ingot_attention_grad"; }
void AttentionGradOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describeSeparate(*this, getOutput());
}
SmallVector<CallBuffer> AttentionGradOp::getCallBuffers() {
  SmallVector<CallBuffer> buffers = {{getQuery()}, {getKey()},
                                     {getValue()}, {getOutput()},
                                     {getLse()},   {getCotangent()}};
  appendOptions(*this, buffers);
  for (Value gradient : getResults())
    buffers.push_back({gradient});
  return buffers;
}

StringRef PackedAttentionOp::getEntry() { return "ingot_attention"; }
void PackedAttentionOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describePacked(*this, getResult());
}
SmallVector<CallBuffer> PackedAttentionOp::getCallBuffers() {
  SmallVector<CallBuffer> buffers;
  appendParts(*this, getPacked(), buffers);
  appendOptions(*this, buffers);
  buffers.push_back({getResult()});
  buffers.push_back({getLse()});
  return buffers;
}

StringRef PackedAttentionGradOp::getEntry() { return "ingot_attention_grad"; }
void PackedAttentionGradOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describePacked(*this, getOutput());
}
SmallVector<CallBuffer> PackedAttentionGradOp::getCallBuffers() {
  SmallVector<CallBuffer> buffers;
  appendParts(*this, getPacked(), buffers);
  for (Value value : SmallVector<Value>{getOutput(), getLse(), getCotangent()})
    buffers.push_back({value});
  appendOptions(*this, buffers);
  appendParts(*this, getPackedGrad(), buffers);
  return buffers;
}
