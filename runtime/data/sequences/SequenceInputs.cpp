// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/sequences/SequenceInputs.h"

#include "runtime/core/Error.h"
#include "runtime/data/readers/Checks.h"

#include <algorithm>

using namespace ingot::runtime;

static const SequenceRecipe *find(const Recipes &recipes,
                                  const std::string &name) {
  auto found = recipes.find(name);
  return found == recipes.end() ? nullptr : found->second.getSequence();
}

bool ingot::runtime::haveSequences(const Recipes &recipes) {
  return std::any_of(recipes.begin(), recipes.end(),
                     [](const auto &r) { return r.second.getSequence(); });
}

/// Whether an input has a row of `length` elements for each sample, or, of
/// masks, as many for each of these.
static bool hasShape(const InputSpec &input, SequenceRole role,
                     int64_t length) {
  std::vector<int64_t> shape(input.shape.begin() + 1, input.shape.end());
  if (role == SequenceRole::Diagonal)
    return shape == std::vector<int64_t>{length, length} ||
           shape == std::vector<int64_t>{1, length, length};
  return shape == std::vector<int64_t>{length};
}

static Error badSequence(const std::string &name, const std::string &what,
                         const std::string &hint) {
  return usageError("--input " + name, what, hint);
}

static void checkFollower(const InputSpec &input, const SequenceRecipe &recipe,
                          const InputSpec &leader) {
  int64_t length = leader.shape[1];
  std::string size = std::to_string(length);
  if (recipe.of != leader.name)
    throw badSequence(input.name,
                      recipe.of.empty()
                          ? "'" + leader.name + "' is packed already"
                          : "'" + recipe.of + "' has neither pack nor bucket",
                      "rows are laid out by one input, here '" + leader.name +
                          "'; fields with an element for each of its tokens "
                          "are along:" +
                          leader.name);
  if (input.isShifted && recipe.role == SequenceRole::Next)
    throw badSequence(input.name,
                      "the model shifts these labels itself, and next-of would "
                      "shift them once more",
                      "use labels-of:" + leader.name);
  if (!hasShape(input, recipe.role, length))
    throw badSequence(input.name,
                      "the input does not have the shape that goes with '" +
                          leader.name + "', " +
                          (recipe.role == SequenceRole::Diagonal
                               ? "[N, " + size + ", " + size + "] or [N, 1, " +
                                     size + ", " + size + "]"
                               : "[N, " + size + "]"),
                      "choose another step, or export the model with an input "
                      "of that shape");
  bool isMask = recipe.role == SequenceRole::Diagonal ||
                recipe.role == SequenceRole::Present ||
                recipe.role == SequenceRole::Along;
  if (!isMask && (isFloat(input.dtype) || input.dtype == DType::Bool))
    throw badSequence(input.name,
                      "this step makes integers, the input takes " +
                          std::string(getName(input.dtype)),
                      "choose another step");
}

const InputSpec *
ingot::runtime::findLeader(const std::vector<InputSpec> &inputs,
                           const Recipes &recipes) {
  if (!haveSequences(recipes))
    return nullptr;
  const InputSpec *leader = nullptr;
  for (const InputSpec &input : inputs)
    if (const SequenceRecipe *recipe = find(recipes, input.name);
        input.isBatched() && recipe && recipe->role == SequenceRole::Tokens &&
        !leader)
      leader = &input;
  if (!leader)
    throw usageError("--input", "no input has the step pack or bucket",
                     "give it to the input whose sequences decide, as in "
                     "--input tokens=pack");
  const SequenceRecipe &main = *find(recipes, leader->name);
  if (leader->shape.size() != 2 || leader->shape[1] < 1 ||
      leader->dtype == DType::Bool)
    throw badSequence(
        leader->name,
        "sequences feed inputs of numbers [N, T]; this is not one",
        "give the step to an input that is");
  for (const InputSpec &input : inputs) {
    if (!input.isBatched() || &input == leader)
      continue;
    if (const SequenceRecipe *recipe = find(recipes, input.name))
      checkFollower(input, *recipe, *leader);
    else if (main.isPacked)
      throw badSequence(
          input.name,
          "rows hold several sequences, and nothing says what this input gets",
          "give it one of along:" + leader->name + ", next-of:" + leader->name +
              ", positions-of:, segments-of:, mask-of: and block-diagonal:" +
              leader->name);
  }
  return leader;
}

static bool contains(const std::string &name, const char *part) {
  return name.find(part) != std::string::npos;
}

/// Returns the step for an input that goes with `leader`, or an empty text.
static std::string guess(const InputSpec &input, const InputSpec &leader) {
  if (hasShape(input, SequenceRole::Diagonal, leader.shape[1]))
    return "block-diagonal:" + leader.name + ",causal";
  if (!hasShape(input, SequenceRole::Along, leader.shape[1]))
    return {};
  if (input.isShifted)
    return "labels-of:" + leader.name;
  if (input.kind == InputKind::Labels || input.name == "labels" ||
      input.name == "targets")
    return "next-of:" + leader.name;
  if (contains(input.name, "position"))
    return "positions-of:" + leader.name;
  if (contains(input.name, "segment") || contains(input.name, "document"))
    return "segments-of:" + leader.name;
  if (contains(input.name, "mask"))
    return "mask-of:" + leader.name;
  return {};
}

void ingot::runtime::addPackedRecipes(const std::vector<InputSpec> &inputs,
                                      Recipes &recipes) {
  const InputSpec *leader = nullptr;
  for (const InputSpec &input : inputs)
    if (const SequenceRecipe *recipe = find(recipes, input.name);
        recipe && recipe->role == SequenceRole::Tokens)
      leader = &input;
  // Else the first one that can be tokens, and has no name of another kind.
  for (const InputSpec &input : inputs) {
    bool canLead = input.kind == InputKind::Data && input.shape.size() == 2 &&
                   !isFloat(input.dtype) && input.dtype != DType::Bool &&
                   guess(input, input).empty() && !recipes.count(input.name);
    if (!leader && canLead)
      leader = &input;
  }
  if (!leader)
    throw usageError("--pack", "the model has no input of tokens [N, T]",
                     "name one with --input NAME=pack");
  if (!recipes.count(leader->name))
    recipes.emplace(leader->name, Recipe::parse(leader->name, "pack"));
  for (const InputSpec &input : inputs) {
    if (!input.isBatched() || recipes.count(input.name))
      continue;
    std::string step = guess(input, *leader);
    if (step.empty())
      throw usageError("--pack",
                       "it is not known what '" + input.name + "' gets",
                       "say so with --input " + input.name +
                           "=along:" + leader->name + " or another step");
    Recipe recipe = Recipe::parse(input.name, step);
    recipe.setGuessed();
    recipes.emplace(input.name, std::move(recipe));
  }
}
