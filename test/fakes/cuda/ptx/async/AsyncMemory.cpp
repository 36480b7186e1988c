// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/async/AsyncMemory.h"

#include "test/fakes/cuda/ptx/Block.h"

#include <algorithm>

using namespace fakes::ptx;

/// The most barriers of a block that are known here.
static constexpr uint32_t mostBarriers = 64;
/// The registers of a multiprocessor.
static constexpr uint32_t registerFile = 1 << 16;

[[noreturn]] static void refuse(const std::string &what) {
  throw Fault(Fault::LaunchFailed, what);
}

static std::string describe(uint64_t place) {
  return "shared memory: byte " + std::to_string(place);
}

AsyncMemory::AsyncMemory(const Launch &launch, std::vector<uint8_t> &shared,
                         std::vector<uint8_t> &written, Races *races)
    : launch(launch), shared(shared), written(written), races(races),
      warps((launch.threads + lanes - 1) / lanes),
      size(launch.function.sharedBytes + launch.dynamicBytes) {}

void AsyncMemory::start(uint32_t number) {
  block = number;
  events = 0;
  clocks.assign(warps, Clock(warps + mostBarriers));
  // What happened before a warp's first event is at time 0.
  for (uint32_t i = 0; i < warps; ++i)
    clocks[i][i] = 1;
  barriers.clear();
  loads.clear();
  units.assign(shared.size() / unitBytes + 1, Unit());
  lastReads.assign(units.size() * warps, 0);
  unfenced.assign(warps, {});
  registers.assign(warps, registerFile / launch.threads / 8 * 8);
}

void AsyncMemory::finish() const {
  if (!loads.empty())
    refuse("the block ends while its shared memory is loaded");
}

