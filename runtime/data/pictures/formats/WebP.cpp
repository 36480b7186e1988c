// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// WebP through libwebp, the first frame of animations on their canvas.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <memory>

#include <webp/demux.h>

using namespace ingot::runtime;

static WebPData asData(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

static Error makeError(const std::string &where) {
  return badPicture(where, "the WebP picture is damaged");
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  WebPData data = asData(bytes);
  // The size of the canvas, before memory is taken for it.
  WebPDemuxState state;
  std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(
      WebPDemuxPartial(&data, &state), WebPDemuxDelete);
  if (!demuxer || state != WEBP_DEMUX_DONE)
    throw makeError(where);
  PictureSize size{WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                   WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT)};
  checkSize(size.width, size.height, where);
  return size;
}

static void decode(std::string_view bytes, const PixelFormat &format,
                   Picture &picture, const std::string &where) {
  PictureSize size = readSize(bytes, where);
  WebPData data = asData(bytes);
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options))
    throw makeError(where);
  options.color_mode = MODE_RGBA;
  options.use_threads = 0;
  std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, &options), WebPAnimDecoderDelete);
  uint8_t *canvas = nullptr;
  int time = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &canvas, &time))
    throw makeError(where);
  RowLayout layout{4, 0, 1, 2};
  preparePicture(size.width, size.height, layout, format, picture, where);
  for (int64_t y = 0; y < size.height; ++y)
    storeRow(canvas + y * size.width * layout.step, layout, format, picture, y);
}

const PictureCodec ingot::runtime::kWebPCodec = {readSize, decode, nullptr};
