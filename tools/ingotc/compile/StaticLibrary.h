// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The archive of a static library (`--emit lib -o libNAME.a`).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_STATICLIBRARY_H
#define INGOT_TOOLS_INGOTC_COMPILE_STATICLIBRARY_H

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace ingot {

/// Makes an archive of `object`, in which everything is linked that the model
/// needs. Its symbols become local, so that a program may have several models,
/// or a C++ library of its own. Global ones are the function `model`, and those
/// of `calls`, which are weak: all models define them, and a program takes the
/// first. Throws runtime::Error.
void writeStaticLibrary(const std::string &object, const std::string &model,
                        llvm::ArrayRef<std::string> calls,
                        const std::string &archive);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_STATICLIBRARY_H
