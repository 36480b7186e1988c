// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// GroupKernels: groups small independent loops into one kernel.
//
// Assumes that operations are in execution order.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/Shards.h"
#include "dialects/ingot/analysis/StateOnly.h"
#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/cost/Cost.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/graph/StepGraph.h"
#include "runtime/abi/Abi.h"

namespace ingot {
#define GEN_PASS_DEF_GROUPKERNELS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// No position in the order.
constexpr unsigned none = -1;

/// Loops that become one kernel, at the position of the last of them.
struct Group {
  SmallVector<unsigned> nodes;
  llvm::DenseSet<Value> buffers;
  /// The first node in the order that depends on one of them.
  unsigned neededAt = none;

  unsigned place() const { return nodes.back(); }
};

/// Chooses groups for one order. The number of a node is its position in it.
class GroupPlan {
public:
  GroupPlan(const StepGraph &graph, const Shards &shards, const Target &target,
            unsigned maxBuffers)
      : nodes(graph.getNodes()), shards(shards), machine(target.getMachine()),
        hasStreams(target.findDevice() &&
                   target.findDevice()->getStreams() > 1),
        maxBuffers(maxBuffers),
        lifetimes(graph.getLifetimes(graph.getProgramOrder())) {
    live.resize(nodes.size() + 2);
    for (const Interval &interval : lifetimes.intervals)
      addLive(interval.bytes, interval.first, interval.last);
    peakBytes = *llvm::max_element(live);
  }

  /// The live bytes do not exceed the peak at any instant that a group adds to.
  void choose();

  ArrayRef<Group> getGroups() const { return groups; }
  /// Loops that are not grouped, and the reasons.
  ArrayRef<std::pair<unsigned, std::string>> getRefusals() const {
    return refusals;
  }

private:
  std::string refuseLoop(FusionOp fusion) const;
  std::string refuse(const Group &group, unsigned node);
  std::string keepUntil(const Group &group, unsigned node);
  bool overwritesShared(const Group &group, unsigned node) const;
  void add(Group &group, unsigned node);
  /// Returns the first node in the order that depends on this one.
  unsigned neededAt(unsigned node) const {
    unsigned first = none;
    for (unsigned next : nodes[node].successors)
      first = std::min(first, next);
    return first;
  }

  void addLive(int64_t bytes, int64_t first, int64_t last) {
    bytes = llvm::alignTo(bytes, INGOT_ALIGNMENT);
    for (int64_t at = first; at <= last; ++at)
      live[at] += bytes;
  }

