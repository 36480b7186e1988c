// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Trace.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Payload.h"
#include "runtime/abi/Shard.h"

using namespace mlir;
using namespace ingot;

static TraceItem readStart(exec::CallOp start) {
  auto desc = start.getDesc().getDescriptor().get<ingot_bucket_desc>();
  TraceItem item{TraceItem::Start};
  item.exchange = start.getAbiEntry().exchange;
  item.bytes = static_cast<double>(start.getCallBytes());
  item.number = desc.number;
  item.axes = desc.axes;
  if (desc.compression != INGOT_UNCOMPRESSED) {
    item.isCompressed = true;
    item.bytes = static_cast<double>(
        abi::getPayloadBytes(desc.compression, desc.elements, desc.k));
  }
  return item;
}

static TraceItem readExchange(exec::CallOp call, int64_t times) {
  auto desc = call.getDesc().getDescriptor().get<ingot_exchange_desc>();
  TraceItem item{TraceItem::Exchange};
  item.times = static_cast<double>(times);
  item.axes = desc.axes;
  item.exchange = call.getAbiEntry().exchange;
  // The larger of operand and result has a part for each rank, or is combined.
  for (Value buffer : call.getArgs())
    item.bytes = std::max(item.bytes, static_cast<double>(byteSize(
                                          cast<ShapedType>(buffer.getType()))));
  return item;
}

static std::vector<TraceItem> readStep(exec::StepOp step) {
  std::vector<TraceItem> items;
  int64_t region = -1;
  exec::forEachCall(step, [&](exec::AbiCall call, int64_t times) {
    switch (call.getAbiEntry().phase) {
    case abi::Phase::Start:
      items.push_back(readStart(cast<exec::CallOp>(call)));
      return;
    case abi::Phase::Wait:
      items.push_back({TraceItem::Wait});
      items.back().number =
          cast<exec::CallOp>(call).getDesc().getInteger("number");
      return;
    case abi::Phase::Exchange:
      items.push_back(readExchange(cast<exec::CallOp>(call), times));
      items.back().region = region;
      return;
    // Other calls of regions take their time in their place here.
    case abi::Phase::SideStart:
      region = cast<exec::CallOp>(call).getDesc().getInteger("number");
      return;
    case abi::Phase::SideEnd:
      region = -1;
      return;
    case abi::Phase::SideWait:
      items.push_back({TraceItem::RegionWait});
      items.back().number =
          cast<exec::CallOp>(call).getDesc().getInteger("number");
      return;
    case abi::Phase::None:
      break;
    }
    auto bound = call->getAttrOfType<FloatAttr>(exec::kBoundAttr);
    if (!bound)
      return;
    items.push_back({TraceItem::Compute, bound.getValueAsDouble(),
                     static_cast<double>(times)});
    items.back().isShared =
        call.getDescriptor(/*index=*/0).getInteger("shard_of") != 0;
  });
  return items;
}

Trace ingot::readTrace(ModuleOp module) {
  Trace trace;
  trace.launchSeconds = Machine::of(module).launchSeconds;
  Mesh mesh = Mesh::of(module);
  for (Axis axis : {Axis::Pipeline, Axis::Context, Axis::Tensor})
    trace.group *= mesh.getSize(axis);
  trace.inner = mesh.getSize(Axis::Inner);
  exec::StepOp step, micro;
  for (auto func : module.getOps<exec::StepOp>()) {
    if (!step && func.getSymName().starts_with(kTrainStepName))
      step = func;
    if (!micro && func.getSymName().starts_with(kAccumulateStepName))
      micro = func;
  }
  trace.step = readStep(step);
  if (auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
      count && micro) {
    trace.micro = readStep(micro);
    trace.microBatches = count.getInt();
  }
  trace.peakBytes = step.getMemoryAttr().getPeak();
  for (auto state : module.getOps<StateOp>()) {
    RankedTensorType type = state.getTensorType();
    if (ShardAttr shard = state.getShardAttr())
      trace.shards.push_back({type.getNumElements(), shard.getFirst(),
                              shard.getOf(), type.getElementTypeBitWidth()});
  }
  return trace;
}

double Trace::getComputeSeconds(const std::vector<TraceItem> &items,
                                bool isShared) {
  double seconds = 0;
  for (const TraceItem &item : items)
    if (item.kind == TraceItem::Compute && item.isShared == isShared)
      seconds += item.times * item.seconds;
  return seconds;
}

int64_t Trace::getBytes(int64_t shardRanks) const {
  int64_t bytes = peakBytes;
  // The first rank has the largest parts.
  for (const Shard &shard : shards) {
    runtime::ElementRange held = runtime::getShard(
        shard.elements, shard.first, shard.of, /*rank=*/0, shardRanks);
    bytes += llvm::alignTo(held.getCount() * shard.bits / 8, INGOT_ALIGNMENT);
  }
  return bytes;
}
