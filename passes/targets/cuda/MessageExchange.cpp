#include "passes/targets/cuda/MessageExchange.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

MessageExchange::MessageExchange(ModuleOp module, gpu::GPUModuleOp device)
    : module(module), device(device) {
  constexpr int64_t addressBytes = sizeof(void *);
  for (auto state : module.getOps<StateOp>())
    if (state.getShard())
      if (auto offset = state->getAttrOfType<IntegerAttr>("exec.offset"))
        firstAddress = std::max(firstAddress, offset.getInt() + addressBytes);
}

template <typename Op>
const MessageExchange::Kernels &MessageExchange::getKernels(Op op) {
  int64_t elements =
      cast<MemRefType>(op.getBucket().getType()).getNumElements();
  auto code = static_cast<int64_t>(op.getCode());
  auto kept = static_cast<int64_t>(op.getKept());
  auto [it, isNew] = kernels.try_emplace({code, elements, kept});
  Kernels &found = it->second;
  if (!isNew)
    return found;
  DeviceMessages messages(device, op.getLoc(), static_cast<int32_t>(code),
                          elements, kept);
  std::string name = "message_" + std::to_string(kernels.size() - 1);
  found.message = messages.getMessageType();
  found.messages = messages.getMessagesType();
  found.counts = messages.getCountsType();
  if (found.counts)
    found.count = messages.emitCount(name + "_count");
  found.encode = messages.emitEncode(name + "_encode");
  found.decode = messages.emitDecode(name + "_decode");
  numKernels += found.counts ? 3 : 2;
  return found;
}

template <typename Op>
Value MessageExchange::getMessages(Op op, OpBuilder &builder) {
  int64_t offset = firstAddress + static_cast<int64_t>(sizeof(void *)) *
                                      places.lookup(op.getNumber());
  return exec::BufferOp::create(builder, op.getLoc(), getKernels(op).messages,
                                exec::Space::Shard, offset);
}

void MessageExchange::lower(exec::AllReduceStartOp start,
                            StepLaunches &launches) {
  const Kernels &how = getKernels(start);
  size_t place = places.size();
  places[start.getNumber()] = place;
  messageBytes.resize(std::max(messageBytes.size(), place + 1));
  messageBytes[place] = std::max(messageBytes[place], byteSize(how.message));

  OpBuilder builder(start);
  Location loc = start.getLoc();
  Value message = launches.reserve(builder, loc, how.message);
  SmallVector<Value> inputs = {start.getBucket()};
  if (how.counts) {
    inputs.push_back(launches.reserve(builder, loc, how.counts));
    StepLaunches::launch(builder, loc, how.count, inputs.front(),
                         inputs.back());
  }
  StepLaunches::launch(builder, loc, how.encode, inputs, message);
  exec::GatherMessagesStartOp::create(
      builder, loc, message, getMessages(start, builder), start.getNumber());
  start.erase();
}

void MessageExchange::lower(exec::AllReduceWaitOp wait) {
  const Kernels &how = getKernels(wait);
  OpBuilder builder(wait);
  Location loc = wait.getLoc();
  Value messages = getMessages(wait, builder);
  exec::GatherMessagesWaitOp::create(builder, loc, messages, wait.getNumber());
  auto decode = StepLaunches::launch(builder, loc, how.decode, messages,
                                     wait.getBucket());
  decode.setExtent(INGOT_RANKS);
  // Of one rank: how many there are is not known.
  decode.setBytes(byteSize(how.message) +
                  byteSize(cast<MemRefType>(wait.getBucket().getType())));
  wait.erase();
}

void MessageExchange::lower(func::FuncOp step, StepLaunches &launches) {
  places.clear();
  // Starts come before their waits.
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    if (auto start = dyn_cast<exec::AllReduceStartOp>(op);
        start && start.getCode() != INGOT_UNCOMPRESSED)
      lower(start, launches);
    if (auto wait = dyn_cast<exec::AllReduceWaitOp>(op);
        wait && wait.getCode() != INGOT_UNCOMPRESSED)
      lower(wait);
  }
}

void MessageExchange::finish() {
  if (messageBytes.empty())
    return;
  Builder b(module.getContext());
  SmallVector<Attribute> described;
  for (auto [i, bytes] : llvm::enumerate(messageBytes))
    described.push_back(b.getDenseI64ArrayAttr(
        {firstAddress + static_cast<int64_t>(i * sizeof(void *)), bytes}));
  module->setAttr("exec.messages", b.getArrayAttr(described));
}
