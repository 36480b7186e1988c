// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensors on the fake GPU, with any strides.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_STRIDEDTENSOR_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_STRIDEDTENSOR_H

#include "test/fakes/cuda/numbers/Elements.h"

#include <vector>

namespace fakes {

struct Tensor {
  void *data = nullptr;
  Element element = Element::F32;
  std::vector<int64_t> dims, strides;
};

inline int64_t count(const std::vector<int64_t> &dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

/// From the first element to behind the last one, in elements.
inline int64_t countExtent(const Tensor &tensor) {
  int64_t extent = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    extent += (tensor.dims[i] - 1) * tensor.strides[i];
  return extent;
}

/// Calls `body(place in memory)` for the elements in the order of dimensions.
template <typename Body> void forEach(const Tensor &tensor, Body body) {
  std::vector<int64_t> at(tensor.dims.size());
  for (int64_t left = count(tensor.dims); left > 0; --left) {
    int64_t place = 0;
    for (size_t i = 0; i < at.size(); ++i)
      place += at[i] * tensor.strides[i];
    body(place);
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < tensor.dims[i])
        break;
      at[i] = 0;
    }
  }
}

/// Calls `body(place, bytes)` for the memory of all elements.
template <typename Body> void forEachAccess(const Tensor &tensor, Body body) {
  size_t size = getSize(tensor.element);
  forEach(tensor, [&](int64_t place) {
    body(static_cast<const char *>(tensor.data) + place * int64_t(size), size);
  });
}

/// The elements in the order of dimensions.
template <typename T> std::vector<T> read(const Tensor &tensor) {
  std::vector<T> values;
  values.reserve(count(tensor.dims));
  forEach(tensor, [&](int64_t place) {
    values.push_back(static_cast<T>(load(tensor.data, place, tensor.element)));
  });
  return values;
}

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_STRIDEDTENSOR_H
