// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulator/Emulator.h"

#include "runtime/abi/Epilogue.h"
#include "runtime/core/Context.h"
#include "runtime/core/Error.h"

#include <array>
#include <cstring>
#include <optional>
#include <ucontext.h>
#include <unordered_map>

using namespace ingot::runtime;

namespace {

constexpr int kWarpSize = 32;

/// The thread that accessed an element, and the number of barriers of the block
/// before the access.
struct Actor {
  int64_t block = -1;
  int32_t thread = -1;
  int32_t epoch = 0;

  bool isSet() const { return block >= 0; }
  /// Whether nothing orders an access by `other` after this one.
  bool racesWith(const Actor &other) const {
    if (!isSet() || (block == other.block && thread == other.thread))
      return false;
    return block != other.block || epoch == other.epoch;
  }
};

/// The accesses to an element in this launch.
struct History {
  Actor writer;
  /// Two different readers are enough to find any conflict with a writer.
  std::array<Actor, 2> readers;
};

enum class State { Running, AtBarrier, AtShuffle, Done };

struct Thread {
  State state = State::Running;
  ucontext_t *where = nullptr;
  int32_t value = 0, distance = 0;
};

/// A launch. Threads run on coroutines. A coroutine whose thread ends runs the
/// next thread, so that kernels that never wait need a single coroutine.
class Launch {
public:
  Launch(ingot_context *context, const ingot_grid_kernel *kernel,
         void *const *buffers)
      : context(context), kernel(kernel),
        buffers(buffers, buffers + kernel->buffers), threads(kernel->block),
        shared(static_cast<size_t>(kernel->shared_bytes) + 1) {
    ElementRange range = getElements(context, kernel, kernel->extent);
    bounds = {range.begin, range.end};
    if (kernel->extent != 0)
      this->buffers.push_back(bounds.data());
    this->buffers.push_back(shared.data());
  }

  void run();
  void check(int64_t index, int64_t limit);
  void access(int64_t address, int64_t bytes, bool isStore);
  void barrier() { wait(State::AtBarrier); }
  int64_t countBlocks() const { return kernel->grid; }
  int32_t shuffle(int32_t value, int32_t distance);

  /// The launch whose thread is running.
  static Launch *current;

private:
  struct Coroutine {
    static constexpr size_t stackBytes = size_t(64) << 10;
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[stackBytes]};
  };

  void runBlock();
  static void runThreads();
  Coroutine &getCoroutine(size_t number);
  /// Ends the launch at the running thread.
  void fail(const std::string &problem);
  void wait(State state);
  /// Resumes threads that all wait for the same event; returns false if there
  /// are none.
  bool release();

  ingot_context *context;
  const ingot_grid_kernel *kernel;
  std::vector<void *> buffers;
  std::array<int64_t, 2> bounds;
  std::vector<Thread> threads;
  std::vector<char> shared;
  std::vector<std::unique_ptr<Coroutine>> coroutines;
  std::unordered_map<int64_t, History> global, local;
  ucontext_t scheduler;
  int64_t block = 0;
  int32_t thread = 0, started = 0, epoch = 0;
  bool failed = false;
};

Launch *Launch::current = nullptr;

void Launch::fail(const std::string &problem) {
  context->fail(std::string(kernel->name) + ", block " + std::to_string(block) +
                ", thread " + std::to_string(thread) + ": " + problem);
  failed = true;
  setcontext(&scheduler);
}

void Launch::check(int64_t index, int64_t limit) {
  if (index < 0 || index >= limit)
    fail("index " + std::to_string(index) + " in " + std::to_string(limit));
}

void Launch::access(int64_t address, int64_t bytes, bool isStore) {
  auto base = reinterpret_cast<int64_t>(shared.data());
  bool isShared = address >= base && address < base + kernel->shared_bytes;
  // Every access is to a whole element, which its first byte identifies.
  History &history = (isShared ? local : global)[address];
  Actor self = {block, thread, epoch};
  bool races = history.writer.racesWith(self);
  if (isStore)
    for (const Actor &reader : history.readers)
      races |= reader.racesWith(self);
  if (races)
    return fail(std::string(isStore ? "a store" : "a load") + " of " +
                std::to_string(bytes) + (isShared ? " shared" : "") +
                " bytes races with another thread's");
  if (isStore)
    history.writer = self;
  else if (history.readers[0].thread == thread &&
           history.readers[0].block == block)
    history.readers[0] = self;
  else {
    history.readers[1] = history.readers[0];
    history.readers[0] = self;
  }
}

void Launch::wait(State state) {
  Thread &self = threads[thread];
  self.state = state;
  int32_t number = thread;
  swapcontext(self.where, &scheduler);
  thread = number;
}

int32_t Launch::shuffle(int32_t value, int32_t distance) {
  threads[thread].value = value;
  threads[thread].distance = distance;
  wait(State::AtShuffle);
  return threads[thread].value;
}

/// Runs, on a coroutine, threads that have not started, until one waits.
void Launch::runThreads() {
  Launch &self = *current;
  ucontext_t *coroutine = self.threads[self.started].where;
  while (self.started < self.kernel->block && !self.failed) {
    self.thread = self.started++;
    self.threads[self.thread].where = coroutine;
    self.kernel->emulated(self.buffers.data(), self.thread, self.block);
    self.threads[self.thread].state = State::Done;
  }
  setcontext(&self.scheduler);
}

