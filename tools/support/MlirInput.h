// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files with MLIR that tools are given.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_SUPPORT_MLIRINPUT_H
#define INGOT_TOOLS_SUPPORT_MLIRINPUT_H

#include "dialects/ingot/input/MlirText.h"
#include "dialects/ingot/support/InputFile.h"
#include "runtime/core/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>
#include <memory>
#include <string>

namespace ingot {

/// Returns the bytes of a regular file, or of standard input ("-"), which
/// MLIR's parser can be given. Throws an error of the input otherwise.
inline std::unique_ptr<llvm::MemoryBuffer> readMlir(const std::string &path) {
  const char *hint = "give the path of an .onnx or .mlir file";
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (path == "-") {
    auto read = llvm::MemoryBuffer::getSTDIN();
    if (!read)
      throw runtime::badInput("standard input", read.getError().message(),
                              hint);
    buffer = std::move(*read);
  } else if (!llvm::sys::fs::exists(path)) {
    throw runtime::badInput(path, "there is no such file", hint);
  } else {
    auto read = readInputFile(path, std::numeric_limits<uint64_t>::max());
    if (!read)
      throw runtime::badInput(path, llvm::toString(read.takeError()), hint);
    // The parser asks for a null character at the end.
    buffer = llvm::MemoryBuffer::getMemBufferCopy((*read)->getBuffer(), path);
  }
  if (std::string excess = describeExcess(buffer->getBuffer()); !excess.empty())
    throw runtime::badInput(path == "-" ? "standard input" : path, excess,
                            "no tool writes such text: the file is damaged or "
                            "hostile");
  return buffer;
}

} // namespace ingot

#endif // INGOT_TOOLS_SUPPORT_MLIRINPUT_H
