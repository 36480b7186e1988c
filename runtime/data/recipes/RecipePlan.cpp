// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Plans the steps of a recipe for one picture: cuts and sizes are joined as
// long as no step between them works on pixels.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/recipes/Recipe.h"

#include "runtime/core/Error.h"

#include <algorithm>

using namespace ingot::runtime;

/// Cuts `count` of the elements from `at` on.
static void cut(AxisMap &axis, int64_t at, int64_t count) {
  axis.start += static_cast<double>(at) * axis.step;
  axis.count = count;
}

static void resize(AxisMap &axis, int64_t count) {
  axis.step *= static_cast<double>(axis.count) / static_cast<double>(count);
  axis.count = count;
}

void Recipe::addOperations(const Step &step, int64_t width, int64_t height,
                           Draws &geometry, Draws &pixels,
                           std::vector<Operation> &operations) {
  const AugmentSettings &settings = step.settings;
  switch (step.kind) {
  case Kind::Rotation:
    operations.push_back(drawRotation(settings, width, height, geometry));
    break;
  case Kind::Trivial:
    // Some of its operations are geometry.
    drawTrivial(settings, width, height, geometry, operations);
    break;
  case Kind::Jitter:
    drawJitter(settings, pixels, operations);
    break;
  case Kind::Grayscale:
    if (pixels.happens(settings.p))
      operations.push_back({Operation::Kind::Gray});
    break;
  case Kind::Blur:
    operations.push_back(
        {Operation::Kind::Blur,
         pixels.uniform(settings.sigma.low, settings.sigma.high),
         settings.kernel});
    break;
  default:
    break;
  }
}

Recipe::Plan Recipe::plan(const PictureSize &size, size_t first, size_t end,
                          const SampleContext &context,
                          const std::string &where) const {
  Plan result;
  Draws draws(context, Draws::Use::Geometry);
  Draws pixels(context, Draws::Use::Pixels);
  auto getGeometry = [&]() -> Geometry & {
    return result.stages.back().geometry;
  };
  auto beginStage = [&](int64_t width, int64_t height) {
    result.stages.emplace_back();
    getGeometry().x.count = width;
    getGeometry().y.count = height;
  };
  auto getSize = [&] {
    return PictureSize{getGeometry().x.count, getGeometry().y.count};
  };
  auto cutBoth = [&](int64_t left, int64_t top, int64_t width, int64_t height) {
    // A flipped picture is cut from its other side.
    auto &[x, y, isFlipped, hasFlippedRows] = getGeometry();
    cut(x, isFlipped ? x.count - left - width : left, width);
    cut(y, hasFlippedRows ? y.count - top - height : top, height);
  };
  auto cutCenter = [&](int64_t width, int64_t height) {
    cutBoth((getSize().width - width) / 2, (getSize().height - height) / 2,
            width, height);
  };
  auto resizeBoth = [&](int64_t width, int64_t height) {
    resize(getGeometry().x, width);
    resize(getGeometry().y, height);
  };
  auto resizeShorter = [&](int64_t shorter) {
    auto [width, height] = getSize();
    int64_t least = std::min(width, height);
    resizeBoth(std::max<int64_t>(shorter * width / least, 1),
               std::max<int64_t>(shorter * height / least, 1));
  };
  beginStage(size.width, size.height);
  bool isClosed = false;
  for (size_t i = first; i < end; ++i) {
    const Step &step = steps[i];
    auto [width, height] = getSize();
    bool isCrop = step.kind == Kind::Crop || step.kind == Kind::CenterCrop;
    if (isCrop && (step.width > width || step.height > height))
      throw badInput(where,
                     "the picture has " + std::to_string(width) + " x " +
                         std::to_string(height) + " pixels where " +
                         std::to_string(step.width) + " x " +
                         std::to_string(step.height) + " are cropped",
                     "resize it before, as in --input " + name +
                         "=decode,resize:" + std::to_string(step.height) +
                         ",crop:" + std::to_string(step.height));
    // What comes after a step on pixels takes its result; that does not depend
    // on what was drawn.
    if (isOfPixels(step.kind)) {
      isClosed = true;
      if (context.isTraining)
        addOperations(step, width, height, draws, pixels,
                      result.stages.back().operations);
      continue;
    }
    if (isClosed && step.kind != Kind::Erasing) {
      beginStage(width, height);
      isClosed = false;
    }
    switch (step.kind) {
    case Kind::Resize:
      if (step.width == 0)
        resizeShorter(step.height);
      else
        resizeBoth(step.width, step.height);
      break;
    case Kind::Crop:
      if (context.isTraining) {
        int64_t top = draws.below(height - step.height + 1);
        int64_t left = draws.below(width - step.width + 1);
        cutBoth(left, top, step.width, step.height);
        break;
      }
      [[fallthrough]];
    case Kind::CenterCrop:
      cutCenter(step.width, step.height);
      break;
    case Kind::ResizedCrop:
      if (context.isTraining) {
        Area area = drawArea(step.settings, width, height, draws);
        cutBoth(area.x, area.y, area.width, area.height);
      } else {
        // What such a model is evaluated on: 224 from 256.
        resizeShorter(std::max(step.width, step.height) * 8 / 7);
        cutCenter(std::min(step.width, getSize().width),
                  std::min(step.height, getSize().height));
      }
      resizeBoth(step.width, step.height);
      break;
    case Kind::Pad:
      cutBoth(-step.width, -step.height, width + 2 * step.width,
              height + 2 * step.height);
      break;
    case Kind::Flip:
      if (context.isTraining && draws.happens(step.settings.p))
        getGeometry().isFlipped = !getGeometry().isFlipped;
      break;
    case Kind::FlipRows:
      if (context.isTraining && draws.happens(step.settings.p))
        getGeometry().hasFlippedRows = !getGeometry().hasFlippedRows;
      break;
    case Kind::Erasing:
      if (!context.isTraining)
        break;
      if (auto part = drawErased(step.settings, width, height, pixels)) {
        part->isNormalized = step.isNormalized;
        result.erased.push_back(*part);
      }
      break;
    default:
      break;
    }
  }
  return result;
}

