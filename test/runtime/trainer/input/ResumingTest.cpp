// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Batches of sequences: the same bytes for any number of workers and ranks, and
// after a run resumes anywhere, on any number of ranks.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Random.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/VariantData.h"
#include "runtime/trainer/input/Feed.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kSteps = 60;
constexpr uint64_t kSeed = 9;

/// How rows are laid out, and in which sizes.
struct Layout {
  const char *name, *step;
  std::vector<int64_t> lengths;
  /// The tokens of a step; none for batches of eight samples.
  std::optional<int64_t> budget = std::nullopt;
  bool isMixture = false;
};

void PrintTo(const Layout &layout, std::ostream *out) { *out << layout.name; }

class ResumingTest : public testing::TestWithParam<Layout> {
protected:
  ResumingTest() {
    Philox random(7, 1);
    for (int source = 0; source < 2; ++source) {
      std::string lines;
      for (int i = 0; i < 300; ++i) {
        auto length = std::clamp<int64_t>(
            std::lround(std::exp(2.2 + 0.8 * random.normal())), 1, 32);
        lines += "{\"ids\": [";
        for (int64_t k = 0; k < length; ++k)
          lines += (k ? ", " : "") + std::to_string(random.below(200));
        lines += "]}\n";
      }
      std::string path = folder / (std::to_string(source) + ".jsonl");
      writeFile(path, lines);
      DataFile file{path};
      file.source = static_cast<size_t>(source);
      files.push_back(file);
    }
    for (auto [name, recipe] :
         {std::pair("ids", GetParam().step), std::pair("labels", "next-of:ids"),
          std::pair("positions", "positions-of:ids"),
          std::pair("mask", "block-diagonal:ids,causal")})
      options.recipes.emplace(name, Recipe::parse(name, recipe));
    how.recipes = options.recipes;
    how.packSeed = kSeed;
  }

  static std::vector<InputSpec> makeInputs(int64_t batch, int64_t length) {
    std::vector<InputSpec> inputs;
    for (const char *name : {"ids", "labels", "positions", "mask"}) {
      InputSpec &input = inputs.emplace_back();
      input.name = name;
      input.dtype = input.name == "mask" ? DType::F32 : DType::I64;
      if (input.name == "labels")
        input.kind = InputKind::Labels;
      input.shape = {batch, length};
      if (input.name == "mask")
        input.shape.push_back(length);
      if (inputs.size() > 1) {
        const InputSpec &before = inputs[inputs.size() - 2];
        input.offset = before.offset + before.getAlignedBytes();
      }
    }
    return inputs;
  }

  /// A trainer on some ranks.
  struct Run {
    std::vector<std::vector<InputSpec>> all;
    std::vector<const std::vector<InputSpec> *> inputs;
    Datasets data;
    std::optional<Sampler> sampler;
  };

  Run open(int64_t ranks) {
    const Layout &layout = GetParam();
    Run run;
    std::vector<int64_t> batches = {8 / ranks};
    if (layout.budget)
      batches = {16, 1, 4, 8, 2};
    for (int64_t batch : batches)
      for (int64_t length : layout.lengths)
        run.all.push_back(makeInputs(batch, length));
    std::vector<DataVariant> variants, chosen;
    for (const auto &inputs : run.all)
      variants.push_back({"", &inputs});
    for (size_t v :
         chooseVariants(variants, {layout.budget, ranks}, how.recipes)) {
      chosen.push_back(variants[v]);
      run.inputs.push_back(variants[v].inputs);
    }
    run.data = openByVariant(files, chosen, console, how);
    if (layout.isMixture) {
      run.sampler.emplace(
          Mixture(run.data[0]->countBySource(2), {0.7, 0.3}, true, kSeed), 8,
          true, kSeed);
      return run;
    }
    std::vector<SampleGroup> groups;
    for (size_t i = 0; i < chosen.size(); ++i)
      groups.push_back({run.data[i] ? run.data[i]->getSamples() : 0,
                        chosen[i].getBatch() * ranks});
    run.sampler.emplace(groups, true, kSeed);
    return run;
  }

  /// The bytes of each step from `first` on, in the order of its samples.
  std::vector<std::string> collect(const Run &run, int64_t first, int64_t ranks,
                                   std::optional<int64_t> workers) {
    options.workers = workers;
    std::vector<std::string> steps(static_cast<size_t>(kSteps - first));
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Feed feed(planTraining({first, kSteps, 1, rank, ranks}, *run.sampler,
                             run.data, run.inputs),
                run.inputs, options, kSeed, true);
      Sampler sampler = *run.sampler;
      for (int64_t step = first; step < kSteps; ++step) {
        const std::vector<InputSpec> &inputs =
            *run.inputs[sampler.getBatch(step).group];
        const InputSpec &last = inputs.back();
        std::string arena(
            static_cast<size_t>(last.offset + last.getAlignedBytes()), '\0');
        feed.fill(inputs, arena.data());
        // All of the first input, of all ranks, then all of the second.
        std::string &all = steps[static_cast<size_t>(step - first)];
        size_t place = 0;
        for (const InputSpec &input : inputs) {
          auto bytes = static_cast<size_t>(input.getBytes());
          place += bytes * static_cast<size_t>(rank);
          all.insert(std::min(place, all.size()), arena,
                     static_cast<size_t>(input.offset), bytes);
          place += bytes;
        }
      }
    }
    return steps;
  }

  TemporaryFolder folder;
  Console console;
  std::vector<DataFile> files;
  DatasetOptions how;
  DataOptions options;
};

TEST_P(ResumingTest, RanksAndWorkersMakeTheSameBytes) {
  Run one = open(1);
  auto want = collect(one, 0, 1, 0);
  if (GetParam().lengths.size() > 1) {
    std::vector<size_t> sizes;
    for (const std::string &step : want)
      sizes.push_back(step.size());
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    EXPECT_EQ(sizes.size(), GetParam().lengths.size());
  }
  for (int64_t ranks : {1, 2, 4}) {
    Run run = open(ranks);
    for (int64_t workers : {1, 2, 4})
      EXPECT_EQ(collect(run, 0, ranks, workers), want)
          << ranks << " ranks, " << workers << " workers";
  }
}

TEST_P(ResumingTest, ResumedRunsMakeTheSameBytes) {
  Run one = open(1);
  auto want = collect(one, 0, 1, 1);
  Philox random(11, 0);
  for (int i = 0; i < 20; ++i) {
    auto first = static_cast<int64_t>(random.below(kSteps));
    int64_t before = int64_t(1) << random.below(3);
    int64_t ranks = int64_t(1) << random.below(3);
    Sampler::Position position = open(before).sampler->getPosition(first);
    Run run = open(ranks);
    run.sampler->startAt(first, position);
    EXPECT_EQ(collect(run, first, ranks, 1 << i % 3),
              std::vector(want.begin() + first, want.end()))
        << "from " << first << " of " << before << " ranks on " << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ResumingTest,
    testing::Values(Layout{"packed", "pack", {32}},
                    Layout{"rows", "bucket", {32}},
                    Layout{"buckets", "bucket", {8, 16, 32}},
                    Layout{"budgets", "bucket", {8, 16, 32}, 128},
                    Layout{"mixture", "bucket", {32}, std::nullopt, true},
                    Layout{
                        "packed mixture", "pack", {32}, std::nullopt, true}));

} // namespace
