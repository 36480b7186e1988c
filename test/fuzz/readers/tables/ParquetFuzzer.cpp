// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a table in Parquet.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "test/fuzz/readers/ReadAll.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  readAll(bytes, "input.parquet");
}
