// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/Saver.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Console.h"
#include "runtime/trainer/loop/Outcome.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/WeightAverage.h"

#include <fmt/format.h>
#include <memory>

using namespace ingot::runtime;

Saver::Saver(Session &session, Communicator &ranks, Outcome &outcome,
             Console &console, const std::string &folder, int64_t keep)
    : session(session), ranks(ranks), outcome(outcome), console(console),
      folder(folder), keep(keep), snapshot(session) {
  if (ranks.getRank() != 0)
    return;
  lock.emplace(folder);
  removeLeftovers(folder);
}

bool Saver::hasShards() const {
  return session.getManifest().hasShards() && ranks.getSize() > 1;
}

CheckpointContent Saver::collect(const CheckpointInfo &info,
                                 const WeightAverage *average) const {
  // Smaller states are not worth a file of their own.
  constexpr int64_t least = int64_t(1) << 20;
  CheckpointContent content;
  content.info = info;
  content.state = viewWholeStates(session);
  int64_t bytes = 0;
  auto isConstant = [](const StateSpec &spec) {
    return spec.role == StateRole::Frozen && spec.halves.empty();
  };
  for (const StateSpec &spec : session.getManifest().states)
    if (isConstant(spec))
      bytes += spec.getBytes();
  if (bytes >= least)
    for (const StateSpec &spec : session.getManifest().states)
      if (isConstant(spec))
        content.constants.tensors.insert(
            content.state.tensors.extract(spec.name));
  if (average)
    average->addTo(content.state);
  return content;
}

void Saver::prepare(const WeightAverage *average) {
  if (!hasShards() && session.getRunsAhead() == 0)
    // The average has no values before the first step.
    snapshot.prepare(collect({}, nullptr).state,
                     average ? average->getBytes() : 0);
}

void Saver::write(const CheckpointContent &content, const Retention &retention,
                  const ShardWriter &writeShards) {
  uint32_t crc = saveCheckpoint(folder, content, retention, writeShards);
  if (!content.constants.tensors.empty())
    constantsCrc = crc;
  if (retention.isBest)
    bestStep = content.info.step;
}

void Saver::report() {
  if (int64_t step = writer.getSavedStep(); step >= 0 && savedStep != step) {
    savedStep = step;
    said.clear();
  }
  for (const Error &problem : writer.takeProblems())
    if (said.insert(problem.getWhat()).second)
      outcome.warn(problem);
}

void Saver::wait() {
  writer.wait();
  report();
}

void Saver::saveShards(const CheckpointInfo &info, const WeightAverage *average,
                       const Retention &retention) {
  bool isSaved = outcome.attempt([&] {
    session.fetchState();
    auto writeShards = [&](const std::string &name) {
      return saveAllShards(session, ranks, name);
    };
    if (ranks.getRank() == 0)
      write(collect(info, average), retention, writeShards);
    else
      writeShards("");
  });
  if (isSaved)
    savedStep = info.step;
}

void Saver::save(const CheckpointInfo &info, const WeightAverage *average,
                 bool isBest) {
  Retention retention{keep, isBest};
  if (hasShards()) {
    saveShards(info, average, retention);
    return;
  }
  // A disk that is only a little slow delays the run; a slower one does not,
  // nor one that has much to write.
  constexpr int64_t much = int64_t(64) << 20;
  std::chrono::milliseconds patience{
      session.getManifest().stateBytes < much ? 2000 : 20};
  bool isLate = writer.isRetrying() || !writer.waitFor(patience);
  if (isLate && !isBest) {
    if (!saidLate && !writer.isRetrying())
      console.noteOnce(fmt::format(
          "checkpoints are written more slowly than --save-every asks for: "
          "that of step {}, and maybe others, is left out",
          info.step));
    saidLate = true;
    return;
  }
  wait();
  session.fetchState();
  auto content = std::make_shared<CheckpointContent>(collect(info, average));
  content->constantsCrc = constantsCrc;
  // The host's copy of a device's state does not change until the next one.
  if (session.getRunsAhead() == 0)
    snapshot.take(content->state);
  writer.start(info.step, [this, content, retention] {
    snapshot.wait();
    write(*content, retention);
  });
}

void Saver::saveLast(const CheckpointInfo &info, const WeightAverage *average,
                     bool isBest) {
  Retention retention{keep, isBest};
  if (!hasShards())
    wait();
  if (savedStep == info.step && (!isBest || bestStep == info.step))
    return;
  if (hasShards()) {
    saveShards(info, average, retention);
    return;
  }
  session.fetchState();
  CheckpointContent content = collect(info, average);
  content.constantsCrc = constantsCrc;
  auto pause = CheckpointWriter::kPause;
  for (int attempt = 1; attempt < CheckpointWriter::kAttempts; ++attempt) {
    try {
      write(content, retention);
      savedStep = info.step;
      return;
    } catch (const Error &problem) {
      outcome.warn(problem);
    }
    std::this_thread::sleep_for(std::exchange(pause, 2 * pause));
  }
  if (outcome.attempt([&] { write(content, retention); }))
    savedStep = info.step;
}
