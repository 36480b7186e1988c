// SPDX-License-Identifier: Apache-2.0

#include "test/random-graphs/catalogue/Catalogue.h"

using namespace ingot::testing;

llvm::ArrayRef<Entry> ingot::testing::catalogue() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> filled;
    addElementwise(filled);
    addShape(filled);
    addIndexing(filled);
    addWindowed(filled);
    addComposites(filled);
    return filled;
  }();
  return entries;
}
