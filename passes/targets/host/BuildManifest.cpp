// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/BuildManifest.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Adapters.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "runtime/abi/Abi.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using runtime::DType;
using runtime::WeightsKind;

/// Returns the case of an enum of the manifest that the IR names alike.
template <typename Enum> static Enum findCase(StringRef name) {
  std::optional<Enum> known = runtime::parseName<Enum>(name);
  if (!known)
    llvm::report_fatal_error("the manifest has no '" + name + "'");
  return *known;
}

static std::vector<std::string> listStrings(ArrayAttr strings) {
  std::vector<std::string> texts;
  if (strings)
    for (auto text : strings.getAsRange<StringAttr>())
      texts.push_back(text.str());
  return texts;
}

static void describeTensor(StringRef name, ShapedType type,
                           runtime::TensorSpec &described) {
  described.name = name.str();
  described.dtype = getDType(type.getElementType());
  described.shape = type.getShape().vec();
}

/// Describes of which tensor the state is a part.
static runtime::PartitionSpec describePartition(StateOp state) {
  RankedTensorType whole = state.getWholeType();
  Partition partition =
      Partition::get(state->getAttr(kPartitionAttr), whole, Mesh::of(state));
  runtime::PartitionSpec described;
  described.whole = whole.getShape().vec();
  for (const DimPartition &dim : partition.getDims()) {
    runtime::SplitDim &split = described.dims.emplace_back();
    for (int64_t axis : dim.axes)
      split.axes |= int64_t(1) << axis;
    if (dim.segments.size() > 1)
      split.segments.assign(dim.segments.begin(), dim.segments.end());
    split.pad = dim.pad;
  }
  return described;
}

static runtime::EncodingSpec
describeEncoding(DictionaryAttr encoding, ArrayRef<FlatSymbolRefAttr> parts) {
  runtime::EncodingSpec described;
  described.kind = findCase<runtime::EncodingKind>(
      encoding.getAs<StringAttr>("kind").getValue());
  described.block = encoding.getAs<IntegerAttr>("block").getInt();
  described.transposed = encoding.contains("transposed");
  for (FlatSymbolRefAttr part : parts)
    described.parts.push_back(part.getValue().str());
  return described;
}

static runtime::StateSpec describeState(StateOp state, WeightsKind weights) {
  runtime::StateSpec described;
  describeTensor(state.getSymName(), state.getTensorType(), described);
  described.role = findCase<runtime::StateRole>(stringifyRole(state.getRole()));
  runtime::InitSpec &init = described.init;
  bool isDrawn =
      weights == WeightsKind::None && state.getRole() == Role::Parameter;
  if (state.getOf()) {
    init.kind = runtime::InitKind::Copy;
    init.of = state.getOf()->str();
  } else if (auto bound = state->getAttrOfType<FloatAttr>(kUniformAttr)) {
    init.kind = runtime::InitKind::Uniform;
    init.bound = bound.getValueAsDouble();
  } else if (std::optional<double> value = splatValue(state);
             value && (!isDrawn || !std::isnan(*value))) {
    init.kind = runtime::InitKind::Fill;
    init.value = *value;
  } else if (isDrawn) {
    init.kind = runtime::InitKind::Normal;
    std::tie(init.mean, init.deviation) = momentsOf(state);
    // Of a model without data. The deviation is that of many language models.
    constexpr double usual = 0.02;
    if (std::isnan(*init.mean)) {
      init.mean = 0;
      init.deviation = usual;
    }
  }
  if (auto home = state->getAttrOfType<StringAttr>(exec::kHomeAttr))
    described.home = findCase<runtime::StateHome>(home);
  if (DictionaryAttr encoding = getEncoding(state))
    described.encoding = describeEncoding(encoding, getParts(state));
  if (described.home == runtime::StateHome::File ||
      described.home == runtime::StateHome::Encoded)
    return described;
  if (std::optional<ArrayAttr> halves = state.getHalves())
    for (auto half : halves->getAsRange<FlatSymbolRefAttr>())
      described.halves.push_back(half.getValue().str());
  else
    described.offset =
        state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr).getInt();
  if (ShardAttr shard = state.getShardAttr()) {
    described.shard = {shard.getFirst(), shard.getOf()};
    described.shardBlock = getStateBlock(state);
  }
  if (state.getWhole())
    described.partition = describePartition(state);
  return described;
}

