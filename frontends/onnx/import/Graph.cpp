// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/import/Graph.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/import/Folding.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/PrepareModel.h"
#include "frontends/onnx/model/Tensors.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The states that random ops read; the optimizer counts the second.
static constexpr llvm::StringLiteral kSeedName = "seed";
static constexpr llvm::StringLiteral kStepName = "step";

/// No tensor has more elements: products of sizes stay far from overflowing.
static constexpr int64_t kMaxElements = int64_t(1) << 40;

/// Returns the data type if it is narrow, otherwise 0.
static int32_t narrowOf(int32_t dataType) {
  return narrowType(dataType) ? dataType : 0;
}

static bool fitsMemory(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size && elements > kMaxElements / size)
      return false;
    elements *= size;
  }
  return true;
}

GraphImporter::GraphImporter(onnx::ModelProto &model,
                             const ImportOptions &options,
                             llvm::StringMap<Role> roles, Location file,
                             ModuleOp module, GraphMeaning meaning)
    : model(model), graph(model.graph()), options(options),
      roles(std::move(roles)), meaning(meaning), file(file), module(module),
      symbols(module), builder(module.getContext()) {
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    initializers[tensor.name()] = &tensor;
    importedOnce[&tensor] = &tensor;
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType>
GraphImporter::inputType(const onnx::ValueInfoProto &input) {
  Location where =
      NameLoc::get(StringAttr::get(module.getContext(), input.name()));
  if (!input.type().has_tensor_type() ||
      !input.type().tensor_type().has_shape())
    return emitUserError(
        where, "this input is not a tensor of known rank",
        "export the model with tensor inputs that have shapes");
  const auto &tensor = input.type().tensor_type();
  Type element = storageType(module.getContext(), tensor.elem_type());
  if (!element)
    return emitUserError(where,
                         "this input has the element type " +
                             dataTypeName(tensor.elem_type()) +
                             ", which is not supported",
                         "see docs/onnx.md for the types that are imported");
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(tensor.shape().dim())) {
    if (!dim.dim_param().empty())
      symbolicNames.insert(dim.dim_param());
    auto bound = options.dims.find(dim.dim_param());
    if (i == 0 && options.batch && bound != options.dims.end() &&
        bound->second.front() != *options.batch)
      return emitOptionError(
          module.getContext(), "dim",
          "'" + dim.dim_param() + "=" + Twine(bound->second.front()) +
              "' contradicts --batch " + Twine(*options.batch) +
              ": it is the first dimension of input '" + input.name() + "'",
          "leave one of them out");
    if (i == 0 && options.batch)
      shape.push_back(*options.batch);
    else if (!dim.dim_param().empty() && bound != options.dims.end())
      shape.push_back(bound->second.front());
    else if (dim.has_dim_value() && dim.dim_value() >= 0)
      shape.push_back(dim.dim_value());
    else {
      std::string name = dim.dim_param().empty()
                             ? "dimension " + std::to_string(i)
                             : "'" + dim.dim_param() + "'";
      unbound.push_back(name + " of input '" + input.name() + "'" +
                        (i == 0 ? " (the batch)" : ""));
      shape.push_back(1);
    }
  }
  if (!shape.empty() && batch == 0)
    batch = shape.front();
  if (!fitsMemory(shape))
    return emitUserError(where, "this input is too large",
                         "bind smaller sizes with --batch and --dim");
  return RankedTensorType::get(shape, element);
}

/// All dimensions are bound, and every --dim names one.
LogicalResult GraphImporter::checkDims() {
  if (!unbound.empty())
    return emitUserError(
        file, "sizes are not known: " + llvm::join(unbound, ", "),
        "bind the batch with --batch N and other dimensions with --dim NAME=N, "
        "or make a constant of an input with --value INPUT=V");
  for (const auto &[dim, sizes] : options.dims) {
    if (symbolicNames.contains(dim))
      continue;
    SmallVector<std::string> names;
    for (const auto &name : symbolicNames)
      names.push_back(name.getKey().str());
    llvm::sort(names);
    return emitOptionError(
        module.getContext(), "dim",
        "no input has a dimension called '" + dim + "'",
        names.empty()
            ? "the model's inputs have no symbolic dimensions"
            : "the symbolic dimensions are: " + llvm::join(names, ", "));
  }
  return success();
}

