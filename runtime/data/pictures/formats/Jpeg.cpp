// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JPEG through libjpeg-turbo. Of a picture that is cropped afterwards only the
// rows and blocks that are needed are decoded, and a picture that is made much
// smaller is decoded at a half, a quarter or an eighth of its size.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

using namespace ingot::runtime;

namespace {

/// The library's errors come back here by longjmp: functions that call it hold
/// nothing that has a destructor.
struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  /// The first that went wrong without ending the work: data that were made up.
  char warning[JMSG_LENGTH_MAX];
};

} // namespace

static Decoder &getDecoder(j_common_ptr info) {
  return *static_cast<Decoder *>(info->client_data);
}

static void fail(j_common_ptr info) {
  Decoder &decoder = getDecoder(info);
  info->err->format_message(info, decoder.message);
  std::longjmp(decoder.escape, 1);
}

static void noteWarning(j_common_ptr info, int level) {
  if (level >= 0)
    return;
  Decoder &decoder = getDecoder(info);
  // Extraneous bytes between the parts of a file are harmless and common.
  int code = info->err->msg_code;
  if (info->err->num_warnings++ == 0 && code != JWRN_EXTRANEOUS_DATA &&
      code != JWRN_ADOBE_XFORM)
    info->err->format_message(info, decoder.warning);
}

static void ignoreMessage(j_common_ptr info) {}

/// Ends pictures that describe the same pixels again and again.
static void limitScans(j_common_ptr info) {
  constexpr int mostScans = 100;
  Decoder &decoder = getDecoder(info);
  if (decoder.info.input_scan_number <= mostScans)
    return;
  std::snprintf(decoder.message, sizeof(decoder.message), "more than %d scans",
                mostScans);
  std::longjmp(decoder.escape, 1);
}

static void start(Decoder &decoder, std::string_view bytes) {
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = fail;
  decoder.errors.emit_message = noteWarning;
  decoder.errors.output_message = ignoreMessage;
  decoder.message[0] = decoder.warning[0] = 0;
  decoder.info.client_data = &decoder;
}

/// Reads the header. Returns whether that succeeded.
static bool readHeader(Decoder &decoder, const char *bytes, size_t size) {
  if (setjmp(decoder.escape))
    return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, reinterpret_cast<const unsigned char *>(bytes),
               static_cast<unsigned long>(size));
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

/// Starts the decoder with the settings in `info`, for columns from `*x` on,
/// which are moved to whole blocks. Returns whether that succeeded.
static bool startOutput(Decoder &decoder, JDIMENSION *x, JDIMENSION *width) {
  if (setjmp(decoder.escape))
    return false;
  decoder.progress.progress_monitor = limitScans;
  decoder.info.progress = &decoder.progress;
  jpeg_start_decompress(&decoder.info);
  if (*width < decoder.info.output_width)
    jpeg_crop_scanline(&decoder.info, x, width);
  return true;
}

/// Leaves out `count` rows. Returns whether that succeeded.
static bool skipRows(Decoder &decoder, JDIMENSION count) {
  if (setjmp(decoder.escape))
    return false;
  if (count != 0)
    jpeg_skip_scanlines(&decoder.info, count);
  return true;
}

/// Reads `count` rows. Returns whether that succeeded.
static bool readRows(Decoder &decoder, JDIMENSION count, uint8_t *to,
                     size_t rowBytes) {
  if (setjmp(decoder.escape))
    return false;
  for (JDIMENSION done = 0; done < count;) {
    constexpr JDIMENSION most = 8;
    JSAMPROW rows[most];
    JDIMENSION some = std::min(most, count - done);
    for (JDIMENSION i = 0; i < some; ++i)
      rows[i] = to + (done + i) * rowBytes;
    done += jpeg_read_scanlines(&decoder.info, rows, some);
  }
  return true;
}

namespace {

/// Frees what the library holds.
struct Cleanup {
  Decoder &decoder;
  ~Cleanup() { jpeg_destroy_decompress(&decoder.info); }
};

} // namespace

static Error makeError(const Decoder &decoder, const std::string &where) {
  return badPicture(
      where, std::string("the JPEG picture is damaged: ") +
                 (decoder.message[0] ? decoder.message : decoder.warning));
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  Decoder decoder{};
  start(decoder, bytes);
  Cleanup cleanup{decoder};
  if (!readHeader(decoder, bytes.data(), bytes.size()))
    throw makeError(decoder, where);
  checkSize(decoder.info.image_width, decoder.info.image_height, where);
  return {decoder.info.image_width, decoder.info.image_height};
}

