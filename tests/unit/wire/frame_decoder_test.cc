#include <gmock/gmock.h>

#include "wire_fixture.h"

namespace weir {
namespace {

using namespace test;
using Step = FrameDecoder::Step;
using ::testing::HasSubstr;

const InputChannelID kReceiver = InputChannelID::of(1, 2);

Bytes someBytes(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  return bytes;
}
BufferResponse data(size_t size) { return {kReceiver, 5, 3, Buffer::copyOf(someBytes(size), DataType::DATA_BUFFER)}; }

/// What the decoder says of `message` with the byte at `at` replaced by `value`.
std::string saidOf(const NetworkMessage& message, size_t at, uint8_t value, FrameLimits limits = {}) {
  Bytes bytes = encoded(message);
  bytes.at(at) = value;
  const Decoded decoded = decodeAll(senderOf(message), bytes, SIZE_MAX, limits);
  return decoded.error ? decoded.error->message : "nothing";
}

TEST(FrameDecoder, AsksForABufferWhenTheFieldsAreThereAndTakesNothingUntilItHasOne) {
  FrameDecoder decoder(FrameSender::kProducer);
  const Bytes frame = encoded(data(100));
  std::span<const uint8_t> bytes(frame);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(decoder.decode(bytes).value(), Step::kNeedBuffer);
    EXPECT_EQ(bytes.size(), 100u) << "the payload stays with the caller";
  }
  EXPECT_EQ(decoder.payloadSize(), 100u);
  EXPECT_EQ(decoder.response().receiver, kReceiver);
  EXPECT_EQ(decoder.response().sequenceNumber, 5);
  EXPECT_EQ(decoder.response().backlog, 3);

  MemorySegment* const segment = MemorySegment::allocate(4096);
  decoder.provide(segment);
  EXPECT_EQ(decoder.decode(bytes).value(), Step::kMessage);
  const auto response = std::get<BufferResponse>(decoder.take());
  EXPECT_EQ(response.buffer.segment(), segment);
  EXPECT_EQ(Bytes(response.buffer.bytes().begin(), response.buffer.bytes().end()), someBytes(100));
}

TEST(FrameDecoder, LetsASocketReadStraightIntoTheSegment) {
  FrameDecoder decoder(FrameSender::kProducer);
  const Bytes frame = encoded(data(100));
  std::span<const uint8_t> head = std::span(frame).first(kBufferResponseHeadSize);
  EXPECT_TRUE(decoder.payloadRoom().empty());
  ASSERT_EQ(decoder.decode(head).value(), Step::kNeedBuffer);
  MemorySegment* const segment = MemorySegment::allocate(4096);
  decoder.provide(segment);

  EXPECT_EQ(decoder.payloadRoom().data(), segment->data());
  size_t from = kBufferResponseHeadSize;
  for (const size_t size : {30u, 1u, 69u}) {
    ASSERT_EQ(decoder.payloadRoom().size(), frame.size() - from);
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(from), size, decoder.payloadRoom().begin());
    decoder.payloadArrived(size);
    from += size;
    std::span<const uint8_t> none;
    EXPECT_EQ(decoder.decode(none).value(), from == frame.size() ? Step::kMessage : Step::kNeedMore);
  }
  EXPECT_EQ(encoded(decoder.take()), frame);
  EXPECT_EQ(decoder.offset(), frame.size());
}

TEST(FrameDecoder, SkipsAPayloadThatNobodyWants) {
  Bytes stream = encoded(data(1000));
  const Bytes next = encoded(BacklogAnnouncement{kReceiver, 4});
  stream.insert(stream.end(), next.begin(), next.end());
  for (const size_t slice : {1u, 64u, 5000u}) {
    FrameDecoder decoder(FrameSender::kProducer);
    std::vector<Step> steps;
    for (size_t at = 0; at < stream.size(); at += slice) {
      std::span<const uint8_t> bytes = std::span(stream).subspan(at, std::min(slice, stream.size() - at));
      for (Step step = decoder.decode(bytes).value(); step != Step::kNeedMore; step = decoder.decode(bytes).value()) {
        steps.push_back(step);
        if (step == Step::kNeedBuffer) decoder.discard();
        EXPECT_EQ(decoder.response().sequenceNumber, 5) << "numbers are still counted";
        if (step == Step::kMessage) {
          EXPECT_EQ(describe(decoder.take()), describe(BacklogAnnouncement{kReceiver, 4}));
        }
      }
    }
    EXPECT_THAT(steps, ::testing::ElementsAre(Step::kNeedBuffer, Step::kDiscarded, Step::kMessage));
  }
}

