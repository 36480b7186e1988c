// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/SampleFlow.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "dialects/ingot/ir/Signature.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

/// The number of the sample that an iteration of a loop over samples is of.
static constexpr int64_t kOfIteration = std::numeric_limits<int64_t>::min();

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

/// Replaces ops by what they are made of, in the form of evaluation.
static void decomposeAll(func::FuncOp function) {
  function.walk([](ModeDependent op) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.buildInferenceForm(builder));
    op->erase();
  });
  SmallVector<Decomposable> composites;
  function.walk([&](Decomposable op) { composites.push_back(op); });
  while (!composites.empty()) {
    Decomposable op = composites.pop_back_val();
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
    Block::iterator first =
        before ? std::next(before->getIterator()) : op->getBlock()->begin();
    for (Operation &part : llvm::make_range(first, op->getIterator()))
      if (auto composite = dyn_cast<Decomposable>(part))
        composites.push_back(composite);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// A sum of the result's indices, each times a factor, and a constant.
struct SampleFlow::Index {
  llvm::SmallDenseMap<unsigned, int64_t, 2> factors;
  int64_t constant = 0;
  /// Whether there is an index of a loop over operand elements in it, or what
  /// is no such sum: a quotient, or an index that is itself an element.
  bool hasLoop = false, isOpaque = false;

  static Index of(Value value, Block *entry);
  /// Returns the only index of the result if nothing but a constant is added.
  std::optional<unsigned> getOnly() const {
    if (isOpaque || hasLoop || factors.size() != 1 ||
        factors.begin()->second != 1)
      return std::nullopt;
    return factors.begin()->first;
  }
};

SampleFlow::Index SampleFlow::Index::of(Value value, Block *entry) {
  Index result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == entry && value.getType().isIndex()) {
      result.factors[argument.getArgNumber()] = 1;
      return result;
    }
    auto loop =
        dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    result.isOpaque = !loop || value != loop.getInductionVar();
    // A window of one element has no loop to speak of.
    APInt low, high;
    result.hasLoop =
        !loop || !matchPattern(loop.getLowerBound(), m_ConstantInt(&low)) ||
        !matchPattern(loop.getUpperBound(), m_ConstantInt(&high)) ||
        high.getSExtValue() - low.getSExtValue() != 1;
    return result;
  }
  Operation *op = value.getDefiningOp();
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant))) {
    result.constant = constant.getSExtValue();
    return result;
  }
  SmallVector<Index> operands;
  for (Value operand : op->getOperands())
    operands.push_back(Index::of(operand, entry));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return operands.front();
  auto combine = [&](int64_t sign) {
    result = operands[0];
    for (auto [index, factor] : operands[1].factors)
      if ((result.factors[index] += sign * factor) == 0)
        result.factors.erase(index);
    result.constant += sign * operands[1].constant;
    result.hasLoop |= operands[1].hasLoop;
    result.isOpaque |= operands[1].isOpaque;
  };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    combine(isa<arith::AddIOp>(op) ? 1 : -1);
  } else if (isa<arith::MulIOp>(op) &&
             matchPattern(op->getOperand(1), m_ConstantInt(&constant))) {
    result = operands[0];
    int64_t factor = constant.getSExtValue();
    for (auto &entry : result.factors)
      entry.second *= factor;
    result.constant *= factor;
  } else {
    result.isOpaque = true;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

SampleDependence SampleFlow::mix(Operation &op) {
  if (!mixing)
    mixing = op.getLoc();
  return {SampleDependence::Unknown, {}};
}

SampleDependence SampleFlow::merge(Operation &op, SampleDependence left,
                                   const SampleDependence &right,
                                   bool isChoice) {
  using Kind = SampleDependence::Kind;
  if (left.kind == Kind::Unknown || right.kind == Kind::None)
    return left;
  if (right.kind == Kind::Unknown || left.kind == Kind::None)
    return right;
  if (left.kind == Kind::Whole || right.kind == Kind::Whole) {
    // A mean is a statistic of the batch. The largest sample is chosen by the
    // others.
    bool isSelection = left.isSelection || right.isSelection;
    SampleDependence result = left.kind == Kind::Whole ? right : left;
    if (isSelection && result.kind == Kind::Axes)
      return mix(op);
    result.isSelection = isSelection;
    return result;
  }
  for (const SampleAxis &axis : right.axes) {
    auto *same = llvm::find_if(left.axes, [&](const SampleAxis &other) {
      return other.dim == axis.dim;
    });
    if (same != left.axes.end() && *same == axis)
      continue;
    // One sample beside another.
    if (same != left.axes.end() || axis.dim < 0 || left.axes.front().dim < 0)
      return isChoice ? SampleDependence{Kind::Unknown, {}} : mix(op);
    left.axes.push_back(axis);
  }
  return left;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

SampleDependence SampleFlow::readMoved(MovesElements op) {
  SampleDependence result = known.lookup(op->getOperand(0));
  if (result.kind != SampleDependence::Axes)
    return result;
  ArrayRef<int64_t> from = tensorType(op->getOperand(0)).getShape();
  ArrayRef<int64_t> to = tensorType(op->getResult(0)).getShape();
  ElementMove move = op.getMove();
  SampleDependence unknown{SampleDependence::Unknown, {}};
  for (SampleAxis &axis : result.axes) {
    if (axis.dim < 0)
      continue;
    // A sample is `size` elements after the one before it; `whole` elements
    // after, the first one comes again.
    int64_t size = axis.inner;
    for (int64_t later : from.drop_front(axis.dim + 1))
      size *= later;
    int64_t samples = from[axis.dim] / axis.inner;
    int64_t whole = size * samples;
    int64_t first = move.base % whole / size;
    int64_t within = move.base % size, dim = -1;
    for (auto [d, length, step] : llvm::enumerate(to, move.steps)) {
      if (length == 1 || step % whole == 0)
        continue;
      bool isWithin = step < size && within + step * (length - 1) < size;
      if (isWithin) {
        within += step * (length - 1);
        continue;
      }
      // Every second sample, or the samples along two dimensions.
      if (step < 0 || step > size || size % step != 0 || dim >= 0)
        return unknown;
      dim = static_cast<int64_t>(d);
    }
    // A dimension of one sample keeps its place.
    if (dim < 0 && to.size() == from.size() && to[axis.dim] == 1)
      axis = {axis.dim, 1, axis.first + first};
    else if (dim < 0)
      axis = {-1, 1, axis.first + first};
    else
      axis = {dim, size / move.steps[dim], axis.first + first};
    // The other dimensions stay within the elements that belong to an index.
    if (dim >= 0 && within >= move.steps[dim])
      return unknown;
  }
  return result;
}

SampleDependence SampleFlow::readAt(Operation &op, unsigned operand,
                                    ArrayRef<Index> indices) {
  using Kind = SampleDependence::Kind;
  SampleDependence result = known.lookup(op.getOperand(operand));
  if (result.kind != Kind::Axes)
    return result;
  ArrayRef<int64_t> shape = tensorType(op.getOperand(operand)).getShape();
  SmallVector<SampleAxis, 2> axes;
  bool isSummed = false;
  for (SampleAxis axis : result.axes) {
    if (axis.dim < 0) {
      axes.push_back(axis);
      continue;
    }
    const Index &index = indices[axis.dim];
    int64_t length = shape[axis.dim];
    if (index.isOpaque || index.constant % axis.inner != 0)
      return {Kind::Unknown, {}};
    if (index.factors.empty() && index.hasLoop && length > 1) {
      isSummed = true;
      continue;
    }
    // A window along the samples.
    if (index.hasLoop && length > 1)
      return mix(op);
    int64_t first = axis.first == kOfIteration
                        ? kOfIteration
                        : axis.first + index.constant / axis.inner;
    if (index.factors.empty() || length == 1)
      axes.push_back({-1, 1, first});
    else if (std::optional<unsigned> only = index.getOnly())
      axes.push_back({static_cast<int64_t>(*only), axis.inner, first});
    else
      return {Kind::Unknown, {}};
    // A dimension of one sample keeps its place.
    if (length == 1 && index.factors.size() == 1)
      axes.back().dim = index.factors.begin()->first;
  }
  result.axes = axes;
  if (!isSummed)
    return result;
  if (!axes.empty())
    // The sum of one sample's comparisons with all others is no mixture of
    // them; another op multiplies by what belongs to the others.
    return isa<Reduction>(op) ? result : mix(op);
  result.kind = Kind::Whole;
  auto reduce = dyn_cast<ReduceOp>(op);
  result.isSelection = reduce && reduce.getKind() != ReductionKind::Sum &&
                       tensorType(reduce.getResult()).getRank() > 0;
  return result;
}

SampleDependence SampleFlow::readElements(ScalarBody op) {
  MLIRContext *context = op->getContext();
  Location loc = UnknownLoc::get(context);
  OwningOpRef<func::FuncOp> scratch =
      func::FuncOp::create(loc, "element", FunctionType::get(context, {}, {}));
  Block *entry = scratch->addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(entry);
  SmallVector<Value> indices;
  for (int64_t d = 0; d < tensorType(op->getResult(0)).getRank(); ++d)
    indices.push_back(entry->addArgument(builder.getIndexType(), loc));

  struct Read {
    unsigned operand;
    SmallVector<Index> indices;
    bool isChoice;
  };
  SmallVector<Read> reads;
  // Elements are arguments, of which nothing is known.
  auto load = [&](unsigned operand, ValueRange at) -> Value {
    Read &read = reads.emplace_back();
    read.operand = operand;
    for (Value index : at)
      read.indices.push_back(Index::of(index, entry));
    read.isChoice = isa<scf::IfOp>(builder.getInsertionBlock()->getParentOp());
    Type element = tensorType(op->getOperand(operand)).getElementType();
    return entry->addArgument(codeType(element), loc);
  };
  (void)op.emitElements(builder, loc, indices, load);

  SampleDependence result;
  bool hasSum = false;
  for (const Read &read : reads) {
    SampleDependence part = readAt(*op, read.operand, read.indices);
    hasSum |= part.kind == SampleDependence::Whole &&
              known.lookup(op->getOperand(read.operand)).kind ==
                  SampleDependence::Axes;
    result = merge(*op, std::move(result), part, read.isChoice);
  }
  // A weighted sum of all samples for each sample, as attention is.
  if (hasSum && result.kind == SampleDependence::Axes)
    return mix(*op);
  return result;
}

SampleDependence SampleFlow::visitOp(Operation &op) {
  bool isFree = llvm::all_of(op.getOperands(), [&](Value operand) {
    return known.lookup(operand).kind == SampleDependence::None;
  });
  if (isFree)
    return {};
  if (auto moves = dyn_cast<MovesElements>(op))
    return readMoved(moves);
  if (auto body = dyn_cast<ScalarBody>(op))
    return readElements(body);
  return {SampleDependence::Unknown, {}};
}

void SampleFlow::visitLoop(LoopOp loop) {
  using Kind = SampleDependence::Kind;
  // Bodies are visited several times, those within them even more often.
  constexpr unsigned mostLoops = 4;
  if (depth == mostLoops) {
    for (Value result : loop.getResults())
      known[result] = {Kind::Unknown, {}};
    return;
  }
  Block &body = loop.getBlock();
  for (auto [argument, value] :
       llvm::zip_equal(loop.getSliceArguments(), loop.getSequences())) {
    SampleDependence slice = known.lookup(value);
    for (SampleAxis &axis : slice.axes) {
      if (axis.dim == 0 && axis.inner == 1)
        axis = {-1, 1, kOfIteration};
      else if (axis.dim == 0)
        slice = {Kind::Unknown, {}};
      else if (axis.dim > 0)
        --axis.dim;
      if (slice.kind == Kind::Unknown)
        break;
    }
    known[argument] = slice;
  }
  for (auto [argument, value] :
       llvm::zip_equal(loop.getCaptureArguments(), loop.getCaptures()))
    known[argument] = known.lookup(value);
  for (auto [argument, value] :
       llvm::zip_equal(loop.getCarriedArguments(), loop.getInitial()))
    known[argument] = known.lookup(value);
  // What an iteration leaves is what the next one begins with: once more for
  // each that depends on another one of the iteration before.
  ValueRange yielded = loop.getYield()->getOperands();
  unsigned carried = loop.countCarried();
  for (unsigned round = 0; round <= carried && !mixing; ++round) {
    ++depth;
    visitBlock(body);
    --depth;
    bool hasChanged = false;
    for (auto [argument, value] : llvm::zip_equal(
             loop.getCarriedArguments(), yielded.take_front(carried))) {
      SampleDependence &state = known[argument];
      const SampleDependence &next = known[value];
      bool isOfIteration = llvm::any_of(next.axes, [](const SampleAxis &axis) {
        return axis.first == kOfIteration;
      });
      if (isOfIteration && !argument.use_empty()) {
        (void)mix(*loop);
        break;
      }
      SampleDependence merged = merge(*loop, state, next, /*isChoice=*/false);
      hasChanged |= merged.kind != state.kind || merged.axes != state.axes;
      state = merged;
    }
    if (!hasChanged)
      break;
  }
  for (auto [result, value] : llvm::zip_equal(loop.getResults(), yielded)) {
    SampleDependence state = known.lookup(value);
    bool isOutput = result.getResultNumber() >= carried;
    for (SampleAxis &axis : state.axes) {
      if (axis.first == kOfIteration)
        axis = isOutput ? SampleAxis{0} : SampleAxis{-1, 1, 0};
      else if (isOutput && axis.dim >= 0)
        ++axis.dim;
    }
    known[result] = state;
  }
}

void SampleFlow::visitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (mixing)
      return;
    if (auto loop = dyn_cast<LoopOp>(op)) {
      visitLoop(loop);
      continue;
    }
    SampleDependence result = visitOp(op);
    for (Value value : op.getResults())
      known[value] = result;
  }
}

SampleFlow::SampleFlow(func::FuncOp function, int64_t batch) {
  OwningOpRef<func::FuncOp> copy(function.clone());
  decomposeAll(*copy);
  Signature signature(*copy);
  for (BlockArgument argument : copy->getArguments()) {
    unsigned number = argument.getArgNumber();
    ArrayRef<int64_t> shape = tensorType(argument).getShape();
    if (!signature.argumentState(number) && !shape.empty() &&
        shape.front() == batch)
      known[argument] = {SampleDependence::Axes, {{0}}};
  }
  visitBlock(copy->getBody().front());
  for (Value value : signature.getReturn()->getOperands())
    results.push_back(mixing ? SampleDependence{SampleDependence::Unknown, {}}
                             : known.lookup(value));
}
