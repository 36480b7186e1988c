// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sequences of any length in rows: packed, and one in each.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Random.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/dataset/VariantData.h"
#include "runtime/data/sequences/SequenceInputs.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/DataFiles.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

/// Lengths with a long tail.
std::vector<int64_t> drawLengths(int64_t count, int64_t most) {
  Philox random(7, 1);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i)
    lengths.push_back(std::clamp<int64_t>(
        std::lround(std::exp(4 + random.normal())), 1, most));
  return lengths;
}

SequenceRows pack(const std::vector<int64_t> &lengths,
                  SequenceRows::Settings settings) {
  SequenceRows rows;
  rows.pack(lengths, 0, settings);
  return rows;
}

TEST(SequenceRowsTest, EachTokenIsInOnePlace) {
  std::vector<int64_t> lengths = drawLengths(3000, 700);
  lengths[5] = 0;
  for (int64_t window : {1, 7, 1024}) {
    SequenceRows rows = pack(lengths, {256, window, false, 3});
    std::set<std::pair<int64_t, int64_t>> seen;
    for (int64_t row = 0; row < rows.getRows(); ++row) {
      int64_t end = 0;
      for (const Piece &piece : rows.getPieces(row)) {
        EXPECT_EQ(piece.place, end);
        EXPECT_GT(piece.count, 0);
        end += piece.count;
        for (int64_t i = 0; i < piece.count; ++i)
          EXPECT_TRUE(seen.emplace(piece.sample, piece.first + i).second);
        EXPECT_LE(piece.first + piece.count, lengths[piece.sample]);
      }
      EXPECT_LE(end, 256);
      EXPECT_EQ(rows.countTokens(row), end);
    }
    int64_t tokens = 0;
    for (int64_t length : lengths)
      tokens += length;
    EXPECT_EQ(static_cast<int64_t>(seen.size()), tokens);
  }
}

TEST(SequenceRowsTest, RowsAreNearlyFull) {
  std::vector<int64_t> lengths = drawLengths(20000, 512);
  int64_t tokens = 0;
  for (int64_t length : lengths)
    tokens += length;
  SequenceRows rows = pack(lengths, {512, 1024, false, 3});
  EXPECT_GT(static_cast<double>(tokens) / (512.0 * rows.getRows()), 0.97);
}

TEST(SequenceRowsTest, TheOrderFollowsFromTheSeed) {
  std::vector<int64_t> lengths = drawLengths(500, 200);
  auto list = [&](std::optional<uint64_t> seed) {
    SequenceRows rows = pack(lengths, {256, 64, false, seed});
    std::vector<int64_t> samples;
    for (int64_t row = 0; row < rows.getRows(); ++row)
      for (const Piece &piece : rows.getPieces(row))
        samples.push_back(piece.sample);
    return samples;
  };
  EXPECT_EQ(list(3), list(3));
  EXPECT_NE(list(3), list(4));
  EXPECT_EQ(list(std::nullopt), list(std::nullopt));
}

TEST(SequenceRowsTest, WhatDoesNotFitIsCut) {
  SequenceRows rows = pack({10, 3}, {4, 8, true, std::nullopt});
  ASSERT_EQ(rows.getRows(), 2);
  EXPECT_EQ(rows.countTokens(0), 4);
  EXPECT_EQ(rows.countTokens(1), 3);
}

class SequencesTest : public testing::Test {
protected:
  /// Adds an input after those before it.
  void add(const char *name, DType dtype, std::vector<int64_t> shape,
           const char *recipe, InputKind kind = InputKind::Data) {
    InputSpec input;
    input.name = name;
    input.kind = kind;
    input.dtype = dtype;
    input.shape = std::move(shape);
    input.offset = inputs.empty()
                       ? 0
                       : inputs.back().offset + inputs.back().getAlignedBytes();
    inputs.push_back(input);
    if (recipe)
      how.recipes.insert_or_assign(name, Recipe::parse(name, recipe));
  }

  std::unique_ptr<Dataset> open(const std::string &content,
                                std::string name = "") {
    // Not the same file again: earlier data sets have it mapped.
    if (name.empty())
      name = std::to_string(++opened) + ".jsonl";
    writeFile(folder / name, content);
    return std::make_unique<Dataset>(std::vector<DataFile>{{folder / name}},
                                     inputs, console, how);
  }

  void fill(const Dataset &data, std::vector<int64_t> samples) {
    arena.assign(inputs.back().offset + inputs.back().getAlignedBytes(), 77);
    data.fill(inputs, samples.data(), static_cast<int64_t>(samples.size()),
              arena.data());
  }

