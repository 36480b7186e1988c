// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shared libraries that are looked for when a trainer runs, so that one without
// them ends with an error of ours and not of the dynamic linker.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H

#include <string>

namespace ingot::runtime {

class Library {
public:
  /// Loads `name` from where the dynamic linker looks, else from the folders of
  /// a CUDA installation. Throws failure with `hint`.
  Library(const std::string &name, const std::string &hint);

  /// Sets `function` to what the library exports as `symbol`. Throws failure.
  template <typename Function>
  void load(Function *&function, const char *symbol) const {
    function = reinterpret_cast<Function *>(find(symbol));
  }

  const std::string &getName() const { return name; }
  /// As dlopen gave it.
  void *getHandle() const { return handle; }

private:
  void *find(const char *symbol) const;

  std::string name;
  void *handle;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_LIBRARY_H
