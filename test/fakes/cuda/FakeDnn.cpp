// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcudnn (Fakes.h). Of the engines it proposes, three or
// INGOT_FAKE_ENGINES, the first is not deterministic and the second wants
// more memory than anyone has. From the fourth on they are one engine in
// several settings.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/Convolution.h"

#include <algorithm>
#include <cudnn.h>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using fakes::record;

namespace {
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool isFinished = false;
  /// Of engines and what they are part of.
  int64_t engine = 0;
  std::map<cudnnBackendAttributeName_t, std::vector<int64_t>> numbers = {};
  std::map<cudnnBackendAttributeName_t, Descriptor *> parts = {};
  /// Of what an operation is part of.
  const Descriptor *operation = nullptr;
};

/// The names of the attributes of an operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  fakes::Computed computed;
  cudnnBackendAttributeName_t convolution, input, filter, output;
};
constexpr OperationNames operations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     fakes::Computed::Output,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     fakes::Computed::Input,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     fakes::Computed::Filter,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};

const OperationNames *findNames(const Descriptor &descriptor) {
  for (const OperationNames &names : operations)
    if (descriptor.type == names.type)
      return &names;
  return nullptr;
}

std::set<const void *> living;
constexpr int64_t withSettings = 3;

int64_t countEngines() { return fakes::getSetting("INGOT_FAKE_ENGINES", 3); }

Descriptor *find(const void *handle) {
  if (living.count(handle))
    return static_cast<Descriptor *>(const_cast<void *>(handle));
  record("violation", " cuDNN: a descriptor that does not live");
  return nullptr;
}

int64_t getNumber(const Descriptor &descriptor,
                  cudnnBackendAttributeName_t name) {
  auto found = descriptor.numbers.find(name);
  return found == descriptor.numbers.end() ? 0 : found->second.front();
}

/// Where a dense tensor has its channels.
const char *findChannels(const Descriptor &tensor) {
  const std::vector<int64_t> &dims =
      tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto isDense = [&](const std::vector<size_t> &order) {
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0; stride *= dims[order[i]])
      if (tensor.numbers.at(CUDNN_ATTR_TENSOR_STRIDES).at(order[i]) != stride)
        return false;
    return true;
  };
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (isDense(order))
    return "first";
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  if (isDense(order))
    return "last";
  record("violation", " cuDNN: the strides of a tensor");
  return "nowhere";
}

/// Checks that the extents of a convolution fit each other, and writes down in
/// which order its dimensions are.
void checkOperation(const Descriptor &operation, const OperationNames &names) {
  auto [type, computed, convolution, x, w, y] = names;
  auto dims = [&](cudnnBackendAttributeName_t name) {
    return operation.parts.at(name)->numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  };
  auto &numbers = operation.parts.at(convolution)->numbers;
  std::vector<int64_t> in = dims(x), filter = dims(w), out = dims(y);
  bool fits = in.size() == out.size() && in.size() == filter.size() &&
              in.size() >= 4 && in[0] == out[0] && filter[0] == out[1] &&
              in[1] % filter[1] == 0;
  for (size_t i = 2; fits && i < in.size(); ++i) {
    auto at = [&](cudnnBackendAttributeName_t name) {
      return numbers.at(name).at(i - 2);
    };
    int64_t window = at(CUDNN_ATTR_CONVOLUTION_DILATIONS) * (filter[i] - 1) + 1;
    int64_t padded = in[i] + at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) +
                     at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    fits = (padded - window) / at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) + 1 ==
           out[i];
  }
  if (!fits)
    record("violation", " cuDNN: the shapes of a convolution");
  record("convolution", " channels data=%s filter=%s result=%s",
         findChannels(*operation.parts.at(x)),
         findChannels(*operation.parts.at(w)),
         findChannels(*operation.parts.at(y)));
}

