// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/ScalarPasses.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ingot;

void ingot::addScalarPasses(OpPassManager &functions, unsigned level,
                            const ExpandMathOptions &units) {
  functions.addPass(createCSEPass());
  functions.addPass(createCanonicalizerPass());
  // 16-bit floats are computed in f32 and rounded after every operation.
  functions.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions half;
  half.sourceTypeStrs = {"bf16", "f16"};
  functions.addPass(arith::createArithEmulateUnsupportedFloats(half));
  // Polynomials repeat subexpressions of their neighbours: CSE again.
  ExpandMathOptions expansion = units;
  expansion.polynomials = level > 0;
  functions.addPass(createExpandMath(expansion));
  functions.addPass(createLoopInvariantCodeMotionPass());
  functions.addPass(createCSEPass());
}
