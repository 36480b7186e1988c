// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shape inference of contractions; constraints are those of
// docs/spec/contraction.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

/// Returns the inferred type, or f32 for 16-bit operands.
bool MatmulOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred == actual)
    return true;
  auto want = cast<RankedTensorType>(inferred.front());
  auto got = dyn_cast<RankedTensorType>(actual.front());
  return got && got.getShape() == want.getShape() &&
         got.getElementType().isF32() &&
         want.getElementType().getIntOrFloatBitWidth() == 16;
}

LogicalResult
MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = [&](const Twine &message) -> LogicalResult {
    return emitOptionalError(location, "'ingot.matmul' op ", message);
  };
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  if (failed(checkElement(fail, "C1", "rhs", lhs.getElementType(),
                          rhs.getElementType())))
    return failure();
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank)
    return fail("C2: both operands must have one rank of at least 2, got " +
                Twine(rank) + " and " + Twine(rhs.getRank()));
  if (failed(checkShape(fail, "C3", "the batch of rhs",
                        lhs.getShape().drop_back(2),
                        rhs.getShape().drop_back(2))))
    return failure();

  bool transposeLhs = adaptor.getTransposeLhs();
  bool transposeRhs = adaptor.getTransposeRhs();
  int64_t m = lhs.getDimSize(transposeLhs ? rank - 1 : rank - 2);
  int64_t k = lhs.getDimSize(transposeLhs ? rank - 2 : rank - 1);
  int64_t rhsK = rhs.getDimSize(transposeRhs ? rank - 1 : rank - 2);
  int64_t n = rhs.getDimSize(transposeRhs ? rank - 2 : rank - 1);
  if (rhsK != k)
    return fail("C4: the contracted sizes must be equal, want " + Twine(k) +
                " from lhs, got " + Twine(rhsK) + " from rhs");
  SmallVector<int64_t> shape(lhs.getShape().drop_back(2));
  shape.append({m, n});
  if (failed(checkSize(fail, "C5", shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

RankedTensorType ScaledMatmulOp::getScalesType(MLIRContext *context,
                                               ScaleLayout layout, int64_t rows,
                                               int64_t k) {
  constexpr int64_t run = 128, part = 32, parts = 4;
  auto divide = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(llvm::divideCeil(a, b));
  };
  Builder b(context);
  switch (layout) {
  case ScaleLayout::Tensor:
    return RankedTensorType::get({}, b.getF32Type());
  case ScaleLayout::Runs:
    return RankedTensorType::get({divide(k, run), rows}, b.getF32Type());
  case ScaleLayout::Squares:
    return RankedTensorType::get(
        {divide(rows, run), divide(divide(k, run), parts) * parts},
        b.getF32Type());
  case ScaleLayout::Tiles:
    break;
  }
  return RankedTensorType::get(
      {divide(rows, run), divide(k, part * parts), part, parts, parts},
      b.getIntegerType(8, /*isSigned=*/false));
}

LogicalResult ScaledMatmulOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs());
  RankedTensorType result = tensorType(getResult());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || result.getRank() != 2)
    return fail("C1: operands and the result must be matrices");
  int64_t m = lhs.getDimSize(getTransposeLhs() ? 1 : 0),
          k = lhs.getDimSize(getTransposeLhs() ? 0 : 1),
          n = rhs.getDimSize(getTransposeRhs() ? 0 : 1),
          rhsK = rhs.getDimSize(getTransposeRhs() ? 1 : 0);
  if (rhsK != k)
    return fail("C2: the contracted sizes must be equal, want " + Twine(k) +
                " from lhs, got " + Twine(rhsK) + " from rhs");
  if (failed(checkShape(fail, "C3", "the result", {m, n}, result.getShape())))
    return failure();
  auto check = [&](StringRef name, Value scales, ScaleLayout layout,
                   int64_t rows) -> LogicalResult {
    RankedTensorType want = getScalesType(getContext(), layout, rows, k);
    if (scales.getType() == want)
      return success();
    return emitOpError("C4: the scales of ")
           << name << " must be " << want << ", got " << scales.getType();
  };
  return success(succeeded(check("lhs", getLhsScales(), getLhsLayout(), m)) &&
                 succeeded(check("rhs", getRhsScales(), getRhsLayout(), n)));
}

/// Ingot's own GEMM leaves its result in the cache block by block.
bool MatmulOp::takesEpilogue() {
  return !tensorType(getResult()).getElementType().isF64();
}
