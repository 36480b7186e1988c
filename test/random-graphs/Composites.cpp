#include "test/random-graphs/Catalogue.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

template <typename OpT> static Operation *buildSoftmaxLike(Source &s) {
  Shape shape = s.choose.shape();
  Value x = s.real(shape);
  return OpT::create(s.builder, s.loc(), x.getType(), x,
                     s.choose.between(0, shape.size() - 1));
}

static Operation *buildLayerNorm(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  ArrayRef<int64_t> sizes = shape;
  Value x = s.real(shape), scale = s.real(sizes.drop_front(dim));
  Value bias = s.choose.chance(0.5) ? s.real(sizes.drop_front(dim)) : Value();
  RankedTensorType statistics = s.realType(sizes.take_front(dim));
  return LayerNormOp::create(s.builder, s.loc(), x.getType(), statistics,
                             statistics, x, scale, bias, dim, APFloat(0.1));
}

static Operation *buildRmsNorm(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  ArrayRef<int64_t> sizes = shape;
  Value x = s.real(shape), scale = s.real(sizes.drop_front(dim));
  return RmsNormOp::create(s.builder, s.loc(), x.getType(),
                           s.realType(sizes.take_front(dim)), x, scale, dim,
                           APFloat(0.1));
}

static Operation *buildBatchNorm(Source &s) {
  Shape shape = s.choose.shape(s.choose.between(2, 4), 3);
  // The unbiased variance wants two elements per channel.
  shape[0] = s.choose.between(2, 4);
  RankedTensorType channels = s.realType({shape[1]});
  auto perChannel = [&](Domain domain) {
    return s.real(channels.getShape(), domain);
  };
  Value x = s.real(shape);
  Value scale = perChannel(Domain::Any), bias = perChannel(Domain::Any);
  Value mean = perChannel(Domain::Any), variance = perChannel(Domain::Positive);
  bool unbiased = s.choose.chance(0.5);
  return BatchNormOp::create(s.builder, s.loc(), x.getType(), channels,
                             channels, channels, channels, x, scale, bias, mean,
                             variance, APFloat(0.1), APFloat(0.75), unbiased);
}

static Operation *buildCrossEntropy(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Value logits = s.real(shape);
  RankedTensorType rows = dropDims(tensorType(logits), dim);
  // Labels are in range by construction: the classes of random logits. Some
  // are ignored.
  Value labels = ArgMaxOp::create(s.builder, s.loc(),
                                  withElement(rows, s.builder.getI64Type()),
                                  s.real(shape), dim);
  int64_t ignored = s.choose.chance(0.5) ? -100 : 0;
  return CrossEntropyOp::create(s.builder, s.loc(), rows, rows, logits, labels,
                                dim, ignored);
}

/// A constant of one integer.
static Value scalar(Source &s, int64_t value) {
  auto type = RankedTensorType::get({}, s.builder.getI64Type());
  return ConstantOp::create(s.builder, s.loc(), type,
                            DenseElementsAttr::get(type, value));
}

static Operation *buildRandomUniform(Source &s) {
  Value seed = scalar(s, s.choose.between(0, 1000));
  Value step = scalar(s, s.choose.between(0, 1000));
  return RandomUniformOp::create(s.builder, s.loc(),
                                 s.realType(s.choose.shape()), seed, step,
                                 s.choose.between(0, 10));
}

static Operation *buildDropout(Source &s) {
  Value x = s.real(s.choose.shape());
  Value seed = scalar(s, s.choose.between(0, 1000));
  Value step = scalar(s, s.choose.between(0, 1000));
  return DropoutOp::create(s.builder, s.loc(), x.getType(),
                           withElement(tensorType(x), s.builder.getI1Type()), x,
                           seed, step, APFloat(s.choose.real(0, 0.9)),
                           s.choose.between(0, 10));
}

void ingot::testing::addComposites(std::vector<Entry> &entries) {
  addEntry<SoftmaxOp>(entries, buildSoftmaxLike<SoftmaxOp>);
  addEntry<LogSoftmaxOp>(entries, buildSoftmaxLike<LogSoftmaxOp>);
  addEntry<LayerNormOp>(entries, buildLayerNorm);
  addEntry<RmsNormOp>(entries, buildRmsNorm);
  addEntry<BatchNormOp>(entries, buildBatchNorm);
  addEntry<CrossEntropyOp>(entries, buildCrossEntropy);
  addEntry<RandomUniformOp>(entries, buildRandomUniform);
  addEntry<DropoutOp>(entries, buildDropout);
}