/// Describes what the integers of an input index, if anything is known.
static void describeIndices(DictionaryAttr known, runtime::InputSpec &input) {
  if (!known)
    return;
  if (auto ignored = known.getAs<IntegerAttr>(kIgnoredAttr))
    input.ignored = ignored.getInt();
  if (auto pairs = known.getAs<DenseI64ArrayAttr>(kRowsAttr))
    for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
      input.indexed.push_back({pairs[i], pairs[i + 1]});
}

static runtime::InputSpec describeInput(exec::ValueAttr value,
                                        DictionaryAttr indices) {
  runtime::InputSpec input;
  describeTensor(value.getName(), value.getType(), input);
  input.offset = value.getOffset();
  input.kind = findCase<runtime::InputKind>(value.getKind());
  if (value.getClasses() != 0)
    input.classes = value.getClasses();
  if (indices)
    describeIndices(indices.getAs<DictionaryAttr>(value.getName()), input);
  return input;
}

/// Returns the number of elements from the first to the last of a buffer,
/// including those between its rows.
static int64_t countSpanned(MemRefType type) {
  if (type.getNumElements() == 0)
    return 0;
  int64_t last = 0;
  for (auto [size, stride] :
       llvm::zip_equal(type.getShape(), type.getStridesAndOffset().first))
    last += (size - 1) * stride;
  return last + 1;
}

/// Describes the floating-point tensors that a call writes, and of which this
/// rank has all elements.
static std::vector<runtime::KernelOutput> describeOutputs(exec::AbiCall call) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(call.getOperation()).getEffects(effects);
  std::vector<runtime::KernelOutput> outputs;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    auto buffer = effect.getValue()
                      ? effect.getValue().getDefiningOp<exec::BufferOp>()
                      : exec::BufferOp();
    // One slice of a stack is no value by itself.
    if (!buffer || buffer.getSpace() == exec::Space::Shard ||
        buffer.getStrides() || !isa<MemoryEffects::Write>(effect.getEffect()) ||
        !call.writesWhole(buffer))
      continue;
    auto type = cast<MemRefType>(buffer.getType());
    if (isa<FloatType>(type.getElementType()))
      outputs.push_back(
          {getDType(type.getElementType()),
           findCase<runtime::Space>(exec::stringifySpace(buffer.getSpace())),
           static_cast<int64_t>(buffer.getOffset()), countSpanned(type)});
  }
  return outputs;
}

/// Describes the gradients that are complete after a call.
static std::vector<runtime::GradientSpec>
describeGradients(ArrayAttr gradients) {
  std::vector<runtime::GradientSpec> described;
  for (auto value : gradients.getAsRange<exec::ValueAttr>())
    described.push_back(
        {{getDType(value.getType().getElementType()), runtime::Space::Arena,
          value.getOffset(), value.getType().getNumElements()},
         value.getName().str()});
  return described;
}

/// Returns what a call writes in the block of states, of any type; nothing if
/// that is not known.
static std::optional<std::vector<runtime::StateRange>>
describeStateWrites(exec::AbiCall call) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(call.getOperation()).getEffects(effects);
  std::vector<runtime::StateRange> writes;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (!isa<MemoryEffects::Write>(effect.getEffect()))
      continue;
    auto buffer = effect.getValue()
                      ? effect.getValue().getDefiningOp<exec::BufferOp>()
                      : exec::BufferOp();
    if (!buffer ||
        (buffer.getSpace() == exec::Space::State && buffer.getStrides()))
      return std::nullopt;
    if (buffer.getSpace() != exec::Space::State)
      continue;
    auto type = cast<MemRefType>(buffer.getType());
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    writes.push_back(
        {static_cast<int64_t>(buffer.getOffset()),
         countSpanned(type) * static_cast<int64_t>(llvm::divideCeil(bits, 8))});
  }
  return writes;
}

static runtime::KernelSpec describeCall(exec::AbiCall call, int64_t times) {
  runtime::KernelSpec kernel;
  for (std::string &name : nodeNames(call->getLoc()))
    kernel.onnxNodes.push_back(std::move(name));
  kernel.kind = StringRef(call.getAbiEntry().kind).str();
  kernel.name = kernel.onnxNodes.empty()
                    ? kernel.kind
                    : kernel.onnxNodes.back() + " (" + kernel.kind + ")";
  kernel.outputs = describeOutputs(call);
  kernel.bytes = call.getCallBytes();
  kernel.flops = call.getCallFlops();
  kernel.times = times;
  kernel.stateWrites = describeStateWrites(call);
  if (auto bound = call->getAttrOfType<FloatAttr>(exec::kBoundAttr))
    kernel.boundMicroseconds = bound.getValueAsDouble() * 1e6;
  if (kernel.kind == "collective")
    kernel.part = "communication";
  else if (auto part = call->getAttrOfType<StringAttr>(exec::kPartAttr))
    kernel.part = part.str();
  if (auto gradients = call->getAttrOfType<ArrayAttr>(exec::kGradientsAttr))
    kernel.gradients = describeGradients(gradients);
  return kernel;
}

