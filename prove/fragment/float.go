package fragment

// floatProbes are arithmetic on floats that IEEE 754 and the PTX manual fix to the
// last bit.
func floatProbes() []*Probe {
	return family("float", 1, []row{
		{pattern: "{add,sub,mul}.{rn,rz,rm,rp}{,.ftz}.f32", in: "2*f32", out: "f32",
			doc: "a sum, difference or product in single precision, rounded once"},
		{pattern: "{add,sub,mul}.rn{,.ftz}.sat.f32", in: "2*f32", out: "f32",
			doc: "a result in single precision, clamped to [0, 1]"},
		{pattern: "fma.{rn,rz,rm,rp}{,.ftz}.f32", in: "3*f32", out: "f32", doc: "a*b + c in single precision, rounded once"},
		{pattern: "fma.rn{,.ftz}.sat.f32", in: "3*f32", out: "f32", doc: "a*b + c in single precision, clamped to [0, 1]"},
		{pattern: "div.{rn,rz,rm,rp}{,.ftz}.f32", in: "2*f32", out: "f32", doc: "a quotient in single precision, rounded once"},
		{pattern: "{rcp,sqrt}.{rn,rz,rm,rp}{,.ftz}.f32", in: "f32", out: "f32",
			doc: "a reciprocal or square root in single precision, rounded once"},
		{pattern: "{neg,abs}{,.ftz}.f32", in: "f32", out: "f32",
			doc: "another sign, and what becomes of NaN and subnormal numbers"},
		{pattern: "{min,max}{,.ftz}{,.NaN}.f32", in: "2*f32", out: "f32",
			doc: "the lesser or greater of two numbers, zeros by sign, NaN passed over or on"},
		{pattern: "{min,max}{,.NaN}.xorsign.abs.f32", in: "2*f32", out: "f32", target: "sm_86",
			doc: "the lesser or greater magnitude, with the signs' product"},
		{pattern: "set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.u32.f32", in: "2*f32", out: "u32",
			doc: "a comparison as a mask"},
		{pattern: "testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", in: "f32", out: "u32",
			doc:  "the class of a number",
			body: ".reg .pred %p;\nNAME %p, %a0;\nselp.u32 %d0, 1, 0, %p;"},
		{pattern: "copysign.f32", in: "2*f32", out: "f32", doc: "the first operand's sign on the second"},
		{pattern: "{add,sub,mul}.rn{,.ftz}{,.sat}.f16x2", in: "2*f16x2", out: "f16x2",
			doc: "sums, differences or products in half precision"},
		{pattern: "fma.rn{,.ftz}{,.sat,.relu}.f16x2", in: "3*f16x2", out: "f16x2",
			doc: "a*b + c in half precision, rounded once"},
		{pattern: "fma.rn{,.relu}.bf16x2", in: "3*bf16x2", out: "bf16x2", doc: "a*b + c in bf16, rounded once"},
		{pattern: "{add,sub,mul}.rn.bf16x2", in: "2*bf16x2", out: "bf16x2", target: "sm_90",
			doc: "sums, differences or products in bf16"},
		{pattern: "{min,max}{,.NaN}.f16x2", in: "2*f16x2", out: "f16x2", doc: "lesser or greater ones in half precision"},
		{pattern: "{min,max}{,.NaN}.bf16x2", in: "2*bf16x2", out: "bf16x2", doc: "lesser or greater ones in bf16"},
		{pattern: "{neg,abs}{,.ftz}.f16x2", in: "f16x2", out: "f16x2", doc: "other signs in half precision"},
		{pattern: "{neg,abs}.bf16x2", in: "bf16x2", out: "bf16x2", doc: "other signs in bf16"},
		{pattern: "{add,sub,mul}.{rn,rz,rm,rp}.f64", in: "2*f64", out: "f64",
			doc: "a sum, difference or product in double precision, rounded once"},
		{pattern: "fma.{rn,rz}.f64", in: "3*f64", out: "f64", doc: "a*b + c in double precision, rounded once"},
		{pattern: "div.{rn,rz}.f64", in: "2*f64", out: "f64", doc: "a quotient in double precision, rounded once"},
		{pattern: "{rcp,sqrt}.rn.f64", in: "f64", out: "f64",
			doc: "a reciprocal or square root in double precision, rounded once"},
		{pattern: "{min,max}.f64", in: "2*f64", out: "f64", doc: "the lesser or greater of two numbers in double precision"},
	})
}

