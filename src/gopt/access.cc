// SPDX-License-Identifier: Apache-2.0
#include "access.h"

#include "clang/AST/ExprCXX.h"

namespace gopt {
namespace {

using clang::Expr;
using clang::Stmt;

/// Returns the largest expression that denotes the variable or a part of it, such as (a).b[1]. Sets `whole` to true if
/// it denotes the whole variable.
const Expr* place_of(const Expr* mention, const clang::ParentMap& parents, bool& whole) {
  const Expr* place = mention;
  whole = true;
  for (;;) {
    const Stmt* parent = parents.getParent(place);
    if (parent == nullptr) return place;
    if (const auto* paren = llvm::dyn_cast<clang::ParenExpr>(parent)) {
      place = paren;
    } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(parent);
               member != nullptr && !member->isArrow() && llvm::isa<clang::FieldDecl>(member->getMemberDecl()) &&
               !member->getMemberDecl()->getType()->isReferenceType()) {
      place = member;
      whole = false;
    } else if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(parent);
               cast != nullptr && cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
      const auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(
          parents.getParentIgnoreParens(const_cast<clang::ImplicitCastExpr*>(cast)));
      if (element == nullptr || element->getBase()->IgnoreParens() != cast) return place;
      place = element;
      whole = false;
    } else if (cast != nullptr && cast->getCastKind() == clang::CK_NoOp && cast->isLValue()) {
      place = cast;
    } else {
      return place;
    }
  }
}

bool is_trivial_copy(const clang::CXXConstructExpr* construct) {
  const clang::CXXConstructorDecl* constructor = construct->getConstructor();
  return constructor->isCopyOrMoveConstructor() && constructor->isTrivial();
}

/// Classifies an access in a template. The casts that distinguish accesses are missing until the template is
/// instantiated.
Access in_template(const Expr* place, const Stmt* parent) {
  const clang::QualType type = place->getType();
  const bool plain = type->isScalarType();
  if (const auto* member = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(parent)) {
    return member->isArrow() && plain ? Access::read : Access::escape;
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(parent)) {
    return member->isArrow() && plain ? Access::read : Access::escape;
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(parent)) {
    if (binary->isAssignmentOp()) return binary->getRHS() == place && plain ? Access::read : Access::modify;
    return plain ? Access::read : Access::escape;
  }
  if (llvm::isa<clang::ArraySubscriptExpr>(parent)) return plain ? Access::read : Access::escape;
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(parent)) {
    if (unary->isIncrementDecrementOp()) return Access::modify;
    return unary->getOpcode() != clang::UO_AddrOf && plain ? Access::read : Access::escape;
  }
  if (const auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(parent)) {
    return plain && !cast->getTypeAsWritten()->isReferenceType() ? Access::read : Access::escape;
  }
  return Access::escape;
}

Access of_statement(const Stmt* parent) {
  const bool binds =
      llvm::isa<clang::DeclStmt>(parent) || llvm::isa<clang::ReturnStmt>(parent) || llvm::isa<clang::AsmStmt>(parent);
  return binds ? Access::escape : Access::read;
}

Access of_assignment(const clang::BinaryOperator* assignment, const Expr* place, bool whole) {
  if (assignment->getLHS() != place) return Access::escape;
  return whole && assignment->getOpcode() == clang::BO_Assign ? Access::write : Access::modify;
}

}  // namespace

Access access_of(const clang::DeclRefExpr* mention, const clang::ParentMap& parents) {
  bool whole = true;
  const Expr* place = place_of(mention, parents, whole);
  const Stmt* parent = parents.getParent(place);
  if (parent == nullptr) return Access::read;
  if (llvm::isa<clang::UnaryExprOrTypeTraitExpr>(parent)) return Access::none;
  if (!llvm::isa<Expr>(parent)) return of_statement(parent);
  // A capture; a capture by reference is detected elsewhere.
  if (llvm::isa<clang::LambdaExpr>(parent)) return Access::read;
  if (place->getType()->isDependentType() || llvm::cast<Expr>(parent)->isTypeDependent() ||
      llvm::cast<Expr>(parent)->isValueDependent()) {
    return in_template(place, parent);
  }
  if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(parent)) {
    return cast->getCastKind() == clang::CK_LValueToRValue ? Access::read : Access::escape;
  }
  if (const auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(parent)) {
    return cast->getType()->isVoidType() ? Access::read : Access::escape;
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(parent)) {
    if (binary->isAssignmentOp()) return of_assignment(binary, place, whole);
    return Access::escape;
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(parent)) {
    return unary->isIncrementDecrementOp() ? Access::modify : Access::escape;
  }
  if (const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(parent)) {
    return is_trivial_copy(construct) ? Access::read : Access::escape;
  }
  if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(parent);
      call != nullptr && call->isAssignmentOp() && call->getDirectCallee() != nullptr &&
      call->getDirectCallee()->isTrivial()) {
    return call->getArg(0) == place ? Access::modify : Access::read;
  }
  return Access::escape;
}

const Expr* modification_at(const clang::DeclRefExpr* mention, const clang::ParentMap& parents) {
  bool whole = true;
  const Expr* place = place_of(mention, parents, whole);
  const Stmt* parent = parents.getParent(place);
  if (const auto* binary = llvm::dyn_cast_or_null<clang::BinaryOperator>(parent)) {
    return binary->isAssignmentOp() && binary->getLHS() == place ? binary : nullptr;
  }
  if (const auto* unary = llvm::dyn_cast_or_null<clang::UnaryOperator>(parent)) {
    return unary->isIncrementDecrementOp() ? unary : nullptr;
  }
  return nullptr;
}

bool always_evaluates(const Expr* whole, const Expr* part, const clang::ParentMap& parents) {
  const Stmt* child = part;
  while (child != whole) {
    const Stmt* parent = parents.getParent(child);
    if (parent == nullptr) return false;
    const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(parent);
    if (binary != nullptr && binary->isLogicalOp() && binary->getLHS() != child) return false;
    const auto* choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(parent);
    if (choice != nullptr && choice->getCond() != child) return false;
    if (llvm::isa<clang::StmtExpr, clang::LambdaExpr>(parent) || !llvm::isa<Expr>(parent)) return false;
    child = parent;
  }
  return true;
}

}  // namespace gopt
