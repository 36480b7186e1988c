// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// VerifyPlaced: what code generation and the runtime assume of placed steps.
//
// One sweep over a step's calls keeps the intervals in use sorted by offset, so
// that each interval and buffer costs the logarithm of their number.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "passes/verify/Passes.h"
#include "passes/verify/VerifySideRegions.h"
#include "runtime/abi/Abi.h"
#include "runtime/abi/Mapping.h"

#include <map>
#include <queue>

namespace ingot {
#define GEN_PASS_DEF_VERIFYPLACED
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Ranges of memory that do not overlap.
class Ranges {
public:
  /// Returns false if the range overlaps another one.
  bool insert(int64_t offset, int64_t end) {
    if (offset == end)
      return true;
    auto [at, isNew] = ends.try_emplace(offset, end);
    return isNew && (at == ends.begin() || std::prev(at)->second <= offset) &&
           (std::next(at) == ends.end() || std::next(at)->first >= end);
  }
  void erase(int64_t offset) { ends.erase(offset); }
  /// Whether one of the ranges holds this one.
  bool contain(int64_t offset, int64_t end) const {
    if (offset == end)
      return true;
    auto after = ends.upper_bound(offset);
    return after != ends.begin() && std::prev(after)->second >= end;
  }

private:
  /// By offset.
  std::map<int64_t, int64_t> ends;
};

} // namespace

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {

/// The addresses that states may have.
struct StateSpace {
  /// The size of the block of states.
  int64_t bytes = 0;
  /// The range of mapped states behind it.
  int64_t mappedBegin = 0, mappedEnd = 0;
};

} // namespace

