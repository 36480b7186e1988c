// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/options/Dims.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace ingot;
using namespace ingot::onnx_import;
using llvm::StringRef;

/// Steps are compiled anew for each combination of sizes.
static constexpr size_t kMaxVariants = 64;

/// Positive sizes, each once; empty if the text is anything else.
static std::vector<int64_t> parseSizes(StringRef text) {
  std::vector<int64_t> sizes;
  for (StringRef part : llvm::split(text, ',')) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size <= 0 ||
        llvm::is_contained(sizes, size))
      return {};
    sizes.push_back(size);
  }
  return sizes;
}

llvm::Expected<DimSizes>
onnx_import::parseDims(llvm::ArrayRef<std::string> texts) {
  DimSizes dims;
  size_t variants = 1;
  for (StringRef text : texts) {
    auto [name, values] = text.split('=');
    std::vector<int64_t> sizes = parseSizes(values);
    if (name.empty() || sizes.empty())
      return makeOptionError("dim",
                             "'" + text + "' is not NAME=N or NAME=N,N...",
                             "give a symbolic dimension and its sizes, each "
                             "once, like --dim seq=128 or --dim seq=128,256");
    variants *= sizes.size();
    if (!dims.try_emplace(name.str(), std::move(sizes)).second)
      return makeOptionError(
          "dim", "'" + name + "' is given twice",
          "give all its sizes at once, like --dim seq=128,256");
    if (variants > kMaxVariants)
      return makeOptionError("dim",
                             "more than " + llvm::Twine(kMaxVariants) +
                                 " combinations of sizes",
                             "give fewer sizes: each combination is compiled");
  }
  return dims;
}

std::vector<Variant> onnx_import::listVariants(const DimSizes &dims) {
  std::vector<Variant> variants(1);
  for (const auto &[dim, sizes] : dims) {
    std::vector<Variant> longer;
    for (const Variant &variant : variants)
      for (int64_t size : sizes) {
        Variant &next = longer.emplace_back(variant);
        next.dims[dim] = {size};
        if (sizes.size() > 1)
          next.name +=
              (next.name.empty() ? "" : ",") + dim + "=" + std::to_string(size);
      }
    variants = std::move(longer);
  }
  return variants;
}
