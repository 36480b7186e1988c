// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Data that come through a pipe: standard input, or a FIFO. Unless they are
// taken as they come, they are read to their end once, into a nameless file,
// and are a file from then on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_FILES_PIPES_H
#define INGOT_RUNTIME_DATA_FILES_PIPES_H

#include "runtime/core/File.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether a path of data is `-`, which is standard input, or leads to a pipe.
bool isPipe(const std::string &path);

/// Whether standard input is a file, which is mapped like any other.
bool isFileAtInput();

/// The end of a pipe that is read.
class Pipe {
public:
  /// Throws badInput.
  explicit Pipe(const std::string &path);
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe();

  /// Reads up to `size` bytes. Returns 0 at the end, and nothing if none come
  /// within `milliseconds`. Throws badInput, also if a FIFO has no
  /// writer.
  std::optional<size_t> read(char *to, size_t size, int milliseconds);

private:
  std::string path;
  int descriptor;
  std::chrono::steady_clock::time_point opened;
  bool hasWriter;
};

/// Maps a file of data, or what comes through a pipe: the first call waits for
/// its end, and others of the same path have the same content. Throws Error.
MappedFile openInput(const std::string &path);

/// Reads the rest of a pipe to its end, so that openInput() has it behind the
/// bytes that were read.
void keepInput(const std::string &path, Pipe &pipe, std::string_view begin);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_FILES_PIPES_H
