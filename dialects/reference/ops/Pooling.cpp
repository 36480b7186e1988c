// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Pooling: docs/spec/convolution.md.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/convolution/WindowLayout.h"
#include "dialects/reference/Registry.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {
/// The planes of a tensor: one per image and channel.
struct Planes {
  template <typename OpT>
  Planes(OpT op, const Tensor &tensor)
      : layout{op.getChannelsLast()}, sizes(layout.spatial(tensor.getShape())),
        channels(
            tensor.getShape()[layout.channelDim(tensor.getShape().size())]),
        count(tensor.getShape()[0] * channels), size(llvm::product_of(sizes)) {}

  /// Returns where an element of a plane is in the tensor.
  int64_t at(int64_t plane, int64_t element) const {
    if (!layout.channelsLast)
      return plane * size + element;
    return (plane / channels * size + element) * channels + plane % channels;
  }

  WindowLayout layout;
  ArrayRef<int64_t> sizes;
  int64_t channels, count, size;
};
} // namespace

/// Calls `visit(window, element)` for each pair of a window of the output plane
/// and an element of the input plane in it (padding left out), windows in
/// row-major order and elements in row-major order within.
template <typename OpT, typename Visit>
static void forEachInWindow(OpT op, ArrayRef<int64_t> input,
                            ArrayRef<int64_t> output, Visit visit) {
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations(),
                    low = op.getPadLow();
  Index inputStrides = rowMajorStrides(input);
  forEachIndex(output, [&](ArrayRef<int64_t> window, int64_t w) {
    forEachIndex(op.getKernel(), [&](ArrayRef<int64_t> offset, int64_t) {
      int64_t position = 0;
      for (size_t d = 0; d < input.size(); ++d) {
        int64_t at = window[d] * strides[d] + offset[d] * dilations[d] - low[d];
        if (at < 0 || at >= input[d])
          return;
        position += at * inputStrides[d];
      }
      visit(w, position);
    });
  });
}

static void maxPool(MaxPoolOp op, Operands in, Results out) {
  Tensor &result = out[0], &indices = out[1];
  Planes from(op, in[0]), to(op, result);
  std::fill_n(&indices.integer(0), indices.size(), -1);
  for (int64_t p = 0; p < from.count; ++p)
    forEachInWindow(op, from.sizes, to.sizes,
                    [&](int64_t window, int64_t element) {
                      double x = in[0].real(from.at(p, element));
                      int64_t at = to.at(p, window);
                      double best = result.real(at);
                      bool wins = indices.integer(at) < 0 ||
                                  (!std::isnan(best) && !(x <= best));
                      if (!wins)
                        return;
                      result.real(at) = x;
                      indices.integer(at) = element;
                    });
}

static llvm::Error maxPoolGrad(MaxPoolGradOp op, Operands in, Results out) {
  Planes from(op, in[0]), to(op, out[0]);
  for (int64_t p = 0; p < from.count; ++p)
    for (int64_t window = 0; window < from.size; ++window) {
      int64_t element = in[1].integer(from.at(p, window));
      if (element < 0 || element >= to.size)
        return invalid("index " + llvm::Twine(element) +
                       " lies outside the input's plane");
      out[0].real(to.at(p, element)) += in[0].real(from.at(p, window));
    }
  return llvm::Error::success();
}

static void sumPool(SumPoolOp op, Operands in, Results out) {
  Planes from(op, in[0]), to(op, out[0]);
  for (int64_t p = 0; p < from.count; ++p)
    forEachInWindow(
        op, from.sizes, to.sizes, [&](int64_t window, int64_t element) {
          out[0].real(to.at(p, window)) += in[0].real(from.at(p, element));
        });
}

static void sumPoolGrad(SumPoolGradOp op, Operands in, Results out) {
  Planes from(op, in[0]), to(op, out[0]);
  for (int64_t p = 0; p < to.count; ++p)
    forEachInWindow(
        op, to.sizes, from.sizes, [&](int64_t window, int64_t element) {
          out[0].real(to.at(p, element)) += in[0].real(from.at(p, window));
        });
}

void ingot::reference::registerPooling(Registry &registry) {
  registry.add<MaxPoolOp>(maxPool);
  registry.add<MaxPoolGradOp>(maxPoolGrad);
  registry.add<SumPoolOp>(sumPool);
  registry.add<SumPoolGradOp>(sumPoolGrad);
}
