// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// QuantizeFloat8: rounds what matmuls read to 8-bit floats, with scales.
//
// Assumes that gradients have been built, and 16-bit operands chosen.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TileSpace.h"
#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "passes/options/OptionValues.h"
#include "passes/precision/Float8Scales.h"
#include "passes/precision/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_QUANTIZEFLOAT8
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Sizes of 8-bit matmuls are multiples of it, as hardware and libraries
/// require.
static constexpr int64_t kSizeUnit = 16;

/// Returns the value behind casts and moves of elements.
static Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOp>(op) && !isa<MovesElements>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The op that computes the value, behind casts and moves of elements.
static Operation *originOf(Value value) {
  return rootOf(value).getDefiningOp();
}

/// Whether the value is a parameter, behind casts and moves of elements.
static bool isParameter(ModuleOp module, Signature signature, Value value) {
  auto argument = dyn_cast<BlockArgument>(rootOf(value));
  if (!argument)
    return false;
  FlatSymbolRefAttr symbol = signature.argumentState(argument.getArgNumber());
  StateOp state = symbol ? findState(module, symbol) : StateOp();
  return state && (state.getRole() == Role::Parameter ||
                   state.getRole() == Role::Frozen);
}

/// Returns whether a kernel over the rows of the matrix makes it, such as a
/// normalization or its gradient: part of it is reduced from its own rows.
static bool isMadeOfRows(Value matrix) {
  ArrayRef<int64_t> shape = tensorType(matrix).getShape();
  RowSpace space = {shape[0], shape[1]};
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      ops.insert(def);
  };
  add(matrix);
  // More than a kernel would have.
  constexpr size_t most = 128;
  for (size_t i = 0; i < ops.size() && i < most; ++i) {
    Operation *op = ops[i];
    if (auto reduction = dyn_cast<Reduction>(op);
        reduction && RowSpace::of(reduction) == space)
      return true;
    // What is not decomposed yet has a number of each row among its results.
    bool isComposite = isa<Decomposable>(op) && !isa<LibraryCall>(op);
    if (isComposite && llvm::any_of(op->getResults(), [&](Value result) {
          return space.hasElementPerRow(result);
        }))
      return true;
    auto body = dyn_cast<ScalarBody>(op);
    if (body && !body.isLooped() && !isComposite)
      llvm::for_each(op->getOperands(), add);
  }
  return false;
}

/// Returns the head: the ops with 8-bit reads whose results reach the loss, or
/// what the function returns if it has none, through no other such op, and
/// those of the backward pass that read what these read.
static llvm::DenseSet<Operation *> findHead(ArrayRef<PrecisionRole> readers,
                                            const ResultList &results,
                                            Operation *loss, Block &block) {
  // The values on which the loss depends, and those on which a reader does.
  llvm::DenseSet<Value> wanted, read;
  if (!loss)
    for (const ResultList::Entry &entry : results.entries)
      if (!entry.state() && !entry.gradient())
        wanted.insert(entry.value);
  llvm::DenseSet<Operation *> all(llvm::from_range, readers), head;
  llvm::DenseSet<Value> roots;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (loss && loss->isBeforeInBlock(&op))
      continue;
    auto isIn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op.getResults(),
                          [&](Value value) { return set.contains(value); });
    };
    bool isReader = all.contains(&op), isWanted = &op == loss || isIn(wanted),
         isRead = isIn(read);
    if (isReader && isWanted && !isRead) {
      head.insert(&op);
      for (Value operand : op.getOperands())
        roots.insert(rootOf(operand));
    }
    if (isWanted)
      wanted.insert_range(op.getOperands());
    if (isRead || isReader)
      read.insert_range(op.getOperands());
  }
  for (Operation *reader : readers)
    if (loss && loss->isBeforeInBlock(reader) &&
        llvm::any_of(reader->getOperands(), [&](Value operand) {
          return roots.contains(rootOf(operand));
        }))
      head.insert(reader);
  return head;
}