/// --batch also tells the size of a state whose batch is not its first
/// dimension, where it has the name of the batch of what is read.
DimSizes GraphImporter::sizesOfValues() const {
  DimSizes sizes = options.dims;
  if (!options.batch)
    return sizes;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    if (!initializers.contains(input.name()) &&
        !options.values.contains(input.name()) && shape.dim_size() > 0 &&
        !shape.dim(0).dim_param().empty())
      sizes[shape.dim(0).dim_param()] = {*options.batch};
  }
  return sizes;
}

LogicalResult GraphImporter::importInputs() {
  MLIRContext *context = module.getContext();
  // An evaluation model may lack inputs that the training model has.
  bool isEvaluation = meaning.evaluation && !meaning.training;
  if (!isEvaluation && failed(checkValues(context, graph, options.values)))
    return failure();
  DimSizes sizes = sizesOfValues();
  for (const onnx::ValueInfoProto &input : graph.input()) {
    // Before IR version 4, initializers had to be inputs too.
    if (initializers.contains(input.name()))
      continue;
    auto given = options.values.find(input.name());
    if (given != options.values.end()) {
      for (const auto &dim : input.type().tensor_type().shape().dim())
        if (!dim.dim_param().empty())
          symbolicNames.insert(dim.dim_param());
      FailureOr<DenseElementsAttr> value =
          bindInput(context, input, given->second, sizes);
      if (failed(value))
        return failure();
      Location where = NameLoc::get(StringAttr::get(context, input.name()));
      builder.setInsertionPointToEnd(body);
      bindings[input.name()] = std::make_unique<Binding>();
      bindings[input.name()]->value = ConstantOp::create(
          builder, where, cast<RankedTensorType>(value->getType()), *value);
      continue;
    }
    FailureOr<RankedTensorType> type = inputType(input);
    if (failed(type))
      return failure();
    auto binding = std::make_unique<Binding>();
    binding->value = body->addArgument(
        *type, NameLoc::get(StringAttr::get(context, input.name())));
    binding->narrow = narrowOf(input.type().tensor_type().elem_type());
    bindings[input.name()] = std::move(binding);
    bool isLabels =
        meaning.evaluation &&
        llvm::is_contained(meaning.evaluation->labels, input.name());
    argumentAttrs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(kNameAttr, builder.getStringAttr(input.name())),
         builder.getNamedAttr(
             kKindAttr, builder.getStringAttr(isLabels ? "labels" : "data"))}));
  }
  if (failed(importCotangent()))
    return failure();
  return checkDims();
}

/// The initializer from which gradients start becomes an input, which the
/// compiler replaces, by the loss scale for example.
LogicalResult GraphImporter::importCotangent() {
  if (!meaning.training || meaning.training->cotangent.empty())
    return success();
  const std::string &name = meaning.training->cotangent;
  RankedTensorType type =
      onnx_import::tensorType(module.getContext(), *initializers[name]);
  auto binding = std::make_unique<Binding>();
  binding->value = body->addArgument(
      type, NameLoc::get(StringAttr::get(module.getContext(), name)));
  bindings[name] = std::move(binding);
  argumentAttrs.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
       builder.getNamedAttr(kKindAttr,
                            builder.getStringAttr(kCotangentKind))}));
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

Value GraphImporter::addState(StringRef name, Role role, RankedTensorType type,
                              ElementsAttr initial) {
  MLIRContext *context = module.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, name));
  OpBuilder::InsertionGuard guard(builder);
  // Several functions of a module share their states.
  if (!symbols.lookup(name)) {
    auto functions = module.getOps<func::FuncOp>();
    builder.setInsertionPoint(*functions.begin());
    symbols.insert(StateOp::create(builder, loc, builder.getStringAttr(name),
                                   role, type, initial));
  }
  Value argument = entry->addArgument(type, loc);
  arguments[argument] = name.str();
  StringRef stable = arguments[argument];
  stateValues[builder.getStringAttr(stable).getValue()] = {role, argument,
                                                           argument};
  argumentAttrs.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(kStateAttr, FlatSymbolRefAttr::get(context, name))));
  return argument;
}