  /// The elements of an input after fill().
  std::vector<double> get(size_t index) const {
    const InputSpec &input = inputs[index];
    std::vector<double> values(input.getElements());
    convert(arena.data() + input.offset, input.dtype, values.data(), DType::F64,
            input.getElements());
    return values;
  }

  void expectUsage(const char *part) {
    EXPECT_INGOT_ERROR(ExitCode::Usage, part, findLeader(inputs, how.recipes));
  }

  int opened = 0;
  TemporaryFolder folder;
  Console console;
  DatasetOptions how;
  std::vector<InputSpec> inputs;
  std::vector<char> arena;
};

using Values = std::vector<double>;

TEST_F(SequencesTest, InputsSayWhereSequencesEnd) {
  double hidden = -std::numeric_limits<double>::infinity();
  add("ids", DType::I64, {1, 6}, "pack");
  add("labels", DType::I64, {1, 6}, "next-of:ids", InputKind::Labels);
  add("positions", DType::I32, {1, 6}, "positions-of:ids");
  add("segments", DType::I64, {1, 6}, "segments-of:ids");
  add("present", DType::F32, {1, 6}, "mask-of:ids");
  add("seen", DType::Bool, {1, 6, 6}, "block-diagonal:ids");
  add("added", DType::F32, {1, 1, 6, 6}, "block-diagonal:ids,causal");
  auto data = open("{\"ids\": [4, 5]}\n{\"ids\": [7, 8, 9]}\n");
  ASSERT_EQ(data->getSamples(), 1);
  EXPECT_EQ(data->countTokens(0).tokens, 5);
  EXPECT_EQ(data->countTokens(0).room, 6);
  fill(*data, {0});
  EXPECT_EQ(get(0), (Values{7, 8, 9, 4, 5, 0}));
  EXPECT_EQ(get(1), (Values{8, 9, -100, 5, -100, -100}));
  EXPECT_EQ(get(2), (Values{0, 1, 2, 0, 1, 0}));
  EXPECT_EQ(get(3), (Values{1, 1, 1, 2, 2, 0}));
  EXPECT_EQ(get(4), (Values{1, 1, 1, 1, 1, 0}));
  Values seen = get(5), added = get(6);
  int segments[] = {1, 1, 1, 2, 2, 3};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      EXPECT_EQ(seen[i * 6 + j], segments[i] == segments[j]) << i << ", " << j;
      EXPECT_EQ(added[i * 6 + j],
                segments[i] == segments[j] && j <= i ? 0 : hidden);
    }
}

TEST_F(SequencesTest, LabelsThatTheModelShiftsAreTheTokens) {
  add("ids", DType::I64, {1, 6}, "pack");
  add("labels", DType::I64, {1, 6}, "labels-of:ids", InputKind::Labels);
  inputs.back().isShifted = true;
  auto data = open("{\"ids\": [4, 5]}\n{\"ids\": [7, 8, 9]}\n");
  fill(*data, {0});
  EXPECT_EQ(get(0), (Values{7, 8, 9, 4, 5, 0}));
  // What the last token of a sequence predicts is no token of the next one.
  EXPECT_EQ(get(1), (Values{-100, 8, 9, -100, 5, -100}));
  // So it is where a sequence goes on in another row, and of labels of its own.
  inputs.clear();
  how = {};
  add("ids", DType::I64, {1, 3}, "pack,padding:9");
  add("labels", DType::I64, {1, 3}, "labels-of:ids", InputKind::Labels);
  inputs.back().isShifted = true;
  auto longer = open("{\"ids\": [1, 2, 3, 4]}\n");
  fill(*longer, {0});
  EXPECT_EQ(get(1), (Values{-100, 2, 3}));
  fill(*longer, {1});
  EXPECT_EQ(get(1), (Values{-100, -100, -100}));
  inputs.clear();
  how = {};
  add("ids", DType::I64, {1, 4}, "pack");
  add("labels", DType::I64, {1, 4}, "next-of:ids", InputKind::Labels);
  inputs.back().isShifted = true;
  expectUsage("shifts these labels itself");
}

TEST_F(SequencesTest, LongSequencesGoOnInOtherRows) {
  add("ids", DType::I64, {1, 3}, "pack,padding:9");
  add("labels", DType::I64, {1, 3}, "next-of:ids", InputKind::Labels);
  auto data = open("{\"ids\": [1, 2, 3, 4]}\n");
  ASSERT_EQ(data->getSamples(), 2);
  fill(*data, {0});
  EXPECT_EQ(get(0), (Values{1, 2, 3}));
  EXPECT_EQ(get(1), (Values{2, 3, 4}));
  fill(*data, {1});
  EXPECT_EQ(get(0), (Values{4, 9, 9}));
  EXPECT_EQ(get(1), (Values{-100, -100, -100}));
}

