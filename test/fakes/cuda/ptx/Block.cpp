// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/Block.h"

#include <algorithm>
#include <numeric>

using namespace fakes::ptx;

static std::string toHex(uint64_t number) {
  char text[19];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(number));
  return text;
}

Block::Block(const Launch &launch, Races *races)
    : launch(launch), races(races) {
  uint32_t warps = (launch.threads + lanes - 1) / lanes;
  // Vectors of lanes are aligned.
  registers.resize(size_t(warps) * launch.function.registerBytes + 64);
  shared.resize(launch.function.sharedBytes + launch.dynamicBytes + 16);
  written.resize(shared.size());
  local.resize(size_t(warps) * lanes * launch.function.localBytes);
  parameters.resize(launch.parameters.size() + TensorMap::alignment);
  std::copy(launch.parameters.begin(), launch.parameters.end(),
            reinterpret_cast<uint8_t *>(getParameters()));
  if (launch.function.isAsync) {
    async = std::make_unique<AsyncMemory>(launch, shared, written, races);
    products = std::make_unique<Products>(*async, warps,
                                          launch.function.registerBytes);
  }
  auto base = reinterpret_cast<uintptr_t>(registers.data());
  uint8_t *aligned = registers.data() + ((64 - base % 64) % 64);
  for (uint32_t i = 0; i < warps; ++i) {
    Warp warp(*this, aligned + size_t(i) * launch.function.registerBytes,
              launch.function.constants.data());
    warp.firstThread = i * lanes;
    states.push_back({warp, {}});
  }
}

uint64_t Block::getParameters() const {
  auto begin = reinterpret_cast<uintptr_t>(parameters.data());
  constexpr uintptr_t unit = TensorMap::alignment;
  return (begin + unit - 1) / unit * unit;
}

bool Block::isParameter(uint64_t address, uint64_t bytes) const {
  uint64_t begin = getParameters();
  return address >= begin &&
         address + bytes <= begin + launch.parameters.size();
}

void Block::put(State &state, Front front) {
  if (front.lanes == 0)
    return;
  auto at = std::lower_bound(
      state.fronts.begin(), state.fronts.end(), front.place,
      [](const Front &other, uint32_t place) { return other.place < place; });
  if (at != state.fronts.end() && at->place == front.place) {
    at->lanes |= front.lanes;
    at->isParked = false;
  } else {
    state.fronts.insert(at, front);
  }
}

bool Block::isComplete(const State &state, const Instruction &instruction,
                       uint32_t active) {
  // All lanes that live take part in a barrier, and in a shuffle those that
  // the mask names.
  uint32_t members = state.warp.alive;
  const Operand *mask = instruction.flow == Flow::Shuffle ? &instruction.from[3]
                        : instruction.flow == Flow::Meeting
                            ? &instruction.from[0]
                            : nullptr;
  if (mask)
    members &= state.warp.read<uint32_t>(*mask)[__builtin_ctz(active)];
  return active == members;
}

int64_t Block::run(State &state, Front front, int64_t most) {
  const std::vector<Instruction> &code = launch.function.code;
  Warp &warp = state.warp;
  // Where other lanes are already.
  uint32_t next = ~0U;
  for (const Front &other : state.fronts)
    if (other.place >= front.place)
      next = std::min(next, other.place);
  for (int64_t count = 0;; ++count, ++front.place) {
    if (front.place == next || count >= most) {
      put(state, front);
      return count;
    }
    const Instruction &instruction = code[front.place];
    uint32_t active = front.lanes;
    if (instruction.isGuarded) {
      uint32_t guard = warp.readPredicate(instruction.guard);
      active &= instruction.isInverted ? ~guard : guard;
    }
    if (active == 0 && instruction.flow != Flow::Branch)
      continue;
    warp.active = active;
    switch (instruction.flow) {
    case Flow::Exit:
      warp.alive &= ~active;
      put(state, {front.place + 1, front.lanes & ~active});
      return count + 1;
    case Flow::Branch:
      put(state, {static_cast<uint32_t>(instruction.number), active});
      put(state, {front.place + 1, front.lanes & ~active});
      return count + 1;
    case Flow::Shuffle:
    case Flow::Meeting:
    case Flow::Converged:
    case Flow::Barrier:
      if (!isComplete(state, instruction, active)) {
        front.isParked = true;
        put(state, front);
        return count + 1;
      }
      if (instruction.flow != Flow::Barrier)
        break;
      state.atBarrier = true;
      put(state, {front.place + 1, front.lanes});
      return count + 1;
    case Flow::Next:
      break;
    }
    try {
      if (products)
        products->check(warp.firstThread / lanes, instruction);
      instruction.execute(warp, instruction);
      if (products)
        products->note(warp.firstThread / lanes, instruction);
    } catch (const Fault &fault) {
      const std::string &text = launch.module.lines[instruction.line - 1];
      throw Fault(fault.kind, text + " " + fault.what());
    }
    if (warp.isStalled) {
      // Others have their turns.
      front.place += warp.isRepeated ? 0 : 1;
      put(state, front);
      return most;
    }
  }
}

