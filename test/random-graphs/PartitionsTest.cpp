// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops computed in parts are the whole op: every factor of random instances, in
// two and in three parts, in f64.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/partition/Partitionable.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/IR/IRMapping.h"
#include "test/random-graphs/RandomGraph.h"
#include "test/random-graphs/TestContext.h"
#include "test/random-graphs/catalogue/Catalogue.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

using Tensors = std::vector<Tensor>;

/// Ops that are computed whole: nothing is known of what they need for a part.
static const std::set<std::string> kWhole = {"ingot.all_gather",
                                             "ingot.all_gather_start",
                                             "ingot.all_gather_wait",
                                             "ingot.all_reduce",
                                             "ingot.all_reduce_start",
                                             "ingot.all_reduce_wait",
                                             "ingot.all_to_all",
                                             "ingot.attention",
                                             "ingot.attention_grad",
                                             "ingot.batch_norm",
                                             "ingot.compress",
                                             "ingot.concat",
                                             "ingot.constant",
                                             "ingot.conv",
                                             "ingot.conv_filter_grad",
                                             "ingot.conv_input_grad",
                                             "ingot.dropout",
                                             "ingot.gather",
                                             "ingot.layer_norm",
                                             "ingot.log_softmax",
                                             "ingot.max_pool",
                                             "ingot.max_pool_grad",
                                             "ingot.packed_attention",
                                             "ingot.packed_attention_grad",
                                             "ingot.part",
                                             "ingot.permute",
                                             "ingot.random_uniform",
                                             "ingot.reduce_scatter",
                                             "ingot.reduce_scatter_start",
                                             "ingot.reduce_scatter_wait",
                                             "ingot.reverse",
                                             "ingot.rms_norm",
                                             "ingot.scatter",
                                             "ingot.scatter_add",
                                             "ingot.shard_square_sum",
                                             "ingot.softmax",
                                             "ingot.sum_pool",
                                             "ingot.sum_pool_grad",
                                             "ingot.take_along"};

/// The offset of an element in a tensor whose dimension `dim` is cut.
static int64_t moveInto(ArrayRef<int64_t> whole, int64_t dim, int64_t length,
                        int64_t first, int64_t element) {
  int64_t inner = 1;
  for (int64_t size : whole.drop_front(dim + 1))
    inner *= size;
  int64_t outer = element / (length * inner), rest = element % (length * inner);
  return (outer * whole[dim] + first) * inner + rest;
}

static RankedTensorType cutType(RankedTensorType type, int64_t dim,
                                int64_t parts) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  return RankedTensorType::get(shape, type.getElementType());
}

static Tensor takePart(const Tensor &whole, int64_t dim, int64_t parts,
                       int64_t part) {
  Tensor cut(cutType(whole.getType(), dim, parts));
  int64_t length = cut.getShape()[dim];
  for (int64_t i = 0; i < cut.size(); ++i)
    cut.copy(i, whole,
             moveInto(whole.getShape(), dim, length, part * length, i));
  return cut;
}

static void putPart(Tensor &whole, const Tensor &cut, int64_t dim,
                    int64_t part) {
  int64_t length = cut.getShape()[dim];
  for (int64_t i = 0; i < cut.size(); ++i)
    whole.copy(moveInto(whole.getShape(), dim, length, part * length, i), cut,
               i);
}

static void combine(Factor::Kind kind, Tensor &into, const Tensor &part) {
  auto apply = [&](auto &a, auto b) {
    switch (kind) {
    case Factor::Sum:
      a = a + b;
      return;
    case Factor::Prod:
      a = a * b;
      return;
    case Factor::Max:
      a = std::max(a, b);
      return;
    case Factor::Min:
      a = std::min(a, b);
      return;
    case Factor::Free:
      FAIL() << "parts of a free factor are not combined";
    }
  };
  for (int64_t i = 0; i < into.size(); ++i)
    if (into.isFloat())
      apply(into.real(i), part.real(i));
    else
      apply(into.integer(i), part.integer(i));
  into.roundToElementType();
}