Value GraphImporter::scalarState(StringRef name, Role role) {
  auto known = stateValues.find(name);
  if (known != stateValues.end())
    return known->second.current;
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return addState(name, role, type,
                  DenseElementsAttr::get(type, ArrayRef<int64_t>{0}));
}

Value GraphImporter::seed() { return scalarState(kSeedName, Role::Seed); }
Value GraphImporter::step() { return scalarState(kStepName, Role::Step); }

bool GraphImporter::isFromTorch() const {
  return model.producer_name() == "pytorch";
}

int GraphImporter::defaultOpset() const {
  // Models of other domains alone list no version: that of today's forms.
  int listed = opsetVersion(model, "");
  return listed ? listed : newestOpset();
}

Value GraphImporter::valueOf(StringRef name) const {
  auto known = bindings.find(name);
  return known == bindings.end() ? Value() : known->second->value;
}

Value GraphImporter::cotangent() const {
  return meaning.training ? valueOf(meaning.training->cotangent) : Value();
}

std::optional<StringRef> GraphImporter::stateOf(Value value) const {
  auto found = arguments.find(value);
  if (found == arguments.end())
    return std::nullopt;
  return StringRef(found->second);
}

bool GraphImporter::isUpdated(StringRef state) const {
  auto found = stateValues.find(state);
  return found != stateValues.end() && found->second.role == Role::Running;
}

Value GraphImporter::currentValue(StringRef state) const {
  return stateValues.find(state)->second.current;
}

void GraphImporter::update(StringRef state, Value value) {
  auto found = stateValues.find(state);
  found->second.current = value;
  updated.insert(found->first);
}

const Quantizer *GraphImporter::findQuantizer(StringRef scale) const {
  if (!quantizers)
    return nullptr;
  auto found = quantizers->find(scale);
  return found == quantizers->end() ? nullptr : &found->second;
}

Value GraphImporter::statistic(StringRef name) {
  auto known = stateValues.find(name);
  if (known != stateValues.end())
    return known->second.current;
  auto type = RankedTensorType::get({}, builder.getF32Type());
  return addState(name, Role::Running, type,
                  DenseElementsAttr::get(type, builder.getF32FloatAttr(0)));
}

Value GraphImporter::addCodedState(CodedWeight &weight) {
  MLIRContext *context = module.getContext();
  auto type = RankedTensorType::get({weight.rows, weight.columns},
                                    builder.getF32Type());
  states.insert(weight.name);
  if (!weight.encoding)
    return addState(weight.name, Role::Frozen, type,
                    elementsAttr(type, std::move(weight.codes), weight.name));
  auto zeros = DenseElementsAttr::get(type, builder.getF32FloatAttr(0));
  Value argument =
      addState(weight.name, Role::Frozen, type, cast<ElementsAttr>(zeros));
  auto state = symbols.lookup<StateOp>(weight.name);
  if (state->hasAttr(kEncodingAttr))
    return argument;
  SmallVector<Attribute> parts;
  std::string *bytes[] = {&weight.codes, &weight.scales, &weight.offsets};
  for (auto [i, part] : llvm::enumerate(
           getPartTypes(context, *weight.encoding, type.getNumElements()))) {
    std::string name = getPartName(weight.name, i);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
    auto added = StateOp::create(
        builder, state.getLoc(), builder.getStringAttr(name), Role::Frozen,
        part, elementsAttr(part, std::move(*bytes[i]), name));
    parts.push_back(FlatSymbolRefAttr::get(symbols.insert(added)));
  }
  setEncoding(state, *weight.encoding, parts, weight.transposed);
  return argument;
}

