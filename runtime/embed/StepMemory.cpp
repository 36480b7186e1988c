// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/StepMemory.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

using namespace ingot::runtime;

namespace {

/// A block that was freed. It has this at its start.
struct Free {
  Free *next;
};

/// The free blocks of one size.
struct Blocks {
  std::mutex mutex;
  Free *first = nullptr;

  void *take() {
    std::lock_guard lock(mutex);
    Free *block = first;
    if (block)
      first = block->next;
    return block;
  }
  void give(void *memory) {
    std::lock_guard lock(mutex);
    first = new (memory) Free{first};
  }
};

/// The start of each allocation, which keeps the rest aligned.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) Header {
  /// The size of the block, as a power of two; 0 for blocks that are not kept.
  uint32_t power;
};

[[maybe_unused]] constexpr uint32_t kLeast = 6;
constexpr uint32_t kMost = 26;

} // namespace

/// The blocks by their size. They need no destructor: a program that ends may
/// still compute.
static Blocks blocks[kMost + 1];

/// The steps that are running.
static std::atomic<int> running = 0;

StepMemoryScope::StepMemoryScope() { ++running; }

StepMemoryScope::~StepMemoryScope() { --running; }

void ingot::runtime::releaseStepMemory() {
  for (Blocks &size : blocks)
    while (void *block = size.take())
      std::free(block);
}

// Sanitizers have operators of their own, which see more of each block.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

/// Returns memory with its header, or null.
static void *allocate(size_t bytes) {
  uint32_t power = 0;
  if (running.load(std::memory_order_relaxed) > 0) {
    power = static_cast<uint32_t>(std::bit_width(bytes - 1));
    power = power < kLeast ? kLeast : power;
    power = power > kMost ? 0 : power;
  }
  void *block = power ? blocks[power].take() : nullptr;
  if (!block)
    block = std::malloc(power ? size_t(1) << power : bytes);
  return block ? new (block) Header{power} + 1 : nullptr;
}

void *operator new(size_t size) {
  if (size <= SIZE_MAX - sizeof(Header))
    if (void *memory = allocate(size + sizeof(Header)))
      return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept {
  if (!memory)
    return;
  Header *header = static_cast<Header *>(memory) - 1;
  if (header->power && running.load(std::memory_order_relaxed) > 0)
    blocks[header->power].give(header);
  else
    std::free(header);
}

void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

#endif
