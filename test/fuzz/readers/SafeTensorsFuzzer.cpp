// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a safetensors file.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/checkpoint/SafeTensors.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  for (const auto &[name, tensor] : readSafeTensors(bytes, "input").tensors)
    touch(tensor.data);
}
