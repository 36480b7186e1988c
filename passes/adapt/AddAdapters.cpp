// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AddAdapters: low-rank adapters of layers are trained in place of the model.
//
// Assumes a simplified forward function, in which layers are still where the
// model has them: attention and merged projections are formed later, over what
// is added here.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Adapters.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/ModulePath.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "passes/adapt/LayerKinds.h"
#include "passes/adapt/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

namespace ingot {
#define GEN_PASS_DEF_ADDADAPTERS
#include "passes/adapt/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The layers that share a weight.
struct Layer {
  std::string path;
  StateOp weight;
  const LayerKind *kind = nullptr;
  SmallVector<LayerUse, 1> uses;
  bool isHead = false;
  /// Another reader of the weight; null if there is none.
  Operation *reader = nullptr;
  const AdapterRule *rule = nullptr;

  /// Whether the weight is [in, out].
  bool isTransposed() const { return kind->isTransposed(uses.front()); }
  /// Where remarks and errors are about it.
  Location getLoc() const { return uses.front().product->getLoc(); }
};

struct AddAdapters : public ingot::impl::AddAdaptersBase<AddAdapters> {
  using AddAdaptersBase::AddAdaptersBase;

  void runOnOperation() override {
    if (adapter.empty())
      return;
    forward = findFunction(getOperation(), "forward");
    if (!forward) {
      (void)emitOptionError(&getContext(), "adapter",
                            "the model comes with its backward pass",
                            "compile an ONNX file that holds a forward graph");
      return signalPassFailure();
    }
    findLayers();
    if (failed(checkRules()) || failed(chooseRules()) || failed(freeze()))
      return signalPassFailure();
    addAdapters();
  }

private:
  StateOp getState(BlockArgument argument) {
    auto symbol = Signature(forward).argumentState(argument.getArgNumber());
    return symbol ? findState(getOperation(), symbol) : StateOp();
  }

  void findLayers();
  /// Returns why the layer can have no adapter that a rule asks for; empty if
  /// it can.
  std::string refuse(const Layer &layer, const AdapterRule &rule);
  LogicalResult checkRules();
  /// Gives each layer the first rule that matches it.
  LogicalResult chooseRules();
  LogicalResult checkMatches(const AdapterRule &rule);
  LogicalResult failUnmatched(StringRef text);
  /// Freezes the parameters that are not trained.
  LogicalResult freeze();
  void addAdapters();
  void addAdapter(Layer &layer, StateAdder &states);
  /// Adds the states of the norms of the rows of the weight, which are trained,
  /// and of their squares, which are not.
  std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr>
  addMagnitude(Layer &layer, FloatType type, StateAdder &states);
  /// Returns the factor of each row of W + s B A that gives it the norm in
  /// `magnitude`. As in DoRA, its own norm is a constant for gradients.
  /// `squares` has those of the norms of the rows of W.
  Value buildFactor(Layer &layer, Value magnitude, Value squares, Value a,
                    Value b);
  int32_t newStream();
  BlockArgument getScalar(StringRef name, Role role, StateAdder &states);

