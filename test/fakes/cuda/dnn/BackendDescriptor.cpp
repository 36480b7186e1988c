// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/dnn/BackendDescriptor.h"

#include <algorithm>

using namespace fakes;
using namespace fakes::dnn;

int64_t dnn::getNumber(const Descriptor &descriptor,
                       cudnnBackendAttributeName_t name) {
  auto found = descriptor.numbers.find(name);
  return found == descriptor.numbers.end() ? 0 : found->second.front();
}

static std::optional<Element> findElement(int64_t type) {
  switch (type) {
  case CUDNN_DATA_DOUBLE:
    return Element::F64;
  case CUDNN_DATA_FLOAT:
    return Element::F32;
  case CUDNN_DATA_HALF:
    return Element::F16;
  case CUDNN_DATA_BFLOAT16:
    return Element::BF16;
  case CUDNN_DATA_INT32:
    return Element::I32;
  case CUDNN_DATA_INT64:
    return Element::I64;
  case CUDNN_DATA_BOOLEAN:
    return Element::Bool;
  default:
    return std::nullopt;
  }
}

Tensor dnn::makeTensor(const Descriptor &tensor, const Descriptor *pack) {
  Tensor made;
  made.dims = tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  made.strides = tensor.numbers.at(CUDNN_ATTR_TENSOR_STRIDES);
  auto element = findElement(getNumber(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE));
  if (!element)
    record("violation", " cuDNN: the type of a tensor");
  made.element = element.value_or(Element::F32);
  if (!pack || getNumber(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
    return made;
  auto &ids = pack->numbers.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto found = std::find(ids.begin(), ids.end(),
                         getNumber(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID));
  if (found == ids.end()) {
    record("violation", " cudnnBackendExecute: a tensor has no address");
    return made;
  }
  int64_t address = pack->numbers.at(
      CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[found - ids.begin()];
  made.data = reinterpret_cast<void *>(address);
  // The host passes it.
  if (getNumber(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
    return made;
  int64_t alignment = getNumber(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  auto isOnDevice = findInDriver<IsOnDevice>("ingotFakeIsOnDevice");
  if (isOnDevice &&
      !isOnDevice(made.data, countExtent(made) * getSize(made.element)))
    record("violation", " cudnnBackendExecute: a tensor is not on the GPU");
  if (alignment == 0 || address % alignment != 0)
    record("violation", " cudnnBackendExecute: the alignment of a tensor");
  return made;
}
