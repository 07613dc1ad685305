/* SPDX-License-Identifier: MIT */
/* The instructions: one function each, for all types that it comes in. */
#ifndef CPUCUDA_EXEC_H
#define CPUCUDA_EXEC_H

#include "run.h"

#define EXECS(X) \
	X(add) X(sub) X(mul) X(mad) X(mul24) X(mad24) X(div) X(rem) X(abs) X(neg) X(min) X(max) \
	X(sad) X(popc) X(clz) X(bfind) X(fns) X(brev) X(bfe) X(bfi) X(bmsk) X(szext) X(dp4a) \
	X(dp2a) X(and) X(or) X(xor) X(not) X(cnot) X(lop3) X(shf) X(shl) X(shr) X(prmt) \
	X(setp) X(set) X(selp) X(slct) X(mov) X(pack) X(unpack) X(cvta) X(isspacep) \
	X(fadd) X(fsub) X(fmul) X(ffma) X(fdiv) X(frcp) X(fsqrt) X(frsqrt) X(fsin) X(fcos) \
	X(flg2) X(fex2) X(ftanh) X(fabs) X(fneg) X(fmin) X(fmax) X(testp) X(copysign) \
	X(half2) X(cvt) X(cvt2) \
	X(ld) X(st) X(atom) X(copy) X(nothing) X(mapa) X(getctarank) X(alloca) X(stacksave) \
	X(stackrestore) \
	X(bra) X(brx) X(ret) X(exit) X(trap) X(call) X(bar) X(arrive) X(barred) X(cluster_arrive) \
	X(cluster_wait) X(warpsync) X(shfl) X(vote) X(match) X(redux) X(elect) X(activemask) \
	X(tex) X(tld4) X(txq) X(suld) X(sust) X(sured) \
	X(mma) X(wmma_load) X(wmma_store) X(ldmatrix) X(stmatrix) X(movmatrix) \
	X(mbarrier) X(bulk) X(async_arrive) X(video) X(packed) \
	X(printf) X(assertfail) X(malloc) X(free) X(refused)

#define X(name) void exec_##name(struct thread *t, const struct insn *i);
EXECS(X)
#undef X

/* Floats of 16 bits */
float half_to_float(uint16_t h);
uint16_t float_to_half(float f, unsigned int rnd);
uint16_t double_to_half(double f);
float bf16_to_float(uint16_t h);
uint16_t float_to_bf16(float f, unsigned int rnd);
/* The value of a float of any type, and back with the rounding mode. */
double float_value(unsigned int type, uint64_t bits);
uint64_t float_bits(unsigned int type, double v, unsigned int rnd);
/* The value of a source, which .ftz may flush to zero. */
double float_source(const struct insn *i, unsigned int type, uint64_t bits);
bool float_compare(unsigned int op, double a, double b);
bool is_float(unsigned int type);

/* What the last of a warp to come does for all; see warp.c and exec_matrix.c */
void warp_finish(struct thread *t, uint32_t lanes);
void matrix_finish(struct thread *t, uint32_t lanes);
/* One step of an atomic operation on integers: the new value. */
uint64_t atom_update(unsigned int type, unsigned int op, uint64_t old, uint64_t v, uint64_t c);

enum atom_op { A_ADD, A_INC, A_DEC, A_MIN, A_MAX, A_AND, A_OR, A_XOR, A_EXCH, A_CAS };
/* Textures: struct insn.op2, and what is asked for in op. */
#define TEX_LAYERED 0x01u
#define TEX_CUBE 0x02u
#define TEX_LEVEL 0x04u
#define TEX_GRAD 0x08u
#define SURFACE_ELEMENTS 0x10u
enum txq_what { TXQ_WIDTH, TXQ_HEIGHT, TXQ_DEPTH, TXQ_ARRAY_SIZE, TXQ_LEVELS, TXQ_NORMALIZED };
enum surface_outside { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };
/*
 * Matrices: m[] of the instruction is its shape; type, stype, op2, rnd the types of
 * D, A, B, C; of a load or store, type is the element's and op2 says which matrix.
 */
enum matrix_name { M_A, M_B, M_C };
enum matrix_type { M_E4M3 = 64, M_E5M2, M_U4, M_S4, M_B1 };
uint32_t matrix_bits(unsigned int type);	/* of an element */
#define M_WMMA 0x01u	/* op */
#define M_AND 0x02u
enum mbarrier_op { MB_INIT, MB_INVAL, MB_EXPECT, MB_COMPLETE, MB_ARRIVE, MB_DROP, MB_WAIT,
	MB_PENDING };
enum shfl_mode { S_IDX, S_UP, S_DOWN, S_BFLY };
enum vote_mode { V_ALL, V_ANY, V_UNI, V_BALLOT };
enum bool_op { B_NONE, B_AND, B_OR, B_XOR, B_POPC };
enum prmt_mode { P_NONE, P_F4E, P_B4E, P_RC8, P_ECL, P_ECR, P_RC16 };

#endif
