// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/text/BoundedJson.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <functional>

using namespace ingot::runtime;

void JsonReader::fail(const std::string &what) const {
  throw badInput(where, what, hint);
}

void JsonReader::read(std::string_view text) {
  nlohmann::json_sax<nlohmann::json> *events = this;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), events))
    fail(problem);
}

bool JsonReader::open(bool isObject) {
  if (depth == kMostJsonDepth)
    fail("arrays are nested too deeply");
  ++depth;
  if (isObject)
    starts.push_back(keys.size());
  begin(isObject);
  return true;
}

bool JsonReader::key(std::string &name) {
  size_t hash = std::hash<std::string>()(name);
  // Of objects with many keys, they are compared at the end.
  constexpr std::ptrdiff_t few = 32;
  auto first = keys.begin() + static_cast<std::ptrdiff_t>(starts.back());
  if (keys.end() - first <= few &&
      std::find(first, keys.end(), hash) != keys.end())
    fail("an object has the key '" + describeName(name) + "' twice");
  keys.push_back(hash);
  addKey(name);
  return true;
}

bool JsonReader::end_object() {
  auto first = keys.begin() + static_cast<std::ptrdiff_t>(starts.back());
  std::sort(first, keys.end());
  if (std::adjacent_find(first, keys.end()) != keys.end())
    fail("an object has a key twice");
  keys.erase(first, keys.end());
  starts.pop_back();
  end(/*isObject=*/true);
  --depth;
  return true;
}

bool JsonReader::end_array() {
  end(/*isObject=*/false);
  --depth;
  return true;
}
