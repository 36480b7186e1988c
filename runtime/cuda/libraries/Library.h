// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shared libraries that are loaded when a trainer runs, so that a missing one
// ends the run with a clear error instead of one of the dynamic linker.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H

#include <string>

namespace ingot::runtime {

class Library {
public:
  /// Loads `name` from the search path of the dynamic linker, or from the
  /// folders of a CUDA installation. Throws failure with `hint`.
  Library(const std::string &name, const std::string &hint);

  /// Sets `function` to the exported `symbol`. Throws failure.
  template <typename Function>
  void load(Function *&function, const char *symbol) const {
    function = reinterpret_cast<Function *>(find(symbol));
  }

  const std::string &getName() const { return name; }
  /// Returns the handle of dlopen.
  void *getHandle() const { return handle; }

private:
  void *find(const char *symbol) const;

  std::string name;
  void *handle;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H
