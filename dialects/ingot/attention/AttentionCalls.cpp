//===----------------------------------------------------------------------===//
// The library calls of attention.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

template <typename Op> static ingot_attention_desc describe(Op op) {
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
  desc.type = getAbiType(getElementTypeOrSelf(op->getOperand(0)));
  desc.stream = static_cast<int32_t>(op.getStream());
  return desc;
}

#define INGOT_ATTENTION(OP, ENTRY)                                             \
  StringRef OP::getEntry() { return ENTRY; }                                   \
  void OP::describeCall(CallDescriptor &descriptor) {                          \
    descriptor.fields = describe(*this);                                       \
  }

INGOT_ATTENTION(AttentionOp, "ingot_attention")
INGOT_ATTENTION(PackedAttentionOp, "ingot_attention")
INGOT_ATTENTION(AttentionGradOp, "ingot_attention_grad")
INGOT_ATTENTION(PackedAttentionGradOp, "ingot_attention_grad")
