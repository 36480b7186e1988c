// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as an .npy array.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/Npy.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  touch(readNpy(bytes, "input"));
}
