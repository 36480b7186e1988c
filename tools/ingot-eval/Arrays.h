// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads and writes the interpreter's tensors as .npz files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_EVAL_ARRAYS_H
#define INGOT_TOOLS_INGOT_EVAL_ARRAYS_H

#include "dialects/reference/Module.h"

/// Returns all arrays of an .npz file; the array of an .npy file is named
/// `single`. Throws ingot::runtime::Error.
ingot::reference::NamedTensors readArrays(const std::string &path,
                                          const std::string &single,
                                          mlir::MLIRContext &context);

/// Writes an .npz file; bf16, which NumPy lacks, becomes f32. Throws
/// ingot::runtime::Error.
void writeArrays(const std::string &path,
                 const ingot::reference::NamedTensors &tensors);

#endif // INGOT_TOOLS_INGOT_EVAL_ARRAYS_H
