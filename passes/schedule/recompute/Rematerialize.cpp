// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Recomputes what makes the peak, until it fits a budget.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Cost.h"
#include "passes/options/OptionValues.h"
#include "passes/schedule/GatherPlacement.h"
#include "passes/schedule/Order.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/arena/ArenaUse.h"
#include "passes/schedule/arena/StatePlaces.h"
#include "passes/schedule/graph/FusionSlice.h"
#include "passes/schedule/recompute/RecomputeSearch.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

#include <numeric>

namespace ingot {
#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Writes a plan's copies into the function.
class PlanWriter {
public:
  explicit PlanWriter(const RecomputePlan &plan, unsigned cut)
      : plan(plan), cut(cut) {}

  void write() {
    ArrayRef<StepGraph::Node> nodes = plan.graph.getNodes();
    Signature signature = plan.graph.getSignature();
    OpBuilder builder(signature.getReturn());
    SmallVector<Operation *> ops(nodes.size());
    // Copies in their order: each finds the copies that it reads.
    for (unsigned index : plan.order) {
      const StepGraph::Node &node = nodes[index];
      ops[index] = node.op;
      if (node.original < 0)
        continue;
      SmallVector<Value> operands = llvm::map_to_vector(
          node.op->getOperands(), [&](Value v) { return late(v, builder); });
      FusionSlice slice = FusionSlice::of(node.op, node.results, node.others);
      SmallVector<Value> results = slice.clone(builder, node.op, node.results,
                                               operands, node.op->getResults());
      for (unsigned i : node.results.set_bits()) {
        copies[node.op->getResult(i)] = results[i];
        ops[index] = results[i].getDefiningOp();
      }
    }
    for (auto [index, node] : llvm::enumerate(nodes))
      if (node.original < 0 && index > cut)
        for (OpOperand &operand : node.op->getOpOperands())
          operand.set(late(operand.get(), builder));
    // Views that only late readers had are not moved behind what they view.
    for (Operation &op : llvm::make_early_inc_range(
             llvm::reverse(*signature.getReturn()->getBlock())))
      if (op.hasTrait<SameBytes>() && op.use_empty())
        op.erase();
    StepGraph::applyOrder(signature,
                          llvm::map_to_vector(plan.order, [&](unsigned index) {
                            return ops[index];
                          }));
  }

private:
  /// The value as late readers see it: of the copy, through views.
  Value late(Value value, OpBuilder &builder) {
    if (Value copy = copies.lookup(value))
      return copy;
    Operation *def = value.getDefiningOp();
    if (!def || !def->hasTrait<SameBytes>())
      return value;
    SmallVector<Value> operands = llvm::map_to_vector(
        def->getOperands(), [&](Value v) { return late(v, builder); });
    if (llvm::equal(operands, def->getOperands()))
      return value;
    Operation *view = builder.clone(*def);
    view->setOperands(operands);
    for (auto [from, to] :
         llvm::zip_equal(def->getResults(), view->getResults()))
      copies[from] = to;
    return copies.lookup(value);
  }

  const RecomputePlan &plan;
  unsigned cut;
  DenseMap<Value, Value> copies;
};

struct Rematerialize : ingot::impl::RematerializeBase<Rematerialize> {
  using RematerializeBase::RematerializeBase;

