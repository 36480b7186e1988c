// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of how ranks work together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RANKOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RANKOPTIONS_H

#include "runtime/comm/launch/Launch.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ingot::runtime {

struct RankOptions {
  /// How ranks exchange data, if that is asked for.
  std::optional<Transport> transport;
  /// The seconds that ranks wait for each other.
  int64_t timeout = 600;
  /// How often what ranks have in common is compared.
  std::optional<int64_t> checkEvery;
  /// The prefix of the files to which each rank writes its last collectives if
  /// the run fails.
  std::optional<std::string> record;

  /// Adds the options to the table.
  void bind(CLI::App &app);
  /// The file of a rank for --comm-record.
  std::string getRecordPath(int64_t rank) const {
    return *record + "." + std::to_string(rank) + ".jsonl";
  }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RANKOPTIONS_H
