// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the loaded file that holds an address, as the static unwinder of GCC 12
// asks glibc 2.35 for it. Older ones have no answer. The search over a few
// files is a small part of what an exception costs.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <link.h>

namespace {
/// glibc's `struct dl_find_object`, as its manual states it ("Dynamic Linker
/// Introspection").
struct FoundObject {
  unsigned long long flags;
  void *begin, *end;
  void *linkMap;
  void *unwindTable;
  unsigned long long reserved[7];
};

struct Search {
  uintptr_t address;
  FoundObject *found;
};
} // namespace

static int look(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  void *table = nullptr;
  bool isInside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + part.p_vaddr, to = from + part.p_memsz;
    if (part.p_type == PT_GNU_EH_FRAME)
      table = reinterpret_cast<void *>(from);
    if (part.p_type != PT_LOAD)
      continue;
    begin = from < begin ? from : begin;
    end = to > end ? to : end;
    isInside |= from <= search.address && search.address < to;
  }
  if (!isInside)
    return 0;
  *search.found = {};
  search.found->begin = reinterpret_cast<void *>(begin);
  search.found->end = reinterpret_cast<void *>(end);
  search.found->unwindTable = table;
  return 1;
}

/// Returns 0 if a loaded file holds the address, which `found` then describes,
/// except for the linker's own record of it, which unwinders do not read; else
/// -1. Newer headers of glibc declare the name with a type of theirs.
extern "C" __attribute__((visibility("hidden"))) int
findObject(void *address, FoundObject *found) __asm__("_dl_find_object");

int findObject(void *address, FoundObject *found) {
  Search search = {reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
