// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a picture that a recipe crops, resizes, turns and changes.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/data/pictures/formats/Decode.h"
#include "runtime/data/recipes/Recipe.h"

#include "runtime/core/Error.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  // Larger ones say nothing new, only slowly.
  constexpr int64_t mostPixels = 1 << 20;
  if (!isPicture(bytes))
    return;
  PictureSize size = readPictureSize(bytes, "input");
  if (size.width * size.height > mostPixels)
    return;
  InputSpec input;
  input.shape = {1, 3, 8, 8};
  Value value;
  value.kind = Value::Kind::Bytes;
  value.bytes = bytes;
  SampleContext context;
  context.isTraining = true;
  Workspace workspace;
  std::string made(static_cast<size_t>(input.getBytes()), '\0');
  for (const char *steps :
       {"decode,random-resized-crop:8,flip", "decode,pad:4,resize:8x8",
        "orient,trivial-augment,crop:8", "mask,resize:8x8",
        "orient,resize:8x8,color-jitter:hue=0.5:contrast=1,random-rotation:"
        "9"}) {
    input.shape[1] = std::string_view(steps).starts_with("mask") ? 1 : 3;
    Recipe recipe = Recipe::parse("x", steps);
    // What one recipe refuses, another one may read.
    try {
      recipe.apply(value, input, made.data(), context, workspace, "input");
    } catch (const Error &error) {
      if (error.getCode() != ExitCode::BadInput)
        throw;
    }
  }
}
