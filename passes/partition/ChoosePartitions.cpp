// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ChoosePartitions: chooses partitions of states by the time of a step.
//
// Assumes a step with its optimizer, and no fusions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/Cost.h"
#include "passes/partition/DimClasses.h"
#include "passes/partition/Partitioner.h"
#include "passes/partition/Passes.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <random>

namespace ingot {
#define GEN_PASS_DEF_CHOOSEPARTITIONS
#include "passes/partition/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Classes that are split alike.
struct Group {
  SmallVector<std::pair<StateOp, Placement>> states;
  bool isPinned = false, isSplit = false;
};

struct ChoosePartitions : ingot::impl::ChoosePartitionsBase<ChoosePartitions> {
  using ChoosePartitionsBase::ChoosePartitionsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Axis> found = symbolizeAxis(axis);
    parts = found ? Mesh::of(module).getSize(*found) : Mesh::kAny;
    if (parts == Mesh::kAny) {
      module.emitError("'") << axis << "' is not an axis of the mesh";
      return signalPassFailure();
    }
    over = *found;
    step = findFunction(module, kTrainStepName);
    if (!step || parts == 1)
      return;
    machine = Machine::of(module);
    if (linkGbs >= 0)
      machine.linkBandwidth = linkGbs * 1e9;
    if (linkUs >= 0)
      machine.linkSeconds = linkUs * 1e-6;
    findGroups(module);
    chooseRows();
    report();
    for (Group &group : groups)
      if (group.isSplit)
        numStates += group.states.size();
  }

private:
  void findGroups(ModuleOp module) {
    SymbolTable symbols(module);
    // The shapes of states, and which of their dimensions.
    llvm::MapVector<StringAttr, Group> byShapes;
    pinned.clear();
    DimClasses dims(step);
    for (const DimClasses::Class &own : dims.getClasses()) {
      std::optional<int64_t> pad = own.getPad(parts);
      if (!pad)
        continue;
      Group group;
      bool ofData = false, hasParameter = false;
      std::string shapes;
      llvm::raw_string_ostream os(shapes);
      for (auto [argument, placement] : own.arguments) {
        placement.pad = *pad;
        FlatSymbolRefAttr symbol =
            Signature(step).argumentState(argument.getArgNumber());
        auto state =
            symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
        ofData |= !state;
        if (!state)
          continue;
        hasParameter |= state.getRole() == Role::Parameter;
        group.states.emplace_back(state, placement);
        os << state.getTensorType() << placement.dim << ",";
        if (Attribute given = state->getAttr(kPartitionAttr)) {
          pinned.try_emplace(state, given);
          Attribute own =
              describePartition(placement, over, state.getTensorType());
          if (given == own || isSplitAlong(given, placement.dim)) {
            pinned[state] = own;
            group.isPinned = true;
          }
        }
      }
      // Samples and their positions are split along other axes.
      if (group.states.empty() ||
          (!group.isPinned && (ofData || !hasParameter)))
        continue;
      if (group.isPinned)
        os << "pinned";
      Group &all = byShapes[StringAttr::get(&getContext(), shapes)];
      all.isPinned |= group.isPinned;
      llvm::append_range(all.states, group.states);
    }
    groups.clear();
    for (auto &[shapes, group] : byShapes) {
      group.isSplit = group.isPinned;
      groups.push_back(std::move(group));
    }
  }

  /// Whether a partition splits the dimension along the axis without saying
  /// into which segments.
  bool isSplitAlong(Attribute partition, int64_t dim) const {
    Attribute segments = cast<DictionaryAttr>(cast<ArrayAttr>(partition)[dim])
                             .get(stringifyAxis(over));
    return isa_and_nonnull<UnitAttr>(segments);
  }

  /// Gives states the partitions of the groups that are split. Returns whether
  /// no state is split twice.
  bool apply() {
    bool isValid = true;
    for (Group &group : groups)
      for (auto &[state, placement] : group.states)
        state->removeAttr(kPartitionAttr);
    for (Group &group : groups) {
      if (!group.isSplit)
        continue;
      for (auto &[state, placement] : group.states) {
        isValid &= !state->hasAttr(kPartitionAttr);
        state->setAttr(
            kPartitionAttr,
            describePartition(placement, over, state.getTensorType()));
      }
    }
    for (auto &[state, given] : pinned)
      state->setAttr(kPartitionAttr, given);
    return isValid;
  }

  /// The time and memory of the step of a rank.
  struct StepCost {
    double seconds = std::numeric_limits<double>::infinity();
    /// The most bytes of values that are kept while others are computed.
    int64_t keptBytes = 0;
    int64_t stateBytes = 0;
  };

  /// Returns the time of the step of a rank for the groups that are split.
  double getSeconds() {
    auto [known, isNew] = times.try_emplace(getChoice(), 0);
    if (isNew)
      known->second = getCost().seconds;
    return known->second;
  }

