// SPDX-License-Identifier: Apache-2.0
//
// Analyses the reads and writes of expressions, and their calls that are expanded in place.
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "function.h"

namespace gopt {
namespace {

/// Calls `visit` for every mention of a variable, also in types and in sizeof.
class Mentions : public clang::RecursiveASTVisitor<Mentions> {
 public:
  using Visit = std::function<void(const clang::DeclRefExpr*)>;
  explicit Mentions(
      Visit visit, std::function<bool(const clang::Stmt*)> skip = [](const clang::Stmt*) { return false; })
      : visit_(std::move(visit)), skip_(std::move(skip)) {}
  bool dataTraverseStmtPre(clang::Stmt* statement) { return !skip_(statement); }
  bool VisitDeclRefExpr(clang::DeclRefExpr* mention) {
    visit_(mention);
    return true;
  }

 private:
  Visit visit_;
  std::function<bool(const clang::Stmt*)> skip_;
};

/// Returns the kind of a change that may happen in any order, such as 1 for a sum, or 0 for any other change.
int sum_kind(const clang::Expr* change) {
  if (change == nullptr || !change->getType()->isIntegerType()) return 0;
  if (llvm::isa<clang::UnaryOperator>(change)) return 1;
  switch (llvm::cast<clang::BinaryOperator>(change)->getOpcode()) {
    case clang::BO_AddAssign:
    case clang::BO_SubAssign:
      return 1;
    case clang::BO_OrAssign:
      return 2;
    case clang::BO_AndAssign:
      return 3;
    case clang::BO_XorAssign:
      return 4;
    default:
      return 0;
  }
}

bool is_discarded(const clang::Expr* expression, const clang::ParentMap& parents) {
  const clang::Stmt* child = expression;
  const clang::Stmt* parent = parents.getParent(child);
  while (parent != nullptr && llvm::isa<clang::ParenExpr>(parent)) {
    child = parent;
    parent = parents.getParent(child);
  }
  if (const auto* loop = llvm::dyn_cast_or_null<clang::ForStmt>(parent))
    return loop->getInc() == child || loop->getBody() == child;
  if (const auto* choice = llvm::dyn_cast_or_null<clang::IfStmt>(parent)) return choice->getCond() != child;
  return llvm::isa_and_nonnull<clang::CompoundStmt, clang::SwitchCase, clang::LabelStmt>(parent);
}

/// Returns true for jumps out of a statement expression, which cannot be followed.
bool jumps(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (llvm::isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt>(statement)) return true;
  if (llvm::isa<clang::LambdaExpr>(statement)) return false;
  return llvm::any_of(statement->children(), jumps);
}

}  // namespace

void Function::rename(const clang::DeclRefExpr* mention) {
  const auto* declaration = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
  if (declaration == nullptr) return;
  // A type that does not depend on the template's arguments names the template's own variable, not the instance's.
  const auto found = llvm::find_if(frame_->variables, [&](const auto& known) {
    return known.first != nullptr && known.first->getLocation() == declaration->getLocation();
  });
  if (found == frame_->variables.end()) return;
  const Variable& variable = variables_[found->second];
  std::string text = use_text(variable);
  const clang::QualType type = declaration->getType();
  if (unit_.is_cxx() && variable.split && type.isConstQualified() && !type->isArrayType() &&
      access_of(mention, unit_.parents(frame_->function)) == Access::escape) {
    text = "const_cast<" + unit_.declare(type, "&") + ">(" + text + ")";
  }
  if (text == declaration->getName()) return;
  const unsigned token = unit_.tokens.at(mention->getLocation());
  frame_->text.replace({token, token + 1}, text);
  if (mention->refersToEnclosingVariableOrCapture() && variable.form == Variable::Form::reference) {
    unit_.refuse(mention->getLocation(), "a lambda captures the reference '" + declaration->getNameAsString() +
                                             "', in whose scope "
                                             "items switch; write a function instead of the lambda");
  }
}

void Function::rename_mentions(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  const auto is_computed = [this](const clang::Stmt* part) {
    const auto* expression = llvm::dyn_cast<clang::Expr>(part);
    return expression != nullptr && frame_->results.count(expression) != 0;
  };
  Mentions([this](const clang::DeclRefExpr* mention) { rename(mention); }, is_computed)
      .TraverseStmt(const_cast<clang::Stmt*>(statement));
}

void Function::rename_mentions_in_type(const clang::VarDecl* declaration) {
  Mentions([this](const clang::DeclRefExpr* mention) {
    rename(mention);
  }).TraverseTypeLoc(declaration->getTypeSourceInfo()->getTypeLoc());
}

void Function::evaluate(const clang::Expr* expression) {
  if (expression == nullptr) return;
  rename_mentions(expression);
  const auto* comma = llvm::dyn_cast<clang::BinaryOperator>(expression->IgnoreParens());
  if (comma != nullptr && comma->isCommaOp()) {
    evaluate(comma->getLHS());
    evaluate(comma->getRHS());
    return;
  }
  keep_literals(expression);
  at_ = flow_.add_after(at_);
  evaluate_part(expression, expression, flow_[at_]);
}

/// Records the reads and changes of `part`. `whole` is its full expression, or null.
void Function::evaluate_part(const clang::Stmt* part, const clang::Expr* whole, Flow::Point& point) {
  if (part == nullptr) return;
  if (Unit::foreach_loop(part) != nullptr) {
    unit_.refuse(part->getBeginLoc(),
                 "a foreach in a lambda or in an expression cannot be rewritten; write a function");
    return;
  }
  if (const auto* expression = llvm::dyn_cast<clang::Expr>(part)) {
    const auto result = frame_->results.find(expression);
    if (result != frame_->results.end()) {
      if (result->second >= 0) {
        point.reads.push_back({static_cast<unsigned>(result->second), expression->getBeginLoc()});
      }
      return;
    }
  }
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(part)) {
    if (Unit::is_hint(call)) {
      unit_.refuse(call->getBeginLoc(), "g_expensive must be a statement of its own");
      return;
    }
    if (const clang::FunctionDecl* callee = unit_.expandable(call); callee != nullptr && in_loop()) {
      unit_.refuse(call->getBeginLoc(),
                   "'" + callee->getNameAsString() +
                       "' contains g_expensive, and cannot be expanded inside "
                       "this expression; assign its result to a variable in a statement of its own");
      unit_.note(callee->getLocation(), "it is defined here");
      return;
    }
    if (const clang::FunctionDecl* candidate = unit_.expandable_candidate(call); candidate != nullptr && in_loop()) {
      unit_.refuse(call->getBeginLoc(),
                   "which '" + candidate->getNameAsString() +
                       "' this calls depends on the template's "
                       "arguments, and one contains g_expensive; call one whose arguments have known types");
      return;
    }
  }
  if (const auto* mentioned = llvm::dyn_cast<clang::DeclRefExpr>(part)) return mention(mentioned, whole, point);
  if (llvm::isa<clang::UnaryExprOrTypeTraitExpr>(part)) return;
  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(part)) {
    for (const clang::LambdaCapture& capture : lambda->captures()) {
      if (!capture.capturesVariable()) continue;
      const auto found = frame_->variables.find(llvm::dyn_cast<clang::VarDecl>(capture.getCapturedVar()));
      if (found == frame_->variables.end()) continue;
      Variable& variable = variables_[found->second];
      if (capture.getCaptureKind() == clang::LCK_ByRef) variable.escape = capture.getLocation();
      if (capture.isExplicit() && variable.is_index) loops_[static_cast<size_t>(variable.loop)].names_index = true;
      if (capture.isExplicit() && variable.name != variable.declaration->getName()) {
        frame_->text.replace(unit_.tokens.range({capture.getLocation(), capture.getLocation()}), variable.name);
      }
    }
  }
  if (const auto* block = llvm::dyn_cast<clang::StmtExpr>(part); block != nullptr && in_loop() && jumps(block)) {
    unit_.refuse(block->getBeginLoc(), "a statement expression with a jump cannot be in a foreach; write statements");
  }
  for (const clang::Stmt* child : part->children()) evaluate_part(child, whole, point);
}

