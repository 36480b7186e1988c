// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builds @forward from a prepared graph, or @train_step from one that holds its
// backward pass.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_GRAPH_H
#define INGOT_FRONTENDS_ONNX_IMPORT_GRAPH_H

#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/options/ImportOptions.h"
#include "frontends/onnx/rewrite/Quantizer.h"
#include "frontends/onnx/training/Artifacts.h"
#include "frontends/onnx/weights/CodedWeights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::onnx_import {

/// The role of a graph in training, as far as its file says it.
struct GraphMeaning {
  /// The loss and the gradients, of a graph that holds its backward pass.
  const TrainingGraph *training = nullptr;
  /// The predictions and labels; null if unknown.
  const EvaluationGraph *evaluation = nullptr;
};

class GraphImporter : public GraphServices {
public:
  /// Creates an importer; `roles` tells which initializers become states. The
  /// raw data of those is moved out of the model.
  GraphImporter(onnx::ModelProto &model, const ImportOptions &options,
                llvm::StringMap<Role> roles, mlir::Location file,
                mlir::ModuleOp module, GraphMeaning meaning = {});

  /// Names the initializers that are matrices in codes, whose data is taken.
  void setCodedWeights(llvm::StringMap<CodedWeight> &weights) {
    codedWeights = &weights;
  }
  /// Names the scales of quantizers of training, and the results of Round
  /// through which gradients pass.
  void setQuantizers(const llvm::StringMap<Quantizer> &scales,
                     const llvm::StringSet<> &results) {
    quantizers = &scales;
    rounded = &results;
  }

  /// Adds the function, and the states that the module does not have yet.
  llvm::LogicalResult run();

  /// Returns the names of all states that come from initializers.
  const llvm::StringSet<> &getStates() const { return states; }

  bool isFromTorch() const override;
  bool holdsBackwardPass() const override { return meaning.training; }
  int defaultOpset() const override;
  mlir::Value valueOf(llvm::StringRef name) const override;
  mlir::Value cotangent() const override;
  std::optional<llvm::StringRef> stateOf(mlir::Value value) const override;
  bool isUpdated(llvm::StringRef state) const override;
  mlir::Value currentValue(llvm::StringRef state) const override;
  void update(llvm::StringRef state, mlir::Value value) override;
  mlir::Value seed() override;
  mlir::Value step() override;
  const Quantizer *findQuantizer(llvm::StringRef scale) const override;
  mlir::Value statistic(llvm::StringRef name) override;
  void observe(llvm::StringRef scale, mlir::Value value) override {
    observed.push_back({scale.str(), value});
  }
  int32_t newStream() override { return nextStream++; }
  bool rollsLoop(int64_t count, int64_t nodes,
                 mlir::Location loc) const override;
  void sayOverride(mlir::Location node, bool isWarning, llvm::StringRef what,
                   llvm::StringRef remedy) override;

private:
  struct State {
    Role role;
    mlir::Value argument, current;
  };

