// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// No op is left out: of the interpreter, of the random instances, of the
// expectations in test/interpret.
//
//===----------------------------------------------------------------------===//

#include "dialects/reference/Interpreter.h"
#include "test/random-graphs/catalogue/Catalogue.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <filesystem>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

/// All ops that compute something.
static std::vector<std::string> computeOps() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<IngotDialect>();
  std::vector<std::string> names;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("ingot"))
    if (name.hasInterface<CostModel>())
      names.push_back(name.getStringRef().str());
  return names;
}

TEST(Completeness, TheInterpreterKnowsEveryOp) {
  for (const std::string &name : computeOps())
    EXPECT_TRUE(reference::isKnown(name)) << name;
}

TEST(Completeness, TheCatalogueHoldsEveryOp) {
  for (const std::string &name : computeOps())
    EXPECT_TRUE(llvm::any_of(catalogue(), [&](const Entry &entry) {
      return llvm::is_contained(entry.opNames, name);
    })) << name;
}

TEST(Completeness, ThereAreExpectationsOfEveryOp) {
  std::set<std::string> files;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(INGOT_TEST_INTERPRET))
    files.insert(entry.path().filename());
  for (const std::string &name : computeOps()) {
    std::string file = name.substr(std::string("ingot.").size()) + ".mlir";
    std::replace(file.begin(), file.end(), '_', '-');
    EXPECT_TRUE(files.count(file)) << file;
  }
}
