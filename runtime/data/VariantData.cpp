// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/VariantData.h"

#include "runtime/core/Error.h"

#include <algorithm>
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
