// Package injob contains the commands that run inside the containers of jobs: child, measure and stage.
package injob
