// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/BuildManifest.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;
namespace json = llvm::json;

static std::string dtypeName(Type type) {
  if (type.isInteger(1))
    return "bool";
  if (type.isUnsignedInteger())
    return "u" + std::to_string(type.getIntOrFloatBitWidth());
  if (type.isBF16())
    return "bf16";
  // No trainer reads them as numbers.
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return "u8";
  if (isa<FloatType>(type))
    return "f" + std::to_string(type.getIntOrFloatBitWidth());
  return "i" + std::to_string(type.getIntOrFloatBitWidth());
}

static json::Array shapeOf(ShapedType type) {
  json::Array shape;
  for (int64_t size : type.getShape())
    shape.push_back(size);
  return shape;
}

static json::Object describeState(StateOp state, WeightStorage weights) {
  json::Object init;
  if (state.getOf())
    init = json::Object{{"kind", "copy"}, {"of", *state.getOf()}};
  else if (std::optional<double> value = splatValue(state))
    init = json::Object{{"kind", "fill"}, {"value", *value}};
  else if (weights != WeightStorage::None || state.getRole() != Role::Parameter)
    init = json::Object{{"kind", "weights"}};
  else {
    auto [mean, deviation] = momentsOf(state);
    init = json::Object{
        {"kind", "normal"}, {"mean", mean}, {"deviation", deviation}};
  }
  json::Object described{
      {"name", state.getSymName()},
      {"role", stringifyRole(state.getRole())},
      {"dtype", dtypeName(state.getTensorType().getElementType())},
      {"shape", shapeOf(state.getTensorType())},
      {"init", std::move(init)}};
  if (std::optional<ArrayAttr> halves = state.getHalves()) {
    json::Array names;
    for (auto half : halves->getAsRange<FlatSymbolRefAttr>())
      names.push_back(half.getValue());
    described["halves"] = std::move(names);
  } else {
    described["offset"] =
        state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr).getInt();
  }
  if (ShardAttr shard = state.getShardAttr())
    described["shard"] = json::Array{shard.getFirst(), shard.getOf()};
  return described;
}

/// Describes what the integers of an input index, if anything is known.
static void describeIndices(DictionaryAttr known, json::Object &entry) {
  if (!known)
    return;
  if (auto ignored = known.getAs<IntegerAttr>(kIgnoredAttr))
    entry["ignored"] = ignored.getInt();
  auto pairs = known.getAs<DenseI64ArrayAttr>(kRowsAttr);
  if (!pairs)
    return;
  json::Array rows;
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
    rows.push_back(json::Array{pairs[i], pairs[i + 1]});
  entry["rows"] = std::move(rows);
}

static json::Array describeValues(ArrayAttr values,
                                  DictionaryAttr indices = {}) {
  json::Array result;
  for (auto value : values.getAsRange<exec::ValueAttr>()) {
    json::Object entry{{"name", value.getName()},
                       {"kind", value.getKind()},
                       {"dtype", dtypeName(value.getType().getElementType())},
                       {"shape", shapeOf(value.getType())},
                       {"offset", value.getOffset()}};
    if (value.getClasses() != 0)
      entry["classes"] = value.getClasses();
    if (indices)
      describeIndices(indices.getAs<DictionaryAttr>(value.getName()), entry);
    result.push_back(std::move(entry));
  }
  return result;
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
static json::Array describeOutputs(exec::AbiCall call) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(call.getOperation()).getEffects(effects);
  json::Array outputs;
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
          json::Object{{"space", exec::stringifySpace(buffer.getSpace())},
                       {"offset", static_cast<int64_t>(buffer.getOffset())},
                       {"dtype", dtypeName(type.getElementType())},
                       {"elements", countSpanned(type)}});
  }
  return outputs;
}

/// Describes the gradients that are complete after a call.
static json::Array describeGradients(ArrayAttr gradients) {
  json::Array described;
  for (auto value : gradients.getAsRange<exec::ValueAttr>())
    described.push_back(
        json::Object{{"state", value.getName()},
                     {"space", exec::stringifySpace(exec::Space::Arena)},
                     {"offset", value.getOffset()},
                     {"dtype", dtypeName(value.getType().getElementType())},
                     {"elements", value.getType().getNumElements()}});
  return described;
}

