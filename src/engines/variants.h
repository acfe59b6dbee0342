// SPDX-License-Identifier: Apache-2.0
//
// Registry of an engine's shader variants.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "penumbra/batch.h"

namespace penumbra {

/// Holds an engine's variants of shaders. `Call` is the engine's type of function that runs a shader on a batch, or a
/// choice of several functions.
template <class Call>
class Variants {
 public:
  /// Adds a variant; a later variant of the same name replaces an earlier one. Always returns true. Called by the file
  /// that the build generates for each shader (variant.cc.in).
  bool add(Shader shader, Call call) {
    std::string name = shader.name;
    variants_.insert_or_assign(std::move(name), Variant{{std::move(shader)}, call});
    return true;
  }
  /// Returns the shader of that name, or null. The address stays valid: batches name a shader by it.
  const Shader* find(const std::string& name) const {
    const auto found = variants_.find(name);
    return found == variants_.end() ? nullptr : &found->second;
  }
  /// Returns the call of a shader that find() returned.
  static const Call& call_of(const Shader& shader) { return static_cast<const Variant&>(shader).call; }

  template <class Use>
  void for_each(Use use) const {
    for (const auto& [name, variant] : variants_) use(variant, variant.call);
  }

 private:
  struct Variant : Shader {
    Call call{};
  };
  std::map<std::string, Variant> variants_;
};

}  // namespace penumbra
