// SPDX-License-Identifier: Apache-2.0
#include "penumbra/config_node.h"

#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "base/alias_places.h"
#include "base/text_file.h"

namespace penumbra {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr const char* kRoot = "the configuration";  ///< Name of the root in messages.

/// Returns the only document of a text and puts the places of its aliases into `aliases`. YAML::Load() would ignore all
/// but the first document. YAML::LoadAll() of yaml-cpp 0.7 never ends for some broken texts.
YAML::Node load_document(const std::string& text, const std::string& name, std::map<std::string, YAML::Mark>& aliases) {
  const YAML::Node node = YAML::Load(text);
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  AliasPlaces first, second;
  if (parser.HandleNextDocument(first) && parser.HandleNextDocument(second)) {
    throw InputError({name, second.document_start().line + 1, second.document_start().column + 1},
                     "a second document begins here; expected one only");
  }
  aliases = first.take();
  return node;
}

/// Bounds the size of a document after its aliases are expanded. yaml-cpp bounds the nesting of a text. However, an
/// alias inside its own anchor expands endlessly, and aliases of aliases can exceed any memory.
class AliasBound {
 public:
  /// A text without aliases has at most one value per byte.
  AliasBound(const std::string& name, std::size_t bytes) : name_(name), left_(bytes + kMaxMore) {}

  void check(const YAML::Node& node, std::size_t depth = 0) {
    if (depth > kMaxDepth) refuse(node, "an alias is inside the node that it names");
    if (left_-- == 0) refuse(node, fmt::format("aliases spell out over {} values more than there are", kMaxMore));
    if (node.IsMap()) {
      for (const auto& entry : node) {
        check(entry.first, depth + 1);
        check(entry.second, depth + 1);
      }
    } else if (node.IsSequence()) {
      for (const auto& element : node) check(element, depth + 1);
    }
  }

 private:
  static constexpr std::size_t kMaxDepth = 500;  // The limit of yaml-cpp.
  static constexpr std::size_t kMaxMore = 100'000;

  [[noreturn]] void refuse(const YAML::Node& node, const std::string& what) const {
    throw InputError({name_, node.Mark().line + 1, node.Mark().column + 1}, what);
  }

  const std::string& name_;
  std::size_t left_;
};

std::string kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsScalar()) return quote(node.Scalar());
  return "nothing";
}

/// Returns a normalised text. Scalars are quoted, so that different nodes give different texts.
std::string canonical(const YAML::Node& node) {
  if (node.IsMap()) {
    std::map<std::string, std::string> entries;
    for (const auto& entry : node) entries[canonical(entry.first)] = canonical(entry.second);
    std::string text;
    for (const auto& [key, value] : entries)
      text.append(text.empty() ? "" : ", ").append(key).append(": ").append(value);
    return "{" + text + "}";
  }
  if (node.IsSequence()) {
    std::string text;
    for (const auto& element : node) text.append(text.empty() ? "" : ", ").append(canonical(element));
    return "[" + text + "]";
  }
  if (!node.IsScalar()) return "~";
  std::string text = "'";
  for (const char letter : node.Scalar()) text += letter == '\'' ? std::string("''") : std::string(1, letter);
  return text + "'";
}

/// Returns advice for a line that is not valid YAML, or "".
std::string advice_on(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int i = 0; i <= line && std::getline(lines, found); ++i) continue;
  const std::string indentation = found.substr(0, found.find_first_not_of(" \t"));
  if (indentation.find('\t') == std::string::npos) return "";
  return "; a tab begins this line, and YAML is indented by spaces";
}

}  // namespace

// yaml-cpp throws its own errors at every use of a missing key's node, but accepts an undefined node.
ConfigNode::ConfigNode(const YAML::Node& node, std::shared_ptr<const File> file, std::string name, YAML::Mark mark,
                       bool aliased)
    : node_(node.IsDefined() ? node : YAML::Node(YAML::NodeType::Undefined)),
      file_(std::move(file)),
      name_(std::move(name)),
      mark_(mark),
      aliased_(aliased) {
  if (aliased_) return;
  // yaml-cpp returns the aliased node, with the place of its anchor.
  if (const auto alias = file_->aliases.find(name_); alias != file_->aliases.end()) {
    mark_ = alias->second;
    aliased_ = true;
    return;
  }
  // yaml-cpp places a missing value at the next word; the place of its key or parent is better.
  if (present() && !is_null() && !node_.Mark().is_null()) mark_ = node_.Mark();
}

ConfigNode& ConfigNode::operator=(const ConfigNode& other) {
  if (this == &other) return *this;
  node_.reset(other.node_);  // An assignment would change the document.
  file_ = other.file_;
  name_ = other.name_;
  mark_ = other.mark_;
  aliased_ = other.aliased_;
  return *this;
}

ConfigNode ConfigNode::load(const std::filesystem::path& file) {
  return parse(read_text_file(file, kMaxBytes), file.string(), file.parent_path());
}

ConfigNode ConfigNode::parse(const std::string& text, const std::string& name, const std::filesystem::path& directory) {
  const auto source = std::make_shared<File>(File{name, directory, {}, text});
  try {
    // The end marker reveals a quote that is never closed, which yaml-cpp 0.7 would accept as closed.
    const YAML::Node node = load_document(text + (text.ends_with('\n') ? "" : "\n") + "...\n", name, source->aliases);
    if (node.IsNull()) throw InputError({name}, "is empty; expected a configuration");
    AliasBound(name, text.size()).check(node);
    return {node, source, kRoot, YAML::Mark::null_mark(), false};
  } catch (const YAML::DeepRecursion& error) {
    throw InputError({name, error.mark.line + 1, error.mark.column + 1}, "nested too deeply");
  } catch (const YAML::Exception& error) {
    throw InputError({name, error.mark.line + 1, error.mark.column + 1},
                     "not valid YAML: " + error.msg + advice_on(text, error.mark.line));
  }
}

