package logsapi

import (
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
)

// API answers requests of CloudWatch Logs.
type API struct {
	groups  groups
	streams streams
	events  events
	tags    tags
	queries queries
	tails   tails
}

// New returns the CloudWatch Logs of an engine. store has the logs of its attempts.
func New(state call.State, store *logs.Store) *API {
	s := &service{state: state, store: store}
	return &API{groups: groups{s}, streams: streams{service: s}, events: events{s}, tags: tags{s},
		queries: queries{service: s, list: newQueryList()}, tails: tails{service: s, closing: make(chan struct{})}}
}

// Close ends the live tails, also those that begin later, and cancels all queries. It is called once.
func (a *API) Close() {
	close(a.tails.closing)
	a.queries.list.cancel()
}

// Operations returns the handlers of the operations that the engine implements.
func (a *API) Operations() map[string]call.Handler {
	return map[string]call.Handler{
		"CreateLogGroup":        call.Serve(a.groups.createLogGroup),
		"CreateLogStream":       call.Serve(a.streams.createLogStream),
		"DeleteLogGroup":        call.Serve(a.groups.deleteLogGroup),
		"DeleteLogStream":       call.Serve(a.streams.deleteLogStream),
		"DeleteRetentionPolicy": call.Serve(a.groups.deleteRetentionPolicy),
		"DescribeLogGroups":     call.Serve(a.groups.describeLogGroups),
		"DescribeLogStreams":    call.Serve(a.streams.describeLogStreams),
		"DescribeQueries":       call.Serve(a.queries.describeQueries),
		"FilterLogEvents":       call.Serve(a.events.filterLogEvents),
		"GetLogEvents":          call.Serve(a.events.getLogEvents),
		"GetLogGroupFields":     call.Serve(a.events.getLogGroupFields),
		"GetLogRecord":          call.Serve(a.events.getLogRecord),
		"GetQueryResults":       call.Serve(a.queries.getQueryResults),
		"ListTagsForResource":   call.Serve(a.tags.listLogTags),
		"ListTagsLogGroup":      call.Serve(a.tags.listTagsLogGroup),
		"PutLogEvents":          call.Serve(a.events.putLogEvents),
		"PutRetentionPolicy":    call.Serve(a.groups.putRetentionPolicy),
		StartLiveTail:           call.Serve(a.tails.startLiveTail),
		"StartQuery":            call.Serve(a.queries.startQuery),
		"StopQuery":             call.Serve(a.queries.stopQuery),
		"TagLogGroup":           call.Serve(a.tags.tagLogGroup),
		"TagResource":           call.Serve(a.tags.tagLogs),
		"UntagLogGroup":         call.Serve(a.tags.untagLogGroup),
		"UntagResource":         call.Serve(a.tags.untagLogs),
	}
}
