package httpapi

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// Bounds of the cache of descriptions.
const (
	maxSpecs     = 512
	maxSpecBytes = 32 << 20 // of their texts
)

// spec is a description that was read and found valid. Runs share its application: nobody may change it.
type spec struct {
	app    *dovetail.Application
	digest [sha256.Size]byte // of the application, however it was written
	text   [sha256.Size]byte // of the text it was read from
	size   int               // bytes of the text
}

// specCache keeps the descriptions used last, because recurring applications repeat theirs: reading one takes longer than
// all else in a submission, and waiting runs that share one take less memory.
type specCache struct {
	mu     sync.Mutex
	byText map[[sha256.Size]byte]*list.Element
	order  *list.List // of *spec, the one used last in front
	bytes  int
	limit  int // bytes of a text
}

// newSpecCache returns a cache that reads texts of at most limit bytes.
func newSpecCache(limit int) *specCache {
	return &specCache{limit: limit, byText: map[[sha256.Size]byte]*list.Element{}, order: list.New()}
}

// read returns the description that the text contains. Errors are those of describe.Application.
func (c *specCache) read(text []byte) (*spec, error) {
	key := sha256.Sum256(text)
	if s := c.get(key); s != nil {
		return s, nil
	}
	app, err := describe.Application(text, describe.Options{MaxBytes: c.limit})
	if err != nil {
		return nil, err
	}
	canonical, err := json.Marshal(app)
	if err != nil {
		return nil, err
	}
	s := &spec{app: app, digest: sha256.Sum256(canonical), text: key, size: len(text)}
	c.put(s)
	return s, nil
}

func (c *specCache) get(key [sha256.Size]byte) *spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byText[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*spec)
}

func (c *specCache) put(s *spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[s.text]; ok {
		return // another request read it at the same time
	}
	c.byText[s.text] = c.order.PushFront(s)
	c.bytes += s.size
	for c.order.Len() > maxSpecs || (c.bytes > maxSpecBytes && c.order.Len() > 1) {
		oldest := c.order.Remove(c.order.Back()).(*spec)
		delete(c.byText, oldest.text)
		c.bytes -= oldest.size
	}
}
