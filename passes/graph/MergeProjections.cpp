// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MergeProjections: merges linear layers that share an input into one matmul,
// and lets attention read queries, keys and values from its result in place.
//
// Assumes a simplified forward function with attention formed: gradients are
// built later, with one matmul for each gradient too.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/graph/Passes.h"
#include "passes/graph/Projection.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_MERGEPROJECTIONS
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A part of the rows of `whole`: `count` of `width` contiguous elements from
/// `first` on, after `rows` dimensions are merged.
struct RowPart {
  Value whole;
  int64_t rows = 0, width = 0, first = 0, count = 0;

  /// Returns nothing if the value is not such a part.
  static std::optional<RowPart> of(Value value);
};

} // namespace

std::optional<RowPart> RowPart::of(Value value) {
  auto slice = skipReshapes(value).getDefiningOp<SliceOp>();
  if (!slice)
    return std::nullopt;
  ArrayRef<int64_t> shape = tensorType(slice.getOperand()).getShape();
  std::optional<size_t> cut;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (slice.getStarts()[i] == 0 && slice.getLimits()[i] == shape[i] &&
        slice.getStrides()[i] == 1)
      continue;
    if (cut || slice.getStrides()[i] != 1)
      return std::nullopt;
    cut = i;
  }
  if (!cut)
    return std::nullopt;
  int64_t inner = llvm::product_of(shape.drop_front(*cut + 1));
  return RowPart{slice.getOperand(), llvm::product_of(shape.take_front(*cut)),
                 shape[*cut] * inner, slice.getStarts()[*cut] * inner,
                 (slice.getLimits()[*cut] - slice.getStarts()[*cut]) * inner};
}

/// Returns why a kernel cannot read the operands of an attention packed in one
/// tensor; empty if it can.
static std::string whyNotPacked(AttentionOp op, StringRef precision,
                                const Target &target) {
  AttentionSizes sizes = op.getSizes();
  if (StringRef reason = op.refuseCall(); !reason.empty())
    return reason.str();
  AttentionQuery query = {
      sizes, static_cast<int64_t>(op.getLeft()),
      static_cast<int64_t>(op.getRight()),
      elementInPrecision(getElementTypeOrSelf(op.getQuery()), precision)};
  query.hasMask = op.getMask() != nullptr;
  if (std::string reason = target.getCalls().refuseAttention(query);
      !reason.empty())
    return reason;
  if (sizes.queries != sizes.keys || sizes.size != sizes.valueSize)
    return "queries, keys and values have different head sizes";
  Type element =
      elementInPrecision(op.getQuery().getType().getElementType(), precision);
  if (!sizes.packsAligned(element))
    return "keys or values would not begin at an aligned address";
  return "";
}

namespace {

struct MergeProjections : ingot::impl::MergeProjectionsBase<MergeProjections> {
  using MergeProjectionsBase::MergeProjectionsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    target = Target::of(func);
    // Where attention is decomposed, nothing would read the parts in place.
    Type f32 = Float32Type::get(&getContext());
    if (func.isDeclaration() || holdsGradients() ||
        !target->getCalls().hasAttention(elementInPrecision(f32, precision)))
      return;
    SmallVector<AttentionOp> attentions;
    func.walk([&](AttentionOp op) { attentions.push_back(op); });
    for (auto &[key, layers] : findLayers())
      mergeLayers(layers, attentions);
    for (AttentionOp op : attentions)
      pack(op);
    // Erases slices without uses.
    func->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

private:
  /// Returns whether the function is an imported training step, which already
  /// contains gradients.
  bool holdsGradients() {
    Signature signature(getOperation());
    return llvm::any_of(
        llvm::seq(signature.getReturn()->getNumOperands()),
        [&](unsigned i) { return bool(signature.resultGradient(i)); });
  }

  /// The properties that layers must share to be merged.
  using Key = std::tuple<Value, unsigned, unsigned, Type, unsigned>;

