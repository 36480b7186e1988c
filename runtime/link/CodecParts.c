// SPDX-License-Identifier: Apache-2.0
//
// Functions that the archives of codecs refer to and trainers have no use for,
// in place of those that bring 160 kB with them: what reads zstd's frames from
// before its format was fixed (0.8, in 2016), which are an error here, and what
// writes PNGs, which is never called. They are weak, for programs that have the
// archives' own ones for another reason.

#include <stddef.h>
#include <stdint.h>

#define WEAK __attribute__((weak))

//===----------------------------------------------------------------------===//
// zstd
//===----------------------------------------------------------------------===//

/// Frames are told apart by four bytes, so that there are functions for each
/// version. ZSTD_error_version_unsupported is 12, and the library returns its
/// errors negated. A context is needed for a stream to come to its error.
static char context;
enum { VersionUnsupported = 12 };
static const unsigned long long contentSizeError = 0ULL - 2;

#define OLD_ZSTD(version)                                                      \
  WEAK void *ZSTDv##version##_createDCtx(void) { return &context; }            \
  WEAK size_t ZSTDv##version##_freeDCtx(void) { return 0; }                    \
  WEAK size_t ZSTDv##version##_getFrameParams(void) {                          \
    return (size_t)-VersionUnsupported;                                        \
  }                                                                            \
  WEAK size_t ZSTDv##version##_decompress_usingDict(void) {                    \
    return (size_t)-VersionUnsupported;                                        \
  }                                                                            \
  WEAK void ZSTDv##version##_findFrameSizeInfoLegacy(                          \
      const void *bytes, size_t size, size_t *compressed,                      \
      unsigned long long *most) {                                              \
    (void)bytes;                                                               \
    (void)size;                                                                \
    *compressed = (size_t)-VersionUnsupported;                                 \
    *most = contentSizeError;                                                  \
  }                                                                            \
  WEAK void *ZBUFFv##version##_createDCtx(void) { return &context; }           \
  WEAK size_t ZBUFFv##version##_freeDCtx(void) { return 0; }                   \
  WEAK size_t ZBUFFv##version##_decompressInitDictionary(void) { return 0; }   \
  WEAK size_t ZBUFFv##version##_decompressContinue(void) {                     \
    return (size_t)-VersionUnsupported;                                        \
  }

OLD_ZSTD(05)
OLD_ZSTD(06)
OLD_ZSTD(07)

//===----------------------------------------------------------------------===//
// PNG
//===----------------------------------------------------------------------===//

/// These two are called for structures that write.
WEAK void png_destroy_write_struct(void **png, void **info) {
  (void)png;
  (void)info;
}
WEAK void png_free_buffer_list(void *png, void **list) {
  (void)png;
  (void)list;
}

/// Called by what reads color profiles, too: the number, big endian.
WEAK void png_save_uint_32(unsigned char *bytes, uint32_t number) {
  for (int i = 0; i < 4; ++i)
    bytes[i] = (unsigned char)(number >> (24 - 8 * i));
}
