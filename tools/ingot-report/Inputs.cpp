// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-report/Inputs.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/BoundedJson.h"
#include "tools/ingot-report/RunFiles.h"
#include "tools/report/Page.h"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace ingot;
using namespace ingot::runtime;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

FileKind ingot::recognize(std::string_view bytes) {
  if (findPageData(bytes))
    return FileKind::CompilerReport;
  if (bytes.starts_with("--- !"))
    return FileKind::Remarks;
  constexpr size_t head = 4096;
  if (bytes.starts_with("{") &&
      bytes.substr(0, head).find("\"traceEvents\"") != std::string_view::npos)
    return FileKind::Trace;
  auto line = parseJson<ordered_json>(bytes.substr(0, bytes.find('\n')));
  if (!line.is_object())
    return FileKind::Other;
  if (line.contains("findings") && line.contains("step_ms"))
    return FileKind::Diagnosis;
  return line.contains("step") ? FileKind::Log : FileKind::Other;
}

std::string &RunFiles::get(FileKind kind) {
  switch (kind) {
  case FileKind::Log:
    return log;
  case FileKind::Trace:
    return trace;
  case FileKind::Diagnosis:
    return diagnosis;
  case FileKind::Remarks:
    return remarks;
  default:
    return compilerReport;
  }
}

static FileKind recognizeFile(const std::string &path) {
  return recognize(MappedFile(path).getBytes());
}

/// Finds the runs of a folder. A file belongs to the log whose name without its
/// ending its own begins with, else to the first one.
static std::vector<RunFiles> findInFolder(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end;
       !problem && entry != end; entry.increment(problem)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored))
      paths.push_back(entry->path().string());
  }
  if (problem)
    throw badInput(folder, "cannot be read: " + problem.message(),
                   "check its permissions");
  std::sort(paths.begin(), paths.end());
  std::vector<std::pair<FileKind, std::string>> others;
  std::vector<RunFiles> runs;
  std::set<std::string> names(paths.begin(), paths.end());
  for (const std::string &path : paths) {
    FileKind kind = recognizeFile(path);
    // The beginning of a log is read with its end.
    bool isBeginning =
        path.ends_with(".1") && names.count(path.substr(0, path.size() - 2));
    if (kind == FileKind::Log && !isBeginning)
      runs.push_back({fs::path(path).stem().string(), path});
    else if (kind != FileKind::Log && kind != FileKind::Other)
      others.emplace_back(kind, path);
  }
  fs::path named = fs::path(folder).lexically_normal();
  std::string name =
      (named.has_filename() ? named : named.parent_path()).filename().string();
  if (runs.empty() && !others.empty())
    runs.push_back({name});
  if (runs.size() == 1)
    runs.front().name = name;
  for (const auto &[kind, path] : others) {
    RunFiles *owner = &runs.front();
    size_t longest = 0;
    std::string file = fs::path(path).filename().string();
    for (RunFiles &run : runs)
      if (run.name.size() > longest && file.starts_with(run.name)) {
        owner = &run;
        longest = run.name.size();
      }
    owner->get(kind) = path;
  }
  return runs;
}

std::vector<RunFiles> ingot::findRuns(const std::vector<std::string> &words) {
  std::vector<RunFiles> runs;
  for (const std::string &word : words) {
    std::error_code ignored;
    if (fs::is_directory(word, ignored)) {
      std::vector<RunFiles> found = findInFolder(word);
      if (found.empty())
        throw badInput(word, "has nothing that a report could show",
                       "name a folder with the log of a trainer (--log)");
      runs.insert(runs.end(), found.begin(), found.end());
      continue;
    }
    FileKind kind = recognizeFile(word);
    if (kind == FileKind::Other)
      throw badInput(word, "is nothing that a report could show",
                     "give what --log, --profile or --diagnose=json of a "
                     "trainer, or --report or --remarks of ingotc wrote");
    bool isNext = runs.empty() || !runs.back().get(kind).empty() ||
                  (kind == FileKind::Log);
    if (isNext)
      runs.push_back({fs::path(word).stem().string()});
    runs.back().get(kind) = word;
  }
  // Runs of the same name are told apart by their folders.
  for (RunFiles &run : runs) {
    auto same = [&](const RunFiles &other) { return other.name == run.name; };
    if (std::count_if(runs.begin(), runs.end(), same) > 1 && !run.log.empty())
      run.name = fs::path(run.log).replace_extension().string();
  }
  return runs;
}

std::vector<std::string> ingot::listFiles(const std::vector<RunFiles> &runs) {
  std::vector<std::string> files;
  for (const RunFiles &run : runs)
    for (const std::string &file :
         {run.log, run.trace, run.diagnosis, run.compilerReport, run.remarks})
      if (!file.empty())
        files.push_back(file);
  return files;
}

static ordered_json readDiagnosis(const std::string &path) {
  MappedFile file(path);
  auto json = parseJson<ordered_json>(file.getBytes());
  if (!json.is_object() || !json["findings"].is_array())
    throw badInput(path, "is no diagnosis",
                   "give what --diagnose=json of a trainer printed");
  return json;
}

/// Reads the compilations of a page of the compiler.
static ordered_json readCompilations(const std::string &path) {
  MappedFile file(path);
  ordered_json json =
      parseJson<ordered_json>(findPageData(file.getBytes()).value_or(""));
  if (!json.is_object() || !json["compilations"].is_array() ||
      !json["runs"].is_array() || !json["runs"].empty())
    throw badInput(path, "is no report of the compiler",
                   "give what ingotc --report wrote, and the files of the runs "
                   "instead of a report on them");
  return json["compilations"];
}

ordered_json ingot::readRuns(const std::vector<RunFiles> &runs) {
  ordered_json all = {{"compilations", ordered_json::array()},
                      {"runs", ordered_json::array()}};
  for (const RunFiles &files : runs) {
    ordered_json run = {{"name", files.name}};
    if (!files.log.empty())
      run["log"] = readLog(files.log);
    if (!files.trace.empty())
      run["profile"] = readTrace(files.trace);
    if (!files.diagnosis.empty())
      run["diagnosis"] = readDiagnosis(files.diagnosis);
    if (!files.compilerReport.empty())
      for (ordered_json &compilation : readCompilations(files.compilerReport)) {
        if (!compilation.is_object())
          throw badInput(files.compilerReport, "is damaged",
                         "write it again with ingotc --report");
        compilation["run"] = all["runs"].size();
        all["compilations"].push_back(std::move(compilation));
      }
    if (!files.remarks.empty())
      run["remarks"] = readRemarks(files.remarks);
    all["runs"].push_back(std::move(run));
  }
  return all;
}
