//===----------------------------------------------------------------------===//
//
// Calls that ranks make together, and what goes with them.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

#define INGOT_BUCKET(OP, ENTRY, DEFERRED)                                      \
  StringRef OP::getEntryPoint() { return ENTRY; }                              \
  StringRef OP::getCallKind() { return "collective"; }                         \
  int64_t OP::getCallFlops() { return 0; }                                     \
  int64_t OP::getCallBytes() { return bufferBytes(getBucket()); }              \
  SmallVector<Field> OP::getDescriptor(int64_t index) {                        \
    return {{8, getBucket().getType().getNumElements()},                       \
            {4, dtypeOf(getBucket())},                                         \
            {4, static_cast<int64_t>(getNumber())},                            \
            {4, static_cast<int64_t>(getCode())},                              \
            {4, DEFERRED},                                                     \
            {8, static_cast<int64_t>(getKept())},                              \
            {8, index}};                                                       \
  }                                                                            \
  /* Reads and writes: what is in flight is neither before nor after. */       \
  void OP::getEffects(Effects &effects) {                                      \
    addEffects(*this, 1, effects);                                             \
    addEffects(*this, 0, effects);                                             \
  }

INGOT_BUCKET(exec::AllReduceStartOp, "ingot_all_reduce_start", 0)
INGOT_BUCKET(exec::AllReduceWaitOp, "ingot_all_reduce_wait", 0)
INGOT_BUCKET(exec::ReduceScatterStartOp, "ingot_reduce_scatter_start", 0)
INGOT_BUCKET(exec::ReduceScatterWaitOp, "ingot_reduce_scatter_wait", 0)
INGOT_BUCKET(exec::AllGatherStartOp, "ingot_all_gather_start", getDeferred())
INGOT_BUCKET(exec::AllGatherWaitOp, "ingot_all_gather_wait", 0)

/// Bytes of one rank's message.
static int64_t messageBytes(Value messages) {
  auto type = cast<MemRefType>(messages.getType());
  return bufferBytes(messages) / type.getDimSize(0);
}

#define INGOT_MESSAGES(OP, ENTRY)                                              \
  StringRef OP::getEntryPoint() { return ENTRY; }                              \
  StringRef OP::getCallKind() { return "collective"; }                         \
  int64_t OP::getCallFlops() { return 0; }                                     \
  int64_t OP::getCallBytes() { return messageBytes(getMessages()); }           \
  SmallVector<Field> OP::getDescriptor(int64_t index) {                        \
    return {{8, messageBytes(getMessages())},                                  \
            {4, static_cast<int64_t>(getNumber())},                            \
            {4, 0},                                                            \
            {8, index}};                                                       \
  }                                                                            \
  void OP::getEffects(Effects &effects) {                                      \
    addEffects(*this, (*this)->getNumOperands(), effects);                     \
    addEffects(*this, 0, effects);                                             \
  }

INGOT_MESSAGES(exec::GatherMessagesStartOp, "ingot_gather_messages_start")
INGOT_MESSAGES(exec::GatherMessagesWaitOp, "ingot_gather_messages_wait")

StringRef exec::CompressOp::getEntryPoint() { return "ingot_compress"; }
StringRef exec::CompressOp::getCallKind() { return "compression"; }
int64_t exec::CompressOp::getCallFlops() {
  return 2 * cast<MemRefType>(getInput().getType()).getNumElements();
}
int64_t exec::CompressOp::getCallBytes() { return bufferBytes(getOperands()); }
SmallVector<Field> exec::CompressOp::getDescriptor(int64_t index) {
  return {{8, cast<MemRefType>(getInput().getType()).getNumElements()},
          {4, static_cast<int64_t>(getCode())},
          {4, 0},
          {8, static_cast<int64_t>(getKept())},
          {8, index}};
}
void exec::CompressOp::getEffects(Effects &effects) {
  addEffects(*this, 1, effects);
}

StringRef exec::ShardSquareSumOp::getEntryPoint() {
  return "ingot_shard_square_sum";
}
StringRef exec::ShardSquareSumOp::getCallKind() { return "reduction"; }
int64_t exec::ShardSquareSumOp::getCallFlops() {
  return 2 * cast<MemRefType>(getInput().getType()).getNumElements();
}
int64_t exec::ShardSquareSumOp::getCallBytes() {
  return bufferBytes(getOperands());
}
SmallVector<Field> exec::ShardSquareSumOp::getDescriptor(int64_t index) {
  return {{8, cast<MemRefType>(getInput().getType()).getNumElements()},
          {4, dtypeOf(getInput())},
          {4, 0},
          {8, static_cast<int64_t>(getFirst())},
          {8, static_cast<int64_t>(getOf())},
          {8, index}};
}
void exec::ShardSquareSumOp::getEffects(Effects &effects) {
  addEffects(*this, 1, effects);
}
