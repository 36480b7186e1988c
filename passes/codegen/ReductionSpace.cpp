// SPDX-License-Identifier: Apache-2.0

#include "passes/codegen/ReductionSpace.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

int64_t codegen::product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

ReductionSpace::ReductionSpace(ValueRange results) {
  for (Value value : results)
    roots.push_back(cast<Reduction>(value.getDefiningOp()));
  shape = tensorType(roots[0]->getOperand(0)).getShape();
  reduced = llvm::to_vector(roots[0].getReducedDims());
  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
    if (!llvm::is_contained(reduced, d))
      kept.push_back(d);
}

SmallVector<int64_t> ReductionSpace::sizes(ArrayRef<int64_t> dims) const {
  return llvm::map_to_vector(dims, [&](int64_t d) { return shape[d]; });
}

bool ReductionSpace::foldsInnermost() const {
  int64_t innermost = 0;
  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
    if (shape[d] != 1)
      innermost = d;
  return llvm::is_contained(reduced, innermost);
}

size_t ReductionSpace::trailing(ArrayRef<int64_t> dims) const {
  size_t count = 0;
  while (count < dims.size() &&
         dims[dims.size() - 1 - count] ==
             static_cast<int64_t>(shape.size() - 1 - count))
    ++count;
  return count;
}

SmallVector<Value> ReductionSpace::at(ValueRange keptIndices,
                                      ValueRange reducedIndices) const {
  SmallVector<Value> indices(shape.size());
  for (auto [d, index] : llvm::zip_equal(kept, keptIndices))
    indices[d] = index;
  for (auto [d, index] : llvm::zip_equal(reduced, reducedIndices))
    indices[d] = index;
  return indices;
}
