/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on eight subtables at a time, for tuple and Bloom search (rules_tuple.shader.h, rules_bloom.shader.h).
 * With hundreds of subtables, nearly all of the thousands of cycles of a lookup are spent here. For AVX2 there are
 * intrinsics, because compilers emit three times as many instructions for the loops over lanes. Other targets use the
 * loops.
 *
 * The words of a group form rows of eight, one word per subtable: its mask word by word, its salt, its filter, its
 * prefilter. A lane may have no subtable, or a subtable that is newer than the list. Such a lane is computed with the
 * others, and its answer is ignored. */
#ifndef PENUMBRA_SHADERS_RULES_TUPLE_CLASS_GROUP_H
#define PENUMBRA_SHADERS_RULES_TUPLE_CLASS_GROUP_H

#include "tables/cuckoo/cuckoo.shader.h"
#include "tables/rules/rules.shader.h"

/* ThreadSanitizer needs loads like those of penumbra_load(), not intrinsics. */
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
  RULES_TUPLE_GROUP = 8, /* subtables that are processed together */
  RULES_GROUP_SALT = 0,  /* rows after the rows of the masks */
  RULES_GROUP_FILTER = 1,
  RULES_GROUP_PREFILTER = 2,
  RULES_GROUP_ROWS = 3,
  RULES_TUPLE_DIGEST_BITS = 53,
  RULES_BLOOM_BEGIN = 32, /* bit of a subtable's `filter` at which the number of its first word begins */
  RULES_BLOOM_FOLDS = 3,
  RULES_BLOOM_HASHES = 4,     /* bits that a value sets */
  RULES_PREFILTER_HASHES = 2, /* bits that a half of a word of the value sets */
  RULES_PREFILTER_HALF = 32,  /* bit of a subtable's `prefilter` at which the number of its half begins (4 bits) */
  RULES_PREFILTER_BITS = 36,  /* bit at which b begins (5 bits): there are 2^b words of 64 bits */
  /* Bit at which half the number of the first word begins; the lowest bits are the mask's half. */
  RULES_PREFILTER_BEGIN = 41
};

/* Returns the index of a row of the group with place `at` of the list. Rows 0 to words - 1 are mask words. The word of
 * the subtable at `at` is `at % RULES_TUPLE_GROUP` further on. */
PENUMBRA_SHADER uint64_t rules_group_row(uint32_t at, uint32_t row, uint32_t words) {
  return ((uint64_t)(at / RULES_TUPLE_GROUP) * (words + RULES_GROUP_ROWS) + row) * RULES_TUPLE_GROUP;
}

/* Returns a keyed hash of a key under a mask, whose words are `distance` apart. The sum is NH (Black, Halevi,
 * Krawczyk, Krovetz, Rogaway: UMAC: Fast and Secure Message Authentication, CRYPTO 1999) of the halves of words. Two
 * different values have equal sums with probability 2^-31 over the secrets, whose halves are odd. NH takes one
 * 32-bit product per word, for which a GPU has an instruction. The multiplication by the factor makes the upper bits
 * depend on all bits. */
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

/* Returns the digest of a hash: the upper bits of the hash become the lowest bits, which choose the bucket. */
PENUMBRA_SHADER uint64_t rules_tuple_digest(uint64_t hash) {
  const uint64_t lower = (uint64_t)1 << (RULES_TUPLE_DIGEST_BITS - 32);
  return hash >> 32 | (hash >> 11 & (lower - 1)) << 32;
}

#if RULES_GROUP_AVX2
/* Loads a row of four subtables from lane `lane` on. */
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

/* Computes the digests of a key under the masks of the group whose rows begin at `group`. */
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

