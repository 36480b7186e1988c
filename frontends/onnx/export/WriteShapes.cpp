// SPDX-License-Identifier: Apache-2.0

// Ops that move elements, reductions and matmuls.

#include "frontends/onnx/export/OpWriter.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_export;

namespace {

using Shape = SmallVector<int64_t>;

/// Larger constants of one repeated value are computed.
constexpr int64_t kLargestSplat = 64;

LogicalResult writeConstant(OpWriter &writer, Operation *op) {
  auto value = dyn_cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue());
  if (!value)
    return failure();
  RankedTensorType type = tensorType(op->getResult(0));
  if (value.isSplat() && type.getNumElements() > kLargestSplat) {
    auto one =
        DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()),
                               value.getSplatValue<Attribute>());
    writer.set(op->getResult(0),
               writer.expanded(writer.constant(one), type.getShape()));
    return success();
  }
  writer.set(op->getResult(0), writer.constant(value));
  return success();
}

LogicalResult writeIota(OpWriter &writer, Operation *op) {
  RankedTensorType type = tensorType(op->getResult(0));
  auto dim = static_cast<int64_t>(cast<IotaOp>(op).getDim());
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, type.getDimSize(dim)));
  Shape along(type.getRank(), 1);
  along[dim] = type.getDimSize(dim);
  std::string row = writer.reshaped(writer.ints(numbers), along);
  row = writer.node("Cast", {row}, {{"to", dataType(type.getElementType())}});
  writer.set(op->getResult(0), writer.expanded(row, type.getShape()));
  return success();
}

LogicalResult writeBroadcast(OpWriter &writer, Operation *op) {
  auto broadcast = cast<BroadcastOp>(op);
  RankedTensorType from = tensorType(op->getOperand(0));
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  Shape ones(shape.size(), 1);
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    ones[dim] = from.getDimSize(static_cast<unsigned>(i));
  writer.set(op->getResult(0),
             writer.expanded(
                 writer.reshaped(writer.get(op->getOperand(0)), ones), shape));
  return success();
}

LogicalResult writeReshape(OpWriter &writer, Operation *op) {
  writer.set(op->getResult(0),
             writer.reshaped(writer.get(op->getOperand(0)),
                             tensorType(op->getResult(0)).getShape()));
  return success();
}

LogicalResult writeTranspose(OpWriter &writer, Operation *op) {
  writer.set(op->getResult(0),
             writer.permuted(writer.get(op->getOperand(0)),
                             cast<TransposeOp>(op).getPermutation()));
  return success();
}

LogicalResult writeSlice(OpWriter &writer, Operation *op) {
  auto slice = cast<SliceOp>(op);
  writer.set(op->getResult(0),
             writer.sliced(writer.get(op->getOperand(0)), slice.getStarts(),
                           slice.getLimits(), slice.getStrides()));
  return success();
}

LogicalResult writeReverse(OpWriter &writer, Operation *op) {
  Ints dims = cast<ReverseOp>(op).getDims();
  constexpr int64_t kBegin = std::numeric_limits<int64_t>::min() + 1;
  Shape starts(dims.size(), -1), limits(dims.size(), kBegin),
      steps(dims.size(), -1);
  writer.set(op->getResult(0),
             writer.node("Slice", {writer.get(op->getOperand(0)),
                                   writer.ints(starts), writer.ints(limits),
                                   writer.ints(dims), writer.ints(steps)}));
  return success();
}

LogicalResult writePad(OpWriter &writer, Operation *op) {
  auto pad = cast<PadOp>(op);
  RankedTensorType type = tensorType(op->getOperand(0));
  Shape shape(type.getShape());
  std::string value = writer.get(op->getOperand(0));
  std::string fill =
      writer.scalar(type.getElementType(), pad.getValue().convertToDouble());
  auto margins = [&](std::string x, Ints low, Ints high) {
    Shape pads(low);
    llvm::append_range(pads, high);
    return writer.node("Pad", {std::move(x), writer.ints(pads), fill});
  };
  // Between neighbours: a margin of each element except the last.
  for (auto [dim, interior] : llvm::enumerate(pad.getInterior())) {
    if (interior == 0 || shape[dim] == 0)
      continue;
    Shape split(shape);
    split.insert(split.begin() + static_cast<int64_t>(dim) + 1, 1);
    Shape low(split.size(), 0), high(split.size(), 0);
    high[dim + 1] = interior;
    value = margins(writer.reshaped(value, split), low, high);
    shape[dim] *= interior + 1;
    value = writer.reshaped(value, shape);
    shape[dim] -= interior;
    Shape starts(shape.size(), 0), steps(shape.size(), 1);
    value = writer.sliced(value, starts, shape, steps);
  }
  writer.set(op->getResult(0), margins(value, pad.getLow(), pad.getHigh()));
  return success();
}

LogicalResult writeConcat(OpWriter &writer, Operation *op) {
  std::vector<std::string> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(writer.get(operand));
  writer.set(op->getResult(0),
             writer.node("Concat", std::move(inputs),
                         {{"axis", static_cast<int64_t>(
                                       cast<ConcatOp>(op).getDim())}}));
  return success();
}

