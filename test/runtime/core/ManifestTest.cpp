// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Manifests, good and damaged.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Manifest.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "test/runtime/TestSupport.h"

using namespace ingot::runtime;
using namespace ingot::runtime::test;
using nlohmann::json;

namespace {

json makeManifest() {
  json manifest = json::parse(R"({
    "variants": [""], "model": "m.onnx", "producer": "p", "precision": "fp32",
    "target": {"kind": "cpu", "features": ["avx2"]},
    "loss": "cross-entropy", "loss_terms": [{"kind": "cross-entropy",
      "labels": "labels", "class_axis": 1}], "optimizer": "sgd", "batch": 2,
    "weights": "embed",
    "state_bytes": 128, "arena_bytes": 256,
    "states": [{"name": "w", "role": "parameter", "dtype": "f32",
                "shape": [4], "offset": 64, "init": {"kind": "weights"}}],
    "hyperparameters": [{"name": "lr", "default": 0.1}],
    "functions": {"train_step": {"arena_bytes": 256,
      "inputs": [{"name": "x", "kind": "data", "dtype": "f32",
                  "shape": [2, 3], "offset": 0},
                 {"name": "labels", "kind": "labels", "dtype": "i64",
                  "shape": [2], "offset": 64, "classes": 10},
                 {"name": "lr", "kind": "hyper", "dtype": "f64", "shape": [],
                  "offset": 128}],
      "outputs": [{"name": "loss", "dtype": "f32", "shape": [],
                   "offset": 192}],
      "memory": {"peak_bytes": 5},
      "kernels": [{"name": "k", "kind": "loop", "onnx_nodes": ["n"],
                   "bytes": 1, "flops": 2}],
      "live": [], "intervals": [], "interval_kinds": []}},
    "export": [{"literal": 3}, {"state": "w", "dtype": "f32"}]})");
  manifest["abi"] = INGOT_ABI_VERSION;
  return manifest;
}

void expectRefused(const json &manifest, const std::string &part) {
  EXPECT_INGOT_ERROR(ExitCode::Failed, part, parseManifest(manifest.dump()));
}

TEST(Manifest, Reads) {
  Manifest m = parseManifest(makeManifest().dump());
  EXPECT_EQ(m.batch, 2);
  ASSERT_EQ(m.functions.size(), 1u);
  EXPECT_EQ(m.functions[0].inputs[1].classes, 10);
  EXPECT_EQ(m.findState("w")->getBytes(), 16);
  EXPECT_EQ(m.functions[0].kernels[0].onnxNodes[0], "n");
  EXPECT_EQ(m.exportPieces[1].state, "w");
  EXPECT_EQ(m.findFunction("predict"), nullptr);
}

TEST(Manifest, LeavesOutDefaults) {
  json m = makeManifest();
  m["states"][0].erase("offset");
  m["functions"]["train_step"]["inputs"][0].erase("offset");
  m["export"][1].erase("dtype");
  Manifest manifest = parseManifest(m.dump());
  EXPECT_EQ(manifest.states[0].offset, 0);
  EXPECT_EQ(manifest.functions[0].inputs[0].offset, 0);
  EXPECT_EQ(manifest.exportPieces[1].dtype, DType::F32);
}

TEST(Manifest, KnowsTheLossOfLabels) {
  json m = makeManifest();
  Manifest manifest = parseManifest(m.dump());
  const InputSpec &labels = manifest.functions[0].inputs[1];
  EXPECT_EQ(labels.loss, "cross-entropy");
  EXPECT_EQ(labels.classAxis, 1);
  EXPECT_FALSE(labels.isProbability);
  EXPECT_TRUE(manifest.evaluatesParts());
  EXPECT_EQ(manifest.findTerm("x"), nullptr);
  // What people read says nothing to programs, such as an output's name.
  m["loss"] = "mse@output:a+b";
  m["loss_terms"] = {{{"kind", "kl-div"},
                      {"factor", 0.5},
                      {"output", "a+b"},
                      {"labels", "labels"},
                      {"probabilities", true}}};
  manifest = parseManifest(m.dump());
  EXPECT_TRUE(manifest.functions[0].inputs[1].isProbability);
  EXPECT_FALSE(manifest.functions[0].inputs[1].classAxis);
  EXPECT_EQ(manifest.findTerm("labels")->factor, 0.5);
  EXPECT_TRUE(manifest.evaluatesParts());
  m["loss_terms"].push_back(
      {{"kind", "output"}, {"output", "aux"}, {"whole_batch", true}});
  EXPECT_FALSE(parseManifest(m.dump()).evaluatesParts());
}

TEST(Manifest, NamesCasesAsTheCompilerDoes) {
  EXPECT_EQ(getName(StateRole::LowCopy), "low_copy");
  EXPECT_EQ(parseName<StateRole>("lower_half"), StateRole::LowerHalf);
  EXPECT_EQ(parseName<StateRole>("higher_half"), std::nullopt);
}

