package logsapi

import (
	"errors"
	"io/fs"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
)

// service is what the operations on all resources share.
type service struct {
	state call.State
	store *logs.Store
}

// maxEvents is CloudWatch's limit on the events of one answer.
const maxEvents = 10000

// openStream opens a stream by its group and name.
func (s *service) openStream(group, name string) (*logs.Stream, error) {
	m, done := s.state.View()
	exists := m.LogGroups[group] != nil
	stream, stopped := m.FindStream(group, name)
	done()
	switch {
	case !exists:
		return nil, errNoGroup
	case stream == nil:
		return nil, errNoStream
	}
	if stream.Task == nil {
		return s.store.OpenPut(stream.File)
	}
	log, err := s.store.Open(stream.File, stopped)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoStream
	}
	return log, err
}
