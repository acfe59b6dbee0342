// SPDX-License-Identifier: Apache-2.0
#include "runtime/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch_folder.h"
#include "base/text_file.h"

namespace penumbra::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

auto calibration(const std::string& shader, unsigned size_class, std::uint64_t value) {
  return testing::AllOf(testing::Field(&EngineCalibration::shader, shader),
                        testing::Field(&EngineCalibration::size_class, size_class),
                        testing::Field(&EngineCalibration::value, value));
}

class CalibrationTest : public testing::Test {
 protected:
  std::string text() const { return read_text_file(file_); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  ScratchFolder folder_;
  std::filesystem::path file_ = folder_ / "a/b/calibration.json";
  Calibration calibration_{file_};
};

TEST_F(CalibrationTest, KeepsWhatWasFoundAndReplacesWhatIsFoundAgain) {
  EXPECT_THAT(calibration_.load(), IsEmpty());
  calibration_.keep({{"gopt", {{.shader = "a", .size_class = 20, .value = 8, .gain = 1.5}}}});
  calibration_.keep({{"gopt",
                      {{.shader = "a", .size_class = 25, .value = 16, .gain = 2},
                       {.shader = "b", .size_class = 20, .value = 1, .gain = 1}}},
                     {"other", {{.shader = "a", .size_class = 20, .value = 7, .gain = 1}}}});
  calibration_.keep({{"gopt", {{.shader = "a", .size_class = 20, .value = 4, .gain = 1.25}}}});
  calibration_.keep(
      {{"other",
        {{.shader = "a", .size_class = 20, .value = 9, .calibration_key = "with it", .figures = {1.5, 0.25}}}}});
  const Calibration::Calibrations found = calibration_.load();
  EXPECT_THAT(found.at("gopt"),
              ElementsAre(calibration("a", 25, 16), calibration("b", 20, 1), calibration("a", 20, 4)));
  EXPECT_THAT(found.at("other"), ElementsAre(calibration("a", 20, 7), calibration("a", 20, 9)));
  EXPECT_EQ(found.at("other").front().calibration_key, "");
  EXPECT_EQ(found.at("other").back().calibration_key, "with it");
  EXPECT_THAT(found.at("other").back().figures, ElementsAre(1.5, 0.25));
  EXPECT_EQ(found.at("gopt").back().gain, 1.25);
}

TEST_F(CalibrationTest, OfAnotherMachineOrBuildOrNotItsOwnIsNothing) {
  const Calibration::Calibrations one{{"gopt", {{.shader = "a", .size_class = 20, .value = 8, .gain = 1.5}}}};
  calibration_.keep(one);
  const std::string good = text();
  for (const char* key : {"\"machine\": \"", "\"build\": \"", "\"engines\"", "\"shader\"", "\"value\": "}) {
    std::string changed = good;
    changed.replace(changed.find(key), std::string(key).size(), std::string(key).insert(1, "x"));
    write(changed);
    EXPECT_THAT(calibration_.load(), IsEmpty()) << changed;
  }
  for (const std::string& wrong : {std::string(), std::string("[1]"), std::string("\xff\0", 2), good.substr(0, 40)}) {
    write(wrong);
    EXPECT_THAT(calibration_.load(), IsEmpty()) << wrong;
  }
  calibration_.keep(one);
  EXPECT_EQ(text(), good);
}

TEST_F(CalibrationTest, SaysWhyItCannotBeWritten) {
  std::ofstream(folder_ / "a").flush();
  EXPECT_THAT([this] { calibration_.keep({}); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("is not kept: Not a directory")));
}

TEST_F(CalibrationTest, LiesInTheFirstFolderThatThereIs) {
  const auto file = [](const char* cache, const char* xdg, const char* home) {
    setenv("CACHE_DIRECTORY", cache, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    return Calibration::default_file().string();
  };
  EXPECT_EQ(file("/c", "/x", "/h"), "/c/calibration.json");
  EXPECT_EQ(file("", "/x", "/h"), "/x/penumbra/calibration.json");
  EXPECT_EQ(file("", "relative", "/h"), "/h/.cache/penumbra/calibration.json");
  EXPECT_EQ(file("", "", ""), "");
}

}  // namespace
}  // namespace penumbra::runtime
