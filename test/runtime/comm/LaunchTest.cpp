// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/launch/Launch.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

using namespace ingot::runtime;

namespace {

using Variables = std::map<std::string, std::string>;

/// Sets these variables of launchers, and no others.
class LaunchTest : public testing::Test {
protected:
  static void set(const Variables &variables) {
    for (const char *name :
         {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
          "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
          "PMI_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
          "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"})
      unsetenv(name);
    for (const auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
  }
  /// "mpi 1 of 2", or the error.
  static std::string find(const Variables &variables,
                          std::optional<Transport> wanted = {}) {
    set(variables);
    try {
      std::optional<Launch> launch = findLaunch(wanted);
      if (!launch)
        return "alone";
      std::string text =
          launch->transport == Transport::Mpi
              ? "mpi"
              : "tcp " + launch->host + ":" + std::to_string(launch->port);
      return text + " " + std::to_string(launch->rank) + " of " +
             std::to_string(launch->size);
    } catch (const Error &error) {
      EXPECT_EQ(error.getCode(), ExitCode::Usage);
      EXPECT_FALSE(error.getHint().empty());
      return error.getWhere() + ": " + error.getWhat();
    }
  }
  void SetUp() override {
    for (char **entry = environ; *entry; ++entry) {
      std::string text = *entry;
      size_t equals = text.find('=');
      before[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  void TearDown() override { set(before); }

  Variables before;
};

const Variables kTorch = {{"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "node0"},
                          {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "3"}};
const Variables kSlurm = {{"SLURM_PROCID", "0"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "4"}};

Variables operator+(Variables all, const Variables &more) {
  for (const auto &[name, value] : more)
    all[name] = value;
  return all;
}

TEST_F(LaunchTest, EveryLauncherIsKnown) {
  EXPECT_EQ(find({}), "alone");
  EXPECT_EQ(find(kTorch), "tcp node0:29501 1 of 2");
  EXPECT_EQ(find(kTorch + Variables{{"WORLD_SIZE", "1"}, {"RANK", "0"}}),
            "alone");
  EXPECT_EQ(find(kOpenMpi), "mpi 2 of 3");
  EXPECT_EQ(findLaunch()->mpi, MpiKind::OpenMpi);
  EXPECT_EQ(find({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "mpi 1 of 2");
  EXPECT_EQ(findLaunch()->mpi, MpiKind::Mpich);
  EXPECT_EQ(find({{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "2"}}),
            "mpi 1 of 2");
  EXPECT_EQ(findLaunch()->mpi, MpiKind::Mpich);
  EXPECT_EQ(find(kSlurm), "mpi 0 of 4");
  // The allocation, but no step of it.
  EXPECT_EQ(find({{"SLURM_NTASKS", "4"}}), "alone");
}

TEST_F(LaunchTest, TheInnerLauncherCounts) {
  // torchrun in a step of srun, or started by mpirun on each host.
  Variables torchrun = kTorch + Variables{{"TORCHELASTIC_RUN_ID", "none"}};
  EXPECT_EQ(find(kSlurm + torchrun), "tcp node0:29501 1 of 2");
  EXPECT_EQ(find(kOpenMpi + torchrun), "tcp node0:29501 1 of 2");
  // A script for Slurm that sets what PyTorch reads.
  EXPECT_EQ(find(kSlurm + kTorch), "tcp node0:29501 1 of 2");
  EXPECT_EQ(find(kOpenMpi + kTorch), "mpi 2 of 3");
}

TEST_F(LaunchTest, TheTransportCanBeNamed) {
  EXPECT_EQ(find(kTorch, Transport::Mpi), "mpi 1 of 2");
  EXPECT_EQ(
      find(kOpenMpi + Variables{{"MASTER_ADDR", "::1"}, {"MASTER_PORT", "80"}},
           Transport::Tcp),
      "tcp ::1:81 2 of 3");
  EXPECT_EQ(find({}, Transport::Tcp), "alone");
}

TEST_F(LaunchTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(find({{"WORLD_SIZE", "2"}}),
            "RANK: is not set, although WORLD_SIZE is 2");
  EXPECT_EQ(find({{"WORLD_SIZE", "2"}, {"RANK", "0"}}),
            "MASTER_ADDR: is not set, although 2 ranks meet over TCP");
  EXPECT_EQ(
      find({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "node0"}}),
      "MASTER_PORT: is not set, although 2 ranks meet over TCP");
  EXPECT_EQ(find(kOpenMpi, Transport::Tcp),
            "MASTER_ADDR: is not set, although 3 ranks meet over TCP");
}

TEST_F(LaunchTest, WhatMakesNoSenseIsNamed) {
  EXPECT_EQ(find(kTorch + Variables{{"RANK", "2"}}),
            "RANK: '2' is not an integer from 0 to 1");
  EXPECT_EQ(find(kTorch + Variables{{"RANK", "-1"}}),
            "RANK: '-1' is not an integer from 0 to 1");
  EXPECT_EQ(find(kTorch + Variables{{"WORLD_SIZE", "two"}}),
            "WORLD_SIZE: 'two' is not an integer from 1 to 2147483647");
  for (const char *port : {"0", "65535", "29500x", " 29500"})
    EXPECT_EQ(find(kTorch + Variables{{"MASTER_PORT", port}}),
              "MASTER_PORT: '" + std::string(port) +
                  "' is not an integer from 1 to 65534");
}

TEST_F(LaunchTest, RunsAtOnePortAreToldApart) {
  set(kTorch + Variables{{"TORCHELASTIC_RUN_ID", "a"},
                         {"TORCHELASTIC_RESTART_COUNT", "0"}});
  std::string first = findLaunch()->run;
  setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
  std::string second = findLaunch()->run;
  EXPECT_NE(first, second);
  setenv("TORCHELASTIC_RUN_ID", "b", 1);
  EXPECT_NE(second, findLaunch()->run);
}

} // namespace