TEST(Manifest, RefusesAnotherAbi) {
  json m = makeManifest();
  m["abi"] = 999;
  expectRefused(m, "compiled for version 999");
}

TEST(Manifest, RefusesWhatLeavesItsBlock) {
  json m = makeManifest();
  m["states"][0]["offset"] = 120;
  expectRefused(m, "outside its block");
  m = makeManifest();
  m["functions"]["train_step"]["inputs"][0]["offset"] = 252;
  expectRefused(m, "outside its block");
  m = makeManifest();
  m["states"][0]["shape"] = {int64_t(1) << 30, int64_t(1) << 30};
  expectRefused(m, "overflows");
  m = makeManifest();
  m["functions"]["train_step"]["arena_bytes"] = 300;
  expectRefused(m, "more than the whole arena");
}

TEST(Manifest, RefusesStagingThatInputsDoNotFit) {
  json m = makeManifest();
  int64_t block = parseManifest(m.dump()).functions[0].getInputBytes();
  EXPECT_GT(block, 0);
  EXPECT_EQ(block % INGOT_ALIGNMENT, 0);
  m["staging_bytes"] = INGOT_STAGING_BLOCKS * block;
  EXPECT_EQ(parseManifest(m.dump()).stagingBytes, INGOT_STAGING_BLOCKS * block);
  m["staging_bytes"] = INGOT_STAGING_BLOCKS * block - 1;
  expectRefused(m, "too small for the inputs of train_step");
  m.erase("staging_bytes");
  // Only a device with memory of its own needs the blocks.
  Manifest without = parseManifest(m.dump());
  EXPECT_EQ(without.stagingBytes, 0);
  EXPECT_INGOT_ERROR(ExitCode::Failed, "too small for the inputs of train_step",
                     without.checkStaging());
}

TEST(Manifest, IsForOneTarget) {
  json m = makeManifest();
  Manifest manifest = parseManifest(m.dump());
  EXPECT_EQ(manifest.target.tuning, TuningPlace::Host);
  manifest.checkTarget("cpu");
  EXPECT_INGOT_ERROR(ExitCode::Failed, "compiled for 'cpu'",
                     manifest.checkTarget("cuda"));
  m["target"]["tuning"] = "device";
  EXPECT_EQ(parseManifest(m.dump()).target.tuning, TuningPlace::Device);
}

TEST(Manifest, RefusesWhatDoesNotFitTogether) {
  json m = makeManifest();
  m["functions"]["train_step"]["inputs"][0]["shape"] = {3, 3};
  expectRefused(m, "is not the batch");
  m = makeManifest();
  m["hyperparameters"] = json::array();
  expectRefused(m, "no hyperparameter 'lr'");
  m = makeManifest();
  m["export"][1]["state"] = "v";
  expectRefused(m, "no state 'v'");
  m = makeManifest();
  m["states"][0]["offset"] = 65;
  expectRefused(m, "not aligned");
  m = makeManifest();
  m["functions"].erase("train_step");
  expectRefused(m, "functions.train_step: missing");
}

TEST(Manifest, NamesTheField) {
  json m = makeManifest();
  m["states"][0].erase("shape");
  expectRefused(m, "states[0].shape: missing");
  m = makeManifest();
  m["states"][0]["init"] = {{"kind", "fill"}};
  expectRefused(m, "states[0].init.value: missing");
  m = makeManifest();
  m["states"][0]["shard"] = {1, 2, 3};
  expectRefused(m, "states[0].shard: not a list of 2 numbers");
  m = makeManifest();
  m["functions"]["train_step"]["inputs"][1].erase("dtype");
  expectRefused(m, "functions.train_step.inputs[1].dtype: missing");
  m = makeManifest();
  m["states"][0]["role"] = "nothing";
  expectRefused(m, "states[0].role: unknown value 'nothing'");
  m = makeManifest();
  m["batch"] = -1;
  expectRefused(m, "batch: not a size");
}

TEST(Manifest, NothingCrashesIt) {
  std::string text = makeManifest().dump();
  for (size_t i = 0; i < text.size(); ++i)
    getError(ExitCode::Failed, [&] { parseManifest(text.substr(0, i)); });
  // Every value replaced by one of another kind.
  json flat = makeManifest().flatten();
  for (const auto &[path, value] : flat.items())
    for (const json &other :
         {json(), json(-1), json("x"), json(1e300), json::array({json()}),
          json::object(), json(uint64_t(1) << 63)}) {
      json m = makeManifest();
      m[json::json_pointer(path)] = other;
      getError(ExitCode::Failed, [&] { parseManifest(m.dump()); });
    }
}

} // namespace
