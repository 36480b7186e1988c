// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Inputs made of pictures and text.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/recipes/Recipe.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/pictures/Jpeg.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

/// A picture whose red is the column, green the row, and blue half of both.
std::vector<uint8_t> makePixels(int64_t width, int64_t height) {
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t value : {x, y, (x + y) / 2})
        pixels.push_back(static_cast<uint8_t>(value));
  return pixels;
}

std::string makePng(int64_t width, int64_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels = makePixels(width, height);
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0,
                            nullptr);
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0,
                            nullptr);
  return bytes;
}

std::string makeJpeg(int64_t width, int64_t height) {
  return encodeJpeg(makePixels(width, height), width, height, /*quality=*/95);
}

InputSpec makeInput(std::vector<int64_t> shape, DType dtype = DType::F32) {
  InputSpec input;
  input.name = "x";
  input.shape = std::move(shape);
  input.dtype = dtype;
  return input;
}

/// Returns the result of the recipe, times 255.
std::vector<double> make(const std::string &steps, const std::string &picture,
                         const InputSpec &input, SampleContext context = {}) {
  Recipe recipe = Recipe::parse("x", steps);
  recipe.check(input);
  Value value;
  value.kind = Value::Kind::Bytes;
  value.bytes = picture;
  Workspace workspace;
  std::string result(static_cast<size_t>(input.getBytes()), '\0');
  recipe.apply(value, input, result.data(), context, workspace, "a.jpg");
  std::vector<double> numbers(static_cast<size_t>(input.getElements()));
  convert(result.data(), input.dtype, numbers.data(), DType::F64,
          input.getElements());
  if (isFloat(input.dtype))
    for (double &number : numbers)
      number *= 255;
  return numbers;
}

SampleContext training(int64_t sample, int64_t epoch = 0) {
  SampleContext context;
  context.isTraining = true;
  context.sample = sample;
  context.epoch = epoch;
  return context;
}

TEST(Recipe, DecodesPlanesAndPixels) {
  std::string png = makePng(5, 4);
  auto planes = make("decode", png, makeInput({1, 3, 4, 5}));
  auto mixed = make("decode", png, makeInput({1, 4, 5, 3}));
  auto bytes = make("decode", png, makeInput({1, 3, 4, 5}, DType::U8));
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 5; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        double expected = static_cast<double>(c == 0   ? x
                                              : c == 1 ? y
                                                       : (x + y) / 2);
        auto at = static_cast<size_t>((c * 4 + y) * 5 + x);
        EXPECT_NEAR(planes[at], expected, 1e-4);
        EXPECT_EQ(bytes[at], expected);
        EXPECT_NEAR(mixed[static_cast<size_t>((y * 5 + x) * 3 + c)], expected,
                    1e-4);
      }
}

TEST(Recipe, CropsInTheCenterExceptInTraining) {
  std::string png = makePng(20, 10);
  InputSpec input = makeInput({1, 3, 4, 4});
  auto center = make("decode,crop:4", png, input);
  EXPECT_NEAR(center[0], 8, 1e-4);
  EXPECT_NEAR(center[16], 3, 1e-4);
  std::vector<bool> columns(17), rows(7), flips(2);
  for (int64_t sample = 0; sample < 600; ++sample) {
    auto some = make("decode,crop:4,flip", png, input, training(sample));
    bool isFlipped = some[0] > some[3];
    flips[isFlipped] = true;
    columns[static_cast<size_t>(std::lround(some[isFlipped ? 3 : 0]))] = true;
    rows[static_cast<size_t>(std::lround(some[16]))] = true;
    EXPECT_NEAR(std::abs(some[3] - some[0]), 3, 1e-4);
  }
  for (const auto &seen : {columns, rows, flips})
    EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

TEST(Recipe, DependsOnSeedEpochAndSampleAlone) {
  std::string png = makePng(40, 40);
  InputSpec input = makeInput({1, 3, 8, 8});
  std::string steps = "decode,random-resized-crop:8,flip";
  auto first = make(steps, png, input, training(3, 1));
  EXPECT_EQ(make(steps, png, input, training(3, 1)), first);
  EXPECT_NE(make(steps, png, input, training(4, 1)), first);
  EXPECT_NE(make(steps, png, input, training(3, 2)), first);
  SampleContext other = training(3, 1);
  other.seed = 1;
  EXPECT_NE(make(steps, png, input, other), first);
}

TEST(Recipe, ResizesWithoutAliasing) {
  // A ramp stays a ramp.
  auto half =
      make("decode,resize:10x20", makePng(40, 20), makeInput({1, 3, 10, 20}));
  for (size_t x = 1; x + 1 < 20; ++x)
    EXPECT_NEAR(half[x], 2 * static_cast<double>(x) + 0.5, 0.75);
  auto shorter = make("decode,resize:10,crop:10", makePng(40, 20),
                      makeInput({1, 3, 10, 10}));
  EXPECT_NEAR(shorter[0], 10.5, 0.75);
}

TEST(Recipe, ReducedAndCroppedJpegsAreThoseOfTheWholePicture) {
  std::string jpeg = makeJpeg(160, 120), png = makePng(160, 120);
  for (const char *steps : {"decode,center-crop:16", "decode,resize:16x16",
                            "decode,resize:20,center-crop:16",
                            "decode,pad:8,center-crop:136x176,resize:16x16",
                            "decode,resize:64,center-crop:16"}) {
    InputSpec input = makeInput({1, 3, 16, 16});
    auto a = make(steps, jpeg, input), b = make(steps, png, input);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 6) << steps << " at " << i;
  }
}

