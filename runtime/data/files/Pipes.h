// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Data that come through a pipe: standard input, or a FIFO. They are read to
// their end once, into a nameless file, and are a file from then on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_FILES_PIPES_H
#define INGOT_RUNTIME_DATA_FILES_PIPES_H

#include "runtime/core/File.h"

#include <string>

namespace ingot::runtime {

/// Whether a path of data is `-`, which is standard input, or leads to a pipe.
bool isPipe(const std::string &path);

/// Maps a file of data, or what comes through a pipe: the first call waits for
/// its end, and others of the same path have the same content. Throws Error.
MappedFile openInput(const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_FILES_PIPES_H
