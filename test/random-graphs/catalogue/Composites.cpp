// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "test/random-graphs/catalogue/Catalogue.h"

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

static Operation *buildSoftmaxDivergence(Source &s) {
  Shape shape = s.choose.shape();
  Value logits = s.real(shape), targets = s.real(shape);
  int64_t dim = s.choose.between(0, shape.size() - 1);
  RankedTensorType rows = dropDims(tensorType(logits), dim);
  return SoftmaxDivergenceOp::create(s.builder, s.loc(),
                                     TypeRange{rows, rows, rows}, logits,
                                     targets, dim, APFloat(2.0));
}

/// A constant of one integer.
static Value scalar(Source &s, int64_t value) {
  auto type = RankedTensorType::get({}, s.builder.getI64Type());
  return ConstantOp::create(s.builder, s.loc(), type,
                            DenseElementsAttr::get(type, value));
}

namespace {
/// Operands of an attention and its gradient.
struct AttentionParts {
  Value query, key, value, packed, bias, mask, lengths, seed, step;
  RankedTensorType output, lse;
  FloatAttr scale, softcap, ratio;
  IntegerAttr left, right, headCount, stream;

  /// `isPacked`: in one tensor.
  explicit AttentionParts(Source &s, bool isPacked = false) {
    OpBuilder &b = s.builder;
    int64_t batch = s.choose.between(1, 2), keyHeads = s.choose.between(1, 2);
    int64_t heads = keyHeads * s.choose.between(1, 2);
    int64_t queries = s.choose.between(1, 4), size = s.choose.between(1, 3);
    int64_t keys = isPacked ? queries : queries + s.choose.between(0, 2);
    int64_t valueSize = isPacked ? size : s.choose.between(1, 3);
    headCount = b.getI64IntegerAttr(keyHeads);
    if (isPacked) {
      packed = s.real({batch, queries, heads + 2 * keyHeads, size});
    } else {
      query = s.real({batch, queries, heads, size});
      key = s.real({batch, keys, keyHeads, size});
      value = s.real({batch, keys, keyHeads, valueSize});
    }
    auto repeats = [&](int64_t extent) {
      return s.choose.chance(0.5) ? int64_t(1) : extent;
    };
    auto pairs = [&] {
      return Shape{repeats(batch), repeats(heads), repeats(queries), keys};
    };
    if (s.choose.chance(0.4))
      bias = s.real(pairs());
    bool hasMask = s.choose.chance(0.4);
    if (hasMask) {
      // Every query may look at the first key: lse is finite.
      mask = s.boolean(pairs());
      auto type = withElement(tensorType(mask), b.getI64Type());
      Value first = CompareOp::create(b, s.loc(), mask.getType(), Predicate::EQ,
                                      IotaOp::create(b, s.loc(), type, 3),
                                      splat(b, s.loc(), type, 0));
      mask = OrOp::create(b, s.loc(), mask.getType(), mask, first);
    }
    bool hasLengths = s.choose.chance(0.3);
    if (hasLengths) {
      SmallVector<int32_t> counts;
      for (int64_t i = 0; i < batch; ++i)
        counts.push_back(static_cast<int32_t>(s.choose.between(1, keys)));
      auto type = RankedTensorType::get({batch}, b.getI32Type());
      lengths = ConstantOp::create(
          b, s.loc(), type, DenseElementsAttr::get(type, ArrayRef(counts)));
    }
    bool drops = s.choose.chance(0.3);
    if (drops) {
      seed = scalar(s, s.choose.between(0, 1000));
      step = scalar(s, s.choose.between(0, 1000));
    }
    ratio = b.getF64FloatAttr(drops ? s.choose.real(0, 0.6) : 0);
    stream = b.getI32IntegerAttr(drops ? s.choose.between(0, 10) : 0);
    bool hasLeft = !hasMask && !hasLengths && s.choose.chance(0.3);
    left = b.getI64IntegerAttr(hasLeft ? s.choose.between(0, 3) : -1);
    right =
        b.getI64IntegerAttr(s.choose.chance(0.4) ? s.choose.between(0, 2) : -1);
    scale = b.getF64FloatAttr(s.choose.real(0.2, 1));
    softcap = b.getF64FloatAttr(s.choose.chance(0.3) ? 1.5 : 0);
    output = s.realType({batch, queries, heads, valueSize});
    lse = s.realType({batch, heads, queries});
    auto element = cast<FloatType>(lse.getElementType());
    if (element.getWidth() < 32)
      lse = withElement(lse, b.getF32Type());
  }
};
} // namespace

