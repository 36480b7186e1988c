// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Initial values of the state, and the session's checks of its module.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/State.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/state/StateValues.h"
#include "runtime/trainer/weights/WeightExport.h"
#include "test/runtime/TestSupport.h"

#include <cmath>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

void doNothing(ingot_context *, char *, char *) {}

class StateTest : public testing::Test {
protected:
  StateTest() {
    manifest.target.kind = "cpu";
    manifest.batch = 1;
    manifest.weights = WeightsKind::None;
    manifest.stateBytes = 1 << 16;
    manifest.arenaBytes = 64;
    addState("w", StateRole::Parameter, DType::F32, {4000}, 0);
    manifest.states[0].init.kind = InitKind::Normal;
    manifest.states[0].init.mean = 3;
    manifest.states[0].init.deviation = 0.5;
    addState("seed", StateRole::Seed, DType::I64, {}, 32768);
    manifest.states[1].init.kind = InitKind::Fill;
    FunctionSpec function;
    function.name = "train_step";
    manifest.functions.push_back(function);
  }

  void addState(const char *name, StateRole role, DType dtype,
                std::vector<int64_t> shape, int64_t offset) {
    StateSpec &state = manifest.states.emplace_back();
    state.name = name;
    state.role = role;
    state.dtype = dtype;
    state.shape = std::move(shape);
    state.offset = offset;
  }

  std::vector<float> initialize(uint64_t seed) {
    Session session(module, manifest);
    initializeState(session, seed, "", console);
    const StateSpec &spec = *manifest.findState("w");
    std::vector<float> values(spec.getElements());
    std::memcpy(values.data(), session.getPlace(spec), spec.getBytes());
    int64_t stored;
    std::memcpy(&stored, session.getPlace(*manifest.findState("seed")),
                sizeof(stored));
    EXPECT_EQ(static_cast<uint64_t>(stored), seed);
    return values;
  }

  ingot_function functions[1] = {{"train_step", doNothing}};
  ingot_module_t module = {
      INGOT_ABI_VERSION, 1, functions, nullptr, 0,       nullptr, 0,
      nullptr,           0, nullptr,   0,       nullptr, nullptr};
  Manifest manifest;
  Console console;
};

// Halves hold the values bit for bit, of which the upper one is the nearest.
TEST_F(StateTest, Halves) {
  std::vector<float> whole = initialize(1);
  manifest.states[0].halves = {"w/bf16", "w/lower"};
  addState("w/bf16", StateRole::LowCopy, DType::BF16, {4000}, 0);
  addState("w/lower", StateRole::LowerHalf, DType::I16, {4000}, 8192);
  for (size_t i : {2, 3}) {
    manifest.states[i].init.kind = InitKind::Copy;
    manifest.states[i].init.of = "w";
  }
  Session session(module, manifest);
  initializeState(session, 1, "", console);
  const StateSpec &spec = *manifest.findState("w");
  std::vector<float> values(whole.size()), nearest(whole.size());
  readValues(session, spec, 0, spec.getElements(), values.data(), DType::F32);
  EXPECT_EQ(values, whole);
  readValues(session, *manifest.findState("w/bf16"), 0, spec.getElements(),
             nearest.data(), DType::F32);
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_LE(std::fabs(nearest[i] - whole[i]), std::fabs(whole[i]) / 256);

  std::string bytes;
  viewState(session, spec).pieces([&](std::string_view piece) {
    bytes += piece;
  });
  ASSERT_EQ(bytes.size(), whole.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), whole.data(), bytes.size()), 0);

  std::vector<double> others = {1.5, -0.1, 3.4028234663852886e38};
  writeValues(session, spec, 5, 3, others.data(), DType::F64);
  readValues(session, spec, 4, 5, values.data(), DType::F32);
  std::vector<float> expected = {whole[4], 1.5F, -0.1F, 3.40282347e38F,
                                 whole[8]};
  EXPECT_EQ(std::vector(values.begin(), values.begin() + 5), expected);
}