FailureOr<Binding>
GraphImporter::importInitializer(const onnx::TensorProto &tensor) {
  if (codedWeights)
    if (auto coded = codedWeights->find(tensor.name());
        coded != codedWeights->end()) {
      Binding binding;
      binding.value = addCodedState(coded->second);
      return binding;
    }
  auto role = roles.find(tensor.name());
  auto once = importedOnce.find(&tensor);
  // Of states, mapped bytes stay where they are.
  bool staysMapped = role != roles.end() && isMapped(tensor);
  FailureOr<std::string> bytes =
      staysMapped ? std::string()
      : role != roles.end() && once != importedOnce.end()
          ? takeBytes(file, *once->second)
          : tensorBytes(file, tensor);
  if (failed(bytes))
    return failure();
  RankedTensorType type = onnx_import::tensorType(module.getContext(), tensor);
  Binding binding;
  binding.narrow = narrowOf(tensor.data_type());
  if (role == roles.end() || binding.narrow) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    DenseElementsAttr value = denseAttr(type, *bytes);
    binding.value = ConstantOp::create(
        builder,
        NameLoc::get(StringAttr::get(module.getContext(), tensor.name())), type,
        value);
    return binding;
  }
  StringRef name = tensor.name();
  if (llvm::is_contained({kForwardName, kTrainStepName, kEvalStepName,
                          kPredictName, kAccumulateStepName,
                          kUncompressedStepName, kSeedName, kStepName,
                          kLossScaleName},
                         name))
    return emitUserError(
        file, "a parameter is called '" + name + "', which is a reserved name",
        "rename it before exporting");
  binding.value =
      addState(name, role->second, type,
               staysMapped ? mappedAttr(type, tensor)
                           : elementsAttr(type, std::move(*bytes), name));
  states.insert(name);
  if (const Quantizer *quantizer = findQuantizer(name);
      quantizer && quantizer->isLearned)
    symbols.lookup<StateOp>(name)->setAttr(
        kLeastAttr, builder.getF64FloatAttr(Quantizer::kLeastScale));
  return binding;
}

