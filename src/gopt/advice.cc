// SPDX-License-Identifier: Apache-2.0
#include "advice.h"

#include "access.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace gopt {
namespace {

/// The location for a hint before an expression.
struct Site {
  enum class Kind {
    block,   ///< Before the statement.
    braces,  ///< Before the statement, after braces are added around it.
    test,    ///< In the body of a loop, which must include the loop's condition.
    step,    ///< In the body of a loop, which must include the loop's step.
    none
  };
  Kind kind = Kind::none;
  const clang::Stmt* statement = nullptr;
  const clang::Expr* condition = nullptr;
  const char* obstacle = nullptr;
};

/// Returns the location in the repeated part of a loop.
template <class Loop>
Site in_parts(const Loop* loop, const clang::Stmt* child) {
  if (child == loop->getBody()) return {Site::Kind::braces, child};
  return child == loop->getCond() ? Site{Site::Kind::test, loop, loop->getCond()} : Site();
}

/// Returns the role of `child` in a loop that contains it, or `none` if `child` is evaluated before the loop.
Site in_loop_of(const clang::Stmt* parent, const clang::Stmt* child) {
  if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(parent)) {
    return loop->getInc() == child ? Site{Site::Kind::step, loop} : in_parts(loop, child);
  }
  if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(parent)) return in_parts(loop, child);
  if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(parent)) return in_parts(loop, child);
  const auto* range = llvm::dyn_cast<clang::CXXForRangeStmt>(parent);
  return range != nullptr && child == range->getBody() ? Site{Site::Kind::braces, child} : Site();
}

bool is_branch_of(const clang::Stmt* parent, const clang::Stmt* child) {
  if (const auto* choice = llvm::dyn_cast<clang::IfStmt>(parent)) {
    return choice->getThen() == child || choice->getElse() == child;
  }
  const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(parent);
  return choice != nullptr && choice->getBody() == child;
}

Site site_of(const clang::Expr* access, const clang::ParentMap& parents) {
  Site site;
  const clang::Stmt* child = access;
  for (const clang::Stmt* parent = parents.getParent(child); parent != nullptr;
       child = parent, parent = parents.getParent(parent)) {
    if (llvm::isa<clang::CXXTryStmt>(parent)) {
      return {Site::Kind::none, parent, nullptr, "a try block takes no hint; read the memory outside of it"};
    }
    if (site.statement != nullptr) continue;
    const bool in_expression = llvm::isa_and_nonnull<clang::StmtExpr>(parents.getParent(parent));
    if (llvm::isa<clang::CompoundStmt>(parent) && !in_expression) site = {Site::Kind::block, child};
    if (llvm::isa<clang::SwitchCase, clang::LabelStmt>(parent)) site = {Site::Kind::block, child};
    if (is_branch_of(parent, child)) site = {Site::Kind::braces, child};
    const Site of_loop = in_loop_of(parent, child);
    if (of_loop.statement != nullptr) site = of_loop;
  }
  if (site.statement == nullptr) site.obstacle = "move the access into a statement of its own";
  return site;
}

bool holds(const clang::Stmt* whole, const clang::Stmt* part) {
  if (whole == part) return true;
  return whole != nullptr && llvm::any_of(whole->children(), [part](const clang::Stmt* c) { return holds(c, part); });
}

bool declares(const clang::Stmt* statement, const clang::VarDecl* variable) {
  if (statement == nullptr) return false;
  const auto* declared = llvm::dyn_cast<clang::DeclStmt>(statement);
  if (declared != nullptr && llvm::is_contained(declared->decls(), variable)) return true;
  return llvm::any_of(statement->children(), [variable](const clang::Stmt* c) { return declares(c, variable); });
}

/// Returns a variable of the address that the statement itself declares, or null.
const clang::VarDecl* declared_in(const clang::Stmt* statement, const clang::Stmt* address) {
  if (address == nullptr) return nullptr;
  if (const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(address)) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
    return variable != nullptr && declares(statement, variable) ? variable : nullptr;
  }
  for (const clang::Stmt* child : address->children()) {
    if (const clang::VarDecl* found = declared_in(statement, child)) return found;
  }
  return nullptr;
}

std::string address_text(Unit& unit, const Object& object) {
  if (object.lvalue != nullptr) return "&" + written(unit, plain_expression(object.lvalue));
  const clang::Expr* pointer = object.pointer->IgnoreParenImpCasts();
  if (llvm::isa<clang::CXXThisExpr>(pointer)) return "this";
  const auto* arrow = llvm::dyn_cast<clang::CXXOperatorCallExpr>(pointer);
  if (arrow != nullptr && arrow->getOperator() == clang::OO_Arrow) return "&*" + written(unit, arrow->getArg(0));
  return written(unit, pointer);
}

