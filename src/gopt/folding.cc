// SPDX-License-Identifier: Apache-2.0
//
// Folds constant arguments of expanded calls: the parameter becomes a constant of the program. Branches that the
// constants exclude vanish with their hints, so that no item stops there.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

using clang::Expr;
using clang::Stmt;

/// Returns true if `part` calls anything. The value of a call may depend on how it is evaluated, as that of
/// std::is_constant_evaluated() does.
bool has_call(const Stmt* part) {
  if (part == nullptr) return false;
  return llvm::isa<clang::CallExpr, clang::CXXConstructExpr, clang::StmtExpr, clang::LambdaExpr>(part) ||
         llvm::any_of(part->children(), has_call);
}

/// Returns true if a jump other than break, continue and return may lead into or out of `part`.
bool is_jumped(const Stmt* part, bool in_switch = false) {
  if (part == nullptr) return false;
  if (llvm::isa<clang::LabelStmt, clang::GotoStmt, clang::IndirectGotoStmt>(part)) return true;
  if (llvm::isa<clang::SwitchCase>(part) && !in_switch) return true;
  in_switch = in_switch || llvm::isa<clang::SwitchStmt>(part);
  return llvm::any_of(part->children(), [in_switch](const Stmt* child) { return is_jumped(child, in_switch); });
}

/// Returns a constant of the language with this value.
std::string constant_text(const llvm::APSInt& value, const std::string& type, bool is_enumeration) {
  const int64_t number = value.isRepresentableByInt64() ? value.getExtValue() : INT64_MAX;
  const std::string cast = "(" + type + ")";
  if (number > INT32_MIN && number <= INT32_MAX) return (is_enumeration ? cast : "") + std::to_string(number);
  const llvm::APInt wide = value.isSigned() ? value.sext(64) : value.zext(64);
  return cast + std::to_string(wide.getZExtValue()) + "ULL";
}

/// Returns an expression without a value.
const Expr* unknown(clang::ASTContext& ast, const clang::ParmVarDecl* parameter) {
  const clang::QualType type = parameter->getType();
  const clang::ExprValueKind kind = type->isReferenceType() ? clang::VK_LValue : clang::VK_PRValue;
  return new (ast) clang::OpaqueValueExpr(parameter->getLocation(), type.getNonReferenceType(), kind);
}

const Expr* literal(clang::ASTContext& ast, const llvm::APSInt& value, clang::QualType type,
                    clang::SourceLocation where) {
  const auto* enumeration = type->getAs<clang::EnumType>();
  if (enumeration == nullptr) return clang::IntegerLiteral::Create(ast, value, type, where);
  clang::Expr* number =
      clang::IntegerLiteral::Create(ast, value, enumeration->getDecl()->getIntegerType().getUnqualifiedType(), where);
  return clang::ImplicitCastExpr::Create(ast, type, clang::CK_IntegralCast, number, nullptr, clang::VK_PRValue,
                                         clang::FPOptionsOverride());
}

}  // namespace

/// Returns the value of an expression that is the same in each evaluation of the frame's body.
std::optional<llvm::APSInt> Function::constant_value(const Expr* expression) {
  const bool is_number = expression->isPRValue() && !expression->isInstantiationDependent() &&
                         expression->getType()->isIntegralOrEnumerationType();
  if (!is_number || has_call(expression)) return std::nullopt;
  if (frame_->number == 0) {
    Expr::EvalResult result;
    if (!expression->EvaluateAsInt(result, unit_.ast)) return std::nullopt;
    return result.Val.getInt();
  }
  std::vector<const Expr*> arguments;
  for (const clang::ParmVarDecl* parameter : frame_->function->parameters()) {
    const auto found = frame_->constants.find(parameter);
    arguments.push_back(found != frame_->constants.end() ? found->second : unknown(unit_.ast, parameter));
  }
  clang::APValue value;
  const bool known = expression->EvaluateWithSubstitution(value, unit_.ast, frame_->function, arguments);
  if (!known || !value.isInt()) return std::nullopt;
  return value.getInt();
}

/// Returns true if a constant can replace the parameter.
bool Function::is_foldable(const clang::ParmVarDecl* parameter, const clang::FunctionDecl* callee) {
  const clang::QualType type = parameter->getType();
  if (!type->isIntegralOrEnumerationType() || unit_.ast.getIntWidth(type) > 64) {
    return false;
  }
  return is_only_read(parameter, callee);
}

/// Declares a parameter that has this value in each evaluation of the call.
std::string Function::fold_argument(const clang::ParmVarDecl* parameter, const Expr* argument,
                                    const llvm::APSInt& value, Frame& callee) {
  const clang::QualType type = parameter->getType().getUnqualifiedType();
  folds_ = true;
  vanished_.insert(argument);
  callee.constants[parameter] = literal(unit_.ast, value, type, argument->getBeginLoc());
  Frame* caller = frame_;
  frame_ = &callee;
  const unsigned number = add_variable(parameter);
  frame_ = caller;
  Variable& variable = variables_[number];
  variable.loop = -1;
  variable.is_fixed = true;
  variable.type = type;
  return mark_used(argument) + "__attribute__((unused)) static const " + unit_.declare(type, variable.name) + " = " +
         constant_text(value, unit_.declare(type, ""), type->isEnumeralType()) + ";";
}

