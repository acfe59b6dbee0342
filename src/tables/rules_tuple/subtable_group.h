/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of eight subtables at a time, for tuple and Bloom search (rules_tuple.shader.h, rules_bloom.shader.h).
 * Of the thousands of cycles that a key takes with hundreds of subtables these are nearly all, and the compiler makes
 * three times as many instructions of the loops over lanes as there are in what stands here for AVX2. Everywhere else
 * the loops serve.
 *
 * The words of a group lie in rows of eight, one for each class: its mask, word by word, its salt, its filter, its
 * prefilter. So a lane whose class has come since the list was read, or that has none, is asked with the others, and
 * the answer is left out.
 */
#ifndef PENUMBRA_SHADERS_RULES_TUPLE_CLASS_GROUP_H
#define PENUMBRA_SHADERS_RULES_TUPLE_CLASS_GROUP_H

#include "tables/cuckoo/cuckoo.shader.h"
#include "tables/rules/rules.shader.h"

/* ThreadSanitizer is shown loads as penumbra_load() makes them. */
#if defined(__has_feature)
#define RULES_GROUP_IS_WATCHED __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define RULES_GROUP_IS_WATCHED 1
#else
#define RULES_GROUP_IS_WATCHED 0
#endif
#if defined(__AVX2__) && !defined(__CUDACC__) && !RULES_GROUP_IS_WATCHED
#define RULES_GROUP_AVX2 1
#include <immintrin.h>
#else
#define RULES_GROUP_AVX2 0
#endif

enum {
  RULES_TUPLE_GROUP = 8, /* subtables that are looked at together */
  RULES_GROUP_SALT = 0,  /* rows behind those of the masks' words */
  RULES_GROUP_FILTER = 1,
  RULES_GROUP_PREFILTER = 2,
  RULES_GROUP_ROWS = 3,
  RULES_TUPLE_DIGEST_BITS = 53,
  RULES_BLOOM_BEGIN = 32, /* of a class's `filter`: the bit where the number of its first word begins */
  RULES_BLOOM_FOLDS = 3,
  RULES_BLOOM_HASHES = 4,     /* bits of a value */
  RULES_PREFILTER_HASHES = 2, /* likewise, of half a word of it */
  RULES_PREFILTER_HALF = 32,  /* of a class's `prefilter`: the bits where the number of that half begins, of 4 bits, */
  RULES_PREFILTER_BITS = 36,  /* b, of 5 bits, if there are 2^b words of 64 bits, */
  RULES_PREFILTER_BEGIN = 41  /* and half the number of the first one; at the bottom is the mask's half */
};

/* Where a row of the group stands that a class is in, `at` its place in the list, by words of a mask: the class's own
 * word of it is `at % RULES_TUPLE_GROUP` further on. */
PENUMBRA_SHADER uint64_t rules_group_row(uint32_t at, uint32_t row, uint32_t words) {
  return ((uint64_t)(at / RULES_TUPLE_GROUP) * (words + RULES_GROUP_ROWS) + row) * RULES_TUPLE_GROUP;
}

/* A keyed hash of a key under a mask, whose words are so far from each other. The sum is NH (Black, Halevi, Krawczyk,
 * Krovetz, Rogaway: UMAC: Fast and Secure Message Authentication, CRYPTO 1999) of its halves of words: whatever two
 * values are, they have one sum with a chance of 2^-31 over the secrets, whose halves are odd. It takes a product of 32
 * bits a word, which a GPU has an instruction for. The factor spreads it: the upper bits depend on all. */
#define RULES_TUPLE_FACTOR 0x9E3779B97F4A7C15U
PENUMBRA_SHADER uint64_t rules_tuple_hash(const uint64_t* secret, const uint64_t* key, const uint64_t* mask,
                                          uint32_t distance, uint32_t words, uint64_t salt) {
  uint64_t sum = salt;
  for (uint32_t word = 0; word < words; ++word) {
    const uint64_t masked = key[word] & penumbra_load(&mask[(uint64_t)(word * distance)]);
    const uint32_t lower = (uint32_t)masked + (uint32_t)secret[word];
    const uint32_t upper = (uint32_t)(masked >> 32) + (uint32_t)(secret[word] >> 32);
    sum += (uint64_t)lower * upper;
  }
  return sum * RULES_TUPLE_FACTOR;
}

