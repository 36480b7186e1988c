// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The tile units of AMX in software, for machines without them. Sources of
// kernels that are compiled with `-include` of this file call it instead of the
// instructions. It computes the same bits as the units, and ends the program
// with a message where they would raise an exception: without a configuration,
// and where the shapes of operands do not fit.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_CPU_TILES_TILEEMULATOR_H
#define INGOT_TEST_RUNTIME_CPU_TILES_TILEEMULATOR_H

#include <cstdint>
#include <immintrin.h>

namespace ingot::runtime::tests {

/// How many multiplications of tiles all threads have done.
int64_t countTileProducts();

// The instructions of the same names, on the registers of the calling thread.
void loadConfig(const void *config);
void releaseTiles();
void zeroTile(int tile);
void loadTile(int tile, const void *from, int64_t stride);
void storeTile(int tile, void *to, int64_t stride);
void multiplyTiles(int sums, int a, int b);

} // namespace ingot::runtime::tests

#undef _tile_dpbf16ps
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#define _tile_loadconfig ingot::runtime::tests::loadConfig
#define _tile_release ingot::runtime::tests::releaseTiles
#define _tile_zero ingot::runtime::tests::zeroTile
#define _tile_loadd ingot::runtime::tests::loadTile
#define _tile_stored ingot::runtime::tests::storeTile
#define _tile_dpbf16ps ingot::runtime::tests::multiplyTiles

#endif // INGOT_TEST_RUNTIME_CPU_TILES_TILEEMULATOR_H
