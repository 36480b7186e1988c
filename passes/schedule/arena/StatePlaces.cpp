// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/arena/StatePlaces.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/target/Target.h"
#include "runtime/abi/Abi.h"
#include "runtime/abi/Mapping.h"

using namespace mlir;
using namespace ingot;

int64_t &StatePlaces::getPart(Role role) {
  switch (role) {
  case Role::Moment:
  case Role::Step:
  case Role::Seed:
  case Role::Coordinates:
  case Role::Residual:
  case Role::Basis:
    return optimizerBytes;
  case Role::Accumulator:
    return accumulatorBytes;
  default:
    return weightBytes;
  }
}

void StatePlaces::place(StateOp state) {
  RankedTensorType type = state.getTensorType();
  int64_t bytes = byteSize(type), at = getBytes();
  bool isNew = true;
  if (GatheredAttr gathered = state.getGatheredAttr()) {
    Gather &gather = gathers[gathered.getBucket()];
    isNew = !gather.bucket;
    if (isNew)
      gather = {at, MemRefType::get({gathered.getOf()}, type.getElementType())};
    int64_t size = type.getElementTypeBitWidth() / 8;
    bytes = gathered.getOf() * size;
    at = gather.offset + gathered.getFirst() * size;
  }
  places[FlatSymbolRefAttr::get(state.getSymNameAttr())] = {
      exec::Space::State, at, {}};
  if (isNew)
    getPart(state.getRole()) += llvm::alignTo(bytes, alignment);
}

StatePlaces::StatePlaces(ModuleOp module)
    : alignment(Target::of(module)->getAlignment()) {
  SmallVector<StateOp> inShards, mapped;
  for (auto state : module.getOps<StateOp>()) {
    if (auto home = state->getAttrOfType<StringAttr>(exec::kHomeAttr)) {
      if (home == "mapped")
        mapped.push_back(state);
    } else if (state.getShard())
      inShards.push_back(state);
    else if (!state.getHalves())
      place(state);
  }
  for (StateOp state : mapped) {
    places[FlatSymbolRefAttr::get(state.getSymNameAttr())] = {
        exec::Space::State, abi::getMappedBegin(getBytes()) + mappedBytes, {}};
    mappedBytes += llvm::alignTo(byteSize(state.getTensorType()), alignment);
  }
  int64_t at = 0;
  for (StateOp state : inShards) {
    places[FlatSymbolRefAttr::get(state.getSymNameAttr())] = {
        exec::Space::Shard, at, {}};
    at += sizeof(void *);
    shardBytes +=
        llvm::alignTo(byteSize(state.getTensorType()), INGOT_ALIGNMENT);
  }
}
