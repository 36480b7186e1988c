// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/graph/StepGraph.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/support/Views.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/schedule/graph/LibraryCalls.h"
#include "passes/schedule/graph/SideRegions.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;

StepGraph::StepGraph(Signature signature, const Target &target)
    : signature(signature), alignment(target.getAlignment()),
      sharesRows(target.getKernels().sharesRows()) {
  for (Operation &op : signature.getFunction().getBody().front())
    position[&op] = position.size();
  findStates();
  addNodes(target);
  addStateOrder();
}

std::optional<unsigned> StepGraph::getBuffer(Value value) const {
  auto it = bufferOf.find(resolveViews(value));
  return it == bufferOf.end() ? std::nullopt : std::optional(it->second);
}

FlatSymbolRefAttr StepGraph::getState(Value value) const {
  return inState.lookup(resolveViews(value));
}

//===----------------------------------------------------------------------===//
// Writing in place
//===----------------------------------------------------------------------===//

/// Returns true if an operand of a fusion is read only at the current element,
/// for results of as many elements, and by the loop that computes `result`. A
/// reshape does not move elements in memory.
static bool isReadPointwise(FusionOp fusion, unsigned operand,
                            unsigned result) {
  if (fusion.getKind() == FusionKind::Group) {
    auto made = cast<OpResult>(
        fusion.getBody().front().getTerminator()->getOperand(result));
    return llvm::all_of(fusion.getBody().getArgument(operand).getUses(),
                        [&](OpOperand &use) {
                          return use.getOwner() == made.getOwner() &&
                                 isReadPointwise(cast<FusionOp>(use.getOwner()),
                                                 use.getOperandNumber(),
                                                 made.getResultNumber());
                        });
  }
  if (fusion.getKind() == FusionKind::Custom) {
    auto custom = cast<KernelBody>(fusion.getBody().front().front());
    return llvm::all_of(fusion.getBody().getArgument(operand).getUses(),
                        [&](OpOperand &use) {
                          return use.getOwner() == custom &&
                                 custom.readsPointwise(use.getOperandNumber());
                        });
  }
  if (fusion.getKind() != FusionKind::Loop)
    return false;
  SmallVector<Value> work = {fusion.getBody().getArgument(operand)};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user))
        continue;
      if (!user->hasTrait<SameBytes>() &&
          !cast<ScalarBody>(user).readsPointwise(use.getOperandNumber()))
        return false;
      if (seen.insert(user).second)
        llvm::append_range(work, user->getResults());
    }
  }
  return true;
}

/// Returns true for tensors of the same number of elements and the same element
/// type.
static bool haveSameElements(Value a, Value b) {
  RankedTensorType left = tensorType(a), right = tensorType(b);
  return left.getElementType() == right.getElementType() &&
         left.getNumElements() == right.getNumElements();
}

/// Returns true if a result of a fusion may be written over an operand.
bool StepGraph::mayOverwrite(FusionOp fusion, unsigned operand,
                             unsigned result) const {
  if (fusion.getKind() != FusionKind::Row)
    return isReadPointwise(fusion, operand, result);
  // The schedule of the rows takes longer than all questions about it.
  auto [known, isNew] = overwritable.try_emplace(fusion);
  llvm::SmallBitVector &may = known->second;
  unsigned results = fusion->getNumResults();
  if (isNew) {
    Block &body = fusion.getBody().front();
    codegen::RowSchedule schedule(body);
    may.resize(fusion->getNumOperands() * results);
    for (unsigned from = 0; from < fusion->getNumOperands(); ++from)
      for (unsigned to = 0; to < results; ++to)
        if (haveSameElements(fusion->getResult(to), fusion->getOperand(from)))
          may[from * results + to] =
              schedule.mayOverwrite(body, from, to, sharesRows);
  }
  return may[operand * results + result];
}

/// Returns whether a result of the body of a loop is one of its arguments, and
/// an output: it is copied before anything overwrites it.
bool StepGraph::isCopiedFirst(OpOperand &result) const {
  unsigned index = result.getOperandNumber();
  FlatSymbolRefAttr state = signature.resultState(index);
  return signature.getFunction().getResultAttr(index, kSlotAttr) &&
         !currentOf.contains(state) &&
         isa<BlockArgument>(resolveViews(result.get()));
}

