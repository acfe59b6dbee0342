// SPDX-License-Identifier: Apache-2.0
//
// Gives a checked view of the YAML configuration. Errors name the place, the expected value and the value found.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/errors.h"

namespace penumbra {

/// One node of a configuration file. Copies are cheap. All accessors throw InputError at the node's place.
class ConfigNode {
 public:
  /// Returns the root of a file. Throws InputError if the file cannot be read or does not hold exactly one YAML
  /// document.
  static ConfigNode load(const std::filesystem::path& file);
  /// Returns the root of `text`. Errors name the text `name`; relative paths start at `directory`.
  static ConfigNode parse(const std::string& text, const std::string& name, const std::filesystem::path& directory);

  ConfigNode(const ConfigNode&) = default;
  ConfigNode& operator=(const ConfigNode& other);
  ~ConfigNode() = default;

  /// Returns true if the key exists (for the result of get()). A key without a value is present; accessors of its value
  /// then report that they found nothing.
  bool present() const { return node_.IsDefined(); }
  bool is_null() const { return node_.IsNull(); }
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }

  /// Requires a map that has no other keys than `keys`. An unknown or repeated key is an error that names the nearest
  /// valid key.
  void require_map(std::initializer_list<std::string_view> keys) const;
  void require_map(const std::vector<std::string>& keys) const;
  /// Returns the value of `key` in a map, or a node that is not present() if the key is missing.
  ConfigNode get(const std::string& key) const;
  /// Returns the value of `key` in a map. A missing key is an error.
  ConfigNode at(const std::string& key) const;
  /// Returns a copy of this map without `key`.
  ConfigNode without(const std::string& key) const;
  /// Returns an empty map at this node's place.
  ConfigNode empty_map() const;
  /// Returns the keys of a map, in file order.
  std::vector<std::string> keys() const;
  /// Returns the elements of a list. A single value is not a list.
  std::vector<ConfigNode> list() const;

  std::string text() const;
  /// Returns text() if `check` accepts it. A std::invalid_argument of `check` becomes an InputError at this node.
  template <class Check>
  std::string checked_text(const Check& check) const {
    std::string found = text();
    try {
      check(found);
    } catch (const std::invalid_argument& refusal) {
      throw error(refusal.what());
    }
    return found;
  }
  /// Returns this node's text, which must be one of `words`, or the first word if the node is not present().
  template <class Words>
  std::string one_of(const Words& words) const {
    if (!present()) return std::string(*std::begin(words));
    const std::string found = text();
    if (std::ranges::find(words, found) != std::end(words)) return found;
    throw error("found " + quote(found) + ": " + did_you_mean_or_list(found, words));
  }
  bool boolean() const;
  /// Returns a whole number between `least` and `most`, both included.
  std::uint64_t integer(std::uint64_t least, std::uint64_t most) const;
  /// Returns a path. A relative path starts at the configuration file's folder.
  std::filesystem::path path() const;
  /// Returns path() for `file`, which is a part of this node's text.
  std::filesystem::path path(const std::filesystem::path& file) const;

  /// Return the text of the configuration file, and this node as yaml-cpp has it. Used to write the configuration back.
  const std::string& source() const { return file_->text; }
  const YAML::Node& yaml() const { return node_; }

  /// Calls `read` with the file that this node names. An InputError of `read` without a line, such as a missing file,
  /// becomes an error at this node.
  template <class Read>
  auto read_file(const Read& read) const {
    const std::filesystem::path file = path();
    try {
      return read(file);
    } catch (const InputError& fault) {
      if (fault.location().line > 0) throw;
      throw error(fault.what());
    }
  }

  /// Returns this node and its descendants as normalised text. Flow or block style, quotes and the order of keys make
  /// no difference.
  std::string canonical() const;

  /// Returns an error at this node, for a check that the caller makes.
  InputError error(const std::string& message) const;
  SourceLocation location() const;

 private:
  struct File {
    std::string name;
    std::filesystem::path directory;
    std::map<std::string, YAML::Mark> aliases;  ///< Places of the aliases, by `name_`.
    std::string text;
  };
  ConfigNode(const YAML::Node& node, std::shared_ptr<const File> file, std::string name, YAML::Mark mark, bool aliased);
  ConfigNode key_of(const YAML::Node& key) const;

  YAML::Node node_;
  std::shared_ptr<const File> file_;
  std::string name_;  ///< Name of this node in messages: "ports[0].device".
  YAML::Mark mark_;   ///< Place of the node, of its alias, or of its parent if the node is missing.
  bool aliased_;      ///< True if an alias replaces this node or an ancestor; `mark_` is then the alias's place.
};

}  // namespace penumbra
