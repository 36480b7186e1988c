// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/ConstantNodes.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/PrepareModel.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "frontends/onnx/weights/Parameters.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Vectors of so few elements may be means, deviations or the sizes of boxes.
static constexpr int64_t kFewElements = 4;
/// Constants of more elements that may be weights are named to the user.
static constexpr int64_t kNamedElements = 16;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static int64_t countElements(const onnx::TensorProto &tensor) {
  int64_t elements = 1;
  for (int64_t size : tensor.dims())
    if (size < 0 || (size && elements > (int64_t(1) << 46) / size))
      return 0;
    else
      elements *= size;
  return elements;
}

/// Returns whether a field of the tensor holds all of its elements; the
/// importer reports it where none does.
static bool holdsElements(const onnx::TensorProto &tensor, Type element) {
  int64_t count = countElements(tensor);
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return false;
  if (tensor.has_raw_data())
    return static_cast<int64_t>(tensor.raw_data().size()) ==
           count * (element.getIntOrFloatBitWidth() / 8);
  return tensor.float_data_size() + tensor.double_data_size() +
             tensor.int32_data_size() ==
         count;
}

/// Returns the floating-point tensor of a Constant node.
static std::optional<onnx::TensorProto>
floatConstant(MLIRContext *context, const onnx::NodeProto &node) {
  if (node.op_type() != "Constant" || !canonicalDomain(node.domain()).empty() ||
      node.output_size() != 1)
    return std::nullopt;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() == "value_floats" &&
        attribute.ref_attr_name().empty()) {
      onnx::TensorProto tensor;
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_dims(attribute.floats_size());
      for (float value : attribute.floats())
        tensor.add_float_data(value);
      return tensor;
    }
    if (attribute.name() != "value" || !attribute.has_t())
      continue;
    Type element = elementType(context, attribute.t().data_type());
    if (element && isa<FloatType>(element) &&
        holdsElements(attribute.t(), element))
      return attribute.t();
  }
  return std::nullopt;
}

/// Returns whether all dimensions but one are 1, as those of a bias.
static bool isVector(const onnx::TensorProto &tensor) {
  return llvm::count_if(tensor.dims(), [](int64_t d) { return d != 1; }) <= 1;
}

/// Returns whether the elements have two values: a mask.
static bool isMask(Location file, const onnx::TensorProto &tensor) {
  FailureOr<std::string> bytes = tensorBytes(file, tensor);
  int64_t count = countElements(tensor);
  if (failed(bytes) || count == 0)
    return true;
  size_t width = bytes->size() / count;
  llvm::SmallSet<uint64_t, 4> values;
  for (int64_t i = 0; i < count && values.size() < 3; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes->data() + i * width, width);
    values.insert(bits);
  }
  return values.size() == 2 && count > kFewElements;
}

namespace {

/// Finds which Constant nodes are weights.
class ConstantRoles {
public:
  ConstantRoles(Location file, const onnx::ModelProto &model,
                const onnx::GraphProto &graph);

  /// Returns whether the constant is used where only weights are.
  bool isWeight(StringRef name) const;
  /// Returns whether the constant is a bias or a scale of what weights compute.
  bool isBias(StringRef name, const onnx::TensorProto &tensor) const;
  /// Returns whether the constant takes part in what weights compute.
  bool isOperand(StringRef name) const;
  /// Returns whether the file tells parameters from constants.
  bool tellsParameters() const { return hasMetadata || isTorchWithWeights; }
  bool knowsParameters() const { return hasMetadata; }

private:
  struct Use {
    const onnx::NodeProto *node;
    int input;
  };

  /// Calls `visit` with each use of the value, also where it is moved or
  /// converted before, until it returns true; returns whether it did.
  bool anyUse(StringRef name, llvm::function_ref<bool(Use)> visit) const;
  void visit(const onnx::NodeProto &node);
  /// Returns the other operand of an arithmetic node.
  static StringRef otherOperand(Use use) {
    return use.node->input(use.input == 0 ? 1 : 0);
  }
  static bool isArithmetic(const onnx::NodeProto &node) {
    return node.input_size() == 2 &&
           llvm::is_contained({"Add", "Sub", "Mul", "Div"}, node.op_type());
  }