static std::map<std::string, int64_t> describeMemory(exec::MemoryAttr memory) {
  return {{"peak_bytes", memory.getPeak()},
          {"weights_bytes", memory.getWeights()},
          {"optimizer_bytes", memory.getOptimizer()},
          {"gradient_bytes", memory.getGradient()},
          {"activation_bytes", memory.getActivation()},
          {"workspace_bytes", memory.getWorkspace()},
          {"communication_bytes", memory.getCommunication()}};
}

static runtime::FunctionSpec describeStep(exec::StepOp step) {
  runtime::FunctionSpec function;
  function.arenaBytes = static_cast<int64_t>(step.getArenaBytes());
  auto indices = step->getAttrOfType<DictionaryAttr>(kIndicesAttr);
  for (auto value : step.getInputs().getAsRange<exec::ValueAttr>())
    function.inputs.push_back(describeInput(value, indices));
  for (auto value : step.getOutputs().getAsRange<exec::ValueAttr>()) {
    runtime::TensorSpec &output = function.outputs.emplace_back();
    describeTensor(value.getName(), value.getType(), output);
    output.offset = value.getOffset();
  }
  if (exec::MemoryAttr parts = step.getMemoryAttr())
    function.memory = describeMemory(parts);
  for (auto tensors : step.getLive().getAsRange<exec::LiveAttr>())
    function.live.push_back({tensors.getKind().str(),
                             listStrings(tensors.getNodes()),
                             tensors.getBytes()});
  for (auto interval : step.getIntervals().getAsRange<exec::IntervalAttr>()) {
    function.intervals.push_back({interval.getOffset(), interval.getBytes(),
                                  interval.getFirst(), interval.getLast()});
    function.intervalKinds.push_back(interval.getKind().str());
  }
  // In the order of their descriptors' indices.
  exec::forEachCall(step, [&](exec::AbiCall call, int64_t times) {
    function.kernels.push_back(describeCall(call, times));
  });
  return function;
}

static std::vector<runtime::LossTerm> describeLoss(ArrayAttr terms) {
  std::vector<runtime::LossTerm> described;
  if (terms)
    for (auto term : terms.getAsRange<LossTermAttr>())
      described.push_back({term.getKind().str(), term.getFactorOrOne(),
                           term.getOutput().str(), term.getLabels().str(),
                           term.getClassAxis(), term.getProbabilities(),
                           term.getWholeBatch()});
  return described;
}

static runtime::AdapterSpec describeAdapter(DictionaryAttr adapter) {
  auto getText = [&](StringRef name) {
    return adapter.getAs<StringAttr>(name).str();
  };
  auto getState = [&](StringRef name) {
    return adapter.getAs<FlatSymbolRefAttr>(name).getValue().str();
  };
  auto getNumber = [&](StringRef name) {
    return adapter.getAs<FloatAttr>(name).getValueAsDouble();
  };
  runtime::AdapterSpec described;
  described.module = getText("module");
  described.weight = getState("weight");
  described.a = getState("a");
  described.b = getState("b");
  described.scale = getNumber("scale");
  described.transposed = adapter.contains("transposed");
  described.alpha = getNumber("alpha");
  described.rankStabilized = adapter.contains("rank_stabilized");
  if (adapter.contains("magnitude"))
    described.magnitude = getState("magnitude");
  described.dropout = getNumber("dropout");
  described.bias = findCase<runtime::AdapterBias>(getText("bias"));
  return described;
}

static runtime::QuantizerSpec describeQuantizer(DictionaryAttr quantizer) {
  auto getState = [&](StringRef name) {
    auto symbol = quantizer.getAs<FlatSymbolRefAttr>(name);
    return symbol ? symbol.getValue().str() : std::string();
  };
  auto getNumber = [&](StringRef name) {
    return quantizer.getAs<FloatAttr>(name).getValueAsDouble();
  };
  runtime::QuantizerSpec described;
  described.scale = getState("scale");
  described.zeroPoint = getState("zero_point");
  described.low = getState("low");
  described.high = getState("high");
  if (auto axis = quantizer.getAs<IntegerAttr>("axis"))
    described.axis = axis.getInt();
  described.block = quantizer.getAs<IntegerAttr>("block").getInt();
  described.least = getNumber("least");
  described.greatest = getNumber("greatest");
  described.learned = quantizer.contains("learned");
  return described;
}