/// Makes red, green and blue of inverted cyan, magenta, yellow and black, which
/// all programs write as Adobe's.
static void convertInks(uint8_t *pixels, int64_t count) {
  for (int64_t i = 0; i < count; ++i, pixels += 4)
    for (int64_t c = 0; c < 3; ++c) {
      // Divided by 255 and rounded, as Pillow does.
      int product = (255 - pixels[c]) * pixels[3] + 128;
      pixels[c] =
          static_cast<uint8_t>(pixels[3] - (((product >> 8) + product) >> 8));
    }
}

/// Chooses what the library converts pixels to. Returns how these lie.
static RowLayout chooseLayout(jpeg_decompress_struct &info,
                              const std::string &where) {
  switch (info.num_components) {
  case 1:
    info.out_color_space = JCS_GRAYSCALE;
    return {};
  case 3:
    info.out_color_space = JCS_EXT_RGBX;
    return {4, 0, 1, 2};
  case 4:
    info.out_color_space = JCS_CMYK;
    return {4, 0, 1, 2};
  default:
    throw badPicture(where, "the JPEG picture has " +
                                std::to_string(info.num_components) +
                                " components");
  }
}

static Area decodeArea(std::string_view bytes, const PixelFormat &format,
                       const Area &area, int64_t shrink, Picture &picture,
                       int64_t &reduced, const std::string &where) {
  Decoder decoder{};
  start(decoder, bytes);
  Cleanup cleanup{decoder};
  if (!readHeader(decoder, bytes.data(), bytes.size()))
    throw makeError(decoder, where);
  jpeg_decompress_struct &info = decoder.info;
  checkSize(info.image_width, info.image_height, where);
  reduced = 1;
  while (reduced * 2 <= std::min<int64_t>(shrink, 8))
    reduced *= 2;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(reduced);
  RowLayout layout = chooseLayout(info, where);
  // The columns next to a cut are smoothed from one side alone: two more.
  constexpr int64_t margin = 2;
  int64_t whole = (info.image_width + reduced - 1) / reduced;
  int64_t rows = (info.image_height + reduced - 1) / reduced;
  int64_t left = std::max<int64_t>(area.x / reduced - margin, 0);
  int64_t right =
      std::min((area.x + area.width + reduced - 1) / reduced + margin, whole);
  int64_t top = std::max<int64_t>(area.y / reduced - margin, 0);
  int64_t bottom =
      std::min((area.y + area.height + reduced - 1) / reduced + margin, rows);
  auto x = static_cast<JDIMENSION>(left);
  auto width = static_cast<JDIMENSION>(right - left);
  if (!startOutput(decoder, &x, &width))
    throw makeError(decoder, where);
  preparePicture(info.output_width, bottom - top, layout, format, picture,
                 where);
  auto rowBytes = static_cast<size_t>(picture.width * layout.step);
  // Rows that need no conversion are read in place, the others a few at a time.
  bool isDirect = picture.step == layout.step;
  constexpr int64_t some = 8;
  std::vector<uint8_t> buffer(isDirect ? 0 : rowBytes * some);
  bool isGood = skipRows(decoder, static_cast<JDIMENSION>(top));
  for (int64_t y = 0; isGood && y < picture.height; y += some) {
    int64_t count = std::min(some, picture.height - y);
    uint8_t *to = isDirect
                      ? picture.pixels.data() + y * picture.width * picture.step
                      : buffer.data();
    isGood = readRows(decoder, static_cast<JDIMENSION>(count), to, rowBytes);
    if (isGood && info.out_color_space == JCS_CMYK)
      convertInks(to, picture.width * count);
    for (int64_t i = 0; isGood && !isDirect && i < count; ++i)
      storeRow(to + static_cast<size_t>(i) * rowBytes, layout, format, picture,
               y + i);
  }
  if (!isGood || decoder.warning[0])
    throw makeError(decoder, where);
  jpeg_abort_decompress(&info);
  return {width < static_cast<JDIMENSION>(whole) ? x : 0, top, picture.width,
          picture.height};
}

const PictureCodec ingot::runtime::kJpegCodec = {readSize, nullptr, decodeArea};
