// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/LostFiles.h"

#include "runtime/core/Error.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

using namespace ingot::runtime;

namespace {

/// A mapping, as the handler of the signal finds it.
struct Mapping {
  /// 0 if the entry is free.
  std::atomic<uintptr_t> start = 0;
  std::atomic<size_t> size = 0;
  std::atomic<bool> isLost = false;
};

/// Entries never move: the handler may walk them at any time.
struct Chunk {
  std::array<Mapping, 64> entries;
  std::atomic<Chunk *> next = nullptr;
};

/// A watched mapping, with the identity of its file.
struct Watched {
  Mapping *entry;
  dev_t device;
  ino_t inode;
};

struct Registry {
  std::mutex mutex;
  std::unordered_multimap<std::string, Watched> byPath;
  struct sigaction before = {};
};

} // namespace

static thread_local bool areUnmapped = false;

UnmappedFiles::UnmappedFiles() : before(areUnmapped) { areUnmapped = true; }

UnmappedFiles::~UnmappedFiles() { areUnmapped = before; }

bool UnmappedFiles::areInForce() { return areUnmapped; }

static Chunk firstChunk;
static std::atomic<bool> hasLost = false;

static Registry &getRegistry() {
  // Lives as long as the process: files may be unmapped at its very end.
  static auto *registry = new Registry;
  return *registry;
}

/// Calls `visit` with each entry until it returns true.
template <typename Visit> static Mapping *findEntry(Visit visit) {
  for (Chunk *chunk = &firstChunk; chunk; chunk = chunk->next)
    for (Mapping &entry : chunk->entries)
      if (visit(entry))
        return &entry;
  return nullptr;
}

/// Puts zeros in place of the pages from `address` to the end of its mapping.
static bool replacePages(uintptr_t address) {
  Mapping *found = findEntry([&](const Mapping &entry) {
    uintptr_t start = entry.start;
    return start != 0 && address >= start && address - start < entry.size;
  });
  if (!found)
    return false;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t first = address / page * page;
  size_t rest = found->start + found->size - first;
  void *replaced =
      mmap(reinterpret_cast<void *>(first), rest, PROT_READ,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (replaced == MAP_FAILED)
    return false;
  found->isLost = true;
  hasLost = true;
  return true;
}

static void handleBusError(int number, siginfo_t *info, void *context) {
  int saved = errno;
  if (replacePages(reinterpret_cast<uintptr_t>(info->si_addr))) {
    errno = saved;
    return;
  }
  // Not a file of ours: as if there were no handler, when the access repeats.
  sigaction(number, &getRegistry().before, nullptr);
  errno = saved;
}

/// Whether the handler is installed; guarded by the registry's mutex.
static std::atomic<bool> isInstalled = false;

static void installHandler(Registry &registry) {
  if (isInstalled)
    return;
  struct sigaction action = {};
  action.sa_sigaction = handleBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  isInstalled = sigaction(SIGBUS, &action, &registry.before) == 0;
}

void ingot::runtime::removeHandler() {
  if (!isInstalled)
    return;
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  struct sigaction now = {};
  if (sigaction(SIGBUS, nullptr, &now) == 0 &&
      now.sa_sigaction == handleBusError)
    sigaction(SIGBUS, &registry.before, nullptr);
  isInstalled = false;
}

void ingot::runtime::watchMapping(const void *data, size_t size, int descriptor,
                                  const std::string &path) {
  struct stat status;
  if (size == 0 || fstat(descriptor, &status) != 0)
    return;
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  installHandler(registry);
  Mapping *entry = findEntry([](const Mapping &e) { return e.start == 0; });
  if (!entry) {
    auto *chunk = new Chunk;
    chunk->next = firstChunk.next.load();
    firstChunk.next = chunk;
    entry = &chunk->entries.front();
  }
  entry->isLost = false;
  entry->size = size;
  entry->start = reinterpret_cast<uintptr_t>(data);
  registry.byPath.emplace(path, Watched{entry, status.st_dev, status.st_ino});
}

void ingot::runtime::forgetMapping(const void *data, const std::string &path) {
  if (!isInstalled)
    return;
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  auto [begin, end] = registry.byPath.equal_range(path);
  for (auto it = begin; it != end; ++it)
    if (it->second.entry->start == reinterpret_cast<uintptr_t>(data)) {
      it->second.entry->start = 0;
      registry.byPath.erase(it);
      return;
    }
}

bool ingot::runtime::haveLostFiles() { return hasLost; }

void ingot::runtime::checkMappedFile(const std::string &path) {
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  auto [begin, end] = registry.byPath.equal_range(path);
  for (auto it = begin; it != end; ++it) {
    const Watched &watched = it->second;
    struct stat status;
    // Another file of that name does not matter.
    bool isShorter =
        stat(path.c_str(), &status) == 0 && status.st_dev == watched.device &&
        status.st_ino == watched.inode &&
        static_cast<uint64_t>(status.st_size) < watched.entry->size;
    if (isShorter)
      throw badInput(path,
                     "the file was truncated while it was read: it has " +
                         std::to_string(status.st_size) + " of " +
                         std::to_string(watched.entry->size) + " bytes",
                     "write a new file and rename it, instead of writing into "
                     "one that is in use");
    if (watched.entry->isLost)
      throw badInput(path, "a part of the file could not be read",
                     "check the disk, or the connection to the file server");
  }
}
