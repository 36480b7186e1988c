// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The big blocks of a trainer: state, arena, library scratch.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MEMORY_H
#define INGOT_RUNTIME_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot::runtime {

/// Where blocks come from instead of the system. The functions must not throw.
struct BlockSource {
  /// Returns memory aligned to a page, or null. It need not be zeroed.
  void *(*allocate)(void *data, size_t bytes) = nullptr;
  void (*release)(void *data, void *memory, size_t bytes) = nullptr;
  void *data = nullptr;
};

/// While it lives, blocks that the calling thread makes come from `source`,
/// which outlives them. Null is the system.
class BlockSourceScope {
public:
  explicit BlockSourceScope(const BlockSource *source);
  BlockSourceScope(const BlockSourceScope &) = delete;
  BlockSourceScope &operator=(const BlockSourceScope &) = delete;
  ~BlockSourceScope();

private:
  const BlockSource *before;
};

/// Zeroed memory, aligned to a page at least. It comes from the system
/// directly, in huge pages where there are any, so that untouched pages cost
/// nothing.
class Block {
public:
  Block() = default;
  /// Throws failure naming `purpose` when there is not enough memory.
  Block(size_t size, std::string_view purpose);
  Block(Block &&other) noexcept { swap(other); }
  Block &operator=(Block &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();

  /// Makes the system provide all pages now, without changing what they hold.
  /// Nothing else may write to the block meanwhile.
  void touch() const;

  /// Replaces pages from `offset` on, a multiple of the system's page, by bytes
  /// of an open file, read-only. Returns false where the block is not the
  /// system's, or the file cannot be mapped; nothing has changed then.
  bool map(size_t offset, int descriptor, uint64_t fileOffset, size_t bytes);

  char *getData() const { return data; }
  size_t getSize() const { return size; }

private:
  void swap(Block &other) noexcept;

  char *data = nullptr;
  size_t size = 0, mapped = 0;
  const BlockSource *source = nullptr;
};

/// Releases the memory of unmodified pages of a mapped file. They are read from
/// the file again on the next access.
void releasePages(std::string_view bytes);

/// Lets the process write to pages that Block::map has mapped, which then are
/// its own. Throws failure.
void makeWritable(char *data, size_t bytes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MEMORY_H
