// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as calls of a library (ingot.h): right ones and hostile ones, on
// sessions that are open, closed or null, with files that change meanwhile, and
// from two threads at once. A call returns one of its statuses; with an error
// it has a text of one line, and changes nothing.
//
//===----------------------------------------------------------------------===//

#include "runtime/embed/LibraryFunctions.h"
#include "test/fuzz/records/Folder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// Ends the process with what is wrong.
void require(bool isRight, const char *what) {
  if (isRight)
    return;
  fprintf(stderr, "%s; the last error: %s\n", what, ingot_last_error());
  std::abort();
}

/// The bytes of an input, of which each decision takes one.
class Choices {
public:
  explicit Choices(std::string_view bytes) : bytes(bytes) {}

  bool isEmpty() const { return bytes.empty(); }
  size_t below(size_t count) {
    if (bytes.empty())
      return 0;
    auto value = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return value % count;
  }
  /// True once in `count` times.
  bool rarely(size_t count = 8) { return below(count) == count - 1; }
  template <typename T, size_t count> T pick(const T (&values)[count]) {
    return values[below(count)];
  }
  /// The first bytes, as choices of their own.
  Choices split() {
    size_t size = std::min<size_t>(below(24) + 1, bytes.size());
    Choices part(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return part;
  }

private:
  std::string_view bytes;
};

constexpr size_t kMost = std::numeric_limits<size_t>::max();

/// Sizes that are wrong for almost everything.
constexpr size_t kSizes[] = {0, 1, 2, 3, 5, 64, kMost, kMost / 2, kMost - 3};

constexpr double kNumbers[] = {0,     1,    -1,     0.05, 0.9,      1e-30,
                               1e300, -0.0, 1e-320, NAN,  INFINITY, -INFINITY};

const char *const kPaths[] = {
    "a", "b",         "a/b", "w.safetensors", "m.onnx",
    "",  ".",         "..",  "/dev/null",     "/dev/full",
    "/", "none/none", "a/",  "%s\n\033[1m",   nullptr};

/// Memory of exactly that size, as far as there can be some: a size that is
/// wrong is refused before anything is read.
class Room {
public:
  Room(Choices &choices, size_t bytes)
      : held(std::min<size_t>(bytes, 1 << 16)), memory(new char[held]) {
    float value = static_cast<float>(choices.pick(kNumbers));
    for (size_t i = 0; i < held; ++i)
      memory[i] = reinterpret_cast<const char *>(&value)[i % sizeof(value)];
  }
  char *get() const { return memory.get(); }

private:
  size_t held;
  std::unique_ptr<char[]> memory;
};

/// An allocator that may have no memory.
struct Allocator {
  int left = 0;

  static void *allocate(void *data, size_t bytes) {
    auto &self = *static_cast<Allocator *>(data);
    if (self.left == 0)
      return nullptr;
    --self.left;
    return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  }
  static void release(void *, void *memory, size_t) { std::free(memory); }
};

class Calls {
public:
  ~Calls() {
    for (ingot_session *session : sessions)
      if (isOpen(session))
        require(ingot_close(session) == INGOT_OK, "a session cannot be closed");
  }

  void run(Choices &choices) {
    while (!choices.isEmpty())
      call(choices);
  }

private:
  static bool isOpen(ingot_session *session) {
    ingot_statistics statistics = {sizeof(statistics), 0, 0, 0, 0, 0};
    return session && ingot_get_statistics(session, &statistics) == INGOT_OK;
  }

  /// The steps of an open session, else -1.
  static int64_t getSteps(ingot_session *session) {
    ingot_statistics statistics = {sizeof(statistics), 0, 0, 0, 0, 0};
    return session && ingot_get_statistics(session, &statistics) == INGOT_OK
               ? statistics.steps
               : -1;
  }

  /// Holds a status against what is promised of all.
  static ingot_status check(ingot_status status) {
    require(status >= INGOT_OK && status <= INGOT_BAD_INPUT, "no status");
    if (status == INGOT_OK)
      return status;
    std::string text = ingot_last_error();
    require(!text.empty(), "an error without a text");
    for (char c : text)
      require(static_cast<unsigned char>(c) >= ' ' && c != 127,
              "an error with a control character");
    return status;
  }