namespace {

/// The key of a rounding: a value, to a type, in blocks along a dimension.
using Key = std::tuple<Value, Type, int64_t>;

/// A value in 8 bits.
struct Rounded {
  /// In its own type, where 8-bit floats are not stored.
  Value wide;
  /// In 8 bits, where they are; and with its dimensions exchanged.
  Value narrow, transposed;
  Value scales;
  ScaleLayout layout = ScaleLayout::Tensor;
};

/// A tensor whose scale comes from the steps before.
struct Delayed {
  /// The largest magnitude in this step, or of each of the tensor's parts.
  Value magnitude;
  FloatType type;
  /// Placeholders for the scale and its inverse until all tensors are known.
  UnrealizedConversionCastOp scale, inverse;
  /// The number of rows or tiles, whether or not magnitudes are by these.
  int64_t parts = 1;
};

/// A function with what has been rounded in it.
struct Function {
  explicit Function(Signature signature)
      : signature(signature), results(ResultList::of(signature)) {}

  Signature signature;
  ResultList results;
  /// Null if it computes none.
  Operation *loss = nullptr;
  /// Whether the function trains: one that only evaluates does not change the
  /// history that training keeps.
  bool trains = false;
  llvm::DenseMap<Key, Rounded> rounded;
  SmallVector<Delayed, 0> delayed;

  /// Whether the value is of the backward pass.
  bool isGradient(Value value) const {
    Operation *origin = originOf(value);
    return loss && origin && loss->isBeforeInBlock(origin);
  }
};

struct QuantizeFloat8 : ingot::impl::QuantizeFloat8Base<QuantizeFloat8> {
  using QuantizeFloat8Base::QuantizeFloat8Base;

  LogicalResult initialize(MLIRContext *context) override {
    if (llvm::Error error =
            checkChoice("fp8-scaling", scaling, kFloat8Scalings))
      return emitUserError(context, std::move(error));
    return success();
  }

  void runOnOperation() override {
    auto found =
        Target::of(getOperation())->getCalls().getFloat8Matmuls(getLayout());
    if (!found) {
      (void)emitOptionError(
          &getContext(), "fp8-scaling", llvm::toString(found.takeError()),
          "choose another --fp8-scaling or --arch, or --precision bf16");
      return signalPassFailure();
    }
    stored = *found;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        quantize(Signature(func));
  }

private:
  void quantize(Signature signature) {
    func::FuncOp func = signature.getFunction();
    Function function(signature);
    function.trains = func.getSymName() == kTrainStepName;
    if (std::optional<unsigned> index = signature.findResult("loss"))
      function.loss = function.results.entries[*index].value.getDefiningOp();
    size_t numResults = function.results.entries.size();
    SmallVector<PrecisionRole> readers;
    for (Operation &op : func.getBody().front().without_terminator())
      if (auto role = dyn_cast<PrecisionRole>(op))
        if (!role.getFloat8Reads().empty())
          readers.push_back(role);
    llvm::DenseSet<Operation *> head = findHead(
        readers, function.results, function.loss, func.getBody().front());
    llvm::erase_if(readers, [&](PrecisionRole role) {
      return !isWanted(function, role, head.contains(role));
    });
    for (PrecisionRole role : readers) {
      ++numQuantized;
      remark::passed(role->getLoc(), remarkOptions(getArgument(), "Float8"))
          << remark::metric("op", role->getName().getStringRef())
          << remark::metric("scaling", StringRef(scaling));
      if (stored)
        readStored(function, role);
      else
        for (Float8Read read : role.getFloat8Reads()) {
          OpOperand &operand = role->getOpOperand(read.operand);
          operand.set(getRounded(function, operand.get(), read.dim).wide);
        }
    }
    if (!function.delayed.empty())
      keepMagnitudes(function);
    if (function.results.entries.size() != numResults)
      function.results.apply(signature);
  }