TEST_F(StateTest, NormalDraws) {
  std::vector<float> values = initialize(1);
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += (value - 3.0) * (value - 3.0);
  }
  double count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 3, 0.04);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.03);
}

TEST_F(StateTest, DrawsDependOnSeedAndNameAlone) {
  std::vector<float> one = initialize(1);
  EXPECT_NE(one, initialize(2));
  // Another parameter before it changes nothing.
  addState("a", StateRole::Parameter, DType::F32, {8}, 40960);
  manifest.states.back().init.kind = InitKind::Normal;
  std::swap(manifest.states.front(), manifest.states.back());
  EXPECT_EQ(one, initialize(1));
}

TEST_F(StateTest, MissingSidecar) {
  manifest.weights = WeightsKind::Sidecar;
  manifest.states[0].init.kind = InitKind::Weights;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "weights are missing", initialize(1));
}

TEST_F(StateTest, SidecarBesideTheExecutable) {
  manifest.weights = WeightsKind::Sidecar;
  manifest.states[0].init.kind = InitKind::Weights;
  std::vector<float> values(4000, 7.0f);
  SafeTensors content;
  content.tensors["w"] = {DType::F32,
                          {4000},
                          {reinterpret_cast<const char *>(values.data()),
                           values.size() * sizeof(float)}};
  std::string path = getExecutablePath() + ".safetensors";
  AtomicFile file(path);
  writeSafeTensors(file, content);
  file.commit();
  std::vector<float> loaded = initialize(1);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded, values);
}

TEST_F(StateTest, RefusesAModuleWithoutItsFunctions) {
  functions[0].name = "other";
  EXPECT_INGOT_ERROR(ExitCode::Failed, "no function 'train_step'",
                     Session(module, manifest));
}

TEST_F(StateTest, RefusesAnotherTarget) {
  manifest.target.kind = "cuda";
  EXPECT_INGOT_ERROR(ExitCode::Failed, "compiled for 'cuda'",
                     Session(module, manifest));
}

TEST_F(StateTest, RefusesToExportWithoutAModel) {
  Session session(module, manifest);
  EXPECT_INGOT_ERROR(ExitCode::Failed, "cannot export",
                     exportModel(session, "unused.onnx", {}));
}

// A file of a narrower type than the weight's cannot hold all that is finite.
TEST_F(StateTest, FindsWhatIsNotFinite) {
  addState("half", StateRole::Parameter, DType::F16, {3}, 40960);
  addState("floor", StateRole::Frozen, DType::F32, {2}, 41024);
  manifest.states[2].init.kind = InitKind::Fill;
  manifest.states[3].init.kind = InitKind::Fill;
  manifest.states[3].init.value = -INFINITY;
  Session session(module, manifest);
  initializeState(session, 1, "", console);
  const StateSpec &w = manifest.states[0];
  EXPECT_TRUE(findNotFinite(session, listModel(manifest)).empty());
  float large = 1e5, none = NAN;
  writeValues(session, w, 4000 - 1, 1, &large, DType::F32);
  EXPECT_TRUE(findNotFinite(session, listModel(manifest)).empty());
  EXPECT_EQ(findNotFinite(session, {{&w, DType::F16}}),
            std::vector<std::string>{"w (1 of 4000 values)"});
  EXPECT_EQ(findNotFinite(session, {{&w, DType::BF16}}),
            std::vector<std::string>{});
  writeValues(session, manifest.states[2], 1, 1, &none, DType::F32);
  writeValues(session, w, 0, 1, &none, DType::F32);
  EXPECT_EQ(findNotFinite(session, listModel(manifest)),
            (std::vector<std::string>{"w (1 of 4000 values)",
                                      "half (1 of 3 values)"}));
  // An infinity of the model may not become another value, nor NaN.
  float other = INFINITY;
  writeValues(session, manifest.states[3], 1, 1, &other, DType::F32);
  EXPECT_EQ(findNotFinite(session, listModel(manifest)).size(), 3u);
}

} // namespace
