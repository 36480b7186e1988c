// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Operators of ONNX's own domain that ONNX Runtime has and ONNX's library has
// not, or not in that version.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_RUNTIMEOPERATORS_H
#define INGOT_FRONTENDS_ONNX_MODEL_RUNTIMEOPERATORS_H

namespace ingot::onnx_import {

/// Makes ONNX's library know these operators, so that it checks their nodes as
/// those of others. Call before each use of the library; only the first one
/// counts.
void registerRuntimeOperators();

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_RUNTIMEOPERATORS_H