fakes::Tensor makeTensor(const Descriptor &tensor, const Descriptor &pack) {
  fakes::Tensor made;
  made.dims = tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  made.strides = tensor.numbers.at(CUDNN_ATTR_TENSOR_STRIDES);
  switch (getNumber(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE)) {
  case CUDNN_DATA_DOUBLE:
    made.element = fakes::Element::F64;
    break;
  case CUDNN_DATA_FLOAT:
    made.element = fakes::Element::F32;
    break;
  case CUDNN_DATA_HALF:
    made.element = fakes::Element::F16;
    break;
  case CUDNN_DATA_BFLOAT16:
    made.element = fakes::Element::BF16;
    break;
  default:
    record("violation", " cuDNN: the type of a tensor");
  }
  auto &ids = pack.numbers.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto found = std::find(ids.begin(), ids.end(),
                         getNumber(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID));
  if (found == ids.end()) {
    record("violation", " cudnnBackendExecute: a tensor has no address");
    return made;
  }
  int64_t address = pack.numbers.at(
      CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[found - ids.begin()];
  int64_t alignment = getNumber(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  made.data = reinterpret_cast<void *>(address);
  size_t last = 1;
  for (size_t i = 0; i < made.dims.size(); ++i)
    last += (made.dims[i] - 1) * made.strides[i];
  auto isOnDevice =
      fakes::findInDriver<fakes::IsOnDevice>("ingotFakeIsOnDevice");
  if (isOnDevice && !isOnDevice(made.data, last * getSize(made.element)))
    record("violation", " cudnnBackendExecute: a tensor is not on the GPU");
  if (alignment == 0 || address % alignment != 0)
    record("violation", " cudnnBackendExecute: the alignment of a tensor");
  return made;
}

fakes::ConvolutionCall makeCall(const Descriptor &operation,
                                const Descriptor &pack) {
  const OperationNames &names = *findNames(operation);
  auto &numbers = operation.parts.at(names.convolution)->numbers;
  return {makeTensor(*operation.parts.at(names.input), pack),
          makeTensor(*operation.parts.at(names.filter), pack),
          makeTensor(*operation.parts.at(names.output), pack),
          numbers.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          numbers.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          numbers.at(CUDNN_ATTR_CONVOLUTION_DILATIONS),
          names.computed};
}

/// Of the handle.
cudaStream_t usedStream = nullptr;
} // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&living);
  return record(__func__) ? CUDNN_STATUS_NOT_INITIALIZED : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
  record(__func__, " objects=%zu", living.size());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  if (!stream)
    record("violation", " cudnnSetStream: the default stream");
  usedStream = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() {
  return fakes::getSetting("INGOT_FAKE_DNN_VERSION", CUDNN_VERSION);
}
const char *cudnnGetErrorString(cudnnStatus_t) { return "as the test wants"; }

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type};
  living.insert(*descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  Descriptor *object = find(descriptor);
  living.erase(descriptor);
  delete object;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  Descriptor *object = find(descriptor);
  if (object->isFinished)
    record("violation", " cuDNN: a finished descriptor changes");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    Descriptor *part =
        find(*static_cast<const cudnnBackendDescriptor_t *>(values));
    if (!part->isFinished && part->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
      record("violation", " cuDNN: an unfinished part");
    // Parts are copied, as the library may.
    object->parts[name] = new Descriptor(*part);
    object->engine = part->engine;
    if (findNames(*part))
      object->operation = object->parts[name];
    else if (part->operation)
      object->operation = part->operation;
  } else if (type == CUDNN_TYPE_DATA_TYPE) {
    object->numbers[name] = {*static_cast<const cudnnDataType_t *>(values)};
  } else if (type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR) {
    const auto *numbers = static_cast<const int64_t *>(values);
    object->numbers[name].assign(numbers, numbers + count);
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor *object = find(descriptor);
  object->isFinished = true;
  if (const OperationNames *names = findNames(*object))
    checkOperation(*object, *names);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested,
                         int64_t *count, void *values) {
  Descriptor *object = find(descriptor);
  *count = 1;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *places = static_cast<cudnnBackendDescriptor_t *>(values);
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
      *count = countEngines();
      for (int64_t i = 0; i < std::min(requested, *count); ++i) {
        find(places[i])->engine = i;
        find(places[i])->operation = object->operation;
      }
    } else {
      find(places[0])->engine = object->engine;
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
    *static_cast<int64_t *>(values) =
        object->engine == 1 ? int64_t(1) << 60 : 256;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (getNumber(*find(pack), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == 0)
    record("violation", " cudnnBackendExecute: no tensors");
  int64_t engine = find(plan)->engine;
  bool isBroken = fakes::getSetting("INGOT_FAKE_BROKEN_ENGINE", -1) == engine;
  if (record(__func__, " engine=%d", static_cast<int>(engine)) || isBroken)
    return CUDNN_STATUS_EXECUTION_FAILED;
  if (!find(plan)->operation) {
    record("violation", " cudnnBackendExecute: a plan without operation");
    return CUDNN_STATUS_BAD_PARAM;
  }
  fakes::ConvolutionCall call = makeCall(*find(plan)->operation, *find(pack));
  if (fakes::computes())
    fakes::submitWork(usedStream, [call] {
      fakes::compute(call);
      return true;
    });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
