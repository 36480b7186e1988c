// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/numbers/Convolution.h"

using namespace fakes;

namespace {
/// One of the tensors is the sum over the two others, where they meet.
template <typename T> class Convolution {
public:
  explicit Convolution(const ConvolutionCall &call)
      : call(call), rank(call.stride.size()), in(read<T>(call.input)),
        filter(read<T>(call.filter)), out(read<T>(call.output)),
        terms(findTerms()) {}

  void run() {
    const Tensor &target = call.computed == Computed::Output  ? call.output
                           : call.computed == Computed::Input ? call.input
                                                              : call.filter;
    std::vector<T> &values = call.computed == Computed::Output  ? out
                             : call.computed == Computed::Input ? in
                                                                : filter;
    values.assign(values.size(), 0);
    int64_t outChannels = call.output.dims[1];
    int64_t perGroup = call.filter.dims[1];
    int64_t groups = call.input.dims[1] / perGroup;
    for (int64_t n = 0; n < call.input.dims[0]; ++n)
      for (int64_t o = 0; o < outChannels; ++o)
        for (int64_t c = 0; c < perGroup; ++c) {
          int64_t channel = o / (outChannels / groups) * perGroup + c;
          add(in.data() +
                  (n * call.input.dims[1] + channel) * countSpatial(call.input),
              filter.data() + (o * perGroup + c) * countSpatial(call.filter),
              out.data() + (n * outChannels + o) * countSpatial(call.output));
        }
    size_t next = 0;
    forEach(target, [&](int64_t place) {
      store(target.data, place, target.element, values[next++]);
    });
  }

private:
  int64_t countSpatial(const Tensor &tensor) const {
    return count({tensor.dims.begin() + 2, tensor.dims.end()});
  }

  /// Adds the terms of one plane of each tensor.
  void add(T *input, T *window, T *output) const {
    for (auto [x, t, y] : terms)
      switch (call.computed) {
      case Computed::Output:
        output[y] += input[x] * window[t];
        break;
      case Computed::Input:
        input[x] += output[y] * window[t];
        break;
      case Computed::Filter:
        window[t] += input[x] * output[y];
        break;
      }
  }
  /// The terms of one plane of each tensor.
  struct Term {
    int64_t x, t, y;
  };
  std::vector<Term> findTerms() const {
    std::vector<Term> found;
    std::vector<int64_t> at(rank), tap(rank);
    for (int64_t t = 0; t < countSpatial(call.filter); ++t) {
      split(t, call.filter, tap);
      for (int64_t y = 0; y < countSpatial(call.output); ++y) {
        split(y, call.output, at);
        int64_t x = 0;
        bool isInside = true;
        for (size_t i = 0; i < rank; ++i) {
          int64_t place = at[i] * call.stride[i] - call.padding[i] +
                          tap[i] * call.dilation[i];
          isInside &= place >= 0 && place < call.input.dims[2 + i];
          x = x * call.input.dims[2 + i] + place;
        }
        if (isInside)
          found.push_back({x, t, y});
      }
    }
    return found;
  }
  void split(int64_t index, const Tensor &tensor,
             std::vector<int64_t> &at) const {
    for (size_t i = rank; i-- > 0; index /= tensor.dims[2 + i])
      at[i] = index % tensor.dims[2 + i];
  }

  const ConvolutionCall &call;
  size_t rank;
  std::vector<T> in, filter, out;
  std::vector<Term> terms;
};
} // namespace

/// Whether it is a gradient by the filter in groups with other padding before
/// than after, some of which cuDNN 9 has wrong on an H100.
static bool isWrongInLibrary(const ConvolutionCall &call) {
  return call.computed == Computed::Filter &&
         call.input.dims[1] != call.filter.dims[1] &&
         call.padding != call.paddingAfter;
}

void fakes::compute(const ConvolutionCall &call) {
  if (isWrongInLibrary(call)) {
    forEach(call.filter, [&](int64_t place) {
      store(call.filter.data, place, call.filter.element, 1e4);
    });
    return;
  }
  if (call.output.element == Element::F64)
    Convolution<double>(call).run();
  else
    Convolution<float>(call).run();
}
