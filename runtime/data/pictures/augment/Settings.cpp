// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The text of the settings of random steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/augment/Augment.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

using namespace ingot::runtime;

/// Reads `N/N/N`. Returns whether all are finite numbers from `low` to `high`.
static bool readNumbers(const std::string &text, double low, double high,
                        std::vector<double> &numbers) {
  numbers.clear();
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('/', at), text.size());
    double number = 0;
    auto parsed = std::from_chars(text.data() + at, text.data() + end, number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end ||
        !(number >= low && number <= high))
      return false;
    numbers.push_back(number);
    at = end + 1;
  }
  return true;
}

/// Reads two numbers, the smaller one first.
static bool readRange(const std::string &text, double low, double high,
                      Range &range) {
  std::vector<double> numbers;
  if (!readNumbers(text, low, high, numbers) || numbers.size() != 2 ||
      numbers[0] > numbers[1])
    return false;
  range = {numbers[0], numbers[1]};
  return true;
}

/// Reads a number, which stands for those from `center` less it to `center`
/// and it, or two of `low` to `high`.
static bool readAround(const std::string &text, double center, double low,
                       double high, Range &range) {
  std::vector<double> numbers;
  if (!readNumbers(text, -high, high, numbers))
    return false;
  if (numbers.size() == 2)
    return readRange(text, low, high, range);
  if (numbers.size() != 1 || numbers[0] < 0)
    return false;
  range = {std::max(low, center - numbers[0]), center + numbers[0]};
  return range.high <= high;
}

static bool readAround(const std::string &text, double center, double low,
                       double high, std::optional<Range> &range) {
  Range read;
  if (!readAround(text, center, low, high, read))
    return false;
  range = read;
  return true;
}

static bool readColor(const std::string &text, double low, double high,
                      std::vector<double> &color) {
  return readNumbers(text, low, high, color) &&
         (color.size() == 1 || color.size() == 3);
}

std::string AugmentSettings::parse(const std::vector<std::string> &words,
                                   const std::vector<std::string> &allowed,
                                   const char *first) {
  // What no picture needs more of, so that nothing overflows.
  constexpr double most = 1e3, least = 1e-3, circle = 360, byte = 255;
  using Text = const std::string &;
  struct Reader {
    std::function<bool(Text)> read;
    const char *form;
  };
  const std::map<std::string, Reader> readers = {
      {"p",
       {[&](Text text) {
          std::vector<double> numbers;
          bool isGood = readNumbers(text, 0, 1, numbers) && numbers.size() == 1;
          p = isGood ? numbers[0] : p;
          return isGood;
        },
        "P from 0 to 1"}},
      {"scale",
       {[&](Text text) { return readRange(text, 1e-6, 1, scale); },
        "LOW/HIGH, shares of the area from 0 to 1"}},
      {"ratio",
       {[&](Text text) { return readRange(text, least, most, ratio); },
        "LOW/HIGH, both above 0"}},
      {"brightness",
       {[&](Text text) { return readAround(text, 1, 0, most, brightness); },
        "X for factors from 1 - X to 1 + X, or LOW/HIGH"}},
      {"contrast",
       {[&](Text text) { return readAround(text, 1, 0, most, contrast); },
        "X for factors from 1 - X to 1 + X, or LOW/HIGH"}},
      {"saturation",
       {[&](Text text) { return readAround(text, 1, 0, most, saturation); },
        "X for factors from 1 - X to 1 + X, or LOW/HIGH"}},
      {"hue",
       {[&](Text text) { return readAround(text, 0, -0.5, 0.5, hue); },
        "X from 0 to 0.5, or LOW/HIGH from -0.5 to 0.5"}},
      {"degrees",
       {[&](Text text) {
          return readAround(text, 0, -circle, circle, degrees);
        },
        "X for angles from -X to X, up to 360, or LOW/HIGH"}},
      {"sigma",
       {[&](Text text) {
          return readRange(text, least, most, sigma) ||
                 readRange(text + "/" + text, least, most, sigma);
        },
        "X or LOW/HIGH, above 0"}},
      {"kernel",
       {[&](Text text) {
          std::vector<double> numbers;
          bool isGood = readNumbers(text, 1, 255, numbers) &&
                        numbers.size() == 1 && std::fmod(numbers[0], 2) == 1;
          kernel = isGood ? static_cast<int64_t>(numbers[0]) : 0;
          return isGood;
        },
        "N, an odd number of pixels up to 255"}},
      {"interpolation",
       {[&](Text text) {
          isBilinear = text == "bilinear";
          return isBilinear || text == "nearest";
        },
        "nearest or bilinear"}},
      {"fill",
       {[&](Text text) { return readColor(text, 0, byte, fill); },
        "N or RED/GREEN/BLUE, from 0 to 255"}},
      {"value",
       {[&](Text text) {
          isNoise = text == "random";
          return isNoise || readColor(text, -1e6, 1e6, value);
        },
        "X, RED/GREEN/BLUE or random"}},
  };
  for (const std::string &word : words) {
    size_t equals = word.find('=');
    bool isNamed = equals != std::string::npos;
    std::string name = isNamed ? word.substr(0, equals) : first ? first : "";
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      std::string known;
      for (const std::string &setting : allowed)
        known += (known.empty() ? "" : ", ") + setting;
      return isNamed ? "has no setting '" + name + "': it has " + known
                     : "has a setting without a name: it has " + known;
    }
    const Reader &reader = readers.at(name);
    if (!reader.read(isNamed ? word.substr(equals + 1) : word))
      return "has a wrong " + name + ": it is " + name + "=" + reader.form;
  }
  return {};
}
