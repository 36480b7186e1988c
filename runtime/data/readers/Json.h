// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of an object in JSON as fields.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_JSON_H
#define INGOT_RUNTIME_DATA_READERS_JSON_H

#include "runtime/data/readers/Reader.h"

namespace ingot::runtime {

/// Returns the keys of an object. Throws badInput naming `where`.
std::vector<std::string> listKeys(std::string_view text,
                                  const std::string &where);

/// Reads the value of a key: a number, an array of numbers of any rank, or a
/// string, which is bytes. Throws badInput naming `where`.
Value readKey(std::string_view text, const std::string &key,
              std::string &storage, const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_JSON_H
