// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Measures on the GPU which of several alternatives is fastest: algorithms of
// libraries, and numbers of blocks. Choices are kept in a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_TUNER_H
#define INGOT_RUNTIME_CUDA_TUNER_H

#include "runtime/cuda/Driver.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ingot::runtime {

class Tuner {
public:
  /// Keeps choices for `gpu` in the file at `path`; in the user's cache if it
  /// is empty.
  Tuner(const Driver &driver, CUstream stream, std::string gpu,
        std::string path);
  ~Tuner();

  /// Returns the choice that was kept for `key`. Neither contains tabs or ends
  /// of lines.
  std::optional<std::string> find(const std::string &key) const;
  /// Keeps a choice, in the file as well.
  void keep(const std::string &key, const std::string &choice);
  /// Returns what went wrong with the file since the last call; empty if
  /// nothing did.
  std::string takeProblem() { return std::exchange(problem, ""); }
  /// Returns the milliseconds of the work that `put` enqueues; nothing if it
  /// returns false. Waits for the GPU. Throws failure.
  std::optional<float> time(const std::function<bool()> &put);
  /// Returns the fastest of `count` candidates; nothing if none runs.
  std::optional<size_t> findFastest(size_t count,
                                    const std::function<bool(size_t)> &put);

private:
  void read();

  const Driver &driver;
  CUstream stream;
  std::string gpu, path, problem;
  CUevent begin = nullptr, end = nullptr;
  /// The lines of the file: a GPU with a key, and the choice.
  std::map<std::string, std::string> choices;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_TUNER_H
