package wire

// The shapes of CloudWatch Logs, as far as jobs and their logs need them. The SDK's client of
// it is not built in: it costs as much to compile as that of Batch twice over, for four
// operations. Inputs have every member that the SDK's have, because one that is not known is
// refused; outputs have those that are written or read here. Tests hold both to the SDK's.

// GetLogEventsInput asks for events of one stream.
type GetLogEventsInput struct {
	LogStreamName      *string
	EndTime            *int64
	Limit              *int32
	LogGroupIdentifier *string
	LogGroupName       *string
	NextToken          *string
	StartFromHead      *bool
	StartTime          *int64
	Unmask             bool
}

// GetLogEventsOutput is a page of a stream. Its tokens are never absent: at an end the one
// that was sent comes back.
type GetLogEventsOutput struct {
	Events            []OutputLogEvent
	NextBackwardToken *string
	NextForwardToken  *string
}

// OutputLogEvent is an event of a stream that was asked for.
type OutputLogEvent struct {
	IngestionTime *int64
	Message       *string
	Timestamp     *int64
}

// FilterLogEventsInput asks for events of many streams that fit a pattern.
type FilterLogEventsInput struct {
	EndTime             *int64
	FilterPattern       *string
	Interleaved         *bool
	Limit               *int32
	LogGroupIdentifier  *string
	LogGroupName        *string
	LogStreamNamePrefix *string
	LogStreamNames      []string
	NextToken           *string
	StartFromHead       *bool
	StartTime           *int64
	Unmask              bool
}

// FilterLogEventsOutput is a page of what was found.
type FilterLogEventsOutput struct {
	Events             []FilteredLogEvent
	NextToken          *string
	SearchedLogStreams []SearchedLogStream
}

// FilteredLogEvent is an event with the stream that it was found in.
type FilteredLogEvent struct {
	EventId       *string
	IngestionTime *int64
	LogStreamName *string
	Message       *string
	Timestamp     *int64
}

// SearchedLogStream says of a stream whether it was read to its end.
type SearchedLogStream struct {
	LogStreamName      *string
	SearchedCompletely *bool
}

// OrderBy is what streams are put in order by.
type OrderBy string

// The orders.
const (
	OrderByLogStreamName OrderBy = "LogStreamName"
	OrderByLastEventTime OrderBy = "LastEventTime"
)

// Values returns all orders.
func (OrderBy) Values() []OrderBy { return []OrderBy{OrderByLogStreamName, OrderByLastEventTime} }

// DescribeLogStreamsInput asks which streams a group has.
type DescribeLogStreamsInput struct {
	Descending          *bool
	Limit               *int32
	LogGroupIdentifier  *string
	LogGroupName        *string
	LogStreamNamePrefix *string
	NextToken           *string
	OrderBy             OrderBy
}

// DescribeLogStreamsOutput is a page of streams.
type DescribeLogStreamsOutput struct {
	LogStreams []LogStream
	NextToken  *string
}

// LogStream is a stream without its events.
type LogStream struct {
	Arn                 *string
	CreationTime        *int64
	FirstEventTimestamp *int64
	LastEventTimestamp  *int64
	LastIngestionTime   *int64
	LogStreamName       *string
}

// DescribeLogGroupsInput asks which log groups there are.
type DescribeLogGroupsInput struct {
	AccountIdentifiers    []string
	IncludeLinkedAccounts *bool
	Limit                 *int32
	LogGroupClass         string
	LogGroupIdentifiers   []string
	LogGroupNamePattern   *string
	LogGroupNamePrefix    *string
	NextToken             *string
}

// DescribeLogGroupsOutput is a page of log groups.
type DescribeLogGroupsOutput struct {
	LogGroups []LogGroup
	NextToken *string
}

// LogGroup is a log group without its streams.
type LogGroup struct {
	Arn               *string
	LogGroupArn       *string
	LogGroupClass     string
	LogGroupName      *string
	MetricFilterCount *int32
	StoredBytes       *int64
}