void Block::step(State &state, int64_t most) {
  state.warp.isStalled = state.warp.isRepeated = false;
  while (!state.fronts.empty() && !state.atBarrier && !state.warp.isStalled &&
         most > 0) {
    auto first =
        std::find_if(state.fronts.begin(), state.fronts.end(),
                     [](const Front &front) { return !front.isParked; });
    if (first == state.fronts.end()) {
      const Front &waiting = state.fronts.front();
      int line = launch.function.code[waiting.place].line;
      throw Fault(Fault::LaunchFailed, launch.module.lines[line - 1] +
                                           ": lanes " + toHex(waiting.lanes) +
                                           " of " + toHex(state.warp.alive) +
                                           " wait for ever for the others");
    }
    Front front = *first;
    state.fronts.erase(first);
    most -= run(state, front, most);
  }
}

void Block::run(uint32_t index, std::mt19937_64 &random) {
  number = index;
  epoch = 0;
  // What nothing has written is not 0.
  std::fill(shared.begin(), shared.end(), 0xa5);
  std::fill(written.begin(), written.end(), 0);
  std::fill(registers.begin(), registers.end(), 0x5a);
  for (State &state : states) {
    uint32_t count = launch.threads - state.warp.firstThread;
    state.warp.alive = count >= lanes ? allLanes : (1U << count) - 1;
    state.fronts = {{0, state.warp.alive}};
    state.atBarrier = false;
    state.stalledAt = ~uint64_t(0);
  }
  if (async) {
    async->start(number);
    products->start();
  }
  std::vector<size_t> ready(states.size());
  std::iota(ready.begin(), ready.end(), 0);
  while (true) {
    if (ready.empty()) {
      // All that live wait at the barrier.
      for (size_t i = 0; i < states.size(); ++i)
        if (!states[i].isDone()) {
          states[i].atBarrier = false;
          ready.push_back(i);
        }
      if (ready.empty()) {
        if (async) {
          products->finish();
          async->finish();
        }
        return;
      }
      ++epoch;
      if (async)
        async->joinAll();
    }
    if (async) {
      bool allStalled =
          std::all_of(ready.begin(), ready.end(), [&](size_t number) {
            return states[number].stalledAt == async->countEvents();
          });
      // Loads take any time.
      if (async->hasLoads() && (allStalled || random() % 2 == 0))
        async->completeLoad(random);
      else if (allStalled)
        throw Fault(Fault::LaunchFailed,
                    "block " + std::to_string(number) +
                        ": all warps wait for ever for barriers");
    }
    size_t at = random() % ready.size();
    State &state = states[ready[at]];
    constexpr uint64_t longest = 4096;
    try {
      step(state, static_cast<int64_t>(1 + random() % longest));
    } catch (const Fault &fault) {
      throw Fault(fault.kind, "block " + std::to_string(number) + ", warp " +
                                  std::to_string(ready[at]) + ": " +
                                  fault.what());
    }
    if (async)
      state.stalledAt =
          state.warp.isStalled ? async->countEvents() : ~uint64_t(0);
    if (state.isDone() || state.atBarrier) {
      ready[at] = ready.back();
      ready.pop_back();
    }
  }
}

