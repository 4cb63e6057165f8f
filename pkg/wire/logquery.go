package wire

// StartQueryInput requests to run a query over log groups.
type StartQueryInput struct {
	EndTime             *int64 // epoch seconds, inclusive
	QueryString         *string
	StartTime           *int64 // epoch seconds, inclusive
	Limit               *int32
	LogGroupIdentifiers []string
	LogGroupName        *string
	LogGroupNames       []string
	QueryLanguage       string
}

// StartQueryOutput names a query.
type StartQueryOutput struct {
	QueryId *string
}

// QueryCompileError is why a query cannot be run.
type QueryCompileError struct {
	Location *QueryCompileErrorLocation
	Message  *string
}

// QueryCompileErrorLocation is a part of a query, in characters.
type QueryCompileErrorLocation struct {
	EndCharOffset   *int32
	StartCharOffset *int32
}

// GetQueryResultsInput requests a page of the results of a query.
type GetQueryResultsInput struct {
	QueryId   *string
	MaxItems  *int32
	NextToken *string
}

// GetQueryResultsOutput is a page of results.
type GetQueryResultsOutput struct {
	NextToken     *string
	QueryLanguage string
	Results       [][]ResultField
	Statistics    *QueryStatistics
	Status        string
}

// ResultField is a field of a result.
type ResultField struct {
	Field *string
	Value *string
}

// QueryStatistics counts the log events that a query read.
type QueryStatistics struct {
	BytesScanned            *float64
	EstimatedBytesSkipped   *float64
	EstimatedRecordsSkipped *float64
	LogGroupsScanned        *float64
	RecordsMatched          *float64
	RecordsScanned          *float64
}

// StopQueryInput requests to cancel a query.
type StopQueryInput struct {
	QueryId *string
}

// StopQueryOutput reports whether a query was cancelled.
type StopQueryOutput struct {
	Success *bool
}

// DescribeQueriesInput requests the queries.
type DescribeQueriesInput struct {
	LogGroupName  *string
	MaxResults    *int32
	NextToken     *string
	QueryLanguage string
	Status        string
}

// DescribeQueriesOutput is a page of queries.
type DescribeQueriesOutput struct {
	NextToken *string
	Queries   []QueryInfo
}

// QueryInfo is a query without its results.
type QueryInfo struct {
	BytesScanned  *float64
	CreateTime    *int64
	LogGroupName  *string
	QueryDuration *int64
	QueryId       *string
	QueryLanguage string
	QueryString   *string
	Status        string
}

// GetLogRecordInput requests the event of a @ptr.
type GetLogRecordInput struct {
	LogRecordPointer *string
	Unmask           bool
}

// GetLogRecordOutput has the fields of an event.
type GetLogRecordOutput struct {
	LogRecord map[string]string
}

// GetLogGroupFieldsInput requests the fields of the events of a log group.
type GetLogGroupFieldsInput struct {
	LogGroupIdentifier *string
	LogGroupName       *string
	Time               *int64 // epoch seconds
}

// GetLogGroupFieldsOutput has the fields of a log group.
type GetLogGroupFieldsOutput struct {
	LogGroupFields []LogGroupField
}

// LogGroupField is a field, and how many of the events have it.
type LogGroupField struct {
	Name    *string
	Percent *int32
}

// StartLiveTailInput requests a stream of the new events of log groups.
type StartLiveTailInput struct {
	LogGroupIdentifiers   []string
	LogEventFilterPattern *string
	LogStreamNamePrefixes []string
	LogStreamNames        []string
}

// LiveTailSessionStart is the first event of such a stream.
type LiveTailSessionStart struct {
	LogEventFilterPattern *string
	LogGroupIdentifiers   []string
	LogStreamNamePrefixes []string
	LogStreamNames        []string
	RequestId             *string
	SessionId             *string
}

// LiveTailSessionUpdate has the log events of about a second.
type LiveTailSessionUpdate struct {
	SessionMetadata *LiveTailSessionMetadata
	SessionResults  []LiveTailSessionLogEvent
}

// LiveTailSessionMetadata reports whether an update leaves events out.
type LiveTailSessionMetadata struct {
	Sampled *bool
}

// LiveTailSessionLogEvent is a log event in an update.
type LiveTailSessionLogEvent struct {
	IngestionTime      *int64
	LogGroupIdentifier *string
	LogStreamName      *string
	Message            *string
	Timestamp          *int64
}

// The shapes of the tags of log groups.
type (
	// ListLogTagsInput requests the tags of a log group.
	ListLogTagsInput struct {
		ResourceArn *string
	}
	// TagLogsInput requests to add tags to a log group.
	TagLogsInput struct {
		ResourceArn *string
		Tags        map[string]string
	}
	// UntagLogsInput requests to remove tags from a log group.
	UntagLogsInput struct {
		ResourceArn *string
		TagKeys     []string
	}
	// ListTagsLogGroupInput is the older form of ListLogTagsInput.
	ListTagsLogGroupInput struct {
		LogGroupName *string
	}
	// TagLogGroupInput is the older form of TagLogsInput.
	TagLogGroupInput struct {
		LogGroupName *string
		Tags         map[string]string
	}
	// UntagLogGroupInput is the older form of UntagLogsInput.
	UntagLogGroupInput struct {
		LogGroupName *string
		Tags         []string
	}
	// LogTagsOutput has the tags of a log group.
	LogTagsOutput struct {
		Tags map[string]string
	}
)
