// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/recipes/Recipe.h"
#include "runtime/data/pictures/formats/Decode.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ingot::runtime;

PictureLayout ingot::runtime::getPictureLayout(const InputSpec &input) {
  std::vector<int64_t> shape(input.shape.begin() + 1, input.shape.end());
  auto isColors = [](int64_t extent) { return extent == 1 || extent == 3; };
  if (shape.size() == 2)
    return {1, shape[0], shape[1], true};
  if (shape.size() == 3 && isColors(shape[0]))
    return {shape[0], shape[1], shape[2], true};
  if (shape.size() == 3 && isColors(shape[2]))
    return {shape[2], shape[0], shape[1], false};
  return {0, 0, 0, true};
}

void Recipe::check(const InputSpec &input) const {
  std::string where = "--input " + name;
  // How inputs of sequences fit together is checked by findLeader.
  if (isEmpty() || sequence)
    return;
  if (classes >= 0) {
    bool fits = input.shape.size() == 2 && isFloat(input.dtype) &&
                (classes == 0 || classes == input.shape[1]);
    if (!fits)
      throw usageError(where,
                       "one-hot feeds inputs [N, CLASSES] of floating-point "
                       "numbers; this one is not, or has other classes",
                       "take labels as they are where the loss takes classes");
    return;
  }
  if (takesText) {
    if (input.shape.size() == 2 && !isFloat(input.dtype))
      return;
    throw usageError(where, "text feeds inputs of integers [N, T]",
                     "leave the step 'bytes' out");
  }
  PictureLayout layout = getPictureLayout(input);
  if (layout.channels == 0)
    throw usageError(where,
                     "the input is no picture: it is neither [N, 3, H, W] nor "
                     "[N, 1, H, W], [N, H, W, 3] or [N, H, W]",
                     "give a recipe for an input that is one");
  if (means.size() > 1 && means.size() != static_cast<size_t>(layout.channels))
    throw usageError(where,
                     "normalize has " + std::to_string(means.size()) +
                         " values, the input " +
                         std::to_string(layout.channels) + " colors",
                     "give one value for each color, or one for all");
  if (hasMask && layout.channels != 1)
    throw usageError(where, "a mask has no colors, but the input has",
                     "leave the step 'mask' out");
  for (const Step &step : steps)
    for (const std::vector<double> *color :
         {&step.settings.fill, &step.settings.value})
      if (color->size() > 1 &&
          color->size() != static_cast<size_t>(layout.channels))
        throw usageError(where,
                         "a color has " + std::to_string(color->size()) +
                             " values, the input " +
                             std::to_string(layout.channels),
                         "give one value for each color, or one for all");
  // The last step that fixes a size.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind >= Kind::Flip)
      continue;
    if (step->kind == Kind::Pad || step->width == 0)
      return;
    if (step->width != layout.width || step->height != layout.height)
      throw usageError(where,
                       "the recipe makes " + std::to_string(step->height) +
                           " x " + std::to_string(step->width) +
                           " pixels, the input has " +
                           std::to_string(layout.height) + " x " +
                           std::to_string(layout.width),
                       "crop or resize to the input's size");
    return;
  }
}

/// Makes a picture of an array of bytes. Returns whether it is one.
static bool readArray(const Value &value, int64_t channels, Picture &picture) {
  const std::vector<int64_t> &shape = value.shape;
  bool isPlanar = shape.size() == 3 && shape[0] == channels;
  bool isMixed = !isPlanar && shape.size() == 3 && shape[2] == channels;
  bool isFlat = shape.size() == 2 && channels == 1;
  if (value.kind != Value::Kind::Elements || value.dtype != DType::U8 ||
      !(isPlanar || isMixed || isFlat) || value.getElements() == 0)
    return false;
  picture.height = isPlanar ? shape[1] : shape[0];
  picture.width = isPlanar ? shape[2] : shape[1];
  picture.step = channels == 1 ? 1 : 4;
  int64_t pixels = picture.width * picture.height;
  picture.pixels.assign(static_cast<size_t>(pixels * picture.step), 0);
  auto *bytes = reinterpret_cast<const uint8_t *>(value.bytes.data());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < pixels; ++i)
      picture.pixels[static_cast<size_t>(i * picture.step + c)] =
          bytes[isPlanar ? c * pixels + i : i * channels + c];
  return true;
}

