// SPDX-License-Identifier: Apache-2.0
//
// Passes the arguments of expanded calls. A parameter becomes a variable of the item, which switches save. There are
// three exceptions, which save nothing: constants (folding.cc), variables of the caller under their own names, and
// addresses that are the same for all items, such as that of a parameter of F.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

using clang::Expr;

/// Returns the local variable whose value an argument is, or null.
const clang::VarDecl* variable_read(const Expr* argument) {
  const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(argument->IgnoreParens());
  if (cast == nullptr || cast->getCastKind() != clang::CK_LValueToRValue) return nullptr;
  const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(cast->getSubExpr()->IgnoreParens());
  return mention != nullptr ? llvm::dyn_cast<clang::VarDecl>(mention->getDecl()) : nullptr;
}

bool is_cast(const Expr* expression, clang::CastKind kind) {
  const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(expression);
  return cast != nullptr && cast->getCastKind() == kind;
}

}  // namespace

/// Returns true if the function only reads the variable, and not in a lambda or in a type.
bool Function::is_only_read(const clang::VarDecl* variable, const clang::FunctionDecl* function) {
  if (variable->getType().isVolatileQualified()) return false;
  const clang::ParentMap& parents = unit_.parents(function);
  return llvm::all_of(mentions_in(function->getBody()), [&](const clang::DeclRefExpr* mention) {
    if (mention->getDecl() != variable) return true;
    if (parents.getParent(mention) == nullptr) return false;
    for (const clang::Stmt* around = mention; around != nullptr; around = parents.getParent(around)) {
      if (llvm::isa<clang::LambdaExpr>(around)) return false;
    }
    const Access access = access_of(mention, parents);
    return access == Access::read || access == Access::none;
  });
}

/// Returns true if the variable has one value for all items, and needs no place to keep it.
bool Function::is_fixed(const clang::VarDecl* declaration) {
  const auto found = frame_->variables.find(declaration);
  if (found == frame_->variables.end()) return false;
  const Variable& variable = variables_[found->second];
  if (variable.is_fixed) return true;
  return variable.loop == -1 && variable.type->isScalarType() && is_only_read(variable.declaration, function_);
}

/// Returns true if all items compute the same address, without a load.
bool Function::is_fixed_address(const Expr* pointer) {
  pointer = pointer->IgnoreParens();
  if (is_cast(pointer, clang::CK_NoOp)) return is_fixed_address(llvm::cast<clang::CastExpr>(pointer)->getSubExpr());
  if (is_cast(pointer, clang::CK_ArrayToPointerDecay)) {
    return is_fixed_place(llvm::cast<clang::CastExpr>(pointer)->getSubExpr());
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(pointer)) {
    return unary->getOpcode() == clang::UO_AddrOf && is_fixed_place(unary->getSubExpr());
  }
  const clang::VarDecl* variable = variable_read(pointer);
  return variable != nullptr && is_fixed(variable);
}

/// Returns true if an object is at the same address each time that an item comes here.
bool Function::is_fixed_place(const Expr* place) {
  place = place->IgnoreParens();
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(place)) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr || field->getType()->isReferenceType()) return false;
    return member->isArrow() ? is_fixed_address(member->getBase()) : is_fixed_place(member->getBase());
  }
  if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(place)) {
    const clang::VarDecl* index = variable_read(element->getIdx());
    return index != nullptr && is_fixed(index) && is_fixed_address(element->getBase());
  }
  const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(place);
  const auto* variable = mention != nullptr ? llvm::dyn_cast<clang::VarDecl>(mention->getDecl()) : nullptr;
  const auto found = frame_->variables.find(variable);
  if (variable == nullptr || found == frame_->variables.end() || variable->getType()->isReferenceType()) return false;
  const Variable& object = variables_[found->second];
  return object.form == Variable::Form::hoisted || (object.loop == -1 && !object.is_fixed);
}

