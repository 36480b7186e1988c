// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AddAdapters: low-rank adapters of linear layers are trained in place of the
// model.
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
#include "passes/adapt/Passes.h"
#include "passes/graph/Projection.h"
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
  SmallVector<Projection, 1> uses;
  bool isHead = false;
  /// Another reader of the weight; null if there is none.
  Operation *reader = nullptr;
  const AdapterRule *rule = nullptr;

  /// Whether the weight is [in, out].
  bool isTransposed() const {
    MatmulOp matmul = uses.front().matmul;
    return !matmul.getTransposeRhs();
  }
  int64_t inputs() { return getSize(isTransposed() ? 0 : 1); }
  int64_t outputs() { return getSize(isTransposed() ? 1 : 0); }

private:
  int64_t getSize(unsigned dim) {
    return weight.getTensorType().getDimSize(dim);
  }
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
  /// Whether no other layer and no computation is between the layer and an
  /// output of the model.
  bool isHead(const Projection &use);
  LogicalResult checkRules();
  /// Gives each layer the first rule that matches it.
  LogicalResult chooseRules();
  LogicalResult checkMatches(const AdapterRule &rule);
  LogicalResult failUnmatched(StringRef text);
  /// Freezes the parameters that are not trained.
  LogicalResult freeze();
  void addAdapters();
  void addAdapter(Layer &layer, StateAdder &states);
  /// Adds the state of the norms of the rows of the weight.
  FlatSymbolRefAttr addMagnitude(Layer &layer, FloatType type,
                                 StateAdder &states);
  /// Returns the factor of each row of W + s B A that gives it the norm in
  /// `magnitude`. As in DoRA, its own norm is a constant for gradients.
  Value buildFactor(Layer &layer, Value magnitude, Value a, Value b);
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

bool AddAdapters::isHead(const Projection &use) {
  return llvm::any_of(Signature(forward).getReturn()->getOperands(),
                      [&](Value output) {
                        return skipReshapes(output) == skipReshapes(use.result);
                      });
}

