// SPDX-License-Identifier: Apache-2.0
//
// Expands functions that contain hints in place: their statements replace the call, with new names.
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

/// Returns true if the call's parts are evaluated whenever `part` is, and the language leaves their order open.
bool is_transparent(const clang::Stmt* part) {
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(part))
    return !binary->isLogicalOp() && !binary->isCommaOp();
  if (llvm::isa<clang::CXXOperatorCallExpr>(part)) return false;
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(part)) return list->getNumInits() <= 1;
  return llvm::isa<clang::ParenExpr, clang::CastExpr, clang::UnaryOperator, clang::ArraySubscriptExpr,
                   clang::MemberExpr, clang::ExprWithCleanups, clang::MaterializeTemporaryExpr, clang::ConstantExpr,
                   clang::CXXConstructExpr, clang::CallExpr>(part);
}

}  // namespace

Function::Expanded Function::expand_calls(const clang::Expr* expression) {
  Expanded expanded;
  if (expression != nullptr && in_loop() && unit_.switches_inside(expression)) expand_calls_in(expression, expanded);
  return expanded;
}

void Function::expand_calls_in(const clang::Stmt* part, Expanded& expanded) {
  if (part == nullptr) return;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(part);
  const clang::FunctionDecl* callee = call != nullptr ? unit_.expandable(call) : nullptr;
  if (callee != nullptr) {
    if (!check_expandable(call, callee)) return;
    const std::string indent = "\n" + indent_at(call->getBeginLoc());
    expanded.computed += (expanded.computed.empty() ? "" : indent) + expand(call, callee, true);
    const int result = frame_->results[call];
    if (result >= 0) take_result(call, static_cast<unsigned>(result), expanded);
    return;
  }
  const auto* expression = llvm::dyn_cast<clang::Expr>(part);
  if (expression != nullptr && expand_choice(expression, expanded)) return;
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(part);
  if (binary != nullptr && binary->isLogicalOp()) return expand_calls_in(binary->getLHS(), expanded);
  const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(part);
  if (choice != nullptr) return expand_calls_in(choice->getCond(), expanded);
  if (!is_transparent(part)) return;
  const std::vector<const clang::Stmt*> children(part->child_begin(), part->child_end());
  if (binary != nullptr && binary->isAssignmentOp()) {
    expand_calls_in(binary->getRHS(), expanded);
    expand_calls_in(binary->getLHS(), expanded);
    return;
  }
  for (const clang::Stmt* child : children) expand_calls_in(child, expanded);
}

/// Adds a variable for the result of an expression.
unsigned Function::add_result(clang::QualType type, const std::string& name, clang::SourceLocation where) {
  Variable result;
  result.type = type.getUnqualifiedType();
  result.where = where;
  result.name = unique_name(name);
  result.loop = loop_;
  result.split = true;
  choose_form(result);
  check_storable(result);
  variables_.push_back(std::move(result));
  return static_cast<unsigned>(variables_.size()) - 1;
}

/// Replaces the expression by the variable.
void Function::take_result(const clang::Expr* expression, unsigned variable, Expanded& expanded) {
  expanded.declared += (expanded.declared.empty() ? "" : " ") + declaration_text(variable);
  frame_->results[expression] = static_cast<int>(variable);
  frame_->text.replace(unit_.tokens.range(expression->getSourceRange()), use_text(variables_[variable]));
  if (!llvm::is_contained(scope_, variable)) scope_.push_back(variable);
}

/// Returns statements that evaluate `value`, expand its calls, and store the value, or its truth value, in the
/// variable.
std::string Function::compute_into(unsigned variable, const clang::Expr* value, bool is_test) {
  started_.try_emplace(value, switches_.size());
  if (!is_test) check_argument(value, value->getType());
  const Expanded inner = expand_calls(value);
  evaluate(value);
  at_ = flow_.add_after(at_);
  flow_[at_].kills.push_back(variable);
  flow_[at_].changes.push_back(variable);
  const std::string text = "(" + text_of(value) + ")";
  return inner.all() + (inner.empty() ? "" : " ") +
         value_text(variables_[variable], is_test ? text + " ? 1 : 0" : text);
}

/// Turns &&, || and ?: into an if when their later part contains a call to expand.
bool Function::expand_choice(const clang::Expr* expression, Expanded& expanded) {
  const auto* logical = llvm::dyn_cast<clang::BinaryOperator>(expression);
  const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expression);
  const bool is_logical = logical != nullptr && logical->isLogicalOp() && unit_.switches_inside(logical->getRHS());
  const bool is_choice =
      choice != nullptr && choice->getType()->isScalarType() && !choice->isGLValue() &&
      (unit_.switches_inside(choice->getTrueExpr()) || unit_.switches_inside(choice->getFalseExpr()));
  if (!is_logical && !is_choice) return false;
  if (compute_known_choice(expression, expanded)) return true;
  const clang::QualType test = unit_.is_cxx() ? unit_.ast.BoolTy : unit_.ast.IntTy;
  const unsigned condition = add_result(test, "gopt_test", expression->getBeginLoc());
  const unsigned result =
      is_logical ? condition : add_result(choice->getType(), "gopt_choice", expression->getBeginLoc());
  scope_.push_back(condition);
  if (is_choice) scope_.push_back(result);
  const size_t scope = scope_.size();
  std::string text = compute_into(condition, is_logical ? logical->getLHS() : choice->getCond(), true);
  at_ = flow_.add_after(at_);
  flow_[at_].reads.push_back({condition, expression->getBeginLoc()});
  const unsigned head = at_;
  const bool is_or = is_logical && logical->getOpcode() == clang::BO_LOr;
  text += std::string(" if (") + (is_or ? "!" : "") + variables_[condition].name + ") { ";
  text += compute_into(result, is_logical ? logical->getRHS() : choice->getTrueExpr(), is_logical) + " }";
  const unsigned taken = at_;
  at_ = flow_.add_after(head);
  scope_.resize(scope);
  if (is_choice) text += " else { " + compute_into(result, choice->getFalseExpr(), false) + " }";
  scope_.resize(scope);
  at_ = flow_.add_after(at_);
  flow_.link(taken, at_);
  expanded.computed += (expanded.computed.empty() ? "" : "\n" + indent_at(expression->getBeginLoc())) + text;
  if (is_choice) expanded.declared += (expanded.declared.empty() ? "" : " ") + declaration_text(condition);
  take_result(expression, result, expanded);
  return true;
}