  llvm::MapVector<Key, SmallVector<Projection>> findLayers() {
    llvm::MapVector<Key, SmallVector<Projection>> layers;
    Signature signature(getOperation());
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto roleOf = [&](BlockArgument argument) -> std::optional<Role> {
      auto symbol = signature.argumentState(argument.getArgNumber());
      StateOp state = symbol ? findState(module, symbol) : StateOp();
      return state ? std::optional(state.getRole()) : std::nullopt;
    };
    getOperation().walk([&](MatmulOp matmul) {
      std::optional<Projection> layer = Projection::of(matmul);
      if (!layer)
        return;
      // A frozen weight in a matmul with trained ones would have a gradient.
      std::optional<Role> role = roleOf(layer->weight);
      if (!role || (layer->bias && roleOf(layer->bias) != role))
        return;
      auto rows = RankedTensorType::get(
          layer->rowShape(), tensorType(layer->result).getElementType());
      layers[{matmul.getLhs(), matmul.getTransposeRhs(), bool(layer->bias),
              rows, static_cast<unsigned>(*role)}]
          .push_back(*layer);
    });
    return layers;
  }

  void mergeLayers(ArrayRef<Projection> layers,
                   ArrayRef<AttentionOp> attentions);
  bool areWorthIt(ArrayRef<Projection> layers, bool readInPlace);
  void merge(ArrayRef<Projection> layers);
  void pack(AttentionOp op);

  std::shared_ptr<const Target> target;
};

} // namespace

/// First the layers that one attention reads are merged, then the others
/// together.
void MergeProjections::mergeLayers(ArrayRef<Projection> layers,
                                   ArrayRef<AttentionOp> attentions) {
  if (layers.size() < 2)
    return;
  llvm::SmallMapVector<Value, Projection, 4> left;
  for (Projection layer : layers)
    left.insert({layer.result, layer});
  for (AttentionOp op : attentions) {
    SmallVector<Projection> read;
    for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
      if (auto *found = left.find(skipReshapes(operand)); found != left.end())
        read.push_back(found->second);
    if (read.size() != 3)
      continue;
    for (Projection layer : read)
      left.erase(layer.result);
    bool readInPlace = whyNotPacked(op, precision, *target).empty();
    if (areWorthIt(read, readInPlace))
      merge(read);
  }
  SmallVector<Projection> others;
  for (auto &[result, layer] : left)
    others.push_back(layer);
  if (others.size() > 1 && areWorthIt(others, /*readInPlace=*/false))
    merge(others);
}

/// Compares the time that merging saves with the time that it costs, in a
/// training step.
bool MergeProjections::areWorthIt(ArrayRef<Projection> layers,
                                  bool readInPlace) {
  const Machine &machine = target->getMachine();
  auto move = [&](double bytes) { return machine.getMoveSeconds(bytes); };
  double weights = 0, rows = 0;
  for (Projection layer : layers) {
    weights += byteSize(tensorType(layer.weight));
    rows += byteSize(tensorType(layer.result));
  }
  MatmulOp first = layers.front().matmul;
  double input = byteSize(tensorType(first.getLhs()));
  double fewer = layers.size() - 1;
  // The calls for the result and two gradients; the input is packed for two of
  // them, and its gradient is the sum of parts.
  double saved = fewer * (3 * machine.launchSeconds + 4 * move(input));
  double cost = 2 * machine.launchSeconds + 2 * move(weights);
  // Parts are sliced out of the result and concatenated into its gradient.
  if (!readInPlace)
    cost += 2 * machine.launchSeconds + 4 * move(rows);
  auto describe = [&](auto remark) {
    for (Projection layer : layers)
      for (const std::string &name : nodeNames(layer.matmul.getLoc()))
        remark << remark::metric("layer", name);
    remark << remark::metric("saved_seconds", saved)
           << remark::metric("cost_seconds", cost);
  };
  Location loc = first.getLoc();
  if (cost < saved) {
    describe(remark::passed(loc, remarkOptions(getArgument(), "Projections")));
    return true;
  }
  auto remark =
      remark::missed(loc, remarkOptions(getArgument(), "Projections"));
  remark << remark::reason("{0}", readInPlace
                                      ? "a copy of the weights costs more"
                                      : "the parts would be copied");
  describe(std::move(remark));
  return false;
}

