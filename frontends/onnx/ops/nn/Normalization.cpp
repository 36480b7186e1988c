// SPDX-License-Identifier: Apache-2.0

// Normalizations, softmax and dropout.

#include "frontends/onnx/ops/nn/Normalization.h"
#include "dialects/ingot/support/Remarks.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Fails unless these inputs have one value for each channel, which are in
/// dimension 1, or for each of the given number of groups of channels.
static LogicalResult checkPerChannel(Node &node, size_t first, size_t last,
                                     int64_t count = -1) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) < 2)
    return node.malformed("no channels in an input of rank " +
                          Twine(node.rank(0)));
  const char *what = count < 0 ? " channels" : " groups";
  count = count < 0 ? node.shape(0)[1] : count;
  for (size_t i = first; i <= last; ++i)
    if (!node.has(i) || node.rank(i) != 1 || node.shape(i)[0] != count)
      return node.malformed("input " + Twine(i) +
                            " is not one value for each of " + Twine(count) +
                            what);
  return success();
}

/// Computes value * scale + bias, both broadcast along the channels.
static Value perChannelLine(Node &node, Value value, Value scale, Value bias) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Value scaled = node.binary<MulOp>(value, node.alongDim(scale, shape, 1));
  return node.binary<AddOp>(scaled, node.alongDim(bias, shape, 1));
}

/// Computes (x - mean) / sqrt(variance + epsilon) * scale + bias with given
/// statistics.
static Value batchNormInference(Node &node, Value x, Value scale, Value bias,
                                Value mean, Value variance, double epsilon) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  Value rstd = node.unary<RsqrtOp>(node.binary<AddOp>(variance, epsilon));
  Value centred = node.binary<SubOp>(x, node.alongDim(mean, shape, 1));
  Value normal = node.binary<MulOp>(centred, node.alongDim(rstd, shape, 1));
  return perChannelLine(node, normal, scale, bias);
}

/// Says what training does to a batch norm in another way than the file says:
/// its mode, and running statistics that stay as they are.
static void sayBatchNorm(Node &node, StringRef mean, double momentum) {
  // Before opset 14, the outputs tell the mode.
  bool trains = node.opset < 14 ? node.wants(3) || node.wants(4)
                                : node.intAttr("training_mode", 0) != 0;
  if (!trains)
    node.sayOverride(
        "batch normalization of inference mode is trained with the statistics "
        "of each batch",
        ("--freeze REGEX, of statistics such as " + mean +
         ", keeps those of the file")
            .str());
  if (momentum == 1.0)
    node.sayOverride(
        "momentum 1 leaves the running statistics as they are, which "
        "evaluation and the trained model use",
        "PyTorch's momentum=None and momentum=0 are exported so: set the "
        "layer's momentum, such as 0.1, before exporting",
        /*isWarning=*/true);
  else if (momentum == 0.0)
    node.sayOverride("momentum 0 makes the running statistics those of the "
                     "last batch, which evaluation and the trained model use",
                     "export with a momentum such as PyTorch's 0.1",
                     /*isWarning=*/true);
}

/// Imports BatchNormalization in the training form, whatever the export's mode,
/// which exporters lose. Statistics that are frozen, or that are neither states
/// nor of a node in training mode, are used as given.
static LogicalResult importBatchNormalization(Node &node) {
  if (failed(checkPerChannel(node, 1, 4)))
    return failure();
  if (node.opset < 9 && node.intAttr("spatial", 1) == 0)
    return node.unsupported("spatial 0");
  Type element = node.type(0).getElementType();
  double epsilon = node.epsilon(), momentum = node.floatAttr("momentum", 0.9);
  std::optional<StringRef> meanState = node.graph.stateOf(node.in(3));
  std::optional<StringRef> varianceState = node.graph.stateOf(node.in(4));
  bool updates = meanState && varianceState &&
                 node.graph.isUpdated(*meanState) &&
                 node.graph.isUpdated(*varianceState);
  bool trains = node.intAttr("training_mode", 0);
  bool computes = !meanState && trains;
  // Gradients that the graph holds are those of its own mode.
  if (node.graph.holdsBackwardPass())
    updates = updates && trains;
  // The op computes in one element type; operands of other types are converted.
  Type wide = node.type(1).getElementType();
  Value x = node.cast(node.in(0), wide);
  Value scale = node.in(1), bias = node.cast(node.in(2), wide);
  Value mean = updates ? node.graph.currentValue(*meanState) : node.in(3);
  Value variance =
      updates ? node.graph.currentValue(*varianceState) : node.in(4);
  Type meanElement = tensorType(mean).getElementType();
  Type varianceElement = tensorType(variance).getElementType();
  mean = node.cast(mean, wide);
  variance = node.cast(variance, wide);
  if (!updates && !computes) {
    Value result =
        batchNormInference(node, x, scale, bias, mean, variance, epsilon);
    node.set(0, node.cast(result, element));
    node.set(1, node.in(3));
    node.set(2, node.in(4));
    return success();
  }
  auto perChannel = tensorType(scale);
  auto op = BatchNormOp::create(
      node.b, node.loc,
      TypeRange{x.getType(), perChannel, perChannel, perChannel, perChannel}, x,
      scale, bias, mean, variance, llvm::APFloat(epsilon),
      llvm::APFloat(momentum), node.graph.isFromTorch());
  Value newMean = node.cast(op.getNewMean(), meanElement);
  Value newVariance = node.cast(op.getNewVariance(), varianceElement);
  if (updates) {
    sayBatchNorm(node, *meanState, momentum);
    node.graph.update(*meanState, newMean);
    node.graph.update(*varianceState, newVariance);
  }
  node.set(0, node.cast(op.getResult(), element));
  node.set(1, newMean);
  node.set(2, newVariance);
  // ONNX Runtime's operator returns the batch's statistics too.
  node.set(3, op.getMean());
  node.set(4, op.getRstd());
  return success();
}

