// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/formats/Codecs.h"

using namespace ingot::runtime;

const PictureCodec *ingot::runtime::ingot_picture_codecs(PictureKind kind) {
  switch (kind) {
  case PictureKind::Jpeg:
    return &kJpegCodec;
  case PictureKind::Png:
    return &kPngCodec;
  case PictureKind::WebP:
    return &kWebPCodec;
  case PictureKind::Gif:
    return &kGifCodec;
  case PictureKind::Bmp:
    return &kBmpCodec;
  case PictureKind::Pnm:
    return &kPnmCodec;
  }
  __builtin_unreachable();
}