/// The results of an op computed in parts.
static Tensors computeInParts(Operation *op, ArrayRef<const Tensor *> operands,
                              const Factor &factor, int64_t parts) {
  Tensors results;
  for (int64_t part = 0; part < parts; ++part) {
    Block block;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToStart(&block);
    IRMapping mapping;
    Tensors cut;
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      int64_t dim = factor.operandDims[number];
      const Tensor &whole = *operands[number];
      cut.push_back(dim < 0 ? whole : takePart(whole, dim, parts, part));
    }
    // An operand may be read twice, in parts and whole.
    Operation *copy = builder.clone(*op);
    for (auto [i, tensor] : llvm::enumerate(cut))
      copy->setOperand(
          i, block.addArgument(tensor.getType(), builder.getUnknownLoc()));
    for (auto [result, dim] :
         llvm::zip_equal(copy->getResults(), factor.resultDims))
      if (dim >= 0)
        result.setType(cutType(tensorType(result), dim, parts));
    if (auto partitionable = dyn_cast<Partitionable>(copy))
      partitionable.setFactorSize(factor, factor.size / parts);
    SmallVector<const Tensor *> read;
    for (const Tensor &tensor : cut)
      read.push_back(&tensor);
    auto own = reference::evaluateOp(copy, read);
    if (!own) {
      ADD_FAILURE() << llvm::toString(own.takeError());
      return {};
    }
    for (auto [i, tensor] : llvm::enumerate(*own)) {
      int64_t dim = factor.resultDims[i];
      if (part == 0)
        results.push_back(dim < 0 ? tensor
                                  : Tensor(tensorType(op->getResult(i))));
      if (dim >= 0)
        putPart(results[i], tensor, dim, part);
      else if (part > 0)
        combine(factor.kind, results[i], tensor);
    }
    copy->erase();
  }
  return results;
}

namespace {
struct Partitions : ::testing::Test {
  /// Checks every op of a graph; counts the checks by op.
  void check(uint64_t seed, std::map<std::string, int> &checks) {
    RandomGraph graph =
        makeRandomGraph(context, seed, /*size=*/30, Float64Type::get(&context));
    auto function = *graph.module->getOps<func::FuncOp>().begin();
    llvm::DenseMap<Value, Tensor> values;
    for (auto [argument, tensor] :
         llvm::zip_equal(function.getArguments(), graph.arguments))
      values[argument] = tensor;
    for (Operation &op : function.getBody().front().without_terminator()) {
      SmallVector<const Tensor *> operands;
      for (Value operand : op.getOperands())
        operands.push_back(&values[operand]);
      auto whole = reference::evaluateOp(&op, operands);
      ASSERT_TRUE(static_cast<bool>(whole))
          << llvm::toString(whole.takeError());
      for (const Factor &factor : getFactors(&op))
        for (int64_t parts : {2, 3}) {
          if (factor.size % parts != 0 || factor.size == 0)
            continue;
          Tensors got = computeInParts(&op, operands, factor, parts);
          ASSERT_EQ(got.size(), whole->size());
          for (size_t i = 0; i < got.size(); ++i)
            EXPECT_LE(distance(got[i], (*whole)[i]), 1e-12)
                << op.getName().getStringRef().str() << ", seed " << seed
                << ", factor of " << factor.size << " in " << parts;
          ++checks[op.getName().getStringRef().str()];
        }
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *whole))
        values[result] = tensor;
    }
  }

  MLIRContext &context = getContext();
};
} // namespace

TEST_F(Partitions, PartsAreTheWhole) {
  std::map<std::string, int> checks;
  for (uint64_t seed = 0; seed < 600; ++seed)
    check(seed, checks);
  std::set<std::string> whole;
  for (const Entry &entry : catalogue())
    for (StringRef name : entry.opNames)
      if (!checks.count(name.str()))
        whole.insert(name.str());
  for (const std::string &name : whole)
    EXPECT_TRUE(kWhole.count(name)) << name << " has no factor";
  for (const std::string &name : kWhole)
    EXPECT_TRUE(whole.count(name)) << name << " has factors";
}