/* Of that hash, the upper bits at the bottom: they choose the bucket. */
PENUMBRA_SHADER uint64_t rules_tuple_digest(uint64_t hash) {
  const uint64_t lower = (uint64_t)1 << (RULES_TUPLE_DIGEST_BITS - 32);
  return hash >> 32 | (hash >> 11 & (lower - 1)) << 32;
}

#if RULES_GROUP_AVX2
/* Of four subtables, from the lane `lane` on. */
static inline __m256i rules_group_row4(const uint64_t* group, uint32_t row, uint32_t lane) {
  return _mm256_loadu_si256((const __m256i*)&group[row * RULES_TUPLE_GROUP + lane]);
}

static inline __m256i rules_group_hash4(const uint64_t* secret, const uint64_t* key, const uint64_t* group,
                                        uint32_t words, uint32_t lane) {
  const __m256i factor = _mm256_set1_epi64x((long long)RULES_TUPLE_FACTOR);
  __m256i sum = rules_group_row4(group, words, lane);
  for (uint32_t word = 0; word < words; ++word) {
    const __m256i masked =
        _mm256_and_si256(_mm256_set1_epi64x((long long)key[word]), rules_group_row4(group, word, lane));
    const __m256i both = _mm256_add_epi32(masked, _mm256_set1_epi64x((long long)secret[word]));
    sum = _mm256_add_epi64(sum, _mm256_mul_epu32(both, _mm256_srli_epi64(both, 32)));
  }
  const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(sum, 32), factor),
                                           _mm256_mul_epu32(sum, _mm256_srli_epi64(factor, 32)));
  return _mm256_add_epi64(_mm256_mul_epu32(sum, factor), _mm256_slli_epi64(crossed, 32));
}
#endif

/* The digests under the masks of the group whose rows begin at `group`. */
PENUMBRA_SHADER void rules_group_digests(const uint64_t* secret, const uint64_t* key, const uint64_t* group,
                                         uint32_t words, uint64_t* digest) {
#if RULES_GROUP_AVX2
  const __m256i lower = _mm256_set1_epi64x((1LL << (RULES_TUPLE_DIGEST_BITS - 32)) - 1);
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP; lane += 4) {
    const __m256i hash = rules_group_hash4(secret, key, group, words, lane);
    const __m256i upper = _mm256_slli_epi64(_mm256_and_si256(_mm256_srli_epi64(hash, 11), lower), 32);
    _mm256_storeu_si256((__m256i*)&digest[lane], _mm256_or_si256(_mm256_srli_epi64(hash, 32), upper));
  }
#else
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP; ++lane) {
    const uint64_t salt = penumbra_load(&group[(words + RULES_GROUP_SALT) * RULES_TUPLE_GROUP + lane]);
    digest[lane] = rules_tuple_digest(rules_tuple_hash(secret, key, &group[lane], RULES_TUPLE_GROUP, words, salt));
  }
#endif
}

/* For which of these digests, a bit each, the marks of their first buckets leave it open that they are in the table. */
PENUMBRA_SHADER uint32_t rules_group_may_have(const struct cuckoo_table_view* cuckoo, const uint64_t* digest) {
  const uint64_t places = ((uint64_t)1 << cuckoo->bits) - 1;
  uint32_t may_have = 0;
#if RULES_GROUP_AVX2
  /* The lowest byte to all bytes but the count's, which is to differ from none there. */
  const __m256i spread = _mm256_set_epi64x((long long)0x8008080808080808U, (long long)0x8000000000000000U,
                                           (long long)0x8008080808080808U, (long long)0x8000000000000000U);
  const __m256i count = _mm256_set1_epi64x((long long)((uint64_t)0xFF << CUCKOO_TABLE_ELSEWHERE_AT));
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP; lane += 4) {
    const __m256i marks =
        _mm256_set_epi64x((long long)penumbra_load_first(&cuckoo->bucket[digest[lane + 3] & places].marks),
                          (long long)penumbra_load_first(&cuckoo->bucket[digest[lane + 2] & places].marks),
                          (long long)penumbra_load_first(&cuckoo->bucket[digest[lane + 1] & places].marks),
                          (long long)penumbra_load_first(&cuckoo->bucket[digest[lane] & places].marks));
    const __m256i tags =
        _mm256_srl_epi64(_mm256_loadu_si256((const __m256i*)&digest[lane]), _mm_cvtsi32_si128((int)cuckoo->bits));
    const __m256i equal = _mm256_cmpeq_epi8(marks, _mm256_shuffle_epi8(tags, spread));
    const __m256i neither = _mm256_cmpeq_epi64(equal, count); /* no byte is equal but that of a count of 0 */
    may_have |= (~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(neither)) & 0xF) << lane;
  }