  void runOnOperation() override {
    if (failed(readOptions()))
      return signalPassFailure();
    if (memoryBudget.empty() && names.recompute.empty())
      return;
    StatePlaces states(getOperation());
    target = Target::of(getOperation());
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    int64_t payloads = countPayloads(functions);
    llvm::erase_if(functions, [](func::FuncOp func) {
      return func.isDeclaration() || !Signature(func).findResult("loss");
    });
    if (!memoryBudget.empty())
      split = splitArena(functions);
    for (func::FuncOp func : functions) {
      fixedBytes = states.getBytes() + states.mappedBytes + states.shardBytes +
                   payloads + getStagingBytes(Signature(func), *target);
      budget = findBudget();
      if (failed(fit(func)))
        return signalPassFailure();
    }
  }

private:
  /// Returns the bytes that exchanges need on one rank in addition to the
  /// arena. Functions have the memory of their exchanges in common, in order.
  int64_t countPayloads(ArrayRef<func::FuncOp> functions) const {
    const TargetDevice *device = target->findDevice();
    if (!device)
      return 0;
    SmallVector<int64_t> largest;
    for (func::FuncOp func : functions) {
      size_t place = 0;
      func.walk([&](Operation *op) {
        int64_t bytes = device->getBytesOfRank(op);
        if (bytes == 0)
          return;
        largest.resize(std::max(largest.size(), place + 1), 0);
        largest[place] = std::max(largest[place], bytes);
        ++place;
      });
    }
    return std::accumulate(largest.begin(), largest.end(), int64_t(0));
  }

  LogicalResult readOptions() {
    auto combined = RematNames::combine("remat", *remat);
    if (!combined)
      return emitUserError(&getContext(), combined.takeError());
    names = std::move(*combined);
    return success();
  }

  static bool matches(Operation *op, const NamePattern &pattern) {
    return !pattern.empty() &&
           llvm::any_of(nodeNames(op->getLoc()), [&](const std::string &name) {
             return pattern.match(name);
           });
  }

  /// The last node that the loss needs: what comes after is the backward pass.
  static std::optional<unsigned> findCut(const StepGraph &graph,
                                         Signature signature) {
    Value loss = resolveViews(
        signature.getReturn()->getOperand(*signature.findResult("loss")));
    Operation *last = loss.getDefiningOp();
    // Of a sum over ranks: where this rank's part is ready.
    auto findBucket = [](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto end = operand.getDefiningOp<BucketEnd>())
          return end.getBucket().getDefiningOp();
      return static_cast<Operation *>(nullptr);
    };
    if (Operation *start = last ? findBucket(last) : nullptr)
      last = start;
    for (auto [i, node] : llvm::enumerate(graph.getNodes()))
      if (node.op == last)
        return i;
    return std::nullopt;
  }

  /// Moves what the loss alone needs behind the last node that it needs and
  /// others do, too: nothing waits for the loss, which may come late. Returns
  /// whether anything moved.
  static bool hastenLoss(const StepGraph &graph, unsigned loss) {
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    llvm::BitVector isForLoss(nodes.size());
    isForLoss.set(loss);
    unsigned last = loss;
    auto comesBeforeLoss = [&](unsigned next) { return isForLoss[next]; };
    auto isKept = [&](unsigned buffer) {
      return graph.getBuffers()[buffer].isKept;
    };
    // Dependences, not buffers: sums over micro-batches are in states.
    for (unsigned i = loss; i-- > 0;) {
      const StepGraph::Node &node = nodes[i];
      if (!llvm::any_of(node.successors, comesBeforeLoss))
        continue;
      if (!node.writesState && !llvm::any_of(node.writes, isKept) &&
          llvm::all_of(node.successors, comesBeforeLoss))
        isForLoss.set(i);
      else if (last == loss)
        last = i;
    }
    bool isLate = false;
    for (unsigned i = last + 1; i <= loss; ++i)
      isLate |= !isForLoss[i];
    if (!isLate)
      return false;
    SmallVector<Operation *> order;
    for (bool comesLater : {false, true})
      for (auto [i, node] : llvm::enumerate(nodes))
        if ((i > last && !isForLoss[i]) == comesLater)
          order.push_back(node.op);
    StepGraph::applyOrder(graph.getSignature(), order);
    return true;
  }