  /// Replaces the op by the one that reads 8-bit floats from memory.
  void readStored(Function &function, PrecisionRole role) {
    SmallVector<Float8Operand> operands;
    for (Float8Read read : role.getFloat8Reads()) {
      Value value = role->getOperand(read.operand);
      Rounded &rounded = getRounded(function, value, read.dim);
      bool isTransposed = stored->sumsLastDim && read.dim == 0;
      if (isTransposed && !rounded.transposed) {
        OpBuilder builder(&getContext());
        builder.setInsertionPointAfterValue(rounded.narrow);
        rounded.transposed =
            TransposeOp::create(builder, rounded.narrow.getLoc(),
                                rounded.narrow, ArrayRef<int64_t>{1, 0});
      }
      operands.push_back({isTransposed ? rounded.transposed : rounded.narrow,
                          rounded.scales, rounded.layout, isTransposed});
    }
    OpBuilder builder(role);
    Value result = role.buildFloat8(builder, operands);
    replaceResult(function, role->getResult(0), result);
    role->erase();
  }

  /// Replaces a value, also in the list of results and their names.
  static void replaceResult(Function &function, Value from, Value to) {
    for (ResultList::Entry &entry : function.results.entries)
      if (entry.value == from)
        entry.value = to;
    from.replaceAllUsesWith(to);
  }

  ScaleLayout getLayout() const {
    return scaling == "block" ? ScaleLayout::Runs
           : scaling == "mx"  ? ScaleLayout::Tiles
                              : ScaleLayout::Tensor;
  }

  FloatType typeFor(bool isGradient) {
    if (isGradient && getLayout() == ScaleLayout::Tensor)
      return Float8E5M2Type::get(&getContext());
    return Float8E4M3FNType::get(&getContext());
  }

  ScaleLayout layoutFor(const Function &function, Value value) {
    ScaleLayout layout = getLayout();
    return layout == ScaleLayout::Runs &&
                   isParameter(getOperation(), function.signature, value)
               ? ScaleLayout::Squares
               : layout;
  }

  /// Whether the op is to read 8-bit operands, and a library could.
  bool isWanted(const Function &function, PrecisionRole op, bool isHead) {
    auto options = remarkOptions(getArgument(), "Float8");
    auto note = [&](StringRef why) {
      remark::missed(op->getLoc(), options)
          << remark::metric("op", op->getName().getStringRef())
          << remark::reason("{0}", why);
      return false;
    };
    if (!keepFp32.empty() &&
        llvm::any_of(nodeNames(op->getLoc()),
                     [&](StringRef name) { return keepFp32.match(name); }))
      return note("excluded by keep-fp32");
    if (isHead)
      return note("the head, whose results the loss reads, keeps 16 bits");
    bool areGradients = true, areSquares = true;
    for (Float8Read read : op.getFloat8Reads()) {
      Value operand = op->getOperand(read.operand);
      areGradients &=
          isa<Float8E5M2Type>(typeFor(function.isGradient(operand)));
      areSquares &= layoutFor(function, operand) == ScaleLayout::Squares;
      RankedTensorType type = tensorType(operand);
      if (!isa<FloatType>(type.getElementType()) ||
          type.getElementTypeBitWidth() > 32)
        return note("8-bit floats stand for bf16, fp16 and fp32 alone");
      if (type.getRank() != 2)
        return note("products of batches, as in attention, keep 16 bits");
      for (int64_t size : type.getShape())
        if (size % kSizeUnit != 0 || size == 0) {
          ++numRefused;
          return note("8-bit matmuls need sizes that are multiples of 16");
        }
    }
    if (areGradients)
      return note("tensor cores multiply no two f8E5M2 numbers");
    if (areSquares)
      return note("libraries multiply no two matrices with scales of squares");
    return true;
  }

  /// Returns the value in 8 bits, for a sum along the dimension.
  Rounded &getRounded(Function &function, Value value, int64_t dim) {
    FloatType type = typeFor(function.isGradient(value));
    ScaleLayout layout = layoutFor(function, value);
    Rounded &rounded =
        function
            .rounded[{value, type, layout == ScaleLayout::Tensor ? 0 : dim}];
    if (!rounded.scales)
      rounded = round(function, value, type, layout, dim);
    return rounded;
  }

