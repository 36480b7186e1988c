// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Handles are what callers hold of sessions. One stays where it is when its
// session is closed, so that later calls are told so instead of reading freed
// memory; it is used again after many others.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_HANDLES_H
#define INGOT_RUNTIME_EMBED_HANDLES_H

#include "runtime/embed/EmbeddedSession.h"
#include "runtime/embed/LibraryFunctions.h"

#include <atomic>
#include <memory>

struct ingot_session {
  enum Stage { Closed, Idle, Busy };

  /// The functions of the library that the session belongs to; the first member
  /// in all libraries.
  const ingot_functions *functions = &ingot::runtime::kFunctions;
  std::atomic<Stage> stage = Closed;
  std::unique_ptr<ingot::runtime::EmbeddedSession> session;
};

namespace ingot::runtime {

/// Opens a session. Throws Error.
ingot_session *openHandle(const ingot_options &options);

/// Frees the session of a handle that is busy. The last one takes the threads
/// of the library along, and its handler of a signal.
void closeHandle(ingot_session &handle);

/// The use of a handle by the calling thread. Throws usageError if it is
/// closed, or used by another thread.
class HandleUse {
public:
  explicit HandleUse(ingot_session &handle);
  HandleUse(const HandleUse &) = delete;
  HandleUse &operator=(const HandleUse &) = delete;
  ~HandleUse();

  EmbeddedSession &getSession() const { return *handle.session; }

private:
  ingot_session &handle;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_HANDLES_H
