// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ApplyOptimizer: gradients become updated parameters.
//
// Assumes a differentiated @train_step.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Imported.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/autodiff/Optimizers.h"
#include "passes/autodiff/PrunedWeights.h"
#include "passes/options/OptionValues.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/StringSaver.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYOPTIMIZER
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The optimizer where neither the options nor the module name one.
static constexpr StringLiteral kDefaultOptimizer = "adamw";
/// torch.nn.utils.clip_grad_norm_'s guard against division by zero.
static constexpr double kClipEpsilon = 1e-6;
static constexpr StringLiteral kClipNormName = "clip_norm";
/// The weight decay of norms and biases, where it is not negative. No group can
/// have the name after the dot.
static constexpr StringLiteral kVectorDecayName = "weight_decay.norms+biases";
/// Streams of random numbers for updates start here; those of the model, which
/// count from 0, end before.
static constexpr int32_t kFirstStream = 1 << 30;

namespace {
/// The optimizers of parameters with the same hyperparameters.
struct Updaters {
  /// The optimizers of matrices, and of norms and biases: each parameter has
  /// the first that accepts it.
  SmallVector<std::unique_ptr<Optimizer>> ofMatrices, ofVectors;

  explicit Updaters(StringRef name)
      : ofMatrices(Optimizer::create(name)),
        ofVectors(Optimizer::create(name)) {}

  // A vector claims that it can be copied.
  Updaters(Updaters &&) = default;
  Updaters &operator=(Updaters &&) = default;

  /// Returns the number of the optimizer of a parameter.
  size_t find(const TrainedParameter &parameter) const {
    return llvm::find_if(
               ofMatrices,
               [&](const auto &one) { return one->accepts(parameter); }) -
           ofMatrices.begin();
  }
};

/// Parameters with hyperparameters of their own.
struct Group {
  std::string name;
  NamePattern pattern;
  Updaters updaters;
  Hyperparameters hyper = {};
  /// Whether its parameters change in this step: a scalar of bits.
  Value isActive = {};
  bool isUsed = false;

  /// The name of a hyperparameter of the group.
  std::string getName(StringRef hyper) const {
    return (hyper + "." + name).str();
  }
};

/// The optimizer that the options ask for.
struct Request {
  std::string name;
  Updaters updaters;
  /// Defaults that an imported optimizer has; null without one.
  DictionaryAttr given = {};
  /// The parameters to which weight decay does not apply.
  NamePattern withoutDecay = {};
  /// Whether norms and biases never decay, and whether some of them may.
  bool vectorsStay = false, vectorsDecay = false;
  std::vector<Group> groups = {};
  /// Moments are stored in bf16, rounded stochastically.
  bool lowMoments = false;
  /// Moments are stored as codes of 8 bits, in blocks.
  bool encodesMoments = false;

  /// Whether weight decay applies to a parameter.
  bool decays(StringRef parameter, RankedTensorType type) const;

  /// Returns the group of a parameter; null if it is in none.
  Group *findGroup(StringRef parameter) {
    for (Group &group : groups)
      if (group.pattern.match(parameter))
        return &group;
    return nullptr;
  }
};

/// Values that all updates of a step share.
struct Shared {
  /// Null without clipping.
  Value clipFactor;
  /// The number of this step.
  Value step;
  /// The elements that updates keep at zero.
  PrunedWeights &pruned;
};

struct ApplyOptimizer : public ingot::impl::ApplyOptimizerBase<ApplyOptimizer> {
  using ApplyOptimizerBase::ApplyOptimizerBase;

  void runOnOperation() override;

private:
  FailureOr<Request> readOptions();
  LogicalResult readGroups(Request &request);
  void startUpdaters(Arithmetic a, Updaters &updaters, StringRef group,
                     const Hyperparameters &ofMatrices,
                     const Hyperparameters *ofVectors, Value step,
                     Value isActive);
  void startGroups(Arithmetic a, Request &request, const Hyperparameters &hyper,
                   Value step);
  LogicalResult checkShards(const Request &request,
                            ArrayRef<const Optimizer *> used);
  LogicalResult checkEncoding(const Request &request,
                              ArrayRef<const Optimizer *> used);
  void moveGradients(OpBuilder &builder, Request &request,
                     const Hyperparameters &hyper, const Optimizer &optimizer,
                     FlatSymbolRefAttr symbol, BlockArgument parameter,
                     ArrayRef<BlockArgument> moments);
  FailureOr<Hyperparameters> addHyperparameters(Signature step,
                                                const Request &request);
  void eraseUnusedMoments(Signature step);
  Value countSteps(Signature step, Arithmetic a, ResultList &results);
  Value clipFactor(Arithmetic a, Value clipNorm, Request &request,
                   ResultList &results);
  void addAccumulators(Signature step, const Request &request);
  void addMoments(FlatSymbolRefAttr parameter, RankedTensorType stored,
                  const Request &request, const Optimizer &optimizer,
                  StateAdder &states,
                  SmallVectorImpl<Signature::State> &moments);
  void updateParameter(OpBuilder &builder, Request &request,
                       const Shared &shared, Value parameter, size_t optimizer,
                       ArrayRef<Signature::State> states,
                       ArrayRef<BlockArgument> moments,
                       ResultList::Entry &result, ResultList &updated);