  Rounded round(Function &function, Value value, FloatType type,
                ScaleLayout layout, int64_t dim) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Arithmetic a(builder, value.getLoc());
    Value wide = a.cast(value, builder.getF32Type());
    Float8Blocks blocks(tensorType(wide).getShape(), layout, dim);
    // A kernel over rows adds up the columns, too.
    bool isOfRows = layout == ScaleLayout::Tensor && isMadeOfRows(wide);
    if (stored && layout == ScaleLayout::Tensor && !isOfRows)
      sumByTile(function, value);
    Value scale, inverse;
    if (scaling == "delayed" && function.trains) {
      Delayed &delayed = remember(function, builder, a, wide, type, isOfRows);
      scale = delayed.scale.getResult(0);
      inverse = delayed.inverse.getResult(0);
    } else {
      Value amax = blocks.maxOver(builder, a, a.abs(wide));
      scale = getFloat8Scale(a, amax, a.constantLike(amax, getLargest(type)));
      inverse = a.div(1.0, scale);
    }
    Value scaled = a.mul(wide, blocks.expand(builder, a, scale));
    Rounded rounded;
    rounded.layout = layout;
    if (stored) {
      rounded.narrow = a.cast(scaled, type);
      rounded.scales = blocks.arrange(builder, a, inverse);
      return rounded;
    }
    Value number = ReducePrecisionOp::create(
        builder, value.getLoc(), scaled.getType(), scaled, TypeAttr::get(type));
    rounded.scales = blocks.expand(builder, a, inverse);
    rounded.wide = a.cast(a.mul(number, rounded.scales),
                          tensorType(value).getElementType());
    return rounded;
  }

  //===--------------------------------------------------------------------===//
  // Delayed scales
  //===--------------------------------------------------------------------===//

  /// Takes the magnitude of this step, by rows or tiles where the kernel that
  /// rounds the tensor works on these (`row` and `tile` fusions).
  Delayed &remember(Function &function, OpBuilder &builder, Arithmetic a,
                    Value wide, FloatType type, bool isOfRows) {
    ArrayRef<int64_t> shape = tensorType(wide).getShape();
    int64_t rows = TileSpace::getSide(shape[0]),
            columns = TileSpace::getSide(shape[1]);
    Delayed &delayed = function.delayed.emplace_back();
    delayed.type = type;
    delayed.parts =
        isOfRows ? shape[0] : shape[0] / rows * (shape[1] / columns);
    Value magnitude = a.abs(wide);
    if (!stored)
      delayed.magnitude = a.maxOver(magnitude, {0, 1});
    else if (isOfRows)
      delayed.magnitude = a.maxOver(magnitude, {1});
    else
      delayed.magnitude =
          a.maxOver(a.reshape(magnitude, {shape[0] / rows, rows,
                                          shape[1] / columns, columns}),
                    {1, 3});
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    for (UnrealizedConversionCastOp *op : {&delayed.scale, &delayed.inverse})
      *op = UnrealizedConversionCastOp::create(builder, wide.getLoc(), scalar,
                                               ValueRange());
    return delayed;
  }

  /// Adds up the columns of a gradient in two steps, the first of which is
  /// within the tiles of the kernel that rounds it: the gradient of a bias.
  void sumByTile(Function &function, Value value) {
    if (!function.isGradient(value))
      return;
    RankedTensorType type = tensorType(value);
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    SmallVector<ReduceOp> sums;
    SmallVector<Value> names = {rootOf(value)};
    llvm::DenseSet<Value> seen(names.begin(), names.end());
    while (!names.empty())
      for (Operation *user : names.pop_back_val().getUsers()) {
        if (auto sum = dyn_cast<ReduceOp>(user)) {
          RankedTensorType from = tensorType(sum.getOperand());
          if (sum.getKind() == ReductionKind::Sum &&
              from.getDimSize(from.getRank() - 1) == columns &&
              static_cast<int64_t>(sum.getDims().size()) ==
                  from.getRank() - 1 &&
              sum.getDims().back() == from.getRank() - 2)
            sums.push_back(sum);
        } else if (isa<CastOp, ReshapeOp>(user) &&
                   seen.insert(user->getResult(0)).second) {
          names.push_back(user->getResult(0));
        }
      }
    int64_t side = TileSpace::getSide(rows);
    for (ReduceOp sum : sums) {
      OpBuilder builder(sum);
      Arithmetic a(builder, sum.getLoc());
      Value parts = a.sum(
          a.reshape(widen(a, sum.getOperand()), {rows / side, side, columns}),
          {1});
      // Simplification would make one sum of both again.
      auto apart = BarrierOp::create(builder, sum.getLoc(), ValueRange(parts));
      Value all = narrow(a, a.sum(apart.getResult(0), {0}), sum.getResult());
      replaceResult(function, sum.getResult(), all);
      sum.erase();
    }
  }

