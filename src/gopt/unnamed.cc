// SPDX-License-Identifier: Apache-2.0
//
// Handles unnamed objects that live as long as a block; each item has its own. In C they are compound literals, which
// get a name here. In C++ they are temporaries with an extended lifetime. A temporary bound to a reference is stored as
// a variable; all others are refused. Temporaries that would have to outlive an argument are refused too.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

const clang::Expr* without_cleanups(const clang::Expr* expression) {
  const auto* full = llvm::dyn_cast_or_null<clang::ExprWithCleanups>(expression);
  return full != nullptr ? full->getSubExpr() : expression;
}

bool is_unevaluated(const clang::Stmt* part) {
  return llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXTypeidExpr, clang::CXXNoexceptExpr>(part);
}

/// Returns the first object in `part` whose lifetime an initialiser extends.
const clang::Expr* find_lengthened(const clang::Stmt* part) {
  if (part == nullptr || is_unevaluated(part) || llvm::isa<clang::LambdaExpr>(part)) return nullptr;
  const auto* made = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(part);
  if (made != nullptr && made->getStorageDuration() == clang::SD_Automatic) return made;
  for (const clang::Stmt* child : part->children()) {
    if (const clang::Expr* found = find_lengthened(child)) return found;
  }
  return nullptr;
}

bool is_initializer_list(clang::QualType type) {
  const clang::TemplateDecl* made_from = nullptr;
  if (const auto* written = type->getAs<clang::TemplateSpecializationType>()) {
    made_from = written->getTemplateName().getAsTemplateDecl();
  }
  return made_from != nullptr && made_from->getName() == "initializer_list" && made_from->isInStdNamespace();
}

/// Returns true if an expression of a template, whose type is not known, may be a temporary.
bool may_be_temporary(const clang::Expr* expression) {
  expression = expression->IgnoreParens();
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(expression)) {
    return list->getNumInits() != 1 || may_be_temporary(list->getInit(0));
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression)) {
    return !member->isArrow() && may_be_temporary(member->getBase());
  }
  if (const auto* member = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(expression)) {
    return !member->isArrow() && may_be_temporary(member->getBase());
  }
  const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression);
  if (unary != nullptr && unary->getOpcode() == clang::UO_Deref) return false;
  return !llvm::isa<clang::DeclRefExpr, clang::ArraySubscriptExpr>(expression) && !expression->isLValue();
}

}  // namespace

bool Function::may_point(clang::QualType type) const {
  type = unit_.ast.getBaseElementType(type.getCanonicalType());
  if (type->isDependentType() || type->isAnyPointerType() || type->isReferenceType()) return true;
  const auto* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return type->isRecordType();
  if (!record->hasDefinition()) return true;
  const auto points = [this](const auto& part) { return may_point(part.getType()); };
  return llvm::any_of(record->bases(), points) ||
         llvm::any_of(record->fields(), [this](const auto* field) { return may_point(field->getType()); });
}

/// Returns the statement that ends the lifetime of a compound literal, if items switch during that lifetime.
const clang::Stmt* Function::lifetime_across_switches(const clang::CompoundLiteralExpr* literal) {
  const clang::ParentMap& parents = unit_.parents(frame_->function);
  const clang::Stmt* child = literal;
  const clang::Stmt* parent = parents.getParent(child);
  for (; parent != nullptr; child = parent, parent = parents.getParent(child)) {
    const clang::Stmt* body = nullptr;
    if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(parent)) {
      const auto from = Unit::has_label(block) ? block->body_begin() : llvm::find(block->body(), child);
      const auto switches = [this](const clang::Stmt* part) { return unit_.switches_inside(part); };
      return std::any_of(from, block->body_end(), switches) ? block : nullptr;
    }
    if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(parent)) {
      body = loop->getBody();
    } else if (const auto* while_loop = llvm::dyn_cast<clang::WhileStmt>(parent)) {
      body = while_loop->getBody();
    } else if (const auto* do_loop = llvm::dyn_cast<clang::DoStmt>(parent)) {
      body = do_loop->getBody();
    } else if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(parent)) {
      body = choice->getBody();
    } else if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(parent)) {
      body = child == branch->getThen() || child == branch->getElse() ? child : nullptr;
    } else {
      continue;
    }
    const clang::Stmt* lives = child == body ? child : parent;
    return unit_.switches_inside(lives) ? lives : nullptr;
  }
  return nullptr;
}

