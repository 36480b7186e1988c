// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library call of contractions.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

StringRef MatmulOp::getEntry() { return "ingot_matmul"; }

void MatmulOp::describeCall(CallDescriptor &descriptor) {
  Sizes sizes = getSizes();
  ingot_matmul_desc desc = {};
  desc.batch = sizes.batch;
  desc.m = sizes.m;
  desc.n = sizes.n;
  desc.k = sizes.k;
  desc.transpose_a = getTransposeLhs();
  desc.transpose_b = getTransposeRhs();
  desc.a_type = getAbiType(getElementTypeOrSelf(getLhs()));
  desc.b_type = getAbiType(getElementTypeOrSelf(getRhs()));
  desc.c_type = getAbiType(getElementTypeOrSelf(getResult()));
  descriptor = desc;
}
