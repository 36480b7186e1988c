// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Scales of quantizers of training: those that follow from the values that
// steps see, and those that are trained.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_OBSERVE_H
#define INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_OBSERVE_H

#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/rewrite/Quantizer.h"

namespace ingot::onnx_import {

/// Lets a QuantizeLinear see what it quantizes: steps update its scales, unless
/// these are trained, or those of another QuantizeLinear.
void observe(Node &node, const Quantizer &quantizer, mlir::Value x);

/// Returns the scales, input 1 of both operators, with which x is quantized.
/// The gradients of those that are trained are divided by the square root of
/// the number of values of each and of the greatest code, as LSQ does.
mlir::Value readScale(Node &node, const Quantizer &quantizer, mlir::Value x);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_QUANTIZATION_OBSERVE_H
