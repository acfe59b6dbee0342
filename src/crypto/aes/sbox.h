/* SPDX-License-Identifier: Apache-2.0
 *
 * SubBytes of AES on planes of bits, by the circuit of J. Boyar and R. Peralta: A Small Depth-16 Circuit for the AES
 * S-Box (2012) and A New Combinational Logic Minimization Technique (2010). The names are those of the papers, and the
 * inputs x0 and s0 are the uppermost bits. */
#ifndef PENUMBRA_CRYPTO_AES_SBOX_H
#define PENUMBRA_CRYPTO_AES_SBOX_H

#include "penumbra/shader.h"

/* Words of a plane. Four words are a vector register of AVX2. A thread of a GPU has no vectors. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define AES_LANES 1
#else
#define AES_LANES 4
#endif

/* The blocks of crypto/aes/block.h: plane[i] has bit i of every byte. */
struct aes_state {
  uint64_t plane[8][AES_LANES];
};

PENUMBRA_SHADER void aes_substitute(struct aes_state* state) {
  for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
    const uint64_t x0 = state->plane[7][lane], x1 = state->plane[6][lane], x2 = state->plane[5][lane];
    const uint64_t x3 = state->plane[4][lane], x4 = state->plane[3][lane], x5 = state->plane[2][lane];
    const uint64_t x6 = state->plane[1][lane], x7 = state->plane[0][lane];
    /* top linear layer */
    const uint64_t y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3;
    const uint64_t y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5;
    const uint64_t y20 = t1 ^ x1, y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11;
    const uint64_t y19 = y10 ^ y8, y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
    /* middle layer: the inversion in GF(2^8) */
    const uint64_t t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2, t7 = y13 & y16;
    const uint64_t t8 = y5 & y1, t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7, t12 = y9 & y11, t13 = y14 & y17;
    const uint64_t t14 = t13 ^ t12, t15 = y8 & y10, t16 = t15 ^ t12, t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14;
    const uint64_t t20 = t11 ^ t16, t21 = t17 ^ y20, t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18;
    const uint64_t t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22;
    const uint64_t t30 = t23 ^ t24, t31 = t22 ^ t26, t32 = t31 & t30, t33 = t32 ^ t24, t34 = t23 ^ t33;
    const uint64_t t35 = t27 ^ t33, t36 = t24 & t35, t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38;
    const uint64_t t40 = t25 ^ t39, t41 = t40 ^ t37, t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37;
    const uint64_t t45 = t42 ^ t41;
    const uint64_t z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7;
    const uint64_t z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4;
    const uint64_t z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
    /* bottom linear layer */
    const uint64_t t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5;
    const uint64_t t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53;
    const uint64_t t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58;
    const uint64_t t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, t67 = t64 ^ t65, s3 = t53 ^ t66;
    state->plane[7][lane] = t59 ^ t63;
    state->plane[6][lane] = t64 ^ ~s3;
    state->plane[5][lane] = t55 ^ ~t67;
    state->plane[4][lane] = s3;
    state->plane[3][lane] = t51 ^ t66;
    state->plane[2][lane] = t47 ^ t65;
    state->plane[1][lane] = t56 ^ ~t62;
    state->plane[0][lane] = t48 ^ ~t60;
  }
}

/* Applies the inverse of the affine map of FIPS 197, section 5.1.1, to every byte. */
PENUMBRA_SHADER void aes_inverse_affine(struct aes_state* state) {
  for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
    uint64_t x[8];
    for (uint32_t i = 0; i < 8; ++i) x[i] = state->plane[i][lane];
    for (uint32_t i = 0; i < 8; ++i) {
      const uint64_t sum = x[(i + 2) % 8] ^ x[(i + 5) % 8] ^ x[(i + 7) % 8];
      state->plane[i][lane] = i == 0 || i == 2 ? ~sum : sum; /* the constant 0x05 */
    }
  }
}

/* The S-box is the affine map A after the inversion I, which inverts itself. So its inverse, I after A^-1, is A^-1
 * after the S-box after A^-1. */
PENUMBRA_SHADER void aes_inverse_substitute(struct aes_state* state) {
  aes_inverse_affine(state);
  aes_substitute(state);
  aes_inverse_affine(state);
}

#endif
