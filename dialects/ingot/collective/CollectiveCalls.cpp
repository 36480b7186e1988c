// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library calls of gradient exchange: both ends of a bucket, compression
// and the norm of shards.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

static_assert(static_cast<int>(CompressionFormat::None) == INGOT_UNCOMPRESSED &&
              static_cast<int>(CompressionFormat::Int8) == INGOT_INT8 &&
              static_cast<int>(CompressionFormat::TopK) == INGOT_TOPK);

static_assert(static_cast<int>(ReductionKind::Sum) == INGOT_SUM &&
              static_cast<int>(ReductionKind::Max) == INGOT_MAX &&
              static_cast<int>(ReductionKind::Min) == INGOT_MIN);

StringRef CompressOp::getEntry() { return "ingot_compress"; }

void CompressOp::describeCall(CallDescriptor &descriptor) {
  ingot_compress_desc desc = {};
  desc.elements = getInput().getType().getNumElements();
  desc.compression = static_cast<int32_t>(getCompression());
  desc.k = static_cast<int64_t>(getK());
  descriptor = desc;
}

StringRef ShardSquareSumOp::getEntry() { return "ingot_shard_square_sum"; }

void ShardSquareSumOp::describeCall(CallDescriptor &descriptor) {
  ingot_shard_desc desc = {};
  desc.elements = getInput().getType().getNumElements();
  desc.type = getAbiType(getInput().getType().getElementType());
  desc.shard_first = static_cast<int64_t>(getFirst());
  desc.shard_of = static_cast<int64_t>(getOf());
  descriptor = desc;
}

/// Returns the axes of a bucket's exchange as bits of ingot_axis.
static int32_t getAxes(Operation *op, AllReduceStartOp start) {
  Mesh mesh = Mesh::of(op);
  if (start && start.getAxes())
    return getAxisBits(*start.getAxes());
  if (isa<AllGatherStartOp, AllGatherWaitOp>(op))
    return getAxisBits(mesh.getShardAxis());
  return getAxisBits(mesh.getSampleAxes());
}

/// Describes a bucket; `start`, if it is not null, has the format of the
/// payload and how ranks combine theirs.
static ingot_bucket_desc describe(Operation *op, Value bucket,
                                  AllReduceStartOp start = {}) {
  RankedTensorType type = tensorType(bucket);
  ingot_bucket_desc desc = {};
  desc.axes = getAxes(op, start);
  desc.elements = type.getNumElements();
  desc.type = getAbiType(type.getElementType());
  if (start) {
    desc.compression = static_cast<int32_t>(start.getCompression());
    desc.k = static_cast<int64_t>(start.getK());
    desc.reduction = static_cast<int32_t>(start.getKind());
  }
  return desc;
}

StringRef AllReduceStartOp::getEntry() { return "ingot_all_reduce_start"; }
void AllReduceStartOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describe(*this, getBucket(), *this);
}
SmallVector<CallBuffer> AllReduceStartOp::getCallBuffers() {
  return {{getBucket()}};
}
StringRef AllReduceWaitOp::getEntry() { return "ingot_all_reduce_wait"; }
void AllReduceWaitOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describe(*this, getBucket(),
                        getBucket().getDefiningOp<AllReduceStartOp>());
}
SmallVector<CallBuffer> AllReduceWaitOp::getCallBuffers() {
  return {{getBucket()}};
}

#define INGOT_BUCKET(OP, ENTRY)                                                \
  StringRef OP::getEntry() { return ENTRY; }                                   \
  void OP::describeCall(CallDescriptor &descriptor) {                          \
    descriptor = describe(*this, getBucket());                                 \
  }                                                                            \
  SmallVector<CallBuffer> OP::getCallBuffers() { return {{getBucket()}}; }

INGOT_BUCKET(ReduceScatterStartOp, "ingot_reduce_scatter_start")
INGOT_BUCKET(ReduceScatterWaitOp, "ingot_reduce_scatter_wait")
INGOT_BUCKET(AllGatherStartOp, "ingot_all_gather_start")
INGOT_BUCKET(AllGatherWaitOp, "ingot_all_gather_wait")