TEST(Recipe, CutsOfAJpegAreExact) {
  // Rows and blocks that are skipped change nothing of the others.
  std::string jpeg = makeJpeg(160, 120);
  auto whole = make("decode", jpeg, makeInput({1, 3, 120, 160}));
  for (int64_t sample = 0; sample < 50; ++sample) {
    auto part = make("decode,crop:24", jpeg, makeInput({1, 3, 24, 24}),
                     training(sample));
    bool isFound = false;
    for (size_t y = 0; y + 24 <= 120 && !isFound; ++y)
      for (size_t x = 0; x + 24 <= 160 && !isFound; ++x) {
        isFound = true;
        for (size_t i = 0; i < 24 * 24 && isFound; ++i)
          isFound = whole[(y + i / 24) * 160 + x + i % 24] == part[i];
      }
    EXPECT_TRUE(isFound) << sample;
  }
}

TEST(Recipe, Normalizes) {
  auto x = make("decode,normalize:0.5/0.25/0:0.5/1/2", makePng(3, 1),
                makeInput({1, 3, 1, 3}));
  EXPECT_NEAR(x[0], -255, 1e-3);
  EXPECT_NEAR(x[3], -0.25 * 255, 1e-3);
  EXPECT_NEAR(x[8], 0.5, 1e-3);
}

TEST(Recipe, PadsWithBlack) {
  auto x = make("decode,pad:2", makePng(3, 3), makeInput({1, 3, 7, 7}));
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[2 * 7 + 4], 2, 1e-4);
  EXPECT_EQ(x[2 * 7 + 5], 0);
}

TEST(Recipe, TakesArraysOfBytes) {
  std::vector<uint8_t> pixels = makePixels(4, 4);
  Recipe recipe = Recipe::parse("x", "pad:1,crop:4,flip");
  InputSpec input = makeInput({1, 3, 4, 4});
  Value value;
  value.shape = {4, 4, 3};
  value.bytes = {reinterpret_cast<char *>(pixels.data()), pixels.size()};
  Workspace workspace;
  float result[48];
  recipe.apply(value, input, reinterpret_cast<char *>(result), {}, workspace,
               "a");
  EXPECT_NEAR(result[3] * 255, 3, 1e-4);
}

TEST(Recipe, Bytes) {
  InputSpec input = makeInput({1, 6}, DType::I64), labels = input;
  labels.kind = InputKind::Labels;
  EXPECT_EQ(make("bytes", "abc", input),
            (std::vector<double>{97, 98, 99, 0, 0, 0}));
  EXPECT_EQ(make("bytes,next", "abc", labels),
            (std::vector<double>{98, 99, -100, -100, -100, -100}));
}

TEST(Recipe, RefusesWhatItCannotDo) {
  for (const char *steps : {"",
                            "decod",
                            "resize",
                            "resize:0",
                            "crop:4x",
                            "crop:-1",
                            "flip:2",
                            "normalize:1",
                            "normalize:1:0",
                            "normalize:a:b",
                            "resize:99999999",
                            "normalize:1/2:1",
                            "bytes,flip",
                            "decode,,flip",
                            "color-jitter",
                            "color-jitter:hue=1",
                            "random-rotation:x",
                            "random-erasing:p=-1",
                            "random-erasing,flip",
                            "gaussian-blur:2",
                            "mask,normalize:1:1",
                            "crop:4,orient",
                            "trivial-augment:fill=256",
                            "flip:p=nan"})
    EXPECT_INGOT_ERROR(ExitCode::Usage, "--input x", Recipe::parse("x", steps));
  EXPECT_INGOT_ERROR(
      ExitCode::Usage, "makes 5 x 5 pixels, the input has 4 x 4",
      Recipe::parse("x", "decode,crop:5").check(makeInput({1, 3, 4, 4})));
  EXPECT_INGOT_ERROR(ExitCode::Usage, "the input is no picture",
                     Recipe::parse("x", "decode").check(makeInput({1, 7})));
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "a.jpg: the picture has 3 x 3 pixels",
      make("decode,crop:4", makePng(3, 3), makeInput({1, 3, 4, 4})));
}

