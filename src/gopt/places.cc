// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include "access.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringExtras.h"

namespace gopt {
namespace {

using clang::Expr;

constexpr int64_t kCacheLine = 64;

/// Returns the array that contains this element, unless the base is a pointer.
const Expr* indexed_array(const clang::ArraySubscriptExpr* element) {
  const auto* decay = llvm::dyn_cast<clang::CastExpr>(plain_expression(element->getBase()));
  return decay != nullptr && decay->getCastKind() == clang::CK_ArrayToPointerDecay ? decay->getSubExpr() : nullptr;
}

const clang::VarDecl* variable_of(const Expr* expression) {
  const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(expression);
  return mention != nullptr ? llvm::dyn_cast<clang::VarDecl>(mention->getDecl()) : nullptr;
}

std::string name_of(const void* declaration) {
  return "v" + std::to_string(reinterpret_cast<uintptr_t>(declaration));
}

void join(Place& place, const Place& part) {
  place.variables.insert(part.variables.begin(), part.variables.end());
  place.calls |= part.calls;
}

}  // namespace

const Expr* plain_expression(const Expr* expression) {
  for (;;) {
    expression = expression->IgnoreParens();
    const auto* cast = llvm::dyn_cast<clang::CastExpr>(expression);
    if (cast != nullptr && cast->getCastKind() != clang::CK_ArrayToPointerDecay &&
        cast->getCastKind() != clang::CK_LValueToRValue) {
      expression = cast->getSubExpr();
    } else if (const auto* constant = llvm::dyn_cast<clang::ConstantExpr>(expression)) {
      expression = constant->getSubExpr();
    } else if (const auto* full = llvm::dyn_cast<clang::ExprWithCleanups>(expression)) {
      expression = full->getSubExpr();
    } else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(expression)) {
      expression = temporary->getSubExpr();
    } else {
      return expression;
    }
  }
}

Places::Places(Unit& unit, const clang::FunctionDecl* function, std::map<const clang::VarDecl*, Place> arguments,
               const clang::VarDecl* index)
    : unit_(unit), arguments_(std::move(arguments)), index_(index) {
  find_changed(function->getBody(), unit.parents(function));
  changed_.erase(index_);
}

void Places::find_changed(const clang::Stmt* statement, const clang::ParentMap& parents) {
  if (statement == nullptr) return;
  if (const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
    const Access access = access_of(mention, parents);
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
    if (variable != nullptr && !variable->getType()->isReferenceType() && access != Access::read &&
        access != Access::none) {
      changed_.insert(variable);
    }
  }
  for (const clang::Stmt* child : statement->children()) find_changed(child, parents);
}

std::vector<Object> Places::around(const Object& object) {
  std::vector<Object> objects{object};
  if (object.pointer != nullptr) {
    const auto* address = llvm::dyn_cast<clang::UnaryOperator>(plain_expression(object.pointer));
    if (address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      objects = {{address->getSubExpr(), nullptr}};
    }
  }
  while (objects.back().pointer == nullptr) {
    const Expr* at = plain_expression(objects.back().lvalue);
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      if (unary->getOpcode() == clang::UO_Deref) {
        objects.back() = {nullptr, unary->getSubExpr()};
        continue;
      }
      if (unary->isIncrementDecrementOp()) {
        objects.back() = {unary->getSubExpr(), nullptr};
        continue;
      }
    }
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at); binary != nullptr && binary->isAssignmentOp()) {
      objects.back() = {binary->getLHS(), nullptr};
      continue;
    }
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(at)) {
      const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
      if (field == nullptr || field->getType()->isReferenceType()) break;
      objects.push_back(member->isArrow() ? Object{nullptr, member->getBase()} : Object{member->getBase(), nullptr});
      continue;
    }
    const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(at);
    const Expr* array = element != nullptr ? indexed_array(element) : nullptr;
    if (array == nullptr) break;
    objects.push_back({array, nullptr});
  }
  return is_on_stack(objects.back()) ? std::vector<Object>() : objects;
}

/// Returns true for a local variable or a temporary, possibly reached through a pointer.
bool Places::is_on_stack(const Object& root) {
  if (root.pointer == nullptr) {
    const Expr* lvalue = plain_expression(root.lvalue);
    if (!root.lvalue->isLValue() || llvm::isa<clang::StringLiteral, clang::CompoundLiteralExpr>(lvalue)) return true;
    // A reference that a member function returns belongs to its object, like a container's element.
    const auto* call = llvm::dyn_cast<clang::CallExpr>(lvalue);
    if (call != nullptr && !llvm::isa_and_nonnull<clang::CXXMethodDecl>(call->getCalleeDecl())) return true;
  }
  const Place found = place(root);
  llvm::StringRef text = found.text;
  text.consume_front("*(&");
  return llvm::any_of(found.variables, [&](const clang::VarDecl* variable) {
    llvm::StringRef rest = text;
    const bool is_first = rest.consume_front(name_of(variable)) && !llvm::isDigit((rest + " ").str().front());
    return is_first && variable->hasLocalStorage() && !variable->getType()->isReferenceType();
  });
}

