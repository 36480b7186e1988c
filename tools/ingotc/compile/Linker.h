// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The linker LLD, as a part of the compiler: a machine that compiles needs no
// linker of its own, and always has the version that was tested.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_LINKER_H
#define INGOT_TOOLS_INGOTC_COMPILE_LINKER_H

#include <string>
#include <vector>

namespace ingot {

/// Links with the arguments of `ld.lld`. Throws runtime::Error with the first
/// line that LLD says.
void runLinker(const std::vector<std::string> &arguments);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_LINKER_H