  /// States of scalars that updates share, in the order of their results.
  struct Accumulator {
    std::string name;
    BlockArgument argument;
    FlatSymbolRefAttr symbol;
    Value next;
  };
  SmallVector<Accumulator> accumulators;
};
} // namespace

namespace {
/// The ways in which a differentiated step uses its parameters.
class ParameterUses {
public:
  explicit ParameterUses(Signature step);

  TrainedParameter describe(BlockArgument parameter) const {
    return {tensorType(parameter), embeddings.contains(parameter),
            heads.contains(parameter)};
  }

private:
  void findHeads(Value loss, const llvm::DenseSet<Value> &trained);

  llvm::DenseSet<Value> embeddings, heads;
};
} // namespace

/// Returns the value behind casts, copies and moves of elements.
static Value rootOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<CastOp, BroadcastOp>(def) && !isa<MovesElements>(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

ParameterUses::ParameterUses(Signature step) {
  llvm::DenseSet<Value> trained;
  ResultList results = ResultList::of(step);
  for (const ResultList::Entry &entry : results.entries)
    if (entry.gradient())
      trained.insert(step.findArgument(entry.gradient()));
  step.getFunction().walk(
      [&](GatherOp gather) { embeddings.insert(rootOf(gather.getOperand())); });
  step.getFunction().walk([&](AddOp add) {
    for (Value operand : add->getOperands())
      embeddings.insert(rootOf(operand));
  });
  if (std::optional<unsigned> loss = step.findResult("loss"))
    findHeads(results.entries[*loss].value, trained);
}

/// Finds the parameters of the first products on each way back from the loss.
void ParameterUses::findHeads(Value loss,
                              const llvm::DenseSet<Value> &trained) {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      ops.insert(def);
  };
  add(loss);
  for (size_t i = 0; i < ops.size(); ++i) {
    auto role = dyn_cast<PrecisionRole>(ops[i]);
    if (role && role.getPrecisionRole() == Precision::Low) {
      bool isProduct = false;
      for (Value operand : ops[i]->getOperands())
        if (Value root = rootOf(operand); trained.contains(root)) {
          heads.insert(root);
          isProduct = true;
        }
      if (isProduct)
        continue;
    }
    llvm::for_each(ops[i]->getOperands(), add);
  }
}

/// Whether a parameter is one of a norm or a bias, by its shape or, if that has
/// dimensions of 1 around it, by its name.
static bool isVector(StringRef name, RankedTensorType type) {
  if (type.getRank() <= 1)
    return true;
  std::string plain = name.lower();
  StringRef text = plain;
  return llvm::count_if(type.getShape(),
                        [](int64_t size) { return size != 1; }) <= 1 &&
         (text.contains("bias") || text.contains("norm"));
}

bool Request::decays(StringRef parameter, RankedTensorType type) const {
  return !(vectorsStay && isVector(parameter, type)) &&
         !withoutDecay.match(parameter);
}

/// The element type that updates are computed in.
static Type updateElement(RankedTensorType parameter) {
  auto element = cast<FloatType>(parameter.getElementType());
  return element.getWidth() < 32 ? Float32Type::get(element.getContext())
                                 : element;
}

