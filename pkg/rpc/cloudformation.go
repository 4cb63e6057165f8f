package rpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// MaxTemplateBody is the longest template that a request takes in its body, in bytes, and
// MaxTemplate the longest that CloudFormation takes at all, from S3 (CloudFormation User
// Guide, "Quotas").
const (
	MaxTemplateBody = 51200
	MaxTemplate     = 1 << 20
)

// TemplateText is a template as a request names it: by its text, or by the URL of an object
// in S3 that holds it.
type TemplateText struct {
	Body []byte
	// URL comes first; "" where the body is sent.
	URL string
}

func (t TemplateText) put(in url.Values) error {
	if t.URL != "" {
		in.Set("TemplateURL", t.URL)
		return nil
	}
	if len(t.Body) > MaxTemplateBody {
		return fmt.Errorf("the template has %d bytes, and CloudFormation takes %d in a request", len(t.Body), MaxTemplateBody)
	}
	in.Set("TemplateBody", string(t.Body))
	return nil
}

// Stack is a CloudFormation stack.
type Stack struct {
	ID     string `xml:"StackId" json:"stackId"`
	Name   string `xml:"StackName" json:"stack"`
	Status string `xml:"StackStatus" json:"status"`
	Reason string `xml:"StackStatusReason" json:"reason,omitempty"`
	// Created and Updated are RFC 3339; Updated is "" before the first update.
	Created    string      `xml:"CreationTime" json:"created,omitempty"`
	Updated    string      `xml:"LastUpdatedTime" json:"updated,omitempty"`
	Parameters []Parameter `xml:"Parameters>member" json:"-"`
	Outputs    []Output    `xml:"Outputs>member" json:"-"`
	Tags       []Tag       `xml:"Tags>member" json:"-"`
}

// Tag returns the value of a tag; "" where there is none.
func (s *Stack) Tag(key string) string {
	i := slices.IndexFunc(s.Tags, func(t Tag) bool { return t.Key == key })
	if i < 0 {
		return ""
	}
	return s.Tags[i].Value
}

// Parameter is a parameter of a stack. Of those with NoEcho the value is stars.
type Parameter struct {
	Name  string `xml:"ParameterKey"`
	Value string `xml:"ParameterValue"`
}

// Output is an output of a stack, and the name under which others import it.
type Output struct {
	Name   string `xml:"OutputKey" json:"output"`
	Value  string `xml:"OutputValue" json:"value"`
	Export string `xml:"ExportName" json:"export,omitempty"`
}

// Tag is a tag of a stack.
type Tag struct{ Key, Value string }

// StackResource is a resource of a stack as it is now.
type StackResource struct {
	Name string `xml:"LogicalResourceId" json:"resource"`
	// ID is the physical id: a name or an ARN; "" before there is one.
	ID     string `xml:"PhysicalResourceId" json:"id,omitempty"`
	Type   string `xml:"ResourceType" json:"type"`
	Status string `xml:"ResourceStatus" json:"status"`
	Reason string `xml:"ResourceStatusReason" json:"reason,omitempty"`
}

// StackEvent is something that happened to a resource of a stack, or to the stack
// itself: then PhysicalID is the stack's id.
type StackEvent struct {
	ID         string `xml:"EventId"`
	StackID    string `xml:"StackId"`
	At         string `xml:"Timestamp"` // RFC 3339
	Name       string `xml:"LogicalResourceId"`
	PhysicalID string `xml:"PhysicalResourceId"`
	Type       string `xml:"ResourceType"`
	Status     string `xml:"ResourceStatus"`
	Reason     string `xml:"ResourceStatusReason"`
}

// OfStack reports whether the event is one of the stack as a whole.
func (e StackEvent) OfStack() bool { return e.PhysicalID == e.StackID }

// ChangeSet is what a change set would do.
type ChangeSet struct {
	ID string `xml:"ChangeSetId"`
	// Status is CREATE_PENDING, CREATE_IN_PROGRESS, CREATE_COMPLETE, FAILED, ...
	Status  string   `xml:"Status"`
	Reason  string   `xml:"StatusReason"`
	Changes []Change `xml:"Changes>member>ResourceChange"`
}

// Change is what a change set would do to one resource.
type Change struct {
	// Action is Add, Modify, Remove, Import or Dynamic.
	Action string `xml:"Action" json:"action"`
	Name   string `xml:"LogicalResourceId" json:"resource"`
	ID     string `xml:"PhysicalResourceId" json:"id,omitempty"`
	Type   string `xml:"ResourceType" json:"type"`
	// Replacement is True, False or Conditional of a Modify; "" of others.
	Replacement string `xml:"Replacement" json:"replacement,omitempty"`
	// Properties are those that would change, as far as the change set says.
	Properties []string `xml:"Details>member>Target>Name" json:"properties,omitempty"`
}