  llvm::LogicalResult importInputs();
  /// Returns the sizes of symbolic dimensions of inputs that become constants.
  DimSizes sizesOfValues() const;
  llvm::LogicalResult importCotangent();
  llvm::FailureOr<mlir::RankedTensorType>
  inputType(const onnx::ValueInfoProto &input);
  llvm::LogicalResult checkDims();
  /// Returns the value of the name, and creates the state or constant of an
  /// initializer that is used for the first time. Null, with an error at
  /// `user`, if there is no such value.
  const Binding *lookup(llvm::StringRef name, mlir::Location user);
  llvm::FailureOr<Binding> importInitializer(const onnx::TensorProto &tensor);
  /// Adds the state of a matrix in codes, and those of its parts.
  mlir::Value addCodedState(CodedWeight &weight);
  llvm::LogicalResult importNode(const onnx::NodeProto &node);
  /// Imports the operators that have graphs as attributes.
  llvm::LogicalResult importControl(const onnx::NodeProto &node,
                                    mlir::Location loc);
  llvm::LogicalResult importIf(const onnx::NodeProto &node, mlir::Location loc);
  llvm::LogicalResult importLoop(const onnx::NodeProto &node,
                                 mlir::Location loc);
  llvm::LogicalResult importScan(const onnx::NodeProto &node,
                                 mlir::Location loc);
  /// A loop as ingot.loop.
  struct Rolled {
    const onnx::GraphProto &graph;
    int64_t count;
    bool reverse;
    /// The inputs of the body: carried values, and the sequences that it reads
    /// slices of; before them, for Loop, the number of the iteration and the
    /// condition.
    llvm::ArrayRef<Binding> carried;
    llvm::ArrayRef<mlir::Value> sequences;
    bool hasCondition;
  };
  /// Imports a loop as one op, and returns the last carried values and the
  /// outputs; nothing, and a remark that says why, where that is not possible.
  std::optional<llvm::SmallVector<mlir::Value>>
  importRolled(const Rolled &loop, mlir::Location loc);
  llvm::LogicalResult importSequenceMap(const onnx::NodeProto &node,
                                        mlir::Location loc);
  /// Imports the nodes of a graph whose inputs have these values, and returns
  /// its outputs. Names that it defines are forgotten.
  llvm::FailureOr<llvm::SmallVector<Binding>>
  importBody(const onnx::GraphProto &body, llvm::ArrayRef<Binding> inputs,
             mlir::Location loc);
  /// Returns the values of a node's inputs, from number `first`.
  llvm::FailureOr<llvm::SmallVector<Binding>>
  bindingsOf(const onnx::NodeProto &node, int first, mlir::Location loc);
  void bind(llvm::StringRef name, Binding binding);
  /// Stacks or concatenates what each iteration of a node computed.
  llvm::FailureOr<mlir::Value> join(llvm::ArrayRef<mlir::Value> values,
                                    int64_t dim, mlir::Location loc,
                                    const onnx::NodeProto &node);
  /// Folds the ops after `last` (all of the function if null), and updates
  /// these values and those of states.
  void settle(mlir::Operation *last, llvm::MutableArrayRef<Binding *> bindings);
  /// Folds the ops after `last` and gives a node's outputs these values.
  void bindOutputs(const onnx::NodeProto &node, mlir::Operation *last,
                   llvm::MutableArrayRef<Binding> outputs);
  /// Adds what the body of a loop computed in one iteration to what each
  /// output has collected so far.
  llvm::LogicalResult
  collect(const onnx::NodeProto &node, mlir::Location loc,
          llvm::ArrayRef<Binding> results,
          llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> collected);
  /// Gives a loop's outputs the last carried values and, joined along these
  /// dimensions, what the iterations have collected.
  llvm::LogicalResult
  bindCollected(const onnx::NodeProto &node, mlir::Location loc,
                llvm::SmallVector<Binding> carried,
                llvm::ArrayRef<llvm::SmallVector<mlir::Value>> collected,
                llvm::ArrayRef<int64_t> dims);
  /// Counts an iteration of a node's graph, and fails if all that were unrolled
  /// are more than a compiler can handle.
  llvm::LogicalResult countIteration(const onnx::NodeProto &node,
                                     const onnx::GraphProto &graph,
                                     mlir::Location loc,
                                     bool isConditional = false);
  void addResult(mlir::Value value, llvm::StringRef attribute,
                 mlir::Attribute name);
  llvm::LogicalResult addOutputs();
  /// Adds the values that are compared with those of another model.
  llvm::LogicalResult addPaired();
  llvm::LogicalResult addLossAndGradients();
  void setArgumentAttr(mlir::BlockArgument argument, llvm::StringRef name,
                       mlir::Attribute value);
  void countClasses();
  void countRows();
  /// Reports what sayOverride collected.
  void reportOverrides();
  llvm::LogicalResult finish();
  mlir::Value addState(llvm::StringRef name, Role role,
                       mlir::RankedTensorType type, mlir::ElementsAttr initial);
  mlir::Value scalarState(llvm::StringRef name, Role role);
  void reportParameters();
  /// Adds what @observe returns, and tells the module of the quantizers.
  void addObserved();

  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  const ImportOptions &options;
  llvm::StringMap<Role> roles;
  GraphMeaning meaning;
  mlir::Location file;
  mlir::ModuleOp module;
  /// The states that the module had before, and those that are added.
  mlir::SymbolTable symbols;
  mlir::OpBuilder builder;
  mlir::func::FuncOp forward;
  /// The block of the function, and that in which nodes are imported: the
  /// function's or the body of a loop.
  mlir::Block *entry = nullptr, *body = nullptr;

  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<CodedWeight> *codedWeights = nullptr;
  const llvm::StringMap<Quantizer> *quantizers = nullptr;
  const llvm::StringSet<> *rounded = nullptr;
  /// The values that are quantized, with the names of their scales.
  std::vector<std::pair<std::string, mlir::Value>> observed;
  /// The initializers of the model, unlike those of graphs within it, which are
  /// imported each time: each of them is imported once.
  llvm::DenseMap<const onnx::TensorProto *, onnx::TensorProto *> importedOnce;
  /// The names in scope. Entries are stable: nodes hold pointers to them.
  llvm::StringMap<std::unique_ptr<Binding>> bindings;
  llvm::MapVector<mlir::Value, std::string> arguments;
  llvm::MapVector<llvm::StringRef, State> stateValues;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttrs, resultAttrs;
  llvm::SmallVector<mlir::Value> results;
  llvm::StringSet<> states, symbolicNames;
  llvm::SmallVector<std::string> unbound;
  int64_t batch = 0;
  int32_t nextStream = 0;
  /// A difference between what the file says and what is trained, with its
  /// nodes.
  struct Override {
    bool isWarning;
    std::string what, remedy;
    llvm::SetVector<mlir::Attribute> nodes;
  };
  llvm::SmallVector<Override> overrides;
  /// Nodes that were imported, counting those of loops each time.
  int64_t importedNodes = 0;
  /// Iterations that were imported, and the nodes of their graphs.
  int64_t unrolledNodes = 0;
  /// States with a new value: the others have that of their argument.
  llvm::SetVector<llvm::StringRef> updated;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_GRAPH_H
