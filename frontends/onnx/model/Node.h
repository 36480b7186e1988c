// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The environment of an operator's importer: the node's inputs as values, its
// attributes, its opset version, and functions to fail with a message.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_NODE_H
#define INGOT_FRONTENDS_ONNX_MODEL_NODE_H

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Builders.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace ingot::onnx_import {

struct Quantizer;

using Shape = llvm::SmallVector<int64_t, 6>;

/// The value of a name of the graph: a tensor, a sequence of tensors whose
/// length is known, or an optional value that is absent.
struct Binding {
  mlir::Value value;
  std::optional<llvm::SmallVector<mlir::Value>> sequence;
  bool isAbsent = false;
  /// The ONNX element type of a tensor of narrow elements (NarrowTypes.h),
  /// otherwise 0.
  int32_t narrow = 0;
  /// For quantized tensors, the floating-point number of each element to which
  /// its gradient belongs; null if there is none.
  mlir::Value smooth;
  /// For tensors that a quantizer of training quantizes, what it quantizes.
  mlir::Value exact;
};

/// The information about the graph around a node that importers can query.
class GraphServices {
public:
  virtual ~GraphServices() = default;

  /// Returns true if the model was written by PyTorch's exporters.
  virtual bool isFromTorch() const = 0;

  /// Returns true if the graph holds gradients, so that its nodes must be
  /// imported in the mode that the gradients are of.
  virtual bool holdsBackwardPass() const = 0;

  /// Returns the tensor that a name of the graph stands for so far; null if
  /// there is none.
  virtual mlir::Value valueOf(llvm::StringRef name) const = 0;

  /// Returns the start of the backward pass, a scalar; null where the graph has
  /// none.
  virtual mlir::Value cotangent() const = 0;

  /// Returns the version of the default domain's operator set.
  virtual int defaultOpset() const = 0;

  /// Returns the state that an initializer became, if the value is the argument
  /// of one.
  virtual std::optional<llvm::StringRef> stateOf(mlir::Value value) const = 0;

  /// Returns true if the state is a running statistic that is to be updated.
  virtual bool isUpdated(llvm::StringRef state) const = 0;

  /// Gets the state's current value in the step, and sets its new value.
  virtual mlir::Value currentValue(llvm::StringRef state) const = 0;
  virtual void update(llvm::StringRef state, mlir::Value value) = 0;

  /// Returns the scalar i64 states: the seed of random numbers, and the number
  /// of steps taken.
  virtual mlir::Value seed() = 0;
  virtual mlir::Value step() = 0;

  /// Returns a number for a random op that no other one has.
  virtual int32_t newStream() = 0;

  /// Returns the quantizer of training that has these scales; null where none
  /// has.
  virtual const Quantizer *findQuantizer(llvm::StringRef scale) const = 0;

  /// Returns the running statistic with the name, an f32 scalar that is 0 at
  /// first.
  virtual mlir::Value statistic(llvm::StringRef name) = 0;

  /// Lets @observe return what is quantized with these scales.
  virtual void observe(llvm::StringRef scale, mlir::Value value) = 0;

  /// Returns whether a loop of that many iterations, each of about that many
  /// nodes, becomes one op.
  virtual bool rollsLoop(int64_t count, int64_t nodes,
                         mlir::Location loc) const = 0;

  /// Says, in one line for all nodes of which it holds, what a trainer does in
  /// another way than the file says, and what changes that. It is a warning
  /// where the trained model may be another one than expected, otherwise a
  /// note. The remedy is that of the first node.
  virtual void sayOverride(mlir::Location node, bool isWarning,
                           llvm::StringRef what, llvm::StringRef remedy) = 0;
};

/// One node of the graph while it is imported.
class Node {
public:
  Node(const onnx::NodeProto &proto, int opset, mlir::Location loc,
       mlir::OpBuilder &builder, GraphServices &graph,
       llvm::ArrayRef<const Binding *> inputs)
      : opset(opset), loc(loc), b(builder), graph(graph), proto(proto),
        inputs(inputs), results(proto.output_size()) {}

  /// The version of the operator set that the node's domain has in the model.
  const int opset;
  const mlir::Location loc;
  mlir::OpBuilder &b;
  GraphServices &graph;

  llvm::StringRef opType() const { return proto.op_type(); }
  const onnx::NodeProto &getProto() const { return proto; }

  //===--------------------------------------------------------------------===//
  // Failing
  //===--------------------------------------------------------------------===//

  /// Reports an error on the node; always fails.
  llvm::LogicalResult fail(const llvm::Twine &what,
                           const llvm::Twine &hint) const;

  /// Reports that the operator is supported, but not this use of it.
  llvm::LogicalResult unsupported(const llvm::Twine &what) const;

  /// Reports that the node contradicts the operator's specification.
  llvm::LogicalResult malformed(const llvm::Twine &what) const;

  /// Reports a parameter that the model computes, where only a constant is
  /// supported.
  llvm::LogicalResult notConstant(llvm::StringRef what) const;

  //===--------------------------------------------------------------------===//
  // Inputs
  //===--------------------------------------------------------------------===//

  size_t inputCount() const { return inputs.size(); }
  /// Returns true if the input is present (not omitted).
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Returns the input's value; null if it is omitted. Importers run after a
  /// check that required inputs are tensors.
  mlir::Value in(size_t i) const { return has(i) ? inputs[i]->value : nullptr; }
  const Binding *binding(size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
  }
  /// Returns the input's element type if it is narrow, otherwise 0.
  int32_t narrow(size_t i) const { return has(i) ? inputs[i]->narrow : 0; }
  mlir::RankedTensorType type(size_t i) const { return tensorType(in(i)); }
  llvm::ArrayRef<int64_t> shape(size_t i) const { return type(i).getShape(); }
  int64_t rank(size_t i) const { return type(i).getRank(); }

  /// Returns all inputs as values; fails if one is omitted.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> allInputs() const;

  /// Returns the elements of an integer input that is a constant; otherwise
  /// fails with a message that calls it `what`.
  llvm::FailureOr<Shape> constantInts(size_t i, llvm::StringRef what) const;

  /// Returns the only element of a constant input, as a double; fails as above.
  llvm::FailureOr<double> constantScalar(size_t i, llvm::StringRef what) const;

  /// Returns `axis`, which may count from the end, as a dimension below `rank`.
  llvm::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank) const;

  /// Returns the dimensions for several axes, which must differ, in increasing
  /// order.
  llvm::FailureOr<Shape> normalizeAxes(llvm::ArrayRef<int64_t> axes,
                                       int64_t rank) const;

  /// Fails unless the input's elements are floating point.
  llvm::LogicalResult requireFloat(size_t i) const;

  /// Says what a trainer does in another way than the file says, unless the
  /// graph has gradients, which are of its own mode.
  void sayOverride(llvm::StringRef what, llvm::StringRef remedy,
                   bool isWarning = false) const {
    if (!graph.holdsBackwardPass())
      graph.sayOverride(loc, isWarning, what, remedy);
  }

  /// Returns the attribute `epsilon`; a note says if it is zero.
  double epsilon(double otherwise = 1e-5) const;
  /// Says that the attribute `seed` has no effect, if there is one.
  void sayUnusedSeed() const;

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  bool hasAttr(llvm::StringRef name) const { return find(name) != nullptr; }
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  std::string stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  const onnx::AttributeProto *find(llvm::StringRef name) const;

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Returns true if the output may have uses.
  bool wants(size_t i) const {
    return i < results.size() && !proto.output(static_cast<int>(i)).empty();
  }
  void set(size_t i, mlir::Value value) {
    if (i < results.size())
      results[i].value = value;
  }
  void setBinding(size_t i, Binding binding) {
    if (i < results.size())
      results[i] = std::move(binding);
  }
  void setSequence(size_t i, llvm::SmallVector<mlir::Value> values) {
    if (i < results.size())
      results[i].sequence = std::move(values);
  }
  llvm::LogicalResult result(mlir::Value value) {
    set(0, value);
    return llvm::success();
  }
  llvm::MutableArrayRef<Binding> getResults() { return results; }

  //===--------------------------------------------------------------------===//
  // Builders
  //===--------------------------------------------------------------------===//

  mlir::RankedTensorType floatLike(mlir::Value value) const {
    return tensorType(value);
  }
  /// Returns a constant of `like`'s type with every element `value`.
  mlir::Value splatOf(mlir::Value like, double value) {
    return ingot::splat(b, loc, tensorType(like), value);
  }
  template <typename OpT> mlir::Value unary(mlir::Value operand) {
    return OpT::create(b, loc, operand.getType(), operand);
  }
  template <typename OpT> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return OpT::create(b, loc, lhs.getType(), lhs, rhs);
  }
  /// Builds the op with a scalar as right-hand side.
  template <typename OpT> mlir::Value binary(mlir::Value lhs, double rhs) {
    return binary<OpT>(lhs, splatOf(lhs, rhs));
  }
  mlir::Value compare(Predicate predicate, mlir::Value lhs, mlir::Value rhs);
  mlir::Value compare(Predicate predicate, mlir::Value lhs, double rhs) {
    return compare(predicate, lhs, splatOf(lhs, rhs));
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  /// Returns the p-th root of what is not negative. Its gradient is 0 at 0,
  /// where there is none: that of a norm, which PyTorch has, too.
  mlir::Value root(mlir::Value value, int64_t p);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape) {
    return ingot::reshapeTo(b, loc, value, shape);
  }
  mlir::Value cast(mlir::Value value, mlir::Type element) {
    return ingot::castTo(b, loc, value, element);
  }
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Slices one dimension from `starts` to `limits`, and all elements of the
  /// others.
  mlir::Value sliceDim(mlir::Value value, int64_t dim, int64_t start,
                       int64_t limit, int64_t stride = 1);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  mlir::Value reverse(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  /// Concatenates operands whose sizes are equal except along `dim` (checked by
  /// the caller).
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t dim);
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, double with);
  mlir::Value reduce(ReductionKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims, bool keep);
  /// Returns the index along `dim`.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                   int64_t dim);
  mlir::Value constantInts(llvm::ArrayRef<int64_t> values);
  mlir::Value constant(mlir::DenseElementsAttr value);

  /// Returns NumPy's common shape; fails with an error if there is none.
  llvm::FailureOr<Shape> broadcastShape(llvm::ArrayRef<mlir::Value> values);
  /// Broadcasts one value by NumPy's rules; the shape must allow it.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape) {
    return ingot::broadcastTrailing(b, loc, value, shape);
  }
  /// Broadcasts both values to their common shape.
  llvm::LogicalResult broadcastBoth(mlir::Value &lhs, mlir::Value &rhs);
  /// Returns a value of one dimension broadcast along all others than `dim`.
  mlir::Value alongDim(mlir::Value vector, llvm::ArrayRef<int64_t> shape,
                       int64_t dim);

  /// Builds numpy.matmul of floating-point values; transposed weights are read
  /// in place.
  llvm::FailureOr<mlir::Value> matmul(mlir::Value lhs, mlir::Value rhs);