Object Places::in_one_line(const std::vector<Object>& objects) const {
  Object chosen = objects.front();
  for (const Object& object : objects) {
    const clang::QualType type =
        object.pointer != nullptr ? object.pointer->getType()->getPointeeType() : object.lvalue->getType();
    const bool known = !type.isNull() && !type->isDependentType() && !type->isIncompleteType();
    const bool is_small =
        known && !type->isFunctionType() && unit_.ast.getTypeSizeInChars(type).getQuantity() <= kCacheLine;
    if (known && !is_small) break;
    chosen = object;
  }
  return chosen;
}

Object Places::hinted(const clang::CallExpr* hint) {
  const Object pointee{nullptr, plain_expression(hint->getArg(0))};
  const std::vector<Object> objects = around(pointee);
  return objects.empty() ? pointee : in_one_line(objects);
}

Place Places::place_of_variable(const clang::VarDecl* variable) {
  if (variable->getType()->isReferenceType()) {
    const auto argument = arguments_.find(variable);
    if (argument != arguments_.end()) return argument->second;
    if (variable->hasInit() && !llvm::isa<clang::ParmVarDecl>(variable)) return place({variable->getInit(), nullptr});
  }
  return {name_of(variable), {variable}};
}

Place Places::value_of_variable(const clang::VarDecl* variable) {
  if (is_constant(variable)) {
    const auto argument = arguments_.find(variable);
    if (argument != arguments_.end()) return argument->second;
    const bool is_plain = variable->hasLocalStorage() && !llvm::isa<clang::ParmVarDecl>(variable) &&
                          variable != index_ && variable->getType()->isScalarType();
    if (is_plain && variable->hasInit()) {
      Place made = value(variable->getInit());
      if (llvm::all_of(made.variables, [this](const clang::VarDecl* part) { return is_constant(part); })) return made;
    }
  }
  return {"=" + name_of(variable), {variable}};
}

Place Places::element(const Expr* base, const Expr* index) {
  if (const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(plain_expression(index));
      literal != nullptr && literal->getValue() == 0) {
    return place({nullptr, base});
  }
  const Place first = value(base);
  const Place number = value(index);
  Place made{"*(" + first.text + "+" + number.text + ")", first.variables, false, first.calls};
  join(made, number);
  made.in_sequence = index_ != nullptr && number.text == "=" + name_of(index_) && first.variables.count(index_) == 0;
  return made;
}

Place Places::place(const Object& object) {
  if (object.pointer != nullptr) {
    Place made = value(object.pointer);
    llvm::StringRef text = made.text;
    made.text = text.consume_front("&") ? text.str() : "*" + made.text;
    return made;
  }
  const Expr* at = plain_expression(object.lvalue);
  if (const clang::VarDecl* variable = variable_of(at)) return place_of_variable(variable);
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at);
      unary != nullptr && unary->getOpcode() == clang::UO_Deref) {
    return place({nullptr, unary->getSubExpr()});
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(at)) {
    Place made = place(member->isArrow() ? Object{nullptr, member->getBase()} : Object{member->getBase(), nullptr});
    made.text += "." + name_of(member->getMemberDecl());
    return made;
  }
  if (const auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(at)) {
    return element(subscript->getBase(), subscript->getIdx());
  }
  return value(at);
}

Place Places::value(const Expr* expression) {
  const Expr* at = plain_expression(expression);
  if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(at)) {
    if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
      Place made = place({cast->getSubExpr(), nullptr});
      made.text.insert(0, "&");
      return made;
    }
    const clang::VarDecl* variable = variable_of(plain_expression(cast->getSubExpr()));
    if (variable != nullptr && !variable->getType()->isReferenceType()) return value_of_variable(variable);
    Place made = place({cast->getSubExpr(), nullptr});
    made.text.insert(0, "=");
    made.in_sequence = false;
    return made;
  }
  if (const clang::VarDecl* variable = variable_of(at)) return place_of_variable(variable);
  if (llvm::isa<clang::CXXThisExpr>(at) && arguments_.count(nullptr) != 0) return arguments_[nullptr];
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at);
      unary != nullptr && unary->getOpcode() == clang::UO_AddrOf) {
    Place made = place({unary->getSubExpr(), nullptr});
    llvm::StringRef text = made.text;
    made.text = text.consume_front("*(") && text.consume_back(")") ? "(" + text.str() + ")" : "&" + made.text;
    return made;
  }
  Place made;
  if (const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(at);
      sum != nullptr && sum->getOpcode() == clang::BO_Add && sum->getLHS()->getType()->isPointerType()) {
    made = element(sum->getLHS(), sum->getRHS());
    made.text.erase(0, 1);
    return made;
  }
  llvm::FoldingSetNodeID id;
  made.text = at->getStmtClassName();
  made.calls = llvm::isa<clang::CallExpr>(at);
  if (const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(at)) {
    made.text += std::to_string(number->getValue().getLimitedValue());
  } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
    made.text += clang::UnaryOperator::getOpcodeStr(unary->getOpcode());
  } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at)) {
    made.text += binary->getOpcodeStr();
  } else if (const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(at)) {
    made.text += name_of(mention->getDecl());
  } else if (at->child_begin() == at->child_end()) {
    at->Profile(id, unit_.ast, true);
    made.text += std::to_string(id.ComputeHash());
  }
  made.text += '(';
  for (const clang::Stmt* child : at->children()) {
    const auto* part = llvm::dyn_cast_or_null<Expr>(child);
    if (part == nullptr) continue;
    const Place inner = value(part);
    made.text += inner.text + ",";
    join(made, inner);
  }
  made.text += ')';
  return made;
}

}  // namespace gopt
