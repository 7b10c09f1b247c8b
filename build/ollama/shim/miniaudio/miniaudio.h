// Stands in for the audio decoder that Ollama's module zip leaves out: only the
// names that its sources use. Every call fails, so audio input is refused and
// nothing else changes.
#pragma once

#include <cstddef>
#include <cstdint>

typedef int ma_result;
typedef uint64_t ma_uint64;

enum ma_format { ma_format_f32 = 5 };
enum { MA_SUCCESS = 0, MA_NOT_IMPLEMENTED = -29 };

struct ma_decoder { int none; };
struct ma_decoder_config { int none; };

static inline ma_decoder_config ma_decoder_config_init(ma_format, uint32_t, uint32_t) {
    return {0};
}
static inline ma_result ma_decoder_init_memory(const void *, size_t, const ma_decoder_config *, ma_decoder *) {
    return MA_NOT_IMPLEMENTED;
}
static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) {
    return MA_NOT_IMPLEMENTED;
}
static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) {
    return MA_NOT_IMPLEMENTED;
}
static inline ma_result ma_decoder_uninit(ma_decoder *) {
    return MA_SUCCESS;
}
