// SPDX-License-Identifier: Apache-2.0
//
// What an engine knows of shaders.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "penumbra/batch.h"

namespace penumbra {

/// An engine's variants of shaders. `Call` is its kind of function that runs one on a batch, or a choice of some.
template <class Call>
class Variants {
 public:
  /// For the file that the build writes for each shader (variant.cc.in). The last one of a name counts. Returns true.
  bool add(Shader shader, Call call) {
    std::string name = shader.name;
    variants_.insert_or_assign(std::move(name), Variant{{std::move(shader)}, call});
    return true;
  }
  /// Null if there is none. What it points to stays where it is: batches name a shader by its address here.
  const Shader* find(const std::string& name) const {
    const auto found = variants_.find(name);
    return found == variants_.end() ? nullptr : &found->second;
  }
  /// Of a shader that find() gave.
  static const Call& call_of(const Shader& shader) { return static_cast<const Variant&>(shader).call; }

  /// Calls `use` with each shader and its call.
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