/// Builds one matmul with concatenated weights and biases.
void MergeProjections::merge(ArrayRef<Projection> layers) {
  MatmulOp first = layers.front().matmul;
  for (Projection layer : layers)
    if (layer.matmul->isBeforeInBlock(first))
      first = layer.matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  int64_t columns = 0;
  for (Projection layer : layers) {
    locations.push_back(layer.matmul.getLoc());
    weights.push_back(layer.weight);
    if (layer.bias)
      biases.push_back(layer.bias);
    columns += layer.columns();
  }
  Location loc = builder.getFusedLoc(locations);
  bool transposed = first.getTransposeRhs();
  Value weight =
      ConcatOp::create(builder, loc, weights, /*dim=*/transposed ? 0 : 1);
  Value whole = MatmulOp::create(builder, loc, first.getLhs(), weight,
                                 /*transpose_lhs=*/false, transposed);
  SmallVector<int64_t> shape(layers.front().rowShape());
  shape.push_back(columns);
  int64_t last = shape.size() - 1;
  whole = reshapeTo(builder, loc, whole, shape);
  if (!biases.empty()) {
    Value bias = ConcatOp::create(builder, loc, biases, /*dim=*/0);
    whole = AddOp::create(builder, loc, whole.getType(), whole,
                          broadcastTo(builder, loc, bias, shape, {last}));
  }
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape);
  SmallVector<int64_t> strides(shape.size(), 1);
  limits[last] = 0;
  for (Projection layer : layers) {
    starts[last] = limits[last];
    limits[last] += layer.columns();
    Value part =
        SliceOp::create(builder, layer.matmul.getLoc(), layer.result.getType(),
                        whole, starts, limits, strides);
    layer.result.replaceAllUsesWith(part);
  }
  ++numMerged;
}

/// Lets attention read the parts of one tensor in place.
void MergeProjections::pack(AttentionOp op) {
  SmallVector<RowPart> parts;
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()}) {
    std::optional<RowPart> part = RowPart::of(operand);
    if (!part || (!parts.empty() && part->whole != parts.front().whole))
      return;
    parts.push_back(*part);
  }
  AttentionSizes sizes = op.getSizes();
  int64_t queries = sizes.heads * sizes.size;
  int64_t keys = sizes.keyHeads * sizes.size;
  auto isAt = [&](const RowPart &part, int64_t first, int64_t count) {
    return part.rows == sizes.batch * sizes.queries &&
           part.width == queries + 2 * keys && part.first == first &&
           part.count == count;
  };
  std::string problem = whyNotPacked(op, precision, *target);
  if (problem.empty() &&
      (!isAt(parts[0], 0, queries) || !isAt(parts[1], queries, keys) ||
       !isAt(parts[2], queries + keys, keys)))
    problem = "rows do not consist of all queries, then keys, then values";
  if (!problem.empty()) {
    remark::missed(op.getLoc(), remarkOptions(getArgument(), "PackedAttention"))
        << remark::reason("{0}", problem);
    return;
  }
  OpBuilder builder(op);
  Value packed = reshapeTo(builder, op.getLoc(), parts.front().whole,
                           {sizes.batch, sizes.queries,
                            sizes.heads + 2 * sizes.keyHeads, sizes.size});
  // The parts would be written and read, in both passes.
  remark::passed(op.getLoc(), remarkOptions(getArgument(), "PackedAttention"))
      << remark::metric("bytes_saved", 4 * byteSize(tensorType(packed)));
  auto attention = PackedAttentionOp::create(
      builder, op.getLoc(), op.getResultTypes(), packed, op.getBias(),
      op.getMask(), op.getLengths(), op.getSeed(), op.getStep(),
      builder.getI64IntegerAttr(sizes.keyHeads), op.getScaleAttr(),
      op.getLeftAttr(), op.getRightAttr(), op.getRatioAttr(),
      op.getStreamAttr());
  op->replaceAllUsesWith(attention->getResults());
  op->erase();
  ++numPacked;
}
