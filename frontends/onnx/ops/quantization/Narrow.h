// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Conversions to and from elements of narrow types.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_NARROW_H
#define INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_NARROW_H

#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

/// Returns the numbers that elements of a narrow type stand for, in f32.
mlir::Value decodeNarrow(Node &node, mlir::Value value, const NarrowType &type);

/// Returns the nearest elements of a narrow floating-point type, ties to even.
/// Beyond the largest number is that number if `saturate`, else infinity or
/// NaN.
mlir::Value encodeNarrow(Node &node, mlir::Value value, const NarrowType &type,
                         bool saturate);

/// Returns integers reduced to the range of a narrow integer type, by keeping
/// their low bits.
mlir::Value wrapNarrow(Node &node, mlir::Value value, const NarrowType &type);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_NARROW_H
