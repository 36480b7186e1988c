// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the steps of a recipe.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/recipes/Recipe.h"

#include "runtime/core/Error.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  try {
    Recipe recipe = Recipe::parse("x", std::string(bytes));
    InputSpec input;
    input.shape = {1, 3, 8, 8};
    recipe.check(input);
  } catch (const Error &error) {
    if (error.getCode() != ExitCode::Usage)
      throw;
  }
}
