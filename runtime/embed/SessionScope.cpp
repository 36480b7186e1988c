// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/SessionScope.h"

#include "runtime/core/Error.h"

#include <string>

using namespace ingot::runtime;

SessionSettings::SessionSettings(const ingot_options &options)
    : threads(options.threads), mapsFiles(options.flags & INGOT_MAP_FILES),
      source{options.allocator.allocate, options.allocator.release,
             options.allocator.data} {
  if (threads < 0)
    throw usageError("options.threads",
                     std::to_string(threads) + " is no number of threads",
                     "give 1 or more, or 0 for the default");
  if (options.flags & ~unsigned(INGOT_MAP_FILES))
    throw usageError("options.flags",
                     std::to_string(options.flags) + " has unknown bits",
                     "give INGOT_MAP_FILES or 0");
  if (!source.allocate != !source.release)
    throw usageError("options.allocator", "one of its functions is null",
                     "give both, or none");
}

SessionScope::SessionScope(const SessionSettings &settings)
    : threads(settings.threads),
      source(settings.source.allocate ? &settings.source : nullptr) {
  if (!settings.mapsFiles)
    files.emplace();
}