#else
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP; ++lane) {
    const uint64_t marks = penumbra_load_first(&cuckoo->bucket[digest[lane] & places].marks);
    const uint64_t hits = cuckoo_table_hits(marks, cuckoo_table_mark(digest[lane] >> cuckoo->bits));
    may_have |= (uint32_t)((hits | marks >> CUCKOO_TABLE_ELSEWHERE_AT) != 0) << lane;
  }
#endif
  return may_have;
}

/* What filters know a value by: a sum of products of the halves of its words, each first laid over a secret one, and
 * the sum's halves laid over each other so that every bit depends on many. The words of wide keys are first laid over
 * each other too, to RULES_BLOOM_FOLDS: it may take two values for one that the digest tells apart, which costs a
 * look-up, and whoever sends packets can make some so that it does. In return five words take 16 operations in place of
 * the digest's 25, three of them products. */
PENUMBRA_SHADER uint32_t rules_bloom_hash(const uint64_t* secret, const uint64_t* key, const uint64_t* mask,
                                          uint32_t distance, uint32_t words) {
  uint64_t folded[RULES_BLOOM_FOLDS] = {secret[0], secret[1], secret[2]};
  for (uint32_t word = 0; word < words; ++word) {
    folded[word % RULES_BLOOM_FOLDS] ^= key[word] & penumbra_load(&mask[(uint64_t)(word * distance)]);
  }
  uint64_t sum = 0;
  for (uint32_t fold = 0; fold < RULES_BLOOM_FOLDS && fold < words; ++fold) {
    sum += (uint64_t)(uint32_t)folded[fold] * (uint32_t)(folded[fold] >> 32);
  }
  return (uint32_t)(sum ^ sum >> 32);
}

/* Of a class's `filter`, how many words it has: 2^b, or 0 where there is none. */
PENUMBRA_SHADER uint32_t rules_bloom_words(uint64_t filter) {
  return (uint32_t)filter;
}

PENUMBRA_SHADER uint64_t rules_bloom_word(uint64_t filter, uint32_t hash) {
  return (filter >> RULES_BLOOM_BEGIN) + ((uint64_t)hash * rules_bloom_words(filter) >> 32);
}

/* How far the word of a value is shifted for each of its bits to be the lowest one: two are in either half. */
PENUMBRA_SHADER uint32_t rules_bloom_bit(uint32_t hash, uint32_t function) {
  return (hash >> (5 * function) & 31) + 32 * (function / 2);
}

/* In the lowest bit, whether a class with that filter, out of these words, may have a value of that hash. */
PENUMBRA_SHADER uint32_t rules_bloom_may_have(const uint64_t* filters, uint64_t filter, uint32_t hash) {
  const uint64_t bits = penumbra_load(&filters[rules_bloom_word(filter, hash)]);
  return (uint32_t)(bits >> rules_bloom_bit(hash, 0) & bits >> rules_bloom_bit(hash, 1) &
                    bits >> rules_bloom_bit(hash, 2) & bits >> rules_bloom_bit(hash, 3)) &
         1;
}

/* Of a class's `prefilter`, which half of a word it takes: 2 w is the lower half of word w, 2 w + 1 the upper one. */
PENUMBRA_SHADER uint32_t rules_prefilter_half(uint64_t prefilter) {
  return (uint32_t)(prefilter >> RULES_PREFILTER_HALF) & 15;
}

/* What a prefilter knows a key by: one product, whose halves are laid over each other. */
PENUMBRA_SHADER uint32_t rules_prefilter_hash(const uint64_t* secret, const uint64_t* key, uint64_t prefilter) {
  const uint32_t half = rules_prefilter_half(prefilter);
  const uint32_t masked = (uint32_t)(key[half / 2] >> (32 * (half % 2))) & (uint32_t)prefilter;
  const uint64_t product = (uint64_t)masked * (uint32_t)secret[0];
  return (uint32_t)(product ^ product >> 32);
}

/* How far that hash is shifted to leave the number of the prefilter's half of a word. */
PENUMBRA_SHADER uint32_t rules_prefilter_shift(uint64_t prefilter) {
  return ((uint32_t)(prefilter >> RULES_PREFILTER_BITS) & 31) ^ 31;
}

