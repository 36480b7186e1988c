#include "passes/schedule/BufferPlan.h"

#include "dialects/ingot/ir/Builders.h"
#include "mlir/IR/Remarks.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;

BufferPlan::BufferPlan(Signature signature,
                       const DenseMap<Attribute, int64_t> &stateOffsets,
                       llvm::function_ref<int64_t(Operation *)> scratchBytes,
                       bool noReuse)
    : signature(signature), stateOffsets(stateOffsets),
      graph(signature, scratchBytes),
      lifetimes(graph.getLifetimes(graph.getProgramOrder(), !noReuse)) {
  for (auto [i, node] : llvm::enumerate(graph.getNodes()))
    if (lifetimes.ofScratch[i] >= 0)
      scratch[node.op] = lifetimes.ofScratch[i];
  addOutputs();
  arenaBytes = packIntervals(lifetimes.intervals, INGOT_ALIGNMENT);
  copyStates();
  measureUse();
}

/// An output that is an input, a state, or another output gets a copy.
void BufferPlan::addOutputs() {
  auto end = static_cast<int64_t>(graph.getNodes().size());
  DenseSet<unsigned> outputs;
  for (OpOperand &result : signature.getReturn()->getOpOperands()) {
    unsigned index = result.getOperandNumber();
    if (signature.resultState(index))
      continue;
    std::optional<unsigned> buffer = graph.getBuffer(result.get());
    if (buffer && graph.getBuffers()[*buffer].writer >= 0 &&
        outputs.insert(*buffer).second)
      continue;
    ownOutput[index] = lifetimes.intervals.size();
    lifetimes.intervals.push_back(
        {exec::byteSize(tensorType(result.get())), end, end});
  }
}

void BufferPlan::copyStates() {
  Operation *end = signature.getReturn();
  for (unsigned index : graph.getCopiedStates()) {
    Value value = end->getOperand(index);
    FlatSymbolRefAttr state = signature.resultState(index);
    remark::missed(value.getLoc(),
                   remark::RemarkOpts::name("in-place").category("memory"))
        << remark::reason(
               "the new value of {0} cannot take the old one's place",
               state.getValue());
    copies.push_back({StepGraph::resolve(value),
                      {exec::Space::State, stateOffsets.lookup(state)}});
  }
  for (auto [index, interval] : ownOutput)
    copies.push_back(
        {StepGraph::resolve(end->getOperand(index)),
         {exec::Space::Arena, lifetimes.intervals[interval].offset}});
  // A copy that reads a state comes before the copy that overwrites it.
  llvm::stable_sort(copies, [&](const FinalCopy &a, const FinalCopy &b) {
    return !graph.getBuffer(a.value) && graph.getBuffer(b.value);
  });
}

void BufferPlan::measureUse() {
  int64_t peak = 0;
  use.liveBytes = peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT, &peak);
  auto bytesAtPeak = [&](unsigned index) {
    const Interval &interval = lifetimes.intervals[index];
    bool isLive = interval.first <= peak && peak <= interval.last;
    return isLive ? llvm::alignTo(interval.bytes, INGOT_ALIGNMENT) : 0;
  };
  for (auto [op, interval] : scratch)
    use.workspaceBytes += bytesAtPeak(interval);

  DenseSet<unsigned> counted;
  for (unsigned gradient : findGradients())
    if (unsigned interval = lifetimes.ofBuffer[gradient];
        counted.insert(interval).second)
      use.gradientBytes += bytesAtPeak(interval);
}

/// What new values of parameters and moments are computed from, in their shape:
/// from the updates back.
DenseSet<unsigned> BufferPlan::findGradients() const {
  auto module = signature.getFunction()->getParentOfType<ModuleOp>();
  DenseSet<Value> updates;
  for (OpOperand &result : signature.getReturn()->getOpOperands())
    if (FlatSymbolRefAttr symbol =
            signature.resultState(result.getOperandNumber()))
      if (StateOp state = findState(module, symbol);
          state && (state.getRole() == Role::Parameter ||
                    state.getRole() == Role::Moment))
        updates.insert(StepGraph::resolve(result.get()));
  DenseSet<unsigned> gradients;
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  for (unsigned i = buffers.size(); i-- > 0;) {
    if (buffers[i].writer < 0)
      continue;
    ArrayRef<int64_t> shape = tensorType(buffers[i].value).getShape();
    for (unsigned reader : buffers[i].readers)
      for (Value result : graph.getNodes()[reader].op->getResults()) {
        std::optional<unsigned> buffer = graph.getBuffer(result);
        if (tensorType(result).getShape() == shape &&
            (updates.contains(result) ||
             (buffer && gradients.contains(*buffer))))
          gradients.insert(i);
      }
  }
  return gradients;
}

std::optional<Interval> BufferPlan::getScratch(Operation *op) const {
  auto it = scratch.find(op);
  if (it == scratch.end())
    return std::nullopt;
  return lifetimes.intervals[it->second];
}

Place BufferPlan::getPlace(Value value) const {
  if (FlatSymbolRefAttr state = graph.getState(value))
    return {exec::Space::State, stateOffsets.lookup(state)};
  unsigned interval = lifetimes.ofBuffer[*graph.getBuffer(value)];
  return {exec::Space::Arena, lifetimes.intervals[interval].offset};
}

std::optional<Place> BufferPlan::getOutputPlace(unsigned index) const {
  if (signature.resultState(index))
    return std::nullopt;
  if (auto it = ownOutput.find(index); it != ownOutput.end())
    return Place{exec::Space::Arena, lifetimes.intervals[it->second].offset};
  return getPlace(signature.getReturn()->getOperand(index));
}

SmallVector<int64_t> BufferPlan::getAliases(FusionOp fusion) const {
  SmallVector<int64_t> aliases;
  for (Value input : fusion.getInputs()) {
    int64_t alias = -1;
    Place place = getPlace(input);
    bool isEmpty = tensorType(input).getNumElements() == 0;
    for (auto [i, result] : llvm::enumerate(fusion.getResults())) {
      // Where an empty tensor is says nothing.
      if (isEmpty || tensorType(result).getNumElements() == 0)
        continue;
      Place other = getPlace(result);
      if (place.space == other.space && place.offset == other.offset)
        alias = static_cast<int64_t>(i);
    }
    aliases.push_back(alias);
  }
  return aliases;
}
