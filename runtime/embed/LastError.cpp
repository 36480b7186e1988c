// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/LastError.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

static constexpr size_t kMost = 1024;
static thread_local char text[kMost];

void ingot::runtime::setLastError(std::string_view words) {
  size_t size = std::min(words.size(), kMost - 1);
  std::memmove(text, words.data(), size);
  text[size] = '\0';
}

ingot_status ingot::runtime::setLastError(const Error &error) {
  setLastError(error.getWhere() + ": " + error.getWhat() + " (" +
               error.getHint() + ")");
  return static_cast<ingot_status>(error.getCode());
}

const char *ingot::runtime::getLastError() { return text; }