Shape NormalizedDims::kept() const {
  Shape shape(outer);
  shape.append(inner.size(), 1);
  return shape;
}

FailureOr<NormalizedDims> onnx_import::normalizedDims(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", -1), node.rank(0));
  if (failed(dim))
    return failure();
  return NormalizedDims{*dim, Shape(node.shape(0).take_front(*dim)),
                        Shape(node.shape(0).drop_front(*dim))};
}

/// Returns the scale or bias of the normalized dimensions, broadcast to them.
static FailureOr<Value> overDims(Node &node, size_t i, ArrayRef<int64_t> dims,
                                 Type element) {
  ArrayRef<int64_t> shape = node.shape(i);
  bool fits = shape.size() <= dims.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] == 1 || shape[d] == dims[dims.size() - shape.size() + d];
  if (!fits)
    return node.unsupported("input " + Twine(i) + " of shape " +
                            shapeText(shape) + " for dimensions " +
                            shapeText(dims));
  return node.broadcast(node.cast(node.in(i), element), dims);
}

static LogicalResult importLayerNormalization(Node &node) {
  FailureOr<NormalizedDims> dims = normalizedDims(node);
  if (failed(dims))
    return failure();
  Type element = node.type(0).getElementType();
  FailureOr<Value> scale = overDims(node, 1, dims->inner, element);
  if (failed(scale))
    return failure();
  Value bias;
  if (node.has(2)) {
    FailureOr<Value> given = overDims(node, 2, dims->inner, element);
    if (failed(given))
      return failure();
    bias = *given;
  }
  auto statistic = RankedTensorType::get(dims->outer, element);
  auto op = LayerNormOp::create(
      node.b, node.loc, TypeRange{node.type(0), statistic, statistic},
      node.in(0), *scale, bias, dims->first, llvm::APFloat(node.epsilon()));
  node.set(0, op.getResult());
  node.set(1, node.reshape(op.getMean(), dims->kept()));
  node.set(2, node.reshape(op.getRstd(), dims->kept()));
  return success();
}

static LogicalResult importRMSNormalization(Node &node) {
  FailureOr<NormalizedDims> dims = normalizedDims(node);
  if (failed(dims))
    return failure();
  Type element = node.type(0).getElementType();
  FailureOr<Value> scale = overDims(node, 1, dims->inner, element);
  if (failed(scale))
    return failure();
  auto statistic = RankedTensorType::get(dims->outer, element);
  auto op = RmsNormOp::create(
      node.b, node.loc, TypeRange{node.type(0), statistic}, node.in(0), *scale,
      dims->first, llvm::APFloat(node.epsilon()));
  return node.result(op.getResult());
}

/// Normalizes the last dimension of `rows` to zero mean and unit variance.
static Value standardize(Node &node, Value rows, double epsilon) {
  RankedTensorType type = tensorType(rows);
  int64_t last = type.getRank() - 1;
  Value one = splat(
      node.b, node.loc,
      RankedTensorType::get({type.getDimSize(last)}, type.getElementType()),
      1.0);
  RankedTensorType statistic = dropDims(type, {last});
  return LayerNormOp::create(node.b, node.loc,
                             TypeRange{type, statistic, statistic}, rows, one,
                             Value(), last, llvm::APFloat(epsilon))
      .getResult();
}

static LogicalResult importInstanceNormalization(Node &node) {
  if (failed(checkPerChannel(node, 1, 2)))
    return failure();
  ArrayRef<int64_t> shape = node.shape(0);
  Value rows = node.reshape(node.in(0),
                            {shape[0], shape[1], product(shape.drop_front(2))});
  Value normal = node.reshape(standardize(node, rows, node.epsilon()), shape);
  return node.result(perChannelLine(node, normal, node.in(1), node.in(2)));
}