TEST(FrameDecoder, AsksForABufferForEmptyDataTooSoThatItsCreditComesBack) {
  FrameDecoder decoder(FrameSender::kProducer);
  const Bytes frame = encoded(data(0));
  std::span<const uint8_t> bytes(frame);
  EXPECT_EQ(decoder.decode(bytes).value(), Step::kNeedBuffer);
  decoder.provide(MemorySegment::allocate(16));
  EXPECT_EQ(decoder.decode(bytes).value(), Step::kMessage);
}

TEST(FrameDecoder, GivesEventsMemoryOfTheirOwn) {
  FrameDecoder decoder(FrameSender::kProducer);
  const Bytes frame = encoded(BufferResponse{kReceiver, 0, 0, Buffer::copyOf(someBytes(4), DataType::END_OF_PARTITION)});
  std::span<const uint8_t> bytes(frame);
  EXPECT_EQ(decoder.decode(bytes).value(), Step::kMessage) << "without a buffer";
  EXPECT_EQ(std::get<BufferResponse>(decoder.take()).buffer.segment()->capacity(), 4u);
}

TEST(FrameDecoder, GivesBackTheSegmentOfAPayloadThatNeverCameWhole) {
  MemorySegment* const segment = MemorySegment::allocate(100);
  segment->retain();
  {
    FrameDecoder decoder(FrameSender::kProducer);
    const Bytes frame = encoded(data(100));
    std::span<const uint8_t> bytes = std::span(frame).first(80);
    ASSERT_EQ(decoder.decode(bytes).value(), Step::kNeedBuffer);
    decoder.provide(segment);
    ASSERT_EQ(decoder.decode(bytes).value(), Step::kNeedMore);
    EXPECT_EQ(segment->references(), 2u);
  }
  EXPECT_EQ(segment->references(), 1u);
  segment->release();
}

TEST(FrameDecoder, StaysBrokenAfterAViolation) {
  FrameDecoder decoder(FrameSender::kConsumer);
  const Bytes bad = fromHex("00000009badc0ffe0c");
  std::span<const uint8_t> bytes(bad);
  const std::string said = decoder.decode(bytes).error().message;
  const Bytes good = encoded(CloseRequest{});
  bytes = good;
  EXPECT_EQ(decoder.decode(bytes).error().message, said);
}

TEST(FrameDecoder, CountsOffsetsFromTheBeginningOfTheConnection) {
  Bytes stream = encoded(ResumeConsumption{kReceiver});
  const Bytes bad = fromHex("00000009badc0ffe0c");
  stream.insert(stream.end(), bad.begin(), bad.end());
  const Decoded decoded = decodeAll(FrameSender::kConsumer, stream);
  ASSERT_TRUE(decoded.error);
  EXPECT_EQ(decoded.error->message, "The peer breaks the protocol at byte 33 of the connection: there is no message with the id 12.");
  EXPECT_EQ(decoded.messages.size(), 1u) << "what came before counts";
}

TEST(FrameDecoder, TakesOnlyMessagesOfTheOtherSide) {
  for (const NetworkMessage& message : std::vector<NetworkMessage>{AddCredit{kReceiver, 1}, CloseRequest{}, SegmentId{kReceiver, 0, 1}})
    EXPECT_THAT(decodeAll(FrameSender::kProducer, encoded(message)).error->message, HasSubstr("is no message of a producer"))
        << nameOf(message);
  for (const NetworkMessage& message : std::vector<NetworkMessage>{BacklogAnnouncement{kReceiver, 1}, data(1)})
    EXPECT_THAT(decodeAll(FrameSender::kConsumer, encoded(message)).error->message, HasSubstr("is no message of a consumer"))
        << nameOf(message);
}

