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
    : signature(signature), stateOffsets(stateOffsets) {
  for (Operation &op : signature.getFunction().getBody().front())
    position[&op] = position.size();
  placeStates();
  placeArena(scratchBytes, noReuse);
}

/// The tensor whose memory a value is: looks through views.
Value BufferPlan::resolve(Value value) const {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasTrait<SameBytes>())
      break;
    value = def->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

/// True if an operand of a fusion is read only at the element being computed,
/// for results of the operand's shape.
static bool isReadPointwise(FusionOp fusion, unsigned operand) {
  if (fusion.getKind() != FusionKind::Loop)
    return false;
  SmallVector<Value> work = {fusion.getBody().getArgument(operand)};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user))
        continue;
      if (!cast<ScalarBody>(user).readsPointwise(use.getOperandNumber()))
        return false;
      if (seen.insert(user).second)
        llvm::append_range(work, user->getResults());
    }
  }
  return true;
}

/// True if `newValue` may be written over `oldValue`, a state's current value.
bool BufferPlan::canReplace(BlockArgument oldValue, Value newValue) const {
  Operation *writer = newValue.getDefiningOp();
  if (!writer || inState.contains(newValue))
    return false;
  // Only its maker writes a tensor, and views have none of their own.
  if (oldValue.getType() != newValue.getType())
    return false;
  SmallVector<Value> names = {oldValue};
  while (!names.empty()) {
    Value name = names.pop_back_val();
    for (OpOperand &use : name.getUses()) {
      Operation *user = use.getOwner();
      if (user->hasTrait<SameBytes>()) {
        names.push_back(user->getResult(use.getOperandNumber()));
        continue;
      }
      if (user == writer) {
        auto fusion = dyn_cast<FusionOp>(user);
        if (name != oldValue || !fusion ||
            !isReadPointwise(fusion, use.getOperandNumber()))
          return false;
      } else if (position.lookup(user) > position.lookup(writer)) {
        return false;
      }
    }
  }
  return true;
}

void BufferPlan::placeStates() {
  func::FuncOp func = signature.getFunction();
  for (BlockArgument argument : func.getArguments())
    if (FlatSymbolRefAttr state =
            signature.argumentState(argument.getArgNumber()))
      inState[argument] = stateOffsets.lookup(state);

  for (OpOperand &result : signature.getReturn()->getOpOperands()) {
    FlatSymbolRefAttr state = signature.resultState(result.getOperandNumber());
    if (!state)
      continue;
    Value value = resolve(result.get());
    BlockArgument current = signature.findArgument(state);
    if (value == current)
      continue;
    int64_t offset = stateOffsets.lookup(state);
    // Without an argument nothing reads the old value.
    bool inPlace = current ? canReplace(current, value)
                           : value.getDefiningOp() && !inState.contains(value);
    if (inPlace) {
      inState[value] = offset;
      ++statesInPlace;
      continue;
    }
    remark::missed(result.get().getLoc(),
                   remark::RemarkOpts::name("in-place").category("memory"))
        << remark::reason(
               "the new value of {0} cannot take the old one's place",
               state.getValue());
    copies.push_back({value, {exec::Space::State, offset}});
  }
}

void BufferPlan::placeArena(
    llvm::function_ref<int64_t(Operation *)> scratchBytes, bool noReuse) {
  func::FuncOp func = signature.getFunction();
  Block &block = func.getBody().front();
  Operation *end = signature.getReturn();
  int64_t last = position.lookup(end);
  auto create = [&](int64_t bytes, int64_t from, int64_t to) {
    Interval interval;
    interval.bytes = bytes;
    interval.first = noReuse ? 0 : from;
    interval.last = noReuse ? last : to;
    intervals.push_back(interval);
    return static_cast<unsigned>(intervals.size() - 1);
  };

  auto createFor = [&](Value value, int64_t from, int64_t to) {
    return create(exec::byteSize(tensorType(value)), from, to);
  };

  // Inputs are written before the step and stay as they are.
  for (BlockArgument argument : func.getArguments())
    if (!inState.contains(argument))
      inArena[argument] = createFor(argument, 0, last);
  for (Operation &op : block) {
    if (op.hasTrait<SameBytes>())
      continue;
    int64_t now = position.lookup(&op);
    for (Value result : op.getResults())
      if (!inState.contains(result))
        inArena[result] = createFor(result, now, now);
    if (int64_t bytes = scratchBytes(&op))
      scratch[&op] = create(bytes, now, now);
  }
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      if (auto it = inArena.find(resolve(operand)); it != inArena.end()) {
        Interval &interval = intervals[it->second];
        interval.last = std::max(interval.last, position.lookup(&op));
      }

  // An output that is an input, a state, or another output gets a copy.
  DenseSet<Value> outputs;
  for (OpOperand &result : end->getOpOperands()) {
    unsigned index = result.getOperandNumber();
    if (signature.resultState(index))
      continue;
    Value value = resolve(result.get());
    if (inArena.contains(value) && value.getDefiningOp() &&
        outputs.insert(value).second)
      continue;
    ownOutput[index] = createFor(value, last, last);
  }
  arenaBytes = packIntervals(intervals, INGOT_ALIGNMENT);
  for (auto [index, interval] : ownOutput)
    copies.push_back({resolve(end->getOperand(index)),
                      {exec::Space::Arena, intervals[interval].offset}});
  // A copy that reads a state comes before the copy that overwrites it.
  llvm::stable_sort(copies, [&](const FinalCopy &a, const FinalCopy &b) {
    return inState.contains(a.value) > inState.contains(b.value);
  });

  int64_t peak = 0;
  liveBytes = peakLiveBytes(intervals, INGOT_ALIGNMENT, &peak);
  // A gradient is what the kernel that writes a parameter reads besides states.
  DenseSet<unsigned> gradients;
  for (auto [value, offset] : inState)
    if (auto fusion = value.getDefiningOp<FusionOp>())
      for (Value input : fusion.getInputs())
        if (auto it = inArena.find(resolve(input));
            it != inArena.end() && resolve(input).getDefiningOp() &&
            input.getType() == value.getType())
          gradients.insert(it->second);
  auto bytesAtPeak = [&](unsigned index) {
    const Interval &interval = intervals[index];
    bool isLive = interval.first <= peak && peak <= interval.last;
    return isLive ? llvm::alignTo(interval.bytes, INGOT_ALIGNMENT) : 0;
  };
  for (unsigned gradient : gradients)
    gradientBytes += bytesAtPeak(gradient);
  for (auto [op, interval] : scratch)
    workspaceBytes += bytesAtPeak(interval);
}

std::optional<Interval> BufferPlan::getScratch(Operation *op) const {
  auto it = scratch.find(op);
  if (it == scratch.end())
    return std::nullopt;
  return intervals[it->second];
}

Place BufferPlan::getPlace(Value value) const {
  value = resolve(value);
  if (auto it = inState.find(value); it != inState.end())
    return {exec::Space::State, it->second};
  return {exec::Space::Arena, intervals[inArena.lookup(value)].offset};
}

std::optional<Place> BufferPlan::getOutputPlace(unsigned index) const {
  if (signature.resultState(index))
    return std::nullopt;
  if (auto it = ownOutput.find(index); it != ownOutput.end())
    return Place{exec::Space::Arena, intervals[it->second].offset};
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
