#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/clock.h"
#include "weir/base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir {

/// A store of keys or of certificates, as it lies in its file.
struct TlsStore {
  enum class Type { kPkcs12, kPem };
  std::string name;  ///< for errors: its path
  Type type = Type::kPkcs12;
  std::vector<uint8_t> bytes;
  std::string password;
  std::string keyPassword;  ///< of the private key in it; of PKCS12 the same as the store's
};

/// What the processes of one cluster show each other. Flink: SSLUtils, with the keys security.ssl.internal.*.
struct TlsOptions {
  TlsStore keys;                                 ///< own certificate, its chain and private key
  TlsStore trusted;                              ///< whose certificates are accepted
  std::string protocol = "TLSv1.2";              ///< security.ssl.protocol
  std::vector<std::string> algorithms;           ///< security.ssl.algorithms, by their standard names; empty: OpenSSL's choice
  std::optional<std::string> fingerprint{};      ///< SHA-1 of the one certificate that is accepted, in hexadecimal with or without colons
  Millis handshakeTimeout{10'000};
};

/// Checked once, shared by all connections of a process. Both sides must have a certificate that the other one trusts; host names are not
/// compared, as in Flink. Threads: any.
class TlsContext {
 public:
  enum class Role { kClient, kServer };

  /// An error says which store, and what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> create(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  Millis handshakeTimeout() const { return handshakeTimeout_; }

 private:
  friend class TlsStream;
  TlsContext(ssl_ctx_st* client, ssl_ctx_st* server, const TlsOptions& options);

  ssl_ctx_st* const client_;
  ssl_ctx_st* const server_;
  const Millis handshakeTimeout_;
  const std::string fingerprint_;  ///< without colons, upper case; empty: any that is trusted
};

/// TLS over one non-blocking socket, which it does not own. Never waits: each step says what it waits for. Threads: the owner's.
class TlsStream {
 public:
  enum class Step { kDone, kWantsToRead, kWantsToWrite, kEnded, kFailed };

  TlsStream(std::shared_ptr<const TlsContext> context, TlsContext::Role role, int descriptor);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  Step handshake();
  /// kDone: `got` bytes have come, at least one. kEnded: the peer has said that this was all.
  Step read(std::span<uint8_t> into, size_t& got);
  /// kDone: the first `sent` of them have left. Else the next call comes with the same bytes, or more behind them.
  Step write(std::span<const uint8_t> bytes, size_t& sent);
  /// Tells the peer that this was all, as far as there is room.
  void endSending();
  /// After kFailed.
  const std::string& failure() const { return failure_; }
  Millis handshakeTimeout() const { return context_->handshakeTimeout(); }

 private:
  Step stepAfter(int result);
  Step fail(std::string why);

  const std::shared_ptr<const TlsContext> context_;
  ssl_st* const ssl_;
  std::string failure_;
};

}  // namespace weir
