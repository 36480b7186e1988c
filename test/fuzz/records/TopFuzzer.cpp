// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the log that ingot-top follows, and the configuration beside
// it.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "tools/ingot-top/RunTable.h"

#include <filesystem>

using namespace ingot;

void ingot::fuzz::read(std::string_view bytes) {
  enterFolder();
  std::string_view log = takePart(bytes);
  std::filesystem::remove("log.jsonl.toml");
  writeFile("log.jsonl.toml", bytes);
  // The log grows while it is followed, and is cut.
  RunLog run("log.jsonl");
  for (size_t size : {log.size() / 2, log.size(), log.size() / 4}) {
    writeFile("log.jsonl", log.substr(0, size));
    run.update();
    for (size_t width : {0, 20, 200})
      for (const std::string &line :
           makeTable({{"run", &run}}, width, /*color=*/true))
        touch(line);
  }
}
