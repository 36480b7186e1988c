// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/session/PartPlaces.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ingot::runtime;

namespace {

/// The elements of the whole tensor that a range of a part has; -1 for padding.
std::vector<int64_t> listPlaces(const PartPlaces &part, ElementRange range) {
  std::vector<int64_t> places;
  part.forEach(range, [&](const PartPlaces::Run &run) {
    EXPECT_EQ(run.first, range.begin + static_cast<int64_t>(places.size()));
    for (int64_t i = 0; i < run.count; ++i)
      places.push_back(run.whole < 0 ? -1 : run.whole + i);
  });
  return places;
}

TEST(PartPlaces, ColumnsOfSegments) {
  PartPlaces part({{0, 1, {2}}, {1, 2, {4, 2}}});
  EXPECT_EQ(part.getElements(), 6);
  EXPECT_EQ(listPlaces(part, {0, 6}),
            (std::vector<int64_t>{2, 3, 5, 8, 9, 11}));
  EXPECT_EQ(listPlaces(part, {1, 5}), (std::vector<int64_t>{3, 5, 8, 9}));
}

TEST(PartPlaces, PartsCoverTheWholeOnce) {
  // Rows with padding over three ranks, columns in segments over two.
  std::vector<int64_t> seen;
  int64_t padding = 0;
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t column = 0; column < 2; ++column) {
      PartPlaces part({{row, 3, {7}, 2}, {column, 2, {4, 2}}, {0, 1, {5}}});
      for (int64_t place : listPlaces(part, {0, part.getElements()}))
        if (place < 0)
          ++padding;
        else
          seen.push_back(place);
    }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 7u * 6 * 5);
  EXPECT_EQ(padding, 2 * 6 * 5);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], static_cast<int64_t>(i));
}

TEST(PartPlaces, WordsAreReadAsWritten) {
  const std::vector<int64_t> shape = {51, 6};
  std::string words = "1/2:51+1 0/2:4,2";
  auto part = PartPlaces::parse(words, shape);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->print(), words);
  for (const char *wrong :
       {"", "1/2:51+1", "1/2:51+1 0/2:4,2 0/1:1", "1/2:50 0/2:4,2",
        "2/2:51+1 0/2:4,2", "1/2:51+2 0/2:4,2", "1/2:51 0/2:4,2",
        "0/0:51 0/2:4,2", "1/2:51+1 0/2:4,3", "1/2:51+1 0/2:4,2 ",
        "1/2:51+1 0/2:x", "0/1:51 0/1:99999999999999999999"})
    EXPECT_FALSE(PartPlaces::parse(wrong, shape)) << wrong;
}

TEST(PartPlaces, WholeTensorsAndScalars) {
  EXPECT_EQ(listPlaces(PartPlaces::ofWhole(4), {1, 3}),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(listPlaces(PartPlaces({}), {0, 1}), (std::vector<int64_t>{0}));
}

} // namespace