  ArrayRef<StepGraph::Node> nodes;
  const Shards &shards;
  const Machine &machine;
  bool hasStreams;
  unsigned maxBuffers;
  StepGraph::Lifetimes lifetimes;
  /// The live bytes at each instant.
  SmallVector<int64_t> live;
  int64_t peakBytes = 0;
  SmallVector<Group> groups;
  SmallVector<std::pair<unsigned, std::string>> refusals;
};

/// Returns why the loop is better not grouped, whatever the other loops are.
std::string GroupPlan::refuseLoop(FusionOp fusion) const {
  if (shards.lookup(fusion.getResult(0)))
    return "it runs only on the rank's shard";
  // A launch is then less than 2 % of the kernel's time. With several streams,
  // a kernel of a few launches is better run concurrently with what comes next
  // than late.
  const double maxLaunches = hasStreams ? 3 : 50;
  Cost cost = estimateCost(fusion, machine);
  if (cost.seconds > maxLaunches * machine.launchSeconds)
    return hasStreams ? "it can run concurrently with others"
                      : "its launch is a small fraction of its time";
  return "";
}

/// Returns whether one loop would overwrite data that another one still reads.
bool GroupPlan::overwritesShared(const Group &group, unsigned node) const {
  auto overwrites = [&](unsigned writer, unsigned reader) {
    return llvm::any_of(nodes[writer].inPlace, [&](StepGraph::InPlace pair) {
      return nodes[reader].reads.contains(pair.operand);
    });
  };
  return llvm::any_of(group.nodes, [&](unsigned other) {
    return overwrites(node, other) || overwrites(other, node);
  });
}

/// Extends the lifetimes of the group's operands until `node` runs, if memory
/// allows.
std::string GroupPlan::keepUntil(const Group &group, unsigned node) {
  SmallVector<std::pair<unsigned, int64_t>> extended;
  double rereadSeconds = 0;
  for (unsigned member : group.nodes)
    for (unsigned buffer : nodes[member].reads) {
      unsigned number = lifetimes.ofBuffer[buffer];
      Interval &interval = lifetimes.intervals[number];
      if (interval.last >= node)
        continue;
      extended.push_back({number, interval.last});
      addLive(interval.bytes, interval.last + 1, node);
      interval.last = node;
      auto bytes = static_cast<double>(interval.bytes);
      if (bytes <= machine.cacheBytes)
        rereadSeconds +=
            bytes / machine.memoryBandwidth - bytes / machine.cacheBandwidth;
    }
  int64_t most = 0;
  for (auto [number, last] : extended)
    for (int64_t at = last + 1; at <= node; ++at)
      most = std::max(most, live[at]);
  std::string reason;
  if (most > peakBytes)
    reason = "the peak would rise to " + std::to_string(most) + " bytes";
  else if (group.place() + 1 != node && rereadSeconds > machine.launchSeconds)
    reason = "its operands would be evicted from the cache";
  if (reason.empty())
    return "";
  for (auto [number, last] : extended) {
    Interval &interval = lifetimes.intervals[number];
    addLive(-interval.bytes, last + 1, interval.last);
    interval.last = last;
  }
  return reason;
}

/// Returns why the group cannot be delayed to `node` and run with it; if it
/// can, the lifetimes of its operands are extended.
std::string GroupPlan::refuse(const Group &group, unsigned node) {
  if (group.neededAt <= node)
    return "a step before the next loop reads its result";
  // Loops whose results only the end of the step reads could not be delayed to
  // further ones.
  if ((group.neededAt == none) != (neededAt(node) == none))
    return "only one of the two loops is read within the step";
  unsigned buffers = group.buffers.size() + nodes[node].op->getNumResults();
  for (Value operand : nodes[node].op->getOperands())
    buffers += !group.buffers.contains(operand);
  if (buffers > maxBuffers)
    return "the group has the maximum number of buffers of a kernel";
  if (overwritesShared(group, node))
    return "one loop would overwrite an input of another";
  return keepUntil(group, node);
}

void GroupPlan::add(Group &group, unsigned node) {
  group.nodes.push_back(node);
  group.buffers.insert_range(nodes[node].op->getOperands());
  group.buffers.insert_range(nodes[node].op->getResults());
  group.neededAt = std::min(group.neededAt, neededAt(node));
}

void GroupPlan::choose() {
  // The numbers of groups that may still grow, and why the last loop could not
  // join them.
  constexpr size_t maxOpen = 4;
  SmallVector<std::pair<unsigned, std::string>> open;
  auto close = [&](size_t i) {
    auto &[number, reason] = open[i];
    if (groups[number].nodes.size() == 1)
      refusals.push_back({groups[number].place(), reason});
    open.erase(open.begin() + static_cast<ptrdiff_t>(i));
  };
  for (auto [index, node] : llvm::enumerate(nodes)) {
    auto end = dyn_cast<BucketEnd>(node.op);
    if (end && end.getBucket().getDefiningOp() != node.op &&
        !gathersStates(end))
      while (!open.empty()) {
        open.front().second = "the loop would wait for the next bucket";
        close(0);
      }
    auto fusion = dyn_cast<FusionOp>(node.op);
    if (!fusion || fusion.getKind() != FusionKind::Loop ||
        tensorType(fusion.getResult(0)).getNumElements() == 0)
      continue;
    if (std::string reason = refuseLoop(fusion); !reason.empty()) {
      refusals.push_back({index, reason});
      continue;
    }
    bool joined = false;
    for (size_t i = open.size(); i-- > 0 && !joined;) {
      Group &group = groups[open[i].first];
      std::string reason = refuse(group, index);
      joined = reason.empty();
      if (joined)
        add(group, index);
      else
        open[i].second = reason;
      if (!joined && group.neededAt <= index)
        close(i);
    }
    if (joined)
      continue;
    if (open.size() == maxOpen)
      close(0);
    open.push_back({groups.size(), "no other small loop follows"});
    add(groups.emplace_back(), index);
  }
  while (!open.empty())
    close(0);
  llvm::erase_if(groups,
                 [](const Group &group) { return group.nodes.size() < 2; });
}

/// Returns how often groups may be packed. Packing takes up to the square of
/// the steps: fewer times where they are many thousands.
unsigned countAttempts(size_t steps) {
  constexpr size_t most = 16, least = 4, effort = 1'000'000'000;
  return std::clamp(effort / (steps * steps), least, most);
}

struct GroupKernels : ingot::impl::GroupKernelsBase<GroupKernels> {
  using GroupKernelsBase::GroupKernelsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    if (failed(verifyTensorLevel(func, getArgument())))
      return signalPassFailure();
    std::unique_ptr<const Target> target = Target::of(func);
    const Machine &machine = target->getMachine();
    StepGraph graph(Signature(func), *target);
    FailureOr<Shards> shards = Shards::of(func);
    if (failed(shards))
      return signalPassFailure();
    if (graph.getNodes().empty())
      return;
    GroupPlan plan(graph, *shards, *target, maxBuffers);
    plan.choose();
    order.clear();
    for (const StepGraph::Node &node : graph.getNodes())
      order.push_back(node.op);
    fusions.assign(plan.getGroups().size(), nullptr);
    // The live bytes are a bound that packing does not always reach: groups
    // that do not fit are tried by halves.
    int64_t bytes = graph.getArenaBytes();
    unsigned attempts = countAttempts(graph.getNodes().size());
    auto attempt = [&](auto &attempt, size_t from, size_t to) -> void {
      if (from == to || attempts == 0)
        return;
      --attempts;
      for (size_t i = from; i < to; ++i)
        form(plan.getGroups()[i], i);
      applyOrder(graph);
      if (StepGraph(graph.getSignature(), *target).fitsArena(bytes))
        return;
      for (size_t i = from; i < to; ++i)
        dissolve(plan.getGroups()[i], i);
      applyOrder(graph);
      if (to - from == 1)
        return;
      size_t half = from + (to - from) / 2;
      attempt(attempt, half, to);
      attempt(attempt, from, half);
    };
    attempt(attempt, 0, plan.getGroups().size());
    explain(plan, graph, machine);
  }

