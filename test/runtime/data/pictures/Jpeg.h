// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JPEG files for tests of inputs made of pictures.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_DATA_PICTURES_JPEG_H
#define INGOT_TEST_RUNTIME_DATA_PICTURES_JPEG_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace ingot::runtime::test {

/// Encodes interleaved RGB bytes, of which each row has 3 * width.
inline std::string encodeJpeg(std::vector<uint8_t> pixels, int64_t width,
                              int64_t height, int quality) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int64_t y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + y * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string bytes(reinterpret_cast<char *>(memory), size);
  std::free(memory);
  return bytes;
}

} // namespace ingot::runtime::test

#endif // INGOT_TEST_RUNTIME_DATA_PICTURES_JPEG_H