  Location file;
  llvm::StringMap<SmallVector<Use, 2>> uses;
  llvm::StringMap<const onnx::NodeProto *> producers;
  /// Values that are known, and those that depend on weights.
  llvm::StringSet<> constants, weighted;
  bool hasMetadata = false, isTorchWithWeights = false;
};

} // namespace

ConstantRoles::ConstantRoles(Location file, const onnx::ModelProto &model,
                             const onnx::GraphProto &graph)
    : file(file), hasMetadata(readMetadata(graph).exists) {
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    initializers.insert(tensor.name());
    constants.insert(tensor.name());
  }
  bool isTorch = model.producer_name() == "pytorch";
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (!node.input(i).empty())
        uses[node.input(i)].push_back({&node, i});
    for (const std::string &name : node.output())
      producers[name] = &node;
    for (const onnx::AttributeProto &attribute : node.attribute())
      for (const onnx::ValueInfoProto &input : attribute.g().input())
        weighted.insert(input.name());
  });
  walkNodes(graph, [&](const onnx::NodeProto &node) { visit(node); });
  if (isTorch)
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (Type element = elementType(file.getContext(), tensor.data_type());
          element && isa<FloatType>(element) && isWeight(tensor.name()))
        isTorchWithWeights = true;
}

void ConstantRoles::visit(const onnx::NodeProto &node) {
  bool isKnown = true, isWeighted = false;
  for (int i = 0; i < node.input_size(); ++i) {
    StringRef name = node.input(i);
    bool isConstant = constants.contains(name);
    isKnown &= isConstant;
    isWeighted |= weighted.contains(name) ||
                  (isConstant && onnx_import::isWeight(node, i));
  }
  for (const onnx::AttributeProto &attribute : node.attribute())
    for (const onnx::ValueInfoProto &output : attribute.g().output())
      isWeighted |= weighted.contains(output.name());
  isKnown &= node.op_type() == "Constant" ||
             (node.input_size() > 0 && passesOn(node, 0));
  for (const std::string &name : node.output())
    if (isKnown)
      constants.insert(name);
    else if (isWeighted)
      weighted.insert(name);
}

bool ConstantRoles::anyUse(StringRef name,
                           llvm::function_ref<bool(Use)> visit) const {
  SmallVector<StringRef> open = {name};
  llvm::StringSet<> seen;
  while (!open.empty()) {
    auto found = uses.find(open.pop_back_val());
    if (found == uses.end())
      continue;
    for (const Use &use : found->second) {
      if (visit(use))
        return true;
      if (passesOn(*use.node, use.input))
        for (const std::string &output : use.node->output())
          if (constants.contains(output) && seen.insert(output).second)
            open.push_back(output);
    }
  }
  return false;
}

bool ConstantRoles::isWeight(StringRef name) const {
  return anyUse(name, [&](Use use) {
    return onnx_import::isWeight(*use.node, use.input) ||
           isStatistic(*use.node, use.input);
  });
}

bool ConstantRoles::isBias(StringRef name,
                           const onnx::TensorProto &tensor) const {
  if (!isVector(tensor) || countElements(tensor) < 2 || isMask(file, tensor))
    return false;
  return anyUse(name, [&](Use use) {
    if (!isArithmetic(*use.node) || !weighted.contains(otherOperand(use)))
      return false;
    if (countElements(tensor) > kFewElements)
      return true;
    // Of few elements, only what has the place of a bias is taken for one.
    auto producer = producers.find(otherOperand(use));
    if (use.node->op_type() != "Add" || producer == producers.end())
      return false;
    const onnx::NodeProto &product = *producer->second;
    return product.op_type() == "MatMul" || product.op_type() == "Einsum" ||
           (llvm::is_contained({"Conv", "ConvTranspose", "Gemm"},
                               product.op_type()) &&
            product.input_size() < 3);
  });
}

