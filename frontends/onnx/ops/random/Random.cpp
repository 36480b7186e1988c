// SPDX-License-Identifier: Apache-2.0

// Random numbers: functions of the trainer's seed and step, which differ from
// what other implementations draw. The attribute `seed` has no effect.

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Returns uniform numbers in [0, 1), in f32 unless the type is f64.
Value uniform(Node &node, ArrayRef<int64_t> shape, Type element) {
  Type computed = element.isF64() ? element : Type(node.b.getF32Type());
  return RandomUniformOp::create(
      node.b, node.loc, RankedTensorType::get(shape, computed),
      node.graph.seed(), node.graph.step(), node.graph.newStream());
}

/// Returns numbers of the standard normal distribution (Box and Muller, 1958).
Value normal(Node &node, ArrayRef<int64_t> shape, Type element) {
  Arithmetic a(node.b, node.loc);
  // 1 - u is never 0.
  Value radius =
      a.sqrt(a.mul(a.log(a.sub(1.0, uniform(node, shape, element))), -2.0));
  Value angle = a.mul(uniform(node, shape, element), 2.0 * llvm::numbers::pi);
  return a.mul(radius, a.cos(angle));
}

/// Returns the element type of the attribute `dtype`, or `otherwise`.
FailureOr<Type> readElement(Node &node, Type otherwise) {
  if (!node.hasAttr("dtype"))
    return otherwise;
  auto dtype = static_cast<int32_t>(node.intAttr("dtype", 0));
  Type element = elementType(node.b.getContext(), dtype);
  if (!element)
    return node.unsupported("element type " + dataTypeName(dtype));
  return element;
}

/// Sets the result to a distribution: `first` and `second` are its parameters.
LogicalResult draw(Node &node, ArrayRef<int64_t> shape, Type element,
                   bool isNormal) {
  if (!isa<FloatType>(element))
    return node.malformed("random numbers that are not floating-point");
  node.sayUnusedSeed();
  Arithmetic a(node.b, node.loc);
  Value value;
  if (isNormal) {
    value =
        a.add(a.mul(normal(node, shape, element), node.floatAttr("scale", 1.0)),
              node.floatAttr("mean", 0.0));
  } else {
    double low = node.floatAttr("low", 0.0), high = node.floatAttr("high", 1.0);
    value = a.add(a.mul(uniform(node, shape, element), high - low), low);
  }
  return node.result(node.cast(value, element));
}

template <bool isNormal> LogicalResult importRandom(Node &node) {
  FailureOr<Type> element = readElement(node, node.b.getF32Type());
  std::optional<Shape> shape = node.intsAttr("shape");
  if (failed(element))
    return failure();
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return node.malformed("no shape");
  return draw(node, *shape, *element, isNormal);
}

template <bool isNormal> LogicalResult importRandomLike(Node &node) {
  FailureOr<Type> element = readElement(node, node.type(0).getElementType());
  if (failed(element))
    return failure();
  return draw(node, node.shape(0), *element, isNormal);
}

/// Draws 1 with the probability that the input gives. No gradient passes.
LogicalResult importBernoulli(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Type> element = readElement(node, node.type(0).getElementType());
  if (failed(element))
    return failure();
  node.sayUnusedSeed();
  Value drawn = uniform(node, node.shape(0), node.type(0).getElementType());
  Value probability = node.cast(node.in(0), tensorType(drawn).getElementType());
  return node.result(
      node.cast(node.compare(Predicate::LT, drawn, probability), *element));
}

/// Draws classes from rows of logarithms of probabilities: the largest one
/// after adding noise of Gumbel's distribution.
LogicalResult importMultinomial(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Type> element = readElement(node, node.b.getI32Type());
  int64_t count = node.intAttr("sample_size", 1);
  if (failed(element))
    return failure();
  if (node.rank(0) != 2 || count < 1 || node.shape(0)[1] < 1)
    return node.malformed("shape or sample_size");
  Arithmetic a(node.b, node.loc);
  Shape shape = {node.shape(0)[0], count, node.shape(0)[1]};
  node.sayUnusedSeed();
  Value drawn = uniform(node, shape, node.type(0).getElementType());
  // The inner logarithm may be 0.
  Value inner = a.max(a.neg(a.log(a.sub(1.0, drawn))), 1e-30);
  Value noise = a.neg(a.log(inner));
  Value logits = a.broadcastOver(
      node.cast(node.in(0), tensorType(drawn).getElementType()), shape, {1});
  Value index = ArgMaxOp::create(
      node.b, node.loc,
      RankedTensorType::get({shape[0], count}, node.b.getI64Type()),
      a.add(logits, noise), 2);
  return node.result(node.cast(index, *element));
}

} // namespace

void onnx_import::registerRandom(Registry &registry) {
  registry.add("RandomUniform", importRandom<false>);
  registry.add("RandomNormal", importRandom<true>);
  registry.add("RandomUniformLike", importRandomLike<false>);
  registry.add("RandomNormalLike", importRandomLike<true>);
  registry.add("Bernoulli", importBernoulli);
  registry.add("Multinomial", importMultinomial);
}
