// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CompressGradients: matrices of low rank, small integers or the largest
// elements are sent instead of gradients; the rest is added to the next step.
//
// Assumes a step with its optimizer, and guarded updates if it has them.
// Vogels, Karimireddy, Jaggi, "PowerSGD: Practical Low-Rank Gradient
// Compression for Distributed Optimization", 2019, Algorithms 1 and 2; Stich,
// Cordonnier, Jaggi, "Sparsified SGD with Memory", 2018.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/parallel/GradComm.h"
#include "passes/parallel/Passes.h"
#include "runtime/abi/Payload.h"
#include "runtime/core/Random.h"

#include <cmath>

namespace ingot {
#define GEN_PASS_DEF_COMPRESSGRADIENTS
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A gradient as a matrix of `rows` by `columns`, with the states and what they
/// hold at the step's start.
struct Matrix {
  unsigned part;
  int64_t rows, columns;
  FlatSymbolRefAttr residualState, basisState;
  Value residual, basis;
  /// The value that the rank has to send: the gradient, and the residual of
  /// earlier steps.
  Value whole;
};

struct CompressGradients
    : ingot::impl::CompressGradientsBase<CompressGradients> {
  using CompressGradientsBase::CompressGradientsBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    llvm::Expected<GradComm> parsed = GradComm::parse(gradComm);
    if (!parsed) {
      (void)emitUserError(&getContext(), parsed.takeError());
      return signalPassFailure();
    }
    how = *parsed;
    if (!func || !how.compresses())
      return;
    Signature step(func);
    ResultList results = ResultList::of(step);
    parameters = findParameters(results);
    SmallVector<AllReduceStartOp> buckets;
    func.walk([&](AllReduceStartOp start) {
      ResultRange sums = getWait(start).getParts();
      llvm::for_each(sums, [&](Value sum) { explain(sum); });
      if (llvm::any_of(sums, [&](Value sum) { return isCompressed(sum); }))
        buckets.push_back(start);
    });
    if (buckets.empty())
      return;
    if (how.start > 0) {
      OpBuilder builder(func);
      auto whole = cast<func::FuncOp>(builder.clone(*func));
      whole.setName(kUncompressedStepName);
      getOperation()->setAttr(kUncompressedStepsAttr,
                              builder.getI64IntegerAttr(how.start));
    }
    scale = step.findArgument(
        FlatSymbolRefAttr::get(&getContext(), kLossScaleName));
    for (AllReduceStartOp start : buckets)
      if (how.encodes())
        encode(step, start, results);
      else
        factorize(step, start, results);
    results.apply(step);
  }

private:
  using Parameters = DenseMap<Value, FlatSymbolRefAttr>;

  static AllReduceWaitOp getWait(AllReduceStartOp start) {
    return cast<AllReduceWaitOp>(*start.getBucket().user_begin());
  }

  /// The parameters that sums of gradients update: what their new values are
  /// computed from, in their shape.
  Parameters findParameters(const ResultList &results) {
    Parameters parameters;
    for (const ResultList::Entry &entry : results.entries) {
      FlatSymbolRefAttr symbol = entry.state();
      if (!symbol ||
          findState(getOperation(), symbol).getRole() != Role::Parameter)
        continue;
      ArrayRef<int64_t> shape = tensorType(entry.value).getShape();
      SmallVector<Value> work = {entry.value};
      llvm::SmallPtrSet<Value, 16> seen;
      while (!work.empty()) {
        Value value = work.pop_back_val();
        Operation *def = value.getDefiningOp();
        if (!def || !seen.insert(value).second)
          continue;
        if (isa<AllReduceWaitOp>(def)) {
          parameters[value] = symbol;
          continue;
        }
        for (Value operand : def->getOperands())
          if (tensorType(operand).getShape() == shape)
            work.push_back(operand);
      }
    }
    return parameters;
  }

  /// Returns k: the number of elements that top-k sends.
  int64_t countKept(int64_t elements) const {
    if (how.format != CompressionFormat::TopK)
      return 0;
    auto kept = std::llround(static_cast<double>(elements) * how.share);
    return std::max<int64_t>(1, kept);
  }

