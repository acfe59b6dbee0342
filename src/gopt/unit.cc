// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "access.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/AST/StmtCXX.h"
#include "guard.h"
#include "llvm/Support/Path.h"

namespace gopt {
namespace {

bool mentions(const clang::Expr* expression, llvm::StringRef name) {
  expression = expression->IgnoreParenImpCasts();
  if (const auto* found = llvm::dyn_cast<clang::DeclRefExpr>(expression)) {
    return found->getDecl()->getDeclName().isIdentifier() && found->getDecl()->getName() == name;
  }
  if (const auto* lookup = llvm::dyn_cast<clang::UnresolvedLookupExpr>(expression)) {
    return lookup->getName().isIdentifier() && lookup->getName().getAsIdentifierInfo()->isStr(name);
  }
  return false;
}

struct LocalMention : clang::RecursiveASTVisitor<LocalMention> {
  bool but_constants = false;
  bool found = false;

  // NOLINTNEXTLINE(readability-identifier-naming): Clang's name
  bool VisitDeclRefExpr(clang::DeclRefExpr* mention) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
    found |= variable != nullptr && variable->isLocalVarDeclOrParm() && !(but_constants && variable->isConstexpr());
    return true;
  }
};

void collect_escaping(const clang::Stmt* statement, const clang::ParentMap& parents,
                      std::set<const clang::VarDecl*>& escaping) {
  if (statement == nullptr) return;
  if (const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
    if (variable != nullptr && access_of(mention, parents) == Access::escape) escaping.insert(variable);
  }
  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(statement)) {
    for (const clang::LambdaCapture& capture : lambda->captures()) {
      if (!capture.capturesVariable() || capture.getCaptureKind() != clang::LCK_ByRef) continue;
      escaping.insert(llvm::dyn_cast<clang::VarDecl>(capture.getCapturedVar()));
    }
  }
  for (const clang::Stmt* child : statement->children()) collect_escaping(child, parents, escaping);
}

}  // namespace

bool Unit::escapes(const clang::VarDecl* variable, const clang::FunctionDecl* function) {
  const auto [entry, is_new] = escaping_.try_emplace(function);
  if (is_new) collect_escaping(function->getBody(), parents(function), entry->second);
  return entry->second.count(variable) != 0;
}

void Unit::refuse(clang::SourceLocation where, const std::string& message) {
  clang::DiagnosticsEngine& diagnostics = ast.getDiagnostics();
  diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "gopt: %0")) << message;
  refused_ = true;
}

void Unit::note(clang::SourceLocation where, const std::string& message) {
  clang::DiagnosticsEngine& diagnostics = ast.getDiagnostics();
  diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Note, "%0")) << message;
}

void Unit::working_on(clang::SourceLocation where) {
  if (where.isInvalid()) return;
  at_work_ = where;
  const clang::SourceManager& sources = ast.getSourceManager();
  const clang::PresumedLoc presumed = sources.getPresumedLoc(sources.getExpansionLoc(where));
  if (presumed.isValid()) Guard::working_on(presumed.getFilename(), presumed.getLine());
}

bool Unit::is_hint(const clang::CallExpr* call) {
  return mentions(call->getCallee(), "__gopt_expensive");
}

const clang::CallExpr* Unit::hint(const clang::Stmt* statement) {
  const auto* expression = llvm::dyn_cast_or_null<clang::Expr>(statement);
  if (expression == nullptr) return nullptr;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(expression->IgnoreParens()->IgnoreUnlessSpelledInSource());
  return call != nullptr && is_hint(call) ? call : nullptr;
}

const clang::ForStmt* Unit::foreach_loop(const clang::Stmt* statement) {
  const auto* loop = llvm::dyn_cast_or_null<clang::ForStmt>(statement);
  if (loop == nullptr) return nullptr;
  const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  if (init == nullptr || !init->isSingleDecl()) return nullptr;
  const auto* index = llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl());
  return index != nullptr && index->hasInit() && mentions(index->getInit(), "__gopt_first_item") ? loop : nullptr;
}

bool Unit::has_foreach(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (foreach_loop(statement) != nullptr) return true;
  return llvm::any_of(statement->children(), has_foreach);
}

bool Unit::has_label(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  return llvm::isa<clang::LabelStmt>(statement) || llvm::any_of(statement->children(), has_label);
}

bool Unit::in_file(const clang::Decl* declaration) const {
  const clang::SourceManager& sources = ast.getSourceManager();
  return sources.isWrittenInMainFile(sources.getExpansionLoc(declaration->getLocation()));
}

std::vector<const clang::FunctionDecl*> Unit::annotated() const {
  std::vector<const clang::FunctionDecl*> found;
  find_annotated(ast.getTranslationUnitDecl(), found);
  return found;
}

void Unit::find_annotated(const clang::DeclContext* context, std::vector<const clang::FunctionDecl*>& found) const {
  for (const clang::Decl* declaration : context->decls()) {
    if (!in_file(declaration) || declaration->isImplicit()) continue;
    if (const auto* inner = llvm::dyn_cast<clang::DeclContext>(declaration);
        inner != nullptr && llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::RecordDecl>(declaration)) {
      find_annotated(inner, found);
      continue;
    }
    const clang::FunctionDecl* function = declaration->getAsFunction();
    if (function != nullptr && function->doesThisDeclarationHaveABody() && has_foreach(function->getBody())) {
      found.push_back(function);
    }
  }
}