/// Returns true if `newValue` may overwrite `oldValue`, the current value of a
/// state.
bool StepGraph::canReplace(BlockArgument oldValue, Value newValue) const {
  Operation *writer = newValue.getDefiningOp();
  if (!writer || inState.contains(newValue))
    return false;
  // Only its defining op writes a tensor, and views have no memory of their
  // own.
  if (!haveSameElements(oldValue, newValue))
    return false;
  bool can = true;
  forEachUseThroughViews(oldValue, [&](OpOperand &use) {
    if (use.getOwner() == writer) {
      auto fusion = dyn_cast<FusionOp>(writer);
      // A view of as many elements of the type has the same ones.
      can &= haveSameElements(use.get(), oldValue) && fusion &&
             mayOverwrite(fusion, use.getOperandNumber(),
                          cast<OpResult>(newValue).getResultNumber());
    } else if (use.getOwner() != signature.getReturn() || !isCopiedFirst(use)) {
      can &= position.lookup(use.getOwner()) < position.lookup(writer);
    }
  });
  return can;
}

void StepGraph::findStates() {
  func::FuncOp func = signature.getFunction();
  for (BlockArgument argument : func.getArguments())
    if (FlatSymbolRefAttr state =
            signature.argumentState(argument.getArgNumber())) {
      inState[argument] = state;
      currentOf[state] = argument;
    }

  for (OpOperand &result : signature.getReturn()->getOpOperands()) {
    FlatSymbolRefAttr state = signature.resultState(result.getOperandNumber());
    if (!state)
      continue;
    Value value = resolveViews(result.get());
    BlockArgument current = currentOf.lookup(state);
    if (value == current)
      continue;
    if (isCopiedFirst(result)) {
      firstCopies.push_back(result.getOperandNumber());
      continue;
    }
    // If there is no argument, nothing reads the old value.
    bool inPlace = current ? canReplace(current, value)
                           : value.getDefiningOp() && !inState.contains(value);
    if (inPlace) {
      inState[value] = state;
      ++statesInPlace;
    } else {
      copiedStates.push_back(result.getOperandNumber());
    }
  }
}

