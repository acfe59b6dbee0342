// SPDX-License-Identifier: Apache-2.0
#include "runtime/running_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "control/config_lines.h"
#include "control/config_writer.h"

namespace penumbra::runtime {
namespace {

/// Maximum number of a table's lines in the configuration; a longer table gets a file.
constexpr std::ptrdiff_t kMostOwnLines = 1000;
constexpr std::size_t kMostTold = 20;  ///< Maximum number of listed changes of a table.

/// A table that commands have changed.
struct ChangedTable {
  std::size_t stage;
  ConfigTable table;
  std::optional<std::filesystem::path> file;  ///< The file that its key names.
};

bool differs_on_disk(const control::RouterConfig& config, const std::filesystem::path& file) {
  const auto absolute = std::filesystem::absolute(file);
  const auto known = config.stamps.find(absolute);
  return (known == config.stamps.end() ? FileStamp{} : known->second) != stamp_of(absolute);
}

/// Returns the changed tables. With `of_disk_too`, includes tables whose file has changed since it was read.
std::vector<ChangedTable> changed_tables(const control::RouterConfig& config, const Pipeline& pipeline,
                                         bool of_disk_too) {
  std::vector<ChangedTable> changed;
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    for (ConfigTable& table : pipeline.stages()[i].function->tables()) {
      const ConfigNode node = config.pipeline[i].config.get(table.key);
      const bool names_file = node.present() && node.is_scalar() && !control::has_own_lines(node);
      if (table.unsaved(1).empty() && !(names_file && of_disk_too && differs_on_disk(config, node.path()))) continue;
      changed.push_back({i, std::move(table), {}});
      if (names_file) changed.back().file = std::filesystem::absolute(node.path());
    }
  }
  return changed;
}

/// Throws if saving would overwrite data: two different tables name one file, or the target is a table's file.
void require_files_of_their_own(const control::RouterConfig& config, const Pipeline& pipeline,
                                std::span<const ChangedTable> changed, const std::filesystem::path& target) {
  std::map<std::filesystem::path, std::string> owners;
  for (std::size_t i = 0; i < pipeline.stages().size(); ++i) {
    const std::string& stage = pipeline.stages()[i].name;
    for (const ConfigTable& table : pipeline.stages()[i].function->tables()) {
      const ConfigNode node = config.pipeline[i].config.get(table.key);
      if (!node.present() || !node.is_scalar() || control::has_own_lines(node)) continue;
      const auto file = std::filesystem::weakly_canonical(node.path());
      if (file == std::filesystem::weakly_canonical(target)) {
        throw std::runtime_error(fmt::format("{}: '{}' of {} is in it: save the configuration as another file",
                                             target.string(), table.key, stage));
      }
      const auto [owner, is_first] = owners.emplace(file, stage);
      const auto is_changed = [&](const ChangedTable& each) {
        return each.file && std::filesystem::weakly_canonical(*each.file) == file;
      };
      if (is_first || std::ranges::none_of(changed, is_changed)) continue;
      throw std::runtime_error(
          fmt::format("{}: {} and {} both name it, and a command has changed one of them: give "
                      "each a file of its own (`penumbra set {}.{} FILE`)",
                      file.string(), owner->second, stage, stage, table.key));
    }
  }
}

void require_unchanged(const control::RouterConfig& config, const std::filesystem::path& file) {
  if (!differs_on_disk(config, file)) return;
  throw std::runtime_error(
      fmt::format("{}: changed on disk since it was read; `penumbra plan` tells what differs, `penumbra save --force` "
                  "overwrites it",
                  file.string()));
}

}  // namespace

std::string running_config(const control::RouterConfig& config, const Pipeline& pipeline) {
  std::vector<control::StageValue> values;
  for (const auto& [stage, table, file] : changed_tables(config, pipeline, false)) {
    values.push_back({.stage = stage, .key = table.key, .value = table.lines()});
  }
  return control::write_config(*config.root, values);
}

std::vector<std::string> unsaved_changes(const Pipeline& pipeline) {
  std::vector<std::string> lines;
  for (const auto& stage : pipeline.stages()) {
    for (const ConfigTable& table : stage.function->tables()) {
      auto unsaved = table.unsaved(kMostTold + 1);
      const bool more = unsaved.size() > kMostTold;
      if (more) unsaved.resize(kMostTold);
      for (const auto& line : unsaved) lines.push_back(fmt::format("{}: {}: {}", stage.name, table.key, line));
      if (more) lines.push_back(fmt::format("{}: {}: and more", stage.name, table.key));
    }
  }
  return lines;
}

std::vector<std::filesystem::path> save_config(control::RouterConfig& config, const Pipeline& pipeline,
                                               const std::filesystem::path& file, bool edited, bool force) {
  const auto own = std::filesystem::absolute(config.file);
  const auto target = std::filesystem::absolute(file);
  if (target.parent_path() != own.parent_path()) {
    throw std::runtime_error(fmt::format("{}: file names in the configuration count from its folder; save it in {}",
                                         target.string(), own.parent_path().string()));
  }
  const bool is_own = target == own;
  std::vector<FileContent> files;
  std::vector<control::StageValue> values;
  const auto changed = changed_tables(config, pipeline, is_own);
  require_files_of_their_own(config, pipeline, changed, target);
  for (const auto& [stage, table, named] : changed) {
    std::string lines = table.lines();
    if (is_own && named) {
      files.push_back({*named, std::move(lines)});
    } else if (std::ranges::count(lines, '\n') <= kMostOwnLines) {
      values.push_back({.stage = stage, .key = table.key, .value = std::move(lines)});
    } else {
      const std::string name =
          fmt::format("{}.{}.{}.txt", target.stem().string(), pipeline.stages()[stage].name, table.key);
      files.push_back({target.parent_path() / name, std::move(lines)});
      values.push_back({.stage = stage, .key = table.key, .value = name, .is_file = true});
    }
  }
  std::string text = control::write_config(*config.root, values);
  if (!is_own || edited || !values.empty() || differs_on_disk(config, own)) files.push_back({target, std::move(text)});
  if (is_own && !force && !files.empty()) require_unchanged(config, own);
  std::vector<std::filesystem::path> written;
  for (const auto& each : files) {
    if (!force) require_unchanged(config, each.file);
    written.push_back(each.file);
  }
  write_files(control::save_journal(target), files);
  if (is_own) {
    for (const auto& each : written) config.stamps[each] = stamp_of(each);
  }
  return written;
}

}  // namespace penumbra::runtime
