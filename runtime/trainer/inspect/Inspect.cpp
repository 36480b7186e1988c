// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --inspect: a description of what the compiler planned.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/inspect/Inspect.h"

#include "runtime/abi/TeacherNames.h"
#include "runtime/core/Text.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/Quantities.h"
#include "runtime/data/loading/BatchQueue.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace ingot::runtime;
using nlohmann::ordered_json;

/// The parts of the planned peak, in the order of the printed table.
static constexpr const char *memoryParts[] = {
    "weights_bytes",    "optimizer_bytes", "gradient_bytes",
    "activation_bytes", "workspace_bytes", "communication_bytes"};

static int64_t getMemory(const FunctionSpec &function, const char *key) {
  auto found = function.memory.find(key);
  return found == function.memory.end() ? 0 : found->second;
}

/// Returns the part of the memory that a state is in.
static const char *findPart(const StateSpec &state) {
  switch (state.role) {
  case StateRole::Accumulator:
    return "gradient_bytes";
  case StateRole::Parameter:
  case StateRole::LowCopy:
    return "weights_bytes";
  default:
    return "optimizer_bytes";
  }
}

/// Returns a part of the function's memory on the first of `ranks` along data,
/// which has the largest shards, with the payloads of all of them.
static int64_t getMemory(const Manifest &manifest, const FunctionSpec &function,
                         const std::string &key, int64_t ranks) {
  int64_t bytes = getMemory(function, key.c_str());
  for (const StateSpec &state : manifest.states)
    if (state.shard && (key == "peak_bytes" || key == findPart(state)))
      bytes += state.getShardBytes(/*rank=*/0, ranks);
  if (key == "peak_bytes" || key == "communication_bytes")
    bytes += manifest.getPayloadBytes(ranks);
  return bytes;
}

static ordered_json describe(const TensorSpec &tensor) {
  return {{"name", tensor.name},
          {"dtype", getName(tensor.dtype)},
          {"shape", tensor.shape}};
}

/// Returns the function of a training step, among all variants, that needs the
/// most memory.
static const FunctionSpec &findLargestStep(const Manifest &manifest) {
  const FunctionSpec *largest = manifest.findFunction("train_step");
  for (size_t v = 0; v < manifest.variants.size(); ++v)
    for (const char *name :
         {"train_step", "uncompressed_step", "accumulate_step"}) {
      const FunctionSpec *step = manifest.findFunction(name, v);
      if (step &&
          getMemory(*step, "peak_bytes") > getMemory(*largest, "peak_bytes"))
        largest = step;
    }
  return *largest;
}

/// Returns the memory of the batches that are made ahead of the steps.
static int64_t getDataBytes(const Manifest &manifest) {
  int64_t most = 0;
  for (size_t v = 0; v < manifest.variants.size(); ++v) {
    int64_t bytes = 0;
    for (const InputSpec &input :
         manifest.findFunction("train_step", v)->inputs)
      if (input.isBatched())
        bytes += input.getAlignedBytes();
    most = std::max(most, bytes);
  }
  return getQueueBytes(most);
}

/// Returns the memory of the teacher's weights, which is in that of weights or
/// in the range that is mapped.
static int64_t getTeacherBytes(const Manifest &manifest) {
  int64_t bytes = 0;
  for (const StateSpec &state : manifest.states)
    if (state.name.starts_with(ingot::abi::kTeacherPrefix) &&
        (state.home == StateHome::Block || state.home == StateHome::Mapped))
      bytes += state.halves.empty() ? state.getBytes() : 0;
  return bytes;
}

static ordered_json describeInputs(const FunctionSpec &step) {
  auto inputs = ordered_json::array();
  for (const InputSpec &input : step.inputs)
    if (input.isBatched())
      inputs.push_back(describe(input));
  return inputs;
}

