// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shared libraries that are loaded when a trainer runs, so that a missing one
// ends the run with a clear error instead of one of the dynamic linker.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_DRIVER_LIBRARY_H
#define INGOT_RUNTIME_CUDA_DRIVER_LIBRARY_H

#include <string>
#include <vector>

namespace ingot::runtime {

/// The major versions of CUDA whose libraries trainers work with.
constexpr int kOldestToolkit = 12, kNewestToolkit = 13;

/// The hint of errors where a library or the driver lacks memory outside of the
/// plan.
constexpr const char *kMemoryHint =
    "leave some memory of the GPU to CUDA's libraries: compile with a smaller "
    "--batch or --memory-budget, or free memory of the GPU";

class Library {
public:
  /// Loads `name` from the search path of the dynamic linker, or from the
  /// folders of a CUDA installation. Throws failure with `hint`.
  Library(const std::string &name, const std::string &hint);
  /// Loads a library of the CUDA toolkit, `name` without its major version, for
  /// a driver of this major version. The toolkit's libraries run on drivers of
  /// their own and of later versions.
  static Library ofToolkit(const std::string &name, int driver);

  /// Sets `function` to the exported `symbol`, or to `other` if there is none.
  /// Throws failure.
  template <typename Function>
  void load(Function *&function, const char *symbol,
            const char *other = nullptr) const {
    function = reinterpret_cast<Function *>(find(symbol, other));
  }

  /// Sets `function` to the exported `symbol`; leaves it if there is none.
  template <typename Function>
  void loadIfThere(Function *&function, const char *symbol) const {
    if (void *found = findIfThere(symbol))
      function = reinterpret_cast<Function *>(found);
  }

  const std::string &getName() const { return name; }
  /// Returns the handle of dlopen.
  void *getHandle() const { return handle; }

private:
  Library(const std::vector<std::string> &names, const std::string &hint);
  void *find(const char *symbol, const char *other) const;
  void *findIfThere(const char *symbol) const;

  std::string name;
  void *handle = nullptr;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_DRIVER_LIBRARY_H