FailureOr<Request> ApplyOptimizer::readOptions() {
  std::string chosen = optimizer;
  DictionaryAttr given;
  if (optimizer.empty()) {
    given = getOperation()->getAttrOfType<DictionaryAttr>(kGivenOptimizerAttr);
    auto name = given ? given.getAs<StringAttr>("name") : StringAttr();
    chosen = name ? name.str() : kDefaultOptimizer.str();
  }
  if (llvm::Error error =
          checkChoice("optimizer", chosen, Optimizer::getNames()))
    return emitUserError(&getContext(), std::move(error));
  if (llvm::Error error = checkChoice("optimizer-precision", optimizerPrecision,
                                      kOptimizerPrecisions))
    return emitUserError(&getContext(), std::move(error));
  Request request{chosen, Updaters(chosen), given};
  request.vectorsStay = noDecay.getText() == kNormsAndBiases;
  request.lowMoments = optimizerPrecision == "bf16";
  request.encodesMoments = optimizerPrecision == "dyn8";
  if (!request.vectorsStay)
    request.withoutDecay = noDecay;
  if (failed(readGroups(request)))
    return failure();
  return request;
}

LogicalResult ApplyOptimizer::readGroups(Request &request) {
  for (const auto &[name, pattern] : *group) {
    for (const Group &other : request.groups)
      if (other.name == name)
        return emitOptionError(&getContext(), "group",
                               "there are two groups '" + name + "'",
                               "give each a name of its own");
    request.groups.push_back({name, pattern, Updaters(request.name)});
  }
  return success();
}

/// The name of a state that all updates of a group share.
static std::string getAccumulatorName(const Optimizer &optimizer,
                                      StringRef group, StringRef accumulator) {
  std::string name = optimizer.getName().str();
  if (!group.empty())
    name += "." + group.str();
  return name + "/" + accumulator.str();
}

/// A number if it is not negative, else another one.
static Value orElse(Arithmetic a, Value given, Value other) {
  return given ? a.select(a.compare(Predicate::LT, given, 0.0), other, given)
               : other;
}

/// Builds the scalars of optimizers; `group` is empty for parameters in none.
void ApplyOptimizer::startUpdaters(Arithmetic a, Updaters &updaters,
                                   StringRef group,
                                   const Hyperparameters &ofMatrices,
                                   const Hyperparameters *ofVectors, Value step,
                                   Value isActive) {
  for (auto [matrices, vectors] :
       llvm::zip_equal(updaters.ofMatrices, updaters.ofVectors)) {
    SmallVector<Value> before, next;
    MutableArrayRef<Accumulator> own = accumulators;
    if (!matrices->accumulators().empty()) {
      std::string name = getAccumulatorName(*matrices, group,
                                            matrices->accumulators().front());
      own = own.drop_until(
          [&](const Accumulator &one) { return one.name == name; });
    }
    own = own.take_front(matrices->accumulators().size());
    for (const Accumulator &one : own)
      before.push_back(one.argument);
    // Both compute the same: they differ in their decay.
    next = before;
    vectors->accumulate(a, ofVectors ? *ofVectors : ofMatrices, step, next);
    next = before;
    matrices->accumulate(a, ofMatrices, step, next);
    for (auto [one, value] : llvm::zip_equal(own, next))
      one.next = isActive ? a.select(isActive, value, one.argument) : value;
    matrices->buildScalars(a, ofMatrices, step);
    if (ofVectors)
      vectors->buildScalars(a, *ofVectors, step);
  }
}

/// Builds the scalars of each group.
void ApplyOptimizer::startGroups(Arithmetic a, Request &request,
                                 const Hyperparameters &hyper, Value step) {
  for (Group &group : request.groups) {
    Hyperparameters &own = group.hyper = hyper;
    own["lr"] = a.mul(hyper.lookup("lr"), hyper.lookup(group.getName("lr")));
    Value decay = hyper.lookup("weight_decay");
    Value given = hyper.lookup(group.getName("weight_decay"));
    if (decay)
      own["weight_decay"] = orElse(a, given, decay);
    // What a step before the first computes is not used.
    Value steps = a.sub(step, hyper.lookup(group.getName("start")));
    group.isActive = a.compare(Predicate::GT, steps, 0.0);
    Hyperparameters ofVectors = own;
    if (request.vectorsDecay)
      ofVectors["weight_decay"] =
          orElse(a, given, orElse(a, hyper.lookup(kVectorDecayName), decay));
    startUpdaters(a, group.updaters, group.name, own,
                  request.vectorsDecay ? &ofVectors : nullptr,
                  a.max(steps, 1.0), group.isActive);
  }
}

static bool isDecay(const Hyperparameter &hyper) {
  return hyper.name == "weight_decay";
}