runtime::ModuleSpec ingot::buildManifest(ModuleOp module, WeightsKind weights) {
  auto getText = [&](StringRef name) {
    auto attr = module->getAttrOfType<StringAttr>(name);
    return attr ? attr.str() : std::string();
  };
  auto getNumber = [&](StringRef name, int64_t otherwise) {
    auto attr = module->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  };
  auto getArray = [&](StringRef name) {
    return module->getAttrOfType<ArrayAttr>(name);
  };
  runtime::ModuleSpec manifest;
  manifest.abi = INGOT_ABI_VERSION;
  manifest.model = getText(kModelAttr);
  manifest.producer = "ingotc " INGOT_VERSION;
  manifest.precision = getText(kPrecisionAttr);
  if (manifest.precision.empty())
    manifest.precision = "fp32";
  manifest.loss = getText(kLossAttr);
  manifest.lossTerms = describeLoss(getArray(kLossTermsAttr));
  manifest.optimizer = getText(kOptimizerAttr);
  manifest.dataParallel = module->hasAttr(kDataParallelAttr);
  if (module->hasAttr(kMeshAttr)) {
    Mesh mesh = Mesh::of(module);
    for (size_t axis = 0; axis < kNumAxes; ++axis)
      manifest.mesh.push_back(
          std::max<int64_t>(mesh.getSize(static_cast<Axis>(axis)), 1));
  }
  manifest.weights = weights;
  if (auto crc = module->getAttrOfType<IntegerAttr>(kWeightsCrcAttr))
    manifest.weightsCrc = crc.getInt();
  manifest.stateBytes = getNumber(exec::kStateBytesAttr, 0);
  manifest.mappedBytes = getNumber(exec::kMappedBytesAttr, 0);
  manifest.batch = getNumber(kBatchAttr, 0);
  if (auto batches = module->getAttrOfType<DenseI64ArrayAttr>(kBatchesAttr))
    manifest.batches = batches.asArrayRef().vec();
  manifest.gradAccumulation = getNumber(kGradAccumulationAttr, 1);
  manifest.uncompressedSteps = getNumber(kUncompressedStepsAttr, 0);
  manifest.metrics = listStrings(getArray(kMetricsAttr));
  manifest.trainMetrics = listStrings(getArray(kTrainMetricsAttr));
  manifest.shiftedLabels = listStrings(getArray(kShiftedLabelsAttr));
  for (auto state : module.getOps<StateOp>())
    manifest.states.push_back(describeState(state, weights));
  if (ArrayAttr adapters = getArray(kAdaptersAttr))
    for (auto adapter : adapters.getAsRange<DictionaryAttr>())
      manifest.adapters.push_back(describeAdapter(adapter));
  if (ArrayAttr quantizers = getArray(kQuantizersAttr))
    for (auto quantizer : quantizers.getAsRange<DictionaryAttr>())
      manifest.quantizers.push_back(describeQuantizer(quantizer));
  if (ArrayAttr places = getArray(exec::kMessagesAttr))
    for (auto place : places.getAsRange<exec::MessageAttr>())
      manifest.payloads.push_back({place.getOffset(), place.getRankBytes()});
  if (ArrayAttr list = getArray(kHyperparametersAttr))
    for (auto entry : list.getAsRange<DictionaryAttr>())
      manifest.hyperparameters.push_back(
          {entry.getAs<StringAttr>("name").str(),
           entry.getAs<FloatAttr>("default").getValueAsDouble()});
  manifest.variants = listStrings(getArray(kVariantsAttr));
  if (manifest.variants.empty())
    manifest.variants = {""};
  for (auto step : module.getOps<exec::StepOp>()) {
    manifest.arenaBytes = std::max(manifest.arenaBytes,
                                   static_cast<int64_t>(step.getArenaBytes()));
    manifest.stagingBytes = std::max(
        manifest.stagingBytes, static_cast<int64_t>(step.getStagingBytes()));
    manifest.symbols[step.getSymName().str()] = describeStep(step);
  }
  return manifest;
}