  void applyOrder(const StepGraph &graph) {
    SmallVector<Operation *> left(order);
    llvm::erase(left, nullptr);
    StepGraph::applyOrder(graph.getSignature(), left);
  }

  /// Creates the fusion of a planned group.
  void form(const Group &group, size_t number) {
    SmallVector<FusionOp> parts;
    for (unsigned node : group.nodes) {
      parts.push_back(cast<FusionOp>(order[node]));
      order[node] = nullptr;
    }
    fusions[number] = form(parts);
    order[group.place()] = fusions[number];
  }

  static FusionOp form(ArrayRef<FusionOp> parts) {
    SmallVector<Location> locations;
    SmallVector<Value> results;
    llvm::SetVector<Value> inputs;
    for (FusionOp part : parts) {
      locations.push_back(part.getLoc());
      inputs.insert(part.getInputs().begin(), part.getInputs().end());
      llvm::append_range(results, part.getResults());
    }
    OpBuilder builder(parts.back());
    Location loc = FusedLoc::get(builder.getContext(), locations);
    auto fusion = FusionOp::create(
        builder, loc, ValueRange(results).getTypes(),
        FusionKindAttr::get(builder.getContext(), FusionKind::Group),
        inputs.getArrayRef(), /*library=*/LibraryEpilogueAttr());
    Block *body = builder.createBlock(&fusion.getBody());
    DenseMap<Value, Value> within;
    for (Value input : inputs)
      within[input] = body->addArgument(input.getType(), input.getLoc());
    for (auto [result, own] : llvm::zip_equal(results, fusion.getResults()))
      result.replaceAllUsesWith(own);
    for (FusionOp part : parts) {
      part->moveBefore(body, body->end());
      for (OpOperand &operand : part->getOpOperands())
        operand.set(within.lookup(operand.get()));
    }
    YieldOp::create(builder, loc, results);
    return fusion;
  }

  /// Moves the loops of a group back to their positions.
  void dissolve(const Group &group, size_t number) {
    FusionOp fusion = fusions[number];
    Block &body = fusion.getBody().front();
    Operation *yield = body.getTerminator();
    fusion.replaceAllUsesWith(llvm::to_vector(yield->getOperands()));
    yield->erase();
    SmallVector<Operation *> parts =
        llvm::to_vector_of<Operation *>(llvm::make_pointer_range(body));
    for (auto [node, part] : llvm::zip_equal(group.nodes, parts)) {
      for (OpOperand &operand : part->getOpOperands())
        operand.set(fusion.getOperand(
            cast<BlockArgument>(operand.get()).getArgNumber()));
      part->moveBefore(fusion);
      order[node] = part;
    }
    fusion.erase();
    fusions[number] = nullptr;
  }

  void explain(const GroupPlan &plan, const StepGraph &graph,
               const Machine &machine) {
    auto options = remarkOptions(getArgument(), "KernelGroup");
    for (auto [group, fusion] : llvm::zip_equal(plan.getGroups(), fusions)) {
      if (!fusion) {
        remark::missed(order[group.place()]->getLoc(), options)
            << remark::metric("loops", group.nodes.size())
            << remark::reason("the arena would be larger");
        continue;
      }
      auto saved = static_cast<double>(group.nodes.size() - 1);
      remark::passed(fusion.getLoc(), options)
          << remark::metric("loops", group.nodes.size())
          << remark::metric("buffers",
                            fusion->getNumOperands() + fusion->getNumResults())
          << remark::metric("saved_seconds", saved * machine.launchSeconds);
      numGroups += 1;
      numGrouped += group.nodes.size();
    }
    for (const auto &[node, reason] : plan.getRefusals())
      remark::missed(graph.getNodes()[node].op->getLoc(), options)
          << remark::reason("{0}", reason);
  }

  /// The operations in order; null where a loop joined a later one.
  SmallVector<Operation *> order;
  /// The fusion of each group; null where it is not formed.
  SmallVector<FusionOp> fusions;
};

} // namespace
