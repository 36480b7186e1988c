// SPDX-License-Identifier: Apache-2.0

#include "passes/verify/VerifySideRegions.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <deque>

using namespace mlir;
using namespace ingot;

namespace {

/// A part of a block of memory that a call reads or writes.
struct Access {
  exec::Space space;
  int64_t begin, end;
  bool isWritten;

  bool meets(const Access &other) const {
    return (isWritten || other.isWritten) && space == other.space &&
           begin < other.end && other.begin < end;
  }
};

/// The calls of a region.
struct SideCalls {
  int64_t number;
  SmallVector<std::pair<Operation *, Access>> accesses;
};

} // namespace

/// Returns the bytes from the first element of a buffer to its last one.
static int64_t countBytes(exec::BufferOp buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  // At the offset is an address.
  if (buffer.getSpace() == exec::Space::Shard)
    return sizeof(void *);
  if (type.getNumElements() == 0)
    return 0;
  int64_t offset = 0, last = 0;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return byteSize(type);
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    last += (size - 1) * stride;
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return (last + 1) * static_cast<int64_t>(llvm::divideCeil(bits, 8));
}

static SmallVector<Access> listAccesses(Operation *call) {
  SmallVector<Access> accesses;
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(call).getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    Value value = effect.getValue();
    auto buffer = value ? value.getDefiningOp<exec::BufferOp>() : nullptr;
    if (!buffer)
      continue;
    auto begin = static_cast<int64_t>(buffer.getOffset());
    accesses.push_back({buffer.getSpace(), begin, begin + countBytes(buffer),
                        isa<MemoryEffects::Write>(effect.getEffect())});
  }
  if (auto scratch = call->getAttrOfType<exec::ScratchAttr>("scratch"))
    accesses.push_back({exec::Space::Arena, scratch.getOffset(),
                        scratch.getOffset() + scratch.getBytes(),
                        /*isWritten=*/true});
  return accesses;
}

LogicalResult ingot::verifySideRegions(exec::StepOp step) {
  /// Regions that have not been waited for.
  std::deque<SideCalls> underWay;
  bool isInside = false;
  int64_t next = 0;
  for (auto call : step.getBody().front().getOps<exec::AbiCall>()) {
    auto getNumber = [&] {
      return call.getDescriptor(/*index=*/0).getInteger("number");
    };
    switch (call.getAbiEntry().phase) {
    case abi::Phase::SideStart:
      if (isInside || getNumber() != next)
        return call->emitOpError("starts a region out of order");
      isInside = true;
      underWay.push_back({next++, {}});
      continue;
    case abi::Phase::SideEnd:
      if (!isInside || getNumber() != underWay.back().number)
        return call->emitOpError("ends a region that has not started");
      isInside = false;
      continue;
    case abi::Phase::SideWait:
      if (isInside || getNumber() >= next)
        return call->emitOpError("waits for a region that has not ended");
      while (!underWay.empty() && underWay.front().number <= getNumber())
        underWay.pop_front();
      continue;
    case abi::Phase::Start:
    case abi::Phase::Wait:
      if (isInside)
        return call->emitOpError("is in flight by itself, in a region");
      break;
    case abi::Phase::Exchange:
    case abi::Phase::None:
      break;
    }
    SmallVector<Access> accesses = listAccesses(call);
    if (isInside) {
      for (const Access &access : accesses)
        underWay.back().accesses.push_back({call, access});
      continue;
    }
    for (const SideCalls &region : underWay)
      for (const auto &[other, taken] : region.accesses)
        for (const Access &access : accesses)
          if (access.meets(taken)) {
            InFlightDiagnostic error = call->emitOpError("touches bytes ")
                                       << access.begin << " to " << access.end
                                       << " of the "
                                       << exec::stringifySpace(access.space)
                                       << ", which a call beside it uses";
            error.attachNote(other->getLoc())
                << "the call in region " << region.number;
            return error;
          }
  }
  if (isInside || !underWay.empty())
    return step.emitOpError("does not wait for region ")
           << underWay.front().number;
  return success();
}