  StepCost getCost() {
    if (!apply())
      return {};
    double seconds = 0;
    Partitioner partitioner(over, parts,
                            [&](Operation *, Operation *, double bytes) {
                              if (bytes > 0)
                                seconds += machine.getLinkSeconds(bytes);
                            });
    SymbolTable symbols(getOperation());
    auto trial = cast<func::FuncOp>(step->clone());
    symbols.insert(trial);
    bool isBuilt = succeeded(partitioner.apply(trial));
    int64_t stateBytes = 0;
    for (auto [i, type] : llvm::enumerate(trial.getArgumentTypes()))
      if (Signature(trial).argumentState(static_cast<unsigned>(i)))
        stateBytes += byteSize(cast<ShapedType>(type));
    seconds += memoryPrice * 1e-9 * static_cast<double>(stateBytes);
    for (Operation &op : trial.getBody().front())
      seconds += getSeconds(op);
    StepCost cost;
    if (isBuilt)
      cost = {seconds, getKeptBytes(trial.getBody().front()), stateBytes};
    symbols.erase(trial);
    return cost;
  }

  /// Returns the most bytes of values that are read again after many other ops:
  /// what the forward pass leaves for the backward pass.
  static int64_t getKeptBytes(Block &block) {
    constexpr size_t few = 32;
    llvm::DenseMap<Operation *, size_t> places;
    for (Operation &op : block)
      places.try_emplace(&op, places.size());
    SmallVector<int64_t> changes(places.size() + 1, 0);
    for (Operation &op : block)
      for (Value result : op.getResults()) {
        size_t first = places.at(&op), last = first;
        for (Operation *user : result.getUsers())
          last = std::max(last, places.at(user));
        if (last - first < few || op.hasTrait<SameBytes>())
          continue;
        changes[first] += byteSize(tensorType(result));
        changes[last] -= byteSize(tensorType(result));
      }
    int64_t kept = 0, most = 0;
    for (int64_t change : changes)
      most = std::max(most, kept += change);
    return most;
  }

  /// Returns the time of an op of a rank. Ops that loops can compute element by
  /// element become one kernel with others: what they move is the states that
  /// they read and write.
  double getSeconds(Operation &op) {
    if (isa<Exchange>(op) || !isa<CostModel>(op))
      return 0;
    if (!isa<ScalarBody>(op) || isa<LibraryCall>(op))
      return estimateCost(&op, machine).seconds - machine.launchSeconds;
    double bytes = 0;
    for (Value operand : op.getOperands())
      if (isa<BlockArgument>(operand))
        bytes += static_cast<double>(byteSize(tensorType(operand)));
    for (Value result : op.getResults())
      if (llvm::is_contained(result.getUsers(), op.getBlock()->getTerminator()))
        bytes += static_cast<double>(byteSize(tensorType(result)));
    return machine.getMoveSeconds(bytes);
  }

  /// Splits a group instead of those that split one of its states, or not any
  /// more.
  void flip(Group &group) {
    group.isSplit = !group.isSplit;
    if (!group.isSplit)
      return;
    llvm::SmallDenseSet<Operation *> states;
    for (auto &[state, placement] : group.states)
      states.insert(state);
    for (Group &other : groups)
      if (&other != &group && !other.isPinned)
        for (auto &[state, placement] : other.states)
          if (states.contains(state))
            other.isSplit = false;
  }

  double getSecondsAfterFlip(Group &group) {
    SmallVector<bool> before = getChoice();
    flip(group);
    double seconds = getSeconds();
    setChoice(before);
    return seconds;
  }

  /// Whether ranks can have equal numbers of rows.
  bool hasRows() const {
    RowDims rows(step);
    Block &block = step->getRegion(0).front();
    return llvm::any_of(block, [&](Operation &op) {
      return llvm::any_of(op.getResults(), [&](Value value) {
        return rows.find(value, parts).has_value();
      });
    });
  }

  void setRows(bool isSplit) {
    times.clear();
    if (isSplit)
      step->setAttr(kSplitRowsAttr, StringAttr::get(&getContext(), axis));
    else
      step->removeAttr(kSplitRowsAttr);
  }

  /// A budget in percent asks for less than what is kept, one in bytes is for
  /// states, too.
  bool isWithinBudget(const StepCost &cost) const {
    return memoryBudget.empty() ||
           (!memoryBudget.isPercent &&
            static_cast<double>(cost.stateBytes + cost.keptBytes) <=
                memoryBudget.number);
  }

  SmallVector<bool> getChoice() const {
    return llvm::map_to_vector(
        groups, [](const Group &group) { return group.isSplit; });
  }

  void setChoice(ArrayRef<bool> choice) {
    for (auto [group, isSplit] : llvm::zip_equal(groups, choice))
      group.isSplit = isSplit;
  }

