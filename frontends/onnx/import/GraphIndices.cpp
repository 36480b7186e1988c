// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The tables that integers of inputs index: classes of a loss and rows of
// tables.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/InputAttributes.h"
#include "frontends/onnx/import/Graph.h"
#include "frontends/onnx/model/Node.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"

#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The elements that are followed. Inputs of larger models go unchecked.
static constexpr int64_t kMostElements = int64_t(1) << 26;

/// Returns what `value` is made of if it counts negative indices from the end
/// of a dimension (`fromEnd`), else the value.
static Value skipFromEnd(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  if (!select)
    return value;
  Value plain = select.getOnFalse();
  auto negative = select.getCondition().getDefiningOp<CompareOp>();
  auto sum = select.getOnTrue().getDefiningOp<AddOp>();
  bool isFromEnd = negative && sum &&
                   negative.getPredicate() == Predicate::LT &&
                   negative->getOperand(0) == plain &&
                   llvm::is_contained(sum->getOperands(), plain);
  return isFromEnd ? plain : value;
}

namespace {

/// The elements of an argument that a value consists of, in its order.
struct Elements {
  BlockArgument argument;
  /// Whether they are all of them as they are; else their numbers. Labels of
  /// images are many.
  bool areAll = true;
  SmallVector<int64_t> positions = {};

  int64_t operator[](int64_t i) const { return areAll ? i : positions[i]; }
};

} // namespace

/// Takes of `elements` those whose numbers `place` returns for each index of
/// the shape.
static void
takeElements(Elements &elements, ArrayRef<int64_t> shape,
             llvm::function_ref<int64_t(ArrayRef<int64_t> index)> place) {
  SmallVector<int64_t> taken, index(shape.size());
  int64_t count = ShapedType::getNumElements(shape);
  taken.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    taken.push_back(elements[place(index)]);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  elements.positions = std::move(taken);
  elements.areAll = false;
}

/// Whether an op only gives the elements of its operand another shape.
static bool keepsOrder(Operation *op, const ElementMove &move) {
  RankedTensorType to = tensorType(op->getResult(0));
  int64_t step = 1;
  for (auto [size, found] :
       llvm::reverse(llvm::zip_equal(to.getShape(), move.steps))) {
    if (size != 1 && found != step)
      return false;
    step *= size;
  }
  return move.base == 0 &&
         step == tensorType(op->getOperand(0)).getNumElements();
}

/// Takes of `elements`, which are the first operand of an op, those of its
/// result. Returns whether the op only moves or converts elements.
static bool moveElements(Operation *op, Elements &elements) {
  if (isa<CastOp>(op))
    return true;
  ArrayRef<int64_t> to = tensorType(op->getResult(0)).getShape();
  if (auto moves = dyn_cast<MovesElements>(op)) {
    ElementMove move = moves.getMove();
    if (keepsOrder(op, move))
      return true;
    takeElements(elements, to, [&](ArrayRef<int64_t> index) {
      int64_t position = move.base;
      for (auto [at, step] : llvm::zip_equal(index, move.steps))
        position += at * step;
      return position;
    });
    return true;
  }
  // A column of the samples, as `x[:, 0]` is exported.
  DenseElementsAttr chosen;
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || !matchPattern(gather.getIndices(), m_Constant(&chosen)))
    return false;
  auto dim = static_cast<unsigned>(gather.getDim());
  ArrayRef<int64_t> from = tensorType(gather.getOperand()).getShape();
  ArrayRef<int64_t> shape = tensorType(gather.getIndices()).getShape();
  SmallVector<APInt> choices(chosen.getValues<APInt>());
  takeElements(elements, to, [&](ArrayRef<int64_t> index) {
    int64_t number = 0, position = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      number = number * shape[i] + index[dim + i];
    int64_t choice =
        std::clamp<int64_t>(choices[number].getSExtValue(), 0, from[dim] - 1);
    for (unsigned d = 0; d < from.size(); ++d)
      position =
          position * from[d] +
          (d == dim ? choice : index[d < dim ? d : d + shape.size() - 1]);
    return position;
  });
  return true;
}

