package ptx

// sets names sets of words that may stand at one place among the modifiers.
var sets = map[string]string{
	"int":   "u16,u32,u64,s16,s32,s64",
	"int8":  "u8,u16,u32,u64,s8,s16,s32,s64",
	"uint":  "u16,u32,u64",
	"bits":  "b16,b32,b64",
	"rnd":   "rn,rz,rm,rp",
	"irnd":  "rni,rzi,rmi,rpi",
	"half":  "f16,f16x2",
	"bhalf": "bf16,bf16x2",
	"mem":   "b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64",
	"icmp":  "eq,ne,lt,le,gt,ge",
	"ucmp":  "lo,ls,hi,hs",
	"fcmp":  "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan",
	"bool":  "and,or,xor",
	"ldsp":  "const,global,local,param,param::entry,param::func,shared,shared::cta",
	"stsp":  "global,local,param,param::func,shared,shared::cta",
	"gs":    "global,shared,shared::cta",
	"scope": "cta,cluster,gpu,sys",
	"l1":    "L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate",
	"l2":    "L2::evict_normal,L2::evict_first,L2::evict_last",
	"pre":   "L2::64B,L2::128B,L2::256B",
	"wmma":  "m16n16k16,m8n32k16,m32n8k16",
}

// wordsSince lists modifiers that are newer than their instructions, everywhere or with an
// opcode.
var wordsSince = map[string]struct {
	v    Version
	arch int
}{
	"shared::cta":  {Version{7, 8}, 30},
	"param::entry": {Version{8, 3}, 10},
	"param::func":  {Version{8, 3}, 10},
	"cluster":      {Version{7, 8}, 90},
	"atom.cta":     {Version{5, 0}, 60},
	"atom.gpu":     {Version{5, 0}, 60},
	"atom.sys":     {Version{5, 0}, 60},
	"red.cta":      {Version{5, 0}, 60},
	"red.gpu":      {Version{5, 0}, 60},
	"red.sys":      {Version{5, 0}, 60},
	"weak":         {Version{6, 0}, 70},
	"relaxed":      {Version{6, 0}, 70},
	"acquire":      {Version{6, 0}, 70},
	"release":      {Version{6, 0}, 70},
	"acq_rel":      {Version{6, 0}, 70},
	"L2::64B":      {Version{7, 4}, 75},
	"L2::128B":     {Version{7, 4}, 75},
	"L2::256B":     {Version{7, 4}, 80},
}

