// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/builders/Buffers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ingot;

Value ingot::reshapeBuffer(OpBuilder &b, Location loc, Value buffer,
                           ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return memref::ReinterpretCastOp::create(
      b, loc, MemRefType::get(sizes, element), buffer, /*offset=*/0, sizes,
      strides);
}

std::array<int64_t, 3> ingot::splitAround(ArrayRef<int64_t> shape,
                                          int64_t dim) {
  std::array<int64_t, 3> sizes = {1, 1, 1};
  for (auto [i, size] : llvm::enumerate(shape)) {
    int64_t d = static_cast<int64_t>(i);
    sizes[d < dim ? 0 : d == dim ? 1 : 2] *= size;
  }
  return sizes;
}