private:
  const onnx::NodeProto &proto;
  llvm::ArrayRef<const Binding *> inputs;
  llvm::SmallVector<Binding> results;
};

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

using Importer = llvm::LogicalResult (*)(Node &);

/// Maps operators to importers. A key is `Name` in the default domain,
/// `domain::Name` in others.
class Registry {
public:
  static const Registry &get();
  Importer lookup(llvm::StringRef domain, llvm::StringRef opType) const;
  void add(llvm::StringRef key, Importer importer) { table[key] = importer; }
  const llvm::StringMap<Importer> &getTable() const { return table; }

  /// States that an operator without a schema has that many inputs before
  /// optional ones, and returns the number; 0 where the schema tells.
  void require(llvm::StringRef key, unsigned inputs) { required[key] = inputs; }
  unsigned requiredInputs(llvm::StringRef domain, llvm::StringRef opType) const;

private:
  llvm::StringMap<Importer> table;
  llvm::StringMap<unsigned> required;
};

/// Returns "" for the default domain under any of its names.
llvm::StringRef canonicalDomain(llvm::StringRef domain);

/// Returns the location of a node: its name, or its type and first output
/// without one.
mlir::Location nodeLocation(mlir::MLIRContext *context,
                            const onnx::NodeProto &node);
std::string nodeName(const onnx::NodeProto &node);

