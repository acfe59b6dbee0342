// SPDX-License-Identifier: Apache-2.0
#include "penumbra/config_node.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace penumbra {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsScalar()) return "'" + node.Scalar() + "'";
  return "nothing";
}

}  // namespace

ConfigNode::ConfigNode(const YAML::Node& node, std::shared_ptr<const File> file, std::string name, YAML::Mark mark)
    : node_(node), file_(std::move(file)), name_(std::move(name)), mark_(mark) {
  // An anchor, an alias and a tag all leave a defined node; only a key that is absent leaves none, and then the
  // parent's place is the best there is.
  if (node_.IsDefined() && !node_.Mark().is_null()) mark_ = node_.Mark();
}

ConfigNode ConfigNode::load(const std::filesystem::path& file) {
  const auto source = std::make_shared<const File>(File{file.string(), file.parent_path()});
  try {
    return {YAML::LoadFile(file.string()), source, "the configuration", YAML::Mark::null_mark()};
  } catch (const YAML::BadFile&) {
    throw InputError({file.string()}, "cannot be read");
  } catch (const YAML::Exception& error) {
    throw InputError({file.string(), error.mark.line + 1, error.mark.column + 1}, "not valid YAML: " + error.msg);
  }
}

ConfigNode ConfigNode::parse(const std::string& text, const std::string& name, const std::filesystem::path& directory) {
  const auto source = std::make_shared<const File>(File{name, directory});
  try {
    return {YAML::Load(text), source, "the configuration", YAML::Mark::null_mark()};
  } catch (const YAML::Exception& error) {
    throw InputError({name, error.mark.line + 1, error.mark.column + 1}, "not valid YAML: " + error.msg);
  }
}

bool ConfigNode::present() const {
  return node_.IsDefined() && !node_.IsNull();
}

void ConfigNode::require_map(std::initializer_list<std::string_view> keys) const {
  require_map(std::vector<std::string>(keys.begin(), keys.end()));
}

void ConfigNode::require_map(const std::vector<std::string>& keys) const {
  if (!node_.IsMap()) throw error("expected a map with the keys " + join(keys) + ", found " + kind_of(node_));
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    const ConfigNode key(entry.first, file_, name_, mark_);
    if (!entry.first.IsScalar()) throw key.error("expected a key, found " + kind_of(entry.first));
    const std::string& word = entry.first.Scalar();
    if (std::find(keys.begin(), keys.end(), word) == keys.end()) {
      const std::string hint = did_you_mean(word, keys);
      throw InputError(key.location(), "unknown key '" + word + "' in " + name_ +
                                           (hint.empty() ? "; valid keys: " + join(keys) : "; " + hint));
    }
    if (!seen.insert(word).second) throw InputError(key.location(), "key '" + word + "' stands twice in " + name_);
  }
}

ConfigNode ConfigNode::get(const std::string& key) const {
  const YAML::Node& node = node_;
  return {node.IsMap() ? node[key] : YAML::Node(YAML::NodeType::Undefined), file_,
          name_ == "the configuration" ? key : name_ + "." + key, mark_};
}

ConfigNode ConfigNode::at(const std::string& key) const {
  ConfigNode value = get(key);
  if (!value.present()) throw error("'" + key + "' is missing in " + name_);
  return value;
}

std::vector<std::string> ConfigNode::keys() const {
  if (!node_.IsMap()) throw error("expected a map, found " + kind_of(node_));
  std::vector<std::string> keys;
  for (const auto& entry : node_) keys.push_back(ConfigNode(entry.first, file_, name_, mark_).text());
  return keys;
}

std::vector<ConfigNode> ConfigNode::list() const {
  if (!node_.IsSequence()) throw error("expected a list for " + name_ + ", found " + kind_of(node_));
  std::vector<ConfigNode> elements;
  elements.reserve(node_.size());
  for (std::size_t i = 0; i < node_.size(); ++i) {
    elements.push_back({node_[i], file_, name_ + "[" + std::to_string(i) + "]", mark_});
  }
  return elements;
}

std::string ConfigNode::text() const {
  if (!node_.IsScalar()) throw error("expected a text for " + name_ + ", found " + kind_of(node_));
  return node_.Scalar();
}

bool ConfigNode::boolean() const {
  if (node_.IsScalar() && node_.Scalar() == "true") return true;
  if (node_.IsScalar() && node_.Scalar() == "false") return false;
  throw error("expected true or false for " + name_ + ", found " + kind_of(node_));
}

std::uint64_t ConfigNode::integer(std::uint64_t least, std::uint64_t most) const {
  std::uint64_t number = 0;
  const std::string digits = node_.IsScalar() ? node_.Scalar() : "";
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc{} || end != digits.data() + digits.size() || number < least || number > most) {
    throw error("expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " for " +
                name_ + ", found " + kind_of(node_));
  }
  return number;
}

std::filesystem::path ConfigNode::path() const { return path(text()); }

std::filesystem::path ConfigNode::path(const std::filesystem::path& file) const {
  if (file.empty()) throw error("expected a path for " + name_ + ", found nothing");
  return file.is_absolute() ? file : file_->directory / file;
}

InputError ConfigNode::error(const std::string& message) const {
  return {location(), message};
}

SourceLocation ConfigNode::location() const {
  return mark_.is_null() ? SourceLocation{file_->name} : SourceLocation{file_->name, mark_.line + 1, mark_.column + 1};
}

}  // namespace penumbra