/// Returns the [offset, bytes] of what a call writes in the block of states, of
/// any type; nothing if that is not known.
static std::optional<json::Array> describeStateWrites(exec::AbiCall call) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(call.getOperation()).getEffects(effects);
  json::Array writes;
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
    writes.push_back(json::Array{
        static_cast<int64_t>(buffer.getOffset()),
        countSpanned(type) * static_cast<int64_t>(llvm::divideCeil(bits, 8))});
  }
  return writes;
}

/// Describes the kernels of a step in the order of their descriptors' indices.
static json::Array describeCalls(exec::StepOp step) {
  json::Array kernels;
  exec::forEachCall(step, [&](exec::AbiCall call, int64_t times) {
    SmallVector<std::string> nodes = nodeNames(call->getLoc());
    json::Array names;
    for (const std::string &name : nodes)
      names.push_back(name);
    StringRef kind = call.getAbiEntry().kind;
    std::string name =
        nodes.empty() ? kind.str() : nodes.back() + " (" + kind.str() + ")";
    json::Object kernel{{"name", name},
                        {"kind", kind},
                        {"onnx_nodes", std::move(names)},
                        {"outputs", describeOutputs(call)},
                        {"bytes", call.getCallBytes()},
                        {"flops", call.getCallFlops()}};
    if (times != 1)
      kernel["times"] = times;
    if (auto writes = describeStateWrites(call))
      kernel["state_writes"] = std::move(*writes);
    if (auto bound = call->getAttrOfType<FloatAttr>(exec::kBoundAttr))
      kernel["bound_us"] = bound.getValueAsDouble() * 1e6;
    auto part = call->getAttrOfType<StringAttr>(exec::kPartAttr);
    if (kind == "collective")
      kernel["part"] = "communication";
    else if (part)
      kernel["part"] = part.getValue();
    if (auto gradients = call->getAttrOfType<ArrayAttr>(exec::kGradientsAttr))
      kernel["gradients"] = describeGradients(gradients);
    kernels.push_back(std::move(kernel));
  });
  return kernels;
}

/// Describes the live tensors at the peak of the arena.
static json::Array describeLive(exec::StepOp step) {
  json::Array live;
  for (auto tensors : step.getLive().getAsRange<exec::LiveAttr>()) {
    json::Array nodes;
    for (auto name : tensors.getNodes().getAsRange<StringAttr>())
      nodes.push_back(name.getValue());
    live.push_back(json::Object{{"kind", tensors.getKind()},
                                {"onnx_nodes", std::move(nodes)},
                                {"bytes", tensors.getBytes()}});
  }
  return live;
}

static json::Object describeMemory(exec::MemoryAttr memory) {
  return json::Object{{"peak_bytes", memory.getPeak()},
                      {"weights_bytes", memory.getWeights()},
                      {"optimizer_bytes", memory.getOptimizer()},
                      {"gradient_bytes", memory.getGradient()},
                      {"activation_bytes", memory.getActivation()},
                      {"workspace_bytes", memory.getWorkspace()},
                      {"communication_bytes", memory.getCommunication()}};
}

static json::Object describeStep(exec::StepOp step) {
  // The [offset, bytes, first call, last call] of every interval, and its
  // purpose.
  json::Array intervals, kinds;
  for (auto interval : step.getIntervals().getAsRange<exec::IntervalAttr>()) {
    intervals.push_back(json::Array{interval.getOffset(), interval.getBytes(),
                                    interval.getFirst(), interval.getLast()});
    kinds.push_back(interval.getKind());
  }
  json::Object memory;
  if (exec::MemoryAttr parts = step.getMemoryAttr())
    memory = describeMemory(parts);
  return json::Object{
      {"live", describeLive(step)},
      {"intervals", std::move(intervals)},
      {"interval_kinds", std::move(kinds)},
      {"arena_bytes", static_cast<int64_t>(step.getArenaBytes())},
      {"inputs",
       describeValues(step.getInputs(),
                      step->getAttrOfType<DictionaryAttr>(kIndicesAttr))},
      {"outputs", describeValues(step.getOutputs())},
      {"memory", std::move(memory)},
      {"kernels", describeCalls(step)}};
}

