// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The entry point that libFuzzer calls.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <vector>

using namespace ingot;

void fuzz::touch(std::string_view bytes) {
  volatile char last = 0;
  for (char byte : bytes)
    last = byte;
  (void)last;
}

void fuzz::touch(const runtime::Array &array) {
  touch(
      std::string_view(array.data, array.getElements() * getSize(array.dtype)));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of exactly that size, so that reading past it is seen.
  std::vector<char> copy(data, data + size);
  try {
    fuzz::read({copy.data(), copy.size()});
  } catch (const runtime::Error &error) {
    // An error without a hint is as bad as a crash.
    if (error.getHint().empty() ||
        error.getCode() != runtime::ExitCode::BadInput)
      std::abort();
  }
  return 0;
}