// ChangeSetRequest asks for a change set.
type ChangeSetRequest struct {
	Stack, Name string
	// Create says that there is no stack yet.
	Create       bool
	Template     TemplateText
	Parameters   map[string]string
	Previous     []string // parameters that keep their value
	Capabilities []string
	Tags         []Tag
	// Token is the request's: one that is sent again with it is the same request.
	Token string
}

// TemplateSummary is what CloudFormation reads in a template.
type TemplateSummary struct {
	Parameters []struct {
		Name    string  `xml:"ParameterKey"`
		Default *string `xml:"DefaultValue"`
	} `xml:"GetTemplateSummaryResult>Parameters>member"`
	ResourceTypes []string `xml:"GetTemplateSummaryResult>ResourceTypes>member"`
	// Capabilities are those that a change set of it has to name.
	Capabilities []string `xml:"GetTemplateSummaryResult>Capabilities>member"`
}

// FindStack returns the stack of a name or an id, and nil where there is none. A
// deleted one is found by its id for 90 days.
func (c *Client) FindStack(ctx context.Context, name string) (*Stack, error) {
	var out struct {
		Stacks []Stack `xml:"DescribeStacksResult>Stacks>member"`
	}
	err := c.Query(ctx, CloudFormation, "DescribeStacks", url.Values{"StackName": {name}}, &out)
	if noStack(err) || err == nil && len(out.Stacks) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &out.Stacks[0], nil
}

// noStack tells the error that stands for a stack that is not there.
func noStack(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == "ValidationError" && strings.Contains(e.Message, "does not exist")
}

// StackResources returns the resources of a stack, of a deleted one by its id.
func (c *Client) StackResources(ctx context.Context, stack string) (all []StackResource, err error) {
	in := url.Values{"StackName": {stack}}
	for {
		var page struct {
			Resources []StackResource `xml:"ListStackResourcesResult>StackResourceSummaries>member"`
			Next      string          `xml:"ListStackResourcesResult>NextToken"`
		}
		if err := c.Query(ctx, CloudFormation, "ListStackResources", in, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Resources...)
		if page.Next == "" {
			return all, nil
		}
		if err := goOn(in, page.Next); err != nil {
			return nil, err
		}
	}
}

// StackEvents returns the events of a stack that are newer than the one that until
// is true of, the oldest first; all that are kept if it is true of none.
func (c *Client) StackEvents(ctx context.Context, stack string, until func(StackEvent) bool) (events []StackEvent, err error) {
	in := url.Values{"StackName": {stack}}
	for {
		var page struct {
			Events []StackEvent `xml:"DescribeStackEventsResult>StackEvents>member"`
			Next   string       `xml:"DescribeStackEventsResult>NextToken"`
		}
		if err := c.Query(ctx, CloudFormation, "DescribeStackEvents", in, &page); err != nil {
			return nil, err
		}
		end := slices.IndexFunc(page.Events, until)
		if end >= 0 {
			page.Events, page.Next = page.Events[:end], ""
		}
		events = append(events, page.Events...)
		if page.Next == "" {
			slices.Reverse(events)
			return events, nil
		}
		if err := goOn(in, page.Next); err != nil {
			return nil, err
		}
	}
}

// TemplateSummary reads a template.
func (c *Client) TemplateSummary(ctx context.Context, t TemplateText) (summary TemplateSummary, err error) {
	in := url.Values{}
	if err := t.put(in); err != nil {
		return summary, err
	}
	err = c.Query(ctx, CloudFormation, "GetTemplateSummary", in, &summary)
	return summary, err
}

// Stacks returns all stacks of the account and Region that are not deleted.
func (c *Client) Stacks(ctx context.Context) (all []Stack, err error) {
	in := url.Values{}
	for {
		var page struct {
			Stacks []Stack `xml:"DescribeStacksResult>Stacks>member"`
			Next   string  `xml:"DescribeStacksResult>NextToken"`
		}
		if err := c.Query(ctx, CloudFormation, "DescribeStacks", in, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Stacks...)
		if page.Next == "" {
			return all, nil
		}
		if err := goOn(in, page.Next); err != nil {
			return nil, err
		}
	}
}

// StackTemplate returns the template of a stack as it was deployed.
func (c *Client) StackTemplate(ctx context.Context, stack string) (string, error) {
	var out struct {
		Body string `xml:"GetTemplateResult>TemplateBody"`
	}
	err := c.Query(ctx, CloudFormation, "GetTemplate", url.Values{"StackName": {stack}}, &out)
	return out.Body, err
}

