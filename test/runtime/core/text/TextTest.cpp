// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/Text.h"
#include "runtime/core/Error.h"
#include "runtime/core/text/Quantities.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

TEST(Text, ControlCharactersAreReplaced) {
  EXPECT_EQ(makePrintable("a\x1b[31mb\tc\n"), "a?[31mb?c?");
  EXPECT_EQ(makePrintable("a\nb", /*keepsLines=*/true), "a\nb");
  EXPECT_EQ(makePrintable(std::string_view("\0\x7f", 2)), "??");
  // U+009B, which begins a control sequence, and the same byte alone.
  EXPECT_EQ(makePrintable("\xc2\x9b"
                          "2J\x9b"),
            "??2J?");
  EXPECT_EQ(makePrintable("größe 層 🙂"), "größe 層 🙂");
  EXPECT_EQ(makePrintable("\xe5\xb1"), "??");
}

TEST(Text, LongTextIsCutInTheMiddle) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  std::string text = shorten(std::string(50, 'a') + std::string(50, 'b'), 30);
  EXPECT_EQ(text, std::string(18, 'a') + "..." + std::string(9, 'b'));
  // Never within a character.
  std::string umlauts;
  for (int i = 0; i < 100; ++i)
    umlauts += "ä";
  for (size_t most = 10; most < 20; ++most)
    EXPECT_EQ(makePrintable(shorten(umlauts, most)), shorten(umlauts, most));
}

TEST(Text, MessagesKeepPathsOfUsualLengths) {
  std::string path = "/" + std::string(250, 'p');
  EXPECT_EQ(shortenMessage("cannot open " + path), "cannot open " + path);
  EXPECT_LT(shortenMessage("cannot open " + std::string(100000, 'p')).size(),
            400u);
  std::string many;
  for (int i = 0; i < 100000; ++i)
    many += "word ";
  EXPECT_LE(shortenMessage(many).size(), 3000u);
  Error error = failure(std::string(9999, 'w'),
                        "a\x1b"
                        "b",
                        "hint");
  EXPECT_LT(error.format().size(), 400u);
  EXPECT_EQ(error.getWhat(), "a?b");
}

TEST(Text, ListsAreShort) {
  EXPECT_EQ(listNames({"a", "b\n"}), "a, b?");
  EXPECT_EQ(listNames({"1", "2", "3", "4", "5", "6"}), "1, 2, 3, 4, 5, ...");
}

TEST(Text, SizesHaveTheUnitThatTheyFill) {
  EXPECT_EQ(describeBytes(0), "0 B");
  EXPECT_EQ(describeBytes(1023), "1023 B");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(int64_t(2) << 30), "2.0 GiB");
  EXPECT_EQ(describeBytes(int64_t(1) << 50), "1024.0 TiB");
}

} // namespace
