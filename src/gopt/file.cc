// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <deque>
#include <utility>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace gopt {
namespace {

constexpr const char* kPrefetchRange = R"(
#ifndef GOPT_PREFETCH
#define GOPT_PREFETCH
/* Every cache line of an object. */
static inline void gopt_prefetch(const void *p, unsigned long bytes) {
  for (unsigned long at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)p + at, 0, 2);
  if (bytes > 1) __builtin_prefetch((const char *)p + bytes - 1, 0, 2);
}
#endif
)";

/// GCC 12 takes a variable of a block that items leave and re-enter for a dangling one.
constexpr const char* kPushWarnings = R"(#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
)";
constexpr const char* kPopWarnings = R"(
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
)";

/// Compilers say more about constants than about the parameters that the source has.
constexpr const char* kPushConstantWarnings = R"(#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wshift-count-overflow"
#pragma GCC diagnostic ignored "-Wshift-negative-value"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wconstant-conversion"
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif
)";
constexpr const char* kPopConstantWarnings = "\n#pragma GCC diagnostic pop\n";

bool is_header(llvm::StringRef path) {
  const llvm::StringRef extension = llvm::sys::path::extension(path);
  return extension == ".h" || extension == ".hh" || extension == ".hpp" || extension == ".hxx" || extension == ".cuh" ||
         extension == ".inc";
}

/// Collects the functions and variables that a body needs, without calls that have been expanded, and without the parts
/// of expanded functions that have vanished.
class Needs : public clang::RecursiveASTVisitor<Needs> {
 public:
  Needs(std::set<const clang::Decl*>& needed, const std::set<const clang::CallExpr*>& expanded,
        const std::set<const clang::Stmt*>& vanished)
      : needed_(needed), expanded_(expanded), vanished_(vanished) {}

  bool dataTraverseStmtPre(clang::Stmt* part) { return !in_expansion_ || vanished_.count(part) == 0; }
  bool TraverseCallExpr(clang::CallExpr* call) {
    if (expanded_.count(call) == 0) return RecursiveASTVisitor::TraverseCallExpr(call);
    const bool outside = std::exchange(in_expansion_, true);
    for (clang::Expr* argument : call->arguments()) TraverseStmt(argument);
    in_expansion_ = outside;
    visit_body(call->getDirectCallee(), true);
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* mention) {
    need(mention->getDecl());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* overloads) {
    for (clang::NamedDecl* candidate : overloads->decls()) need(candidate->getUnderlyingDecl());
    return true;
  }
  bool shouldVisitTemplateInstantiations() const { return true; }

  void need(const clang::Decl* declaration) {
    if (const auto* function = declaration->getAsFunction()) {
      const clang::FunctionDecl* written = function->getTemplateInstantiationPattern();
      if (written != nullptr) function = written;
      if (needed_.insert(function->getCanonicalDecl()).second) visit_body(function);
    } else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration)) {
      if (!needed_.insert(variable->getCanonicalDecl()).second) return;
      if (const clang::Expr* init = variable->getAnyInitializer()) TraverseStmt(const_cast<clang::Expr*>(init));
    }
  }
  void visit_body(const clang::FunctionDecl* function, bool in_expansion = false) {
    const clang::FunctionDecl* definition = nullptr;
    if (function == nullptr || !function->hasBody(definition)) return;
    const bool outside = std::exchange(in_expansion_, in_expansion);
    TraverseStmt(definition->getBody());
    in_expansion_ = outside;
  }

 private:
  std::set<const clang::Decl*>& needed_;
  const std::set<const clang::CallExpr*>& expanded_;
  const std::set<const clang::Stmt*>& vanished_;
  bool in_expansion_ = false;
};

/// Finds mentions of functions with a foreach: the output has them only under another name.
class AnnotatedMentions : public clang::RecursiveASTVisitor<AnnotatedMentions> {
 public:
  AnnotatedMentions(Unit& unit, const std::string& suffix) : unit_(unit), suffix_(suffix) {}

  bool VisitDeclRefExpr(clang::DeclRefExpr* mention) {
    look_at(mention->getDecl(), mention->getBeginLoc());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* overloads) {
    for (clang::NamedDecl* candidate : overloads->decls()) {
      look_at(candidate->getUnderlyingDecl(), overloads->getBeginLoc());
    }
    return true;
  }