/// Throws badInput if a mask has values that the input cannot hold.
static void checkMask(const Picture &mask, const InputSpec &input,
                      const std::string &where) {
  int64_t most = INT64_MAX;
  if (input.dtype == DType::U8)
    most = UINT8_MAX;
  else if (input.dtype == DType::I8)
    most = INT8_MAX;
  else if (input.dtype == DType::I16)
    most = INT16_MAX;
  for (int64_t i = 0; i < mask.width * mask.height; ++i) {
    const uint8_t *pixel = mask.pixels.data() + i * mask.step;
    int64_t value =
        mask.isDeep() ? *reinterpret_cast<const uint16_t *>(pixel) : *pixel;
    if (value > most)
      throw badInput(where,
                     "the mask has the value " + std::to_string(value) +
                         ", which the input's type cannot hold",
                     "compile a model whose input has a wider type");
  }
}

bool Recipe::isMask(const InputSpec &input) const {
  bool isLabel = getPictureLayout(input).channels == 1 &&
                 !isFloat(input.dtype) && input.dtype != DType::U8;
  return hasMask || isLabel;
}

PictureSize Recipe::readSize(const Value &value, Orientation &orientation,
                             Workspace &workspace,
                             const std::string &where) const {
  PictureSize size = readPictureSize(value.bytes, where);
  if (!isOriented) {
    // Said once: further pictures need not be looked at.
    if (!workspace.hasTurned)
      workspace.hasTurned = !readOrientation(value.bytes).isUpright();
    return size;
  }
  orientation = readOrientation(value.bytes);
  if (orientation.isTransposed)
    std::swap(size.width, size.height);
  return size;
}

void Recipe::decode(const Value &value, const PixelFormat &format,
                    const PictureSize &size, const Orientation &orientation,
                    bool isMask, Geometry &geometry, Workspace &workspace,
                    const std::string &where) {
  AxisMap &x = geometry.x, &y = geometry.y;
  // The pixels that the result depends on.
  auto getRange = [](const AxisMap &axis, int64_t pixels, int64_t &first,
                     int64_t &count) {
    double support = axis.getSupport(), most = static_cast<double>(pixels);
    double end = axis.start + static_cast<double>(axis.count) * axis.step;
    first = static_cast<int64_t>(
        std::clamp(std::floor(axis.start - support), 0.0, most - 1));
    count =
        static_cast<int64_t>(std::clamp(std::ceil(end + support),
                                        static_cast<double>(first) + 1, most)) -
        first;
  };
  Area area;
  getRange(x, size.width, area.x, area.width);
  getRange(y, size.height, area.y, area.height);
  // The same pixels where they are stored.
  PictureSize stored = size;
  if (orientation.isTransposed) {
    area = {area.y, area.x, area.height, area.width};
    stored = {size.height, size.width};
  }
  if (orientation.mirrorsColumns)
    area.x = stored.width - area.x - area.width;
  if (orientation.mirrorsRows)
    area.y = stored.height - area.y - area.height;
  int64_t reduced = 1;
  // Means of classes are no classes.
  auto shrink =
      isMask ? 1 : static_cast<int64_t>(std::min({x.step, y.step, 8.0}));
  Picture &decoded = workspace.decoded;
  Area held =
      decodePicture(value.bytes, format, area, shrink, decoded, reduced, where);
  // Where what is held begins, in pixels of the whole picture: of mirrored
  // ones, at its other side.
  int64_t left = orientation.mirrorsColumns
                     ? stored.width - (held.x + held.width) * reduced
                     : held.x * reduced;
  int64_t top = orientation.mirrorsRows
                    ? stored.height - (held.y + held.height) * reduced
                    : held.y * reduced;
  if (orientation.isTransposed)
    std::swap(left, top);
  if (!orientation.isUpright()) {
    turn(decoded, orientation, workspace.scratch);
    std::swap(decoded, workspace.scratch);
  }
  for (auto [axis, first] : {std::pair(&x, left), std::pair(&y, top)}) {
    axis->start = (axis->start - static_cast<double>(first)) /
                  static_cast<double>(reduced);
    axis->step /= static_cast<double>(reduced);
  }
}