/// Names the compound literals of an expression whose lifetime contains switches.
void Function::keep_literals(const clang::Stmt* part) {
  if (part == nullptr || unit_.is_cxx() || !in_loop() || is_unevaluated(part)) return;
  const auto* expression = llvm::dyn_cast<clang::Expr>(part);
  if (expression == nullptr || frame_->results.count(expression) != 0) return;
  for (const clang::Stmt* child : part->children()) keep_literals(child);
  const auto* literal = llvm::dyn_cast<clang::CompoundLiteralExpr>(part);
  if (literal == nullptr || literal->isFileScope()) return;
  const clang::Stmt* lives = lifetime_across_switches(literal);
  if (lives == nullptr) return;
  Variable variable;
  variable.type = literal->getType();
  variable.where = literal->getBeginLoc();
  variable.escape = variable.where;
  variable.name = unique_name("unnamed");
  variable.loop = loop_;
  variable.split = true;
  choose_form(variable);
  variable.form = Variable::Form::hoisted;
  if (!check_storable(variable)) return;
  const auto number = static_cast<unsigned>(variables_.size());
  variables_.push_back(variable);
  declaration_text(number);
  const bool from_here = llvm::isa<clang::CompoundStmt>(lives) && !Unit::has_label(lives);
  unnamed_.push_back({number, from_here ? switches_.size() : started_[lives], lives});
  at_ = flow_.add_after(at_);
  flow_[at_].kills.push_back(number);
  flow_[at_].changes.push_back(number);
  const TokenRange range = unit_.tokens.range(literal->getSourceRange());
  const std::string pointer = unit_.declare(unit_.ast.getPointerType(literal->getType()), "");
  frame_->text.insert_before(range.begin, "(*(" + pointer + ")__builtin_memcpy((void *)&" + variable.name + ", &");
  frame_->text.insert_after(range.end - 1, ", sizeof " + variable.name + "))");
}

/// Makes switches save the named literals whose lifetime ends with this statement.
void Function::end_lifetimes(const clang::Stmt* statement) {
  while (!unnamed_.empty() && unnamed_.back().lives == statement) {
    for (size_t i = unnamed_.back().first_switch; i < switches_.size(); ++i) {
      switches_[i].in_scope.push_back(unnamed_.back().variable);
    }
    unnamed_.pop_back();
  }
}

/// Refuses unnamed objects of an initialiser that live on with the variable.
bool Function::check_temporaries(const clang::VarDecl* declaration) {
  const clang::Expr* init = without_cleanups(declaration->getInit());
  if (init == nullptr) return true;
  const auto* bound = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(init);
  const bool is_own = bound != nullptr && declaration->getType()->isReferenceType();
  const clang::Expr* found = find_lengthened(is_own ? bound->getSubExpr() : init);
  const clang::QualType type = declaration->getType();
  const bool unknown = type->isDependentType() || init->isTypeDependent() || init->isValueDependent();
  if (found == nullptr && unknown && !is_own) {
    const bool refers = type->isReferenceType() && may_be_temporary(init);
    if (refers || is_initializer_list(type)) found = init;
  }
  if (found == nullptr) return true;
  unit_.refuse(found->getBeginLoc(), "items switch while an object without a name lives on, which '" +
                                         declaration->getNameAsString() +
                                         "' refers to; make it a variable, of a class or an array");
  return false;
}

/// Returns the first temporary in `part` that would have to outlive it. A temporary with a destructor counts, and so
/// does one that the value of `part` may point to. `points` says if the value may point to temporaries.
const clang::Expr* Function::find_outliving(const clang::Stmt* part, bool points) const {
  if (part == nullptr || is_unevaluated(part) || llvm::isa<clang::LambdaExpr>(part)) return nullptr;
  if (const auto* expression = llvm::dyn_cast<clang::Expr>(part)) {
    const clang::QualType type = expression->getType();
    const bool is_value = type->isArithmeticType() || type->isEnumeralType() || type->isRecordType();
    if (expression->isPRValue() && is_value && !may_point(type)) points = false;
    const bool found =
        llvm::isa<clang::CXXBindTemporaryExpr>(part) || (points && llvm::isa<clang::MaterializeTemporaryExpr>(part));
    if (found) return expression;
  }
  for (const clang::Stmt* child : part->children()) {
    if (const clang::Expr* found = find_outliving(child, points)) return found;
  }
  return nullptr;
}

/// Checks an argument of an expanded call, which is evaluated before the call and whose temporaries end there.
void Function::check_argument(const clang::Expr* argument, clang::QualType type) {
  if (!unit_.is_cxx()) return check_rvalue_array(argument);
  const clang::Expr* value = without_cleanups(argument);
  const auto* bound = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(value);
  if (bound != nullptr && type->isReferenceType()) value = bound->getSubExpr();
  const clang::Expr* found = find_outliving(value, true);
  if (found == nullptr) return;
  unit_.refuse(found->getBeginLoc(),
               "an object without a name in what a call is given that is expanded in place would end before the call "
               "does; make it a variable");
}

/// Checks a C array inside a function's result, which lives as long as the expression.
void Function::check_rvalue_array(const clang::Stmt* part) {
  if (part == nullptr || is_unevaluated(part)) return;
  const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(part);
  if (cast != nullptr && cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
    const clang::Expr* root = cast->getSubExpr()->IgnoreParens();
    while (const auto* member = llvm::dyn_cast<clang::MemberExpr>(root)) {
      if (member->isArrow()) return;
      root = member->getBase()->IgnoreParens();
    }
    if (!root->isLValue()) {
      unit_.refuse(cast->getBeginLoc(),
                   "an array of an object without a name in what a call is given that is expanded in place would end "
                   "before the call does; make the object a variable");
      return;
    }
  }
  for (const clang::Stmt* child : part->children()) check_rvalue_array(child);
}

}  // namespace gopt
