package fragment

import (
	"fmt"
	"strings"
)

// warpProbes are instructions that exchange data between lanes.
func warpProbes() []*Probe {
	few := draw{"few", func(p *Probe, s *source, number int, in [][]uint64) {
		for k, t := range p.In {
			for lane := range in[k] {
				in[k][lane] = uint64(s.Intn(2+number%7)) << s.Intn(2) & t.mask()
			}
		}
	}}
	shuffled := draw{"shuffle", func(p *Probe, s *source, number int, in [][]uint64) {
		clamps := []uint64{0x1f, 0, 0x0f, 0x101f, 0x181f, 0x1c1f, 0x1e03}
		for lane := range in[0] {
			in[0][lane], in[1][lane], in[2][lane] = s.word()&0xffffffff, uint64(s.Intn(40)), clamps[number%len(clamps)]
		}
	}}
	return family("warp", warp, []row{
		{pattern: "shfl.sync.{up,down,bfly,idx}.b32", in: "3*b32", out: "2*b32", draw: shuffled,
			doc:  "another lane's word, and whether that lane was in range",
			body: ".reg .pred %p;\nNAME %d0|%p, %a0, %a1, %a2, 0xffffffff;\nselp.u32 %d1, 1, 0, %p;"},
		{pattern: "vote.sync.ballot.b32", in: "b32", out: "b32", draw: few, doc: "a bit of each lane",
			body: ".reg .pred %p;\nsetp.ne.u32 %p, %a0, 0;\nNAME %d0, %p, 0xffffffff;"},
		{pattern: "vote.sync.{all,any,uni}.pred", in: "b32", out: "b32", draw: few,
			doc:  "whether all or any lanes say so, or all the same",
			body: ".reg .pred %p;\nsetp.ne.u32 %p, %a0, 0;\nNAME %p, %p, 0xffffffff;\nselp.u32 %d0, 1, 0, %p;"},
		{pattern: "match.any.sync.b32", in: "b32", out: "b32", draw: few,
			doc: "which lanes have the same word", body: "NAME %d0, %a0, 0xffffffff;"},
		{pattern: "match.all.sync.b32", in: "b32", out: "2*b32", draw: few, doc: "whether all lanes have the same word",
			body: ".reg .pred %p;\nNAME %d0|%p, %a0, 0xffffffff;\nselp.u32 %d1, 1, 0, %p;"},
		{pattern: "redux.sync.{add,min,max}.u32", in: "u32", out: "u32",
			doc: "a sum or extreme over the warp", body: "NAME %d0, %a0, 0xffffffff;"},
		{pattern: "redux.sync.{add,min,max}.s32", in: "s32", out: "s32",
			doc: "a sum or extreme over the warp", body: "NAME %d0, %a0, 0xffffffff;"},
		{pattern: "redux.sync.{and,or,xor}.b32", in: "b32", out: "b32",
			doc: "bits combined over the warp", body: "NAME %d0, %a0, 0xffffffff;"},
	})
}