/// Scale and bias have one value for each group up to opset 20, and for each
/// channel since.
static LogicalResult importGroupNormalization(Node &node) {
  int64_t groups = node.intAttr("num_groups", 0);
  bool isOfGroups = node.opset < 21;
  if (failed(checkPerChannel(node, 1, 2, isOfGroups ? groups : -1)))
    return failure();
  ArrayRef<int64_t> shape = node.shape(0);
  if (groups < 1 || shape[1] % groups)
    return node.malformed(Twine(groups) + " groups for shape " +
                          shapeText(shape));
  Value rows = node.reshape(
      node.in(0),
      {shape[0], groups, shape[1] / groups * product(shape.drop_front(2))});
  Value normal = standardize(node, rows, node.epsilon());
  if (isOfGroups)
    return node.result(node.reshape(
        perChannelLine(node, normal, node.in(1), node.in(2)), shape));
  return node.result(perChannelLine(node, node.reshape(normal, shape),
                                    node.in(1), node.in(2)));
}

/// Imports MeanVarianceNormalization: zero mean and unit variance over all
/// dimensions but those of channels, or before opset 9, of samples at least.
static LogicalResult importMeanVarianceNormalization(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Shape axes = node.intsAttr("axes").value_or(Shape{0, 2, 3});
  bool scales = true;
  if (node.opset < 9) {
    axes =
        node.intAttr("across_channels", 0) ? Shape{0, 1, 2, 3} : Shape{0, 2, 3};
    scales = node.intAttr("normalize_variance", 1);
  }
  FailureOr<Shape> dims = node.normalizeAxes(axes, node.rank(0));
  if (failed(dims))
    return failure();
  Value x = node.in(0);
  double count = 1;
  for (int64_t dim : *dims)
    count *= static_cast<double>(node.shape(0)[dim]);
  auto mean = [&](Value value) {
    Value sum = node.reduce(ReductionKind::Sum, value, *dims, /*keep=*/true);
    return node.binary<DivOp>(sum, count);
  };
  x = node.binary<SubOp>(x, node.broadcast(mean(x), node.shape(0)));
  if (!scales)
    return node.result(x);
  Value deviation = node.root(mean(node.binary<MulOp>(x, x)), 2);
  Value divisor = node.binary<AddOp>(deviation, 1e-9);
  return node.result(
      node.binary<DivOp>(x, node.broadcast(divisor, node.shape(0))));
}

/// Softmax is along one axis since opset 13; before, over all dimensions from
/// the axis on.
template <typename OpT> static LogicalResult importSoftmax(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  bool flattens = node.opset < 13;
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", flattens ? 1 : -1), node.rank(0));
  if (failed(dim))
    return failure();
  ArrayRef<int64_t> shape = node.shape(0);
  if (!flattens || *dim + 1 == node.rank(0))
    return node.result(
        OpT::create(node.b, node.loc, node.type(0), node.in(0), *dim));
  Value rows = node.reshape(node.in(0), {product(shape.take_front(*dim)),
                                         product(shape.drop_front(*dim))});
  return node.result(node.reshape(
      OpT::create(node.b, node.loc, rows.getType(), rows, 1), shape));
}

/// Imports Hardmax: 1 at the first largest element along the axis, 0 elsewhere.
static LogicalResult importHardmax(Node &node) {
  bool flattens = node.opset < 13;
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.intAttr("axis", flattens ? 1 : -1), node.rank(0));
  if (failed(axis))
    return failure();
  Value x = node.in(0);
  int64_t dim = *axis;
  if (flattens) {
    x = node.reshape(x, {product(node.shape(0).take_front(dim)),
                         product(node.shape(0).drop_front(dim))});
    dim = 1;
  }
  RankedTensorType type = ingot::tensorType(x);
  Type i64 = node.b.getI64Type();
  Value largest = ArgMaxOp::create(
      node.b, node.loc, withElement(dropDims(type, {dim}), i64), x, dim);
  Value hot = node.compare(
      Predicate::EQ, node.iota(type.getShape(), i64, dim),
      broadcastOver(node.b, node.loc, largest, type.getShape(), {dim}));
  return node.result(
      node.reshape(node.cast(hot, type.getElementType()), node.shape(0)));
}

/// Imports LpNormalization: x divided by its norm along the axis; 0 where the
/// norm is 0.
static LogicalResult importLpNormalization(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", -1), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t p = node.intAttr("p", 2);
  if (p != 1 && p != 2)
    return node.malformed("p is " + Twine(p));
  Value x = node.in(0);
  Value terms = p == 1 ? node.unary<AbsOp>(x) : node.binary<MulOp>(x, x);
  Value sum = node.reduce(ReductionKind::Sum, terms, {*dim}, /*keep=*/true);
  Value isZero = node.compare(Predicate::EQ, sum, 0.0);
  Value safe = node.select(isZero, node.splatOf(sum, 1.0), sum);
  Value norm = p == 1 ? safe : node.unary<SqrtOp>(safe);
  return node.result(
      node.binary<DivOp>(x, node.broadcast(norm, node.shape(0))));
}

