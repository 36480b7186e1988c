// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops on tensors that are encoded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H
#define INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/EncodedState.h"

#define GET_OP_CLASSES
#include "dialects/ingot/encoding/Encoding.h.inc"

namespace ingot {

/// Returns the types of the parts of that many numbers.
llvm::SmallVector<mlir::RankedTensorType>
getPartTypes(mlir::MLIRContext *context, const quantization::Encoding &encoding,
             int64_t elements);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H
