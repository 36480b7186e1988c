// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a file that ingot-report is given, of the kind that its
// content tells.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "runtime/core/text/BoundedJson.h"
#include "tools/ingot-report/Inputs.h"
#include "tools/report/Page.h"

#include <cstdlib>

using namespace ingot;
using nlohmann::ordered_json;

void ingot::fuzz::read(std::string_view bytes) {
  enterFolder();
  // The configuration beside a log, or else the beginning of the log.
  std::string_view file = takePart(bytes);
  writeFile("run", file);
  writeFile("run.toml", bytes);
  writeFile("run.1", bytes);
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{"run"}, {"."}}) {
    ordered_json report = readRuns(findRuns(words));
    report["title"] = "run";
    std::string text =
        report.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    std::string page = makePage("run", text);
    // What the page holds is the report, whatever is in it.
    std::optional<std::string_view> data = findPageData(page);
    if (!data ||
        runtime::parseJson<ordered_json>(*data) != ordered_json::parse(text))
      std::abort();
  }
}