void Function::mention(const clang::DeclRefExpr* mentioned, const clang::Expr* whole, Flow::Point& point) {
  const auto* declaration = llvm::dyn_cast<clang::VarDecl>(mentioned->getDecl());
  if (declaration == nullptr) return;
  const clang::ParentMap& parents = unit_.parents(frame_->function);
  Access access = access_of(mentioned, parents);
  if (access == Access::none) return;
  const auto found = frame_->variables.find(declaration);
  if (found == frame_->variables.end()) {
    if (declaration->hasGlobalStorage()) mention_shared(mentioned, declaration, access, false);
    return;
  }
  const unsigned number = found->second;
  Variable& variable = variables_[number];
  if (declaration->getType()->isReferenceType() && variable.form == Variable::Form::reference) access = Access::read;
  if (declaration->getType()->isReferenceType() && !variable.split) access = Access::read;
  if (variable.is_index && access != Access::read) {
    unit_.refuse(mentioned->getLocation(), "the index of a foreach cannot be changed; copy it");
  }
  if (in_loop() && variable.loop != loop_ && frame_->number == 0) mention_shared(mentioned, declaration, access, true);
  if (access == Access::escape && variable.escape.isInvalid()) variable.escape = mentioned->getLocation();
  if (access != Access::write) point.reads.push_back({number, mentioned->getLocation()});
  if (access == Access::read) return;
  point.changes.push_back(number);
  if (access != Access::write || whole == nullptr) return;
  // An assignment inside a larger expression ends the old value only if no other part of the expression may read it.
  const auto* assignment = llvm::cast<clang::BinaryOperator>(modification_at(mentioned, parents));
  const bool is_whole = whole->IgnoreUnlessSpelledInSource()->IgnoreParens() == assignment;
  if (is_whole || (always_evaluates(whole, assignment, parents) &&
                   mentions_of(declaration, whole) == 1 + mentions_of(declaration, assignment->getRHS()))) {
    point.kills.push_back(number);
  }
}

