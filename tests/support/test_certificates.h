#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::testing {

/// A certificate with its private key, made here and now.
class Identity {
 public:
  /// One that may sign others.
  static Identity authority(const std::string& name) { return make(name, nullptr, true); }
  /// Signed by `issuer`, or by itself.
  static Identity make(const std::string& name, const Identity* issuer = nullptr) { return make(name, issuer, false); }

  /// The certificate alone, as PEM.
  std::string certificatePem() const {
    const Bio bio = newBio();
    check(PEM_write_bio_X509(bio.get(), certificate_.get()));
    return textOf(bio);
  }
  /// Key and certificate, as PEM; the key under a password where there is one.
  std::string pem(const std::string& password = "") const {
    const Bio bio = newBio();
    check(PEM_write_bio_PrivateKey(bio.get(), key_.get(), password.empty() ? nullptr : EVP_aes_128_cbc(),
                                   reinterpret_cast<const unsigned char*>(password.data()), static_cast<int>(password.size()), nullptr,
                                   nullptr));
    return textOf(bio) + certificatePem();
  }
  /// Key and certificate.
  std::string pkcs12(const std::string& password) const { return pkcs12Of(key_.get(), certificate_.get(), nullptr, password); }
  /// Certificates that are trusted, as keytool writes them: without a key.
  static std::string pkcs12OfTrusted(const std::vector<const Identity*>& trusted, const std::string& password) {
    STACK_OF(X509)* const all = sk_X509_new_null();
    for (const Identity* identity : trusted) sk_X509_push(all, identity->certificate_.get());
    const std::string bytes = pkcs12Of(nullptr, nullptr, all, password);
    sk_X509_free(all);
    return bytes;
  }
  /// SHA-1, with colons.
  std::string fingerprint() const {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    check(X509_digest(certificate_.get(), EVP_sha1(), digest, &size));
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
      static constexpr char kDigits[] = "0123456789abcdef";
      if (i > 0) text += ':';
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  static Identity make(const std::string& name, const Identity* issuer, bool authority) {
    Identity made;
    made.key_.reset(EVP_RSA_gen(2048), EVP_PKEY_free);
    made.certificate_.reset(X509_new(), X509_free);
    X509* const certificate = made.certificate_.get();
    check(made.key_ && certificate);
    check(X509_set_version(certificate, 2));
    static long serial = 1;
    check(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++));
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    check(X509_set_pubkey(certificate, made.key_.get()));
    X509_NAME* const subject = X509_get_subject_name(certificate);
    check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0));
    check(X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer->certificate_.get()) : subject));
    if (authority) {
      const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> mark(
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"), X509_EXTENSION_free);
      check(mark && X509_add_ext(certificate, mark.get(), -1) == 1);
    }
    check(X509_sign(certificate, issuer ? issuer->key_.get() : made.key_.get(), EVP_sha256()));
    return made;
  }

  struct FreeBio {
    void operator()(BIO* bio) const { (void)BIO_free(bio); }
  };
  using Bio = std::unique_ptr<BIO, FreeBio>;
  static Bio newBio() { return Bio(BIO_new(BIO_s_mem())); }
  static std::string textOf(const Bio& bio) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<size_t>(size)};
  }
  static std::string pkcs12Of(EVP_PKEY* key, X509* certificate, STACK_OF(X509)* others, const std::string& password) {
    const std::unique_ptr<PKCS12, void (*)(PKCS12*)> made(
        PKCS12_create(password.c_str(), "weir", key, certificate, others, 0, 0, 0, 0, 0), PKCS12_free);
    check(made != nullptr);
    const Bio bio = newBio();
    check(i2d_PKCS12_bio(bio.get(), made.get()));
    return textOf(bio);
  }
  template <class T>
  static void check(T done) {
    if (!done) throw std::runtime_error("a certificate cannot be made");
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace weir::testing
