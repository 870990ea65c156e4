package ptx

// Type is a PTX type.
type Type uint8

// The types. B types are untyped bits, Pred is a predicate.
const (
	NoType Type = iota
	Pred
	B8
	U8
	S8
	B16
	U16
	S16
	F16
	BF16
	B32
	U32
	S32
	F32
	TF32
	F16x2
	BF16x2
	B64
	U64
	S64
	F64
	B128
)

// Class is the meaning of a type's bits.
type Class uint8

// The classes.
const (
	Bits Class = iota
	Unsigned
	Signed
	Float
	Predicate
)

var types = [...]struct {
	name  string
	bits  int
	class Class
}{
	NoType: {"", 0, Bits},
	Pred:   {"pred", 1, Predicate},
	B8:     {"b8", 8, Bits},
	U8:     {"u8", 8, Unsigned},
	S8:     {"s8", 8, Signed},
	B16:    {"b16", 16, Bits},
	U16:    {"u16", 16, Unsigned},
	S16:    {"s16", 16, Signed},
	F16:    {"f16", 16, Float},
	BF16:   {"bf16", 16, Float},
	B32:    {"b32", 32, Bits},
	U32:    {"u32", 32, Unsigned},
	S32:    {"s32", 32, Signed},
	F32:    {"f32", 32, Float},
	TF32:   {"tf32", 32, Float},
	F16x2:  {"f16x2", 32, Float},
	BF16x2: {"bf16x2", 32, Float},
	B64:    {"b64", 64, Bits},
	U64:    {"u64", 64, Unsigned},
	S64:    {"s64", 64, Signed},
	F64:    {"f64", 64, Float},
	B128:   {"b128", 128, Bits},
}

var typeNames = func() map[string]Type {
	m := map[string]Type{}
	for t, row := range types {
		if t := Type(t); t != NoType {
			m[row.name] = t
		}
	}
	return m
}()

func (t Type) String() string { return types[t].name }

// Bits returns the width in bits; 1 for a predicate.
func (t Type) Bits() int { return types[t].bits }

// Bytes returns the width in memory.
func (t Type) Bytes() int64 { return int64(types[t].bits / 8) }

// Class returns the meaning of the bits.
func (t Type) Class() Class { return types[t].class }

// Space is a state space.
type Space uint8

// The state spaces.
const (
	Generic Space = iota
	Param
	Global
	Const
	Shared
	Local
)

var spaceNames = [...]string{"generic", "param", "global", "const", "shared", "local"}

func (s Space) String() string { return spaceNames[s] }

// Special is a special register.
type Special uint8

// The special registers.
const (
	TidX Special = iota
	TidY
	TidZ
	NTidX
	NTidY
	NTidZ
	CTAIDX
	CTAIDY
	CTAIDZ
	NCTAIDX
	NCTAIDY
	NCTAIDZ
	LaneID
	WarpID
	NWarpID
	SMID
	NSMID
	GridID
	LaneMaskEQ
	LaneMaskLE
	LaneMaskLT
	LaneMaskGE
	LaneMaskGT
	Clock
	ClockHi
	Clock64
	GlobalTimer
	GlobalTimerLo
	GlobalTimerHi
	TotalSharedSize
	DynamicSharedSize
	Zero // a component that is always 0, such as %tid.w
)

var specials = [...]struct {
	name string
	typ  Type
}{
	TidX: {"%tid.x", U32}, TidY: {"%tid.y", U32}, TidZ: {"%tid.z", U32},
	NTidX: {"%ntid.x", U32}, NTidY: {"%ntid.y", U32}, NTidZ: {"%ntid.z", U32},
	CTAIDX: {"%ctaid.x", U32}, CTAIDY: {"%ctaid.y", U32}, CTAIDZ: {"%ctaid.z", U32},
	NCTAIDX: {"%nctaid.x", U32}, NCTAIDY: {"%nctaid.y", U32}, NCTAIDZ: {"%nctaid.z", U32},
	LaneID: {"%laneid", U32}, WarpID: {"%warpid", U32}, NWarpID: {"%nwarpid", U32},
	SMID: {"%smid", U32}, NSMID: {"%nsmid", U32}, GridID: {"%gridid", U64},
	LaneMaskEQ: {"%lanemask_eq", U32}, LaneMaskLE: {"%lanemask_le", U32}, LaneMaskLT: {"%lanemask_lt", U32},
	LaneMaskGE: {"%lanemask_ge", U32}, LaneMaskGT: {"%lanemask_gt", U32},
	Clock: {"%clock", U32}, ClockHi: {"%clock_hi", U32}, Clock64: {"%clock64", U64},
	GlobalTimer: {"%globaltimer", U64}, GlobalTimerLo: {"%globaltimer_lo", U32}, GlobalTimerHi: {"%globaltimer_hi", U32},
	TotalSharedSize: {"%total_smem_size", U32}, DynamicSharedSize: {"%dynamic_smem_size", U32},
	Zero: {"%tid.w", U32},
}

var specialNames = func() map[string]Special {
	m := map[string]Special{"%ntid.w": Zero, "%ctaid.w": Zero, "%nctaid.w": Zero}
	for s, row := range specials {
		m[row.name] = Special(s)
	}
	return m
}()

func (s Special) String() string { return specials[s].name }

// Type returns the type of the register.
func (s Special) Type() Type { return specials[s].typ }
