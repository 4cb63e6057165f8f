package call

// Optional returns nil for an empty text, so that the member is absent in JSON.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Moment returns nil for the time 0, which means that something has not happened yet.
func Moment(ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	return &ms
}
