// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/Node.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/ModulePath.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

std::string onnx_import::shapeText(ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(
             llvm::map_range(shape,
                             [](int64_t size) { return std::to_string(size); }),
             ", ") +
         "]";
}

StringRef onnx_import::canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

std::string onnx_import::nodeName(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  std::string text = node.op_type();
  for (const std::string &output : node.output())
    if (!output.empty())
      return text + "(" + output + ")";
  return text;
}

/// Returns the path of the module that a node belongs to, from the metadata of
/// PyTorch's exporter, such as `['', 'blocks.0', 'blocks.0.up', 'linear']`:
/// paths from the outermost on, and a name of the call.
static StringRef findModule(const onnx::NodeProto &node) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props()) {
    if (entry.key() != "pkg.torch.onnx.name_scopes")
      continue;
    SmallVector<StringRef> quoted;
    StringRef(entry.value()).split(quoted, '\'');
    // Paths are at odd positions, between text outside of quotes.
    return quoted.size() >= 5 ? quoted[quoted.size() - 4] : StringRef();
  }
  return "";
}

Location onnx_import::nodeLocation(MLIRContext *context,
                                   const onnx::NodeProto &node) {
  return makeNodeLocation(context, nodeName(node), findModule(node));
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

LogicalResult Node::fail(const Twine &what, const Twine &hint) const {
  return emitUserError(loc, what, hint);
}

LogicalResult Node::unsupported(const Twine &what) const {
  return fail(opType() + ": " + what + " is not supported",
              "see docs/onnx.md for what is imported, and export the model "
              "without it");
}

LogicalResult Node::malformed(const Twine &what) const {
  return fail(opType() + ": " + what,
              "the model contradicts itself; export it again");
}

LogicalResult Node::notConstant(StringRef what) const {
  return fail(opType() + ": " + what + " is not known at compile time",
              "shapes must follow from the model and the bound dimensions: "
              "bind the input with --value NAME=V, or export the model with " +
                  what + " fixed");
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> Node::allInputs() const {
  SmallVector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!in(i))
      return malformed("input " + Twine(i) + " is missing");
    values.push_back(in(i));
  }
  return values;
}

/// An upper bound of the number of integers of any shape, list of axes or
/// sizes.
static constexpr int64_t kMaxInts = 1 << 20;

FailureOr<Shape> Node::constantInts(size_t i, StringRef what) const {
  DenseElementsAttr attr;
  if (!matchPattern(in(i), m_Constant(&attr)))
    return notConstant(what);
  if (!attr.getElementType().isInteger())
    return malformed(what + " are not integers");
  // A splat may be of any size.
  if (attr.getNumElements() > kMaxInts)
    return malformed("too many " + what + ": " + Twine(attr.getNumElements()) +
                     " integers");
  Shape values;
  bool isUnsigned = attr.getElementType().isUnsignedInteger();
  for (const APInt &value : attr.getValues<APInt>())
    values.push_back(isUnsigned ? static_cast<int64_t>(value.getZExtValue())
                                : value.getSExtValue());
  return values;
}

FailureOr<double> Node::constantScalar(size_t i, StringRef what) const {
  DenseElementsAttr attr;
  if (!matchPattern(in(i), m_Constant(&attr)))
    return notConstant(what);
  if (attr.getNumElements() != 1)
    return malformed(what + " has " + Twine(attr.getNumElements()) +
                     " elements instead of one");
  if (isa<FloatType>(attr.getElementType()))
    return (*attr.getValues<APFloat>().begin()).convertToDouble();
  APInt value = *attr.getValues<APInt>().begin();
  bool isSigned =
      !attr.getElementType().isUnsignedInteger() && value.getBitWidth() > 1;
  return isSigned ? static_cast<double>(value.getSExtValue())
                  : static_cast<double>(value.getZExtValue());
}