static LogicalResult verifyStates(ModuleOp module, const StateSpace &space) {
  Ranges places;
  for (auto state : module.getOps<StateOp>()) {
    auto home = state->getAttrOfType<StringAttr>(exec::kHomeAttr);
    bool isMapped = home && home == "mapped";
    if (state.getHalves() || (home && !isMapped))
      continue;
    auto attribute = state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr);
    if (!attribute)
      return state.emitOpError("has no attribute '")
             << exec::kOffsetAttr << "'";
    // The offset of a shard is in the table of addresses.
    if (state.getShard())
      continue;
    int64_t offset = attribute.getInt();
    int64_t end = offset + byteSize(state.getTensorType());
    if (!state.getGathered() && offset % INGOT_ALIGNMENT != 0)
      return state.emitOpError("is at ") << offset << ", which is not aligned";
    if (isMapped && (offset < space.mappedBegin || end > space.mappedEnd))
      return state.emitOpError("is at ")
             << offset << ", outside of the mapped range from "
             << space.mappedBegin << " to " << space.mappedEnd;
    if (!isMapped && end > space.bytes)
      return state.emitOpError("ends at ")
             << end << ", behind the state block of " << space.bytes;
    if (!places.insert(offset, end))
      return state.emitOpError("overlaps another state at ") << offset;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// One step. A sweep over its calls knows which intervals are in use.
class StepVerifier {
public:
  StepVerifier(exec::StepOp step, const StateSpace &states)
      : step(step), states(states) {}

  LogicalResult verify() {
    if (failed(verifyMemory()) || failed(readIntervals()) ||
        failed(advance(0)) || failed(verifyValues(step.getInputs())))
      return failure();
    int64_t call = 0;
    if (failed(verifyCalls(step.getBody().front(), call)))
      return failure();
    // What is read after the step is in use after all calls.
    if (failed(advance(call)))
      return failure();
    return verifyValues(step.getOutputs());
  }

private:
  /// Verifies the calls of a block, the first of which has that number.
  LogicalResult verifyCalls(Block &block, int64_t &call) {
    for (Operation &op : block) {
      if (auto buffer = dyn_cast<exec::BufferOp>(op)) {
        if (failed(verifyBuffer(buffer)))
          return failure();
        continue;
      }
      if (auto repeat = dyn_cast<exec::RepeatOp>(op)) {
        if (failed(verifyCalls(repeat.getBody().front(), call)))
          return failure();
        continue;
      }
      if (!isa<exec::AbiCall>(op))
        return op.emitOpError("is no call of the runtime");
      if (failed(advance(call)) || failed(verifyCall(op, call)))
        return failure();
      ++call;
    }
    return success();
  }

  LogicalResult verifyMemory() {
    std::optional<exec::MemoryAttr> memory = step.getMemory();
    if (!memory)
      return step.emitOpError("has no attribute 'memory'");
    int64_t sum = memory->getWeights() + memory->getOptimizer() +
                  memory->getGradient() + memory->getActivation() +
                  memory->getWorkspace() + memory->getCommunication();
    if (sum != memory->getPeak())
      return step.emitOpError("has parts of its memory that add up to ")
             << sum << ", not to the peak of " << memory->getPeak();
    return success();
  }

  LogicalResult readIntervals() {
    for (auto interval : step.getIntervals().getAsRange<exec::IntervalAttr>()) {
      if (interval.getOffset() % INGOT_ALIGNMENT != 0)
        return step.emitOpError("has an interval at ")
               << interval.getOffset() << ", which is not aligned";
      // Empty tensors take no memory.
      if (interval.getBytes() != 0)
        intervals.push_back(interval);
    }
    llvm::stable_sort(
        intervals, [](auto a, auto b) { return a.getFirst() < b.getFirst(); });
    return success();
  }

  /// Goes on to a call: ends the intervals whose last call was before it, and
  /// begins those whose first call it is.
  LogicalResult advance(int64_t call) {
    while (!ends.empty() && ends.top().first < call) {
      inUse.erase(ends.top().second);
      ends.pop();
    }
    for (; next < intervals.size() && intervals[next].getFirst() <= call;
         ++next) {
      int64_t offset = intervals[next].getOffset();
      if (!inUse.insert(offset, offset + intervals[next].getBytes()))
        return step.emitOpError("has intervals that overlap at ")
               << offset << " in call " << call;
      ends.emplace(intervals[next].getLast(), offset);
    }
    return success();
  }

  LogicalResult verifyValues(ArrayAttr values) {
    for (auto value : values.getAsRange<exec::ValueAttr>())
      if (!inUse.contain(value.getOffset(),
                         value.getOffset() + byteSize(value.getType())))
        return step.emitOpError("has '")
               << value.getName() << "' in memory that is not planned for it";
    return success();
  }

  /// Returns the first byte of a buffer and the one behind it, over all
  /// iterations of the loops around it.
  static std::pair<int64_t, int64_t> findRange(exec::BufferOp buffer) {
    auto begin = static_cast<int64_t>(buffer.getOffset());
    int64_t end = begin + byteSize(cast<ShapedType>(buffer.getType()));
    SmallVector<int64_t> counts;
    for (Operation *op = buffer->getParentOp(); isa<exec::RepeatOp>(op);
         op = op->getParentOp())
      counts.insert(counts.begin(), cast<exec::RepeatOp>(op).getCount());
    for (auto [stride, count] :
         llvm::zip(buffer.getStrides().value_or(ArrayRef<int64_t>()), counts)) {
      int64_t last = stride * (count - 1);
      (last < 0 ? begin : end) += last;
    }
    return {begin, end};
  }

  LogicalResult verifyBuffer(exec::BufferOp buffer) {
    auto [begin, end] = findRange(buffer);
    if (begin < 0)
      return buffer.emitOpError("begins at ") << begin;
    if (buffer.getSpace() == exec::Space::State && end > states.bytes &&
        (begin < states.mappedBegin || end > states.mappedEnd))
      return buffer.emitOpError("ends at ")
             << end << ", behind the state block of " << states.bytes;
    return success();
  }

  LogicalResult verifyCall(Operation &op, int64_t call) {
    auto check = [&](int64_t offset, int64_t bytes) -> LogicalResult {
      if (inUse.contain(offset, offset + bytes))
        return success();
      return op.emitOpError("takes bytes ")
             << offset << " to " << offset + bytes
             << " of the arena, which are not planned for call " << call;
    };
    for (Value operand : op.getOperands()) {
      auto buffer = operand.getDefiningOp<exec::BufferOp>();
      if (!buffer)
        return op.emitOpError("takes memory that is no exec.buffer");
      auto [begin, end] = findRange(buffer);
      if (buffer.getSpace() == exec::Space::Arena &&
          failed(check(begin, end - begin)))
        return failure();
    }
    // Of kernels that a target makes of the call.
    if (auto scratch = op.getAttrOfType<exec::ScratchAttr>("scratch"))
      return check(scratch.getOffset(), scratch.getBytes());
    return success();
  }

  exec::StepOp step;
  StateSpace states;
  /// In the order of their first calls; those before `next` have begun.
  SmallVector<exec::IntervalAttr> intervals;
  size_t next = 0;
  Ranges inUse;
  /// Last calls and offsets of the intervals in use, the earliest first.
  using End = std::pair<int64_t, int64_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
};

struct VerifyPlaced : ingot::impl::VerifyPlacedBase<VerifyPlaced> {
  void runOnOperation() override {
    if (failed(verifyModule(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  static LogicalResult verifyModule(ModuleOp module) {
    auto stateBytes = module->getAttrOfType<IntegerAttr>(exec::kStateBytesAttr);
    if (!stateBytes)
      return module.emitOpError("has no attribute '")
             << exec::kStateBytesAttr << "'";
    StateSpace states;
    states.bytes = stateBytes.getInt();
    if (auto mapped =
            module->getAttrOfType<IntegerAttr>(exec::kMappedBytesAttr)) {
      states.mappedBegin = abi::getMappedBegin(states.bytes);
      states.mappedEnd = states.mappedBegin + mapped.getInt();
    }
    if (failed(verifyStates(module, states)))
      return failure();
    for (auto step : module.getOps<exec::StepOp>())
      if (failed(StepVerifier(step, states).verify()) ||
          failed(verifySideRegions(step)))
        return failure();
    return success();
  }
};

} // namespace