// table is the instruction table. A row has the first version of the language and the first
// architecture, the name, the modifiers, and the operands. A name with {a,b} in it means two
// rows: one with a and one with b.
//
// In modifiers, .a stands for itself, .{a,b} for one of these, .[a,b] for one or none, and $set
// for the words of a set.
//
// An operand is written as its type: a type's name, or T to W for the first to the fourth type
// among the modifiers, or 2T for the type of twice the width. A mark before it has a meaning: = a
// destination, ~ a register that may be wider, # a constant, _ a result that may be discarded as
// _, ? an operand that may be missing. [T] is memory, T^ a vector if .v2 or .v4 asks for one,
// {4*T} a vector of four, {/T} a vector that forms one T, T|p a pair with a predicate, T|? one or
// none, L a label, LL a list of labels, and u32:1,2 a constant that is 1 or 2.
// label, LL a list of labels, and u32:1,2 a constant that is 1 or 2.
const table = `
# Integer arithmetic
1.0 10 {add,sub} .$int =T T T
1.0 10 {add,sub} .sat.s32 =T T T
1.0 10 mul .{lo,hi}.$int =T T T
1.0 10 mul .wide.{u16,s16,u32,s32} =2T T T
1.0 10 mad .{lo,hi}.$int =T T T T
1.0 10 mad .hi.sat.s32 =T T T T
1.0 10 mad .wide.{u16,s16,u32,s32} =2T T T 2T
1.0 10 mul24 .{lo,hi}.{u32,s32} =T T T
1.0 10 mad24 .{lo,hi}.{u32,s32} =T T T T
1.0 10 mad24 .hi.sat.s32 =T T T T
1.2 10 {add,sub}.cc .{u32,s32,u64,s64} =T T T
1.2 10 {addc,subc} .[cc].{u32,s32,u64,s64} =T T T
3.0 20 mad .{lo,hi}.cc.{u32,s32,u64,s64} =T T T T
3.0 20 madc .{lo,hi}.[cc].{u32,s32,u64,s64} =T T T T
1.0 10 sad .$int =T T T T
1.0 10 {div,rem,min,max} .$int =T T T
1.0 10 {abs,neg} .{s16,s32,s64} =T T
2.0 20 {popc,clz} .{b32,b64} =u32 T
2.0 20 bfind .[shiftamt].{u32,s32,u64,s64} =u32 T
2.0 20 brev .{b32,b64} =T T
2.0 20 bfe .{u32,s32,u64,s64} =T T u32 u32
2.0 20 bfi .{b32,b64} =T T T u32 u32
6.0 30 fns .b32 =b32 b32 b32 s32
7.6 70 bmsk .{clamp,wrap}.b32 =T T T
7.6 70 szext .{clamp,wrap}.{u32,s32} =T T u32
5.0 61 dp4a .{u32,s32}.{u32,s32} =b32 b32 b32 b32
5.0 61 dp2a .{lo,hi}.{u32,s32}.{u32,s32} =b32 b32 b32 b32

# Video
2.0 20 {vadd,vsub,vabsdiff,vmin,vmax} .{u32,s32}.{u32,s32}.{u32,s32}.[sat] =T U V
2.0 20 {vadd,vsub,vabsdiff,vmin,vmax} .{u32,s32}.{u32,s32}.{u32,s32}.[sat].{add,min,max} =T U V T
2.0 20 vset .{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge} =u32 T U
2.0 20 vset .{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}.{add,min,max} =u32 T U u32
3.0 30 {vadd,vsub,vavrg,vabsdiff,vmin,vmax}2 .{u32,s32}.{u32,s32}.{u32,s32}.[sat] =T U V T
3.0 30 {vadd,vsub,vavrg,vabsdiff,vmin,vmax}2 .{u32,s32}.{u32,s32}.{u32,s32}.add =T U V T
3.0 30 {vadd,vsub,vavrg,vabsdiff,vmin,vmax}4 .{u32,s32}.{u32,s32}.{u32,s32}.[sat] =T U V T
3.0 30 {vadd,vsub,vavrg,vabsdiff,vmin,vmax}4 .{u32,s32}.{u32,s32}.{u32,s32}.add =T U V T
3.0 30 {vset2,vset4} .{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge} =u32 T U u32
3.0 30 {vset2,vset4} .{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}.add =u32 T U u32

# Floating-point arithmetic
1.0 10 {add,sub,mul} .[$rnd].[ftz].[sat].f32 =T T T
1.0 13 {add,sub,mul} .[$rnd].f64 =T T T
4.2 53 {add,sub,mul} .[rn].[ftz].[sat].$half =T T T
7.8 90 {add,sub,mul} .[rn].$bhalf =T T T
2.0 20 {fma,mad} .$rnd.[ftz].[sat].f32 =T T T T
1.4 13 fma .$rnd.f64 =T T T T
4.2 53 fma .rn.[ftz].[sat].$half =T T T T
7.0 80 fma .rn.[ftz].relu.$half =T T T T
7.0 80 fma .rn.[relu].$bhalf =T T T T
1.0 13 mad .$rnd.f64 =T T T T
1.4 10 div .{approx,full}.[ftz].f32 =T T T
2.0 20 div .$rnd.[ftz].f32 =T T T
1.4 13 div .$rnd.f64 =T T T
1.0 10 {abs,neg} .[ftz].f32 =T T
1.0 13 {abs,neg} .f64 =T T
6.5 53 abs .[ftz].$half =T T
7.0 80 {abs,neg} .$bhalf =T T
6.0 53 neg .[ftz].$half =T T
1.0 10 {min,max} .[ftz].f32 =T T T
7.0 80 {min,max} .[ftz].NaN.f32 =T T T
7.2 86 {min,max} .[ftz].[NaN].xorsign.abs.f32 =T T T
1.0 13 {min,max} .f64 =T T T
7.0 80 {min,max} .[ftz].[NaN].$half =T T T
7.2 86 {min,max} .[ftz].[NaN].xorsign.abs.$half =T T T
7.0 80 {min,max} .[NaN].$bhalf =T T T
7.2 86 {min,max} .[NaN].xorsign.abs.$bhalf =T T T
2.0 20 copysign .{f32,f64} =T T T
2.0 20 testp .{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64} =pred T
1.4 10 {rcp,sqrt,rsqrt,sin,cos,lg2,ex2} .approx.[ftz].f32 =T T
2.0 20 {rcp,sqrt} .$rnd.[ftz].f32 =T T
1.4 13 {rcp,sqrt} .$rnd.f64 =T T
2.1 20 rcp .approx.ftz.f64 =T T
1.4 13 rsqrt .approx.f64 =T T
4.0 20 rsqrt .approx.ftz.f64 =T T
7.0 75 ex2 .approx.$half =T T
7.8 90 ex2 .approx.ftz.$bhalf =T T
7.0 75 tanh .approx.f32 =T T
7.0 75 tanh .approx.$half =T T
7.8 90 tanh .approx.$bhalf =T T

# Comparison and selection
1.0 10 setp .{eq,ne}.$bits =pred|? T T
1.0 10 setp .{eq,ne}.$bool.$bits =pred|? T T pred
1.0 10 setp .$icmp.$int =pred|? T T
1.0 10 setp .$icmp.$bool.$int =pred|? T T pred
1.0 10 setp .$ucmp.$uint =pred|? T T
1.0 10 setp .$ucmp.$bool.$uint =pred|? T T pred
1.0 10 setp .$fcmp.[ftz].f32 =pred|? T T
1.0 10 setp .$fcmp.$bool.[ftz].f32 =pred|? T T pred
1.0 13 setp .$fcmp.f64 =pred|? T T
1.0 13 setp .$fcmp.$bool.f64 =pred|? T T pred
4.2 53 setp .$fcmp.[ftz].f16 =pred T T
4.2 53 setp .$fcmp.$bool.[ftz].f16 =pred T T pred
4.2 53 setp .$fcmp.[ftz].f16x2 =pred|p T T
4.2 53 setp .$fcmp.$bool.[ftz].f16x2 =pred|p T T pred
7.8 90 setp .$fcmp.bf16 =pred T T
7.8 90 setp .$fcmp.$bool.bf16 =pred T T pred
7.8 90 setp .$fcmp.bf16x2 =pred|p T T
7.8 90 setp .$fcmp.$bool.bf16x2 =pred|p T T pred
1.0 10 set .{eq,ne}.{u32,s32,f32}.$bits =T U U
1.0 10 set .{eq,ne}.$bool.{u32,s32,f32}.$bits =T U U pred
1.0 10 set .$icmp.{u32,s32,f32}.$int =T U U
1.0 10 set .$icmp.$bool.{u32,s32,f32}.$int =T U U pred
1.0 10 set .$ucmp.{u32,s32,f32}.$uint =T U U
1.0 10 set .$ucmp.$bool.{u32,s32,f32}.$uint =T U U pred
1.0 10 set .$fcmp.[ftz].{u32,s32,f32}.f32 =T U U
1.0 10 set .$fcmp.$bool.[ftz].{u32,s32,f32}.f32 =T U U pred
1.0 13 set .$fcmp.{u32,s32,f32}.f64 =T U U
1.0 13 set .$fcmp.$bool.{u32,s32,f32}.f64 =T U U pred
4.2 53 set .{eq,ne}.f16.$bits =T U U
4.2 53 set .{eq,ne}.$bool.f16.$bits =T U U pred
4.2 53 set .$icmp.f16.$int =T U U
4.2 53 set .$icmp.$bool.f16.$int =T U U pred
4.2 53 set .$ucmp.f16.$uint =T U U
4.2 53 set .$ucmp.$bool.f16.$uint =T U U pred
7.8 90 set .{eq,ne}.bf16.$bits =T U U
7.8 90 set .{eq,ne}.$bool.bf16.$bits =T U U pred
7.8 90 set .$icmp.bf16.$int =T U U
7.8 90 set .$icmp.$bool.bf16.$int =T U U pred
7.8 90 set .$ucmp.bf16.$uint =T U U
7.8 90 set .$ucmp.$bool.bf16.$uint =T U U pred
4.2 53 set .$fcmp.[ftz].f16.{f16,f32} =T U U
4.2 53 set .$fcmp.$bool.[ftz].f16.{f16,f32} =T U U pred
4.2 53 set .$fcmp.f16.f64 =T U U
4.2 53 set .$fcmp.$bool.f16.f64 =T U U pred
6.5 53 set .$fcmp.[ftz].{u16,s16,u32,s32}.f16 =T U U
6.5 53 set .$fcmp.$bool.[ftz].{u16,s16,u32,s32}.f16 =T U U pred
4.2 53 set .$fcmp.[ftz].f16x2.f16x2 =T U U
4.2 53 set .$fcmp.$bool.[ftz].f16x2.f16x2 =T U U pred
6.5 53 set .$fcmp.[ftz].{u32,s32}.f16x2 =T U U
6.5 53 set .$fcmp.$bool.[ftz].{u32,s32}.f16x2 =T U U pred
7.8 90 set .$fcmp.bf16.{bf16,f16,f32,f64} =T U U
7.8 90 set .$fcmp.$bool.bf16.{bf16,f16,f32,f64} =T U U pred
7.8 90 set .$fcmp.{u16,s16,u32,s32}.bf16 =T U U
7.8 90 set .$fcmp.$bool.{u16,s16,u32,s32}.bf16 =T U U pred
7.8 90 set .$fcmp.{bf16x2,u32,s32}.bf16x2 =T U U
7.8 90 set .$fcmp.$bool.{bf16x2,u32,s32}.bf16x2 =T U U pred
1.0 10 selp .{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64} =T T T pred
1.0 10 slct .{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.s32 =T T T U
1.0 10 slct .[ftz].{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.f32 =T T T U

# Logic and shifts
1.0 10 {and,or,xor} .{b16,b32,b64,pred} =T T T
1.0 10 not .{b16,b32,b64,pred} =T T
1.0 10 cnot .$bits =T T
1.0 10 shl .$bits =T T u32
1.0 10 shr .{b16,b32,b64,u16,u32,u64,s16,s32,s64} =T T u32
3.1 32 shf .{l,r}.{clamp,wrap}.b32 =T T T u32
4.3 50 lop3 .b32 =T T T T #u32
8.2 70 lop3 .{and,or}.b32 =_T|p T T T #u32 pred
2.0 20 prmt .b32.[f4e,b4e,rc8,ecl,ecr,rc16] =T T T T

# Moves and conversions
1.0 10 mov .{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64,pred} =T T
1.0 10 mov .{b16,b32,b64} =T {/T}
1.0 10 mov .{b16,b32,b64} ={/T} T
8.3 70 mov .b128 =T T
8.3 70 mov .b128 =T {/T}
8.3 70 mov .b128 ={/T} T
2.0 20 cvta .{const,global,local,shared,shared::cta}.u64 =T T
2.0 20 cvta .to.{const,global,local,shared,shared::cta}.u64 =T T
7.7 70 cvta .[to].{param,param::entry}.u64 =T T
2.0 20 isspacep .{const,global,local,shared,shared::cta} =pred u64
1.0 10 cvt .$int8.$int8 =~T ~U
1.0 10 cvt .sat.u8.{u16,u32,u64,s8,s16,s32,s64} =~T ~U
1.0 10 cvt .sat.s8.{u8,u16,u32,u64,s16,s32,s64} =~T ~U
1.0 10 cvt .sat.u16.{u32,u64,s8,s16,s32,s64} =~T ~U
1.0 10 cvt .sat.s16.{u16,u32,u64,s32,s64} =~T ~U
1.0 10 cvt .sat.u32.{u64,s8,s16,s32,s64} =~T ~U
1.0 10 cvt .sat.s32.{u32,u64,s64} =~T ~U
1.0 10 cvt .sat.u64.{s8,s16,s32,s64} =~T ~U
1.0 10 cvt .sat.s64.u64 =~T ~U
1.0 10 cvt .$irnd.[ftz].[sat].$int8.f32 =~T U
1.0 10 cvt .$irnd.[sat].$int8.{f16,f64} =~T U
7.8 90 cvt .$irnd.$int8.bf16 =~T U
1.0 10 cvt .$rnd.[ftz].[sat].f32.$int8 =T ~U
1.0 10 cvt .$rnd.[sat].{f16,f64}.$int8 =T ~U
7.8 90 cvt .$rnd.bf16.$int8 =T ~U
1.0 10 cvt .[$irnd].[ftz].[sat].f32.f32 =T U
1.0 13 cvt .[$irnd].[sat].f64.f64 =T U
1.0 10 cvt .[$irnd].[sat].f16.f16 =T U
7.8 90 cvt .$irnd.bf16.bf16 =T U
1.0 10 cvt .[ftz].[sat].f32.f16 =T U
1.0 13 cvt .[ftz].[sat].f64.f32 =T U
1.0 13 cvt .[sat].f64.f16 =T U
7.1 80 cvt .[ftz].f32.bf16 =T U
7.8 90 cvt .f64.bf16 =T U
1.0 13 cvt .$rnd.[ftz].[sat].f32.f64 =T U
1.0 10 cvt .$rnd.[ftz].[sat].f16.f32 =T U
1.0 13 cvt .$rnd.[sat].f16.f64 =T U
7.0 80 cvt .{rn,rz}.[relu].bf16.f32 =T U
7.8 90 cvt .$rnd.bf16.{f16,f64} =T U
7.0 80 cvt .{rn,rz}.relu.f16.f32 =T U
8.1 80 cvt .{rn,rz}.[relu].satfinite.{f16,bf16}.f32 =T U
7.0 80 cvt .{rn,rz}.[relu].{f16x2,bf16x2}.f32 =T U U
8.1 80 cvt .{rn,rz}.[relu].satfinite.{f16x2,bf16x2}.f32 =T U U
7.0 80 cvt .rna.tf32.f32 =b32 U
7.8 90 cvt .{rn,rz}.[relu].tf32.f32 =b32 U

# Memory
1.0 10 ld .[weak].[$ldsp].[ca,cg,cs,lu,cv].[v2,v4].$mem =~T^ [T]
7.4 75 ld .[weak].[global].[ca,cg,cs,lu,cv].$pre.[v2,v4].$mem =~T^ [T]
7.4 70 ld .[weak].[global].$l1.[$pre].[v2,v4].$mem =~T^ [T]
7.4 80 ld .[weak].[global].[$l1].L2::cache_hint.[$pre].[v2,v4].$mem =~T^ [T] b64
1.1 10 ld .volatile.[$gs].[v2,v4].$mem =~T^ [T]
6.0 70 ld .{relaxed,acquire}.$scope.[$gs].[v2,v4].$mem =~T^ [T]
7.4 75 ld .{relaxed,acquire}.$scope.[global].[$l1].[$pre].[v2,v4].$mem =~T^ [T]
3.1 32 ld .global.[ca,cg,cs].nc.[v2,v4].$mem =~T^ [T]
7.4 75 ld .global.[ca,cg,cs].nc.$pre.[v2,v4].$mem =~T^ [T]
7.4 70 ld .global.nc.$l1.[$pre].[v2,v4].$mem =~T^ [T]
7.4 80 ld .global.nc.[$l1].L2::cache_hint.[$pre].[v2,v4].$mem =~T^ [T] b64
2.0 20 ldu .[global].[v2,v4].$mem =~T^ [T]
1.0 10 st .[weak].[$stsp].[wb,cg,cs,wt].[v2,v4].$mem [T] ~T^
7.4 70 st .[weak].[global].$l1.[v2,v4].$mem [T] ~T^
7.4 80 st .[weak].[global].[$l1].L2::cache_hint.[v2,v4].$mem [T] ~T^ b64
1.1 10 st .volatile.[$gs].[v2,v4].$mem [T] ~T^
6.0 70 st .{relaxed,release}.$scope.[$gs].[v2,v4].$mem [T] ~T^
7.4 70 st .{relaxed,release}.$scope.[global].$l1.[v2,v4].$mem [T] ~T^
2.0 20 prefetch .[global,local].{L1,L2} [b8]
7.4 80 prefetch .global.{L2::evict_last,L2::evict_normal} [b8]
7.4 80 createpolicy.fractional .$l2.[L2::evict_first,L2::evict_unchanged].b64 =b64 ?f32
7.4 80 createpolicy.fractional .L2::evict_unchanged.b64 =b64 ?f32

# Atomics
2.0 20 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].{and,or,xor,exch}.{b32,b64} =_T [T] T
2.0 20 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].cas.{b32,b64} =_T [T] T T
6.3 70 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].cas.b16 =_T [T] T T
2.0 20 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].add.{u32,s32,u64,f32} =_T [T] T
5.0 60 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].add.f64 =_T [T] T
6.2 60 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].add.noftz.f16x2 =_T [T] T
6.3 70 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].add.noftz.f16 =_T [T] T
7.8 90 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].add.noftz.$bhalf =_T [T] T
2.0 20 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].{inc,dec}.u32 =_T [T] T
2.0 20 atom .[relaxed,acquire,release,acq_rel].[$scope].[$gs].{min,max}.{u32,s32,u64,s64} =_T [T] T
2.0 20 red .[relaxed,release].[$scope].[$gs].{and,or,xor}.{b32,b64} [T] T
2.0 20 red .[relaxed,release].[$scope].[$gs].add.{u32,s32,u64,f32} [T] T
5.0 60 red .[relaxed,release].[$scope].[$gs].add.f64 [T] T
6.2 60 red .[relaxed,release].[$scope].[$gs].add.noftz.f16x2 [T] T
6.3 70 red .[relaxed,release].[$scope].[$gs].add.noftz.f16 [T] T
7.8 90 red .[relaxed,release].[$scope].[$gs].add.noftz.$bhalf [T] T
2.0 20 red .[relaxed,release].[$scope].[$gs].{inc,dec}.u32 [T] T
2.0 20 red .[relaxed,release].[$scope].[$gs].{min,max}.{u32,s32,u64,s64} [T] T

# Warps
6.0 30 shfl.sync .{up,down,bfly,idx}.b32 =T|? T b32 b32 b32
6.0 30 vote.sync .{all,any,uni}.pred =pred pred b32
6.0 30 vote.sync .ballot.b32 =b32 pred b32
6.0 70 match.any.sync .{b32,b64} =b32 T b32
6.0 70 match.all.sync .{b32,b64} =b32|? T b32
6.2 30 activemask .b32 =b32
7.0 80 redux.sync .{add,min,max}.{u32,s32} =T T b32
7.0 80 redux.sync .{and,or,xor}.b32 =T T b32
6.0 30 bar.warp.sync b32

# Blocks and fences
1.0 10 bar.sync u32 ?u32
2.0 20 bar.arrive u32 u32
2.0 20 bar.red .popc.u32 =u32 u32 pred
2.0 20 bar.red .popc.u32 =u32 u32 u32 pred
2.0 20 bar.red .{and,or}.pred =pred u32 pred
2.0 20 bar.red .{and,or}.pred =pred u32 u32 pred
7.8 30 bar.cta.sync u32 ?u32
7.8 30 bar.cta.arrive u32 u32
7.8 30 bar.cta.red .popc.u32 =u32 u32 pred
7.8 30 bar.cta.red .popc.u32 =u32 u32 u32 pred
7.8 30 bar.cta.red .{and,or}.pred =pred u32 pred
7.8 30 bar.cta.red .{and,or}.pred =pred u32 u32 pred
6.0 30 barrier.sync .[aligned] u32 ?u32
6.0 30 barrier.arrive .[aligned] u32 u32
6.0 30 barrier.red .popc.[aligned].u32 =u32 u32 pred
6.0 30 barrier.red .popc.[aligned].u32 =u32 u32 u32 pred
6.0 30 barrier.red .{and,or}.[aligned].pred =pred u32 pred
6.0 30 barrier.red .{and,or}.[aligned].pred =pred u32 u32 pred
7.8 30 barrier.cta.sync .[aligned] u32 ?u32
7.8 30 barrier.cta.arrive .[aligned] u32 u32
7.8 30 barrier.cta.red .popc.[aligned].u32 =u32 u32 pred
7.8 30 barrier.cta.red .popc.[aligned].u32 =u32 u32 u32 pred
7.8 30 barrier.cta.red .{and,or}.[aligned].pred =pred u32 pred
7.8 30 barrier.cta.red .{and,or}.[aligned].pred =pred u32 u32 pred
1.4 10 membar .{cta,gl,sys}
6.0 70 fence .[sc,acq_rel].{cta,gpu,sys}

# Asynchronous copies
7.0 80 cp.async .ca.{shared,shared::cta}.global.[$pre] [shared] [global] #u32:4,8,16 ?u32
7.5 80 cp.async .ca.{shared,shared::cta}.global.[$pre] [shared] [global] #u32:4,8,16 pred
7.4 80 cp.async .ca.{shared,shared::cta}.global.L2::cache_hint.[$pre] [shared] [global] #u32:4,8,16 b64
7.4 80 cp.async .ca.{shared,shared::cta}.global.L2::cache_hint.[$pre] [shared] [global] #u32:4,8,16 u32 b64
7.0 80 cp.async .cg.{shared,shared::cta}.global.[$pre] [shared] [global] #u32:16 ?u32
7.5 80 cp.async .cg.{shared,shared::cta}.global.[$pre] [shared] [global] #u32:16 pred
7.4 80 cp.async .cg.{shared,shared::cta}.global.L2::cache_hint.[$pre] [shared] [global] #u32:16 b64
7.4 80 cp.async .cg.{shared,shared::cta}.global.L2::cache_hint.[$pre] [shared] [global] #u32:16 u32 b64
7.0 80 cp.async.commit_group
7.0 80 cp.async.wait_group #u32
7.0 80 cp.async.wait_all

# Matrices
6.5 75 ldmatrix.sync .aligned.m8n8.x1.[trans].[shared,shared::cta].b16 ={1*b32} [b128]
6.5 75 ldmatrix.sync .aligned.m8n8.x2.[trans].[shared,shared::cta].b16 ={2*b32} [b128]
6.5 75 ldmatrix.sync .aligned.m8n8.x4.[trans].[shared,shared::cta].b16 ={4*b32} [b128]
7.8 75 movmatrix.sync .aligned.m8n8.trans.b16 =b32 b32
6.5 75 mma.sync .aligned.m16n8k8.row.col.f32.f16.f16.f32 ={4*f32} {2*b32} {1*b32} {4*f32}
6.5 75 mma.sync .aligned.m16n8k8.row.col.f16.f16.f16.f16 ={2*b32} {2*b32} {1*b32} {2*b32}
7.0 80 mma.sync .aligned.m16n8k16.row.col.f32.f16.f16.f32 ={4*f32} {4*b32} {2*b32} {4*f32}
7.0 80 mma.sync .aligned.m16n8k16.row.col.f16.f16.f16.f16 ={2*b32} {4*b32} {2*b32} {2*b32}
7.0 80 mma.sync .aligned.m16n8k8.row.col.f32.bf16.bf16.f32 ={4*f32} {2*b32} {1*b32} {4*f32}
7.0 80 mma.sync .aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ={4*f32} {4*b32} {2*b32} {4*f32}
7.0 80 mma.sync .aligned.m16n8k4.row.col.f32.tf32.tf32.f32 ={4*f32} {2*b32} {1*b32} {4*f32}
7.0 80 mma.sync .aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ={4*f32} {4*b32} {2*b32} {4*f32}
7.0 80 mma.sync .aligned.m8n8k4.row.col.f64.f64.f64.f64 ={2*f64} {1*f64} {1*f64} {2*f64}
6.5 75 mma.sync .aligned.m8n8k16.row.col.[satfinite].s32.{s8,u8}.{s8,u8}.s32 ={2*s32} {1*b32} {1*b32} {2*s32}
7.0 80 mma.sync .aligned.m16n8k16.row.col.[satfinite].s32.{s8,u8}.{s8,u8}.s32 ={4*s32} {2*b32} {1*b32} {4*s32}
7.0 80 mma.sync .aligned.m16n8k32.row.col.[satfinite].s32.{s8,u8}.{s8,u8}.s32 ={4*s32} {4*b32} {2*b32} {4*s32}
6.5 75 mma.sync .aligned.m8n8k32.row.col.[satfinite].s32.{s4,u4}.{s4,u4}.s32 ={2*s32} {1*b32} {1*b32} {2*s32}
7.0 80 mma.sync .aligned.m16n8k32.row.col.[satfinite].s32.{s4,u4}.{s4,u4}.s32 ={4*s32} {2*b32} {1*b32} {4*s32}
7.0 80 mma.sync .aligned.m16n8k64.row.col.[satfinite].s32.{s4,u4}.{s4,u4}.s32 ={4*s32} {4*b32} {2*b32} {4*s32}
7.0 75 mma.sync .aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc ={2*s32} {1*b32} {1*b32} {2*s32}
7.0 80 mma.sync .aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc ={4*s32} {2*b32} {1*b32} {4*s32}
7.0 80 mma.sync .aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc ={4*s32} {4*b32} {2*b32} {4*s32}
7.1 80 mma.sync .aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc ={2*s32} {1*b32} {1*b32} {2*s32}
7.1 80 mma.sync .aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc ={4*s32} {2*b32} {1*b32} {4*s32}
7.1 80 mma.sync .aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc ={4*s32} {4*b32} {2*b32} {4*s32}

# Matrices of wmma
6.3 70 wmma.load.{a,b}.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].f16 ={8*b32} [T] ?u32
6.3 70 wmma.load.c.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].f16 ={4*b32} [T] ?u32
6.3 70 wmma.load.c.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].f32 ={8*f32} [T] ?u32
6.3 70 wmma.store.d.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].f16 [T] {4*b32} ?u32
6.3 70 wmma.store.d.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].f32 [T] {8*f32} ?u32
6.3 70 wmma.mma.sync .aligned.{row,col}.{row,col}.$wmma.f16.f16 ={4*b32} {8*b32} {8*b32} {4*b32}
6.3 70 wmma.mma.sync .aligned.{row,col}.{row,col}.$wmma.f16.f32 ={4*b32} {8*b32} {8*b32} {8*f32}
6.3 70 wmma.mma.sync .aligned.{row,col}.{row,col}.$wmma.f32.f16 ={8*f32} {8*b32} {8*b32} {4*b32}
6.3 70 wmma.mma.sync .aligned.{row,col}.{row,col}.$wmma.f32.f32 ={8*f32} {8*b32} {8*b32} {8*f32}
7.0 80 wmma.load.{a,b}.sync .aligned.{row,col}.m16n16k16.[global,shared,shared::cta].bf16 ={4*b32} [T] ?u32
7.0 80 wmma.mma.sync .aligned.{row,col}.{row,col}.m16n16k16.f32.bf16.bf16.f32 ={8*f32} {4*b32} {4*b32} {8*f32}
7.0 80 wmma.load.a.sync .aligned.{row,col}.m8n32k16.[global,shared,shared::cta].bf16 ={2*b32} [T] ?u32
7.0 80 wmma.load.b.sync .aligned.{row,col}.m8n32k16.[global,shared,shared::cta].bf16 ={8*b32} [T] ?u32
7.0 80 wmma.mma.sync .aligned.{row,col}.{row,col}.m8n32k16.f32.bf16.bf16.f32 ={8*f32} {2*b32} {8*b32} {8*f32}
7.0 80 wmma.load.a.sync .aligned.{row,col}.m32n8k16.[global,shared,shared::cta].bf16 ={8*b32} [T] ?u32
7.0 80 wmma.load.b.sync .aligned.{row,col}.m32n8k16.[global,shared,shared::cta].bf16 ={2*b32} [T] ?u32
7.0 80 wmma.mma.sync .aligned.{row,col}.{row,col}.m32n8k16.f32.bf16.bf16.f32 ={8*f32} {8*b32} {2*b32} {8*f32}
6.3 72 wmma.load.{a,b}.sync .aligned.{row,col}.m16n16k16.[global,shared,shared::cta].{s8,u8} ={2*b32} [T] ?u32
6.3 72 wmma.load.c.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].s32 ={8*s32} [T] ?u32
6.3 72 wmma.store.d.sync .aligned.{row,col}.$wmma.[global,shared,shared::cta].s32 [T] {8*s32} ?u32
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m16n16k16.s32.s8.s8.s32.[satfinite] ={8*s32} {2*b32} {2*b32} {8*s32}
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m16n16k16.s32.u8.u8.s32.[satfinite] ={8*s32} {2*b32} {2*b32} {8*s32}
6.3 72 wmma.load.a.sync .aligned.{row,col}.m8n32k16.[global,shared,shared::cta].{s8,u8} ={1*b32} [T] ?u32
6.3 72 wmma.load.b.sync .aligned.{row,col}.m8n32k16.[global,shared,shared::cta].{s8,u8} ={4*b32} [T] ?u32
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m8n32k16.s32.s8.s8.s32.[satfinite] ={8*s32} {1*b32} {4*b32} {8*s32}
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m8n32k16.s32.u8.u8.s32.[satfinite] ={8*s32} {1*b32} {4*b32} {8*s32}
6.3 72 wmma.load.a.sync .aligned.{row,col}.m32n8k16.[global,shared,shared::cta].{s8,u8} ={4*b32} [T] ?u32
6.3 72 wmma.load.b.sync .aligned.{row,col}.m32n8k16.[global,shared,shared::cta].{s8,u8} ={1*b32} [T] ?u32
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m32n8k16.s32.s8.s8.s32.[satfinite] ={8*s32} {4*b32} {1*b32} {8*s32}
6.3 72 wmma.mma.sync .aligned.{row,col}.{row,col}.m32n8k16.s32.u8.u8.s32.[satfinite] ={8*s32} {4*b32} {1*b32} {8*s32}
7.0 80 wmma.load.{a,b}.sync .aligned.{row,col}.m16n16k8.[global,shared,shared::cta].tf32 ={4*b32} [T] ?u32
7.0 80 wmma.load.{a,b}.sync .aligned.{row,col}.m8n8k4.[global,shared,shared::cta].f64 ={1*f64} [T] ?u32
7.0 80 wmma.load.c.sync .aligned.{row,col}.m16n16k8.[global,shared,shared::cta].f32 ={8*f32} [T] ?u32
7.0 80 wmma.load.c.sync .aligned.{row,col}.m8n8k4.[global,shared,shared::cta].f64 ={2*f64} [T] ?u32
7.0 80 wmma.store.d.sync .aligned.{row,col}.m16n16k8.[global,shared,shared::cta].f32 [T] {8*f32} ?u32
7.0 80 wmma.store.d.sync .aligned.{row,col}.m8n8k4.[global,shared,shared::cta].f64 [T] {2*f64} ?u32
7.0 80 wmma.mma.sync .aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32 ={8*f32} {4*b32} {4*b32} {8*f32}
7.0 80 wmma.mma.sync .aligned.{row,col}.{row,col}.m8n8k4.[rn,rz,rm,rp].f64.f64.f64.f64 ={2*f64} {1*f64} {1*f64} {2*f64}

# Control
1.0 10 bra .[uni] L
6.0 30 brx.idx .[uni] u32 LL
1.0 10 ret .[uni]
1.0 10 exit
1.0 10 trap
6.3 70 nanosleep .u32 u32
`
