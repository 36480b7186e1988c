// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// One cause at a time, and runs without any.
//===----------------------------------------------------------------------===//

#include "runtime/observe/diagnose/Diagnosis.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

/// A step of 10 ms without problems.
Evidence makeClean() {
  Evidence e;
  e.steps = 40;
  e.batch = 32;
  e.step = 10;
  e.data = 0.2;
  e.forward = 3;
  e.backward = 5.5;
  e.optimizer = 1;
  e.launch = 0.2;
  e.rest = 0.1;
  e.threads = e.cores = 2;
  e.workers = 1;
  e.decode = 2;
  e.decodeProcessor = 1.9;
  return e;
}

void expectCause(const Evidence &evidence, Cause cause,
                 const std::string &advice) {
  std::vector<Finding> findings = diagnose(evidence);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].cause, cause) << getName(findings[0].cause);
  std::string text = describeDiagnosis(evidence, findings);
  EXPECT_NE(text.find(std::string(getName(cause)) + ": "), std::string::npos);
  EXPECT_NE(text.find(advice), std::string::npos) << text;
  if (findings[0].gain) {
    EXPECT_GT(*findings[0].gain, 0);
    EXPECT_LT(*findings[0].gain, 1);
  }
}

TEST(Diagnosis, NothingToGain) {
  Evidence clean = makeClean();
  EXPECT_TRUE(diagnose(clean).empty());
  EXPECT_NE(describeDiagnosis(clean, {}).find("nothing to gain"),
            std::string::npos);
  Evidence ranks = clean;
  ranks.ranks = 4;
  ranks.communication = 0.5;
  ranks.synchronization = 0.3;
  ranks.link = 4;
  ranks.sentBytes = 1e7;
  EXPECT_TRUE(diagnose(ranks).empty());
  Evidence saves = clean;
  saves.saveEvery = 100;
  saves.saving = 0.1;
  EXPECT_TRUE(diagnose(saves).empty());
}

TEST(Diagnosis, SlowStorage) {
  Evidence e = makeClean();
  e.data = 10;
  e.step = 20;
  e.decode = 19;
  e.decodeProcessor = 1;
  expectCause(e, Cause::SlowStorage, "--workers 3\n");
  // More requests do not help against a disk that reads as much as it can.
  EXPECT_FALSE(diagnose(e)[0].gain);
}

TEST(Diagnosis, StorageIsToldFromCoresThatAreBusy) {
  Evidence e = makeClean();
  e.data = 10;
  e.step = 20;
  e.decode = 19;
  e.decodeProcessor = 2;
  e.others = 0.6;
  // Half of the rest is waiting for a core, the other half for storage.
  e.decodeDelay = 8;
  expectCause(e, Cause::SlowStorage, "slow storage");
  // All of it is waiting for a core.
  e.decodeDelay = 17;
  EXPECT_TRUE(diagnose(e).empty());
  // Kernels of this process have it.
  e.others = 0;
  e.cores = 8;
  expectCause(e, Cause::SlowDecoding, "slow decoding");
}

TEST(Diagnosis, WhatWasTriedIsPredicted) {
  Evidence e = makeClean();
  e.data = 10;
  e.step = 20;
  e.decode = 19;
  e.decodeProcessor = 1;
  e.triedWorkers = 4;
  e.triedStep = 12;
  expectCause(e, Cause::SlowStorage, "--workers 4: saves about 40%");
  // More threads read no faster.
  e.triedStep = 19.5;
  Finding finding = diagnose(e)[0];
  EXPECT_TRUE(finding.advice.empty());
  EXPECT_NE(finding.evidence.find("with 4 threads, steps took 19.50 ms"),
            std::string::npos);
}

TEST(Diagnosis, ABusyMachineIsNoSlowStorage) {
  Evidence e = makeClean();
  e.data = 3;
  e.step = 13;
  e.decode = 4;
  e.decodeProcessor = 0.5;
  expectCause(e, Cause::SlowStorage, "slow storage");
  e.others = 0.6;
  EXPECT_TRUE(diagnose(e).empty());
  EXPECT_NE(describeDiagnosis(e, {}).find("other processes took 60%"),
            std::string::npos);
  // Batches that are made in time, by threads that get no core.
  e.others = 0;
  e.decode = e.decodeProcessor = 0.5;
  EXPECT_TRUE(diagnose(e).empty());
  e.others = 0.6;
  e.decode = 8;
  e.decodeProcessor = 3.5;
  expectCause(e, Cause::SlowDecoding, "slow decoding");
}