void Recipe::makeKept(const Value &value, const PixelFormat &format,
                      bool isMask, size_t fixed, const SampleContext &context,
                      Workspace &workspace, const std::string &where) const {
  // The version of what is kept, and all that it depends on.
  std::string made = format.isGray ? "2 gray" : "2 color";
  for (auto [is, word] :
       {std::pair(format.isDeep, " deep"), std::pair(format.isRaw, " raw"),
        std::pair(isMask, " mask"), std::pair(isOriented, " upright")})
    if (is)
      made += word;
  for (size_t i = 0; i < fixed; ++i)
    made += " " + std::to_string(static_cast<int>(steps[i].kind)) + ":" +
            std::to_string(steps[i].height) + "x" +
            std::to_string(steps[i].width);
  PictureCache::Key key = PictureCache::makeKey(value.bytes, made);
  Picture &kept = workspace.kept;
  if (workspace.cache->find(key, kept))
    return;
  Orientation orientation;
  PictureSize size = readSize(value, orientation, workspace, where);
  // Before the first random step there is one stage, without operations.
  Plan first = plan(size, 0, fixed, context, where);
  decode(value, format, size, orientation, isMask, first.stages[0].geometry,
         workspace, where);
  makePicture(first, workspace.decoded, isMask, workspace);
  std::swap(workspace.made, kept);
  workspace.cache->add(key, kept);
}

void Recipe::apply(const Value &value, const InputSpec &input, char *place,
                   const SampleContext &context, Workspace &workspace,
                   const std::string &where) const {
  if (takesText) {
    writeText(value, input, place);
    return;
  }
  if (classes >= 0) {
    writeOneHot(value, input, place, workspace, where);
    return;
  }
  PictureLayout layout = getPictureLayout(input);
  std::optional<size_t> fixed;
  if (workspace.cache && value.kind == Value::Kind::Bytes)
    fixed = countFixed(context.isTraining);
  PixelFormat format{layout.channels == 1, isFloat(input.dtype) || hasMask,
                     hasMask};
  bool isMask = this->isMask(input);
  const Picture *from = &workspace.decoded;
  Plan steps;
  if (fixed) {
    makeKept(value, format, isMask, *fixed, context, workspace, where);
    from = &workspace.kept;
    steps = plan({from->width, from->height}, *fixed, this->steps.size(),
                 context, where);
  } else if (value.kind == Value::Kind::Bytes) {
    Orientation orientation;
    PictureSize size = readSize(value, orientation, workspace, where);
    steps = plan(size, 0, this->steps.size(), context, where);
    decode(value, format, size, orientation, isMask, steps.stages[0].geometry,
           workspace, where);
  } else if (readArray(value, layout.channels, workspace.decoded)) {
    steps = plan({from->width, from->height}, 0, this->steps.size(), context,
                 where);
  } else {
    throw badInput(where,
                   "a recipe takes a picture, or an array of u8 with its "
                   "colors first or last; this is " +
                       value.describe(),
                   "leave --input " + name + " out");
  }
  const Geometry &last = steps.stages.back().geometry;
  if (last.x.count != layout.width || last.y.count != layout.height)
    throw badInput(where,
                   "the picture has " + std::to_string(last.y.count) + " x " +
                       std::to_string(last.x.count) +
                       " pixels in the end, the model's input " +
                       std::to_string(layout.height) + " x " +
                       std::to_string(layout.width),
                   "add resize:" + std::to_string(layout.height) + "x" +
                       std::to_string(layout.width) + " to --input " + name);
  Flips flips = makePicture(steps, *from, isMask, workspace);
  if (hasMask)
    checkMask(workspace.made, input, where);
  writePicture(workspace.made, flips, input, place, workspace);
  if (steps.erased.empty() || isMask)
    return;
  Draws noise(context, Draws::Use::Noise);
  for (const ErasedPart &part : steps.erased)
    erase(part, input, place, noise);
}

