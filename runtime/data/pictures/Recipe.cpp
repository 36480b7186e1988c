// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/Recipe.h"

#include "runtime/core/Error.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ingot::runtime;

/// Distinguishes the streams of samples from other uses of the seed.
static constexpr uint64_t kStreamBase = uint64_t(1) << 62;
static constexpr int kSampleBits = 40;

namespace {

/// The random numbers of a sample.
class Draws {
public:
  explicit Draws(const SampleContext &context)
      : random(context.seed,
               kStreamBase |
                   (static_cast<uint64_t>(context.epoch) << kSampleBits &
                    (kStreamBase - 1)) |
                   static_cast<uint64_t>(context.sample)) {}

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  }
  double uniform(double low, double high) {
    return low + (high - low) *
                     (static_cast<double>(random.next64() >> 11) * 0x1p-53);
  }
  bool flip() { return random.next() >> 31 != 0; }

private:
  Philox random;
};

} // namespace

/// Cuts `count` of the elements from `at` on.
static void cut(AxisMap &axis, int64_t at, int64_t count) {
  axis.start += static_cast<double>(at) * axis.step;
  axis.count = count;
}

static void resize(AxisMap &axis, int64_t count) {
  axis.step *= static_cast<double>(axis.count) / static_cast<double>(count);
  axis.count = count;
}

/// The part of a picture that `random-resized-crop` takes: of 8 to 100 % of the
/// area, with sides from 3 : 4 to 4 : 3, as torchvision draws it.
static Area drawArea(int64_t width, int64_t height, Draws &draws) {
  constexpr int tries = 10;
  double area = static_cast<double>(width) * static_cast<double>(height);
  for (int i = 0; i < tries; ++i) {
    double some = area * draws.uniform(0.08, 1);
    double ratio =
        std::exp(draws.uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
    int64_t w = std::lround(std::sqrt(some * ratio));
    int64_t h = std::lround(std::sqrt(some / ratio));
    if (w > 0 && h > 0 && w <= width && h <= height)
      return {draws.below(width - w + 1), draws.below(height - h + 1), w, h};
  }
  int64_t side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side};
}

Recipe::Geometry Recipe::plan(const PictureSize &size, size_t first, size_t end,
                              const SampleContext &context,
                              const std::string &where) const {
  Geometry result;
  AxisMap &x = result.x, &y = result.y;
  x.count = size.width;
  y.count = size.height;
  Draws draws(context);
  auto cutBoth = [&](int64_t left, int64_t top, int64_t width, int64_t height) {
    // A flipped picture is cut from its other side.
    cut(x, result.isFlipped ? x.count - left - width : left, width);
    cut(y, top, height);
  };
  auto cutCenter = [&](int64_t width, int64_t height) {
    cutBoth((x.count - width) / 2, (y.count - height) / 2, width, height);
  };
  auto resizeShorter = [&](int64_t shorter) {
    int64_t least = std::min(x.count, y.count);
    int64_t width = shorter * x.count / least,
            height = shorter * y.count / least;
    resize(x, std::max<int64_t>(width, 1));
    resize(y, std::max<int64_t>(height, 1));
  };
  for (size_t i = first; i < end; ++i) {
    const Step &step = steps[i];
    bool isCrop = step.kind == Kind::Crop || step.kind == Kind::CenterCrop;
    if (isCrop && (step.width > x.count || step.height > y.count))
      throw badInput(where,
                     "the picture has " + std::to_string(x.count) + " x " +
                         std::to_string(y.count) + " pixels where " +
                         std::to_string(step.width) + " x " +
                         std::to_string(step.height) + " are cropped",
                     "resize it before, as in --input " + name +
                         "=decode,resize:" + std::to_string(step.height) +
                         ",crop:" + std::to_string(step.height));
    switch (step.kind) {
    case Kind::Resize:
      if (step.width == 0) {
        resizeShorter(step.height);
      } else {
        resize(x, step.width);
        resize(y, step.height);
      }
      break;
    case Kind::Crop:
      if (context.isTraining) {
        int64_t top = draws.below(y.count - step.height + 1);
        int64_t left = draws.below(x.count - step.width + 1);
        cutBoth(left, top, step.width, step.height);
        break;
      }
      [[fallthrough]];
    case Kind::CenterCrop:
      cutCenter(step.width, step.height);
      break;
    case Kind::ResizedCrop:
      if (context.isTraining) {
        Area area = drawArea(x.count, y.count, draws);
        cutBoth(area.x, area.y, area.width, area.height);
        resize(x, step.width);
        resize(y, step.height);
      } else {
        // What such a model is evaluated on: 224 from 256.
        resizeShorter(std::max(step.width, step.height) * 8 / 7);
        cutCenter(std::min(step.width, x.count),
                  std::min(step.height, y.count));
        resize(x, step.width);
        resize(y, step.height);
      }
      break;
    case Kind::Pad:
      cut(x, -step.width, x.count + 2 * step.width);
      cut(y, -step.height, y.count + 2 * step.height);
      break;
    case Kind::Flip:
      if (context.isTraining && draws.flip())
        result.isFlipped = !result.isFlipped;
      break;
    }
  }
  return result;
}

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
  // The last step that fixes a size.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind == Kind::Flip)
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