/// The results that may reuse the memory of an operand whose lifetime ends.
void StepGraph::findInPlace(Node &node) const {
  // The memory that carries a value is that of the result.
  if (auto loop = dyn_cast<RepeatOp>(node.op))
    for (auto [operand, result] :
         llvm::zip_equal(loop.getInitial(), loop.getFinals())) {
      std::optional<unsigned> from = getBuffer(operand), to = getBuffer(result);
      unsigned names = llvm::count_if(loop.getOperands(), [&](Value other) {
        return getBuffer(other) == from;
      });
      if (from && to && !buffers[*from].isKept && buffers[*from].bucket < 0 &&
          buffers[*to].bucket < 0 && names == 1)
        node.inPlace.push_back({*to, *from});
    }
  auto fusion = dyn_cast<FusionOp>(node.op);
  if (!fusion)
    return;
  for (OpOperand &operand : fusion->getOpOperands()) {
    std::optional<unsigned> from = getBuffer(operand.get());
    unsigned number = operand.getOperandNumber();
    if (!from || buffers[*from].isKept || buffers[*from].bucket >= 0)
      continue;
    // The same memory is read elsewhere through a view.
    unsigned names = llvm::count_if(fusion.getInputs(), [&](Value input) {
      return getBuffer(input) == from;
    });
    if (names > 1)
      continue;
    for (OpResult result : fusion->getResults())
      if (std::optional<unsigned> to = getBuffer(result);
          to && buffers[*to].bucket < 0 &&
          haveSameElements(result, operand.get()) &&
          mayOverwrite(fusion, number, result.getResultNumber()))
        node.inPlace.push_back({*to, *from});
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void StepGraph::addNodes(const Target &target) {
  func::FuncOp func = signature.getFunction();
  auto add = [&](Value value, int64_t writer) {
    bufferOf[value] = buffers.size();
    Buffer &buffer = buffers.emplace_back();
    buffer.value = value;
    buffer.bytes = byteSize(tensorType(value));
    buffer.writer = writer;
  };
  for (BlockArgument argument : func.getArguments())
    if (!inState.contains(argument)) {
      add(argument, -1);
      buffers.back().isKept = true;
    }
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (op.hasTrait<SameBytes>())
      continue;
    unsigned index = nodes.size();
    nodeOf[&op] = index;
    Node &node = nodes.emplace_back();
    node.op = &op;
    auto loop = dyn_cast<RepeatOp>(op);
    node.scratchBytes =
        loop ? StepGraph(Signature(findBody(loop)), target).getArenaBytes()
             : target.getScratchBytes(&op);
    if (auto side = op.getAttrOfType<IntegerAttr>(kSideAttr))
      node.side = side.getInt();
    for (Value result : op.getResults())
      if (!inState.contains(result)) {
        add(result, index);
        node.writes.insert(buffers.size() - 1);
      } else {
        node.writesState = true;
      }
    for (Value operand : op.getOperands()) {
      addDependences(operand, index);
      std::optional<unsigned> buffer = getBuffer(operand);
      if (buffer && node.reads.insert(*buffer))
        buffers[*buffer].readers.push_back(index);
    }
  }
  DenseSet<unsigned> outputs;
  for (OpOperand &result : signature.getReturn()->getOpOperands()) {
    unsigned index = result.getOperandNumber();
    std::optional<unsigned> buffer = getBuffer(result.get());
    if (buffer)
      buffers[*buffer].isKept = true;
    if (llvm::is_contained(copiedStates, index) && isInCircle(index))
      ownOutputs.push_back({index, byteSize(tensorType(result.get()))});
    if (signature.resultState(index) ||
        (buffer && buffers[*buffer].writer >= 0 &&
         outputs.insert(*buffer).second))
      continue;
    ownOutputs.push_back({index, byteSize(tensorType(result.get()))});
  }
  for (unsigned i = 0; i < nodes.size(); ++i)
    findParts(i);
  for (Node &node : nodes)
    findInPlace(node);
}

/// Returns whether the copy of a result to its state belongs to several that
/// are in a circle: each reads what the next one overwrites.
bool StepGraph::isInCircle(unsigned index) const {
  unsigned current = index;
  for (size_t i = 0; i < copiedStates.size(); ++i) {
    FlatSymbolRefAttr from =
        getState(signature.getReturn()->getOperand(current));
    const unsigned *next =
        from ? llvm::find_if(copiedStates,
                             [&](unsigned other) {
                               return signature.resultState(other) == from;
                             })
             : copiedStates.end();
    if (next == copiedStates.end())
      return false;
    current = *next;
    if (current == index)
      return true;
  }
  return false;
}

/// Places the parts of a bucket in its memory, where possible.
void StepGraph::findParts(unsigned index) {
  auto end = dyn_cast<BucketEnd>(nodes[index].op);
  std::optional<unsigned> bucket =
      end ? getBuffer(end.getBucket()) : std::nullopt;
  if (!bucket)
    return;
  int64_t size = tensorType(end.getBucket()).getElementTypeBitWidth() / 8;
  BucketLayout layout = BucketLayout::of(end);
  for (auto [part, offset] : llvm::zip_equal(end.getParts(), layout.offsets)) {
    std::optional<unsigned> number = getBuffer(part);
    if (!number || buffers[*number].bucket >= 0)
      continue;
    Buffer &buffer = buffers[*number];
    if (buffer.writer != index) {
      // The sum overwrites the part: all other readers must have run.
      bool isFree = buffer.writer >= 0 && !buffer.isKept &&
                    !isa<BucketEnd>(nodes[buffer.writer].op) &&
                    llvm::all_of(buffer.readers, [&](unsigned reader) {
                      return reader <= index;
                    });
      if (!isFree)
        continue;
      for (unsigned reader : buffer.readers)
        if (reader != index)
          nodes[reader].successors.insert(index);
    }
    buffer.bucket = *bucket;
    buffer.offset = offset * size;
  }
}

/// A view of several tensors depends on all of them (barriers).
void StepGraph::addDependences(Value value, unsigned reader) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return;
  if (!def->hasTrait<SameBytes>()) {
    nodes[nodeOf.lookup(def)].successors.insert(reader);
    return;
  }
  for (Value operand : def->getOperands())
    addDependences(operand, reader);
}

/// The old value of a state is read before it is overwritten by the new one.
void StepGraph::addStateOrder() {
  for (Value result : signature.getReturn()->getOperands()) {
    Value value = resolveViews(result);
    Operation *writer = value.getDefiningOp();
    FlatSymbolRefAttr state = getState(value);
    if (!writer || !state)
      continue;
    if (BlockArgument current = currentOf.lookup(state))
      forEachUseThroughViews(current, [&](OpOperand &use) {
        if (use.getOwner() != writer &&
            use.getOwner() != signature.getReturn()) {
          Node &reader = nodes[nodeOf.lookup(use.getOwner())];
          if (reader.successors.insert(nodeOf.lookup(writer)))
            reader.stateWriters.push_back(nodeOf.lookup(writer));
        }
      });
  }
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

SmallVector<unsigned> StepGraph::getProgramOrder() const {
  return llvm::to_vector(llvm::seq<unsigned>(0, nodes.size()));
}

void StepGraph::applyOrder(ArrayRef<unsigned> order) const {
  applyOrder(signature, llvm::map_to_vector(order, [&](unsigned node) {
               return nodes[node].op;
             }));
}

void StepGraph::applyOrder(Signature signature, ArrayRef<Operation *> order) {
  Operation *end = signature.getReturn();
  DenseSet<Operation *> moved;
  SmallVector<Operation *> work;
  // First, the views through which an operation reads.
  auto moveViews = [&](Operation *op) {
    work.push_back(op);
    while (!work.empty()) {
      Operation *current = work.back();
      bool isWaiting = false;
      for (Value operand : current->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (!def || !def->hasTrait<SameBytes>() || moved.contains(def))
          continue;
        work.push_back(def);
        isWaiting = true;
      }
      if (isWaiting)
        continue;
      work.pop_back();
      if (current != op && moved.insert(current).second)
        current->moveBefore(end);
    }
  };
  for (Operation *op : order) {
    moveViews(op);
    op->moveBefore(end);
  }
  moveViews(end);
}

int64_t StepGraph::getArenaBytes() const {
  Lifetimes lifetimes = getLifetimes(getProgramOrder());
  return packIntervals(lifetimes.intervals, INGOT_ALIGNMENT);
}

bool StepGraph::fitsArena(int64_t bytes) const {
  Lifetimes lifetimes = getLifetimes(getProgramOrder());
  return peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT) <= bytes &&
         packIntervals(lifetimes.intervals, INGOT_ALIGNMENT, bytes) <= bytes;
}

