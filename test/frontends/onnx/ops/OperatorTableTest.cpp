// SPDX-License-Identifier: Apache-2.0

// docs/onnx.md names every operator that is imported.

#include "frontends/onnx/Import.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

namespace {

TEST(OperatorTable, IsComplete) {
  auto page = llvm::MemoryBuffer::getFile(INGOT_SOURCE_DIR "/docs/onnx.md");
  ASSERT_TRUE(bool(page));
  llvm::StringRef table = (*page)->getBuffer().split("## Operators").second;
  llvm::StringSet<> named;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(table, words, " |\n");
  named.insert(words.begin(), words.end());
  for (const std::string &name : ingot::onnx_import::supportedOperators())
    EXPECT_TRUE(named.contains(name)) << name << " is not in docs/onnx.md";
}

} // namespace
