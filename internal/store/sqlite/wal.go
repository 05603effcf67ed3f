package sqlite

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"os"

	"github.com/dovetail-sched/dovetail"
)

// The format of the write-ahead log is that of https://sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then
// frames, each a header of 24 bytes and a page. Two words, the salts, are in the header and in every frame of one generation
// of the log. A frame that ends a transaction says how many pages the database then has.
const (
	walHeader      = 32
	walFrameHeader = 24
	walMagic       = 0x377f0682 // the lowest bit says that checksums read words in big-endian order
	pageSize       = 4096       // of a log whose header cannot be read
)

// walState is what a reader finds in a write-ahead log.
type walState struct {
	sound  int // frames from the start whose checksums match
	beyond int // frames of the same generation after those
	ended  int // transactions that end in a frame beyond
}

// readWAL finds out how far the log is sound, and what lies beyond. It never fails: what it cannot read is not sound.
func readWAL(log []byte) walState {
	if len(log) < walHeader {
		return walState{}
	}
	magic, size := binary.BigEndian.Uint32(log), int(binary.BigEndian.Uint32(log[8:]))
	order := binary.ByteOrder(binary.LittleEndian)
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := walSum{}.add(order, log[:24])
	salts := string(log[16:24])
	sound := magic&^1 == walMagic && sum.matches(log[24:32])
	if !sound {
		size = pageSize
		if len(log) >= walHeader+walFrameHeader {
			salts = string(log[walHeader+8 : walHeader+16])
		}
	}
	var state walState
	for log = log[walHeader:]; size > 0 && len(log) >= walFrameHeader+size; log = log[walFrameHeader+size:] {
		if string(log[8:16]) != salts {
			sound = false // of an earlier generation, or garbled
			continue
		}
		sum = sum.add(order, log[:8]).add(order, log[walFrameHeader:walFrameHeader+size])
		if sound = sound && sum.matches(log[16:24]); sound {
			state.sound++
			continue
		}
		state.beyond++
		if binary.BigEndian.Uint32(log[4:]) != 0 {
			state.ended++
		}
	}
	return state
}

// walSum is the running checksum of a write-ahead log.
type walSum [2]uint32

func (s walSum) add(order binary.ByteOrder, data []byte) walSum {
	for ; len(data) >= 8; data = data[8:] {
		s[0] += order.Uint32(data) + s[1]
		s[1] += order.Uint32(data[4:]) + s[0]
	}
	return s
}

func (s walSum) matches(stored []byte) bool {
	return s[0] == binary.BigEndian.Uint32(stored) && s[1] == binary.BigEndian.Uint32(stored[4:])
}

// checkWAL looks at the write-ahead log that the last process left. It refuses a log that has lost completed transactions,
// and keeps a copy of one that ends in what may be half of one.
func checkWAL(path string, log *slog.Logger) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	state := readWAL(data)
	switch {
	case state.ended > 1:
		// Each transaction was on the disk before the next began, so all of these but the last are complete, and so is the
		// one that the bad frame belongs to.
		return dovetail.Errorf(dovetail.Internal, "%s is damaged after %d sound pages: %d completed writes cannot be read; "+
			"restore it from a backup, or move it elsewhere to go on without all that it holds", path, state.sound, state.ended)
	case state.beyond > 0:
		log.Warn("the write-ahead log ends in a write that was not finished; a copy is kept",
			"pages", state.beyond, "log", path, "copy", path+".damaged")
		return os.WriteFile(path+".damaged", data, 0o600)
	}
	return nil
}
