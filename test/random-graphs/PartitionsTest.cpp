// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops computed in parts are the whole op: every factor of random instances, in
// two and in three parts, in f64.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/partition/Partitionable.h"
#include "dialects/reference/Interpreter.h"
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

/// Ops that are computed whole: exchanges, which partitions are made of.
static const std::set<std::string> kWhole = {"ingot.all_gather",
                                             "ingot.all_gather_start",
                                             "ingot.all_gather_wait",
                                             "ingot.all_reduce",
                                             "ingot.all_reduce_start",
                                             "ingot.all_reduce_wait",
                                             "ingot.all_to_all",
                                             "ingot.compress",
                                             "ingot.part",
                                             "ingot.permute",
                                             "ingot.reduce_scatter",
                                             "ingot.reduce_scatter_start",
                                             "ingot.reduce_scatter_wait",
                                             "ingot.shard_square_sum"};

namespace {
/// Equal parts of each segment of a dimension.
struct Cut {
  SmallVector<int64_t> segments;
  int64_t parts;

  /// The places in the whole dimension of the elements of a part.
  SmallVector<int64_t> getPlaces(int64_t part) const {
    SmallVector<int64_t> places;
    int64_t first = 0;
    for (int64_t size : segments) {
      int64_t length = size / parts;
      for (int64_t i = 0; i < length; ++i)
        places.push_back(first + part * length + i);
      first += size;
    }
    return places;
  }
};
} // namespace

/// The offset in a whole tensor of an element of a tensor with some places
/// along `dim`.
static int64_t moveInto(ArrayRef<int64_t> whole, int64_t dim,
                        ArrayRef<int64_t> places, int64_t element) {
  int64_t inner = 1, length = static_cast<int64_t>(places.size());
  for (int64_t size : whole.drop_front(dim + 1))
    inner *= size;
  int64_t outer = element / (length * inner);
  int64_t at = element / inner % length;
  return (outer * whole[dim] + places[at]) * inner + element % inner;
}

static Tensor takePart(const Tensor &whole, int64_t dim, const Cut &cut,
                       int64_t part) {
  SmallVector<int64_t> places = cut.getPlaces(part);
  SmallVector<int64_t> shape(whole.getShape());
  shape[dim] = static_cast<int64_t>(places.size());
  Tensor own(RankedTensorType::get(shape, whole.getType().getElementType()));
  for (int64_t i = 0; i < own.size(); ++i)
    own.copy(i, whole, moveInto(whole.getShape(), dim, places, i));
  return own;
}

static void putPart(Tensor &whole, const Tensor &own, int64_t dim,
                    const Cut &cut, int64_t part) {
  SmallVector<int64_t> places = cut.getPlaces(part);
  for (int64_t i = 0; i < own.size(); ++i)
    whole.copy(moveInto(whole.getShape(), dim, places, i), own, i);
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

/// The values of a block for arguments, each op by itself.
static std::optional<Tensors> evaluateBlock(Block &block, Tensors arguments,
                                            ValueRange results) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, tensor] :
       llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = tensor;
  for (Operation &op : block) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.at(operand));
    auto own = reference::evaluateOp(&op, operands);
    if (!own) {
      ADD_FAILURE() << llvm::toString(own.takeError());
      return std::nullopt;
    }
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *own))
      values[result] = tensor;
  }
  Tensors found;
  for (Value result : results)
    found.push_back(values.at(result));
  return found;
}

/// The results of an op computed in parts, each with a part of each of the
/// segments of the factor.
static Tensors computeInParts(Operation *op, ArrayRef<const Tensor *> operands,
                              const Factor &factor, int64_t parts,
                              ArrayRef<int64_t> segments) {
  Tensors results;
  for (int64_t part = 0; part < parts; ++part) {
    Block block;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToStart(&block);
    Tensors cut;
    for (auto [i, whole] : llvm::enumerate(operands)) {
      int64_t dim = factor.operandDims[i];
      cut.push_back(
          dim < 0 ? *whole
                  : takePart(*whole, dim,
                             {getDimSegments(factor.getOperandRanges(op, i),
                                             segments),
                              parts},
                             part));
      block.addArgument(cut.back().getType(), builder.getUnknownLoc());
    }
    Value number = splat(builder, builder.getUnknownLoc(),
                         RankedTensorType::get({}, builder.getI64Type()), part);
    SmallVector<Value> built =
        buildPart(builder, op, factor, parts, block.getArguments(), number);
    std::optional<Tensors> own = evaluateBlock(block, cut, built);
    if (!own)
      return {};
    for (auto [i, tensor] : llvm::enumerate(*own)) {
      int64_t dim = factor.resultDims[i];
      if (part == 0)
        results.push_back(dim < 0 ? tensor
                                  : Tensor(tensorType(op->getResult(i))));
      if (dim >= 0)
        putPart(
            results[i], tensor, dim,
            {getDimSegments(factor.getResultRanges(op, i), segments), parts},
            part);
      else if (part > 0)
        combine(factor.kind, results[i], tensor);
    }
  }
  return results;
}

/// Each segment as two segments, where their parts are equal, too.
static SmallVector<int64_t> refine(ArrayRef<int64_t> segments, int64_t parts) {
  SmallVector<int64_t> refined;
  for (int64_t size : segments)
    if (size > parts)
      refined.append({parts, size - parts});
    else
      refined.push_back(size);
  return refined;
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
          SmallVector<int64_t> segments = factor.getSegments(&op);
          if (factor.size == 0 || llvm::any_of(segments, [&](int64_t size) {
                return size % parts != 0;
              }))
            continue;
          checkParts(&op, operands, factor, parts, segments, *whole);
          SmallVector<int64_t> refined = refine(segments, parts);
          if (refined != segments && !factor.isContiguous)
            checkParts(&op, operands, factor, parts, refined, *whole);
          ++checks[op.getName().getStringRef().str()];
        }
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *whole))
        values[result] = tensor;
    }
  }

  static void checkParts(Operation *op, ArrayRef<const Tensor *> operands,
                         const Factor &factor, int64_t parts,
                         ArrayRef<int64_t> segments, ArrayRef<Tensor> whole) {
    Tensors got = computeInParts(op, operands, factor, parts, segments);
    ASSERT_EQ(got.size(), whole.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(distance(got[i], whole[i]), 1e-12)
          << op->getName().getStringRef().str() << ", factor of " << factor.size
          << " in " << parts << ", " << segments.size() << " segments";
  }

  MLIRContext &context = getContext();
};
} // namespace

TEST_F(Partitions, PartsAreTheWhole) {
  std::map<std::string, int> checks;
  for (int64_t seed = 0, e = getGraphCount(600); seed < e; ++seed) {
    SCOPED_TRACE(seed);
    check(seed, checks);
  }
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
