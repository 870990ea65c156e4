package train

import "github.com/arithlang/mlc/runtime/device"

// roomParts divides the most rows of a launch. Room for rows is rounded up to such a part, so
// that steps of similar lengths look identical to the machine.
const roomParts = 16

// makeRoom gives all launches of a step the largest extent, if rows are packed and the machine
// repeats launches that differ only in data.
func (s *stepper) makeRoom() {
	s.room = device.Extent{}
	if !s.Plan.Packed || !s.Machine.Repeats() {
		return
	}
	room, launches := device.Extent{B: s.examples}, 0
	for lo := 0; lo < s.batch.B; launches++ {
		end := s.batch.Launch(lo, s.examples)
		part := s.batch.Slice(lo, end)
		room.T, room.S, room.R = max(room.T, part.T), max(room.S, part.S), max(room.R, len(part.Target))
		lo = end
	}
	room.C = room.T
	step := max(1, room.B*room.T/roomParts)
	room.R = (room.R + step - 1) / step * step
	s.room = room
	for i, share := range s.Config.shares() {
		if share > 0 {
			s.now.rooms[i].make(launches, room.R)
		}
	}
}

// pad returns the values followed by zeros, n in total, valid until the next call.
func (s *stepper) pad(values []int32, n int) []int32 {
	if len(values) == n {
		return values
	}
	s.padded = resize(s.padded, n)
	clear(s.padded[copy(s.padded, values):])
	return s.padded
}

// rooms are the losses of launches that have room for equally many rows.
type rooms struct {
	each   int
	losses []float32
	parts  []struct{ at, n int } // by launch: rows at … at+n-1 of the batch
}

func (r *rooms) make(launches, each int) {
	r.each, r.losses, r.parts = each, resize(r.losses, launches*each), r.parts[:0]
}

// take returns the room of the next launch, which has n rows from at on.
func (r *rooms) take(at, n int) []float32 {
	r.parts = append(r.parts, struct{ at, n int }{at, n})
	return r.losses[(len(r.parts)-1)*r.each:][:r.each]
}

// empty copies the losses to their rows of the batch.
func (r *rooms) empty(to []float32) {
	for i, p := range r.parts {
		copy(to[p.at:][:p.n], r.losses[i*r.each:])
	}
	r.parts = r.parts[:0]
}