void AddAdapters::findLayers() {
  llvm::MapVector<BlockArgument, Layer> found;
  forward.walk([&](MatmulOp matmul) {
    std::optional<Projection> use = Projection::of(matmul);
    if (!use || use->weight.getOwner() != &forward.front())
      return;
    StateOp state = getState(use->weight);
    if (!state || !isa<FloatType>(state.getTensorType().getElementType()) ||
        (state.getRole() != Role::Parameter && state.getRole() != Role::Frozen))
      return;
    Layer &layer = found[use->weight];
    layer.weight = state;
    layer.isHead |= isHead(*use);
    layer.uses.push_back(*use);
  });
  llvm::StringSet<> known;
  for (auto &[weight, layer] : found) {
    MatmulOp first = layer.uses.front().matmul;
    StringRef name = layer.weight.getSymName();
    layer.path = findLayerPath(first.getLoc(), name);
    // A module may have several weights, which have names of their own.
    if (!known.insert(layer.path).second) {
      name.consume_back(".weight");
      layer.path = name.str();
    }
    for (Operation *user : weight.getUsers()) {
      auto isUse = [&](const Projection &use) {
        return use.matmul == user && MatmulOp(use.matmul).getTransposeRhs() ==
                                         first.getTransposeRhs();
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
  return emitOptionError(&getContext(), "adapter",
                         "'" + text + "' matches no linear layer of the model",
                         paths.empty()
                             ? "the model has none: matmuls whose right "
                               "operand is a weight"
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
        return layer.isHead || layer.reader;
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

LogicalResult AddAdapters::chooseRules() {
  for (Layer &layer : layers) {
    if (adapterTrain.match(layer.weight.getSymName()))
      continue;
    for (const AdapterRule &rule : adapter) {
      if (!rule.match(layer.path))
        continue;
      MatmulOp matmul = layer.uses.front().matmul;
      auto miss = [&](StringRef reason) {
        remark::missed(matmul.getLoc(), remarkOptions(getArgument(), "Adapter"))
            << remark::metric("module", layer.path)
            << remark::reason("{0}", reason);
      };
      if (layer.reader && !rule.isAllLinear())
        return emitUserError(
            matmul.getLoc(),
            "the weight of '" + layer.path + "' is read by '" +
                describeLocation(layer.reader->getLoc()) +
                "' as well, so that no weight could be exported with an "
                "adapter",
            "leave the layer out of --adapter, or export the model with a "
            "weight for each");
      if (rule.isAllLinear() && layer.isHead)
        miss("it is the head of the model");
      else if (layer.reader)
        miss("something else reads its weight");
      else
        layer.rule = &rule;
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
    for (const Projection &use : layer.uses)
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

FlatSymbolRefAttr AddAdapters::addMagnitude(Layer &layer, FloatType type,
                                            StateAdder &states) {
  auto shaped = RankedTensorType::get({layer.outputs()}, type);
  FlatSymbolRefAttr symbol = states.add(layer.path + ".lora_magnitude_vector",
                                        Role::Parameter, shaped);
  SmallVector<APFloat> norms;
  for (double norm : normsOf(layer.weight, layer.isTransposed())) {
    bool lossy;
    norms.emplace_back(norm).convert(type.getFloatSemantics(),
                                     APFloat::rmNearestTiesToEven, &lossy);
  }
  states.find(symbol.getValue())
      .setInitialAttr(
          cast<ElementsAttr>(DenseElementsAttr::get(shaped, norms)));
  return symbol;
}

Value AddAdapters::buildFactor(Layer &layer, Value magnitude, Value a,
                               Value b) {
  auto at = OpBuilder::atBlockBegin(&forward.front());
  Location loc = layer.uses.front().matmul.getLoc();
  Arithmetic compute(at, loc);
  Value weight = castTo(at, loc, layer.uses.front().weight,
                        tensorType(a).getElementType());
  bool isTransposed = layer.isTransposed();
  // |W + s B A|^2 without a matrix of that size: the products have as many
  // columns as the adapter.
  Value base = compute.sum(compute.square(weight), {isTransposed ? 0 : 1});
  Value mixed = MatmulOp::create(at, loc, weight, a, isTransposed,
                                 /*transpose_rhs=*/true);
  Value gram = MatmulOp::create(at, loc, a, a, /*transpose_lhs=*/false,
                                /*transpose_rhs=*/true);
  Value low = MatmulOp::create(at, loc, b, gram, /*transpose_lhs=*/false,
                               /*transpose_rhs=*/false);
  double scale = layer.rule->getScale();
  Value terms = compute.add(compute.mul(mixed, 2 * scale),
                            compute.mul(low, scale * scale));
  Value squared = compute.add(base, compute.sum(compute.mul(terms, b), {1}));
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
  auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
    return states.add(layer.path + name.str(), Role::Parameter,
                      RankedTensorType::get(shape, wide));
  };
  FlatSymbolRefAttr a = add(".lora_A.weight", {rule.rank, layer.inputs()});
  FlatSymbolRefAttr b = add(".lora_B.weight", {layer.outputs(), rule.rank});
  double bound = 1 / std::sqrt(static_cast<double>(layer.inputs()));
  StateOp drawn = states.find(a.getValue());
  drawn->setAttr(kUniformAttr, builder.getF64FloatAttr(bound));
  Signature signature(forward);
  Value valueA = signature.addState(a, drawn.getTensorType());
  Value valueB = signature.addState(
      b, RankedTensorType::get({layer.outputs(), rule.rank}, wide));
  FlatSymbolRefAttr magnitude;
  Value factor;
  if (rule.hasMagnitudes()) {
    magnitude = addMagnitude(layer, wide, states);
    Value value = signature.addState(
        magnitude, states.find(magnitude.getValue()).getTensorType());
    factor = buildFactor(layer, value, valueA, valueB);
  }

  for (const Projection &use : layer.uses) {
    MatmulOp matmul = use.matmul;
    // Magnitudes scale what is before the bias.
    Value result = factor ? matmul.getResult() : use.result;
    OpBuilder at(&getContext());
    at.setInsertionPointAfterValue(result);
    Arithmetic compute(at, matmul.getLoc());
    Location loc = matmul.getLoc();
    Value x = castTo(at, loc, matmul.getLhs(), wide);
    if (rule.dropout > 0) {
      Value seed = getScalar("seed", Role::Seed, states);
      Value step = getScalar("step", Role::Step, states);
      auto mask =
          RankedTensorType::get(tensorType(x).getShape(), builder.getI1Type());
      x = DropoutOp::create(at, loc, TypeRange{x.getType(), mask}, x, seed,
                            step, llvm::APFloat(rule.dropout), newStream())
              .getResult();
    }
    auto multiply = [&](Value lhs, Value rhs) -> Value {
      return MatmulOp::create(at, loc, lhs, rhs, /*transpose_lhs=*/false,
                              /*transpose_rhs=*/true);
    };
    // Of the fewest elements.
    Value low = compute.mul(multiply(x, valueA), rule.getScale());
    RankedTensorType type = tensorType(result);
    Value added = castTo(at, loc, multiply(low, valueB), type.getElementType());
    added = reshapeTo(at, loc, added, type.getShape());
    Value sum = compute.add(result, added), whole = sum;
    if (factor)
      whole = compute.mul(
          sum, compute.broadcast(castTo(at, loc, factor, type.getElementType()),
                                 type.getShape(), {type.getRank() - 1}));
    result.replaceAllUsesExcept(whole, sum.getDefiningOp());
    remark::passed(loc, remarkOptions(getArgument(), "Adapter"))
        << remark::metric("module", layer.path)
        << remark::metric("weight", layer.weight.getSymName())
        << remark::metric("kind", rule.kind)
        << remark::metric("rank", rule.rank)
        << remark::metric("elements",
                          rule.rank * (layer.inputs() + layer.outputs()) +
                              (factor ? layer.outputs() : 0));
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
