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

#include "dialects/ingot/encoding/EncodingInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/ingot/encoding/Encoding.h.inc"

namespace ingot {

/// Returns the types of the parts of that many numbers.
llvm::SmallVector<mlir::RankedTensorType>
getPartTypes(mlir::MLIRContext *context, const quantization::Encoding &encoding,
             int64_t elements);

} // namespace ingot

namespace ingot {

/// Decodes a tensor of one part for each element and one for each block, into
/// the shape of the codes.
mlir::Value decodeBlocks(mlir::OpBuilder &builder, mlir::Location loc,
                         const quantization::Encoding &encoding,
                         mlir::Value codes, mlir::Value scales);

/// Encodes a tensor in the way of bitsandbytes: the scale of a block is its
/// largest magnitude, or 1 where all are zero. Returns codes and scales.
std::pair<mlir::Value, mlir::Value>
encodeBlocks(mlir::OpBuilder &builder, mlir::Location loc,
             const quantization::Encoding &encoding, mlir::Value values);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H
