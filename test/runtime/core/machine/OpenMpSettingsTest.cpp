// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/OpenMpSettings.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot::runtime;

namespace {

using Environment = std::map<std::string, std::string>;

OpenMpSettings read(const Environment &environment, const Processors &allowed,
                    const std::string &system = "/sys/devices/system") {
  return OpenMpSettings::read(
      [&](const char *name) {
        auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      allowed, system);
}

std::string print(const std::vector<Processors> &places) {
  std::string text;
  for (const Processors &place : places) {
    text += ' ';
    for (int64_t cpu : place)
      text += std::to_string(cpu) + ",";
  }
  return text;
}

/// A machine of two sockets with two cores of two threads, as Linux numbers
/// them; caches are of sockets.
class Machine : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/ingot-openmp-XXXXXX";
    folder = mkdtemp(name);
    for (int cpu = 0; cpu < 8; ++cpu) {
      int core = cpu % 4, socket = core / 2;
      std::string at = "cpu/cpu" + std::to_string(cpu);
      auto pair = [](int low, int high) {
        return std::to_string(low) + "," + std::to_string(high);
      };
      std::string all = std::to_string(2 * socket) + "-" +
                        std::to_string(2 * socket + 1) + "," +
                        std::to_string(2 * socket + 4) + "-" +
                        std::to_string(2 * socket + 5);
      write(at + "/topology/thread_siblings_list", pair(core, core + 4));
      write(at + "/topology/core_siblings_list", all);
      write(at + "/cache/index0/shared_cpu_list", pair(core, core + 4));
      write(at + "/cache/index1/shared_cpu_list", all);
    }
    write("node/online", "0-1");
    write("node/node0/cpulist", "0-1,4-5");
    write("node/node1/cpulist", "2-3,6-7");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string getPlaces(const std::string &places) {
    return print(read({{"OMP_PLACES", places}}, allowed, folder).places);
  }

  std::filesystem::path folder;
  Processors allowed = {0, 1, 2, 3, 4, 5, 6, 7};
};
using OpenMpSettingsTest = Machine;

TEST_F(OpenMpSettingsTest, PlacesOfTheMachine) {
  EXPECT_EQ(getPlaces("threads"), " 0, 4, 1, 5, 2, 6, 3, 7,");
  EXPECT_EQ(getPlaces("cores"), " 0,4, 1,5, 2,6, 3,7,");
  EXPECT_EQ(getPlaces("cores(2)"), " 0,4, 1,5,");
  EXPECT_EQ(getPlaces("sockets"), " 0,1,4,5, 2,3,6,7,");
  EXPECT_EQ(getPlaces("ll_caches"), " 0,1,4,5, 2,3,6,7,");
  EXPECT_EQ(getPlaces("numa_domains"), " 0,1,4,5, 2,3,6,7,");
  allowed = {1, 5, 6};
  EXPECT_EQ(getPlaces("threads"), " 1, 5, 6,");
  EXPECT_EQ(getPlaces("sockets"), " 1,5, 6,");
}

TEST_F(OpenMpSettingsTest, BindingAloneHasAPlaceForEachThread) {
  auto bind = [&](const char *value) {
    return print(read({{"OMP_PROC_BIND", value}}, allowed, folder).places);
  };
  EXPECT_EQ(bind("spread"), " 0, 4, 1, 5, 2, 6, 3, 7,");
  EXPECT_EQ(bind("false"), "");
  EXPECT_EQ(read({{"OMP_PROC_BIND", "near"}}, allowed).ignored,
            "OMP_PROC_BIND");
  // A machine that says nothing about its processors.
  std::filesystem::remove_all(folder / "cpu");
  EXPECT_EQ(bind("close"), "");
}

TEST_F(OpenMpSettingsTest, OthersMayNotBeUsed) {
  allowed = {2, 3};
  EXPECT_EQ(read({}, allowed).threads, 2);
  EXPECT_EQ(getPlaces("{0:4},{1},{3}"), " 2,3, 3,");
  OpenMpSettings settings = read({{"OMP_PLACES", "{0}"}}, allowed);
  EXPECT_TRUE(settings.places.empty());
  EXPECT_EQ(settings.ignored, "OMP_PLACES");
  auto bind = [&](const char *value) {
    return print(read({{"GOMP_CPU_AFFINITY", value}}, allowed).places);
  };
  EXPECT_EQ(bind("0-3"), " 2, 3,");
  EXPECT_EQ(bind("0"), "");
}

#ifdef INGOT_TEST_OPENMP
/// Returns the answers of the library in an environment; empty if it has places
/// that no thread can be bound to.
std::string ask(const Environment &environment) {
  int pipes[2];
  if (pipe(pipes) != 0)
    return "";
  pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    std::freopen("/dev/null", "w", stderr);
    clearenv();
    for (const auto &[name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
    execl(INGOT_TEST_OPENMP, INGOT_TEST_OPENMP, nullptr);
    _exit(1);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = ::read(pipes[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, size);
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0)
    return "ended with " + std::to_string(status);
  // GOMP_CPU_AFFINITY may name processors that the process may not run on, of
  // which the library makes places that no thread can be bound to.
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word.back() == ',' && !getAllowedProcessors().contains(std::stoi(word)))
      return "";
  return text;
}

/// Returns the answers of this process, of values that fit in the library's
/// types.
std::string answer(const Environment &environment) {
  OpenMpSettings settings = read(environment, getAllowedProcessors());
  int64_t limit = std::min<int64_t>(settings.threadLimit, INT_MAX);
  return std::to_string(settings.threads) + " " + std::to_string(limit) + " " +
         std::to_string(settings.isParallel) + print(settings.places) + "\n";
}

/// Texts like values of the variables: words in an order that mostly makes
/// sense, or has something else in it.
class Texts {
public:
  explicit Texts(int seed) : random(seed) {}

  Environment draw() {
    Environment environment;
    if (one(4))
      environment["OMP_NUM_THREADS"] = list(",", [&] { return number(9); });
    if (one(6))
      environment["OMP_THREAD_LIMIT"] = spoil(number(9));
    if (one(6))
      environment["OMP_MAX_ACTIVE_LEVELS"] = spoil(number(3));
    if (one(3))
      environment["OMP_PROC_BIND"] = list(",", [&] {
        return pick({"true", "false", "close", "spread", "master", "primary",
                     "TRUE", "Close", "closest"});
      });
    if (!one(3))
      environment["OMP_PLACES"] =
          one(4) ? spoil(pick({"threads", "cores", "sockets", "ll_caches",
                               "numa_domains", "THREADS", "core"}) +
                         pick({"", "", "(1)", " ( 2 ) ", "(0)", "(-1)", "()",
                               "(2", ")"}))
                 : list(",", [&] { return place(); });
    if (one(5))
      environment["GOMP_CPU_AFFINITY"] = list(pick({" ", ",", " , "}), [&] {
        return cpu() + pick({"", "", "-1", "-1:1", "-0", "- 1", "-1:0"});
      });
    return environment;
  }

private:
  bool one(int of) { return random() % of == 0; }
  std::string pick(std::vector<std::string> from) {
    return from[random() % from.size()];
  }
  std::string number(int most) {
    return one(8) ? pick({"0", "-1", "+2", "007", "0x2", "1e3", "", "x",
                          "99999999999999999999"})
                  : std::to_string(random() % (most + 1));
  }
  /// Mostly a processor that the machine has.
  std::string cpu() {
    return one(10) ? pick({"64", "63", "-1", "", "+1", "0x1", "100000"})
                   : std::to_string(random() % 2);
  }
  std::string range() {
    return pick({"", "", "", ":1", ":2", ":2:0", ":2:-1", ":3", ":0", ":",
                 ":2:", ":70000", " : 2 : 1"});
  }
  std::string place() {
    std::string bang = one(8) ? pick({"!", "! "}) : "";
    if (one(4))
      return bang + cpu() + range();
    std::string inside =
        list(",", [&] { return pick({"", "", "", "!"}) + cpu() + range(); });
    return bang + "{" + inside + "}" + range();
  }
  template <typename Draw>
  std::string list(const std::string &separator, Draw draw) {
    std::string text = draw();
    while (one(2))
      text += separator + draw();
    return spoil(text);
  }
  /// Now and then spaces, and seldom a character that does not belong there.
  std::string spoil(std::string text) {
    if (one(4))
      text.insert(random() % (text.size() + 1), pick({" ", "\t", "  "}));
    if (one(12))
      text.insert(random() % (text.size() + 1),
                  pick({",", "x", "{", "}", ":", "!", "(", "\xff"}));
    return text;
  }

  std::mt19937 random;
};

/// The library runs in a process of its own for each environment.
void compare(int seed, int count) {
  Texts texts(seed);
  int places = 0;
  for (int i = 0; i < count; ++i) {
    Environment environment = texts.draw();
    std::string expected = ask(environment), actual = answer(environment);
    if (expected.empty())
      continue;
    std::ostringstream what;
    for (const auto &[name, value] : environment)
      what << name << "='" << value << "' ";
    ASSERT_EQ(actual, expected) << what.str();
    places += std::count(actual.begin(), actual.end(), ',') > 0;
  }
  EXPECT_GT(places, count / 8);
}

TEST(OpenMpLibrary, AgreesOnEveryValue) { compare(1, 300); }

/// Twelve values of each of the five variables that users set. The table of the
/// answers goes to the file that INGOT_OPENMP_TABLE names.
TEST(OpenMpLibrary, AgreesOnUsualValues) {
  const std::pair<const char *, std::vector<const char *>> settings[] = {
      {"OMP_NUM_THREADS",
       {"1", "2", "3", "16", "2,1", "4,2,1", " 2 ", "0", "-1", "2x", "",
        "99999999999999999999"}},
      {"OMP_THREAD_LIMIT",
       {"1", "2", "64", " 3", "+2", "007", "2147483647", "0", "-4", "2,3", "",
        "many"}},
      {"OMP_MAX_ACTIVE_LEVELS",
       {"0", "1", "2", "255", " 1 ", "00", "256", "-1", "1,2", "x", "", "1e1"}},
      {"OMP_PROC_BIND",
       {"true", "false", "close", "spread", "master", "primary", "TRUE",
        "spread,close", "near", "1", "", " close "}},
      {"OMP_PLACES",
       {"threads", "cores", "sockets", "ll_caches", "numa_domains", "cores(1)",
        "{0}", "{0},{1}", "{0:2}", "{0}:2:1", "{0", "core"}},
  };
  std::ofstream table;
  if (const char *path = std::getenv("INGOT_OPENMP_TABLE"))
    table.open(path);
  table << "| setting | threads, limit, parallel, places | GCC's library |\n"
        << "|---|---|---|\n";
  int count = 0;
  for (const auto &[name, values] : settings)
    for (const char *value : values) {
      Environment environment = {{name, value}};
      std::string expected = ask(environment), actual = answer(environment);
      EXPECT_EQ(actual, expected) << name << "='" << value << "'";
      actual.pop_back();
      expected.pop_back();
      table << "| `" << name << "='" << value << "'` | " << actual << " | "
            << (actual == expected ? "the same" : expected) << " |\n";
      ++count;
    }
  EXPECT_EQ(count, 60);
}

TEST(OpenMpLibraryThorough, AgreesOnEveryValue) { compare(2, 5000); }
#endif

} // namespace
