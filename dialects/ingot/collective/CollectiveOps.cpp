//===----------------------------------------------------------------------===//
//
// Verification of collectives; constraints are those of
// docs/spec/collective.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/ir/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

BucketLayout BucketLayout::of(TypeRange parts) {
  BucketLayout layout;
  for (Type type : parts) {
    auto part = cast<RankedTensorType>(type);
    int64_t size = part.getElementTypeBitWidth() / 8;
    layout.elements = llvm::alignTo(layout.elements, kAlignment / size);
    layout.offsets.push_back(layout.elements);
    layout.elements += part.getNumElements();
  }
  return layout;
}

/// The rules that both ends of a bucket have in common.
static LogicalResult checkBucket(Operation *op, Value bucket,
                                 ValueRange parts) {
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
  int64_t elements = BucketLayout::of(parts.getTypes()).elements;
  if (elements != whole.getNumElements())
    return op->emitOpError("C3: the bucket must have as many elements as its "
                           "parts take, ")
           << elements << ", got " << whole.getNumElements();
  return success();
}

LogicalResult AllReduceStartOp::verify() {
  if (failed(checkBucket(*this, getBucket(), getParts())))
    return failure();
  if (!llvm::all_of(getBucket().getUsers(),
                    [](Operation *user) { return isa<AllReduceWaitOp>(user); }))
    return emitOpError("C4: nothing but all_reduce_wait may use the bucket");
  return success();
}

LogicalResult AllReduceWaitOp::verify() {
  if (failed(checkBucket(*this, getBucket(), getParts())))
    return failure();
  if (!getBucket().getDefiningOp<AllReduceStartOp>())
    return emitOpError("C5: the bucket must come from all_reduce_start");
  return success();
}
