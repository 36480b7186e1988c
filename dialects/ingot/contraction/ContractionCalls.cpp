// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library call of contractions.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

template <typename Op> static ingot_matmul_desc describe(Op op) {
  MatmulOp::Sizes sizes = op.getSizes();
  ingot_matmul_desc desc = {};
  desc.batch = sizes.batch;
  desc.m = sizes.m;
  desc.n = sizes.n;
  desc.k = sizes.k;
  desc.transpose_a = op.getTransposeLhs();
  desc.transpose_b = op.getTransposeRhs();
  desc.a_type = getAbiType(getElementTypeOrSelf(op.getLhs()));
  desc.b_type = getAbiType(getElementTypeOrSelf(op.getRhs()));
  desc.c_type = getAbiType(getElementTypeOrSelf(op.getResult()));
  return desc;
}

StringRef MatmulOp::getEntry() { return "ingot_matmul"; }

void MatmulOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describe(*this);
}

SmallVector<CallBuffer> MatmulOp::getCallBuffers() {
  return {{getLhs()}, {getRhs()}, {}, {}, {getResult()}};
}

static_assert(static_cast<int>(ScaleLayout::Tensor) == INGOT_SCALE_TENSOR &&
              static_cast<int>(ScaleLayout::Runs) == INGOT_SCALE_RUNS &&
              static_cast<int>(ScaleLayout::Squares) == INGOT_SCALE_SQUARES &&
              static_cast<int>(ScaleLayout::Tiles) == INGOT_SCALE_TILES);

StringRef ScaledMatmulOp::getEntry() { return "ingot_matmul"; }

void ScaledMatmulOp::describeCall(CallDescriptor &descriptor) {
  ingot_matmul_desc desc = describe(*this);
  desc.a_scaling = static_cast<int32_t>(getLhsLayout());
  desc.b_scaling = static_cast<int32_t>(getRhsLayout());
  descriptor = desc;
}
