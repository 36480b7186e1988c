// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The remarks of the compiler, in LLVM's YAML format. Of YAML, only what LLVM
// writes is read: a document for each remark, with scalars in lines.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "tools/ingot-report/RunFiles.h"

using namespace ingot;
using namespace ingot::runtime;
using nlohmann::ordered_json;

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

/// Returns the value of a scalar: plain, or in quotes of one of two kinds.
static std::string readScalar(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') ||
      text.back() != text.front())
    return std::string(text);
  char quote = text.front();
  text = text.substr(1, text.size() - 2);
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isEscape = i + 1 < text.size() &&
                    (quote == '"' ? text[i] == '\\'
                                  : text[i] == '\'' && text[i + 1] == '\'');
    value += text[isEscape ? ++i : i];
  }
  return value;
}

ordered_json ingot::readRemarks(const std::string &path) {
  MappedFile file(path);
  std::string_view text = file.getBytes();
  ordered_json remarks = ordered_json::array();
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("--- !")) {
      remarks.push_back(
          {{"kind", trim(line.substr(5))}, {"args", ordered_json::array()}});
      continue;
    }
    bool isArgument = line.starts_with("  - ");
    std::string_view entry = trim(isArgument ? line.substr(4) : line);
    size_t colon = entry.find(':');
    if (remarks.empty() || colon == std::string_view::npos ||
        (!isArgument && line.starts_with(" ")))
      continue;
    std::string key(entry.substr(0, colon));
    std::string value = readScalar(trim(entry.substr(colon + 1)));
    if (isArgument)
      remarks.back()["args"].push_back({key, value});
    else if ((key == "Pass" || key == "Name" || key == "Function") &&
             value != "<unknown function>")
      remarks.back()[key] = value;
  }
  if (remarks.empty())
    throw badInput(path, "has no remarks", "give what ingotc --remarks wrote");
  return remarks;
}