const Binding *GraphImporter::lookup(StringRef name, Location user) {
  auto known = bindings.find(name);
  if (known != bindings.end())
    return known->second.get();
  auto initializer = initializers.find(name);
  if (initializer == initializers.end()) {
    (void)emitUserError(user, "'" + name + "' is used before it is computed",
                        "the model is damaged; export it again");
    return nullptr;
  }
  FailureOr<Binding> binding = importInitializer(*initializer->second);
  if (failed(binding))
    return nullptr;
  return (bindings[name] = std::make_unique<Binding>(std::move(*binding)))
      .get();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Operators that take elements of narrow types: those that convert them, and
/// those that move them.
static bool takesNarrow(StringRef opType) {
  return llvm::is_contained({"Cast", "CastLike", "DequantizeLinear",
                             "QuantizeLinear", "QLinearMatMul", "QLinearConv",
                             "Identity", "Shape", "Size"},
                            opType);
}

static bool movesNarrow(StringRef opType) {
  return llvm::is_contained({"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                             "Transpose", "Slice", "Expand", "Tile", "Gather",
                             "GatherElements", "GatherND", "Concat", "Split"},
                            opType);
}

/// Operators that take sequences, or absent values.
static bool takesSequence(StringRef opType) {
  return llvm::is_contained({"Identity", "SequenceAt", "SequenceLength",
                             "ConcatFromSequence", "SequenceInsert",
                             "SequenceErase", "Optional", "OptionalHasElement",
                             "OptionalGetElement"},
                            opType);
}

void GraphImporter::bind(StringRef name, Binding binding) {
  if (!name.empty())
    bindings[name] = std::make_unique<Binding>(std::move(binding));
}

void GraphImporter::settle(Operation *last,
                           MutableArrayRef<Binding *> settled) {
  Operation *first =
      last ? last->getNextNode() : (body->empty() ? nullptr : &body->front());
  if (!first)
    return;
  llvm::DenseMap<Value, Value> replaced;
  foldFrom(builder, first, [&](Value from, Value to) { replaced[from] = to; });
  if (replaced.empty())
    return;
  auto update = [&](Value &value) {
    for (auto found = replaced.find(value); found != replaced.end();
         found = replaced.find(value))
      value = found->second;
  };
  for (StringRef name : updated)
    if (auto state = stateValues.find(name); state != stateValues.end())
      update(state->second.current);
  for (auto &[scale, value] : observed)
    update(value);
  for (Binding *binding : settled) {
    if (binding->value)
      update(binding->value);
    if (binding->smooth)
      update(binding->smooth);
    if (binding->exact)
      update(binding->exact);
    if (binding->sequence)
      for (Value &value : *binding->sequence)
        update(value);
  }
}

LogicalResult GraphImporter::importNode(const onnx::NodeProto &proto) {
  ++importedNodes;
  Location loc = nodeLocation(module.getContext(), proto);
  if (hasBody(proto))
    return importControl(proto, loc);
  Importer importer = Registry::get().lookup(proto.domain(), proto.op_type());
  if (!importer)
    return emitUserError(
        loc, "operator " + Twine(proto.op_type()) + " is not supported",
        "see docs/onnx.md for the operators that are imported");
  SmallVector<const Binding *> inputs;
  for (const std::string &name : proto.input()) {
    if (name.empty()) {
      inputs.push_back(nullptr);
      continue;
    }
    const Binding *binding = lookup(name, loc);
    if (!binding)
      return failure();
    if (!binding->value && !takesSequence(proto.op_type()))
      return emitUserError(loc,
                           Twine(proto.op_type()) +
                               ": a sequence or an absent value as input is "
                               "not supported",
                           "export the model without sequences");
    if (binding->narrow && !takesNarrow(proto.op_type()) &&
        !movesNarrow(proto.op_type()))
      return emitUserError(loc,
                           Twine(proto.op_type()) + ": element type " +
                               dataTypeName(binding->narrow) +
                               " is not supported",
                           "cast it to a wider type before the operator");
    inputs.push_back(binding);
  }
  Operation *last = body->empty() ? nullptr : &body->back();
  builder.setInsertionPointToEnd(body);
  Node node(proto, opsetVersion(model, proto.domain()), loc, builder, *this,
            inputs);
  // ONNX's checker knows the inputs of standard operators only.
  unsigned required =
      Registry::get().requiredInputs(proto.domain(), proto.op_type());
  for (unsigned i = 0; i < required; ++i)
    if (!node.has(i))
      return node.malformed("input " + Twine(i) + " is missing");
  if (failed(importer(node)))
    return failure();
  if (rounded && proto.op_type() == "Round" &&
      rounded->contains(proto.output(0))) {
    Value &value = node.getResults().front().value;
    value = StraightThroughOp::create(builder, loc, value.getType(), node.in(0),
                                      value);
  }
  Operation *first =
      last ? last->getNextNode() : (body->empty() ? nullptr : &body->front());
  for (Operation *op = first; op; op = op->getNextNode())
    for (Type type : op->getResultTypes())
      if (!fitsMemory(cast<RankedTensorType>(type).getShape()))
        return node.fail(
            proto.op_type() + ": a tensor of shape " +
                shapeText(cast<RankedTensorType>(type).getShape()) +
                " is too large",
            "bind smaller sizes with --batch and --dim");
  SmallVector<Binding *> results;
  for (Binding &result : node.getResults())
    results.push_back(&result);
  settle(last, results);
  if (movesNarrow(proto.op_type()))
    for (Binding &result : node.getResults())
      result.narrow = node.narrow(0);
  for (auto [name, result] : llvm::zip_equal(proto.output(), node.getResults()))
    if (result.value || result.sequence || result.isAbsent)
      bind(name, std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::run() {
  if (options.batch && *options.batch < 1)
    return emitOptionError(module.getContext(), "batch",
                           "the batch must be at least 1",
                           "use --batch N with N > 0");
  builder.setInsertionPointToEnd(module.getBody());
  forward = func::FuncOp::create(
      builder, file, meaning.training ? kTrainStepName : kForwardName,
      builder.getFunctionType({}, {}));
  body = entry = forward.addEntryBlock();
  if (failed(importInputs()))
    return failure();
  for (const onnx::NodeProto &node : graph.node())
    if (failed(importNode(node)))
      return failure();
  return finish();
}