Launch::Coroutine &Launch::getCoroutine(size_t number) {
  while (coroutines.size() <= number)
    coroutines.push_back(std::make_unique<Coroutine>());
  return *coroutines[number];
}

bool Launch::release() {
  size_t atBarrier = 0, done = 0;
  for (const Thread &thread : threads) {
    atBarrier += thread.state == State::AtBarrier;
    done += thread.state == State::Done;
  }
  if (atBarrier == threads.size()) {
    for (Thread &thread : threads)
      thread.state = State::Running;
    ++epoch;
    return true;
  }
  bool released = false;
  for (size_t first = 0; first < threads.size(); first += kWarpSize) {
    Thread *warp = &threads[first];
    bool meet = first + kWarpSize <= threads.size();
    for (int lane = 0; meet && lane < kWarpSize; ++lane)
      meet = warp[lane].state == State::AtShuffle &&
             warp[lane].distance == warp[0].distance;
    if (!meet)
      continue;
    std::array<int32_t, kWarpSize> values;
    for (int lane = 0; lane < kWarpSize; ++lane)
      values[lane] = warp[lane ^ warp[0].distance].value;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      warp[lane].value = values[lane];
      warp[lane].state = State::Running;
    }
    released = true;
  }
  if (!released && done < threads.size()) {
    context->fail(std::string(kernel->name) + ", block " +
                  std::to_string(block) +
                  ": threads wait for others that do not come");
    failed = true;
  }
  return released;
}

void Launch::runBlock() {
  // All ones are NaN in floating-point types.
  std::memset(shared.data(), 0xFF, shared.size());
  local.clear();
  started = 0;
  epoch = 0;
  for (Thread &thread : threads)
    thread = Thread();
  size_t used = 0;
  while (started < kernel->block && !failed) {
    Coroutine &coroutine = getCoroutine(used++);
    getcontext(&coroutine.context);
    coroutine.context.uc_stack.ss_sp = coroutine.stack.get();
    coroutine.context.uc_stack.ss_size = Coroutine::stackBytes;
    coroutine.context.uc_link = nullptr;
    threads[started].where = &coroutine.context;
    makecontext(&coroutine.context, &Launch::runThreads, 0);
    swapcontext(&scheduler, &coroutine.context);
  }
  while (!failed && release())
    for (size_t i = 0; i < threads.size() && !failed; ++i)
      if (threads[i].state == State::Running) {
        thread = static_cast<int32_t>(i);
        swapcontext(&scheduler, threads[i].where);
      }
}

void Launch::run() {
  current = this;
  for (block = 0; block < kernel->grid && !failed; ++block)
    runBlock();
  current = nullptr;
}

} // namespace

void ingot_emulator_check(int64_t index, int64_t limit) {
  Launch::current->check(index, limit);
}

void ingot_emulator_access(int64_t address, int64_t bytes, int32_t isStore) {
  Launch::current->access(address, bytes, isStore != 0);
}

int64_t ingot_emulator_blocks(void) { return Launch::current->countBlocks(); }

void ingot_emulator_barrier(void) { Launch::current->barrier(); }

int32_t ingot_emulator_shuffle(int32_t value, int32_t distance) {
  return Launch::current->shuffle(value, distance);
}

void ingot_launch_grid(ingot_context *context, const ingot_grid_kernel *kernel,
                       void *const *buffers) {
  if (context->failed)
    return;
  ProfileScope scope(context, kernel->index);
  Launch(context, kernel, buffers).run();
}

void ingot_matmul_grid(ingot_context *context, const ingot_matmul_grid_desc *,
                       const void *, const void *, void *const *) {
  context->fail(failure("matmul", "the emulator has no tensor cores",
                        "compile with --matmul-kernels library"));
}

// The target asks for none of these, as no processor has them.
void ingot_conv_statistics(ingot_context *context, const ingot_conv_desc *,
                           const void *, const void *, const void *,
                           const void *, void *, float *, float *, void *) {
  context->fail(failure("convolution", "the emulator has no cuDNN",
                        "compile with --conv-fusion off"));
}

void ingot_conv_scaled_filter_grad(ingot_context *context,
                                   const ingot_conv_desc *, const void *,
                                   const void *, const void *, const void *,
                                   void *, void *) {
  context->fail(failure("convolution", "the emulator has no cuDNN",
                        "compile with --conv-fusion off"));
}

void ingot_matmul_epilogue_grid(ingot_context *context,
                                const ingot_matmul_epilogue_grid_desc *desc,
                                const void *a, const void *b,
                                const void *a_scales, const void *b_scales,
                                void *c, void *scratch, void *const *buffers) {
  ingot_matmul(context, &desc->matmul, a, b, a_scales, b_scales, c, scratch);
  launchEpilogueKernels(
      *desc, buffers, [&](const ingot_grid_kernel &kernel, void *const *taken) {
        ingot_launch_grid(context, &kernel, taken);
      });
}
