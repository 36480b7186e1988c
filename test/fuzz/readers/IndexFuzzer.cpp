// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as one of Megatron-LM's pairs: the size of the index in two bytes,
// the index, and the tokens.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/Tokens.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  uint16_t size = 0;
  if (bytes.size() < sizeof(size))
    return;
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes.remove_prefix(sizeof(size));
  // Copies, so that reading past the end of either is seen.
  auto indexSize = std::min<size_t>(size, bytes.size());
  std::vector<char> index(bytes.begin(), bytes.begin() + indexSize);
  std::vector<char> content(bytes.begin() + indexSize, bytes.end());
  std::string_view known(index.data(), index.size());
  if (!isTokenIndex(known))
    return;
  Tokens tokens =
      readIndexedTokens(known, {content.data(), content.size()}, "input");
  touch(tokens.bytes);
  for (const auto &ends :
       {readDocuments(known, "input"), splitDocuments(tokens, 4)})
    if (ends.front() != 0 || ends.back() > tokens.count() ||
        !std::is_sorted(ends.begin(), ends.end()))
      std::abort();
}