/// A picture of 16-bit gray whose values are 257 times the column.
std::string makeDeepPng(int64_t width, int64_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_LINEAR_Y;
  std::vector<uint16_t> pixels;
  for (int64_t i = 0; i < width * height; ++i)
    pixels.push_back(static_cast<uint16_t>(i % width * 257 + 1));
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0,
                            nullptr);
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0,
                            nullptr);
  return bytes;
}

TEST(Recipe, DeepPicturesKeepTheirPrecision) {
  std::string png = makeDeepPng(16, 8);
  auto whole = make("decode,flip:1", png, makeInput({1, 1, 8, 16}));
  auto bytes = make("decode", png, makeInput({1, 1, 8, 16}, DType::U8));
  auto mask = make("mask", png, makeInput({1, 8, 16}, DType::I32));
  for (size_t x = 0; x < 16; ++x) {
    auto value = static_cast<double>(x * 257 + 1);
    EXPECT_NEAR(whole[x], value / 257, 1e-4);
    EXPECT_EQ(bytes[x], static_cast<double>(x));
    EXPECT_EQ(mask[x], value);
  }
  // Halves of differences between neighbors are not lost.
  auto half = make("resize:4x8", png, makeInput({1, 3, 4, 8}));
  for (size_t x = 1; x < 7; ++x)
    EXPECT_NEAR(half[x], 2 * static_cast<double>(x) + 0.5 + 1 / 257.0, 1e-2);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "a.jpg: the mask has the value 258",
                     make("mask", png, makeInput({1, 8, 16}, DType::U8)));
}

TEST(Recipe, MasksAreOfNearestPixels) {
  // Of a model with labels of 64 bits; bytes are pictures unless they say.
  std::string png = makePng(40, 20);
  for (const InputSpec &input : {makeInput({1, 10, 20}, DType::I64),
                                 makeInput({1, 10, 20}, DType::U8)}) {
    bool isMask = input.dtype == DType::I64;
    auto values = make("decode,pad:10,resize:10x20", png, input);
    std::vector<double> kinds(values);
    std::sort(kinds.begin(), kinds.end());
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    auto exact = make("decode,pad:10", png, makeInput({1, 40, 60}, DType::U8));
    bool areOfPicture = std::all_of(kinds.begin(), kinds.end(), [&](double k) {
      return std::find(exact.begin(), exact.end(), k) != exact.end();
    });
    EXPECT_TRUE(areOfPicture || !isMask);
  }
}

TEST(Recipe, CutsHaveTheSharesAndSidesOfTheirSettings) {
  std::string png = makePng(60, 50);
  InputSpec input = makeInput({1, 3, 10, 10});
  double least = 1, most = 0;
  for (int64_t sample = 0; sample < 200; ++sample) {
    auto part = make("random-resized-crop:10:scale=0.25/0.36:ratio=1/1", png,
                     input, training(sample));
    // Columns from the first to the last of ten.
    double side = (part[9] - part[0]) / 9 * 10;
    least = std::min(least, side * side / 3000);
    most = std::max(most, side * side / 3000);
  }
  EXPECT_NEAR(least, 0.25, 0.03);
  EXPECT_NEAR(most, 0.36, 0.03);
}

TEST(Recipe, ColorsLeaveTheGeometryAsItIs) {
  // A mask without the steps of colors has the geometry of its picture.
  std::string png = makePng(40, 40);
  InputSpec input = makeInput({1, 3, 16, 16});
  for (int64_t sample = 0; sample < 20; ++sample) {
    std::string before = "random-resized-crop:16,",
                after = "flip,vertical-flip";
    EXPECT_EQ(make(before + after, png, input, training(sample)),
              make(before + "color-jitter:brightness=1/1," + after, png, input,
                   training(sample)));
  }
}

TEST(Recipe, StepsOnPixelsComeInOrder) {
  // What is rotated before a cut has no corners, what is cut before has.
  std::string png = makePng(64, 64);
  InputSpec input = makeInput({1, 3, 16, 16});
  auto first = make("random-rotation:45/45:fill=255,center-crop:16", png, input,
                    training(0));
  auto last = make("center-crop:16,random-rotation:45/45:fill=255", png, input,
                   training(0));
  EXPECT_LT(first[0], 255);
  EXPECT_EQ(last[0], 255);
}

TEST(Recipe, DamagedPictures) {
  InputSpec input = makeInput({1, 3, 16, 16});
  std::string jpeg = makeJpeg(64, 48), png = makePng(64, 48);
  for (const std::string &good : {jpeg, png}) {
    auto whole = make("decode,resize:16x16", good, input);
    for (size_t size = 0; size + 8 < good.size(); size += 7)
      EXPECT_INGOT_ERROR(
          ExitCode::BadInput,
          "a.jpg: ", make("decode,resize:16x16", good.substr(0, size), input));
  }
  // A bomb: a small file that says it is large.
  std::string large = png;
  large[16] = '\x7f';
  EXPECT_INGOT_ERROR(ExitCode::BadInput,
                     "a.jpg: ", make("decode,resize:16x16", large, input));
}

} // namespace