 private:
  void look_at(const clang::Decl* declaration, clang::SourceLocation where) {
    const clang::FunctionDecl* function = declaration->getAsFunction();
    const clang::FunctionDecl* definition = nullptr;
    if (function == nullptr || !function->hasBody(definition) || !Unit::has_foreach(definition->getBody())) return;
    const std::string name = function->getNameAsString();
    unit_.refuse(where, "'" + name + "' has a foreach, so that gopt writes it as " + name + suffix_ +
                            "; call it from a function without a foreach in another file");
  }

  Unit& unit_;
  const std::string& suffix_;
};

}  // namespace

void File::rewrite_annotated() {
  std::deque<Function> done;
  for (const clang::FunctionDecl* function : annotated_) {
    unit_.working_on(function->getLocation());
    Function& rewriting = done.emplace_back(unit_, function, options_);
    rewritten_[function] = rewriting.rewrite();
    if (!unit_.refused()) AnnotatedMentions(unit_, options_.suffix).TraverseStmt(function->getBody());
    explanation_ += rewriting.explanation();
    prefetches_ranges_ |= rewriting.prefetches_ranges();
    folds_ |= rewriting.folds();
    expanded_.insert(rewriting.expanded_calls().begin(), rewriting.expanded_calls().end());
  }
  for (const Function& rewriting : done) {
    for (const clang::Stmt* part : rewriting.vanished()) {
      if (llvm::none_of(done, [part](const Function& other) { return other.has(part); })) vanished_.insert(part);
    }
  }
}

std::string File::write() {
  annotated_ = unit_.annotated();
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  if (annotated_.empty()) {
    unit_.refuse(sources.getLocForStartOfFile(sources.getMainFileID()), "no function here has a foreach");
    return "";
  }
  rewrite_annotated();
  if (unit_.refused()) return "";
  const llvm::StringRef path = sources.getFileEntryRefForID(sources.getMainFileID())->getName();
  std::string text = "/* Written by gopt from " + llvm::sys::path::filename(path).str() + ". */\n";
  text += is_header(path) ? header_output() : push_warnings() + source_output();
  text += line_mark(0, "") + kPopWarnings + (folds_ ? kPopConstantWarnings : "");
  return with_line_directives(text, output_, 1);
}

std::string File::push_warnings() const {
  return (folds_ ? kPushConstantWarnings : std::string()) + kPushWarnings;
}

/// Returns the output for a header: it includes the header and defines the functions.
std::string File::header_output() {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const llvm::StringRef path = sources.getFileEntryRefForID(sources.getMainFileID())->getName();
  std::string text = "#include \"" + absolute_path(path) + "\"\n";
  text += push_warnings();
  if (prefetches_ranges_) text += kPrefetchRange;
  for (const clang::FunctionDecl* function : annotated_) {
    std::string close;
    text += '\n';
    std::vector<const clang::DeclContext*> around;
    for (const clang::DeclContext* context = function->getDeclContext(); !context->isTranslationUnit();
         context = context->getParent()) {
      around.push_back(context);
    }
    for (size_t i = around.size(); i-- > 0;) {
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(around[i])) {
        text += std::string(space->isInline() ? "inline " : "") + "namespace " + space->getNameAsString() + " {\n";
      } else {
        text += "extern \"C\" {\n";
      }
      close += "}\n";
    }
    text += rewritten_[function] + "\n" + close;
  }
  return text;
}

/// Returns the output for a source: the whole source without the bodies and variables that it defines for others.
std::string File::source_output() {
  find_needed();
  edit_context(unit_.ast.getTranslationUnitDecl());
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  for (const Macros::Inclusion& inclusion : unit_.macros().inclusions) {
    const unsigned end = sources.getFileOffset(inclusion.name.getEnd());
    edits_[sources.getFileOffset(inclusion.name.getBegin())] = {end, "\"" + inclusion.path + "\""};
  }
  check_directives();
  const llvm::StringRef written = sources.getBufferData(sources.getMainFileID());
  std::string text = prefetches_ranges_ ? kPrefetchRange : "";
  unsigned from = 0;
  for (const auto& [begin, edit] : edits_) {
    if (begin < from) continue;
    text += mark(from) + written.substr(from, begin - from).str() + edit.text;
    from = edit.end;
    const unsigned newlines =
        static_cast<unsigned>(written.substr(from).take_while([](char c) { return c == '\n'; }).size());
    if (!edit.text.empty() && newlines > 0) text += '\n';
    from += edit.text.empty() ? newlines : std::min(newlines, 1U);
  }
  return text + mark(from) + written.substr(from).str();
}