FailureOr<int64_t> Node::normalizeAxis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return malformed("axis " + Twine(axis) + " of a tensor of rank " +
                     Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<Shape> Node::normalizeAxes(ArrayRef<int64_t> axes,
                                     int64_t rank) const {
  Shape dims;
  for (int64_t axis : axes) {
    FailureOr<int64_t> dim = normalizeAxis(axis, rank);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
  }
  llvm::sort(dims);
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    return malformed("axes " + shapeText(axes) + " name a dimension twice");
  return dims;
}

double Node::epsilon(double otherwise) const {
  double epsilon = floatAttr("epsilon", otherwise);
  if (epsilon == 0.0)
    sayOverride(
        "epsilon is 0, so that elements that are all equal give results "
        "and gradients that are not finite",
        "export with the epsilon of the framework, such as 1e-5");
  return epsilon;
}

void Node::sayUnusedSeed() const {
  if (hasAttr("seed"))
    sayOverride("the attribute seed is not used: numbers follow from the "
                "trainer's seed",
                "give it with the trainer's --seed");
}

LogicalResult Node::requireFloat(size_t i) const {
  if (isa<FloatType>(type(i).getElementType()))
    return success();
  std::string text;
  llvm::raw_string_ostream(text) << type(i).getElementType();
  return unsupported("element type " + text);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const onnx::AttributeProto *Node::find(StringRef name) const {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t Node::intAttr(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

/// Returns the shortest decimal that reads as this float: 0.9 rather than
/// 0.899999976. Exporters round doubles to the floats of attributes.
static double decimal(float value) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

double Node::floatAttr(StringRef name, double otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? decimal(attribute->f()) : otherwise;
}

std::string Node::stringAttr(StringRef name, StringRef otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<Shape> Node::intsAttr(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Shape(attribute->ints().begin(), attribute->ints().end());
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value Node::compare(Predicate predicate, Value lhs, Value rhs) {
  return CompareOp::create(b, loc, withElement(tensorType(lhs), b.getI1Type()),
                           predicate, lhs, rhs);
}

Value Node::select(Value condition, Value onTrue, Value onFalse) {
  return SelectOp::create(b, loc, onTrue.getType(), condition, onTrue, onFalse);
}

Value Node::root(Value value, int64_t p) {
  if (p == 1)
    return value;
  Value isZero = compare(Predicate::EQ, value, 0.0);
  Value safe = select(isZero, splatOf(value, 1.0), value);
  Value root = p == 2 ? unary<SqrtOp>(safe)
                      : binary<PowOp>(safe, 1.0 / static_cast<double>(p));
  return select(isZero, splatOf(value, 0.0), root);
}

Value Node::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  Shape shape;
  for (int64_t from : permutation)
    shape.push_back(tensorType(value).getDimSize(from));
  return TransposeOp::create(
      b, loc, RankedTensorType::get(shape, tensorType(value).getElementType()),
      value, permutation);
}

Value Node::slice(Value value, ArrayRef<int64_t> starts,
                  ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  Shape shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back(limit <= start ? 0 : (limit - start - 1) / stride + 1);
  if (llvm::equal(shape, tensorType(value).getShape()))
    return value;
  return SliceOp::create(
      b, loc, RankedTensorType::get(shape, tensorType(value).getElementType()),
      value, starts, limits, strides);
}

Value Node::sliceDim(Value value, int64_t dim, int64_t start, int64_t limit,
                     int64_t stride) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Shape starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return slice(value, starts, limits, strides);
}

Value Node::reverse(Value value, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  return ReverseOp::create(b, loc, value.getType(), value, dims);
}

Value Node::concat(ArrayRef<Value> values, int64_t dim) {
  if (values.size() == 1)
    return values.front();
  RankedTensorType first = tensorType(values.front());
  Shape shape(first.getShape());
  shape[dim] = 0;
  for (Value value : values)
    shape[dim] += tensorType(value).getDimSize(dim);
  return ConcatOp::create(b, loc,
                          RankedTensorType::get(shape, first.getElementType()),
                          values, dim);
}

Value Node::pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                double with) {
  RankedTensorType type = tensorType(value);
  Shape shape(type.getShape());
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] += low[i] + high[i];
  if (llvm::equal(shape, type.getShape()))
    return value;
  return PadOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), value, low,
      high, Shape(shape.size(), 0), llvm::APFloat(with));
}