  static void onLine(void *data, const char *line) {
    require(data && line, "a line without its data");
  }

  void open(Choices &choices) {
    ingot_options options = ingot_default_options();
    options.threads = static_cast<int>(choices.below(3));
    options.seed = choices.below(4);
    // What the caller gave has to live as long as the session.
    auto &allocator = *allocators.emplace_back(std::make_unique<Allocator>());
    if (choices.rarely(4)) {
      allocator.left = static_cast<int>(choices.below(8));
      options.allocator = {Allocator::allocate,
                           choices.rarely() ? nullptr : Allocator::release,
                           &allocator};
    }
    if (choices.rarely(4)) {
      options.log = onLine;
      options.log_data = &allocator;
    }
    if (choices.rarely(4))
      options.flags = static_cast<unsigned>(choices.below(4));
    if (choices.rarely(4))
      options.weights = choices.pick(kPaths);
    if (choices.rarely())
      options.threads = choices.pick({-1, 1 << 30, -(1 << 30)});
    if (choices.rarely())
      options.size = choices.pick(kSizes);
    if (choices.rarely())
      options.sidecar = choices.pick(kPaths);
    ingot_session *session = nullptr;
    bool hasModel = !choices.rarely(), hasRoom = !choices.rarely();
    ingot_status status = check(ingot_open(
        hasModel ? ingot_get_model() : nullptr,
        choices.rarely() ? nullptr : &options, hasRoom ? &session : nullptr));
    require((status == INGOT_OK) == (session != nullptr),
            "a session is no sign of success");
    if (session)
      sessions.push_back(session);
    if (sessions.size() > 4) {
      check(ingot_close(sessions.front()));
      sessions.erase(sessions.begin());
    }
  }

  /// Any of the sessions, also a closed one, and sometimes null.
  ingot_session *choose(Choices &choices) {
    size_t index = choices.below(sessions.size() + 1);
    return index < sessions.size() ? sessions[index] : nullptr;
  }

  static ingot_list chooseList(Choices &choices) {
    return static_cast<ingot_list>(static_cast<int>(choices.below(12)) - 1);
  }

  /// The entries of a list, with the sizes that the model has.
  static std::vector<ingot_tensor> list(ingot_session *session,
                                        ingot_list list) {
    std::vector<ingot_tensor> entries(ingot_count(session, list));
    for (size_t i = 0; i < entries.size(); ++i)
      if (ingot_describe(session, list, i, &entries[i]) != INGOT_OK)
        return {};
    return entries;
  }

  static std::string chooseName(Choices &choices, ingot_session *session,
                                ingot_list which) {
    std::vector<ingot_tensor> entries = list(session, which);
    if (entries.empty() || choices.rarely())
      return choices.pick({"", "w", "lr", "no such name", "a\nb\033[0m"});
    return entries[choices.below(entries.size())].name;
  }

  /// Buffers for a list of inputs, some with a wrong size or none.
  struct Inputs {
    std::vector<ingot_input> inputs;
    std::vector<Room> rooms;
    size_t count = 0;

    Inputs(Choices &choices, ingot_session *session, ingot_list which,
           size_t samples) {
      for (const ingot_tensor &entry : list(session, which)) {
        size_t whole = entry.rank && entry.shape[0] > 0 ? entry.shape[0] : 1;
        size_t bytes = which == INGOT_STEP_INPUTS
                           ? entry.bytes
                           : entry.bytes / whole * samples;
        if (choices.rarely())
          bytes = choices.pick(kSizes);
        rooms.emplace_back(choices, bytes);
        inputs.push_back(
            {choices.rarely() ? nullptr : rooms.back().get(), bytes});
      }
      count = inputs.size();
      inputs.push_back({});
      if (choices.rarely())
        count = choices.below(count + 2);
    }
    const ingot_input *get(Choices &choices) const {
      return choices.rarely(16) ? nullptr : inputs.data();
    }
  };

