// Package forecast simulates queues: when jobs start, what that costs, and what a change of the queues would do.
//
// It is pure: it reads no clock, no file and no network, and starts no goroutine. A State goes in, events come
// out, and the same State and seed always give the same events. One run is one draw of everything that is
// unknown; New and Simulator.Run make it, and many draws give an interval.
//
// Two parts decide. The order in queues, the fairness between shares and the limits of compute environments are
// those of the engine: model.Dispatcher runs the engine's own scheduler. The machines are the scale-up model
// of scale.go, which says for each rule and figure where it comes from.
package forecast
