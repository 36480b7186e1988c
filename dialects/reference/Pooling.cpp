//===----------------------------------------------------------------------===//
// Pooling: docs/spec/convolution.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// Number of elements of one plane: all dimensions but batch and channels.
static int64_t planeSize(const Tensor &tensor) {
  int64_t size = 1;
  for (int64_t extent : tensor.getShape().drop_front(2))
    size *= extent;
  return size;
}

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
  int64_t inPlane = planeSize(in[0]), outPlane = planeSize(result);
  std::fill_n(&indices.integer(0), indices.size(), -1);
  int64_t planes = in[0].getShape()[0] * in[0].getShape()[1];
  for (int64_t p = 0; p < planes; ++p)
    forEachInWindow(op, in[0].getShape().drop_front(2),
                    result.getShape().drop_front(2),
                    [&](int64_t window, int64_t element) {
                      double x = in[0].real(p * inPlane + element);
                      int64_t to = p * outPlane + window;
                      double best = result.real(to);
                      bool wins = indices.integer(to) < 0 ||
                                  (!std::isnan(best) && !(x <= best));
                      if (!wins)
                        return;
                      result.real(to) = x;
                      indices.integer(to) = element;
                    });
}

static llvm::Error maxPoolGrad(MaxPoolGradOp op, Operands in, Results out) {
  int64_t inPlane = planeSize(out[0]), outPlane = planeSize(in[0]);
  for (int64_t i = 0; i < in[0].size(); ++i) {
    int64_t element = in[1].integer(i);
    if (element < 0 || element >= inPlane)
      return invalid("index " + llvm::Twine(element) +
                     " lies outside the input's plane");
    out[0].real(i / outPlane * inPlane + element) += in[0].real(i);
  }
  return llvm::Error::success();
}

static void sumPool(SumPoolOp op, Operands in, Results out) {
  int64_t inPlane = planeSize(in[0]), outPlane = planeSize(out[0]);
  int64_t planes = in[0].getShape()[0] * in[0].getShape()[1];
  for (int64_t p = 0; p < planes; ++p)
    forEachInWindow(op, in[0].getShape().drop_front(2),
                    out[0].getShape().drop_front(2),
                    [&](int64_t window, int64_t element) {
                      out[0].real(p * outPlane + window) +=
                          in[0].real(p * inPlane + element);
                    });
}

static void sumPoolGrad(SumPoolGradOp op, Operands in, Results out) {
  int64_t inPlane = planeSize(out[0]), outPlane = planeSize(in[0]);
  int64_t planes = in[0].getShape()[0] * in[0].getShape()[1];
  for (int64_t p = 0; p < planes; ++p)
    forEachInWindow(op, out[0].getShape().drop_front(2),
                    in[0].getShape().drop_front(2),
                    [&](int64_t window, int64_t element) {
                      out[0].real(p * inPlane + element) +=
                          in[0].real(p * outPlane + window);
                    });
}

void ingot::reference::registerPooling(Registry &registry) {
  registry.add<MaxPoolOp>(maxPool);
  registry.add<MaxPoolGradOp>(maxPoolGrad);
  registry.add<SumPoolOp>(sumPool);
  registry.add<SumPoolGradOp>(sumPoolGrad);
}