std::string words_for(const Unit& unit, const Site& site) {
  const std::string line = std::to_string(unit.line(site.statement->getBeginLoc()));
  switch (site.kind) {
    case Site::Kind::block:
      return "before line " + line;
    case Site::Kind::braces:
      return "before line " + line + ", in braces with it";
    case Site::Kind::test:
      return std::string("at the ") + (llvm::isa<clang::DoStmt>(site.statement) ? "end" : "start") +
             " of the body of the loop in line " + line + ", where its condition goes too";
    default:
      return "at the end of the body of the loop in line " + line + ", where its step goes too";
  }
}

/// Returns why the function's body cannot contain a hint, or an empty text if it can.
std::string obstacle_in(const clang::FunctionDecl* function, const clang::FunctionDecl* annotated) {
  if (function == annotated) return "";
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  if (method != nullptr && method->getParent()->isLambda()) return "a lambda takes no hint; write a function";
  const std::string why = Unit::obstacle_to_expansion(function, annotated);
  return why.empty() ? ""
                     : "'" + function->getNameAsString() + "' takes no hint: " + why +
                           "; or write the hint before the call, for what the call will read";
}

}  // namespace

bool is_of_range(const clang::Stmt* expression) {
  const auto* mention = llvm::dyn_cast_or_null<clang::DeclRefExpr>(expression);
  if (mention != nullptr) return mention->getDecl()->isImplicit();
  return expression != nullptr && llvm::any_of(expression->children(), is_of_range);
}

std::string written(Unit& unit, const clang::Expr* expression) {
  return plain(Text(unit.tokens).render(unit.tokens.range(expression->getSourceRange())));
}

const clang::Expr* full_expression(const clang::Expr* part, const clang::ParentMap& parents) {
  const clang::Stmt* whole = part;
  while (const auto* parent = llvm::dyn_cast_or_null<clang::Expr>(parents.getParent(whole))) whole = parent;
  return llvm::cast<clang::Expr>(whole);
}

Advice advice_for(Unit& unit, const clang::FunctionDecl* annotated, const Read& read, const std::deque<Read>& reads) {
  const std::string obstacle = obstacle_in(read.function, annotated);
  if (!obstacle.empty()) return {obstacle, {}};
  const clang::ParentMap& parents = unit.parents(read.function);
  const Site site = site_of(read.access, parents);
  if (site.obstacle != nullptr) return {site.obstacle, {}};
  const clang::Expr* address = read.object.lvalue != nullptr ? read.object.lvalue : read.object.pointer;
  const bool in_loop = site.kind == Site::Kind::test || site.kind == Site::Kind::step;
  if (is_of_range(address)) return {"loop over an index or a pointer, so that the place has a name", {}};
  const std::string text = address_text(unit, read.object);
  const std::string hint = "g_expensive(" + text + ");";
  const clang::VarDecl* own = in_loop ? nullptr : declared_in(site.statement, address);
  if (own != nullptr) {
    return {"declare '" + own->getNameAsString() + "' in a statement of its own, and write after it", {hint}};
  }
  // Handles reads of the address that the statement itself performs earlier.
  bool waits = false;
  for (const Read& part : reads) {
    if (&part == &read || part.access == address || part.in_sequence || part.same_for_all) continue;
    const clang::Expr* touch = part.earlier != nullptr ? part.earlier : part.access;
    const clang::Stmt* region = in_loop ? full_expression(read.access, parents) : site.statement;
    if (!holds(address, part.access) || !holds(region, touch)) continue;
    waits = true;
    if (!always_evaluates(full_expression(touch, parents), touch, parents)) {
      return {"a condition in the statement says whether the address can be computed; make it an if, and write in it",
              {hint}};
    }
  }
  Advice advice{words_for(unit, site), {}};
  // Adjacent hints are computed together, before the first prefetch completes, so a statement must separate them.
  if (waits || address->HasSideEffects(unit.ast, true)) {
    const clang::QualType type =
        read.object.pointer != nullptr ? address->getType() : unit.ast.getPointerType(address->getType());
    const std::string place = unit.is_cxx() ? "auto* place" : unit.declare(type.getUnqualifiedType(), "place");
    advice.where += ", and go on with 'place'";
    advice.code = {place + " = " + text + ";", "g_expensive(place);"};
  } else {
    advice.code = {hint};
  }
  if (site.kind == Site::Kind::test) {
    advice.code.push_back("if (!(" + written(unit, site.condition) + ")) break;");
  } else if (site.kind == Site::Kind::step) {
    advice.code.push_back(written(unit, llvm::cast<clang::ForStmt>(site.statement)->getInc()) + ";");
  }
  return advice;
}

}  // namespace gopt