void AsyncMemory::merge(Clock &into, const Clock &from) {
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

void AsyncMemory::joinAll() {
  Clock all(warps + mostBarriers);
  for (const Clock &clock : clocks)
    merge(all, clock);
  for (uint32_t i = 0; i < warps; ++i) {
    clocks[i] = all;
    ++clocks[i][i];
  }
}

void AsyncMemory::access(uint32_t warp, uint64_t place, uint32_t bytes,
                         bool isWritten) {
  for (const auto &[barrier, state] : barriers)
    if (place < barrier + 8 && barrier < place + bytes)
      refuse(describe(place) + " belongs to a barrier");
  for (uint64_t i = place / unitBytes; i <= (place + bytes - 1) / unitBytes;
       ++i) {
    Unit &unit = units[i];
    if (unit.isLoading)
      refuse(describe(place) + " is being loaded");
    if (isWritten && unit.reads != 0)
      refuse(describe(place) + " is written while a product reads it");
    bool isLoaded = unit.component >= warps;
    if (isLoaded && clocks[warp][unit.component] < unit.time)
      refuse(describe(place) +
             " was loaded, and the warp has not waited for the barrier");
    if (!isWritten)
      continue;
    for (uint32_t other = 0; other < warps; ++other)
      if (clocks[warp][other] < lastRead(static_cast<uint32_t>(i), other))
        refuse(describe(place) + " was read by a product of another warp, and "
                                 "no barrier is between them");
    unit.component = warp;
    unit.time = clocks[warp][warp];
    if (!unit.isUnfenced)
      unfenced[warp].push_back(static_cast<uint32_t>(i));
    unit.isUnfenced = true;
  }
}

void AsyncMemory::fenceProxy(uint32_t warp) {
  for (uint32_t unit : unfenced[warp])
    units[unit].isUnfenced = false;
  unfenced[warp].clear();
  for (auto &[place, barrier] : barriers)
    barrier.isFenced |= barrier.initializer == warp;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

AsyncMemory::Barrier &AsyncMemory::find(uint64_t place) {
  auto found = barriers.find(place);
  if (found == barriers.end())
    refuse(describe(place) + " is no barrier that has been initialized");
  return found->second;
}

void AsyncMemory::initialize(uint32_t warp, uint64_t place, uint32_t count) {
  constexpr uint32_t mostArrivals = (1 << 20) - 1;
  if (place % 8 != 0)
    throw Fault(Fault::Misaligned, describe(place) + " is no place for a "
                                                     "barrier");
  if (place + 8 > size)
    throw Fault(Fault::IllegalAddress, describe(place));
  if (count == 0 || count > mostArrivals)
    refuse("a barrier of " + std::to_string(count) + " arrivals");
  if (barriers.count(place))
    refuse(describe(place) + " is a barrier already");
  if (barriers.size() == mostBarriers)
    refuse("more barriers than are known here");
  Barrier barrier;
  barrier.count = barrier.pending = count;
  barrier.component = warps + static_cast<uint32_t>(barriers.size());
  barrier.initializer = warp;
  barrier.arriving = barrier.completed = Clock(warps + mostBarriers);
  barriers.emplace(place, barrier);
}

void AsyncMemory::completeIfDone(Barrier &barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  ++events;
  barrier.pending = barrier.count;
  barrier.completed = barrier.arriving;
  barrier.completed[barrier.component] = barrier.phase;
}

void AsyncMemory::arrive(uint32_t warp, uint64_t place, uint32_t count) {
  Barrier &barrier = find(place);
  if (count > barrier.pending)
    refuse(describe(place) + ": more arrivals than the barrier waits for");
  barrier.pending -= count;
  merge(barrier.arriving, clocks[warp]);
  ++clocks[warp][warp];
  completeIfDone(barrier);
}

void AsyncMemory::expect(uint64_t place, uint32_t bytes) {
  find(place).bytes += bytes;
}

bool AsyncMemory::tryWait(uint32_t warp, uint64_t place, uint32_t parity) {
  const Barrier &barrier = find(place);
  if (parity > 1)
    refuse("a phase of parity " + std::to_string(parity));
  // The phase of the other parity is the one before, which is complete.
  if (barrier.phase % 2 == parity)
    return false;
  merge(clocks[warp], barrier.completed);
  return true;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void AsyncMemory::load(uint32_t warp, uint64_t to, const TensorMap &map,
                       const std::array<int32_t, TensorMap::mostDims> &at,
                       uint64_t place) {
  constexpr uint64_t alignment = 128;
  uint64_t bytes = map.getBoxBytes();
  if (to % alignment != 0)
    throw Fault(Fault::Misaligned, describe(to) + ": a load of a tensor is not "
                                                  "aligned to 128 bytes");
  if (to + bytes > size)
    throw Fault(Fault::IllegalAddress, describe(to + bytes));
  Barrier &barrier = find(place);
  if (!barrier.isFenced)
    refuse("no fence is between the barrier's mbarrier.init and the load");
  for (uint64_t i = to / unitBytes; i < (to + bytes) / unitBytes; ++i) {
    Unit &unit = units[i];
    if (unit.isLoading)
      refuse(describe(i * unitBytes) + " is being loaded already");
    if (unit.reads != 0)
      refuse(describe(i * unitBytes) + " is loaded while a product reads it");
    for (uint32_t other = 0; other < warps; ++other)
      if (clocks[warp][other] < lastRead(static_cast<uint32_t>(i), other))
        refuse(describe(i * unitBytes) + " is loaded, a product of warp " +
               std::to_string(other) +
               " has read it, and no barrier is between them");
    if (clocks[warp][unit.component] < unit.time)
      refuse(describe(i * unitBytes) +
             " is loaded, and no barrier is behind what wrote it before");
    unit.isLoading = true;
  }
  loads.push_back({map, at, to, place, warp, clocks[warp]});
}

void AsyncMemory::completeLoad(std::mt19937_64 &random) {
  size_t number = random() % loads.size();
  Load load = loads[number];
  loads.erase(loads.begin() + static_cast<ptrdiff_t>(number));
  copy(load);
  Barrier &barrier = find(load.barrier);
  uint64_t bytes = load.map.getBoxBytes();
  for (uint64_t i = load.to / unitBytes; i < (load.to + bytes) / unitBytes;
       ++i) {
    Unit &unit = units[i];
    unit.isLoading = unit.isUnfenced = false;
    unit.component = barrier.component;
    unit.time = barrier.phase + 1;
  }
  barrier.bytes -= static_cast<int64_t>(bytes);
  merge(barrier.arriving, load.clock);
  ++events;
  completeIfDone(barrier);
}

/// Elements outside of the tensor are 0.
void AsyncMemory::copy(const Load &load) {
  const TensorMap &map = load.map;
  uint64_t size = map.elementBytes, row = map.box[0] * size;
  uint64_t end = map.address + size;
  for (uint32_t dim = 0; dim < map.rank; ++dim)
    end += (map.sizes[dim] - 1) * map.strides[dim];
  bool isThere = std::any_of(
      launch.allocations.begin(), launch.allocations.end(),
      [&](const Allocation &allocation) {
        return map.address >= allocation.begin && end <= allocation.end;
      });
  if (!isThere)
    throw Fault(Fault::IllegalAddress,
                "a tensor map of memory that is not allocated");
  std::vector<uint8_t> line(row);
  uint64_t to = load.to;
  for (uint32_t z = 0; z < map.box[2]; ++z)
    for (uint32_t y = 0; y < map.box[1]; ++y, to += row) {
      std::fill(line.begin(), line.end(), 0);
      int64_t plane = int64_t(load.at[2]) + z, number = int64_t(load.at[1]) + y;
      bool isInside = plane >= 0 && plane < int64_t(map.sizes[2]) &&
                      number >= 0 && number < int64_t(map.sizes[1]);
      int64_t first = std::max<int64_t>(load.at[0], 0);
      int64_t last = std::min<int64_t>(int64_t(load.at[0]) + map.box[0],
                                       int64_t(map.sizes[0]));
      if (isInside && first < last) {
        uint64_t address = map.address + plane * map.strides[2] +
                           number * map.strides[1] + first * size;
        uint64_t bytes = (last - first) * size;
        if (launch.log)
          launch.log->add(address, bytes, /*isWritten=*/false);
        if (races) {
          Races::Who who = {block, load.warp, 0};
          if (std::string problem =
                  races->add(address, static_cast<uint32_t>(bytes), who,
                             Races::ReadConstant);
              !problem.empty())
            refuse("memory that is loaded " + problem);
        }
        std::memcpy(line.data() + (first - load.at[0]) * size,
                    reinterpret_cast<const void *>(address), bytes);
      }
      for (uint64_t i = 0; i < row; i += unitBytes) {
        uint64_t place = map.swizzleBytes != 0 ? swizzle128(to + i) : to + i;
        std::memcpy(shared.data() + place, line.data() + i, unitBytes);
        std::fill_n(written.begin() + static_cast<ptrdiff_t>(place),
                    size_t(unitBytes), uint8_t(1));
      }
    }
}

//===----------------------------------------------------------------------===//
// Reads of products
//===----------------------------------------------------------------------===//

void AsyncMemory::beginReads(uint32_t warp, const Units &read) {
  for (uint32_t number : read) {
    uint64_t place = uint64_t(number) * unitBytes;
    if (place + unitBytes > size)
      throw Fault(Fault::IllegalAddress, describe(place));
    Unit &unit = units[number];
    if (unit.isLoading)
      refuse(describe(place) + " is being loaded while a product reads it");
    for (uint32_t i = 0; i < unitBytes; ++i)
      if (!written[place + i])
        refuse(describe(place + i) + " is read before it is written");
    if (unit.isUnfenced)
      refuse(describe(place) + " was stored, and no fence.proxy.async is "
                               "before the product that reads it");
    if (clocks[warp][unit.component] < unit.time)
      refuse(describe(place) + " is read by a product that no barrier orders "
                               "behind what wrote it");
    ++unit.reads;
  }
}

void AsyncMemory::endReads(uint32_t warp, const Units &read) {
  for (uint32_t number : read) {
    --units[number].reads;
    lastRead(number, warp) = clocks[warp][warp];
  }
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

bool AsyncMemory::setRegisters(uint32_t warp, uint32_t count, bool increases) {
  constexpr uint32_t least = 24, most = 256, unit = 8;
  if (count < least || count > most || count % unit != 0)
    refuse("setmaxnreg of " + std::to_string(count));
  uint32_t &current = registers[warp];
  if (increases ? count < current : count > current)
    refuse("setmaxnreg of " + std::to_string(count) + " where there are " +
           std::to_string(current));
  uint32_t used = 0;
  for (uint32_t each : registers)
    used += each * lanes;
  if (increases && used + (count - current) * lanes > registerFile)
    return false;
  if (count < current)
    ++events;
  current = count;
  return true;
}
