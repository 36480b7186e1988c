// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a file of tokens.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/Tokens.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  touch(readTokens(bytes, "input").bytes);
}