/* The half of a word, counted from the first word's lower one. */
PENUMBRA_SHADER uint32_t rules_prefilter_place(uint64_t prefilter, uint32_t hash) {
  return 4 * (uint32_t)(prefilter >> RULES_PREFILTER_BEGIN) + (hash >> rules_prefilter_shift(prefilter));
}

/* In the lowest bit, whether a class with that prefilter may have a key of that hash. */
PENUMBRA_SHADER uint32_t rules_prefilter_may_have(const uint64_t* filters, uint64_t prefilter, uint32_t hash) {
  const uint32_t place = rules_prefilter_place(prefilter, hash);
  const uint32_t bits = (uint32_t)(penumbra_load(&filters[place / 2]) >> (32 * (place % 2)));
  return bits >> (hash & 31) & bits >> (hash >> 5 & 31) & 1;
}

#if RULES_GROUP_AVX2
/* The halves of a key's words that eight lanes ask for. */
static inline __m256i rules_prefilter_halves8(const uint64_t* key, uint32_t words, __m256i half) {
  if (words <= 2) {
    return _mm256_permutevar8x32_epi32(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)key)), half);
  }
  const __m256i first = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i*)key), half);
  const __m256i last = _mm256_permutevar8x32_epi32(_mm256_set1_epi64x((long long)key[words - 1]), half);
  return _mm256_blendv_epi8(first, last, _mm256_cmpgt_epi32(half, _mm256_set1_epi32(7)));
}

/* rules_prefilter_hash() of eight lanes. */
static inline __m256i rules_prefilter_hash8(const uint64_t* secret, __m256i masked) {
  const __m256i factor = _mm256_set1_epi64x((long long)(secret[0] & 0xFFFFFFFF));
  const __m256i even = _mm256_mul_epu32(masked, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(masked, 32), factor);
  return _mm256_blend_epi32(_mm256_xor_si256(even, _mm256_srli_epi64(even, 32)),
                            _mm256_xor_si256(odd, _mm256_slli_epi64(odd, 32)), 0xAA);
}
#endif

/* For which subtables of a group, a bit each, their prefilters leave it open that they have a rule. */
PENUMBRA_SHADER uint32_t rules_group_prefilter(const uint64_t* secret, const uint64_t* key, const uint64_t* group,
                                               uint32_t words, const uint64_t* filters) {
#if RULES_GROUP_AVX2
  /* In both the lanes are 0, 1, 4, 5, 2, 3, 6, 7. */
  const __m256 first = _mm256_castsi256_ps(rules_group_row4(group, words + RULES_GROUP_PREFILTER, 0));
  const __m256 last = _mm256_castsi256_ps(rules_group_row4(group, words + RULES_GROUP_PREFILTER, 4));
  const __m256i mask = _mm256_castps_si256(_mm256_shuffle_ps(first, last, 0x88));
  const __m256i upper = _mm256_castps_si256(_mm256_shuffle_ps(first, last, 0xDD));
  const __m256i five_bits = _mm256_set1_epi32(31);
  const __m256i key_half = rules_prefilter_halves8(key, words, _mm256_and_si256(upper, _mm256_set1_epi32(15)));
  const __m256i hash = rules_prefilter_hash8(secret, _mm256_and_si256(key_half, mask));
  const __m256i bits = _mm256_and_si256(_mm256_srli_epi32(upper, RULES_PREFILTER_BITS - 32), five_bits);
  const __m256i begin = _mm256_slli_epi32(_mm256_srli_epi32(upper, RULES_PREFILTER_BEGIN - 32), 2);
  const __m256i place = _mm256_add_epi32(begin, _mm256_srlv_epi32(hash, _mm256_xor_si256(bits, five_bits)));
  const __m256i halves = _mm256_i32gather_epi32((const int*)filters, place, 4);
  const __m256i one = _mm256_srlv_epi32(halves, _mm256_and_si256(hash, five_bits));
  const __m256i other = _mm256_srlv_epi32(halves, _mm256_and_si256(_mm256_srli_epi32(hash, 5), five_bits));
  const __m256i open = _mm256_slli_epi32(_mm256_and_si256(one, other), 31);
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_permute4x64_epi64(open, 0xD8)));
#else
  uint32_t may_have = 0;
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP; ++lane) {
    const uint64_t prefilter = penumbra_load_first(&group[(words + RULES_GROUP_PREFILTER) * RULES_TUPLE_GROUP + lane]);
    may_have |= rules_prefilter_may_have(filters, prefilter, rules_prefilter_hash(secret, key, prefilter)) << lane;
  }
  return may_have;
#endif
}

#endif
