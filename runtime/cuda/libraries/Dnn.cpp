// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/Dnn.h"

#include "runtime/core/DType.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

using namespace ingot::runtime;

Dnn::Dnn(CUstream_st *stream, Tuner *tuner) : tuner(tuner) {
  check(cudnnCreate(&handle), "starting cuDNN");
  setStream(stream);
}

void Dnn::setStream(CUstream_st *current) {
  if (stream == current)
    return;
  check(cudnnSetStream(handle, current), "choosing a stream");
  stream = current;
}

Dnn::~Dnn() {
  plans.clear();
  if (handle)
    (void)cudnnDestroy(handle);
}

struct Dnn::Algorithm {
  /// Alive while the execution is.
  Descriptor config, execution;
  ConvolutionChoice choice;
};

struct Dnn::Plan {
  /// Alive while the algorithm is.
  std::vector<Descriptor> operations;
  Descriptor graph;
  Algorithm algorithm;
};

/// The numerical properties of an engine.
struct Dnn::Engine {
  bool rounds = false, varies = false, onTensorCores = false;

  /// Whether it computes in the precision of the operands, with the same bits
  /// in every run. Tensor cores round f32 operands to TF32.
  bool isExact(bool mayRound) const {
    return !rounds && !varies && (mayRound || !onTensorCores);
  }
};

Dnn::Dnn(const std::string &device) {
  properties = std::make_unique<Descriptor>(
      Descriptor(*this, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
  properties->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  device.data(), static_cast<int64_t>(device.size()));
  properties->finish();
}

Dnn::Engine Dnn::getEngine(const Descriptor &config) const {
  Descriptor engine(*this, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  config.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              &place, 1);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT>
      notes = {};
  int64_t count =
      engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                  notes.data(), static_cast<int64_t>(notes.size()));
  Engine found;
  for (int64_t i = 0; i < count; ++i) {
    found.rounds |=
        notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
        notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
    found.varies |= notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    found.onTensorCores |= notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  }
  return found;
}

std::string Dnn::getName(const Descriptor &config) const {
  Descriptor engine(*this, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  config.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              &place, 1);
  int64_t number = 0;
  engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &number, 1);
  std::vector<Descriptor> knobs;
  std::array<cudnnBackendDescriptor_t, CUDNN_KNOB_TYPE_COUNTS> places = {};
  for (cudnnBackendDescriptor_t &place : places) {
    knobs.push_back(Descriptor(*this, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    place = knobs.back().get();
  }
  int64_t count =
      config.read(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, places.data(), places.size());
  std::string name = std::to_string(number);
  for (int64_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t type = {};
    int64_t value = 0;
    knobs[i].read(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type,
                  1);
    knobs[i].read(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &value,
                  1);
    name += " " + std::to_string(static_cast<int>(type)) + "=" +
            std::to_string(value);
  }
  return name;
}

std::unique_ptr<Dnn::Plan> Dnn::describe(const ingot_conv_desc &desc,
                                         ConvolutionResult result,
                                         ConvolutionFusion fusion) const {
  auto plan = std::make_unique<Plan>();
  plan->operations = describeOperations(desc, result, fusion);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor &operation : plan->operations)
    operations.push_back(operation.get());
  plan->graph = Descriptor(*this, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  plan->graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  operations.data(), static_cast<int64_t>(operations.size()));
  if (handle)
    plan->graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
                    &handle, 1);
  plan->graph.finish();
  return plan;
}

