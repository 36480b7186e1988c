// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The text of the last failure in a thread. It takes no memory that would have
// to be freed when the thread ends: a library with such memory stays loaded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_LASTERROR_H
#define INGOT_RUNTIME_EMBED_LASTERROR_H

#include "runtime/core/Error.h"
#include "runtime/embed/include/ingot.h"

#include <string_view>

namespace ingot::runtime {

/// Keeps the problem and its hint as one line, and returns its status.
ingot_status setLastError(const Error &error);

/// Keeps a text, as much of it as there is room for.
void setLastError(std::string_view text);

/// The text of the calling thread; empty at first.
const char *getLastError();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_LASTERROR_H
