package batchapi

// jobs has the operations on jobs.
type jobs struct{ *service }