TEST(FrameDecoder, RefusesNegativeAndImpossibleNumbersOfABufferResponse) {
  EXPECT_THAT(saidOf(data(4), 25, 0x80), HasSubstr("byte 25 of the connection: BufferResponse has a subpartition of -2147483648"));
  EXPECT_THAT(saidOf(data(4), 29, 0xff),
              HasSubstr("byte 29 of the connection: BufferResponse has a number of partial buffers of -16777216"));
  EXPECT_THAT(saidOf(data(4), 37, 0x80), HasSubstr("byte 37 of the connection: BufferResponse has a backlog of -2147483645"));
  EXPECT_THAT(saidOf(data(4), 41, 0), HasSubstr("byte 41 of the connection: BufferResponse has the data type 0, which does not exist"));
  EXPECT_THAT(saidOf(data(4), 42, 2), HasSubstr("byte 42 of the connection: BufferResponse has a flag 'compressed' of 2"));
  EXPECT_THAT(saidOf(data(4), 46, 3), HasSubstr("byte 43 of the connection: BufferResponse has 3 bytes of payload"));
  EXPECT_EQ(saidOf(data(4), 33, 0x80), "nothing") << "sequence numbers go on below zero after the largest";
  const BufferResponse event{kReceiver, 0, 0, Buffer::copyOf(someBytes(4), DataType::EVENT_BUFFER)};
  EXPECT_THAT(saidOf(event, 42, 1), HasSubstr("byte 42 of the connection: BufferResponse has an event that is compressed"));
  EXPECT_THAT(saidOf(event, 32, 1),
              HasSubstr("byte 29 of the connection: BufferResponse has 1 partial buffers in a EVENT_BUFFER, of which 0"));
}

TEST(FrameDecoder, RefusesPartialBuffersThatDoNotAddUp) {
  BufferResponse glued = data(21);
  glued.partialSizes = {7, 14};
  EXPECT_EQ(saidOf(glued, 50, 7), "nothing");
  EXPECT_THAT(saidOf(glued, 50, 8),
              HasSubstr("byte 47 of the connection: BufferResponse has partial buffers of 22 bytes in a payload of 21"));
  EXPECT_THAT(saidOf(glued, 51, 0x80), HasSubstr("byte 51 of the connection: BufferResponse has a partial buffer's size of -2147483634"));
}

TEST(FrameDecoder, RefusesWhatIsLongerThanItsLimits) {
  const FrameLimits limits{.payload = 100, .event = 50, .partials = 1, .error = 200};
  const auto said = [&](const NetworkMessage& message) {
    const Decoded decoded = decodeAll(senderOf(message), encoded(message), SIZE_MAX, limits);
    return decoded.error ? decoded.error->message : "nothing";
  };
  EXPECT_EQ(said(data(100)), "nothing");
  EXPECT_THAT(said(data(101)),
              HasSubstr("byte 43 of the connection: BufferResponse has 101 bytes of DATA_BUFFER, of which 100 are allowed"));
  EXPECT_THAT(said(data(1000)), HasSubstr("byte 0 of the connection: BufferResponse has 1047 bytes, which must be 47 to 151"));
  EXPECT_THAT(said(BufferResponse{kReceiver, 0, 0, Buffer::copyOf(someBytes(51), DataType::EVENT_BUFFER)}),
              HasSubstr("byte 43 of the connection: BufferResponse has 51 bytes of EVENT_BUFFER, of which 50 are allowed"));
  BufferResponse glued = data(2);
  glued.partialSizes = {1, 1};
  EXPECT_THAT(said(glued), HasSubstr("byte 29 of the connection: BufferResponse has 2 partial buffers in a DATA_BUFFER, of which 1"));
  EXPECT_THAT(said(TaskEventRequest{{}, kReceiver, someBytes(51)}), HasSubstr("byte 0 of the connection: TaskEventRequest has 140 bytes"));
  EXPECT_THAT(said(ErrorResponse{{}, std::make_shared<Throwable>("a", std::string(200, 'x'))}), HasSubstr("ErrorResponse has 227 bytes"));
}

TEST(FrameDecoder, RefusesATaskEventThatDoesNotFitItsFrame) {
  const TaskEventRequest request{{}, kReceiver, someBytes(20)};
  EXPECT_THAT(saidOf(request, 12, 19), HasSubstr("TaskEventRequest has 1 bytes too many"));
  EXPECT_THAT(saidOf(request, 12, 21), HasSubstr("TaskEventRequest ends 1 bytes early"));
  EXPECT_THAT(saidOf(request, 12, 200), HasSubstr("byte 9 of the connection: TaskEventRequest has an event of 200 bytes, with 96 left"));
  EXPECT_THAT(saidOf(request, 9, 0xff), HasSubstr("byte 9 of the connection: TaskEventRequest has an event of -16777196 bytes"));
}

