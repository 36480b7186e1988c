// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the description of a checkpoint, with the checksum that
// belongs to it.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/text/BoundedJson.h"

#include <cstdlib>

using namespace ingot::runtime;
using nlohmann::ordered_json;

static void parse(const std::string &text) {
  try {
    CheckpointFile file = parseInfo(text, "input");
    // There is one text for a content.
    if (formatInfo(file) != text)
      std::abort();
  } catch (const Error &error) {
    if (error.getCode() != ExitCode::BadInput || error.getHint().empty())
      std::abort();
  }
}

void ingot::fuzz::read(std::string_view bytes) {
  parse(std::string(bytes));
  auto json = parseJson<ordered_json>(bytes);
  if (!json.is_object())
    return;
  json.erase("crc32");
  try {
    json["crc32"] = computeCrc32(json.dump());
  } catch (const ordered_json::exception &) {
    // Its text is no UTF-8.
    return;
  }
  parse(json.dump(1) + "\n");
}
