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

Dnn::Dnn()
    : library("libcudnn.so." + std::to_string(CUDNN_MAJOR),
              "install cuDNN, or have LD_LIBRARY_PATH name its folder") {
#define INGOT_LOAD(name) library.load(name, #name);
  INGOT_DNN_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
}

Dnn::Dnn(CUstream_st *stream, Tuner *tuner) : Dnn() {
  this->tuner = tuner;
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

void Dnn::check(cudnnStatus_t status, const char *action) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw failure("cuDNN",
                  std::string(action) + ": " + cudnnGetErrorString(status),
                  "check the GPU with nvidia-smi");
}

/// An object of the library, with its attributes.
class Dnn::Descriptor {
public:
  Descriptor() = default;
  Descriptor(const Dnn &dnn, cudnnBackendDescriptorType_t type) : dnn(&dnn) {
    dnn.check(dnn.cudnnBackendCreateDescriptor(type, &handle),
              "describing a convolution");
  }
  Descriptor(Descriptor &&other) noexcept { *this = std::move(other); }
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(dnn, other.dnn);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Descriptor() {
    if (handle)
      (void)dnn->cudnnBackendDestroyDescriptor(handle);
  }

  cudnnBackendDescriptor_t get() const { return handle; }

  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const T *values, int64_t count) {
    dnn->check(dnn->cudnnBackendSetAttribute(handle, name, type, count, values),
               "describing a convolution");
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor &other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &other.handle, 1);
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) {
    set(name, CUDNN_TYPE_INT64, &value, 1);
  }
  void set(cudnnBackendAttributeName_t name,
           const std::vector<int64_t> &values) {
    set(name, CUDNN_TYPE_INT64, values.data(),
        static_cast<int64_t>(values.size()));
  }
  /// How many values there are; fills in `values` as far as they go.
  template <typename T>
  int64_t read(cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, T *values,
               int64_t count) const {
    int64_t found = 0;
    dnn->check(dnn->cudnnBackendGetAttribute(handle, name, type, count, &found,
                                             values),
               "asking cuDNN");
    return found;
  }
  cudnnStatus_t tryFinish() { return dnn->cudnnBackendFinalize(handle); }
  void finish() { dnn->check(tryFinish(), "describing a convolution"); }

private:
  const Dnn *dnn = nullptr;
  cudnnBackendDescriptor_t handle = nullptr;
};

/// The numbers of the three tensors in plans.
enum TensorId : int64_t { InputId = 1, FilterId, OutputId };

struct Dnn::Algorithm {
  /// Alive while the execution is.
  Descriptor config, execution;
  ConvolutionChoice choice;
};

struct Dnn::Plan {
  /// Alive while the algorithm is.
  Descriptor operation, graph;
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

Dnn::Dnn(const std::string &device) : Dnn() {
  properties =
      std::make_unique<Descriptor>(*this, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  device.data(), static_cast<int64_t>(device.size()));
  properties->finish();
}

static cudnnDataType_t getDataType(int32_t type) {
  DType dtype = getDType(type);
  switch (dtype) {
  case DType::F64:
    return CUDNN_DATA_DOUBLE;
  case DType::F32:
    return CUDNN_DATA_FLOAT;
  case DType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case DType::F16:
    return CUDNN_DATA_HALF;
  default:
    throw std::invalid_argument("cuDNN does not take elements of type " +
                                std::string(getName(dtype)));
  }
}

Dnn::Descriptor Dnn::describeTensor(int64_t id, int32_t type,
                                    const std::vector<int64_t> &dims,
                                    bool channelsLast) const {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (channelsLast)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[order[i]])
    strides[order[i]] = stride;
  cudnnDataType_t dataType = getDataType(type);
  Descriptor tensor(*this, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &dataType, 1);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(INGOT_ALIGNMENT));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.finish();
  return tensor;
}

namespace {
/// The names of the attributes of an operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};
} // namespace

static const OperationNames &getNames(ConvolutionResult result) {
  static const OperationNames forward = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static const OperationNames inputGrad = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static const OperationNames filterGrad = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  return result == ConvolutionResult::Output      ? forward
         : result == ConvolutionResult::InputGrad ? inputGrad
                                                  : filterGrad;
}

