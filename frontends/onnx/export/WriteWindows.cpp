// SPDX-License-Identifier: Apache-2.0

// Convolutions, pools and their gradients.

#include "frontends/onnx/export/OpWriter.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_export;

namespace {

using Shape = SmallVector<int64_t>;

/// Writes only layouts that ONNX has: channels first.
template <typename OpT> bool hasChannelsLast(OpT op) {
  if constexpr (requires { op.getFilterChannelsLast(); })
    return op.getChannelsLast() || op.getFilterChannelsLast();
  else
    return op.getChannelsLast();
}

Shape joined(Ints low, Ints high) {
  Shape pads(low);
  llvm::append_range(pads, high);
  return pads;
}

ArrayRef<int64_t> spatial(Value value) {
  return tensorType(value).getShape().drop_front(2);
}

LogicalResult writeConv(OpWriter &writer, Operation *op) {
  auto conv = cast<ConvOp>(op);
  if (hasChannelsLast(conv))
    return failure();
  writer.set(
      op->getResult(0),
      writer.node("Conv",
                  {writer.get(conv.getInput()), writer.get(conv.getFilter())},
                  {{"strides", conv.getStrides()},
                   {"dilations", conv.getDilations()},
                   {"pads", joined(conv.getPadLow(), conv.getPadHigh())},
                   {"group", static_cast<int64_t>(conv.getGroups())}}));
  return success();
}

/// Returns part `index` of `count` equal parts of a dimension.
std::string part(OpWriter &writer, Value value, unsigned dim, int64_t index,
                 int64_t count) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  if (count == 1)
    return writer.get(value);
  Shape starts(shape.size(), 0), limits(shape), steps(shape.size(), 1);
  starts[dim] = index * (shape[dim] / count);
  limits[dim] = starts[dim] + shape[dim] / count;
  return writer.sliced(writer.get(value), starts, limits, steps);
}

std::string concatenated(OpWriter &writer, std::vector<std::string> parts,
                         int64_t dim) {
  return parts.size() == 1
             ? parts.front()
             : writer.node("Concat", std::move(parts), {{"axis", dim}});
}

/// The geometry of a transposed convolution: that of the convolution from its
/// result, of the spatial sizes `sizes`, to its operand.
struct Transposed {
  Ints from, sizes, kernel, strides, dilations, low;
};

/// Writes a transposed convolution of one group. What its windows do not reach
/// is padding of the result.
std::string transposedConvolution(OpWriter &writer, std::string grad,
                                  std::string filter, Type element,
                                  const Transposed &t) {
  Shape high, rest;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    int64_t covered = (t.from[i] - 1) * t.strides[i] +
                      t.dilations[i] * (t.kernel[i] - 1) + 1 - t.low[i];
    high.push_back(std::max<int64_t>(covered - t.sizes[i], 0));
    rest.push_back(std::max<int64_t>(t.sizes[i] - covered, 0));
  }
  std::string result =
      writer.node("ConvTranspose", {std::move(grad), std::move(filter)},
                  {{"strides", t.strides},
                   {"dilations", t.dilations},
                   {"pads", joined(t.low, high)}});
  if (llvm::all_of(rest, [](int64_t size) { return size == 0; }))
    return result;
  // No window reads these elements.
  Shape before(rest.size() + 2, 0), after(2, 0);
  llvm::append_range(after, rest);
  return writer.node("Pad", {result, writer.ints(joined(before, after)),
                             writer.scalar(element, 0.0)});
}

LogicalResult writeConvInputGrad(OpWriter &writer, Operation *op) {
  auto conv = cast<ConvInputGradOp>(op);
  if (hasChannelsLast(conv))
    return failure();
  auto groups = static_cast<int64_t>(conv.getGroups());
  Transposed geometry{spatial(conv.getOutputGrad()), spatial(op->getResult(0)),
                      spatial(conv.getFilter()),     conv.getStrides(),
                      conv.getDilations(),           conv.getPadLow()};
  std::vector<std::string> parts;
  for (int64_t group = 0; group < groups; ++group)
    parts.push_back(transposedConvolution(
        writer, part(writer, conv.getOutputGrad(), 1, group, groups),
        part(writer, conv.getFilter(), 0, group, groups),
        tensorType(op->getResult(0)).getElementType(), geometry));
  writer.set(op->getResult(0), concatenated(writer, std::move(parts), 1));
  return success();
}

/// The gradient by a filter is a convolution with batch and channels exchanged,
/// the gradient as filter, and strides as dilations. Each group is one.
LogicalResult writeConvFilterGrad(OpWriter &writer, Operation *op) {
  auto conv = cast<ConvFilterGradOp>(op);
  if (hasChannelsLast(conv))
    return failure();
  ArrayRef<int64_t> kernel = spatial(op->getResult(0)),
                    sizes = spatial(conv.getInput()),
                    grads = spatial(conv.getOutputGrad());
  auto exchange = llvm::to_vector(llvm::seq<int64_t>(0, kernel.size() + 2));
  std::swap(exchange[0], exchange[1]);
  Shape high, limits;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t needed = (kernel[i] - 1) * conv.getDilations()[i] +
                     (grads[i] - 1) * conv.getStrides()[i] + 1;
    int64_t missing = needed - sizes[i] - conv.getPadLow()[i];
    high.push_back(std::max<int64_t>(missing, 0));
    // What no window reads would make the result larger.
    limits.push_back(sizes[i] + std::min<int64_t>(missing, 0));
  }
  auto groups = static_cast<int64_t>(conv.getGroups());
  auto exchanged = [&](Value value, int64_t group, Ints ends) {
    std::string name = part(writer, value, 1, group, groups);
    if (ends != spatial(value)) {
      Shape starts(ends.size() + 2, 0), steps(ends.size() + 2, 1), stops;
      constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
      stops.append({kEnd, kEnd});
      llvm::append_range(stops, ends);
      name = writer.sliced(name, starts, stops, steps);
    }
    return writer.permuted(name, exchange);
  };
  std::vector<std::string> parts;
  for (int64_t group = 0; group < groups; ++group) {
    std::string result =
        writer.node("Conv",
                    {exchanged(conv.getInput(), group, limits),
                     exchanged(conv.getOutputGrad(), group, grads)},
                    {{"strides", conv.getDilations()},
                     {"dilations", conv.getStrides()},
                     {"pads", joined(conv.getPadLow(), high)}});
    parts.push_back(writer.permuted(result, exchange));
  }
  writer.set(op->getResult(0), concatenated(writer, std::move(parts), 0));
  return success();
}