  void step(Choices &choices, ingot_session *session) {
    Inputs inputs(choices, session, INGOT_STEP_INPUTS, 0);
    std::vector<double> results(choices.below(5));
    bool isNull = choices.rarely();
    int64_t before = getSteps(session);
    ingot_status status =
        check(ingot_step(session, inputs.get(choices), inputs.count,
                         isNull ? nullptr : results.data(), results.size()));
    if (!isShared)
      require(getSteps(session) == before + (status == INGOT_OK),
              "a wrong number of steps");
  }

  static size_t chooseSamples(Choices &choices) {
    return choices.rarely() ? choices.pick(kSizes) : choices.below(4) + 1;
  }

  static void evaluate(Choices &choices, ingot_session *session) {
    size_t samples = chooseSamples(choices);
    Inputs inputs(choices, session, INGOT_EVALUATE_INPUTS, samples);
    std::vector<double> results(choices.below(5));
    check(ingot_evaluate(session, inputs.get(choices), inputs.count, samples,
                         results.data(), results.size()));
  }

  static void predict(Choices &choices, ingot_session *session) {
    size_t samples = chooseSamples(choices);
    Inputs inputs(choices, session, INGOT_PREDICT_INPUTS, samples);
    std::vector<Room> rooms;
    std::vector<ingot_output> outputs;
    for (const ingot_tensor &entry : list(session, INGOT_PREDICT_OUTPUTS)) {
      size_t bytes = entry.bytes / 4 * samples;
      if (choices.rarely())
        bytes = choices.pick(kSizes);
      rooms.emplace_back(choices, bytes);
      outputs.push_back(
          {choices.rarely() ? nullptr : rooms.back().get(), bytes});
    }
    size_t count = outputs.size();
    outputs.push_back({});
    if (choices.rarely())
      count = choices.below(count + 2);
    check(ingot_predict(session, inputs.get(choices), inputs.count, samples,
                        choices.rarely(16) ? nullptr : outputs.data(), count));
  }

  /// Fills an input in place.
  void fill(Choices &choices, ingot_session *session) {
    ingot_list which =
        choices.rarely()
            ? chooseList(choices)
            : choices.pick({INGOT_STEP_INPUTS, INGOT_EVALUATE_INPUTS,
                            INGOT_PREDICT_INPUTS});
    std::vector<ingot_tensor> entries = list(session, which);
    size_t index = choices.below(entries.size() + 1);
    void *address = nullptr;
    ingot_status status = check(ingot_input_address(
        session, which, index, choices.rarely() ? nullptr : &address));
    // Another thread's next call may place the inputs anew.
    if (status != INGOT_OK || isShared)
      return;
    require(address && index < entries.size(), "no address of an input");
    Room room(choices, entries[index].bytes);
    std::memcpy(address, room.get(), entries[index].bytes);
  }

  static void useHyperparameter(Choices &choices, ingot_session *session) {
    std::string name = chooseName(choices, session, INGOT_HYPERPARAMETERS);
    const char *given = choices.rarely() ? nullptr : name.c_str();
    double value = choices.pick(kNumbers);
    if (choices.below(2)) {
      check(ingot_set_hyperparameter(session, given, value));
      return;
    }
    check(ingot_get_hyperparameter(session, given,
                                   choices.rarely() ? nullptr : &value));
  }

  static void useState(Choices &choices, ingot_session *session) {
    constexpr size_t sizes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
    std::string name = chooseName(choices, session, INGOT_STATES);
    auto type = static_cast<int>(choices.below(9));
    size_t bytes = sizes[type] * (name == "w" || name == "w.momentum" ? 3 : 1);
    if (choices.rarely())
      type = choices.pick({-1, 9, 99, std::numeric_limits<int>::max()});
    if (choices.rarely())
      bytes = choices.pick(kSizes);
    Room room(choices, bytes);
    const char *given = choices.rarely() ? nullptr : name.c_str();
    char *data = choices.rarely() ? nullptr : room.get();
    if (choices.below(2))
      check(ingot_set_state(session, given, static_cast<ingot_type>(type), data,
                            bytes));
    else
      check(ingot_get_state(session, given, static_cast<ingot_type>(type), data,
                            bytes));
  }