/// Returns whether all other readers of the buffer are done when a reader
/// starts.
bool StepGraph::isLastReader(unsigned node, unsigned buffer,
                             ArrayRef<int64_t> at,
                             const NodeTimes &times) const {
  return llvm::all_of(buffers[buffer].readers, [&](unsigned reader) {
    return reader == node ||
           (at[reader] < at[node] && times.isDoneBefore(reader, node));
  });
}

StepGraph::Lifetimes StepGraph::getLifetimes(ArrayRef<unsigned> order,
                                             bool reuse) const {
  SmallVector<int64_t> at(nodes.size());
  for (auto [i, node] : llvm::enumerate(order))
    at[node] = static_cast<int64_t>(i);
  const NodeTimes times(nodes, order);
  auto end = static_cast<int64_t>(order.size());
  auto lastRead = [&](unsigned buffer) {
    const Buffer &b = buffers[buffer];
    int64_t last = b.isKept || !reuse ? end
                   : b.writer < 0     ? 0
                                      : times.getLast(b.writer);
    for (unsigned reader : b.readers)
      last = std::max(last, times.getLast(reader));
    return last;
  };

  Lifetimes result;
  constexpr unsigned none = -1;
  result.ofBuffer.assign(buffers.size(), none);
  result.ofScratch.assign(nodes.size(), -1);
  auto add = [&](int64_t bytes, int64_t first, int64_t last) {
    result.intervals.push_back(
        {static_cast<int64_t>(llvm::alignTo(bytes, alignment)),
         reuse ? first : 0, reuse ? last : end});
    return static_cast<unsigned>(result.intervals.size() - 1);
  };
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (buffer.writer < 0)
      result.ofBuffer[i] = add(buffer.bytes, 0, end);
  for (unsigned index : order) {
    const Node &node = nodes[index];
    int64_t first = times.getFirst(index), last = times.getLast(index);
    if (reuse)
      for (auto [to, from] : node.inPlace) {
        Interval &interval = result.intervals[result.ofBuffer[from]];
        // The lifetime of the operand ends here, and no other result reuses its
        // memory.
        if (result.ofBuffer[to] != none || lastRead(from) != last ||
            interval.last != last || !isLastReader(index, from, at, times))
          continue;
        result.ofBuffer[to] = result.ofBuffer[from];
        // The lifetime is one instant longer, so that no other result reuses
        // the memory as well.
        interval.last = std::max(last + 1, lastRead(to));
      }
    for (unsigned to : node.writes)
      if (result.ofBuffer[to] == none && buffers[to].bucket < 0)
        result.ofBuffer[to] = add(buffers[to].bytes, first, lastRead(to));
    if (node.scratchBytes > 0) {
      // What a collective sends is there until the wait.
      if (isa<BucketEnd>(node.op))
        for (unsigned bucket : node.writes)
          last = std::max(last, lastRead(bucket));
      result.ofScratch[index] = add(node.scratchBytes, first, last);
    }
  }
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (buffer.bucket < 0)
      continue;
    result.ofBuffer[i] = result.ofBuffer[buffer.bucket];
    Interval &interval = result.intervals[result.ofBuffer[i]];
    if (reuse)
      interval.first = std::min(interval.first, times.getFirst(buffer.writer));
    interval.last = std::max(interval.last, lastRead(i));
  }
  for (const OwnOutput &output : ownOutputs)
    result.ofOutput.push_back(add(output.bytes, end, end));
  return result;
}
