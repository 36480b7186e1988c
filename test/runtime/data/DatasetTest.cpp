// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files checked against a model's inputs, and batches made from them.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/dataset/Dataset.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/VariantData.h"
#include "test/runtime/TestSupport.h"

#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

InputSpec makeInput(const char *name, InputKind kind, DType dtype,
                    std::vector<int64_t> shape, int64_t offset) {
  InputSpec input;
  input.name = name;
  input.kind = kind;
  input.dtype = dtype;
  input.shape = std::move(shape);
  input.offset = offset;
  return input;
}

std::vector<DataFile> asFiles(const std::vector<std::string> &paths) {
  std::vector<DataFile> files;
  for (const std::string &path : paths)
    files.push_back({path});
  return files;
}

class DatasetTest : public testing::Test {
protected:
  DatasetTest() {
    inputs = {makeInput("x", InputKind::Data, DType::F32, {2, 2}, 0),
              makeInput("labels", InputKind::Labels, DType::I64, {2}, 64),
              makeInput("lr", InputKind::Hyper, DType::F64, {}, 128)};
    inputs[1].classes = 10;
    inputs[1].ignored = -100;
  }

  static std::string makeX(int64_t samples) {
    std::vector<float> values(samples * 2);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    return makeNpy(DType::F32, {samples, 2}, values);
  }
  static std::string makeLabels(const std::vector<int64_t> &labels) {
    return makeNpy(DType::I64, {static_cast<int64_t>(labels.size())}, labels);
  }
  std::string write(const std::string &name, const std::string &x,
                    const std::string &labels) {
    writeNpz(folder / name, {{"x", x}, {"labels", labels}});
    return folder / name;
  }
  void expectRefused(const std::string &path, const std::string &part) {
    EXPECT_INGOT_ERROR(ExitCode::BadInput, part,
                       Dataset({path}, inputs, console));
  }

  TemporaryFolder folder;
  Console console;
  std::vector<InputSpec> inputs;
};

TEST_F(DatasetTest, FillsBatchesAcrossFiles) {
  Dataset data({write("a.npz", makeX(3), makeLabels({1, 2, 3})),
                write("b.npz", makeX(2), makeLabels({8, 9}))},
               inputs, console);
  EXPECT_EQ(data.getSamples(), 5);
  alignas(64) char arena[192];
  int64_t samples[] = {4, 1};
  data.fill(inputs, samples, 2, arena);
  float x[4];
  int64_t labels[2];
  std::memcpy(x, arena, sizeof(x));
  std::memcpy(labels, arena + 64, sizeof(labels));
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{2, 3, 2, 3}));
  EXPECT_EQ(labels[0], 9);
  EXPECT_EQ(labels[1], 2);
}

TEST_F(DatasetTest, PadsWithTheLastSample) {
  Dataset data({write("a.npz", makeX(3), makeLabels({1, 2, 3}))}, inputs,
               console);
  alignas(64) char arena[192];
  int64_t sample = 2;
  data.fill(inputs, &sample, 1, arena);
  float x[4];
  std::memcpy(x, arena, sizeof(x));
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{4, 5, 4, 5}));
}

TEST_F(DatasetTest, ConvertsTypes) {
  Dataset data({write("a.npz", makeNpy<double>(DType::F64, {1, 2}, {1.5, 2.5}),
                      makeNpy<uint8_t>(DType::U8, {1}, {7}))},
               inputs, console);
  alignas(64) char arena[192];
  int64_t sample = 0;
  data.fill(inputs, &sample, 1, arena);
  float x;
  int64_t label;
  std::memcpy(&x, arena, sizeof(x));
  std::memcpy(&label, arena + 64, sizeof(label));
  EXPECT_EQ(x, 1.5f);
  EXPECT_EQ(label, 7);
}

TEST_F(DatasetTest, RefusesTypesThatLose) {
  expectRefused(write("a.npz", makeX(1), makeNpy<float>(DType::F32, {1}, {7})),
                "labels: the array holds f32, the model's input i64");
}

TEST_F(DatasetTest, RefusesValuesThatDoNotFit) {
  inputs[1].dtype = DType::I32;
  expectRefused(write("a.npz", makeX(2), makeLabels({1, int64_t(1) << 40})),
                "sample 1 has a value that does not fit");
}

