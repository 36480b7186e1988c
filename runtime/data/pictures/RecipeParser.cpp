// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The text of recipes.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/Recipe.h"

#include "runtime/core/Error.h"

#include <charconv>
#include <cmath>

using namespace ingot::runtime;

/// No side of a picture is longer.
static constexpr int64_t kMostSide = 1 << 16;

static Error badStep(const std::string &name, const std::string &step,
                     const std::string &what) {
  return usageError("--input " + name, "'" + step + "' " + what,
                    "steps are decode, resize:N, crop:N, center-crop:N, "
                    "random-resized-crop:N, pad:N, flip, "
                    "normalize:MEAN:DEVIATION, bytes, next and from:FIELD");
}

static std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(at, start)) != std::string::npos;
       start = end + 1)
    parts.push_back(text.substr(start, end - start));
  parts.push_back(text.substr(start));
  return parts;
}

/// Parses a number that is the whole text.
template <typename T> static bool parseNumber(const std::string &text, T &to) {
  const char *end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, to);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// Parses `N` or `HEIGHTxWIDTH`.
static bool parseSize(const std::string &text, bool isSquare, int64_t &height,
                      int64_t &width) {
  std::vector<std::string> parts = split(text, 'x');
  if (parts.size() > 2 || !parseNumber(parts[0], height))
    return false;
  width = isSquare ? height : 0;
  if (parts.size() == 2 && !parseNumber(parts[1], width))
    return false;
  return height > 0 && height <= kMostSide && width <= kMostSide &&
         (width > 0 || (parts.size() == 1 && !isSquare));
}

Recipe Recipe::parse(const std::string &name, const std::string &steps) {
  Recipe recipe;
  recipe.name = name;
  recipe.text = steps;
  for (const std::string &step : split(steps, ','))
    recipe.addStep(step);
  if (recipe.takesText && !(recipe.steps.empty() && recipe.means.empty()))
    throw badStep(name, "bytes", "is for text, the other steps for pictures");
  return recipe;
}

void Recipe::addStep(const std::string &step) {
  size_t colon = step.find(':');
  std::string word = step.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : step.substr(colon + 1);
  hasSteps |= word != "from";
  auto add = [&](Kind kind, bool isSquare) {
    Step added{kind};
    if (!parseSize(rest, isSquare, added.height, added.width))
      throw badStep(name, step,
                    "has no size: it is " + word + ":N or " + word +
                        ":HEIGHTxWIDTH");
    steps.push_back(added);
  };
  if (word == "resize")
    return add(Kind::Resize, false);
  if (word == "crop")
    return add(Kind::Crop, true);
  if (word == "center-crop")
    return add(Kind::CenterCrop, true);
  if (word == "random-resized-crop")
    return add(Kind::ResizedCrop, true);
  if (word == "pad")
    return add(Kind::Pad, true);
  if (word == "normalize")
    return addNormalization(rest);
  if (word == "from" && !rest.empty()) {
    field = rest;
    return;
  }
  if (step == "flip")
    steps.push_back({Kind::Flip});
  else if (step == "bytes" || step == "next")
    takesText = true;
  else if (step != "decode")
    throw badStep(name, step, "is not a step of a recipe");
  isNext |= step == "next";
}

void Recipe::addNormalization(const std::string &values) {
  if (values == "imagenet") {
    means = {0.485, 0.456, 0.406};
    deviations = {0.229, 0.224, 0.225};
    return;
  }
  std::vector<std::string> parts = split(values, ':');
  auto read = [&](const std::string &list, std::vector<double> &to) {
    to.clear();
    for (const std::string &number : split(list, '/')) {
      double value = 0;
      if (!parseNumber(number, value) || !std::isfinite(value))
        return false;
      to.push_back(value);
    }
    return true;
  };
  bool isGood = parts.size() == 2 && read(parts[0], means) &&
                read(parts[1], deviations) && means.size() == deviations.size();
  for (double deviation : deviations)
    isGood &= deviation > 0;
  if (!isGood)
    throw badStep(name, "normalize:" + values,
                  "has no values: it is normalize:imagenet, or "
                  "normalize:0.5:0.5, or normalize:0.5/0.4/0.4:0.2/0.2/0.2");
}
