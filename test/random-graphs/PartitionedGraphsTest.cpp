// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random graphs with random partitions of their arguments, for two or three
// ranks: the graph of a rank gives the results of the whole graph, is accepted
// by the validator, and is rejected after any edit.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/partition/Passes.h"
#include "test/random-graphs/RandomGraph.h"
#include "test/random-graphs/TestContext.h"
#include "test/random-graphs/catalogue/Catalogue.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {

struct PartitionedGraphs : ::testing::Test {
  /// A graph whose arguments have random partitions; nothing if none can be
  /// split.
  std::optional<RandomGraph> make(uint64_t seed) {
    ranks = 2 + static_cast<int64_t>(seed % 2);
    RandomGraph graph =
        makeRandomGraph(context, seed, /*size=*/8, Float64Type::get(&context));
    bool isOfRanks = false;
    graph.module->walk([&](Operation *op) { isOfRanks |= exchanges(op); });
    if (isOfRanks)
      return std::nullopt;
    Chooser choose(seed);
    Builder builder(&context);
    (*graph.module)
        ->setAttr(kMeshAttr, builder.getDictionaryAttr(builder.getNamedAttr(
                                 "tensor", builder.getI64IntegerAttr(ranks))));
    func::FuncOp function = getFunction(*graph.module);
    bool isSplit = false;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      SmallVector<int64_t> dimensions;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.getDimSize(dim) > 1)
          dimensions.push_back(dim);
      if (dimensions.empty() || choose.chance(0.2))
        continue;
      SmallVector<Attribute> dims(type.getRank(),
                                  builder.getDictionaryAttr({}));
      int64_t dim = choose.pick(dimensions), size = type.getDimSize(dim);
      Attribute segments = builder.getUnitAttr();
      if (size > ranks && choose.chance(0.3))
        segments = builder.getI64ArrayAttr({ranks, size - ranks});
      SmallVector<NamedAttribute> entries = {
          builder.getNamedAttr("tensor", segments)};
      if (size % ranks != 0)
        entries = {builder.getNamedAttr(
                       "pad", builder.getI64IntegerAttr(ranks - size % ranks)),
                   builder.getNamedAttr("tensor", builder.getUnitAttr())};
      dims[dim] = builder.getDictionaryAttr(entries);
      function.setArgAttr(i, kPartitionAttr, builder.getArrayAttr(dims));
      isSplit = true;
    }
    if (!isSplit)
      return std::nullopt;
    return graph;
  }

  /// Whether the ranks of a run exchange something, which are of another axis.
  static bool exchanges(Operation *op) {
    StringRef name = op->getName().getStringRef();
    return name.ends_with("_start") || name.ends_with("_wait") ||
           isa<ShardSquareSumOp>(op) || op->hasAttr("over_ranks");
  }

  static func::FuncOp getFunction(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPrivate())
        return function;
    return {};
  }

  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  bool run(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager manager(&context);
    manager.addPass(std::move(pass));
    return succeeded(manager.run(module));
  }

  /// The parts of the arguments that each rank has.
  std::vector<std::vector<Tensor>> split(func::FuncOp function,
                                         ArrayRef<Tensor> arguments) {
    std::vector<std::vector<Tensor>> all(ranks);
    Mesh mesh = Mesh::of(function);
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (auto [i, whole] : llvm::enumerate(arguments)) {
        Partition partition = Partition::get(
            function.getArgAttr(static_cast<unsigned>(i), kPartitionAttr),
            whole.getType(), mesh);
        Tensor own(partition.getLocalType());
        for (auto [to, from] : llvm::enumerate(partition.getPlaces(rank)))
          if (from >= 0)
            own.copy(static_cast<int64_t>(to), whole, from);
          else if (own.isFloat())
            own.real(static_cast<int64_t>(to)) =
                std::numeric_limits<double>::quiet_NaN();
        all[rank].push_back(std::move(own));
      }
    return all;
  }

  MLIRContext &context = getContext();
  int64_t ranks = 2;
};

} // namespace

