// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Ops that move elements: docs/spec/shape.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

static void iota(IotaOp op, Operands, Results out) {
  int64_t dim = op.getDim();
  forEachIndex(out[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    if (out[0].isFloat())
      out[0].real(i) = static_cast<double>(index[dim]);
    else
      out[0].integer(i) = index[dim];
  });
}

static void broadcast(BroadcastOp op, Operands in, Results out) {
  ArrayRef<int64_t> dims = op.getDims();
  Index strides = rowMajorStrides(in[0].getShape());
  forEachIndex(out[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t from = 0;
    for (int64_t d = 0; d < in[0].getRank(); ++d)
      if (in[0].getShape()[d] != 1)
        from += index[dims[d]] * strides[d];
    out[0].copy(i, in[0], from);
  });
}

static void transpose(TransposeOp op, Operands in, Results out) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  Index strides = rowMajorStrides(in[0].getShape());
  forEachIndex(out[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d)
      from += index[d] * strides[permutation[d]];
    out[0].copy(i, in[0], from);
  });
}

static void slice(SliceOp op, Operands in, Results out) {
  ArrayRef<int64_t> starts = op.getStarts(), steps = op.getStrides();
  Index strides = rowMajorStrides(in[0].getShape());
  forEachIndex(out[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d)
      from += (starts[d] + index[d] * steps[d]) * strides[d];
    out[0].copy(i, in[0], from);
  });
}

static void packBits(PackBitsOp, Operands in, Results out) {
  int64_t size = in[0].getShape().back(), bytes = out[0].getShape().back();
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].integer(i) = 0;
  for (int64_t i = 0; i < in[0].size(); ++i) {
    int64_t row = i / size, column = i % size;
    out[0].integer(row * bytes + column / 8) |= in[0].integer(i) << column % 8;
  }
}

static void unpackBits(UnpackBitsOp, Operands in, Results out) {
  int64_t size = out[0].getShape().back(), bytes = in[0].getShape().back();
  for (int64_t i = 0; i < out[0].size(); ++i) {
    int64_t row = i / size, column = i % size;
    out[0].integer(i) =
        in[0].integer(row * bytes + column / 8) >> column % 8 & 1;
  }
}

static void pad(PadOp op, Operands in, Results out) {
  ArrayRef<int64_t> low = op.getLow(), interior = op.getInterior();
  double value = op.getValue().convertToDouble();
  for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
    if (out[0].isFloat())
      out[0].real(i) = value;
    else
      out[0].integer(i) = truncateToInteger(value, out[0].getElementType());
  }
  Index strides = rowMajorStrides(out[0].getShape());
  forEachIndex(in[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t to = 0;
    for (size_t d = 0; d < index.size(); ++d)
      to += (low[d] + index[d] * (interior[d] + 1)) * strides[d];
    out[0].copy(to, in[0], i);
  });
}

static void concat(ConcatOp op, Operands in, Results out) {
  int64_t dim = op.getDim(), begin = 0;
  Index strides = rowMajorStrides(out[0].getShape());
  for (size_t input = 0; input < in.size(); ++input) {
    forEachIndex(in[input].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      out[0].copy(dot(index, strides) + begin * strides[dim], in[input], i);
    });
    begin += in[input].getShape()[dim];
  }
}

static void reverse(ReverseOp op, Operands in, Results out) {
  ArrayRef<int64_t> dims = op.getDims(), shape = in[0].getShape();
  Index strides = rowMajorStrides(shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t from = 0;
    for (int64_t d = 0, e = index.size(); d < e; ++d)
      from +=
          strides[d] *
          (llvm::is_contained(dims, d) ? shape[d] - 1 - index[d] : index[d]);
    out[0].copy(i, in[0], from);
  });
}

void ingot::reference::registerShape(Registry &registry) {
  registry.add<ConstantOp>(
      [](ConstantOp op, Operands, Results out) -> llvm::Error {
        llvm::Expected<Tensor> value = Tensor::fromAttribute(op.getValue());
        if (!value)
          return value.takeError();
        out[0] = std::move(*value);
        return llvm::Error::success();
      });
  registry.add<IotaOp>(iota);
  registry.add<BroadcastOp>(broadcast);
  registry.add<ReshapeOp>([](ReshapeOp op, Operands in, Results out) {
    out[0] = in[0].reshaped(cast<RankedTensorType>(op.getType()));
  });
  registry.add<TransposeOp>(transpose);
  registry.add<SliceOp>(slice);
  registry.add<PadOp>(pad);
  registry.add<ConcatOp>(concat);
  registry.add<ReverseOp>(reverse);
  registry.add<PackBitsOp>(packBits);
  registry.add<UnpackBitsOp>(unpackBits);
}
