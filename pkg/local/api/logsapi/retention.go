package logsapi

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// retentions are the valid values of retentionInDays (API reference of PutRetentionPolicy).
var retentions = []int32{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
	3288, 3653}

// putRetentionPolicy records the retention of a group. See model.LogGroup: it deletes nothing.
func (gs groups) putRetentionPolicy(_ *call.Call, in *wire.PutRetentionPolicyInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	if in.RetentionInDays == nil || !slices.Contains(retentions, *in.RetentionInDays) {
		return nil, call.Invalid("retentionInDays must be one of %v.", retentions)
	}
	return gs.setRetention(*in.LogGroupName, *in.RetentionInDays)
}

// deleteRetentionPolicy records that the events of a group do not expire.
func (gs groups) deleteRetentionPolicy(_ *call.Call,
	in *wire.DeleteRetentionPolicyInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	return gs.setRetention(*in.LogGroupName, 0)
}

// setRetention records the retention of a group in days; 0: events do not expire.
func (gs groups) setRetention(group string, days int32) (*wire.EmptyLogsOutput, error) {
	err := gs.state.Change(func(m *model.Model) ([]model.Event, error) {
		g := m.LogGroups[group]
		switch {
		case g == nil:
			return nil, errNoGroup
		case g.RetentionDays == days:
			return nil, nil
		}
		return []model.Event{{RetentionSet: &model.Retention{Group: group, Days: days}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &wire.EmptyLogsOutput{}, nil
}
