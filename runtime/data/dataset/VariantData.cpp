// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/dataset/VariantData.h"
#include "runtime/data/sequences/SequenceInputs.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

using namespace ingot::runtime;

static std::string describe(const DataVariant &variant) {
  std::string text = variant.name + " (";
  for (const InputSpec &input : *variant.inputs) {
    if (!input.isBatched())
      continue;
    text += (text.ends_with("(") ? "" : ", ") + input.name + " [N";
    for (size_t i = 1; i < input.shape.size(); ++i)
      text += ", " + std::to_string(input.shape[i]);
    text += "]";
  }
  return text + ")";
}

static const InputSpec *findBatched(const std::vector<InputSpec> &inputs) {
  auto found = std::find_if(inputs.begin(), inputs.end(),
                            [](const InputSpec &i) { return i.isBatched(); });
  return found == inputs.end() ? nullptr : &*found;
}

int64_t DataVariant::getBatch() const {
  const InputSpec *input = findBatched(*inputs);
  return input ? input->shape[0] : 1;
}

/// Returns the tokens of a row.
static int64_t getRowLength(const DataVariant &variant,
                            const Recipes &recipes) {
  if (const InputSpec *leader = findLeader(*variant.inputs, recipes))
    return leader->shape[1];
  for (const InputSpec &input : *variant.inputs)
    if (input.kind == InputKind::Data && input.shape.size() == 2 &&
        !isFloat(input.dtype) && input.dtype != DType::Bool)
      return input.shape[1];
  throw usageError("--batch-tokens", "the model has no input of tokens [N, T]",
                   "leave it out: steps take --batch samples");
}

/// Whether samples of one variant are samples of the other.
static bool haveSameSamples(const DataVariant &a, const DataVariant &b) {
  return std::equal(
      a.inputs->begin(), a.inputs->end(), b.inputs->begin(), b.inputs->end(),
      [](const InputSpec &x, const InputSpec &y) {
        return !x.isBatched() || std::equal(x.shape.begin() + 1, x.shape.end(),
                                            y.shape.begin() + 1, y.shape.end());
      });
}

std::vector<size_t>
ingot::runtime::chooseVariants(const std::vector<DataVariant> &variants,
                               const TokenBudget &budget,
                               const Recipes &recipes) {
  std::vector<size_t> chosen;
  // The first of those with the same samples stands for all of them.
  std::vector<size_t> firsts;
  for (size_t v = 0; v < variants.size(); ++v)
    if (std::none_of(firsts.begin(), firsts.end(), [&](size_t first) {
          return haveSameSamples(variants[first], variants[v]);
        }))
      firsts.push_back(v);
  if (!budget.tokens)
    return firsts;
  for (size_t first : firsts) {
    std::optional<size_t> best;
    int64_t fewest = INT64_MAX;
    int64_t length = getRowLength(variants[first], recipes);
    for (size_t v = first; v < variants.size(); ++v) {
      if (!haveSameSamples(variants[first], variants[v]))
        continue;
      int64_t tokens = 0, batch = variants[v].getBatch();
      if (__builtin_mul_overflow(length, batch, &tokens) ||
          __builtin_mul_overflow(tokens, budget.parts, &tokens))
        continue;
      fewest = std::min(fewest, tokens);
      if (tokens <= *budget.tokens &&
          (!best || batch > variants[*best].getBatch()))
        best = v;
    }
    if (!best)
      throw usageError("--batch-tokens",
                       "a step of rows of " + std::to_string(length) +
                           " tokens has " + std::to_string(fewest) +
                           " at least",
                       "give as many, or compile with smaller batches, as in "
                       "--dim batch=16,8,4");
    chosen.push_back(*best);
  }
  return chosen;
}

/// Opens sequences: packed, the variant with the longest rows has them all;
/// else each has those that fit in its rows and in no shorter ones.
static std::vector<std::unique_ptr<Dataset>>
openSequences(const std::vector<DataFile> &files,
              const std::vector<DataVariant> &variants, Console &console,
              const DatasetOptions &options) {
  // Variants by the length of their rows; of those with the same, the first.
  std::map<int64_t, size_t> byLength;
  bool isPacked = false;
  for (size_t v = 0; v < variants.size(); ++v) {
    const InputSpec *leader = findLeader(*variants[v].inputs, options.recipes);
    byLength.try_emplace(leader->shape[1], v);
    isPacked = options.recipes.at(leader->name).getSequence()->isPacked;
  }
  if (isPacked)
    byLength.erase(byLength.begin(), std::prev(byLength.end()));
  std::vector<std::unique_ptr<Dataset>> datasets(variants.size());
  DatasetOptions own = options;
  own.lengths = std::make_shared<std::vector<int64_t>>();
  bool isEmpty = true;
  for (auto [length, v] : byLength) {
    own.isLast = length == byLength.rbegin()->first;
    auto opened =
        std::make_unique<Dataset>(files, *variants[v].inputs, console, own);
    own.longerThan = length;
    if (opened->getSamples() == 0)
      continue;
    isEmpty = false;
    datasets[v] = std::move(opened);
  }
  if (isEmpty)
    throw badInput(files.front().path, "no samples are left",
                   "give files with samples");
  return datasets;
}

std::vector<std::unique_ptr<Dataset>>
ingot::runtime::openByVariant(const std::vector<DataFile> &files,
                              const std::vector<DataVariant> &variants,
                              Console &console, const DatasetOptions &options) {
  if (!files.empty() && haveSequences(options.recipes))
    return openSequences(files, variants, console, options);
  std::vector<std::vector<DataFile>> sorted(variants.size());
  if (variants.size() == 1) {
    // An error that names the array is more helpful than that nothing fits.
    sorted.front() = files;
  } else {
    for (const FileGroup &group : groupFiles(files, *variants[0].inputs)) {
      auto fit = std::find_if(variants.begin(), variants.end(),
                              [&](const DataVariant &variant) {
                                return haveShapes(group, *variant.inputs);
                              });
      if (fit == variants.end()) {
        std::string known;
        for (const DataVariant &variant : variants)
          known += (known.empty() ? "" : ", ") + describe(variant);
        throw badInput(group.front().path,
                       "the samples fit no variant; the trainer has " + known,
                       "bring the arrays to one of these shapes, or compile "
                       "with theirs in --dim");
      }
      auto &own = sorted[fit - variants.begin()];
      own.insert(own.end(), group.begin(), group.end());
    }
  }
  std::vector<std::unique_ptr<Dataset>> datasets;
  for (size_t i = 0; i < variants.size(); ++i)
    datasets.push_back(sorted[i].empty() ? nullptr
                                         : std::make_unique<Dataset>(
                                               sorted[i], *variants[i].inputs,
                                               console, options));
  return datasets;
}
