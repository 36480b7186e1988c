// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JPEG through libjpeg-turbo. Of a picture that is cropped afterwards only the
// rows and blocks that are needed are decoded, and a picture that is made much
// smaller is decoded at a half, a quarter or an eighth of its size.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/Codecs.h"

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

/// Reads `count` rows after `skipped` ones. Returns whether that succeeded.
static bool readRows(Decoder &decoder, JDIMENSION skipped, JDIMENSION count,
                     uint8_t *to, size_t rowBytes) {
  if (setjmp(decoder.escape))
    return false;
  if (skipped != 0)
    jpeg_skip_scanlines(&decoder.info, skipped);
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

extern "C" {
extern const char ingot_codec_jpeg;
const char ingot_codec_jpeg = 1;
}

PictureSize ingot::runtime::readJpegSize(std::string_view bytes,
                                         const std::string &where) {
  Decoder decoder{};
  start(decoder, bytes);
  Cleanup cleanup{decoder};
  if (!readHeader(decoder, bytes.data(), bytes.size()))
    throw makeError(decoder, where);
  checkSize(decoder.info.image_width, decoder.info.image_height, where);
  return {decoder.info.image_width, decoder.info.image_height};
}

Area ingot::runtime::decodeJpeg(std::string_view bytes, bool isGray,
                                const Area &area, int64_t shrink,
                                Picture &picture, int64_t &reduced,
                                const std::string &where) {
  Decoder decoder{};
  start(decoder, bytes);
  Cleanup cleanup{decoder};
  if (!readHeader(decoder, bytes.data(), bytes.size()))
    throw makeError(decoder, where);
  jpeg_decompress_struct &info = decoder.info;
  checkSize(info.image_width, info.image_height, where);
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK)
    throw badPicture(where, "the JPEG picture is for print, in CMYK");
  reduced = 1;
  while (reduced * 2 <= std::min<int64_t>(shrink, 8))
    reduced *= 2;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(reduced);
  info.out_color_space = isGray ? JCS_GRAYSCALE : JCS_EXT_RGBX;
  picture.step = isGray ? 1 : 4;
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
  picture.width = info.output_width;
  picture.height = bottom - top;
  auto rowBytes = static_cast<size_t>(picture.width * picture.step);
  picture.pixels.resize(rowBytes * static_cast<size_t>(picture.height));
  if (!readRows(decoder, static_cast<JDIMENSION>(top),
                static_cast<JDIMENSION>(picture.height), picture.pixels.data(),
                rowBytes) ||
      decoder.warning[0])
    throw makeError(decoder, where);
  jpeg_abort_decompress(&info);
  return {width < static_cast<JDIMENSION>(whole) ? x : 0, top, picture.width,
          picture.height};
}