/// Formats a list as in "[2, 3]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

void registerElementwise(Registry &registry);
void registerEinsum(Registry &registry);
void registerActivations(Registry &registry);
void registerShape(Registry &registry);
void registerSlicing(Registry &registry);
void registerIndexing(Registry &registry);
void registerConstants(Registry &registry);
void registerReduction(Registry &registry);
void registerResize(Registry &registry);
void registerContraction(Registry &registry);
void registerConvolution(Registry &registry);
void registerPooling(Registry &registry);
void registerNormalization(Registry &registry);
void registerSequence(Registry &registry);
void registerScatter(Registry &registry);
void registerSelection(Registry &registry);
void registerRecurrent(Registry &registry);
void registerStateSpace(Registry &registry);
void registerSampling(Registry &registry);
void registerFourier(Registry &registry);
void registerConversion(Registry &registry);
void registerQuantization(Registry &registry);
void registerRandom(Registry &registry);
void registerLinearAlgebra(Registry &registry);
void registerAttention(Registry &registry);
void registerLoss(Registry &registry);
void registerFusedOperators(Registry &registry);
void registerExperiments(Registry &registry);
void registerOnnxRuntime(Registry &registry);
void registerActivationGradients(Registry &registry);
void registerLossGradients(Registry &registry);
void registerNormalizationGradients(Registry &registry);
void registerWindowGradients(Registry &registry);
void registerIndexingGradients(Registry &registry);
void registerRecurrentGradients(Registry &registry);
void registerGradient(Registry &registry);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_NODE_H