static Operation *buildAttention(Source &s) {
  AttentionParts p(s);
  return AttentionOp::create(s.builder, s.loc(), TypeRange{p.output, p.lse},
                             p.query, p.key, p.value, p.bias, p.mask, p.lengths,
                             p.seed, p.step, p.scale, p.left, p.right,
                             p.softcap, p.ratio, p.stream);
}

static Operation *buildAttentionGrad(Source &s) {
  AttentionParts p(s);
  // The statistics of the forward pass, so that weights sum up to 1.
  auto forward = AttentionOp::create(
      s.builder, s.loc(), TypeRange{p.output, p.lse}, p.query, p.key, p.value,
      p.bias, p.mask, p.lengths, p.seed, p.step, p.scale, p.left, p.right,
      p.softcap, p.ratio, p.stream);
  Type types[] = {p.query.getType(), p.key.getType(), p.value.getType()};
  return AttentionGradOp::create(
      s.builder, s.loc(), types, p.query, p.key, p.value, forward.getResult(),
      forward.getLse(), s.real(p.output.getShape()), p.bias, p.mask, p.lengths,
      p.seed, p.step, p.scale, p.left, p.right, p.softcap, p.ratio, p.stream);
}

static PackedAttentionOp packedAttention(Source &s, const AttentionParts &p) {
  return PackedAttentionOp::create(
      s.builder, s.loc(), TypeRange{p.output, p.lse}, p.packed, p.bias, p.mask,
      p.lengths, p.seed, p.step, p.headCount, p.scale, p.left, p.right, p.ratio,
      p.stream);
}

static Operation *buildPackedAttention(Source &s) {
  return packedAttention(s, AttentionParts(s, /*isPacked=*/true));
}

static Operation *buildPackedAttentionGrad(Source &s) {
  AttentionParts p(s, /*isPacked=*/true);
  PackedAttentionOp forward = packedAttention(s, p);
  return PackedAttentionGradOp::create(
      s.builder, s.loc(), p.packed.getType(), p.packed, forward.getResult(),
      forward.getLse(), s.real(p.output.getShape()), p.bias, p.mask, p.lengths,
      p.seed, p.step, p.headCount, p.scale, p.left, p.right, p.ratio, p.stream);
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
  return DropoutOp::create(s.builder, s.loc(), x, seed, step,
                           APFloat(s.choose.real(0, 0.9)),
                           s.choose.between(0, 10));
}

static SmallVector<Value> chooseParts(Source &s) {
  SmallVector<Value> parts;
  for (int64_t i = 0, count = s.choose.between(1, 3); i < count; ++i)
    parts.push_back(s.real(s.choose.shape()));
  return parts;
}

/// Both ends of a bucket: only its parts are for other ops.
template <typename Start, typename Wait>
static Operation *exchange(Source &s, ValueRange parts) {
  auto start = Start::create(s.builder, s.loc(), parts);
  return Wait::create(s.builder, s.loc(), parts.getTypes(), start.getBucket());
}

static Operation *buildBucket(Source &s) {
  return exchange<AllReduceStartOp, AllReduceWaitOp>(s, chooseParts(s));
}

static Operation *scatter(Source &s) {
  return exchange<ReduceScatterStartOp, ReduceScatterWaitOp>(s, chooseParts(s));
}

/// Parts of which ranks have shards are whole again for other ops.
static Operation *buildShards(Source &s) {
  return exchange<AllGatherStartOp, AllGatherWaitOp>(s,
                                                     scatter(s)->getResults());
}

/// Compresses integers: with other values, an earlier rounding decides how this
/// op rounds.
static Operation *buildCompress(Source &s) {
  Shape shape = s.choose.shape();
  auto type = RankedTensorType::get(shape, s.builder.getI64Type());
  Value counted = castTo(s.builder, s.loc(),
                         IotaOp::create(s.builder, s.loc(), type,
                                        s.choose.between(0, shape.size() - 1)),
                         s.builder.getF32Type());
  bool keeps = s.choose.chance(0.5);
  int64_t kept = keeps ? s.choose.between(1, type.getNumElements()) : 0;
  return CompressOp::create(
      s.builder, s.loc(), counted.getType(), counted,
      keeps ? CompressionFormat::TopK : CompressionFormat::Int8, kept);
}

