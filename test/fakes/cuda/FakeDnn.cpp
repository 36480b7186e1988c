// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcudnn (Fakes.h). Of the engines it proposes for convolutions, three
// or INGOT_FAKE_ENGINES, the first is not deterministic and the second wants
// more memory than anyone has. From the fourth on they are one engine in
// several settings. Other graphs of operations have one engine, which is
// compiled when it is planned.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/dnn/BackendDescriptor.h"

#include <algorithm>
#include <set>

using namespace fakes::dnn;
using fakes::fails;
using fakes::record;

namespace {
std::set<const void *> living;
constexpr int64_t withSettings = 3;

/// The engine of graphs that are no convolution.
constexpr int64_t ofGraphs = 2;

bool isConvolutionAlone(const Descriptor &graph) {
  return graph.operations.size() == 1 && isConvolution(*graph.operations[0]);
}

int64_t countEngines(const Descriptor &descriptor) {
  bool isOther = descriptor.graph && !isConvolutionAlone(*descriptor.graph);
  if (isOther && !isSupportedFusion(*descriptor.graph).value_or(true))
    return 0;
  return isOther ? 1 : fakes::getSetting("INGOT_FAKE_ENGINES", 3);
}

/// Whether sums are accumulated in memory, in an order that varies.
bool isVarying(const Descriptor &graph) {
  auto described = makeGraph(graph, /*pack=*/nullptr);
  return described &&
         std::any_of(described->operations.begin(), described->operations.end(),
                     [&](const fakes::GraphOperation &operation) {
                       return isAccumulated(*described, operation);
                     });
}

/// The gradient of attention keeps that of the scores of 64 by 64 queries and
/// keys in memory, in 16 bits.
int64_t getWorkspaceBytes(const Descriptor &graph) {
  auto described = makeGraph(graph, /*pack=*/nullptr);
  int64_t bytes = fakes::getSetting("INGOT_FAKE_DNN_WORKSPACE", 256);
  if (!described)
    return bytes;
  auto roundUp = [](int64_t value) { return (value + 63) / 64 * 64; };
  for (const fakes::GraphOperation &operation : described->operations) {
    const fakes::GraphTensor &to = described->tensors.at(operation.output);
    if (operation.kind == fakes::GraphOperation::Reshape && to.isVirtual &&
        described->tensors.at(operation.inputs[0]).isVirtual)
      bytes = std::max(bytes, to.dims[0] * to.dims[1] * roundUp(to.dims[2]) *
                                  roundUp(to.dims[3]) * 2);
  }
  return bytes;
}

Descriptor *find(const void *handle) {
  if (living.count(handle))
    return static_cast<Descriptor *>(const_cast<void *>(handle));
  record("violation", " cuDNN: a descriptor that does not live");
  return nullptr;
}

/// The stream of the handle.
cudaStream_t usedStream = nullptr;

void noteAccess(const fakes::Tensor &tensor, bool isWritten) {
  fakes::forEachAccess(tensor, [&](const void *place, size_t bytes) {
    fakes::noteAccess("cudnnBackendExecute", place, bytes, isWritten);
  });
}

void noteAccesses(const fakes::OperationGraph &graph) {
  std::set<int64_t> written;
  for (const fakes::GraphOperation &operation : graph.operations) {
    written.insert(operation.output);
    if (operation.kind == fakes::GraphOperation::Sums)
      written.insert(operation.squares);
  }
  for (const auto &[number, tensor] : graph.tensors)
    if (!tensor.isVirtual && !tensor.value)
      noteAccess(tensor, written.count(number) != 0);
}

void noteAccesses(const fakes::ConvolutionCall &call) {
  noteAccess(call.input, call.computed == fakes::Computed::Input);
  noteAccess(call.filter, call.computed == fakes::Computed::Filter);
  noteAccess(call.output, call.computed == fakes::Computed::Output);
}

cudnnStatus_t executeGraph(const Descriptor &graph, const Descriptor &pack) {
  auto call = makeGraph(graph, &pack);
  if (!call)
    return CUDNN_STATUS_NOT_SUPPORTED;
  int64_t bytes = getWorkspaceBytes(graph);
  auto *workspace = reinterpret_cast<void *>(
      getNumber(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
  auto isOnDevice =
      fakes::findInDriver<fakes::IsOnDevice>("ingotFakeIsOnDevice");
  if (isOnDevice && !isOnDevice(workspace, bytes))
    record("violation",
           " cudnnBackendExecute: the workspace is not on the GPU");
  if (fakes::computes())
    fakes::submitWork(usedStream, [call = *std::move(call), workspace, bytes] {
      noteAccesses(call);
      fakes::noteAccess("cudnnBackendExecute", workspace, bytes,
                        /*isWritten=*/true);
      std::memset(workspace, 0xff, bytes);
      fakes::compute(call);
      return true;
    });
  return CUDNN_STATUS_SUCCESS;
}
} // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  fakes::Turn turn;
  *handle = reinterpret_cast<cudnnHandle_t>(&living);
  return record(__func__) ? CUDNN_STATUS_NOT_INITIALIZED : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
  fakes::Turn turn;
  record(__func__, " objects=%zu", living.size());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDNN_STATUS_INTERNAL_ERROR;
  if (!stream)
    record("violation", " cudnnSetStream: the default stream");
  usedStream = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() {
  return fakes::getSetting("INGOT_FAKE_DNN_VERSION", CUDNN_VERSION);
}
const char *cudnnGetErrorString(cudnnStatus_t) { return "as the test wants"; }
void cudnnGetLastErrorString(char *message, size_t length) {
  std::snprintf(message, length, "as the test wants");
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t *stream) {
  fakes::Turn turn;
  *stream = usedStream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDNN_STATUS_INTERNAL_ERROR;
  *descriptor = new Descriptor{type};
  living.insert(*descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  fakes::Turn turn;
  Descriptor *object = find(descriptor);
  living.erase(descriptor);
  delete object;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDNN_STATUS_INTERNAL_ERROR;
  Descriptor *object = find(descriptor);
  if (object->isFinished)
    record("violation", " cuDNN: a finished descriptor changes");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      Descriptor *part =
          find(static_cast<const cudnnBackendDescriptor_t *>(values)[i]);
      if (!part->isFinished && part->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        record("violation", " cuDNN: an unfinished part");
      // Parts are copied, as the library may.
      auto *copy = new Descriptor(*part);
      object->parts[name] = copy;
      object->engine = part->engine;
      if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS)
        object->operations.push_back(copy);
      if (part->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        object->graph = copy;
      else if (part->graph)
        object->graph = part->graph;
    }
  } else if (type == CUDNN_TYPE_DATA_TYPE ||
             type == CUDNN_TYPE_POINTWISE_MODE ||
             type == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE ||
             type == CUDNN_TYPE_RNG_DISTRIBUTION ||
             type == CUDNN_TYPE_GENSTATS_MODE) {
    object->numbers[name] = {*static_cast<const int32_t *>(values)};
  } else if (type == CUDNN_TYPE_BOOLEAN) {
    object->numbers[name] = {*static_cast<const bool *>(values)};
  } else if (type == CUDNN_TYPE_DOUBLE) {
    object->reals[name] = *static_cast<const double *>(values);
  } else if (type == CUDNN_TYPE_FLOAT) {
    object->reals[name] = *static_cast<const float *>(values);
  } else if (type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR) {
    const auto *numbers = static_cast<const int64_t *>(values);
    object->numbers[name].assign(numbers, numbers + count);
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDNN_STATUS_INTERNAL_ERROR;
  Descriptor *object = find(descriptor);
  object->isFinished = true;
  if (isConvolution(*object))
    checkConvolution(*object);
  if (object->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
      !isConvolutionAlone(*object) && !makeGraph(*object, /*pack=*/nullptr))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (object->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    bool varies = object->graph && !isConvolutionAlone(*object->graph) &&
                  isVarying(*object->graph);
    if (record("cudnnFinalizePlan", " engine=%d varies=%d",
               static_cast<int>(object->engine), varies))
      return CUDNN_STATUS_EXECUTION_FAILED;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested,
                         int64_t *count, void *values) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDNN_STATUS_INTERNAL_ERROR;
  Descriptor *object = find(descriptor);
  // Both places may be left out.
  int64_t unused = 0;
  count = count ? count : &unused;
  *count = 1;
  bool isOfGraph = object->graph && !isConvolutionAlone(*object->graph);
  if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && isOfGraph) {
    if (values)
      *static_cast<cudnnBackendBehaviorNote_t *>(values) =
          CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  } else if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE ||
             (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && isOfGraph) ||
             (name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES && isOfGraph)) {
    *count = 0;
  } else if (name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED) {
    *static_cast<int32_t *>(values) = 0;
  } else if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *places = static_cast<cudnnBackendDescriptor_t *>(values);
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
      *count = countEngines(*object);
      for (int64_t i = 0; i < std::min(requested, *count); ++i) {
        find(places[i])->engine = isOfGraph ? ofGraphs : i;
        find(places[i])->graph = object->graph;
      }
    } else {
      find(places[0])->engine = object->engine;
      find(places[0])->graph = object->graph;
    }
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    *count = object->engine == 0;
    *static_cast<cudnnBackendNumericalNote_t *>(values) =
        fakes::getSetting("INGOT_FAKE_TENSOR_CORES", 0)
            ? CUDNN_NUMERICAL_NOTE_TENSOR_CORE
            : CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
    *static_cast<int64_t *>(values) = std::min(object->engine, withSettings);
  } else if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) {
    *static_cast<cudnnBackendKnobType_t *>(values) = CUDNN_KNOB_TYPE_SPLIT_K;
  } else if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE) {
    *static_cast<int64_t *>(values) =
        std::max(int64_t(0), object->engine - withSettings);
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *static_cast<int64_t *>(values) = isOfGraph
                                          ? getWorkspaceBytes(*object->graph)
                                      : object->engine == 1 ? int64_t(1) << 60
                                                            : 256;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  fakes::Turn turn;
  if (getNumber(*find(pack), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == 0)
    record("violation", " cudnnBackendExecute: no tensors");
  int64_t engine = find(plan)->engine;
  bool isBroken = fakes::getSetting("INGOT_FAKE_BROKEN_ENGINE", -1) == engine;
  const Descriptor *graph = find(plan)->graph;
  bool isFused =
      graph && isSupportedFusion(*graph) && !isConvolutionAlone(*graph);
  if (record(__func__, " engine=%d%s", static_cast<int>(engine),
             isFused ? " fused" : "") ||
      isBroken)
    return CUDNN_STATUS_EXECUTION_FAILED;
  if (!graph) {
    record("violation", " cudnnBackendExecute: a plan without operation");
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (!isConvolutionAlone(*graph))
    return executeGraph(*graph, *find(pack));
  fakes::ConvolutionCall call =
      makeConvolution(*graph->operations[0], *find(pack));
  if (fakes::computes())
    fakes::submitWork(usedStream, [call] {
      noteAccesses(call);
      fakes::compute(call);
      return true;
    });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