/// Refuses directives inside changed or removed parts of the source if the rest needs them.
void File::check_directives() {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const auto edit_around = [&](clang::SourceLocation where) -> const Edit* {
    if (!sources.isWrittenInMainFile(where)) return nullptr;
    const unsigned offset = sources.getFileOffset(where);
    const auto next = edits_.upper_bound(offset);
    const bool inside = next != edits_.begin() && offset < std::prev(next)->second.end;
    return inside ? &std::prev(next)->second : nullptr;
  };
  for (const Macros::Branch& branch : unit_.macros().branches) {
    if (edit_around(branch.condition) == edit_around(branch.where)) continue;
    unit_.refuse(branch.where,
                 "this belongs to an #if on the other side of a function's start or end; put both on one");
  }
  for (const Macros::Use& use : unit_.macros().uses) {
    const Edit* around = edit_around(use.meaning->getDefinitionLoc());
    const Edit* used = edit_around(sources.getExpansionLoc(use.where));
    if (around == nullptr || (used != nullptr && used->text.empty())) continue;
    unit_.refuse(use.meaning->getDefinitionLoc(),
                 "the macro '" + use.name + "' is defined in a function, and the output needs it; define it before");
    return;
  }
}

std::string File::mark(unsigned offset) const {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const clang::SourceLocation where =
      sources.getLocForStartOfFile(sources.getMainFileID()).getLocWithOffset(static_cast<int>(offset));
  const clang::PresumedLoc presumed = sources.getPresumedLoc(where);
  return line_mark(presumed.getLine(), presumed.getFilename());
}

void File::find_needed() {
  Needs needs(needed_, expanded_, vanished_);
  for (const clang::FunctionDecl* function : annotated_) needs.visit_body(function);
  std::vector<const clang::DeclContext*> work{unit_.ast.getTranslationUnitDecl()};
  while (!work.empty()) {
    const clang::DeclContext* context = work.back();
    work.pop_back();
    for (const clang::Decl* declaration : context->decls()) {
      if (!unit_.in_file(declaration)) continue;
      if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration)) {
        work.push_back(llvm::cast<clang::DeclContext>(declaration));
        continue;
      }
      // Types, templates and inline functions are kept unchanged.
      const clang::FunctionDecl* function = declaration->getAsFunction();
      const bool is_template = llvm::isa<clang::TemplateDecl>(declaration);
      if (function == nullptr && llvm::isa<clang::TypeDecl>(declaration)) {
        needs.TraverseDecl(const_cast<clang::Decl*>(declaration));
      } else if (function != nullptr && !Unit::has_foreach(function->getBody()) &&
                 (is_template || (function->isInlined() && function->getFormalLinkage() != clang::Linkage::Internal))) {
        needs.visit_body(function);
      }
    }
  }
}

/// Returns the offsets of declarations in the file, including their semicolon.
std::pair<unsigned, unsigned> File::extent(const clang::Decl* first, const clang::Decl* last) const {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const unsigned begin = sources.getFileOffset(sources.getExpansionLoc(first->getBeginLoc()));
  const clang::SourceLocation end = sources.getExpansionRange(last->getEndLoc()).getEnd();
  const clang::SourceLocation after =
      clang::Lexer::findLocationAfterToken(end, clang::tok::semi, sources, unit_.ast.getLangOpts(), false);
  if (after.isValid()) return {begin, sources.getFileOffset(after)};
  return {begin, sources.getFileOffset(clang::Lexer::getLocForEndOfToken(end, 0, sources, unit_.ast.getLangOpts()))};
}

/// Removes the declarations and the comment directly before them.
void File::remove(const clang::Decl* first, const clang::Decl* last) {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const llvm::StringRef written = sources.getBufferData(sources.getMainFileID());
  const auto [begin, end] = extent(first, last);
  llvm::StringRef before = written.substr(0, begin).rtrim(" \t");
  unsigned from = begin;
  if (before.ends_with("\n") && before.drop_back().rtrim(" \t").ends_with("*/")) {
    from = static_cast<unsigned>(before.rfind("/*"));
  }
  while (before.ends_with("\n")) {
    const llvm::StringRef line = before.drop_back().rsplit('\n').second;
    const bool is_comment = line.ltrim().starts_with("//");
    if (!is_comment) break;
    before = before.drop_back(line.size() + 1);
    from = static_cast<unsigned>(before.size());
  }
  edits_[from] = {end, ""};
}