/// Follows a value back through ops that only move elements, to an argument of
/// the block. Returns whether there is one. `budget` bounds the elements that
/// are moved for all values together.
static bool follow(Value value, Block *block, int64_t &budget,
                   Elements &elements) {
  SmallVector<Operation *> chain;
  for (value = skipFromEnd(value); Operation *op = value.getDefiningOp();
       value = skipFromEnd(op->getOperand(0))) {
    if (!isa<CastOp, GatherOp>(op) && !isa<MovesElements>(op))
      return false;
    budget -= tensorType(op->getResult(0)).getNumElements();
    chain.push_back(op);
    if (budget < 0)
      return false;
  }
  elements.argument = cast<BlockArgument>(value);
  int64_t count = tensorType(value).getNumElements();
  budget -= count;
  if (elements.argument.getOwner() != block || budget < 0)
    return false;
  return llvm::all_of(llvm::reverse(chain), [&](Operation *op) {
    return moveElements(op, elements);
  });
}

void GraphImporter::setArgumentAttr(BlockArgument argument, StringRef name,
                                    Attribute value) {
  NamedAttrList attributes(argumentAttrs[argument.getArgNumber()]);
  attributes.set(name, value);
  argumentAttrs[argument.getArgNumber()] =
      attributes.getDictionary(module.getContext());
}

/// Labels of a cross entropy carry the number of classes, and the label that
/// does not count.
void GraphImporter::countClasses() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t budget = kMostElements;
  body->walk([&](CrossEntropyOp op) {
    Elements labels;
    if (!follow(op.getLabels(), body, budget, labels) ||
        !argumentAttrs[labels.argument.getArgNumber()].get(kKindAttr))
      return;
    // Where a part of the input is compared, as where a model shifts its
    // labels itself, the rest may be anything.
    if (!labels.areAll) {
      llvm::BitVector used(tensorType(labels.argument).getNumElements());
      for (int64_t position : labels.positions)
        used.set(position);
      if (!used.all())
        return;
    }
    setArgumentAttr(labels.argument, kClassesAttr,
                    builder.getI64IntegerAttr(
                        ingot::tensorType(op.getLogits())
                            .getDimSize(static_cast<int64_t>(op.getDim()))));
    auto ignored = static_cast<int64_t>(op.getIgnoreIndex());
    if (ignored != kNone)
      setArgumentAttr(labels.argument, kIgnoredAttr,
                      builder.getI64IntegerAttr(ignored));
  });
}

/// Inputs whose elements index tables carry the sizes of these.
void GraphImporter::countRows() {
  llvm::MapVector<BlockArgument, SmallVector<int64_t>> rows;
  int64_t budget = kMostElements;
  body->walk([&](IndexesElements op) {
    auto [indices, size] = op.getElementIndices();
    Elements elements;
    if (!follow(indices, body, budget, elements))
      return;
    BlockArgument argument = elements.argument;
    DictionaryAttr attributes = argumentAttrs[argument.getArgNumber()];
    RankedTensorType type = tensorType(argument);
    // What is a class indexes also the weights of classes.
    if (!attributes.get(kKindAttr) || attributes.get(kClassesAttr) ||
        type.getRank() == 0 || type.getDimSize(0) == 0)
      return;
    int64_t each = type.getNumElements() / type.getDimSize(0);
    SmallVector<int64_t> &sizes = rows[argument];
    sizes.resize(each);
    int64_t count = elements.areAll ? each : elements.positions.size();
    for (int64_t i = 0; i < count; ++i) {
      int64_t &known = sizes[elements[i] % each];
      known = known == 0 ? size : std::min(known, size);
    }
  });
  for (auto &[argument, sizes] : rows) {
    SmallVector<int64_t> pairs;
    for (int64_t size : sizes) {
      if (!pairs.empty() && pairs.back() == size)
        ++pairs[pairs.size() - 2];
      else
        pairs.append({1, size});
    }
    setArgumentAttr(argument, kRowsAttr, builder.getDenseI64ArrayAttr(pairs));
  }
}