LogicalResult writeMaxPool(OpWriter &writer, Operation *op) {
  auto pool = cast<MaxPoolOp>(op);
  if (hasChannelsLast(pool))
    return failure();
  std::vector<std::string> results =
      writer.nodes("MaxPool", {writer.get(pool.getInput())}, 2,
                   {{"kernel_shape", pool.getKernel()},
                    {"strides", pool.getStrides()},
                    {"dilations", pool.getDilations()},
                    {"pads", joined(pool.getPadLow(), pool.getPadHigh())}});
  writer.set(pool.getResult(), results[0]);
  // ONNX counts positions over the whole tensor, Ingot within a plane.
  int64_t plane = llvm::product_of(spatial(pool.getInput()));
  Type i64 = IntegerType::get(op->getContext(), 64);
  std::string within = writer.node(
      "Mod", {results[1], writer.scalar(i64, static_cast<double>(plane))});
  writer.set(pool.getIndices(), within);
  return success();
}

LogicalResult writeMaxPoolGrad(OpWriter &writer, Operation *op) {
  auto pool = cast<MaxPoolGradOp>(op);
  if (hasChannelsLast(pool))
    return failure();
  RankedTensorType type = tensorType(op->getResult(0));
  ArrayRef<int64_t> shape = type.getShape();
  auto flat = [&](Value value) {
    return writer.reshaped(
        writer.get(value),
        {shape[0], shape[1], llvm::product_of(spatial(value))});
  };
  auto planes = RankedTensorType::get(
      {shape[0], shape[1], llvm::product_of(shape.drop_front(2))},
      type.getElementType());
  std::string sum =
      writer.node("ScatterElements",
                  {writer.filled(planes, 0.0), flat(pool.getIndices()),
                   flat(pool.getOutputGrad())},
                  {{"axis", 2}, {"reduction", std::string("add")}});
  writer.set(op->getResult(0), writer.reshaped(sum, shape));
  return success();
}

/// Returns the planes of a tensor as samples of one channel, which a filter of
/// ones sums.
std::string planes(OpWriter &writer, Value value) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Shape flat = {shape[0] * shape[1], 1};
  llvm::append_range(flat, shape.drop_front(2));
  return writer.reshaped(writer.get(value), flat);
}

std::string ones(OpWriter &writer, Type element, Ints kernel) {
  Shape shape = {1, 1};
  llvm::append_range(shape, kernel);
  return writer.filled(RankedTensorType::get(shape, element), 1.0);
}

LogicalResult writeSumPool(OpWriter &writer, Operation *op) {
  auto pool = cast<SumPoolOp>(op);
  if (hasChannelsLast(pool))
    return failure();
  RankedTensorType type = tensorType(op->getResult(0));
  std::string sums =
      writer.node("Conv",
                  {planes(writer, pool.getInput()),
                   ones(writer, type.getElementType(), pool.getKernel())},
                  {{"strides", pool.getStrides()},
                   {"dilations", pool.getDilations()},
                   {"pads", joined(pool.getPadLow(), pool.getPadHigh())}});
  writer.set(op->getResult(0), writer.reshaped(sums, type.getShape()));
  return success();
}

LogicalResult writeSumPoolGrad(OpWriter &writer, Operation *op) {
  auto pool = cast<SumPoolGradOp>(op);
  if (hasChannelsLast(pool))
    return failure();
  RankedTensorType type = tensorType(op->getResult(0));
  Transposed geometry{spatial(pool.getOutputGrad()),
                      spatial(op->getResult(0)),
                      pool.getKernel(),
                      pool.getStrides(),
                      pool.getDilations(),
                      pool.getPadLow()};
  std::string sums = transposedConvolution(
      writer, planes(writer, pool.getOutputGrad()),
      ones(writer, type.getElementType(), pool.getKernel()),
      type.getElementType(), geometry);
  writer.set(op->getResult(0), writer.reshaped(sums, type.getShape()));
  return success();
}

} // namespace

void onnx_export::registerWindowWriters(WriterRegistry &registry) {
  registry.add<ConvOp>(writeConv);
  registry.add<ConvInputGradOp>(writeConvInputGrad);
  registry.add<ConvFilterGradOp>(writeConvFilterGrad);
  registry.add<MaxPoolOp>(writeMaxPool);
  registry.add<MaxPoolGradOp>(writeMaxPoolGrad);
  registry.add<SumPoolOp>(writeSumPool);
  registry.add<SumPoolGradOp>(writeSumPoolGrad);
}
