// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a session works in a thread: with which threads beside it, memory from
// where, and files read how.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_SESSIONSCOPE_H
#define INGOT_RUNTIME_EMBED_SESSIONSCOPE_H

#include "runtime/core/LostFiles.h"
#include "runtime/core/Memory.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/embed/include/ingot.h"

#include <optional>

namespace ingot::runtime {

struct SessionSettings {
  /// Throws usageError.
  explicit SessionSettings(const ingot_options &options);
  SessionSettings(const SessionSettings &) = delete;
  SessionSettings &operator=(const SessionSettings &) = delete;

  /// 0 for as many as OpenMP's variables say.
  int threads;
  bool mapsFiles;
  /// Where blocks come from; no functions for the system.
  BlockSource source;
};

/// Settings that are in force in the calling thread.
class SessionScope {
public:
  explicit SessionScope(const SessionSettings &settings);

private:
  ThreadCountScope threads;
  BlockSourceScope source;
  std::optional<UnmappedFiles> files;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_SESSIONSCOPE_H
