// SPDX-License-Identifier: Apache-2.0
#include "macros.h"

#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"

namespace gopt {
namespace {

class Watcher : public clang::PPCallbacks {
 public:
  explicit Watcher(std::shared_ptr<Macros> macros) : macros_(std::move(macros)) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange range,
                    const clang::MacroArgs* /*arguments*/) override {
    macros_->uses.push_back({name.getIdentifierInfo()->getName().str(), range.getBegin(), definition.getMacroInfo()});
  }

 private:
  std::shared_ptr<Macros> macros_;
};

}  // namespace

bool Macros::has_changed(const Use& use) const {
  const clang::IdentifierInfo* name = preprocessor->getIdentifierInfo(use.name);
  const clang::MacroInfo* now = preprocessor->getMacroInfo(name);
  if (now == use.meaning) return false;
  return now == nullptr || !now->isIdenticalTo(*use.meaning, *preprocessor, true);
}

std::shared_ptr<Macros> watch_macros(clang::Preprocessor& preprocessor) {
  auto macros = std::make_shared<Macros>();
  macros->preprocessor = &preprocessor;
  preprocessor.addPPCallbacks(std::make_unique<Watcher>(macros));
  return macros;
}

}  // namespace gopt
