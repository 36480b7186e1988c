// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as JSON lines, or else as a table of text.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/readers/Readers.h"
#include "test/fuzz/readers/ReadAll.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  readAll(bytes, areJsonLines(bytes) ? "input.jsonl" : "input.csv");
}