bool Unit::is_old_style(const clang::FunctionDecl* function) {
  return function->getNumParams() > 0 && !function->hasWrittenPrototype();
}

std::string Unit::obstacle_to_expansion(const clang::FunctionDecl* callee, const clang::FunctionDecl* into) {
  if (llvm::isa<clang::CXXMethodDecl>(callee)) return "it is a member of a class; write it outside of one";
  if (callee->isVariadic()) return "it takes any number of arguments; fix the number";
  if (callee->getReturnType()->isReferenceType()) return "it returns a reference; return a pointer";
  if (!llvm::isa<clang::CompoundStmt>(callee->getBody())) return "its body is no block";
  if (is_old_style(callee)) return "its parameters are declared after the parentheses; declare them inside";
  const clang::DeclContext* around = callee->getDeclContext()->getRedeclContext();
  if (!around->Encloses(into->getDeclContext()->getRedeclContext())) {
    return "it is in another namespace, where names mean something else; move it";
  }
  return "";
}

const clang::FunctionDecl* Unit::expandable(const clang::CallExpr* call) {
  const clang::FunctionDecl* function = call->getDirectCallee();
  const clang::FunctionDecl* definition = nullptr;
  if (function == nullptr || !function->hasBody(definition)) return nullptr;
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  // A lambda's body is already at the place of the call.
  if (method != nullptr && method->getParent()->isLambda()) return nullptr;
  return function_switches(definition) ? definition : nullptr;
}

const clang::FunctionDecl* Unit::expandable_candidate(const clang::CallExpr* call) {
  const auto* lookup = llvm::dyn_cast<clang::UnresolvedLookupExpr>(call->getCallee()->IgnoreParens());
  if (lookup == nullptr || is_hint(call)) return nullptr;
  for (const clang::NamedDecl* candidate : lookup->decls()) {
    const clang::FunctionDecl* function = candidate->getUnderlyingDecl()->getAsFunction();
    if (function != nullptr && function->hasBody() && function_switches(function)) return function;
  }
  return nullptr;
}

bool Unit::function_switches(const clang::FunctionDecl* function) {
  const auto [entry, is_new] = switching_.try_emplace(function, false);
  if (is_new) switching_[function] = switches_inside(function->getBody());
  return switching_[function];
}

bool Unit::switches_inside(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (call != nullptr && (is_hint(call) || expandable(call) != nullptr || expandable_candidate(call) != nullptr))
    return true;
  for (const clang::Stmt* child : statement->children()) {
    if (switches_inside(child)) return true;
  }
  return false;
}

void Unit::check_macros(const clang::FunctionDecl* function) {
  const clang::SourceManager& sources = ast.getSourceManager();
  const clang::SourceLocation begin = sources.getExpansionLoc(function->getBeginLoc());
  const clang::SourceLocation end = sources.getExpansionLoc(function->getEndLoc());
  for (const Macros::Use& use : macros_.uses) {
    const clang::SourceLocation where = sources.getExpansionLoc(use.where);
    if (sources.getFileID(where) != sources.getFileID(begin)) continue;
    if (where < begin || end < where || !macros_.has_changed(use)) continue;
    refuse(use.where, "the macro '" + use.name +
                          "' is defined otherwise, or not at all, at the end of the file, where the "
                          "output needs it; let it keep its meaning");
  }
}

bool Unit::has_constant(clang::QualType type) {
  if (type->isDependentType()) return false;
  const auto* record = clang::QualType(type->getBaseElementTypeUnsafe(), 0)->getAs<clang::RecordType>();
  return record != nullptr && record->hasConstFields();
}

bool Unit::names_variable(clang::QualType type, bool but_constants) {
  LocalMention search;
  search.but_constants = but_constants;
  search.TraverseType(type);
  return search.found;
}

std::string Unit::declare(clang::QualType type, const std::string& name) const {
  if (!type->isDependentType() && names_variable(type)) type = type.getCanonicalType();
  std::string text = name;
  type.getAsStringInternal(text, policy_);
  return text;
}

const clang::ParentMap& Unit::parents(const clang::FunctionDecl* function) {
  std::unique_ptr<clang::ParentMap>& map = parents_[function];
  if (map == nullptr) map = std::make_unique<clang::ParentMap>(function->getBody());
  return *map;
}

unsigned Unit::line(clang::SourceLocation where) const {
  return ast.getSourceManager().getPresumedLoc(ast.getSourceManager().getExpansionLoc(where)).getLine();
}

std::string Unit::file_and_line(clang::SourceLocation where) const {
  const clang::SourceManager& sources = ast.getSourceManager();
  const clang::PresumedLoc presumed = sources.getPresumedLoc(sources.getExpansionLoc(where));
  return llvm::sys::path::filename(presumed.getFilename()).str() + ":" + std::to_string(presumed.getLine());
}

}  // namespace gopt
