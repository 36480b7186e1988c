// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Versions of operator sets.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_OPSETS_H
#define INGOT_FRONTENDS_ONNX_MODEL_OPSETS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"

namespace ingot::onnx_import {

/// The oldest opset of the default domain that is supported.
inline constexpr int kOldestOpset = 7;

/// Returns the version of a domain's operator set; 0 if the model does not
/// import it.
int opsetVersion(const onnx::ModelProto &model, llvm::StringRef domain);

/// Returns the newest version of the default domain that is known.
int newestOpset();

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_OPSETS_H
