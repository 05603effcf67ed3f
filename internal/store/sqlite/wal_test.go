package sqlite

import (
	"encoding/binary"
	"testing"
)

// FuzzReadWAL feeds the reader garbage: it must not panic, and never count more pages than there are bytes.
func FuzzReadWAL(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, walHeader+2*(walFrameHeader+pageSize)))
	header := make([]byte, walHeader+1000)
	binary.BigEndian.PutUint32(header, walMagic|1)
	binary.BigEndian.PutUint32(header[8:], 8)
	f.Add(header)
	f.Fuzz(func(t *testing.T, log []byte) {
		state := readWAL(log)
		if frames := state.sound + state.beyond; frames*walFrameHeader > len(log) || state.ended > state.beyond {
			t.Fatalf("%+v of %d bytes", state, len(log))
		}
	})
}