  /// Searches with sums on each rank, and splits these into rows where a step
  /// is faster so, or would keep more than it may.
  void chooseRows() {
    setRows(false);
    search();
    if (splitRows == "never" ||
        llvm::none_of(groups, [](const Group &group) { return group.isSplit; }))
      return;
    auto options = remarkOptions(getArgument(), "Rows");
    if (!hasRows()) {
      remark::missed(step.getLoc(), options)
          << remark::reason("ranks cannot have equal numbers of samples, or of "
                            "the positions of one");
      return;
    }
    StepCost whole = getCost();
    setRows(true);
    StepCost split = getCost();
    bool isWanted =
        splitRows == "always" || split.seconds < whole.seconds ||
        (!isWithinBudget(whole) && split.keptBytes < whole.keptBytes);
    setRows(isWanted);
    best = isWanted ? split.seconds : whole.seconds;
    auto describe = [&](auto &remark) {
      remark << remark::metric("added_seconds", split.seconds - whole.seconds)
             << remark::metric("kept_bytes", split.keptBytes)
             << remark::metric("whole_kept_bytes", whole.keptBytes);
    };
    if (isWanted) {
      auto passed = remark::passed(step.getLoc(), options);
      describe(passed);
    } else {
      auto missed = remark::missed(step.getLoc(), options);
      missed << remark::reason(
          "the step would take longer, and what it keeps fits");
      describe(missed);
    }
  }

  void search() {
    SmallVector<Group *> free;
    for (Group &group : groups)
      if (!group.isPinned)
        free.push_back(&group);
    best = getSeconds();
    if (comparesAll(free.size())) {
      compareAll(free);
    } else {
      searchFromSeveral(free);
    }
    apply();
  }

  /// Searches from nothing, from everything, and from random choices while
  /// there is time: classes that save time together need not do so alone.
  void searchFromSeveral(ArrayRef<Group *> free) {
    turnOver(free);
    SmallVector<bool> choice = getChoice();
    double seconds = best;
    constexpr unsigned most = 32;
    std::minstd_rand random;
    for (unsigned start = 0; start < most && (start == 0 || hasTime());
         ++start) {
      for (Group *group : free) {
        bool isWanted = start == 0 || (random() >> 8 & 1u) != 0;
        if (group->isSplit != isWanted)
          flip(*group);
      }
      best = getSeconds();
      turnOver(free);
      if (best < seconds) {
        seconds = best;
        choice = getChoice();
      }
    }
    best = seconds;
    setChoice(choice);
  }

  /// Whether the steps that were built are of few ops.
  bool hasTime() {
    size_t ops = step.getBody().front().getOperations().size();
    return ops * times.size() <= kMaxOps;
  }

  /// Whether there is time to build the step for all choices.
  bool comparesAll(size_t classes) {
    if (how != "auto")
      return how == "all";
    constexpr size_t always = 6, most = 16;
    size_t ops = step.getBody().front().getOperations().size();
    return classes <= always || (classes <= most && ops << classes <= kMaxOps);
  }

  void compareAll(ArrayRef<Group *> free) {
    unsigned choice = 0;
    auto set = [&](unsigned mask) {
      for (auto [i, group] : llvm::enumerate(free))
        group->isSplit = (mask >> i & 1u) != 0;
    };
    for (unsigned mask = 1; mask < 1u << free.size(); ++mask) {
      set(mask);
      if (double seconds = getSeconds(); seconds < best) {
        best = seconds;
        choice = mask;
      }
    }
    set(choice);
  }

  /// Turns over the group that saves most, then two at a time, until nothing
  /// saves anything.
  void turnOver(ArrayRef<Group *> free) {
    auto tryFlips = [&](ArrayRef<Group *> flipped) {
      SmallVector<bool> before = getChoice();
      for (Group *group : flipped)
        flip(*group);
      double seconds = getSeconds();
      if (seconds < best) {
        best = seconds;
        bestChoice = getChoice();
      }
      setChoice(before);
    };
    for (bool hasChanged = true; hasChanged;) {
      double before = best;
      for (Group *group : free)
        tryFlips({group});
      if (best == before)
        for (auto [i, first] : llvm::enumerate(free))
          for (Group *second : free.drop_front(i + 1))
            tryFlips({first, second});
      hasChanged = best < before;
      if (hasChanged)
        setChoice(bestChoice);
    }
  }

  void report() {
    remark::analysis(step.getLoc(), remarkOptions(getArgument(), "Choice"))
        << remark::metric("classes", groups.size())
        << remark::metric("seconds", best);
    for (Group &group : groups) {
      double other = getSecondsAfterFlip(group);
      auto options = remarkOptions(getArgument(), "Partition");
      StateOp state = group.states.front().first;
      auto states = static_cast<int64_t>(group.states.size());
      if (group.isSplit)
        remark::passed(state.getLoc(), options)
            << remark::metric("state", state.getSymName())
            << remark::metric("states", states)
            << remark::metric("saved_seconds", other - best);
      else
        remark::missed(state.getLoc(), options)
            << remark::metric("state", state.getSymName())
            << remark::metric("states", states)
            << remark::metric("saved_seconds", best - other)
            << remark::reason("the step would take longer");
    }
    apply();
  }

  /// The ops of all steps that are built in about a second.
  static constexpr size_t kMaxOps = 1 << 19;

  Axis over = Axis::Tensor;
  int64_t parts = 1;
  Machine machine;
  func::FuncOp step;
  SmallVector<Group, 0> groups;
  llvm::MapVector<Operation *, Attribute> pinned;
  double best = 0;
  SmallVector<bool> bestChoice;
  /// The times of choices with the present rows.
  std::map<SmallVector<bool>, double> times;
};

} // namespace