FailureOr<Hyperparameters>
ApplyOptimizer::addHyperparameters(Signature step, const Request &request) {
  Builder builder(&getContext());
  SmallVector<Hyperparameter> all;
  for (const auto &optimizer : request.updaters.ofMatrices)
    for (const Hyperparameter &hyper : optimizer->hyperparameters())
      if (llvm::none_of(all, [&](const Hyperparameter &other) {
            return other.name == hyper.name;
          }))
        all.push_back(hyper);
  if (clip)
    all.push_back({kClipNormName, clipNorm});
  bool decays = llvm::any_of(all, isDecay);
  if (request.vectorsDecay)
    all.push_back({kVectorDecayName, -1.0});
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver names(allocator);
  for (const Group &group : request.groups) {
    all.push_back({names.save(group.getName("lr")), 1.0});
    if (decays)
      all.push_back({names.save(group.getName("weight_decay")), -1.0});
    all.push_back({names.save(group.getName("start")), 0.0});
  }
  for (Hyperparameter &hyper : all)
    if (auto value = request.given ? request.given.getAs<FloatAttr>(hyper.name)
                                   : FloatAttr())
      hyper.initial = value.getValueAsDouble();
  Hyperparameters values;
  SmallVector<Attribute> defaults;
  for (const Hyperparameter &hyper : all) {
    if (failed(step.checkIsFree(hyper.name)))
      return failure();
    values[hyper.name] = step.addInput(
        hyper.name, "hyper", RankedTensorType::get({}, builder.getF64Type()));
    defaults.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", builder.getStringAttr(hyper.name)),
         builder.getNamedAttr("default",
                              builder.getF64FloatAttr(hyper.initial))}));
  }
  getOperation()->setAttr(kHyperparametersAttr, builder.getArrayAttr(defaults));
  return values;
}

/// Adds one to the count of steps, which may be there already for random
/// numbers; returns the number of this step, from 1.
Value ApplyOptimizer::countSteps(Signature step, Arithmetic a,
                                 ResultList &results) {
  auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  FlatSymbolRefAttr symbol;
  for (StateOp state : getOperation().getOps<StateOp>())
    if (state.getRole() == Role::Step)
      symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
  if (!symbol)
    symbol = addState(getOperation(), "step", Role::Step, type);
  Value count = step.findArgument(symbol);
  if (!count)
    count = step.addState(symbol, type);
  for (const ResultList::Entry &entry : results.entries)
    if (entry.state() == symbol)
      return entry.value;
  Value next = a.add(count, 1.0);
  results.addState(symbol, next);
  return next;
}

/// min(1, clip_norm / (norm of all gradients + epsilon)), or 1 for a clip_norm
/// of 0; reports the norm.
Value ApplyOptimizer::clipFactor(Arithmetic a, Value clipNorm, Request &request,
                                 ResultList &results) {
  Type f64 = Float64Type::get(&getContext());
  Value squares;
  for (const ResultList::Entry &entry : results.entries) {
    if (!entry.gradient())
      continue;
    Value gradient =
        a.cast(entry.value, updateElement(tensorType(entry.value)));
    Value sum = a.cast(sumSquares(a, gradient), f64);
    if (Group *group = request.findGroup(entry.gradient().getValue()))
      sum = a.select(group->isActive, sum, 0.0);
    squares = squares ? a.add(squares, sum) : sum;
  }
  Value norm = a.sqrt(squares);
  results.addNamed("grad_norm", a.cast(norm, Float32Type::get(&getContext())));
  std::rotate(std::next(results.entries.begin()),
              std::prev(results.entries.end()), results.entries.end());
  Value factor = a.min(a.div(clipNorm, a.add(norm, kClipEpsilon)), 1.0);
  return a.select(a.compare(Predicate::GT, clipNorm, 0.0), factor, 1.0);
}

/// Moments are stored in bf16 for parameters that are updated in fp32.
static bool storesLow(const Request &request, RankedTensorType parameter) {
  return request.lowMoments && updateElement(parameter).isF32();
}

/// Returns how a moment of a parameter is encoded, if it is. That of a small
/// parameter is not worth it, as in bitsandbytes.
static std::optional<quantization::Encoding>
findEncoding(const Request &request, const Optimizer &optimizer,
             RankedTensorType parameter, const Moment &moment) {
  constexpr int64_t leastElements = 4096, block = 256;
  static_assert(block == BucketLayout::kShardBlock &&
                leastElements == BucketLayout::kLeastEncoded);
  if (!request.encodesMoments || !updateElement(parameter).isF32() ||
      parameter.getNumElements() < leastElements ||
      ArrayRef(moment.shape) != parameter.getShape())
    return std::nullopt;
  return quantization::Encoding::ofDynamic(optimizer.hasSign(moment.name),
                                           block);
}