void Block::checkGlobal(const Warp &warp, const uint64_t *addresses,
                        uint32_t bytes, Races::Access access) {
  uint64_t low = ~uint64_t(0), high = 0, bits = 0;
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1) {
      low = std::min(low, addresses[lane]);
      high = std::max(high, addresses[lane]);
      bits |= addresses[lane];
    }
  if (bits % bytes != 0)
    throw Fault(Fault::Misaligned, "an access of " + std::to_string(bytes) +
                                       " bytes is not aligned to them");
  auto isIn = [&](const Allocation &allocation, uint64_t from, uint64_t to) {
    return from >= allocation.begin && to <= allocation.end;
  };
  if (!isIn(last, low, high + bytes)) {
    for (int lane = 0; lane < lanes; ++lane) {
      uint64_t address = addresses[lane];
      if (!(warp.active >> lane & 1) || isIn(last, address, address + bytes))
        continue;
      auto found =
          std::find_if(launch.allocations.begin(), launch.allocations.end(),
                       [&](const Allocation &allocation) {
                         return isIn(allocation, address, address + bytes);
                       });
      if (found == launch.allocations.end())
        throw Fault(Fault::IllegalAddress,
                    "lane " + std::to_string(lane) + " accesses " +
                        std::to_string(bytes) + " bytes at " + toHex(address) +
                        ", outside of all memory that is allocated");
      last = *found;
    }
  }
  if (launch.log)
    for (int lane = 0; lane < lanes; ++lane)
      if (warp.active >> lane & 1)
        launch.log->add(addresses[lane], bytes, access == Races::Write);
  if (!races)
    return;
  Races::Who who = {number, warp.firstThread / lanes, epoch};
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1)
      if (std::string problem = races->add(addresses[lane], bytes, who, access);
          !problem.empty())
        throw Fault(Fault::LaunchFailed,
                    "memory at " + toHex(addresses[lane]) + " " + problem);
}

uint8_t *Block::checkShared(const Warp &warp, const uint64_t *places,
                            uint32_t bytes, bool isWritten) {
  for (int lane = 0; lane < lanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint64_t place = places[lane];
    if (place % bytes != 0)
      throw Fault(Fault::Misaligned, "shared memory: an access of " +
                                         std::to_string(bytes) +
                                         " bytes is not aligned to them");
    uint32_t size = launch.function.sharedBytes + launch.dynamicBytes;
    if (place + bytes > size)
      throw Fault(Fault::IllegalAddress, "shared memory: byte " +
                                             std::to_string(place) + " of " +
                                             std::to_string(size));
    if (async)
      async->access(warp.firstThread / lanes, place, bytes, isWritten);
    for (uint32_t i = 0; i < bytes; ++i)
      if (isWritten)
        written[place + i] = 1;
      else if (!written[place + i])
        throw Fault(Fault::LaunchFailed, "shared memory: byte " +
                                             std::to_string(place) +
                                             " is read before it is written");
    if (races) {
      // Every block has its own.
      uint64_t address = uint64_t(number) << 20 | place;
      Races::Who who = {number, warp.firstThread / lanes, epoch};
      if (std::string problem = races->add(
              address, bytes, who, isWritten ? Races::Write : Races::Read);
          !problem.empty())
        throw Fault(Fault::LaunchFailed, "shared memory: byte " +
                                             std::to_string(place) + " " +
                                             problem);
    }
  }
  return shared.data();
}

void Block::checkLocal(const Warp &warp, uint64_t *places, uint32_t bytes) {
  uint64_t size = launch.function.localBytes;
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1) {
      if (places[lane] % bytes != 0)
        throw Fault(Fault::Misaligned, "local memory");
      if (places[lane] + bytes > size)
        throw Fault(Fault::IllegalAddress, "local memory");
      places[lane] += reinterpret_cast<uint64_t>(local.data()) +
                      (warp.firstThread + lane) * size;
    }
}

void fakes::ptx::moveSpecial(Warp &warp, const Instruction &instruction) {
  uint32_t values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    switch (instruction.number) {
    case TidX:
      values[lane] = warp.firstThread + lane;
      break;
    case NtidX:
      values[lane] = warp.block.getLaunch().threads;
      break;
    case CtaidX:
      values[lane] = warp.block.getNumber();
      break;
    case NctaidX:
      values[lane] = warp.block.getLaunch().blocks;
      break;
    default:
      values[lane] = lane;
    }
  warp.writeLanes(instruction.to[0], values);
}

void fakes::ptx::runKernel(const Launch &given) {
  Launch launch = given;
  for (const std::vector<uint64_t> &table : launch.module.tables) {
    auto begin = reinterpret_cast<uint64_t>(table.data());
    launch.allocations.push_back({begin, begin + 8 * table.size()});
  }
  std::mt19937_64 random(launch.seed);
  std::vector<uint32_t> order(launch.blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Races races;
  Block block(launch, launch.findsRaces ? &races : nullptr);
  for (uint32_t number : order)
    block.run(number, random);
}