std::vector<Dnn::Algorithm> Dnn::findAlgorithms(const Plan &plan,
                                                const ingot_conv_desc &desc,
                                                size_t most,
                                                const std::string &name) const {
  bool rounds = desc.type == INGOT_BF16 || desc.type == INGOT_F16 ||
                desc.math == INGOT_MATH_TF32;
  // Names are needed for tuning and for reports only.
  bool isNamed = tuner || properties;
  std::vector<Algorithm> found;
  for (cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    Descriptor heuristic(*this, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, plan.graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode, 1);
    if (properties)
      heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties);
    if (heuristic.tryFinish() != CUDNN_STATUS_SUCCESS)
      continue;
    constexpr int64_t mostConfigs = 32;
    std::vector<Descriptor> configs;
    std::array<cudnnBackendDescriptor_t, mostConfigs> places = {};
    for (int64_t i = 0; i < mostConfigs; ++i) {
      configs.push_back(Descriptor(*this, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      places[i] = configs.back().get();
    }
    int64_t count = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, places.data(),
                                   mostConfigs);
    // The library orders configurations, best first.
    for (int64_t i = 0; i < std::min(count, mostConfigs); ++i) {
      Engine engine = getEngine(configs[i]);
      if (!engine.isExact(rounds))
        continue;
      std::string own = isNamed ? getName(configs[i]) : "";
      // The second heuristic repeats some of the first.
      bool isKnown = isNamed && std::any_of(found.begin(), found.end(),
                                            [&](const Algorithm &other) {
                                              return other.choice.name == own;
                                            });
      if (isKnown || (!name.empty() && own != name))
        continue;
      Descriptor execution(*this, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      execution.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[i]);
      if (properties)
        execution.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties);
      else
        execution.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                      &handle, 1);
      // The library may reject its own configurations.
      if (execution.tryFinish() != CUDNN_STATUS_SUCCESS)
        continue;
      int64_t bytes = 0;
      execution.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                     &bytes, 1);
      if (bytes > desc.scratch_bytes)
        continue;
      found.push_back({std::move(configs[i]), std::move(execution),
                       ConvolutionChoice{bytes, engine.onTensorCores, own}});
      if (found.size() == most)
        return found;
    }
  }
  return found;
}

Dnn::Algorithm Dnn::findFirst(const Plan &plan,
                              const ingot_conv_desc &desc) const {
  std::vector<Algorithm> algorithms = findAlgorithms(plan, desc, /*most=*/1);
  bool isFused = plan.operations.size() > 1;
  if (algorithms.empty())
    throw failure("cuDNN",
                  std::string("no algorithm computes this convolution ") +
                      (isFused ? "with its normalizations (--conv-fusion off "
                                 "compiles without), "
                               : "") +
                      "in its precision and with the same bits in every run, "
                      "within " +
                      std::to_string(desc.scratch_bytes) + " bytes",
                  "install a later cuDNN, or compile with --target cpu");
  return std::move(algorithms.front());
}

/// The most candidates that --tune measures, which bounds the time that it
/// takes.
static constexpr size_t kMostCandidates = 8;

/// The key of a convolution in the tuner's file: everything that the choice of
/// an algorithm depends on.
static std::string describeConvolution(const ingot_conv_desc &desc,
                                       ConvolutionResult result,
                                       ConvolutionFusion fusion) {
  std::string text;
  auto add = [&](int64_t number) {
    text += (text.empty() ? "" : " ") + std::to_string(number);
  };
  for (int64_t number :
       {int64_t(result), desc.spatial_rank, desc.batch, desc.in_channels,
        desc.out_channels, desc.groups, int64_t(desc.type),
        int64_t(desc.channels_last), int64_t(desc.filter_channels_last),
        int64_t(desc.math), desc.scratch_bytes})
    add(number);
  for (const int64_t *extents : {desc.in, desc.out, desc.kernel, desc.stride,
                                 desc.dilation, desc.pad_low, desc.pad_high})
    std::for_each(extents, extents + desc.spatial_rank, add);
  if (fusion.normalizes)
    text += " normalized";
  if (fusion.sums)
    text += " with sums";
  return text;
}