std::string ingot::runtime::inspectAsJson(const Manifest &manifest,
                                          const RankMesh &mesh) {
  const FunctionSpec &step = findLargestStep(manifest);
  const int64_t ranks = mesh.getSize(mesh.getShardAxis());
  ordered_json json = {{"model", manifest.model},
                       {"producer", manifest.producer},
                       {"command", manifest.command},
                       {"target", manifest.target.kind},
                       {"features", manifest.target.features},
                       {"precision", manifest.precision},
                       {"loss", manifest.loss},
                       {"optimizer", manifest.optimizer},
                       {"batch", manifest.batch},
                       {"grad_accumulation", manifest.gradAccumulation},
                       {"ranks", mesh.getSize(mesh.getAxes())}};
  json["peak_bytes"] = getMemory(manifest, step, "peak_bytes", ranks);
  for (const char *part : memoryParts)
    json[part] = getMemory(manifest, step, part, ranks);
  json["mapped_bytes"] = manifest.mappedBytes;
  if (int64_t bytes = getTeacherBytes(manifest))
    json["teacher_bytes"] = bytes;
  json["data"] = {{"bytes", getDataBytes(manifest)}};
  json["live"] = ordered_json::array();
  for (const LiveTensor &tensor : step.live)
    json["live"].push_back({{"kind", tensor.kind},
                            {"onnx_nodes", tensor.onnxNodes},
                            {"bytes", tensor.bytes}});
  json["inputs"] = describeInputs(step);
  if (manifest.variants.size() > 1) {
    json["variant"] = manifest.variants[step.variant];
    json["variants"] = ordered_json::array();
    for (size_t v = 0; v < manifest.variants.size(); ++v) {
      const FunctionSpec &other = *manifest.findFunction("train_step", v);
      json["variants"].push_back(
          {{"name", manifest.variants[v]},
           {"peak_bytes", getMemory(manifest, other, "peak_bytes", ranks)},
           {"inputs", describeInputs(other)}});
    }
  }
  json["parameters"] = ordered_json::array();
  for (const StateSpec &state : manifest.states)
    if (state.role == StateRole::Parameter)
      json["parameters"].push_back(describe(state));
  json["hyperparameters"] = ordered_json::object();
  for (const HyperparameterSpec &spec : manifest.hyperparameters)
    json["hyperparameters"][spec.name] = spec.value;
  json["kernels"] = ordered_json::array();
  const FunctionSpec &whole =
      *manifest.findFunction("train_step", step.variant);
  for (const KernelSpec &kernel : whole.kernels)
    json["kernels"].push_back({{"name", kernel.name},
                               {"kind", kernel.kind},
                               {"onnx_nodes", kernel.onnxNodes},
                               {"bytes", kernel.bytes},
                               {"flops", kernel.flops},
                               {"bound_us", kernel.boundMicroseconds}});
  // In ASCII: names from models may hold characters that control terminals.
  return json.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

static std::string formatShape(const TensorSpec &tensor) {
  return fmt::format("{} [{}]", getName(tensor.dtype),
                     fmt::join(tensor.shape, ", "));
}

std::string ingot::runtime::inspectAsText(const Manifest &manifest,
                                          const RankMesh &mesh) {
  const FunctionSpec &step = findLargestStep(manifest);
  const int64_t ranks = mesh.getSize(mesh.getShardAxis());
  std::string text = fmt::format(
      "{}: {} for {}, loss {}, optimizer {}, precision {}, batch {}\n",
      manifest.model, manifest.producer, manifest.target.kind, manifest.loss,
      manifest.optimizer, manifest.precision, manifest.batch);
  if (!manifest.command.empty())
    text += "compiled by: " + manifest.command + "\n";
  text += fmt::format(
      "\nmemory at the peak  {:>12}\n",
      describeBytes(getMemory(manifest, step, "peak_bytes", ranks)));
  for (const char *part : memoryParts) {
    std::string name(part);
    text += fmt::format("  {:<18}{:>12}\n", name.substr(0, name.rfind('_')),
                        describeBytes(getMemory(manifest, step, part, ranks)));
  }
  if (manifest.mappedBytes != 0)
    text += fmt::format("frozen, mapped      {:>12}\n",
                        describeBytes(manifest.mappedBytes));
  if (int64_t bytes = getTeacherBytes(manifest))
    text += fmt::format("the teacher's weights {:>10}\n", describeBytes(bytes));
  text += fmt::format("batches ahead of it {:>11}\n",
                      describeBytes(getDataBytes(manifest)));
  constexpr size_t maxListed = 12;
  if (!step.live.empty())
    text += "\nlargest at the peak\n";
  for (size_t i = 0; i < std::min(maxListed, step.live.size()); ++i) {
    const LiveTensor &tensor = step.live[i];
    text += fmt::format(
        "  {:<18}{:>12}  {}\n", tensor.kind, describeBytes(tensor.bytes),
        tensor.onnxNodes.empty() ? "" : tensor.onnxNodes.back());
  }
  if (manifest.variants.size() > 1) {
    text += "\nvariants (the rest is of the largest)\n";
    for (size_t v = 0; v < manifest.variants.size(); ++v)
      text += fmt::format("  {:<28}{:>12}\n", manifest.variants[v],
                          describeBytes(getMemory(
                              manifest, *manifest.findFunction("train_step", v),
                              "peak_bytes", ranks)));
  }
  text += "\ninputs\n";
  for (const InputSpec &input : step.inputs)
    if (input.isBatched())
      text += fmt::format("  {:<40} {}\n", input.name, formatShape(input));
  int64_t elements = 0, count = 0;
  for (const StateSpec &state : manifest.states)
    if (state.role == StateRole::Parameter) {
      ++count;
      elements += state.getElements();
    }
  text += fmt::format("\nparameters: {} in {} tensors\n", elements, count);
  for (const StateSpec &state : manifest.states)
    if (state.role == StateRole::Parameter)
      text += fmt::format("  {:<40} {}\n", state.name, formatShape(state));
  const FunctionSpec &whole =
      *manifest.findFunction("train_step", step.variant);
  text += fmt::format("\nkernels of a step: {}\n", whole.kernels.size());
  std::map<std::string, int64_t> kinds;
  for (const KernelSpec &kernel : whole.kernels)
    ++kinds[kernel.kind];
  for (const auto &[kind, kernels] : kinds)
    text += fmt::format("  {:<40} {}\n", kind, kernels);
  // Names come from the model.
  return makePrintable(text, /*keepsLines=*/true);
}
