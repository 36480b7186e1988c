// SPDX-License-Identifier: Apache-2.0

#include "passes/options/PruneRule.h"

#include "dialects/ingot/ir/Diagnostics.h"

using namespace ingot;
using llvm::StringRef;

/// Examples that hints give.
static constexpr llvm::StringLiteral kExamples =
    "0.5, 2:4 or block:4x4,share=0.5";
/// Parses a share that leaves something.
static bool parseShare(StringRef text, double &share) {
  return !text.getAsDouble(share, /*AllowInexact=*/true) && share > 0 &&
         share < 1;
}

/// Parses two positive numbers with a mark between them.
static bool parsePair(StringRef text, char mark, int64_t &first,
                      int64_t &second) {
  constexpr int64_t most = 1024;
  auto [left, right] = text.split(mark);
  auto parse = [](StringRef part, int64_t &number) {
    return !part.getAsInteger(10, number) && number >= 1 && number <= most;
  };
  return parse(left, first) && parse(right, second);
}

llvm::Error PruneRule::parsePattern(StringRef option, StringRef what) {
  auto fail = [&](const llvm::Twine &problem, const llvm::Twine &hint) {
    return makeOptionError(option, problem, hint);
  };
  if (what.consume_front("block:")) {
    if (parsePair(what, 'x', rows, columns))
      return llvm::Error::success();
    return fail("'" + what + "' is no size of blocks",
                "give outputs and inputs, from 1 to 1024 of each, as in "
                "block:4x4");
  }
  if (what.contains(':')) {
    int64_t kept = 0;
    if (!parsePair(what, ':', kept, group) || kept >= group)
      return fail("'" + what + "' leaves no part of groups",
                  "give how many inputs of each group stay, as in 2:4");
    share = static_cast<double>(group - kept) / static_cast<double>(group);
    return llvm::Error::success();
  }
  if (!parseShare(what, share))
    return fail("'" + what + "' says not how much is pruned",
                "give a share between 0 and 1, N:M or blocks: " + kExamples);
  return llvm::Error::success();
}

llvm::Error PruneRule::parseSchedule(StringRef option, StringRef schedule) {
  constexpr int64_t most = int64_t(1) << 40;
  auto parse = [](StringRef part, int64_t &step) {
    return !part.getAsInteger(10, step) && step >= 0 && step <= most;
  };
  llvm::SmallVector<StringRef> parts;
  schedule.split(parts, ':');
  bool isOnce = parts.size() == 1 && parse(parts[0], begin);
  bool isGradual = parts.size() == 3 && parse(parts[0], begin) &&
                   parse(parts[1], end) && parse(parts[2], every) &&
                   begin < end && every > 0;
  if (!isOnce && !isGradual)
    return makeOptionError(option, "'" + schedule + "' is no schedule",
                           "give a step as in schedule=100, or "
                           "BEGIN:END:EVERY as in schedule=0:1000:100");
  if (isOnce)
    end = begin;
  // Of a group, what was chosen would be all that a second choice finds.
  if (isGradual && group)
    return makeOptionError(option, "groups are pruned at once",
                           "give the step, as in 2:4,schedule=" +
                               llvm::Twine(begin));
  return llvm::Error::success();
}

llvm::Expected<PruneRule> PruneRule::parse(StringRef option, StringRef text) {
  PruneRule rule;
  rule.text = text.str();
  auto [what, expression] = text.split('@');
  auto [first, settings] = what.split(',');
  if (llvm::Error error = rule.parsePattern(option, first))
    return error;
  while (!settings.empty()) {
    StringRef setting;
    std::tie(setting, settings) = settings.split(',');
    auto [name, value] = setting.split('=');
    if (name == "schedule") {
      if (llvm::Error error = rule.parseSchedule(option, value))
        return error;
    } else if (name == "share" && rule.hasBlocks()) {
      if (!parseShare(value, rule.share))
        return makeOptionError(option, "share of '" + value + "' is none",
                               "give a number between 0 and 1, as in "
                               "block:4x4,share=0.5");
    } else {
      return makeOptionError(option, "unknown setting '" + setting + "'",
                             "settings are schedule and, of blocks, share, as "
                             "in block:4x4,share=0.5,schedule=100");
    }
  }
  if (text.contains('@')) {
    auto pattern = NamePattern::parse(option, expression);
    if (!pattern)
      return pattern.takeError();
    rule.pattern = std::move(*pattern);
  }
  return rule;
}
