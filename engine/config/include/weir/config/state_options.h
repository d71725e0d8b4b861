#pragma once

#include "weir/config/config_option.h"

// Options of state backends. Flink: StateBackendOptions, RocksDBOptions, RocksDBConfigurableOptions.
namespace weir {

enum class StateBackendType { kHashMap, kRocksDb };
template <>
struct EnumNames<StateBackendType> {
  static constexpr std::string_view className = "state.backend.type";
  /// The older names said where checkpoints went; the state itself was on the heap.
  static constexpr std::array<std::pair<std::string_view, StateBackendType>, 4> names{{{"hashmap", StateBackendType::kHashMap},
                                                                                       {"rocksdb", StateBackendType::kRocksDb},
                                                                                       {"jobmanager", StateBackendType::kHashMap},
                                                                                       {"filesystem", StateBackendType::kHashMap}}};
};

/// Where RocksDB keeps timers. Flink: EmbeddedRocksDBStateBackend.PriorityQueueStateType.
enum class PriorityQueueStateType { kHeap, kRocksDb };
template <>
struct EnumNames<PriorityQueueStateType> {
  static constexpr std::string_view className = "org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend$PriorityQueueStateType";
  static constexpr std::array<std::pair<std::string_view, PriorityQueueStateType>, 2> names{
      {{"HEAP", PriorityQueueStateType::kHeap}, {"ROCKSDB", PriorityQueueStateType::kRocksDb}}};
};

inline constexpr ConfigOption<StateBackendType> kStateBackend{"state.backend.type", StateBackendType::kHashMap};
inline constexpr ConfigOption<std::string> kRocksDbLocalDirectory{"state.backend.rocksdb.localdir"};
inline constexpr ConfigOption<PriorityQueueStateType> kRocksDbTimerService{"state.backend.rocksdb.timer-service.factory",
                                                                           PriorityQueueStateType::kRocksDb};
inline constexpr ConfigOption<int32_t> kRocksDbTransferThreads{"state.backend.rocksdb.checkpoint.transfer.thread.num", 4, complainBelow<1>};
inline constexpr ConfigOption<int32_t> kRocksDbThreads{"state.backend.rocksdb.thread.num", 2, complainBelow<1>};
inline constexpr ConfigOption<MemorySize> kRocksDbWriteBufferSize{"state.backend.rocksdb.writebuffer.size", MemorySize::ofMebiBytes(64)};
inline constexpr ConfigOption<int32_t> kRocksDbWriteBufferCount{"state.backend.rocksdb.writebuffer.count", 2, complainBelow<1>};
inline constexpr ConfigOption<MemorySize> kRocksDbBlockCacheSize{"state.backend.rocksdb.block.cache-size", MemorySize::ofMebiBytes(8)};
inline constexpr ConfigOption<MemorySize> kRocksDbFixedMemoryPerSlot{"state.backend.rocksdb.memory.fixed-per-slot"};

}  // namespace weir
