// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as what comes of a stream, in pieces: whole samples lie in what has
// come, and what is gone is never more.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/streams/RecordSplitter.h"

#include <algorithm>
#include <cstdlib>

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  if (bytes.size() < 2)
    return;
  // Two bytes choose the kind, and how many come at a time.
  auto kind = static_cast<StreamKind>(static_cast<uint8_t>(bytes[0]) % 4);
  size_t piece = static_cast<uint8_t>(bytes[1]) * 16 + 1;
  bytes.remove_prefix(2);
  guessKind(bytes, /*isAtEnd=*/true, /*areTokens=*/false);
  auto splitter = makeSplitter(kind, {"input", 3, DType::U16});
  std::string pending;
  bool isAtEnd = false;
  while (true) {
    RecordSplitter::Part part = splitter->find(pending, isAtEnd);
    if (part.size > pending.size() || part.used > pending.size())
      std::abort();
    touch(std::string_view(pending).substr(0, part.size));
    pending.erase(0, part.used);
    splitter->remove(part.used);
    if (part.used != 0)
      continue;
    if (isAtEnd)
      return;
    std::string_view next = bytes.substr(0, piece);
    pending += next;
    bytes.remove_prefix(next.size());
    isAtEnd = next.empty();
  }
}
