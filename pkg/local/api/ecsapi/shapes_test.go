package ecsapi

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

// TestECSShapes compares the shapes of ECS with the SDK's. Inputs have the same members, because an
// unknown member is rejected; outputs have no others.
func TestECSShapes(t *testing.T) {
	for _, c := range []struct {
		ours, sdk any
		input     bool
	}{
		{listClustersInput{}, ecs.ListClustersInput{}, true},
		{listClustersOutput{}, ecs.ListClustersOutput{}, false},
		{describeClustersInput{}, ecs.DescribeClustersInput{}, true},
		{describeClustersOutput{}, ecs.DescribeClustersOutput{}, false},
		{listContainerInstancesInput{}, ecs.ListContainerInstancesInput{}, true},
		{listContainerInstancesOutput{}, ecs.ListContainerInstancesOutput{}, false},
		{describeContainerInstancesInput{}, ecs.DescribeContainerInstancesInput{}, true},
		{describeContainerInstancesOutput{}, ecs.DescribeContainerInstancesOutput{}, false},
		{listTasksInput{}, ecs.ListTasksInput{}, true},
		{listTasksOutput{}, ecs.ListTasksOutput{}, false},
		{describeTasksInput{}, ecs.DescribeTasksInput{}, true},
		{describeTasksOutput{}, ecs.DescribeTasksOutput{}, false},
		{describeTaskDefinitionInput{}, ecs.DescribeTaskDefinitionInput{}, true},
		{describeTaskDefinitionOutput{}, ecs.DescribeTaskDefinitionOutput{}, false},
	} {
		ours, sdk := reflect.TypeOf(c.ours), reflect.TypeOf(c.sdk)
		compareShapes(t, ours.Name(), ours, sdk)
		for i := range sdk.NumField() {
			f := sdk.Field(i)
			if _, ok := ours.FieldByName(f.Name); c.input && f.IsExported() && f.Name != "ResultMetadata" && !ok {
				t.Errorf("%s has no %s", ours.Name(), f.Name)
			}
		}
	}
}

// compareShapes checks that each member of a shape is in the SDK's shape, with the same form in JSON.
func compareShapes(t *testing.T, path string, ours, sdk reflect.Type) {
	t.Helper()
	form := func(r reflect.Type) reflect.Type {
		for r.Kind() == reflect.Pointer {
			r = r.Elem()
		}
		return r
	}
	ours, sdk = form(ours), form(sdk)
	switch {
	case sdk.String() == "time.Time": // a number in JSON
		if ours.Kind() != reflect.Float64 {
			t.Errorf("%s is a %s, want a number", path, ours)
		}
	case ours.Kind() == reflect.Struct && sdk.Kind() == reflect.Struct:
		for i := range ours.NumField() {
			f := ours.Field(i)
			if !f.IsExported() {
				continue
			}
			other, ok := sdk.FieldByName(f.Name)
			if !ok {
				t.Errorf("the SDK has no %s.%s", path, f.Name)
				continue
			}
			compareShapes(t, path+"."+f.Name, f.Type, other.Type)
		}
	case ours.Kind() == reflect.Slice && sdk.Kind() == reflect.Slice:
		if ours.Elem() != reflect.TypeFor[attachment]() { // always empty
			compareShapes(t, path+"[]", ours.Elem(), sdk.Elem())
		}
	case ours.Kind() == reflect.Map && sdk.Kind() == reflect.Map:
		compareShapes(t, path+"{}", ours.Elem(), sdk.Elem())
	case (ours.Kind() == reflect.Bool) != (sdk.Kind() == reflect.Bool) || (ours.Kind() == reflect.String) != (sdk.Kind() == reflect.String) ||
		ours.Kind() == reflect.Struct || ours.Kind() == reflect.Slice || sdk.Kind() == reflect.Struct || sdk.Kind() == reflect.Slice:
		t.Errorf("%s is a %s, in the SDK a %s", path, ours, sdk)
	}
}