  /// How much less is sent of a gradient.
  double getRate(RankedTensorType type) const {
    if (how.encodes()) {
      constexpr int64_t many = 1 << 20;
      return 4.0 * many /
             static_cast<double>(abi::getPayloadBytes(
                 static_cast<int32_t>(how.format), many, countKept(many)));
    }
    double rows = type.getRank() < 2 ? 1 : type.getDimSize(0);
    double columns = static_cast<double>(type.getNumElements()) / rows;
    return rows * columns / (static_cast<double>(how.rank) * (rows + columns));
  }

  /// Whether the sum of a gradient is to be computed from its factors.
  bool isCompressed(Value sum) const {
    return parameters.contains(sum) &&
           (how.encodes() || getRate(tensorType(sum)) >= how.minRate);
  }

  void explain(Value sum) {
    FlatSymbolRefAttr parameter = parameters.lookup(sum);
    if (!parameter)
      return;
    auto options = remarkOptions(getArgument(), "CompressedGradient");
    Location loc = NameLoc::get(parameter.getAttr());
    double rate = getRate(tensorType(sum));
    if (isCompressed(sum))
      remark::passed(loc, options) << remark::metric("rate", rate);
    else
      remark::missed(loc, options)
          << remark::reason("the compression rate is below min-rate")
          << remark::metric("rate", rate);
  }

  Matrix addStates(Signature step, unsigned part, Value sum) {
    RankedTensorType type = tensorType(sum);
    int64_t rows = type.getDimSize(0), columns = type.getNumElements() / rows;
    Builder builder(&getContext());
    std::string name = parameters.lookup(sum).getValue().str();
    auto residual =
        RankedTensorType::get({rows, columns}, builder.getF32Type());
    auto basis =
        RankedTensorType::get({how.rank, columns}, builder.getF32Type());
    Matrix matrix{part, rows, columns, {}, {}, {}, {}, {}};
    StateAdder states(getOperation());
    matrix.residualState =
        states.add(name + "/residual", Role::Residual, residual);
    matrix.basisState = states.add(name + "/basis", Role::Basis, basis);
    findState(getOperation(), matrix.basisState)
        .setInitialAttr(drawNormal(basis, numMatrices.getValue()));
    matrix.residual = step.addState(matrix.residualState, residual);
    matrix.basis = step.addState(matrix.basisState, basis);
    ++numMatrices;
    return matrix;
  }

  static DenseElementsAttr drawNormal(RankedTensorType type, uint64_t seed) {
    runtime::Philox random(seed, /*stream=*/0);
    std::vector<float> values(type.getNumElements());
    for (float &value : values)
      value = static_cast<float>(random.normal());
    return DenseElementsAttr::get(type, ArrayRef<float>(values));
  }

