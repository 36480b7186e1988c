// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lets ingot-opt take an ONNX model where it takes a module.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_OPT_ONNXINPUT_H
#define INGOT_TOOLS_INGOT_OPT_ONNXINPUT_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace ingot {

/// Registers the importer's options (--batch, --dim, --trainable, --freeze,
/// --untie); call before the command line is parsed.
void registerOnnxInputOptions();

/// Imports the model at `path`, as bytecode; null after an error is printed.
std::unique_ptr<llvm::MemoryBuffer>
readOnnxInput(llvm::StringRef path, const mlir::DialectRegistry &registry);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_OPT_ONNXINPUT_H
