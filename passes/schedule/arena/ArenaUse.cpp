// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/arena/ArenaUse.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Views.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;

/// Returns the values of the same shape from which new values of parameters and
/// moments are computed, traversing backwards from the updates.
static DenseSet<unsigned> findGradients(const StepGraph &graph) {
  Signature signature = graph.getSignature();
  SymbolTable symbols(signature.getFunction()->getParentOfType<ModuleOp>());
  DenseSet<Value> updates;
  for (OpOperand &result : signature.getReturn()->getOpOperands())
    if (FlatSymbolRefAttr symbol =
            signature.resultState(result.getOperandNumber()))
      if (auto state = symbols.lookup<StateOp>(symbol.getAttr());
          state && (state.getRole() == Role::Parameter ||
                    state.getRole() == Role::LowerHalf ||
                    state.getRole() == Role::Moment))
        updates.insert(resolveViews(result.get()));
  DenseSet<unsigned> gradients;
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  for (unsigned i = buffers.size(); i-- > 0;) {
    if (buffers[i].writer < 0)
      continue;
    // Some updates are of flat parameters.
    int64_t elements = tensorType(buffers[i].value).getNumElements();
    for (unsigned reader : buffers[i].readers)
      for (Value result : graph.getNodes()[reader].op->getResults()) {
        std::optional<unsigned> buffer = graph.getBuffer(result);
        if (tensorType(result).getNumElements() == elements &&
            (updates.contains(result) ||
             (buffer && gradients.contains(*buffer))))
          gradients.insert(i);
      }
  }
  return gradients;
}

/// Returns the bytes that an interval occupies at an instant.
static int64_t bytesAt(const Interval &interval, int64_t instant) {
  bool isLive = interval.first <= instant && instant <= interval.last;
  return isLive ? llvm::alignTo(interval.bytes, INGOT_ALIGNMENT) : 0;
}

SmallVector<StringRef> ingot::listKinds(const StepGraph &graph,
                                        const StepGraph::Lifetimes &lifetimes) {
  SmallVector<StringRef> kinds(lifetimes.intervals.size(), "activation");
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    StringRef &kind = kinds[lifetimes.ofBuffer[i]];
    if (buffer.writer < 0)
      kind = "input";
    else if (isa<BucketEnd>(graph.getNodes()[buffer.writer].op))
      kind = "communication";
  }
  // A bucket that contains gradients in place counts as gradients.
  for (unsigned gradient : findGradients(graph))
    kinds[lifetimes.ofBuffer[gradient]] = "gradient";
  for (int64_t interval : lifetimes.ofScratch)
    if (interval >= 0)
      kinds[interval] = "workspace";
  for (unsigned interval : lifetimes.ofOutput)
    kinds[interval] = "output";
  return kinds;
}

int64_t ingot::getStagingBytes(Signature signature, const Target &target) {
  const TargetDevice *device = target.findDevice();
  if (!device)
    return 0;
  int64_t block = 0;
  for (BlockArgument argument : signature.getFunction().getArguments())
    if (!signature.argumentState(argument.getArgNumber()))
      block += llvm::alignTo(byteSize(tensorType(argument)), INGOT_ALIGNMENT);
  return device->getStagingBlocks() * block;
}

ArenaUse ingot::measureArenaUse(const StepGraph &graph,
                                const StepGraph::Lifetimes &lifetimes) {
  ArenaUse use;
  int64_t peak = 0;
  use.liveBytes = peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT, &peak);
  for (auto [kind, interval] :
       llvm::zip_equal(listKinds(graph, lifetimes), lifetimes.intervals)) {
    int64_t bytes = bytesAt(interval, peak);
    if (kind == "workspace")
      use.workspaceBytes += bytes;
    else if (kind == "gradient")
      use.gradientBytes += bytes;
    else if (kind == "communication")
      use.communicationBytes += bytes;
  }
  return use;
}

SmallVector<LiveTensor>
ingot::listLiveTensors(const StepGraph &graph,
                       const StepGraph::Lifetimes &lifetimes) {
  int64_t peak = 0;
  peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT, &peak);
  SmallVector<StringRef> kinds = listKinds(graph, lifetimes);
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  // Results that overwrite an operand share its memory: the last one written
  // counts.
  llvm::MapVector<unsigned, unsigned> holder;
  for (unsigned i = 0; i < buffers.size(); ++i) {
    unsigned interval = lifetimes.ofBuffer[i];
    if (bytesAt(lifetimes.intervals[interval], peak) == 0 ||
        buffers[i].writer > peak)
      continue;
    auto [at, isNew] = holder.try_emplace(interval, i);
    if (!isNew && buffers[i].writer > buffers[at->second].writer)
      at->second = i;
  }
  SmallVector<LiveTensor> live;
  for (auto [interval, buffer] : holder) {
    live.push_back({kinds[interval], buffers[buffer].value.getLoc(),
                    bytesAt(lifetimes.intervals[interval], peak)});
  }
  for (auto [node, interval] :
       llvm::zip_equal(graph.getNodes(), lifetimes.ofScratch))
    if (interval >= 0)
      if (int64_t bytes = bytesAt(lifetimes.intervals[interval], peak))
        live.push_back({"workspace", node.op->getLoc(), bytes});
  for (auto [output, interval] :
       llvm::zip_equal(graph.getOwnOutputs(), lifetimes.ofOutput))
    if (int64_t bytes = bytesAt(lifetimes.intervals[interval], peak)) {
      Operation *end = graph.getSignature().getReturn();
      live.push_back(
          {"output", end->getOperand(output.result).getLoc(), bytes});
    }
  llvm::stable_sort(live, [](const LiveTensor &a, const LiveTensor &b) {
    return a.bytes > b.bytes;
  });
  return live;
}
