// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/RowDims.h"

#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/TensorTypes.h"

using namespace mlir;
using namespace ingot;

/// Returns the first dimension of several elements; the rank if there is none.
static int64_t getFirstDim(RankedTensorType type) {
  return llvm::find_if(type.getShape(), [](int64_t size) { return size > 1; }) -
         type.getShape().begin();
}

RowDims::RowDims(func::FuncOp function) : dims(function) {
  for (BlockArgument argument : function.getArguments()) {
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kKindAttr);
    RankedTensorType type = tensorType(argument);
    int64_t dim = getFirstDim(type);
    if (!kind || kind.getValue() != "data" || dim == type.getRank())
      continue;
    if (std::optional<unsigned> own = dims.getClass(argument, dim))
      rows.insert(*own);
  }
}

std::optional<int64_t> RowDims::find(Value value, int64_t parts) const {
  RankedTensorType type = tensorType(value);
  int64_t elements = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    elements *= size;
    std::optional<unsigned> own = dims.getClass(value, dim);
    if (size < 2 || !own || !rows.contains(*own))
      continue;
    // A number for each row is not worth two exchanges.
    bool isWide = type.getNumElements() > elements;
    return isWide && size % parts == 0 ? std::optional<int64_t>(dim)
                                       : std::nullopt;
  }
  return std::nullopt;
}