/// Adds the states that a moment is encoded in.
static SmallVector<Signature::State>
addEncoded(StringRef name, RankedTensorType type,
           const quantization::Encoding &encoding, StateAdder &states) {
  MLIRContext *context = type.getContext();
  SmallVector<Signature::State> added;
  SmallVector<Attribute> parts;
  FlatSymbolRefAttr whole = states.add(name, Role::Moment, type);
  for (auto [i, part] : llvm::enumerate(
           getPartTypes(context, encoding, type.getNumElements()))) {
    // Codes of zero.
    double initial =
        i == 0 ? quantization::DynamicCode::of(encoding).find(0) : 0;
    FlatSymbolRefAttr symbol = states.add(getPartName(whole.getValue(), i),
                                          Role::Moment, part, initial);
    if (i > 0)
      states.find(symbol.getValue())
          ->setAttr(kBlockAttr,
                    Builder(context).getI64IntegerAttr(encoding.block));
    added.push_back({symbol, part});
    parts.push_back(symbol);
  }
  setEncoding(states.find(whole.getValue()), encoding, parts,
              /*transposed=*/false);
  return added;
}

/// Appends the states of a parameter's moments.
void ApplyOptimizer::addMoments(FlatSymbolRefAttr parameter,
                                RankedTensorType stored, const Request &request,
                                const Optimizer &optimizer, StateAdder &states,
                                SmallVectorImpl<Signature::State> &moments) {
  for (const Moment &moment : optimizer.getMoments(stored)) {
    // Sums over dimensions are small, and many elements depend on each.
    bool isLow = storesLow(request, stored) &&
                 ArrayRef(moment.shape) == stored.getShape();
    Type element =
        isLow ? BFloat16Type::get(&getContext()) : updateElement(stored);
    auto type = RankedTensorType::get(moment.shape, element);
    std::string name = (parameter.getValue() + "/" + moment.name).str();
    if (auto encoding = findEncoding(request, optimizer, stored, moment)) {
      llvm::append_range(moments, addEncoded(name, type, *encoding, states));
      continue;
    }
    // An imported step may come with moments, from which training goes on.
    StateOp known = states.find(name);
    bool isKnown = known && known.getRole() == Role::Moment &&
                   known.getTensorType() == type;
    moments.push_back({isKnown ? FlatSymbolRefAttr::get(known)
                               : states.add(name, Role::Moment, type),
                       type});
  }
}