// matrixProbes move matrices of 8 by 8 halves between shared memory and registers, and words from
// global to shared memory.
func matrixProbes() []*Probe {
	// Each lane has four words, which are its row in shared memory, and the number of the row
	// whose address it passes.
	rows := draw{"rows", func(p *Probe, s *source, number int, in [][]uint64) {
		last := len(in) - 1
		for lane := range warp {
			for k := range last {
				in[k][lane] = s.word() & 0xffffffff
			}
			in[last][lane] = uint64(lane)
		}
		for lane := range warp { // a permutation, or any rows
			if other := s.Intn(warp); number%4 == 3 {
				in[last][lane] = uint64(other)
			} else {
				in[last][lane], in[last][other] = in[last][other], in[last][lane]
			}
		}
	}}
	permuted := draw{"permuted rows", func(p *Probe, s *source, number int, in [][]uint64) { rows.fill(p, s, 0, in) }}
	var all []row
	for _, n := range []int{1, 2, 4} {
		all = append(all,
			row{pattern: fmt.Sprintf("ldmatrix.m8n8.x%d{,.trans}.shared.b16", n), in: "4*b16x2 u32", out: fmt.Sprintf("%d*b16x2", n), draw: rows,
				doc: "matrices from rows anywhere in shared memory", body: loadMatrix(n)},
			row{pattern: fmt.Sprintf("stmatrix.m8n8.x%d.shared.b16", n), in: fmt.Sprintf("%d*b16x2 u32", n), out: "4*b16x2", draw: permuted,
				target: "sm_90", doc: "matrices to rows anywhere in shared memory", body: storeMatrix(n), model: storeMatrixModel(false)},
			row{pattern: fmt.Sprintf("stmatrix.m8n8.x%d.trans.shared.b16", n), in: fmt.Sprintf("%d*b16x2 u32", n), out: "4*b16x2", draw: permuted,
				target: "sm_90", doc: "matrices to rows anywhere in shared memory", body: storeMatrix(n), model: storeMatrixModel(true)})
	}
	all = append(all, row{pattern: "movmatrix.m8n8.trans.b16", in: "b16x2", out: "b16x2", doc: "a matrix in registers, transposed",
		body: "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;"})
	for _, c := range []struct {
		cache string
		bytes int
	}{{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}} {
		all = append(all, row{pattern: fmt.Sprintf("cp.async.%s.shared.global %d", c.cache, c.bytes), in: "4*b32 u32", out: "4*b32", draw: lengths(c.bytes),
			doc: "a copy to shared memory of which a part may be zeros", body: copyAsync(c.cache, c.bytes)})
	}
	probes := family("matrix", warp, all)
	for _, p := range probes {
		op, rest, _ := strings.Cut(p.Name, ".")
		p.body = strings.ReplaceAll(p.body, "MATRIX", op+".sync.aligned."+rest)
		p.thin = 2
	}
	return probes
}

// tile begins both directions: shared memory, the lane's row in it, and the row whose address it
// passes.
const tile = `.shared .align 16 .b8 tile[512];
.reg .b32 %tile, %own, %row;
mov.u32 %tile, tile;
mad.lo.u32 %own, %thread, 16, %tile;
`

func loadMatrix(n int) string {
	return tile + `mad.lo.u32 %row, %a4, 16, %tile;
st.shared.v4.b32 [%own], {%a0, %a1, %a2, %a3};
bar.warp.sync 0xffffffff;
MATRIX ` + registers("d", 0, n) + ", [%row];"
}

func storeMatrix(n int) string {
	return tile + fmt.Sprintf("mad.lo.u32 %%row, %%a%d, 16, %%tile;\n", n) + `mov.u32 %d0, 0;
st.shared.v4.b32 [%own], {%d0, %d0, %d0, %d0};
bar.warp.sync 0xffffffff;
MATRIX [%row], ` + registers("a", 0, n) + `;
bar.warp.sync 0xffffffff;
ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%own];`
}

// lengths draws four words a lane, and the number of bytes to copy.
func lengths(most int) draw {
	return draw{fmt.Sprintf("lengths to %d", most), func(p *Probe, s *source, number int, in [][]uint64) {
		for lane := range warp {
			for k := range 4 {
				in[k][lane] = s.word() & 0xffffffff
			}
			in[4][lane] = uint64(s.Intn(most + 1))
		}
	}}
}

// copyAsync copies from the words of the case, 16 bytes a lane, over ones.
func copyAsync(cache string, bytes int) string {
	return tile + fmt.Sprintf(`.reg .b64 %%from;
mov.b32 %%d0, 0xffffffff;
st.shared.v4.b32 [%%own], {%%d0, %%d0, %%d0, %%d0};
bar.sync 0;
mul.wide.u32 %%from, %%thread, 16;
add.u64 %%from, %%from, %%in;
cp.async.%s.shared.global [%%own], [%%from], %d, %%a4;
cp.async.wait_all;
ld.shared.v4.b32 {%%d0, %%d1, %%d2, %%d3}, [%%own];`, cache, bytes)
}

// registers returns a vector of n registers from a number on.
func registers(reg string, from, n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%%%s%d", reg, from+i))
	}
	return "{" + strings.Join(names, ", ") + "}"
}
