package wire

// The shapes of CloudWatch Logs that the local engine and batchctl's commands need. The SDK's client for it is not
// linked: it would take twice as long to compile as that of Batch. Inputs have every member of the SDK's, because an
// unknown member is rejected. Outputs have only the members that batchctl writes or reads. Tests compare both with the
// SDK's. A number or boolean that is written although it is zero is a pointer here and a plain value in the SDK.

// GetLogEventsInput requests events of one stream.
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

// GetLogEventsOutput is a page of a stream. Its tokens are never absent: at an end it repeats the
// token of the request.
type GetLogEventsOutput struct {
	Events            []OutputLogEvent
	NextBackwardToken *string
	NextForwardToken  *string
}

// OutputLogEvent is an event in a GetLogEventsOutput.
type OutputLogEvent struct {
	IngestionTime *int64
	Message       *string
	Timestamp     *int64
}

// FilterLogEventsInput requests events of many streams that match a pattern.
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

// FilterLogEventsOutput is a page of results.
type FilterLogEventsOutput struct {
	Events             []FilteredLogEvent
	NextToken          *string
	SearchedLogStreams []SearchedLogStream
}

// FilteredLogEvent is an event with its stream.
type FilteredLogEvent struct {
	EventId       *string
	IngestionTime *int64
	LogStreamName *string
	Message       *string
	Timestamp     *int64
}

// SearchedLogStream reports whether a stream was read completely.
type SearchedLogStream struct {
	LogStreamName      *string
	SearchedCompletely *bool
}

// OrderBy is the sort key of streams.
type OrderBy string

// The orders.
const (
	OrderByLogStreamName OrderBy = "LogStreamName"
	OrderByLastEventTime OrderBy = "LastEventTime"
)

// Values returns all orders.
func (OrderBy) Values() []OrderBy { return []OrderBy{OrderByLogStreamName, OrderByLastEventTime} }

// DescribeLogStreamsInput requests the streams of a group.
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
	StoredBytes         *int64
}

// DescribeLogGroupsInput requests the log groups.
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
	CreationTime      *int64
	LogGroupArn       *string
	LogGroupClass     string
	LogGroupName      *string
	MetricFilterCount *int32
	RetentionInDays   *int32
	StoredBytes       *int64
}

// CreateLogGroupInput requests a new log group.
type CreateLogGroupInput struct {
	DeletionProtectionEnabled *bool
	KmsKeyId                  *string
	LogGroupClass             string
	LogGroupName              *string
	Tags                      map[string]string
}

// CreateLogStreamInput requests a new stream in a log group.
type CreateLogStreamInput struct {
	LogGroupName  *string
	LogStreamName *string
}

// PutLogEventsInput requests to append events to a stream.
type PutLogEventsInput struct {
	Entity        *Entity
	LogEvents     []InputLogEvent
	LogGroupName  *string
	LogStreamName *string
	SequenceToken *string
}

// Entity is what the events of a PutLogEventsInput are about.
type Entity struct {
	Attributes    map[string]string
	KeyAttributes map[string]string
}

// InputLogEvent is an event in a PutLogEventsInput.
type InputLogEvent struct {
	Message   *string
	Timestamp *int64
}

// PutLogEventsOutput names the events that were not stored.
type PutLogEventsOutput struct {
	NextSequenceToken     *string
	RejectedLogEventsInfo *RejectedLogEventsInfo
}

// RejectedLogEventsInfo names events of a batch by their index. An end is exclusive.
type RejectedLogEventsInfo struct {
	ExpiredLogEventEndIndex  *int32
	TooNewLogEventStartIndex *int32
	TooOldLogEventEndIndex   *int32
}

// PutRetentionPolicyInput sets the retention of a log group.
type PutRetentionPolicyInput struct {
	LogGroupName    *string
	RetentionInDays *int32
}

// DeleteRetentionPolicyInput removes the retention of a log group.
type DeleteRetentionPolicyInput struct {
	LogGroupName *string
}

// DeleteLogGroupInput requests to delete a log group with its streams.
type DeleteLogGroupInput struct {
	LogGroupName *string
}

// EmptyLogsOutput is the output of the operations that return nothing.
type EmptyLogsOutput struct{}

// DeleteLogStreamInput requests to delete a stream with its events.
type DeleteLogStreamInput struct {
	LogGroupName  *string
	LogStreamName *string
}