/// Returns statements that use the variables in `part`, whose text vanishes, so that compilers do not warn.
std::string Function::mark_used(const Stmt* part) {
  std::set<std::string> names;
  for (const clang::DeclRefExpr* mention : mentions_in(part)) {
    const auto* declaration = llvm::dyn_cast<clang::VarDecl>(mention->getDecl());
    const auto found = frame_->variables.find(declaration);
    if (found == frame_->variables.end() || declaration->getType().isVolatileQualified()) continue;
    const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(declaration);
    if (frame_->constants.count(parameter) != 0) continue;
    const Variable& variable = variables_[found->second];
    names.insert(variable.is_index ? use_text(variable) : variable.name);
  }
  std::string text;
  for (const std::string& name : names) text += "(void)" + name + "; ";
  return text;
}

/// Returns the truth of a condition that is a constant in an expanded function or in an if constexpr.
std::optional<bool> Function::known_truth(const Expr* condition, bool is_constexpr) {
  if (!in_loop() || condition->isInstantiationDependent()) return std::nullopt;
  if (is_constexpr) return condition->EvaluateKnownConstInt(unit_.ast).getBoolValue();
  const std::optional<llvm::APSInt> value = frame_->number > 0 ? constant_value(condition) : std::nullopt;
  return value ? std::optional(value->getBoolValue()) : std::nullopt;
}

/// Lowers an if whose condition is known: only the branch that is taken remains. Returns false for any other if.
bool Function::lower_known_if(const clang::IfStmt* statement) {
  if (statement->hasInitStorage() || statement->hasVarStorage() || statement->isConsteval()) return false;
  const Expr* condition = statement->getCond();
  const std::optional<bool> truth = known_truth(condition, statement->isConstexpr());
  if (!truth) return false;
  const Stmt* taken = *truth ? statement->getThen() : statement->getElse();
  const Stmt* vanishing = *truth ? statement->getElse() : statement->getThen();
  if (is_jumped(vanishing)) return false;
  if (vanishing != nullptr) vanished_.insert(vanishing);
  const TokenRange whole = unit_.tokens.statement(statement);
  const std::string before = "{ " + mark_used(condition) + mark_used(vanishing);
  if (taken == nullptr) {
    frame_->text.replace(whole, before + "}");
    return true;
  }
  lower(taken);
  while (llvm::isa<clang::AttributedStmt>(taken)) taken = llvm::cast<clang::AttributedStmt>(taken)->getSubStmt();
  const TokenRange kept = unit_.tokens.statement(taken);
  frame_->text.replace({whole.begin, kept.begin}, before);
  if (kept.end < whole.end) frame_->text.replace({kept.end, whole.end}, "");
  frame_->text.insert_after(kept.end - 1, " }");
  return true;
}

/// Computes a &&, || or ?: whose first operand is known, without the operand that is not evaluated.
bool Function::compute_known_choice(const Expr* expression, Expanded& expanded) {
  const auto* logical = llvm::dyn_cast<clang::BinaryOperator>(expression);
  const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expression);
  const Expr* condition = logical != nullptr ? logical->getLHS() : choice->getCond();
  const std::optional<bool> truth = known_truth(condition, false);
  if (!truth) return false;
  const Expr* computed = nullptr;
  const Expr* vanishing = nullptr;
  if (choice != nullptr) {
    computed = *truth ? choice->getTrueExpr() : choice->getFalseExpr();
    vanishing = *truth ? choice->getFalseExpr() : choice->getTrueExpr();
  } else {
    const bool decided = *truth == (logical->getOpcode() == clang::BO_LOr);
    (decided ? vanishing : computed) = logical->getRHS();
  }
  const unsigned result = add_result(expression->getType(), "gopt_known", expression->getBeginLoc());
  std::string text = mark_used(condition);
  if (vanishing != nullptr) {
    vanished_.insert(vanishing);
    text += mark_used(vanishing);
  }
  scope_.push_back(result);
  if (computed != nullptr) {
    const size_t scope = scope_.size();
    text += compute_into(result, computed, logical != nullptr);
    scope_.resize(scope);
  } else {
    at_ = flow_.add_after(at_);
    flow_[at_].kills.push_back(result);
    flow_[at_].changes.push_back(result);
    text += value_text(variables_[result], *truth ? "1" : "0");
  }
  expanded.computed += (expanded.computed.empty() ? "" : "\n" + indent_at(expression->getBeginLoc())) + text;
  take_result(expression, result, expanded);
  return true;
}

}  // namespace gopt
