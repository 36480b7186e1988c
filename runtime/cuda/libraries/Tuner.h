// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Measures on the GPU which of several alternatives is fastest: algorithms of
// libraries, and numbers of blocks. Choices are kept in a file; what is in the
// file is not measured again. Measuring ends after a time; what is left then
// keeps the library's first choice in later runs, too, so that these have the
// same bits.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_TUNER_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_TUNER_H

#include "runtime/core/Device.h"
#include "runtime/core/files/TunedFile.h"
#include "runtime/cuda/driver/Driver.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

class Tuner {
public:
  /// Keeps choices for `gpu`.
  Tuner(const Driver &driver, CUstream stream, std::string gpu,
        const Device::Tuning &tuning);
  ~Tuner();

  /// Returns the choice that is kept for `key`, by this rank or by the first.
  std::optional<std::string> find(const std::string &key) const;
  /// Keeps a choice, or the first one where there was no time to measure. A run
  /// that is given no time at all keeps measured choices only.
  void keep(const std::string &key, const std::string &choice,
            bool isMeasured = true);
  std::string takeProblem() { return kept.takeProblem(); }

  /// Candidates that are made and measured while this lives, which takes a part
  /// of the time.
  class Search {
  public:
    /// Searches a choice for `key`.
    Search(Tuner &tuner, std::string key);
    ~Search();
    Search(const Search &) = delete;
    Search &operator=(const Search &) = delete;

    /// Whether there is time to measure anything.
    bool hasTime() const;
    /// Returns the fastest of `count` candidates, of which `put` enqueues one
    /// and `name` says which one it is; nothing if none runs, or if the time
    /// ends before all are measured. Waits for the GPU. Throws failure.
    std::optional<size_t>
    findFastest(size_t count, const std::function<bool(size_t)> &put,
                const std::function<std::string(size_t)> &name);

  private:
    Tuner &tuner;
    std::string key;
    std::chrono::steady_clock::time_point begin;
    bool isMeasured = false;
  };

  /// Returns what has been measured since the last call, and what was left out,
  /// for users; empty if nothing was.
  std::string takeReport();

private:
  /// Returns the key of a choice of this rank in the file.
  std::string nameKey(const std::string &key) const;
  /// Returns the milliseconds of the work that `put` enqueues; nothing if it
  /// returns false.
  std::optional<float> time(const std::function<bool()> &put);

  const Driver &driver;
  CUstream stream;
  TunedFile kept;
  int64_t rank;
  bool goesOn;
  CUevent begin = nullptr, end = nullptr;
  std::chrono::duration<double> most, spent{0};
  /// The searches that ended with a choice, and those that did not, since the
  /// last report.
  int64_t measured = 0, leftOut = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_TUNER_H