/// Returns the mentions of variables and functions, also in types and in sizeof.
std::vector<const clang::DeclRefExpr*> Function::mentions_in(const clang::Stmt* part) {
  std::vector<const clang::DeclRefExpr*> found;
  Mentions([&](const clang::DeclRefExpr* mention) {
    found.push_back(mention);
  }).TraverseStmt(const_cast<clang::Stmt*>(part));
  return found;
}

unsigned Function::mentions_of(const clang::VarDecl* declaration, const clang::Stmt* part) const {
  const auto is_of = [declaration](const clang::DeclRefExpr* mention) { return mention->getDecl() == declaration; };
  return static_cast<unsigned>(llvm::count_if(mentions_in(part), is_of));
}

bool Function::mentions_index(const clang::Stmt* part) const {
  return mentions_of(variables_[loops_.back().index].declaration, part) > 0;
}

/// Records an item's mention of a variable that other items share.
void Function::mention_shared(const clang::DeclRefExpr* mentioned, const clang::VarDecl* variable, Access access,
                              bool is_local) {
  if (!in_loop()) return;
  const clang::ParentMap& parents = unit_.parents(frame_->function);
  const std::string name = "'" + variable->getNameAsString() + "'";
  SharedUse& use = shared_[variable];
  if (access == Access::read) {
    use.only_sums = false;
    return;
  }
  if (access == Access::escape) {
    if (!is_local || points_to_const(mentioned) || is_items_own(mentioned)) return;
    unit_.refuse(mentioned->getLocation(), "the address of " + name +
                                               " lets items write what they share; declare it inside the "
                                               "foreach, or pass a pointer to const");
    return;
  }
  const clang::Expr* change = modification_at(mentioned, parents);
  if (change != nullptr && is_items_own(mentioned)) return;
  if (variable->getType()->isArrayType()) {
    if (!is_local) return;
    unit_.refuse(mentioned->getLocation(), "items share the array " + name +
                                               "; declare it inside the foreach, or index it by "
                                               "the item");
    return;
  }
  use.where = mentioned->getLocation();
  use.changed = true;
  const int sum = change != nullptr && is_discarded(change, parents) ? sum_kind(change) : 0;
  if (sum == 0 || (use.sum != 0 && use.sum != sum)) use.only_sums = false;
  use.sum = sum;
  if (!is_local && !use.only_sums) {
    unit_.refuse(mentioned->getLocation(),
                 "items run in any order, so that what this leaves in " + name +
                     " is not defined; "
                     "write to an output of the item, or add up with += in a statement of its own");
  }
}

bool Function::points_to_const(const clang::DeclRefExpr* mentioned) const {
  const clang::ParentMap& parents = unit_.parents(frame_->function);
  const clang::Expr* place = mentioned;
  for (;;) {
    const clang::QualType type = place->getType();
    if (place->isLValue() && type.isConstQualified()) return true;
    if (type->isPointerType() && type->getPointeeType().isConstQualified()) return true;
    const clang::Stmt* parent = parents.getParent(place);
    const bool goes_on = llvm::isa_and_nonnull<clang::ParenExpr, clang::ImplicitCastExpr, clang::UnaryOperator,
                                               clang::MemberExpr, clang::ArraySubscriptExpr>(parent);
    if (!goes_on) return false;
    place = llvm::cast<clang::Expr>(parent);
    if (llvm::isa<clang::ImplicitCastExpr>(place) &&
        llvm::cast<clang::ImplicitCastExpr>(place)->getCastKind() == clang::CK_LValueToRValue) {
      return true;
    }
  }
}

/// Returns true for an element of an array, or of a class like one, that the foreach's index selects.
bool Function::is_items_own(const clang::DeclRefExpr* mentioned) const {
  const clang::ParentMap& parents = unit_.parents(frame_->function);
  const clang::Stmt* place = mentioned;
  for (const clang::Stmt* parent = parents.getParent(place); parent != nullptr;
       place = parent, parent = parents.getParent(place)) {
    const clang::Stmt* index = nullptr;
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(parent)) {
      index = element->getBase() == place ? element->getIdx() : nullptr;
    } else if (const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(parent);
               sum != nullptr && sum->getOpcode() == clang::BO_Add && sum->getType()->isPointerType()) {
      index = sum->getLHS() == place ? sum->getRHS() : sum->getLHS();
    } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(parent);
               call != nullptr && call->getOperator() == clang::OO_Subscript && call->getArg(0) == place) {
      index = call->getArg(1);
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(parent);
               (unary != nullptr && unary->getOpcode() != clang::UO_AddrOf && unary->getOpcode() != clang::UO_Deref) ||
               !llvm::isa<clang::ParenExpr, clang::ImplicitCastExpr, clang::MemberExpr, clang::UnaryOperator>(parent)) {
      return false;
    }
    if (index != nullptr && mentions_index(index)) return true;
  }
  return false;
}

}  // namespace gopt