void File::edit_function(const clang::FunctionDecl* function, const clang::Decl* outer) {
  if (const auto found = rewritten_.find(function); found != rewritten_.end()) {
    const auto [begin, end] = extent(outer, outer);
    edits_[begin] = {end, found->second};
    return;
  }
  if (!function->doesThisDeclarationHaveABody() || outer != function) return;
  const bool needed = needed_.count(function->getCanonicalDecl()) != 0;
  const bool is_static = function->getFormalLinkage() == clang::Linkage::Internal;
  if (needed && (is_static || function->isInlined())) return;
  if (!is_static && function->isInlined()) return;
  if (!needed) {
    remove(function, function);
    return;
  }
  const unsigned begin = unit_.tokens.at(function->getBeginLoc());
  const unsigned body = unit_.tokens.at(function->getBody()->getBeginLoc());
  const auto [from, to] = extent(function, function);
  edits_[from] = {to, llvm::StringRef(Text(unit_.tokens).render({begin, body})).rtrim().str() + ";"};
}

std::string File::extern_declarations(const Declarations& group) {
  std::string text;
  for (const clang::Decl* declaration : group) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (variable == nullptr) {
      text += Text(unit_.tokens).render(unit_.tokens.range(declaration->getSourceRange())) + "; ";
      continue;
    }
    if (needed_.count(variable->getCanonicalDecl()) == 0) continue;
    text += "extern " + unit_.declare(variable->getType(), variable->getNameAsString()) + ";";
  }
  return text;
}

void File::edit_variables(const Declarations& group) {
  bool needed = false;
  bool is_static = false;
  bool is_constant = true;
  const clang::VarDecl* changing = nullptr;
  for (const clang::Decl* declaration : group) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (variable == nullptr) continue;
    if (variable->isThisDeclarationADefinition() == clang::VarDecl::DeclarationOnly) return;
    const bool wanted = needed_.count(variable->getCanonicalDecl()) != 0;
    needed |= wanted;
    is_static |= variable->getFormalLinkage() == clang::Linkage::Internal;
    const bool constant =
        unit_.ast.getBaseElementType(variable->getType()).isConstQualified() || variable->isConstexpr();
    is_constant = is_constant && constant;
    if (wanted && !constant && changing == nullptr) changing = variable;
  }
  if (is_static && changing != nullptr) {
    unit_.refuse(changing->getLocation(), "'" + changing->getNameAsString() +
                                              "' is static, and the output would have another one of "
                                              "its own; make it const, or extern, or pass it as a parameter");
    return;
  }
  const auto [begin, end] = extent(group.front(), group.back());
  if (is_static && (needed || (unit_.is_cxx() && is_constant))) {
    if (!needed) edits_[begin] = {begin, "[[maybe_unused]] "};
    return;
  }
  if (needed || !llvm::isa<clang::VarDecl>(group.front())) {
    edits_[begin] = {end, extern_declarations(group)};
    return;
  }
  remove(group.front(), group.back());
}

void File::edit_context(const clang::DeclContext* context) {
  Declarations group;
  const auto finish = [&] {
    const bool variables = llvm::any_of(group, [](const clang::Decl* d) { return llvm::isa<clang::VarDecl>(d); });
    if (variables) edit_variables(group);
    group.clear();
  };
  for (const clang::Decl* declaration : context->decls()) {
    if (!unit_.in_file(declaration) || declaration->isImplicit()) continue;
    if (llvm::isa<clang::TagDecl, clang::VarDecl>(declaration)) {
      if (!group.empty() && group.front()->getBeginLoc() != declaration->getBeginLoc()) {
        // `static struct s {...} x;`: the type begins after the variable's declaration, but comes first in the tree.
        const bool holds = llvm::isa<clang::VarDecl>(declaration) && llvm::isa<clang::TagDecl>(group.front()) &&
                           group.size() == 1 &&
                           unit_.ast.getSourceManager().isBeforeInTranslationUnit(declaration->getBeginLoc(),
                                                                                  group.front()->getBeginLoc());
        if (!holds) finish();
      }
      group.push_back(declaration);
      continue;
    }
    finish();
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration)) {
      edit_context(llvm::cast<clang::DeclContext>(declaration));
    } else if (const clang::FunctionDecl* function = declaration->getAsFunction()) {
      edit_function(function, declaration);
    }
  }
  finish();
}

}  // namespace gopt
