//===----------------------------------------------------------------------===//
//
// Files checked against a model's inputs, and batches made from them.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Dataset.h"
#include "runtime/core/Console.h"
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

class DatasetTest : public testing::Test {
protected:
  DatasetTest() {
    inputs = {makeInput("x", InputKind::Data, DType::F32, {2, 2}, 0),
              makeInput("labels", InputKind::Labels, DType::I64, {2}, 64),
              makeInput("lr", InputKind::Hyper, DType::F64, {}, 128)};
    inputs[1].classes = 10;
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
  expectRefused(folder / "b.npy", "one .npy array, but the model needs 2");
  EXPECT_FALSE(hasArrays(folder / "a.npz", inputs));
}

TEST_F(DatasetTest, TakesALoneNpyForOneInput) {
  inputs.erase(inputs.begin() + 1);
  writeFile(folder / "b.npy", makeX(3));
  EXPECT_EQ(Dataset({folder / "b.npy"}, inputs, console).getSamples(), 3);
  EXPECT_TRUE(hasArrays(folder / "b.npy", inputs));
}

} // namespace