void Recipe::writePicture(const Picture &picture, const Flips &flips,
                          const InputSpec &input, char *place,
                          Workspace &workspace) const {
  PictureLayout layout = getPictureLayout(input);
  const PixelLoops &loops = getPixelLoops();
  bool isScaled = isFloat(input.dtype) && !hasMask;
  int64_t size = getSize(input.dtype), width = layout.width;
  std::vector<float> &row = workspace.row;
  row.resize(static_cast<size_t>(width));
  for (int64_t c = 0; c < layout.channels; ++c) {
    auto color = static_cast<size_t>(c);
    double mean = means.empty() ? 0 : means[color % means.size()];
    double deviation =
        deviations.empty() ? 1 : deviations[color % deviations.size()];
    double most = picture.isDeep() ? 65535 : 255;
    auto scale = static_cast<float>(isScaled ? 1 / (most * deviation) : 1);
    auto shift = static_cast<float>(isScaled ? -mean / deviation : 0);
    for (int64_t y = 0; y < layout.height; ++y) {
      // Deep samples are two bytes.
      int64_t bytes = picture.isDeep() ? 2 : 1, step = picture.step;
      const uint8_t *pixel =
          picture.getRow(flips.rows ? layout.height - 1 - y : y) + c * bytes;
      if (flips.columns) {
        pixel += (width - 1) * step;
        step = -step;
      }
      bool isDirect = layout.isPlanar && input.dtype == DType::F32;
      char *to =
          place + (layout.isPlanar ? (c * layout.height + y) * width * size
                                   : (y * width * layout.channels + c) * size);
      auto *values = isDirect ? reinterpret_cast<float *>(to) : row.data();
      if (picture.step == 4)
        loops.convertColor(pixel - c, static_cast<int>(c), flips.columns, scale,
                           shift, values, width);
      else if (picture.isDeep())
        for (int64_t x = 0; x < width; ++x)
          values[x] = static_cast<float>(*reinterpret_cast<const uint16_t *>(
                          pixel + x * step)) *
                          scale +
                      shift;
      else
        for (int64_t x = 0; x < width; ++x)
          values[x] = static_cast<float>(pixel[x * step]) * scale + shift;
      if (isDirect)
        continue;
      if (layout.isPlanar)
        convert(row.data(), DType::F32, to, input.dtype, width);
      else
        for (int64_t x = 0; x < width; ++x)
          convert(&row[static_cast<size_t>(x)], DType::F32,
                  to + x * layout.channels * size, input.dtype, 1);
    }
  }
}

void Recipe::erase(const ErasedPart &part, const InputSpec &input, char *place,
                   Draws &draws) const {
  PictureLayout layout = getPictureLayout(input);
  int64_t size = getSize(input.dtype);
  const Area &area = part.area;
  std::vector<float> row(static_cast<size_t>(area.width));
  for (int64_t c = 0; c < layout.channels; ++c) {
    auto color = static_cast<size_t>(c);
    double mean = 0, deviation = 1;
    if (!part.isNormalized && !means.empty()) {
      mean = means[color % means.size()];
      deviation = deviations[color % deviations.size()];
    }
    auto normalize = [&](double value) {
      return static_cast<float>((value - mean) / deviation);
    };
    if (!part.isNoise)
      std::fill(row.begin(), row.end(),
                normalize(part.value[color % part.value.size()]));
    for (int64_t y = area.y; y < area.y + area.height; ++y) {
      if (part.isNoise)
        for (float &value : row)
          value = normalize(draws.normal());
      for (int64_t x = 0; x < area.width; ++x) {
        int64_t column = area.x + x;
        int64_t at = layout.isPlanar
                         ? (c * layout.height + y) * layout.width + column
                         : (y * layout.width + column) * layout.channels + c;
        convert(&row[static_cast<size_t>(x)], DType::F32, place + at * size,
                input.dtype, 1);
      }
    }
  }
}

void Recipe::writeOneHot(const Value &value, const InputSpec &input,
                         char *place, Workspace &workspace,
                         const std::string &where) const {
  int64_t count = input.shape[1], label = -1;
  bool isClass = value.kind == Value::Kind::Elements &&
                 value.getElements() == 1 && !isFloat(value.dtype);
  if (isClass)
    convert(value.bytes.data(), value.dtype, &label, DType::I64, 1);
  if (label < 0 || label >= count)
    throw badInput(where,
                   isClass ? "the label is " + std::to_string(label) +
                                 ", outside 0 to " + std::to_string(count - 1)
                           : "one-hot takes one integer, this is " +
                                 value.describe(),
                   "correct the label");
  auto each = static_cast<float>(smoothing / static_cast<double>(count));
  workspace.row.assign(static_cast<size_t>(count), each);
  workspace.row[static_cast<size_t>(label)] +=
      static_cast<float>(1 - smoothing);
  convert(workspace.row.data(), DType::F32, place, input.dtype, count);
}

void Recipe::writeText(const Value &value, const InputSpec &input,
                       char *place) const {
  int64_t size = getSize(input.dtype);
  auto bytes =
      value.bytes.substr(std::min<size_t>(isNext ? 1 : 0, value.bytes.size()));
  for (int64_t i = 0; i < input.shape[1]; ++i) {
    bool isThere = static_cast<size_t>(i) < bytes.size();
    int64_t token = isThere
                        ? static_cast<uint8_t>(bytes[static_cast<size_t>(i)])
                    : input.kind == InputKind::Labels ? input.getIgnored()
                                                      : 0;
    convert(&token, DType::I64, place + i * size, input.dtype, 1);
  }
}
