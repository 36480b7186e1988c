// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/BlockRuns.h"

#include "dialects/ingot/ir/Signature.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;

namespace {

/// Finds runs in the ops of a function.
class BlockFinder {
public:
  explicit BlockFinder(func::FuncOp function) : signature(function) {
    llvm::StringMap<int64_t> kinds;
    for (Operation &op : function.getBody().front().without_terminator()) {
      numbers[&op] = static_cast<int64_t>(ops.size());
      ops.push_back(&op);
      kind.push_back(
          kinds.try_emplace(describe(&op), static_cast<int64_t>(kinds.size()))
              .first->second);
    }
  }

  SmallVector<BlockRun> find() {
    find(0, static_cast<int64_t>(ops.size()));
    llvm::sort(runs, [](const BlockRun &a, const BlockRun &b) {
      return a.first < b.first;
    });
    return runs;
  }

private:
  /// Returns what ops of blocks have in common.
  static std::string describe(Operation *op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << op->getName() << op->getAttrDictionary();
    for (Type type : op->getOperandTypes())
      os << type;
    for (Type type : op->getResultTypes())
      os << type;
    return text;
  }

  /// Returns the number of the op that computes a value; -1 of an argument.
  int64_t numberOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? numbers.lookup(op) : -1;
  }

  bool isState(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && signature.argumentState(argument.getArgNumber());
  }

  /// Whether the op does with its block what the op `period` earlier does with
  /// its own. Of the first two blocks, the former may read what is before both.
  bool repeats(int64_t at, int64_t period, int64_t first) const {
    Operation *op = ops[at], *before = ops[at - period];
    for (auto [own, other] :
         llvm::zip_equal(op->getOperands(), before->getOperands())) {
      if (own == other || (isState(own) && isState(other)))
        continue;
      int64_t from = numberOf(own), fromBefore = numberOf(other);
      if (from < 0 ||
          cast<OpResult>(own).getResultNumber() !=
              (fromBefore < 0 ? cast<OpResult>(own).getResultNumber()
                              : cast<OpResult>(other).getResultNumber()))
        return false;
      bool isFirst = at - period < first + period && fromBefore < first &&
                     from >= first && from < at;
      if (fromBefore != from - period && !isFirst)
        return false;
    }
    return true;
  }

  bool hasOwnStates(const BlockRun &run) const {
    for (int64_t at = run.first; at < run.first + run.length; ++at)
      for (auto [own, other] : llvm::zip_equal(
               ops[at]->getOperands(), ops[at + run.length]->getOperands()))
        if (own != other && isState(own))
          return true;
    return false;
  }

  /// Whether what is behind a run reads its last blocks alone, so that others
  /// can take their place.
  bool canBeShortened(const BlockRun &run) const {
    int64_t end = run.first + run.length * run.count;
    // Of blocks that stay, everything can be read.
    constexpr int64_t staying = 2;
    for (int64_t at = run.first + staying * run.length; at < end - run.length;
         ++at)
      for (OpOperand &use : ops[at]->getUses())
        if (isBehind(use.getOwner(), end) && !isUpdate(use))
          return false;
    return true;
  }

  bool isBehind(Operation *user, int64_t end) const {
    auto found = numbers.find(user);
    return found == numbers.end() || found->second >= end;
  }

  /// Whether a use is a result for a state, which goes with its block.
  bool isUpdate(OpOperand &use) const {
    return use.getOwner() == signature.getReturn() &&
           signature.resultState(use.getOperandNumber());
  }

  /// Finds the run that covers most of a range of ops, and others beside it.
  void find(int64_t begin, int64_t end) {
    constexpr int64_t fewest = 3;
    BlockRun best;
    for (int64_t period = 1; period <= (end - begin) / fewest; ++period) {
      for (int64_t at = begin + period; at < end;) {
        int64_t first = at - period;
        while (at < end && kind[at] == kind[at - period] &&
               repeats(at, period, first))
          ++at;
        BlockRun run{first, period, (at - first) / period};
        if (run.count >= fewest &&
            run.count * period > best.count * best.length &&
            hasOwnStates(run) && canBeShortened(run))
          best = run;
        at = std::max(at, first + period) + 1;
      }
    }
    if (best.count == 0)
      return;
    runs.push_back(best);
    find(begin, best.first);
    find(best.first + best.count * best.length, end);
  }

  Signature signature;
  SmallVector<Operation *, 0> ops;
  SmallVector<int64_t, 0> kind;
  DenseMap<Operation *, int64_t> numbers;
  SmallVector<BlockRun> runs;
};

} // namespace

SmallVector<BlockRun> ingot::findBlockRuns(func::FuncOp function) {
  return BlockFinder(function).find();
}

/// Erases states that no function carries any more.
static void eraseUnusedStates(ModuleOp module) {
  llvm::StringSet<> used;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (FlatSymbolRefAttr state = Signature(function).argumentState(i))
        used.insert(state.getValue());
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>()))
    if (!used.contains(state.getSymName()))
      state.erase();
}

void ingot::keepBlocks(func::FuncOp function, ArrayRef<BlockRun> runs,
                       ArrayRef<int64_t> kept) {
  Block &body = function.getBody().front();
  auto ops = llvm::to_vector_of<Operation *, 0>(
      llvm::make_pointer_range(body.without_terminator()));
  DenseSet<Operation *> erased;
  for (auto [run, count] : llvm::zip_equal(runs, kept)) {
    if (count >= run.count)
      continue;
    int64_t from = run.first + run.length * count,
            end = run.first + run.length * run.count;
    for (int64_t at = from; at < end; ++at)
      erased.insert(ops[at]);
    for (int64_t at = end - run.length; at < end; ++at) {
      Operation *stand = ops[at - (end - from)];
      for (auto [last, own] :
           llvm::zip_equal(ops[at]->getResults(), stand->getResults()))
        last.replaceUsesWithIf(own, [&](OpOperand &use) {
          return !erased.contains(use.getOwner()) &&
                 !use.getOwner()->hasTrait<OpTrait::IsTerminator>();
        });
    }
  }
  Signature signature(function);
  // Results of states go with what computes them; others are of the last block.
  ResultList results = ResultList::of(signature);
  llvm::erase_if(results.entries, [&](const ResultList::Entry &entry) {
    return entry.state() && entry.value.getDefiningOp() &&
           erased.contains(entry.value.getDefiningOp());
  });
  for (auto [run, count] : llvm::zip_equal(runs, kept))
    for (ResultList::Entry &entry : results.entries)
      if (Operation *op = entry.value.getDefiningOp();
          op && erased.contains(op)) {
        auto number = cast<OpResult>(entry.value).getResultNumber();
        int64_t removed = run.length * (run.count - count);
        auto *found = llvm::find(ops, op);
        int64_t at = found - ops.begin();
        if (at >= run.first && at < run.first + run.length * run.count)
          entry.value = ops[at - removed]->getResult(number);
      }
  results.apply(signature);
  for (Operation *op : llvm::reverse(ops))
    if (erased.contains(op))
      op->erase();
  signature.eraseUnused();
  eraseUnusedStates(function->getParentOfType<ModuleOp>());
}
