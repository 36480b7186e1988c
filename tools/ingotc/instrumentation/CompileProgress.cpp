// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/instrumentation/CompileProgress.h"

#include "runtime/core/machine/Threads.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;

/// Shorter compilations show nothing.
static constexpr std::chrono::seconds leastTime(2);
static constexpr std::chrono::milliseconds interval(200);

CompileProgress::CompileProgress(bool isQuiet) {
  if (!isQuiet && console.isInteractive())
    (void)runtime::startThread(thread, [this] { redraw(); });
}

CompileProgress::~CompileProgress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  ended.notify_one();
  thread.join();
  console.clearProgress();
}

void CompileProgress::redraw() {
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, interval, [this] { return isEnding; })) {
    auto time =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    if (time >= leastTime)
      console.progress(current + ", " + std::to_string(time.count()) + " s");
  }
}

void CompileProgress::begin(std::string work) {
  std::lock_guard lock(mutex);
  current = std::move(work);
}

void CompileProgress::clear() {
  std::lock_guard lock(mutex);
  console.clearProgress();
}

namespace {
struct Instrumentation : PassInstrumentation {
  explicit Instrumentation(CompileProgress &progress) : progress(progress) {}
  void runBeforePass(Pass *pass, Operation *) override {
    // What runs passes on each function has no name.
    if (!pass->getArgument().empty())
      progress.begin("--" + pass->getArgument().str());
  }
  CompileProgress &progress;
};
} // namespace

std::unique_ptr<PassInstrumentation> CompileProgress::createInstrumentation() {
  return std::make_unique<Instrumentation>(*this);
}
