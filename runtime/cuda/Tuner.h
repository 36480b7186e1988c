// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Measures on the GPU which of several alternatives is fastest: algorithms of
// libraries, and numbers of blocks. Choices are kept in a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_TUNER_H
#define INGOT_RUNTIME_CUDA_TUNER_H

#include "runtime/core/files/TunedFile.h"
#include "runtime/cuda/Driver.h"

#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

class Tuner {
public:
  /// Keeps choices for `gpu` in the file at `path`; in the user's cache if it
  /// is empty.
  Tuner(const Driver &driver, CUstream stream, std::string gpu,
        std::string path);
  ~Tuner();

  /// As in TunedFile.
  std::optional<std::string> find(const std::string &key) const {
    return kept.find(key);
  }
  void keep(const std::string &key, const std::string &choice) {
    kept.keep(key, choice);
  }
  std::string takeProblem() { return kept.takeProblem(); }
  /// Returns the milliseconds of the work that `put` enqueues; nothing if it
  /// returns false. Waits for the GPU. Throws failure.
  std::optional<float> time(const std::function<bool()> &put);
  /// Returns the fastest of `count` candidates; nothing if none runs.
  std::optional<size_t> findFastest(size_t count,
                                    const std::function<bool(size_t)> &put);

private:
  const Driver &driver;
  CUstream stream;
  TunedFile kept;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_TUNER_H