bool ConstantRoles::isOperand(StringRef name) const {
  return anyUse(name, [&](Use use) {
    if (isArithmetic(*use.node))
      return weighted.contains(otherOperand(use));
    return use.node->op_type() == "Concat" &&
           llvm::any_of(use.node->input(), [&](const std::string &other) {
             return weighted.contains(other);
           });
  });
}

//===----------------------------------------------------------------------===//
// Lifting
//===----------------------------------------------------------------------===//

namespace {

class ConstantLifter {
public:
  ConstantLifter(Location file, onnx::ModelProto &model,
                 const NamePattern &trainable)
      : file(file), graph(*model.mutable_graph()), trainable(trainable),
        roles(file, model, graph) {
    countNames(graph);
  }

  void run();

private:
  void countNames(const onnx::GraphProto &scope);
  /// Finds what is lifted, before anything changes.
  void decide();
  bool isLifted(StringRef name, const onnx::TensorProto &tensor);
  /// Lifts from the graph and those within it.
  void lift(onnx::GraphProto &scope);
  /// Adds an initializer, and returns its name.
  std::string add(onnx::TensorProto tensor, const std::string &name);
  static void rename(onnx::GraphProto &scope, const std::string &from,
                     const std::string &to);

  Location file;
  onnx::GraphProto &graph;
  const NamePattern &trainable;
  ConstantRoles roles;
  /// How often a name is defined, in whatever graph.
  llvm::StringMap<int> names;
  llvm::DenseSet<const onnx::NodeProto *> decided;
  std::vector<onnx::TensorProto> added;
  SmallVector<std::string> lifted, kept;
};

} // namespace

void ConstantLifter::countNames(const onnx::GraphProto &scope) {
  for (const onnx::ValueInfoProto &input : scope.input())
    ++names[input.name()];
  for (const onnx::TensorProto &tensor : scope.initializer())
    if (llvm::none_of(scope.input(), [&](const onnx::ValueInfoProto &input) {
          return input.name() == tensor.name();
        }))
      ++names[tensor.name()];
  for (const onnx::NodeProto &node : scope.node()) {
    for (const std::string &name : node.output())
      ++names[name];
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        countNames(attribute.g());
  }
}

bool ConstantLifter::isLifted(StringRef name, const onnx::TensorProto &tensor) {
  // There is nothing to train in a tensor without elements.
  int64_t elements = countElements(tensor);
  if (elements == 0)
    return false;
  if (!trainable.empty())
    return trainable.match(name);
  bool isWeight =
      roles.isWeight(name) && !(elements == 1 && !tensor.dims_size());
  if (!roles.tellsParameters() && (isWeight || roles.isBias(name, tensor)))
    return true;
  bool mayBe = isWeight || (!roles.tellsParameters() && roles.isOperand(name));
  if (!roles.knowsParameters() && mayBe && elements > kNamedElements &&
      !isMask(file, tensor))
    kept.push_back(name.str());
  return false;
}

void ConstantLifter::decide() {
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    std::optional<onnx::TensorProto> tensor =
        floatConstant(file.getContext(), node);
    if (tensor && isLifted(node.output(0), *tensor))
      decided.insert(&node);
  });
}

void ConstantLifter::rename(onnx::GraphProto &scope, const std::string &from,
                            const std::string &to) {
  for (onnx::NodeProto &node : *scope.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (input == from)
        input = to;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        rename(*attribute.mutable_g(), from, to);
  }
}

std::string ConstantLifter::add(onnx::TensorProto tensor,
                                const std::string &name) {
  std::string unique = name;
  if (names[name] > 1)
    for (int i = 1; names.contains(unique); ++i)
      unique = name + "_" + std::to_string(i);
  names[unique] = std::max(names[unique], 1);
  tensor.set_name(unique);
  added.push_back(std::move(tensor));
  lifted.push_back(unique);
  return unique;
}