  /// Plans for `margin` bytes less than the budget.
  LogicalResult fit(func::FuncOp func, int64_t margin = 0) {
    Signature signature(func);
    const Machine &machine = target->getMachine();
    StepGraph graph(signature, *target);
    std::optional<unsigned> cut = findCut(graph, signature);
    if (!cut)
      return success();
    if (hastenLoss(graph, *cut))
      return fit(func, margin);
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    size_t buffers = graph.getBuffers().size();
    llvm::BitVector allowed(buffers), again(buffers);
    SmallVector<RecomputeRecipe> recipes(buffers);
    double stepSeconds = 0;
    for (auto [i, node] : llvm::enumerate(nodes)) {
      stepSeconds += estimateCost(node.op, machine).seconds;
      if (i > *cut || node.writesState || !isPure(node.op) ||
          isa<BucketEnd, Exchange, RepeatOp>(node.op))
        continue;
      for (unsigned buffer : node.writes) {
        recipes[buffer] = findRecipe(graph, buffer, *cut, machine);
        if (!matches(node.op, names.save))
          allowed.set(buffer);
        if (matches(node.op, names.recompute))
          again.set(buffer);
      }
    }

    RecomputeSearch search(graph, *cut, recipes, allowed, again);
    std::optional<RecomputePlan> plan = search.find(budget - margin);
    // The search starts from one order; --ingot-order-steps may find a better
    // one, which needs no recomputation.
    if (again.none() && !(plan && search.getAgain().none()) &&
        planWithout(graph).arenaBytes <= budget - margin)
      return success();
    bool isSmallest = !plan;
    if (!plan)
      plan = search.findSmallest();
    OpBuilder builder(func);
    func::FuncOp before = func.clone();
    PlanWriter(*plan, *cut).write();
    // What recomputes with parameters has them gathered again.
    if (GatherPlacement::countBuckets(func) != 0)
      GatherPlacement().place(func, kGatherRoom);
    // Parts of fusions may share memory in other ways than the whole ones that
    // the search knows.
    int64_t bytes = StepGraph(signature, *target).getArenaBytes();
    if (bytes > budget && isSmallest && !memoryBudget.isLeast) {
      before.erase();
      std::string smallest = describeBudget(bytes);
      return emitOptionError(
          &getContext(), "memory-budget",
          "the step does not fit; the smallest possible is " + smallest,
          "allow that much, or compile with a smaller --batch");
    }
    if (bytes > budget && !isSmallest) {
      builder.insert(before);
      func.erase();
      return fit(before, margin + bytes - budget);
    }
    before.erase();
    report(func, search, *plan, bytes, stepSeconds);
    func->setAttr(kScheduledAttr, UnitAttr::get(&getContext()));
    return success();
  }

  /// How a buffer is computed again while its node's other results are kept.
  static RecomputeRecipe findRecipe(const StepGraph &graph, unsigned buffer,
                                    unsigned cut, const Machine &machine) {
    const StepGraph::Buffer &target = graph.getBuffers()[buffer];
    auto index = static_cast<unsigned>(target.writer);
    const StepGraph::Node &node = graph.getNodes()[index];
    auto result = cast<OpResult>(target.value);
    llvm::SmallBitVector wanted(node.op->getNumResults());
    wanted.set(result.getResultNumber());
    llvm::BitVector none(graph.getBuffers().size());
    FusionSlice slice = graph.getSlice(index, wanted, none, cut);

    RecomputeRecipe recipe;
    int64_t bytes = target.bytes;
    auto read = [&](Value value) {
      bytes += byteSize(tensorType(value));
      std::optional<unsigned> from = graph.getBuffer(value);
      if (from && !graph.isGathered(*from))
        recipe.reads.push_back(*from);
    };
    for (unsigned operand : slice.operands.set_bits())
      read(node.op->getOperand(operand));
    for (unsigned other : slice.others.set_bits())
      read(node.op->getResult(other));
    if (!slice.isWhole) {
      recipe.seconds = estimateCost(slice.body, bytes, machine).seconds;
      return recipe;
    }
    for (unsigned sibling : node.writes)
      if (sibling != buffer && graph.isReadLate(sibling, cut))
        recipe.siblings.push_back(sibling);
    // The first of the results that come together pays for all.
    bool isFirst = llvm::all_of(
        recipe.siblings, [&](unsigned sibling) { return buffer < sibling; });
    if (isFirst)
      recipe.seconds = estimateCost(node.op, machine).seconds;
    return recipe;
  }

