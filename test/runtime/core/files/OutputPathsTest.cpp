// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests of what commands refuse to write to.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/files/OutputPaths.h"
#include "runtime/core/File.h"
#include "test/runtime/TestSupport.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;
namespace fs = std::filesystem;

namespace {

class OutputPathsTest : public testing::Test {
protected:
  void SetUp() override { writeFile(input, "samples"); }

  void expectRefused(const std::string &output, const std::string &part) {
    OutputPaths paths;
    paths.addInput("--data", input);
    paths.addOutput("--log", folder / "log");
    paths.addOutput("--export", output);
    EXPECT_INGOT_ERROR(ExitCode::Usage, part, paths.check()) << output;
    EXPECT_EQ(readFile(input), "samples");
  }

  TemporaryFolder folder;
  std::string input = folder / "data.npz";
};

TEST_F(OutputPathsTest, OnlyRegularFilesAreReplaced) {
  std::string fifo = folder / "fifo", device = folder / "device";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string loop = folder / "loop";
  fs::create_symlink("/dev/null", device);
  fs::create_symlink("loop", loop);
  expectRefused("/dev/null", "is a device");
  expectRefused(device, "is a device");
  expectRefused(fifo, "is a FIFO");
  expectRefused(loop, "is a link that leads to itself");
  expectRefused(folder / "", "is a directory");
  // Files are the last to look, in case something takes the name later.
  EXPECT_INGOT_ERROR(ExitCode::Failed, "it is a FIFO", AtomicFile file(fifo));
  EXPECT_INGOT_ERROR(ExitCode::Failed, "it is a link", AtomicFile file(loop));
}

TEST_F(OutputPathsTest, LinksStay) {
  fs::create_symlink("later", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(readFile(folder / "later"), "new");
}

TEST_F(OutputPathsTest, LinksOfMadeUpNamesAreReplaced) {
  for (const char *target : {"data.npz", "none", "/dev/null", "link"}) {
    fs::create_symlink(target, folder / "link");
    AtomicFile file(folder / "link", Links::Replace);
    file.write("new");
    file.commit();
    EXPECT_FALSE(fs::is_symlink(folder / "link")) << target;
    EXPECT_EQ(readFile(folder / "link"), "new");
    fs::remove(folder / "link");
  }
  EXPECT_EQ(readFile(input), "samples");
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST_F(OutputPathsTest, FilesOfOthersAreKept) {
  auto check = [&](bool isImplied) {
    OutputPaths paths;
    auto isOwn = [](std::string_view begin) { return begin == "own"; };
    if (isImplied)
      paths.addImplied("--log", folder / "log.toml", isOwn);
    else
      paths.addKept("--log", folder / "log.toml", isOwn);
    paths.check();
  };
  for (bool isImplied : {false, true}) {
    check(isImplied);
    for (const char *content : {"", "own"}) {
      writeFile(folder / "log.toml", content);
      check(isImplied);
    }
    writeFile(folder / "log.toml", "precious");
    EXPECT_INGOT_ERROR(ExitCode::Usage, "holds something else",
                       check(isImplied));
    fs::remove(folder / "log.toml");
  }
  // Two links to one file are two files that are replaced.
  OutputPaths paths;
  for (const char *name : {"a", "b"}) {
    fs::create_symlink("data.npz", folder / name);
    paths.addImplied("--log", folder / name,
                     [](std::string_view) { return false; });
  }
  paths.check();
}

TEST_F(OutputPathsTest, NothingIsLeftOfAnUnfinishedFile) {
  std::string here = folder / ".";
  auto countFiles = [&] {
    return std::distance(fs::directory_iterator(here), {});
  };
  auto before = countFiles();
  // A process that is killed leaves what there is now.
  AtomicFile file(folder / "out");
  file.write(std::string(1 << 20, 'x'));
  int probe = open(here.c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (probe >= 0) {
    EXPECT_EQ(countFiles(), before);
    close(probe);
  }
  // Such a file of an earlier process is in nobody's way.
  writeFile(folder / ("out.tmp-" + std::to_string(getpid())), "old");
  file.commit();
  EXPECT_EQ(countFiles(), before + 1);
  EXPECT_EQ(readFile(folder / "out").size(), size_t(1) << 20);
}

TEST_F(OutputPathsTest, InputsAreNotReplaced) {
  fs::create_symlink("data.npz", folder / "link");
  fs::create_hard_link(input, folder / "hard");
  fs::create_directory(folder / "sub");
  expectRefused(input, "--export: '" + input + "' is an input, that of --data");
  for (const char *name : {"link", "hard", "sub/../data.npz", "./data.npz"})
    expectRefused(folder / name, "is an input, that of --data");
}

TEST_F(OutputPathsTest, OutputsDiffer) {
  fs::create_symlink("log", folder / "link");
  fs::create_directory(folder / "sub");
  for (const char *name : {"log", "link", "sub/../log", "none/../log"})
    expectRefused(folder / name, "is what --log writes");
  writeFile(folder / "log", "old");
  fs::create_hard_link(folder / "log", folder / "hard");
  expectRefused(folder / "hard", "is what --log writes");
}

TEST_F(OutputPathsTest, EmptyPaths) {
  expectRefused("", "--export: the path is empty");
  OutputPaths paths;
  paths.addInput("--init", "");
  EXPECT_INGOT_ERROR(ExitCode::Usage, "--init: the path is empty",
                     paths.check());
}

TEST_F(OutputPathsTest, NamesInAFolder) {
  std::string saved = folder / "saved";
  auto check = [&](const std::string &output) {
    OutputPaths paths;
    paths.addInput("--resume", saved);
    paths.addOutput("--save", saved, OutputPaths::Kind::Folder,
                    {"latest", "step-"});
    paths.addOutput("--log", output);
    paths.check();
  };
  // Once without the folder, once with it.
  for (int i = 0; i < 2; ++i) {
    for (const char *name : {"/latest", "/step-3", "/step-3/log", "/./latest"})
      EXPECT_INGOT_ERROR(ExitCode::Usage, "a name that --save uses",
                         check(saved + name));
    check(saved + "/log.jsonl");
    check(folder / "latest");
    fs::create_directory(saved);
  }
  OutputPaths file;
  file.addOutput("--save", input, OutputPaths::Kind::Folder);
  EXPECT_INGOT_ERROR(ExitCode::Usage, "is not a directory", file.check());
}

TEST_F(OutputPathsTest, PreparingMakesFoldersAndLeavesFiles) {
  OutputPaths paths;
  paths.addInput("--data", input);
  paths.addOutput("--save", folder / "a/b", OutputPaths::Kind::Folder);
  paths.addOutput("--export", folder / "out");
  writeFile(folder / "out", "old");
  paths.check();
  paths.prepare();
  EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  EXPECT_TRUE(fs::is_empty(folder / "a/b"));
  EXPECT_EQ(readFile(folder / "out"), "old");

  OutputPaths bad;
  bad.addOutput("--save", input + "/below", OutputPaths::Kind::Folder);
  bad.check();
  EXPECT_INGOT_ERROR(ExitCode::Failed, "Not a directory", bad.prepare());
  // Files get their folders, also behind a link; what is in the way does not
  // become one.
  OutputPaths made;
  made.addOutput("--export", folder / "c/d/file");
  fs::create_symlink(folder / "e/file", folder / "link");
  made.addOutput("--log", folder / "link");
  made.check();
  made.prepare();
  EXPECT_TRUE(fs::is_directory(folder / "c/d"));
  EXPECT_TRUE(fs::is_empty(folder / "e"));
  OutputPaths below;
  below.addOutput("--export", folder / "out/file");
  below.check();
  EXPECT_INGOT_ERROR(ExitCode::Failed, "Not a directory", below.prepare());
}

TEST_F(OutputPathsTest, FifosAreNoInput) {
  std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "not a regular file",
                     MappedFile file(fifo));
}

} // namespace