/// Forward and backward pass read the weights that gradients are asked at in
/// place of the parameter, if the optimizer has some.
void ApplyOptimizer::moveGradients(OpBuilder &builder, Request &request,
                                   const Hyperparameters &hyper,
                                   const Optimizer &optimizer,
                                   FlatSymbolRefAttr symbol,
                                   BlockArgument parameter,
                                   ArrayRef<BlockArgument> moments) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = parameter.getOwner();
  Operation *before = block->empty() ? nullptr : &block->front();
  builder.setInsertionPointToStart(block);
  Arithmetic a(builder, NameLoc::get(symbol.getRootReference()));
  Type element = updateElement(tensorType(parameter));
  SmallVector<Value> wide;
  // No optimizer whose moments are encoded moves gradients.
  if (request.encodesMoments)
    return;
  for (Value moment : moments)
    wide.push_back(a.cast(moment, element));
  Value point =
      optimizer.buildPoint(a, hyper, a.cast(parameter, element), wide);
  if (!point)
    return;
  point = a.cast(point, tensorType(parameter).getElementType());
  llvm::SmallPtrSet<Operation *, 8> own;
  for (Operation &op : *block) {
    if (&op == before)
      break;
    own.insert(&op);
  }
  parameter.replaceUsesWithIf(point, [&](OpOperand &use) {
    return !own.contains(use.getOwner()) &&
           !use.getOwner()->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Replaces the gradient in `result` by the updated parameter, and appends the
/// updated moments to `updated`.
void ApplyOptimizer::updateParameter(OpBuilder &builder, Request &request,
                                     const Shared &shared, Value parameter,
                                     size_t optimizer,
                                     ArrayRef<Signature::State> states,
                                     ArrayRef<BlockArgument> moments,
                                     ResultList::Entry &result,
                                     ResultList &updated) {
  FlatSymbolRefAttr symbol = result.gradient();
  Location loc = NameLoc::get(symbol.getRootReference());
  Arithmetic a(builder, loc);
  RankedTensorType stored = tensorType(parameter);
  RankedTensorType type = withElement(stored, updateElement(stored));
  Group *group = request.findGroup(symbol.getValue());
  bool isApart = request.vectorsDecay && isVector(symbol.getValue(), stored);
  Updaters &updaters = group ? group->updaters : request.updaters;
  Optimizer &updater =
      *(isApart ? updaters.ofVectors : updaters.ofMatrices)[optimizer];
  SmallVector<std::optional<quantization::Encoding>> encodings;
  for (const Moment &moment : updater.getMoments(stored))
    encodings.push_back(findEncoding(request, updater, stored, moment));
  bool isEncoded =
      llvm::any_of(encodings, [](const auto &one) { return one.has_value(); });

  ParameterUpdate one{builder,
                      a.cast(parameter, type.getElementType()),
                      a.cast(result.value, type.getElementType()),
                      {},
                      request.decays(symbol.getValue(), stored)};
  // Blocks follow one another in memory, whatever the shape.
  if (isEncoded) {
    type =
        RankedTensorType::get({type.getNumElements()}, type.getElementType());
    one.parameter = a.reshape(one.parameter, type.getShape());
    one.gradient = a.reshape(one.gradient, type.getShape());
  }
  if (shared.clipFactor)
    one.gradient = a.mul(
        one.gradient, a.fill(a.cast(shared.clipFactor, type.getElementType()),
                             type.getShape()));
  ArrayRef<BlockArgument> unread = moments;
  for (const auto &encoding : encodings) {
    Value moment = unread.consume_front();
    if (encoding)
      moment =
          decodeBlocks(builder, loc, *encoding, moment, unread.consume_front());
    one.moments.push_back(a.cast(moment, type.getElementType()));
  }
  // What states have before and after the update. Codes of what has been
  // decoded are not always those that it is of.
  SmallVector<Value> before(one.moments);
  Value value = updater.buildUpdate(a, one);
  if (auto least = findState(getOperation(), symbol)
                       ->getAttrOfType<FloatAttr>(kLeastAttr))
    value = a.max(value, least.getValueAsDouble());
  value = shared.pruned.clear(builder, symbol, value);
  for (Value &moment : one.moments)
    moment = shared.pruned.clear(builder, symbol, moment);
  if (isEncoded) {
    before.assign(moments.begin(), moments.end());
    SmallVector<Value> parts;
    for (auto [moment, encoding] : llvm::zip_equal(one.moments, encodings)) {
      if (!encoding) {
        parts.push_back(moment);
        continue;
      }
      auto [codes, scales] = encodeBlocks(builder, loc, *encoding, moment);
      parts.append({codes, scales});
    }
    one.moments = std::move(parts);
  }
  if (group) {
    group->isUsed = true;
    auto choose = [&](Value next, Value old) {
      Value isActive = a.fill(group->isActive, tensorType(old).getShape());
      return a.select(isActive, next, old);
    };
    value = choose(value, one.parameter);
    for (auto [moment, old] : llvm::zip_equal(one.moments, before))
      moment = choose(moment, old);
  }
  ResultList next;
  next.addState(symbol, a.cast(a.reshape(value, stored.getShape()),
                               stored.getElementType()));
  result = next.entries.front();
  if (storesLow(request, stored) && !one.moments.empty()) {
    // One number serves all moments of an element: each is right on average.
    // The model's seed, which differs between ranks, has no part in it.
    Value seed = a.constant(tensorType(shared.step), 0);
    auto stream = static_cast<int32_t>(kFirstStream + updated.entries.size());
    Value drawn =
        RandomUniformOp::create(builder, loc, type, seed, shared.step, stream);
    for (auto [old, moment] : llvm::zip_equal(moments, one.moments))
      if (tensorType(old).getElementType().isBF16())
        moment = StochasticRoundOp::create(builder, loc, old.getType(), moment,
                                           drawn);
  }
  for (auto [state, moment] : llvm::zip_equal(states, one.moments))
    updated.addState(state.symbol, moment);
  ++numUpdated;
  numMoments += moments.size();
  remark::analysis(loc, remarkOptions(getArgument(), "Update"))
      << remark::metric("parameter", symbol.getValue())
      << remark::metric("optimizer", updater.getName())
      << remark::metric("weight_decay", one.decays);
}

/// Adds the scalars that updates share.
void ApplyOptimizer::addAccumulators(Signature step, const Request &request) {
  auto type = RankedTensorType::get({}, Float64Type::get(&getContext()));
  auto add = [&](const Updaters &updaters, StringRef group) {
    for (const auto &optimizer : updaters.ofMatrices)
      for (StringRef name : optimizer->accumulators()) {
        std::string full = getAccumulatorName(*optimizer, group, name);
        FlatSymbolRefAttr symbol =
            addState(getOperation(), full, Role::Moment, type);
        accumulators.push_back({full, step.addState(symbol, type), symbol, {}});
      }
  };
  add(request.updaters, "");
  for (const Group &group : request.groups)
    add(group.updaters, group.name);
}

/// An optimizer that needs whole parameters cannot update shards.
LogicalResult ApplyOptimizer::checkShards(const Request &request,
                                          ArrayRef<const Optimizer *> used) {
  if (!shards)
    return success();
  for (const Optimizer *optimizer : used)
    if (StringRef reason = optimizer->needsWhole(); !reason.empty())
      return emitOptionError(
          &getContext(), "zero",
          "the optimizer '" + request.name + "' needs " + reason.str() +
              ", of which each rank would have a part",
          "compile with --zero 0, or with an elementwise optimizer such as "
          "adamw");
  return success();
}

/// An optimizer whose updates are not of elements cannot decode and encode
/// block by block.
LogicalResult ApplyOptimizer::checkEncoding(const Request &request,
                                            ArrayRef<const Optimizer *> used) {
  if (!request.encodesMoments)
    return success();
  for (const Optimizer *optimizer : used)
    if (StringRef reason = optimizer->whyNotInBlocks(); !reason.empty())
      return emitOptionError(
          &getContext(), "optimizer-precision",
          "dyn8: the optimizer '" + request.name + "' needs " + reason.str() +
              ", and moments are decoded a block at a time",
          "leave it out, or choose an elementwise optimizer such as adamw");
  return success();
}

/// Erases moments that an imported step came with and the optimizer has no use
/// for.
void ApplyOptimizer::eraseUnusedMoments(Signature step) {
  SmallVector<StateOp> unused;
  auto arguments = step.mapStates();
  for (StateOp state : getOperation().getOps<StateOp>())
    if (state.getRole() == Role::Moment && !getEncoding(state) &&
        !arguments.contains(FlatSymbolRefAttr::get(state.getSymNameAttr())))
      unused.push_back(state);
  if (unused.empty())
    return;
  emitUserWarning(getOperation().getLoc(),
                  "the checkpoint's " + Twine(unused.size()) + " moments ('" +
                      unused.front().getSymName() +
                      "', ...) are of no use: the optimizer's start at zero",
                  "train with the checkpoint's optimizer, and its moments in "
                  "fp32, to go on where it was");
  for (StateOp state : unused)
    state.erase();
}

void ApplyOptimizer::runOnOperation() {
  ModuleOp module = getOperation();
  func::FuncOp func = findFunction(module, kTrainStepName);
  if (!func)
    return;
  Signature step(func);
  ResultList results = ResultList::of(step);
  if (!results.hasGradients())
    return;
  FailureOr<Request> request = readOptions();
  if (failed(request))
    return signalPassFailure();

  // An imported optimizer clips if its model does.
  clip = clip || (request->given && request->given.get(kClipNormName));
  auto parameters = step.mapStates();
  request->vectorsDecay =
      llvm::any_of(request->updaters.ofMatrices,
                   [](const auto &optimizer) {
                     return llvm::any_of(optimizer->hyperparameters(), isDecay);
                   }) &&
      llvm::any_of(results.entries, [&](const ResultList::Entry &entry) {
        FlatSymbolRefAttr symbol = entry.gradient();
        if (!symbol)
          return false;
        RankedTensorType type = tensorType(parameters.lookup(symbol));
        return isVector(symbol.getValue(), type) &&
               request->decays(symbol.getValue(), type);
      });
  // The optimizer of each gradient, in the order of the results.
  SmallVector<size_t> chosen;
  SmallVector<const Optimizer *> used;
  std::optional<ParameterUses> uses;
  for (const ResultList::Entry &entry : results.entries) {
    FlatSymbolRefAttr symbol = entry.gradient();
    if (!symbol)
      continue;
    size_t number = 0;
    if (request->updaters.ofMatrices.size() > 1) {
      if (!uses)
        uses.emplace(step);
      number =
          request->updaters.find(uses->describe(parameters.lookup(symbol)));
    }
    chosen.push_back(number);
    used.push_back(request->updaters.ofMatrices[number].get());
  }
  if (!chosen.empty() && !llvm::is_contained(chosen, 0u))
    emitUserWarning(
        module.getLoc(),
        "no parameter is of a kind that the optimizer '" + request->name +
            "' updates: " + used.front()->getName() + " trains all of them",
        "choose --optimizer " + used.front()->getName() +
            ", or see docs/guide/optimizers.md");
  if (failed(checkShards(*request, used)) ||
      failed(checkEncoding(*request, used)))
    return signalPassFailure();
  FailureOr<Hyperparameters> added = addHyperparameters(step, *request);
  if (failed(added))
    return signalPassFailure();
  const Hyperparameters &hyper = *added;
  addAccumulators(step, *request);
  OpBuilder builder(step.getReturn());
  // Before anything is computed from gradients.
  PrunedWeights pruned(step, results);
  for (ResultList::Entry &entry : results.entries)
    if (entry.gradient())
      entry.value = pruned.clear(builder, entry.gradient(), entry.value);
  Location loc = NameLoc::get(builder.getStringAttr(request->name));
  Arithmetic a(builder, loc);
  Shared shared{{}, {}, pruned};
  // The norm leaves out what does not change in this step.
  auto startStep = [&] {
    shared.step = countSteps(step, a, results);
    Value number = a.cast(shared.step, builder.getF64Type());
    startGroups(a, *request, hyper, number);
    return number;
  };
  Value number;
  if (!request->groups.empty())
    number = startStep();
  if (clip)
    shared.clipFactor =
        clipFactor(a, hyper.lookup(kClipNormName), *request, results);
  if (!number)
    number = startStep();
  Hyperparameters ofVectors = hyper;
  if (request->vectorsDecay)
    ofVectors["weight_decay"] =
        orElse(a, hyper.lookup(kVectorDecayName), hyper.lookup("weight_decay"));
  startUpdaters(a, request->updaters, "", hyper,
                request->vectorsDecay ? &ofVectors : nullptr, number,
                /*isActive=*/{});

  // All moments become arguments together: each time is linear in the number
  // of arguments.
  StateAdder adder(module);
  auto stateArguments = step.mapStates();
  SmallVector<Signature::State> states;
  SmallVector<size_t> firsts;
  for (const ResultList::Entry &entry : results.entries)
    if (FlatSymbolRefAttr symbol = entry.gradient()) {
      const Optimizer &optimizer = *used[firsts.size()];
      firsts.push_back(states.size());
      addMoments(symbol, tensorType(stateArguments.lookup(symbol)), *request,
                 optimizer, adder, states);
    }
  firsts.push_back(states.size());
  SmallVector<BlockArgument> arguments = step.addStates(states);
  ResultList moments;
  size_t index = 0;
  for (ResultList::Entry &entry : results.entries) {
    FlatSymbolRefAttr symbol = entry.gradient();
    if (!symbol)
      continue;
    size_t first = firsts[index], count = firsts[index + 1] - first;
    auto own = ArrayRef(arguments).slice(first, count);
    BlockArgument parameter = stateArguments.lookup(symbol);
    Group *group = request->findGroup(symbol.getValue());
    // Before the update, which reads the parameter itself.
    moveGradients(builder, *request, group ? group->hyper : hyper, *used[index],
                  symbol, parameter, own);
    updateParameter(builder, *request, shared, parameter, chosen[index],
                    ArrayRef(states).slice(first, count), own, entry, moments);
    ++index;
  }
  for (const Accumulator &one : accumulators)
    moments.addState(one.symbol, one.next);
  for (const Group &group : request->groups)
    if (!group.isUsed) {
      (void)emitOptionError(
          &getContext(), "group",
          "no parameter that is trained has a name for group '" + group.name +
              "'",
          "the names are those of the ONNX initializers; a parameter is in the "
          "first group that finds its name");
      return signalPassFailure();
    }
  results.entries.append(moments.entries);
  results.apply(step);
  // Scalars that this model does not use, such as decay where nothing decays.
  step.eraseUnused();
  eraseUnusedMoments(step);
  module->removeAttr(kGivenOptimizerAttr);
  module->setAttr(kOptimizerAttr, builder.getStringAttr(request->name));
}
