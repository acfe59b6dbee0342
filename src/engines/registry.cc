// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "penumbra/engine.h"
#include "penumbra/errors.h"

namespace penumbra {
namespace {

std::vector<EngineInfo>& registered() {
  static std::vector<EngineInfo> list;
  return list;
}

/// Returns the engines that run here and have the shader, best first, without `auto`.
std::vector<const EngineInfo*> engines_with(const std::string& shader) {
  std::vector<const EngineInfo*> having = engines_here();
  std::erase_if(having, [&shader](const EngineInfo* info) {
    return info->name == kAuto || info->create({})->find_shader(shader) == nullptr;
  });
  return having;
}

[[noreturn]] void refuse(const std::string& engine, const std::string& shader) {
  std::string list;
  for (const auto* info : engines_with(shader)) list += (list.empty() ? "" : ", ") + info->name;
  throw std::runtime_error("engine '" + engine + "' has no shader '" + shader +
                           "'; engines that have it here: " + (list.empty() ? "none" : list));
}

const EngineInfo& find_engine(const std::string& name) {
  const auto found = std::ranges::find(engines(), name, &EngineInfo::name);
  if (found != engines().end()) return *found;
  std::vector<std::string> names;
  for (const auto& info : engines()) names.push_back(info.name);
  throw std::invalid_argument("unknown engine " + quote(name) + "; " + did_you_mean_or_list(name, names));
}

/// Parses `text`, NAME=NUMBER, and adds it to `settings`. Throws std::invalid_argument if the name or the number is
/// wrong.
void read_setting(const EngineInfo& info, const std::string& text, EngineSettings& settings) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals);
  const auto setting = std::ranges::find(info.settings, name, &EngineSetting::name);
  if (setting == info.settings.end()) {
    std::vector<std::string> names;
    names.reserve(info.settings.size());
    for (const auto& each : info.settings) names.push_back(each.name);
    throw std::invalid_argument("engine '" + info.name + "' has no setting " + quote(name) +
                                (names.empty() ? "" : "; " + did_you_mean_or_list(name, names)));
  }
  const std::string number = equals < text.size() ? text.substr(equals + 1) : "";
  const char* const end = number.data() + number.size();
  std::uint64_t value = 0;
  const auto [after, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || after != end || value < setting->least || value > setting->most) {
    throw std::invalid_argument("engine '" + info.name + "' takes " + name + "=NUMBER from " +
                                std::to_string(setting->least) + " to " + std::to_string(setting->most) + ", not " +
                                quote(text));
  }
  if (!settings.emplace(name, value).second) {
    throw std::invalid_argument("engine '" + info.name + "': the setting '" + name + "' is given twice");
  }
}

EngineSettings read_settings(const EngineInfo& info, const std::string& choice) {
  EngineSettings settings;
  for (std::size_t comma = choice.find(','); comma != std::string::npos;) {
    const std::size_t next = choice.find(',', comma + 1);
    read_setting(info, choice.substr(comma + 1, next - comma - 1), settings);
    comma = next;
  }
  return settings;
}

}  // namespace

bool register_engine(EngineInfo info) {
  auto& list = registered();
  const auto lower = [&info](const EngineInfo& other) { return other.priority < info.priority; };
  list.insert(std::find_if(list.begin(), list.end(), lower), std::move(info));
  return true;
}

const std::vector<EngineInfo>& engines() {
  return registered();
}

std::vector<const EngineInfo*> engines_here() {
  std::vector<const EngineInfo*> here;
  bool has_accelerator = false;
  for (const EngineInfo& info : engines()) {
    if (!info.probe().available) continue;
    here.push_back(&info);
    has_accelerator |= info.name != kAuto && !info.is_synchronous;
  }
  if (!has_accelerator) std::erase_if(here, [](const EngineInfo* info) { return info->name == kAuto; });
  return here;
}

std::string engine_name(std::string_view choice) {
  return std::string(choice.substr(0, choice.find(',')));
}

std::vector<std::string> describe_settings(const EngineInfo& info) {
  std::vector<std::string> lines;
  lines.reserve(info.settings.size());
  for (const auto& setting : info.settings) {
    lines.push_back(setting.name + "=" + std::to_string(setting.least) + ".." + std::to_string(setting.most) + " (" +
                    setting.summary + ")");
  }
  return lines;
}

void check_engine(const std::string& choice) {
  read_settings(find_engine(engine_name(choice)), choice);
}

std::string why_unavailable(const std::string& choice) {
  const EngineInfo& info = find_engine(engine_name(choice));
  const Availability availability = info.probe();
  return availability.available ? "" : "engine '" + info.name + "' is not available here: " + availability.reason;
}

std::unique_ptr<Engine> create_engine(const std::string& choice) {
  const EngineInfo& info = find_engine(engine_name(choice));
  const EngineSettings settings = read_settings(info, choice);
  if (const std::string lack = why_unavailable(choice); !lack.empty()) throw std::runtime_error(lack);
  return info.create(settings);
}

std::string resolve_engine(const std::string& choice, const std::string& shader) {
  const std::string name = engine_name(choice);
  if (name != kAuto) {
    if (create_engine(choice)->find_shader(shader) == nullptr) refuse(name, shader);
    return choice;
  }
  check_engine(choice);
  const auto having = engines_with(shader);
  if (having.empty()) refuse(name, shader);
  const bool has_accelerator = std::ranges::find(having, false, &EngineInfo::is_synchronous) != having.end();
  return has_accelerator && having.size() > 1 ? choice : having.front()->name;
}

std::string engine_at_once(const std::string& shader) {
  const auto having = engines_with(shader);
  const auto best = std::ranges::find(having, true, &EngineInfo::is_synchronous);
  if (best == having.end()) throw std::runtime_error("no engine here runs the shader '" + shader + "' on a CPU");
  return (*best)->name;
}

}  // namespace penumbra