TEST_F(DatasetTest, RefusesLabelsOutOfRange) {
  expectRefused(write("a.npz", makeX(3), makeLabels({1, -100, 10})),
                "a.npz: labels: sample 2 has label 10, outside 0 to 9");
  expectRefused(write("b.npz", makeX(1), makeLabels({-1})),
                "sample 0 has label -1");
}

TEST_F(DatasetTest, RefusesWrongShapes) {
  expectRefused(write("a.npz", makeNpy<float>(DType::F32, {1, 3}, {1, 2, 3}),
                      makeLabels({1})),
                "x: the array has shape [N, 3], the model's input [N, 2]");
  expectRefused(
      write("b.npz", makeNpy<float>(DType::F32, {}, {1}), makeLabels({1})),
      "x: the array has shape []");
  expectRefused(write("c.npz", makeX(2), makeLabels({1})), "1 samples");
  expectRefused(write("d.npz", makeX(0), makeLabels({})), "no samples");
}

TEST_F(DatasetTest, RefusesMissingArrays) {
  writeNpz(folder / "a.npz", {{"x", makeX(1)}});
  expectRefused(folder / "a.npz", "a.npz: labels: no such array");
  writeFile(folder / "b.npy", makeX(1));
  expectRefused(folder / "b.npy",
                "no file next to it for the model's input 'x'");
  EXPECT_FALSE(haveArrays(asFiles({folder / "a.npz"}), inputs));
}

TEST_F(DatasetTest, TakesAnNpyForEachInput) {
  writeFile(folder / "x.npy", makeX(3));
  writeFile(folder / "labels.npy", makeLabels({4, 5, 6}));
  std::vector<std::string> paths = {folder / "labels.npy", folder / "x.npy"};
  EXPECT_TRUE(haveArrays(asFiles(paths), inputs));
  EXPECT_FALSE(haveArrays(asFiles({folder / "x.npy"}), inputs));
  paths.push_back(write("b.npz", makeX(2), makeLabels({8, 9})));
  EXPECT_EQ(Dataset(paths, inputs, console).getSamples(), 5);
  expectRefused(folder / "x.npy", "the model's input 'labels'");
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "x.npy: a file of that name came before",
      Dataset({folder / "x.npy", folder / "x.npy"}, inputs, console));
  writeFile(folder / "labels.npy", makeLabels({4, 5}));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "labels.npy: 2 samples",
                     Dataset({paths[0], paths[1]}, inputs, console));
}

TEST_F(DatasetTest, SortsFilesByVariant) {
  std::vector<InputSpec> longer = inputs;
  longer[0].shape[1] = 3;
  std::vector<DataVariant> variants = {{"seq=2", &inputs}, {"seq=3", &longer}};
  std::vector<std::string> paths = {
      write("a.npz", makeNpy<float>(DType::F32, {1, 3}, {1, 2, 3}),
            makeLabels({1})),
      write("b.npz", makeX(2), makeLabels({1, 2})),
      write("c.npz", makeX(2), makeLabels({1, 2}))};
  auto sorted = openByVariant(asFiles(paths), variants, console);
  EXPECT_EQ(sorted[0]->getSamples(), 4);
  EXPECT_EQ(sorted[1]->getSamples(), 1);
  EXPECT_EQ(openByVariant(asFiles({paths[0]}), variants, console)[0], nullptr);
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "fit no variant",
      openByVariant(
          asFiles({write("d.npz", makeNpy<float>(DType::F32, {1, 1}, {1}),
                         makeLabels({1}))}),
          variants, console));
}

TEST_F(DatasetTest, TakesALoneNpyForOneInput) {
  inputs.erase(inputs.begin() + 1);
  writeFile(folder / "b.npy", makeX(3));
  EXPECT_EQ(Dataset({folder / "b.npy"}, inputs, console).getSamples(), 3);
  EXPECT_TRUE(haveArrays(asFiles({folder / "b.npy"}), inputs));
}

class TokensTest : public DatasetTest {
protected:
  TokensTest() {
    inputs = {makeInput("ids", InputKind::Data, DType::I64, {2, 3}, 0),
              makeInput("labels", InputKind::Labels, DType::I64, {2, 3}, 64)};
    inputs[1].classes = 100;
    inputs[1].ignored = -100;
  }

