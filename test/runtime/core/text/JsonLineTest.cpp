// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/text/JsonLine.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace ingot::runtime;
using nlohmann::ordered_json;

namespace {

TEST(JsonLine, HasBlanksAndEscapes) {
  ordered_json json = {{"step", 1},
                       {"na\"me\n", {1.5, true, nullptr}},
                       {"none", ordered_json::array()},
                       {"more", {{"a", "b"}}}};
  EXPECT_EQ(formatJsonLine(json),
            "{\"step\": 1, \"na\\\"me\\n\": [1.5, true, null], \"none\": [], "
            "\"more\": {\"a\": \"b\"}}");
  EXPECT_EQ(ordered_json::parse(formatJsonLine(json)), json);
  json = {{"loss", std::nan("")}, {"text", "\xff"}};
  EXPECT_EQ(formatJsonLine(json),
            "{\"loss\": null, \"text\": \"\xef\xbf\xbd\"}");
}

TEST(JsonLine, NumbersAreShort) {
  EXPECT_EQ(formatJsonLine(shortenFloat(0.1f)), "0.1");
  EXPECT_EQ(static_cast<float>(shortenFloat(0.1f)), 0.1f);
  EXPECT_TRUE(std::isnan(shortenFloat(std::nanf(""))));
  EXPECT_TRUE(std::isinf(shortenFloat(std::numeric_limits<float>::infinity())));
  EXPECT_EQ(formatJsonLine(roundTo(1.0 / 3, 3)), "0.333");
  EXPECT_EQ(formatJsonLine(roundTo(1e300, 3)), "1e+300");
  EXPECT_EQ(roundTo(1e307, 3), 1e307);
}

} // namespace
