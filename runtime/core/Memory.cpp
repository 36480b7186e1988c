// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The big blocks of a trainer.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Memory.h"

#include "runtime/abi/Align.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;
namespace abi = ingot::abi;

static thread_local const BlockSource *currentSource = nullptr;

BlockSourceScope::BlockSourceScope(const BlockSource *source)
    : before(std::exchange(currentSource, source)) {}

BlockSourceScope::~BlockSourceScope() { currentSource = before; }

Block::Block(size_t size, std::string_view purpose)
    : size(size), source(currentSource) {
  constexpr size_t page = 4096, hugePage = size_t(2) << 20;
  if (size > PTRDIFF_MAX - hugePage)
    throw failure(std::string(purpose), "the size overflows",
                  "compile the model again");
  mapped = std::max<size_t>(page, abi::alignTo(size, page));
  void *memory = source ? source->allocate(source->data, mapped)
                        : mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || !memory) {
    mapped = 0;
    throw failure(std::string(purpose),
                  "cannot allocate " + std::to_string(size) + " bytes",
                  "free memory, or compile with a smaller --batch");
  }
  data = static_cast<char *>(memory);
  if (source) {
    if (reinterpret_cast<uintptr_t>(data) % page != 0) {
      source->release(source->data, memory, mapped);
      data = nullptr;
      throw failure(std::string(purpose),
                    "the allocator's memory is not aligned to a page",
                    "align it to 4096 bytes, as aligned_alloc does");
    }
    std::memset(data, 0, mapped);
  } else if (mapped >= hugePage)
    (void)madvise(data, mapped, MADV_HUGEPAGE);
}

Block::~Block() {
  if (data && source)
    source->release(source->data, data, mapped);
  else if (data)
    munmap(data, mapped);
}

void Block::touch() const {
  // Newer kernels have a call for it, which takes half the time.
  constexpr int populateWrite = 23;
  if (mapped == 0 || madvise(data, mapped, populateWrite) == 0)
    return;
  constexpr size_t page = 4096;
  for (size_t at = 0; at < mapped; at += page) {
    volatile char *byte = data + at;
    *byte = *byte;
  }
}

bool Block::map(size_t offset, int descriptor, uint64_t fileOffset,
                size_t bytes) {
  return !source &&
         mmap(data + offset, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED,
              descriptor, static_cast<off_t>(fileOffset)) != MAP_FAILED;
}

void ingot::runtime::makeWritable(char *data, size_t bytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto first = reinterpret_cast<uintptr_t>(data);
  uintptr_t from = first / page * page;
  if (mprotect(reinterpret_cast<void *>(from), first + bytes - from,
               PROT_READ | PROT_WRITE) != 0)
    throw failure("frozen weights", "the system gives no memory for new values",
                  "free memory, or leave out --init");
}

void Block::swap(Block &other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(mapped, other.mapped);
  std::swap(source, other.source);
}

void ingot::runtime::releasePages(std::string_view bytes) {
  constexpr uintptr_t page = 4096;
  auto first = reinterpret_cast<uintptr_t>(bytes.data());
  uintptr_t from = abi::alignTo(first, page);
  uintptr_t to = (first + bytes.size()) / page * page;
  if (from < to)
    (void)madvise(reinterpret_cast<void *>(from), to - from, MADV_DONTNEED);
}
