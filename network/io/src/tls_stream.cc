#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "openssl_errors.h"
#include "weir/io/tls.h"

namespace weir {
namespace {

/// SHA-1 of the peer's certificate, in upper-case hexadecimal; empty where it has none.
std::string fingerprintOf(SSL* ssl) {
  X509* const certificate = SSL_get1_peer_certificate(ssl);
  if (!certificate) return {};
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  std::string text;
  if (X509_digest(certificate, EVP_sha1(), digest, &size) == 1)
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02X}", digest[i]);
  X509_free(certificate);
  return text;
}

int descriptorOf(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int done(BIO* bio, ssize_t size, int retry) {
  BIO_clear_retry_flags(bio);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(size);
}
int writeSocket(BIO* bio, const char* bytes, int size) {
  return done(bio, ::send(descriptorOf(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT), BIO_FLAGS_WRITE);
}
int readSocket(BIO* bio, char* into, int size) {
  return done(bio, ::recv(descriptorOf(bio), into, static_cast<size_t>(size), MSG_DONTWAIT), BIO_FLAGS_READ);
}
long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

/// A socket without signals: OpenSSL's own ends the process where a peer is gone.
const BIO_METHOD* socketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (!made) throw std::bad_alloc();
    BIO_meth_set_write(made, writeSocket);
    BIO_meth_set_read(made, readSocket);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

SSL* newSsl(ssl_ctx_st* context, TlsContext::Role role, int descriptor) {
  SSL* const ssl = SSL_new(context);
  if (!ssl) throw std::bad_alloc();
  BIO* const socket = BIO_new(socketMethod());
  if (!socket) {
    SSL_free(ssl);
    throw std::bad_alloc();
  }
  BIO_set_data(socket, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  BIO_set_init(socket, 1);
  SSL_set_bio(ssl, socket, socket);
  if (role == TlsContext::Role::kClient) SSL_set_connect_state(ssl);
  else SSL_set_accept_state(ssl);
  return ssl;
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, TlsContext::Role role, int descriptor)
    : context_(std::move(context)),
      ssl_(newSsl(role == TlsContext::Role::kClient ? context_->client_ : context_->server_, role, descriptor)) {}

TlsStream::~TlsStream() { SSL_free(ssl_); }

TlsStream::Step TlsStream::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) return stepAfter(result);
  if (context_->fingerprint_.empty()) return Step::kDone;
  const std::string its = fingerprintOf(ssl_);
  if (its == context_->fingerprint_) return Step::kDone;
  return fail(fmt::format("the peer's certificate has the fingerprint {}, and {} is expected", its, context_->fingerprint_));
}

TlsStream::Step TlsStream::read(std::span<uint8_t> into, size_t& got) {
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_, into.data(), into.size(), &got);
  return result == 1 ? Step::kDone : stepAfter(result);
}

TlsStream::Step TlsStream::write(std::span<const uint8_t> bytes, size_t& sent) {
  ERR_clear_error();
  const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
  return result == 1 ? Step::kDone : stepAfter(result);
}

void TlsStream::endSending() {
  ERR_clear_error();
  (void)SSL_shutdown(ssl_);
  ERR_clear_error();
}

TlsStream::Step TlsStream::stepAfter(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Step::kWantsToRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWantsToWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Step::kEnded;
    case SSL_ERROR_SYSCALL:
      return fail(errno == 0 ? "the connection has ended in the middle of TLS" : std::strerror(errno));
    default: {
      const long verified = SSL_get_verify_result(ssl_);
      std::string why = opensslErrors();
      if (verified != X509_V_OK) why += fmt::format(" ({})", X509_verify_cert_error_string(verified));
      return fail(std::move(why));
    }
  }
}

TlsStream::Step TlsStream::fail(std::string why) {
  failure_ = std::move(why);
  return Step::kFailed;
}

}  // namespace weir