  /// The arena of a step that recomputes nothing, and what it is used for.
  struct Unchanged {
    int64_t arenaBytes;
    ArenaUse use;
  };
  static Unchanged planWithout(const StepGraph &graph) {
    StepGraph::Lifetimes lifetimes =
        graph.getLifetimes(improveOrder(graph, graph.getProgramOrder()));
    int64_t bytes = packIntervals(lifetimes.intervals, INGOT_ALIGNMENT);
    return {bytes, measureArenaUse(graph, lifetimes)};
  }

  /// Returns the budget of the arena in bytes. A share is of the activations
  /// without a budget.
  int64_t findBudget() const {
    if (memoryBudget.empty())
      return std::numeric_limits<int64_t>::max();
    if (!memoryBudget.isPercent)
      return static_cast<int64_t>(memoryBudget.number) - fixedBytes;
    if (memoryBudget.number == 100)
      return split.arenaBytes;
    double share = memoryBudget.number / 100;
    return split.others + static_cast<int64_t>(split.activations * share);
  }

  /// An arena without recomputation, and the bytes that are live at its peak:
  /// those that are no activations, and those that are. What packing leaves
  /// between tensors is not counted: later passes merge kernels, which changes
  /// it.
  struct ArenaSplit {
    int64_t arenaBytes = 0, others = 0;
    double activations = 0;
  };

  /// Returns the split of the function with the largest arena, which is the
  /// arena of all functions: what a trainer without a budget says of its
  /// memory.
  ArenaSplit splitArena(ArrayRef<func::FuncOp> functions) const {
    ArenaSplit largest;
    for (func::FuncOp func : functions) {
      auto [bytes, use] = planWithout(StepGraph(Signature(func), *target));
      if (bytes <= largest.arenaBytes)
        continue;
      int64_t others =
          use.gradientBytes + use.workspaceBytes + use.communicationBytes;
      largest = {bytes, others, static_cast<double>(use.liveBytes - others)};
    }
    return largest;
  }

  /// An arena of `arenaBytes` as budgets are written: as bytes of all planned
  /// memory, in MiB, and as a percentage, rounded up so that it suffices.
  std::string describeBudget(int64_t arenaBytes) const {
    auto up = [](double value) { return std::ceil(value * 10) / 10; };
    int64_t peak = fixedBytes + arenaBytes;
    std::string text =
        llvm::formatv("{0} bytes at the peak, or {1:F1} MiB", peak,
                      up(static_cast<double>(peak) / (1 << 20)));
    double percent =
        split.activations > 0
            ? up(100 * static_cast<double>(arenaBytes - split.others) /
                 split.activations)
            : 100;
    if (percent > 0 && percent <= 100)
      text += llvm::formatv(", or {0:F1}%", percent).str();
    return text;
  }

  void report(func::FuncOp func, const RecomputeSearch &search,
              const RecomputePlan &plan, int64_t arenaBytes,
              double stepSeconds) {
    for (const StepGraph::Node &node : plan.graph.getNodes()) {
      if (node.original < 0)
        continue;
      ++numRecomputed;
      int64_t bytes = 0;
      for (unsigned buffer : node.writes)
        bytes += plan.graph.getBuffers()[buffer].bytes;
      remark::passed(node.op->getLoc(),
                     remarkOptions(getArgument(), "Recomputation"))
          << remark::metric("bytes", bytes);
    }
    remark::analysis(func.getLoc(), remarkOptions(getArgument(), "Budget"))
        << remark::metric("function", func.getName())
        << remark::metric("peak_bytes", fixedBytes + arenaBytes)
        << remark::metric("recomputed_seconds",
                          llvm::formatv("{0:e3}", search.getSeconds()).str())
        << remark::metric(
               "step_fraction",
               llvm::formatv("{0:f4}", search.getSeconds() / stepSeconds)
                   .str());
  }

  RematNames names;
  /// Bytes outside of the arena: states, and staging of inputs.
  int64_t fixedBytes = 0, budget = 0;
  ArenaSplit split;
  std::shared_ptr<const Target> target;
};

} // namespace
