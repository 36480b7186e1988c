// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The header NAME.h of a library (`--emit lib`): constants of the model, and
// calls with the names of its inputs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_LIBRARYHEADER_H
#define INGOT_TOOLS_INGOTC_COMPILE_LIBRARYHEADER_H

#include <string>

namespace ingot {

namespace runtime {
struct Manifest;
} // namespace runtime

/// Returns the text of NAME.h.
std::string makeLibraryHeader(const runtime::Manifest &manifest,
                              const std::string &name);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_LIBRARYHEADER_H
