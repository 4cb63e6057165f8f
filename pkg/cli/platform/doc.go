// Package platform manages what jobs need in an account: queues as code, stacks, old definitions and ECS tasks. Its
// commands are apply, export, infra, gc and ecs.
package platform