/// Indices are clamped, which ONNX does not do.
std::string clamped(OpWriter &writer, Value indices, int64_t size) {
  Type element = tensorType(indices).getElementType();
  std::string low =
      writer.node("Max", {writer.get(indices), writer.scalar(element, 0)});
  return writer.node(
      "Min", {low, writer.scalar(element, static_cast<double>(size - 1))});
}

LogicalResult writeGather(OpWriter &writer, Operation *op) {
  auto gather = cast<GatherOp>(op);
  auto dim = static_cast<int64_t>(gather.getDim());
  int64_t size = tensorType(gather.getOperand()).getDimSize(dim);
  writer.set(op->getResult(0),
             writer.node("Gather",
                         {writer.get(gather.getOperand()),
                          clamped(writer, gather.getIndices(), size)},
                         {{"axis", dim}}));
  return success();
}

LogicalResult writeTakeAlong(OpWriter &writer, Operation *op) {
  auto take = cast<TakeAlongOp>(op);
  auto dim = static_cast<int64_t>(take.getDim());
  int64_t size = tensorType(take.getOperand()).getDimSize(dim);
  writer.set(op->getResult(0),
             writer.node("GatherElements",
                         {writer.get(take.getOperand()),
                          clamped(writer, take.getIndices(), size)},
                         {{"axis", dim}}));
  return success();
}

/// The indices become one dimension, which is repeated along all others.
LogicalResult writeScatterAdd(OpWriter &writer, Operation *op) {
  auto scatter = cast<ScatterAddOp>(op);
  auto dim = static_cast<int64_t>(scatter.getDim());
  RankedTensorType type = tensorType(op->getResult(0));
  Shape rows(type.getShape()), along(type.getRank(), 1);
  rows[dim] = along[dim] = tensorType(scatter.getIndices()).getNumElements();
  std::string indices =
      clamped(writer, scatter.getIndices(), type.getDimSize(dim));
  indices = writer.expanded(writer.reshaped(indices, along), rows);
  std::string updates = writer.reshaped(writer.get(scatter.getUpdates()), rows);
  std::string init = scatter.getInit() ? writer.get(scatter.getInit())
                                       : writer.filled(type, 0.0);
  writer.set(op->getResult(0),
             writer.node("ScatterElements", {init, indices, updates},
                         {{"axis", dim}, {"reduction", std::string("add")}}));
  return success();
}

LogicalResult writeReduce(OpWriter &writer, Operation *op) {
  auto reduce = cast<ReduceOp>(op);
  ReductionKind kind = reduce.getKind();
  const char *name = kind == ReductionKind::Sum    ? "ReduceSum"
                     : kind == ReductionKind::Prod ? "ReduceProd"
                     : kind == ReductionKind::Max  ? "ReduceMax"
                                                   : "ReduceMin";
  writer.set(op->getResult(0),
             writer.node(name,
                         {writer.get(reduce.getOperand()),
                          writer.ints(reduce.getDims())},
                         {{"keepdims", 0}, {"noop_with_empty_axes", 1}}));
  return success();
}

LogicalResult writeArgMax(OpWriter &writer, Operation *op) {
  writer.set(
      op->getResult(0),
      writer.node("ArgMax", {writer.get(op->getOperand(0))},
                  {{"axis", static_cast<int64_t>(cast<ArgMaxOp>(op).getDim())},
                   {"keepdims", 0}}));
  return success();
}

LogicalResult writeMatmul(OpWriter &writer, Operation *op) {
  auto matmul = cast<MatmulOp>(op);
  auto matrix = [&](Value value, bool transposed) {
    std::string name = writer.get(value);
    if (!transposed)
      return name;
    auto permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
    return writer.permuted(name, permutation);
  };
  if (tensorType(matmul.getLhs()).getElementType() !=
      tensorType(op->getResult(0)).getElementType())
    return failure();
  writer.set(op->getResult(0),
             writer.node("MatMul",
                         {matrix(matmul.getLhs(), matmul.getTransposeLhs()),
                          matrix(matmul.getRhs(), matmul.getTransposeRhs())}));
  return success();
}

} // namespace

void onnx_export::registerShapeWriters(WriterRegistry &registry) {
  registry.add<ConstantOp>(writeConstant);
  registry.add<IotaOp>(writeIota);
  registry.add<BroadcastOp>(writeBroadcast);
  registry.add<ReshapeOp>(writeReshape);
  registry.add<TransposeOp>(writeTranspose);
  registry.add<SliceOp>(writeSlice);
  registry.add<ReverseOp>(writeReverse);
  registry.add<PadOp>(writePad);
  registry.add<ConcatOp>(writeConcat);
  registry.add<GatherOp>(writeGather);
  registry.add<TakeAlongOp>(writeTakeAlong);
  registry.add<ScatterAddOp>(writeScatterAdd);
  registry.add<ReduceOp>(writeReduce);
  registry.add<ArgMaxOp>(writeArgMax);
  registry.add<MatmulOp>(writeMatmul);
}
