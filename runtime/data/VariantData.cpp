// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/VariantData.h"

#include "runtime/core/Error.h"

#include <algorithm>

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

std::vector<std::unique_ptr<Dataset>>
ingot::runtime::openByVariant(const std::vector<DataFile> &files,
                              const std::vector<DataVariant> &variants,
                              Console &console, const DatasetOptions &options) {
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
