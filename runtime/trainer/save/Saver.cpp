// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/save/Saver.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/weights/FiniteWeights.h"
#include "runtime/trainer/weights/WeightAverage.h"

#include <fmt/format.h>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

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
  content.info.base = listBase(session);
  content.state = viewWholeStates(session);
  int64_t bytes = 0;
  auto isConstant = [&](const StateSpec &spec) {
    return spec.role == StateRole::Frozen && spec.isSaved() &&
           spec.halves.empty() && !session.getFiled().contain(spec);
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
  if (session.getRunsAhead() != 0)
    return;
  // The average has no values before the first step.
  SafeTensors state, shards;
  if (ranks.getRank() == 0)
    state = collect({}, nullptr).state;
  if (hasShards())
    shards = viewShards(session);
  snapshot.prepare({&state, &shards}, average ? average->getBytes() : 0);
}

void Saver::write(const CheckpointContent &content,
                  const Retention &retention) {
  if (std::optional<uint32_t> crc = saveCheckpoint(folder, content, retention))
    constantsCrc = crc;
  if (retention.isBest)
    bestStep = content.info.step;
}

void Saver::report() {
  // Of a joint save, all ranks take the result at the same time.
  int64_t step = hasShards() ? -1 : writer.getSavedStep();
  if (step >= 0 && savedStep != step) {
    savedStep = step;
    said.clear();
  }
  std::vector<Error> problems = writer.takeProblems();
  if (std::optional<Error> problem = joint.takeProblem())
    problems.push_back(*problem);
  for (const Error &problem : problems)
    if (said.insert(problem.getWhat()).second)
      outcome.warn(problem);
}

void Saver::wait() {
  if (joint.getStage()) {
    joint.finish();
    endJoint();
  }
  writer.wait();
  report();
}

void Saver::endStage(int64_t stage) {
  if (joint.getStage() == stage && joint.endStage())
    endJoint();
}

void Saver::endJoint() {
  report();
  if (!joint.hasSucceeded())
    return;
  savedStep = joint.getStep();
  if (joint.isOfBest())
    bestStep = savedStep;
  said.clear();
}

void Saver::startJoint(const CheckpointInfo &info, const WeightAverage *average,
                       const Retention &retention) {
  session.fetchState();
  CheckpointContent content;
  content.info = info;
  if (ranks.getRank() == 0)
    content = collect(info, average);
  content.constantsCrc = joint.getConstantsCrc();
  SafeTensors shards = viewShards(session);
  if (average)
    average->addShards(shards);
  // The host's copy of a device's state does not change until the next one.
  if (session.getRunsAhead() == 0)
    snapshot.take({&content.state, &shards});
  joint.start(folder, std::move(content), std::move(shards), retention,
              [this] { snapshot.wait(); });
}

bool Saver::isLate() {
  // A disk that is only a little slow delays the run; a slower one does not,
  // nor one that has much to write.
  constexpr int64_t much = int64_t(64) << 20;
  std::chrono::milliseconds patience{
      session.getManifest().stateBytes < much ? 2000 : 20};
  bool isLate = writer.isRetrying() || !writer.waitFor(patience);
  return joint.getStage() ? ranks.agree(isLate, "a late checkpoint") != 0
                          : isLate;
}

void Saver::save(const CheckpointInfo &info, const WeightAverage *average,
                 bool isBest) {
  Retention retention{keep, isBest};
  if (isLate() && !isBest) {
    if (!saidLate && !writer.isRetrying())
      console.noteOnce(fmt::format(
          "checkpoints are written more slowly than --save-every asks for: "
          "that of step {}, and maybe others, is left out",
          info.step));
    saidLate = true;
    return;
  }
  wait();
  if (hasShards()) {
    try {
      startJoint(info, average, retention);
    } catch (const Error &problem) {
      outcome.warn(problem);
    }
    return;
  }
  session.fetchState();
  auto content = std::make_shared<CheckpointContent>(collect(info, average));
  content->constantsCrc = constantsCrc;
  // The host's copy of a device's state does not change until the next one.
  if (session.getRunsAhead() == 0)
    snapshot.take({&content->state});
  writer.start(info.step, [this, content, retention] {
    snapshot.wait();
    requireFinite(session, content->state,
                  fmt::format("--save: step {}", content->info.step));
    write(*content, retention);
  });
}

/// Calls `write` until it returns, with pauses as in the background. Adds what
/// it throws the last time.
static void writeLast(Outcome &outcome, const std::function<void()> &write) {
  auto pause = CheckpointWriter::kPause;
  for (int attempt = 1; attempt < CheckpointWriter::kAttempts; ++attempt) {
    try {
      write();
      return;
    } catch (const Error &problem) {
      outcome.warn(problem);
    }
    std::this_thread::sleep_for(std::exchange(pause, 2 * pause));
  }
  outcome.attempt(write);
}

void Saver::saveLast(const CheckpointInfo &info, const WeightAverage *average,
                     bool isBest) {
  Retention retention{keep, isBest};
  wait();
  if (savedStep == info.step && (!isBest || bestStep == info.step))
    return;
  if (hasShards()) {
    writeLast(outcome, [&] { startJoint(info, average, retention); });
    wait();
    if (savedStep != info.step)
      outcome.add(failure("--save", "the last step could not be saved",
                          "see the messages of the ranks"));
    return;
  }
  session.fetchState();
  CheckpointContent content = collect(info, average);
  content.constantsCrc = constantsCrc;
  writeLast(outcome, [&] {
    write(content, retention);
    savedStep = info.step;
  });
}
