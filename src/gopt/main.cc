// SPDX-License-Identifier: Apache-2.0
//
// Usage: `gopt FILE -o OUT [options] -- COMPILER FLAGS`, or `gopt --suggest PROFILE FILE -- COMPILER FLAGS`.
#include <cstdlib>
#include <iostream>
#include <optional>

#include "arguments.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Tooling/CompilationDatabase.h"
#include "clang/Tooling/Tooling.h"
#include "file.h"
#include "guard.h"
#include "macros.h"
#include "output.h"
#include "suggest.h"

namespace {

struct Result {
  std::optional<std::string> text;
  std::string problem;  ///< A problem with the profile.
  std::string explanation;
  std::set<std::string> files;  ///< All files that were read.
};

/// Parses the source, then rewrites it, or suggests hints if there is a profile.
class Action : public clang::ASTFrontendAction {
 public:
  Action(const gopt::Arguments& arguments, const gopt::Profile* profile, Result& result)
      : arguments_(arguments), profile_(profile), result_(result) {}

 protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    collector_ = std::make_unique<clang::syntax::TokenCollector>(compiler.getPreprocessor());
    macros_ = gopt::watch_macros(compiler.getPreprocessor());
    const clang::SourceManager& sources = compiler.getSourceManager();
    const auto position = [&preprocessor = compiler.getPreprocessor()]() -> const char* {
      const clang::PreprocessorLexer* lexer = preprocessor.getCurrentFileLexer();
      return lexer != nullptr ? static_cast<const clang::Lexer*>(lexer)->getBufferLocation() : nullptr;
    };
    gopt::Guard::parsing(sources.getBufferData(sources.getMainFileID()), position);
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<clang::ASTConsumer>();
  }
  void ExecuteAction() override {
    ASTFrontendAction::ExecuteAction();
    clang::CompilerInstance& compiler = getCompilerInstance();
    gopt::Guard::parsed();
    if (compiler.getDiagnostics().hasErrorOccurred()) return;
    const clang::SourceManager& sources = compiler.getSourceManager();
    const clang::syntax::TokenBuffer buffer = std::move(*collector_).consume();
    const gopt::Tokens tokens(buffer, sources, compiler.getLangOpts());
    gopt::Unit unit(compiler.getASTContext(), tokens, *macros_);
    for (auto at = sources.fileinfo_begin(); at != sources.fileinfo_end(); ++at) {
      result_.files.insert(at->first.getName().str());
    }
    std::string text;
    try {
      text = profile_ != nullptr ? suggest(unit) : rewrite(unit);
    } catch (const gopt::Refusal& refusal) {
      unit.refuse(refusal.where.isValid() ? refusal.where : unit.at_work(), refusal.message);
    } catch (const std::exception& fault) {
      gopt::Guard::internal_error(fault.what());
    }
    if (!unit.refused()) result_.text = std::move(text);
  }

 private:
  std::string suggest(gopt::Unit& unit) {
    gopt::Suggestions suggestions(unit, *profile_);
    std::string text = suggestions.report();
    result_.problem = suggestions.problem;
    return text;
  }
  std::string rewrite(gopt::Unit& unit) {
    gopt::File file(unit, arguments_.options, arguments_.output);
    std::string text = file.write();
    result_.explanation = file.explanation();
    return text;
  }

  const gopt::Arguments& arguments_;
  const gopt::Profile* profile_;
  Result& result_;
  std::unique_ptr<clang::syntax::TokenCollector> collector_;
  std::shared_ptr<gopt::Macros> macros_;
};

class Factory : public clang::tooling::FrontendActionFactory {
 public:
  Factory(const gopt::Arguments& arguments, const gopt::Profile* profile) : arguments_(arguments), profile_(profile) {}
  std::unique_ptr<clang::FrontendAction> create() override {
    return std::make_unique<Action>(arguments_, profile_, result);
  }

  Result result;

 private:
  const gopt::Arguments& arguments_;
  const gopt::Profile* profile_;
};

/// Ends the program if an output would overwrite a file that is read.
void check_outputs(const gopt::Arguments& arguments, const std::set<std::string>& read) {
  if (!arguments.output.empty()) gopt::refuse_to_overwrite("-o", arguments.output, read);
  if (!arguments.depfile.empty()) gopt::refuse_to_overwrite("--depfile", arguments.depfile, read);
}

}  // namespace

int main(int argc, char** argv) {
  const gopt::Arguments arguments = gopt::parse_arguments({argv + 1, argv + argc});
  check_outputs(arguments, {arguments.file});
  gopt::Profile profile;
  const bool suggests = !arguments.profile.empty();
  std::string problem;
  if (suggests && !gopt::read_profile(arguments.profile, profile, problem)) gopt::complain(problem);
  const gopt::Guard guard(arguments.file);
  std::vector<std::string> flags = arguments.flags;
  const char* resources = std::getenv("GOPT_RESOURCE_DIR");
  flags.insert(flags.end(),
               {"-D__GOPT__=1", "-w", "-resource-dir", resources != nullptr ? resources : GOPT_RESOURCE_DIR});
  const clang::tooling::FixedCompilationDatabase database(".", flags);
  clang::tooling::ClangTool tool(database, {arguments.file});
  Factory factory(arguments, suggests ? &profile : nullptr);
  if (tool.run(&factory) != 0 || !factory.result.text) return 1;
  if (!factory.result.problem.empty()) gopt::complain(arguments.profile + ": " + factory.result.problem);
  if (suggests) {
    if (gopt::is_newer(arguments.file, arguments.profile)) {
      std::cerr << "gopt: " << arguments.file << " is newer than the profile: lines may have moved since\n";
    }
    std::cout << *factory.result.text;
    return 0;
  }
  check_outputs(arguments, factory.result.files);
  if (arguments.explain) std::cout << factory.result.explanation;
  if (!arguments.output.empty()) gopt::write_file(arguments.output, *factory.result.text);
  if (!arguments.depfile.empty()) {
    gopt::write_file(arguments.depfile, gopt::dependencies(arguments.output, factory.result.files));
  }
  return 0;
}
