// Package top draws the live view of queues and jobs.
package top
