// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The decoder of JPEG refers to all vector code of its library, also to an
// encoder with tables of 100 kB, which nothing in a trainer calls. This stands
// in its place, in trainers only: tests write pictures.
//
//===----------------------------------------------------------------------===//

#ifdef __x86_64__
extern "C" {
extern const unsigned char jconst_huff_encode_one_block[] = {0};
void *jsimd_huff_encode_one_block_sse2() { __builtin_trap(); }
}
#endif