  /// Replaces the exchange of a bucket by two: of the products of its matrices
  /// with their bases, beside what stays as it is, and of the matrices'
  /// products with the orthonormal rows that come of these.
  void factorize(Signature step, AllReduceStartOp start, ResultList &results) {
    AllReduceWaitOp wait = getWait(start);
    SmallVector<Matrix> matrices;
    SmallVector<Value> sent, oldSums;
    for (auto [i, part, sum] :
         llvm::enumerate(start.getParts(), wait.getParts())) {
      if (isCompressed(sum)) {
        matrices.push_back(addStates(step, i, sum));
        continue;
      }
      sent.push_back(part);
      oldSums.push_back(sum);
    }
    Type element = tensorType(start.getBucket()).getElementType();
    Type f32 = Float32Type::get(&getContext());

    OpBuilder builder(start);
    Arithmetic a(builder, start.getLoc());
    for (Matrix &matrix : matrices) {
      Value gradient = a.reshape(widen(a, start.getParts()[matrix.part]),
                                 {matrix.rows, matrix.columns});
      matrix.whole = addResidual(a, gradient, matrix.residual);
      Value rows = multiply(builder, matrix.basis, matrix.whole,
                            /*transposeLhs=*/false, /*transposeRhs=*/true);
      sent.push_back(a.cast(rows, element));
    }
    ValueRange sums = exchange(builder, wait, start.getLoc(), sent);
    for (auto [old, sum] : llvm::zip(oldSums, sums))
      old.replaceAllUsesWith(sum);

    builder.setInsertionPoint(wait);
    SmallVector<Value> columns;
    SmallVector<std::pair<Value, Value>> factors;
    for (auto [matrix, sum] :
         llvm::zip_equal(matrices, sums.take_back(matrices.size()))) {
      factors.push_back(orthonormalize(a, builder, a.cast(sum, f32)));
      columns.push_back(a.cast(
          multiply(builder, factors.back().first, matrix.whole), element));
    }
    std::string name =
        cast<NameLoc>(start.getLoc()).getName().getValue().str() + ", columns";
    ValueRange columnSums = exchange(
        builder, wait, NameLoc::get(builder.getStringAttr(name)), columns);
    builder.setInsertionPoint(wait);
    for (auto [i, matrix] : llvm::enumerate(matrices)) {
      auto [factor, isUsed] = factors[i];
      auto expand = [&](Value columns) {
        return multiply(builder, factor, columns, /*transposeLhs=*/true);
      };
      Value own = a.cast(columns[i], f32), all = a.cast(columnSums[i], f32);
      replaceSum(a, wait.getParts()[matrix.part], expand(all));
      Value residual = makeResidual(a, matrix.whole, expand(own));
      // A row that vanished says nothing of the columns: with zeros it would
      // vanish in all later steps.
      Value keeps = a.broadcast(isUsed, {how.rank, matrix.columns}, {0});
      Value basis = a.select(keeps, all, matrix.basis);
      // Where it is known whether the step is skipped.
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(step.getReturn());
      update(a, step, results, matrix.residualState, matrix.residual, residual);
      update(a, step, results, matrix.basisState, matrix.basis, basis);
    }
    wait.erase();
    start.erase();
  }

  /// Replaces the exchange of a bucket by one of fewer bytes for each element,
  /// or of fewer elements.
  void encode(Signature step, AllReduceStartOp start, ResultList &results) {
    AllReduceWaitOp wait = getWait(start);
    OpBuilder builder(start);
    Arithmetic a(builder, start.getLoc());
    SmallVector<Value> flat, kept, keptSums;
    for (auto [part, sum] : llvm::zip_equal(start.getParts(), wait.getParts()))
      if (isCompressed(sum)) {
        flat.push_back(
            a.reshape(widen(a, part), {tensorType(sum).getNumElements()}));
      } else {
        kept.push_back(part);
        keptSums.push_back(sum);
      }
    Value gradient = join(builder, flat);
    RankedTensorType type = tensorType(gradient);
    std::string name = cast<NameLoc>(start.getLoc()).getName().getValue().str();
    FlatSymbolRefAttr state =
        addState(getOperation(), name + "/residual", Role::Residual, type);
    Value old = step.addState(state, type);
    Value whole = addResidual(a, gradient, old);
    int64_t count = countKept(type.getNumElements());
    Value sent = CompressOp::create(builder, start.getLoc(), type, whole,
                                    how.format, count);
    if (!kept.empty())
      for (auto [old, sum] : llvm::zip_equal(
               keptSums, exchange(builder, wait, start.getLoc(), kept)))
        old.replaceAllUsesWith(sum);
    Value sums =
        exchange(builder, wait, start.getLoc(), sent, how.format, count)[0];
    builder.setInsertionPoint(wait);
    int64_t first = 0;
    for (Value sum : wait.getParts()) {
      if (!isCompressed(sum))
        continue;
      int64_t next = first + tensorType(sum).getNumElements();
      replaceSum(a, sum,
                 SliceOp::create(
                     builder, start.getLoc(), sums, ArrayRef<int64_t>{first},
                     ArrayRef<int64_t>{next}, ArrayRef<int64_t>{1}));
      first = next;
    }
    Value residual = makeResidual(a, whole, sent);
    builder.setInsertionPoint(step.getReturn());
    update(a, step, results, state, old, residual);
    wait.erase();
    start.erase();
  }

  /// The gradient in f32, before it was rounded for its way.
  static Value widen(Arithmetic a, Value part) {
    if (auto cast = part.getDefiningOp<CastOp>())
      part = cast.getOperand();
    return a.cast(part, Float32Type::get(part.getContext()));
  }

