// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/save/JointSave.h"

#include "runtime/comm/Communicator.h"

#include <utility>
#include <vector>

using namespace ingot::runtime;

/// Sends the name of rank 0's folder to the others, or none.
void JointSave::shareFolder(const std::string &directory) {
  std::optional<Error> obstacle;
  folder.clear();
  if (ranks.getRank() == 0) {
    try {
      checkpoint = std::make_shared<NewCheckpoint>(directory, step);
      folder = checkpoint->getFolder();
    } catch (const Error &error) {
      obstacle = error;
    }
  }
  auto length = static_cast<int64_t>(folder.size());
  ranks.broadcast(&length, sizeof(length), 0, "the checkpoint's folder");
  folder.resize(static_cast<size_t>(length));
  if (length != 0)
    ranks.broadcast(folder.data(), length, 0, "the checkpoint's folder");
  if (obstacle)
    throw *obstacle;
  if (length == 0)
    throw failure("rank 0", "cannot write a checkpoint",
                  "see its message; all ranks need access to the --save "
                  "folder");
}

void JointSave::start(const std::string &directory, CheckpointContent content,
                      SafeTensors shards, const Retention &kept,
                      std::function<void()> wait) {
  info = content.info;
  step = info.step;
  retention = kept;
  isSaved = false;
  shareFolder(directory);
  part = std::make_shared<Part>();
  phase = Phase::Writing;
  ++stages;
  auto data = std::make_shared<std::pair<CheckpointContent, SafeTensors>>(
      std::move(content), std::move(shards));
  writer.start(step, [data, wait = std::move(wait), part = part,
                      checkpoint = checkpoint, folder = folder,
                      rank = ranks.getRank()] {
    wait();
    if (checkpoint)
      checkpoint->write(data->first);
    part->crc = saveShards(folder, rank, data->second);
    part->isDone = true;
  });
}

std::optional<int64_t> JointSave::getStage() const {
  if (phase == Phase::None)
    return std::nullopt;
  return stages;
}

bool JointSave::endStage() {
  writer.wait();
  if (phase == Phase::Writing) {
    startNaming();
  } else {
    int32_t done = part->isDone;
    ranks.broadcast(&done, sizeof(done), 0, "the name of the checkpoint");
    isSaved = done != 0;
    phase = Phase::None;
  }
  if (phase != Phase::None)
    return false;
  if (checkpoint && isSaved)
    constantsCrc = checkpoint->getConstantsCrc();
  checkpoint.reset();
  return true;
}

/// Exchanges checksums, and starts to name the checkpoint; ends the save if a
/// rank has failed.
void JointSave::startNaming() {
  struct {
    int64_t isDone, crc;
  } own = {part->isDone, part->crc};
  std::vector<decltype(own)> all(static_cast<size_t>(ranks.getSize()));
  ranks.allGather(&own, all.data(), sizeof(own), "checksums of the checkpoint");
  phase = Phase::Naming;
  ++stages;
  std::vector<uint32_t> crcs;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    crcs.push_back(static_cast<uint32_t>(all[rank].crc));
    if (all[rank].isDone != 0)
      continue;
    phase = Phase::None;
    // The rank itself knows more.
    if (ranks.getRank() == 0 && rank != 0)
      problem = failure("rank " + std::to_string(rank),
                        "cannot write its part of the checkpoint",
                        "all ranks need access to the --save folder, and space "
                        "there");
    return;
  }
  part->isDone = false;
  if (checkpoint)
    writer.start(step, [checkpoint = checkpoint, info = info, part = part,
                        retention = retention, crcs = std::move(crcs)] {
      checkpoint->commit(info, retention, crcs);
      part->isDone = true;
    });
}

void JointSave::finish() {
  // A rank that writes for long says so in between: one that says nothing is
  // lost.
  const std::chrono::milliseconds limit = ranks.getLimit();
  while (phase != Phase::None) {
    while (ranks.agree(writer.waitFor(limit / 4) ? 0 : 1,
                       "parts of the checkpoint") != 0)
      ;
    endStage();
  }
}

std::optional<Error> JointSave::takeProblem() {
  return std::exchange(problem, std::nullopt);
}
