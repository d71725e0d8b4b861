#include "weir/base/error.h"

#include "weir/base/result.h"

namespace weir {

std::string Throwable::trace() const {
  std::string text = what();
  for (auto cause = cause_; cause; cause = cause->cause()) text += std::string("\nCaused by: ") + cause->what();
  return text;
}

std::shared_ptr<const Throwable> Throwable::from(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Throwable& e) {
    return std::make_shared<Throwable>(e);
  } catch (const std::exception& e) {
    return std::make_shared<Throwable>("java.lang.Exception", e.what());
  } catch (...) {
    return std::make_shared<Throwable>("java.lang.Error", "an exception of an unknown type");
  }
}

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw Throwable("java.io.IOException", error.message);
}

}  // namespace weir