  /// Puts the magnitudes of this step into a state, one row for each step, and
  /// computes all scales by the largest ones of the steps before.
  void keepMagnitudes(Function &function) {
    // Tensors with as many parts are next to each other, on all targets.
    llvm::stable_sort(function.delayed, [](const Delayed &x, const Delayed &y) {
      return x.parts < y.parts;
    });
    func::FuncOp func = function.signature.getFunction();
    auto count = static_cast<int64_t>(function.delayed.size());
    auto steps = static_cast<int64_t>(history);
    OpBuilder builder(&getContext());
    auto type = RankedTensorType::get({steps * count}, builder.getF32Type());
    FlatSymbolRefAttr symbol =
        addState(getOperation(), "fp8/magnitudes", Role::Magnitudes, type);
    Value state = function.signature.addState(symbol, type);
    builder.setInsertionPointToStart(&func.getBody().front());
    Arithmetic before(builder, func.getLoc());
    Value old = before.reshape(state, {steps, count});
    Value amax = before.maxOver(old, {0});
    auto numbers =
        llvm::map_to_vector(function.delayed, [](const Delayed &delayed) {
          return static_cast<float>(getLargest(delayed.type));
        });
    Value largest = ConstantOp::create(
        builder, func.getLoc(), amax.getType(),
        DenseElementsAttr::get(tensorType(amax), ArrayRef<float>(numbers)));
    Value scales = getFloat8Scale(before, amax, largest);
    Value inverses = before.div(1.0, scales);
    for (auto [i, delayed] : llvm::enumerate(function.delayed)) {
      auto at = static_cast<int64_t>(i);
      auto replace = [&](UnrealizedConversionCastOp op, Value all) {
        Value own =
            SliceOp::create(builder, op.getLoc(), all, ArrayRef<int64_t>{at},
                            ArrayRef<int64_t>{at + 1}, ArrayRef<int64_t>{1});
        op.getResult(0).replaceAllUsesWith(before.reshape(own, {}));
        op.erase();
      };
      replace(delayed.scale, scales);
      replace(delayed.inverse, inverses);
    }

    builder.setInsertionPoint(func.getBody().front().getTerminator());
    Arithmetic after(builder, func.getLoc());
    auto join = [&](ArrayRef<Value> parts) -> Value {
      return parts.size() == 1 ? parts.front()
                               : Value(ConcatOp::create(builder, func.getLoc(),
                                                        parts, /*dim=*/0));
    };
    SmallVector<Value> newest;
    for (ArrayRef<Delayed> rest = function.delayed; !rest.empty();) {
      // One kernel reduces the parts of several tensors.
      constexpr size_t most = 32;
      size_t end = 1;
      while (stored && end < std::min(most, rest.size()) &&
             rest[end].parts == rest[0].parts)
        ++end;
      SmallVector<Value> parts;
      for (const Delayed &delayed : rest.take_front(end))
        parts.push_back(after.reshape(
            delayed.magnitude, {1, stored ? delayed.parts : int64_t(1)}));
      newest.push_back(after.maxOver(join(parts), {1}));
      rest = rest.drop_front(end);
    }
    Value next = after.reshape(join(newest), {1, count});
    if (steps > 1)
      next = join({next, SliceOp::create(builder, func.getLoc(), old,
                                         ArrayRef<int64_t>{0, 0},
                                         ArrayRef<int64_t>{steps - 1, count},
                                         ArrayRef<int64_t>{1, 1})});
    function.results.addState(symbol, after.reshape(next, {steps * count}));
  }

  /// How the target multiplies 8-bit floats in memory; nothing if it does not.
  std::optional<Float8Matmuls> stored;
};

} // namespace