void ConstantLifter::lift(onnx::GraphProto &scope) {
  // Names of what is lifted, and outputs, which stay.
  llvm::StringSet<> gone, outputs;
  for (const onnx::ValueInfoProto &output : scope.output())
    outputs.insert(output.name());
  // By value: a renaming changes the names in the graph.
  auto move = [&](const onnx::TensorProto &tensor, std::string name) {
    gone.insert(name);
    std::string unique = add(tensor, name);
    if (unique != name)
      rename(scope, name, unique);
  };
  for (onnx::NodeProto &node : *scope.mutable_node()) {
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        lift(*attribute.mutable_g());
    if (decided.contains(&node) && !outputs.contains(node.output(0)))
      move(*floatConstant(file.getContext(), node), node.output(0));
  }
  auto *nodes = scope.mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [&](const onnx::NodeProto &node) {
                                return node.op_type() == "Constant" &&
                                       node.output_size() == 1 &&
                                       gone.contains(node.output(0));
                              }),
               nodes->end());
  if (&scope == &graph)
    return;
  llvm::StringSet<> inputs;
  for (const onnx::ValueInfoProto &input : scope.input())
    inputs.insert(input.name());
  for (const onnx::TensorProto &tensor : scope.initializer()) {
    Type element = elementType(file.getContext(), tensor.data_type());
    if (element && isa<FloatType>(element) && countElements(tensor) > 1 &&
        !inputs.contains(tensor.name()) && !outputs.contains(tensor.name()))
      move(tensor, tensor.name());
  }
  auto *tensors = scope.mutable_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const onnx::TensorProto &tensor) {
                                  return gone.contains(tensor.name());
                                }),
                 tensors->end());
}

void ConstantLifter::run() {
  decide();
  lift(graph);
  for (onnx::TensorProto &tensor : added)
    *graph.add_initializer() = std::move(tensor);
  if (!lifted.empty())
    remark::passed(file, remarkOptions("import-onnx", "LiftedConstants"))
        << remark::metric("names", llvm::join(lifted, ", "));
  if (kept.empty())
    return;
  remark::missed(file, remarkOptions("import-onnx", "LiftedConstants"))
      << remark::reason("the model uses them as weights, but does not say that "
                        "they are parameters")
      << remark::metric("names", llvm::join(kept, ", "));
  bool isOne = kept.size() == 1;
  emitUserWarning(
      file,
      Twine(kept.size()) +
          (isOne ? " Constant node is" : " Constant nodes are") +
          " not trained, though " + (isOne ? "it" : "they") + " may be " +
          (isOne ? "a weight (" : "weights (") + kept.front() +
          (isOne ? ")" : ", ...)"),
      "name all that is trained, with --trainable REGEX, if that is wrong");
}

/// Returns whether a function of the model holds a constant that may be lifted.
static bool holdsWeights(Location file, const onnx::ModelProto &model,
                         const NamePattern &trainable) {
  return llvm::any_of(
      model.functions(), [&](const onnx::FunctionProto &function) {
        onnx::GraphProto body;
        *body.mutable_node() = function.node();
        ConstantRoles roles(file, model, body);
        bool found = false;
        walkNodes(body, [&](const onnx::NodeProto &node) {
          std::optional<onnx::TensorProto> tensor =
              floatConstant(file.getContext(), node);
          if (!tensor || countElements(*tensor) == 0)
            return;
          StringRef name = node.output(0);
          found |= trainable.empty()
                       ? roles.isWeight(name) && tensor->dims_size() > 0
                       : trainable.match(name);
        });
        return found;
      });
}

LogicalResult onnx_import::liftConstants(Location file, onnx::ModelProto &model,
                                         const ImportOptions &options) {
  if (holdsWeights(file, model, options.trainable) &&
      failed(inlineFunctions(file, model)))
    return failure();
  ConstantLifter(file, model, options.trainable).run();
  return success();
}
