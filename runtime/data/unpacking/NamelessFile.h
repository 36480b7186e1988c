// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A file without a name, in $TMPDIR: the system can drop its pages from memory,
// and the space is free when the program ends.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_UNPACKING_NAMELESSFILE_H
#define INGOT_RUNTIME_DATA_UNPACKING_NAMELESSFILE_H

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <string>

namespace ingot::runtime {

class NamelessFile {
public:
  /// `purpose` names in errors what is unpacked. Throws failure.
  explicit NamelessFile(std::string purpose);
  NamelessFile(const NamelessFile &) = delete;
  NamelessFile &operator=(const NamelessFile &) = delete;
  ~NamelessFile();

  /// Throws failure.
  void write(const char *bytes, size_t size);
  /// Maps what was written, under the name of the purpose.
  MappedFile map() const { return MappedFile(descriptor, purpose); }

private:
  Error cannotWrite() const;

  std::string purpose;
  int descriptor;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_UNPACKING_NAMELESSFILE_H
