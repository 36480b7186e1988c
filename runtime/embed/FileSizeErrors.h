// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The limit on the size of files (ulimit -f): trainers ignore its signal. A
// library holds it back in its own thread alone.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_FILESIZEERRORS_H
#define INGOT_RUNTIME_EMBED_FILESIZEERRORS_H

#include <csignal>

namespace ingot::runtime {

/// While it lives, to write more than the system allows a file (ulimit -f) is
/// an error in the calling thread, and no signal that ends the process.
class FileSizeErrors {
public:
  FileSizeErrors();
  FileSizeErrors(const FileSizeErrors &) = delete;
  FileSizeErrors &operator=(const FileSizeErrors &) = delete;
  ~FileSizeErrors();

private:
  sigset_t before;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_FILESIZEERRORS_H
