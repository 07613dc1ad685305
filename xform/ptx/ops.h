/* SPDX-License-Identifier: MIT */
/*
 * The instructions and special registers of PTX, up to version 9.0, as tables
 * to expand. PTX_OPS: X(name, results, class), where `results` is how many of
 * the leading operands are written. An instruction that isn't here is read and
 * kept all the same (PTX_OP_OTHER) and taken for the worst.
 */
#ifndef GSX_PTX_OPS_H
#define GSX_PTX_OPS_H

/* What an instruction is to the analyses. addc and its kin also read the carry. */
#define PTX_PURE	0x001u	/* result depends on its operands alone */
#define PTX_LANE	0x002u	/* result differs from lane to lane whatever the operands */
#define PTX_LOAD	0x004u	/* reads memory at its address operand */
#define PTX_STORE	0x008u	/* writes memory at its address operand */
#define PTX_WARP	0x010u	/* the lanes of a warp meet here */
#define PTX_BARRIER	0x020u	/* bar, barrier */
#define PTX_FLOW	0x040u	/* changes where the thread goes on */
#define PTX_ENDS	0x080u	/* ends a function or thread */
#define PTX_ASYNC	0x100u	/* leaves something going on, or state behind */
#define PTX_TEXTURE	0x200u

#define PTX_OPS(X) \
	X(add, 1, PTX_PURE) X(sub, 1, PTX_PURE) X(mul, 1, PTX_PURE) X(mad, 1, PTX_PURE) \
	X(mul24, 1, PTX_PURE) X(mad24, 1, PTX_PURE) X(sad, 1, PTX_PURE) X(div, 1, PTX_PURE) \
	X(rem, 1, PTX_PURE) X(abs, 1, PTX_PURE) X(neg, 1, PTX_PURE) X(min, 1, PTX_PURE) \
	X(max, 1, PTX_PURE) X(popc, 1, PTX_PURE) X(clz, 1, PTX_PURE) X(bfind, 1, PTX_PURE) \
	X(fns, 1, PTX_PURE) X(brev, 1, PTX_PURE) X(bfe, 1, PTX_PURE) X(bfi, 1, PTX_PURE) \
	X(bmsk, 1, PTX_PURE) X(szext, 1, PTX_PURE) X(dp4a, 1, PTX_PURE) X(dp2a, 1, PTX_PURE) \
	X(addc, 1, PTX_LANE) X(subc, 1, PTX_LANE) X(madc, 1, PTX_LANE) X(testp, 1, PTX_PURE) \
	X(copysign, 1, PTX_PURE) X(fma, 1, PTX_PURE) X(rcp, 1, PTX_PURE) X(sqrt, 1, PTX_PURE) \
	X(rsqrt, 1, PTX_PURE) X(sin, 1, PTX_PURE) X(cos, 1, PTX_PURE) X(lg2, 1, PTX_PURE) \
	X(ex2, 1, PTX_PURE) X(tanh, 1, PTX_PURE) X(set, 1, PTX_PURE) X(setp, 1, PTX_PURE) \
	X(selp, 1, PTX_PURE) X(slct, 1, PTX_PURE) X(and, 1, PTX_PURE) X(or, 1, PTX_PURE) \
	X(xor, 1, PTX_PURE) X(not, 1, PTX_PURE) X(cnot, 1, PTX_PURE) X(lop3, 1, PTX_PURE) \
	X(shf, 1, PTX_PURE) X(shl, 1, PTX_PURE) X(shr, 1, PTX_PURE) X(mov, 1, PTX_PURE) \
	X(prmt, 1, PTX_PURE) X(cvta, 1, PTX_PURE) X(cvt, 1, PTX_PURE) X(isspacep, 1, PTX_PURE) \
	X(mapa, 1, PTX_PURE) X(getctarank, 1, PTX_LANE) X(createpolicy, 1, PTX_PURE) \
	X(vadd, 1, PTX_PURE) X(vsub, 1, PTX_PURE) X(vabsdiff, 1, PTX_PURE) \
	X(vmin, 1, PTX_PURE) X(vmax, 1, PTX_PURE) X(vshl, 1, PTX_PURE) X(vshr, 1, PTX_PURE) \
	X(vmad, 1, PTX_PURE) X(vset, 1, PTX_PURE) X(vadd2, 1, PTX_PURE) X(vsub2, 1, PTX_PURE) \
	X(vavrg2, 1, PTX_PURE) X(vabsdiff2, 1, PTX_PURE) X(vmin2, 1, PTX_PURE) \
	X(vmax2, 1, PTX_PURE) X(vset2, 1, PTX_PURE) X(vadd4, 1, PTX_PURE) X(vsub4, 1, PTX_PURE) \
	X(vavrg4, 1, PTX_PURE) X(vabsdiff4, 1, PTX_PURE) X(vmin4, 1, PTX_PURE) \
	X(vmax4, 1, PTX_PURE) X(vset4, 1, PTX_PURE) \
	X(ld, 1, PTX_LOAD) X(ldu, 1, PTX_LOAD) X(st, 0, PTX_STORE) \
	X(atom, 1, PTX_LOAD | PTX_STORE) X(red, 0, PTX_LOAD | PTX_STORE) \
	X(multimem, 1, PTX_LOAD | PTX_STORE) X(prefetch, 0, 0) X(prefetchu, 0, 0) \
	X(applypriority, 0, 0) X(discard, 0, PTX_STORE) X(membar, 0, 0) X(fence, 0, 0) \
	X(cp, 0, PTX_LOAD | PTX_STORE | PTX_ASYNC) X(tensormap, 0, PTX_LOAD | PTX_STORE) \
	X(tex, 1, PTX_TEXTURE) X(tld4, 1, PTX_TEXTURE) X(txq, 1, PTX_TEXTURE) \
	X(istypep, 1, PTX_TEXTURE) X(suld, 1, PTX_TEXTURE) X(sust, 0, PTX_TEXTURE) \
	X(sured, 0, PTX_TEXTURE) X(suq, 1, PTX_TEXTURE) \
	X(bra, 0, PTX_FLOW) X(brx, 0, PTX_FLOW) X(call, 0, 0) \
	X(ret, 0, PTX_FLOW | PTX_ENDS) X(exit, 0, PTX_FLOW | PTX_ENDS) X(trap, 0, PTX_FLOW) \
	X(brkpt, 0, 0) X(pmevent, 0, 0) X(nanosleep, 0, 0) \
	X(bar, 0, PTX_BARRIER) X(barrier, 0, PTX_BARRIER) \
	X(vote, 1, PTX_LANE | PTX_WARP) X(match, 1, PTX_LANE | PTX_WARP) \
	X(shfl, 1, PTX_LANE | PTX_WARP) X(redux, 1, PTX_LANE | PTX_WARP) \
	X(elect, 1, PTX_LANE | PTX_WARP) X(activemask, 1, PTX_LANE) \
	X(wmma, 1, PTX_LANE | PTX_WARP | PTX_LOAD | PTX_STORE) \
	X(mma, 1, PTX_LANE | PTX_WARP) X(ldmatrix, 1, PTX_LANE | PTX_WARP | PTX_LOAD) \
	X(stmatrix, 0, PTX_WARP | PTX_STORE) X(movmatrix, 1, PTX_LANE | PTX_WARP) \
	X(wgmma, 1, PTX_LANE | PTX_WARP | PTX_ASYNC) \
	X(tcgen05, 1, PTX_LANE | PTX_WARP | PTX_ASYNC | PTX_LOAD | PTX_STORE) \
	X(setmaxnreg, 0, PTX_WARP | PTX_ASYNC) X(mbarrier, 1, PTX_LANE | PTX_ASYNC) \
	X(griddepcontrol, 0, PTX_ASYNC) X(clusterlaunchcontrol, 1, PTX_LANE | PTX_ASYNC) \
	X(alloca, 1, PTX_LANE) X(stacksave, 1, PTX_LANE) X(stackrestore, 0, 0)