Dnn::Descriptor Dnn::describeOperation(const ingot_conv_desc &desc,
                                       ConvolutionResult result) const {
  // The library requires at least two spatial dimensions.
  int64_t rank = desc.spatial_rank, extra = rank < 2 ? 2 - rank : 0;
  auto spatial = [&](const int64_t *values, int64_t fill) {
    std::vector<int64_t> all(extra, fill);
    all.insert(all.end(), values, values + rank);
    return all;
  };
  auto dims = [&](int64_t first, int64_t second, const int64_t *extents) {
    std::vector<int64_t> all = {first, second};
    for (int64_t extent : spatial(extents, 1))
      all.push_back(extent);
    return all;
  };
  bool isDouble = desc.type == INGOT_F64;
  cudnnDataType_t computeType = isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor convolution(*this, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                  &computeType, 1);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                  &mode, 1);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, rank + extra);
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                  spatial(desc.pad_low, 0));
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                  spatial(desc.pad_high, 0));
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(desc.dilation, 1));
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                  spatial(desc.stride, 1));
  convolution.finish();

  Descriptor input = describeTensor(InputId, desc.type,
                                    dims(desc.batch, desc.in_channels, desc.in),
                                    desc.channels_last);
  Descriptor filter = describeTensor(
      FilterId, desc.type,
      dims(desc.out_channels, desc.in_channels / desc.groups, desc.kernel),
      desc.filter_channels_last);
  Descriptor output = describeTensor(
      OutputId, desc.type, dims(desc.batch, desc.out_channels, desc.out),
      desc.channels_last);
  const OperationNames &names = getNames(result);
  Descriptor operation(*this, names.type);
  operation.set(names.convolution, convolution);
  operation.set(names.input, input);
  operation.set(names.filter, filter);
  operation.set(names.output, output);
  const double alpha = 1, beta = 0;
  const float alphaF32 = 1, betaF32 = 0;
  if (isDouble) {
    operation.set(names.alpha, CUDNN_TYPE_DOUBLE, &alpha, 1);
    operation.set(names.beta, CUDNN_TYPE_DOUBLE, &beta, 1);
  } else {
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, &alphaF32, 1);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, &betaF32, 1);
  }
  operation.finish();
  return operation;
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
    knobs.emplace_back(*this, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
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
                                         ConvolutionResult result) const {
  auto plan = std::make_unique<Plan>();
  plan->operation = describeOperation(desc, result);
  plan->graph = Descriptor(*this, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  plan->graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, plan->operation);
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
      configs.emplace_back(*this, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
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
  if (algorithms.empty())
    throw failure("cuDNN",
                  "no algorithm computes this convolution in its precision and "
                  "with the same bits in every run, within " +
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
                                       ConvolutionResult result) {
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
  return text;
}

void Dnn::tune(Plan &plan, const ingot_conv_desc &desc,
               ConvolutionResult result, const Tensors &tensors,
               void *scratch) const {
  std::string key = "convolution by cuDNN " +
                    std::to_string(cudnnGetVersion()) + ": " +
                    describeConvolution(desc, result);
  std::vector<Algorithm> algorithms;
  if (std::optional<std::string> kept = tuner->find(key))
    algorithms = findAlgorithms(plan, desc, /*most=*/1, *kept);
  if (!algorithms.empty()) {
    plan.algorithm = std::move(algorithms.front());
    return;
  }
  algorithms = findAlgorithms(plan, desc, kMostCandidates);
  // Repeated runs are safe, because inputs are not overwritten.
  std::optional<size_t> fastest =
      tuner->findFastest(algorithms.size(), [&](size_t i) {
        return run(algorithms[i], tensors, scratch) == CUDNN_STATUS_SUCCESS;
      });
  if (!fastest)
    return;
  plan.algorithm = std::move(algorithms[*fastest]);
  tuner->keep(key, plan.algorithm.choice.name);
}

std::unique_ptr<Dnn::Plan> Dnn::plan(const ingot_conv_desc &desc,
                                     ConvolutionResult result,
                                     const Tensors &tensors,
                                     void *scratch) const {
  auto plan = describe(desc, result);
  if (tuner)
    tune(*plan, desc, result, tensors, scratch);
  if (!plan->algorithm.execution.get())
    plan->algorithm = findFirst(*plan, desc);
  return plan;
}

ConvolutionChoice Dnn::choose(const ingot_conv_desc &desc,
                              ConvolutionResult result) const {
  auto plan = describe(desc, result);
  return findFirst(*plan, desc).choice;
}

std::vector<ConvolutionChoice> Dnn::list(const ingot_conv_desc &desc,
                                         ConvolutionResult result,
                                         const std::string &name) const {
  auto plan = describe(desc, result);
  std::vector<ConvolutionChoice> choices;
  for (const Algorithm &algorithm :
       findAlgorithms(*plan, desc, kMostCandidates, name))
    choices.push_back(algorithm.choice);
  return choices;
}

ConvolutionChoice ingot::runtime::chooseConvolution(const ingot_conv_desc &desc,
                                                    ConvolutionResult result,
                                                    const std::string &device) {
  return Dnn(device).choose(desc, result);
}

std::vector<ConvolutionChoice> ingot::runtime::listConvolutions(
    const ingot_conv_desc &desc, ConvolutionResult result,
    const std::string &device, const std::string &name) {
  return Dnn(device).list(desc, result, name);
}

cudnnStatus_t Dnn::run(const Algorithm &algorithm, const Tensors &tensors,
                       void *scratch) const {
  Descriptor pack(*this, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors,
           3);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {InputId, FilterId, OutputId});
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &scratch, 1);
  pack.finish();
  return cudnnBackendExecute(handle, algorithm.execution.get(), pack.get());
}

void Dnn::convolve(const ingot_conv_desc &desc, ConvolutionResult result,
                   const void *input, const void *filter, const void *output,
                   void *scratch) {
  Tensors tensors = {input, filter, output};
  const Plan &plan = plans.get(desc, static_cast<int>(result), [&] {
    return this->plan(desc, result, tensors, scratch);
  });
  check(run(plan.algorithm, tensors, scratch), "convolving");
}
