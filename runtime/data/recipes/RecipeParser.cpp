// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The text of recipes.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/recipes/Recipe.h"

#include "runtime/core/Error.h"

#include <charconv>
#include <cmath>

using namespace ingot::runtime;

/// No side of a picture is longer.
static constexpr int64_t kMostSide = 1 << 16;

static Error badStep(const std::string &name, const std::string &step,
                     const std::string &what) {
  return usageError(
      "--input " + name, "'" + step + "' " + what,
      "steps are decode, orient, mask, resize:N, crop:N, "
      "center-crop:N, random-resized-crop:N, pad:N, flip, "
      "vertical-flip, random-rotation:DEGREES, color-jitter, "
      "random-grayscale, gaussian-blur:N, trivial-augment, "
      "random-erasing, normalize:MEAN:DEVIATION, mixup:A, "
      "cutmix:A, one-hot, "
      "smooth:X, bytes, next and from:FIELD; of "
      "sequences pack, bucket, along:INPUT, next-of:INPUT, labels-of:INPUT, "
      "positions-of:INPUT, segments-of:INPUT, mask-of:INPUT and "
      "block-diagonal:INPUT");
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
  recipe.checkSteps();
  return recipe;
}

void Recipe::checkSteps() const {
  bool hasPicture = !steps.empty() || !means.empty();
  if (takesText && hasPicture)
    throw badStep(name, "bytes", "is for text, the other steps for pictures");
  hasPicture |= hasDecode;
  if (hasMask && !means.empty())
    throw badStep(name, "mask", "has numbers of classes: leave normalize out");
  if (hasMask && mixing)
    throw badStep(name, "mask", "has numbers of classes: they cannot be mixed");
  for (size_t i = 1; i < steps.size(); ++i)
    if (steps[i - 1].kind == Kind::Erasing && steps[i].kind != Kind::Erasing)
      throw badStep(name, "random-erasing",
                    "comes after all steps but normalize, mixup and cutmix");
  if (classes >= 0 && (hasPicture || takesText || sequence || mixing))
    throw badStep(name, "one-hot", "is for classes, the other steps are not");
  if (classes < 0 && smoothing != 0)
    throw badStep(name, "smooth", "comes with one-hot");
  if (mixing && (takesText || sequence))
    throw badStep(name, text, "mixes something that is no picture");
  if (!sequence)
    return;
  if (!hasRole)
    throw badStep(name, text,
                  "does not say what the input has of the sequences");
  if (hasPicture || isNext)
    throw badStep(
        name, text,
        "has steps for sequences, which only bytes and from may accompany");
  bool isLeader = sequence->role == SequenceRole::Tokens;
  if (!isLeader && (sequence->separator || sequence->isCut))
    throw badStep(name, text,
                  "has split or truncate, which are for the input with pack "
                  "or bucket");
  if (sequence->isDerived() && (takesText || !field.empty()))
    throw badStep(name, text, "takes no field of its own");
  if (sequence->isCausal && sequence->role != SequenceRole::Diagonal)
    throw badStep(name, "causal", "is for block-diagonal");
}

bool Recipe::addSequenceStep(const std::string &step, const std::string &word,
                             const std::string &rest) {
  using Role = SequenceRole;
  constexpr int64_t mostWindow = 1 << 20;
  static const std::map<std::string, Role> followers = {
      {"along", Role::Along},
      {"next-of", Role::Next},
      {"labels-of", Role::Labels},
      {"positions-of", Role::Positions},
      {"segments-of", Role::Segments},
      {"mask-of", Role::Present},
      {"block-diagonal", Role::Diagonal}};
  SequenceRecipe added = sequence.value_or(SequenceRecipe());
  auto follower = followers.find(word);
  bool isRole =
      word == "pack" || word == "bucket" || follower != followers.end();
  auto readNumber = [&](std::optional<int64_t> &to) {
    int64_t number = 0;
    if (!parseNumber(rest, number))
      throw badStep(name, step, "has no number: it is " + word + ":N");
    to = number;
  };
  if (follower != followers.end()) {
    added.role = follower->second;
    added.of = rest;
    if (rest.empty())
      throw badStep(name, step, "names no input: it is " + word + ":INPUT");
  } else if (word == "pack") {
    added.isPacked = true;
    if (!rest.empty() && (!parseNumber(rest, added.window) ||
                          added.window < 1 || added.window > mostWindow))
      throw badStep(name, step,
                    "has no number of sequences: it is pack:N, N from 1 to " +
                        std::to_string(mostWindow));
  } else if (word == "padding") {
    readNumber(added.padding);
  } else if (word == "split") {
    readNumber(added.separator);
  } else if (step == "truncate") {
    added.isCut = true;
  } else if (step == "causal") {
    added.isCausal = true;
  } else if (step != "bucket") {
    return false;
  }
  if (isRole && hasRole)
    throw badStep(name, step, "is a second step that says what the input has");
  hasRole |= isRole;
  sequence = added;
  return true;
}

