// SPDX-License-Identifier: Apache-2.0
//
// gopt FILE -o OUT [options] -- COMPILER FLAGS
// gopt --suggest PROFILE FILE -- COMPILER FLAGS
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Tooling/CompilationDatabase.h"
#include "clang/Tooling/Tooling.h"
#include "file.h"
#include "macros.h"
#include "suggest.h"

namespace {

constexpr const char* kUsage = R"(usage: gopt FILE -o OUT [options] -- COMPILER FLAGS
       gopt --suggest PROFILE FILE -- COMPILER FLAGS

Writes, for each function of FILE that has a foreach, one that hides the misses of its g_expensive accesses.

  -o OUT         the file to write
  --width N      items that take turns, 1 to 256 (16)
  --width any    the functions take the width, as one more parameter: uint32_t gopt_width
  --suffix S     what is put after the name of a function (_gopt)
  --depfile D    writes the files that OUT depends on, as make and ninja read them
  --explain      says for each switch what is kept, why, and how many bytes
  --suggest P    instead of all that: says by a profile of the baseline where a hint would gain how much, and what
                 to write. P is cachegrind's file, what cg_annotate makes of it, what is printed by
                 perf report --stdio -F sample,sym,srcline, or lines "FILE:LINE COUNT"
  -h, --help     this text
)";

struct Arguments {
  std::string file;
  std::string output;
  std::string depfile;
  std::string profile;
  gopt::Options options;
  bool explain = false;
  std::vector<std::string> flags;
};

[[noreturn]] void complain(const std::string& message) {
  std::cerr << "gopt: " << message << "\n";
  std::exit(2);
}

bool is_identifier_part(const std::string& text) {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

unsigned parse_width(const std::string& text) {
  unsigned width = 0;
  if (llvm::StringRef(text).getAsInteger(10, width) || width < 1 || width > gopt::Options::kMostWidth) {
    complain("--width takes a number from 1 to 256 or 'any', not '" + text + "'");
  }
  return width;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  size_t i = 0;
  const auto value = [&] {
    if (i + 1 >= words.size() || words[i + 1] == "--") complain(words[i] + " needs a value");
    return words[++i];
  };
  for (; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (word == "-h" || word == "--help") {
      std::cout << kUsage;
      std::exit(0);
    } else if (word == "-o") {
      arguments.output = value();
    } else if (word == "--depfile") {
      arguments.depfile = value();
    } else if (word == "--width") {
      const std::string width = value();
      arguments.options.any_width = width == "any";
      arguments.options.width = arguments.options.any_width ? gopt::Options::kMostWidth : parse_width(width);
    } else if (word == "--suffix") {
      arguments.options.suffix = value();
    } else if (word == "--suggest") {
      arguments.profile = value();
    } else if (word == "--explain") {
      arguments.explain = true;
    } else if (word.size() > 1 && word[0] == '-') {
      complain("unknown option '" + word + "'; gopt --help lists them");
    } else if (arguments.file.empty()) {
      arguments.file = word;
    } else {
      complain("one FILE at a time, not '" + arguments.file + "' and '" + word + "'");
    }
  }
  if (i < words.size()) arguments.flags.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  if (arguments.file.empty()) complain("FILE is missing; gopt --help says more");
  if (!arguments.profile.empty()) {
    if (!arguments.output.empty() || arguments.explain) complain("--suggest writes no OUT and explains none");
    return arguments;
  }
  if (arguments.output.empty() && !arguments.explain) complain("-o OUT is missing; gopt --help says more");
  if (arguments.options.suffix.empty() || !is_identifier_part(arguments.options.suffix)) {
    complain("--suffix takes letters, digits and _, not '" + arguments.options.suffix + "'");
  }
  return arguments;
}

struct Result {
  std::optional<std::string> text;
  std::string problem;  ///< with the profile
  std::string explanation;
  std::set<std::string> files;  ///< all that were read
};

/// Parses, then rewrites, or with a profile suggests hints.
class Action : public clang::ASTFrontendAction {
 public:
  Action(const Arguments& arguments, const gopt::Profile* profile, Result& result)
      : arguments_(arguments), profile_(profile), result_(result) {}

 protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    collector_ = std::make_unique<clang::syntax::TokenCollector>(compiler.getPreprocessor());
    macros_ = gopt::watch_macros(compiler.getPreprocessor());
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<clang::ASTConsumer>();
  }
  void ExecuteAction() override {
    ASTFrontendAction::ExecuteAction();
    clang::CompilerInstance& compiler = getCompilerInstance();
    const clang::syntax::TokenBuffer buffer = std::move(*collector_).consume();
    if (compiler.getDiagnostics().hasErrorOccurred()) return;
    const gopt::Tokens tokens(buffer, compiler.getSourceManager());
    gopt::Unit unit(compiler.getASTContext(), tokens, *macros_);
    if (profile_ != nullptr) {
      gopt::Suggestions suggestions(unit, *profile_);
      std::string text = suggestions.report();
      result_.problem = suggestions.problem;
      if (!unit.refused()) result_.text = std::move(text);
      return;
    }
    gopt::File file(unit, arguments_.options, arguments_.output);
    std::string text = file.write();
    result_.explanation = file.explanation();
    for (auto at = compiler.getSourceManager().fileinfo_begin(); at != compiler.getSourceManager().fileinfo_end();
         ++at) {
      result_.files.insert(at->first.getName().str());
    }
    if (!unit.refused()) result_.text = std::move(text);
  }

 private:
  const Arguments& arguments_;
  const gopt::Profile* profile_;
  Result& result_;
  std::unique_ptr<clang::syntax::TokenCollector> collector_;
  std::shared_ptr<gopt::Macros> macros_;
};