std::optional<size_t> Recipe::countFixed(bool isTraining) const {
  size_t fixed = 0;
  for (; fixed < steps.size(); ++fixed) {
    Kind kind = steps[fixed].kind;
    if (isTraining &&
        (kind == Kind::Crop || kind == Kind::ResizedCrop || kind == Kind::Flip))
      break;
  }
  // A picture that is resized twice is not one that is resized once.
  for (size_t i = fixed; i < steps.size(); ++i)
    if (steps[i].kind == Kind::Resize || steps[i].kind == Kind::ResizedCrop)
      return std::nullopt;
  return fixed;
}

void Recipe::decode(const Value &value, const PixelFormat &format,
                    const PictureSize &size, Geometry &geometry,
                    Picture &decoded, const std::string &where) {
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
  int64_t reduced = 1;
  auto shrink = static_cast<int64_t>(std::min({x.step, y.step, 8.0}));
  Area held =
      decodePicture(value.bytes, format, area, shrink, decoded, reduced, where);
  for (auto [axis, first] : {std::pair(&x, held.x), std::pair(&y, held.y)}) {
    axis->start =
        axis->start / static_cast<double>(reduced) - static_cast<double>(first);
    axis->step /= static_cast<double>(reduced);
  }
}

void Recipe::makeKept(const Value &value, const PixelFormat &format,
                      size_t fixed, const SampleContext &context,
                      Workspace &workspace, const std::string &where) const {
  // The version of what is kept, and all that it depends on.
  std::string made = format.isGray ? "2 gray" : "2 color";
  if (format.isDeep)
    made += " deep";
  for (size_t i = 0; i < fixed; ++i)
    made += " " + std::to_string(static_cast<int>(steps[i].kind)) + ":" +
            std::to_string(steps[i].height) + "x" +
            std::to_string(steps[i].width);
  PictureCache::Key key = PictureCache::makeKey(value.bytes, made);
  Picture &kept = workspace.kept;
  if (workspace.cache->find(key, kept))
    return;
  PictureSize size = readPictureSize(value.bytes, where);
  Geometry geometry = plan(size, 0, fixed, context, where);
  decode(value, format, size, geometry, workspace.decoded, where);
  resample(workspace.decoded, geometry.x, geometry.y, kept, workspace.resample);
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
  Picture &decoded = workspace.decoded;
  Geometry geometry;
  std::optional<size_t> fixed;
  if (workspace.cache && value.kind == Value::Kind::Bytes)
    fixed = countFixed(context.isTraining);
  PixelFormat format;
  format.isGray = layout.channels == 1;
  format.isDeep = isFloat(input.dtype);
  const Picture *from = &decoded;
  if (fixed) {
    makeKept(value, format, *fixed, context, workspace, where);
    from = &workspace.kept;
    geometry =
        plan({from->width, from->height}, *fixed, steps.size(), context, where);
  } else if (value.kind == Value::Kind::Bytes) {
    PictureSize size = readPictureSize(value.bytes, where);
    geometry = plan(size, 0, steps.size(), context, where);
    decode(value, format, size, geometry, decoded, where);
  } else if (readArray(value, layout.channels, decoded)) {
    geometry =
        plan({decoded.width, decoded.height}, 0, steps.size(), context, where);
  } else {
    throw badInput(where,
                   "a recipe takes a picture, or an array of u8 with its "
                   "colors first or last; this is " +
                       value.describe(),
                   "leave --input " + name + " out");
  }
  if (geometry.x.count != layout.width || geometry.y.count != layout.height)
    throw badInput(where,
                   "the picture has " + std::to_string(geometry.y.count) +
                       " x " + std::to_string(geometry.x.count) +
                       " pixels in the end, the model's input " +
                       std::to_string(layout.height) + " x " +
                       std::to_string(layout.width),
                   "add resize:" + std::to_string(layout.height) + "x" +
                       std::to_string(layout.width) + " to --input " + name);
  resample(*from, geometry.x, geometry.y, workspace.made, workspace.resample);
  writePicture(workspace.made, geometry.isFlipped, input, place, workspace);
}

void Recipe::writePicture(const Picture &picture, bool isFlipped,
                          const InputSpec &input, char *place,
                          Workspace &workspace) const {
  PictureLayout layout = getPictureLayout(input);
  const PixelLoops &loops = getPixelLoops();
  bool isScaled = isFloat(input.dtype);
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
      const uint8_t *pixel = picture.getRow(y) + c * bytes;
      if (isFlipped) {
        pixel += (width - 1) * step;
        step = -step;
      }
      bool isDirect = layout.isPlanar && input.dtype == DType::F32;
      char *to =
          place + (layout.isPlanar ? (c * layout.height + y) * width * size
                                   : (y * width * layout.channels + c) * size);
      auto *values = isDirect ? reinterpret_cast<float *>(to) : row.data();
      if (picture.step == 4)
        loops.convertColor(pixel - c, static_cast<int>(c), isFlipped, scale,
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
  constexpr int64_t ignored = -100;
  int64_t size = getSize(input.dtype);
  auto bytes =
      value.bytes.substr(std::min<size_t>(isNext ? 1 : 0, value.bytes.size()));
  for (int64_t i = 0; i < input.shape[1]; ++i) {
    bool isThere = static_cast<size_t>(i) < bytes.size();
    int64_t token = isThere
                        ? static_cast<uint8_t>(bytes[static_cast<size_t>(i)])
                    : input.kind == InputKind::Labels ? ignored
                                                      : 0;
    convert(&token, DType::I64, place + i * size, input.dtype, 1);
  }
}
