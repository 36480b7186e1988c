// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Layout.h"

#include "llvm/Support/FormatVariadic.h"

using namespace ingot;

std::vector<std::string> Layout::getWords() const {
  std::vector<std::string> words;
  auto add = [&](const char *option, const auto &value) {
    words.push_back(llvm::formatv("--{0}={1}", option, value));
  };
  if (tensor > 1)
    add("mesh", "tensor=" + std::to_string(tensor));
  if (inner > 1)
    add("mesh", "inner=" + std::to_string(inner));
  if (tensor == 1 && inner == 1)
    words.push_back("--data-parallel");
  if (zero > 0)
    add("zero", zero);
  add("batch", batch);
  if (microBatches > 1)
    add("grad-accumulation", microBatches);
  if (kept < kKeepsAll)
    add("memory-budget", "at-least:" + std::to_string(kept) + "%");
  return words;
}

std::string Layout::describe() const {
  std::string text =
      llvm::formatv("data={0} tensor={1} zero={2} batch={3}x{4}",
                    getDataRanks(), tensor, zero, batch, microBatches);
  if (inner > 1)
    text += llvm::formatv(" inner={0}", inner).str();
  if (kept < kKeepsAll)
    text += llvm::formatv(" kept={0}%", kept).str();
  return text;
}