/* Returns one bit for each digest, set if the digest may be in the table by the marks of its first bucket. */
PENUMBRA_SHADER uint32_t rules_group_may_have(const struct cuckoo_table_view* cuckoo, const uint64_t* digest) {
  const uint64_t places = ((uint64_t)1 << cuckoo->bits) - 1;
  uint32_t may_have = 0;
#if RULES_GROUP_AVX2
  /* Copies the lowest byte to all bytes except the count, where 0 must compare equal to a count of 0. */
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
    const __m256i neither = _mm256_cmpeq_epi64(equal, count); /* only the byte of a count of 0 is equal */
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

/* Returns the hash for filters: a sum of products of the halves of words, each XORed with a secret. The halves of
 * the sum are XORed so that every bit depends on many. The words of wide keys are first XORed to RULES_BLOOM_FOLDS
 * words. Two values with different digests may then have equal hashes, which costs a lookup, and an attacker can
 * construct such headers. In return, five words take 16 operations, three of them products, and not the digest's 25
 * operations. */
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

/* Returns the number of words of a filter: 2^b, or 0 without a filter. */
PENUMBRA_SHADER uint32_t rules_bloom_words(uint64_t filter) {
  return (uint32_t)filter;
}

PENUMBRA_SHADER uint64_t rules_bloom_word(uint64_t filter, uint32_t hash) {
  return (filter >> RULES_BLOOM_BEGIN) + ((uint64_t)hash * rules_bloom_words(filter) >> 32);
}

/* Returns the position of one of a value's bits in its word. Two bits are in each half. */
PENUMBRA_SHADER uint32_t rules_bloom_bit(uint32_t hash, uint32_t function) {
  return (hash >> (5 * function) & 31) + 32 * (function / 2);
}

/* Returns in the lowest bit whether a subtable with `filter` may have a value of this hash. */
PENUMBRA_SHADER uint32_t rules_bloom_may_have(const uint64_t* filters, uint64_t filter, uint32_t hash) {
  const uint64_t bits = penumbra_load(&filters[rules_bloom_word(filter, hash)]);
  return (uint32_t)(bits >> rules_bloom_bit(hash, 0) & bits >> rules_bloom_bit(hash, 1) &
                    bits >> rules_bloom_bit(hash, 2) & bits >> rules_bloom_bit(hash, 3)) &
         1;
}

/* Returns the half of a word that a prefilter uses. Half 2 w is the lower half of word w, and half 2 w + 1 is the upper
 * half. */
PENUMBRA_SHADER uint32_t rules_prefilter_half(uint64_t prefilter) {
  return (uint32_t)(prefilter >> RULES_PREFILTER_HALF) & 15;
}

/* Returns the hash for prefilters: one product, with its halves XORed. */
PENUMBRA_SHADER uint32_t rules_prefilter_hash(const uint64_t* secret, const uint64_t* key, uint64_t prefilter) {
  const uint32_t half = rules_prefilter_half(prefilter);
  const uint32_t masked = (uint32_t)(key[half / 2] >> (32 * (half % 2))) & (uint32_t)prefilter;
  const uint64_t product = (uint64_t)masked * (uint32_t)secret[0];
  return (uint32_t)(product ^ product >> 32);
}

/* Returns the right shift of a hash that gives the index of a half of a word in the prefilter. */
PENUMBRA_SHADER uint32_t rules_prefilter_shift(uint64_t prefilter) {
  return ((uint32_t)(prefilter >> RULES_PREFILTER_BITS) & 31) ^ 31;
}

/* Returns the index of the half of a word, counted from the lower half of the first word of all filters. */
PENUMBRA_SHADER uint32_t rules_prefilter_place(uint64_t prefilter, uint32_t hash) {
  return 4 * (uint32_t)(prefilter >> RULES_PREFILTER_BEGIN) + (hash >> rules_prefilter_shift(prefilter));
}

/* Returns in the lowest bit whether a subtable with `prefilter` may have a key of this hash. */
PENUMBRA_SHADER uint32_t rules_prefilter_may_have(const uint64_t* filters, uint64_t prefilter, uint32_t hash) {
  const uint32_t place = rules_prefilter_place(prefilter, hash);
  const uint32_t bits = (uint32_t)(penumbra_load(&filters[place / 2]) >> (32 * (place % 2)));
  return bits >> (hash & 31) & bits >> (hash >> 5 & 31) & 1;
}

#if RULES_GROUP_AVX2
/* Returns the halves of the key's words for eight lanes. */
static inline __m256i rules_prefilter_halves8(const uint64_t* key, uint32_t words, __m256i half) {
  if (words <= 2) {
    return _mm256_permutevar8x32_epi32(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)key)), half);
  }
  const __m256i first = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i*)key), half);
  const __m256i last = _mm256_permutevar8x32_epi32(_mm256_set1_epi64x((long long)key[words - 1]), half);
  return _mm256_blendv_epi8(first, last, _mm256_cmpgt_epi32(half, _mm256_set1_epi32(7)));
}

/* Computes rules_prefilter_hash() for eight lanes. */
static inline __m256i rules_prefilter_hash8(const uint64_t* secret, __m256i masked) {
  const __m256i factor = _mm256_set1_epi64x((long long)(secret[0] & 0xFFFFFFFF));
  const __m256i even = _mm256_mul_epu32(masked, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(masked, 32), factor);
  return _mm256_blend_epi32(_mm256_xor_si256(even, _mm256_srli_epi64(even, 32)),
                            _mm256_xor_si256(odd, _mm256_slli_epi64(odd, 32)), 0xAA);
}
#endif

/* Returns one bit for each subtable of a group, set if its prefilter passes the key. */
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