// convertProbes are conversions, exact by the PTX manual.
func convertProbes() []*Probe {
	const narrow = "a single rounded to a narrower format"
	const pair = "two singles rounded to a pair, the first one high"
	return family("convert", 1, []row{
		{pattern: "cvt.{rn,rz,rm,rp}.f16.f32", in: "f32", out: "f16", doc: narrow},
		{pattern: "cvt.rn{.ftz,.sat,.ftz.sat}.f16.f32", in: "f32", out: "f16", doc: narrow},
		{pattern: "cvt.{rn,rz}.relu.f16.f32", in: "f32", out: "f16", doc: narrow + ", negative ones to 0"},
		{pattern: "cvt.{rn,rz}{,.relu}.bf16.f32", in: "f32", out: "bf16", doc: narrow},
		{pattern: "cvt.{rn,rz}{,.relu}.f16x2.f32", in: "2*f32", out: "f16x2", doc: pair},
		{pattern: "cvt.{rn,rz}{,.relu}.bf16x2.f32", in: "2*f32", out: "bf16x2", doc: pair},
		{pattern: "cvt.{rn,rz}{,.relu}.satfinite.f16x2.f32", in: "2*f32", out: "f16x2", version: "8.1",
			doc: pair + ", infinities to the greatest numbers"},
		{pattern: "cvt.{rn,rz}{,.relu}.satfinite.bf16x2.f32", in: "2*f32", out: "bf16x2", version: "8.1",
			doc: pair + ", infinities to the greatest numbers"},
		{pattern: "cvt.rna.tf32.f32", in: "f32", out: "b32",
			doc: "a single rounded to the fraction of tf32, ties away from zero"},
		{pattern: "cvt.{rn,rz}{,.relu}.tf32.f32", in: "f32", out: "b32", target: "sm_90",
			doc: "a single rounded to the fraction of tf32"},
		{pattern: "cvt{,.ftz,.sat}.f32.f16", in: "f16", out: "f32", doc: "a half as a single"},
		{pattern: "cvt.f32.bf16", in: "bf16", out: "f32", doc: "a bf16 as a single"},
		{pattern: "cvt.{rn,rz,rm,rp}.f32.f64", in: "f64", out: "f32", doc: "a double rounded to a single"},
		{pattern: "cvt.rn{.ftz,.sat}.f32.f64", in: "f64", out: "f32", doc: "a double rounded to a single"},
		{pattern: "cvt.{rn,rz}.f16.f64", in: "f64", out: "f16", doc: "a double rounded to a half"},
		{pattern: "cvt{,.ftz,.sat}.f64.f32", in: "f32", out: "f64", doc: "a single as a double"},
		{pattern: "cvt.{rni,rzi,rmi,rpi}{,.ftz}.f32.f32", in: "f32", out: "f32", doc: "a single rounded to an integral one"},
		{pattern: "cvt.{rni,rzi,rmi,rpi}.s32.f32", in: "f32", out: "s32",
			doc: "a single rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rni,rzi,rmi,rpi}.u32.f32", in: "f32", out: "u32",
			doc: "a single rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rni,rzi}.ftz.s32.f32", in: "f32", out: "s32",
			doc: "a single rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rni,rmi}.s64.f32", in: "f32", out: "s64", doc: "a single rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rni,rpi}.u64.f32", in: "f32", out: "u64", doc: "a single rounded to an integer, clamped to its range"},
		{pattern: "cvt.rzi.{s8,s16}.f32", in: "f32", out: "s32", doc: "a single cut to a short integer"},
		{pattern: "cvt.rzi.{u8,u16}.f32", in: "f32", out: "u32", doc: "a single cut to a short integer"},
		{pattern: "cvt.{rni,rzi}.s32.f16", in: "f16", out: "s32", doc: "a half rounded to an integer"},
		{pattern: "cvt.{rni,rzi}.s32.f64", in: "f64", out: "s32", doc: "a double rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rni,rzi}.u64.f64", in: "f64", out: "u64", doc: "a double rounded to an integer, clamped to its range"},
		{pattern: "cvt.{rn,rz,rm,rp}.f32.s32", in: "s32", out: "f32", doc: "an integer rounded to a single"},
		{pattern: "cvt.{rn,rz,rm,rp}.f32.u32", in: "u32", out: "f32", doc: "an integer rounded to a single"},
		{pattern: "cvt.{rn,rz}.f32.s64", in: "s64", out: "f32", doc: "an integer rounded to a single"},
		{pattern: "cvt.{rn,rz}.f32.u64", in: "u64", out: "f32", doc: "an integer rounded to a single"},
		{pattern: "cvt.{rn,rz}.f16.s32", in: "s32", out: "f16", doc: "an integer rounded to a half"},
		{pattern: "cvt.rn.f64.s64", in: "s64", out: "f64", doc: "an integer rounded to a double"},
		{pattern: "cvt.sat.{s8,s16}.s32", in: "s32", out: "s32", doc: "an integer clamped to a shorter one"},
		{pattern: "cvt.sat.{u8,u16}.s32", in: "s32", out: "u32", doc: "an integer clamped to a shorter one"},
		bytePair("e4m3", ""), bytePair("e5m2", ""), bytePair("e4m3", ".relu"), bytePair("e5m2", ".relu"),
	})
}

func bytePair(to, relu string) row {
	return row{pattern: "cvt.rn.satfinite" + relu + "." + to + "x2.f32", in: "2*f32", out: "b16", target: "sm_89", version: "8.4",
		doc: "two singles rounded to a pair of 8 bits each", model: bytePairModel(registerType(to), relu != "")}
}
