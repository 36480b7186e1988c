// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/OpenMpSettings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <strings.h>

using namespace ingot::runtime;

namespace {

/// The value of a variable, from its start. Spaces around words do not count.
class Reader {
public:
  explicit Reader(const char *text) : at(text) { skipSpaces(); }

  bool isAtEnd() const { return *at == '\0'; }
  bool isAt(char c) const { return *at == c; }

  bool take(char c) {
    if (*at != c)
      return false;
    ++at;
    skipSpaces();
    return true;
  }
  /// In lower or upper case.
  bool take(const char *word) {
    size_t length = std::strlen(word);
    if (strncasecmp(at, word, length) != 0)
      return false;
    at += length;
    skipSpaces();
    return true;
  }
  /// Numbers have a sign, and negative ones are large.
  std::optional<unsigned long> takeNumber() { return takeNumber(std::strtoul); }
  std::optional<long> takeSigned() { return takeNumber(std::strtol); }
  /// A number in the base that its first digits say, without the spaces.
  std::optional<unsigned long> takeWord() {
    return takeNumber(std::strtoul, /*base=*/0, /*skips=*/false);
  }
  void skipSpaces() { at += std::strspn(at, " \t\n\v\f\r"); }

private:
  template <typename Number>
  std::optional<Number> takeNumber(Number (*parse)(const char *, char **, int),
                                   int base = 10, bool skips = true) {
    char *end = nullptr;
    errno = 0;
    Number number = parse(at, &end, base);
    if (errno != 0 || end == at)
      return std::nullopt;
    at = end;
    if (skips)
      skipSpaces();
    return number;
  }