json::Object ingot::buildManifest(ModuleOp module, WeightStorage weights) {
  auto text = [&](StringRef name, StringRef otherwise) {
    auto attr = module->getAttrOfType<StringAttr>(name);
    return attr ? attr.getValue() : otherwise;
  };
  StringRef loss = text("ingot.loss", "");
  json::Object manifest{
      {"abi", INGOT_ABI_VERSION},
      {"model", text("ingot.model", "")},
      {"producer", "ingotc " INGOT_VERSION},
      {"precision", text("ingot.precision", "fp32")},
      {"loss", loss},
      {"optimizer", text("ingot.optimizer", "")},
      // A loss that the graph computes is one number for the whole batch.
      {"eval_partial", !loss.contains("output:")},
      {"data_parallel", module->hasAttr(kDataParallelAttr)},
      {"weights", weights == WeightStorage::Embed     ? "embed"
                  : weights == WeightStorage::Sidecar ? "sidecar"
                                                      : "none"},
      {"state_bytes",
       module->getAttrOfType<IntegerAttr>(exec::kStateBytesAttr).getInt()}};
  if (auto batch = module->getAttrOfType<IntegerAttr>("ingot.batch"))
    manifest["batch"] = batch.getInt();
  if (auto batches = module->getAttrOfType<DenseI64ArrayAttr>("ingot.batches"))
    manifest["batches"] = json::Array(batches.asArrayRef());
  if (auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr))
    manifest["grad_accumulation"] = count.getInt();
  if (auto count = module->getAttrOfType<IntegerAttr>(kUncompressedStepsAttr))
    manifest["uncompressed_steps"] = count.getInt();

  for (auto [attribute, key] :
       {std::pair("ingot.metrics", "metrics"),
        std::pair("ingot.train_metrics", "train_metrics"),
        std::pair("ingot.shifted_labels", "shifted_labels")}) {
    auto listed = module->getAttrOfType<ArrayAttr>(attribute);
    if (!listed)
      continue;
    json::Array names;
    for (auto name : listed.getAsRange<StringAttr>())
      names.push_back(name.getValue());
    manifest[key] = std::move(names);
  }
  if (auto crc = module->getAttrOfType<IntegerAttr>(kWeightsCrcAttr))
    manifest["weights_crc32"] = crc.getInt();

  json::Array states, hyperparameters;
  for (auto state : module.getOps<StateOp>())
    states.push_back(describeState(state, weights));
  if (auto list = module->getAttrOfType<ArrayAttr>("ingot.hyperparameters"))
    for (auto entry : list.getAsRange<DictionaryAttr>())
      hyperparameters.push_back(json::Object{
          {"name", entry.getAs<StringAttr>("name").getValue()},
          {"default", entry.getAs<FloatAttr>("default").getValueAsDouble()}});
  manifest["states"] = std::move(states);
  if (auto places = module->getAttrOfType<ArrayAttr>(exec::kMessagesAttr)) {
    json::Array messages;
    for (auto place : places.getAsRange<exec::MessageAttr>())
      messages.push_back(json::Object{{"offset", place.getOffset()},
                                      {"rank_bytes", place.getRankBytes()}});
    manifest["messages"] = std::move(messages);
  }
  manifest["hyperparameters"] = std::move(hyperparameters);

  json::Array variants;
  if (auto names = module->getAttrOfType<ArrayAttr>(kVariantsAttr))
    for (StringAttr name : names.getAsRange<StringAttr>())
      variants.push_back(name.getValue());
  else
    variants.push_back("");
  manifest["variants"] = std::move(variants);

  json::Object functions;
  int64_t arena = 0, staging = 0;
  for (auto step : module.getOps<exec::StepOp>()) {
    arena = std::max(arena, static_cast<int64_t>(step.getArenaBytes()));
    staging = std::max(staging, static_cast<int64_t>(step.getStagingBytes()));
    functions[step.getSymName()] = describeStep(step);
  }
  manifest["functions"] = std::move(functions);
  manifest["arena_bytes"] = arena;
  manifest["staging_bytes"] = staging;
  return manifest;
}
