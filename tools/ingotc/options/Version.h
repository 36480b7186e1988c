// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The versions that the compiler was built from.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_OPTIONS_VERSION_H
#define INGOT_TOOLS_INGOTC_OPTIONS_VERSION_H

#include <string>

namespace ingot {

/// Returns what `--version` prints: the version, and in a line each the commit,
/// the digests of the dialect and of the interface between steps and runtime,
/// and the versions of LLVM and ONNX. Trainers, objects and MLIR text fit
/// together where these are the same.
std::string describeVersion();

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_OPTIONS_VERSION_H
