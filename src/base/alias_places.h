// SPDX-License-Identifier: Apache-2.0
//
// Finds the places of the aliases in a YAML document.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penumbra {

/// Follows a parser through one document. Paths are those of ConfigNode: "ports[0].device".
class AliasPlaces final : public YAML::EventHandler {
 public:
  const YAML::Mark& document_start() const { return start_; }
  /// Returns the place of each alias, by the path of the aliased value.
  std::map<std::string, YAML::Mark> take() { return std::move(places_); }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { open_.pop_back(); }

 private:
  /// A map or a list that has not ended yet.
  struct Open {
    std::string path;
    bool is_map = false;
    bool has_key = false;  ///< True if the next node of a map is a value.
    std::string key;
    std::size_t index = 0;
  };

  bool is_key() const { return !open_.empty() && open_.back().is_map && !open_.back().has_key; }
  std::string begin_node(const std::string& scalar);

  YAML::Mark start_;
  std::vector<Open> open_;
  std::map<std::string, YAML::Mark> places_;
};

}  // namespace penumbra
