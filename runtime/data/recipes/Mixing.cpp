// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/recipes/Mixing.h"

#include "runtime/core/Error.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;

/// Distinguishes these draws from other uses of the seed.
static constexpr uint64_t kMixBase = uint64_t(3) << 62;
static constexpr int kSampleBits = 40;

static double drawUniform(Philox &random) {
  return (static_cast<double>(random.next64() >> 11) + 0.5) * 0x1p-53;
}

/// Draws the logarithm of a number with the gamma distribution (Marsaglia and
/// Tsang); those of small shapes are too small for the numbers themselves.
static double drawLogGamma(double shape, Philox &random) {
  if (shape < 1)
    return drawLogGamma(shape + 1, random) +
           std::log(drawUniform(random)) / shape;
  double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 &&
        std::log(drawUniform(random)) < x * x / 2 + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

/// Draws a number with the beta distribution whose shapes are both `shape`.
static double drawBeta(double shape, Philox &random) {
  double a = drawLogGamma(shape, random), b = drawLogGamma(shape, random);
  return 1 / (1 + std::exp(b - a));
}

Mix ingot::runtime::drawMix(const Mixing &mixing, const SampleContext &context,
                            int64_t width, int64_t height) {
  Philox random(
      context.seed,
      kMixBase |
          (static_cast<uint64_t>(context.epoch) << kSampleBits & (~kMixBase)) |
          static_cast<uint64_t>(context.sample));
  Mix mix;
  mix.isCut =
      mixing.cutmix > 0 && (mixing.mixup == 0 || drawUniform(random) < 0.5);
  mix.own = drawBeta(mix.isCut ? mixing.cutmix : mixing.mixup, random);
  if (!mix.isCut)
    return mix;
  // A part of that share of the area, around any pixel, as far as it is inside.
  double side = std::sqrt(1 - mix.own);
  auto cutSide = [&](int64_t size, int64_t &first, int64_t &count) {
    auto half = static_cast<int64_t>(static_cast<double>(size) * side / 2);
    auto center =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(size)));
    first = std::max<int64_t>(center - half, 0);
    count = std::min(center + half, size) - first;
  };
  cutSide(width, mix.cut.x, mix.cut.width);
  cutSide(height, mix.cut.y, mix.cut.height);
  mix.own = 1 - static_cast<double>(mix.cut.width * mix.cut.height) /
                    static_cast<double>(width * height);
  return mix;
}

const InputSpec *ingot::runtime::findMixed(const std::vector<InputSpec> &inputs,
                                           const Recipes &recipes) {
  const InputSpec *mixed = nullptr;
  for (const InputSpec &input : inputs)
    if (auto known = recipes.find(input.name);
        known != recipes.end() && known->second.getMixing())
      mixed = &input;
  if (!mixed)
    return nullptr;
  for (const InputSpec &input : inputs)
    if (input.isBatched() && !isFloat(input.dtype))
      throw usageError(
          "--input " + mixed->name,
          &input == mixed
              ? "mixup and cutmix are for inputs of floating-point numbers"
              : "mixup and cutmix need '" + input.name +
                    "' as probabilities, and it has integers",
          "train with labels [N, CLASSES] of floating-point numbers, such as "
          "those of --loss bce-with-logits, and --input labels=one-hot");
  return mixed;
}

/// Reads a row as numbers.
static void readRow(const InputSpec &input, const char *place,
                    std::vector<float> &row) {
  int64_t elements = input.getElements() / input.shape[0];
  row.resize(static_cast<size_t>(elements));
  convert(place, input.dtype, row.data(), DType::F32, elements);
}

static void blend(std::vector<float> &row, const std::vector<float> &other,
                  double own) {
  auto mine = static_cast<float>(own), its = static_cast<float>(1 - own);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = row[i] * mine + other[i] * its;
}

static void paste(std::vector<float> &row, const std::vector<float> &other,
                  const Area &area, const PictureLayout &layout) {
  int64_t planes = layout.isPlanar ? layout.channels : 1;
  int64_t step = layout.isPlanar ? 1 : layout.channels;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t y = area.y; y < area.y + area.height; ++y) {
      int64_t first =
          ((plane * layout.height + y) * layout.width + area.x) * step;
      std::copy_n(other.begin() + first, area.width * step,
                  row.begin() + first);
    }
}

void ingot::runtime::mixRows(const std::vector<InputSpec> &inputs,
                             const Recipes &recipes, const SampleContext &first,
                             const SampleContext &second, int64_t row,
                             char *place, Workspace &workspace) {
  const InputSpec *mixed = findMixed(inputs, recipes);
  const Mixing &mixing = *recipes.at(mixed->name).getMixing();
  PictureLayout layout = getPictureLayout(*mixed);
  Mix mixes[] = {drawMix(mixing, first, layout.width, layout.height),
                 drawMix(mixing, second, layout.width, layout.height)};
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    int64_t bytes = input.getBytes() / input.shape[0];
    char *places[] = {place + input.offset + row * bytes,
                      place + input.offset + (row + 1) * bytes};
    for (int side : {0, 1})
      readRow(input, places[side], workspace.rows[side]);
    for (int side : {0, 1}) {
      const Mix &mix = mixes[side];
      workspace.row = workspace.rows[side];
      if (&input == mixed && mix.isCut)
        paste(workspace.row, workspace.rows[1 - side], mix.cut, layout);
      else
        blend(workspace.row, workspace.rows[1 - side], mix.own);
      convert(workspace.row.data(), DType::F32, places[side], input.dtype,
              static_cast<int64_t>(workspace.row.size()));
    }
  }
}