TEST_F(SequencesTest, OtherFieldsGoAlong) {
  add("ids", DType::I64, {1, 4}, "pack");
  add("labels", DType::I64, {1, 4}, "along:ids", InputKind::Labels);
  add("weights", DType::F32, {1, 4}, "from:w,along:ids");
  auto data = open("{\"ids\": [1, 2], \"labels\": [-100, 5], \"w\": [0.5, 1.5]}"
                   "\n{\"ids\": [3], \"labels\": [6], \"w\": [2.5]}\n");
  fill(*data, {0});
  EXPECT_EQ(get(1), (Values{-100, 5, 6, -100}));
  EXPECT_EQ(get(2), (Values{0.5, 1.5, 2.5, 0}));
  auto bad = open("{\"ids\": [1, 2], \"labels\": [5], \"w\": [1, 1]}\n");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "1 elements, and the sequence has 2",
                     fill(*bad, {0}));
}

TEST_F(SequencesTest, WhatIsBadIsPadding) {
  add("ids", DType::I8, {1, 4}, "pack");
  add("segments", DType::I64, {1, 4}, "segments-of:ids");
  how.skipBad = 2;
  auto data = open("{\"ids\": [1, 2]}\n{\"ids\": [300]}\n{\"ids\": 5}\n"
                   "{\"ids\": []}\n{\"ids\": [6]}\n");
  ASSERT_EQ(data->getSamples(), 1);
  fill(*data, {0});
  EXPECT_EQ(get(0), (Values{1, 2, 0, 6}));
  EXPECT_EQ(get(1), (Values{1, 1, 0, 2}));
  how.skipBad = 0;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "not one sequence",
                     open("{\"ids\": 5}\n"));
}

TEST_F(SequencesTest, TextIsASequenceOfBytes) {
  add("ids", DType::I64, {1, 4}, "bytes,pack");
  auto data = open("{\"text\": \"AB\"}\n{\"text\": \"C\"}\n");
  fill(*data, {0});
  EXPECT_EQ(get(0), (Values{65, 66, 67, 0}));
  how.recipes.clear();
  how.recipes.emplace("ids", Recipe::parse("ids", "from:text,pack"));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "the field is text",
                     open("{\"text\": \"AB\"}\n"));
}

TEST_F(SequencesTest, FilesOfTokensHaveDocuments) {
  add("ids", DType::I64, {1, 4}, "pack,split:0");
  // The token ends documents, unless it begins the file.
  auto ends = open(makeTokenHeader(20240520, 1, 5) +
                       makeBytes<uint16_t>({5, 0, 6, 7, 0}),
                   "ends.bin");
  ASSERT_EQ(ends->getSamples(), 2);
  fill(*ends, {0});
  EXPECT_EQ(get(0), (Values{6, 7, 0, 0}));
  auto begins = open(makeTokenHeader(20240520, 1, 5) +
                         makeBytes<uint16_t>({0, 5, 0, 6, 7}),
                     "begins.bin");
  fill(*begins, {0});
  EXPECT_EQ(get(0), (Values{0, 6, 7, 0}));
  how.recipes.clear();
  how.recipes.emplace("ids", Recipe::parse("ids", "pack"));
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "where its documents end",
      open(makeTokenHeader(20240520, 1, 1) + makeBytes<uint16_t>({5}),
           "none.bin"));
  std::string index = "MMIDIDX";
  index += std::string(2, '\0') + makeBytes<uint64_t>({1}) + '\x08' +
           makeBytes<uint64_t>({3, 3}) + makeBytes<int32_t>({1, 2, 2}) +
           makeBytes<int64_t>({0, 2, 6, 0, 2, 3});
  writeFile(folder / "pair.idx", index);
  // The first two sequences are one document.
  auto pair = open(makeBytes<uint16_t>({1, 2, 3, 4, 5}), "pair.bin");
  ASSERT_EQ(pair->getSamples(), 2);
  fill(*pair, {0});
  EXPECT_EQ(get(0), (Values{1, 2, 3, 0}));
}