TEST(FrameDecoder, RefusesNegativePartsOfAPartition) {
  const PartitionRequest request{{}, 0, kReceiver, 1};
  EXPECT_THAT(saidOf(request, 25, 0x80), HasSubstr("byte 25 of the connection: PartitionRequest has a partition of"));
  EXPECT_THAT(saidOf(request, 61, 0x80), HasSubstr("byte 61 of the connection: PartitionRequest has a subtask of"));
  EXPECT_THAT(saidOf(request, 65, 0x80), HasSubstr("byte 65 of the connection: PartitionRequest has a attempt of"));
  EXPECT_THAT(saidOf(request, 69, 0x80), HasSubstr("byte 69 of the connection: PartitionRequest has a first subpartition of"));
}

TEST(ErrorFrame, CarriesTheChainOfCausesAndItsReceiver) {
  const auto cause = std::make_shared<Throwable>(
      "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException", "Partition p@q not found.",
      std::make_shared<Throwable>("java.io.IOException", "", std::make_shared<Throwable>("java.lang.Exception", "Ärger")));
  for (const ErrorResponse& error : {ErrorResponse{kReceiver, cause}, ErrorResponse{{}, cause}}) {
    const Decoded decoded = decodeAll(FrameSender::kProducer, encoded(error), 1);
    ASSERT_FALSE(decoded.error) << decoded.error->message;
    const auto& read = std::get<ErrorResponse>(decoded.messages.at(0));
    EXPECT_EQ(read.receiver, error.receiver);
    EXPECT_EQ(read.cause->className(), cause->className());
    EXPECT_EQ(read.cause->trace(), cause->trace());
  }
}

TEST(ErrorFrame, CutsWhatIsTooLongSoThatEveryErrorCanBeTold) {
  std::string text(kMaxErrorMessage - 1, 'x');
  text += "ä and more";
  std::shared_ptr<const Throwable> cause;
  for (size_t i = 0; i < 2 * kMaxErrorChain; ++i) cause = std::make_shared<Throwable>(std::string(5000, 'c'), text, cause);
  const Bytes frame = encoded(ErrorResponse{{}, cause});
  EXPECT_LE(frame.size(), FrameLimits().error);
  const Decoded decoded = decodeAll(FrameSender::kProducer, frame);
  ASSERT_FALSE(decoded.error) << decoded.error->message;
  size_t causes = 0;
  for (auto at = std::get<ErrorResponse>(decoded.messages.at(0)).cause; at; at = at->cause(), ++causes) {
    EXPECT_EQ(at->className().size(), kMaxErrorClass);
    EXPECT_EQ(at->message(), std::string(kMaxErrorMessage - 1, 'x')) << "no half character at the end";
  }
  EXPECT_EQ(causes, kMaxErrorChain);
}

TEST(ErrorFrame, OfAnotherFormIsRefused) {
  const ErrorResponse error{{}, std::make_shared<Throwable>("a", "b")};
  EXPECT_THAT(saidOf(error, 9, 'X'), HasSubstr("byte 9 of the connection: ErrorResponse has an exception of an unknown form 58454952"));
  EXPECT_THAT(saidOf(error, 16, 0), HasSubstr("byte 13 of the connection: ErrorResponse has a number of exceptions of 0"));
  EXPECT_THAT(saidOf(error, 16, 33), HasSubstr("byte 13 of the connection: ErrorResponse has 33 exceptions, of which 32 are allowed"));
  EXPECT_THAT(saidOf(error, 20, 60), HasSubstr("byte 17 of the connection: ErrorResponse has a class name of 60 bytes, with 7 left"));
  EXPECT_THAT(saidOf(error, 27, 2), HasSubstr("byte 27 of the connection: ErrorResponse has a flag 'has a receiver' of 2"));
  EXPECT_THAT(saidOf(error, 27, 1), HasSubstr("ErrorResponse ends 16 bytes early"));
}

TEST(FrameEncoderDeathTest, RefusesToMakeWhatNoFrameMayCarry) {
  EXPECT_DEATH(encoded(AddCredit{kReceiver, 0}), "number > 0");
  EXPECT_DEATH(encoded(BacklogAnnouncement{kReceiver, 0}), "number > 0");
  EXPECT_DEATH(encoded(NewBufferSize{kReceiver, -1}), "number > 0");
  EXPECT_DEATH(encoded(SegmentId{kReceiver, 0, 0}), "number > 0");
  EXPECT_DEATH(encoded(PartitionRequest{{}, 0, kReceiver, -1}), "m.credit >= 0");
  EXPECT_DEATH(encoded(BufferResponse{kReceiver, 0, 0, {}}), "NONE");
}

}  // namespace
}  // namespace weir