  static void useFile(Choices &choices, ingot_session *session) {
    const char *path = choices.pick(kPaths);
    switch (choices.below(4)) {
    case 0:
      // Folders of others stay as they are.
      if (path)
        path = choices.pick({"a", "b", "a/b", "w.safetensors", "", "c/\n"});
      check(ingot_save(session, path,
                       choices.rarely() ? choices.pick({-1, 1 << 30})
                                        : static_cast<int>(choices.below(3))));
      return;
    case 1:
      check(ingot_resume(session, path));
      return;
    case 2:
      check(ingot_load(session, path));
      return;
    default:
      check(ingot_export(session, path));
    }
  }

  /// Changes a byte of some file in the folder, or cuts it.
  static void damage(Choices &choices) {
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry :
         fs::recursive_directory_iterator("."))
      if (entry.is_regular_file())
        files.push_back(entry.path());
    if (files.empty())
      return;
    std::sort(files.begin(), files.end());
    const fs::path &file = files[choices.below(files.size())];
    size_t size = fs::file_size(file);
    size_t at = size * choices.below(256) / 256;
    if (choices.rarely(4)) {
      fs::resize_file(file, at);
      return;
    }
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(choices.below(256)));
  }

  /// Two threads in one session: what is refused, and what is done, is left to
  /// chance, but nothing breaks.
  void useInTwoThreads(Choices &choices) {
    ingot_session *session = choose(choices);
    if (!session || isShared)
      return;
    Choices first = choices.split(), second = choices.split();
    isShared = true;
    std::thread thread([&] {
      while (!first.isEmpty())
        callOn(first, session);
    });
    while (!second.isEmpty())
      callOn(second, session);
    thread.join();
    isShared = false;
  }

  /// A call of one session.
  void callOn(Choices &choices, ingot_session *session) {
    ingot_tensor tensor = {};
    ingot_statistics statistics = {};
    switch (choices.below(10)) {
    case 0:
      ingot_count(session, chooseList(choices));
      check(ingot_describe(session, chooseList(choices), choices.below(8),
                           choices.rarely() ? nullptr : &tensor));
      return;
    case 1:
      check(ingot_select_shape(session,
                               choices.rarely() ? choices.pick(kSizes) : 0));
      return;
    case 2:
      evaluate(choices, session);
      return;
    case 3:
      predict(choices, session);
      return;
    case 4:
      fill(choices, session);
      return;
    case 5:
      useHyperparameter(choices, session);
      return;
    case 6:
      useState(choices, session);
      return;
    case 7:
      check(ingot_reset(session, choices.below(3)));
      return;
    case 8:
      statistics.size =
          choices.rarely() ? choices.pick(kSizes) : sizeof(statistics);
      check(ingot_get_statistics(session,
                                 choices.rarely() ? nullptr : &statistics));
      return;
    default:
      step(choices, session);
    }
  }

  void call(Choices &choices) {
    switch (choices.below(8)) {
    case 0:
      open(choices);
      return;
    case 1:
      if (choices.rarely(4))
        check(ingot_close(choose(choices)));
      return;
    case 2:
      useFile(choices, choose(choices));
      return;
    case 3:
      damage(choices);
      return;
    case 4:
      useInTwoThreads(choices);
      return;
    default:
      callOn(choices, choose(choices));
    }
  }

  std::vector<ingot_session *> sessions;
  std::vector<std::unique_ptr<Allocator>> allocators;
  /// Whether two threads use a session.
  bool isShared = false;
};

/// The number of entries of a kind in /proc: threads, or open files.
size_t countEntries(const char *folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ingot::fuzz::enterFolder();
  for (const fs::directory_entry &entry : fs::directory_iterator("."))
    fs::remove_all(entry);
  size_t threads = countEntries("/proc/self/task");
  size_t files = countEntries("/proc/self/fd");
  {
    Choices choices({reinterpret_cast<const char *>(data), size});
    Calls calls;
    calls.run(choices);
  }
  require(countEntries("/proc/self/fd") == files, "files are left open");
  // A thread that has been joined is listed for a moment longer.
  for (int i = 0; i < 1000 && countEntries("/proc/self/task") != threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  require(countEntries("/proc/self/task") <= threads, "threads are left");
  return 0;
}