TEST_F(SequencesTest, BucketsTakeTheShortestRowsThatFit) {
  std::vector<InputSpec> variants[3];
  int64_t lengths[] = {4, 2, 8};
  for (int v = 0; v < 3; ++v) {
    inputs.clear();
    add("ids", DType::I64, {1, lengths[v]}, "bucket");
    add("labels", DType::I64, {1}, nullptr, InputKind::Labels);
    variants[v] = inputs;
  }
  std::string lines;
  for (int length : {1, 8, 4, 3, 2, 5}) {
    lines += "{\"labels\": " + std::to_string(length) + ", \"ids\": [1";
    for (int i = 1; i < length; ++i)
      lines += ", 1";
    lines += "]}\n";
  }
  writeFile(folder / "x.jsonl", lines);
  std::vector<DataVariant> all = {
      {"a", &variants[0]}, {"b", &variants[1]}, {"c", &variants[2]}};
  auto data = openByVariant({{folder / "x.jsonl"}}, all, console, how);
  std::vector<std::vector<double>> want = {{4, 3}, {1, 2}, {8, 5}};
  for (int v = 0; v < 3; ++v) {
    ASSERT_EQ(data[v]->getSamples(), 2) << v;
    inputs = variants[v];
    for (int64_t i = 0; i < 2; ++i) {
      fill(*data[v], {i});
      EXPECT_EQ(get(1)[0], want[v][i]);
      Values ids(lengths[v], 0);
      std::fill_n(ids.begin(), static_cast<int>(want[v][i]), 1);
      EXPECT_EQ(get(0), ids);
    }
  }
  // One that is longer than all rows.
  writeFile(folder / "y.jsonl", lines + "{\"labels\": 9, \"ids\": "
                                        "[1,1,1,1,1,1,1,1,1]}\n");
  EXPECT_INGOT_ERROR(ExitCode::BadInput,
                     "9 tokens, and the longest rows have 8",
                     openByVariant({{folder / "y.jsonl"}}, all, console, how));
  how.recipes.clear();
  how.recipes.emplace("ids", Recipe::parse("ids", "bucket,truncate"));
  data = openByVariant({{folder / "y.jsonl"}}, all, console, how);
  EXPECT_EQ(data[2]->getSamples(), 3);
}

TEST_F(SequencesTest, NamesSayWhatInputsGet) {
  add("position_ids", DType::I64, {1, 6}, nullptr);
  add("input_ids", DType::I64, {1, 6}, nullptr);
  add("labels", DType::I64, {1, 6}, nullptr, InputKind::Labels);
  add("segment_ids", DType::I64, {1, 6}, nullptr);
  add("attention_mask", DType::Bool, {1, 1, 6, 6}, nullptr);
  addPackedRecipes(inputs, how.recipes);
  const char *want[] = {"positions-of:input_ids", "pack", "next-of:input_ids",
                        "segments-of:input_ids",
                        "block-diagonal:input_ids,causal"};
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(how.recipes.at(inputs[i].name).getText(), want[i]);
  // Labels of the files come first.
  auto own = open("{\"input_ids\": [1, 2], \"labels\": [3, 4]}\n");
  fill(*own, {0});
  EXPECT_EQ(get(2), (Values{3, 4, -100, -100, -100, -100}));
  auto none = open("{\"input_ids\": [1, 2]}\n");
  fill(*none, {0});
  EXPECT_EQ(get(2), (Values{2, -100, -100, -100, -100, -100}));
  add("other", DType::F32, {1, 3}, nullptr);
  EXPECT_INGOT_ERROR(ExitCode::Usage, "'other'",
                     addPackedRecipes(inputs, how.recipes));
}

TEST_F(SequencesTest, RecipesThatDoNotFitAreRefused) {
  for (const char *text :
       {"pack:0", "pack:x", "pack,bucket", "causal", "along:", "pack,decode",
        "pack,next", "positions-of:ids,from:x", "along:ids,causal",
        "next-of:ids,split:3", "padding:3", "split:x"})
    EXPECT_INGOT_ERROR(ExitCode::Usage, "--input x", Recipe::parse("x", text));
  add("ids", DType::I64, {1, 6}, "pack");
  add("other", DType::F32, {1, 3}, nullptr);
  expectUsage("nothing says what this input gets");
  how.recipes.insert_or_assign("other", Recipe::parse("other", "along:ids"));
  expectUsage("does not have the shape");
  inputs.back().shape = {1, 6};
  how.recipes.insert_or_assign("other",
                               Recipe::parse("other", "positions-of:ids"));
  expectUsage("makes integers");
  how.recipes.insert_or_assign("other", Recipe::parse("other", "along:x"));
  expectUsage("'x' has neither pack nor bucket");
  how.recipes.erase("ids");
  expectUsage("no input has the step pack or bucket");
}

} // namespace