/// Imports LRN: x / (bias + alpha / size * sum of x^2 over neighbouring
/// channels) ^ beta.
static LogicalResult importLRN(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  ArrayRef<int64_t> shape = node.shape(0);
  int64_t size = node.intAttr("size", 0);
  if (shape.size() < 2 || size < 1)
    return node.malformed("size " + Twine(size) + " for shape " +
                          shapeText(shape));
  Value x = node.in(0);
  // With the channels as a spatial dimension, the sum is a pool.
  Value planes =
      node.reshape(node.binary<MulOp>(x, x),
                   {shape[0], 1, shape[1], product(shape.drop_front(2))});
  Shape ones = {1, 1}, low = {(size - 1) / 2, 0}, high = {size / 2, 0};
  Value sum = SumPoolOp::create(node.b, node.loc, planes.getType(), planes,
                                Shape{size, 1}, ones, ones, low, high);
  Value scaled =
      node.binary<AddOp>(node.binary<MulOp>(sum, node.floatAttr("alpha", 1e-4) /
                                                     static_cast<double>(size)),
                         node.floatAttr("bias", 1.0));
  Value power = node.binary<PowOp>(scaled, node.floatAttr("beta", 0.75));
  return node.result(node.binary<DivOp>(x, node.reshape(power, shape)));
}

FailureOr<DropoutMode> onnx_import::dropoutMode(Node &node, size_t ratioInput,
                                                bool trains) {
  DropoutMode mode;
  mode.trains = trains;
  if (node.has(ratioInput)) {
    FailureOr<double> given = node.constantScalar(ratioInput, "the ratio");
    if (failed(given))
      return failure();
    mode.ratio = *given;
  }
  if (node.has(ratioInput + 1)) {
    FailureOr<double> given =
        node.constantScalar(ratioInput + 1, "training_mode");
    if (failed(given))
      return failure();
    mode.trains = *given != 0.0;
  }
  return mode;
}

/// Imports Dropout, which is active in training: always before opset 12, which
/// has no mode, and if `training_mode` is true since.
static LogicalResult importDropout(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  DropoutMode mode;
  if (node.opset < 12) {
    mode = {node.floatAttr("ratio", 0.5), true};
  } else {
    FailureOr<DropoutMode> read =
        dropoutMode(node, /*ratioInput=*/1, /*trains=*/false);
    if (failed(read))
      return failure();
    mode = *read;
  }
  auto [ratio, trains] = mode;
  if (!(ratio >= 0.0 && ratio < 1.0))
    return node.malformed("the ratio is not in [0, 1)");
  RankedTensorType mask = withElement(node.type(0), node.b.getI1Type());
  if (!trains) {
    remark::missed(node.loc, remarkOptions("import-onnx", "Dropout"))
        << remark::reason("the model was exported in evaluation mode");
    if (ratio > 0.0)
      node.sayOverride("dropout is off in the file, and in training",
                       "export with the dropout modules in training mode, as "
                       "ingot_torch.export does");
  }
  if (!trains || ratio == 0.0) {
    node.set(0, node.in(0));
    if (node.wants(1))
      node.set(1, splat(node.b, node.loc, mask, 1.0));
    return success();
  }
  node.sayUnusedSeed();
  auto op = DropoutOp::create(node.b, node.loc, node.in(0), node.graph.seed(),
                              node.graph.step(), llvm::APFloat(ratio),
                              node.graph.newStream());
  node.set(0, op.getResult());
  node.set(1, op.getMask());
  return success();
}

void onnx_import::registerNormalization(Registry &registry) {
  registry.add("BatchNormalization", importBatchNormalization);
  registry.add("com.microsoft::BatchNormInternal", importBatchNormalization);
  registry.add("LayerNormalization", importLayerNormalization);
  registry.add("com.microsoft::LayerNormalization", importLayerNormalization);
  registry.add("RMSNormalization", importRMSNormalization);
  registry.add("InstanceNormalization", importInstanceNormalization);
  registry.add("GroupNormalization", importGroupNormalization);
  registry.add("MeanVarianceNormalization", importMeanVarianceNormalization);
  registry.add("Softmax", importSoftmax<SoftmaxOp>);
  registry.add("LogSoftmax", importSoftmax<LogSoftmaxOp>);
  registry.add("Hardmax", importHardmax);
  registry.add("LpNormalization", importLpNormalization);
  registry.add("LRN", importLRN);
  registry.add("Dropout", importDropout);
}