TEST_F(PartitionedGraphs, RanksGiveTheResultsOfTheWholeGraph) {
  int64_t count = 0;
  for (int64_t seed = 0, e = getGraphCount(300); seed < e; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<RandomGraph> graph = make(seed);
    if (!graph)
      continue;
    ModuleOp module = *graph->module;
    auto whole = reference::evaluate(getFunction(module), graph->arguments);
    ASSERT_TRUE(static_cast<bool>(whole)) << llvm::toString(whole.takeError());
    std::vector<std::vector<Tensor>> arguments =
        split(getFunction(module), graph->arguments);
    ApplyPartitionsOptions options;
    options.keepGlobal = true;
    ASSERT_TRUE(run(module, createApplyPartitions(options))) << print(module);
    auto all = reference::evaluateRanks(getFunction(module), arguments);
    ASSERT_TRUE(static_cast<bool>(all)) << llvm::toString(all.takeError());
    for (const std::vector<Tensor> &own : *all)
      for (auto [i, result] : llvm::enumerate(own))
        EXPECT_LE(distance(result, (*whole)[i]), 1e-9) << "result " << i << "\n"
                                                       << print(module);
    std::string text = print(module);
    EXPECT_TRUE(run(module, createVerifyPartition())) << text;
    ++count;
  }
  EXPECT_GE(count, getGraphCount(300) / 4);
}

/// An operand that is replaced by another value of its type, and a sum that is
/// dropped, doubled or made a maximum.
TEST_F(PartitionedGraphs, EditsAreRejected) {
  int64_t edits = 0;
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  for (int64_t seed = 0, e = getGraphCount(300) / 5; seed < e; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<RandomGraph> graph = make(seed);
    if (!graph)
      continue;
    ApplyPartitionsOptions options;
    options.keepGlobal = true;
    ASSERT_TRUE(run(*graph->module, createApplyPartitions(options)));
    Chooser choose(seed);
    auto expectRejected = [&](function_ref<bool(Operation &)> edit,
                              size_t place) {
      OwningOpRef<ModuleOp> copy = graph->module->clone();
      Block &block = getFunction(*copy).getBody().front();
      Operation &op = *std::next(block.begin(), static_cast<long>(place));
      std::string before;
      llvm::raw_string_ostream(before) << op;
      if (!edit(op) || failed(verify(*copy)))
        return;
      ++edits;
      EXPECT_FALSE(run(*copy, createVerifyPartition())) << before;
    };
    Block &block = getFunction(*graph->module).getBody().front();
    size_t last = std::distance(block.begin(), block.end()) - 1;
    for (size_t place = 0; place < last; ++place) {
      expectRejected(
          [&](Operation &op) {
            SmallVector<std::pair<unsigned, Value>> others;
            for (OpOperand &operand : op.getOpOperands())
              for (BlockArgument argument : op.getBlock()->getArguments())
                if (argument.getType() == operand.get().getType() &&
                    argument != operand.get())
                  others.emplace_back(operand.getOperandNumber(), argument);
            if (others.empty())
              return false;
            auto [number, value] = choose.pick(others);
            op.setOperand(number, value);
            return true;
          },
          place);
      expectRejected(
          [](Operation &op) {
            auto sum = dyn_cast<AllReduceOp>(op);
            if (!sum)
              return false;
            sum.getResult().replaceAllUsesWith(sum.getOperand());
            return true;
          },
          place);
      expectRejected(
          [](Operation &op) {
            auto sum = dyn_cast<AllReduceOp>(op);
            if (!sum)
              return false;
            OpBuilder builder(&op);
            op.setOperand(0, builder.clone(op)->getResult(0));
            return true;
          },
          place);
      expectRejected(
          [](Operation &op) {
            auto sum = dyn_cast<AllReduceOp>(op);
            if (!sum)
              return false;
            sum.setKind(sum.getKind() == ReductionKind::Max
                            ? ReductionKind::Sum
                            : ReductionKind::Max);
            return true;
          },
          place);
    }
  }
  EXPECT_GE(edits, getGraphCount(300) / 3);
}