  func::FuncOp forward;
  SmallVector<Layer> layers;
  SmallVector<Attribute> described;
  std::optional<int32_t> lastStream;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

void AddAdapters::findLayers() {
  llvm::MapVector<BlockArgument, Layer> found;
  // Of the kinds that read a weight, the first has it.
  for (const LayerKind *kind : getLayerKinds())
    forward.walk([&](Operation *op) {
      std::optional<LayerUse> use = kind->match(op);
      if (!use || use->weight.getOwner() != &forward.front())
        return;
      StateOp state = getState(use->weight);
      if (!state || !isa<FloatType>(state.getTensorType().getElementType()) ||
          (state.getRole() != Role::Parameter &&
           state.getRole() != Role::Frozen))
        return;
      Layer &layer = found[use->weight];
      if (layer.kind && layer.kind != kind)
        return;
      layer.kind = kind;
      layer.weight = state;
      layer.isHead |= isOutput(forward, use->result);
      layer.uses.push_back(*use);
    });
  llvm::StringSet<> known;
  for (auto &[weight, layer] : found) {
    StringRef name = layer.weight.getSymName();
    BlockArgument bias = layer.uses.front().bias;
    StateOp biasState = bias ? getState(bias) : StateOp();
    layer.path = findLayerPath(layer.getLoc(), name,
                               biasState ? biasState.getSymName() : "");
    // A module may have several weights, which have names of their own.
    if (!known.insert(layer.path).second) {
      name.consume_back(".weight");
      layer.path = name.str();
    }
    for (Operation *user : weight.getUsers()) {
      auto isUse = [&](const LayerUse &use) {
        return use.product == user &&
               layer.kind->isTransposed(use) == layer.isTransposed();
      };
      if (llvm::none_of(layer.uses, isUse))
        layer.reader = user;
    }
    layers.push_back(std::move(layer));
  }
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

LogicalResult AddAdapters::checkRules() {
  for (const AdapterRule &rule : adapter) {
    if (rule.bias != adapter.begin()->bias)
      return emitOptionError(&getContext(), "adapter",
                             "rules train different biases",
                             "give all of them the same bias=");
    // Files of PEFT have one setting for all layers.
    if (rule.hasMagnitudes() != adapter.begin()->hasMagnitudes())
      return emitOptionError(&getContext(), "adapter",
                             "some rules are dora, and others not",
                             "make all of them dora, or none");
  }
  return success();
}

LogicalResult AddAdapters::failUnmatched(StringRef text) {
  constexpr size_t listed = 4;
  SmallVector<StringRef> paths;
  for (const Layer &layer : layers)
    paths.push_back(layer.path);
  StringRef start = text.take_front(100);
  llvm::stable_sort(paths, [&](StringRef a, StringRef b) {
    return a.edit_distance(start) < b.edit_distance(start);
  });
  std::string list;
  for (StringRef path : ArrayRef(paths).take_front(listed))
    list += (list.empty() ? "'" : ", '") + path.str() + "'";
  if (paths.size() > listed)
    list += " and " + std::to_string(paths.size() - listed) + " more";
  return emitOptionError(
      &getContext(), "adapter", "'" + text + "' matches no layer of the model",
      paths.empty() ? "the model has none with a weight: a matmul "
                      "whose right operand it is, a convolution or "
                      "an embedding"
                    : "it has " + Twine(list) +
                          "; a name is the end of a path, an "
                          "expression /REGEX/ all of it");
}

LogicalResult AddAdapters::checkMatches(const AdapterRule &rule) {
  auto matchesAny = [&](auto match) { return llvm::any_of(layers, match); };
  for (StringRef name : rule.names)
    if (!matchesAny([&](const Layer &layer) {
          return AdapterRule::matchName(name, layer.path);
        }))
      return failUnmatched(name);
  if (!rule.pattern.empty() &&
      !matchesAny([&](const Layer &layer) { return rule.match(layer.path); }))
    return failUnmatched(rule.getText());
  if (matchesAny([&](const Layer &layer) { return layer.rule == &rule; }))
    return success();
  if (rule.isAllLinear() && llvm::all_of(layers, [](const Layer &layer) {
        return layer.isHead || layer.reader || !layer.kind->isLinear();
      }))
    return emitOptionError(
        &getContext(), "adapter",
        "all-linear finds no linear layer but the head of the model",
        "name layers, as in lora@fc; matmuls whose right operand is a weight "
        "are linear layers");
  return emitOptionError(
      &getContext(), "adapter",
      "'" + rule.getText() + "' takes no layer that is left",
      "rules before it, or --adapter-train, have all that it matches");
}

std::string AddAdapters::refuse(const Layer &layer, const AdapterRule &rule) {
  if (layer.reader)
    return "the weight of '" + layer.path + "' is read by '" +
           describeLocation(layer.reader->getLoc()) +
           "' as well, so that no weight could be exported with an adapter";
  for (const LayerUse &use : layer.uses)
    if (StringRef reason = layer.kind->refuse(use, rule.rank); !reason.empty())
      return "'" + layer.path + "' " + reason.str();
  return "";
}

LogicalResult AddAdapters::chooseRules() {
  for (Layer &layer : layers) {
    if (adapterTrain.match(layer.weight.getSymName()))
      continue;
    for (const AdapterRule &rule : adapter) {
      if (!rule.match(layer.path) ||
          (rule.isAllLinear() && !layer.kind->isLinear()))
        continue;
      std::string reason = refuse(layer, rule);
      if (!reason.empty() && !rule.isAllLinear())
        return emitUserError(
            layer.getLoc(), reason,
            "leave the layer out of --adapter" +
                Twine(layer.reader
                          ? ", or export the model with a weight for each"
                          : ""));
      if (rule.isAllLinear() && layer.isHead)
        reason = "it is the head of the model";
      if (reason.empty())
        layer.rule = &rule;
      else
        remark::missed(layer.getLoc(), remarkOptions(getArgument(), "Adapter"))
            << remark::metric("module", layer.path)
            << remark::reason("{0}", reason);
      break;
    }
  }
  for (const AdapterRule &rule : adapter)
    if (failed(checkMatches(rule)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// What is trained
//===----------------------------------------------------------------------===//

LogicalResult AddAdapters::freeze() {
  StringRef bias = adapter.begin()->bias;
  llvm::StringSet<> trained;
  for (Layer &layer : layers)
    for (const LayerUse &use : layer.uses)
      if (bias == "adapters" && layer.rule && use.bias)
        if (StateOp state = getState(use.bias))
          trained.insert(state.getSymName());
  bool isFound = false;
  SmallVector<StringRef> names;
  for (auto state : getOperation().getOps<StateOp>()) {
    if (state.getRole() != Role::Parameter)
      continue;
    StringRef name = state.getSymName();
    names.push_back(name);
    bool isAsked = adapterTrain.match(name);
    isFound |= isAsked;
    if (!isAsked && !trained.contains(name) &&
        !(bias == "all" && name.contains("bias")))
      state.setRole(Role::Frozen);
  }
  if (adapterTrain.empty() || isFound)
    return success();
  return emitOptionError(&getContext(), "adapter-train",
                         "'" + adapterTrain.getText() +
                             "' matches no parameter of the model",
                         "parameters go by the names of the ONNX initializers; "
                         "the expression is found anywhere in them");
}

//===----------------------------------------------------------------------===//
// Adapters
//===----------------------------------------------------------------------===//

int32_t AddAdapters::newStream() {
  if (!lastStream) {
    lastStream = -1;
    getOperation().walk([&](Operation *op) {
      if (auto stream = op->getAttrOfType<IntegerAttr>("stream"))
        lastStream = std::max<int32_t>(*lastStream, stream.getInt());
    });
  }
  return ++*lastStream;
}

/// Returns the argument for the number of the step, or for the seed.
BlockArgument AddAdapters::getScalar(StringRef name, Role role,
                                     StateAdder &states) {
  Signature signature(forward);
  auto type = RankedTensorType::get({}, Builder(&getContext()).getI64Type());
  for (auto state : getOperation().getOps<StateOp>()) {
    if (state.getRole() != role)
      continue;
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    BlockArgument argument = signature.findArgument(symbol);
    return argument ? argument : signature.addState(symbol, type);
  }
  return signature.addState(states.add(name, role, type), type);
}

std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr>
AddAdapters::addMagnitude(Layer &layer, FloatType type, StateAdder &states) {
  auto shaped = RankedTensorType::get(
      layer.kind->getShapeOfMagnitudes(layer.uses.front()), type);
  FlatSymbolRefAttr symbol = states.add(layer.path + ".lora_magnitude_vector",
                                        Role::Parameter, shaped);
  std::vector<double> norms = normsOf(layer.weight, layer.isTransposed());
  auto flat = RankedTensorType::get({static_cast<int64_t>(norms.size())}, type);
  FlatSymbolRefAttr squares = states.add(
      symbol.getValue().str() + kSquaresSuffix.str(), Role::Frozen, flat);
  SmallVector<APFloat> values, squaredValues;
  auto add = [&](SmallVector<APFloat> &to, double value) {
    bool lossy;
    to.emplace_back(value).convert(type.getFloatSemantics(),
                                   APFloat::rmNearestTiesToEven, &lossy);
  };
  for (double norm : norms) {
    add(values, norm);
    add(squaredValues, norm * norm);
  }
  auto setInitial = [&](FlatSymbolRefAttr name, RankedTensorType shape,
                        ArrayRef<APFloat> content) {
    states.find(name.getValue())
        .setInitialAttr(
            cast<ElementsAttr>(DenseElementsAttr::get(shape, content)));
  };
  setInitial(symbol, shaped, values);
  setInitial(squares, flat, squaredValues);
  return {symbol, squares};
}

Value AddAdapters::buildFactor(Layer &layer, Value magnitude, Value squares,
                               Value a, Value b) {
  auto at = OpBuilder::atBlockBegin(&forward.front());
  Location loc = layer.getLoc();
  Arithmetic compute(at, loc);
  // Of filters, a row is one of an output channel.
  auto toRows = [&](Value x) {
    RankedTensorType type = tensorType(x);
    int64_t rows = type.getDimSize(0);
    return reshapeTo(at, loc, x, {rows, type.getNumElements() / rows});
  };
  Value weight = castTo(at, loc, toRows(layer.uses.front().weight),
                        tensorType(a).getElementType());
  a = toRows(a);
  b = toRows(b);
  magnitude =
      reshapeTo(at, loc, magnitude, {tensorType(magnitude).getNumElements()});
  bool isTransposed = layer.isTransposed();
  // |W + s B A|^2 without a matrix of that size: the products have as many
  // columns as the adapter.
  Value mixed = MatmulOp::create(at, loc, weight, a, isTransposed,
                                 /*transpose_rhs=*/true);
  Value gram = MatmulOp::create(at, loc, a, a, /*transpose_lhs=*/false,
                                /*transpose_rhs=*/true);
  Value low = MatmulOp::create(at, loc, b, gram, /*transpose_lhs=*/false,
                               /*transpose_rhs=*/false);
  double scale = layer.rule->getScale();
  Value terms = compute.add(compute.mul(mixed, 2 * scale),
                            compute.mul(low, scale * scale));
  Value squared = compute.add(squares, compute.sum(compute.mul(terms, b), {1}));
  // Rows of zeros stay so.
  Value norm =
      compute.sqrt(compute.max(squared, std::numeric_limits<float>::min()));
  norm = StraightThroughOp::create(at, loc, norm.getType(),
                                   compute.constantLike(norm, 1), norm);
  return compute.div(magnitude, norm);
}

void AddAdapters::addAdapter(Layer &layer, StateAdder &states) {
  const AdapterRule &rule = *layer.rule;
  Builder builder(&getContext());
  auto wide = cast<FloatType>(layer.weight.getTensorType().getElementType());
  if (wide.getWidth() < 32)
    wide = builder.getF32Type();
  const LayerKind &kind = *layer.kind;
  const LayerUse &first = layer.uses.front();
  auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
    return states.add(layer.path + name.str(), Role::Parameter,
                      RankedTensorType::get(shape, wide));
  };
  FlatSymbolRefAttr a =
      add(kind.getNameOfA(), kind.getShapeOfA(first, rule.rank));
  FlatSymbolRefAttr b =
      add(kind.getNameOfB(), kind.getShapeOfB(first, rule.rank));
  RankedTensorType typeA = states.find(a.getValue()).getTensorType();
  RankedTensorType typeB = states.find(b.getValue()).getTensorType();
  int64_t inputs = typeA.getNumElements() / rule.rank;
  // Of deviation 1, as embeddings are drawn.
  double bound = kind.startsWithB()
                     ? std::sqrt(3.0)
                     : 1 / std::sqrt(static_cast<double>(inputs));
  states.find((kind.startsWithB() ? b : a).getValue())
      ->setAttr(kUniformAttr, builder.getF64FloatAttr(bound));
  Signature signature(forward);
  Value valueA = signature.addState(a, typeA);
  Value valueB = signature.addState(b, typeB);
  FlatSymbolRefAttr magnitude;
  Value factor;
  if (rule.hasMagnitudes()) {
    FlatSymbolRefAttr squares;
    std::tie(magnitude, squares) = addMagnitude(layer, wide, states);
    auto read = [&](FlatSymbolRefAttr state) {
      return signature.addState(state,
                                states.find(state.getValue()).getTensorType());
    };
    Value value = read(magnitude);
    factor = buildFactor(layer, value, read(squares), valueA, valueB);
  }

  for (const LayerUse &use : layer.uses) {
    // Magnitudes scale what is before the bias.
    Value result = factor ? use.product->getResult(0) : use.result;
    OpBuilder at(&getContext());
    at.setInsertionPointAfterValue(result);
    Location loc = use.product->getLoc();
    Arithmetic compute(at, loc);
    Value x = kind.getInput(use);
    if (x)
      x = castTo(at, loc, x, wide);
    if (x && rule.dropout > 0) {
      Value seed = getScalar("seed", Role::Seed, states);
      Value step = getScalar("step", Role::Step, states);
      x = DropoutOp::create(at, loc, x, seed, step, llvm::APFloat(rule.dropout),
                            newStream())
              .getResult();
    }
    // Of the fewest elements.
    Value low = compute.mul(kind.buildLow(at, use, x, valueA), rule.getScale());
    RankedTensorType type = tensorType(result);
    Value added = castTo(at, loc, kind.buildHigh(at, use, low, valueB),
                         type.getElementType());
    added = reshapeTo(at, loc, added, type.getShape());
    Value sum = compute.add(result, added), whole = sum;
    if (factor)
      whole = compute.mul(
          sum, compute.broadcast(castTo(at, loc, factor, type.getElementType()),
                                 type.getShape(), {kind.getOutputDim(use)}));
    result.replaceAllUsesExcept(whole, sum.getDefiningOp());
    remark::passed(loc, remarkOptions(getArgument(), "Adapter"))
        << remark::metric("module", layer.path)
        << remark::metric("weight", layer.weight.getSymName())
        << remark::metric("kind", rule.kind)
        << remark::metric("rank", rule.rank)
        << remark::metric("elements", typeA.getNumElements() +
                                          typeB.getNumElements() +
                                          (factor ? typeB.getDimSize(0) : 0));
  }
  ++numAdapters;

  SmallVector<NamedAttribute> fields;
  auto set = [&](StringRef name, Attribute value) {
    fields.push_back(builder.getNamedAttr(name, value));
  };
  set("module", builder.getStringAttr(layer.path));
  set("weight", FlatSymbolRefAttr::get(layer.weight.getSymNameAttr()));
  set("a", a);
  set("b", b);
  set("scale", builder.getF64FloatAttr(rule.getScale()));
  set("alpha", builder.getF64FloatAttr(rule.alpha));
  set("dropout", builder.getF64FloatAttr(rule.dropout));
  set("bias",
      builder.getStringAttr(rule.bias == "adapters" ? "lora_only" : rule.bias));
  if (layer.isTransposed())
    set("transposed", builder.getUnitAttr());
  if (rule.isRankStabilized())
    set("rank_stabilized", builder.getUnitAttr());
  if (magnitude)
    set("magnitude", magnitude);
  described.push_back(builder.getDictionaryAttr(fields));
}

void AddAdapters::addAdapters() {
  StateAdder states(getOperation());
  for (Layer &layer : layers)
    if (layer.rule)
      addAdapter(layer, states);
  getOperation()->setAttr(kAdaptersAttr,
                          ArrayAttr::get(&getContext(), described));
}
