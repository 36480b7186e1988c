// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// OutlineLoops: makes functions of the bodies of loops.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Target.h"

namespace ingot {
#define GEN_PASS_DEF_OUTLINELOOPS
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Returns the first elements of each row in another shape.
static Value dropPadding(OpBuilder &builder, Value padded,
                         ArrayRef<int64_t> shape, int64_t elements) {
  SmallVector<int64_t> limits(tensorType(padded).getShape());
  limits.back() = elements;
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  Value rows = SliceOp::create(builder, padded.getLoc(), padded, starts, limits,
                               strides);
  return reshapeTo(builder, padded.getLoc(), rows, shape);
}

/// Returns the value as rows of `elements`, of which there are one or, of a
/// stack of `count` slices, as many; each is followed by padding.
static Value addPadding(OpBuilder &builder, Value value,
                        std::optional<int64_t> count, int64_t elements,
                        int64_t padding) {
  SmallVector<int64_t> rows;
  if (count)
    rows.push_back(*count);
  rows.push_back(elements);
  SmallVector<int64_t> none(rows.size(), 0), high(none);
  high.back() = padding;
  Value flat = reshapeTo(builder, value.getLoc(), value, rows);
  return PadOp::create(builder, value.getLoc(), flat, none, high, none,
                       llvm::APFloat(0.0));
}

namespace {
struct OutlineLoops : ingot::impl::OutlineLoopsBase<OutlineLoops> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    std::unique_ptr<const Target> target = Target::of(getOperation());
    // Loops within loops come first.
    SmallVector<LoopOp> loops;
    getOperation().walk([&](LoopOp loop) { loops.push_back(loop); });
    for (LoopOp loop : loops)
      outline(align(loop, target->getAlignment()), symbols);
    numOutlined += loops.size();
  }

private:
  /// Returns the number of elements that make the size of a slice a multiple
  /// of the alignment.
  static int64_t countPadding(Value slice, int64_t alignment) {
    RankedTensorType type = tensorType(slice);
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    // Sizes of elements are powers of two.
    int64_t unit = alignment / bytes;
    return llvm::alignTo(type.getNumElements(), unit) - type.getNumElements();
  }

  /// Pads slices of sequences and outputs.
  static LoopOp align(LoopOp loop, int64_t alignment) {
    Location loc = loop.getLoc();
    auto count = static_cast<int64_t>(loop.getCount());
    Block &body = loop.getBlock();
    OpBuilder outside(loop);
    OpBuilder inside = OpBuilder::atBlockBegin(&body);
    for (auto [sequence, argument] : llvm::zip_equal(
             loop.getSequencesMutable(), loop.getSliceArguments())) {
      int64_t padding = countPadding(argument, alignment);
      if (padding == 0)
        continue;
      RankedTensorType type = tensorType(argument);
      int64_t elements = type.getNumElements();
      sequence.set(
          addPadding(outside, sequence.get(), count, elements, padding));
      argument.setType(
          RankedTensorType::get(elements + padding, type.getElementType()));
      Value slice = dropPadding(inside, argument, type.getShape(), elements);
      SmallPtrSet<Operation *, 2> padded;
      for (Operation *op = slice.getDefiningOp(); op;
           op = op->getOperand(0).getDefiningOp())
        padded.insert(op);
      argument.replaceAllUsesExcept(slice, padded);
    }

    inside.setInsertionPoint(loop.getYield());
    SmallVector<Type> types(loop.getResultTypes());
    SmallVector<int64_t> paddings(types.size(), 0);
    for (unsigned i = loop.countCarried(); i < types.size(); ++i) {
      OpOperand &yielded = loop.getYield()->getOpOperand(i);
      int64_t padding = countPadding(yielded.get(), alignment);
      if (padding == 0)
        continue;
      paddings[i] = padding;
      int64_t elements = tensorType(yielded.get()).getNumElements();
      yielded.set(
          addPadding(inside, yielded.get(), std::nullopt, elements, padding));
      types[i] =
          RankedTensorType::get({count, elements + padding},
                                tensorType(yielded.get()).getElementType());
    }
    if (llvm::all_of(paddings, [](int64_t padding) { return padding == 0; }))
      return loop;
    auto aligned = LoopOp::create(outside, loc, types, loop.getCount(),
                                  loop.getReverse(), loop.getInitial(),
                                  loop.getSequences(), loop.getCaptures());
    aligned.getBody().takeBody(loop.getBody());
    for (auto [i, padding] : llvm::enumerate(paddings)) {
      Value result = aligned.getResult(i);
      if (padding != 0)
        result = dropPadding(outside, result,
                             tensorType(loop.getResult(i)).getShape(),
                             tensorType(result).getDimSize(1) - padding);
      loop.getResult(i).replaceAllUsesWith(result);
    }
    loop.erase();
    return aligned;
  }

  void outline(LoopOp loop, SymbolTable &symbols) {
    Location loc = loop.getLoc();
    OpBuilder builder(loop);
    Block &body = loop.getBlock();
    auto func = func::FuncOp::create(
        loc, "loop_" + std::to_string(next++),
        builder.getFunctionType(body.getArgumentTypes(),
                                loop.getYield()->getOperandTypes()));
    func.setPrivate();
    func.getBody().takeBody(loop.getBody());
    Operation *yield = func.getBody().front().getTerminator();
    builder.setInsertionPoint(yield);
    func::ReturnOp::create(builder, yield->getLoc(), yield->getOperands());
    yield->erase();

    auto slots = [&](StringRef kind, size_t count,
                     SmallVectorImpl<Attribute> &all) {
      for (size_t i = 0; i < count; ++i) {
        auto symbol = FlatSymbolRefAttr::get(builder.getContext(),
                                             (kind + Twine(i)).str());
        all.push_back(
            builder.getDictionaryAttr(builder.getNamedAttr(kSlotAttr, symbol)));
      }
    };
    SmallVector<Attribute> arguments, results;
    slots("carried", loop.countCarried(), arguments);
    slots("slice", loop.getSequences().size(), arguments);
    slots("capture", loop.getCaptures().size(), arguments);
    slots("carried", loop.countCarried(), results);
    slots("output", loop.countOutputs(), results);
    func.setArgAttrsAttr(builder.getArrayAttr(arguments));
    func.setResAttrsAttr(builder.getArrayAttr(results));
    symbols.insert(func);

    builder.setInsertionPoint(loop);
    auto repeat = RepeatOp::create(
        builder, loc, loop.getResultTypes(),
        FlatSymbolRefAttr::get(func.getSymNameAttr()), loop.getCountAttr(),
        loop.getReverseAttr(), loop.getInitial(), loop.getSequences(),
        loop.getCaptures());
    loop.replaceAllUsesWith(repeat.getResults());
    loop.erase();
  }

  unsigned next = 0;
};
} // namespace
