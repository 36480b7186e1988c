// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fields of protobuf's messages, written by hand where their data is not in
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_WIREFIELDS_H
#define INGOT_FRONTENDS_ONNX_EXPORT_WIREFIELDS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace ingot::onnx_import {

/// Field numbers of ModelProto, GraphProto and TensorProto.
inline constexpr int kGraph = 7, kInitializer = 5, kRawData = 9;

/// Appends the start of a field of that many bytes.
void appendHead(std::string &to, int field, size_t bytes);

/// Returns the size of a field of that many bytes, whose number is below 16.
size_t fieldBytes(size_t bytes);

/// Appends fields of a graph as a graph of their own, unless there are none.
void appendInitializers(std::string &to, llvm::StringRef fields);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_WIREFIELDS_H