TEST(Diagnosis, SlowDecoding) {
  Evidence e = makeClean();
  e.data = 10;
  e.step = 20;
  e.decode = 19;
  e.decodeProcessor = 18;
  e.cores = 8;
  expectCause(e, Cause::SlowDecoding, "--workers 3");
  // Where the cores are busy, more threads do not help.
  e.cores = 1;
  std::vector<Finding> findings = diagnose(e);
  EXPECT_EQ(findings.front().cause, Cause::SlowDecoding);
  EXPECT_TRUE(findings.front().advice.empty());
}

TEST(Diagnosis, SlowLink) {
  Evidence e = makeClean();
  e.ranks = 2;
  e.communication = 12;
  e.synchronization = 1;
  e.step = 22;
  e.link = 14;
  e.sentBytes = 350e3;
  expectCause(e, Cause::SlowLink, "at 200 Mbit/s");
}

TEST(Diagnosis, AFastLinkIsNotSlow) {
  Evidence e = makeClean();
  e.ranks = 2;
  e.communication = 1.5;
  e.step = 11.5;
  e.link = 4;
  e.sentBytes = 1.5e6;
  EXPECT_TRUE(diagnose(e).empty());
}

TEST(Diagnosis, UnequalRanks) {
  Evidence e = makeClean();
  e.communication = 5;
  e.synchronization = 4.9;
  e.step = 15;
  e.link = 5;
  expectCause(e, Cause::UnequalRanks, "ranks that start later");
}

TEST(Diagnosis, SmallBatch) {
  Evidence e = makeClean();
  e.batch = 2;
  e.forward = 0.2;
  e.backward = 0.3;
  e.step = 2;
  e.data = 0.1;
  expectCause(e, Cause::SmallBatch, "ingotc --batch 8: saves about 56%");
}

TEST(Diagnosis, TooManyThreads) {
  Evidence e = makeClean();
  e.threads = 8;
  // Four full turns on both cores.
  expectCause(e, Cause::TooManyThreads, "OMP_NUM_THREADS=2\n");
  EXPECT_FALSE(diagnose(e)[0].gain);
  // One core has nothing to do in the second turn.
  e.threads = 3;
  expectCause(e, Cause::TooManyThreads, "OMP_NUM_THREADS=2: saves about 8%");
}

TEST(Diagnosis, FrequentSaves) {
  Evidence e = makeClean();
  e.saveEvery = 2;
  e.saving = 5;
  e.step = 15;
  expectCause(e, Cause::FrequentSaves, "--save-every 100");
}

TEST(Diagnosis, WrongMachineProfile) {
  Evidence e = makeClean();
  e.kernel = "fc (matmul)";
  e.impossible = 0.8;
  expectCause(e, Cause::WrongMachineProfile, "ingotc --machine measured");
  e.impossible = 0;
  e.slow = 0.95;
  expectCause(e, Cause::WrongMachineProfile, "most of it in fc (matmul)");
}

TEST(Diagnosis, MemoryPressure) {
  Evidence e = makeClean();
  e.memoryStall = 0.3;
  // Of 30% waits; half of the forward pass is computed again in the rest.
  expectCause(e, Cause::MemoryPressure,
              "ingotc --memory-budget at-least:50%: saves about 20%");
  e.memoryStall = 0;
  e.majorFaults = 1000;
  expectCause(e, Cause::MemoryPressure, "1000 pages");
  EXPECT_FALSE(diagnose(e)[0].gain);
}

TEST(Diagnosis, TheLargestGainComesFirst) {
  Evidence e = makeClean();
  e.saveEvery = 1;
  e.saving = 2;
  e.data = 20;
  e.decode = 30;
  e.decodeProcessor = 1;
  e.step = 32;
  std::vector<Finding> findings = diagnose(e);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].cause, Cause::SlowStorage);
  EXPECT_EQ(findings[1].cause, Cause::FrequentSaves);
}

} // namespace