Value Node::reduce(ReductionKind kind, Value value, ArrayRef<int64_t> dims,
                   bool keep) {
  Value reduced = value;
  if (!dims.empty())
    reduced = ReduceOp::create(b, loc, dropDims(tensorType(value), dims), kind,
                               value, dims);
  if (!keep)
    return reduced;
  Shape kept(tensorType(value).getShape());
  for (int64_t dim : dims)
    kept[dim] = 1;
  return reshape(reduced, kept);
}

Value Node::iota(ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(b, loc, RankedTensorType::get(shape, element), dim);
}

Value Node::constant(DenseElementsAttr value) {
  return ConstantOp::create(b, loc, value.getType(), value);
}

Value Node::constantInts(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    b.getI64Type());
  return constant(DenseElementsAttr::get(type, values));
}

FailureOr<Shape> Node::broadcastShape(ArrayRef<Value> values) {
  Shape result;
  for (Value value : values) {
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    size_t offset = result.size() - shape.size();
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &common = result[offset + i];
      if (common == 1)
        common = size;
      else if (size != 1 && size != common) {
        std::string texts;
        for (Value each : values)
          texts += (texts.empty() ? "" : " and ") +
                   shapeText(tensorType(each).getShape());
        return fail(opType() + ": shapes " + texts + " do not broadcast",
                    "a size baked into the model may contradict --batch or "
                    "--dim; export the model with that dimension dynamic");
      }
    }
  }
  return result;
}

LogicalResult Node::broadcastBoth(Value &lhs, Value &rhs) {
  FailureOr<Shape> shape = broadcastShape({lhs, rhs});
  if (failed(shape))
    return failure();
  if (tensorType(lhs).getElementType() != tensorType(rhs).getElementType())
    return malformed("operands have different element types");
  lhs = broadcast(lhs, *shape);
  rhs = broadcast(rhs, *shape);
  return success();
}

Value Node::alongDim(Value vector, ArrayRef<int64_t> shape, int64_t dim) {
  return broadcastTo(b, loc, vector, shape, {dim});
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry table;
    registerElementwise(table);
    registerActivations(table);
    registerShape(table);
    registerSlicing(table);
    registerIndexing(table);
    registerConstants(table);
    registerReduction(table);
    registerResize(table);
    registerContraction(table);
    registerEinsum(table);
    registerConvolution(table);
    registerPooling(table);
    registerNormalization(table);
    registerSequence(table);
    registerScatter(table);
    registerSelection(table);
    registerRecurrent(table);
    registerStateSpace(table);
    registerSampling(table);
    registerFourier(table);
    registerConversion(table);
    registerQuantization(table);
    registerRandom(table);
    registerLinearAlgebra(table);
    registerAttention(table);
    registerLoss(table);
    registerFusedOperators(table);
    registerExperiments(table);
    registerOnnxRuntime(table);
    registerActivationGradients(table);
    registerLossGradients(table);
    registerNormalizationGradients(table);
    registerWindowGradients(table);
    registerIndexingGradients(table);
    registerRecurrentGradients(table);
    registerGradient(table);
    return table;
  }();
  return registry;
}

unsigned Registry::requiredInputs(StringRef domain, StringRef opType) const {
  domain = canonicalDomain(domain);
  return required.lookup(domain.empty() ? opType.str()
                                        : (domain + "::" + opType).str());
}

Importer Registry::lookup(StringRef domain, StringRef opType) const {
  domain = canonicalDomain(domain);
  if (domain.empty())
    return table.lookup(opType);
  return table.lookup((domain + "::" + opType).str());
}
