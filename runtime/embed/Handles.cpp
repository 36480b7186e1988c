// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/Handles.h"

#include "runtime/core/Error.h"
#include "runtime/core/LostFiles.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/embed/StepMemory.h"

#include <deque>
#include <mutex>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

namespace {
class Handles {
public:
  ~Handles() {
    // A program that ends may still use what it has not closed.
    if (sessions == 0)
      for (const ingot_session *handle : closed)
        delete handle;
  }

  ingot_session *open(const ingot_options &options) {
    {
      std::lock_guard lock(mutex);
      ++sessions;
    }
    std::unique_ptr<EmbeddedSession> session;
    try {
      auto settings = std::make_unique<const SessionSettings>(options);
      SessionScope scope(*settings);
      session = std::make_unique<EmbeddedSession>(options, std::move(settings));
    } catch (...) {
      end();
      throw;
    }
    ingot_session *handle = take();
    handle->session = std::move(session);
    handle->stage = ingot_session::Idle;
    return handle;
  }

  void close(ingot_session &handle) {
    handle.session.reset();
    handle.stage = ingot_session::Closed;
    {
      std::lock_guard lock(mutex);
      closed.push_back(&handle);
    }
    end();
  }

private:
  /// Returns a handle that has been closed for long, or a new one.
  ingot_session *take() {
    constexpr size_t kept = 1024;
    std::lock_guard lock(mutex);
    if (closed.size() <= kept)
      return new ingot_session;
    ingot_session *handle = closed.front();
    closed.pop_front();
    return handle;
  }

  void end() {
    std::lock_guard lock(mutex);
    if (--sessions > 0)
      return;
    endThreads();
    releaseStepMemory();
    removeHandler();
  }

  std::mutex mutex;
  std::deque<ingot_session *> closed;
  /// The number of sessions that are open, or being opened or closed.
  size_t sessions = 0;
};
} // namespace

static Handles handles;

/// The process in which the library was used last.
static std::atomic<pid_t> process = 0;

/// Leaves the threads to the parent in a process that was forked.
static void enterProcess() {
  pid_t now = getpid();
  pid_t before = process.exchange(now, std::memory_order_relaxed);
  if (before != 0 && before != now)
    forgetThreads();
}

ingot_session *ingot::runtime::openHandle(const ingot_options &options) {
  enterProcess();
  return handles.open(options);
}

void ingot::runtime::closeHandle(ingot_session &handle) {
  handles.close(handle);
}

HandleUse::HandleUse(ingot_session &handle) : handle(handle) {
  auto expected = ingot_session::Idle;
  if (!handle.stage.compare_exchange_strong(expected, ingot_session::Busy)) {
    bool isClosed = expected == ingot_session::Closed;
    throw usageError("session",
                     isClosed ? "it is closed" : "another thread is using it",
                     isClosed ? "open another one"
                              : "open a session for each thread, or let one "
                                "thread at a time use it");
  }
  enterProcess();
}

HandleUse::~HandleUse() {
  auto busy = ingot_session::Busy;
  handle.stage.compare_exchange_strong(busy, ingot_session::Idle);
}