enum ptx_op {
#define X(name, results, class) PTX_OP_##name,
	PTX_OPS(X)
#undef X
	PTX_OP_OTHER,
	PTX_OP_COUNT = PTX_OP_OTHER
};

/* X(name without %, identifier); vectors are read with .x .y .z or whole */
#define PTX_SPECIALS(X) \
	X(tid) X(ntid) X(laneid) X(warpid) X(nwarpid) X(ctaid) X(nctaid) X(smid) X(nsmid) \
	X(gridid) X(is_explicit_cluster) X(clusterid) X(nclusterid) X(cluster_ctaid) \
	X(cluster_nctaid) X(cluster_ctarank) X(cluster_nctarank) X(lanemask_eq) X(lanemask_le) \
	X(lanemask_lt) X(lanemask_ge) X(lanemask_gt) X(clock) X(clock_hi) X(clock64) \
	X(globaltimer) X(globaltimer_lo) X(globaltimer_hi) X(total_smem_size) \
	X(aggr_smem_size) X(dynamic_smem_size) X(current_graph_exec) \
	X(reserved_smem_offset_begin) X(reserved_smem_offset_end) X(reserved_smem_offset_cap)

enum ptx_special {
#define X(name) PTX_SR_##name,
	PTX_SPECIALS(X)
#undef X
	PTX_SR_envreg,		/* %envreg0 .. %envreg31; operand's imm is the number */
	PTX_SR_pm,		/* %pm0 .., %pm0_64 .. */
	PTX_SR_reserved_smem_offset,	/* %reserved_smem_offset_0, _1 */
	PTX_SR_OTHER		/* begins with % and nothing of that name was declared */
};

#endif