bool Recipe::addLabelStep(const std::string &step, const std::string &word,
                          const std::string &rest) {
  auto readNumber = [&](double most) {
    double number = 0;
    if (!parseNumber(rest, number) || !(number > 0) || number > most)
      throw badStep(name, step,
                    "has no number above 0: it is " + word + ":X" +
                        (most <= 1 ? ", X below 1" : ""));
    return number;
  };
  constexpr double mostShape = 1e3, mostSmoothing = 0.999;
  if (word == "one-hot") {
    classes = 0;
    if (!rest.empty() && (!parseNumber(rest, classes) || classes < 1))
      throw badStep(name, step, "has no number of classes: it is one-hot:N");
  } else if (word == "smooth") {
    smoothing = readNumber(mostSmoothing);
  } else if (word == "mixup" || word == "cutmix") {
    Mixing given = mixing.value_or(Mixing());
    (word == "mixup" ? given.mixup : given.cutmix) = readNumber(mostShape);
    mixing = given;
  } else {
    return false;
  }
  return true;
}

bool Recipe::addRandomStep(const std::string &step, const std::string &word,
                           const std::string &rest) {
  struct Form {
    Kind kind;
    std::vector<std::string> settings;
    /// The setting of a word without a name, and whether it has to be there.
    const char *first = nullptr;
    bool isNeeded = false;
  };
  static const std::map<std::string, Form> forms = {
      {"random-resized-crop", {Kind::ResizedCrop, {"scale", "ratio"}}},
      {"flip", {Kind::Flip, {"p"}, "p"}},
      {"vertical-flip", {Kind::FlipRows, {"p"}, "p"}},
      {"random-rotation",
       {Kind::Rotation,
        {"degrees", "interpolation", "fill"},
        "degrees",
        /*isNeeded=*/true}},
      {"color-jitter",
       {Kind::Jitter, {"brightness", "contrast", "saturation", "hue"}}},
      {"random-grayscale", {Kind::Grayscale, {"p"}, "p"}},
      {"gaussian-blur",
       {Kind::Blur, {"kernel", "sigma"}, "kernel", /*isNeeded=*/true}},
      {"trivial-augment", {Kind::Trivial, {"interpolation", "fill"}}},
      {"random-erasing", {Kind::Erasing, {"p", "scale", "ratio", "value"}}}};
  auto found = forms.find(word);
  if (found == forms.end())
    return false;
  const Form &form = found->second;
  Step added{form.kind};
  AugmentSettings &settings = added.settings;
  std::vector<std::string> words;
  if (step.size() != word.size())
    words = split(rest, ':');
  if (form.kind == Kind::ResizedCrop) {
    settings.scale = {0.08, 1};
    settings.ratio = {3.0 / 4.0, 4.0 / 3.0};
    if (words.empty() ||
        !parseSize(words[0], /*isSquare=*/true, added.height, added.width))
      throw badStep(name, step,
                    "has no size: it is " + word + ":N or " + word +
                        ":HEIGHTxWIDTH");
    words.erase(words.begin());
  } else if (form.kind == Kind::Erasing) {
    settings.scale = {0.02, 0.33};
    settings.ratio = {0.3, 3.3};
    settings.value = {0};
  } else if (form.kind == Kind::Grayscale) {
    settings.p = 0.1;
  }
  std::string wrong = settings.parse(words, form.settings, form.first);
  bool isJitter = settings.brightness || settings.contrast ||
                  settings.saturation || settings.hue;
  if (wrong.empty() && ((form.isNeeded && words.empty()) ||
                        (form.kind == Kind::Blur && settings.kernel == 0) ||
                        (form.kind == Kind::Jitter && !isJitter))) {
    wrong = "has nothing to do: it is " + word;
    wrong += form.first ? std::string(":") + form.first
                        : std::string(":brightness=X:contrast=X:saturation=X:"
                                      "hue=X, or some of these");
  }
  if (!wrong.empty())
    throw badStep(name, step, wrong);
  added.isNormalized = !means.empty();
  steps.push_back(added);
  return true;
}

void Recipe::addStep(const std::string &step) {
  size_t colon = step.find(':');
  std::string word = step.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : step.substr(colon + 1);
  hasSteps |= word != "from";
  if (addSequenceStep(step, word, rest) || addLabelStep(step, word, rest) ||
      addRandomStep(step, word, rest))
    return;
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
  if (word == "pad")
    return add(Kind::Pad, true);
  if (word == "normalize")
    return addNormalization(rest);
  if (word == "from" && !rest.empty()) {
    field = rest;
    return;
  }
  if (step == "bytes" || step == "next")
    takesText = true;
  else if (step == "decode" || step == "orient" || step == "mask")
    addSource(step);
  else
    throw badStep(name, step, "is not a step of a recipe");
  isNext |= step == "next";
}

void Recipe::addSource(const std::string &step) {
  if (!steps.empty() && step != "decode")
    throw badStep(name, step,
                  "comes after steps that take the picture as it is stored: "
                  "it is decode," +
                      step + ",...");
  hasDecode = true;
  isOriented |= step == "orient";
  hasMask |= step == "mask";
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
