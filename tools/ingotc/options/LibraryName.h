// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The name of a library (`--emit lib`), and the start of its header.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_OPTIONS_LIBRARYNAME_H
#define INGOT_TOOLS_INGOTC_OPTIONS_LIBRARYNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot {

/// How each NAME.h begins.
inline constexpr llvm::StringLiteral kLibraryHeaderStart =
    "/* Written by ingotc --emit lib";

/// Returns a text as a name of C, with underscores for what none has.
std::string makeIdentifier(llvm::StringRef text);

/// Returns NAME of a library `libNAME.so` or `libNAME.a`, as far as it can be
/// in a name of C.
std::string getLibraryName(llvm::StringRef path);

/// Whether the name is that of a static library, an archive.
bool isStaticLibrary(llvm::StringRef path);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_OPTIONS_LIBRARYNAME_H