// CreateChangeSet asks for a change set and returns its id and the stack's. It is
// ready when its status says so.
func (c *Client) CreateChangeSet(ctx context.Context, r ChangeSetRequest) (id, stack string, err error) {
	in := url.Values{"StackName": {r.Stack}, "ChangeSetName": {r.Name}, "ChangeSetType": {"UPDATE"}, "ClientToken": {r.Token}}
	if err := r.Template.put(in); err != nil {
		return "", "", err
	}
	if r.Create {
		in.Set("ChangeSetType", "CREATE")
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		n++
		in.Set(fmt.Sprintf("Parameters.member.%d.ParameterKey", n), name)
		in.Set(fmt.Sprintf("Parameters.member.%d.ParameterValue", n), r.Parameters[name])
	}
	for _, name := range r.Previous {
		n++
		in.Set(fmt.Sprintf("Parameters.member.%d.ParameterKey", n), name)
		in.Set(fmt.Sprintf("Parameters.member.%d.UsePreviousValue", n), "true")
	}
	for i, t := range r.Tags {
		in.Set(fmt.Sprintf("Tags.member.%d.Key", i+1), t.Key)
		in.Set(fmt.Sprintf("Tags.member.%d.Value", i+1), t.Value)
	}
	members(in, "Capabilities", r.Capabilities)
	var out struct {
		ID    string `xml:"CreateChangeSetResult>Id"`
		Stack string `xml:"CreateChangeSetResult>StackId"`
	}
	err = c.Query(ctx, CloudFormation, "CreateChangeSet", in, &out)
	return out.ID, out.Stack, err
}

// ChangeSet describes a change set.
func (c *Client) ChangeSet(ctx context.Context, id, stack string) (*ChangeSet, error) {
	in := url.Values{"ChangeSetName": {id}, "StackName": {stack}}
	var set *ChangeSet
	for {
		var page struct {
			Result struct {
				ChangeSet
				Next string `xml:"NextToken"`
			} `xml:"DescribeChangeSetResult"`
		}
		if err := c.Query(ctx, CloudFormation, "DescribeChangeSet", in, &page); err != nil {
			return nil, err
		}
		if set == nil {
			set = &page.Result.ChangeSet
		} else {
			set.Changes = append(set.Changes, page.Result.Changes...)
		}
		if page.Result.Next == "" {
			return set, nil
		}
		if err := goOn(in, page.Result.Next); err != nil {
			return nil, err
		}
	}
}

// DeleteChangeSet deletes a change set; that it is gone already is no error.
func (c *Client) DeleteChangeSet(ctx context.Context, id, stack string) error {
	err := c.Query(ctx, CloudFormation, "DeleteChangeSet", url.Values{"ChangeSetName": {id}, "StackName": {stack}}, &struct{}{})
	if Missing(err) || noStack(err) {
		return nil
	}
	return err
}

// ExecuteChangeSet has CloudFormation begin what a change set says.
func (c *Client) ExecuteChangeSet(ctx context.Context, id, stack, token string) error {
	return c.Query(ctx, CloudFormation, "ExecuteChangeSet", url.Values{"ChangeSetName": {id}, "StackName": {stack}, "ClientRequestToken": {token}}, &struct{}{})
}

// DeleteStack has CloudFormation begin to delete a stack. The resources of retain
// stay; CloudFormation takes them only of a stack in DELETE_FAILED.
func (c *Client) DeleteStack(ctx context.Context, stack, token string, retain []string) error {
	in := url.Values{"StackName": {stack}, "ClientRequestToken": {token}}
	members(in, "RetainResources", retain)
	return c.Query(ctx, CloudFormation, "DeleteStack", in, &struct{}{})
}

// members puts a list into a form.
func members(in url.Values, name string, list []string) {
	for i, v := range list {
		in.Set(fmt.Sprintf("%s.member.%d", name, i+1), v)
	}
}

// HasImages reports whether an ECR repository holds images. One that is not there
// holds none.
func (c *Client) HasImages(ctx context.Context, repository string) (bool, error) {
	var out struct {
		ImageIDs []struct{} `json:"imageIds"`
	}
	err := c.JSON(ctx, ECR, "ListImages", map[string]any{"repositoryName": repository, "maxResults": 1}, &out)
	if Missing(err) {
		return false, nil
	}
	return len(out.ImageIDs) > 0, err
}

// Renew drops the credentials that a service found expired, so that the next call
// loads them anew; false where there is no way to get others.
func (c *Client) Renew() bool {
	provider, ok := c.cfg.Credentials.(interface{ Invalidate() })
	if ok {
		provider.Invalidate()
	}
	return ok
}
