// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of collectives; constraints are those of
// docs/spec/collective.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

/// Returns the number of elements of a sharded bucket with padding: shards are
/// then equal, and one exchange, for each number of ranks that divides the
/// number of units. The padding is at most 1/64 of the bucket.
static int64_t padShards(int64_t elements, int64_t unit) {
  constexpr int64_t mostUnits = 192, leastUnits = 6, leastShare = 64;
  for (int64_t units = mostUnits; units >= leastUnits; units /= 2)
    if (int64_t multiple = units * unit; elements >= leastShare * multiple)
      return llvm::alignTo(elements, multiple);
  return elements;
}

BucketLayout BucketLayout::of(TypeRange parts, bool sharded) {
  BucketLayout layout;
  int64_t shardUnit = kShardElements;
  for (Type type : parts) {
    auto part = cast<RankedTensorType>(type);
    int64_t unit = kAlignment / (part.getElementTypeBitWidth() / 8);
    if (sharded)
      unit =
          part.getNumElements() < kLeastEncoded ? kShardElements : kShardBlock;
    shardUnit = std::max(shardUnit, unit);
    layout.elements = llvm::alignTo(layout.elements, unit);
    layout.offsets.push_back(layout.elements);
    layout.elements += part.getNumElements();
  }
  if (!sharded)
    return layout;
  if (shardUnit == kShardBlock)
    layout.elements = llvm::alignTo(layout.elements, kShardBlock);
  layout.elements = padShards(layout.elements, shardUnit);
  return layout;
}

BucketLayout BucketLayout::of(BucketEnd end) {
  return of(end.getParts().getTypes(), end.isSharded());
}

/// Returns the type of the bucket for the parts.
static RankedTensorType bucketType(ValueRange parts, bool sharded) {
  return RankedTensorType::get(
      {BucketLayout::of(parts.getTypes(), sharded).elements},
      tensorType(parts.front()).getElementType());
}

void AllReduceStartOp::build(OpBuilder &builder, OperationState &state,
                             ValueRange parts, bool blocking,
                             CompressionFormat compression, int64_t k,
                             ReductionKind kind) {
  build(builder, state, bucketType(parts, /*sharded=*/false), parts, blocking,
        compression, k, kind, /*axes=*/DenseI64ArrayAttr());
}
void ReduceScatterStartOp::build(OpBuilder &builder, OperationState &state,
                                 ValueRange parts) {
  build(builder, state, bucketType(parts, /*sharded=*/true), parts);
}
void AllGatherStartOp::build(OpBuilder &builder, OperationState &state,
                             ValueRange parts) {
  build(builder, state, bucketType(parts, /*sharded=*/true), parts);
}

/// Checks the constraints that both ends of a bucket share.
static LogicalResult checkBucket(BucketEnd op) {
  Value bucket = op.getBucket();
  ValueRange parts = op.getParts();
  RankedTensorType whole = tensorType(bucket);
  if (whole.getRank() != 1)
    return op->emitOpError("C1: the bucket must have rank 1, got ")
           << whole.getRank();
  for (Value part : parts)
    if (tensorType(part).getElementType() != whole.getElementType())
      return op->emitOpError("C2: parts and bucket must have one element type, "
                             "got ")
             << tensorType(part).getElementType() << " and "
             << whole.getElementType();
  int64_t elements = BucketLayout::of(op).elements;
  if (elements != whole.getNumElements())
    return op->emitOpError("C3: the bucket must have as many elements as its "
                           "parts take, ")
           << elements << ", got " << whole.getNumElements();
  return success();
}

template <typename Wait, typename Start>
static LogicalResult checkStart(Start op) {
  if (failed(checkBucket(op)))
    return failure();
  if (!llvm::all_of(op.getBucket().getUsers(),
                    [](Operation *user) { return isa<Wait>(user); }))
    return op.emitOpError("C4: only ")
           << Wait::getOperationName().substr(strlen("ingot."))
           << " may use the bucket";
  return success();
}

template <typename Start, typename Wait>
static LogicalResult checkWait(Wait op) {
  if (failed(checkBucket(op)))
    return failure();
  if (!op.getBucket().template getDefiningOp<Start>())
    return op.emitOpError("C5: the bucket must come from ")
           << Start::getOperationName().substr(strlen("ingot."));
  return success();
}

bool AllReduceStartOp::isBlocking() { return getBlocking(); }
bool AllReduceWaitOp::isBlocking() {
  auto start = getBucket().getDefiningOp<AllReduceStartOp>();
  return start && start.getBlocking();
}

SmallVector<Value> ingot::sumOverRanks(OpBuilder &builder, Location loc,
                                       ValueRange parts) {
  auto start = AllReduceStartOp::create(builder, loc, parts, /*blocking=*/true);
  return llvm::to_vector_of<Value>(
      AllReduceWaitOp::create(builder, loc, parts.getTypes(), start.getBucket())
          .getParts());
}

