#include "support/test_certificates.h"
#include "unit/socket/socket_fixture.h"

// Data connections with TLS on both sides, and peers that have none or the wrong one.
namespace weir {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct TlsConnection : SocketTest {
  static const Identity& cluster() {
    static const Identity made = Identity::make("cluster");
    return made;
  }
  static const Identity& stranger() {
    static const Identity made = Identity::make("stranger");
    return made;
  }
  static std::shared_ptr<const TlsContext> contextOf(const Identity& own, const Identity& trusted) {
    const auto store = [](const std::string& bytes) { return TlsStore{"pem", TlsStore::Type::kPem, {bytes.begin(), bytes.end()}, "", ""}; };
    TlsOptions its;
    its.keys = store(own.pem());
    its.trusted = store(trusted.certificatePem());
    return TlsContext::create(its).value();
  }
  TlsConnection() { options.tls = contextOf(cluster(), cluster()); }

  /// What a TaskManager with another configuration is told when it reads from tm1.
  std::string failureOfReaderWith(std::shared_ptr<const TlsContext> tls) {
    SocketTransportOptions its = options;
    its.tls = std::move(tls);
    const auto own = std::exchange(transport, std::make_shared<SocketTransport>(executor, log, its));
    const auto reader = manager("tm3", std::make_shared<ResultPartitionManager>());
    transport = own;
    const auto tm2Before = std::exchange(tm2, reader);
    std::string failure = failureOf(connect(tm1->address()));
    tm2 = tm2Before;
    for (auto& end : channels) end->channel->releaseAllResources();
    stop(reader);
    return failure;
  }
};

TEST_F(TlsConnection, DataAndEventsTravelAsInTheClear) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connect("tm1");
    for (int i = 0; i < 200; ++i) {
      emitFull(*partition, 0, static_cast<char>('a' + i % 26));
      if (i % 50 == 49) partition->broadcastEvent(CancelCheckpointMarker{i});
      partition->flushAll();
      EXPECT_EQ(asText(next(end).buffer), std::string(64, static_cast<char>('a' + i % 26)));
      if (i % 50 == 49) {
        EXPECT_EQ(next(end).buffer.dataType(), DataType::EVENT_BUFFER);
      }
    }
  });
}

TEST_F(TlsConnection, ManyChannelsAtOnceFillTheSocketAndLoseNothing) {
  options.sendReceiveBufferSize = 4096;
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(20);
    for (uint32_t i = 0; i < 20; ++i) connect("tm1", i);
    for (int round = 0; round < 50; ++round) {
      for (uint32_t i = 0; i < 20; ++i) emitFull(*partition, i, static_cast<char>('a' + (i + static_cast<uint32_t>(round)) % 26));
      partition->flushAll();
      for (uint32_t i = 0; i < 20; ++i)
        EXPECT_EQ(asText(next(*channels[i]).buffer), std::string(64, static_cast<char>('a' + (i + static_cast<uint32_t>(round)) % 26)));
    }
  });
}

TEST_F(TlsConnection, AConnectionThatIsClosedEndsAsInTheClear) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connect("tm1");
    emitFull(*partition);
    partition->flushAll();
    (void)next(end);
    stop(tm1);
    // Which one depends on whether credit was still unread, as in the clear.
    EXPECT_THAT(failureOf(end), AnyOf(HasSubstr("Connection unexpectedly closed by remote task manager 'tm1'."),
                                      HasSubstr("Lost connection to task manager 'tm1'.")));
    tm1 = manager("tm1", producer.manager);
  });
}

TEST_F(TlsConnection, AReaderInTheClearIsRefusedWithOneLine) {
  run([&](ExecutionContext&) {
    (void)failureOfReaderWith(nullptr);
    awaitUntil("its end is gone", [&] { return tm1->openEnds() == 0; });
    EXPECT_EQ(log.count(LogLevel::kError), 1u) << log.text();
    EXPECT_THAT(log.text(), AllOf(HasSubstr("tm1 closes its connection from 127.0.0.1:"), HasSubstr("the TLS handshake has failed: ")));
  });
}

TEST_F(TlsConnection, AReaderWithAnotherCertificateIsRefusedWithOneLine) {
  run([&](ExecutionContext&) {
    const std::string failure = failureOfReaderWith(contextOf(stranger(), cluster()));
    EXPECT_THAT(failure, HasSubstr("Connecting to remote task manager '127.0.0.1:"));
    awaitUntil("its end is gone", [&] { return tm1->openEnds() == 0; });
    EXPECT_EQ(log.count(LogLevel::kError), 1u) << log.text();
    EXPECT_THAT(log.text(), HasSubstr("certificate verify failed"));
  });
}

TEST_F(TlsConnection, AReaderThatDoesNotTrustTheProducerSaysWhy) {
  run([&](ExecutionContext&) {
    EXPECT_THAT(failureOfReaderWith(contextOf(cluster(), stranger())),
                AllOf(HasSubstr("has failed."), HasSubstr("the TLS handshake has failed: certificate verify failed")));
  });
}

TEST_F(TlsConnection, APeerThatSaysNothingIsLeftAfterTheHandshakeTimeout) {
  TlsOptions its;
  const auto store = [](const std::string& bytes) { return TlsStore{"pem", TlsStore::Type::kPem, {bytes.begin(), bytes.end()}, "", ""}; };
  its.keys = store(cluster().pem());
  its.trusted = store(cluster().certificatePem());
  its.handshakeTimeout = Millis(30);
  options.tls = TlsContext::create(its).value();
  run([&](ExecutionContext&) {
    RawPeer silent = connectRaw();
    EXPECT_FALSE(silent.read()) << "closed";
    awaitUntil("its end is gone", [&] { return tm1->openEnds() == 0; });
    EXPECT_THAT(log.text(), HasSubstr("no TLS handshake within 30 ms"));
  });
}

}  // namespace
}  // namespace weir