void ConfigNode::require_map(std::initializer_list<std::string_view> keys) const {
  require_map(std::vector<std::string>(keys.begin(), keys.end()));
}

void ConfigNode::require_map(const std::vector<std::string>& keys) const {
  if (!node_.IsMap())
    throw error("expected a map with the keys " + fmt::format("{}", fmt::join(keys, ", ")) + ", found " +
                kind_of(node_));
  std::set<std::string> seen;
  YAML::Node before;  // The value of the previous entry, if it is a scalar.
  std::string before_key;
  for (const auto& entry : node_) {
    const ConfigNode key = key_of(entry.first);
    if (!entry.first.IsScalar()) throw key.error("expected a key, found " + kind_of(entry.first));
    const std::string& word = entry.first.Scalar();
    if (std::find(keys.begin(), keys.end(), word) == keys.end()) {
      const std::string hint = did_you_mean(word, keys);
      if (entry.second.IsNull() && !before_key.empty() && hint.empty()) {
        throw key.error(fmt::format("unknown key {} in {}; if it belongs to '{}', put that in quotes: {}: \"{},{}\"",
                                    quote(word), name_, before_key, before_key, before.Scalar(), word));
      }
      throw InputError(key.location(),
                       "unknown key " + quote(word) + " in " + name_ +
                           (hint.empty() ? "; valid keys: " + fmt::format("{}", fmt::join(keys, ", ")) : "; " + hint));
    }
    if (!seen.insert(word).second)
      throw InputError(key.location(), "key " + quote(word) + " is given twice in " + name_);
    before_key = entry.second.IsScalar() ? word : "";
    if (!before_key.empty()) before.reset(entry.second);
  }
}

ConfigNode ConfigNode::get(const std::string& key) const {
  const std::string name = name_ == kRoot ? key : name_ + "." + key;
  if (node_.IsMap()) {
    for (const auto& entry : node_) {
      if (entry.first.IsScalar() && entry.first.Scalar() == key) {
        return {entry.second, file_, name, aliased_ ? mark_ : entry.first.Mark(), aliased_};
      }
    }
  }
  return {YAML::Node(YAML::NodeType::Undefined), file_, name, mark_, aliased_};
}

ConfigNode ConfigNode::at(const std::string& key) const {
  ConfigNode value = get(key);
  if (!value.present()) throw value.error("'" + key + "' is missing in " + name_);
  return value;
}

ConfigNode ConfigNode::without(const std::string& key) const {
  YAML::Node rest(YAML::NodeType::Map);
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != key) rest.force_insert(entry.first, entry.second);
  }
  return {rest, file_, name_, mark_, aliased_};
}

ConfigNode ConfigNode::empty_map() const {
  return {YAML::Node(YAML::NodeType::Map), file_, name_, mark_, aliased_};
}

/// Returns a key of this map at the key's place. The key has no path: an alias for the map is not an alias for the key.
ConfigNode ConfigNode::key_of(const YAML::Node& key) const {
  return {key, file_, "a key of " + name_, mark_, aliased_};
}

std::vector<std::string> ConfigNode::keys() const {
  if (!node_.IsMap()) throw error("expected a map, found " + kind_of(node_));
  std::vector<std::string> keys;
  for (const auto& entry : node_) keys.push_back(key_of(entry.first).text());
  return keys;
}

std::vector<ConfigNode> ConfigNode::list() const {
  if (!node_.IsSequence()) throw error("expected a list for " + name_ + ", found " + kind_of(node_));
  std::vector<ConfigNode> elements;
  elements.reserve(node_.size());
  for (std::size_t i = 0; i < node_.size(); ++i) {
    elements.push_back({node_[i], file_, name_ + "[" + std::to_string(i) + "]", mark_, aliased_});
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
  // YAML 1.1 and C read a leading zero as octal, people and YAML 1.2 as decimal.
  if (digits.size() > 1 && digits[0] == '0' && end == digits.data() + digits.size()) {
    throw error("expected a number without leading zeros for " + name_ + ", found " + kind_of(node_));
  }
  if (failure != std::errc{} || end != digits.data() + digits.size() || number < least || number > most) {
    throw error("expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " for " +
                name_ + ", found " + kind_of(node_));
  }
  return number;
}

std::filesystem::path ConfigNode::path() const {
  return path(text());
}

std::filesystem::path ConfigNode::path(const std::filesystem::path& file) const {
  if (file.empty()) throw error("expected a path for " + name_ + ", found nothing");
  if (file.string().find('\0') != std::string::npos) throw error("a file's name must not have a NUL byte in it");
  return file.is_absolute() ? file : file_->directory / file;
}

InputError ConfigNode::error(const std::string& message) const {
  return {location(), message};
}

std::string ConfigNode::canonical() const {
  return penumbra::canonical(node_);
}

SourceLocation ConfigNode::location() const {
  return mark_.is_null() ? SourceLocation{file_->name} : SourceLocation{file_->name, mark_.line + 1, mark_.column + 1};
}

}  // namespace penumbra