template <typename Op> static LogicalResult checkK(Op op, int64_t elements) {
  auto k = static_cast<int64_t>(op.getK());
  bool isFine = op.getCompression() == CompressionFormat::TopK
                    ? 0 < k && k <= elements && elements < (int64_t(1) << 32)
                    : k == 0;
  if (!isFine)
    return op.emitOpError("C10: topk keeps 1 to ")
           << elements << " elements, others none; got " << k;
  return success();
}

LogicalResult AllReduceStartOp::verify() {
  RankedTensorType bucket = tensorType(getBucket());
  if (failed(checkStart<AllReduceWaitOp>(*this)))
    return failure();
  if (getCompression() != CompressionFormat::None &&
      !bucket.getElementType().isF32())
    return emitOpError("C11: a compressed bucket must be f32, got ") << bucket;
  bool isPlain = getCompression() == CompressionFormat::None && !getBlocking();
  if (getKind() == ReductionKind::Prod ||
      (getKind() != ReductionKind::Sum && !isPlain))
    return emitOpError("C15: ranks exchange sums, and in the same way, but "
                       "neither compressed nor blocking, `max` and `min`; got ")
           << stringifyReductionKind(getKind());
  return checkK(*this, bucket.getNumElements());
}

LogicalResult CompressOp::verify() {
  if (getCompression() == CompressionFormat::None)
    return emitOpError("C14: `none` is no compression");
  return checkK(*this, tensorType(getInput()).getNumElements());
}

LogicalResult AllReduceWaitOp::verify() {
  return checkWait<AllReduceStartOp>(*this);
}
LogicalResult ReduceScatterStartOp::verify() {
  return checkStart<ReduceScatterWaitOp>(*this);
}
LogicalResult ReduceScatterWaitOp::verify() {
  return checkWait<ReduceScatterStartOp>(*this);
}
LogicalResult AllGatherStartOp::verify() {
  return checkStart<AllGatherWaitOp>(*this);
}
LogicalResult AllGatherWaitOp::verify() {
  return checkWait<AllGatherStartOp>(*this);
}

//===----------------------------------------------------------------------===//
// Buckets of states
//===----------------------------------------------------------------------===//

void StateGatherStartOp::build(OpBuilder &builder, OperationState &state,
                               ValueRange parts, int64_t bucket,
                               ArrayRef<int64_t> firsts, int64_t of) {
  build(builder, state, parts.getTypes(), parts, bucket, firsts, of);
}
void StateGatherWaitOp::build(OpBuilder &builder, OperationState &state,
                              ValueRange parts, int64_t bucket,
                              ArrayRef<int64_t> firsts, int64_t of) {
  build(builder, state, parts.getTypes(), parts, bucket, firsts, of);
}

template <typename Op> static LogicalResult checkStateGather(Op op) {
  if (op.getOperandTypes() != op.getResultTypes())
    return op.emitOpError("C12: results must have the operands' types, want ")
           << op.getOperandTypes() << ", got " << op.getResultTypes();
  if (op.getParts().size() != op.getFirsts().size() || op.getParts().empty())
    return op.emitOpError("C13: each part needs its offset in the bucket, got ")
           << op.getParts().size() << " parts and " << op.getFirsts().size()
           << " offsets";
  Type element = tensorType(op.getParts().front()).getElementType();
  auto of = static_cast<int64_t>(op.getOf());
  for (auto [part, first] : llvm::zip_equal(op.getParts(), op.getFirsts())) {
    RankedTensorType type = tensorType(part);
    if (type.getElementType() != element || first < 0 ||
        first % BucketLayout::kShardElements != 0 ||
        of < type.getNumElements() || first > of - type.getNumElements())
      return op.emitOpError("C13: parts must have one element type and lie "
                            "within their bucket, at multiples of ")
             << BucketLayout::kShardElements << ", got " << type << " at "
             << first << " of " << of;
  }
  return success();
}

LogicalResult StateGatherStartOp::verify() { return checkStateGather(*this); }
LogicalResult StateGatherWaitOp::verify() { return checkStateGather(*this); }

LogicalResult ShardSquareSumOp::verify() {
  auto first = static_cast<int64_t>(getFirst());
  auto of = static_cast<int64_t>(getOf());
  int64_t elements = tensorType(getInput()).getNumElements();
  if (first < 0 || first % BucketLayout::kShardElements != 0 || of < elements ||
      first > of - elements)
    return emitOpError(
               "C6: the tensor must lie within its bucket, at a multiple of ")
           << BucketLayout::kShardElements << ", got " << elements
           << " elements at " << first << " of " << of;
  if (tensorType(getResult()).getRank() != 0)
    return emitOpError("C7: the result must be a scalar");
  return success();
}