bool Function::check_expandable(const clang::CallExpr* call, const clang::FunctionDecl* callee) {
  const auto refuse = [&](const std::string& why) {
    unit_.refuse(call->getBeginLoc(),
                 "'" + callee->getNameAsString() + "' contains g_expensive and cannot be expanded here: " + why);
    unit_.note(callee->getLocation(), "it is defined here");
    return false;
  };
  for (const Frame* frame = frame_; frame != nullptr; frame = frame->caller) {
    if (frame->function->getCanonicalDecl() == callee->getCanonicalDecl())
      return refuse("it calls itself; write a loop");
  }
  const std::string obstacle = Unit::obstacle_to_expansion(callee, function_);
  if (!obstacle.empty()) return refuse(obstacle);
  if (call->getNumArgs() != callee->getNumParams()) {
    return refuse("it is called with another number of arguments than it has parameters; give it a prototype");
  }
  return true;
}

/// Returns the block that replaces a call. The caller declares the variable of a wanted result.
std::string Function::expand(const clang::CallExpr* call, const clang::FunctionDecl* callee, bool wants_result) {
  if (!check_expandable(call, callee)) {
    frame_->results[call] = -1;
    return "";
  }
  if (!loops_[static_cast<size_t>(loop_)].has_plain) expanded_calls_.insert(call);
  Frame* caller = frame_;
  const auto number = static_cast<unsigned>(frames_.size());
  frames_.emplace_back(callee, caller, number, unit_.tokens);
  Frame& frame = frames_.back();
  const size_t scope = scope_.size();
  const std::string indent = "\n" + indent_at(call->getBeginLoc());
  std::string text = "{ /* " + callee->getNameAsString() + ", expanded */";
  for (unsigned i = 0; i < callee->getNumParams(); ++i) {
    const std::string passed = pass_argument(callee->getParamDecl(i), call->getArg(i), frame);
    if (!passed.empty()) text.append(indent).append("  ").append(passed);
  }
  if (wants_result && !callee->getReturnType()->isVoidType()) {
    frame.result = static_cast<int>(add_result(
        callee->getReturnType(), callee->getNameAsString() + "_" + std::to_string(number), call->getBeginLoc()));
  }
  frame_ = &frame;
  frame.returned = flow_.add();
  lower(callee->getBody());
  flow_.link(at_, frame.returned);
  at_ = frame.returned;
  const std::string body =
      "\n" + template_arguments(callee) + frame.text.render(unit_.tokens.statement(callee->getBody()));
  for (const char c : body) {
    text += c;
    if (c == '\n') text += indent.substr(1) + "  ";
  }
  if (frame.has_return) text += indent + "gopt_return_" + std::to_string(number) + ":;";
  text += indent + "}";
  frame_ = caller;
  scope_.resize(scope);
  frame_->results[call] = frame.result;
  return text;
}

/// Returns declarations of the template's parameters with the arguments of this call.
std::string Function::template_arguments(const clang::FunctionDecl* callee) const {
  const clang::FunctionTemplateDecl* made_from = callee->getPrimaryTemplate();
  if (made_from == nullptr) return "";
  std::string text;
  const clang::TemplateArgumentList& arguments = *callee->getTemplateSpecializationArgs();
  for (unsigned i = 0; i < arguments.size(); ++i) {
    const clang::NamedDecl* parameter = made_from->getTemplateParameters()->getParam(i);
    const std::string name = parameter->getNameAsString();
    if (parameter->isImplicit()) {
      unit_.refuse(callee->getLocation(), "a parameter of type 'auto' cannot be expanded; write a template");
      continue;
    }
    if (name.empty()) continue;
    const clang::TemplateArgument& argument = arguments[i];
    if (argument.getKind() == clang::TemplateArgument::Type) {
      text += "using " + name + " [[maybe_unused]] = " + unit_.declare(argument.getAsType(), "") + ";\n";
    } else if (argument.getKind() == clang::TemplateArgument::Integral) {
      llvm::SmallString<32> value;
      argument.getAsIntegral().toString(value, 10);
      text += "[[maybe_unused]] static constexpr " + unit_.declare(argument.getIntegralType(), name) +
              " = static_cast<" + unit_.declare(argument.getIntegralType(), "") + ">(" + std::string(value) + ");\n";
    } else {
      unit_.refuse(callee->getLocation(), "an expanded template can have types and integers as parameters only");
    }
  }
  return text;
}

std::string Function::value_text(const Variable& variable, const std::string& value) const {
  if (variable.form == Variable::Form::reference) return variable.name + " = __builtin_addressof(" + value + ");";
  const bool is_class = variable.type->isRecordType() && (unit_.is_cxx() || Unit::has_constant(variable.type));
  if (!is_class) return use_text(variable) + " = " + value + ";";
  return "{ " + unit_.declare(variable.type, "gopt_init") + " = " + value + "; __builtin_memcpy((void *)&" +
         use_text(variable) + ", &gopt_init, sizeof gopt_init); }";
}

}  // namespace gopt
