// SPDX-License-Identifier: Apache-2.0
#include "runtime/calibration.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/proc.h"
#include "base/text_file.h"
#include "penumbra/errors.h"

namespace penumbra::runtime {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

/// Identifies the processor, because measurements are valid for one model only.
std::string machine() {
  return proc_value("/proc/cpuinfo", "model name");
}

/// Identifies the program, because another compiler or shader version may need another width.
std::string build() {
  struct stat program{};
  if (stat("/proc/self/exe", &program) != 0) return "";
  return fmt::format("{} bytes of {}.{:09}", program.st_size, program.st_mtim.tv_sec, program.st_mtim.tv_nsec);
}

std::vector<EngineCalibration> calibrations_of(const ordered_json& list) {
  std::vector<EngineCalibration> calibrations;
  for (const auto& each : list) {
    calibrations.push_back({.shader = each.at("shader").get<std::string>(),
                            .size_class = each.at("table_size_class").get<unsigned>(),
                            .value = each.at("value").get<std::uint64_t>(),
                            .gain = each.at("gain").get<double>(),
                            .calibration_key = each.at("conditions").get<std::string>(),
                            .figures = each.at("figures").get<std::vector<double>>(),
                            .length = each.at("length").get<std::uint32_t>()});
  }
  return calibrations;
}

ordered_json to_json(const std::vector<EngineCalibration>& calibrations) {
  auto list = ordered_json::array();
  for (const auto& each : calibrations) {
    list.push_back({{"shader", each.shader},
                    {"table_size_class", each.size_class},
                    {"value", each.value},
                    {"gain", each.gain},
                    {"conditions", each.calibration_key},
                    {"figures", each.figures},
                    {"length", each.length}});
  }
  return list;
}

bool is_of_same(const EngineCalibration& one, const EngineCalibration& other) {
  return one.shader == other.shader && one.size_class == other.size_class &&
         one.calibration_key == other.calibration_key && one.length == other.length;
}

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw std::runtime_error(fmt::format("{}: what the engines measured is not kept: {}", file.string(),
                                       std::generic_category().message(error)));
}

}  // namespace

std::filesystem::path Calibration::default_file() {
  const auto in = [](const char* variable, const char* below) -> std::filesystem::path {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value != '/') return {};
    return std::filesystem::path(value) / below / "calibration.json";
  };
  for (const auto& file :
       {in("CACHE_DIRECTORY", ""), in("XDG_CACHE_HOME", "penumbra"), in("HOME", ".cache/penumbra")}) {
    if (!file.empty()) return file;
  }
  return {};
}

Calibration::Calibrations Calibration::load() const {
  if (file_.empty()) return {};
  Calibrations calibrations;
  try {
    const auto json = ordered_json::parse(read_text_file(file_, kMostBytes));
    if (json.at("machine") != machine() || json.at("build") != build()) return {};
    for (const auto& [engine, list] : json.at("engines").items()) calibrations[engine] = calibrations_of(list);
  } catch (const InputError&) {
    return {};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return calibrations;
}

void Calibration::keep(const Calibrations& calibrations) const {
  if (file_.empty()) return;
  Calibrations all = load();
  for (const auto& [engine, added] : calibrations) {
    auto& known = all[engine];
    for (const EngineCalibration& each : added) {
      std::erase_if(known, [&](const EngineCalibration& old) { return is_of_same(old, each); });
      known.push_back(each);
    }
  }
  ordered_json json{{"machine", machine()}, {"build", build()}, {"engines", ordered_json::object()}};
  for (const auto& [engine, list] : all) json["engines"][engine] = to_json(list);
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  if (error) fail(file_, error.value());
  const std::filesystem::path unfinished = fmt::format("{}.{}", file_.string(), getpid());
  errno = 0;
  {
    std::ofstream out(unfinished);
    out << json.dump(2) << '\n';
    out.close();
    if (!out) fail(file_, errno);
  }
  std::filesystem::rename(unfinished, file_, error);
  if (!error) return;
  unlink(unfinished.c_str());
  fail(file_, error.value());
}

}  // namespace penumbra::runtime
