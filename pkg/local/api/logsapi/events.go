package logsapi

// events has the operations on log events.
type events struct{ *service }