class Factory : public clang::tooling::FrontendActionFactory {
 public:
  Factory(const Arguments& arguments, const gopt::Profile* profile) : arguments_(arguments), profile_(profile) {}
  std::unique_ptr<clang::FrontendAction> create() override {
    return std::make_unique<Action>(arguments_, profile_, result);
  }

  Result result;

 private:
  const Arguments& arguments_;
  const gopt::Profile* profile_;
};

/// A file that is there only if it is whole.
void write_file(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    complain("cannot write " + path);
  }
}

bool is_newer(const std::string& path, const std::string& than) {
  llvm::sys::fs::file_status first;
  llvm::sys::fs::file_status second;
  return !llvm::sys::fs::status(path, first) && !llvm::sys::fs::status(than, second) &&
         second.getLastModificationTime() < first.getLastModificationTime();
}

/// A rule of make.
std::string dependencies(const std::string& output, const std::set<std::string>& files) {
  std::string text = output + ":";
  for (const std::string& file : files) {
    text += " \\\n  ";
    for (const char c : file) text += c == ' ' ? "\\ " : std::string(1, c);
  }
  return text + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse({argv + 1, argv + argc});
  gopt::Profile profile;
  const bool suggests = !arguments.profile.empty();
  std::string problem;
  if (suggests && !gopt::read_profile(arguments.profile, profile, problem)) complain(problem);
  std::vector<std::string> flags = arguments.flags;
  const char* resources = std::getenv("GOPT_RESOURCE_DIR");
  flags.insert(flags.end(),
               {"-D__GOPT__=1", "-w", "-resource-dir", resources != nullptr ? resources : GOPT_RESOURCE_DIR});
  const clang::tooling::FixedCompilationDatabase database(".", flags);
  clang::tooling::ClangTool tool(database, {arguments.file});
  Factory factory(arguments, suggests ? &profile : nullptr);
  if (tool.run(&factory) != 0 || !factory.result.text) return 1;
  if (!factory.result.problem.empty()) complain(arguments.profile + ": " + factory.result.problem);
  if (suggests) {
    if (is_newer(arguments.file, arguments.profile)) {
      std::cerr << "gopt: " << arguments.file << " is newer than the profile: lines may have moved since\n";
    }
    std::cout << *factory.result.text;
    return 0;
  }
  if (arguments.explain) std::cout << factory.result.explanation;
  if (!arguments.output.empty()) write_file(arguments.output, *factory.result.text);
  if (!arguments.depfile.empty()) write_file(arguments.depfile, dependencies(arguments.output, factory.result.files));
  return 0;
}
