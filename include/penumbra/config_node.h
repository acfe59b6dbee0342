// SPDX-License-Identifier: Apache-2.0
//
// A checked view of the YAML configuration: every accessor says where it looked, what it expected and what it found.
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
  /// The root of a file. Throws InputError if it cannot be read or is not one YAML document.
  static ConfigNode load(const std::filesystem::path& file);
  /// The root of a text; `name` stands for the file in errors, and relative paths are taken from `directory`.
  static ConfigNode parse(const std::string& text, const std::string& name, const std::filesystem::path& directory);

  ConfigNode(const ConfigNode&) = default;
  ConfigNode& operator=(const ConfigNode& other);
  ~ConfigNode() = default;

  /// Whether the key was there at all (for the result of get()). Without a value it is there: all that asks for a value
  /// then says that it found nothing.
  bool present() const { return node_.IsDefined(); }
  bool is_null() const { return node_.IsNull(); }
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }

  /// Requires a map with no keys but these; an unknown or a repeated key is an error that names the nearest valid one.
  void require_map(std::initializer_list<std::string_view> keys) const;
  void require_map(const std::vector<std::string>& keys) const;
  /// A map's value; a node that is not present() if the key is missing.
  ConfigNode get(const std::string& key) const;
  /// A map's value; an error if the key is missing.
  ConfigNode at(const std::string& key) const;
  /// This map as if that key were not in it.
  ConfigNode without(const std::string& key) const;
  /// An empty map in this node's place.
  ConfigNode empty_map() const;
  /// A map's keys, in file order.
  std::vector<std::string> keys() const;
  /// A list's elements. A single value is not a list.
  std::vector<ConfigNode> list() const;

  std::string text() const;
  /// The same if `check` takes it: its std::invalid_argument becomes an error here.
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
  /// One of these words; the first one if there is no node.
  template <class Words>
  std::string one_of(const Words& words) const {
    if (!present()) return std::string(*std::begin(words));
    const std::string found = text();
    if (std::ranges::find(words, found) != std::end(words)) return found;
    throw error("found " + quote(found) + ": " + did_you_mean_or_list(found, words));
  }
  bool boolean() const;
  /// A whole number between the bounds, both included.
  std::uint64_t integer(std::uint64_t least, std::uint64_t most) const;
  /// A path; a relative one is taken from the configuration file's folder.
  std::filesystem::path path() const;
  /// `file`, which is a part of this node's text, as path() would give it.
  std::filesystem::path path(const std::filesystem::path& file) const;

  /// The text that the configuration was read from, and this node in the words of yaml-cpp, to write it back.
  const std::string& source() const { return file_->text; }
  const YAML::Node& yaml() const { return node_; }

  /// Gives the file that this node names to `read`. Where that throws an InputError without a line (the file is
  /// missing, say), the error is at this node.
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

  /// What stands here and below, the same for every way to write it: flow or block style, quotes, order of keys.
  std::string canonical() const;

  /// An error at this node, for checks that the caller makes.
  InputError error(const std::string& message) const;
  SourceLocation location() const;

 private:
  struct File {
    std::string name;
    std::filesystem::path directory;
    std::map<std::string, YAML::Mark> aliases;  ///< their places, by `name_`
    std::string text;
  };
  ConfigNode(const YAML::Node& node, std::shared_ptr<const File> file, std::string name, YAML::Mark mark, bool aliased);
  ConfigNode key_of(const YAML::Node& key) const;

  YAML::Node node_;
  std::shared_ptr<const File> file_;
  std::string name_;  ///< how to call this node in messages: "ports[0].device"
  YAML::Mark mark_;   ///< the node's own place, its alias's, or its parent's for a node that is missing
  bool aliased_;      ///< an alias stands for this node or for one around it, and `mark_` is the alias's place
};

}  // namespace penumbra