void Dnn::tune(Plan &plan, const ingot_conv_desc &desc,
               ConvolutionResult result, const ConvolutionTensors &tensors,
               void *scratch) const {
  std::string key = "convolution by cuDNN " +
                    std::to_string(cudnnGetVersion()) + ": " +
                    describeConvolution(desc, result, tensors.getFusion());
  std::vector<Algorithm> algorithms;
  if (std::optional<std::string> kept = tuner->find(key))
    algorithms = findAlgorithms(plan, desc, /*most=*/1, *kept);
  if (!algorithms.empty()) {
    plan.algorithm = std::move(algorithms.front());
    return;
  }
  // Making the plans of candidates takes most of the time.
  Tuner::Search search(*tuner, key);
  std::optional<size_t> fastest;
  if (search.hasTime()) {
    algorithms = findAlgorithms(plan, desc, kMostCandidates);
    // Repeated runs are safe, because inputs are not overwritten.
    fastest = search.findFastest(
        algorithms.size(),
        [&](size_t i) {
          return run(algorithms[i], tensors, scratch) == CUDNN_STATUS_SUCCESS;
        },
        [&](size_t i) { return algorithms[i].choice.name; });
  }
  plan.algorithm =
      fastest ? std::move(algorithms[*fastest]) : findFirst(plan, desc);
  tuner->keep(key, plan.algorithm.choice.name, fastest.has_value());
}

std::unique_ptr<Dnn::Plan> Dnn::plan(const ingot_conv_desc &desc,
                                     ConvolutionResult result,
                                     const ConvolutionTensors &tensors,
                                     void *scratch) const {
  auto plan = describe(desc, result, tensors.getFusion());
  if (tuner)
    tune(*plan, desc, result, tensors, scratch);
  else
    plan->algorithm = findFirst(*plan, desc);
  return plan;
}

ConvolutionChoice Dnn::choose(const ingot_conv_desc &desc,
                              ConvolutionResult result,
                              ConvolutionFusion fusion) const {
  auto plan = describe(desc, result, fusion);
  return findFirst(*plan, desc).choice;
}

std::vector<ConvolutionChoice> Dnn::list(const ingot_conv_desc &desc,
                                         ConvolutionResult result,
                                         const std::string &name) const {
  auto plan = describe(desc, result, ConvolutionFusion());
  std::vector<ConvolutionChoice> choices;
  for (const Algorithm &algorithm :
       findAlgorithms(*plan, desc, kMostCandidates, name))
    choices.push_back(algorithm.choice);
  return choices;
}

ConvolutionChoice ingot::runtime::chooseConvolution(const ingot_conv_desc &desc,
                                                    ConvolutionResult result,
                                                    const std::string &device,
                                                    ConvolutionFusion fusion) {
  return Dnn(device).choose(desc, result, fusion);
}

std::vector<ConvolutionChoice> ingot::runtime::listConvolutions(
    const ingot_conv_desc &desc, ConvolutionResult result,
    const std::string &device, const std::string &name) {
  return Dnn(device).list(desc, result, name);
}

cudnnStatus_t Dnn::run(const Algorithm &algorithm,
                       const ConvolutionTensors &tensors, void *scratch) const {
  std::vector<const void *> places;
  std::vector<int64_t> ids;
  int64_t id = InputId;
  for (const void *tensor :
       {tensors.input, tensors.filter, tensors.output, tensors.scale,
        tensors.shift, tensors.sums, tensors.squares}) {
    if (tensor) {
      places.push_back(tensor);
      ids.push_back(id);
    }
    ++id;
  }
  Descriptor pack(*this, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           places.data(), static_cast<int64_t>(places.size()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &scratch, 1);
  pack.finish();
  return cudnnBackendExecute(handle, algorithm.execution.get(), pack.get());
}

void Dnn::convolve(const ingot_conv_desc &desc, ConvolutionResult result,
                   const ConvolutionTensors &tensors, void *scratch) {
  ConvolutionFusion fusion = tensors.getFusion();
  constexpr int normalized = 4, withSums = 8;
  int variant = static_cast<int>(result) +
                (fusion.normalizes ? normalized : 0) +
                (fusion.sums ? withSums : 0);
  const Plan &plan = plans.get(desc, variant, [&] {
    return this->plan(desc, result, tensors, scratch);
  });
  check(run(plan.algorithm, tensors, scratch), "convolving");
}
