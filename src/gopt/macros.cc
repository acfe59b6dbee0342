// SPDX-License-Identifier: Apache-2.0
#include "macros.h"

#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace gopt {
namespace {

class Watcher : public clang::PPCallbacks {
 public:
  explicit Watcher(std::shared_ptr<Macros> macros) : macros_(std::move(macros)) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange range,
                    const clang::MacroArgs* /*arguments*/) override {
    macros_->uses.push_back({name.getIdentifierInfo()->getName().str(), range.getBegin(), definition.getMacroInfo()});
  }

  void Elif(clang::SourceLocation where, clang::SourceRange /*test*/, ConditionValueKind /*value*/,
            clang::SourceLocation condition) override {
    macros_->branches.push_back({condition, where});
  }
  void Else(clang::SourceLocation where, clang::SourceLocation condition) override {
    macros_->branches.push_back({condition, where});
  }
  void Endif(clang::SourceLocation where, clang::SourceLocation condition) override {
    macros_->branches.push_back({condition, where});
  }

  void InclusionDirective(clang::SourceLocation /*hash*/, const clang::Token& /*word*/, llvm::StringRef /*name*/,
                          bool is_angled, clang::CharSourceRange range, clang::OptionalFileEntryRef file,
                          llvm::StringRef search_path, llvm::StringRef /*relative_path*/,
                          const clang::Module* /*module*/, bool /*imported*/,
                          clang::SrcMgr::CharacteristicKind /*kind*/) override {
    const clang::SourceManager& sources = macros_->preprocessor->getSourceManager();
    if (is_angled || !file || !sources.isWrittenInMainFile(range.getBegin())) return;
    const auto main_file = sources.getFileEntryRefForID(sources.getMainFileID());
    if (main_file->getDir().getName() != search_path) return;
    macros_->inclusions.push_back({{range.getBegin(), range.getEnd()}, absolute_path(file->getName())});
  }

 private:
  std::shared_ptr<Macros> macros_;
};

}  // namespace

std::string absolute_path(llvm::StringRef path) {
  llvm::SmallString<256> full(path);
  if (llvm::sys::fs::make_absolute(full)) return path.str();
  llvm::sys::path::remove_dots(full, true);
  return std::string(full);
}

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
