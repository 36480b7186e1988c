// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/emit/MessageExchange.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

MessageExchange::MessageExchange(ModuleOp module, gpu::GPUModuleOp device)
    : module(module), device(device) {
  constexpr int64_t addressBytes = sizeof(void *);
  for (auto state : module.getOps<StateOp>())
    if (state.getShard())
      if (auto offset = state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr))
        firstAddress = std::max(firstAddress, offset.getInt() + addressBytes);
}

/// Returns the bucket of an exchange.
static Value getBucket(exec::CallOp call) { return call.getBuffers().front(); }

const MessageExchange::Kernels &MessageExchange::getKernels(exec::CallOp call) {
  auto desc = call.getDesc().getDescriptor().get<ingot_bucket_desc>();
  auto [it, isNew] =
      kernels.try_emplace({desc.compression, desc.elements, desc.k});
  Kernels &found = it->second;
  if (!isNew)
    return found;
  DeviceMessages messages(device, call.getLoc(), desc.compression,
                          desc.elements, desc.k);
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

Value MessageExchange::getMessages(exec::CallOp call, OpBuilder &builder) {
  int64_t offset =
      firstAddress + static_cast<int64_t>(sizeof(void *)) *
                         places.lookup(call.getDesc().getInteger("number"));
  return exec::BufferOp::create(builder, call.getLoc(),
                                getKernels(call).messages, exec::Space::Shard,
                                offset);
}

/// Replaces one end of an exchange by a call.
static void createCall(OpBuilder &builder, exec::CallOp end, StringRef entry,
                       ArrayRef<Value> buffers, int64_t bytes) {
  ingot_message_desc desc = {};
  desc.axes = INGOT_DATA;
  desc.bytes = bytes;
  desc.number = static_cast<int32_t>(end.getDesc().getInteger("number"));
  exec::CallOp::create(builder, end.getLoc(), entry, buffers, desc, /*flops=*/0,
                       builder.getI64IntegerAttr(bytes));
}

LogicalResult MessageExchange::lowerStart(exec::CallOp start) {
  const Kernels &how = getKernels(start);
  size_t place = places.size();
  places[start.getDesc().getInteger("number")] = place;
  messageBytes.resize(std::max(messageBytes.size(), place + 1));
  messageBytes[place] = std::max(messageBytes[place], byteSize(how.message));

  OpBuilder builder(start);
  Location loc = start.getLoc();
  SmallVector<MemRefType> types = {how.message};
  if (how.counts)
    types.push_back(how.counts);
  auto buffers = carveScratch(builder, start, start.getScratchAttr(), types);
  if (failed(buffers))
    return failure();
  Value message = buffers->front();
  SmallVector<Value> inputs = {getBucket(start)};
  if (how.counts) {
    inputs.push_back(buffers->back());
    createLaunch(builder, loc, how.count, inputs.front(), inputs.back());
  }
  createLaunch(builder, loc, how.encode, inputs, message);
  createCall(builder, start, "ingot_gather_messages_start",
             {message, getMessages(start, builder)}, byteSize(how.message));
  start.erase();
  return success();
}

void MessageExchange::lowerWait(exec::CallOp wait) {
  const Kernels &how = getKernels(wait);
  OpBuilder builder(wait);
  Location loc = wait.getLoc();
  Value messages = getMessages(wait, builder);
  createCall(builder, wait, "ingot_gather_messages_wait", messages,
             byteSize(how.message));
  auto decode =
      createLaunch(builder, loc, how.decode, messages, getBucket(wait));
  decode.setExtent(INGOT_RANKS);
  // The bytes are those of one rank, because the number of ranks is not known.
  decode.setBytes(byteSize(how.message) +
                  byteSize(cast<MemRefType>(getBucket(wait).getType())));
  wait.erase();
}

LogicalResult MessageExchange::lower(exec::StepOp step) {
  places.clear();
  // Starts come before their waits.
  for (auto call : llvm::make_early_inc_range(
           step.getBody().front().getOps<exec::CallOp>())) {
    if (call.getDesc().getInteger("compression") == INGOT_UNCOMPRESSED)
      continue;
    if (call.getAbiEntry().phase == abi::Phase::Start) {
      if (failed(lowerStart(call)))
        return failure();
    } else if (call.getAbiEntry().phase == abi::Phase::Wait) {
      lowerWait(call);
    }
  }
  return success();
}

void MessageExchange::finish() {
  if (messageBytes.empty())
    return;
  Builder b(module.getContext());
  SmallVector<Attribute> described;
  for (auto [i, bytes] : llvm::enumerate(messageBytes))
    described.push_back(exec::MessageAttr::get(
        module.getContext(),
        firstAddress + static_cast<int64_t>(i * sizeof(void *)), bytes));
  module->setAttr(exec::kMessagesAttr, b.getArrayAttr(described));
}