  static std::string makeTokens(const std::vector<uint16_t> &tokens,
                                int32_t version = 1, int64_t count = -1) {
    std::vector<int32_t> header(256);
    header[0] = 20240520;
    header[1] = version;
    header[2] = static_cast<int32_t>(count < 0 ? tokens.size() : count);
    std::string bytes(reinterpret_cast<char *>(header.data()),
                      header.size() * sizeof(int32_t));
    return bytes.append(reinterpret_cast<const char *>(tokens.data()),
                        tokens.size() * sizeof(uint16_t));
  }
  std::string writeTokens(const std::string &bytes) {
    writeFile(folder / "t.bin", bytes);
    return folder / "t.bin";
  }
};

TEST_F(TokensTest, WindowsAreFollowedByTheirLabels) {
  // Two windows of three; a fourth label would be missing for a third.
  Dataset data({writeTokens(makeTokens({1, 2, 3, 4, 5, 6, 7, 8}))}, inputs,
               console);
  EXPECT_EQ(data.getSamples(), 2);
  alignas(64) char arena[128];
  int64_t samples[] = {1, 0};
  data.fill(inputs, samples, 2, arena);
  int64_t ids[6], labels[6];
  std::memcpy(ids, arena, sizeof(ids));
  std::memcpy(labels, arena + 64, sizeof(labels));
  EXPECT_EQ(std::vector<int64_t>(ids, ids + 6),
            (std::vector<int64_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(std::vector<int64_t>(labels, labels + 6),
            (std::vector<int64_t>{5, 6, 7, 2, 3, 4}));
  EXPECT_TRUE(haveArrays(asFiles({folder / "t.bin"}), inputs));
}

TEST_F(TokensTest, FollowFilesOfArrays) {
  writeNpz(folder / "a.npz",
           {{"ids", makeNpy<int64_t>(DType::I64, {1, 3}, {7, 8, 9})},
            {"labels", makeNpy<int64_t>(DType::I64, {1, 3}, {8, 9, -100})}});
  Dataset data({folder / "a.npz", writeTokens(makeTokens({1, 2, 3, 4}))},
               inputs, console);
  EXPECT_EQ(data.getSamples(), 2);
  alignas(64) char arena[128];
  int64_t sample = 1;
  data.fill(inputs, &sample, 1, arena);
  int64_t id;
  std::memcpy(&id, arena, sizeof(id));
  EXPECT_EQ(id, 1);
}

TEST_F(TokensTest, RefusesTokensThatTheModelDoesNotKnow) {
  expectRefused(writeTokens(makeTokens({1, 2, 100, 4})),
                "t.bin: token 2 is 100, outside 0 to 99");
  inputs[1].classes.reset();
  inputs[0].dtype = DType::I8;
  expectRefused(writeTokens(makeTokens({1, 128, 3, 4})),
                "t.bin: token 1 is 128, outside 0 to 127");
}

TEST_F(TokensTest, RefusesDamagedFiles) {
  std::string whole = makeTokens({1, 2, 3, 4});
  for (size_t size = 0; size < whole.size(); size += 13)
    expectRefused(writeTokens(whole.substr(0, size)), "t.bin: ");
  expectRefused(writeTokens(whole + "x"), "t.bin: the header says 4 tokens");
  expectRefused(writeTokens(makeTokens({1, 2, 3, 4}, 2)),
                "t.bin: version 2 is not supported");
  expectRefused(writeTokens(makeTokens({1, 2, 3, 4}, 1, 1 << 30)),
                "the header says 1073741824 tokens, the file has 8 bytes");
  expectRefused(writeTokens(makeTokens({1, 2, 3})),
                "3 tokens, a sample needs 4");
  expectRefused(writeTokens(makeX(1)), "not a file of tokens");
}

TEST_F(TokensTest, RefusesOtherModels) {
  std::string path = writeTokens(makeTokens({1, 2, 3, 4}));
  inputs[1].shape = {2, 2};
  expectRefused(path, "one integer input [N, T]");
  inputs[1].shape = {2, 3};
  inputs[1].kind = InputKind::Data;
  EXPECT_EQ(Dataset({path}, inputs, console).getSamples(), 1);
  inputs[1].name = "mask";
  expectRefused(path, "one integer input [N, T]");
  inputs.pop_back();
  EXPECT_EQ(Dataset({path}, inputs, console).getSamples(), 1);
  inputs[0].dtype = DType::F32;
  expectRefused(path, "one integer input [N, T]");
}

} // namespace