std::optional<size_t> Recipe::countFixed(bool isTraining) const {
  size_t fixed = 0;
  while (fixed < steps.size() && !(isTraining && isRandom(steps[fixed].kind)))
    ++fixed;
  // A picture that is resized twice is not one that is resized once, unless a
  // step on pixels comes in between.
  for (size_t i = fixed; i < steps.size() && !isOfPixels(steps[i].kind); ++i)
    if (steps[i].kind == Kind::Resize || steps[i].kind == Kind::ResizedCrop)
      return std::nullopt;
  return fixed;
}

Recipe::Flips Recipe::makePicture(const Plan &plan, const Picture &from,
                                  bool isMask, Workspace &workspace) {
  const Picture *source = &from;
  Picture &made = workspace.made, &scratch = workspace.scratch;
  for (const Stage &stage : plan.stages) {
    if (source != &from)
      std::swap(made, workspace.previous);
    const Geometry &geometry = stage.geometry;
    if (isMask)
      resampleNearest(*source, geometry.x, geometry.y, made);
    else
      resample(*source, geometry.x, geometry.y, made, workspace.resample);
    source = &workspace.previous;
    bool isLast = &stage == &plan.stages.back();
    if (isLast && stage.operations.empty())
      return {geometry.isFlipped, geometry.hasFlippedRows};
    if (geometry.isFlipped || geometry.hasFlippedRows) {
      turn(made, {geometry.isFlipped, geometry.hasFlippedRows, false}, scratch);
      std::swap(made, scratch);
    }
    for (Operation operation : stage.operations) {
      if (isMask && operation.changesColors())
        continue;
      operation.isBilinear &= !isMask;
      ingot::runtime::apply(operation, made, scratch);
    }
  }
  return {};
}
