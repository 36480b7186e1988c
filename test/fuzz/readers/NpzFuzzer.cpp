// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as an archive of arrays.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/Npy.h"
#include "runtime/data/Zip.h"

using namespace ingot::runtime;

/// Larger entries say nothing new, only slowly.
static constexpr size_t maxEntry = size_t(1) << 24;

void ingot::fuzz::read(std::string_view bytes) {
  if (!isZip(bytes))
    return;
  for (const ZipEntry &entry : readZipDirectory(bytes, "input")) {
    if (entry.size > maxEntry)
      continue;
    Block storage;
    touch(readNpy(readZipEntry(bytes, entry, "input", storage), "input"));
  }
}
