#pragma once

#include <openssl/err.h>

#include <string>

namespace weir {

/// What OpenSSL's queue of this thread says, which is empty then.
inline std::string opensslErrors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    text += (text.empty() ? "" : ": ") + std::string(reason ? reason : "unknown error");
  }
  return text.empty() ? "unknown error" : text;
}

}  // namespace weir