  /// Residuals are in units of gradients that are not scaled.
  Value addResidual(Arithmetic a, Value gradient, Value residual) const {
    ArrayRef<int64_t> shape = tensorType(gradient).getShape();
    return a.add(gradient,
                 scale ? a.mul(residual, a.fill(scale, shape)) : residual);
  }
  Value makeResidual(Arithmetic a, Value whole, Value sent) const {
    Value left = a.sub(whole, sent);
    return scale ? a.div(left, a.fill(scale, tensorType(whole).getShape()))
                 : left;
  }

  /// One after another.
  static Value join(OpBuilder &builder, ArrayRef<Value> parts) {
    return ConcatOp::create(builder, parts.front().getLoc(), parts, /*dim=*/0);
  }

  static Value multiply(OpBuilder &builder, Value lhs, Value rhs,
                        bool transposeLhs = false, bool transposeRhs = false) {
    return MatmulOp::create(builder, rhs.getLoc(), lhs, rhs, transposeLhs,
                            transposeRhs);
  }

  /// Starts at the builder, waits before `wait`. The parts come back as sums.
  static ValueRange exchange(OpBuilder &builder, AllReduceWaitOp wait,
                             Location loc, ValueRange parts,
                             CompressionFormat format = CompressionFormat::None,
                             int64_t k = 0) {
    TypeRange types = parts.getTypes();
    auto start = AllReduceStartOp::create(builder, loc, parts,
                                          /*blocking=*/false, format, k);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(wait);
    return AllReduceWaitOp::create(builder, loc, types, start.getBucket())
        .getParts();
  }

  /// Orthonormal rows that span the same space, by Gram-Schmidt, and which of
  /// them there are: those of rows that depend on earlier ones are zeros.
  std::pair<Value, Value> orthonormalize(Arithmetic a, OpBuilder &builder,
                                         Value rows) {
    int64_t size = tensorType(rows).getDimSize(1);
    SmallVector<Value> done, used;
    for (int64_t i = 0; i < how.rank; ++i) {
      Value row = SliceOp::create(
          builder, rows.getLoc(), rows, ArrayRef<int64_t>{i, 0},
          ArrayRef<int64_t>{i + 1, size}, ArrayRef<int64_t>{1, 1});
      Value before = a.sumAll(a.square(row));
      for (Value other : done)
        row = a.sub(
            row, a.mul(other, a.fill(a.sumAll(a.mul(row, other)), {1, size})));
      Value after = a.sumAll(a.square(row));
      // Below this, what is left is rounding.
      constexpr double least = 1e-6;
      Value isUsed = a.compare(Predicate::GT, after, a.mul(before, least));
      Value factor = a.select(isUsed, a.rsqrt(after), 0.0);
      done.push_back(a.mul(row, a.fill(factor, {1, size})));
      used.push_back(a.reshape(isUsed, {1}));
    }
    return {join(builder, done), join(builder, used)};
  }

  /// Replaces a sum that was rounded to be sent by one that is not.
  static void replaceSum(Arithmetic a, Value old, Value sum) {
    RankedTensorType type = tensorType(old);
    sum = a.reshape(sum, type.getShape());
    for (Operation *user : llvm::make_early_inc_range(old.getUsers()))
      if (auto cast = dyn_cast<CastOp>(user);
          cast && cast.getType() == sum.getType())
        cast.replaceAllUsesWith(sum);
    if (!old.use_empty())
      old.replaceAllUsesWith(a.cast(sum, type.getElementType()));
  }

  /// A step that is skipped leaves the state alone.
  static void update(Arithmetic a, Signature step, ResultList &results,
                     FlatSymbolRefAttr state, Value old, Value value) {
    if (std::optional<unsigned> skipped = step.findResult("skipped")) {
      Value isSkipped =
          a.compare(Predicate::GT, results.entries[*skipped].value, 0.0);
      value =
          a.select(a.fill(isSkipped, tensorType(old).getShape()), old, value);
    }
    results.addState(state, value);
  }

  GradComm how;
  /// The loss scale; null without one.
  Value scale;
  Parameters parameters;
};

} // namespace