  const char *at;
};

/// Returns the first of a list of numbers above `least`, which is given
/// for each level of parallel regions if `isList`.
std::optional<int64_t> readNumber(const char *text, int64_t least,
                                  bool isList) {
  Reader reader(text);
  std::optional<int64_t> first;
  do {
    std::optional<unsigned long> number = reader.takeNumber();
    if (!number || static_cast<long>(*number) < least)
      return std::nullopt;
    if (!first)
      first = static_cast<int64_t>(*number);
  } while (isList && reader.take(','));
  return reader.isAtEnd() ? first : std::nullopt;
}

/// Returns whether threads are bound to places. Where they are may differ from
/// one level of parallel regions to the next.
std::optional<bool> readBinding(const char *text) {
  Reader reader(text);
  for (const char *word : {"false", "true"})
    if (reader.take(word))
      return reader.isAtEnd() ? std::optional(*word == 't') : std::nullopt;
  do {
    if (!reader.take("master") && !reader.take("primary") &&
        !reader.take("close") && !reader.take("spread"))
      return std::nullopt;
  } while (reader.take(','));
  return reader.isAtEnd() ? std::optional(true) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Lists of places
//===----------------------------------------------------------------------===//

/// Processors have smaller numbers.
int64_t getEnd(const Processors &allowed) {
  constexpr int64_t step = 64;
  return allowed.empty() ? 0 : (*allowed.rbegin() / step + 1) * step;
}

/// A start, a number of steps, and their size, as START[:COUNT[:STEP]].
struct Range {
  unsigned long count = 1;
  long step = 1;

  bool read(Reader &reader, unsigned long most) {
    if (!reader.take(':'))
      return true;
    std::optional<unsigned long> number = reader.takeNumber();
    if (!number || *number == 0 || *number > most)
      return false;
    count = *number;
    if (!reader.take(':'))
      return true;
    std::optional<long> distance = reader.takeSigned();
    step = distance.value_or(0);
    return distance.has_value();
  }
};

/// Adds to `number` what stays below `end`.
std::optional<int64_t> shift(int64_t number, long step, int64_t end) {
  int64_t sum = 0;
  if (__builtin_add_overflow(number, step, &sum) || sum < 0 || sum >= end)
    return std::nullopt;
  return sum;
}

/// Reads what is between braces: processors, and after `!` those that are not
/// of the place.
std::optional<Processors> readProcessors(Reader &reader, int64_t end) {
  Processors place;
  std::vector<int64_t> removed;
  do {
    bool removes = reader.take('!');
    std::optional<unsigned long> first = reader.takeNumber();
    Range range;
    if (!first || *first >= static_cast<unsigned long>(end) ||
        (!removes && !range.read(reader, OpenMpSettings::kUnlimited)))
      return std::nullopt;
    auto number = static_cast<int64_t>(*first);
    if (removes)
      removed.push_back(number);
    else
      place.insert(number);
    for (unsigned long i = 1; i < range.count; ++i) {
      std::optional<int64_t> next = shift(number, range.step, end);
      if (!next)
        return std::nullopt;
      place.insert(number = *next);
      if (range.step == 0)
        break;
    }
  } while (reader.take(','));
  for (int64_t number : removed)
    if (place.erase(number) == 0)
      return std::nullopt;
  return reader.take('}') ? std::optional(place) : std::nullopt;
}

/// Appends the places of a part of the list, or removes its place.
bool readPlace(Reader &reader, int64_t end, std::vector<Processors> &places) {
  constexpr unsigned long most = 65535;
  bool removes = reader.take('!');
  std::optional<Processors> place;
  if (reader.take('{')) {
    place = readProcessors(reader, end);
  } else {
    std::optional<unsigned long> number = reader.takeNumber();
    if (number && *number < static_cast<unsigned long>(end))
      place = {static_cast<int64_t>(*number)};
  }
  Range range;
  if (!place || !range.read(reader, most))
    return false;
  if (removes) {
    auto found = std::find(places.begin(), places.end(), *place);
    if (range.count != 1 || found == places.end())
      return false;
    places.erase(found);
    return true;
  }
  places.push_back(*place);
  for (unsigned long i = 1; i < range.count; ++i) {
    Processors moved;
    for (int64_t number : places.back()) {
      std::optional<int64_t> next = shift(number, range.step, end);
      if (!next)
        return false;
      moved.insert(*next);
    }
    places.push_back(moved);
  }
  return places.size() <= most + 1;
}

/// Leaves of places what the process may run on.
void keepAllowed(std::vector<Processors> &places, const Processors &allowed) {
  for (Processors &place : places)
    std::erase_if(place, [&](int64_t cpu) { return !allowed.contains(cpu); });
  std::erase_if(places, [](const Processors &place) { return place.empty(); });
}

//===----------------------------------------------------------------------===//
// Places of the machine
//===----------------------------------------------------------------------===//

/// The processors of a list such as 0-3,8 in a file.
Processors readList(const std::string &path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  Processors list;
  Reader reader(text.c_str());
  do {
    std::optional<unsigned long> first = reader.takeNumber(), last = first;
    if (first && reader.take('-'))
      last = reader.takeNumber();
    // As many as a machine can have.
    constexpr unsigned long most = 1 << 16;
    if (!first || !last || *last >= most)
      break;
    for (unsigned long cpu = *first; cpu <= *last; ++cpu)
      list.insert(static_cast<int64_t>(cpu));
  } while (reader.take(','));
  return list;
}

/// The processors that share the cache of a processor's last level.
Processors readCache(const std::string &cpu) {
  Processors last;
  for (int index = 0;; ++index) {
    Processors shared = readList(cpu + "/cache/index" + std::to_string(index) +
                                 "/shared_cpu_list");
    if (shared.empty())
      return last;
    last = shared;
  }
}

/// Divides the allowed processors into places of a kind, at most `count`.
std::vector<Processors> divide(const std::string &kind, unsigned long count,
                               const Processors &allowed,
                               const std::string &system) {
  std::vector<Processors> places;
  Processors left = allowed;
  auto isFull = [&] { return places.size() >= count; };
  auto add = [&](const Processors &members) {
    Processors place;
    for (int64_t cpu : members)
      if (left.erase(cpu) > 0)
        place.insert(cpu);
    if (!place.empty())
      places.push_back(place);
  };
  if (kind == "numa_domains") {
    for (int64_t node : readList(system + "/node/online"))
      if (!isFull())
        add(readList(system + "/node/node" + std::to_string(node) +
                     "/cpulist"));
    return places;
  }
  while (!left.empty() && !isFull()) {
    int64_t first = *left.begin();
    std::string cpu = system + "/cpu/cpu" + std::to_string(first);
    Processors members =
        kind == "ll_caches" ? readCache(cpu)
                            : readList(cpu + "/topology/" +
                                       (kind == "sockets" ? "core" : "thread") +
                                       "_siblings_list");
    if (!members.contains(first))
      return {};
    if (kind != "threads") {
      add(members);
      continue;
    }
    // Threads of a core are next to each other.
    for (int64_t member : members)
      if (!isFull())
        add({member});
  }
  return places;
}

std::optional<std::vector<Processors>> readPlaces(const char *text,
                                                  const Processors &allowed,
                                                  const std::string &system) {
  Reader reader(text);
  std::vector<Processors> places;
  for (const char *kind :
       {"threads", "cores", "sockets", "ll_caches", "numa_domains"}) {
    if (!reader.take(kind))
      continue;
    unsigned long count = OpenMpSettings::kUnlimited;
    if (reader.take('(')) {
      std::optional<unsigned long> number = reader.takeNumber();
      if (!number || !reader.take(')'))
        return std::nullopt;
      count = *number;
    }
    if (!reader.isAtEnd())
      return std::nullopt;
    places = divide(kind, count, allowed, system);
    return places.empty() ? std::nullopt : std::optional(places);
  }
  do
    if (!readPlace(reader, getEnd(allowed), places))
      return std::nullopt;
  while (reader.take(','));
  keepAllowed(places, allowed);
  if (!reader.isAtEnd() || places.empty())
    return std::nullopt;
  return places;
}

/// Reads GOMP_CPU_AFFINITY: processors and ranges FIRST-LAST[:STEP], each of
/// which is a place.
std::optional<std::vector<Processors>> readAffinity(const char *text,
                                                    const Processors &allowed) {
  constexpr unsigned long end = 1 << 16;
  Reader reader(text);
  std::vector<Processors> places;
  do {
    std::optional<unsigned long> first = reader.takeWord(), last = first;
    std::optional<unsigned long> step = 1;
    if (first && reader.isAt('-')) {
      reader.take('-');
      last = reader.takeWord();
      if (last && reader.isAt(':')) {
        reader.take(':');
        step = reader.takeWord();
      }
    }
    if (!first || !last || !step || *first >= end || *last >= end ||
        *last < *first || *step == 0 || *step >= end)
      return std::nullopt;
    for (unsigned long cpu = *first; cpu <= *last; cpu += *step)
      places.push_back({static_cast<int64_t>(cpu)});
    reader.skipSpaces();
    if (reader.isAtEnd())
      break;
    if (reader.take(',') && reader.isAtEnd())
      return std::nullopt;
  } while (true);
  keepAllowed(places, allowed);
  return places.empty() ? std::nullopt : std::optional(places);
}

} // namespace

OpenMpSettings OpenMpSettings::read(const Variables &variables,
                                    const Processors &allowed,
                                    const std::string &system) {
  OpenMpSettings settings;
  settings.threads = std::max<int64_t>(1, static_cast<int64_t>(allowed.size()));
  // Calls `parse` with the value of a variable that is set.
  auto read = [&](const char *name, auto parse) {
    const char *text = variables(name);
    decltype(parse(text)) value;
    if (!text)
      return value;
    value = parse(text);
    if (!value && settings.ignored.empty())
      settings.ignored = name;
    return value;
  };
  auto number = [&](const char *name, int64_t least, bool isList = false) {
    return read(name, [=](const char *text) {
      return readNumber(text, least, isList);
    });
  };
  settings.threads =
      number("OMP_NUM_THREADS", 1, /*isList=*/true).value_or(settings.threads);
  settings.threadLimit =
      number("OMP_THREAD_LIMIT", 1).value_or(settings.threadLimit);
  settings.isParallel = number("OMP_MAX_ACTIVE_LEVELS", 0).value_or(1) > 0;

  std::optional<bool> binds = read("OMP_PROC_BIND", readBinding);
  auto places = read("OMP_PLACES", [&](const char *text) {
    return readPlaces(text, allowed, system);
  });
  auto affinity = read("GOMP_CPU_AFFINITY", [&](const char *text) {
    return readAffinity(text, allowed);
  });
  if (!binds.value_or(true))
    return settings;
  if (places)
    settings.places = *places;
  else if (affinity)
    settings.places = *affinity;
  else if (binds)
    settings.places = divide("threads", kUnlimited, allowed, system);
  return settings;
}

const OpenMpSettings &OpenMpSettings::get() {
  static const OpenMpSettings settings =
      read([](const char *name) { return std::getenv(name); },
           getAllowedProcessors());
  return settings;
}