/// Exchanges among one rank: graphs run on one, and have no mesh.
static const std::vector<Axis> oneRank = {Axis::Pipeline, Axis::Inner,
                                          Axis::Context, Axis::Tensor};

static SmallVector<int64_t> chooseAxis(Source &s) {
  return {static_cast<int64_t>(s.choose.pick(oneRank))};
}

static Operation *buildAllReduce(Source &s) {
  return AllReduceOp::create(s.builder, s.loc(), ReductionKind::Sum,
                             s.real(s.choose.shape()), chooseAxis(s));
}
static Operation *buildAllGather(Source &s) {
  Value x = s.real(s.choose.shape());
  return AllGatherOp::create(s.builder, s.loc(), x.getType(), x,
                             s.choose.between(0, tensorType(x).getRank() - 1),
                             chooseAxis(s));
}
static Operation *buildReduceScatter(Source &s) {
  Value x = s.real(s.choose.shape());
  return ReduceScatterOp::create(
      s.builder, s.loc(), x.getType(), ReductionKind::Sum, x,
      s.choose.between(0, tensorType(x).getRank() - 1), chooseAxis(s));
}
static Operation *buildAllToAll(Source &s) {
  Value x = s.real(s.choose.shape());
  int64_t last = tensorType(x).getRank() - 1;
  return AllToAllOp::create(s.builder, s.loc(), x.getType(), x,
                            s.choose.between(0, last),
                            s.choose.between(0, last), chooseAxis(s));
}
static Operation *buildPermute(Source &s) {
  Value x = s.real(s.choose.shape());
  return PermuteOp::create(s.builder, s.loc(), x.getType(), x,
                           s.choose.between(-2, 2), chooseAxis(s));
}
static Operation *buildPart(Source &s) {
  Value x = s.real(s.choose.shape());
  return PartOp::create(s.builder, s.loc(), x.getType(), x,
                        s.choose.between(0, tensorType(x).getRank() - 1),
                        chooseAxis(s));
}

static Operation *buildShardSquareSum(Source &s) {
  Operation *wait = scatter(s);
  int64_t elements =
      tensorType(cast<ReduceScatterWaitOp>(wait).getBucket()).getNumElements();
  return ShardSquareSumOp::create(
      s.builder, s.loc(), RankedTensorType::get({}, s.builder.getF64Type()),
      wait->getResult(0), /*first=*/0, elements);
}

void ingot::testing::addComposites(std::vector<Entry> &entries) {
  addEntry<SoftmaxOp>(entries, buildSoftmaxLike<SoftmaxOp>);
  addEntry<LogSoftmaxOp>(entries, buildSoftmaxLike<LogSoftmaxOp>);
  addEntry<LayerNormOp>(entries, buildLayerNorm);
  addEntry<RmsNormOp>(entries, buildRmsNorm);
  addEntry<BatchNormOp>(entries, buildBatchNorm);
  addEntry<CrossEntropyOp>(entries, buildCrossEntropy);
  addEntry<SoftmaxDivergenceOp>(entries, buildSoftmaxDivergence);
  addEntry<AllReduceWaitOp, AllReduceStartOp>(entries, buildBucket);
  addEntry<AllGatherWaitOp, AllGatherStartOp, ReduceScatterWaitOp,
           ReduceScatterStartOp>(entries, buildShards);
  addEntry<CompressOp>(entries, buildCompress);
  addEntry<ShardSquareSumOp>(entries, buildShardSquareSum);
  addEntry<AttentionOp>(entries, buildAttention);
  addEntry<AttentionGradOp>(entries, buildAttentionGrad);
  addEntry<PackedAttentionOp>(entries, buildPackedAttention);
  addEntry<PackedAttentionGradOp>(entries, buildPackedAttentionGrad);
  addEntry<RandomUniformOp>(entries, buildRandomUniform);
  addEntry<DropoutOp>(entries, buildDropout);
  // Last: random graphs have none, see RandomGraph.cpp.
  addEntry<AllReduceOp>(entries, buildAllReduce);
  addEntry<AllGatherOp>(entries, buildAllGather);
  addEntry<ReduceScatterOp>(entries, buildReduceScatter);
  addEntry<AllToAllOp>(entries, buildAllToAll);
  addEntry<PermuteOp>(entries, buildPermute);
  addEntry<PartOp>(entries, buildPart);
}