/// Returns true if a parameter's default means the same at the call.
bool Function::check_default(const clang::ParmVarDecl* parameter, const clang::Expr* value) {
  const auto depends_on_place = [](const auto& self, const clang::Stmt* part) -> bool {
    if (part == nullptr) return false;
    if (llvm::isa<clang::SourceLocExpr, clang::LambdaExpr>(part)) return true;
    const auto* nested = llvm::dyn_cast<clang::CXXDefaultArgExpr>(part);
    if (nested != nullptr && self(self, nested->getExpr())) return true;
    return llvm::any_of(part->children(), [&](const clang::Stmt* child) { return self(self, child); });
  };
  const auto* callee = llvm::cast<clang::FunctionDecl>(parameter->getDeclContext());
  const bool made = callee->getPrimaryTemplate() != nullptr;
  if (!made && !depends_on_place(depends_on_place, value) && value->getBeginLoc().isValid()) return true;
  unit_.refuse(parameter->getLocation(), "the default of '" + parameter->getNameAsString() +
                                             "' cannot be expanded where the call is; give the call this argument");
  return false;
}

/// Gives a parameter the name of the caller's variable, or an address that is fixed, so that no variable is needed.
/// Returns false if the parameter needs one.
bool Function::pass_by_name(const clang::ParmVarDecl* parameter, const Expr* argument, const std::string& value,
                            Frame& callee) {
  const clang::QualType type = parameter->getType().getUnqualifiedType();
  const bool same = type->isScalarType() && unit_.ast.hasSameUnqualifiedType(type, argument->getType());
  if (!same || !is_only_read(parameter, callee.function)) return false;
  const clang::VarDecl* read = variable_read(argument);
  const auto found = frame_->variables.find(read);
  if (found != frame_->variables.end()) {
    const Variable& variable = variables_[found->second];
    const bool is_own = variable.form == Variable::Form::plain && !read->getType()->isReferenceType() &&
                        !read->getType().isVolatileQualified() && !unit_.escapes(read, frame_->function);
    if (is_own) callee.variables[parameter] = found->second;
    return is_own;
  }
  const bool is_one_line = value.find_first_of({'\n', kInnerNewline}) == std::string::npos;
  if (!type->isPointerType() || !is_one_line || !is_fixed_address(argument)) return false;
  Frame* caller = frame_;
  frame_ = &callee;
  Variable& variable = variables_[add_variable(parameter)];
  frame_ = caller;
  variable.type = type;
  variable.loop = -1;
  variable.is_fixed = true;
  variable.name = "((" + unit_.declare(type, "") + ")" + value + ")";
  return true;
}

/// Declares the parameter and assigns the argument.
std::string Function::pass_argument(const clang::ParmVarDecl* parameter, const clang::Expr* argument, Frame& callee) {
  if (const auto* by_default = llvm::dyn_cast<clang::CXXDefaultArgExpr>(argument)) {
    argument = by_default->getExpr();
    if (!check_default(parameter, argument)) return "";
  }
  if (is_foldable(parameter, callee.function)) {
    const std::optional<llvm::APSInt> value = constant_value(argument);
    if (value) return fold_argument(parameter, argument, *value, callee);
  }
  started_.try_emplace(argument, switches_.size());
  check_argument(argument, parameter->getType());
  const Expanded inner = expand_calls(argument);
  evaluate(argument);
  const std::string value = text_of(argument);
  if (inner.empty() && pass_by_name(parameter, argument, value, callee)) return "";
  Frame* caller = frame_;
  frame_ = &callee;
  const unsigned number = add_variable(parameter);
  frame_ = caller;
  Variable& variable = variables_[number];
  variable.split = true;
  choose_form(variable);
  const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(argument);
  if (parameter->getType()->isReferenceType() && (temporary != nullptr || !argument->isGLValue())) {
    variable.form = Variable::Form::plain;
    variable.type = parameter->getType()->getPointeeType().getUnqualifiedType();
    box_class(variable);
  }
  check_storable(variable);
  declare_in_scope(number);
  at_ = flow_.add_after(at_);
  flow_[at_].kills.push_back(number);
  flow_[at_].changes.push_back(number);
  return inner.all() + (inner.empty() ? "" : " ") + declaration_text(number) + " " + value_text(variable, value);
}

}  // namespace gopt
